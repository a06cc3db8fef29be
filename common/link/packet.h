/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The link over an AF_PACKET socket: raw Ethernet on any NIC. */
#ifndef GAMMA_LINK_PACKET_H
#define GAMMA_LINK_PACKET_H

#include "link/link.h"

struct gamma_brokered;
struct gamma_broker_joined;

enum {
	GAMMA_RING_SLOTS_MIN = 256,     /* frames: smallest receive ring */
	GAMMA_RING_BYTES_MAX = 1 << 30, /* bytes: largest receive ring that is mapped */
};

struct gamma_packet_attr {
	int ifindex;
	uint16_t ethertype;
	uint16_t port;        /* host order; the kernel's filter passes only its frames */
	uint32_t tenant;      /* ditto, except that LOOKUP passes for any tenant */
	uint32_t mtu;         /* bytes */
	size_t ring_bytes;    /* at most, but at least GAMMA_RING_SLOTS_MIN slots */
	const uint8_t *mac;   /* of the NIC; AF_XDP only */
	const uint8_t *group; /* MAC of the multicast group to join; NULL: unicast */
	bool receives;        /* false: the group's frames are only sent, not received */
	bool incoming_only;   /* nor those that leave this host */
};

/* Returns 0 or a negative errno; -EPERM: the process lacks CAP_NET_RAW. */
int gamma_packet_open(const struct gamma_packet_attr *attr, struct gamma_stats *stats,
		      struct gamma_link **link);
/* The same with sockets from gammad. On success the link owns packet_fd and gammad_fd. */
int gamma_packet_adopt(const struct gamma_brokered *brokered, struct gamma_stats *stats,
		       struct gamma_link **link);
/* The same with a multicast group's socket from gammad. The link only receives. */
int gamma_packet_adopt_group(const struct gamma_broker_joined *joined, int fd,
			     struct gamma_stats *stats, struct gamma_link **link);
/* If the NIC was removed, and is there again with another index, the link takes that. So it does
 * when it sends. Nothing if it is another kind of link, or from gammad. */
void gamma_packet_look_for_nic(struct gamma_link *link);
/* Whether its NIC has a carrier; true if that is not known, as of another kind of link. */
bool gamma_packet_has_carrier(const struct gamma_link *link);
/* The MTU that its NIC has now, bytes; 0: the NIC is gone, or it is another kind of link. */
uint32_t gamma_packet_nic_mtu(const struct gamma_link *link);

#endif /* GAMMA_LINK_PACKET_H */
