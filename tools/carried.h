/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The frames of GAMMA in what was captured: one in an Ethernet frame; or in a UDP datagram over
 * IPv4 or IPv6 one, or several that were captured together as a train.
 */
#ifndef GAMMA_TOOLS_CARRIED_H
#define GAMMA_TOOLS_CARRIED_H

#include "capture.h"
#include "wire/wire.h"

/* A frame as over raw Ethernet. */
struct carried_frame {
	const uint8_t *bytes; /* from the Ethernet header on; over UDP of pseudo MAC addresses */
	uint32_t captured;    /* bytes there, at least of an Ethernet header */
	uint32_t len;         /* bytes, if all had been captured */
	uint32_t wire_len;    /* bytes on the wire, with the headers of IP and UDP */
	bool behind;          /* not the first of its datagram */
};

struct carried {
	struct capture_frame packet;
	uint32_t headers; /* bytes in front of the first frame; 0: raw */
	uint32_t at, end; /* bytes of the packet: before the next frame, and where the last ends */
	uint32_t segment; /* bytes of each frame but the last */
	bool any_group;   /* to an IPv4 group, whose MAC address is not known: verifies nothing */
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX]; /* over UDP: the frame's headers */
};

/* False: the packet is of another protocol. */
bool carried_begin(struct carried *carried, const struct capture_frame *packet, uint16_t ethertype);
/* The next frame, until the next call; false: there is none. */
bool carried_next(struct carried *carried, struct carried_frame *frame);

#endif /* GAMMA_TOOLS_CARRIED_H */
