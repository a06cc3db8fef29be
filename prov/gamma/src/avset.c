// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Sets of addresses: fi_av_set, and what changes one. A set knows places, not peers: its addresses
 * are looked at when a group is made of it. Under the domain's lock.
 */
#include "avset.h"
#include "gamma.h"

#include <stdlib.h>

static struct gamma_avset *set_of(const struct fid_av_set *set_fid)
{
	return gamma_container_of((struct fid_av_set *) set_fid, struct gamma_avset, set_fid);
}

static bool set_contains(const struct gamma_avset *set, fi_addr_t addr)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->members[i] == addr)
			return true;
	return false;
}

/* Room for so many members in all. */
static int reserve_members(struct gamma_avset *set, size_t count)
{
	fi_addr_t *members;

	if (count <= set->size)
		return 0;
	count = gamma_max(count, 2 * set->size);
	if (count > SIZE_MAX / sizeof(*members))
		return -FI_ENOMEM;
	members = realloc(set->members, count * sizeof(*members));
	if (!members)
		return -FI_ENOMEM;
	set->members = members;
	set->size = count;
	return 0;
}

static int append_member(struct gamma_avset *set, fi_addr_t addr)
{
	int ret = reserve_members(set, set->count + 1);

	if (!ret)
		set->members[set->count++] = addr;
	return ret;
}

/* ---- operations on sets ---- */

/* The lock of the set's domain, if both sets are of one address vector. */
static int lock_both(const struct gamma_avset *dst, const struct gamma_avset *src)
{
	if (dst->av != src->av)
		return -FI_EINVAL;
	gamma_domain_lock(dst->av->domain);
	return 0;
}

static int set_union(struct fid_av_set *dst_fid, const struct fid_av_set *src_fid)
{
	struct gamma_avset *dst = set_of(dst_fid);
	const struct gamma_avset *src = set_of(src_fid);
	size_t before = dst->count;
	int ret = lock_both(dst, src);

	if (ret)
		return ret;
	for (size_t i = 0; !ret && i < src->count; i++)
		if (!set_contains(dst, src->members[i]))
			ret = append_member(dst, src->members[i]);
	if (ret)
		dst->count = before;
	gamma_domain_unlock(dst->av->domain);
	return ret;
}

/* Keeps those members that are in src, or those that are not. */
static int filter_set(struct fid_av_set *dst_fid, const struct fid_av_set *src_fid, bool common)
{
	struct gamma_avset *dst = set_of(dst_fid);
	const struct gamma_avset *src = set_of(src_fid);
	size_t kept = 0;
	int ret = lock_both(dst, src);

	if (ret)
		return ret;
	if (dst == src) {
		kept = common ? dst->count : 0;
	} else {
		for (size_t i = 0; i < dst->count; i++)
			if (set_contains(src, dst->members[i]) == common)
				dst->members[kept++] = dst->members[i];
	}
	dst->count = kept;
	gamma_domain_unlock(dst->av->domain);
	return 0;
}

static int set_intersect(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return filter_set(dst, src, true);
}

static int set_diff(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return filter_set(dst, src, false);
}

static int set_insert(struct fid_av_set *set_fid, fi_addr_t addr)
{
	struct gamma_avset *set = set_of(set_fid);
	int ret = -FI_EINVAL;

	gamma_domain_lock(set->av->domain);
	if (!gamma_av_addr(set->av, addr))
		GAMMA_WARN(AV, "address %llu is not in the address vector: it cannot join a set\n",
			   (unsigned long long) addr);
	else if (!set_contains(set, addr))
		ret = append_member(set, addr);
	gamma_domain_unlock(set->av->domain);
	return ret;
}

static int set_remove(struct fid_av_set *set_fid, fi_addr_t addr)
{
	struct gamma_avset *set = set_of(set_fid);
	size_t kept = 0;
	bool found;

	gamma_domain_lock(set->av->domain);
	for (size_t i = 0; i < set->count; i++)
		if (set->members[i] != addr)
			set->members[kept++] = set->members[i];
	found = kept < set->count;
	set->count = kept;
	gamma_domain_unlock(set->av->domain);
	return found ? 0 : -FI_EINVAL;
}

