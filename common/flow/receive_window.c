// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The receiver's side of the sequence: each DATA frame is taken once. Messages begin in order;
 * an early frame is used at once if its bytes have a place already, else kept until its turn.
 * Every frame leaves the receive ring at once: what is kept is a copy.
 */
#include "flow/receive_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"
#include "flow/reassembly.h"
#include "flow/upcalls.h"

enum { LATE = 1 << 20 }; /* frames: no frame of this sequence comes so late */

struct gamma_early_frame {
	struct gamma_fields fields;
	uint8_t payload[];
};

void gamma_receive_window_begin(struct gamma_flow *flow, uint32_t first)
{
	struct gamma_receive_window *rx = &flow->rx;

	gamma_credit_shift(flow, first - rx->arrived);
	rx->begun = true;
	rx->first = rx->next = rx->highest = rx->arrived = first;
}

/* Is it a number of this side's own sequence: of a frame, or of the next one? */
static bool has_number(const struct gamma_fields *fields)
{
	return fields->kind == GAMMA_KIND_DATA || fields->kind == GAMMA_KIND_REQUEST ||
	       (fields->kind == GAMMA_KIND_BYE && fields->op == GAMMA_ASK);
}

/* Whether the number may be of this sequence now: none comes before the first one, and that of the
 * next frame may be one beyond the window. */
static bool is_possible(const struct gamma_receive_window *rx, const struct gamma_fields *fields)
{
	uint32_t past = (uint32_t) gamma_min(rx->next - rx->first, LATE);
	uint32_t ahead = GAMMA_WINDOW_MAX - (fields->kind == GAMMA_KIND_DATA);

	return fields->seq - (rx->next - past) <= past + ahead;
}

/* Numbers begin at a multiple of the window, and until an acknowledgement has left the peer may
 * send no more than its first credit. A number that cannot be may have been forged, or it is right
 * and those at hand were forged. */
bool gamma_receive_window_admits(struct gamma_flow *flow, const struct gamma_fields *fields,
				 uint64_t now)
{
	const struct gamma_receive_window *rx = &flow->rx;
	uint32_t behind = fields->seq % GAMMA_WINDOW_MAX;
	uint32_t first = fields->seq - behind;

	if (!has_number(fields) || (rx->begun && is_possible(rx, fields)))
		return true;
	if (behind > GAMMA_FIRST_CREDIT)
		return rx->begun;
	if (!rx->begun)
		gamma_receive_window_begin(flow, first);
	else if (rx->first != first)
		gamma_loss_challenge(flow, now);
	return rx->first == first;
}

/* A forged frame has begun the sequence. As long as it brought no frame, the sequence can begin
 * anew. */
void gamma_receive_window_prove(struct gamma_flow *flow, uint32_t first, uint64_t now)
{
	struct gamma_receive_window *rx = &flow->rx;

	if (rx->proven || !rx->begun)
		return;
	if (rx->first != first && (rx->arrived != rx->first || rx->highest != rx->first)) {
		gamma_flow_fail_for_good(flow, -ECONNRESET,
					 "another host has sent frames in its name", now);
		return;
	}
	if (rx->first != first)
		gamma_receive_window_begin(flow, first);
	rx->proven = true;
}

static bool bit_test(const struct gamma_receive_window *rx, uint32_t seq)
{
	uint32_t i = seq % GAMMA_WINDOW_MAX;

	return rx->bits[i / 64] >> (i % 64) & 1;
}

static void bit_set(struct gamma_receive_window *rx, uint32_t seq)
{
	uint32_t i = seq % GAMMA_WINDOW_MAX;

	rx->bits[i / 64] |= 1ull << (i % 64);
}

static void bit_clear(struct gamma_receive_window *rx, uint32_t seq)
{
	uint32_t i = seq % GAMMA_WINDOW_MAX;

	rx->bits[i / 64] &= ~(1ull << (i % 64));
}

/* The frame whose turn it is always may: everything behind it waits for it. */
bool gamma_receive_window_may_keep(const struct gamma_flow *flow, uint32_t seq)
{
	const struct gamma_local *local = flow->local;

	return seq == flow->rx.next || local->early_frames < local->pool.slots;
}

