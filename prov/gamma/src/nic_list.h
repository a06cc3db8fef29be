/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The NICs as domains. A domain over Ethernet has its interface's name; one over UDP has a suffix
 * too, another one for IPv6, and so has one over Ethernet and UDP. So fi_info shows which is which,
 * and an address of one is never taken for the other's.
 */
#ifndef GAMMA_PROV_NIC_LIST_H
#define GAMMA_PROV_NIC_LIST_H

#include "prov.h"
#include "nic/nic.h"
#include "wire/wire.h"

/* Bytes: names of several NICs, and the suffix "-udp6". */
enum { GAMMA_DOMAIN_NAME_LEN = GAMMA_RAILS_MAX * GAMMA_NIC_NAME_LEN + 5 };

enum gamma_nic_list_kind {
	GAMMA_NICS_ETHERNET,
	GAMMA_NICS_UDP, /* over IPv4 where a NIC has an IPv4 address, else over IPv6 */
	GAMMA_NICS_UDP6,
	GAMMA_NICS_RAW_UDP, /* raw Ethernet, and UDP over IPv4 beside it */
};

struct gamma_domain_name {
	char text[GAMMA_DOMAIN_NAME_LEN];
};

/* As gamma_nic_list; over UDP: as the UDP link sees them. */
int gamma_nic_list_read(enum gamma_nic_list_kind kind, struct gamma_nic **nics, size_t *count);
/* The kind of list that has this NIC as it is. */
enum gamma_nic_list_kind gamma_nic_list_kind_of(const struct gamma_nic *nic);
struct gamma_domain_name gamma_nic_list_domain(const struct gamma_nic *nic);
/* The interface of a domain's name, or several as iface_list.h has them, and the kind of list that
 * the domain is of. */
struct gamma_domain_name gamma_nic_list_interface(const char *domain,
						  enum gamma_nic_list_kind *kind);
/* Of the addresses of that NIC's endpoints. */
uint8_t gamma_nic_list_addr_version(const struct gamma_nic *nic);
/* For messages to users. */
const char *gamma_nic_list_link_name(uint8_t addr_version);

#endif /* GAMMA_PROV_NIC_LIST_H */
