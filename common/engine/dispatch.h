/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fields of an arriving frame, for the ordinary path (dispatch.c) and the fast path (fastpath.c).
 */
#ifndef GAMMA_ENGINE_DISPATCH_H
#define GAMMA_ENGINE_DISPATCH_H

#include "engine/internal.h"

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

#endif /* GAMMA_ENGINE_DISPATCH_H */
