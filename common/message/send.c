// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The way out: cuts messages into DATA frames, one at a time, when the flow asks for the next.
 *
 * Order of service: ACCEPTs, CUTs and refusals first (a peer waits), then short results of what the
 * peer reads, then messages and operations on remote memory in the order of the calls, and BULK and
 * REPLY streams in turn; a stream gets at least one frame in GAMMA_STREAM_SHARE + 1.
 */
#include "message/send.h"

#include <errno.h>
#include <stdlib.h>

#include "flow/upcalls.h"
#include "message/coalesce.h"
#include "message/copies.h"
#include "message/demote.h"
#include "message/rma_requester.h"
#include "message/rma_target.h"
#include "message/rndv_shm.h"
#include "message/self.h"

enum { GAMMA_STREAM_SHARE = 8, LONG_FRAMES = 8 };

struct gamma_notice {
	struct gamma_list entry;
	enum gamma_op op;
	uint32_t id;
	uint64_t length; /* bytes */
	uint64_t fragment;
};

static void begin_message(struct gamma_flow *flow, struct gamma_send *send)
{
	send->flow = flow;
	send->state = GAMMA_SEND_QUEUED;
	send->made = 0;
	send->wanted = send->envelope.length;
	send->flying = 0;
	send->id = 0;
	send->error = 0;
	send->demoted = send->copied = send->reply = false;
	send->with = NULL;
	send->batch_index = 0;
	send->fed = 0;
	send->stamp = 0;
}

static void await_accept(struct gamma_flow *flow, struct gamma_send *send)
{
	send->state = GAMMA_SEND_ANNOUNCED;
	flow->owed++;
	gamma_list_append(&gamma_message_state(flow)->announced, &send->entry);
}

static void enqueue(struct gamma_flow *flow, struct gamma_send *send)
{
	gamma_list_append(&gamma_message_state(flow)->queue, &send->entry);
	gamma_flow_ready(flow);
}

void gamma_send_enqueue(struct gamma_flow *flow, struct gamma_send *send)
{
	begin_message(flow, send);
	enqueue(flow, send);
}

/* Nothing that was sent to the own endpoint before is still under way in frames. */
static bool overtakes_nothing(const struct gamma_flow *flow, const struct gamma_send *send)
{
	const struct gamma_message_state *m = gamma_message_state(flow);

	return flow->state == GAMMA_FLOW_OPEN && !gamma_send_has_frames(flow) &&
	       !gamma_send_window_unacked(&flow->tx) && gamma_list_empty(&m->requested) &&
	       (!send->fence || gamma_list_empty(&m->flying));
}

static bool send_to_self(struct gamma_flow *flow, struct gamma_send *send)
{
	if (!overtakes_nothing(flow, send))
		return false;
	send->state = GAMMA_SEND_FLYING;
	gamma_list_append(&gamma_message_state(flow)->flying, &send->entry);
	if (gamma_self_send(flow, send))
		return true;
	gamma_list_remove(&send->entry);
	send->state = GAMMA_SEND_QUEUED;
	return false;
}

int gamma_send_message(struct gamma_flow *flow, struct gamma_send *send)
{
	if (!gamma_flow_usable(flow))
		return gamma_flow_refuse_post(flow);
	if (send->envelope.length > GAMMA_MESSAGE_MAX)
		return -EMSGSIZE;
	send->rma = NULL;
	begin_message(flow, send);
	if (gamma_likely(!flow->self) || !send_to_self(flow, send))
		enqueue(flow, send);
	return 0;
}

bool gamma_send_shm_announce(struct gamma_flow *flow, struct gamma_send *send, bool in_chunks)
{
	const struct gamma_envelope *envelope = &send->envelope;

	if (send->fence || envelope->length > GAMMA_MESSAGE_MAX ||
	    !gamma_rndv_shm_is_possible(flow) ||
	    (send->level != GAMMA_WHEN_MATCHED &&
	     envelope->length <= gamma_rndv_shm_eager_size(flow)))
		return false;
	send->rma = NULL;
	begin_message(flow, send);
	send->id = gamma_transfers_add(&gamma_message_local(flow->local)->announced, send);
	if (!send->id)
		return false;
	if (!gamma_rndv_shm_announce(flow, send, in_chunks)) {
		gamma_transfers_remove(&gamma_message_local(flow->local)->announced, send->id);
		return false;
	}
	await_accept(flow, send);
	return true;
}

