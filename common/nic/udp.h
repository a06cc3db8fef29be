/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * NICs as the UDP link sees them: each with an IP address, whose pseudo MAC address stands for it
 * in frames and addresses, so that flows and engine are the same as over Ethernet. The pseudo MAC
 * addresses of IPv6 addresses made here are held for good (base/ipv6_names.h).
 */
#ifndef GAMMA_NIC_UDP_H
#define GAMMA_NIC_UDP_H

#include "nic/ip.h"
#include "nic/nic.h"

enum { /* bytes of the IP and UDP headers */
       GAMMA_UDP_OVERHEAD = 28,
       GAMMA_UDP6_OVERHEAD = 48,
};

/* Which of a NIC's addresses. */
enum gamma_nic_udp_choice {
	GAMMA_NIC_UDP_ANY, /* its first IPv4 address; an IPv6 address if it has none */
	GAMMA_NIC_UDP_IPV6,
	GAMMA_NIC_UDP_IPV4,
};

/* Changes a list of gamma_nic_list: MAC, MTU and reason become those for UDP. NICs that raw
 * Ethernet cannot use, but that have an IP address, can be used then. Of IPv6 addresses a lasting
 * one is preferred to a temporary one, and that to a link-local one. 0 or a negative errno. */
int gamma_nic_udp_convert(struct gamma_nic *nics, size_t count, enum gamma_nic_udp_choice choice);

/* As they are for raw Ethernet, and over UDP as well: those that have no IPv4 address cannot be
 * used. 0 or a negative errno. */
int gamma_nic_udp_add(struct gamma_nic *nics, size_t count);
/* The same NIC of such a list as UDP sees it. */
void gamma_nic_udp_twin(const struct gamma_nic *nic, struct gamma_nic *twin);

/* As gamma_arp_nd_resolve: the pseudo MAC of an IP address, also behind a gateway, and the NIC that
 * leads to it. -EEXIST: another IPv6 address has the same. */
int gamma_nic_udp_resolve(const struct gamma_ip *ip, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN],
			  int *ifindex);
/* As gamma_arp_nd_find_owner. */
int gamma_nic_udp_find_owner(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN], int *ifindex);

#endif /* GAMMA_NIC_UDP_H */
