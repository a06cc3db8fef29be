// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Deadlines. Each flow has one per timer (flow.h lists them with what sets them off); the
 * endpoint only knows a time before which no flow needs to be looked at.
 */
#include "flow/timers.h"

#include "flow/flow.h"

void gamma_timers_set(struct gamma_flow *flow, enum gamma_timer timer, uint64_t when)
{
	struct gamma_local *local = flow->local;

	flow->deadlines[timer] = when;
	if (gamma_list_empty(&flow->timed_entry))
		gamma_list_append(&local->timed, &flow->timed_entry);
	if (when < local->next_deadline)
		local->next_deadline = when;
}

void gamma_timers_stop(struct gamma_flow *flow, enum gamma_timer timer)
{
	flow->deadlines[timer] = GAMMA_NEVER;
}

bool gamma_timers_is_set(const struct gamma_flow *flow, enum gamma_timer timer)
{
	return flow->deadlines[timer] != GAMMA_NEVER;
}

static uint64_t earliest(const struct gamma_flow *flow)
{
	uint64_t when = GAMMA_NEVER;

	for (int timer = 0; timer < GAMMA_TIMER_COUNT; timer++)
		when = gamma_min(when, flow->deadlines[timer]);
	return when;
}

void gamma_timers_expire(struct gamma_local *local, uint64_t now)
{
	struct gamma_list *pos, *tmp;

	/* Late by so much, this process was stopped: what it did not hear meanwhile says nothing.
	 */
	if (now > local->next_deadline &&
	    now - local->next_deadline > local->limits.peer_timeout / GAMMA_AWAY_PART)
		local->resumed = now;
	local->next_deadline = GAMMA_NEVER;
	gamma_list_for_each_safe (pos, tmp, &local->timed) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, timed_entry);
		uint64_t when = earliest(flow);

		if (when <= now) {
			if (flow->deadlines[GAMMA_TIMER_FORGET] <= now) {
				local->forget(local, flow, now);
				continue;
			}
			gamma_flow_timeout(flow, now);
			when = earliest(flow);
		}
		if (when == GAMMA_NEVER)
			gamma_list_remove(&flow->timed_entry);
		local->next_deadline = gamma_min(local->next_deadline, when);
	}
}
