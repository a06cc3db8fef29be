// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The target's side of operations on memory: carries out what peers ask for, where the interface
 * layer's handlers say that they may, and makes the frames that answer. Called by receive.c for
 * what arrives, in order, and by send.c when a REPLY has its turn.
 */
#include "message/rma_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/upcalls.h"
#include "message/coalesce.h"
#include "message/send.h"

enum { READING_MAX = 16384 }; /* answers that wait for one peer: it may ask for no more */

/* The peer's WRITE whose bytes are coming in: one at a time, since they come in order. */
struct gamma_write_in {
	struct gamma_rma_access access; /* of the present piece */
	uint64_t arrived;               /* bytes of it */
	uint64_t data;                  /* CQ data */
	bool has_data;
	bool active;  /* bytes of the piece are still to come */
	bool more;    /* another piece will follow */
	bool refused; /* what comes of this operation is ignored */
};

/* A part of this process's memory on its way to a peer that reads it. */
struct gamma_reply {
	struct gamma_send send;
	struct gamma_rma_access access;
	uint64_t offset;              /* bytes: of its first in what the peer reads */
	const void *region;           /* the interface layer's; NULL: it is closed */
	bool last;                    /* the peer's operation is complete with it */
	struct gamma_rma_keys before; /* if so: of its other pieces */
	uint8_t *copy; /* of what had not been acknowledged when the region was closed, or NULL */
};

static const struct gamma_rma_target *target_of(const struct gamma_flow *flow)
{
	return gamma_message_local(flow->local)->handlers->target;
}

static void touched(struct gamma_flow *flow, struct gamma_rma_access *access, bool last,
		    const uint64_t *data)
{
	flow->local->stats.remote_in += last;
	if (last && !access->before)
		access->before = gamma_message_state(flow)->keys;
	target_of(flow)->touched(gamma_message_local(flow->local)->context, flow, access, last,
				 data);
}

/* Remembers what the pieces of an operation name, until it is complete. An honest peer's are no
 * more than there is room for. False: no memory. */
static bool note_key(struct gamma_flow *flow, const struct gamma_fields *fields)
{
	struct gamma_rma_keys **keys = &gamma_message_state(flow)->keys;
	bool more = fields->rma_length & GAMMA_RMA_MORE;
	unsigned i = 0;

	if (gamma_unlikely(more && !*keys))
		*keys = calloc(1, sizeof(**keys));
	if (gamma_likely(!*keys))
		return !more;
	if (!(fields->rma_length & GAMMA_RMA_CONTINUES)) {
		(*keys)->count = 0;
		(*keys)->length = 0;
	}
	if (!more || fields->rma_length == GAMMA_RMA_MORE ||
	    fields->rma_length == (GAMMA_RMA_MORE | GAMMA_RMA_CONTINUES))
		return true;
	(*keys)->length += fields->rma_length & ~(GAMMA_RMA_MORE | GAMMA_RMA_CONTINUES);
	while (i < (*keys)->count && (*keys)->key[i] != fields->rma_key)
		i++;
	if (i < GAMMA_RMA_IOV_MAX) {
		(*keys)->key[i] = fields->rma_key;
		(*keys)->count = (unsigned) gamma_max((*keys)->count, i + 1);
	}
	return true;
}

static enum gamma_refusal reach(struct gamma_flow *flow, const struct gamma_rma_access *access,
				struct gamma_rma_region *reached)
{
	if (!target_of(flow))
		return GAMMA_REFUSED_UNSUPPORTED;
	if (access->address + access->length < access->address)
		return GAMMA_REFUSED_BOUNDS;
	return target_of(flow)->reach(gamma_message_local(flow->local)->context, flow, access,
				      reached);
}

/* Tells the requester why not: by its id or, of a WRITE or ATOMIC, by the frame and the place in a
 * BATCH. False: no memory even for that. */
