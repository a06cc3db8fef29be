// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Messages that a receiver could not keep, at their sender: from an eager message that is thought
 * to be done, or nearly, to one that is announced and waits for ACCEPT. The bytes are still here:
 * in the caller's memory, in a copy of the flow's own, or in the frame's buffer, because an
 * acknowledgement releases nothing before the notices that it counts (see doc/protocol.md).
 */
#include "message/demote.h"

#include "message/coalesce.h"
#include "message/copies.h"
#include "message/rndv_shm.h"
#include "message/send.h"

struct whereabouts {
	struct gamma_envelope envelope;
	const uint8_t *bytes;
};

/* The message of a frame that was copied, and was reported complete to its caller. */
static bool find_in_buffer(const struct gamma_sent *sent, uint32_t index, struct whereabouts *where)
{
	const struct gamma_buffer *buffer = sent->buffer;
	const struct gamma_content *content = &buffer->content;
	struct gamma_fields item;
	uint32_t offset = 0;

	if (sent->op != GAMMA_OP_BATCH) {
		where->envelope.tag = content->tag;
		where->envelope.data = content->data;
		where->envelope.length = buffer->len;
		where->envelope.flags = gamma_envelope_flags(content->extensions);
		where->bytes = buffer->payload;
		return true;
	}
	for (uint32_t i = 0; i <= index; i++)
		if (!gamma_coalesce_batch_item(buffer->payload, buffer->len, &offset, &item,
					       &where->bytes))
			return false;
	gamma_envelope_of(&item, item.payload_len, &where->envelope);
	return item.op == GAMMA_OP_SEND;
}

static struct gamma_sent *frame_of(const struct gamma_flow *flow, uint32_t seq)
{
	struct gamma_sent *sent;

	if (gamma_seq_before(seq, flow->tx.una) || !gamma_seq_before(seq, flow->tx.next))
		return NULL;
	sent = gamma_send_window_at(&flow->tx, seq);
	if (sent->op != GAMMA_OP_SEND && sent->op != GAMMA_OP_SEND_FIRST &&
	    sent->op != GAMMA_OP_BATCH)
		return NULL;
	return sent->send || sent->buffer ? sent : NULL;
}

static bool nonsense(struct gamma_flow *flow)
{
	flow->tx.cuts_seen++;
	flow->local->stats.malformed++;
	return true;
}

bool gamma_demote_receive_notice(struct gamma_flow *flow, const struct gamma_fields *fields)
{
	const struct gamma_sent *sent = frame_of(flow, fields->id);
	uint32_t index = (uint32_t) (fields->fragment & GAMMA_FRAGMENT_OFFSET_MASK);
	/* Those that wait for a BATCH are not messages. */
	struct gamma_send *send = sent && sent->op != GAMMA_OP_BATCH ? sent->send : NULL;
	struct whereabouts where;
	struct iovec iov;

	if (!sent || (send && (send->state == GAMMA_SEND_ANNOUNCED ||
			       send->envelope.length != fields->length)))
		return nonsense(flow);
	if (!send) {
		if (!find_in_buffer(sent, index, &where) || where.envelope.length != fields->length)
			return nonsense(flow);
		iov = (struct iovec){(void *) where.bytes, where.envelope.length};
		send = gamma_copies_make(flow, &iov, 1, &where.envelope);
		if (!send)
			return false;
	}
	flow->tx.cuts_seen++;
	gamma_list_remove(&send->entry);
	send->state = GAMMA_SEND_ANNOUNCED;
	send->demoted = true;
	send->accepted = (uint32_t) (fields->fragment >> GAMMA_FRAGMENT_OFFSET_BITS);
	send->made = 0;
	flow->owed++;
	gamma_list_append(&gamma_message_state(flow)->announced, &send->entry);
	return true;
}

struct gamma_send *gamma_demote_find_send(const struct gamma_flow *flow, uint32_t accepted)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gamma_message_state(flow)->announced) {
		struct gamma_send *send = gamma_list_entry(pos, struct gamma_send, entry);

		if (send->demoted && send->accepted == accepted)
			return send;
	}
	return NULL;
}
