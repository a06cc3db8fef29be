// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Aliases: MAC addresses under which a peer sends beside the one of its address. */
#include "engine/aliases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/peers.h"
#include "engine/state.h"

int gamma_aliases_init(struct gamma_endpoint *endpoint)
{
	endpoint->aliases = calloc(GAMMA_ALIAS_CHAINS, sizeof(struct gamma_alias *));
	endpoint->local.alias = gamma_aliases_set;
	return endpoint->aliases ? 0 : -ENOMEM;
}

void gamma_aliases_fini(struct gamma_endpoint *endpoint)
{
	for (uint32_t i = 0; endpoint->aliases && i < GAMMA_ALIAS_CHAINS; i++) {
		while (endpoint->aliases[i]) {
			struct gamma_alias *alias = endpoint->aliases[i];

			endpoint->aliases[i] = alias->next;
			free(alias);
		}
	}
	free(endpoint->aliases);
	endpoint->aliases = NULL;
}

static struct gamma_alias **alias_chain(const struct gamma_endpoint *endpoint,
					const uint8_t mac[GAMMA_MAC_LEN], uint16_t port)
{
	return &endpoint->aliases[gamma_peers_hash(mac, port) & (GAMMA_ALIAS_CHAINS - 1)];
}

static void drop_alias(struct gamma_endpoint *endpoint, struct gamma_alias *alias)
{
	struct gamma_alias **link = alias_chain(endpoint, alias->mac, alias->flow->port);

	while (*link != alias)
		link = &(*link)->next;
	*link = alias->next;
	free(alias);
}

void gamma_aliases_set(struct gamma_local *local, struct gamma_flow *flow, uint8_t rail,
		       const uint8_t mac[GAMMA_MAC_LEN])
{
	struct gamma_endpoint *endpoint = gamma_container_of(local, struct gamma_endpoint, local);
	struct gamma_alias **slot = &gamma_peer(flow)->aliases[rail], *alias = *slot, **to;

	if (alias && !memcmp(alias->mac, mac, GAMMA_MAC_LEN))
		return;
	if (alias)
		drop_alias(endpoint, alias);
	alias = *slot = calloc(1, sizeof(*alias));
	if (!alias)
		return;
	alias->flow = flow;
	memcpy(alias->mac, mac, GAMMA_MAC_LEN);
	to = alias_chain(endpoint, mac, flow->port);
	alias->next = *to;
	*to = alias;
}

bool gamma_aliases_is(const struct gamma_flow *flow, uint8_t rail, const uint8_t mac[GAMMA_MAC_LEN])
{
	const struct gamma_alias *alias = gamma_peer(flow)->aliases[rail];

	return alias && !memcmp(alias->mac, mac, GAMMA_MAC_LEN);
}

void gamma_aliases_drop(struct gamma_endpoint *endpoint, struct gamma_flow *flow)
{
	for (unsigned rail = 0; endpoint->aliases && rail < GAMMA_RAILS_MAX; rail++) {
		struct gamma_alias **slot = &gamma_peer(flow)->aliases[rail];

		if (*slot)
			drop_alias(endpoint, *slot);
		*slot = NULL;
	}
}

struct gamma_flow *gamma_aliases_find(const struct gamma_endpoint *endpoint,
				      const uint8_t mac[GAMMA_MAC_LEN], uint16_t port,
				      uint32_t epoch)
{
	const struct gamma_alias *alias = *alias_chain(endpoint, mac, port);

	while (alias && !(alias->flow->epoch == epoch && alias->flow->port == port &&
			  !memcmp(alias->mac, mac, GAMMA_MAC_LEN)))
		alias = alias->next;
	return alias ? alias->flow : NULL;
}
