/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sets of addresses of an address vector, in the order in which they were put in: the members of a
 * group.
 */
#ifndef GAMMA_PROV_AVSET_H
#define GAMMA_PROV_AVSET_H

#include "av.h"

struct gamma_avset {
	struct fid_av_set set_fid;
	struct gamma_av *av;
	fi_addr_t *members; /* the n-th one is place n of a group */
	size_t count, size; /* members, room */
	uint64_t key;       /* a hash of fi_av_set_attr.comm_key; 0: none */
};

int gamma_avset_open(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
		     void *context);

#endif /* GAMMA_PROV_AVSET_H */
