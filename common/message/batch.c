// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Several short messages in one frame, when they wait for the same peer: made by the queue's turn
 * in send.c, taken apart by receive.c.
 */
#include "message/message.h"

#include "flow/flow.h"

static struct gamma_item item_of(const struct gamma_send *send)
{
	const struct gamma_envelope *envelope = &send->envelope;

	return (struct gamma_item){
		.length = (uint16_t) envelope->length,
		.extensions = (uint8_t) gamma_envelope_extensions(envelope),
		.tag = envelope->tag,
		.data = envelope->data,
	};
}

static uint64_t len_of(const struct gamma_send *send)
{
	uint32_t flags = send->envelope.flags;

	return sizeof(struct gamma_batch_item) + (flags & GAMMA_TAGGED ? 8 : 0) +
	       (flags & GAMMA_HAS_DATA ? 8 : 0) + send->envelope.length;
}

static void put(uint8_t *at, const struct gamma_send *send)
{
	struct gamma_item item = item_of(send);

	gamma_iov_read(send->iov, send->iov_count, 0, gamma_build_item(at, &item), item.length);
}

/* The queue's first message if it fits too, or NULL. */
static struct gamma_send *next_fit(const struct gamma_flow *flow, uint32_t used, uint32_t room)
{
	const struct gamma_list *queue = &flow->messages.queue;
	struct gamma_send *send;

	if (gamma_list_empty(queue))
		return NULL;
	send = gamma_list_entry(queue->next, struct gamma_send, entry);
	if (!gamma_message_is_short(flow, send) || used + len_of(send) > room)
		return NULL;
	return send;
}

uint32_t gamma_batch_room(const struct gamma_flow *flow)
{
	/* What is to be acknowledged rides along. */
	uint32_t room = gamma_message_room(flow, GAMMA_EXT_ACK | GAMMA_EXT_SACK | GAMMA_EXT_DELAY |
							 GAMMA_EXT_CUTS);

	return (uint32_t) gamma_min(room, flow->local->limits.inject_size);
}

uint32_t gamma_batch_len(const struct gamma_flow *flow, const struct gamma_send *send)
{
	return gamma_message_is_short(flow, send) ? (uint32_t) len_of(send) : 0;
}

static bool two_fit(const struct gamma_flow *flow, uint32_t room)
{
	const struct gamma_list *queue = &flow->messages.queue;
	const struct gamma_send *first, *second;

	first = gamma_list_entry(queue->next, struct gamma_send, entry);
	second = gamma_list_entry(queue->next->next, struct gamma_send, entry);
	return gamma_message_is_short(flow, first) && gamma_message_is_short(flow, second) &&
	       len_of(first) + len_of(second) <= room;
}

bool gamma_batch_next(struct gamma_flow *flow, struct gamma_sent *sent)
{
	const struct gamma_list *queue = &flow->messages.queue;
	struct gamma_local *local = flow->local;
	struct gamma_buffer *buffer;
	struct gamma_send *send;
	uint32_t room;

	if (gamma_likely(queue->next->next == queue))
		return false;
	room = gamma_batch_room(flow);
	if (!two_fit(flow, room))
		return false;
	buffer = gamma_buffer_get(local);
	if (!buffer)
		return false;
	buffer->content = (struct gamma_content){.op = GAMMA_OP_BATCH};
	buffer->len = 0;
	while ((send = next_fit(flow, buffer->len, room)) != NULL) {
		put(buffer->payload + buffer->len, send);
		buffer->len += (uint32_t) len_of(send);
		local->stats.bytes_copied_out += send->envelope.length;
		local->stats.batched++;
		gamma_message_finish(flow, send, 0);
	}
	sent->buffer = buffer;
	sent->op = GAMMA_OP_BATCH;
	sent->len = buffer->len;
	return true;
}

bool gamma_batch_item(const uint8_t *payload, uint32_t len, uint32_t *offset,
		      struct gamma_envelope *envelope, const uint8_t **bytes)
{
	struct gamma_item item;

	*bytes = gamma_parse_item(payload + *offset, len - *offset, &item);
	if (!*bytes)
		return false;
	*envelope = (struct gamma_envelope){
		.tag = item.tag,
		.data = item.data,
		.length = item.length,
		.flags = gamma_envelope_flags(item.extensions),
	};
	*offset += gamma_item_len(&item);
	return true;
}
