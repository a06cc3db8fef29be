/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The receiver's side of the sequence: each DATA frame is taken once. */
#ifndef GAMMA_FLOW_RECEIVE_WINDOW_H
#define GAMMA_FLOW_RECEIVE_WINDOW_H

#include "wire/codec.h"

struct gamma_flow;
struct gamma_early_frame; /* an early frame kept until its turn */
struct gamma_reassembly;  /* a frame of which parts have come: reassembly.c */

struct gamma_receive_window {
	bool begun;         /* the number of the first frame is known, */
	bool proven;        /* and that it is the peer's, who has said so in answer to a PROBE */
	uint32_t first;     /* that number */
	uint32_t next;      /* every frame before this has arrived */
	uint32_t highest;   /* one past the highest number that arrived */
	uint32_t arrived;   /* distinct frames arrived so far */
	uint32_t last;      /* the frame that arrived last, for the ack delay */
	uint64_t last_time; /* ns: when */
	bool no_memory;     /* an early frame's turn has come, but there was no memory for it */
	uint64_t bits[GAMMA_WINDOW_MAX / 64]; /* arrived, by number modulo GAMMA_WINDOW_MAX */
	struct gamma_early_frame *
		*early; /* by number modulo GAMMA_WINDOW_MAX; made when first needed */
	struct gamma_reassembly **parts; /* ditto */
};

/* The peer's first frame has this number: before any has been taken. */
void gamma_receive_window_begin(struct gamma_flow *flow, uint32_t first);
/* Looks at the number of a frame of the peer, unless its first one is proven. One of its first
 * frames shows where its numbers begin. False: the frame has no place among them, and the peer is
 * asked whether they begin elsewhere. */
bool gamma_receive_window_admits(struct gamma_flow *flow, const struct gamma_fields *fields,
				 uint64_t now);
/* The peer's answer to a PROBE says that its numbers begin there. */
void gamma_receive_window_prove(struct gamma_flow *flow, uint32_t first, uint64_t now);
void gamma_receive_window_data(struct gamma_flow *flow, const struct gamma_fields *fields,
			       const uint8_t *payload, uint64_t arrived, uint64_t now);
/* The two halves of the same, for a frame in order that nothing waits before: its message, if
 * there is memory for it, and the account of the frame. */
bool gamma_receive_window_message(struct gamma_flow *flow, const struct gamma_fields *fields,
				  const uint8_t *payload, uint64_t arrived);
void gamma_receive_window_account(struct gamma_flow *flow, uint32_t seq, uint8_t flags,
				  uint64_t now);
/* The account of so many frames in order whose bytes have been placed: gamma_flow_receive_run. */
void gamma_receive_window_run(struct gamma_flow *flow, uint32_t count, uint8_t flags,
			      uint64_t arrived, uint64_t now);
/* If a frame whose turn has come found no memory: tries again. */
void gamma_receive_window_retry(struct gamma_flow *flow);
/* Frames that have arrived beyond a gap. */
void gamma_receive_window_sack(const struct gamma_flow *flow, struct gamma_fields *fields);
bool gamma_receive_window_sack_is_long(const struct gamma_flow *flow);
/* Whether one more frame may be kept out of order: all flows together keep no more than the ring
 * has slots, since honest peers are not granted more. */
bool gamma_receive_window_may_keep(const struct gamma_flow *flow, uint32_t seq);
void gamma_receive_window_free(struct gamma_flow *flow);

#endif /* GAMMA_FLOW_RECEIVE_WINDOW_H */
