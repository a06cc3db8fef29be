// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The requester's side of operations on remote memory: cuts them into frames when their turn in
 * the queue comes (called by send.c), takes results and refusals (called by receive.c).
 */
#include "message/rma_requester.h"

#include <errno.h>

#include "flow/upcalls.h"
#include "message/coalesce.h"
#include "message/send.h"

static bool has_result(const struct gamma_rma *remote)
{
	return remote->op == GAMMA_OP_READ || remote->op == GAMMA_OP_FETCH ||
	       remote->op == GAMMA_OP_COMPARE;
}

const char *gamma_rma_requester_refusal_name(enum gamma_refusal refusal)
{
	switch (refusal) {
	case GAMMA_REFUSED_KEY:
		return "no memory region there has that key";
	case GAMMA_REFUSED_BOUNDS:
		return "that is not all within the memory region";
	case GAMMA_REFUSED_ACCESS:
		return "the memory region was not registered for that access";
	case GAMMA_REFUSED_ALIGNMENT:
		return "an element there is not aligned as its type must be";
	case GAMMA_REFUSED_UNSUPPORTED:
		break;
	}
	return "the endpoint there does not offer that operation";
}

int gamma_rma_requester_refusal_error(enum gamma_refusal refusal)
{
	switch (refusal) {
	case GAMMA_REFUSED_KEY:
	case GAMMA_REFUSED_ACCESS:
		return -EACCES;
	case GAMMA_REFUSED_BOUNDS:
	case GAMMA_REFUSED_ALIGNMENT:
		return -EINVAL;
	case GAMMA_REFUSED_UNSUPPORTED:
		break;
	}
	return -EOPNOTSUPP;
}

/* ---- posting ---- */

/* Empty pieces touch nothing: at most one stays, for an operation that is empty as a whole. */
static bool add_up(struct gamma_rma *remote)
{
	unsigned kept = 0;

	remote->length = 0;
	for (unsigned i = 0; i < remote->segment_count; i++) {
		const struct gamma_rma_iov segment = remote->segments[i];

		if (segment.length > GAMMA_MESSAGE_MAX - remote->length)
			return false;
		remote->length += segment.length;
		if (segment.length || (!kept && i + 1 == remote->segment_count))
			remote->segments[kept++] = segment;
	}
	remote->segment_count = kept;
	return true;
}

int gamma_rma_requester_post(struct gamma_flow *flow, struct gamma_send *send,
			     struct gamma_rma *remote)
{
	if (!gamma_flow_usable(flow))
		return gamma_flow_refuse_post(flow);
	if (!add_up(remote))
		return -EMSGSIZE;
	remote->refusal = 0;
	remote->segment = 0;
	remote->before = remote->made = remote->arrived = 0;
	remote->in_place = false;
	send->rma = remote;
	send->envelope.length = remote->operands * remote->length;
	gamma_send_enqueue(flow, send);
	return 0;
}

bool gamma_rma_requester_is_copied(const struct gamma_send *send)
{
	return !send->rma->in_place && send->rma->segment == send->rma->segment_count;
}

/* ---- frames ---- */

static uint16_t extensions_of(const struct gamma_send *send, bool begins, bool last_segment)
{
	uint16_t data = send->envelope.flags & GAMMA_HAS_DATA ? GAMMA_EXT_CQ_DATA : 0;

	switch (send->rma->op) {
	case GAMMA_OP_WRITE:
		return begins ? GAMMA_EXT_RMA | (last_segment ? data : 0) : GAMMA_EXT_FRAGMENT;
	case GAMMA_OP_READ:
		return GAMMA_EXT_RMA | GAMMA_EXT_FRAGMENT;
	case GAMMA_OP_ATOMIC:
		return GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC | data;
	default:
		return GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC | GAMMA_EXT_FRAGMENT | data;
	}
}

/* Bytes of remote memory that the next frame covers, of the `left` that remain of a segment. */
static uint64_t cover(const struct gamma_flow *flow, const struct gamma_rma *remote,
		      uint16_t extensions, uint64_t left)
{
	uint32_t room = gamma_send_frame_room(flow, extensions);

	if (remote->op == GAMMA_OP_READ)
		return left;
	if (remote->op == GAMMA_OP_WRITE)
		return gamma_min(left, room);
	room = (uint32_t) gamma_min(room, gamma_local_buffer_size(flow->local));
	if (remote->operands)
		room /= remote->operands;
	room = (uint32_t) gamma_min(room, GAMMA_ATOMIC_BYTES);
	return gamma_min(left, room / remote->unit * remote->unit);
}

/* The content of a frame that covers so many bytes from `offset` of the whole on; they lie in the
 * segment that begins at `before`. */
