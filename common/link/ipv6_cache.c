// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A direct-mapped cache in front of the process's table of IPv6 addresses: see ipv6_cache.h. */
#include "link/ipv6_cache.h"

#include <string.h>

#include "base/base.h"
#include "base/ipv6_names.h"
#include "wire/pseudo_mac.h"

/* The address is mixed already. */
static struct gamma_ipv6_cache_entry *cache_entry(struct gamma_ipv6_cache *cache,
						  const uint8_t mac[GAMMA_MAC_LEN])
{
	uint32_t mixed;

	memcpy(&mixed, mac + 2, sizeof(mixed));
	return &cache->entries[mixed & (GAMMA_IPV6_CACHE_ENTRIES - 1)];
}

static bool is_of(const struct gamma_ipv6_cache_entry *entry, const uint8_t mac[GAMMA_MAC_LEN])
{
	return !memcmp(entry->mac, mac, GAMMA_MAC_LEN);
}

bool gamma_ipv6_cache_take(struct gamma_ipv6_cache *cache, const uint8_t ipv6[GAMMA_IPV6_LEN],
			   uint8_t mac[GAMMA_MAC_LEN])
{
	uint32_t generation = gamma_ipv6_names_generation(); /* before the table is read */
	struct gamma_ipv6_cache_entry *entry;
	uint8_t held[GAMMA_IPV6_LEN];

	gamma_pseudo_mac_make_ipv6(ipv6, mac);
	entry = cache_entry(cache, mac);
	if (gamma_likely(is_of(entry, mac) && entry->generation == generation &&
			 !memcmp(entry->ipv6, ipv6, GAMMA_IPV6_LEN)))
		return true;
	if (gamma_ipv6_names_find(mac, held) && memcmp(held, ipv6, GAMMA_IPV6_LEN))
		return false;
	memcpy(entry->mac, mac, GAMMA_MAC_LEN);
	memcpy(entry->ipv6, ipv6, GAMMA_IPV6_LEN);
	entry->generation = generation;
	return true;
}

const uint8_t *gamma_ipv6_cache_find(struct gamma_ipv6_cache *cache,
				     const uint8_t mac[GAMMA_MAC_LEN])
{
	uint32_t generation = gamma_ipv6_names_generation();
	struct gamma_ipv6_cache_entry *entry = cache_entry(cache, mac);
	uint8_t held[GAMMA_IPV6_LEN];

	if (gamma_likely(is_of(entry, mac) && entry->generation == generation))
		return entry->ipv6;
	if (!gamma_ipv6_names_find(mac, held)) /* an unknown peer's, from before the table grew */
		return is_of(entry, mac) ? entry->ipv6 : NULL;
	memcpy(entry->mac, mac, GAMMA_MAC_LEN);
	memcpy(entry->ipv6, held, GAMMA_IPV6_LEN);
	entry->generation = generation;
	return entry->ipv6;
}
