/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control frames that a flow sends. Called by transmit.c. */
#ifndef GAMMA_FLOW_CONTROL_H
#define GAMMA_FLOW_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/frame.h"

struct gamma_flow;

/* One of the waiting control frames, the lowest bit first. False: it cannot leave now. */
bool gamma_control_poll(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame);
/* The first of what rails have to ask and to answer; what remains has its turn after it. */
bool gamma_control_poll_rails(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame);
/* An acknowledgement of its own. */
void gamma_control_poll_ack(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame);
/* The link has not taken a control frame: it leaves later, or a timer repeats it. */
void gamma_control_unsent(struct gamma_flow *flow, const struct gamma_frame *frame);

#endif /* GAMMA_FLOW_CONTROL_H */
