/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fast path of short messages: one send, one receive, the rest deferred. */
#ifndef GAMMA_ENGINE_FASTPATH_H
#define GAMMA_ENGINE_FASTPATH_H

#include "engine/state.h"

enum {
	GAMMA_CALL_US = 2, /* longest assumed duration of a send call, until one was measured */
};

/* As gamma_dispatch, for a frame from the network that brings a short message and hardly anything
 * else. Does not read the clock; gamma_fastpath_process_deferred does the rest. False: it is not
 * such a frame, and nothing has been done. */
bool gamma_fastpath_receive(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival);
/* Processes what the last such frame reported besides its message, and releases its slot. */
void gamma_fastpath_process_deferred(struct gamma_endpoint *endpoint, uint64_t now);
/* The same if there is anything to process; returns the time if it was read, else 0. */
uint64_t gamma_fastpath_process_any(struct gamma_endpoint *endpoint);
/* gamma_transmit_direct, and its frame to the link. False: nothing has been done. */
bool gamma_fastpath_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			 const struct iovec *iov, unsigned iov_count,
			 const struct gamma_envelope *envelope);

#endif /* GAMMA_ENGINE_FASTPATH_H */