static bool refuse_operation(struct gamma_flow *flow, uint32_t seq, uint64_t fragment,
			     enum gamma_refusal refusal)
{
	struct gamma_notice *notice = gamma_send_new_notice();
	uint64_t id = fragment & ~GAMMA_FRAGMENT_OFFSET_MASK;

	if (!notice)
		return false;
	gamma_send_notice(flow, notice, GAMMA_OP_FAILED, seq, refusal,
			  id ? id : gamma_message_state(flow)->batch_taken);
	flow->ack.cuts++;
	flow->local->stats.remote_refused++;
	return true;
}

static bool malformed(struct gamma_flow *flow)
{
	flow->local->stats.malformed++;
	return true;
}

static void access_of(const struct gamma_fields *fields, struct gamma_rma_access *access)
{
	*access = (struct gamma_rma_access){
		.op = (enum gamma_op) fields->op,
		.address = fields->rma_address,
		.key = fields->rma_key,
		.length = fields->rma_length & ~(GAMMA_RMA_MORE | GAMMA_RMA_CONTINUES),
	};
}

static bool is_last(const struct gamma_fields *fields)
{
	return !(fields->rma_length & GAMMA_RMA_MORE);
}

/* ---- WRITE ---- */

static bool begin_write(struct gamma_flow *flow, const struct gamma_fields *fields)
{
	struct gamma_write_in *write = gamma_message_state(flow)->write_in;
	bool goes_on = fields->rma_length & GAMMA_RMA_CONTINUES;

	if (!write)
		write = gamma_message_state(flow)->write_in = calloc(1, sizeof(*write));
	if (!write)
		return false;
	/* A requester that learns of a refusal leaves out the rest; else all bytes of an area come.
	 */
	if ((write->active && !write->refused) || (goes_on && !write->more)) {
		flow->local->stats.malformed++;
		goes_on = true;
		write->refused = true;
	}
	if (!goes_on)
		write->refused = false;
	access_of(fields, &write->access);
	write->active = true;
	write->arrived = 0;
	write->more = !is_last(fields);
	write->has_data = fields->extensions & GAMMA_EXT_CQ_DATA;
	write->data = write->has_data ? fields->data : 0;
	return true;
}

/* Does this payload fit where the WRITE under way has got to? */
static bool is_next(const struct gamma_write_in *write, const struct gamma_fields *fields)
{
	if (write->access.length > GAMMA_MESSAGE_MAX)
		return false;
	if (!(fields->extensions & GAMMA_EXT_RMA) && fields->fragment != write->arrived)
		return false;
	return fields->payload_len <= write->access.length - write->arrived &&
	       (fields->payload_len || !write->access.length);
}

static enum gamma_refusal write_bytes(struct gamma_flow *flow, const struct gamma_write_in *write,
				      const struct gamma_fields *fields, const uint8_t *payload)
{
	struct gamma_rma_access rest = write->access;
	struct gamma_rma_region reached;
	enum gamma_refusal refusal;

	if (!rest.length)
		return target_of(flow) ? 0 : GAMMA_REFUSED_UNSUPPORTED;
	rest.address += write->arrived;
	rest.length -= write->arrived;
	refusal = reach(flow, &rest, &reached);
	if (!refusal)
		flow->local->stats.bytes_copied_in += gamma_iov_write(
			reached.iov, reached.iov_count, 0, payload, fields->payload_len);
	return refusal;
}

static void written(struct gamma_flow *flow, struct gamma_write_in *write, uint64_t len)
{
	write->arrived += len;
	gamma_message_note_arriving(flow, write->access.length - write->arrived);
	if (write->arrived < write->access.length)
		return;
	write->active = false;
	touched(flow, &write->access, !write->more, write->has_data ? &write->data : NULL);
}

