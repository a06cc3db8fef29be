/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames in UDP datagrams over IPv4, without privilege. On the wire a datagram is a frame without
 * its Ethernet header. Above the link each frame has one, made of pseudo MAC addresses, so that
 * the engine and the flows are the same as over Ethernet: see wire/pseudo_mac.h.
 */
#ifndef GAMMA_LINK_UDP_H
#define GAMMA_LINK_UDP_H

#include "link/link.h"
#include "wire/address.h"

struct gamma_udp_attr {
	uint8_t ipv4[4]; /* address of the NIC, not the wildcard */
	uint16_t port;   /* the UDP port, and the frames' port */
	uint32_t tenant; /* user id: frames of others are dropped, except for LOOKUP */
	uint32_t mtu;    /* bytes of a datagram's payload, as the NIC's MTU allows */
	int ifindex;     /* of the NIC */
};

/* Opens a UDP link. Returns 0 or a negative errno; -EADDRINUSE: another socket has the port. */
int gamma_udp_open(const struct gamma_udp_attr *attr, struct gamma_stats *stats,
		   struct gamma_link **link);

#endif /* GAMMA_LINK_UDP_H */
