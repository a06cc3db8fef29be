// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The way in: asks for a match when a message begins, places its bytes as they arrive, keeps
 * those of a message nobody has asked for yet. Called by the receive window, in order, or early
 * for fragments that can be placed at once.
 */
#include "message/receive.h"

#include <stdlib.h>
#include <string.h>

#include "flow/upcalls.h"
#include "message/coalesce.h"
#include "message/demote.h"
#include "message/inbound.h"
#include "message/rma_requester.h"
#include "message/rma_target.h"
#include "message/rndv_shm.h"
#include "message/self.h"
#include "message/send.h"

/* Reserves for an ACCEPT: once a receive has matched there must be no way back. */
static bool reserve_accept(struct gamma_inbound *inbound)
{
	if (!inbound->accept)
		inbound->accept = gamma_send_new_notice();
	inbound->accepted =
		gamma_transfers_add(&gamma_message_local(inbound->flow->local)->accepted, inbound);
	inbound->state = GAMMA_INBOUND_ANNOUNCED;
	return inbound->accept && inbound->accepted;
}

/* Leaves the bytes with the sender: the message stands as if it had been announced. It has come
 * in the frame seq, there as the index-th. False: no memory even to say so. */
static bool cut(struct gamma_inbound *inbound, uint32_t seq, uint32_t index)
{
	struct gamma_flow *flow = inbound->flow;
	struct gamma_notice *notice;

	if (!reserve_accept(inbound))
		return false;
	notice = gamma_send_new_notice();
	if (!notice)
		return false;
	gamma_send_notice(flow, notice, GAMMA_OP_CUT, seq, inbound->envelope.length,
			  (uint64_t) inbound->accepted << GAMMA_FRAGMENT_OFFSET_BITS | index);
	inbound->demoted = true;
	flow->ack.cuts++;
	flow->local->stats.demoted++;
	return true;
}

/* Both steps of `deliver`, for an owner without that callback. */
static uint64_t match_and_place(struct gamma_flow *flow, const struct gamma_envelope *envelope,
				const uint8_t *bytes)
{
	struct gamma_local *local = flow->local;
	struct gamma_recv *recv = gamma_message_local(local)->handlers->match(
		gamma_message_local(local)->context, flow, envelope);
	uint64_t placed;

	if (!recv)
		return GAMMA_UNMATCHED;
	placed = gamma_iov_write(recv->iov, recv->iov_count, 0, bytes, envelope->length);
	gamma_message_local(local)->handlers->received(gamma_message_local(local)->context, recv,
						       flow, envelope, placed, 0);
	return placed;
}

/* A message to a port whose tag makes no sense has no effect. */
static bool names_no_port(struct gamma_flow *flow, const struct gamma_envelope *envelope)
{
	if (gamma_likely(gamma_envelope_port_is_valid(envelope)))
		return false;
	flow->local->stats.malformed++;
	return true;
}

/* Into the receive that waits for it; false: none does. */
static bool arrived_expected(struct gamma_flow *flow, const struct gamma_envelope *envelope,
			     const uint8_t *bytes)
{
	struct gamma_local *local = flow->local;
	uint64_t placed =
		gamma_likely(gamma_message_local(local)->handlers->deliver)
			? gamma_message_local(local)->handlers->deliver(
				  gamma_message_local(local)->context, flow, envelope, bytes)
			: match_and_place(flow, envelope, bytes);

	if (gamma_unlikely(placed == GAMMA_UNMATCHED))
		return false;
	local->stats.messages_in++;
	local->stats.bytes_copied_in += placed;
	return true;
}

static bool keep_whole(struct gamma_inbound *inbound, const uint8_t *bytes, uint64_t most)
{
	uint64_t length = inbound->envelope.length;

	if (!gamma_inbound_keep(inbound, length, most))
		return false;
	if (length)
		memcpy(inbound->buffered, bytes, length);
	inbound->flow->local->stats.bytes_copied_in += length;
	inbound->arrived = length;
	inbound->state = GAMMA_INBOUND_COMPLETE;
	return true;
}

