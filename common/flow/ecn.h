/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Explicit congestion notification toward another subnet (RFC 3168): the sender lets routers mark
 * its DATA frames instead of dropping them, the receiver counts the marks and reports the count,
 * and the sender treats each new mark as a loss (congestion.c), without sending
 * again.
 */
#ifndef GAMMA_FLOW_ECN_H
#define GAMMA_FLOW_ECN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct gamma_fields;
struct gamma_flow;

struct gamma_ecn {
	bool capable;    /* DATA toward the peer may be marked */
	uint32_t heard;  /* the peer's count, as reported last */
	uint32_t silent; /* frames that have arrived there while it reports none */
	uint32_t count;  /* 1 + frames of the peer that came marked; 0: none could be */
};

/* The peer is on another subnet. */
void gamma_ecn_start(struct gamma_flow *flow);
/* The peer has a frame of this flow. */
void gamma_ecn_delivered(struct gamma_flow *flow);
/* A plain acknowledgement reports the peer's count. */
void gamma_ecn_heard(struct gamma_flow *flow, const struct gamma_fields *fields);
/* A DATA frame was taken, and local->ecn says how it came. */
GAMMA_NOINLINE void gamma_ecn_arrived(struct gamma_flow *flow);
/* Whether the frame that is dispatched now came marked, and the mark counts. */
bool gamma_ecn_is_marked(const struct gamma_flow *flow);

#endif /* GAMMA_FLOW_ECN_H */
