// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The sender's side of the sequence: which DATA frames are under way, which have arrived, which
 * are to be sent again. Frame numbers una <= n < next are in sent[]; nothing else is.
 */
#include "flow/send_window.h"

#include <stdlib.h>

#include "flow/flow.h"
#include "flow/upcalls.h"

enum {
	FIRST_SIZE = 16, /* entries of sent[] at first; most peers never need more */
	/* Frames whose memory is needed, with notices: a frame of the peer's may be a BATCH of 65
	 * messages, and each of them may need one. */
	HELD_MAX = 128 * GAMMA_WINDOW_MAX,
};

void gamma_send_window_begin(struct gamma_flow *flow, uint32_t first)
{
	struct gamma_send_window *tx = &flow->tx;

	tx->first = tx->next = tx->una = tx->asked = tx->lost_from = first;
	tx->short_sent = tx->backlog_sent = tx->acked = first;
	tx->limit = first + GAMMA_FIRST_CREDIT;
	gamma_repair_begin(flow);
}

bool gamma_send_window_is_open(const struct gamma_flow *flow)
{
	const struct gamma_send_window *tx = &flow->tx;

	return flow->state == GAMMA_FLOW_OPEN &&
	       gamma_seq_before(tx->next + tx->returned, tx->limit) &&
	       gamma_send_window_unacked(&flow->tx) < GAMMA_WINDOW_MAX &&
	       (gamma_likely(!flow->congestion.on) || gamma_congestion_is_open(flow));
}

/* Notices go on where the window is full of what is held back for the peer's. Else two sides that
 * both demote would wait forever for each other's notices. */
static bool takes_notice(const struct gamma_flow *flow)
{
	const struct gamma_send_window *tx = &flow->tx;

	return flow->state == GAMMA_FLOW_OPEN && tx->held_back &&
	       gamma_seq_before(tx->next + tx->returned, tx->limit) &&
	       gamma_send_window_in_flight(tx) < GAMMA_WINDOW_MAX &&
	       gamma_send_window_unacked(tx) < HELD_MAX && gamma_send_has_notices(flow) &&
	       (!flow->congestion.on || gamma_congestion_is_open(flow));
}

static bool grow_window(struct gamma_flow *flow)
{
	struct gamma_send_window *tx = &flow->tx;
	uint32_t size = tx->size ? 2 * tx->size : FIRST_SIZE;
	struct gamma_sent *sent = calloc(size, sizeof(*sent));

	if (!sent)
		return false;
	for (uint32_t seq = tx->una; seq != tx->next; seq++)
		sent[seq & (size - 1)] = *gamma_send_window_at(&flow->tx, seq);
	free(tx->sent);
	tx->sent = sent;
	tx->size = size;
	return true;
}

struct gamma_sent *gamma_send_window_next(struct gamma_flow *flow)
{
	if (!gamma_send_window_is_open(flow) && !takes_notice(flow))
		return NULL;
	if (gamma_unlikely(gamma_send_window_unacked(&flow->tx) == flow->tx.size) &&
	    !grow_window(flow))
		return NULL;
	return gamma_send_window_at(&flow->tx, flow->tx.next);
}

void gamma_send_window_transmitted(struct gamma_flow *flow, struct gamma_sent *sent, uint64_t now)
{
	sent->time = now;
	sent->approximate = false;
	sent->serial = ++flow->tx.serial;
	sent->state = GAMMA_SENT_FLYING;
	if (gamma_unlikely(flow->rails))
		gamma_rails_transmitted(flow, sent, now);
	gamma_loss_transmitted(flow, now);
}

void gamma_send_window_run(struct gamma_flow *flow, const struct gamma_sent *last, uint32_t count,
			   uint64_t now)
{
	struct gamma_send_window *tx = &flow->tx;

	for (uint32_t i = 1; i <= count; i++) {
		struct gamma_sent *sent = gamma_send_window_at(tx, tx->next);

		*sent = *last;
		sent->offset += (uint64_t) i * last->len;
		sent->serial = ++tx->serial;
		sent->ahead = (uint16_t) gamma_send_window_in_flight(tx);
		sent->counted = false;
		if (gamma_unlikely(flow->rails))
			gamma_rails_transmitted(flow, sent, now);
		tx->next++;
	}
	gamma_loss_transmitted(flow, now);
}

