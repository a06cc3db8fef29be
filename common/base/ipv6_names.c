// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The process's table of IPv6 addresses by pseudo MAC address: see ipv6_names.h. */
#include "base/ipv6_names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/base.h"
#include "wire/pseudo_mac.h"

enum { HEADS_FIRST = 64 }; /* a power of two */

struct name {
	struct name *next;
	uint64_t held; /* how often */
	uint8_t mac[GAMMA_MAC_LEN];
	uint8_t ipv6[GAMMA_IPV6_LEN];
};

/* All with the lock, but the generation is also read without. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name **heads;
static uint32_t head_count, name_count, generation;

/* The address is mixed already. */
static struct name **chain_of(const uint8_t mac[GAMMA_MAC_LEN])
{
	uint32_t mixed;

	memcpy(&mixed, mac + 2, sizeof(mixed));
	return &heads[mixed & (head_count - 1)];
}

static struct name *find_name(const uint8_t mac[GAMMA_MAC_LEN])
{
	struct name *name = heads ? *chain_of(mac) : NULL;

	while (name && memcmp(name->mac, mac, GAMMA_MAC_LEN))
		name = name->next;
	return name;
}

/* Without memory the chains get longer. */
static void grow_heads(void)
{
	struct name **old = heads;
	uint32_t old_count = head_count;
	struct name **larger = calloc(old_count ? 2ul * old_count : HEADS_FIRST, sizeof(*larger));

	if (!larger)
		return;
	heads = larger;
	head_count = old_count ? 2 * old_count : HEADS_FIRST;
	for (uint32_t i = 0; i < old_count; i++) {
		while (old[i]) {
			struct name *name = old[i], **to = chain_of(name->mac);

			old[i] = name->next;
			name->next = *to;
			*to = name;
		}
	}
	free(old);
}

static int add_name(const uint8_t mac[GAMMA_MAC_LEN], const uint8_t ipv6[GAMMA_IPV6_LEN])
{
	struct name *name, **to;

	if (name_count >= head_count)
		grow_heads();
	name = heads ? calloc(1, sizeof(*name)) : NULL;
	if (!name)
		return -ENOMEM;
	to = chain_of(mac);
	name->next = *to;
	name->held = 1;
	memcpy(name->mac, mac, GAMMA_MAC_LEN);
	memcpy(name->ipv6, ipv6, GAMMA_IPV6_LEN);
	*to = name;
	name_count++;
	__atomic_store_n(&generation, generation + 1, __ATOMIC_RELEASE);
	return 0;
}

static void report_collision(const uint8_t one[GAMMA_IPV6_LEN], const uint8_t other[GAMMA_IPV6_LEN])
{
	char texts[2][INET6_ADDRSTRLEN];

	gamma_error(
		"the IPv6 addresses %s and %s have the same short form (one pair in 10^12 has): "
		"give one of the two hosts another address",
		inet_ntop(AF_INET6, one, texts[0], sizeof(texts[0])),
		inet_ntop(AF_INET6, other, texts[1], sizeof(texts[1])));
}

int gamma_ipv6_names_hold(const uint8_t ipv6[GAMMA_IPV6_LEN], uint8_t mac[GAMMA_MAC_LEN])
{
	struct name *name;
	int ret = 0;

	gamma_pseudo_mac_make_ipv6(ipv6, mac);
	pthread_mutex_lock(&lock);
	name = find_name(mac);
	if (!name)
		ret = add_name(mac, ipv6);
	else if (memcmp(name->ipv6, ipv6, GAMMA_IPV6_LEN))
		ret = -EEXIST;
	else
		name->held++;
	if (ret == -EEXIST)
		report_collision(name->ipv6, ipv6);
	pthread_mutex_unlock(&lock);
	return ret;
}

void gamma_ipv6_names_drop(const uint8_t mac[GAMMA_MAC_LEN])
{
	struct name *name, **link;

	pthread_mutex_lock(&lock);
	name = find_name(mac);
	if (name && !--name->held) {
		for (link = chain_of(mac); *link != name; link = &(*link)->next)
			;
		*link = name->next;
		name_count--;
		free(name);
	}
	pthread_mutex_unlock(&lock);
}

bool gamma_ipv6_names_find(const uint8_t mac[GAMMA_MAC_LEN], uint8_t ipv6[GAMMA_IPV6_LEN])
{
	const struct name *name;

	pthread_mutex_lock(&lock);
	name = find_name(mac);
	if (name)
		memcpy(ipv6, name->ipv6, GAMMA_IPV6_LEN);
	pthread_mutex_unlock(&lock);
	return name;
}

uint32_t gamma_ipv6_names_generation(void)
{
	return __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
}

int gamma_ipv6_names_hold_addr(struct gamma_addr *addr)
{
	uint8_t ipv6[GAMMA_IPV6_LEN];

	if (addr->version != GAMMA_ADDR_VERSION_UDP6)
		return 0;
	gamma_addr_ipv6(addr, ipv6);
	addr->mtu = 0;
	addr->host = 0;
	return gamma_ipv6_names_hold(ipv6, addr->mac);
}

void gamma_ipv6_names_drop_addr(const struct gamma_addr *addr)
{
	if (addr->version == GAMMA_ADDR_VERSION_UDP6)
		gamma_ipv6_names_drop(addr->mac);
}

void gamma_ipv6_names_show_addr(struct gamma_addr *addr)
{
	uint8_t ipv6[GAMMA_IPV6_LEN] = {0};

	if (addr->version != GAMMA_ADDR_VERSION_UDP6)
		return;
	gamma_ipv6_names_find(addr->mac, ipv6);
	gamma_addr_set_ipv6(addr, ipv6);
}