static bool has_begun(const struct gamma_send *send)
{
	const struct gamma_rma *remote = send->rma;

	return send->state != GAMMA_SEND_QUEUED || send->made || send->flying ||
	       (remote && (remote->made || remote->segment));
}

bool gamma_send_cancel(struct gamma_send *send)
{
	struct gamma_flow *flow = send->flow;

	if (has_begun(send))
		return false;
	gamma_send_finish(flow, send, -ECANCELED);
	/* A fence may be gone from the way of those behind it. */
	if (gamma_send_has_frames(flow))
		gamma_flow_ready(flow);
	return true;
}

uint32_t gamma_send_frame_room(const struct gamma_flow *flow, uint16_t extensions)
{
	if (flow->payload_crc)
		extensions |= GAMMA_EXT_PAYLOAD_CRC;
	return flow->path_mtu.frame - GAMMA_HEADER_LEN - gamma_codec_extensions_len(extensions);
}

void gamma_send_frame_content(const struct gamma_sent *sent, struct gamma_content *content)
{
	const struct gamma_send *send = sent->send;

	if (gamma_unlikely(sent->op == GAMMA_OP_WRITE)) {
		gamma_rma_requester_content(sent, content);
		return;
	}
	content->op = sent->op;
	content->extensions = 0;
	content->tag = send->envelope.tag;
	content->data = send->envelope.data;
	content->length = send->envelope.length;
	content->id = send->id;
	switch (sent->op) {
	case GAMMA_OP_SEND:
		content->extensions = gamma_envelope_extensions(&send->envelope);
		break;
	case GAMMA_OP_SEND_FIRST:
		content->extensions =
			gamma_envelope_extensions(&send->envelope) | GAMMA_EXT_MESSAGE;
		break;
	case GAMMA_OP_ANNOUNCE:
		content->extensions =
			gamma_envelope_extensions(&send->envelope) | GAMMA_EXT_MESSAGE;
		gamma_rndv_shm_offer_content(send, content);
		break;
	case GAMMA_OP_SEND_MORE:
		content->extensions = GAMMA_EXT_FRAGMENT;
		content->fragment =
			(uint64_t) send->id << GAMMA_FRAGMENT_OFFSET_BITS | sent->offset;
		break;
	case GAMMA_OP_BULK:
		content->extensions = GAMMA_EXT_FRAGMENT;
		content->fragment =
			(uint64_t) send->accepted << GAMMA_FRAGMENT_OFFSET_BITS | sent->offset;
		break;
	case GAMMA_OP_REPLY:
		gamma_rma_target_content(sent, content);
		break;
	}
}

unsigned gamma_send_frame_iov(const struct gamma_sent *sent, struct iovec *iov, unsigned max)
{
	if (!sent->len)
		return 0;
	return gamma_iov_slice(sent->send->iov, sent->send->iov_count, sent->offset, sent->len, iov,
			       max);
}

void gamma_send_finish(struct gamma_flow *flow, struct gamma_send *send, int error)
{
	struct gamma_local *local = flow->local;

	gamma_list_remove(&send->entry);
	gamma_rndv_shm_withdraw(send);
	if (send->state == GAMMA_SEND_ANNOUNCED) {
		if (!send->demoted)
			gamma_transfers_remove(&gamma_message_local(local)->announced, send->id);
		flow->owed--;
	}
	if (send->copied) {
		gamma_copies_finish(flow, send, error);
		return;
	}
	if (gamma_unlikely(send->reply)) {
		gamma_rma_target_finish(flow, send, error);
		return;
	}
	if (send->rma)
		gamma_rma_requester_finish(flow, send, error);
	else if (!error)
		local->stats.messages_out++;
	gamma_message_local(local)->handlers->sent(gamma_message_local(local)->context, send, flow,
						   error);
}

/* Puts the frame's bytes into a buffer, so that the user's memory is free at once. */
static bool copy_frame(struct gamma_flow *flow, struct gamma_sent *sent)
{
	struct gamma_buffer *buffer = gamma_local_get_buffer(flow->local);
	struct gamma_send *send = sent->send;

	if (!buffer)
		return false;
	gamma_send_frame_content(sent, &buffer->content);
	buffer->len = sent->len;
	gamma_iov_read(send->iov, send->iov_count, sent->offset, buffer->payload, sent->len);
	flow->local->stats.bytes_copied_out += sent->len;
	sent->buffer = buffer;
	return true;
}

