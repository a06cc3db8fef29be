// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Chooses the algorithm of an operation, and does what its steps compute. */
#include "group/plan.h"

#include <string.h>

#include "message/atomic_ops.h"

typedef void maker(const struct gamma_plan_call *call, struct gamma_schedule *schedule);

static const struct {
	maker *make;
	const char *name;
} plans[] = {
	[GAMMA_PLAN_BARRIER] = {gamma_plan_barrier, "barrier"},
	[GAMMA_PLAN_BROADCAST] = {gamma_plan_broadcast, "broadcast"},
	[GAMMA_PLAN_REDUCE] = {gamma_plan_reduce, "reduce"},
	[GAMMA_PLAN_ALLREDUCE] = {gamma_plan_allreduce, "allreduce"},
	[GAMMA_PLAN_GATHER] = {gamma_plan_gather, "gather"},
	[GAMMA_PLAN_ALLGATHER] = {gamma_plan_allgather, "allgather"},
	[GAMMA_PLAN_SCATTER] = {gamma_plan_scatter, "scatter"},
};

void gamma_plan_make(const struct gamma_plan_call *call, struct gamma_schedule *schedule)
{
	plans[call->kind].make(call, schedule);
}

const char *gamma_plan_name(enum gamma_plan_kind kind)
{
	return plans[kind].name;
}

bool gamma_plan_casts(const struct gamma_plan_call *call)
{
	uint64_t bytes = gamma_plan_bytes(call);

	if (!call->hosts)
		return false;
	return call->kind == GAMMA_PLAN_BROADCAST
		       ? bytes >= GAMMA_PLAN_CAST
		       : call->kind == GAMMA_PLAN_ALLGATHER && bytes >= GAMMA_PLAN_CAST_BLOCK;
}

void gamma_plan_compute(const struct gamma_plan_call *call, const struct gamma_schedule_step *step)
{
	if (step->kind == GAMMA_SCHEDULE_FOLD)
		gamma_atomic_ops_fold(call->datatype, call->op, step->to, step->from,
				      step->len / call->unit);
	else if (step->len && step->to != step->from)
		memcpy(step->to, step->from, step->len);
}

/* FNV-1a over 64-bit words, folded. */
uint32_t gamma_plan_signature(const struct gamma_plan_call *call)
{
	bool reduces = call->kind == GAMMA_PLAN_REDUCE || call->kind == GAMMA_PLAN_ALLREDUCE;
	const uint64_t words[] = {
		(uint64_t) call->kind << 32 | call->root,
		(uint64_t) call->datatype << 32 | (reduces ? call->op : 0),
		call->count,
		call->n,
	};
	uint64_t hash = 0xcbf29ce484222325ull;

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		hash = (hash ^ words[i]) * 0x100000001b3ull;
		hash ^= hash >> 32;
	}
	return (uint32_t) (hash ^ hash >> 16) & 0x7fff;
}
