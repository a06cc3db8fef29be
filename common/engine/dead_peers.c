// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Peers that were given up for their silence, and whose flows have been forgotten since: MAC, port
 * and epoch, and no more. Such a peer may be alive and know nothing of it; then its frames, whose
 * numbers go on where they were, must not open a flow as a stranger's do, nor may one be begun to
 * it anew. So none is ever dropped for another; when there are too many, the flows of further ones
 * stay, of which there is a bound as well. Called by peers.c.
 */
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

enum { DEAD_PEERS_FIRST = 64 };

struct gamma_dead_peer {
	uint8_t mac[GAMMA_MAC_LEN];
	uint16_t port;  /* host order */
	uint32_t epoch; /* ditto; GAMMA_EPOCH_ANY: a free entry */
};

/* Where that peer's entry is, or would be: all from the place of its hash on to there are taken. */
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

/* At most half of them are used, so that looking for one is short. */
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
	gamma_warn("%u peers were given up and may come back: once as many as %u further ones have "
		   "been, "
		   "strangers are not met any more; close this endpoint and open it anew",
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
