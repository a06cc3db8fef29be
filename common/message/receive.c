// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The way in: asks for a match when a message begins, places its bytes as they arrive, keeps
 * those of a message nobody has asked for yet. Called by the receive window, in order, or early
 * for fragments that can be placed at once.
 */
#include "message/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"

static void envelope_of(const struct gamma_fields *fields, struct gamma_envelope *envelope)
{
	envelope->flags = (fields->extensions & GAMMA_EXT_TAG ? GAMMA_TAGGED : 0) |
			  (fields->extensions & GAMMA_EXT_CQ_DATA ? GAMMA_HAS_DATA : 0);
	envelope->tag = envelope->flags & GAMMA_TAGGED ? fields->tag : 0;
	envelope->data = envelope->flags & GAMMA_HAS_DATA ? fields->data : 0;
	envelope->length = fields->extensions & GAMMA_EXT_MESSAGE ? fields->length
								   : fields->payload_len;
}

static struct gamma_inbound *inbound_new(struct gamma_flow *flow,
					 const struct gamma_envelope *envelope, uint32_t id,
					 uint64_t keep)
{
	struct gamma_inbound *inbound = calloc(1, sizeof(*inbound));

	if (!inbound)
		return NULL;
	if (keep) {
		inbound->kept = malloc(keep);
		if (!inbound->kept) {
			free(inbound);
			return NULL;
		}
	}
	gamma_list_init(&inbound->entry);
	inbound->flow = flow;
	inbound->envelope = *envelope;
	inbound->id = id;
	inbound->wanted = envelope->length;
	gamma_list_append(&flow->messages.incoming, &inbound->flow_entry);
	return inbound;
}

static void inbound_free(struct gamma_inbound *inbound)
{
	gamma_list_remove(&inbound->flow_entry);
	free(inbound->kept);
	free(inbound);
}

static void received(struct gamma_flow *flow, struct gamma_recv *recv,
		     const struct gamma_envelope *envelope, uint64_t placed, int error)
{
	struct gamma_local *local = flow->local;

	if (!error)
		local->stats.messages_in++;
	local->handlers->received(local->context, recv, flow, envelope, placed, error);
}

/* The receive that a finished or failed inbound was matched with gets its end. */
static void inbound_finish(struct gamma_inbound *inbound, int error)
{
	struct gamma_flow *flow = inbound->flow;
	struct gamma_recv *recv = inbound->recv;
	struct gamma_envelope envelope = inbound->envelope;
	uint64_t placed = gamma_min(inbound->arrived, recv->capacity);

	if (inbound->kept && !error) {
		placed = gamma_iov_write(recv->iov, recv->iov_count, 0, inbound->kept, placed);
		flow->local->stats.bytes_copied_in += placed;
	}
	inbound_free(inbound);
	received(flow, recv, &envelope, placed, error);
}

static bool arrived_whole(struct gamma_flow *flow, const struct gamma_fields *fields,
			  const uint8_t *payload)
{
	struct gamma_local *local = flow->local;
	struct gamma_envelope envelope;
	struct gamma_inbound *inbound;
	struct gamma_recv *recv;
	uint64_t placed;

	envelope_of(fields, &envelope);
	recv = local->handlers->match(local->context, flow, &envelope);
	if (recv) {
		placed = gamma_iov_write(recv->iov, recv->iov_count, 0, payload,
					 fields->payload_len);
		local->stats.bytes_copied_in += placed;
		received(flow, recv, &envelope, placed, 0);
		return true;
	}
	inbound = inbound_new(flow, &envelope, 0, fields->payload_len);
	if (!inbound)
		return false;
	if (fields->payload_len)
		memcpy(inbound->kept, payload, fields->payload_len);
	local->stats.bytes_copied_in += fields->payload_len;
	local->stats.unexpected++;
	inbound->arrived = fields->payload_len;
	inbound->state = GAMMA_INBOUND_COMPLETE;
	local->handlers->unexpected(local->context, inbound);
	return true;
}

static struct gamma_inbound *find_arriving(const struct gamma_flow *flow, uint32_t id)
{
	struct gamma_list *pos;

	gamma_list_for_each(pos, &flow->messages.incoming) {
		struct gamma_inbound *inbound =
			gamma_list_entry(pos, struct gamma_inbound, flow_entry);

		if (inbound->state == GAMMA_INBOUND_ARRIVING && inbound->id == id)
			return inbound;
	}
	return NULL;
}

