/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Congestion control toward a peer on another subnet, where the queues are shared with other
 * traffic: how many frames may be under way. On one segment the receiver's credit decides alone,
 * and `on` is false.
 */
#ifndef GAMMA_FLOW_CONGESTION_H
#define GAMMA_FLOW_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

struct gamma_flow;
struct gamma_sent;

enum {
	GAMMA_CONGESTION_UNIT = 1024, /* parts of a frame that windows are counted in */
};

struct gamma_congestion {
	bool on;                /* the peer is on another subnet */
	bool slow_start;        /* the window grows by a frame for each that arrives */
	uint32_t arrived;       /* frames of the send window that are acknowledged selectively */
	uint64_t window;        /* frames under way at most, in parts of 1,024 */
	uint64_t reno;          /* ditto: what Reno would have, which is the least */
	uint64_t most;          /* ditto: the window before it was last reduced */
	uint64_t began;         /* ns: the first acknowledgement since then; 0: none */
	uint64_t plateau;       /* ns: from `began` until the window is `most` again */
	uint64_t reduced;       /* tx.serial when the window was last reduced */
	uint64_t full;          /* tx.serial when the window was last full */
	uint64_t round;         /* tx.serial when the round trip that is measured began */
	uint64_t round_rtt;     /* ns: shortest round trip of this round; 0: none */
	uint32_t round_samples; /* round trips measured in this round */
};

/* The peer is on another subnet: begins with a window of ten frames. */
void gamma_congestion_start(struct gamma_flow *flow);
/* Whether one more frame may leave. */
bool gamma_congestion_is_open(const struct gamma_flow *flow);
/* One more frame would leave, and may not. */
void gamma_congestion_filled(struct gamma_flow *flow);
/* Frames from one request for an acknowledgement to the next: the window leaves in parts. */
uint32_t gamma_congestion_turn(const struct gamma_flow *flow);
/* A frame was acknowledged for the first time. */
void gamma_congestion_arrived(struct gamma_flow *flow, const struct gamma_sent *sent, uint64_t now);
/* All frames before tx.una + count, which were acknowledged, leave the send window. */
void gamma_congestion_released(struct gamma_flow *flow, uint32_t count);
/* A frame is lost: its latest transmission. */
void gamma_congestion_lost(struct gamma_flow *flow, const struct gamma_sent *sent);
/* A router has marked a frame: more is under way than the path carries. */
void gamma_congestion_marked(struct gamma_flow *flow);
/* The peer has not answered several probes. */
void gamma_congestion_silent(struct gamma_flow *flow);
/* A round trip was measured, ns. */
void gamma_congestion_measured(struct gamma_flow *flow, uint64_t rtt);

#endif /* GAMMA_FLOW_CONGESTION_H */
