// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The path of messages between processes of one host without frames: inline messages, and
 * announcements, answers and chunks of large ones. Records in shared memory are not lost, damaged
 * or reordered, so there is nothing to number, acknowledge or time. Everything else takes frames
 * through the same memory, in the same order. Called by endpoint.c, output.c, progress.c, and by
 * the message layer (put).
 */
#include "engine/dispatch.h"
#include "engine/shm_path.h"
#include "message/rndv_shm.h"

#include <string.h>

_Static_assert((int) GAMMA_SHM_MESSAGE_TAGGED == GAMMA_TAGGED &&
		       (int) GAMMA_SHM_MESSAGE_DATA == GAMMA_HAS_DATA &&
		       (int) GAMMA_SHM_MESSAGE_PORT == GAMMA_TO_PORT,
	       "an envelope's flags are a record's");

/* ---- sending ---- */

/* The peer knows this flow once a frame from it has arrived. */
void gamma_shm_path_find_channel(struct gamma_endpoint *endpoint, struct gamma_flow *flow)
{
	struct gamma_shm_addr addr = {.port = flow->port, .epoch = flow->epoch};

	if (flow->self || !flow->heard_of || flow->state != GAMMA_FLOW_OPEN)
		return;
	memcpy(addr.mac, flow->addr.mac, GAMMA_MAC_LEN);
	gamma_peer(flow)->tx_channel = gamma_shm_find_channel(endpoint->shm, &addr);
	flow->has_shm_channel = gamma_peer(flow)->tx_channel;
}

/* True: a message may go now, as it would overtake nothing. */
static bool nothing_is_queued(const struct gamma_flow *flow)
{
	return flow->state == GAMMA_FLOW_OPEN && gamma_list_empty(&flow->ready_entry) &&
	       gamma_list_empty(&gamma_message_state(flow)->queue) &&
	       !gamma_message_state(flow)->filling && !flow->tx.lost;
}

/* Whether a message of len bytes is copied: message/ asks for it too, and may send it otherwise. */
static bool choose_copy(struct gamma_flow *flow, uint64_t len)
{
	bool copies = gamma_shm_copy_model_choose(&gamma_peer(flow)->copy_model, len);

	gamma_message_state(flow)->copies = copies;
	return copies;
}

/* Above the inject size, copies do not always pay. */
static bool put_large(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		      const struct gamma_shm_message *plain, const struct iovec *iov,
		      unsigned iov_count)
{
	bool timed;
	uint64_t begin;

	if (plain->len > GAMMA_COPY_MAX || !choose_copy(flow, plain->len))
		return false;
	timed = gamma_peer(flow)->copy_model.timed && plain->len >= GAMMA_COPY_MIN;
	begin = timed ? gamma_now() : 0;
	if (!gamma_shm_put(endpoint->shm, gamma_peer(flow)->tx_channel, plain, iov, iov_count))
		return false;
	if (timed)
		gamma_shm_copy_model_record(&gamma_peer(flow)->copy_model, plain->len,
					    gamma_now() - begin);
	return true;
}

bool gamma_shm_path_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			 const struct iovec *iov, unsigned iov_count,
			 const struct gamma_envelope *envelope)
{
	const struct gamma_limits *limits = &endpoint->local.limits;
	struct gamma_stats *stats = &endpoint->local.stats;
	struct gamma_shm_message plain = {
		.tag = envelope->tag,
		.data = envelope->data,
		.len = (uint32_t) envelope->length,
		.kind = GAMMA_RECORD_INLINE,
		.flags = (uint8_t) envelope->flags,
	};

	if (gamma_unlikely(!nothing_is_queued(flow) || flow->payload_crc ||
			   envelope->length > limits->eager_size))
		return false;
	if (gamma_likely(envelope->length <= limits->inject_size)
		    ? !gamma_shm_put(endpoint->shm, gamma_peer(flow)->tx_channel, &plain, iov,
				     iov_count)
		    : !put_large(endpoint, flow, &plain, iov, iov_count))
		return false;
	stats->messages_out++;
	stats->tx_shm_inline++;
	stats->bytes_copied_out += plain.len;
	return true;
}

/* Writes the next chunk of an announced message; false: there is no room. */
static bool put_chunk(struct gamma_endpoint *endpoint, struct gamma_send *send)
{
	struct gamma_chunk chunk = {.offset = send->fed, .id = send->id};
	struct iovec iov[1 + GAMMA_IOV_MAX] = {{&chunk, sizeof(chunk)}};
	uint64_t len = gamma_min(GAMMA_CHUNK, send->envelope.length - send->fed);
	struct gamma_shm_message plain = {
		.kind = GAMMA_RECORD_CHUNK,
		.len = (uint32_t) (sizeof(chunk) + len),
	};
	unsigned count =
		gamma_iov_slice(send->iov, send->iov_count, send->fed, len, iov + 1, GAMMA_IOV_MAX);

	if (!gamma_peer(send->flow)->tx_channel ||
	    !gamma_shm_put(endpoint->shm, gamma_peer(send->flow)->tx_channel, &plain, iov,
			   1 + count))
		return false;
	send->fed += len;
	endpoint->local.stats.bytes_copied_out += len;
	return true;
}