static bool arrived_write(struct gamma_flow *flow, const struct gamma_fields *fields,
			  const uint8_t *payload)
{
	bool begins = fields->extensions & GAMMA_EXT_RMA;
	struct gamma_write_in *write;
	enum gamma_refusal refusal;

	if (begins == !!(fields->extensions & GAMMA_EXT_FRAGMENT))
		return malformed(flow);
	if (begins && !begin_write(flow, fields))
		return false;
	write = gamma_message_state(flow)->write_in;
	if (!write || !write->active)
		return write && write->refused ? true : malformed(flow);
	if (write->refused)
		return true;
	if (!is_next(write, fields)) {
		write->refused = true;
		return malformed(flow);
	}
	refusal = write_bytes(flow, write, fields, payload);
	if (refusal) {
		if (!refuse_operation(flow, fields->seq, 0, refusal)) {
			/* The frame comes again, and begins it anew. */
			write->active = !begins;
			write->more |= begins && fields->rma_length & GAMMA_RMA_CONTINUES;
			return false;
		}
		write->refused = true;
		return true;
	}
	written(flow, write, fields->payload_len);
	return true;
}

bool gamma_rma_target_find_rest(struct gamma_flow *flow, const struct gamma_fields *fields,
				struct iovec *rest)
{
	const struct gamma_write_in *write = gamma_message_state(flow)->write_in;
	struct gamma_rma_access access;
	struct gamma_rma_region reached;

	if (!write || !write->active || write->refused || !is_next(write, fields) ||
	    !write->access.length)
		return false;
	access = write->access;
	access.address += write->arrived;
	access.length -= write->arrived;
	if (reach(flow, &access, &reached) || !reached.iov_count)
		return false;
	*rest = (struct iovec){reached.iov->iov_base,
			       gamma_min(reached.iov->iov_len, access.length)};
	return true;
}

void gamma_rma_target_written(struct gamma_flow *flow, uint64_t len)
{
	written(flow, gamma_message_state(flow)->write_in, len);
}

/* ---- short results: in buffers, one for each frame ---- */

static void drop_buffers(struct gamma_flow *flow, struct gamma_buffer *buffer)
{
	while (buffer) {
		struct gamma_buffer *next = buffer->next;

		gamma_local_put_buffer(flow->local, buffer);
		buffer = next;
	}
}

static uint32_t reply_room(const struct gamma_flow *flow)
{
	return (uint32_t) gamma_min(gamma_local_buffer_size(flow->local),
				    gamma_send_frame_room(flow, GAMMA_EXT_FRAGMENT));
}

/* Buffers for so many bytes of an answer, before there is no way back. NULL: no memory. */
static struct gamma_buffer *reserve_buffers(struct gamma_flow *flow, uint64_t fragment,
					    uint64_t length)
{
	struct gamma_buffer *first = NULL, **end = &first;
	uint32_t room = reply_room(flow);

	do {
		struct gamma_buffer *buffer = gamma_local_get_buffer(flow->local);

		if (!buffer) {
			drop_buffers(flow, first);
			return NULL;
		}
		buffer->content = (struct gamma_content){
			.op = GAMMA_OP_REPLY,
			.extensions = GAMMA_EXT_FRAGMENT,
			.fragment = fragment,
		};
		buffer->len = (uint32_t) gamma_min(length, room);
		buffer->next = NULL;
		*end = buffer;
		end = &buffer->next;
		fragment += buffer->len;
		length -= buffer->len;
	} while (length);
	return first;
}

static void reply_with(struct gamma_flow *flow, struct gamma_buffer *buffers)
{
	struct gamma_message_state *m = gamma_message_state(flow);

	*(m->replies ? m->replies_end : &m->replies) = buffers;
	for (; buffers; buffers = buffers->next) {
		m->replies_end = &buffers->next;
		m->reading++;
	}
	gamma_flow_ready(flow);
}

static uint32_t item_len(const struct gamma_buffer *reply)
{
	return gamma_codec_item_head_len(GAMMA_OP_REPLY, 0) + reply->len;
}

static struct gamma_buffer *take_reply(struct gamma_message_state *m)
{
	struct gamma_buffer *reply = m->replies;

	m->replies = reply->next;
	m->reading--;
	return reply;
}

