// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Several short messages in one frame, when they wait for the same peer: made by the queue's turn
 * in send.c, taken apart by receive.c.
 */
#include "message/message.h"

#include <endian.h>
#include <string.h>

#include "flow/flow.h"

static uint32_t item_len(const struct gamma_envelope *envelope)
{
	return (uint32_t) (sizeof(struct gamma_batch_item) +
			   (envelope->flags & GAMMA_TAGGED ? 8 : 0) +
			   (envelope->flags & GAMMA_HAS_DATA ? 8 : 0) + envelope->length);
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static uint8_t *put_item(uint8_t *at, const struct gamma_send *send)
{
	const struct gamma_envelope *envelope = &send->envelope;
	struct gamma_batch_item item = {
		.length = htobe16((uint16_t) envelope->length),
		.extensions = (envelope->flags & GAMMA_TAGGED ? GAMMA_EXT_TAG : 0) |
			      (envelope->flags & GAMMA_HAS_DATA ? GAMMA_EXT_CQ_DATA : 0),
	};

	memcpy(at, &item, sizeof(item));
	at += sizeof(item);
	if (envelope->flags & GAMMA_TAGGED)
		at = put64(at, envelope->tag);
	if (envelope->flags & GAMMA_HAS_DATA)
		at = put64(at, envelope->data);
	gamma_iov_read(send->iov, send->iov_count, 0, at, envelope->length);
	return at + envelope->length;
}

/* The queue's first message if it fits too, or NULL. */
static struct gamma_send *next_fit(const struct gamma_flow *flow, uint32_t used, uint32_t room)
{
	const struct gamma_list *queue = &flow->messages.queue;
	struct gamma_send *send;

	if (gamma_list_empty(queue))
		return NULL;
	send = gamma_list_entry(queue->next, struct gamma_send, entry);
	if (!gamma_message_is_short(flow, send) || used + item_len(&send->envelope) > room)
		return NULL;
	return send;
}

static bool two_fit(const struct gamma_flow *flow, uint32_t room)
{
	const struct gamma_list *queue = &flow->messages.queue;
	const struct gamma_send *first, *second;

	if (queue->next->next == queue)
		return false;
	first = gamma_list_entry(queue->next, struct gamma_send, entry);
	second = gamma_list_entry(queue->next->next, struct gamma_send, entry);
	return gamma_message_is_short(flow, first) && gamma_message_is_short(flow, second) &&
	       item_len(&first->envelope) + item_len(&second->envelope) <= room;
}

bool gamma_batch_next(struct gamma_flow *flow, struct gamma_sent *sent)
{
	struct gamma_local *local = flow->local;
	uint32_t room = (uint32_t) gamma_min(gamma_message_room(flow, 0), gamma_buffer_size(local));
	struct gamma_buffer *buffer;
	struct gamma_send *send;

	if (!two_fit(flow, room))
		return false;
	buffer = gamma_buffer_get(local);
	if (!buffer)
		return false;
	buffer->content = (struct gamma_content){.op = GAMMA_OP_BATCH};
	buffer->len = 0;
	while ((send = next_fit(flow, buffer->len, room)) != NULL) {
		put_item(buffer->payload + buffer->len, send);
		buffer->len += item_len(&send->envelope);
		local->stats.bytes_copied_out += send->envelope.length;
		local->stats.batched++;
		gamma_message_finish(flow, send, 0);
	}
	sent->buffer = buffer;
	sent->op = GAMMA_OP_BATCH;
	sent->len = buffer->len;
	return true;
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

bool gamma_batch_item(const uint8_t *payload, uint32_t len, uint32_t *offset,
		      struct gamma_envelope *envelope, const uint8_t **bytes)
{
	const uint8_t *at = payload + *offset;
	struct gamma_batch_item item;

	if (len - *offset < sizeof(item))
		return false;
	memcpy(&item, at, sizeof(item));
	at += sizeof(item);
	envelope->length = be16toh(item.length);
	envelope->flags = (item.extensions & GAMMA_EXT_TAG ? GAMMA_TAGGED : 0) |
			  (item.extensions & GAMMA_EXT_CQ_DATA ? GAMMA_HAS_DATA : 0);
	if (item.extensions & ~(GAMMA_EXT_TAG | GAMMA_EXT_CQ_DATA) ||
	    item_len(envelope) > len - *offset)
		return false;
	envelope->tag = envelope->data = 0;
	if (envelope->flags & GAMMA_TAGGED) {
		envelope->tag = get64(at);
		at += 8;
	}
	if (envelope->flags & GAMMA_HAS_DATA) {
		envelope->data = get64(at);
		at += 8;
	}
	*bytes = at;
	*offset += item_len(envelope);
	return true;
}
