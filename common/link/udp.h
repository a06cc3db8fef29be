/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames in UDP datagrams over IPv4 or IPv6, without privilege. On the wire a datagram is a frame
 * without its Ethernet header. Above the link each frame has one, made of pseudo MAC addresses, so
 * that the engine and the flows are the same as over Ethernet: see wire/pseudo_mac.h.
 */
#ifndef GAMMA_LINK_UDP_H
#define GAMMA_LINK_UDP_H

#include "link/link.h"
#include "wire/address.h"

struct gamma_udp_attr {
	bool ipv6;
	uint8_t ip[GAMMA_IPV6_LEN]; /* address of the NIC, not the wildcard; of IPv4 the first 4 */
	uint16_t port;              /* the UDP port, and the frames' port */
	uint32_t tenant;            /* user id: frames of others are dropped, except for LOOKUP */
	uint32_t mtu;               /* bytes of a datagram's payload, as the NIC's MTU allows */
	int ifindex;                /* of the NIC */
	uint16_t ethertype;         /* of the headers that frames have above the link */
	bool alone;                 /* no second socket */
	bool foreign_groups;        /* no member of a group that it sends to is on this host */
	bool beside; /* of an endpoint that uses that NIC by raw frames as well: datagrams leave by
		      * it, whatever the routes are, and without this link all works, too */
};

/* Opens a UDP link. Returns 0 or a negative errno; -EADDRINUSE: another socket has the port. */
int gamma_udp_open(const struct gamma_udp_attr *attr, struct gamma_stats *stats,
		   struct gamma_link **link);

/* The MTU that its NIC has now, less the headers, bytes; 0: the NIC is gone, or it is another kind
 * of link. */
uint32_t gamma_udp_nic_mtu(struct gamma_link *link);

/* Of a UDP link over IPv6: the address behind a pseudo MAC address that is held or that a frame has
 * just come from. False: unknown. */
bool gamma_udp_ipv6_of(struct gamma_link *link, const uint8_t mac[GAMMA_MAC_LEN],
		       uint8_t ipv6[GAMMA_IPV6_LEN]);

/* Joins a group on the NIC of an endpoint's UDP link: opens a link that receives the frames to that
 * group MAC address and port, also those of this host. It must be closed before `link`, and sends
 * nothing: frames to a group MAC address leave by `link`, whether or not the group was joined.
 * shared: other sockets of this host may join it, too. 0 or a negative errno; -EADDRINUSE: a
 * program that shares the port with nobody has it. */
int gamma_udp_join(struct gamma_link *link, const uint8_t group[GAMMA_MAC_LEN], uint16_t port,
		   bool shared, struct gamma_link **joined);

#endif /* GAMMA_LINK_UDP_H */