/* No more bytes are owed by the peer. */
static void end_arrival(struct gamma_inbound *inbound)
{
	if (inbound->state == GAMMA_INBOUND_ACCEPTED)
		gamma_transfer_remove(&inbound->flow->local->accepted, inbound->accepted);
	if (inbound->state == GAMMA_INBOUND_ACCEPTED || inbound->state == GAMMA_INBOUND_ARRIVING)
		inbound->flow->messages.owed--;
}

static void place(struct gamma_inbound *inbound, uint64_t offset, const uint8_t *payload,
		  uint32_t len)
{
	struct gamma_stats *stats = &inbound->flow->local->stats;

	inbound->arrived += len;
	if (inbound->kept) {
		memcpy(inbound->kept + offset, payload, len);
		stats->bytes_copied_in += len;
	} else if (inbound->recv) {
		stats->bytes_copied_in += gamma_iov_write(
			inbound->recv->iov, inbound->recv->iov_count, offset, payload, len);
	}
	if (inbound->arrived < inbound->wanted)
		return;
	end_arrival(inbound);
	inbound->state = GAMMA_INBOUND_COMPLETE;
	if (inbound->discarded)
		inbound_free(inbound);
	else if (inbound->recv)
		inbound_finish(inbound, 0);
}

static bool arrived_first(struct gamma_flow *flow, const struct gamma_fields *fields,
			  const uint8_t *payload)
{
	struct gamma_local *local = flow->local;
	struct gamma_envelope envelope;
	struct gamma_inbound *inbound;
	struct gamma_recv *recv;

	envelope_of(fields, &envelope);
	if (!(fields->extensions & GAMMA_EXT_MESSAGE) || fields->length <= fields->payload_len ||
	    fields->length > GAMMA_EAGER_MAX || find_arriving(flow, fields->id)) {
		local->stats.malformed++;
		return true;
	}
	/* Memory first: a receive that was matched cannot be given back. */
	inbound = inbound_new(flow, &envelope, fields->id, envelope.length);
	if (!inbound)
		return false;
	inbound->state = GAMMA_INBOUND_ARRIVING;
	flow->messages.owed++;
	recv = local->handlers->match(local->context, flow, &envelope);
	inbound->recv = recv;
	if (recv) {
		free(inbound->kept);
		inbound->kept = NULL;
	} else {
		local->stats.unexpected++;
		local->handlers->unexpected(local->context, inbound);
	}
	place(inbound, 0, payload, fields->payload_len);
	return true;
}

static void arrived_more(struct gamma_flow *flow, const struct gamma_fields *fields,
			 const uint8_t *payload)
{
	uint64_t offset = fields->fragment & GAMMA_FRAGMENT_OFFSET_MASK;
	struct gamma_inbound *inbound = find_arriving(
		flow, (uint32_t) (fields->fragment >> GAMMA_FRAGMENT_OFFSET_BITS));

	if (!inbound || offset + fields->payload_len > inbound->wanted)
		flow->local->stats.malformed++;
	else
		place(inbound, offset, payload, fields->payload_len);
}

static struct gamma_inbound *find_accepted(const struct gamma_flow *flow, uint64_t fragment)
{
	struct gamma_inbound *inbound =
		gamma_transfer_find(&flow->local->accepted,
				    (uint32_t) (fragment >> GAMMA_FRAGMENT_OFFSET_BITS));

	return inbound && inbound->flow == flow ? inbound : NULL;
}

static void arrived_bulk(struct gamma_flow *flow, const struct gamma_fields *fields,
			 const uint8_t *payload)
{
	uint64_t offset = fields->fragment & GAMMA_FRAGMENT_OFFSET_MASK;
	struct gamma_inbound *inbound = find_accepted(flow, fields->fragment);

	if (!inbound || offset + fields->payload_len > inbound->wanted)
		flow->local->stats.malformed++;
	else
		place(inbound, offset, payload, fields->payload_len);
}