static void describe(const struct gamma_send *send, unsigned index, uint64_t before,
		     uint64_t offset, uint64_t covered, struct gamma_content *content)
{
	const struct gamma_rma *remote = send->rma;
	const struct gamma_rma_iov *segment = &remote->segments[index];
	bool last_segment = index + 1 == remote->segment_count;
	uint64_t at = offset - before;
	bool more = !last_segment || (remote->unit && at + covered < segment->length);
	bool continues = index || (remote->unit && at);

	content->op = (uint8_t) remote->op;
	content->extensions = extensions_of(send, !at, last_segment);
	content->data = send->envelope.data;
	content->fragment = (uint64_t) send->id << GAMMA_FRAGMENT_OFFSET_BITS |
			    (remote->op == GAMMA_OP_WRITE ? at : offset);
	content->rma_address = segment->address + (remote->unit ? at : 0);
	content->rma_key = segment->key;
	content->rma_length = (remote->unit ? covered : segment->length) |
			      (more ? GAMMA_RMA_MORE : 0) | (continues ? GAMMA_RMA_CONTINUES : 0);
	content->datatype = remote->datatype;
	content->atomic_op = remote->atomic_op;
	content->count = remote->unit ? (uint16_t) (covered / remote->unit) : 0;
}

/* Only WRITE frames are in place. */
void gamma_rma_requester_content(const struct gamma_sent *sent, struct gamma_content *content)
{
	const struct gamma_rma *remote = sent->send->rma;
	uint64_t before = 0;
	unsigned index = 0;

	while (sent->offset - before >= remote->segments[index].length)
		before += remote->segments[index++].length;
	describe(sent->send, index, before, sent->offset, sent->len, content);
}

static bool copy_operands(struct gamma_flow *flow, struct gamma_send *send, struct gamma_sent *sent,
			  uint64_t covered)
{
	const struct gamma_rma *remote = send->rma;
	struct gamma_buffer *buffer = gamma_local_get_buffer(flow->local);

	if (!buffer)
		return false;
	describe(send, remote->segment, remote->before, remote->made, covered, &buffer->content);
	buffer->len = 0;
	for (unsigned i = 0; i < remote->operands; i++)
		buffer->len += (uint32_t) gamma_iov_read(send->iov, send->iov_count,
							 i * remote->length + remote->made,
							 buffer->payload + buffer->len, covered);
	flow->local->stats.bytes_copied_out += buffer->len;
	sent->buffer = buffer;
	sent->len = buffer->len;
	return true;
}

/* The last frame is made. */
static void all_made(struct gamma_flow *flow, struct gamma_send *send, uint8_t *flags)
{
	bool result = has_result(send->rma);

	gamma_list_remove(&send->entry);
	send->state = result ? GAMMA_SEND_REQUESTED : GAMMA_SEND_FLYING;
	gamma_list_append(result ? &gamma_message_state(flow)->requested
				 : &gamma_message_state(flow)->flying,
			  &send->entry);
	if (!result)
		*flags |= GAMMA_FLAG_ACK_REQUESTED;
}

static void advance(struct gamma_rma *remote, uint64_t covered)
{
	const struct gamma_rma_iov *segment = &remote->segments[remote->segment];

	remote->made += covered;
	if (remote->made - remote->before < segment->length)
		return;
	remote->before += segment->length;
	remote->segment++;
}

static bool get_id(struct gamma_flow *flow, struct gamma_send *send)
{
	send->id = gamma_transfers_add(&gamma_message_local(flow->local)->requests, send);
	if (send->id)
		flow->owed++;
	return send->id;
}

bool gamma_rma_requester_next(struct gamma_flow *flow, struct gamma_send *send,
			      struct gamma_sent *sent, uint8_t *flags)
{
	struct gamma_rma *remote = send->rma;
	const struct gamma_rma_iov *segment = &remote->segments[remote->segment];
	uint64_t at = remote->made - remote->before;
	uint16_t extensions =
		extensions_of(send, !at, remote->segment + 1 == remote->segment_count);
	uint64_t covered = cover(flow, remote, extensions, segment->length - at);
	bool result = has_result(remote);

	if (result && !send->id && !get_id(flow, send))
		return false;
	sent->op = (uint8_t) remote->op;
	sent->offset = remote->made;
	if (remote->op == GAMMA_OP_WRITE &&
	    send->envelope.length > flow->local->limits.inject_size) {
		sent->len = (uint32_t) covered;
		remote->in_place = true;
	} else if (!copy_operands(flow, send, sent, covered)) {
		return false;
	}
	/* The result proves that the request has arrived: only operations without one wait for
	 * acknowledgements. */
	if (!result) {
		sent->send = send;
		send->flying++;
	}
	send->made += sent->len;
	advance(remote, covered);
	if (remote->segment == remote->segment_count)
		all_made(flow, send, flags);
	else if (gamma_send_is_last_but_one(send->made, send->envelope.length, sent->len))
		*flags |= GAMMA_FLAG_ACK_REQUESTED;
	return true;
}

/* Only what is whole in one item: a single piece. */
uint64_t gamma_rma_requester_item_len(const struct gamma_flow *flow, const struct gamma_send *send)
{
	const struct gamma_rma *remote = send->rma;
	uint64_t bytes = send->envelope.length;

	if (remote->segment_count != 1 || remote->segment || remote->made || send->fence ||
	    bytes > flow->local->limits.inject_size ||
	    (remote->unit && remote->length > GAMMA_ATOMIC_BYTES))
		return 0;
	return gamma_codec_item_head_len((uint8_t) remote->op, extensions_of(send, true, true)) +
	       bytes;
}