/* A whole message, alone in the frame seq or as the index-th of a batch. */
static bool arrived_message(struct gamma_flow *flow, const struct gamma_envelope *envelope,
			    const uint8_t *bytes, uint32_t seq, uint32_t index)
{
	struct gamma_local *local = flow->local;
	struct gamma_inbound *inbound;

	if (arrived_expected(flow, envelope, bytes))
		return true;
	inbound = gamma_inbound_new(flow, envelope, 0);
	if (!inbound)
		return false;
	if (!keep_whole(inbound, bytes, local->limits.unexpected_size) &&
	    !cut(inbound, seq, index)) {
		gamma_inbound_free(inbound);
		return false;
	}
	local->stats.unexpected++;
	gamma_message_local(local)->handlers->unexpected(gamma_message_local(local)->context,
							 inbound);
	return true;
}

/* Its sender has no copy, so it is kept beyond the budget. */
struct gamma_inbound *gamma_receive_keep(struct gamma_flow *flow,
					 const struct gamma_envelope *envelope,
					 const uint8_t *bytes)
{
	struct gamma_inbound *inbound = gamma_inbound_new(flow, envelope, 0);

	if (inbound && !keep_whole(inbound, bytes, UINT64_MAX)) {
		gamma_inbound_free(inbound);
		return NULL;
	}
	return inbound;
}

/* Back-pressure makes shm peers use frames when much is kept. */
bool gamma_receive_shm_message(struct gamma_flow *flow, const struct gamma_envelope *envelope,
			       const uint8_t *bytes)
{
	struct gamma_local *local = flow->local;
	struct gamma_inbound *inbound;

	if (names_no_port(flow, envelope) || gamma_likely(arrived_expected(flow, envelope, bytes)))
		return true;
	inbound = gamma_receive_keep(flow, envelope, bytes);
	if (!inbound)
		return false;
	local->stats.unexpected++;
	gamma_message_local(local)->handlers->unexpected(gamma_message_local(local)->context,
							 inbound);
	return true;
}

static bool arrived_whole(struct gamma_flow *flow, const struct gamma_fields *fields,
			  const uint8_t *payload)
{
	struct gamma_envelope envelope;

	gamma_envelope_of(fields, fields->payload_len, &envelope);
	return names_no_port(flow, &envelope) ||
	       arrived_message(flow, &envelope, payload, fields->seq, 0);
}

static bool arrived_item(struct gamma_flow *flow, const struct gamma_fields *item,
			 const uint8_t *bytes)
{
	struct gamma_envelope envelope;

	if (gamma_likely(item->op == GAMMA_OP_SEND)) {
		gamma_envelope_of(item, item->payload_len, &envelope);
		return names_no_port(flow, &envelope) ||
		       arrived_message(flow, &envelope, bytes, item->seq,
				       gamma_message_state(flow)->batch_taken);
	}
	if (item->op == GAMMA_OP_REPLY) {
		gamma_rma_requester_receive_reply(flow, item, bytes);
		return true;
	}
	return gamma_rma_target_receive(flow, item, bytes);
}

/* If memory runs out halfway, the frame comes again and goes on from there. */
static bool arrived_batch(struct gamma_flow *flow, const struct gamma_fields *fields,
			  const uint8_t *payload)
{
	uint32_t *taken = &gamma_message_state(flow)->batch_taken;
	struct gamma_fields item;
	const uint8_t *bytes;
	uint32_t offset = 0;

	item.seq = fields->seq;
	for (uint32_t i = 0; offset < fields->payload_len; i++) {
		if (!gamma_coalesce_batch_item(payload, fields->payload_len, &offset, &item,
					       &bytes)) {
			flow->local->stats.malformed++;
			break;
		}
		if (i < *taken)
			continue;
		if (!arrived_item(flow, &item, bytes))
			return false;
		++*taken;
	}
	*taken = 0;
	return true;
}

