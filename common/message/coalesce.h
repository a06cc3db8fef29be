/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Several short messages, or operations, in one frame. */
#ifndef GAMMA_MESSAGE_COALESCE_H
#define GAMMA_MESSAGE_COALESCE_H

#include "message/message.h"

/* The frame that is being filled, else one with the first messages of the queue; flags as in
 * gamma_send_next_frame. False: no two messages fit, or no memory. */
bool gamma_coalesce_next(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags);
/* Copies a short message into the frame that is being filled; the queue must be empty. The frame
 * leaves when the flow is polled. False: no room in it, or no memory. */
bool gamma_coalesce_add(struct gamma_flow *flow, const struct iovec *iov, unsigned iov_count,
			const struct gamma_envelope *envelope);
/* Bytes of payload of such a frame. */
uint32_t gamma_coalesce_room(const struct gamma_flow *flow);
/* Bytes that a message takes in such a frame. */
static inline uint64_t gamma_coalesce_message_len(const struct gamma_envelope *envelope)
{
	return sizeof(struct gamma_batch_item) + (envelope->flags & GAMMA_TAGGED ? 8 : 0) +
	       (envelope->flags & GAMMA_HAS_DATA ? 8 : 0) + envelope->length;
}
/* The same for a queued send; 0: it needs a frame of its own. */
uint64_t gamma_coalesce_send_len(const struct gamma_flow *flow, const struct gamma_send *send);
/* An empty frame for items, or NULL: no memory. finish_frame makes it ready to be sent. */
struct gamma_buffer *gamma_coalesce_new_frame(struct gamma_flow *flow);
void gamma_coalesce_finish_frame(struct gamma_buffer *buffer, struct gamma_sent *sent);
/* Adds an item for which there is room; returns where its bytes go. */
uint8_t *gamma_coalesce_put_item(struct gamma_buffer *buffer, const struct gamma_fields *item);
/* Parses the item at *offset and advances; false: none, or malformed. */
bool gamma_coalesce_batch_item(const uint8_t *payload, uint32_t len, uint32_t *offset,
			       struct gamma_fields *item, const uint8_t **bytes);

#endif /* GAMMA_MESSAGE_COALESCE_H */
