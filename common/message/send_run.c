// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Which frames of a message may be made together: see flow/transmit_run.c, which calls this. */
#include "flow/upcalls.h"
#include "message/message.h"

/* Bytes of the message in all, if its next frame would be the flow's next; else 0. Of several
 * streams, whose frames leave in turn, the last one served goes on: a turn is a run then. */
static uint64_t goes_on(const struct gamma_message_state *m, const struct gamma_sent *last)
{
	const struct gamma_send *send = last->send;

	if (!send || !gamma_list_empty(&m->notices) || m->replies || m->filling)
		return 0;
	if (last->op == GAMMA_OP_BULK && gamma_list_empty(&m->queue) &&
	    m->streams.prev == &send->entry)
		return send->wanted;
	if (last->op == GAMMA_OP_SEND_MORE && gamma_list_empty(&m->streams) &&
	    m->queue.next == &send->entry)
		return send->envelope.length;
	return 0;
}

uint32_t gamma_send_run_begin(const struct gamma_flow *flow, const struct gamma_sent *last,
			      uint32_t most, const uint8_t **bytes)
{
	const struct gamma_send *send = last->send;
	uint64_t all = goes_on(gamma_message_state(flow), last);
	struct iovec piece;
	uint64_t frames;

	if (!all)
		return 0;
	frames = (all - send->made + last->len - 1) / last->len;
	if (frames <= 2 ||
	    !gamma_iov_slice(send->iov, send->iov_count, send->made, UINT64_MAX, &piece, 1))
		return 0;
	*bytes = piece.iov_base;
	return (uint32_t) gamma_min(gamma_min(most, frames - 2), piece.iov_len / last->len);
}

void gamma_send_run_end(const struct gamma_sent *last, uint32_t count)
{
	last->send->made += (uint64_t) count * last->len;
	last->send->flying += count;
}