/* The next frame of the queue's head: its op and how many bytes. */
static void plan_message(struct gamma_flow *flow, struct gamma_send *send, struct gamma_sent *sent)
{
	uint64_t length = send->envelope.length;
	uint16_t extensions = gamma_envelope_extensions(&send->envelope);

	sent->offset = send->made;
	if (send->made) {
		sent->op = GAMMA_OP_SEND_MORE;
		sent->len = (uint32_t) gamma_min(length - send->made,
						 gamma_send_frame_room(flow, GAMMA_EXT_FRAGMENT));
	} else if (send->level == GAMMA_WHEN_MATCHED || length > gamma_rndv_shm_eager_size(flow)) {
		sent->op = GAMMA_OP_ANNOUNCE;
		sent->len = gamma_envelope_announced_len(&send->envelope);
	} else if (length <= gamma_send_frame_room(flow, extensions)) {
		sent->op = GAMMA_OP_SEND;
		sent->len = (uint32_t) length;
	} else {
		sent->op = GAMMA_OP_SEND_FIRST;
		sent->len = gamma_send_frame_room(flow, extensions | GAMMA_EXT_MESSAGE);
		send->id = gamma_message_state(flow)->next_id++ & GAMMA_ID_MASK;
	}
}

bool gamma_send_fills_frame(const struct gamma_flow *flow)
{
	const struct gamma_message_state *m = gamma_message_state(flow);
	bool queued = !gamma_list_empty(&m->queue);
	const struct gamma_list *list = queued ? &m->queue : &m->streams;
	const struct gamma_send *send;
	uint64_t left;

	if (!gamma_list_empty(&m->notices) || m->replies || m->filling || gamma_list_empty(list))
		return false;
	send = gamma_list_entry(list->next, struct gamma_send, entry);
	left = (queued ? send->envelope.length : send->wanted) - send->made;
	return left >
	       gamma_send_frame_room(flow, GAMMA_EXT_FRAGMENT | GAMMA_EXT_ACK | GAMMA_EXT_SACK |
						   GAMMA_EXT_DELAY | GAMMA_EXT_CUTS);
}

bool gamma_send_is_short(const struct gamma_flow *flow, const struct gamma_send *send)
{
	const struct gamma_limits *limits = &flow->local->limits;

	return !send->rma && send->level == GAMMA_WHEN_COPIED && !send->fence && !send->copied &&
	       !send->made &&
	       send->envelope.length <= gamma_min(limits->inject_size, limits->eager_size);
}

/* The last frame of a message is made: where does the message wait for its end? */
static void message_made(struct gamma_flow *flow, struct gamma_send *send, struct gamma_sent *sent,
			 bool copied, uint8_t *flags)
{
	if (sent->op == GAMMA_OP_ANNOUNCE) {
		*flags |= GAMMA_FLAG_ACK_REQUESTED;
		gamma_list_remove(&send->entry);
		await_accept(flow, send);
		return;
	}
	if (copied && send->level == GAMMA_WHEN_COPIED) {
		sent->send = NULL;
		gamma_send_finish(flow, send, 0);
		return;
	}
	/* No caller waits for the end of a copy: its acknowledgement may ride on the answer. */
	if (!send->copied)
		*flags |= GAMMA_FLAG_ACK_REQUESTED;
	send->state = GAMMA_SEND_FLYING;
	gamma_list_remove(&send->entry);
	gamma_list_append(&gamma_message_state(flow)->flying, &send->entry);
}

static bool announce(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags)
{
	struct gamma_send *send = sent->send;

	send->id = gamma_transfers_add(&gamma_message_local(flow->local)->announced, send);
	if (!send->id)
		return false;
	send->flying++;
	gamma_rndv_shm_offer(flow, send);
	message_made(flow, send, sent, false, flags);
	return true;
}

/* A message that cannot leave as a copy in one frame. Above the inject size a copy pays if
 * nothing else is under way: the program waits for an answer, on which the acknowledgement
 * will ride. */
static bool leaves_as_copy(const struct gamma_flow *flow, const struct gamma_send *send,
			   enum gamma_op op)
{
	const struct gamma_limits *limits = &flow->local->limits;

