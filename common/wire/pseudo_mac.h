/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Over UDP an IPv4 address stands where a MAC address stands over Ethernet: two fixed bytes, then
 * the address. So frames, addresses and flows have one form.
 */
#ifndef GAMMA_WIRE_PSEUDO_MAC_H
#define GAMMA_WIRE_PSEUDO_MAC_H

#include <string.h>

#include "wire/address.h"

enum {
	GAMMA_PSEUDO_MAC_0 = 0x02, /* locally administered */
	GAMMA_PSEUDO_MAC_1 = 0x04, /* the version of IP */
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

#endif /* GAMMA_WIRE_PSEUDO_MAC_H */
