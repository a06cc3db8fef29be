/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The NICs as domains. A domain over Ethernet has its interface's name, one over UDP a suffix too,
 * so that fi_info shows which is which, and an address of one is never taken for the other's.
 */
#ifndef GAMMA_PROV_NIC_LIST_H
#define GAMMA_PROV_NIC_LIST_H

#include "prov.h"
#include "nic/nic.h"

enum { GAMMA_DOMAIN_NAME_LEN = GAMMA_NIC_NAME_LEN + 4 }; /* bytes: the suffix is "-udp" */

struct gamma_domain_name {
	char text[GAMMA_DOMAIN_NAME_LEN];
};

/* As gamma_nic_list; udp: as the UDP link sees them. */
int gamma_nic_list_read(bool udp, struct gamma_nic **nics, size_t *count);
struct gamma_domain_name gamma_nic_list_domain(const struct gamma_nic *nic);
/* The interface of a domain's name; *udp: whether the domain is over UDP. */
struct gamma_domain_name gamma_nic_list_interface(const char *domain, bool *udp);
/* Of the addresses of that NIC's endpoints. */
uint8_t gamma_nic_list_addr_version(const struct gamma_nic *nic);

#endif /* GAMMA_PROV_NIC_LIST_H */
