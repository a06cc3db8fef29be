// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Send coalescing: short messages to one peer share frames. In a burst (several messages posted
 * between two polls) the first few leave at once. The others wait until the next poll, or until
 * they fill a frame, if they may be delayed. Each peer has its own state. Called for each message
 * posted.
 */
#include "engine/send_coalescing.h"
#include "engine/state.h"
#include "message/coalesce.h"

static void begin_burst(struct gamma_send_coalescing *row, uint64_t round)
{
	row->was_long = row->count >= GAMMA_COALESCE_LONG;
	row->round = round;
	row->count = row->bytes = 0;
}

bool gamma_send_coalescing_delays(struct gamma_flow *flow, uint64_t len, bool may_delay, bool more,
				  uint64_t round)
{
	struct gamma_send_coalescing *row = &gamma_peer(flow)->coalescing;
	bool ends = row->more && !more;

	if (row->round != round)
		begin_burst(row, round);
	row->count++;
	row->more = more;
	if (!len || !(may_delay || more) || ends ||
	    (!more && row->count <= (row->was_long ? 1 : GAMMA_COALESCE_AFTER))) {
		row->bytes = 0;
		return false;
	}
	if (!row->bytes)
		row->room = gamma_coalesce_room(flow);
	row->bytes += (uint32_t) len;
	if (row->bytes + len <= row->room)
		return true;
	row->bytes = 0; /* another like it would not fit */
	return false;
}
