// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The next frame that a flow sends. Lost frames go first (a peer waits for them), then single
 * control frames (a peer waits for answers), then new data, and an acknowledgement of its own only
 * if no data carried it.
 */
#include "flow/transmit.h"

#include "base/iov.h"
#include "flow/build.h"
#include "flow/control.h"
#include "flow/flow.h"
#include "flow/rails_choice.h"
#include "flow/rails_mtu.h"
#include "flow/upcalls.h"

/* ---- frames built when the path carried larger ones: they leave in parts ---- */

static void take_rail(struct gamma_flow *flow, uint8_t rail, struct gamma_frame *frame)
{
	frame->rail = rail;
	if (gamma_unlikely(flow->rails))
		gamma_rails_choice_use(flow, rail);
}

/* Ordered frames of a longer message leave in a train. A peer that expects none looks for trains
 * seldom: then the first one is raw, and is there before the others. */
static bool leaves_in_train(const struct gamma_flow *flow, uint64_t now)
{
	enum gamma_send_part part;

	if (!gamma_rails_choice_has_trains(flow))
		return false;
	part = gamma_send_part_of(flow);
	return part == GAMMA_SEND_GOES_ON ||
	       (part == GAMMA_SEND_BEGINS && gamma_rails_choice_is_expected(flow, now));
}

/* Short messages alone need no rail over UDP. */
static GAMMA_NOINLINE void begin_rails(struct gamma_flow *flow)
{
	if (gamma_send_is_placed(flow) || gamma_send_part_of(flow) == GAMMA_SEND_GOES_ON)
		gamma_rails_begin(flow);
}

/* The rail that this new DATA frame takes. */
static void choose_rail(struct gamma_flow *flow, struct gamma_sent *sent, uint64_t now,
			struct gamma_frame *frame)
{
	if (gamma_unlikely(flow->local->use_udp) && !flow->rails && !flow->same_host)
		begin_rails(flow);
	if (gamma_unlikely(flow->rails))
		frame->rail = gamma_rails_choice_next(flow, gamma_send_is_placed(flow) ||
								    gamma_send_is_divided(flow) ||
								    leaves_in_train(flow, now));
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
	flow->local->stats.retransmissions += sent->again != 0;
	flow->local->stats.parts_out++;
	gamma_build_part(flow, sent, tx->part_seq, now, frame);
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
	/* A frame that the link never took is not sent again, though its shape changes. */
	if (!sent->unsent || sent->again)
		sent->again = gamma_build_count_parts(flow, sent);
	flow->repair.flying += sent->again;
	if (gamma_unlikely(sent->part || gamma_build_is_too_large(flow, sent)))
		return begin_parts(flow, sent, seq, now, frame);
	flow->local->stats.retransmissions += !sent->unsent;
	sent->unsent = 0;
	gamma_send_window_transmitted(flow, sent, now);
	gamma_build_data(flow, sent, seq,
			 GAMMA_FLAG_ACK_REQUESTED | (sent->again ? GAMMA_FLAG_AGAIN : 0), now,
			 frame);
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
	choose_rail(flow, sent, now, frame);
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
	if (sent->buffer && gamma_unlikely(gamma_build_is_too_large(flow, sent))) {
		sent->unsent = 1;
		return begin_parts(flow, sent, seq, now, frame);
	}
	gamma_send_window_transmitted(flow, sent, now);
	gamma_build_data(flow, sent, seq, flags, now, frame);
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
	gamma_build_data(flow, sent, seq, 0, now, frame);
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
		if (gamma_control_poll(flow, now, frame))
			return true;
	if (gamma_unlikely(ack_cannot_ride(flow))) {
		gamma_control_poll_ack(flow, now, frame);
		return true;
	}
	if (flow->state == GAMMA_FLOW_OPEN && poll_new(flow, now, frame)) {
		if (gamma_likely(!has_more(flow)))
			gamma_list_remove(&flow->ready_entry);
		return true;
	}
	if (flow->pending && gamma_control_poll(flow, now, frame)) /* no credit: a REQUEST */
		return true;
	if (gamma_ack_due(flow) && flow->state == GAMMA_FLOW_OPEN) {
		gamma_control_poll_ack(flow, now, frame);
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
		found = gamma_control_poll_rails(flow, now, frame);
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

/* The link has not taken a DATA frame. */
static void data_unsent(struct gamma_flow *flow, const struct gamma_frame *frame, uint64_t now)
{
	struct gamma_sent *sent;

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
	flow->repair.flying -= gamma_min(sent->again, flow->repair.flying);
	if (sent->large && sent->rail)
		gamma_rails_mtu_refused(flow, sent->rail, now);
	else if (sent->large)
		gamma_path_mtu_refused(flow, now);
	/* The acknowledgement that may have ridden on it has not left either. */
	flow->ack.sent_limit = flow->credit.limit - 1;
	gamma_send_window_mark_lost(flow, frame->seq);
	/* The count is as old as the last frame that was lost. */
	if (gamma_unlikely(flow->repair.flying >= flow->repair.bound))
		gamma_repair_adapt(flow);
}

void gamma_transmit_unsent(struct gamma_flow *flow, const struct gamma_frame *frame, uint64_t now)
{
	/* Trying again moves the probe timer on each time: a cable pulled for good is noticed here.
	 */
	if (!gamma_flow_usable(flow) ||
	    (flow->loss.waiting_since && gamma_loss_peer_dead(flow, now)))
		return;
	if (frame->reports_mtu && flow->mtu_reported)
		flow->mtu_reported--;
	if (frame->kind == GAMMA_KIND_DATA)
		data_unsent(flow, frame, now);
	else
		gamma_control_unsent(flow, frame);
}
