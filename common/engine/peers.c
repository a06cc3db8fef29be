// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The endpoint's flows, hashed by the peer's MAC and port. Several may differ in their epoch only.
 */
#include "engine/peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ipv6_names.h"
#include "link/udp.h"
#include "wire/pseudo_mac.h"

uint32_t gamma_peers_hash(const uint8_t mac[GAMMA_MAC_LEN], uint16_t port)
{
	uint64_t key = port;

	memcpy((uint8_t *) &key + 2, mac, GAMMA_MAC_LEN);
	return (uint32_t) (key * 0x9e3779b97f4a7c15ull >> 32);
}

static struct gamma_flow **peer_chain(const struct gamma_endpoint *endpoint,
				      const uint8_t mac[GAMMA_MAC_LEN], uint16_t port)
{
	return &endpoint->chains[gamma_peers_hash(mac, port) & (endpoint->chain_count - 1)];
}

int gamma_peers_init(struct gamma_endpoint *endpoint)
{
	endpoint->chain_count = GAMMA_PEERS_FIRST;
	endpoint->chains = calloc(endpoint->chain_count, sizeof(*endpoint->chains));
	endpoint->dead_peers.most = GAMMA_DEAD_PEERS_MAX;
	return endpoint->chains ? 0 : -ENOMEM;
}

void gamma_peers_fini(struct gamma_endpoint *endpoint)
{
	free(endpoint->chains);
	gamma_aliases_fini(endpoint);
	gamma_dead_peers_free(&endpoint->dead_peers);
}

static bool is_flow_to(const struct gamma_flow *flow, const uint8_t mac[GAMMA_MAC_LEN],
		       uint16_t port)
{
	return flow->port == port && !memcmp(flow->addr.mac, mac, GAMMA_MAC_LEN);
}

struct gamma_flow *gamma_peers_find(const struct gamma_endpoint *endpoint,
				    const uint8_t mac[GAMMA_MAC_LEN], uint16_t port, uint32_t epoch)
{
	struct gamma_flow *flow = *peer_chain(endpoint, mac, port);

	while (flow && !(flow->epoch == epoch && is_flow_to(flow, mac, port)))
		flow = gamma_peer(flow)->hash_next;
	if (gamma_unlikely(!flow && endpoint->aliases))
		return gamma_aliases_find(endpoint, mac, port, epoch);
	return flow;
}

struct gamma_flow *gamma_peers_any(const struct gamma_endpoint *endpoint,
				   const uint8_t mac[GAMMA_MAC_LEN], uint16_t port)
{
	struct gamma_flow *flow = *peer_chain(endpoint, mac, port);

	while (flow && !(gamma_flow_usable(flow) && is_flow_to(flow, mac, port)))
		flow = gamma_peer(flow)->hash_next;
	return flow;
}

struct gamma_flow *gamma_peers_looking_up(const struct gamma_endpoint *endpoint,
					  const uint8_t mac[GAMMA_MAC_LEN], uint16_t port,
					  uint32_t number)
{
	struct gamma_flow *flow = *peer_chain(endpoint, mac, port);

	while (flow && !(gamma_flow_usable(flow) && gamma_flow_is_looking_up(flow, number) &&
			 is_flow_to(flow, mac, port)))
		flow = gamma_peer(flow)->hash_next;
	return flow;
}

/* Doubles the chains when there are more flows than chains; without memory the old ones stay. */
static void grow_table(struct gamma_endpoint *endpoint)
{
	struct gamma_flow **old = endpoint->chains;
	uint32_t old_count = endpoint->chain_count;
	struct gamma_flow **chains = calloc(2ul * old_count, sizeof(*chains));

	if (!chains)
		return;
	endpoint->chains = chains;
	endpoint->chain_count = 2 * old_count;
	for (uint32_t i = 0; i < old_count; i++) {
		while (old[i]) {
			struct gamma_flow *flow = old[i];
			struct gamma_flow **to = peer_chain(endpoint, flow->addr.mac, flow->port);

			old[i] = gamma_peer(flow)->hash_next;
			gamma_peer(flow)->hash_next = *to;
			*to = flow;
		}
	}
	free(old);
}

bool gamma_peers_same_host(const struct gamma_endpoint *endpoint, const struct gamma_addr *peer)
{
	/* gammad answers LOOKUP for its endpoints from the NIC's MAC, also on the same host. */
	if (endpoint->broker && !memcmp(peer->mac, endpoint->nic_mac, GAMMA_MAC_LEN))
		return true;
	if (peer->host)
		return peer->host == endpoint->local.addr.host;
	for (unsigned r = 1; r < endpoint->local.rail_count; r++)
		if (!gamma_local_rail_is_udp(&endpoint->local, r) &&
		    !memcmp(peer->mac, endpoint->local.own_rails[r].mac, GAMMA_MAC_LEN))
			return true;
	return !memcmp(peer->mac, endpoint->local.addr.mac, GAMMA_MAC_LEN);
}

/* The IP address behind a pseudo MAC address; false: unknown. */
static bool ip_of(const uint8_t mac[GAMMA_MAC_LEN], uint8_t ip[GAMMA_IPV6_LEN])
{
	const uint8_t *ipv4 = gamma_pseudo_mac_ipv4(mac);

	if (!ipv4)
		return gamma_ipv6_names_find(mac, ip);
	memcpy(ip, ipv4, 4);
	return true;
}