/* It only says which set a join is about, and that names its set itself. */
static int set_addr(struct fid_av_set *set_fid, fi_addr_t *coll_addr)
{
	*coll_addr = (fi_addr_t) (uintptr_t) set_of(set_fid);
	return 0;
}

static struct fi_ops_av_set set_ops = {
	.size = sizeof(struct fi_ops_av_set),
	.set_union = set_union,
	.intersect = set_intersect,
	.diff = set_diff,
	.insert = set_insert,
	.remove = set_remove,
	.addr = set_addr,
};

/* ---- opening and closing ---- */

static int set_close(struct fid *fid)
{
	struct gamma_avset *set = gamma_container_of(fid, struct gamma_avset, set_fid.fid);

	gamma_refs_drop(&set->av->refs);
	free(set->members);
	free(set);
	return 0;
}

static struct fi_ops set_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = set_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = gamma_fabric_unsupported_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

/* FNV-1a, never 0. */
static uint64_t hash_key(const struct fi_av_set_attr *attr)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < attr->comm_key_size; i++)
		hash = (hash ^ attr->comm_key[i]) * 0x100000001b3ull;
	return hash ? hash : 1;
}

/* Addresses that are in the vector; the range may end behind them. */
static int fill_set(struct gamma_avset *set, const struct fi_av_set_attr *attr)
{
	uint64_t stride = attr->stride ? attr->stride : 1;
	bool all = attr->flags & FI_UNIVERSE;
	fi_addr_t addr = all ? 0 : attr->start_addr;
	fi_addr_t end = all ? FI_ADDR_NOTAVAIL : attr->end_addr;
	int ret = 0;

	if (addr == FI_ADDR_NOTAVAIL)
		return end == FI_ADDR_NOTAVAIL ? reserve_members(set, attr->count) : -FI_EINVAL;
	if (addr > end)
		return -FI_EINVAL;
	while (!ret && addr < set->av->count && addr <= end) {
		if (gamma_av_addr(set->av, addr))
			ret = append_member(set, addr);
		addr = stride < set->av->count - addr ? addr + stride : set->av->count;
	}
	return ret;
}

/* A set serves all operations that there are, whichever the program names. */
#define OFFERED                                                                                    \
	(FI_BARRIER_SET | FI_BROADCAST_SET | FI_ALLREDUCE_SET | FI_ALLGATHER_SET | FI_REDUCE_SET | \
	 FI_SCATTER_SET | FI_GATHER_SET)
#define NOT_OFFERED (FI_ALLTOALL_SET | FI_REDUCE_SCATTER_SET)

static int check_flags(uint64_t flags)
{
	if (flags & ~(FI_UNIVERSE | OFFERED | NOT_OFFERED))
		return -FI_EBADFLAGS;
	return flags & NOT_OFFERED ? -FI_ENOSYS : 0;
}

int gamma_avset_open(struct fid_av *av_fid, struct fi_av_set_attr *attr,
		     struct fid_av_set **set_fid, void *context)
{
	struct gamma_av *av = gamma_container_of(av_fid, struct gamma_av, av_fid);
	struct gamma_avset *set;
	int ret;

	if (!attr || (attr->comm_key_size && !attr->comm_key))
		return -FI_EINVAL;
	ret = check_flags(attr->flags);
	if (ret)
		return ret;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	set->av = av;
	set->key = attr->comm_key_size ? hash_key(attr) : 0;
	set->set_fid.fid.fclass = FI_CLASS_AV_SET;
	set->set_fid.fid.context = context;
	set->set_fid.fid.ops = &set_fid_ops;
	set->set_fid.ops = &set_ops;
	gamma_domain_lock(av->domain);
	ret = fill_set(set, attr);
	gamma_domain_unlock(av->domain);
	gamma_refs_take(&av->refs);
	if (ret) {
		set_close(&set->set_fid.fid);
		return ret;
	}
	*set_fid = &set->set_fid;
	return 0;
}