static void put_chunks(struct gamma_endpoint *endpoint, struct gamma_send *send, uint64_t most)
{
	uint64_t end = gamma_min(send->envelope.length, send->fed + most);

	while (send->fed < end && put_chunk(endpoint, send))
		;
}

/* Timed as a whole, because the first chunk misses all caches. */
static void begin_chunks(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			 struct gamma_send *send)
{
	bool timed = gamma_peer(flow)->copy_model.timed;
	uint64_t begin = timed ? gamma_now() : 0;

	put_chunks(endpoint, send, GAMMA_CHUNKS_UNSOLICITED);
	if (timed && send->fed)
		gamma_shm_copy_model_record(&gamma_peer(flow)->copy_model, send->fed,
					    gamma_now() - begin);
}

/* For shorter messages the copy model was asked before, when gamma_shm_path_send refused them. */
bool gamma_shm_path_announce(struct gamma_flow *flow, struct gamma_send *send)
{
	struct gamma_endpoint *endpoint =
		gamma_container_of(flow->local, struct gamma_endpoint, local);
	uint64_t len = send->envelope.length;
	bool in_chunks = len > GAMMA_COPY_MAX && choose_copy(flow, len) &&
			 gamma_shm_copy_model_in_chunks(&gamma_peer(flow)->copy_model, len);

	if (!nothing_is_queued(flow) || !gamma_send_shm_announce(flow, send, in_chunks))
		return false;
	endpoint->local.stats.tx_shm_rndv++;
	if (in_chunks)
		begin_chunks(endpoint, flow, send);
	return true;
}

void gamma_shm_path_feed(struct gamma_endpoint *endpoint)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, &endpoint->messages.feeding) {
		struct gamma_flow *flow =
			&gamma_list_entry(pos, struct gamma_message_flow, messages.feed_entry)
				 ->flow;
		struct gamma_send *send = gamma_message_state(flow)->feeding;

		put_chunks(endpoint, send, GAMMA_CHUNKS_TURN);
		if (send->fed == send->envelope.length)
			gamma_rndv_shm_stop_feeding(flow);
	}
}

bool gamma_shm_path_put(struct gamma_flow *flow, struct gamma_shm_message *plain)
{
	struct gamma_endpoint *endpoint =
		gamma_container_of(flow->local, struct gamma_endpoint, local);
	struct iovec iov = {(void *) plain->bytes, plain->len};

	return gamma_peer(flow)->tx_channel && flow->state == GAMMA_FLOW_OPEN &&
	       gamma_shm_put(endpoint->shm, gamma_peer(flow)->tx_channel, plain, &iov, 1);
}

void gamma_shm_path_withdraw(struct gamma_flow *flow)
{
	if (gamma_peer(flow)->tx_channel)
		gamma_shm_withdraw(gamma_peer(flow)->tx_channel);
}

bool gamma_shm_path_has_undelivered(const struct gamma_flow *flow)
{
	return gamma_peer(flow)->tx_channel &&
	       gamma_shm_has_undelivered(gamma_peer(flow)->tx_channel);
}

/* ---- receiving ---- */

/* The peer was declared dead here and should stop sending. Chunks need no answer of their own, as
 * their announcement was answered. */
static void refuse_record(struct gamma_endpoint *endpoint, const struct gamma_flow *flow,
			  uint8_t kind)
{
	endpoint->local.stats.stray++;
	if (flow && flow->state == GAMMA_FLOW_FAILED && kind < GAMMA_RECORD_CHUNK) {
		struct gamma_fields to = {
			.src_port = flow->port,
			.dst_port = endpoint->local.port,
			.src_epoch = flow->epoch,
			.dst_epoch = endpoint->local.epoch,
			.seq = flow->rx.next,
		};

		gamma_dispatch_send_reset(endpoint, &endpoint->shm->link, flow->addr.mac, &to,
					  GAMMA_RESET_CLOSED, true);
	}
}

/* More is buffered than allowed: from now on peers send frames, which can be refused. */
static void turn_backpressure_on(struct gamma_endpoint *endpoint)
{
	if (endpoint->backpressure)
		return;
	endpoint->backpressure = true;
	gamma_shm_set_backpressure(endpoint->shm, true);
}

void gamma_shm_path_relax(struct gamma_endpoint *endpoint)
{
	if (endpoint->messages.buffered > endpoint->local.limits.unexpected_size / 2)
		return;
	endpoint->backpressure = false;
	gamma_shm_set_backpressure(endpoint->shm, false);
}

