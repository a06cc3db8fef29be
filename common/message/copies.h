/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies of messages that belong to their flow, so that the caller's memory is free early. */
#ifndef GAMMA_MESSAGE_COPIES_H
#define GAMMA_MESSAGE_COPIES_H

#include "message/message.h"

/* A copy of a message, or NULL: no memory. */
struct gamma_send *gamma_copies_make(struct gamma_flow *flow, const struct iovec *iov,
				     unsigned iov_count, const struct gamma_envelope *envelope);
/* A send that goes on in the place of this one, which the caller has queued, and whose bytes are
 * copied by gamma_copies_take; NULL: no memory. At once if another one is to be copied already, or
 * for a peer of this host. */
struct gamma_send *gamma_copies_replace(struct gamma_flow *flow, struct gamma_send *send);
/* Copies what was deferred, behind the frames that have left: its original is complete. */
void gamma_copies_take(struct gamma_message_local *messages);
/* The flow ends: what was deferred of it is never copied. */
void gamma_copies_forget(struct gamma_flow *flow);
/* The last frame of the copy has been acknowledged, or it has failed. */
void gamma_copies_finish(struct gamma_flow *flow, struct gamma_send *send, int error);

#endif /* GAMMA_MESSAGE_COPIES_H */
