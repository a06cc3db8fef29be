/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations on a peer's memory, the target's side: for the files of message/. */
#ifndef GAMMA_MESSAGE_RMA_TARGET_H
#define GAMMA_MESSAGE_RMA_TARGET_H

#include "message/rma.h"

/* WRITE, READ, ATOMIC, FETCH or COMPARE has arrived, in order. False: no memory. */
bool gamma_rma_target_receive(struct gamma_flow *flow, const struct gamma_fields *fields,
			      const uint8_t *payload);
/* Where the bytes of the WRITE under way go that are still to come, as far as they are one piece.
 * False: this fragment, which has FRAGMENT, does not go on with it. */
bool gamma_rma_target_find_rest(struct gamma_flow *flow, const struct gamma_fields *fields,
				struct iovec *rest);
/* So many of these bytes have been written. */
void gamma_rma_target_written(struct gamma_flow *flow, uint64_t len);
/* The next short result, or a frame shared by several. False: there is none. */
bool gamma_rma_target_next(struct gamma_flow *flow, struct gamma_sent *sent);
/* A REPLY stream has left, or ends. */
void gamma_rma_target_finish(struct gamma_flow *flow, struct gamma_send *send, int error);
/* Fields of a REPLY frame of a stream. */
void gamma_rma_target_content(const struct gamma_sent *sent, struct gamma_content *content);
void gamma_rma_target_drop(struct gamma_flow *flow);

#endif /* GAMMA_MESSAGE_RMA_TARGET_H */
