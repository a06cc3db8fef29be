// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which atomic operations there are: fi_query_atomic of the domain and the *valid calls of an
 * endpoint, which give the same answers. atomic.c asks before it posts.
 */
#include "gamma.h"

/* The wire has libfabric's numbers. */
#define SAME(name) _Static_assert((int) FI_##name == (int) GAMMA_##name, #name)
SAME(INT8);
SAME(UINT64);
SAME(FLOAT);
SAME(DOUBLE_COMPLEX);
SAME(LONG_DOUBLE_COMPLEX);
SAME(INT128);
SAME(UINT128);
SAME(ATOMIC_READ);
SAME(ATOMIC_WRITE);
#define SAME_OP(name) _Static_assert((int) FI_##name == (int) GAMMA_ATOMIC_##name, #name)
SAME_OP(MIN);
SAME_OP(BXOR);
SAME_OP(CSWAP);
SAME_OP(CSWAP_GT);
SAME_OP(MSWAP);

size_t gamma_atomic_valid_count(enum gamma_atomic_form form, enum fi_datatype datatype,
				enum fi_op op)
{
	/* Newer versions may pass numbers that the headers here have no names for. */
	uint32_t type = (uint32_t) datatype, operation = (uint32_t) op;

	if (!gamma_atomic_ops_is_valid(form, type, operation))
		return 0;
	return GAMMA_ATOMIC_CALL_MAX / gamma_atomic_ops_size(type);
}

int gamma_atomic_valid_query(struct fid_domain *domain_fid, enum fi_datatype datatype,
			     enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	struct gamma_domain *domain =
		gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	enum gamma_atomic_form form = GAMMA_ATOMIC_BASE;
	size_t count;

	if (flags & FI_TAGGED) /* atomics on receive buffers */
		return -FI_EOPNOTSUPP;
	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC))
		return -FI_EBADFLAGS;
	if (flags == (FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC))
		return -FI_EINVAL;
	if (flags)
		form = flags & FI_FETCH_ATOMIC ? GAMMA_ATOMIC_FETCH : GAMMA_ATOMIC_COMPARE;
	count = gamma_atomic_valid_count(form, datatype, op);
	if (!(domain->caps & FI_ATOMIC) || !count)
		return -FI_EOPNOTSUPP;
	if (attr) {
		attr->count = count;
		attr->size = gamma_atomic_ops_size((uint32_t) datatype);
	}
	return 0;
}

static int valid(enum gamma_atomic_form form, enum fi_datatype datatype, enum fi_op op,
		 size_t *count)
{
	size_t most = gamma_atomic_valid_count(form, datatype, op);

	if (!most)
		return -FI_EOPNOTSUPP;
	if (count)
		*count = most;
	return 0;
}

int gamma_atomic_valid_write(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			     size_t *count)
{
	(void) ep;
	return valid(GAMMA_ATOMIC_BASE, datatype, op, count);
}

int gamma_atomic_valid_readwrite(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
				 size_t *count)
{
	(void) ep;
	return valid(GAMMA_ATOMIC_FETCH, datatype, op, count);
}

int gamma_atomic_valid_compwrite(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
				 size_t *count)
{
	(void) ep;
	return valid(GAMMA_ATOMIC_COMPARE, datatype, op, count);
}
