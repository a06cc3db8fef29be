// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The next frame that a flow sends. Lost frames go first (a peer waits for them), then single
 * control frames (a peer waits for answers), then new data, and an acknowledgement of its own only
 * if no data carried it.
 */
#include "flow/transmit.h"

#include <stdlib.h>

#include "base/iov.h"
#include "flow/flow.h"
#include "flow/rails_choice.h"
#include "flow/rails_list.h"
#include "flow/upcalls.h"

static void begin_fields(const struct gamma_flow *flow, struct gamma_fields *fields, uint8_t kind,
			 uint8_t op)
{
	const struct gamma_local *local = flow->local;

	fields->dst_port = flow->port;
	fields->src_port = local->port;
	fields->tenant = local->tenant;
	fields->kind = kind;
	fields->op = op;
	fields->flags = local->limits.payload_crc ? GAMMA_FLAG_WANT_CRC : 0;
	fields->extensions = 0;
	fields->payload_len = 0;
	fields->src_epoch = local->epoch;
	fields->dst_epoch = flow->epoch;
	fields->seq = 0;
}

static void build(const struct gamma_flow *flow, struct gamma_fields *fields, uint8_t *payload,
		  struct gamma_frame *frame)
{
	const struct gamma_local *local = flow->local;
	const uint8_t *to = flow->addr.mac, *from = local->addr.mac;

	if (gamma_unlikely(frame->rail))
		gamma_rails_address(flow, frame->rail, fields, &to, &from);
	frame->head = gamma_codec_build(fields, to, from, local->ethertype, payload);
	frame->head_len = GAMMA_ETH_LEN + fields->header_len;
	frame->kind = fields->kind;
	frame->op = fields->op;
	frame->seq = fields->seq;
	frame->reports_mtu = fields->extensions & GAMMA_EXT_MTU;
}

static void attach_mtu(struct gamma_flow *flow, struct gamma_fields *fields)
{
	fields->extensions |= GAMMA_EXT_MTU;
	fields->mtu = (uint16_t) flow->local->limits.mtu;
	fields->probe = 0;
	flow->mtu_reported++;
}

/* Does the frame still fit with these extensions too? */
static bool fits(const struct gamma_flow *flow, const struct gamma_fields *fields,
		 uint16_t extensions)
{
	if (gamma_likely(fields->payload_len + (uint32_t) GAMMA_HEADER_MAX <= flow->path_mtu.frame))
		return true;
	return GAMMA_HEADER_LEN + gamma_codec_extensions_len(fields->extensions | extensions) +
		       fields->payload_len <=
	       flow->path_mtu.frame;
}

/* The checksum of the payload as it leaves now. A frame built before the peer asked for
 * checksums may have no room for one. */
static void attach_payload_crc(const struct gamma_flow *flow, const struct gamma_sent *sent,
			       const struct gamma_frame *frame, struct gamma_fields *fields)
{
	if (!fields->payload_len || !fits(flow, fields, GAMMA_EXT_PAYLOAD_CRC))
		return;
	fields->extensions |= GAMMA_EXT_PAYLOAD_CRC;
	fields->payload_crc = sent->buffer ? gamma_crc32c(0, sent->buffer->payload, sent->len)
					   : gamma_crc32c_iov(0, frame->iov, frame->iov_count);
}

/* Extensions that may ride on data: the acknowledgement, and on the first frames the own MTU. */
static void attach(struct gamma_flow *flow, struct gamma_fields *fields, uint64_t now)
{
	bool news = flow->ack.owed || flow->ack.now || flow->ack.sent_limit != flow->credit.limit;

	if (news && flow->heard_of &&
	    fits(flow, fields, GAMMA_EXT_ACK | GAMMA_EXT_SACK | GAMMA_EXT_DELAY | GAMMA_EXT_CUTS))
		gamma_ack_attach(flow, fields, false, now);
	if (gamma_unlikely(flow->mtu_reported < GAMMA_MTU_REPORTS &&
			   (!flow->path_mtu.settled || flow->path_mtu.lowered ||
			    flow->local->limits.mtu < GAMMA_SAFE_MTU)) &&
	    fits(flow, fields, GAMMA_EXT_MTU))
		attach_mtu(flow, fields);
}

