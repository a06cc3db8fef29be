// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * When and with what arriving data is acknowledged. An acknowledgement rides on data going back
 * if there is any; alone it leaves when the sender asked, when a quarter of the granted window is
 * owed, when a frame came early or twice, or when GAMMA_ACK_DELAY_US have passed.
 */
#include "flow/ack.h"

#include "flow/flow.h"

void gamma_ack_now(struct gamma_flow *flow)
{
	flow->ack.now = true;
	gamma_flow_ready(flow);
}

bool gamma_ack_due(const struct gamma_flow *flow)
{
	return flow->ack.now;
}

bool gamma_ack_reports_delay(const struct gamma_flow *flow)
{
	return flow->ack.echo_valid && flow->ack.skipped + 1 >= GAMMA_DELAY_EVERY;
}

void gamma_ack_owe(struct gamma_flow *flow)
{
	flow->ack.owed++;
	flow->ack.echo_valid = true;
}

void gamma_ack_owe_run(struct gamma_flow *flow, uint32_t count)
{
	flow->ack.owed += count;
	flow->ack.echo_valid = true;
}

void gamma_ack_arrived(struct gamma_flow *flow, uint8_t flags, uint64_t now)
{
	struct gamma_ack_state *ack = &flow->ack;

	if (!ack->owed)
		return;
	if (flags & GAMMA_FLAG_ACK_REQUESTED ||
	    (ack->owed >= GAMMA_ACK_EVERY_MIN && ack->owed >= gamma_credit_window(flow) / 4))
		gamma_ack_now(flow);
	else if (!gamma_timers_is_set(flow, GAMMA_TIMER_ACK))
		gamma_timers_set(flow, GAMMA_TIMER_ACK, now + GAMMA_ACK_DELAY_US * GAMMA_NS_PER_US);
}

static void attach_delay(struct gamma_fields *fields, uint32_t echo, uint64_t since, uint64_t now)
{
	uint64_t delay = now > since ? now - since : 0;

	fields->extensions |= GAMMA_EXT_DELAY;
	fields->echo = echo;
	fields->delay = (uint32_t) gamma_min(delay, UINT32_MAX);
}

void gamma_ack_attach(struct gamma_flow *flow, struct gamma_fields *fields, bool alone,
		      uint64_t now)
{
	struct gamma_ack_state *ack = &flow->ack;
	bool probed = fields->kind == GAMMA_KIND_ACK && fields->op == GAMMA_ACK_PROBED;

	if (gamma_unlikely(probed))
		attach_delay(fields, flow->tx.first, flow->probed_time, now);
	if (gamma_unlikely(!flow->rx.begun)) {
		ack->now = false; /* nothing has arrived, and no number could say so */
		return;
	}
	/* The report of a far gap does not fit on data, and a part of it misleads: frames that
	 * have arrived and are not reported would count as lost as soon as a later frame is
	 * reported. An acknowledgement
	 * of its own follows. */
	if (gamma_unlikely(!alone && gamma_receive_window_sack_is_long(flow)))
		return;
	fields->extensions |= GAMMA_EXT_ACK;
	fields->ack = flow->rx.next;
	fields->limit = flow->credit.limit;
	if (flow->rx.next != flow->rx.highest)
		gamma_receive_window_sack(flow, fields);
	if (gamma_unlikely(flow->ack.cuts)) {
		fields->extensions |= GAMMA_EXT_CUTS;
		fields->cuts = flow->ack.cuts;
	}
	if (!probed && ack->echo_valid && (alone || ++ack->skipped >= GAMMA_DELAY_EVERY)) {
		attach_delay(fields, flow->rx.last, flow->rx.last_time, now);
		ack->skipped = 0;
		ack->echo_valid = false;
	}
	ack->owed = 0;
	ack->now = false;
	ack->sent_limit = flow->credit.limit;
	gamma_timers_stop(flow, GAMMA_TIMER_ACK);
}