bool gamma_rma_requester_share_frame(struct gamma_flow *flow, struct gamma_send *send,
				     struct gamma_buffer *buffer, uint8_t *flags)
{
	struct gamma_rma *remote = send->rma;
	struct gamma_content content = {.id = 0};
	struct gamma_fields item;

	if (has_result(remote) && !send->id && !get_id(flow, send))
		return false;
	describe(send, 0, 0, 0, remote->length, &content);
	gamma_envelope_content_fields(&content, &item);
	item.op = content.op;
	item.payload_len = (uint16_t) send->envelope.length;
	gamma_iov_read(send->iov, send->iov_count, 0, gamma_coalesce_put_item(buffer, &item),
		       send->envelope.length);
	flow->local->stats.bytes_copied_out += send->envelope.length;
	send->made = send->envelope.length;
	if (!has_result(remote))
		send->flying++;
	advance(remote, remote->length);
	all_made(flow, send, flags);
	return true;
}

/* ---- the end ---- */

void gamma_rma_requester_finish(struct gamma_flow *flow, struct gamma_send *send, int error)
{
	struct gamma_local *local = flow->local;

	if (send->id) {
		gamma_transfers_remove(&gamma_message_local(local)->requests, send->id);
		flow->owed--;
	}
	if (!error)
		local->stats.remote_out++;
}

/* A fenced one behind it may begin. */
static void finish_operation(struct gamma_flow *flow, struct gamma_send *send, int error)
{
	gamma_send_finish(flow, send, error);
	if (gamma_send_has_frames(flow))
		gamma_flow_ready(flow);
}

/* The id is the peer's word: it must name one of this flow's. */
static struct gamma_send *find_request(const struct gamma_flow *flow, uint64_t fragment)
{
	struct gamma_send *send =
		gamma_transfers_find(&gamma_message_local(flow->local)->requests,
				     (uint32_t) (fragment >> GAMMA_FRAGMENT_OFFSET_BITS));

	return send && send->flow == flow ? send : NULL;
}

bool gamma_rma_requester_is_placeable(const struct gamma_flow *flow,
				      const struct gamma_fields *fields)
{
	return find_request(flow, fields->fragment);
}

void gamma_rma_requester_receive_reply(struct gamma_flow *flow, const struct gamma_fields *fields,
				       const uint8_t *payload)
{
	struct gamma_send *send = find_request(flow, fields->fragment);
	uint64_t offset = fields->fragment & GAMMA_FRAGMENT_OFFSET_MASK;
	struct gamma_stats *stats = &flow->local->stats;
	struct gamma_rma *remote;

	if (!send) { /* refused meanwhile, perhaps */
		stats->stray++;
		return;
	}
	remote = send->rma;
	if (offset + fields->payload_len > remote->made) {
		stats->malformed++;
		return;
	}
	stats->bytes_copied_in += gamma_iov_write(remote->result, remote->result_count, offset,
						  payload, fields->payload_len);
	remote->arrived += fields->payload_len;
	gamma_message_note_arriving(flow,
				    remote->length - gamma_min(remote->arrived, remote->length));
	if (remote->arrived >= remote->length && remote->segment == remote->segment_count)
		finish_operation(flow, send, 0);
}

/* The WRITE or ATOMIC that this frame belongs to, or that has this place in it, or NULL. */
static struct gamma_send *find_by_frame(const struct gamma_flow *flow, uint32_t seq, uint64_t place)
{
	struct gamma_send *send;

	if (gamma_seq_before(seq, flow->tx.una) || !gamma_seq_before(seq, flow->tx.next))
		return NULL;
	send = gamma_send_window_at(&flow->tx, seq)->send;
	while (send && send->batch_index != place)
		send = send->with;
	return send && send->rma ? send : NULL;
}

static enum gamma_refusal cause_of(const struct gamma_fields *fields)
{
	return fields->length >= GAMMA_REFUSED_KEY && fields->length <= GAMMA_REFUSED_ALIGNMENT
		       ? (enum gamma_refusal) fields->length
		       : GAMMA_REFUSED_UNSUPPORTED;
}

void gamma_rma_requester_receive_failed(struct gamma_flow *flow, const struct gamma_fields *fields)
{
	bool by_id = fields->fragment >> GAMMA_FRAGMENT_OFFSET_BITS;
	struct gamma_send *send = by_id ? find_request(flow, fields->fragment)
					: find_by_frame(flow, fields->id, fields->fragment);

	flow->tx.cuts_seen++;
	if (!send) {
		flow->local->stats.malformed++;
		return;
	}
	send->rma->refusal = cause_of(fields);
	send->error = gamma_rma_requester_refusal_error(send->rma->refusal);
	if (by_id) {
		finish_operation(flow, send, send->error);
		return;
	}
	/* Frames of it are under way, this one at least: their acknowledgement ends it. */
	send->state = GAMMA_SEND_FLYING;
	gamma_list_remove(&send->entry);
	gamma_list_append(&gamma_message_state(flow)->flying, &send->entry);
}
