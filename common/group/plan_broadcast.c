// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Broadcast without multicast: short ones to few straight, to many down a binomial tree, long ones
 * in pieces along a chain, in which every member receives one piece while it sends the one before.
 */
#include "base/base.h"
#include "group/plan.h"
#include "group/tree.h"

static void plan_flat(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint64_t bytes = gamma_plan_bytes(call);

	if (call->place != call->root) {
		gamma_schedule_receive(schedule, call->root, call->to, bytes, GAMMA_SCHEDULE_NONE,
				       GAMMA_SCHEDULE_NONE);
		return;
	}
	for (uint32_t rank = 1; rank < call->n; rank++)
		gamma_schedule_send(schedule, gamma_tree_place(rank, call->root, call->n), call->to,
				    bytes, GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
}

static void plan_tree(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint32_t rank = gamma_tree_rank(call->place, call->root, call->n);
	uint32_t heard = GAMMA_SCHEDULE_NONE, distance;
	uint64_t bytes = gamma_plan_bytes(call);

	if (rank)
		heard = gamma_schedule_receive(
			schedule, gamma_tree_place(gamma_tree_parent(rank), call->root, call->n),
			call->to, bytes, GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
	/* The deepest subtree first. */
	for (distance = gamma_tree_span(rank, call->n) / 2; distance; distance /= 2)
		gamma_schedule_send(schedule,
				    gamma_tree_place(rank + distance, call->root, call->n),
				    call->to, bytes, heard, GAMMA_SCHEDULE_NONE);
}

/* Bytes that go from link to link; with two members nobody passes anything on. */
static uint64_t piece_of(const struct gamma_plan_call *call)
{
	uint64_t bytes = gamma_plan_bytes(call);

	if (call->n == 2)
		return bytes;
	return gamma_max(GAMMA_PLAN_PIECE, (bytes + GAMMA_PLAN_PIECES - 1) / GAMMA_PLAN_PIECES);
}

static void plan_chain(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	uint32_t rank = gamma_tree_rank(call->place, call->root, call->n);
	uint32_t before = gamma_tree_place(rank ? rank - 1 : 0, call->root, call->n);
	uint32_t heard = GAMMA_SCHEDULE_NONE;
	uint64_t bytes = gamma_plan_bytes(call), piece = piece_of(call);

	for (uint64_t offset = 0; offset < bytes; offset += piece) {
		uint64_t len = gamma_min(piece, bytes - offset);
		uint8_t *at = (uint8_t *) call->to + offset;

		if (rank)
			heard = gamma_schedule_receive(schedule, before, at, len,
						       GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
		if (rank + 1 < call->n)
			gamma_schedule_send(schedule,
					    gamma_tree_place(rank + 1, call->root, call->n), at,
					    len, heard, GAMMA_SCHEDULE_NONE);
	}
}

void gamma_plan_broadcast(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	if (gamma_plan_casts(call))
		gamma_plan_multicast(call, schedule);
	else if (gamma_plan_bytes(call) > GAMMA_PLAN_SHORT)
		plan_chain(call, schedule);
	else if (gamma_plan_is_flat(call))
		plan_flat(call, schedule);
	else
		plan_tree(call, schedule);
}