static void put_reply(struct gamma_flow *flow, struct gamma_buffer *buffer,
		      struct gamma_buffer *reply)
{
	struct gamma_fields item;

	item.op = GAMMA_OP_REPLY;
	item.extensions = 0;
	item.fragment = reply->content.fragment;
	item.payload_len = (uint16_t) reply->len;
	memcpy(gamma_coalesce_put_item(buffer, &item), reply->payload, reply->len);
	flow->local->stats.bytes_copied_out += reply->len;
	gamma_local_put_buffer(flow->local, reply);
}

/* Several that fit into a frame. False: there are not two. */
static bool share_frame(struct gamma_flow *flow, struct gamma_sent *sent)
{
	struct gamma_message_state *m = gamma_message_state(flow);
	const struct gamma_buffer *second = m->replies->next;
	uint32_t room = gamma_coalesce_room(flow);
	struct gamma_buffer *buffer;

	if (!second || item_len(m->replies) + item_len(second) > room)
		return false;
	buffer = gamma_coalesce_new_frame(flow);
	if (!buffer)
		return false;
	while (m->replies && buffer->len + item_len(m->replies) <= room)
		put_reply(flow, buffer, take_reply(m));
	gamma_coalesce_finish_frame(buffer, sent);
	return true;
}

/* Nobody here waits for its acknowledgement, so it asks for none. */
bool gamma_rma_target_next(struct gamma_flow *flow, struct gamma_sent *sent)
{
	struct gamma_message_state *m = gamma_message_state(flow);
	struct gamma_buffer *buffer;

	if (gamma_likely(!m->replies))
		return false;
	if (share_frame(flow, sent))
		return true;
	buffer = take_reply(m);
	sent->buffer = buffer;
	sent->op = buffer->content.op;
	sent->len = buffer->len;
	return true;
}

/* ---- READ ---- */

static bool reply_short(struct gamma_flow *flow, const struct gamma_fields *fields,
			struct gamma_rma_access *access, const struct gamma_rma_region *reached)
{
	struct gamma_buffer *buffers = reserve_buffers(flow, fields->fragment, access->length);
	uint64_t offset = 0;

	if (!buffers)
		return false;
	for (struct gamma_buffer *buffer = buffers; buffer; buffer = buffer->next)
		offset += gamma_iov_read(reached->iov, reached->iov_count, offset, buffer->payload,
					 buffer->len);
	flow->local->stats.bytes_copied_out += offset;
	reply_with(flow, buffers);
	touched(flow, access, is_last(fields), NULL);
	return true;
}

/* Goes out among the streams of bulk data, straight from memory. */
static bool reply_long(struct gamma_flow *flow, const struct gamma_fields *fields,
		       const struct gamma_rma_access *access,
		       const struct gamma_rma_region *reached)
{
	struct gamma_reply *reply = calloc(1, sizeof(*reply));

	if (!reply)
		return false;
	reply->access = *access;
	reply->offset = fields->fragment & GAMMA_FRAGMENT_OFFSET_MASK;
	reply->region = reached->region;
	reply->last = is_last(fields);
	if (gamma_message_state(flow)->keys)
		reply->before = *gamma_message_state(flow)->keys;
	for (unsigned i = 0; i < reached->iov_count; i++)
		reply->send.iov[i] = reached->iov[i];
	reply->send.iov_count = reached->iov_count;
	reply->send.flow = flow;
	reply->send.state = GAMMA_SEND_STREAMING;
	reply->send.wanted = access->length;
	reply->send.accepted = (uint32_t) (fields->fragment >> GAMMA_FRAGMENT_OFFSET_BITS);
	reply->send.reply = true;
	gamma_list_append(&gamma_message_state(flow)->streams, &reply->send.entry);
	gamma_message_state(flow)->reading++;
	gamma_flow_ready(flow);
	return true;
}

