/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counts the frames of a capture by what they carry, in intervals and in all. */
#ifndef GAMMA_TOOLS_TRAFFIC_H
#define GAMMA_TOOLS_TRAFFIC_H

#include "capture.h"

/* Frames of an interval, or of all. A frame may carry several things. */
struct traffic_counts {
	uint64_t frames;          /* of GAMMA */
	uint64_t bytes;           /* of these, as they were on the wire, without preamble and FCS */
	uint64_t data;            /* carry a message or a part of one: DATA, DATAGRAM */
	uint64_t acks;            /* carry an acknowledgement */
	uint64_t credits;         /* raise a limit, or ask for credit or for its return */
	uint64_t retransmissions; /* DATA that was transmitted before */
};

struct traffic_interval {
	uint64_t number; /* counts from the first frame's interval, 0 */
	struct traffic_counts counts;
};

struct traffic_flow;

struct traffic {
	uint16_t ethertype;
	uint64_t interval; /* ns */
	uint64_t first;    /* ns: time of the first frame of GAMMA */
	uint64_t last;     /* ns: of the latest */
	struct traffic_counts all;
	uint64_t others;    /* packets of other protocols */
	uint64_t malformed; /* frames of that EtherType, or over UDP, that no endpoint would take */
	uint64_t unread; /* over UDP: frames behind the first of a datagram, cut off in the file */
	struct traffic_interval *intervals; /* with frames, in order of time */
	size_t interval_count, interval_size;
	struct traffic_flow *flows; /* hash table: limits seen */
	size_t flow_count, flow_size;
};

/* Counts the frames of a packet, raw or over UDP; false: no memory. */
bool traffic_add(struct traffic *traffic, const struct capture_frame *packet);

/* Frees what the counts have taken. */
void traffic_end(struct traffic *traffic);

#endif /* GAMMA_TOOLS_TRAFFIC_H */
