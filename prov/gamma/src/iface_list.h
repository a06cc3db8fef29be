/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lists of NICs: FI_GAMMA_IFACE and names of domains may name several, separated by commas. An
 * endpoint of such a domain uses all of them (its rails); the first one has its address.
 */
#ifndef GAMMA_PROV_IFACE_LIST_H
#define GAMMA_PROV_IFACE_LIST_H

#include "nic_list.h"
#include "wire/wire.h"

struct gamma_iface_list {
	const struct gamma_nic *nics[GAMMA_RAILS_MAX];
	unsigned count;
};

/* The NICs that text names, by interface name or MAC address, among these. 0, or -FI_ENODATA and
 * why: one of them does not exist, cannot be used, or cannot be used beside the others. Only the
 * first one needs a carrier. */
int gamma_iface_list_find(const struct gamma_nic *nics, size_t nic_count, const char *text,
			  struct gamma_iface_list *list, char *why, size_t why_len);
bool gamma_iface_list_has(const struct gamma_iface_list *list, const struct gamma_nic *nic);
/* Name of the domain of these NICs. */
struct gamma_domain_name gamma_iface_list_domain(const struct gamma_iface_list *list);

#endif /* GAMMA_PROV_IFACE_LIST_H */
