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

enum { TOMBSTONES_FIRST = 64 };

struct gamma_tombstone {
	uint8_t mac[GAMMA_MAC_LEN];
	uint16_t port;  /* host order */
	uint32_t epoch; /* ditto; GAMMA_EPOCH_ANY: a free entry */
};

/* Where that peer's entry is, or would be: all from the place of its hash on to there are taken. */
static struct gamma_tombstone *entry_of(const struct gamma_tombstones *stones,
					const struct gamma_tombstone *peer)
{
	uint32_t i = gamma_peers_hash(peer->mac, peer->port) ^ peer->epoch;
	struct gamma_tombstone *entry = &stones->entries[i & (stones->size - 1)];

	while (entry->epoch != GAMMA_EPOCH_ANY && memcmp(entry, peer, sizeof(*peer)) != 0)
		entry = &stones->entries[++i & (stones->size - 1)];
	return entry;
}

static struct gamma_tombstone stone_of(const struct gamma_flow *flow)
{
	struct gamma_tombstone stone = {.port = flow->port, .epoch = flow->epoch};

	memcpy(stone.mac, flow->addr.mac, GAMMA_MAC_LEN);
	return stone;
}

/* At most half of them are used, so that looking for one is short. */
static bool grow(struct gamma_tombstones *stones)
{
	uint32_t size = stones->size ? 2 * stones->size : TOMBSTONES_FIRST;
	struct gamma_tombstones larger = {
		.entries = calloc(size, sizeof(*larger.entries)),
		.size = size,
		.count = stones->count,
		.most = stones->most,
	};

	if (!larger.entries)
		return false;
	for (uint32_t i = 0; i < stones->size; i++)
		if (stones->entries[i].epoch != GAMMA_EPOCH_ANY)
			*entry_of(&larger, &stones->entries[i]) = stones->entries[i];
	free(stones->entries);
	*stones = larger;
	return true;
}

static void tell_full(struct gamma_tombstones *stones)
{
	if (stones->full_told)
		return;
	stones->full_told = true;
	gamma_warn("%u peers were given up and may come back: once as many as %u further ones have "
		   "been, "
		   "strangers are not met any more; close this endpoint and open it anew",
		   stones->count, GAMMA_FLOWS_MAX);
}

bool gamma_tombstones_add(struct gamma_tombstones *stones, const struct gamma_flow *flow)
{
	struct gamma_tombstone stone = stone_of(flow);

	if (gamma_tombstones_have(stones, flow))
		return true;
	if (stones->count >= stones->most) {
		tell_full(stones);
		return false;
	}
	if (2 * stones->count >= stones->size && !grow(stones))
		return false;
	*entry_of(stones, &stone) = stone;
	stones->count++;
	return true;
}

bool gamma_tombstones_have(const struct gamma_tombstones *stones, const struct gamma_flow *flow)
{
	struct gamma_tombstone stone = stone_of(flow);

	return stones->count && entry_of(stones, &stone)->epoch != GAMMA_EPOCH_ANY;
}

void gamma_tombstones_free(struct gamma_tombstones *stones)
{
	free(stones->entries);
	*stones = (struct gamma_tombstones){.size = 0};
}
