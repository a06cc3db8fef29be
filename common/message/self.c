// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Messages to the own endpoint, which need no frames: copied into a receive that is posted, else
 * unexpected.
 */
#include "message/self.h"

#include "base/iov.h"
#include "message/inbound.h"
#include "message/send.h"

/* The bytes of a send straight into the receive that has matched it. */
static uint64_t copy_across(const struct gamma_send *send, const struct gamma_recv *recv)
{
	uint64_t placed = 0;

	for (unsigned i = 0; i < send->iov_count; i++)
		placed += gamma_iov_write(recv->iov, recv->iov_count, placed, send->iov[i].iov_base,
					  send->iov[i].iov_len);
	return placed;
}

static void receive_from_self(struct gamma_flow *flow, struct gamma_send *send,
			      struct gamma_recv *recv)
{
	struct gamma_envelope envelope = send->envelope;
	uint64_t placed = copy_across(send, recv);

	flow->local->stats.bytes_copied_in += placed;
	gamma_inbound_received(flow, recv, &envelope, placed, 0);
	gamma_send_finish(flow, send, 0);
}

void gamma_self_end(struct gamma_inbound *inbound)
{
	struct gamma_flow *flow = inbound->flow;
	struct gamma_send *send = inbound->own;
	struct gamma_recv *recv = inbound->recv;

	gamma_inbound_free(inbound);
	if (recv)
		receive_from_self(flow, send, recv);
	else
		gamma_send_finish(flow, send, 0);
}

/* Nobody has asked for it yet: a short one is copied, a long one stays where it is. */
static void keep_waiting(struct gamma_inbound *inbound, struct gamma_send *send)
{
	struct gamma_flow *flow = inbound->flow;
	struct gamma_local *local = flow->local;
	uint64_t length = send->envelope.length;
	bool copy = send->level != GAMMA_WHEN_MATCHED && length <= local->limits.eager_size;

	inbound->own = send;
	inbound->state = GAMMA_INBOUND_ANNOUNCED;
	if (copy && gamma_inbound_keep(inbound, length, local->limits.unexpected_size)) {
		gamma_iov_read(send->iov, send->iov_count, 0, inbound->buffered, length);
		local->stats.bytes_copied_in += length;
		inbound->own = NULL;
		inbound->arrived = length;
		inbound->state = GAMMA_INBOUND_COMPLETE;
	}
	local->stats.unexpected++;
	gamma_message_local(local)->handlers->unexpected(gamma_message_local(local)->context,
							 inbound);
	if (!inbound->own)
		gamma_send_finish(flow, send, 0);
}

bool gamma_self_send(struct gamma_flow *flow, struct gamma_send *send)
{
	struct gamma_local *local = flow->local;
	struct gamma_recv *recv = gamma_message_local(local)->handlers->match(
		gamma_message_local(local)->context, flow, &send->envelope);
	struct gamma_inbound *inbound;

	if (recv) {
		local->stats.tx_self++;
		receive_from_self(flow, send, recv);
		return true;
	}
	inbound = gamma_inbound_new(flow, &send->envelope, 0);
	if (!inbound)
		return false;
	local->stats.tx_self++;
	keep_waiting(inbound, send);
	return true;
}