	if (send->level != GAMMA_WHEN_COPIED || send->copied || send->made)
		return false;
	if (send->envelope.length <= limits->inject_size)
		return op != GAMMA_OP_SEND;
	return send->envelope.length <= limits->copy_size && !flow->same_host &&
	       !gamma_send_window_unacked(&flow->tx) &&
	       gamma_message_state(flow)->queue.prev == &send->entry &&
	       gamma_list_empty(&gamma_message_state(flow)->streams);
}

static bool next_message(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags)
{
	struct gamma_send *send =
		gamma_list_first(&gamma_message_state(flow)->queue, struct gamma_send, entry);
	uint64_t length = send->envelope.length;
	bool copy = length <= flow->local->limits.inject_size && !send->copied;

	if (send->rma)
		return gamma_rma_requester_next(flow, send, sent, flags);
	sent->send = send;
	plan_message(flow, send, sent);
	if (sent->op == GAMMA_OP_ANNOUNCE)
		return announce(flow, sent, flags);
	if (leaves_as_copy(flow, send, sent->op)) {
		send = gamma_copies_replace(flow, send);
		if (!send)
			return false;
		sent->send = send;
		plan_message(flow, send, sent);
	}
	if (sent->op != GAMMA_OP_SEND)
		copy = false;
	if (copy && !copy_frame(flow, sent))
		return false;
	if (copy && send->level == GAMMA_WHEN_COPIED)
		sent->send = NULL; /* nobody waits for its acknowledgement */
	else
		send->flying++;
	send->made += sent->len;
	if (send->made == length)
		message_made(flow, send, sent, copy, flags);
	return true;
}

/* Of the last two frames each asks: if the last is lost, the other one is acknowledged at once, and
 * not after the receiver's delay. */
bool gamma_send_is_last_but_one(uint64_t made, uint64_t wanted, uint32_t len)
{
	return wanted - made <= len && made > LONG_FRAMES * (uint64_t) len;
}

static bool next_bulk(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags)
{
	struct gamma_list *streams = &gamma_message_state(flow)->streams;
	struct gamma_send *send = gamma_list_first(streams, struct gamma_send, entry);

	sent->send = send;
	sent->op = send->reply ? GAMMA_OP_REPLY : GAMMA_OP_BULK;
	sent->offset = send->made;
	sent->len = (uint32_t) gamma_min(send->wanted - send->made,
					 gamma_send_frame_room(flow, GAMMA_EXT_FRAGMENT));
	send->made += sent->len;
	send->flying++;
	if (send->made < send->wanted) {
		if (gamma_send_is_last_but_one(send->made, send->wanted, sent->len))
			*flags |= GAMMA_FLAG_ACK_REQUESTED;
		if (streams->prev != &send->entry) {
			gamma_list_remove(&send->entry);
			gamma_list_append(streams, &send->entry);
		}
		return true;
	}
	gamma_list_remove(&send->entry);
	send->state = GAMMA_SEND_FLYING;
	gamma_list_append(&gamma_message_state(flow)->flying, &send->entry);
	*flags |= GAMMA_FLAG_ACK_REQUESTED;
	return true;
}

static bool next_notice(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags)
{
	struct gamma_notice *notice =
		gamma_list_first(&gamma_message_state(flow)->notices, struct gamma_notice, entry);
	struct gamma_buffer *buffer = gamma_local_get_buffer(flow->local);

	if (!buffer)
		return false;
	buffer->content = (struct gamma_content){
		.op = (uint8_t) notice->op,
		.extensions = GAMMA_EXT_MESSAGE | GAMMA_EXT_FRAGMENT,
		.id = notice->id,
		.length = notice->length,
		.fragment = notice->fragment,
	};
	buffer->len = 0;
	sent->buffer = buffer;
	sent->op = buffer->content.op;
	gamma_list_remove(&notice->entry);
	free(notice);
	/* The peer waits for it: a loss is noticed sooner if an answer is due at once. */
	if (gamma_list_empty(&gamma_message_state(flow)->notices))
		*flags |= GAMMA_FLAG_ACK_REQUESTED;
	return true;
}

/* Has one of the list been posted by this endpoint's program, and is not complete? */
static bool has_own(const struct gamma_list *list)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, list) {
		const struct gamma_send *send = gamma_list_entry(pos, struct gamma_send, entry);

		if (!send->copied && !send->reply)
			return true;
	}
	return false;
}