void gamma_send_window_mark_lost(struct gamma_flow *flow, uint32_t seq)
{
	struct gamma_send_window *tx = &flow->tx;

	gamma_send_window_at(&flow->tx, seq)->state = GAMMA_SENT_LOST;
	if (gamma_unlikely(flow->rails))
		gamma_rails_lost(flow, gamma_send_window_at(&flow->tx, seq));
	if (!tx->lost++ || gamma_seq_before(seq, tx->lost_from))
		tx->lost_from = seq;
	gamma_flow_ready(flow);
}

struct gamma_sent *gamma_send_window_next_lost(struct gamma_flow *flow, uint32_t *seq)
{
	struct gamma_send_window *tx = &flow->tx;

	if (gamma_likely(!tx->lost))
		return NULL;
	if (gamma_seq_before(tx->lost_from, tx->una))
		tx->lost_from = tx->una;
	for (; tx->lost_from != tx->next; tx->lost_from++) {
		struct gamma_sent *sent = gamma_send_window_at(&flow->tx, tx->lost_from);

		if (sent->state != GAMMA_SENT_LOST)
			continue;
		tx->lost--;
		*seq = tx->lost_from;
		return sent;
	}
	return NULL;
}

/* The peer has this frame: it is never sent again. Its memory is free when everything before it
 * has arrived too, for only then has the peer looked at it. */
static void arrived(struct gamma_flow *flow, struct gamma_sent *sent, uint64_t heard)
{
	if (sent->state == GAMMA_SENT_ARRIVED)
		return;
	gamma_loss_delivered(flow, sent, heard);
	gamma_path_mtu_delivered(flow, sent);
	if (sent->state == GAMMA_SENT_LOST)
		flow->tx.lost--;
	sent->state = GAMMA_SENT_ARRIVED;
	if (gamma_unlikely(flow->congestion.on))
		gamma_congestion_arrived(flow, sent, heard);
}

static void take_sack(struct gamma_flow *flow, const struct gamma_fields *fields, uint64_t heard)
{
	uint32_t words = (fields->extensions & GAMMA_EXT_SACK_LONG ? GAMMA_SACK_LONG_BITS
								   : GAMMA_SACK_BITS) /
			 64;

	for (uint32_t i = 0; i < words; i++) {
		for (uint64_t bits = fields->sack[i]; bits; bits &= bits - 1) {
			uint32_t seq =
				fields->sack_base + 64 * i + (uint32_t) __builtin_ctzll(bits);

			if (!gamma_seq_before(seq, flow->tx.una) &&
			    gamma_seq_before(seq, flow->tx.next))
				arrived(flow, gamma_send_window_at(&flow->tx, seq), heard);
		}
	}
}

/* The round trip without the time that the frame waited at the peer. Frames that were sent twice
 * are ambiguous: which transmission is meant? Nor does an acknowledgement of which is not known
 * when it came, taken by a process so late that a timer should have run. */
static void take_delay(struct gamma_flow *flow, const struct gamma_fields *fields, uint64_t heard,
		       uint64_t now)
{
	const struct gamma_sent *sent;
	uint64_t passed;

	if (gamma_seq_before(fields->echo, flow->tx.una) ||
	    !gamma_seq_before(fields->echo, flow->tx.next) || fields->delay == UINT32_MAX ||
	    (heard == now && flow->local->next_deadline < now))
		return;
	sent = gamma_send_window_at(&flow->tx, fields->echo);
	passed = heard > sent->time ? heard - sent->time : 0;
	if (sent->state == GAMMA_SENT_FLYING && !sent->again && passed > fields->delay)
		gamma_loss_sample(flow, passed, fields->delay, sent);
}

/* Everything before ack has arrived; but the peer could not keep some of it, and says so in notices
 * that are still to come: until then the memory stays, for the bytes may be needed again. */
static void hold_back(struct gamma_flow *flow, const struct gamma_fields *fields, uint64_t heard)
{
	struct gamma_send_window *tx = &flow->tx;

	if (!gamma_seq_before(tx->una, fields->ack))
		return; /* it acknowledges nothing: a late one, or a forged one */
	for (uint32_t seq = tx->una; gamma_seq_before(seq, fields->ack); seq++)
		arrived(flow, gamma_send_window_at(&flow->tx, seq), heard);
	tx->held_back = true;
	tx->acked = fields->ack;
	tx->acked_cuts = fields->cuts;
}

