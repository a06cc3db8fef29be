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
#include <stdint.h>

#define GAMMA_MAC_LEN   6
#define GAMMA_EPOCH_ANY 0u
#define GAMMA_PORT_ANY  0u

struct gamma_addr {
	uint8_t mac[GAMMA_MAC_LEN]; /* of the endpoint's NIC */
	uint16_t port;              /* network order; 0 in a source address: choose one */
	uint32_t epoch;             /* network order; random per incarnation, 0: unknown */
	uint8_t version;            /* GAMMA_ADDR_VERSION or GAMMA_ADDR_VERSION_UDP */
	uint8_t contexts;           /* of a scalable endpoint, below; else 0 */
	uint16_t mtu;               /* network order, bytes after the Ethernet header; 0: unknown */
	uint64_t host;              /* host identity (boot and network namespace), 0: unknown */
} __attribute__((packed));

#define GAMMA_ADDR_VERSION     1
/* The same layout over UDP: mac is the pseudo MAC address of an IPv4 address (nic/udp.h), port the
 * UDP port, mtu the bytes of UDP's payload. */
#define GAMMA_ADDR_VERSION_UDP 2

/* A scalable endpoint has one epoch and a port for each context, from its own on: first the receive
 * contexts, as many as the high four bits of `contexts` say, then those for sending (low four). */
#define GAMMA_CONTEXTS(receive, transmit) ((uint8_t) ((receive) << 4 | (transmit)))
#define GAMMA_CONTEXTS_RX(contexts)       ((unsigned) (contexts) >> 4)
#define GAMMA_CONTEXTS_TX(contexts)       ((unsigned) (contexts) &15)
#define GAMMA_ADDR_LEN                    24
_Static_assert(sizeof(struct gamma_addr) == GAMMA_ADDR_LEN, "the address is 24 bytes");

#endif /* GAMMA_WIRE_ADDRESS_H */
