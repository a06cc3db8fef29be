// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Several short messages in one frame, when they wait for the same peer: filled as they are posted
 * in a row, or made of what is queued by the queue's turn in send.c; taken apart by receive.c.
 */
#include "message/message.h"

#include "flow/flow.h"

static void put(struct gamma_flow *flow, struct gamma_buffer *buffer, const struct iovec *iov,
		unsigned iov_count, const struct gamma_envelope *envelope)
{
	struct gamma_item item = {
		.length = (uint16_t) envelope->length,
		.extensions = (uint8_t) gamma_envelope_extensions(envelope),
		.tag = envelope->tag,
		.data = envelope->data,
	};

	gamma_iov_gather(iov, iov_count, gamma_build_item(buffer->payload + buffer->len, &item));
	buffer->len += (uint32_t) gamma_batch_len(envelope);
	flow->local->stats.bytes_copied_out += envelope->length;
}

/* The queue's first message if it fits too, or NULL. */
static struct gamma_send *next_fit(const struct gamma_flow *flow, uint32_t used, uint32_t room)
{
	const struct gamma_list *queue = &flow->messages.queue;
	struct gamma_send *send;

	if (gamma_list_empty(queue))
		return NULL;
	send = gamma_list_entry(queue->next, struct gamma_send, entry);
	if (!gamma_message_is_short(flow, send) || used + gamma_batch_len(&send->envelope) > room)
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

static bool two_fit(const struct gamma_flow *flow, uint32_t room)
{
	const struct gamma_list *queue = &flow->messages.queue;
	const struct gamma_send *first, *second;

	first = gamma_list_entry(queue->next, struct gamma_send, entry);
	second = gamma_list_entry(queue->next->next, struct gamma_send, entry);
	return gamma_message_is_short(flow, first) && gamma_message_is_short(flow, second) &&
	       gamma_batch_len(&first->envelope) + gamma_batch_len(&second->envelope) <= room;
}

static struct gamma_buffer *new_frame(struct gamma_flow *flow)
{
	struct gamma_buffer *buffer = gamma_buffer_get(flow->local);

	if (!buffer)
		return NULL;
	buffer->content = (struct gamma_content){.op = GAMMA_OP_BATCH};
	buffer->len = 0;
	return buffer;
}

bool gamma_batch_add(struct gamma_flow *flow, const struct iovec *iov, unsigned iov_count,
		     const struct gamma_envelope *envelope)
{
	struct gamma_message_state *m = &flow->messages;

	if (!m->filling) {
		m->filling_room = gamma_batch_room(flow);
		m->filling_count = 0;
		m->filling = new_frame(flow);
		if (!m->filling)
			return false;
		gamma_flow_ready(flow);
	}
	if (m->filling->len + gamma_batch_len(envelope) > m->filling_room)
		return false;
	put(flow, m->filling, iov, iov_count, envelope);
	m->filling_count++;
	flow->local->stats.messages_out++;
	return true;
}

static void leave(struct gamma_buffer *buffer, struct gamma_sent *sent)
{
	sent->buffer = buffer;
	sent->op = GAMMA_OP_BATCH;
	sent->len = buffer->len;
}

bool gamma_batch_next(struct gamma_flow *flow, struct gamma_sent *sent)
{
	const struct gamma_list *queue = &flow->messages.queue;
	struct gamma_local *local = flow->local;
	struct gamma_buffer *buffer;
	struct gamma_send *send;
	uint32_t room;

	if (flow->messages.filling) {
		leave(flow->messages.filling, sent);
		flow->messages.filling = NULL;
		if (flow->messages.filling_count > 1)
			local->stats.batched += flow->messages.filling_count;
		return true;
	}
	if (gamma_likely(queue->next->next == queue))
		return false;
	room = gamma_batch_room(flow);
	if (!two_fit(flow, room))
		return false;
	buffer = new_frame(flow);
	if (!buffer)
		return false;
	while ((send = next_fit(flow, buffer->len, room)) != NULL) {
		put(flow, buffer, send->iov, send->iov_count, &send->envelope);
		local->stats.batched++;
		gamma_message_finish(flow, send, 0);
	}
	leave(buffer, sent);
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
