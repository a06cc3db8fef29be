/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Dead peers whose flows have been freed. */
#ifndef GAMMA_ENGINE_DEAD_PEERS_H
#define GAMMA_ENGINE_DEAD_PEERS_H

#include "flow/flow.h"

enum {
	GAMMA_FLOWS_MAX = 65536,        /* flows that unknown peers may open */
	GAMMA_DEAD_PEERS_MAX = 1 << 20, /* dead peers that are remembered: 24 MiB */
};

/* Dead peers whose flows have been freed: dead_peers.c */
struct gamma_dead_peers {
	struct gamma_dead_peer *entries;
	uint32_t size;  /* a power of two, or 0 */
	uint32_t count; /* entries used */
	uint32_t most;  /* entries allowed */
	bool full_warned;
};

/* The flow of a peer that was declared dead is about to be freed. False: no memory, or too many. */
bool gamma_dead_peers_add(struct gamma_dead_peers *dead, const struct gamma_flow *flow);
/* Whether such a flow led where this one does. */
bool gamma_dead_peers_has(const struct gamma_dead_peers *dead, const struct gamma_flow *flow);
void gamma_dead_peers_free(struct gamma_dead_peers *dead);

#endif /* GAMMA_ENGINE_DEAD_PEERS_H */