static bool arrived_read(struct gamma_flow *flow, const struct gamma_fields *fields)
{
	uint64_t offset = fields->fragment & GAMMA_FRAGMENT_OFFSET_MASK;
	struct gamma_rma_region reached = {.iov_count = 0};
	enum gamma_refusal refusal = target_of(flow) ? 0 : GAMMA_REFUSED_UNSUPPORTED;
	struct gamma_rma_access access;

	access_of(fields, &access);
	if (fields->payload_len || access.length > GAMMA_MESSAGE_MAX - offset)
		return malformed(flow);
	if (gamma_message_state(flow)->reading >= READING_MAX)
		return false;
	if (access.length)
		refusal = reach(flow, &access, &reached);
	if (refusal)
		return refuse_operation(flow, fields->seq, fields->fragment, refusal);
	/* So much is what memory holds now, in however many frames. */
	if (access.length <= gamma_max(reply_room(flow), GAMMA_ATOMIC_BYTES))
		return reply_short(flow, fields, &access, &reached);
	return reply_long(flow, fields, &access, &reached);
}

/* ---- atomics ---- */

static enum gamma_refusal apply(struct gamma_flow *flow, const struct gamma_rma_access *access,
				const uint8_t *operands, uint8_t *result)
{
	const struct gamma_rma_target *target = target_of(flow);

	if (!target || !target->apply)
		return GAMMA_REFUSED_UNSUPPORTED;
	if (access->address + access->length < access->address)
		return GAMMA_REFUSED_BOUNDS;
	return target->apply(gamma_message_local(flow->local)->context, flow, access, operands,
			     result);
}

static void reply_result(struct gamma_flow *flow, struct gamma_buffer *buffers,
			 const uint8_t *result)
{
	for (struct gamma_buffer *buffer = buffers; buffer; buffer = buffer->next) {
		memcpy(buffer->payload, result, buffer->len);
		flow->local->stats.bytes_copied_out += buffer->len;
		result += buffer->len;
	}
	reply_with(flow, buffers);
}

/* Once it is applied there is no way back: memory for the answer first. */
static bool arrived_atomic(struct gamma_flow *flow, const struct gamma_fields *fields,
			   const uint8_t *payload)
{
	bool has_result = fields->op != GAMMA_OP_ATOMIC;
	uint8_t result[GAMMA_ATOMIC_BYTES] __attribute__((aligned(16)));
	struct gamma_buffer *buffers = NULL;
	enum gamma_refusal refusal;
	struct gamma_rma_access access;

	access_of(fields, &access);
	access.datatype = fields->datatype;
	access.atomic_op = fields->atomic_op;
	access.count = fields->count;
	access.operands = fields->payload_len;
	if (!access.length || access.length > GAMMA_ATOMIC_BYTES || !access.count)
		return malformed(flow);
	if (has_result) {
		if (gamma_message_state(flow)->reading >= READING_MAX)
			return false;
		buffers = reserve_buffers(flow, fields->fragment, access.length);
		if (!buffers)
			return false;
	}
	refusal = apply(flow, &access, payload, result);
	if (refusal) {
		drop_buffers(flow, buffers);
		return refuse_operation(flow, fields->seq, has_result ? fields->fragment : 0,
					refusal);
	}
	if (has_result)
		reply_result(flow, buffers, result);
	touched(flow, &access, is_last(fields),
		fields->extensions & GAMMA_EXT_CQ_DATA ? &fields->data : NULL);
	return true;
}

bool gamma_rma_target_receive(struct gamma_flow *flow, const struct gamma_fields *fields,
			      const uint8_t *payload)
{
	if (fields->extensions & GAMMA_EXT_RMA && !note_key(flow, fields))
		return false;
	switch (fields->op) {
	case GAMMA_OP_WRITE:
		return arrived_write(flow, fields, payload);
	case GAMMA_OP_READ:
		return arrived_read(flow, fields);
	default:
		return arrived_atomic(flow, fields, payload);
	}
}

/* ---- REPLY streams ---- */

