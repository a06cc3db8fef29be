/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Deadlines of a flow: one for each timer. */
#ifndef GAMMA_FLOW_TIMERS_H
#define GAMMA_FLOW_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

struct gamma_flow;
struct gamma_local;

enum gamma_timer {
	GAMMA_TIMER_ACK,     /* owed acknowledgement, if no data goes back before */
	GAMMA_TIMER_LOSS,    /* a frame counts as lost if nothing is heard of it by then */
	GAMMA_TIMER_PROBE,   /* nothing heard: ask */
	GAMMA_TIMER_REQUEST, /* no credit: ask again; no memory: try again */
	GAMMA_TIMER_LOOKUP,  /* no answer: ask again */
	GAMMA_TIMER_MTU,     /* padded probe unanswered */
	GAMMA_TIMER_BYE,     /* BYE unanswered: repeat */
	GAMMA_TIMER_FORGET,  /* closed long enough: no frame of it can be under way any more */
	GAMMA_TIMER_RAILS,   /* a rail is silent, or is to be tried again */
	GAMMA_TIMER_COUNT
};

void gamma_timers_set(struct gamma_flow *flow, enum gamma_timer timer, uint64_t when);
void gamma_timers_stop(struct gamma_flow *flow, enum gamma_timer timer);
bool gamma_timers_is_set(const struct gamma_flow *flow, enum gamma_timer timer);
/* Runs what is due on every flow; afterwards local->next_deadline is exact. */
void gamma_timers_expire(struct gamma_local *local, uint64_t now);

#endif /* GAMMA_FLOW_TIMERS_H */
