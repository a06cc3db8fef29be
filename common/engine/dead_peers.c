// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Dead peers: MAC, port and epoch of peers that were declared dead, and whose flows have been
 * freed. Such a peer may be alive without knowing. Its frames, which continue their sequence
 * numbers, must not open a new flow as an unknown peer's do, and no new flow to it may start. So no
 * entry is ever replaced. If there are too many entries, the flows of further dead peers are kept
 * instead; their number is bounded as well. Called by peers.c.
 */
#include "engine/dead_peers.h"
#include "engine/peers.h"

#include <stdlib.h>
#include <string.h>

enum { DEAD_PEERS_FIRST = 64 };

struct gamma_dead_peer {
	uint8_t mac[GAMMA_MAC_LEN];
	uint16_t port;  /* host order */
	uint32_t epoch; /* ditto; GAMMA_EPOCH_ANY: a free entry */
};

/* That peer's entry, or the free one for it: open addressing with linear probing. */
static struct gamma_dead_peer *dead_peer_entry(const struct gamma_dead_peers *dead,
					       const struct gamma_dead_peer *peer)
{
	uint32_t i = gamma_peers_hash(peer->mac, peer->port) ^ peer->epoch;
	struct gamma_dead_peer *entry = &dead->entries[i & (dead->size - 1)];

	while (entry->epoch != GAMMA_EPOCH_ANY && memcmp(entry, peer, sizeof(*peer)) != 0)
		entry = &dead->entries[++i & (dead->size - 1)];
	return entry;
}

static struct gamma_dead_peer dead_peer_key(const struct gamma_flow *flow)
{
	struct gamma_dead_peer key = {.port = flow->port, .epoch = flow->epoch};

	memcpy(key.mac, flow->addr.mac, GAMMA_MAC_LEN);
	return key;
}

/* At most half of the entries are used, so that probing is short. */
static bool grow_entries(struct gamma_dead_peers *dead)
{
	uint32_t size = dead->size ? 2 * dead->size : DEAD_PEERS_FIRST;
	struct gamma_dead_peers larger = {
		.entries = calloc(size, sizeof(*larger.entries)),
		.size = size,
		.count = dead->count,
		.most = dead->most,
	};

	if (!larger.entries)
		return false;
	for (uint32_t i = 0; i < dead->size; i++)
		if (dead->entries[i].epoch != GAMMA_EPOCH_ANY)
			*dead_peer_entry(&larger, &dead->entries[i]) = dead->entries[i];
	free(dead->entries);
	*dead = larger;
	return true;
}

static void warn_full(struct gamma_dead_peers *dead)
{
	if (dead->full_warned)
		return;
	dead->full_warned = true;
	gamma_warn("%u peers were declared dead and may still come back. After %u more, unknown "
		   "peers are refused: close this endpoint and open a new one",
		   dead->count, GAMMA_FLOWS_MAX);
}

bool gamma_dead_peers_add(struct gamma_dead_peers *dead, const struct gamma_flow *flow)
{
	struct gamma_dead_peer key = dead_peer_key(flow);

	if (gamma_dead_peers_has(dead, flow))
		return true;
	if (dead->count >= dead->most) {
		warn_full(dead);
		return false;
	}
	if (2 * dead->count >= dead->size && !grow_entries(dead))
		return false;
	*dead_peer_entry(dead, &key) = key;
	dead->count++;
	return true;
}

bool gamma_dead_peers_has(const struct gamma_dead_peers *dead, const struct gamma_flow *flow)
{
	struct gamma_dead_peer key = dead_peer_key(flow);

	return dead->count && dead_peer_entry(dead, &key)->epoch != GAMMA_EPOCH_ANY;
}

void gamma_dead_peers_free(struct gamma_dead_peers *dead)
{
	free(dead->entries);
	*dead = (struct gamma_dead_peers){.size = 0};
}
