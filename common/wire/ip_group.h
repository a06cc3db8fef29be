/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Over UDP a multicast group, which has a group MAC address everywhere, is an IP multicast address.
 * It leaves no network by itself: of IPv4 it is in the range for private use, of IPv6 link-local.
 */
#ifndef GAMMA_WIRE_IP_GROUP_H
#define GAMMA_WIRE_IP_GROUP_H

#include <stdbool.h>
#include <string.h>

#include "wire/address.h"

static inline bool gamma_ip_group_is_mac(const uint8_t mac[GAMMA_MAC_LEN])
{
	return mac[0] & 1;
}

/* 239 and the last three bytes. Groups that have these in common share the address; the header's
 * checksum, which covers the group's MAC address, distinguishes their frames. */
static inline void gamma_ip_group_ipv4(const uint8_t mac[GAMMA_MAC_LEN], uint8_t ipv4[4])
{
	ipv4[0] = 239;
	memcpy(ipv4 + 1, mac + 3, 3);
}

/* ff12::4741: and the six bytes. */
static inline void gamma_ip_group_ipv6(const uint8_t mac[GAMMA_MAC_LEN],
				       uint8_t ipv6[GAMMA_IPV6_LEN])
{
	memset(ipv6, 0, GAMMA_IPV6_LEN);
	memcpy(ipv6, (const uint8_t[]){0xff, 0x12}, 2);
	memcpy(ipv6 + 8, "GA", 2);
	memcpy(ipv6 + 10, mac, GAMMA_MAC_LEN);
}

/* The UDP port of a group's port: ports below 1024 would need privilege. */
static inline uint16_t gamma_ip_group_port(uint16_t port)
{
	return port < 1024 ? (uint16_t) (0xf000 + port) : port;
}

#endif /* GAMMA_WIRE_IP_GROUP_H */
