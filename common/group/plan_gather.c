// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Gather: short blocks of many members up a binomial tree, whose members pass on those of their
 * subtree, all others straight to the root.
 */
#include "base/base.h"
#include "group/plan.h"
#include "group/tree.h"

static void gather_straight(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint64_t bytes = gamma_plan_bytes(call);
	uint8_t *to = call->to;

	if (call->place != call->root) {
		gamma_schedule_send(schedule, call->root, call->from, bytes, GAMMA_SCHEDULE_NONE,
				    GAMMA_SCHEDULE_NONE);
		return;
	}
	for (uint32_t place = 0; place < call->n; place++) {
		if (place == call->root)
			gamma_schedule_copy(schedule, to + place * bytes, call->from, bytes,
					    GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
		else
			gamma_schedule_receive(schedule, place, to + place * bytes, bytes,
					       GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
	}
}

/* At the root: blocks by rank, which begin with its own, to where their places are. */
static void place_blocks(const struct gamma_plan_call *call, struct gamma_schedule *schedule,
			 const uint8_t *memory, uint32_t after)
{
	uint64_t bytes = gamma_plan_bytes(call), split = (call->n - call->root) * bytes;
	uint8_t *to = call->to;

	gamma_schedule_copy(schedule, to + call->root * bytes, memory, split, after,
			    GAMMA_SCHEDULE_NONE);
	gamma_schedule_copy(schedule, to, memory + split, call->root * bytes, after,
			    GAMMA_SCHEDULE_NONE);
}

static void gather_by_tree(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint32_t rank = gamma_tree_rank(call->place, call->root, call->n);
	uint32_t span = gamma_tree_span(rank, call->n);
	uint64_t bytes = gamma_plan_bytes(call);
	uint32_t blocks = (uint32_t) gamma_min(span, call->n - rank), last;
	uint8_t *memory = gamma_schedule_take_memory(schedule, blocks * bytes);

	if (!memory)
		return;
	last = gamma_schedule_copy(schedule, memory, call->from, bytes, GAMMA_SCHEDULE_NONE,
				   GAMMA_SCHEDULE_NONE);
	for (uint32_t distance = 1; distance < span; distance *= 2) {
		uint32_t heard = gamma_schedule_receive(
			schedule, gamma_tree_place(rank + distance, call->root, call->n),
			memory + distance * bytes, gamma_tree_size(rank, distance, call->n) * bytes,
			GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);

		/* Done when all are: a copy of nothing waits for two. */
		last = gamma_schedule_copy(schedule, NULL, NULL, 0, last, heard);
	}
	if (rank)
		gamma_schedule_send(schedule,
				    gamma_tree_place(gamma_tree_parent(rank), call->root, call->n),
				    memory, blocks * bytes, last, GAMMA_SCHEDULE_NONE);
	else
		place_blocks(call, schedule, memory, last);
}

void gamma_plan_gather(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	if (!gamma_plan_is_flat(call) && call->count <= GAMMA_PLAN_SHORT / call->unit / call->n)
		gather_by_tree(call, schedule);
	else
		gather_straight(call, schedule);
}
