// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Short messages to one peer share frames: who posts several without polling, and is going to poll
 * for their ends, has those behind the first few wait until the next poll, or until they fill a
 * frame. What nobody may look for (injected messages) never waits. Called with each message posted.
 */
#include "engine/internal.h"

static void begin(struct gamma_row *row, uint64_t round)
{
	row->was_long = row->count >= GAMMA_ROW_LONG;
	row->round = round;
	row->count = row->bytes = 0;
}

bool gamma_row_begins(struct gamma_flow *flow, uint64_t round)
{
	if (flow->row.round == round)
		return false;
	begin(&flow->row, round);
	flow->row.count = 1;
	flow->row.more = false;
	return true;
}

bool gamma_row_waits(struct gamma_flow *flow, const struct gamma_send *send, uint64_t round)
{
	uint32_t len = send->patient || send->more ? gamma_batch_len(flow, send) : 0;
	struct gamma_row *row = &flow->row;
	bool ends = row->more && !send->more;

	if (row->round != round)
		begin(row, round);
	row->count++;
	row->more = send->more;
	if (!len || ends || (!send->more && row->count <= (row->was_long ? 1 : GAMMA_ROW))) {
		row->bytes = 0;
		return false;
	}
	row->bytes += len;
	if (row->bytes + len <= gamma_batch_room(flow))
		return true;
	row->bytes = 0; /* another like it would not fit */
	return false;
}
