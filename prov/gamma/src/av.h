/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address vectors.
 */
#ifndef GAMMA_PROV_AV_H
#define GAMMA_PROV_AV_H

#include "domain.h"

struct gamma_eq;

/* ---- av.c ---- */
struct gamma_av {
	struct fid_av av_fid;
	struct gamma_domain *domain;
	struct gamma_eq *eq;
	uint64_t flags;
	struct gamma_av_entry *entries; /* indexed by fi_addr_t; grows */
	size_t count, size;             /* entries ever used; entries allocated */
	size_t lowest_free;             /* no free index is lower */
	unsigned rx_ctx_bits;           /* high bits of an fi_addr_t that name a receive context */
	size_t scalable;                /* entries of scalable endpoints */
	uint32_t generation; /* goes up with every insert and remove: flows' sources compare it */
	int refs;            /* endpoints bound; atomic */
	bool duplicates;     /* some MAC and port has been inserted twice */
	/* private: hash of (mac, port) for reverse look-up */
	struct gamma_av_hash *hash;
};
struct gamma_av_entry {
	struct gamma_addr addr;
	bool used;
	uint32_t hash_next; /* next entry of the same hash chain, UINT32_MAX: none */
};
int gamma_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		  void *context);
/* The address at an index, or NULL if none is there. */
static inline const struct gamma_addr *gamma_av_addr(const struct gamma_av *av, fi_addr_t fi_addr)
{
	return fi_addr < av->count && av->entries[fi_addr].used ? &av->entries[fi_addr].addr : NULL;
}
/* The address of the receive context that fi_rx_addr encoded in fi_addr. False: no such one. */
bool gamma_av_context(const struct gamma_av *av, fi_addr_t fi_addr, struct gamma_addr *addr);
/* The index of a peer seen on the wire: same MAC and port, and an epoch equal or unknown in the
 * AV (an exact epoch wins). FI_ADDR_NOTAVAIL if it is not in the AV. */
fi_addr_t gamma_av_find(const struct gamma_av *av, const struct gamma_addr *addr);
/* Whether that peer has this name, or had it. */
bool gamma_av_is_name_of(const struct gamma_addr *name, const struct gamma_addr *addr);
/* Whether two indices are of one peer, which gamma_av_find knows by one of them only. */
bool gamma_av_same_peer(const struct gamma_av *av, fi_addr_t a, fi_addr_t b);

#endif /* GAMMA_PROV_AV_H */
