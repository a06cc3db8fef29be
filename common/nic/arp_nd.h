/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From an IP address to a MAC on this Ethernet, by the kernel's tables and its questions to the
 * neighbours: ARP for IPv4, neighbour discovery for IPv6. Called by name resolution only: GAMMA's
 * frames have no IP.
 */
#ifndef GAMMA_NIC_ARP_ND_H
#define GAMMA_NIC_ARP_ND_H

#include <stdint.h>

#include "nic/ip.h"
#include "wire/address.h"

/*
 * The NIC of this namespace that has the address: its MAC and ifindex.
 * -EADDRNOTAVAIL if no NIC has it, or only the loopback interface.
 */
int gamma_arp_nd_find_owner(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN], int *ifindex);

/* The NIC on the route to the address, whether or not it is behind a gateway. -ENETUNREACH: there
 * is no route. */
int gamma_arp_nd_find_route(const struct gamma_ip *ip, int *ifindex);

/*
 * The MAC of the address, and the local NIC on whose Ethernet it is. For a local address that is
 * the own NIC. Else it is the neighbour's MAC. If the kernel does not know it yet, an empty
 * datagram to UDP port 9 (discard) makes the kernel ask for it.
 * -ENETUNREACH: there is no route. -EMULTIHOP: only through a gateway. -EHOSTUNREACH: no answer
 * within timeout_ms. -EADDRNOTAVAIL: on the loopback interface. -EINVAL: no host's address
 * (any, broadcast, multicast, link-local without an interface). Each error is explained in one line
 * at info level.
 */
int gamma_arp_nd_resolve(const struct gamma_ip *ip, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN],
			 int *ifindex);

#endif /* GAMMA_NIC_ARP_ND_H */