static bool hold_frame(struct gamma_flow *flow, const struct gamma_fields *fields,
		       const uint8_t *payload)
{
	struct gamma_receive_window *rx = &flow->rx;
	struct gamma_early_frame *held;

	if (!gamma_receive_window_may_keep(flow, fields->seq))
		return false;
	if (!rx->early)
		rx->early = calloc(GAMMA_WINDOW_MAX, sizeof(*rx->early));
	held = rx->early ? malloc(sizeof(*held) + fields->payload_len) : NULL;
	if (!held)
		return false;
	held->fields = *fields;
	memcpy(held->payload, payload, fields->payload_len);
	rx->early[fields->seq % GAMMA_WINDOW_MAX] = held;
	flow->local->early_frames++;
	return true;
}

static struct gamma_early_frame *held_take(struct gamma_flow *flow, uint32_t seq)
{
	struct gamma_receive_window *rx = &flow->rx;
	struct gamma_early_frame *held = rx->early ? rx->early[seq % GAMMA_WINDOW_MAX] : NULL;

	if (held) {
		rx->early[seq % GAMMA_WINDOW_MAX] = NULL;
		flow->local->early_frames--;
	}
	return held;
}

/* Early frames whose turn has come. */
static void drain_held(struct gamma_flow *flow)
{
	struct gamma_receive_window *rx = &flow->rx;

	while (rx->next != rx->highest && bit_test(rx, rx->next)) {
		struct gamma_early_frame *held = held_take(flow, rx->next);

		if (held && !gamma_receive_frame(flow, &held->fields, held->payload)) {
			rx->early[rx->next % GAMMA_WINDOW_MAX] = held; /* no memory: later */
			flow->local->early_frames++;
			rx->no_memory = true;
			return;
		}
		free(held);
		bit_clear(rx, rx->next);
		rx->next++;
	}
}

void gamma_receive_window_retry(struct gamma_flow *flow)
{
	if (gamma_likely(!flow->rx.no_memory))
		return;
	flow->rx.no_memory = false;
	drain_held(flow);
	if (!flow->rx.no_memory)
		gamma_ack_now(flow);
}

static bool take_early(struct gamma_flow *flow, const struct gamma_fields *fields,
		       const uint8_t *payload)
{
	flow->local->stats.out_of_order++;
	gamma_ack_now(flow);
	if (gamma_receive_is_placeable(flow, fields))
		return gamma_receive_frame(flow, fields, payload);
	return hold_frame(flow, fields, payload);
}

/* False: not taken, as if it had not arrived. */
static bool take_frame(struct gamma_flow *flow, const struct gamma_fields *fields,
		       const uint8_t *payload)
{
	struct gamma_receive_window *rx = &flow->rx;

	if (gamma_likely(fields->seq == rx->next)) {
		if (!gamma_receive_frame(flow, fields, payload))
			return false;
		rx->next++;
	} else {
		if (!take_early(flow, fields, payload))
			return false;
		bit_set(rx, fields->seq);
	}
	if (!gamma_seq_before(fields->seq, rx->highest))
		rx->highest = fields->seq + 1;
	if (gamma_unlikely(rx->next != rx->highest)) {
		gamma_ack_now(flow); /* its sender waits for what fills a gap */
		drain_held(flow);
	}
	return true;
}

void gamma_receive_window_data(struct gamma_flow *flow, const struct gamma_fields *fields,
			       const uint8_t *payload, uint64_t arrived, uint64_t now)
{
	struct gamma_receive_window *rx = &flow->rx;
	uint32_t ahead = fields->seq - rx->next;
	struct gamma_fields whole;

	/* The frame whose turn it is has a bit only while it waits for memory. */
	if (gamma_unlikely(gamma_seq_before(fields->seq, rx->next) ||
			   (ahead < GAMMA_WINDOW_MAX && (ahead || rx->no_memory) &&
			    bit_test(rx, fields->seq)))) {
		flow->local->stats.duplicates++;
		flow->ack.spurious |= fields->flags & GAMMA_FLAG_AGAIN;
		gamma_ack_now(flow); /* the sender has not heard of it */
		return;
	}
	if (gamma_unlikely(ahead >= GAMMA_WINDOW_MAX)) {
		flow->local->stats.stray++;
		return;
	}
	flow->last_data = now;
	if (gamma_unlikely(fields->extensions & GAMMA_EXT_PART)) {
		whole = *fields;
		if (!gamma_reassembly_add(flow, &whole, &payload))
			return;
		fields = &whole;
	}
	if (gamma_unlikely(!take_frame(flow, fields, payload))) {
		flow->local->refused_data = true;
		return;
	}
	gamma_reassembly_drop(flow, fields->seq);
	rx->last = fields->seq;
	rx->last_time = arrived;
	flow->local->stats.data_frames_in++;
	gamma_ack_owe(flow);
	gamma_receive_window_account(flow, fields->seq, fields->flags, now);
}

