// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Where the bytes of a run go: see run.h. */
#include "message/run.h"

#include <string.h>

#include "message/receive.h"
#include "message/rma_target.h"

/* The piece of the receive that has the byte at that offset. */
static bool piece_at(const struct gamma_recv *recv, uint64_t offset, struct iovec *piece)
{
	return gamma_iov_slice(recv->iov, recv->iov_count, offset, UINT64_MAX, piece, 1);
}

static bool find_place_of_message(const struct gamma_flow *flow, const struct gamma_fields *fields,
				  struct gamma_run *run)
{
	uint64_t offset = fields->fragment & GAMMA_FRAGMENT_OFFSET_MASK;
	struct gamma_inbound *inbound = gamma_receive_find(flow, fields);
	struct iovec piece;

	/* Bytes that are dropped need no run. */
	if (!inbound || offset >= inbound->wanted)
		return false;
	if (inbound->buffered)
		piece = (struct iovec){inbound->buffered + offset, inbound->wanted - offset};
	else if (!inbound->recv || !piece_at(inbound->recv, offset, &piece))
		return false;
	run->inbound = inbound;
	run->at = piece.iov_base;
	run->room = gamma_min(piece.iov_len, inbound->wanted - offset);
	return true;
}

static bool find_place_of_write(struct gamma_flow *flow, const struct gamma_fields *fields,
				struct gamma_run *run)
{
	struct iovec rest;

	if (!gamma_rma_target_find_rest(flow, fields, &rest))
		return false;
	run->inbound = NULL;
	run->at = rest.iov_base;
	run->room = rest.iov_len;
	return true;
}

bool gamma_run_begin(struct gamma_flow *flow, const struct gamma_fields *fields,
		     struct gamma_run *run)
{
	run->op = fields->op;
	run->next = fields->fragment;
	run->taken = 0;
	return fields->op == GAMMA_OP_WRITE ? find_place_of_write(flow, fields, run)
					    : find_place_of_message(flow, fields, run);
}

bool gamma_run_add(struct gamma_run *run, const struct gamma_fields *fields, const uint8_t *payload)
{
	if (fields->op != run->op || fields->fragment != run->next || !fields->payload_len ||
	    fields->payload_len > run->room)
		return false;
	memcpy(run->at, payload, fields->payload_len);
	run->at += fields->payload_len;
	run->next += fields->payload_len;
	run->room -= fields->payload_len;
	run->taken += fields->payload_len;
	return true;
}

void gamma_run_end(struct gamma_flow *flow, struct gamma_run *run)
{
	flow->local->stats.bytes_copied_in += run->taken;
	if (run->inbound)
		gamma_receive_placed(run->inbound, run->taken);
	else
		gamma_rma_target_written(flow, run->taken);
}