static bool receive_announce(struct gamma_flow *flow, struct gamma_envelope *envelope,
			     const struct gamma_shm_message *plain)
{
	struct gamma_announce announce;

	memcpy(&announce, plain->bytes, sizeof(announce));
	envelope->length = announce.length;
	envelope->flags &= ~(uint32_t) GAMMA_SHM_MESSAGE_CHUNKS;
	if (!gamma_receive_shm_announce(flow, envelope, &announce, plain->bytes + sizeof(announce),
					plain->len - (uint32_t) sizeof(announce),
					plain->flags & GAMMA_SHM_MESSAGE_CHUNKS))
		return false;
	flow->local->stats.rx_shm_rndv++;
	return true;
}

static void receive_answer_record(struct gamma_flow *flow, const struct gamma_shm_message *plain)
{
	struct gamma_shm_copy_model *model = &gamma_peer(flow)->copy_model;
	struct gamma_answer answer;

	memcpy(&answer, plain->bytes, sizeof(answer));
	if (!answer.wanted && answer.accepted)
		model->read_ns = gamma_shm_copy_model_smooth(model->read_ns, answer.accepted);
	gamma_send_accepted(flow, answer.id, answer.wanted, answer.accepted);
}

/* Times the unsolicited chunks, except the first. With a high core-to-core latency each side waits
 * for the other's cache lines, which takes longer than the copies of either side alone. Shorter
 * messages count only until a long one has been timed. */
static void time_chunk(struct gamma_flow *flow, uint64_t offset, uint32_t len)
{
	struct gamma_message_state *m = gamma_message_state(flow);
	uint64_t ns, bytes = offset + len - GAMMA_CHUNK;

	if (offset != GAMMA_CHUNKS_UNSOLICITED - GAMMA_CHUNK && m->own_read_ns)
		return;
	ns = gamma_now() - gamma_peer(flow)->copy_model.second_at;
	m->own_read_ns =
		gamma_shm_copy_model_smooth(m->own_read_ns, (uint32_t) (ns * 1024 / bytes + 1));
}

static void receive_chunk(struct gamma_flow *flow, const struct gamma_shm_message *plain)
{
	const uint8_t *bytes = plain->bytes + sizeof(struct gamma_chunk);
	uint32_t len = plain->len - (uint32_t) sizeof(struct gamma_chunk);
	struct gamma_shm_copy_model *model = &gamma_peer(flow)->copy_model;
	struct gamma_chunk chunk;

	memcpy(&chunk, plain->bytes, sizeof(chunk));
	if (chunk.offset == GAMMA_CHUNK)
		model->second_at = gamma_now();
	if (gamma_rndv_shm_receive_chunk(flow, &chunk, bytes, len) && chunk.offset >= GAMMA_CHUNK &&
	    chunk.offset < GAMMA_CHUNKS_UNSOLICITED && len >= GAMMA_COPY_MIN)
		time_chunk(flow, chunk.offset, len);
}

/* Refuses if this process's copies do not pay. */
static void receive_more(struct gamma_flow *flow, const struct gamma_shm_message *plain)
{
	struct gamma_more more;

	memcpy(&more, plain->bytes, sizeof(more));
	if (gamma_shm_copy_model_in_chunks(&gamma_peer(flow)->copy_model, GAMMA_CHUNKS_TURN))
		gamma_rndv_shm_more_wanted(flow, more.id);
}

/* A record about a large message. The peer may change the record's bytes at any time. */
static bool receive_announced_record(struct gamma_flow *flow, struct gamma_envelope *envelope,
				     const struct gamma_shm_message *plain)
{
	switch (plain->kind) {
	case GAMMA_RECORD_ANNOUNCE:
		return receive_announce(flow, envelope, plain);
	case GAMMA_RECORD_ANSWER:
		receive_answer_record(flow, plain);
		break;
	case GAMMA_RECORD_CHUNK:
		receive_chunk(flow, plain);
		break;
	case GAMMA_RECORD_MORE:
		receive_more(flow, plain);
		break;
	}
	return true;
}

bool gamma_shm_path_receive(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival)
{
	const struct gamma_shm_message *plain = &arrival->shm;
	struct gamma_flow *flow = *arrival->flow;
	struct gamma_envelope envelope = {
		.tag = plain->flags & GAMMA_SHM_MESSAGE_TAGGED ? plain->tag : 0,
		.data = plain->flags & GAMMA_SHM_MESSAGE_DATA ? plain->data : 0,
		.length = plain->len,
		.flags = plain->flags,
	};

	if (gamma_unlikely(!flow || flow->state != GAMMA_FLOW_OPEN)) {
		refuse_record(endpoint, flow, plain->kind);
		return true;
	}
	if (gamma_unlikely(plain->kind != GAMMA_RECORD_INLINE))
		return receive_announced_record(flow, &envelope, plain);
	if (gamma_unlikely(!gamma_receive_shm_message(flow, &envelope, plain->bytes)))
		return false;
	endpoint->local.stats.rx_shm_inline++;
	if (gamma_unlikely(endpoint->messages.buffered > endpoint->local.limits.unexpected_size))
		turn_backpressure_on(endpoint);
	return true;
}
