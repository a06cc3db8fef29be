/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * NICs as the UDP link sees them: each with an IPv4 address, whose pseudo MAC address stands for it
 * in frames and addresses, so that flows and engine are the same as over Ethernet.
 */
#ifndef GAMMA_NIC_UDP_H
#define GAMMA_NIC_UDP_H

#include "nic/ip.h"
#include "nic/nic.h"

enum { GAMMA_UDP_OVERHEAD = 28 }; /* bytes of the IPv4 and UDP headers */

/* Changes a list of gamma_nic_list: MAC, MTU and reason become those for UDP. NICs that raw
 * Ethernet cannot use, but that have an IPv4 address, can be used then. 0 or a negative errno. */
int gamma_nic_udp_convert(struct gamma_nic *nics, size_t count);

/* As gamma_arp_nd_resolve: the pseudo MAC of an IPv4 address, also behind a gateway, and the NIC
 * that leads to it. */
int gamma_nic_udp_resolve(const struct gamma_ip *ip, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN],
			  int *ifindex);
/* As gamma_arp_nd_find_owner. */
int gamma_nic_udp_find_owner(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN], int *ifindex);

#endif /* GAMMA_NIC_UDP_H */
