/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arriving frames: fields of one, for the ordinary path (dispatch.c) and the fast path
 * (fastpath.c), and the ordinary path itself. */
#ifndef GAMMA_ENGINE_DISPATCH_H
#define GAMMA_ENGINE_DISPATCH_H

#include "engine/state.h"

enum {
	GAMMA_RESETS_MAX = 8, /* RESETs in one progress call */
};

struct gamma_group;

static inline const uint8_t *gamma_dispatch_payload(const struct gamma_arrival *arrival,
						    const struct gamma_fields *fields)
{
	return arrival->payload ? arrival->payload
				: arrival->frame + GAMMA_ETH_LEN + fields->header_len;
}

static inline const uint8_t *gamma_dispatch_sender(const struct gamma_arrival *arrival)
{
	return arrival->frame + GAMMA_MAC_LEN;
}

/* When the frame arrived, on this host's monotonic clock: for the ACK delay. */
static inline uint64_t gamma_dispatch_arrival_time(const struct gamma_endpoint *endpoint,
						   const struct gamma_arrival *arrival,
						   uint64_t now)
{
	uint64_t arrived = arrival->stamp - (uint64_t) endpoint->clock_offset;

	return arrival->stamp && arrived < now ? arrived : now;
}

void gamma_dispatch(struct gamma_endpoint *endpoint, struct gamma_link *link,
		    const struct gamma_arrival *arrival, uint64_t now);

/* A frame that came by a rail over UDP, which beside raw ones is for named peers alone: whether it
 * is from the address and port that its flow's peer has named by raw frames. */
bool gamma_dispatch_is_named(const struct gamma_endpoint *endpoint, uint8_t rail,
			     const struct gamma_arrival *arrival);

/* The MTU of the first NIC has become too small: ends all flows, and informs their peers. */
void gamma_dispatch_end_by_mtu(struct gamma_endpoint *endpoint);

/* The offending frame's epochs and number come back: only its sender, at mac, can use them.
 * counts: it is an error, and so counted in resets_out. */
void gamma_dispatch_send_reset(struct gamma_endpoint *endpoint, struct gamma_link *link,
			       const uint8_t *mac, const struct gamma_fields *to,
			       enum gamma_reset_op why, bool counts);
/* Reads a frame of a group that the interface layer takes; false: it is none of the group's. */
bool gamma_dispatch_read_group(struct gamma_endpoint *endpoint, const struct gamma_group *group,
			       const struct gamma_arrival *arrival,
			       struct gamma_group_frame *frame);
void gamma_dispatch_group(struct gamma_endpoint *endpoint, const struct gamma_group *group,
			  const struct gamma_arrival *arrival);

#endif /* GAMMA_ENGINE_DISPATCH_H */
