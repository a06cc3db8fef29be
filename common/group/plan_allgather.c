// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Allgather: short blocks in log2 n rounds (Bruck and others, 1997), in which each member passes on
 * all that it has; long ones around a ring, so that each link carries every block once.
 */
#include "base/base.h"
#include "group/plan.h"

static void plan_rounds(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint32_t n = call->n, place = call->place, last;
	uint64_t bytes = gamma_plan_bytes(call);
	uint8_t *to = call->to, *memory = gamma_schedule_take_memory(schedule, n * bytes);

	if (!memory)
		return;
	/* The blocks of the member itself and of those behind it. */
	last = gamma_schedule_copy(schedule, memory, call->from, bytes, GAMMA_SCHEDULE_NONE,
				   GAMMA_SCHEDULE_NONE);
	for (uint32_t have = 1; have < n; have *= 2) {
		uint32_t more = (uint32_t) gamma_min(have, n - have);
		uint32_t ahead = (uint32_t) (((uint64_t) place + have) % n);
		uint32_t heard;

		gamma_schedule_send(schedule, (uint32_t) (((uint64_t) place + n - have) % n),
				    memory, more * bytes, last, GAMMA_SCHEDULE_NONE);
		heard = gamma_schedule_receive(schedule, ahead, memory + have * bytes, more * bytes,
					       GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
		last = gamma_schedule_copy(schedule, NULL, NULL, 0, last, heard);
	}
	gamma_schedule_copy(schedule, to + place * bytes, memory, (n - place) * bytes, last,
			    GAMMA_SCHEDULE_NONE);
	gamma_schedule_copy(schedule, to, memory + (n - place) * bytes, place * bytes, last,
			    GAMMA_SCHEDULE_NONE);
}

static void plan_ring(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint32_t n = call->n, block = call->place;
	uint64_t bytes = gamma_plan_bytes(call);
	uint8_t *to = call->to;
	uint32_t last = gamma_schedule_copy(schedule, to + block * bytes, call->from, bytes,
					    GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);

	for (uint32_t step = 0; step + 1 < n; step++) {
		gamma_schedule_send(schedule, (call->place + 1) % n, to + block * bytes, bytes,
				    last, GAMMA_SCHEDULE_NONE);
		block = (uint32_t) (((uint64_t) block + n - 1) % n);
		last = gamma_schedule_receive(
			schedule, (uint32_t) (((uint64_t) call->place + n - 1) % n),
			to + block * bytes, bytes, GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
	}
}

void gamma_plan_allgather(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	if (gamma_plan_casts(call))
		gamma_plan_multicast_allgather(call, schedule);
	else if (call->count <= GAMMA_PLAN_SHORT / call->unit / call->n)
		plan_rounds(call, schedule);
	else
		plan_ring(call, schedule);
}
