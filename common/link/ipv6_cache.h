/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From pseudo MAC addresses to IPv6 addresses, for one UDP link, without I/O: what the process
 * holds (base/ipv6_names.h), and the latest sources of datagrams, so that unknown peers can be
 * answered. No lock is taken for an address that was used lately.
 */
#ifndef GAMMA_LINK_IPV6_CACHE_H
#define GAMMA_LINK_IPV6_CACHE_H

#include <stdbool.h>

#include "wire/address.h"

enum { GAMMA_IPV6_CACHE_ENTRIES = 1024 }; /* a power of two */

struct gamma_ipv6_cache {
	struct gamma_ipv6_cache_entry {
		uint8_t mac[GAMMA_MAC_LEN]; /* 0: unused */
		uint32_t generation;        /* of the process's table */
		uint8_t ipv6[GAMMA_IPV6_LEN];
	} entries[GAMMA_IPV6_CACHE_ENTRIES];
};

/* A datagram has come from there: makes its pseudo MAC address. False: another address that the
 * process holds has it, so the datagram must be dropped. */
bool gamma_ipv6_cache_take(struct gamma_ipv6_cache *cache, const uint8_t ipv6[GAMMA_IPV6_LEN],
			   uint8_t mac[GAMMA_MAC_LEN]);
/* Valid until the next call; NULL: unknown. */
const uint8_t *gamma_ipv6_cache_find(struct gamma_ipv6_cache *cache,
				     const uint8_t mac[GAMMA_MAC_LEN]);

#endif /* GAMMA_LINK_IPV6_CACHE_H */