/* Where the payload stands, or from `at` on a part of it. */
static unsigned pieces(const struct gamma_sent *sent, uint32_t at, uint32_t len, struct iovec *iov)
{
	struct gamma_sent part = *sent;

	if (sent->buffer) {
		iov[0] = (struct iovec){sent->buffer->payload + at, len};
		return 1;
	}
	part.offset += at;
	part.len = len;
	return gamma_send_frame_iov(&part, iov, GAMMA_FRAME_IOV);
}

/* The frame's content: as it stands in its buffer, else put into *made. */
static const struct gamma_content *content_of(const struct gamma_sent *sent,
					      struct gamma_content *made)
{
	if (sent->buffer)
		return &sent->buffer->content;
	gamma_send_frame_content(sent, made);
	return made;
}

static void begin_data(const struct gamma_flow *flow, const struct gamma_sent *sent, uint32_t seq,
		       uint8_t flags, struct gamma_fields *fields)
{
	struct gamma_content made;
	const struct gamma_content *content = content_of(sent, &made);

	begin_fields(flow, fields, GAMMA_KIND_DATA, sent->op);
	fields->flags |= flags | (gamma_send_has_frames(flow) ? GAMMA_FLAG_BACKLOG : 0);
	fields->payload_len = (uint16_t) sent->len;
	fields->seq = seq;
	gamma_envelope_content_fields(content, fields);
}

static void build_data(struct gamma_flow *flow, struct gamma_sent *sent, uint32_t seq,
		       uint8_t flags, uint64_t now, struct gamma_frame *frame)
{
	struct gamma_fields fields;

	begin_data(flow, sent, seq, flags, &fields);
	frame->iov_count = sent->buffer ? 0 : pieces(sent, 0, sent->len, frame->iov);
	if (gamma_unlikely(flow->payload_crc))
		attach_payload_crc(flow, sent, frame, &fields);
	attach(flow, &fields, now);
	if (sent->buffer) {
		build(flow, &fields, sent->buffer->payload, frame);
		frame->head_len += sent->len;
	} else {
		build(flow, &fields, frame->room + sizeof(frame->room), frame);
	}
	sent->large = fields.header_len + sent->len > flow->path_mtu.large;
}

/* ---- frames built when the path carried larger ones: they leave in parts ---- */

static bool too_large(const struct gamma_flow *flow, const struct gamma_sent *sent)
{
	struct gamma_content made;

	if (gamma_likely(sent->len + GAMMA_HEADER_MAX <= flow->path_mtu.frame))
		return false;
	return GAMMA_HEADER_LEN + gamma_codec_extensions_len(content_of(sent, &made)->extensions) +
		       sent->len >
	       flow->path_mtu.frame;
}

static void build_part(struct gamma_flow *flow, struct gamma_sent *sent, uint32_t seq, uint64_t now,
		       struct gamma_frame *frame)
{
	struct gamma_fields fields;
	uint32_t room;

	begin_data(flow, sent, seq, GAMMA_FLAG_ACK_REQUESTED | (sent->again ? GAMMA_FLAG_AGAIN : 0),
		   &fields);
	fields.extensions |= GAMMA_EXT_PART | (flow->payload_crc ? GAMMA_EXT_PAYLOAD_CRC : 0);
	room = flow->path_mtu.frame - GAMMA_HEADER_LEN -
	       gamma_codec_extensions_len(fields.extensions);
	fields.payload_len = (uint16_t) gamma_min(sent->len - sent->part, room);
	fields.part_offset = (uint16_t) sent->part;
	fields.part_total = (uint16_t) sent->len;
	frame->iov_count = pieces(sent, sent->part, fields.payload_len, frame->iov);
	fields.payload_crc =
		flow->payload_crc ? gamma_crc32c_iov(0, frame->iov, frame->iov_count) : 0;
	attach(flow, &fields, now);
	build(flow, &fields, frame->room + sizeof(frame->room), frame);
	frame->part = true;
	frame->again = sent->again;
	frame->part_at = fields.part_offset;
	sent->large = (sent->part && sent->large) ||
		      fields.header_len + fields.payload_len > flow->path_mtu.large;
	sent->part += fields.payload_len;
}

static void take_rail(struct gamma_flow *flow, uint8_t rail, struct gamma_frame *frame)
{
	frame->rail = rail;
	if (gamma_unlikely(flow->rails))
		gamma_rails_choice_use(flow, rail);
}

/* Ordered frames of a longer message leave in a train. A peer that expects none looks for trains
 * seldom: then the first one is raw, and is there before the others. */
