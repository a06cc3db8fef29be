/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The address of an endpoint, as fi_getname returns it and as an address vector
 * takes it: one fixed layout on every host, multi-byte numbers in network order.
 *
 * It may be partial: epoch 0 (GAMMA_EPOCH_ANY) means "whoever owns that port of that
 * NIC now" and makes the flow begin with a LOOKUP.
 */
#ifndef GAMMA_WIRE_ADDRESS_H
#define GAMMA_WIRE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GAMMA_MAC_LEN   6
#define GAMMA_IPV6_LEN  16
#define GAMMA_EPOCH_ANY 0u
#define GAMMA_PORT_ANY  0u

struct gamma_addr {
	uint8_t mac[GAMMA_MAC_LEN]; /* of the endpoint's NIC */
	uint16_t port;              /* network order; 0 in a source address: choose one */
	uint32_t epoch;             /* network order; random per incarnation, 0: unknown */
	uint8_t version;            /* GAMMA_ADDR_VERSION, ..._UDP or ..._UDP6 */
	uint8_t contexts;           /* of a scalable endpoint, below; else 0 */
	uint16_t mtu;               /* network order, bytes after the Ethernet header; 0: unknown */
	uint64_t host;              /* host identity (boot and network namespace), 0: unknown */
} __attribute__((packed));

#define GAMMA_ADDR_VERSION      1
/* The same layout over UDP: mac is the pseudo MAC address of an IPv4 address (nic/udp.h), port the
 * UDP port, mtu the bytes of UDP's payload. */
#define GAMMA_ADDR_VERSION_UDP  2
/* UDP over IPv6. Within a process mac is the pseudo MAC address, as above; between processes the
 * 16 bytes of the IPv6 address stand in its place and in those of mtu and host. */
#define GAMMA_ADDR_VERSION_UDP6 3

/* A scalable endpoint has one epoch and a port for each context, from its own on: first the receive
 * contexts, as many as the high four bits of `contexts` say, then those for sending (low four). */
#define GAMMA_CONTEXTS(receive, transmit) ((uint8_t) ((receive) << 4 | (transmit)))
#define GAMMA_CONTEXTS_RX(contexts)       ((unsigned) (contexts) >> 4)
#define GAMMA_CONTEXTS_TX(contexts)       ((unsigned) (contexts) &15)
#define GAMMA_ADDR_LEN                    24
_Static_assert(sizeof(struct gamma_addr) == GAMMA_ADDR_LEN, "the address is 24 bytes");

/* ---- the IPv6 address in an address of version 3, as processes exchange it ---- */

static inline void gamma_addr_ipv6(const struct gamma_addr *addr, uint8_t ipv6[GAMMA_IPV6_LEN])
{
	memcpy(ipv6, addr->mac, GAMMA_MAC_LEN);
	memcpy(ipv6 + GAMMA_MAC_LEN, (const uint8_t *) addr + offsetof(struct gamma_addr, mtu),
	       GAMMA_IPV6_LEN - GAMMA_MAC_LEN);
}

static inline void gamma_addr_set_ipv6(struct gamma_addr *addr, const uint8_t ipv6[GAMMA_IPV6_LEN])
{
	memcpy(addr->mac, ipv6, GAMMA_MAC_LEN);
	memcpy((uint8_t *) addr + offsetof(struct gamma_addr, mtu), ipv6 + GAMMA_MAC_LEN,
	       GAMMA_IPV6_LEN - GAMMA_MAC_LEN);
}

#endif /* GAMMA_WIRE_ADDRESS_H */
