// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Allreduce of short operands by recursive doubling. In round k two members 2^k apart exchange what
 * they have, and both fold the lower one's before the upper one's, so that all get the same bits.
 * If the number of members is no power of two, the first ones are taken in pairs: the odd one gives
 * its operand to the even one and gets the result from it. Long ones go around a ring
 * (plan_ring_reduce.c).
 */
#include <stddef.h>

#include "group/plan.h"

struct doubling {
	const struct gamma_plan_call *call;
	struct gamma_schedule *schedule;
	uint64_t bytes;
	uint8_t *value; /* what the member has */
	uint32_t pairs; /* of members that act as one */
	uint32_t last;  /* step that made value */
};

/* The member that acts as the i-th of a power of two. */
static uint32_t actor(const struct doubling *doubling, uint32_t i)
{
	return i < doubling->pairs ? 2 * i : i + doubling->pairs;
}

/* Folds the peer's value into the own one; both are kept until the round is over. */
static void exchange(struct doubling *doubling, uint32_t peer, bool sends)
{
	struct gamma_schedule *schedule = doubling->schedule;
	uint64_t bytes = doubling->bytes;
	bool lower = doubling->call->place < peer;
	uint8_t *other = gamma_schedule_take_memory(schedule, bytes);
	uint32_t heard;

	if (sends)
		gamma_schedule_send(schedule, peer, doubling->value, bytes, doubling->last,
				    GAMMA_SCHEDULE_NONE);
	heard = gamma_schedule_receive(schedule, peer, other, bytes, GAMMA_SCHEDULE_NONE,
				       GAMMA_SCHEDULE_NONE);
	if (lower && sends) {
		/* The own value is on its way: the fold needs a place of its own. */
		uint8_t *copy = gamma_schedule_take_memory(schedule, bytes);
		uint32_t copied = gamma_schedule_copy(schedule, copy, doubling->value, bytes,
						      doubling->last, GAMMA_SCHEDULE_NONE);

		doubling->last = gamma_schedule_fold(schedule, copy, other, bytes, heard, copied);
		doubling->value = copy;
	} else if (lower) {
		doubling->last = gamma_schedule_fold(schedule, doubling->value, other, bytes, heard,
						     doubling->last);
	} else {
		doubling->last = gamma_schedule_fold(schedule, other, doubling->value, bytes, heard,
						     doubling->last);
		doubling->value = other;
	}
}

/* The odd one of a pair: its partner acts for it. */
static void stand_aside(struct doubling *doubling)
{
	const struct gamma_plan_call *call = doubling->call;
	uint32_t sent =
		gamma_schedule_send(doubling->schedule, call->place - 1, call->from,
				    doubling->bytes, GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);

	/* The operand may lie where the result comes. */
	gamma_schedule_receive(doubling->schedule, call->place - 1, call->to, doubling->bytes, sent,
			       GAMMA_SCHEDULE_NONE);
}

static void plan_doubling(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	struct doubling doubling = {call, schedule, gamma_plan_bytes(call), NULL, 0, 0};
	uint32_t actors = 1, self;

	while (2 * actors <= call->n)
		actors *= 2;
	doubling.pairs = call->n - actors;
	if (call->place < 2 * doubling.pairs && call->place % 2) {
		stand_aside(&doubling);
		return;
	}
	doubling.value = gamma_schedule_take_memory(schedule, doubling.bytes);
	doubling.last = gamma_schedule_copy(schedule, doubling.value, call->from, doubling.bytes,
					    GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
	if (call->place < 2 * doubling.pairs)
		exchange(&doubling, call->place + 1, false);
	self = call->place < 2 * doubling.pairs ? call->place / 2 : call->place - doubling.pairs;
	for (uint32_t distance = 1; distance < actors; distance *= 2)
		exchange(&doubling, actor(&doubling, self ^ distance), true);
	if (call->place < 2 * doubling.pairs)
		gamma_schedule_send(schedule, call->place + 1, doubling.value, doubling.bytes,
				    doubling.last, GAMMA_SCHEDULE_NONE);
	gamma_schedule_copy(schedule, call->to, doubling.value, doubling.bytes, doubling.last,
			    GAMMA_SCHEDULE_NONE);
}

void gamma_plan_allreduce(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	if (gamma_plan_bytes(call) > GAMMA_PLAN_SHORT && call->n > 1)
		gamma_plan_ring_reduce(call, schedule);
	else
		plan_doubling(call, schedule);
}
