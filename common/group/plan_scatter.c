// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Scatter: short blocks down a binomial tree, whose members pass on those of their subtree, long
 * ones straight from the root.
 */
#include "base/base.h"
#include "group/plan.h"
#include "group/tree.h"

static void scatter_straight(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint64_t bytes = gamma_plan_bytes(call);
	const uint8_t *from = call->from;

	if (call->place != call->root) {
		gamma_schedule_receive(schedule, call->root, call->to, bytes, GAMMA_SCHEDULE_NONE,
				       GAMMA_SCHEDULE_NONE);
		return;
	}
	for (uint32_t place = 0; place < call->n; place++) {
		if (place == call->root)
			gamma_schedule_copy(schedule, call->to, from + place * bytes, bytes,
					    GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
		else
			gamma_schedule_send(schedule, place, from + place * bytes, bytes,
					    GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
	}
}

/* At the root: the blocks by rank, beginning with its own. */
static uint32_t rank_blocks(const struct gamma_plan_call *call, struct gamma_schedule *schedule,
			    uint8_t *memory)
{
	uint64_t bytes = gamma_plan_bytes(call), split = (call->n - call->root) * bytes;
	const uint8_t *from = call->from;
	uint32_t first = gamma_schedule_copy(schedule, memory, from + call->root * bytes, split,
					     GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);

	return gamma_schedule_copy(schedule, memory + split, from, call->root * bytes, first,
				   GAMMA_SCHEDULE_NONE);
}

static void scatter_by_tree(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint32_t rank = gamma_tree_rank(call->place, call->root, call->n);
	uint32_t span = gamma_tree_span(rank, call->n), distance, last;
	uint64_t bytes = gamma_plan_bytes(call);
	uint32_t blocks = (uint32_t) gamma_min(span, call->n - rank);
	uint8_t *memory = gamma_schedule_take_memory(schedule, blocks * bytes);

	if (!memory)
		return;
	if (rank)
		last = gamma_schedule_receive(
			schedule, gamma_tree_place(gamma_tree_parent(rank), call->root, call->n),
			memory, blocks * bytes, GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
	else
		last = rank_blocks(call, schedule, memory);
	for (distance = span / 2; distance; distance /= 2)
		gamma_schedule_send(
			schedule, gamma_tree_place(rank + distance, call->root, call->n),
			memory + distance * bytes, gamma_tree_size(rank, distance, call->n) * bytes,
			last, GAMMA_SCHEDULE_NONE);
	gamma_schedule_copy(schedule, call->to, memory, bytes, last, GAMMA_SCHEDULE_NONE);
}

void gamma_plan_scatter(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	if (call->count <= GAMMA_PLAN_SHORT / call->unit / call->n)
		scatter_by_tree(call, schedule);
	else
		scatter_straight(call, schedule);
}
