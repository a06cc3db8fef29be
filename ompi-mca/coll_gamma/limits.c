// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Calls that gamma carries: the user's sizes, and what the provider offers.
 */
#include "coll_gamma.h"

static int int_of(size_t value)
{
	return value < INT_MAX ? (int) value : INT_MAX;
}

/* Elements that the provider takes at once; 0: it does not offer the operation. */
static int offered(struct fid_domain *domain, enum fi_collective_op what, enum fi_op op,
		   enum fi_datatype type)
{
	struct fi_collective_attr attr = {.op = op, .datatype = type};

	if (fi_query_collective(domain, what, &attr, 0))
		return 0;
	return attr.datatype_attr.count ? int_of(attr.datatype_attr.count) : INT_MAX;
}

static void fill_reductions(int elements[COLL_GAMMA_OPS][COLL_GAMMA_TYPES],
			    struct fid_domain *domain, enum fi_collective_op what)
{
	int op, type;

	for (op = 0; op < COLL_GAMMA_OPS; op++)
		for (type = 0; type < COLL_GAMMA_TYPES; type++)
			elements[op][type] =
				offered(domain, what, (enum fi_op) op, (enum fi_datatype) type);
}

/* This process's own, of a communicator on so many hosts. */
void coll_gamma_limits_fill(struct coll_gamma_limits *limits, struct fid_domain *domain,
			    unsigned int hosts)
{
	static const enum fi_collective_op bytes_by_kind[COLL_GAMMA_KINDS] = {
		[COLL_GAMMA_BARRIER] = FI_BARRIER,
		[COLL_GAMMA_BCAST] = FI_BROADCAST,
		[COLL_GAMMA_ALLGATHER] = FI_ALLGATHER,
		[COLL_GAMMA_GATHER] = FI_GATHER,
	};
	const struct coll_gamma_component *component = &mca_coll_gamma_component;
	int kind, most;

	limits->trial = int_of(component->trial < COLL_GAMMA_TRIAL_MAX ? component->trial
								       : COLL_GAMMA_TRIAL_MAX);
	for (kind = 0; kind < COLL_GAMMA_KINDS; kind++) {
		most = int_of(component->max[kind]);
		limits->max[kind] = most;
		limits->minus_min[kind] = -int_of(component->min[kind]);
		if (kind == COLL_GAMMA_ALLREDUCE || kind == COLL_GAMMA_REDUCE)
			continue;
		limits->max[kind] = offered(domain, bytes_by_kind[kind], FI_NOOP,
					    kind == COLL_GAMMA_BARRIER ? FI_VOID : FI_UINT8);
		if (most < limits->max[kind])
			limits->max[kind] = most;
	}
	if (hosts < component->short_hosts)
		limits->max[COLL_GAMMA_BARRIER] = limits->max[COLL_GAMMA_ALLREDUCE] = 0;
	fill_reductions(limits->allreduces, domain, FI_ALLREDUCE);
	fill_reductions(limits->reduces, domain, FI_REDUCE);
}

bool coll_gamma_limits_allow(const struct coll_gamma_limits *limits, enum coll_gamma_kind kind,
			     size_t bytes)
{
	return bytes && bytes <= (size_t) limits->max[kind] &&
	       bytes >= (size_t) -limits->minus_min[kind];
}
