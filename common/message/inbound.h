/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of an incoming message, from its first frame to its end. */
#ifndef GAMMA_MESSAGE_INBOUND_H
#define GAMMA_MESSAGE_INBOUND_H

#include "message/message.h"

/* In the flow's list; id: the sender's name for it. NULL: no memory. */
struct gamma_inbound *gamma_inbound_new(struct gamma_flow *flow,
					const struct gamma_envelope *envelope, uint32_t id);
/* Memory for the bytes of a message that nobody has asked for; most: bytes of all of these. False:
 * it has none. */
bool gamma_inbound_keep(struct gamma_inbound *inbound, uint64_t bytes, uint64_t most);
void gamma_inbound_free(struct gamma_inbound *inbound);
/* Frees one that is complete or has failed. The receive that it was matched with gets its end. */
void gamma_inbound_finish(struct gamma_inbound *inbound, int error);
/* The end of a receive: the message, its bytes placed, or why there are none. */
void gamma_inbound_received(struct gamma_flow *flow, struct gamma_recv *recv,
			    const struct gamma_envelope *envelope, uint64_t placed, int error);
/* Frees the memory kept for the next message. */
void gamma_inbound_fini(struct gamma_local *local);

#endif /* GAMMA_MESSAGE_INBOUND_H */