static struct gamma_inbound *find_arriving(const struct gamma_flow *flow, uint32_t id)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gamma_message_state(flow)->arriving) {
		struct gamma_inbound *inbound =
			gamma_list_entry(pos, struct gamma_inbound, arriving_entry);

		if (inbound->id == id)
			return inbound;
	}
	return NULL;
}

/* No more bytes are owed by the peer. */
static void end_arrival(struct gamma_inbound *inbound)
{
	if (inbound->accepted)
		gamma_transfers_remove(&gamma_message_local(inbound->flow->local)->accepted,
				       inbound->accepted);
	inbound->accepted = 0;
	gamma_list_remove(&inbound->arriving_entry);
	if (inbound->state == GAMMA_INBOUND_ACCEPTED || inbound->state == GAMMA_INBOUND_ARRIVING)
		inbound->flow->owed--;
}

void gamma_receive_placed(struct gamma_inbound *inbound, uint64_t len)
{
	inbound->arrived += len;
	gamma_message_note_arriving(inbound->flow, inbound->wanted - inbound->arrived);
	if (inbound->arrived < inbound->wanted)
		return;
	end_arrival(inbound);
	inbound->state = GAMMA_INBOUND_COMPLETE;
	if (inbound->discarded)
		gamma_inbound_free(inbound);
	else if (inbound->recv)
		gamma_inbound_finish(inbound, 0);
}

static void place(struct gamma_inbound *inbound, uint64_t offset, const uint8_t *payload,
		  uint32_t len)
{
	struct gamma_stats *stats = &inbound->flow->local->stats;

	if (inbound->buffered && len) {
		memcpy(inbound->buffered + offset, payload, len);
		stats->bytes_copied_in += len;
	} else if (inbound->recv) {
		stats->bytes_copied_in += gamma_iov_write(
			inbound->recv->iov, inbound->recv->iov_count, offset, payload, len);
	}
	gamma_receive_placed(inbound, len);
}

static bool arrived_first(struct gamma_flow *flow, const struct gamma_fields *fields,
			  const uint8_t *payload)
{
	struct gamma_local *local = flow->local;
	struct gamma_envelope envelope;
	struct gamma_inbound *inbound;

	gamma_envelope_of(fields, fields->length, &envelope);
	if (names_no_port(flow, &envelope))
		return true;
	if (fields->length <= fields->payload_len || fields->length > GAMMA_EAGER_MAX ||
	    find_arriving(flow, fields->id)) {
		local->stats.malformed++;
		return true;
	}
	/* Memory first: a receive that was matched cannot be given back. */
	inbound = gamma_inbound_new(flow, &envelope, fields->id);
	if (!inbound)
		return false;
	inbound->recv = gamma_message_local(local)->handlers->match(
		gamma_message_local(local)->context, flow, &envelope);
	if (inbound->recv ||
	    gamma_inbound_keep(inbound, envelope.length, local->limits.unexpected_size)) {
		inbound->state = GAMMA_INBOUND_ARRIVING;
		flow->owed++;
		gamma_list_append(&gamma_message_state(flow)->arriving, &inbound->arriving_entry);
	} else if (!cut(inbound, fields->seq, 0)) {
		gamma_inbound_free(inbound);
		return false;
	}
	if (!inbound->recv) {
		local->stats.unexpected++;
		gamma_message_local(local)->handlers->unexpected(
			gamma_message_local(local)->context, inbound);
	}
	if (!inbound->demoted)
		place(inbound, 0, payload, fields->payload_len);
	return true;
}

static void arrived_more(struct gamma_flow *flow, const struct gamma_fields *fields,
			 const uint8_t *payload)
{
	uint64_t offset = fields->fragment & GAMMA_FRAGMENT_OFFSET_MASK;
	struct gamma_inbound *inbound =
		find_arriving(flow, (uint32_t) (fields->fragment >> GAMMA_FRAGMENT_OFFSET_BITS));

	/* The rest of a message that was demoted here may have been under way already. */
	if (!inbound)
		flow->local->stats.stray += !flow->ack.cuts;
	else if (offset + fields->payload_len > inbound->wanted)
		flow->local->stats.malformed++;
	else
		place(inbound, offset, payload, fields->payload_len);
}

