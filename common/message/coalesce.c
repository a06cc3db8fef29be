// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Several short messages in one frame, when they wait for the same peer: filled as they are posted
 * in a row, or made of what is queued by the queue's turn in send.c; taken apart by receive.c.
 * Short operations on remote memory (rma_requester.c) and results (rma_target.c) share frames with
 * them in the same way.
 */
#include "message/coalesce.h"

#include "flow/upcalls.h"
#include "message/rma_requester.h"
#include "message/send.h"

uint8_t *gamma_coalesce_put_item(struct gamma_buffer *buffer, const struct gamma_fields *item)
{
	uint8_t *bytes = gamma_codec_build_item(buffer->payload + buffer->len, item);

	buffer->len = (uint32_t) (bytes - buffer->payload) + item->payload_len;
	return bytes;
}

static void put_bytes(struct gamma_flow *flow, struct gamma_buffer *buffer, const struct iovec *iov,
		      unsigned iov_count, const struct gamma_envelope *envelope)
{
	struct gamma_fields item;

	item.op = GAMMA_OP_SEND;
	item.payload_len = (uint16_t) envelope->length;
	item.extensions = gamma_envelope_extensions(envelope);
	item.tag = envelope->tag;
	item.data = envelope->data;
	gamma_iov_gather(iov, iov_count, gamma_coalesce_put_item(buffer, &item));
	flow->local->stats.bytes_copied_out += envelope->length;
}

uint64_t gamma_coalesce_send_len(const struct gamma_flow *flow, const struct gamma_send *send)
{
	if (send->rma)
		return gamma_rma_requester_item_len(flow, send);
	return gamma_send_is_short(flow, send) ? gamma_coalesce_message_len(&send->envelope) : 0;
}

/* The queue's first if it fits too, or NULL. */
static struct gamma_send *next_fit(const struct gamma_flow *flow, uint32_t used, uint32_t room)
{
	const struct gamma_list *queue = &gamma_message_state(flow)->queue;
	struct gamma_send *send;
	uint64_t takes;

	if (gamma_list_empty(queue))
		return NULL;
	send = gamma_list_entry(queue->next, struct gamma_send, entry);
	takes = gamma_coalesce_send_len(flow, send);
	return takes && used + takes <= room ? send : NULL;
}

uint32_t gamma_coalesce_room(const struct gamma_flow *flow)
{
	/* What is to be acknowledged rides along. */
	uint32_t room = gamma_send_frame_room(flow, GAMMA_EXT_ACK | GAMMA_EXT_SACK |
							    GAMMA_EXT_DELAY | GAMMA_EXT_CUTS);

	return (uint32_t) gamma_min(room, flow->local->limits.inject_size);
}

static bool two_fit(const struct gamma_flow *flow, uint32_t room)
{
	const struct gamma_list *queue = &gamma_message_state(flow)->queue;
	uint64_t first, second;

	first = gamma_coalesce_send_len(flow,
					gamma_list_entry(queue->next, struct gamma_send, entry));
	second = gamma_coalesce_send_len(
		flow, gamma_list_entry(queue->next->next, struct gamma_send, entry));
	return first && second && first + second <= room;
}

struct gamma_buffer *gamma_coalesce_new_frame(struct gamma_flow *flow)
{
	struct gamma_buffer *buffer = gamma_local_get_buffer(flow->local);

	if (!buffer)
		return NULL;
	buffer->content = (struct gamma_content){.op = GAMMA_OP_BATCH};
	buffer->len = 0;
	return buffer;
}

bool gamma_coalesce_add(struct gamma_flow *flow, const struct iovec *iov, unsigned iov_count,
			const struct gamma_envelope *envelope)
{
	struct gamma_message_state *m = gamma_message_state(flow);

	if (!m->filling) {
		m->filling_room = gamma_coalesce_room(flow);
		m->filling_count = 0;
		m->filling = gamma_coalesce_new_frame(flow);
		if (!m->filling)
			return false;
		gamma_flow_ready(flow);
	}
	if (m->filling->len + gamma_coalesce_message_len(envelope) > m->filling_room)
		return false;
	put_bytes(flow, m->filling, iov, iov_count, envelope);
	m->filling_count++;
	flow->local->stats.messages_out++;
	return true;
}

void gamma_coalesce_finish_frame(struct gamma_buffer *buffer, struct gamma_sent *sent)
{
	sent->buffer = buffer;
	sent->op = GAMMA_OP_BATCH;
	sent->len = buffer->len;
}

/* A frame that is made of the queue. */
struct making {
	struct gamma_buffer *buffer;
	uint32_t count;          /* items in it */
	struct gamma_send **end; /* of the row of those that wait for its acknowledgement */
	uint8_t *flags;
};

/* Moves the queue's first into the frame. False: no memory. */
static bool take_first(struct gamma_flow *flow, struct gamma_send *send, struct making *making)
{
	if (!send->rma) {
		put_bytes(flow, making->buffer, send->iov, send->iov_count, &send->envelope);
		gamma_send_finish(flow, send, 0);
		return true;
	}
	if (!gamma_rma_requester_share_frame(flow, send, making->buffer, making->flags))
		return false;
	if (send->flying) {
		send->batch_index = making->count;
		*making->end = send;
		making->end = &send->with;
	}
	return true;
}

bool gamma_coalesce_next(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags)
{
	const struct gamma_list *queue = &gamma_message_state(flow)->queue;
	struct making making = {.end = &sent->send, .flags = flags};
	struct gamma_send *send;
	uint32_t room;

	if (gamma_message_state(flow)->filling) {
		gamma_coalesce_finish_frame(gamma_message_state(flow)->filling, sent);
		gamma_message_state(flow)->filling = NULL;
		if (gamma_message_state(flow)->filling_count > 1)
			flow->local->stats.batched += gamma_message_state(flow)->filling_count;
		return true;
	}
	if (gamma_likely(queue->next->next == queue))
		return false;
	room = gamma_coalesce_room(flow);
	if (!two_fit(flow, room))
		return false;
	making.buffer = gamma_coalesce_new_frame(flow);
	if (!making.buffer)
		return false;
	while ((send = next_fit(flow, making.buffer->len, room)) != NULL &&
	       take_first(flow, send, &making))
		making.count++;
	if (!making.count) {
		gamma_local_put_buffer(flow->local, making.buffer);
		return false;
	}
	flow->local->stats.batched += making.count;
	gamma_coalesce_finish_frame(making.buffer, sent);
	return true;
}

bool gamma_coalesce_batch_item(const uint8_t *payload, uint32_t len, uint32_t *offset,
			       struct gamma_fields *item, const uint8_t **bytes)
{
	*bytes = gamma_codec_parse_item(payload + *offset, len - *offset, item);
	if (!*bytes)
		return false;
	*offset = (uint32_t) (*bytes - payload) + item->payload_len;
	return true;
}