/* Over UDP: the peer's address is not of this host's subnet. */
static bool is_routed(const struct gamma_endpoint *endpoint, const struct gamma_addr *peer)
{
	uint8_t own[GAMMA_IPV6_LEN], other[GAMMA_IPV6_LEN];
	unsigned bytes = endpoint->prefix / 8, bits = endpoint->prefix % 8;

	if (!endpoint->prefix || bytes > GAMMA_IPV6_LEN || !ip_of(endpoint->local.addr.mac, own) ||
	    !ip_of(peer->mac, other))
		return false;
	return memcmp(own, other, bytes) || (bits && (own[bytes] ^ other[bytes]) >> (8 - bits));
}

/* The path is shared with others from now on. */
static void begin_crossing(struct gamma_endpoint *endpoint, struct gamma_flow *flow)
{
	gamma_links_cross(endpoint);
	gamma_congestion_start(flow);
}

/* While the flow is there no other address may have the peer's pseudo MAC address. */
static bool hold_address(struct gamma_endpoint *endpoint, const struct gamma_addr *peer)
{
	uint8_t ipv6[GAMMA_IPV6_LEN], mac[GAMMA_MAC_LEN];

	return peer->version != GAMMA_ADDR_VERSION_UDP6 ||
	       (gamma_udp_ipv6_of(endpoint->packet, peer->mac, ipv6) &&
		!gamma_ipv6_names_hold(ipv6, mac));
}

void gamma_peers_drop_addresses(struct gamma_endpoint *endpoint)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &endpoint->local.flows)
		gamma_ipv6_names_drop_addr(
			&gamma_list_entry(pos, struct gamma_flow, all_entry)->addr);
}

static void insert_flow(struct gamma_endpoint *endpoint, struct gamma_flow *flow)
{
	struct gamma_flow **to = peer_chain(endpoint, flow->addr.mac, flow->port);

	gamma_peer(flow)->hash_next = *to;
	*to = flow;
}

static void remove_flow(struct gamma_endpoint *endpoint, struct gamma_flow *flow)
{
	struct gamma_flow **link = peer_chain(endpoint, flow->addr.mac, flow->port);

	while (*link != flow)
		link = &gamma_peer(*link)->hash_next;
	*link = gamma_peer(flow)->hash_next;
}

struct gamma_flow *gamma_peers_add(struct gamma_endpoint *endpoint, const struct gamma_addr *peer,
				   uint64_t now)
{
	bool same_host = gamma_peers_same_host(endpoint, peer);
	struct gamma_flow *flow;

	if (!hold_address(endpoint, peer))
		return NULL;
	flow = gamma_flow_new(&endpoint->local, peer, same_host, now);
	if (!flow) {
		gamma_ipv6_names_drop_addr(peer);
		return NULL;
	}
	if (endpoint->flow_count++ >= endpoint->chain_count)
		grow_table(endpoint);
	insert_flow(endpoint, flow);
	endpoint->shm_peers += same_host;
	if (!same_host && is_routed(endpoint, peer))
		begin_crossing(endpoint, flow);
	if (gamma_unlikely(gamma_dead_peers_has(&endpoint->dead_peers, flow)))
		gamma_flow_declare_dead_idle(flow, -EHOSTDOWN, GAMMA_DECLARED_DEAD, now);
	return flow;
}

void gamma_peers_sweep(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_list *pos;

	if (endpoint->flow_count < GAMMA_SWEEP_FLOWS || now < endpoint->sweep_at)
		return;
	endpoint->sweep_at = now + GAMMA_SWEEP_S * GAMMA_NS_PER_S;
	gamma_list_for_each (pos, &endpoint->local.flows)
		gamma_loss_suspect_peer(gamma_list_entry(pos, struct gamma_flow, all_entry), now);
}

void gamma_peers_found(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		       const struct gamma_addr *found, uint64_t now)
{
	remove_flow(endpoint, flow);
	gamma_flow_found(flow, found, now);
	insert_flow(endpoint, flow);
}

/* A flow with unread unexpected messages stays. A dead peer must be remembered before its flow is
 * freed. */
void gamma_peers_forget(struct gamma_local *local, struct gamma_flow *flow, uint64_t now)
{
	struct gamma_endpoint *endpoint = gamma_container_of(local, struct gamma_endpoint, local);
	struct gamma_shm_addr addr = {.port = flow->port, .epoch = flow->epoch};

	if (!gamma_list_empty(&gamma_message_state(flow)->incoming) ||
	    (flow->declared_dead && !gamma_dead_peers_add(&endpoint->dead_peers, flow))) {
		gamma_timers_set(flow, GAMMA_TIMER_FORGET, now + local->limits.forget);
		return;
	}
	remove_flow(endpoint, flow);
	gamma_aliases_drop(endpoint, flow);
	endpoint->flow_count--;
	endpoint->shm_peers -= flow->same_host;
	endpoint->handlers.gone(endpoint->context, flow);
	memcpy(addr.mac, flow->addr.mac, GAMMA_MAC_LEN);
	if (flow->same_host)
		gamma_shm_forget(endpoint->shm, flow, &addr);
	gamma_ipv6_names_drop_addr(&flow->addr);
	gamma_flow_free(flow);
}

void gamma_peers_fail_all(struct gamma_endpoint *endpoint, int error, const char *cause)
{
	struct gamma_list *pos;

	if (endpoint->error)
		return;
	endpoint->error = error;
	endpoint->cause = cause;
	gamma_list_for_each (pos, &endpoint->local.flows)
		gamma_flow_fail(gamma_list_entry(pos, struct gamma_flow, all_entry), error, cause);
	if (endpoint->handlers.ended)
		endpoint->handlers.ended(endpoint->context, error, cause);
}