static struct gamma_inbound *find_accepted(const struct gamma_flow *flow, uint64_t fragment)
{
	struct gamma_inbound *inbound =
		gamma_transfers_find(&gamma_message_local(flow->local)->accepted,
				     (uint32_t) (fragment >> GAMMA_FRAGMENT_OFFSET_BITS));

	return inbound && inbound->flow == flow && inbound->state == GAMMA_INBOUND_ACCEPTED
		       ? inbound
		       : NULL;
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

/* Tells the sender of an announced message that its bytes may come, or that they have been read. */
static void send_accept(struct gamma_inbound *inbound)
{
	struct gamma_flow *flow = inbound->flow;

	if (gamma_likely(gamma_rndv_shm_answer(inbound)))
		return;
	gamma_send_notice(flow, inbound->accept, GAMMA_OP_ACCEPT,
			  inbound->demoted ? 0 : inbound->id, inbound->wanted,
			  (uint64_t) inbound->accepted << GAMMA_FRAGMENT_OFFSET_BITS);
	inbound->accept = NULL;
}

/* Bytes of an announced message that are to come. */
static uint64_t wanted_of(const struct gamma_inbound *inbound)
{
	return inbound->discarded ? 0
				  : gamma_min(inbound->envelope.length, inbound->recv->capacity);
}

void gamma_receive_answer(struct gamma_inbound *inbound, bool read)
{
	uint64_t wanted = wanted_of(inbound);

	gamma_list_remove(&inbound->arriving_entry);
	inbound->arrived = read ? wanted : 0;
	inbound->wanted = read ? 0 : wanted;
	send_accept(inbound);
	if (!inbound->wanted)
		place(inbound, 0, NULL, 0);
}

static void begin_accept(struct gamma_inbound *inbound)
{
	struct gamma_flow *flow = inbound->flow;

	if (gamma_unlikely(inbound->own)) {
		gamma_self_end(inbound);
		return;
	}
	inbound->wanted = wanted_of(inbound);
	inbound->state = GAMMA_INBOUND_ACCEPTED;
	flow->owed++;
	if (inbound->source.in_chunks && inbound->wanted)
		gamma_list_append(&gamma_message_local(flow->local)->reading,
				  &inbound->arriving_entry);
	else
		gamma_receive_answer(inbound, gamma_rndv_shm_read_message(inbound));
}

/* Its handler sees the head before the bytes come. */
static bool keep_head(struct gamma_inbound *inbound, const uint8_t *head)
{
	uint8_t len = gamma_envelope_announced_len(&inbound->envelope);

	if (gamma_likely(!len))
		return true;
	inbound->head = malloc(len);
	if (inbound->head)
		memcpy(inbound->head, head, len);
	return inbound->head;
}

/* source: where its bytes stand; head: of a message to a port. */
static bool announced(struct gamma_flow *flow, const struct gamma_envelope *envelope, uint32_t id,
		      const struct gamma_source *source, const uint8_t *head)
{
	struct gamma_local *local = flow->local;
	struct gamma_inbound *inbound;

	inbound = gamma_inbound_new(flow, envelope, id);
	if (!inbound)
		return false;
	if (!reserve_accept(inbound) || !keep_head(inbound, head)) {
		gamma_inbound_free(inbound);
		return false;
	}
	inbound->source = *source;
	inbound->recv = gamma_message_local(local)->handlers->match(
		gamma_message_local(local)->context, flow, envelope);
	if (inbound->recv) {
		begin_accept(inbound);
		return true;
	}
	/* Chunks are not kept: its bytes stay with the sender. */
	inbound->source.in_chunks = false;
	local->stats.unexpected++;
	gamma_message_local(local)->handlers->unexpected(gamma_message_local(local)->context,
							 inbound);
	return true;
}

/* An announcement to a port that makes no sense, or that has another payload than its head. */
static bool announces_no_port(struct gamma_flow *flow, const struct gamma_envelope *envelope,
			      uint64_t payload_len)
{
	if (names_no_port(flow, envelope))
		return true;
	if (gamma_likely(!(envelope->flags & GAMMA_TO_PORT) ||
			 payload_len == gamma_envelope_announced_len(envelope)))
		return false;
	flow->local->stats.malformed++;
	return true;
}

static bool arrived_announce(struct gamma_flow *flow, const struct gamma_fields *fields,
			     const uint8_t *payload)
{
	struct gamma_envelope envelope;
	struct gamma_source source;

	if (fields->length > GAMMA_MESSAGE_MAX) {
		flow->local->stats.malformed++;
		return true;
	}
	gamma_envelope_of(fields, fields->length, &envelope);
	if (announces_no_port(flow, &envelope, fields->payload_len))
		return true;
	gamma_rndv_shm_frame_source(flow, fields, &source);
	return announced(flow, &envelope, fields->id, &source, payload);
}

bool gamma_receive_shm_announce(struct gamma_flow *flow, const struct gamma_envelope *envelope,
				const struct gamma_announce *announce, const uint8_t *head,
				uint32_t head_len, bool in_chunks)
{
	struct gamma_source source;

	if (envelope->length > GAMMA_MESSAGE_MAX || announce->id & ~GAMMA_ID_MASK) {
		flow->local->stats.malformed++;
		return true;
	}
	gamma_rndv_shm_record_source(flow, announce, &source);
	source.in_chunks = in_chunks && source.iov_count;
	return announces_no_port(flow, envelope, head_len) ||
	       announced(flow, envelope, announce->id, &source, head);
}

const uint16_t gamma_receive_needed_extensions[GAMMA_OP_FAILED + 1] = {
	[GAMMA_OP_SEND_FIRST] = GAMMA_EXT_MESSAGE,
	[GAMMA_OP_SEND_MORE] = GAMMA_EXT_FRAGMENT,
	[GAMMA_OP_ANNOUNCE] = GAMMA_EXT_MESSAGE,
	[GAMMA_OP_ACCEPT] = GAMMA_EXT_MESSAGE | GAMMA_EXT_FRAGMENT,
	[GAMMA_OP_BULK] = GAMMA_EXT_FRAGMENT,
	[GAMMA_OP_CUT] = GAMMA_EXT_MESSAGE | GAMMA_EXT_FRAGMENT,
	[GAMMA_OP_READ] = GAMMA_EXT_RMA | GAMMA_EXT_FRAGMENT,
	[GAMMA_OP_REPLY] = GAMMA_EXT_FRAGMENT,
	[GAMMA_OP_ATOMIC] = GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC,
	[GAMMA_OP_FETCH] = GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC | GAMMA_EXT_FRAGMENT,
	[GAMMA_OP_COMPARE] = GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC | GAMMA_EXT_FRAGMENT,
	[GAMMA_OP_FAILED] = GAMMA_EXT_MESSAGE | GAMMA_EXT_FRAGMENT,
};

bool gamma_receive_frame(struct gamma_flow *flow, const struct gamma_fields *fields,
			 const uint8_t *payload)
{
	if (gamma_unlikely(fields->op > GAMMA_OP_FAILED ||
			   gamma_receive_needed_extensions[fields->op] & ~fields->extensions)) {
		flow->local->stats.malformed++;
		return true;
	}
	switch (fields->op) {
	case GAMMA_OP_SEND:
		gamma_credit_count_short(flow);
		return arrived_whole(flow, fields, payload);
	case GAMMA_OP_BATCH:
		gamma_credit_count_short(flow);
		return arrived_batch(flow, fields, payload);
	case GAMMA_OP_SEND_FIRST:
		return arrived_first(flow, fields, payload);
	case GAMMA_OP_SEND_MORE:
		arrived_more(flow, fields, payload);
		return true;
	case GAMMA_OP_BULK:
		arrived_bulk(flow, fields, payload);
		return true;
	case GAMMA_OP_ANNOUNCE:
		return arrived_announce(flow, fields, payload);
	case GAMMA_OP_ACCEPT:
		gamma_send_accepted(flow, fields->id, fields->length,
				    (uint32_t) (fields->fragment >> GAMMA_FRAGMENT_OFFSET_BITS));
		return true;
	case GAMMA_OP_CUT:
		return gamma_demote_receive_notice(flow, fields);
	case GAMMA_OP_READ:
	case GAMMA_OP_ATOMIC:
	case GAMMA_OP_FETCH:
	case GAMMA_OP_COMPARE:
		gamma_credit_count_short(flow);
		return gamma_rma_target_receive(flow, fields, payload);
	case GAMMA_OP_WRITE:
		return gamma_rma_target_receive(flow, fields, payload);
	case GAMMA_OP_REPLY:
		gamma_rma_requester_receive_reply(flow, fields, payload);
		return true;
	case GAMMA_OP_FAILED:
		gamma_rma_requester_receive_failed(flow, fields);
		return true;
	}
	flow->local->stats.malformed++;
	return true;
}

struct gamma_inbound *gamma_receive_find(const struct gamma_flow *flow,
					 const struct gamma_fields *fields)
{
	if (fields->op == GAMMA_OP_BULK)
		return find_accepted(flow, fields->fragment);
	return fields->op == GAMMA_OP_SEND_MORE
		       ? find_arriving(flow,
				       (uint32_t) (fields->fragment >> GAMMA_FRAGMENT_OFFSET_BITS))
		       : NULL;
}

bool gamma_receive_is_placeable(const struct gamma_flow *flow, const struct gamma_fields *fields)
{
	if (!(fields->extensions & GAMMA_EXT_FRAGMENT))
		return false;
	if (fields->op == GAMMA_OP_REPLY)
		return gamma_rma_requester_is_placeable(flow, fields);
	return gamma_receive_find(flow, fields);
}

void gamma_receive_accept(struct gamma_inbound *inbound, struct gamma_recv *recv)
{
	inbound->recv = recv;
	if (inbound->error)
		gamma_inbound_finish(inbound, inbound->error);
	else if (inbound->state == GAMMA_INBOUND_COMPLETE)
		gamma_inbound_finish(inbound, 0);
	else if (inbound->state == GAMMA_INBOUND_ANNOUNCED)
		begin_accept(inbound);
}

void gamma_receive_discard(struct gamma_inbound *inbound)
{
	inbound->discarded = true;
	if (inbound->error || inbound->state == GAMMA_INBOUND_COMPLETE)
		gamma_inbound_free(inbound);
	else if (inbound->state == GAMMA_INBOUND_ANNOUNCED)
		begin_accept(inbound);
}

void gamma_receive_read_head(const struct gamma_inbound *inbound, uint8_t *head)
{
	uint8_t len = gamma_envelope_announced_len(&inbound->envelope);

	if (inbound->own)
		gamma_iov_read(inbound->own->iov, inbound->own->iov_count, 0, head, len);
	else if (inbound->head)
		memcpy(head, inbound->head, len);
}

uint8_t *gamma_receive_take(struct gamma_inbound *inbound)
{
	uint8_t *bytes = inbound->buffered;

	inbound->buffered = NULL;
	inbound->discarded = true;
	gamma_inbound_free(inbound);
	return bytes;
}

/* Unexpected messages that are whole stay: their bytes are here. */
void gamma_receive_drop_all(struct gamma_flow *flow, int error)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, &gamma_message_state(flow)->incoming) {
		struct gamma_inbound *inbound =
			gamma_list_entry(pos, struct gamma_inbound, flow_entry);

		if (!inbound->error)
			end_arrival(inbound);
		if (!error || inbound->discarded)
			gamma_inbound_free(inbound);
		else if (inbound->recv)
			gamma_inbound_finish(inbound, error);
		else if (inbound->state != GAMMA_INBOUND_COMPLETE)
			inbound->error = error;
	}
}
