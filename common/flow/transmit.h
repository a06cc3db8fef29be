/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The frames that a flow sends. */
#ifndef GAMMA_FLOW_TRANSMIT_H
#define GAMMA_FLOW_TRANSMIT_H

#include "wire/envelope.h"
#include "wire/frame.h"

struct gamma_flow;

/* Fills frame with the next one to send; false: nothing. With nothing more the flow leaves the
 * ready list. */
bool gamma_transmit_poll(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame);
/* The frame of a message that gamma_send_can_copy, when nothing at all stands before it. False: it
 * must go the ordinary way, and nothing has been done. now: 0 unless gamma_transmit_wants_clock. */
bool gamma_transmit_direct(struct gamma_flow *flow, const struct iovec *iov, unsigned iov_count,
			   const struct gamma_envelope *envelope, uint64_t now,
			   struct gamma_frame *frame);
/* Whether the clock is to be read before that frame leaves: it carries a time, the shortest round
 * trip is measured by it, or it goes to an shm peer, for which the clock is read nowhere else. */
bool gamma_transmit_wants_clock(const struct gamma_flow *flow);
/* What is to be noted of that frame, once it has been handed to the link, which was at `left`, or,
 * if that is approximate, somewhat earlier: meanwhile it is under way. */
void gamma_transmit_direct_sent(struct gamma_flow *flow, uint64_t left, bool approximate,
				uint64_t now);
void gamma_transmit_unsent(struct gamma_flow *flow, const struct gamma_frame *frame, uint64_t now);

#endif /* GAMMA_FLOW_TRANSMIT_H */
