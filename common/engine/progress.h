/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One progress call: receive what has arrived, run what is due, send what can be sent. */
#ifndef GAMMA_ENGINE_PROGRESS_H
#define GAMMA_ENGINE_PROGRESS_H

#include "engine/state.h"

enum {
	GAMMA_POLL_BUDGET = 64, /* frames taken from a link in one progress call */
	GAMMA_IDLE_SKIP = 16,   /* polls that found nothing before the clock is read */
	GAMMA_YIELD_SHM =
		256, /* empty polls before the caller should yield, with peers on this host */
	GAMMA_YIELD = 2048,         /* ditto without */
	GAMMA_CHUNKS_ASK_NS = 400,  /* no chunk for so long: the reader asks for more */
	GAMMA_CHUNKS_END_NS = 1200, /* ditto: the kernel reads the rest */
	GAMMA_READ_FIRST =
		131072, /* bytes that it reads before the reader looks for chunks again; doubling */
	GAMMA_HOUSE_US = 1000, /* between two rounds of housekeeping */
};

/* Whether the network link is to be polled and may have frames. */
static inline bool gamma_engine_progress_network_waits(struct gamma_endpoint *endpoint)
{
	if (gamma_unlikely(endpoint->moderation.until)) {
		if (gamma_now() < endpoint->moderation.until)
			return false;
		endpoint->moderation.until = 0;
	}
	/* First: that there are always raw frames must not keep others waiting. */
	if (gamma_unlikely(endpoint->local.rail_count > 1) && gamma_links_wait(endpoint))
		return true;
	return !gamma_link_is_quiet(endpoint->packet);
}

/* A whole progress call. look_shm: shared memory may have something new. True: the caller should
 * yield the processor. */
bool gamma_engine_progress(struct gamma_endpoint *endpoint, bool look_shm);

#endif /* GAMMA_ENGINE_PROGRESS_H */
