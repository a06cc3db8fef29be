// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The control frames that a flow sends: questions, answers, acknowledgements, rails. */
#include "flow/control.h"

#include <stdlib.h>

#include "flow/build.h"
#include "flow/flow.h"
#include "flow/rails.h"
#include "flow/rails_choice.h"
#include "flow/rails_list.h"

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

	if (gamma_unlikely(flow->rails) && kind == GAMMA_KIND_ACK) {
		frame->rail = rail_of_ack(flow, op);
		gamma_rails_choice_use(flow, frame->rail);
	}
	gamma_build_begin(flow, &fields, kind, op);
	fields.seq = seq;
	gamma_ack_attach(flow, &fields, true, now);
	if (gamma_unlikely(flow->ack.spurious)) {
		fields.flags |= GAMMA_FLAG_AGAIN;
		flow->ack.spurious = false;
	}
	if (flow->mtu_reported < GAMMA_MTU_REPORTS &&
	    (flow->path_mtu.lowered || flow->local->limits.mtu != GAMMA_SAFE_MTU))
		gamma_build_attach_mtu(flow, &fields);
	if (kind == GAMMA_KIND_ACK)
		flow->local->stats.acks_out++;
	gamma_build_frame(flow, &fields, frame->room + sizeof(frame->room), frame);
}

void gamma_control_poll_ack(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
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
	gamma_build_frame(flow, fields, frame->room + sizeof(frame->room), frame);
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
	gamma_build_begin(flow, &fields, GAMMA_KIND_PROBE, GAMMA_PROBE_MTU);
	fields.seq = ++flow->path_mtu.probe;
	gamma_build_attach_mtu(flow, &fields);
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
	gamma_build_begin(flow, &fields, GAMMA_KIND_ACK, GAMMA_ACK_PROBED);
	fields.seq = flow->mtu_probed;
	gamma_build_attach_mtu(flow, &fields);
	fields.probe = (uint16_t) flow->mtu_probed_size;
	gamma_build_frame(flow, &fields, frame->room + sizeof(frame->room), frame);
	frame->padded = true;
}

static void poll_plain(struct gamma_flow *flow, uint8_t kind, uint8_t op, uint32_t seq,
		       struct gamma_frame *frame)
{
	struct gamma_fields fields;

	gamma_build_begin(flow, &fields, kind, op);
	fields.seq = seq;
	gamma_build_frame(flow, &fields, frame->room + sizeof(frame->room), frame);
}

static void poll_lookup(struct gamma_flow *flow, struct gamma_frame *frame)
{
	struct gamma_fields fields;

	flow->local->stats.lookups_out++;
	frame->rail = 0;
	gamma_build_begin(flow, &fields, GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_ASK);
	fields.dst_epoch = GAMMA_EPOCH_ANY;
	fields.seq = flow->lookup;
	gamma_build_frame(flow, &fields, frame->room + sizeof(frame->room), frame);
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
	gamma_build_begin(flow, &fields, kind, op);
	fields.seq = seq;
	fields.extensions = GAMMA_EXT_PAYLOAD_CRC;
	fields.payload_len = sizeof(local->list);
	fields.payload_crc = gamma_crc32c(0, &local->list, sizeof(local->list));
	gamma_build_frame(flow, &fields, frame->room + sizeof(frame->room), frame);
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
	gamma_build_begin(flow, &fields, GAMMA_KIND_PROBE, GAMMA_PROBE_RAIL);
	fields.seq = flow->rails->rail[rail].probe;
	flow->local->stats.probes_out++;
	if (size)
		pad_frame(flow, &fields, size, frame);
	else
		gamma_build_frame(flow, &fields, frame->room + sizeof(frame->room), frame);
	return true;
}

bool gamma_control_poll_rails(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
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

bool gamma_control_poll(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame)
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
		if (!gamma_control_poll_rails(flow, now, frame))
			return false;
		flow->pending |= what; /* there may be more */
		return true;
	case GAMMA_PENDING_MARKS:
		gamma_control_poll_ack(flow, now, frame);
		return true;
	case GAMMA_PENDING_CLOSED: /* no error, and so not counted as one */
		poll_ack(flow, GAMMA_KIND_RESET, GAMMA_RESET_CLOSED, flow->probed, now, frame);
		return true;
	}
	return false;
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

/* One that has not left is none of the tries; of several, the NIC may be down, and a close should
 * not wait for it. */
static void take_back_bye(struct gamma_flow *flow)
{
	if (flow->byes && !flow->bye_refused)
		flow->byes--;
	flow->bye_refused = true;
}

void gamma_control_unsent(struct gamma_flow *flow, const struct gamma_frame *frame)
{
	if (frame->rail != flow->rail)
		return; /* the peer asks for it again, or a timer does */
	if (frame->padded) {
		if (frame->kind == GAMMA_KIND_PROBE)
			gamma_path_mtu_unsent(flow);
		else
			gamma_flow_want(flow, GAMMA_PENDING_MTU_PROBED);
	} else if (frame->kind == GAMMA_KIND_ACK && frame->op == GAMMA_ACK_PROBED) {
		gamma_flow_want(flow, GAMMA_PENDING_PROBED);
	} else if (frame->kind == GAMMA_KIND_ACK) {
		gamma_ack_now(flow);
	} else if (pending_of(frame)) {
		if (frame->kind == GAMMA_KIND_BYE && frame->op == GAMMA_ASK)
			take_back_bye(flow);
		gamma_flow_want(flow, pending_of(frame));
	}
}
