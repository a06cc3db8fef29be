/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Over UDP six bytes stand where a MAC address stands over Ethernet, so that frames and flows have
 * one form: two fixed bytes and the IPv4 address, or one fixed byte and 40 bits that are mixed from
 * the IPv6 address. The latter cannot be turned back: base/ipv6_names.h remembers it.
 */
#ifndef GAMMA_WIRE_PSEUDO_MAC_H
#define GAMMA_WIRE_PSEUDO_MAC_H

#include <string.h>

#include "wire/address.h"

enum {
	GAMMA_PSEUDO_MAC_0 = 0x02,    /* locally administered */
	GAMMA_PSEUDO_MAC_1 = 0x04,    /* the version of IP */
	GAMMA_PSEUDO_MAC_IPV6 = 0x06, /* locally administered */
};

static inline void gamma_pseudo_mac_make(const uint8_t ipv4[4], uint8_t mac[GAMMA_MAC_LEN])
{
	mac[0] = GAMMA_PSEUDO_MAC_0;
	mac[1] = GAMMA_PSEUDO_MAC_1;
	memcpy(mac + 2, ipv4, 4);
}

/* The IPv4 address, which follows the two bytes; NULL: the MAC address is not of this form. */
static inline const uint8_t *gamma_pseudo_mac_ipv4(const uint8_t mac[GAMMA_MAC_LEN])
{
	return mac[0] == GAMMA_PSEUDO_MAC_0 && mac[1] == GAMMA_PSEUDO_MAC_1 ? mac + 2 : NULL;
}

static inline uint64_t gamma_pseudo_mac_read64(const uint8_t bytes[8])
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static inline void gamma_pseudo_mac_make_ipv6(const uint8_t ipv6[GAMMA_IPV6_LEN],
					      uint8_t mac[GAMMA_MAC_LEN])
{
	uint64_t mixed = gamma_pseudo_mac_read64(ipv6) * 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ mixed >> 32) + gamma_pseudo_mac_read64(ipv6 + 8);
	mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93ull;
	mixed ^= mixed >> 32;
	mac[0] = GAMMA_PSEUDO_MAC_IPV6;
	for (int i = 1; i < GAMMA_MAC_LEN; i++)
		mac[i] = (uint8_t) (mixed >> (8 * (GAMMA_MAC_LEN - 1 - i)));
}

#endif /* GAMMA_WIRE_PSEUDO_MAC_H */
