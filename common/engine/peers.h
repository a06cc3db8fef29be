/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint's flows, by address. */
#ifndef GAMMA_ENGINE_PEERS_H
#define GAMMA_ENGINE_PEERS_H

#include "engine/state.h"

enum {
	GAMMA_SWEEP_FLOWS =
		1024,       /* with more flows, peers that have been silent for long are probed */
	GAMMA_SWEEP_S = 60, /* between two times that this is done */
	GAMMA_PEERS_FIRST = 64, /* chains of the flow table at first */
};

int gamma_peers_init(struct gamma_endpoint *endpoint);
void gamma_peers_fini(struct gamma_endpoint *endpoint);
uint32_t gamma_peers_hash(const uint8_t mac[GAMMA_MAC_LEN], uint16_t port);
struct gamma_flow *gamma_peers_find(const struct gamma_endpoint *endpoint,
				    const uint8_t mac[GAMMA_MAC_LEN], uint16_t port,
				    uint32_t epoch);
/* The flow of that NIC and port that may be used now, whatever its epoch. */
struct gamma_flow *gamma_peers_any(const struct gamma_endpoint *endpoint,
				   const uint8_t mac[GAMMA_MAC_LEN], uint16_t port);
/* The flow of that NIC and port whose LOOKUP of that number is out. */
struct gamma_flow *gamma_peers_looking_up(const struct gamma_endpoint *endpoint,
					  const uint8_t mac[GAMMA_MAC_LEN], uint16_t port,
					  uint32_t number);
struct gamma_flow *gamma_peers_add(struct gamma_endpoint *endpoint, const struct gamma_addr *peer,
				   uint64_t now);
/* The answer to a LOOKUP: the flow opens, maybe to another MAC than the one asked. */
void gamma_peers_found(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		       const struct gamma_addr *found, uint64_t now);
void gamma_peers_forget(struct gamma_local *local, struct gamma_flow *flow, uint64_t now);
/* Unknown peers come: if there are many flows, probes those whose peers may have vanished. */
void gamma_peers_sweep(struct gamma_endpoint *endpoint, uint64_t now);
/* The endpoint ends: every flow fails, as do later operations. */
void gamma_peers_fail_all(struct gamma_endpoint *endpoint, int error, const char *cause);
bool gamma_peers_same_host(const struct gamma_endpoint *endpoint, const struct gamma_addr *peer);

/* All flows are about to be freed: they hold no IPv6 addresses any more. */
void gamma_peers_drop_addresses(struct gamma_endpoint *endpoint);

#endif /* GAMMA_ENGINE_PEERS_H */