static bool leaves_in_train(const struct gamma_flow *flow)
{
	bool expected;

	if (!gamma_rails_choice_has_trains(flow, &expected))
		return false;
	return gamma_send_part_of(flow) >= (expected ? GAMMA_SEND_BEGINS : GAMMA_SEND_GOES_ON);
}

/* Short messages alone need no rail over UDP. */
static GAMMA_NOINLINE void begin_rails(struct gamma_flow *flow)
{
	if (gamma_send_is_placed(flow) || gamma_send_part_of(flow) == GAMMA_SEND_GOES_ON)
		gamma_rails_begin(flow);
}

/* The rail that this new DATA frame takes. */
static void choose_rail(struct gamma_flow *flow, struct gamma_sent *sent, struct gamma_frame *frame)
{
	if (gamma_unlikely(flow->local->use_udp) && !flow->rails && !flow->same_host)
		begin_rails(flow);
	if (gamma_unlikely(flow->rails))
		frame->rail = gamma_rails_choice_next(flow, gamma_send_is_placed(flow) ||
								    gamma_send_is_divided(flow) ||
								    leaves_in_train(flow));
	sent->rail = frame->rail;
}

/* The next part of the frame whose parts are leaving. Each counts as a transmission of the frame,
 * so that its time in the end is that of the last. */
