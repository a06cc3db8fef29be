/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How many frames that are sent again may be under way at once, each part of one that is too large
 * by now counted. A switch whose buffer is full loses
 * most of what a full window repeats in one burst, and would lose it again and again.
 */
#ifndef GAMMA_FLOW_REPAIR_H
#define GAMMA_FLOW_REPAIR_H

#include <stdint.h>

#include "base/base.h"

struct gamma_flow;
struct gamma_sent;

struct gamma_repair {
	uint32_t bound;  /* Ethernet frames, as all counts here */
	uint32_t flying; /* frames that were sent again, neither acknowledged nor lost: at most */
	uint32_t lost;   /* of these, found lost by the search that goes on */
	uint32_t end;    /* number of the first frame that was new when the repair began */
	uint64_t grow; /* tx.serial that must be exceeded by what arrives before the bound grows */
	uint64_t arrived; /* serial of the latest repetition that has arrived, of several rails */
};

/* Before the first frame. */
void gamma_repair_begin(struct gamma_flow *flow);
/* After a search for lost frames, or an acknowledgement that caused none, if any are to be sent
 * again: adapts the bound, and counts what is under way. */
GAMMA_NOINLINE void gamma_repair_adapt(struct gamma_flow *flow);
/* Of several rails: a frame that was sent again has arrived. That is no evidence of loss, since it
 * is not known by which rail it came, but it is no longer under way. */
void gamma_repair_arrived(struct gamma_flow *flow, const struct gamma_sent *sent, uint64_t passed);
/* All transmissions up to this one, by the rail of a probe that was answered, have arrived or are
 * lost. */
void gamma_repair_probed(struct gamma_flow *flow, uint64_t serial);

#endif /* GAMMA_FLOW_REPAIR_H */
