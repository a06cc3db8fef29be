/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sender's side of the sequence: DATA frames that are not acknowledged yet. */
#ifndef GAMMA_FLOW_SEND_WINDOW_H
#define GAMMA_FLOW_SEND_WINDOW_H

#include "base/base.h"
#include "wire/codec.h"

struct gamma_flow;
struct gamma_buffer;
struct gamma_send;

/* A DATA frame that is not acknowledged yet. */
enum gamma_sent_state {
	GAMMA_SENT_FLYING,  /* transmitted, nothing heard of it */
	GAMMA_SENT_LOST,    /* to be transmitted again */
	GAMMA_SENT_ARRIVED, /* selectively acknowledged */
};
struct gamma_sent {
	uint64_t time;   /* ns: latest transmission */
	uint64_t serial; /* of that transmission, in the order of transmissions of this flow */
	struct gamma_send *send;     /* whose bytes it carries, or NULL */
	struct gamma_buffer *buffer; /* its payload was copied here, or NULL: in place */
	uint64_t offset;             /* bytes: of the fragment in the message */
	uint32_t len;                /* payload bytes */
	uint16_t ahead;              /* frames: under way when it was first transmitted */
	uint8_t state;               /* enum gamma_sent_state */
	uint8_t again;  /* Ethernet frames in which it left the last time, if transmitted more than
			 * once; else 0 */
	uint32_t part;  /* bytes that have left, of one that leaves in parts; 0: none */
	uint8_t large;  /* its latest transmission, or a part of it, was above path_mtu.large */
	uint8_t unsent; /* to be transmitted because the link refused it: not a retransmission */
	uint8_t op;
	uint8_t approximate; /* `time` was noted afterwards: it may be too late */
	uint8_t rail;        /* by which its latest transmission left */
	uint8_t counted;     /* it is one of that rail's in flight */
};

struct gamma_send_window {
	uint32_t first;      /* number of the first frame: a multiple of GAMMA_WINDOW_MAX */
	uint32_t next;       /* number of the next new frame */
	uint32_t una;        /* oldest not acknowledged */
	uint32_t limit;      /* credit: frames sent plus credit given back stay below this */
	uint32_t returned;   /* credit given back so far, in frames */
	bool bounded;        /* the receiver grants less than it would without a slow port */
	uint32_t short_sent; /* if so: one past the last frame that did not fill one, or una */
	uint32_t asked;      /* one past the last frame that asked for an acknowledgement */
	uint32_t acked;      /* if held_back: as una would be */
	uint32_t acked_cuts; /* if held_back: messages cut, as the acknowledgement counts them */
	uint32_t cuts_seen;  /* own messages demoted, or operations refused, as the peer's notices
			      * say: message/ counts */
	bool held_back; /* what is acknowledged must stay, since notices of CUT are still to come */
	uint32_t backlog_sent;   /* next after the last new frame that said BACKLOG */
	uint32_t size;           /* entries of sent[], a power of two, grows as needed */
	uint32_t lost;           /* frames in state LOST */
	uint32_t lost_from;      /* no LOST frame before this number */
	uint64_t serial;         /* transmissions so far */
	bool sending_parts;      /* the parts of a frame are leaving */
	uint32_t part_seq;       /* its number */
	struct gamma_sent *sent; /* by number modulo size */
};

/* May a new frame be sent? */
bool gamma_send_window_is_open(const struct gamma_flow *flow);
/* A free entry for the next new frame, or NULL: no credit, no window or no memory. */
struct gamma_sent *gamma_send_window_next(struct gamma_flow *flow);
void gamma_send_window_transmitted(struct gamma_flow *flow, struct gamma_sent *sent, uint64_t now);
/* So many frames behind this one, the newest, have been transmitted: each is like it, and has the
 * bytes behind those of the one before. There are entries for them. */
void gamma_send_window_run(struct gamma_flow *flow, const struct gamma_sent *last, uint32_t count,
			   uint64_t now);
/* The next LOST frame, or NULL. */
struct gamma_sent *gamma_send_window_next_lost(struct gamma_flow *flow, uint32_t *seq);
void gamma_send_window_mark_lost(struct gamma_flow *flow, uint32_t seq);
/* Acknowledgement in fields, which reached this host at `heard` (ns): what passed until now is this
 * process's, not the network's. False: nonsense (beyond what was sent). */
bool gamma_send_window_receive_ack(struct gamma_flow *flow, const struct gamma_fields *fields,
				   uint64_t heard, uint64_t now);
/* Releases what was held back for notices of CUT, if they are all here. */
void gamma_send_window_resume(struct gamma_flow *flow, uint64_t now);
/* The first frame gets this number: before anything is sent. */
void gamma_send_window_begin(struct gamma_flow *flow, uint32_t first);
void gamma_send_window_drop(struct gamma_flow *flow);

static inline struct gamma_sent *gamma_send_window_at(const struct gamma_send_window *tx,
						      uint32_t seq)
{
	return &tx->sent[seq & (tx->size - 1)];
}

/* Frames whose acknowledgement is still to come. */
static inline uint32_t gamma_send_window_in_flight(const struct gamma_send_window *tx)
{
	return tx->next - (tx->held_back ? tx->acked : tx->una);
}

/* Frames whose memory is still needed: those, and what is held back for notices of CUT. */
static inline uint32_t gamma_send_window_unacked(const struct gamma_send_window *tx)
{
	return tx->next - tx->una;
}

#endif /* GAMMA_FLOW_SEND_WINDOW_H */
