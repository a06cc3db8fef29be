/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fabrics.
 */
#ifndef GAMMA_PROV_FABRIC_H
#define GAMMA_PROV_FABRIC_H

#include "prov.h"

struct gamma_fabric {
	struct fid_fabric fabric_fid;
	struct gamma_list opened_entry; /* in the list of open fabrics */
	uint32_t api_version;
	int refs; /* domains, event queues, wait sets; atomic */
};
/* The oldest open fabric of a program of that API version (0: any), or NULL. only, unless NULL:
 * that fabric or none; it may be another provider's. */
struct fid_fabric *gamma_fabric_find_opened(uint32_t api_version, const struct fid_fabric *only);
int gamma_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

#endif /* GAMMA_PROV_FABRIC_H */
