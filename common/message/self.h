/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages to the own endpoint. */
#ifndef GAMMA_MESSAGE_SELF_H
#define GAMMA_MESSAGE_SELF_H

#include "message/message.h"

/* Delivers a message without frames. The send completes, or, if no receive is posted yet, stays in
 * the flow's flying list. False: no memory. */
bool gamma_self_send(struct gamma_flow *flow, struct gamma_send *send);
/* Ends one that was left with its sender: a receive has matched it, or it is discarded. */
void gamma_self_end(struct gamma_inbound *inbound);

#endif /* GAMMA_MESSAGE_SELF_H */
