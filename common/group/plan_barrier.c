// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Barrier: few members report to place 0, which answers when all have. More do it by dissemination:
 * in round k a member reports to the one 2^k places on that it, and everybody it has heard of, is
 * there. log2 n rounds.
 */
#include <stddef.h>

#include "group/plan.h"

static void plan_flat(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint32_t all = GAMMA_SCHEDULE_NONE;

	if (call->place) {
		gamma_schedule_send(schedule, 0, NULL, 0, GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
		gamma_schedule_receive(schedule, 0, NULL, 0, GAMMA_SCHEDULE_NONE,
				       GAMMA_SCHEDULE_NONE);
		return;
	}
	for (uint32_t place = 1; place < call->n; place++) {
		uint32_t heard = gamma_schedule_receive(schedule, place, NULL, 0,
							GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);

		all = gamma_schedule_copy(schedule, NULL, NULL, 0, all, heard);
	}
	for (uint32_t place = 1; place < call->n; place++)
		gamma_schedule_send(schedule, place, NULL, 0, all, GAMMA_SCHEDULE_NONE);
}

static void plan_rounds(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint32_t sent = GAMMA_SCHEDULE_NONE, heard = GAMMA_SCHEDULE_NONE;

	for (uint32_t distance = 1; distance < call->n; distance *= 2) {
		uint32_t to = (uint32_t) (((uint64_t) call->place + distance) % call->n);
		uint32_t from = (call->place + (call->n - distance)) % call->n;

		sent = gamma_schedule_send(schedule, to, NULL, 0, sent, heard);
		heard = gamma_schedule_receive(schedule, from, NULL, 0, GAMMA_SCHEDULE_NONE,
					       GAMMA_SCHEDULE_NONE);
	}
}

void gamma_plan_barrier(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	if (gamma_plan_is_flat(call))
		plan_flat(call, schedule);
	else
		plan_rounds(call, schedule);
}
