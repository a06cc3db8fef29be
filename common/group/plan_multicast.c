// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Broadcast by multicast: the bytes leave the root once, and each host's leader passes them on
 * within the host. The root does that on its own host.
 */
#include <stddef.h>

#include "group/plan.h"

/* From this member to all others of its host. */
static void pass_on(const struct gamma_plan_call *call, struct gamma_schedule *schedule,
		    uint32_t after)
{
	const uint32_t *leaders = call->hosts->leaders;

	for (uint32_t place = 0; place < call->n; place++)
		if (place != call->place && leaders[place] == leaders[call->place])
			gamma_schedule_send(schedule, place, call->to, gamma_plan_bytes(call),
					    after, GAMMA_SCHEDULE_NONE);
}

void gamma_plan_multicast(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	const uint32_t *leaders = call->hosts->leaders;
	uint64_t bytes = gamma_plan_bytes(call);
	uint32_t leader = leaders[call->place];

	if (call->place == call->root) {
		gamma_schedule_cast(schedule, call->to, bytes);
		pass_on(call, schedule, GAMMA_SCHEDULE_NONE);
	} else if (leader == leaders[call->root]) {
		gamma_schedule_receive(schedule, call->root, call->to, bytes, GAMMA_SCHEDULE_NONE,
				       GAMMA_SCHEDULE_NONE);
	} else if (leader == call->place) {
		pass_on(call, schedule, gamma_schedule_take(schedule, call->root, call->to, bytes));
	} else {
		gamma_schedule_receive(schedule, leader, call->to, bytes, GAMMA_SCHEDULE_NONE,
				       GAMMA_SCHEDULE_NONE);
	}
}
