// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Which collective operations there are: fi_query_collective, and what coll.c checks calls with. */
#include "coll.h"
#include "gamma.h"
#include "message/atomic_ops.h"

/* By libfabric's numbers; 0: not offered. */
static const enum gamma_plan_kind kinds[] = {
	[FI_BARRIER] = GAMMA_PLAN_BARRIER,     [FI_BROADCAST] = GAMMA_PLAN_BROADCAST,
	[FI_ALLREDUCE] = GAMMA_PLAN_ALLREDUCE, [FI_ALLGATHER] = GAMMA_PLAN_ALLGATHER,
	[FI_REDUCE] = GAMMA_PLAN_REDUCE,       [FI_SCATTER] = GAMMA_PLAN_SCATTER,
	[FI_GATHER] = GAMMA_PLAN_GATHER,
};

enum gamma_plan_kind gamma_coll_query_kind(enum fi_collective_op coll)
{
	return (unsigned) coll < gamma_array_size(kinds) ? kinds[coll] : 0;
}

static bool reduces(enum gamma_plan_kind kind)
{
	return kind == GAMMA_PLAN_REDUCE || kind == GAMMA_PLAN_ALLREDUCE;
}

uint32_t gamma_coll_query_unit(enum gamma_plan_kind kind, uint32_t datatype, uint32_t op)
{
	if (kind == GAMMA_PLAN_BARRIER)
		return 1;
	if (reduces(kind) &&
	    (op > FI_BXOR || !gamma_atomic_ops_is_valid(GAMMA_ATOMIC_BASE, datatype, op)))
		return 0;
	return gamma_atomic_ops_size(datatype);
}

int gamma_coll_query(struct fid_domain *domain_fid, enum fi_collective_op coll,
		     struct fi_collective_attr *attr, uint64_t flags)
{
	const struct gamma_domain *domain =
		gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	enum gamma_plan_kind kind = gamma_coll_query_kind(coll);
	uint32_t unit;

	if (!(domain->caps & FI_COLLECTIVE) || !kind || flags)
		return -FI_ENOSYS;
	if (!attr)
		return kind == GAMMA_PLAN_BARRIER ? 0 : -FI_EINVAL;
	unit = gamma_coll_query_unit(kind, (uint32_t) attr->datatype, (uint32_t) attr->op);
	if (!unit)
		return -FI_EOPNOTSUPP;
	attr->datatype_attr.count = kind == GAMMA_PLAN_BARRIER ? 0 : GAMMA_MAX_MSG_SIZE / unit;
	attr->datatype_attr.size = kind == GAMMA_PLAN_BARRIER ? 0 : unit;
	attr->max_members = GAMMA_COLL_MEMBERS_MAX;
	attr->mode = 0;
	return 0;
}
