// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The memory region: what peers may reach under a key. Regions are found by key in a hash
 * table of the domain, under its lock. Registering touches no page.
 */
#include "gamma.h"

#include <endian.h>
#include <stdlib.h>

/* Keys are often small numbers in a row, or addresses: mix all bits into the bucket. */
static struct gamma_list *bucket_of(struct gamma_domain *domain, uint64_t key)
{
	uint64_t mixed = key * 0x9e3779b97f4a7c15ull; /* 2^64 divided by the golden ratio */

	return &domain->mrs[(mixed >> 32) & (GAMMA_MR_BUCKETS - 1)];
}

struct gamma_mr *gamma_mr_find(struct gamma_domain *domain, uint64_t key)
{
	struct gamma_list *head = bucket_of(domain, key), *pos;

	gamma_list_for_each (pos, head) {
		struct gamma_mr *mr = gamma_list_entry(pos, struct gamma_mr, bucket);

		if (mr->mr_fid.key == key)
			return mr;
	}
	return NULL;
}

/* Stops all endpoints, closing ones too, from sending out of the region. A forked child has nothing
 * to send. */
static void withdraw_region(struct gamma_domain *domain, const struct gamma_mr *mr)
{
	struct gamma_list *pos;

	if (gamma_progress_is_inherited(domain))
		return;
	gamma_list_for_each (pos, &domain->eps)
		gamma_ep_withdraw(gamma_ep_of_domain_entry(pos), mr);
	gamma_list_for_each (pos, &domain->closing)
		gamma_ep_withdraw(gamma_ep_of_domain_entry(pos), mr);
}

static int mr_close(struct fid *fid)
{
	struct gamma_mr *mr = gamma_container_of(fid, struct gamma_mr, mr_fid.fid);
	struct gamma_domain *domain = mr->domain;

	if (gamma_refs_any(&mr->refs))
		return -FI_EBUSY;
	gamma_domain_lock(domain);
	gamma_list_remove(&mr->bucket);
	withdraw_region(domain, mr);
	if (mr->cntr) {
		gamma_refs_drop(&mr->cntr->refs);
		domain->counted_mrs--;
	}
	gamma_domain_unlock(domain);
	if (mr->base)
		gamma_refs_drop(&mr->base->refs);
	free(mr);
	gamma_refs_drop(&domain->refs);
	return 0;
}

/* Binds a counter of remote accesses. An endpoint is accepted and ignored: every endpoint reaches
 * all regions. */
static int mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct gamma_mr *mr = gamma_container_of(fid, struct gamma_mr, mr_fid.fid);
	struct gamma_cntr *cntr;

	if (other->fclass == FI_CLASS_EP)
		return flags ? -FI_EBADFLAGS : 0;
	cntr = gamma_container_of(other, struct gamma_cntr, cntr_fid.fid);
	if (other->fclass != FI_CLASS_CNTR || mr->cntr || cntr->domain != mr->domain)
		return -FI_EINVAL;
	if (flags & ~(FI_REMOTE_WRITE | FI_REMOTE_READ))
		return -FI_EBADFLAGS;
	gamma_domain_lock(mr->domain);
	mr->cntr = cntr;
	mr->cntr_flags = flags;
	mr->domain->counted_mrs++;
	gamma_refs_take(&mr->cntr->refs);
	gamma_domain_unlock(mr->domain);
	return 0;
}

/* A raw key is the key in network order. It needs no mapping; programs that map every key may. */
static int get_raw_attr(const struct gamma_mr *mr, const struct fi_mr_raw_attr *raw)
{
	uint64_t key = htobe64(mr->mr_fid.key);
	size_t room;

	if (!raw || !raw->key_size || raw->flags)
		return -FI_EINVAL;
	room = *raw->key_size;
	*raw->key_size = sizeof(key);
	if (raw->base_addr)
		*raw->base_addr = mr->offset;
	if (room < sizeof(key) || !raw->raw_key)
		return -FI_ETOOSMALL;
	memcpy(raw->raw_key, &key, sizeof(key));
	return 0;
}

