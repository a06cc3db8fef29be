/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hands what flows have to send to the links. */
#ifndef GAMMA_ENGINE_OUTPUT_H
#define GAMMA_ENGINE_OUTPUT_H

#include "engine/state.h"

enum {
	GAMMA_SEND_BUDGET = 128, /* frames sent in one progress call, at most */
	GAMMA_SEND_LEAST = 4,    /* ditto, at least */
	GAMMA_SEND_US = 48,      /* how long that may take */
	GAMMA_FLOW_TURN = 32,    /* frames of one flow before the next one's turn, without trains */
	GAMMA_STALL_US = 20,     /* a link that refused frames is tried again after this */
	GAMMA_STALLS_MAX = 6,    /* doublings of that while it keeps refusing */
};

/* Accounts for a burst of count frames, of which the link took sent. False: the link is full. */
bool gamma_output_account(struct gamma_endpoint *endpoint, struct gamma_link *link, bool same_host,
			  unsigned count, unsigned sent, int error, uint64_t now);
void gamma_output(struct gamma_endpoint *endpoint, uint64_t now);
/* Frames of one flow only: messages to other peers may wait for more to come. */
void gamma_output_flow(struct gamma_endpoint *endpoint, struct gamma_flow *flow);
/* Frames that belong to no flow. How many of them are done with: the next one has not left, and
 * might later. A peer that has ended, or writes nonsense, will not take its frame later either. */
unsigned gamma_output_burst(struct gamma_endpoint *endpoint, struct gamma_link *link,
			    const struct gamma_frame *frames, unsigned count);
/* The same of one frame. */
bool gamma_output_single(struct gamma_endpoint *endpoint, struct gamma_link *link,
			 const struct gamma_frame *frame);

#endif /* GAMMA_ENGINE_OUTPUT_H */