/* Tells the sender of an announced message that its bytes may come. */
static void begin_accept(struct gamma_inbound *inbound)
{
	struct gamma_flow *flow = inbound->flow;
	struct gamma_transfers *accepted = &flow->local->accepted;

	inbound->wanted = inbound->discarded
				  ? 0
				  : gamma_min(inbound->envelope.length, inbound->recv->capacity);
	inbound->accepted = gamma_transfer_add(accepted, inbound);
	if (!inbound->accepted ||
	    !gamma_message_accept(flow, inbound->id, inbound->accepted, inbound->wanted)) {
		if (inbound->accepted)
			gamma_transfer_remove(accepted, inbound->accepted);
		if (inbound->recv)
			inbound_finish(inbound, -ENOMEM);
		return;
	}
	inbound->state = GAMMA_INBOUND_ACCEPTED;
	flow->messages.owed++;
	if (!inbound->wanted)
		place(inbound, 0, NULL, 0);
}

static bool arrived_announce(struct gamma_flow *flow, const struct gamma_fields *fields)
{
	struct gamma_local *local = flow->local;
	struct gamma_envelope envelope;
	struct gamma_inbound *inbound;

	envelope_of(fields, &envelope);
	if (!(fields->extensions & GAMMA_EXT_MESSAGE) || fields->length > GAMMA_MESSAGE_MAX) {
		local->stats.malformed++;
		return true;
	}
	inbound = inbound_new(flow, &envelope, fields->id, 0);
	if (!inbound)
		return false;
	inbound->state = GAMMA_INBOUND_ANNOUNCED;
	inbound->recv = local->handlers->match(local->context, flow, &envelope);
	if (inbound->recv) {
		begin_accept(inbound);
		return true;
	}
	local->stats.unexpected++;
	local->handlers->unexpected(local->context, inbound);
	return true;
}

bool gamma_message_arrived(struct gamma_flow *flow, const struct gamma_fields *fields,
			   const uint8_t *payload)
{
	switch (fields->op) {
	case GAMMA_OP_SEND:
		return arrived_whole(flow, fields, payload);
	case GAMMA_OP_SEND_FIRST:
		return arrived_first(flow, fields, payload);
	case GAMMA_OP_SEND_MORE:
		if (fields->extensions & GAMMA_EXT_FRAGMENT) {
			arrived_more(flow, fields, payload);
			return true;
		}
		break;
	case GAMMA_OP_BULK:
		if (fields->extensions & GAMMA_EXT_FRAGMENT) {
			arrived_bulk(flow, fields, payload);
			return true;
		}
		break;
	case GAMMA_OP_ANNOUNCE:
		return arrived_announce(flow, fields);
	case GAMMA_OP_ACCEPT:
		if (fields->extensions & GAMMA_EXT_MESSAGE && fields->extensions & GAMMA_EXT_FRAGMENT) {
			gamma_message_accepted(flow, fields);
			return true;
		}
		break;
	}
	flow->local->stats.malformed++;
	return true;
}

bool gamma_message_placeable(const struct gamma_flow *flow, const struct gamma_fields *fields)
{
	if (!(fields->extensions & GAMMA_EXT_FRAGMENT))
		return false;
	if (fields->op == GAMMA_OP_BULK)
		return find_accepted(flow, fields->fragment);
	return fields->op == GAMMA_OP_SEND_MORE &&
	       find_arriving(flow,
			     (uint32_t) (fields->fragment >> GAMMA_FRAGMENT_OFFSET_BITS));
}

void gamma_inbound_accept(struct gamma_inbound *inbound, struct gamma_recv *recv)
{
	inbound->recv = recv;
	if (inbound->error)
		inbound_finish(inbound, inbound->error);
	else if (inbound->state == GAMMA_INBOUND_COMPLETE)
		inbound_finish(inbound, 0);
	else if (inbound->state == GAMMA_INBOUND_ANNOUNCED)
		begin_accept(inbound);
}

void gamma_inbound_discard(struct gamma_inbound *inbound)
{
	inbound->discarded = true;
	if (inbound->error || inbound->state == GAMMA_INBOUND_COMPLETE)
		inbound_free(inbound);
	else if (inbound->state == GAMMA_INBOUND_ANNOUNCED)
		begin_accept(inbound);
}

/* Unexpected messages that are whole stay: their bytes are here. */
void gamma_message_drop_receives(struct gamma_flow *flow, int error)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe(pos, tmp, &flow->messages.incoming) {
		struct gamma_inbound *inbound =
			gamma_list_entry(pos, struct gamma_inbound, flow_entry);

		if (!inbound->error)
			end_arrival(inbound);
		if (!error || inbound->discarded)
			inbound_free(inbound);
		else if (inbound->recv)
			inbound_finish(inbound, error);
		else if (inbound->state != GAMMA_INBOUND_COMPLETE)
			inbound->error = error;
	}
}