static void take_ack(struct gamma_flow *flow, uint32_t ack, uint64_t heard)
{
	struct gamma_send_window *tx = &flow->tx;
	uint32_t una = tx->una;

	while (gamma_seq_before(tx->una, ack)) {
		struct gamma_sent *sent = gamma_send_window_at(&flow->tx, tx->una);

		arrived(flow, sent, heard);
		gamma_send_acked(flow, sent);
		tx->una++;
	}
	if (gamma_unlikely(flow->congestion.on))
		gamma_congestion_released(flow, tx->una - una);
}

/* A newer acknowledgement that waits for no notice: the one that did was forged. */
static void release_held(struct gamma_flow *flow, const struct gamma_fields *fields)
{
	if (!gamma_seq_before(fields->ack, flow->tx.acked))
		flow->tx.held_back = false;
}

void gamma_send_window_resume(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_send_window *tx = &flow->tx;

	if (gamma_seq_before(flow->tx.cuts_seen, tx->acked_cuts))
		return;
	tx->held_back = false;
	take_ack(flow, tx->acked, now); /* all marked as arrived already: no evidence of now */
	gamma_loss_acked(flow, true, now);
	if (gamma_send_has_frames(flow))
		gamma_flow_ready(flow);
}

bool gamma_send_window_receive_ack(struct gamma_flow *flow, const struct gamma_fields *fields,
				   uint64_t heard, uint64_t now)
{
	struct gamma_send_window *tx = &flow->tx;
	uint64_t evidence = gamma_loss_evidence(flow);
	/* Frames that were overtaken are only waited for while this timer runs. */
	uint64_t window =
		gamma_timers_is_set(flow, GAMMA_TIMER_LOSS) ? gamma_loss_reorder_window(flow) : 0;
	uint32_t una = tx->una;
	bool later; /* transmissions have arrived */

	if (gamma_seq_before(tx->next, fields->ack))
		return false;
	/* In the answer to a probe the delay counts from the probe. */
	if (fields->extensions & GAMMA_EXT_DELAY &&
	    !(fields->kind == GAMMA_KIND_ACK && fields->op == GAMMA_ACK_PROBED))
		take_delay(flow, fields, heard, now);
	if (gamma_unlikely(fields->extensions & GAMMA_EXT_CUTS &&
			   gamma_seq_before(flow->tx.cuts_seen, fields->cuts))) {
		hold_back(flow, fields, heard);
	} else {
		take_ack(flow, fields->ack, heard);
		if (gamma_unlikely(tx->held_back))
			release_held(flow, fields);
	}
	if (fields->extensions & (GAMMA_EXT_SACK | GAMMA_EXT_SACK_LONG))
		take_sack(flow, fields, heard);
	gamma_credit_receive_limit(flow, fields->limit);
	later = gamma_loss_evidence(flow) != evidence;
	/* With several rails, the window of any may have become shorter. */
	if (later || (window && (flow->rails || gamma_loss_reorder_window(flow) < window)))
		gamma_loss_detect(flow, now);
	else if (gamma_unlikely(tx->lost)) /* what was sent again and has arrived makes room */
		gamma_repair_adapt(flow);
	gamma_loss_acked(flow, tx->una != una || later, now);
	/* Room in the window, or, with nothing under way any more, time to ask for credit. */
	if ((tx->una != una && gamma_send_has_frames(flow)) || gamma_unlikely(flow->congestion.on))
		gamma_flow_ready(flow);
	return true;
}

void gamma_send_window_drop(struct gamma_flow *flow)
{
	struct gamma_send_window *tx = &flow->tx;

	for (; tx->una != tx->next; tx->una++) {
		struct gamma_sent *sent = gamma_send_window_at(&flow->tx, tx->una);

		if (sent->buffer)
			gamma_local_put_buffer(flow->local, sent->buffer);
		sent->buffer = NULL;
		sent->send = NULL;
		sent->state = GAMMA_SENT_ARRIVED;
	}
	tx->lost = 0;
	flow->congestion.arrived = 0;
	tx->held_back = false;
}