int gamma_mr_map_raw(const struct fi_mr_map_raw *map)
{
	uint64_t key;

	if (!map || !map->raw_key || !map->key || map->key_size != sizeof(key) || map->flags)
		return -FI_EINVAL;
	memcpy(&key, map->raw_key, sizeof(key));
	*map->key = be64toh(key);
	return 0;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	switch (command) {
	case FI_ENABLE:
	case FI_REFRESH:
		return 0; /* it is enabled from the beginning and needs no refresh */
	case FI_GET_RAW_MR:
		return get_raw_attr(gamma_container_of(fid, struct gamma_mr, mr_fid.fid), arg);
	}
	return -FI_ENOSYS;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

/* The last fields exist only in the structures of applications that are new enough. Those that say
 * whose memory it is count only with FI_HMEM, which is not offered. */
static int check_attr(uint32_t api_version, const struct fi_mr_attr *attr, uint64_t flags)
{
	/* FI_MR_DMABUF among them: there mr_iov would be something else. */
	if (flags & ~(FI_RMA_EVENT | FI_RMA_PMEM))
		return -FI_EBADFLAGS;
	if (!attr->mr_iov || !attr->iov_count || attr->iov_count > GAMMA_IOV_LIMIT)
		return -FI_EINVAL;
	if (FI_VERSION_GE(api_version, FI_VERSION(1, 5)) && attr->auth_key_size)
		return -FI_EINVAL;
	return 0;
}

/* From fi_mr_attr.device on, as it is since 2.0. */
struct newest_mr_attr {
	uint64_t device;
	void *hmem_data;
	size_t page_size;
	const struct fid_mr *base_mr;
};

static bool lies_in(const struct iovec *part, const struct gamma_mr *base)
{
	const char *at = part->iov_base;

	for (size_t i = 0; i < base->iov_count; i++) {
		const struct iovec *whole = &base->iov[i];
		const char *start = whole->iov_base;

		if (at >= start && part->iov_len <= whole->iov_len &&
		    (size_t) (at - start) <= whole->iov_len - part->iov_len)
			return true;
	}
	return false;
}

/* A region may be a part of another, which stays as long. It has a key and access rights of its
 * own, and is like any other region here. */
static int take_base(struct gamma_mr *mr, const struct fid_mr *base_mr)
{
	struct gamma_mr *base = (struct gamma_mr *) (uintptr_t) base_mr; /* it begins with it */

	_Static_assert(!offsetof(struct gamma_mr, mr_fid), "a region begins with its fid");
	if (base && base->domain != mr->domain)
		return -FI_EINVAL;
	for (size_t i = 0; base && i < mr->iov_count; i++)
		if (!lies_in(&mr->iov[i], base))
			return -FI_EINVAL;
	mr->base = base;
	return 0;
}

static int copy_iov(struct gamma_mr *mr, const struct fi_mr_attr *attr)
{
	size_t i;

	for (i = 0; i < attr->iov_count; i++) {
		mr->iov[i] = attr->mr_iov[i];
		if (__builtin_add_overflow(mr->len, mr->iov[i].iov_len, &mr->len))
			return -FI_EINVAL;
	}
	mr->iov_count = attr->iov_count;
	return 0;
}

/* Assigns a free key and adds the region to the table. */
static int publish_region(struct gamma_mr *mr, uint64_t requested_key)
{
	struct gamma_domain *domain = mr->domain;
	uint64_t key = requested_key;

	if (domain->mr_mode & FI_MR_PROV_KEY)
		do {
			key = domain->next_mr_key++;
		} while (gamma_mr_find(domain, key));
	else if (gamma_mr_find(domain, key))
		return -FI_ENOKEY;
	mr->mr_fid.key = key;
	gamma_list_append(bucket_of(domain, key), &mr->bucket);
	return 0;
}

/* Registration is complete when the call returns; a program that asked for events still waits for
 * one. */
static int report_registered(struct gamma_mr *mr)
{
	struct fi_eq_entry entry = {.fid = &mr->mr_fid.fid, .context = mr->mr_fid.fid.context};

	return gamma_eq_report(mr->domain->eq, FI_MR_COMPLETE, &entry, sizeof(entry));
}

/* base_mr: what it is to be a part of, or NULL. */
static int register_region(struct fid *fid, const struct fi_mr_attr *attr,
			   const struct fid_mr *base_mr, uint64_t flags, struct fid_mr **mr_fid)
{
	struct gamma_domain *domain = gamma_container_of(fid, struct gamma_domain, domain_fid.fid);
	struct gamma_mr *mr;
	int ret;

	ret = check_attr(domain->fabric->api_version, attr, flags);
	if (ret)
		return ret;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->domain = domain;
	mr->access = attr->access;
	ret = copy_iov(mr, attr);
	if (!ret)
		ret = take_base(mr, base_mr);
	/* Peers use addresses of this process, or offsets from 0. */
	mr->offset = domain->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t) mr->iov[0].iov_base : 0;
	mr->mr_fid.fid.fclass = FI_CLASS_MR;
	mr->mr_fid.fid.context = attr->context;
	mr->mr_fid.fid.ops = &mr_fid_ops;
	mr->mr_fid.mem_desc = mr;
	gamma_domain_lock(domain);
	if (!ret)
		ret = publish_region(mr, attr->requested_key);
	gamma_domain_unlock(domain);
	if (ret) {
		free(mr);
		return ret;
	}
	gamma_refs_take(&domain->refs);
	if (mr->base)
		gamma_refs_take(&mr->base->refs);
	*mr_fid = &mr->mr_fid; /* before the event can be read */
	ret = domain->reports_mr ? report_registered(mr) : 0;
	if (ret)
		mr_close(&mr->mr_fid.fid);
	return ret;
}

static const struct fid_mr *base_of(const struct gamma_domain *domain,
				    const struct fi_mr_attr *attr)
{
	const struct newest_mr_attr *newest =
		(const void *) ((const char *) attr + offsetof(struct fi_mr_attr, device));

	return FI_VERSION_GE(domain->fabric->api_version, FI_VERSION(2, 0)) ? newest->base_mr
									    : NULL;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr_fid)
{
	const struct gamma_domain *domain =
		gamma_container_of(fid, struct gamma_domain, domain_fid.fid);

	if (fid->fclass != FI_CLASS_DOMAIN || !attr)
		return -FI_EINVAL;
	return register_region(fid, attr, base_of(domain, attr), flags, mr_fid);
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	struct fi_mr_attr attr = {
		.mr_iov = iov,
		.iov_count = count,
		.access = access,
		.offset = offset,
		.requested_key = requested_key,
		.context = context,
	};

	return register_region(fid, &attr, NULL, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec iov = {.iov_base = (void *) (uintptr_t) buf, .iov_len = len};

	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

struct fi_ops_mr gamma_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