/* Whether the queue's first is fenced, and not all earlier ones are complete. */
static bool is_fenced(const struct gamma_flow *flow)
{
	const struct gamma_message_state *m = gamma_message_state(flow);
	struct gamma_send *send = gamma_list_first(&m->queue, struct gamma_send, entry);

	if (gamma_likely(!send->fence))
		return false;
	send->fence = has_own(&m->flying) || has_own(&m->streams) || has_own(&m->announced) ||
		      !gamma_list_empty(&m->requested);
	return send->fence;
}

bool gamma_send_has_frames(const struct gamma_flow *flow)
{
	const struct gamma_message_state *m = gamma_message_state(flow);

	return !gamma_list_empty(&m->queue) || !gamma_list_empty(&m->streams) ||
	       !gamma_list_empty(&m->notices) || m->replies || m->filling;
}

bool gamma_send_has_notices(const struct gamma_flow *flow)
{
	return !gamma_list_empty(&gamma_message_state(flow)->notices);
}

bool gamma_send_is_fenced(const struct gamma_flow *flow)
{
	const struct gamma_message_state *m = gamma_message_state(flow);

	return gamma_list_empty(&m->notices) && !m->replies && !m->filling &&
	       gamma_list_empty(&m->streams) && is_fenced(flow);
}

/* Frames of the queue in a row while streams wait. A long WRITE is a stream like others, only that
 * it keeps its place among the messages. */
static uint32_t share_of_queue(const struct gamma_message_state *m)
{
	const struct gamma_send *send = gamma_list_first(&m->queue, struct gamma_send, entry);

	return send->rma && send->rma->in_place ? 1 : GAMMA_STREAM_SHARE;
}

/* Whether the messages' turn has come. A frame that is filling stands before what is queued. */
static bool serves_queue(const struct gamma_flow *flow)
{
	const struct gamma_message_state *m = gamma_message_state(flow);

	if (m->filling)
		return gamma_list_empty(&m->streams) || m->frames_since_stream < GAMMA_STREAM_SHARE;
	return !gamma_list_empty(&m->queue) && !is_fenced(flow) &&
	       (gamma_list_empty(&m->streams) || m->frames_since_stream < share_of_queue(m));
}

/* BULK, and the bytes of a long READ: what the receiver asked for, or knows of. */
bool gamma_send_is_placed(const struct gamma_flow *flow)
{
	const struct gamma_message_state *m = gamma_message_state(flow);

	return !gamma_list_empty(&m->streams) && gamma_list_empty(&m->notices) && !m->replies &&
	       !serves_queue(flow);
}

/* It leaves without waiting for the receiver's answer. */
static bool is_at_once(const struct gamma_flow *flow, const struct gamma_send *send)
{
	if (send->rma)
		return send->rma->op == GAMMA_OP_WRITE;
	return send->level != GAMMA_WHEN_MATCHED &&
	       send->envelope.length <= gamma_rndv_shm_eager_size(flow);
}

enum gamma_send_part gamma_send_part_of(const struct gamma_flow *flow)
{
	const struct gamma_message_state *m = gamma_message_state(flow);
	const struct gamma_send *send = gamma_list_entry(m->queue.next, struct gamma_send, entry);

	if (!gamma_list_empty(&m->notices) || m->replies || m->filling || !serves_queue(flow))
		return GAMMA_SEND_ALONE;
	if (send->envelope.length <= GAMMA_SEND_FEW * (uint64_t) gamma_send_frame_room(flow, 0))
		return GAMMA_SEND_ALONE;
	if (send->made)
		return GAMMA_SEND_GOES_ON;
	return is_at_once(flow, send) ? GAMMA_SEND_BEGINS : GAMMA_SEND_ALONE;
}

bool gamma_send_is_divided(const struct gamma_flow *flow)
{
	const struct gamma_send *send;

	if (gamma_send_part_of(flow) != GAMMA_SEND_GOES_ON)
		return false;
	send = gamma_list_entry(gamma_message_state(flow)->queue.next, struct gamma_send, entry);
	return send->rma && send->rma->in_place &&
	       send->envelope.length >= GAMMA_SEND_MANY * (uint64_t) gamma_send_frame_room(flow, 0);
}

