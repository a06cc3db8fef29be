/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_getinfo: whether to answer (select.c), the answers (info.c), their attributes (attr.c) and
 * NICs (nic_info.c).
 */
#ifndef GAMMA_PROV_INFO_H
#define GAMMA_PROV_INFO_H

#include "nic/nic.h"
#include "prov.h"

/* init.c. The bad setting found when the provider was loaded, for people; NULL: none. */
const char *gamma_init_error(void);

/* ---- select.c ---- */
/* Whether the query or the environment names this provider. */
bool gamma_select_is_named(const struct fi_info *hints);
/* Whether to answer: the provider is named, the query is an inventory, or FI_GAMMA_AUTO is set. */
bool gamma_select_answers(const char *node, const char *service, const struct fi_info *hints);
/* Whether the answer lists every NIC, not only the best one that the query allows. */
bool gamma_select_lists_all(const char *node, const char *service, const struct fi_info *hints);
/* Logs why gamma cannot serve; if the user named it, also to stderr, once per process. */
void gamma_select_explain(bool named, const char *reason);

/* ---- info.c ---- */
int gamma_info_get(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **info);
/* ---- attr.c ---- */
/* Whether an endpoint with that many contexts is a scalable one. */
static inline bool gamma_attr_several_contexts(size_t count)
{
	return count > 1 && count != FI_SHARED_CONTEXT;
}
/* Whether an endpoint with this info can be opened (its fields may have been changed):
 * 0, or -FI_EINVAL after an info line that names the field. */
int gamma_attr_check_info(uint32_t api_version, const struct fi_info *info, size_t mtu);
/* The same of a context that endpoints share. */
int gamma_attr_check_shared_tx(const struct fi_tx_attr *attr, size_t mtu);
int gamma_attr_check_shared_rx(const struct fi_rx_attr *attr, size_t mtu);
/* Whether an endpoint of that type can satisfy the hints: NULL, or the field that it cannot. */
const char *gamma_attr_check_hints(uint32_t api_version, enum fi_ep_type type, size_t mtu,
				   const struct fi_info *hints);
/* Fills in everything of info but names and addresses; the hints have been checked. mtu: bytes. */
void gamma_attr_fill_info(struct fi_info *info, uint32_t api_version, enum fi_ep_type type,
			  size_t mtu, const struct fi_info *hints);

/* ---- nic_info.c ---- */
/* fi_info.nic of a NIC; NULL: no memory. */
struct fid_nic *gamma_nic_info_new(const struct gamma_nic *nic);

#endif /* GAMMA_PROV_INFO_H */