bool gamma_receive_window_message(struct gamma_flow *flow, const struct gamma_fields *fields,
				  const uint8_t *payload, uint64_t arrived)
{
	struct gamma_receive_window *rx = &flow->rx;

	if (fields->seq != rx->next || rx->next != rx->highest || rx->no_memory ||
	    !gamma_receive_frame(flow, fields, payload))
		return false;
	rx->highest = ++rx->next;
	rx->last = fields->seq;
	rx->last_time = arrived;
	flow->local->stats.data_frames_in++;
	gamma_ack_owe(flow);
	return true;
}

void gamma_receive_window_account(struct gamma_flow *flow, uint32_t seq, uint8_t flags,
				  uint64_t now)
{
	flow->rx.arrived++;
	if (gamma_unlikely(flow->congestion.on))
		gamma_ecn_arrived(flow);
	gamma_credit_arrived(flow, seq, flags);
	gamma_ack_arrived(flow, flags, now);
	/* The rest of a message is owed from now on, also by a peer that is never sent anything. */
	if (gamma_unlikely(flow->owed && !gamma_timers_is_set(flow, GAMMA_TIMER_PROBE)))
		gamma_loss_rearm(flow, now);
}

void gamma_receive_window_run(struct gamma_flow *flow, uint32_t count, uint8_t flags,
			      uint64_t arrived, uint64_t now)
{
	struct gamma_receive_window *rx = &flow->rx;

	if (gamma_unlikely(rx->parts))
		for (uint32_t i = 0; i < count; i++)
			gamma_reassembly_drop(flow, rx->next + i);
	rx->highest = rx->next += count;
	rx->last = rx->next - 1;
	rx->last_time = arrived;
	rx->arrived += count;
	flow->last_data = now;
	flow->local->stats.data_frames_in += count;
	gamma_ack_owe_run(flow, count);
	if (gamma_unlikely(flow->congestion.on))
		gamma_ecn_arrived(flow); /* none is marked, so once is enough */
	gamma_credit_arrived_run(flow, count, rx->last, flags);
	gamma_ack_arrived(flow, flags, now);
	if (gamma_unlikely(flow->owed && !gamma_timers_is_set(flow, GAMMA_TIMER_PROBE)))
		gamma_loss_rearm(flow, now);
}

_Static_assert(GAMMA_SACK_LONG_BITS == GAMMA_WINDOW_MAX, "a long SACK reports the whole window");

/* 64 bits from a frame number on. */
static uint64_t bits_from(const struct gamma_receive_window *rx, uint32_t seq)
{
	uint32_t word = seq % GAMMA_WINDOW_MAX / 64, shift = seq % 64;
	uint64_t low = rx->bits[word] >> shift;
	uint64_t high = rx->bits[(word + 1) % (GAMMA_WINDOW_MAX / 64)];

	return shift ? low | high << (64 - shift) : low;
}

bool gamma_receive_window_sack_is_long(const struct gamma_flow *flow)
{
	return flow->rx.highest - flow->rx.next > GAMMA_SACK_BITS;
}

/* The bits begin at the first gap. */
void gamma_receive_window_sack(const struct gamma_flow *flow, struct gamma_fields *fields)
{
	bool all = gamma_receive_window_sack_is_long(flow);
	uint32_t words = (all ? GAMMA_SACK_LONG_BITS : GAMMA_SACK_BITS) / 64;

	fields->extensions |= all ? GAMMA_EXT_SACK_LONG : GAMMA_EXT_SACK;
	fields->sack_base = flow->rx.next;
	for (uint32_t i = 0; i < words; i++)
		fields->sack[i] = bits_from(&flow->rx, flow->rx.next + 64 * i);
}

void gamma_receive_window_free(struct gamma_flow *flow)
{
	struct gamma_receive_window *rx = &flow->rx;

	for (uint32_t i = 0; rx->early && i < GAMMA_WINDOW_MAX; i++)
		free(held_take(flow, i));
	free(rx->early);
	rx->early = NULL;
	rx->no_memory = false;
	gamma_reassembly_free(flow);
}