bool gamma_send_next_frame(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags)
{
	struct gamma_message_state *m = gamma_message_state(flow);

	sent->send = NULL;
	sent->buffer = NULL;
	sent->offset = 0;
	sent->len = 0;
	if (!gamma_list_empty(&m->notices))
		return next_notice(flow, sent, flags);
	if (gamma_rma_target_next(flow, sent))
		return true;
	if (serves_queue(flow)) {
		m->frames_since_stream++;
		return gamma_coalesce_next(flow, sent, flags) || next_message(flow, sent, flags);
	}
	m->frames_since_stream = 0;
	if (!gamma_list_empty(&m->streams))
		return next_bulk(flow, sent, flags);
	return false;
}

struct gamma_notice *gamma_send_new_notice(void)
{
	return calloc(1, sizeof(struct gamma_notice));
}

void gamma_send_notice(struct gamma_flow *flow, struct gamma_notice *notice, enum gamma_op op,
		       uint32_t id, uint64_t length, uint64_t fragment)
{
	notice->op = op;
	notice->id = id;
	notice->length = length;
	notice->fragment = fragment;
	gamma_list_append(&gamma_message_state(flow)->notices, &notice->entry);
	gamma_flow_ready(flow);
}

void gamma_send_accepted(struct gamma_flow *flow, uint32_t id, uint64_t wanted, uint32_t accepted)
{
	struct gamma_local *local = flow->local;
	struct gamma_send *send =
		id ? gamma_transfers_find(&gamma_message_local(local)->announced, id)
		   : gamma_demote_find_send(flow, accepted);

	/* The id is the peer's word: believe it only if it names one of this flow's. */
	if (!send || send->flow != flow) {
		local->stats.stray++;
		return;
	}
	if (!send->demoted)
		gamma_transfers_remove(&gamma_message_local(local)->announced, send->id);
	send->demoted = false;
	flow->owed--;
	send->accepted = accepted;
	send->wanted = gamma_min(wanted, send->envelope.length);
	gamma_list_remove(&send->entry);
	/* It knows the bytes' address, and asks for them all the same. */
	if (send->wanted && send->stamp)
		gamma_message_state(flow)->no_cma = true;
	if (gamma_message_state(flow)->feeding == send)
		gamma_rndv_shm_stop_feeding(flow);
	if (send->wanted) {
		send->state = GAMMA_SEND_STREAMING;
		gamma_list_append(&gamma_message_state(flow)->streams, &send->entry);
		gamma_flow_ready(flow);
		return;
	}
	send->state = GAMMA_SEND_FLYING;
	gamma_list_append(&gamma_message_state(flow)->flying, &send->entry);
	if (!send->flying) /* else the announcement's own acknowledgement ends it */
		gamma_send_finish(flow, send, 0);
}

void gamma_send_acked(struct gamma_flow *flow, struct gamma_sent *sent)
{
	struct gamma_send *send = sent->send, *next;

	if (sent->buffer)
		gamma_local_put_buffer(flow->local, sent->buffer);
	sent->buffer = NULL;
	sent->send = NULL;
	for (; send; send = next) {
		next = send->with;
		send->flying--;
		if (!send->flying && send->state == GAMMA_SEND_FLYING)
			gamma_send_finish(flow, send, send->error);
	}
}

static void drop_list(struct gamma_flow *flow, struct gamma_list *list, int error)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, list) {
		struct gamma_send *send = gamma_list_entry(pos, struct gamma_send, entry);

		if (error || send->copied || send->reply) {
			gamma_send_finish(flow, send, error);
		} else {
			gamma_rndv_shm_withdraw(send);
			gamma_list_remove(&send->entry);
		}
	}
}

void gamma_send_drop_all(struct gamma_flow *flow, int error)
{
	struct gamma_message_state *m = gamma_message_state(flow);

	gamma_copies_forget(flow);
	drop_list(flow, &m->flying, error);
	drop_list(flow, &m->streams, error);
	drop_list(flow, &m->announced, error);
	drop_list(flow, &m->requested, error);
	drop_list(flow, &m->queue, error);
	if (m->filling)
		gamma_local_put_buffer(flow->local, m->filling);
	m->filling = NULL;
	while (!gamma_list_empty(&m->notices)) {
		struct gamma_notice *notice =
			gamma_list_first(&m->notices, struct gamma_notice, entry);

		gamma_list_remove(&notice->entry);
		free(notice);
	}
	gamma_rma_target_drop(flow);
}
