/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Flows by the MAC addresses of their peers' other rails: the first one's is in peers.c. */
#ifndef GAMMA_ENGINE_ALIASES_H
#define GAMMA_ENGINE_ALIASES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/address.h"

enum { GAMMA_ALIAS_CHAINS = 4096 }; /* of the table; a power of two */

struct gamma_endpoint;
struct gamma_flow;
struct gamma_local;

/* One of a flow's, in struct gamma_peer. */
struct gamma_alias {
	struct gamma_alias *next; /* in its chain */
	struct gamma_flow *flow;
	uint8_t mac[GAMMA_MAC_LEN];
};

/* Room for the endpoint's aliases: 0 or -ENOMEM. An endpoint with one rail has none. */
int gamma_aliases_init(struct gamma_endpoint *endpoint);
void gamma_aliases_fini(struct gamma_endpoint *endpoint);
/* Frames from that address are of this flow; it may have had another one on that rail. Without
 * memory they stay unknown, and the rail is not used. */
void gamma_aliases_set(struct gamma_local *local, struct gamma_flow *flow, uint8_t rail,
		       const uint8_t mac[GAMMA_MAC_LEN]);
/* Whether frames come from that address by that rail of the flow's peer. */
bool gamma_aliases_is(const struct gamma_flow *flow, uint8_t rail,
		      const uint8_t mac[GAMMA_MAC_LEN]);
/* The flow is about to be freed. */
void gamma_aliases_drop(struct gamma_endpoint *endpoint, struct gamma_flow *flow);
struct gamma_flow *gamma_aliases_find(const struct gamma_endpoint *endpoint,
				      const uint8_t mac[GAMMA_MAC_LEN], uint16_t port,
				      uint32_t epoch);

#endif /* GAMMA_ENGINE_ALIASES_H */
