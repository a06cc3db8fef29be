// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Reductions of long operands: block b of n begins at member b and goes around the ring once, each
 * member folding its own part into it, so that member b - 1 has it complete. Then all blocks go
 * around once more, or to the root. Each link carries the operand at most twice.
 */
#include "base/base.h"
#include "group/plan.h"

struct ring {
	const struct gamma_plan_call *call;
	struct gamma_schedule *schedule;
	uint32_t before, behind; /* places */
	uint8_t *complete;       /* the block that ends here */
	uint32_t last;           /* step that made it */
};

static uint32_t wrap(const struct ring *ring, uint64_t number)
{
	return (uint32_t) (number % ring->call->n);
}

/* Where a block begins, in bytes; block n: where the last one ends. */
static uint64_t start_of(const struct ring *ring, uint32_t block)
{
	const struct gamma_plan_call *call = ring->call;
	uint64_t each = call->count / call->n, more = call->count % call->n;

	return (block * each + gamma_min(block, more)) * call->unit;
}

static uint64_t size_of(const struct ring *ring, uint32_t block)
{
	return start_of(ring, block + 1) - start_of(ring, block);
}

static void reduce_blocks(struct ring *ring)
{
	const struct gamma_plan_call *call = ring->call;
	const uint8_t *own = call->from, *from = own + start_of(ring, call->place);
	uint32_t n = call->n, block = call->place;

	ring->last = GAMMA_SCHEDULE_NONE;
	for (uint32_t step = 0; step + 1 < n; step++) {
		uint64_t len = size_of(ring, wrap(ring, (uint64_t) block + n - 1));
		uint32_t heard;

		gamma_schedule_send(ring->schedule, ring->behind, from, size_of(ring, block),
				    ring->last, GAMMA_SCHEDULE_NONE);
		block = wrap(ring, (uint64_t) block + n - 1);
		ring->complete = gamma_schedule_take_memory(ring->schedule, len);
		heard = gamma_schedule_receive(ring->schedule, ring->before, ring->complete, len,
					       GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
		ring->last = gamma_schedule_fold(ring->schedule, ring->complete,
						 own + start_of(ring, block), len, heard,
						 GAMMA_SCHEDULE_NONE);
		from = ring->complete;
	}
}

/* All get all blocks. */
static void spread_blocks(struct ring *ring)
{
	const struct gamma_plan_call *call = ring->call;
	uint32_t n = call->n, block = wrap(ring, (uint64_t) call->place + 1);
	uint8_t *to = call->to;

	ring->last = gamma_schedule_copy(ring->schedule, to + start_of(ring, block), ring->complete,
					 size_of(ring, block), ring->last, GAMMA_SCHEDULE_NONE);
	for (uint32_t step = 0; step + 1 < n; step++) {
		gamma_schedule_send(ring->schedule, ring->behind, to + start_of(ring, block),
				    size_of(ring, block), ring->last, GAMMA_SCHEDULE_NONE);
		block = wrap(ring, (uint64_t) block + n - 1);
		ring->last = gamma_schedule_receive(
			ring->schedule, ring->before, to + start_of(ring, block),
			size_of(ring, block), GAMMA_SCHEDULE_NONE, GAMMA_SCHEDULE_NONE);
	}
}

/* The root gets all blocks. */
static void collect_blocks(struct ring *ring)
{
	const struct gamma_plan_call *call = ring->call;
	uint32_t n = call->n, block = wrap(ring, (uint64_t) call->place + 1);
	uint8_t *to = call->to;

	if (call->place != call->root) {
		gamma_schedule_send(ring->schedule, call->root, ring->complete,
				    size_of(ring, block), ring->last, GAMMA_SCHEDULE_NONE);
		return;
	}
	gamma_schedule_copy(ring->schedule, to + start_of(ring, block), ring->complete,
			    size_of(ring, block), ring->last, GAMMA_SCHEDULE_NONE);
	for (uint32_t place = 0; place < n; place++) {
		block = wrap(ring, (uint64_t) place + 1);
		if (place != call->place)
			gamma_schedule_receive(ring->schedule, place, to + start_of(ring, block),
					       size_of(ring, block), GAMMA_SCHEDULE_NONE,
					       GAMMA_SCHEDULE_NONE);
	}
}

void gamma_plan_ring_reduce(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	struct ring ring = {
		.call = call,
		.schedule = schedule,
		.before = (call->place + call->n - 1) % call->n,
		.behind = (call->place + 1) % call->n,
	};

	reduce_blocks(&ring);
	if (call->kind == GAMMA_PLAN_ALLREDUCE)
		spread_blocks(&ring);
	else
		collect_blocks(&ring);
}
