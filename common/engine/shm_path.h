/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages between processes of one host, without frames. */
#ifndef GAMMA_ENGINE_SHM_PATH_H
#define GAMMA_ENGINE_SHM_PATH_H

#include "engine/state.h"

enum {
	GAMMA_CHUNK = 16384,        /* bytes of a longer message that are written in one record */
	GAMMA_CHUNKS_TURN = 131072, /* bytes of chunks written in one progress call, if the reader
				       asked for more */
};

/* Finds the channel to an shm peer, if that takes inline messages by now. */
void gamma_shm_path_find_channel(struct gamma_endpoint *endpoint, struct gamma_flow *flow);
/* Sends a short message, which is complete then, by its channel. False: nothing has been done.
 */
bool gamma_shm_path_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			 const struct iovec *iov, unsigned iov_count,
			 const struct gamma_envelope *envelope);
/* The same for a large one, of which its announcement is sent, if nothing stands before it, and as
 * many chunks as there is room for, where copies pay. */
bool gamma_shm_path_announce(struct gamma_flow *flow, struct gamma_send *send);
/* Writes what receivers have asked for. */
void gamma_shm_path_feed(struct gamma_endpoint *endpoint);
/* Writes a record to an shm peer. False: it cannot be written. */
bool gamma_shm_path_put(struct gamma_flow *flow, struct gamma_shm_message *plain);
/* Nothing that was announced to it must be read any more: the flow comes to its end. */
void gamma_shm_path_withdraw(struct gamma_flow *flow);
/* An inline message, an announcement or an answer has arrived. False: no memory; it stays in the
 * channel. */
bool gamma_shm_path_receive(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival);
/* Whether inline messages of the flow wait in the channel. */
bool gamma_shm_path_has_undelivered(const struct gamma_flow *flow);
/* Turns back-pressure off, if there is room: shm peers may send inline messages again. */
void gamma_shm_path_relax(struct gamma_endpoint *endpoint);

#endif /* GAMMA_ENGINE_SHM_PATH_H */
