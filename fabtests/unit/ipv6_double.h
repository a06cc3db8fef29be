/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Another IPv6 address with the same pseudo MAC address. */
#ifndef GAMMA_TEST_IPV6_DOUBLE_H
#define GAMMA_TEST_IPV6_DOUBLE_H

#include "wire/pseudo_mac.h"

/* What the first eight bytes contribute to the sum with the last eight. */
static inline uint64_t ipv6_double_part(const uint8_t *bytes)
{
	uint64_t mixed = gamma_pseudo_mac_read64(bytes) * 0x9e3779b97f4a7c15ull;

	return mixed ^ mixed >> 32;
}

static inline void ipv6_double(const uint8_t ipv6[GAMMA_IPV6_LEN], uint8_t other[GAMMA_IPV6_LEN])
{
	uint64_t last;

	memcpy(other, ipv6, GAMMA_IPV6_LEN);
	other[7] ^= 1;
	last = gamma_pseudo_mac_read64(ipv6 + 8) + ipv6_double_part(ipv6) - ipv6_double_part(other);
	for (int i = 0; i < 8; i++)
		other[8 + i] = (uint8_t) (last >> (56 - 8 * i));
}

#endif /* GAMMA_TEST_IPV6_DOUBLE_H */
