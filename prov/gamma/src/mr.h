/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions.
 */
#ifndef GAMMA_PROV_MR_H
#define GAMMA_PROV_MR_H

#include "domain.h"

struct gamma_cntr;

/* ---- mr.c ---- */
struct gamma_mr {
	struct fid_mr mr_fid;
	struct gamma_domain *domain;
	struct gamma_list bucket; /* of domain->mrs */
	struct gamma_mr *base;    /* the region that it is a part of, or NULL */
	int refs;                 /* regions that are parts of it; atomic */
	struct gamma_cntr *cntr;  /* bound, counts remote accesses; or NULL */
	uint64_t cntr_flags;      /* FI_REMOTE_WRITE, FI_REMOTE_READ */
	uint64_t access;          /* FI_REMOTE_READ, ... */
	uint64_t offset;          /* of the first byte in remote addresses */
	struct iovec iov[GAMMA_IOV_LIMIT];
	size_t iov_count;
	size_t len; /* bytes in all */
};
extern struct fi_ops_mr gamma_mr_ops;
/* FI_MAP_RAW_MR of a domain. */
int gamma_mr_map_raw(const struct fi_mr_map_raw *map);
/* The region of that key, or NULL. */
struct gamma_mr *gamma_mr_find(struct gamma_domain *domain, uint64_t key);

#endif /* GAMMA_PROV_MR_H */
