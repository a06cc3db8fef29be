// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Operations by multicast: bytes leave their sender once, and each host's leader passes them on
 * within the host. The sender does that on its own host. A broadcast has one sender. In an
 * allgather member s begins when all leaders have the block of member s - CASTERS: so no ring has
 * to hold frames of more senders than that, and while one waits for the others' reports another one
 * sends.
 */
#include <stddef.h>

#include "group/plan.h"

/* From this member to all others of its host. */
static void pass_on(const struct gamma_plan_call *call, struct gamma_schedule *schedule,
		    const void *from, uint32_t after)
{
	const uint32_t *leaders = call->hosts->leaders;

	for (uint32_t place = 0; place < call->n; place++)
		if (place != call->place && leaders[place] == leaders[call->place])
			gamma_schedule_send(schedule, place, from, gamma_plan_bytes(call), after,
					    GAMMA_SCHEDULE_NONE);
}

/* Frames that another member sends to all. after: the take that must end before, or NONE. Returns
 * the step that takes it from multicast here; NONE: it comes in a message. */
static uint32_t get(const struct gamma_plan_call *call, struct gamma_schedule *schedule,
		    uint32_t sender, void *to, uint32_t after)
{
	uint32_t leader = call->hosts->leaders[call->place];
	bool same_host = leader == call->hosts->leaders[sender];
	uint32_t taken;

	if (same_host || leader != call->place) {
		gamma_schedule_receive(schedule, same_host ? sender : leader, to,
				       gamma_plan_bytes(call), GAMMA_SCHEDULE_NONE,
				       GAMMA_SCHEDULE_NONE);
		return GAMMA_SCHEDULE_NONE;
	}
	taken = gamma_schedule_take(schedule, sender, to, gamma_plan_bytes(call), after);
	pass_on(call, schedule, to, taken);
	return taken;
}

void gamma_plan_multicast(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	if (call->place != call->root) {
		get(call, schedule, call->root, call->to, GAMMA_SCHEDULE_NONE);
		return;
	}
	gamma_schedule_cast(schedule, call->to, gamma_plan_bytes(call), GAMMA_SCHEDULE_NONE,
			    GAMMA_SCHEDULE_NONE);
	pass_on(call, schedule, call->to, GAMMA_SCHEDULE_NONE);
}

/* The own block. turn: the message that lets this member begin, or NONE. */
static void give(const struct gamma_plan_call *call, struct gamma_schedule *schedule,
		 const void *block, uint32_t copied, uint32_t turn)
{
	uint32_t sent;

	pass_on(call, schedule, block, copied);
	sent = gamma_schedule_cast(schedule, block, gamma_plan_bytes(call), copied, turn);
	if (call->place + GAMMA_PLAN_CASTERS < call->n)
		gamma_schedule_send(schedule, call->place + GAMMA_PLAN_CASTERS, NULL, 0, sent,
				    GAMMA_SCHEDULE_NONE);
}

void gamma_plan_multicast_allgather(const struct gamma_plan_call *call,
				    struct gamma_schedule *schedule)
{
	uint32_t before[GAMMA_PLAN_CASTERS] = {GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE};
	uint32_t turn = GAMMA_SCHEDULE_NONE, copied, taken;
	uint64_t bytes = gamma_plan_bytes(call);
	uint8_t *to = call->to;

	copied = gamma_schedule_copy(schedule, to + call->place * bytes, call->from, bytes,
				     GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
	for (uint32_t sender = 0; sender < call->n; sender++) {
		uint32_t *last = &before[sender % GAMMA_PLAN_CASTERS];

		if (sender == call->place) {
			give(call, schedule, to + sender * bytes, copied, turn);
			continue;
		}
		taken = get(call, schedule, sender, to + sender * bytes, *last);
		if (taken != GAMMA_SCHEDULE_NONE)
			*last = taken;
		if (sender + GAMMA_PLAN_CASTERS == call->place)
			turn = gamma_schedule_receive(schedule, sender, NULL, 0,
						      GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
	}
}
