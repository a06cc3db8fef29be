/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One progress call: receive what has arrived, run what is due, send what can be sent. */
#ifndef GAMMA_ENGINE_PROGRESS_H
#define GAMMA_ENGINE_PROGRESS_H

#include "engine/internal.h"

/* Whether the network link is to be polled and may have frames. */
static inline bool gamma_engine_progress_network_waits(struct gamma_endpoint *endpoint)
{
	if (gamma_unlikely(endpoint->moderation.until)) {
		if (gamma_now() < endpoint->moderation.until)
			return false;
		endpoint->moderation.until = 0;
	}
	return !gamma_link_is_quiet(endpoint->packet);
}

/* A whole progress call. look_shm: shared memory may have something new. True: the caller should
 * yield the processor. */
bool gamma_engine_progress(struct gamma_endpoint *endpoint, bool look_shm);

#endif /* GAMMA_ENGINE_PROGRESS_H */
