// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A large message between processes of one host: its announcement tells where the bytes stand, and
 * the receiver reads them from there once a receive has matched. Its answer then wants no bytes,
 * which completes the send. What cannot be read is sent, as to any other peer. Announcement and
 * answer are frames (ANNOUNCE, ACCEPT), or go without where messages may.
 */
#include "message/message.h"

#include "flow/flow.h"

enum { PULL_MIN = 4096 /* bytes: below, two copies cost less than a call of the kernel */ };

bool gamma_message_offers(const struct gamma_flow *flow)
{
	return flow->same_host && flow->local->pull && !flow->messages.no_pull &&
	       !flow->payload_crc;
}

uint64_t gamma_message_eager(const struct gamma_flow *flow)
{
	const struct gamma_limits *limits = &flow->local->limits;

	if (gamma_likely(!gamma_message_offers(flow) || flow->copying.on))
		return limits->eager_size;
	return gamma_min(limits->eager_size, gamma_max(limits->inject_size, PULL_MIN));
}

/* number: the frame's, or the id of what goes without. No other announcement of the same send
 * has it while the receiver might read. */
static uint64_t stamp_of(uint32_t receiver, uint32_t number)
{
	return (uint64_t) receiver << 32 | number;
}

static uint64_t address_of(const struct gamma_send *send)
{
	return (uintptr_t) (send->iov_count == 1 ? send->iov[0].iov_base
						 : (const void *) send->iov);
}

void gamma_message_offer(struct gamma_flow *flow, struct gamma_send *send)
{
	send->stamp = gamma_message_offers(flow) && send->envelope.length
			      ? stamp_of(flow->epoch, flow->tx.next)
			      : 0;
}

void gamma_message_offer_content(const struct gamma_send *send, struct gamma_content *content)
{
	if (!send->stamp)
		return;
	content->extensions |= GAMMA_EXT_RMA;
	content->rma_address = address_of(send);
	content->rma_key = (uintptr_t) &send->stamp;
	content->rma_length = send->iov_count;
}

bool gamma_message_offer_near(struct gamma_flow *flow, struct gamma_send *send)
{
	struct gamma_announce announce = {
		.length = send->envelope.length,
		.address = address_of(send),
		.stamp_at = (uintptr_t) &send->stamp,
		.id = send->id,
		.pieces = send->iov_count,
	};
	struct gamma_plain plain = {
		.kind = GAMMA_RECORD_ANNOUNCE,
		.flags = (uint8_t) send->envelope.flags,
		.tag = send->envelope.tag,
		.data = send->envelope.data,
		.bytes = (const uint8_t *) &announce,
		.len = sizeof(announce),
	};

	send->stamp = stamp_of(flow->epoch, send->id);
	if (flow->local->put && flow->local->put(flow, &plain))
		return true;
	send->stamp = 0;
	return false;
}

/* Before the memory is its owner's again, and so that every reader sees it in this order. */
void gamma_message_withdraw(struct gamma_send *send)
{
	if (gamma_likely(!send->stamp))
		return;
	__atomic_store_n(&send->stamp, 0, __ATOMIC_SEQ_CST);
	if (send->state == GAMMA_SEND_ANNOUNCED && send->flow->local->withdraw)
		send->flow->local->withdraw(send->flow);
}

void gamma_message_source(const struct gamma_flow *flow, const struct gamma_fields *fields,
			  struct gamma_source *source)
{
	*source = (struct gamma_source){.pieces = 0};
	if (!flow->same_host || !(fields->extensions & GAMMA_EXT_RMA) ||
	    fields->rma_length > GAMMA_IOV_MAX)
		return;
	source->address = fields->rma_address;
	source->stamp_at = fields->rma_key;
	source->stamp = stamp_of(flow->local->epoch, fields->seq);
	source->pieces = (uint32_t) fields->rma_length;
}

void gamma_message_near_source(const struct gamma_flow *flow, const struct gamma_announce *announce,
			       struct gamma_source *source)
{
	*source = (struct gamma_source){.pieces = 0};
	if (announce->pieces > GAMMA_IOV_MAX)
		return;
	source->address = announce->address;
	source->stamp_at = announce->stamp_at;
	source->stamp = stamp_of(flow->local->epoch, announce->id);
	source->pieces = announce->pieces;
	source->near = true;
}

bool gamma_message_answer_near(struct gamma_inbound *inbound)
{
	struct gamma_flow *flow = inbound->flow;
	struct gamma_answer answer = {
		.wanted = inbound->wanted,
		.id = inbound->id,
		.accepted = inbound->accepted,
	};
	struct gamma_plain plain = {
		.kind = GAMMA_RECORD_ANSWER,
		.bytes = (const uint8_t *) &answer,
		.len = sizeof(answer),
	};

	return !inbound->cut && flow->local->put && flow->local->put(flow, &plain);
}

bool gamma_message_pull(struct gamma_inbound *inbound)
{
	struct gamma_local *local = inbound->flow->local;
	const struct gamma_recv *recv = inbound->recv;
	uint64_t wanted = inbound->wanted;

	if (!inbound->source.pieces || !local->pull || !recv || !wanted)
		return false;
	return local->pull(local, inbound->flow, &inbound->source, recv->iov, recv->iov_count, wanted);
}
