/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations on a peer's memory, the requester's side: for the files of message/. */
#ifndef GAMMA_MESSAGE_RMA_REQUESTER_H
#define GAMMA_MESSAGE_RMA_REQUESTER_H

#include "message/rma.h"

/* The next frame of the queue's first send, an RMA operation. False: not now. */
bool gamma_rma_requester_next(struct gamma_flow *flow, struct gamma_send *send,
			      struct gamma_sent *sent, uint8_t *flags);
/* Bytes that it takes in a BATCH; 0: it needs frames of its own. */
uint64_t gamma_rma_requester_item_len(const struct gamma_flow *flow, const struct gamma_send *send);
/* Moves one that has such a length from the queue into a frame with room for it, flags as in
 * gamma_send_next_frame. False: no memory. */
bool gamma_rma_requester_share_frame(struct gamma_flow *flow, struct gamma_send *send,
				     struct gamma_buffer *buffer, uint8_t *flags);
/* Fields of a frame whose payload is not in a buffer. */
void gamma_rma_requester_content(const struct gamma_sent *sent, struct gamma_content *content);
/* The operation ends: its id is free. */
void gamma_rma_requester_finish(struct gamma_flow *flow, struct gamma_send *send, int error);
/* REPLY, FAILED have arrived. */
void gamma_rma_requester_receive_reply(struct gamma_flow *flow, const struct gamma_fields *fields,
				       const uint8_t *payload);
void gamma_rma_requester_receive_failed(struct gamma_flow *flow, const struct gamma_fields *fields);
bool gamma_rma_requester_is_placeable(const struct gamma_flow *flow,
				      const struct gamma_fields *fields);

#endif /* GAMMA_MESSAGE_RMA_REQUESTER_H */
