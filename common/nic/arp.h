/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From an IPv4 address to a MAC on this Ethernet, by the kernel's tables and ARP. Called by name
 * resolution only: GAMMA itself never uses IP.
 */
#ifndef GAMMA_NIC_ARP_H
#define GAMMA_NIC_ARP_H

#include <stdint.h>

#include "wire/address.h"

/*
 * The NIC of this namespace that has the address (in network order): its MAC and ifindex.
 * -EADDRNOTAVAIL if no NIC has it, or only the loopback interface.
 */
int gamma_arp_find_owner(uint32_t ipv4_be, uint8_t mac[GAMMA_MAC_LEN], int *ifindex);

/*
 * The MAC of the address, and the local NIC on whose Ethernet it is. For a local address that is
 * the own NIC. Else it is the ARP neighbour's MAC. If the kernel does not know it yet, an empty
 * datagram to UDP port 9 (discard) makes the kernel send ARP requests.
 * -ENETUNREACH: there is no route, or only through a gateway. -EHOSTUNREACH: no answer
 * within timeout_ms. -EADDRNOTAVAIL: on the loopback interface. -EINVAL: no host's address
 * (0.0.0.0, broadcast, multicast). Each error is explained in one line at info level.
 */
int gamma_arp_resolve(uint32_t ipv4_be, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN], int *ifindex);

#endif /* GAMMA_NIC_ARP_H */
