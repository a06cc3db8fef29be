// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Reduce: short operands of few members go straight to the root, of many they are folded up a
 * binomial tree, a member's own before its children's, the nearest child's first. So the order is
 * that of the places counted from the root, the same in each run. Long ones go around a ring
 * (plan_ring_reduce.c).
 */
#include "group/plan.h"
#include "group/tree.h"

/* Few members are all children of the root. */
static uint32_t span_of(const struct gamma_plan_call *call, uint32_t rank)
{
	if (!gamma_plan_is_flat(call))
		return gamma_tree_span(rank, call->n);
	return rank ? 1 : call->n;
}

static uint32_t parent_of(const struct gamma_plan_call *call, uint32_t rank)
{
	return gamma_plan_is_flat(call) ? 0 : gamma_tree_parent(rank);
}

static uint32_t next_child(const struct gamma_plan_call *call, uint32_t distance)
{
	return gamma_plan_is_flat(call) ? distance + 1 : 2 * distance;
}

/* Folds the operands of all children into to; returns the last step. */
static uint32_t fold_children(const struct gamma_plan_call *call, struct gamma_schedule *schedule,
			      void *to, uint32_t rank, uint32_t span)
{
	uint64_t bytes = gamma_plan_bytes(call);
	uint32_t folded = gamma_schedule_copy(schedule, to, call->from, bytes, GAMMA_SCHEDULE_NONE,
					      GAMMA_SCHEDULE_NONE);

	for (uint32_t distance = 1; distance < span; distance = next_child(call, distance)) {
		void *operand = gamma_schedule_take_memory(schedule, bytes);
		uint32_t heard = gamma_schedule_receive(
			schedule, gamma_tree_place(rank + distance, call->root, call->n), operand,
			bytes, GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);

		folded = gamma_schedule_fold(schedule, to, operand, bytes, heard, folded);
	}
	return folded;
}

static void plan_tree(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint32_t rank = gamma_tree_rank(call->place, call->root, call->n);
	uint32_t span = span_of(call, rank), folded = GAMMA_SCHEDULE_NONE;
	uint64_t bytes = gamma_plan_bytes(call);
	const void *operand = call->from;

	if (span > 1 || !rank) {
		/* The root's buffer may be too little aligned to be computed in. */
		void *to = gamma_schedule_take_memory(schedule, bytes);

		folded = fold_children(call, schedule, to, rank, span);
		operand = to;
	}
	if (rank)
		gamma_schedule_send(schedule,
				    gamma_tree_place(parent_of(call, rank), call->root, call->n),
				    operand, bytes, folded, GAMMA_SCHEDULE_NONE);
	else
		gamma_schedule_copy(schedule, call->to, operand, bytes, folded,
				    GAMMA_SCHEDULE_NONE);
}

void gamma_plan_reduce(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	if (gamma_plan_bytes(call) > GAMMA_PLAN_SHORT && call->n > 1)
		gamma_plan_ring_reduce(call, schedule);
	else
		plan_tree(call, schedule);
}