static struct gamma_reply *reply_of(const struct gamma_send *send)
{
	return gamma_container_of(send, struct gamma_reply, send);
}

void gamma_rma_target_content(const struct gamma_sent *sent, struct gamma_content *content)
{
	const struct gamma_reply *reply = reply_of(sent->send);

	content->extensions = GAMMA_EXT_FRAGMENT;
	content->fragment = (uint64_t) reply->send.accepted << GAMMA_FRAGMENT_OFFSET_BITS |
			    (reply->offset + sent->offset);
}

void gamma_rma_target_finish(struct gamma_flow *flow, struct gamma_send *send, int error)
{
	struct gamma_reply *reply = reply_of(send);

	gamma_message_state(flow)->reading--;
	reply->access.before = &reply->before;
	if (!error && reply->region)
		touched(flow, &reply->access, reply->last, NULL);
	free(reply->copy);
	free(reply);
}

/* Where its first byte stands that the peer has not acknowledged. */
static uint64_t first_unacked(const struct gamma_flow *flow, const struct gamma_send *send)
{
	uint64_t first = send->made;

	for (uint32_t seq = flow->tx.una; seq != flow->tx.next; seq++) {
		const struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);

		if (sent->send == send)
			first = gamma_min(first, sent->offset);
	}
	return first;
}

/* Bytes that may have to be sent again are copied; what has not been sent is refused. */
static bool withdraw(struct gamma_flow *flow, struct gamma_reply *reply)
{
	struct gamma_send *send = &reply->send;
	uint64_t first = first_unacked(flow, send);

	if (send->made < send->wanted &&
	    !refuse_operation(flow, 0, (uint64_t) send->accepted << GAMMA_FRAGMENT_OFFSET_BITS,
			      GAMMA_REFUSED_KEY))
		return false;
	reply->region = NULL;
	if (send->made > first) {
		reply->copy = malloc(send->made - first);
		if (!reply->copy)
			return false;
		gamma_iov_read(send->iov, send->iov_count, first, reply->copy, send->made - first);
		send->iov[0] = (struct iovec){.iov_len = first};
		send->iov[1] = (struct iovec){reply->copy, send->made - first};
		send->iov_count = 2;
	}
	send->wanted = send->made;
	send->state = GAMMA_SEND_FLYING;
	gamma_list_remove(&send->entry);
	gamma_list_append(&gamma_message_state(flow)->flying, &send->entry);
	if (!send->flying)
		gamma_send_finish(flow, send, 0);
	return true;
}

static bool withdraw_from(struct gamma_flow *flow, struct gamma_list *list, const void *region)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, list) {
		struct gamma_send *send = gamma_list_entry(pos, struct gamma_send, entry);

		if (send->reply && reply_of(send)->region == region &&
		    !withdraw(flow, reply_of(send)))
			return false;
	}
	return true;
}

void gamma_rma_target_withdraw(struct gamma_flow *flow, const void *region, uint64_t now)
{
	if (!gamma_message_state(flow)->reading &&
	    gamma_list_empty(&gamma_message_state(flow)->flying))
		return;
	/* flying first: withdrawing moves streams there */
	if (!withdraw_from(flow, &gamma_message_state(flow)->flying, region) ||
	    !withdraw_from(flow, &gamma_message_state(flow)->streams, region))
		gamma_flow_declare_dead(flow, -ENOMEM, "no memory to go on with what it reads here",
					now);
}

void gamma_rma_target_drop(struct gamma_flow *flow)
{
	for (struct gamma_buffer *buffer = gamma_message_state(flow)->replies; buffer;
	     buffer = buffer->next)
		gamma_message_state(flow)->reading--;
	drop_buffers(flow, gamma_message_state(flow)->replies);
	gamma_message_state(flow)->replies = NULL;
	free(gamma_message_state(flow)->write_in);
	gamma_message_state(flow)->write_in = NULL;
	free(gamma_message_state(flow)->keys);
	gamma_message_state(flow)->keys = NULL;
}
