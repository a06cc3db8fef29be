// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Barrier by dissemination: in round k a member reports to the one 2^k places on that it, and
 * everybody it has heard of, is there. log2 n rounds.
 */
#include <stddef.h>

#include "group/plan.h"

void gamma_plan_barrier(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
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
