// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The frames in the middle of a long message are alike: full, in place, and with nothing riding on
 * them. Whether one may leave, and what it says, is found out once (transmit.c); those behind it
 * are made from it. The last one that credit or window allow, and the last two of a message, may
 * have to ask for an acknowledgement: they are left to transmit.c.
 */
#include "flow/transmit_run.h"

#include "flow/flow.h"
#include "flow/rails_choice.h"
#include "flow/upcalls.h"

/* Whether nothing but more data is to be sent, and nothing bounds it but credit and window. */
static bool has_data_only(const struct gamma_flow *flow)
{
	const struct gamma_send_window *tx = &flow->tx;

	return flow->state == GAMMA_FLOW_OPEN && !tx->lost && !tx->sending_parts && !tx->bounded &&
	       !tx->held_back && !flow->pending && !flow->payload_crc && !flow->congestion.on &&
	       !gamma_ack_due(flow);
}

/* Whether it is the newest frame, its bytes are in one piece, and it says only where they go. */
static bool is_plain(const struct gamma_flow *flow, const struct gamma_frame *frame)
{
	return frame->iov_count == 1 && frame->seq + 1 == flow->tx.next &&
	       flow->tx.asked != flow->tx.next &&
	       gamma_codec_is_simple_fragment(frame->head, frame->head_len);
}

/* New frames before the last one that may leave. */
static uint32_t room(const struct gamma_send_window *tx)
{
	uint32_t credit = tx->limit - tx->returned - tx->next;
	uint32_t unacked = gamma_send_window_unacked(tx);
	uint32_t window = (uint32_t) gamma_min(tx->size, GAMMA_WINDOW_MAX - 1) - unacked;

	if (!gamma_seq_before(tx->next + tx->returned, tx->limit) ||
	    unacked >= GAMMA_WINDOW_MAX - 1)
		return 0;
	return (uint32_t) gamma_min(credit - 1, window);
}

static void make_frame(const struct gamma_frame *first, unsigned index, const uint8_t *bytes,
		       struct gamma_frame *frame)
{
	size_t len = first->iov[0].iov_len;

	memcpy(frame, first, offsetof(struct gamma_frame, iov));
	frame->iov[0] = (struct iovec){(void *) (bytes + (index - 1) * len), len};
	frame->seq = first->seq + index;
	frame->head = gamma_codec_build_behind(first->head, index, len,
					       frame->room + sizeof(frame->room));
}

unsigned gamma_transmit_run(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frames,
			    unsigned most)
{
	const struct gamma_sent *sent;
	const uint8_t *bytes;
	unsigned count;

	if (!has_data_only(flow) || !is_plain(flow, frames))
		return 0;
	sent = gamma_send_window_at(&flow->tx, frames->seq);
	most = (unsigned) gamma_min(most, room(&flow->tx));
	count = gamma_send_run_begin(flow, sent, most, &bytes);
	if (count && flow->rails)
		count = gamma_rails_choice_run(flow, sent->rail, count);
	if (!count)
		return 0;
	for (unsigned i = 1; i <= count; i++)
		make_frame(frames, i, bytes, &frames[i]);
	gamma_send_run_end(sent, count);
	gamma_send_window_run(flow, sent, count, now);
	flow->tx.backlog_sent = flow->tx.next;
	flow->local->stats.data_frames_out += count;
	flow->local->stats.tx_run += count;
	return count;
}
