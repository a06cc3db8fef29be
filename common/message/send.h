/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Outgoing messages. The functions that flow/ calls are declared in flow/upcalls.h. */
#ifndef GAMMA_MESSAGE_SEND_H
#define GAMMA_MESSAGE_SEND_H

#include "flow/upcalls.h"
#include "message/message.h"

/* Posts a message; handlers->sent reports its end, perhaps as soon as the flow is polled. Returns
 * 0, or a negative errno with nothing posted. */
int gamma_send_message(struct gamma_flow *flow, struct gamma_send *send);
/* The same for a large message that an shm peer can read by itself, when nothing is queued before
 * it: its announcement leaves at once, without a frame, and says whether chunks follow. False:
 * nothing was done. */
bool gamma_send_shm_announce(struct gamma_flow *flow, struct gamma_send *send, bool in_chunks);
/* Queues a send of which nothing has been sent yet. */
void gamma_send_enqueue(struct gamma_flow *flow, struct gamma_send *send);
/* Ends a send with -ECANCELED if nothing of it has been sent. False: it is too late. */
bool gamma_send_cancel(struct gamma_send *send);
/* An ACCEPT, CUT or FAILED frame, to be sent later: memory for it, freed by free(), or NULL. */
struct gamma_notice *gamma_send_new_notice(void);
/* It is to be sent, and then freed: id and length for MESSAGE, fragment for FRAGMENT. */
void gamma_send_notice(struct gamma_flow *flow, struct gamma_notice *notice, enum gamma_op op,
		       uint32_t id, uint64_t length, uint64_t fragment);
/* An ACCEPT frame, or an answer without one, has arrived. The receiver wants `wanted` bytes of the
 * announcement `id` (0: of a message that it demoted), sent under its own id `accepted`. */
void gamma_send_accepted(struct gamma_flow *flow, uint32_t id, uint64_t wanted, uint32_t accepted);
/* All sends end with error; silently if error is 0. */
void gamma_send_drop_all(struct gamma_flow *flow, int error);

/* Whether a frame of len bytes, after `made` of `wanted` bytes, is the last but one of many. */
bool gamma_send_is_last_but_one(uint64_t made, uint64_t wanted, uint32_t len);
/* Whether a message can share a frame with others: short, and copied. */
bool gamma_send_is_short(const struct gamma_flow *flow, const struct gamma_send *send);
/* A message has left the queue for good. */
void gamma_send_finish(struct gamma_flow *flow, struct gamma_send *send, int error);
/* Whether a message that completes when copied may be copied into a frame now: the queue is empty,
 * and the peer's credit allows a frame. */
static inline bool gamma_send_can_copy(const struct gamma_flow *flow,
				       const struct gamma_envelope *envelope)
{
	const struct gamma_limits *limits = &flow->local->limits;

	return !flow->self && gamma_list_empty(&gamma_message_state(flow)->queue) &&
	       envelope->length <= gamma_min(limits->inject_size, limits->eager_size) &&
	       gamma_send_window_is_open(flow);
}

#endif /* GAMMA_MESSAGE_SEND_H */
