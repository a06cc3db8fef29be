/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Eager messages that the receiver had no memory for: demoted to rendezvous. The sender's side. */
#ifndef GAMMA_MESSAGE_DEMOTE_H
#define GAMMA_MESSAGE_DEMOTE_H

#include "message/message.h"

/* A CUT frame has arrived. False: no memory, treat it as not arrived. */
bool gamma_demote_receive_notice(struct gamma_flow *flow, const struct gamma_fields *fields);
/* The announced send that the receiver knows by this id of its own, or NULL. */
struct gamma_send *gamma_demote_find_send(const struct gamma_flow *flow, uint32_t accepted);

#endif /* GAMMA_MESSAGE_DEMOTE_H */