static bool poll_part(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
{
	struct gamma_send_window *tx = &flow->tx;
	struct gamma_sent *sent = gamma_send_window_at(&flow->tx, tx->part_seq);

	/* The peer has it after all, or the link refused a part. */
	if (gamma_seq_before(tx->part_seq, tx->una) || sent->state != GAMMA_SENT_FLYING) {
		tx->sending_parts = false;
		return false;
	}
	take_rail(flow, sent->rail, frame);
	gamma_send_window_transmitted(flow, sent, now);
	flow->local->stats.retransmissions += sent->again;
	flow->local->stats.parts_out++;
	build_part(flow, sent, tx->part_seq, now, frame);
	if (sent->part == sent->len) {
		sent->part = 0;
		tx->sending_parts = false;
	}
	return true;
}

/* From the first byte on, or from where the link refused to go on. */
static bool begin_parts(struct gamma_flow *flow, struct gamma_sent *sent, uint32_t seq,
			uint64_t now, struct gamma_frame *frame)
{
	/* A frame that the link never took is not sent again, though its shape changes. */
	if (!sent->unsent)
		sent->again = 1;
	sent->unsent = 0;
	sent->state = GAMMA_SENT_FLYING;
	flow->tx.sending_parts = true;
	flow->tx.part_seq = seq;
	return poll_part(flow, now, frame);
}

/* Of a path that is shared with others, more is under way than it can carry. */
static bool is_congested(struct gamma_flow *flow)
{
	if (gamma_likely(!flow->congestion.on) || gamma_congestion_is_open(flow))
		return false;
	gamma_congestion_filled(flow);
	return true;
}

static bool poll_lost(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
{
	uint32_t seq;
	struct gamma_sent *sent;

	if (gamma_likely(!flow->tx.lost) || flow->repair.flying >= flow->repair.bound ||
	    is_congested(flow))
		return false;
	sent = gamma_send_window_next_lost(flow, &seq);
	if (!sent)
		return false;
	if (gamma_unlikely(flow->rails))
		frame->rail = gamma_rails_choice_again(
			flow, sent, sent->op == GAMMA_OP_BULK || sent->op == GAMMA_OP_REPLY);
	sent->rail = frame->rail;
	/* A sender that repairs wants to know: no delayed acknowledgement. */
	flow->tx.asked = flow->tx.next;
	if (!sent->unsent)
		sent->part = 0;
	flow->repair.flying += !sent->unsent || sent->again;
	if (gamma_unlikely(sent->part || too_large(flow, sent)))
		return begin_parts(flow, sent, seq, now, frame);
	if (!sent->unsent) {
		flow->local->stats.retransmissions++;
		sent->again = 1;
	}
	sent->unsent = 0;
	gamma_send_window_transmitted(flow, sent, now);
	build_data(flow, sent, seq, GAMMA_FLAG_ACK_REQUESTED | (sent->again ? GAMMA_FLAG_AGAIN : 0),
		   now, frame);
	return true;
}

/* There is no memory for a frame now, and perhaps nothing else will have this flow looked at. */
static void try_later(struct gamma_flow *flow, uint64_t now)
{
	if (!gamma_timers_is_set(flow, GAMMA_TIMER_REQUEST))
		gamma_timers_set(flow, GAMMA_TIMER_REQUEST,
				 now + GAMMA_REQUEST_US * GAMMA_NS_PER_US);
}

/* Where the receiver bounds what is under way, the last credit is for what does not fill a frame: a
 * short message should not wait for an acknowledgement. While such a frame is under way that credit
 * has been used, and while none at all is no acknowledgement will come. */
static bool keeps_last(const struct gamma_flow *flow)
{
	const struct gamma_send_window *tx = &flow->tx;

	return gamma_unlikely(tx->bounded) && tx->limit - tx->returned - tx->next == 1 &&
	       gamma_send_window_in_flight(&flow->tx) &&
	       !gamma_seq_before(tx->una, tx->short_sent) && gamma_send_fills_frame(flow);
}

/* Toward another subnet a window leaves in parts, each with its acknowledgement. */
static bool ends_turn(const struct gamma_flow *flow)
{
	return gamma_unlikely(flow->congestion.on) &&
	       flow->tx.next - flow->tx.asked >= gamma_congestion_turn(flow);
}

static bool poll_new(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
{
	struct gamma_sent *sent;
	uint8_t flags = 0;
	uint32_t seq = flow->tx.next;
	bool fills;

	if (!gamma_send_has_frames(flow) || keeps_last(flow))
		return false;
	sent = gamma_send_window_next(flow);
	if (!sent) {
		if (gamma_send_window_is_open(flow))
			try_later(flow, now);
		else if (flow->state == GAMMA_FLOW_OPEN && !is_congested(flow))
			gamma_credit_starved(flow, now);
		return false;
	}
	sent->again = sent->unsent = sent->counted = 0;
	sent->part = 0;
	choose_rail(flow, sent, frame);
	sent->ahead = (uint16_t) gamma_send_window_in_flight(&flow->tx);
	fills = !flow->tx.bounded || gamma_send_fills_frame(flow);
	if (!gamma_send_next_frame(flow, sent, &flags)) {
		if (!gamma_send_is_fenced(flow))
			try_later(flow, now);
		return false;
	}
	flow->tx.next++;
	if (gamma_unlikely(!fills))
		flow->tx.short_sent = flow->tx.next;
	/* The last frame that credit allows brings the next credit. */
	if (gamma_send_has_frames(flow)) {
		flow->tx.backlog_sent = flow->tx.next;
		if (!gamma_send_window_is_open(flow) || keeps_last(flow) || ends_turn(flow))
			flags |= GAMMA_FLAG_ACK_REQUESTED;
	}
	if (flags & GAMMA_FLAG_ACK_REQUESTED)
		flow->tx.asked = flow->tx.next;
	flow->local->stats.data_frames_out++;
	/* A frame copied before its turn may come from a time when frames could be larger. */
	if (sent->buffer && gamma_unlikely(too_large(flow, sent))) {
		sent->unsent = 1;
		return begin_parts(flow, sent, seq, now, frame);
	}
	gamma_send_window_transmitted(flow, sent, now);
	build_data(flow, sent, seq, flags, now, frame);
	return true;
}

static void begin_frame(struct gamma_flow *flow, struct gamma_frame *frame)
{
	frame->flow = flow;
	frame->rail = flow->rail;
	frame->iov_count = 0;
	frame->part = frame->padded = false;
	frame->ecn = flow->ecn.capable;
	frame->part_at = 0;
}

static bool has_more(const struct gamma_flow *flow)
{
	return gamma_send_has_frames(flow) || flow->tx.lost || flow->tx.sending_parts ||
	       flow->pending || gamma_ack_due(flow);
}

/* Frames under way, but for what a deferred acknowledgement reports. */
static uint16_t under_way(const struct gamma_flow *flow)
{
	const struct gamma_deferred_ack *deferred = &flow->local->deferred;

	return (uint16_t) (deferred->flow == flow && deferred->has_ack
				   ? flow->tx.next - deferred->ack
				   : gamma_send_window_unacked(&flow->tx));
}

static bool put_message(struct gamma_flow *flow, struct gamma_sent *sent, const struct iovec *iov,
			unsigned iov_count, const struct gamma_envelope *envelope)
{
	struct gamma_buffer *buffer = gamma_local_get_buffer(flow->local);
	uint32_t len = (uint32_t) envelope->length;

	if (!buffer)
		return false;
	buffer->content.op = GAMMA_OP_SEND;
	buffer->content.extensions = gamma_envelope_extensions(envelope);
	buffer->content.tag = envelope->tag;
	buffer->content.data = envelope->data;
	buffer->len = len;
	gamma_iov_read(iov, iov_count, 0, buffer->payload, len);
	*sent = (struct gamma_sent){
		.buffer = buffer,
		.len = len,
		.ahead = under_way(flow),
		.op = GAMMA_OP_SEND,
		.rail = flow->rail,
	};
	return true;
}

bool gamma_transmit_direct(struct gamma_flow *flow, const struct iovec *iov, unsigned iov_count,
			   const struct gamma_envelope *envelope, uint64_t now,
			   struct gamma_frame *frame)
{
	struct gamma_sent *sent;
	uint32_t seq = flow->tx.next;

	if (has_more(flow) ||
	    envelope->length > gamma_send_frame_room(flow, gamma_envelope_extensions(envelope)))
		return false;
	sent = gamma_send_window_next(flow);
	if (!sent || !put_message(flow, sent, iov, iov_count, envelope))
		return false;
	begin_frame(flow, frame);
	flow->tx.next++;
	build_data(flow, sent, seq, 0, now, frame);
	return true;
}

bool gamma_transmit_wants_clock(const struct gamma_flow *flow)
{
	return flow->same_host || gamma_ack_reports_delay(flow) || !flow->loss.first.rtt ||
	       flow->tx.next % GAMMA_EXACT_EVERY == 0;
}

void gamma_transmit_direct_sent(struct gamma_flow *flow, uint64_t left, bool approximate,
				uint64_t now)
{
	struct gamma_stats *stats = &flow->local->stats;
	struct gamma_sent *sent = gamma_send_window_at(&flow->tx, flow->tx.next - 1);

	gamma_send_window_transmitted(flow, sent, now);
	sent->time = left;
	sent->approximate = approximate;
	stats->data_frames_out++;
	stats->messages_out++;
	stats->bytes_copied_out += sent->len;
}

/* Only an answer by the probe's rail shows that this rail passes. */
static uint8_t rail_of_ack(struct gamma_flow *flow, uint8_t op)
{
	if (op == GAMMA_ACK_PROBED)
		return flow->probed_rail;
	return op == GAMMA_ACK_RAIL ? flow->probed_rail : gamma_rails_choice_of_ack(flow);
}

static void poll_ack(struct gamma_flow *flow, uint8_t kind, uint8_t op, uint32_t seq, uint64_t now,
		     struct gamma_frame *frame)
{
	struct gamma_fields fields;

	if (gamma_unlikely(flow->rails) && kind == GAMMA_KIND_ACK)
		take_rail(flow, rail_of_ack(flow, op), frame);
	begin_fields(flow, &fields, kind, op);
	fields.seq = seq;
	gamma_ack_attach(flow, &fields, true, now);
	if (gamma_unlikely(flow->ack.spurious)) {
		fields.flags |= GAMMA_FLAG_AGAIN;
		flow->ack.spurious = false;
	}
	if (flow->mtu_reported < GAMMA_MTU_REPORTS &&
	    (flow->path_mtu.lowered || flow->local->limits.mtu != GAMMA_SAFE_MTU))
		attach_mtu(flow, &fields);
	if (kind == GAMMA_KIND_ACK)
		flow->local->stats.acks_out++;
	build(flow, &fields, frame->room + sizeof(frame->room), frame);
}

static void poll_plain_ack(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
{
	flow->pending &= ~GAMMA_PENDING_MARKS;
	poll_ack(flow, GAMMA_KIND_ACK, GAMMA_ACK_PLAIN, flow->ecn.count, now, frame);
}

/* The bytes of padded probes; false: no memory. */
static bool has_zeros(struct gamma_local *local)
{
	uint32_t largest = (uint32_t) gamma_max(local->limits.mtu, local->limits.rail_mtu);

	if (!local->zeros)
		local->zeros = calloc(1, gamma_max(largest, GAMMA_LEAST_MTU));
	return local->zeros;
}

static void pad_frame(const struct gamma_flow *flow, struct gamma_fields *fields, uint32_t size,
		      struct gamma_frame *frame)
{
	size_t len = size - GAMMA_HEADER_LEN - gamma_codec_extensions_len(fields->extensions);

	fields->payload_len = (uint16_t) len;
	build(flow, fields, frame->room + sizeof(frame->room), frame);
	frame->iov[0] = (struct iovec){.iov_base = flow->local->zeros, .iov_len = len};
	frame->iov_count = 1;
}

/* A probe of that size, bytes after the Ethernet header. */
static bool poll_padded(struct gamma_flow *flow, uint32_t size, struct gamma_frame *frame)
{
	struct gamma_local *local = flow->local;
	struct gamma_fields fields;

	if (!has_zeros(local))
		return false;
	frame->rail = 0;
	begin_fields(flow, &fields, GAMMA_KIND_PROBE, GAMMA_PROBE_MTU);
	fields.seq = ++flow->path_mtu.probe;
	attach_mtu(flow, &fields);
	fields.probe = (uint16_t) size;
	pad_frame(flow, &fields, size, frame);
	frame->padded = true;
	local->stats.mtu_probes_out++;
	return true;
}

static bool poll_mtu_probe(struct gamma_flow *flow, struct gamma_frame *frame)
{
	if (!flow->path_mtu.target)
		return false;
	flow->path_mtu.asked_serial = flow->tx.serial;
	return poll_padded(flow, flow->path_mtu.target, frame);
}

static void poll_mtu_answer(struct gamma_flow *flow, struct gamma_frame *frame)
{
	struct gamma_fields fields;

	frame->rail = 0;
	begin_fields(flow, &fields, GAMMA_KIND_ACK, GAMMA_ACK_PROBED);
	fields.seq = flow->mtu_probed;
	attach_mtu(flow, &fields);
	fields.probe = (uint16_t) flow->mtu_probed_size;
	build(flow, &fields, frame->room + sizeof(frame->room), frame);
	frame->padded = true;
}

static void poll_plain(struct gamma_flow *flow, uint8_t kind, uint8_t op, uint32_t seq,
		       struct gamma_frame *frame)
{
	struct gamma_fields fields;

	begin_fields(flow, &fields, kind, op);
	fields.seq = seq;
	build(flow, &fields, frame->room + sizeof(frame->room), frame);
}

static void poll_lookup(struct gamma_flow *flow, struct gamma_frame *frame)
{
	struct gamma_fields fields;

	flow->local->stats.lookups_out++;
	frame->rail = 0;
	begin_fields(flow, &fields, GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_ASK);
	fields.dst_epoch = GAMMA_EPOCH_ANY;
	fields.seq = flow->lookup;
	build(flow, &fields, frame->room + sizeof(frame->room), frame);
}

static void poll_probe(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
{
	struct gamma_loss *loss = &flow->loss;

	loss->probe_time = now;
	loss->probe_serial = flow->tx.serial;
	loss->probe_rail = frame->rail;
	flow->local->stats.probes_out++;
	poll_plain(flow, GAMMA_KIND_PROBE, GAMMA_PROBE_PLAIN, loss->probe, frame);
}

/* ---- questions and answers of rails ---- */

static void poll_list(struct gamma_flow *flow, uint8_t kind, uint8_t op, uint32_t seq,
		      struct gamma_frame *frame)
{
	struct gamma_local *local = flow->local;
	struct gamma_fields fields;

	gamma_rails_list_fill(local, &local->list);
	begin_fields(flow, &fields, kind, op);
	fields.seq = seq;
	fields.extensions = GAMMA_EXT_PAYLOAD_CRC;
	fields.payload_len = sizeof(local->list);
	fields.payload_crc = gamma_crc32c(0, &local->list, sizeof(local->list));
	build(flow, &fields, frame->room + sizeof(frame->room), frame);
	frame->iov[0] = (struct iovec){.iov_base = &local->list, .iov_len = sizeof(local->list)};
	frame->iov_count = 1;
}

static bool poll_rail_probe(struct gamma_flow *flow, uint8_t rail, uint64_t now,
			    struct gamma_frame *frame)
{
	struct gamma_fields fields;
	uint32_t size;

	if (flow->local->rails_busy >> rail & 1 || !has_zeros(flow->local)) {
		gamma_rails_probe_later(flow, rail, now);
		return false;
	}
	gamma_rails_probing(flow, rail, now);
	size = flow->rails->rail[rail].probe_size;
	frame->rail = rail;
	begin_fields(flow, &fields, GAMMA_KIND_PROBE, GAMMA_PROBE_RAIL);
	fields.seq = flow->rails->rail[rail].probe;
	flow->local->stats.probes_out++;
	if (size)
		pad_frame(flow, &fields, size, frame);
	else
		build(flow, &fields, frame->room + sizeof(frame->room), frame);
	return true;
}

/* The first of what rails have to ask and to answer; what remains has its turn after it. */
static bool poll_rails(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
{
	struct gamma_rails *rails = flow->rails;

	if (rails->lists) {
		rails->lists = false;
		frame->rail = rails->lists_on;
		poll_list(flow, GAMMA_KIND_ACK, GAMMA_ACK_RAILS, rails->listed, frame);
		return true;
	}
	if (rails->ask_wanted) {
		rails->ask_wanted = false;
		poll_list(flow, GAMMA_KIND_PROBE, GAMMA_PROBE_RAILS, rails->ask, frame);
		return true;
	}
	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++) {
		if (rails->rail[r].answers) {
			rails->rail[r].answers = false;
			flow->probed_rail = r;
			poll_ack(flow, GAMMA_KIND_ACK, GAMMA_ACK_RAIL, rails->rail[r].asked, now,
				 frame);
			return true;
		}
		if (rails->rail[r].wanted && poll_rail_probe(flow, r, now, frame))
			return true;
	}
	return false;
}

/* One of the waiting control frames, the lowest bit first. */
static bool poll_pending(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
{
	uint32_t what = flow->pending & -flow->pending;

	flow->pending &= ~what;
	switch (what) {
	case GAMMA_PENDING_LOOKUP:
		poll_lookup(flow, frame);
		return true;
	case GAMMA_PENDING_PROBE:
		poll_probe(flow, now, frame);
		return true;
	case GAMMA_PENDING_PROBED:
		poll_ack(flow, GAMMA_KIND_ACK, GAMMA_ACK_PROBED, flow->probed, now, frame);
		return true;
	case GAMMA_PENDING_REQUEST:
		flow->local->stats.requests_out++;
		poll_plain(flow, GAMMA_KIND_REQUEST, 0, flow->tx.next, frame);
		return true;
	case GAMMA_PENDING_RECLAIM:
		flow->local->stats.reclaims_out++;
		poll_ack(flow, GAMMA_KIND_RECLAIM, GAMMA_ASK, 0, now, frame);
		return true;
	case GAMMA_PENDING_RECLAIMED:
		poll_plain(flow, GAMMA_KIND_RECLAIM, GAMMA_ANSWER, flow->tx.returned, frame);
		return true;
	case GAMMA_PENDING_MTU:
		return poll_mtu_probe(flow, frame);
	case GAMMA_PENDING_MTU_PROBED:
		poll_mtu_answer(flow, frame);
		return true;
	case GAMMA_PENDING_MTU_VERIFY:
		return poll_padded(flow, (uint32_t) gamma_min(flow->path_mtu.mtu, GAMMA_LEAST_MTU),
				   frame);
	case GAMMA_PENDING_BYE:
		poll_ack(flow, GAMMA_KIND_BYE, GAMMA_ASK, flow->tx.next, now, frame);
		return true;
	case GAMMA_PENDING_BYE_ANSWER:
		poll_plain(flow, GAMMA_KIND_BYE, GAMMA_ANSWER, 0, frame);
		return true;
	case GAMMA_PENDING_RAILS:
		if (!poll_rails(flow, now, frame))
			return false;
		flow->pending |= what; /* there may be more */
		return true;
	case GAMMA_PENDING_MARKS:
		poll_plain_ack(flow, now, frame);
		return true;
	case GAMMA_PENDING_CLOSED: /* no error, and so not counted as one */
		poll_ack(flow, GAMMA_KIND_RESET, GAMMA_RESET_CLOSED, flow->probed, now, frame);
		return true;
	}
	return false;
}

/* The peer waits for an acknowledgement now, and the next data has no room for it. */
static bool ack_cannot_ride(const struct gamma_flow *flow)
{
	return gamma_ack_due(flow) && flow->state == GAMMA_FLOW_OPEN &&
	       (gamma_receive_window_sack_is_long(flow) || gamma_send_fills_frame(flow));
}

static bool poll_frame(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
{
	begin_frame(flow, frame);
	if (gamma_likely(flow->state == GAMMA_FLOW_OPEN)) {
		if (gamma_unlikely(flow->tx.sending_parts) && poll_part(flow, now, frame))
			return true;
		if (poll_lost(flow, now, frame))
			return true;
	}
	while (gamma_unlikely(flow->pending))
		if (poll_pending(flow, now, frame))
			return true;
	if (gamma_unlikely(ack_cannot_ride(flow))) {
		poll_plain_ack(flow, now, frame);
		return true;
	}
	if (flow->state == GAMMA_FLOW_OPEN && poll_new(flow, now, frame)) {
		if (gamma_likely(!has_more(flow)))
			gamma_list_remove(&flow->ready_entry);
		return true;
	}
	if (flow->pending && poll_pending(flow, now, frame)) /* no credit: a REQUEST */
		return true;
	if (gamma_ack_due(flow) && flow->state == GAMMA_FLOW_OPEN) {
		poll_plain_ack(flow, now, frame);
		return true;
	}
	gamma_list_remove(&flow->ready_entry);
	return false;
}

/* Questions and answers of rails leave before data: a link that refuses its first frame takes no
 * later one either, and only their answers show which rail works. */
static GAMMA_NOINLINE bool poll_with_rails(struct gamma_flow *flow, uint64_t now,
					   struct gamma_frame *frame)
{
	bool found = false;

	if (flow->pending & GAMMA_PENDING_RAILS && flow->state == GAMMA_FLOW_OPEN) {
		begin_frame(flow, frame);
		found = poll_rails(flow, now, frame);
		if (!found)
			flow->pending &= ~(uint32_t) GAMMA_PENDING_RAILS;
	}
	found = found || poll_frame(flow, now, frame);
	gamma_rails_choice_polled(flow);
	return found;
}

bool gamma_transmit_poll(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
{
	return gamma_likely(!flow->rails) ? poll_frame(flow, now, frame)
					  : poll_with_rails(flow, now, frame);
}

static enum gamma_pending pending_of(const struct gamma_frame *frame)
{
	switch (frame->kind) {
	case GAMMA_KIND_LOOKUP:
		return GAMMA_PENDING_LOOKUP;
	case GAMMA_KIND_REQUEST:
		return GAMMA_PENDING_REQUEST;
	case GAMMA_KIND_RECLAIM:
		return frame->op == GAMMA_ASK ? GAMMA_PENDING_RECLAIM : GAMMA_PENDING_RECLAIMED;
	case GAMMA_KIND_BYE:
		return frame->op == GAMMA_ASK ? GAMMA_PENDING_BYE : GAMMA_PENDING_BYE_ANSWER;
	case GAMMA_KIND_RESET:
		return GAMMA_PENDING_CLOSED;
	}
	return 0; /* a timer repeats it */
}

void gamma_transmit_unsent(struct gamma_flow *flow, const struct gamma_frame *frame, uint64_t now)
{
	struct gamma_sent *sent;

	/* Trying again moves the probe timer on each time: a cable pulled for good is noticed here.
	 */
	if (!gamma_flow_usable(flow) ||
	    (flow->loss.waiting_since && gamma_loss_peer_dead(flow, now)))
		return;
	if (frame->reports_mtu && flow->mtu_reported)
		flow->mtu_reported--;
	if (frame->kind == GAMMA_KIND_DATA) {
		if (frame->part) { /* counted when it was polled, and again when it leaves */
			flow->local->stats.retransmissions -= frame->again;
			flow->local->stats.parts_out--;
		}
		if (gamma_seq_before(frame->seq, flow->tx.una) ||
		    !gamma_seq_before(frame->seq, flow->tx.next))
			return;
		sent = gamma_send_window_at(&flow->tx, frame->seq);
		if (sent->state != GAMMA_SENT_FLYING)
			return;
		sent->unsent = 1;
		sent->part = frame->part_at;
		flow->repair.flying -= sent->again && flow->repair.flying;
		if (sent->large && sent->rail)
			gamma_rails_large_refused(flow, sent->rail, now);
		else if (sent->large)
			gamma_path_mtu_refused(flow, now);
		/* The acknowledgement that may have ridden on it has not left either. */
		flow->ack.sent_limit = flow->credit.limit - 1;
		gamma_send_window_mark_lost(flow, frame->seq);
	} else if (frame->rail != flow->rail) {
		return; /* the peer asks for it again, or a timer does */
	} else if (frame->padded) {
		if (frame->kind == GAMMA_KIND_PROBE)
			gamma_path_mtu_unsent(flow);
		else
			gamma_flow_want(flow, GAMMA_PENDING_MTU_PROBED);
	} else if (frame->kind == GAMMA_KIND_ACK && frame->op == GAMMA_ACK_PROBED) {
		gamma_flow_want(flow, GAMMA_PENDING_PROBED);
	} else if (frame->kind == GAMMA_KIND_ACK) {
		gamma_ack_now(flow);
	} else if (pending_of(frame)) {
		gamma_flow_want(flow, pending_of(frame));
	}
}
