/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frames of one long message that came in one train, received together. */
#ifndef GAMMA_ENGINE_RECEIVE_RUN_H
#define GAMMA_ENGINE_RECEIVE_RUN_H

#include "engine/state.h"

/* The link has lent `arrival`, which is behind another frame of its train, and not the last one.
 * Receives and releases it and those behind it, `most` at most, as long as they are in order and
 * bring nothing but further bytes of one message. Returns how many. arrival->alone: the train ends
 * with them. 0: nothing has been done, and the frame is still lent. */
unsigned gamma_receive_run(struct gamma_endpoint *endpoint, struct gamma_link *link,
			   struct gamma_arrival *arrival, unsigned most, uint64_t now);

#endif /* GAMMA_ENGINE_RECEIVE_RUN_H */
