/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* State that the messages of an endpoint share. */
#ifndef GAMMA_MESSAGE_LOCAL_H
#define GAMMA_MESSAGE_LOCAL_H

#include "message/message.h"

/* Also gamma_local_init; flows are allocated as struct gamma_message_flow, unless the owner then
 * sets local.flow_size for a larger structure of its own. */
void gamma_message_local_init(struct gamma_message_local *messages, const struct gamma_addr *own,
			      uint32_t tenant, const struct gamma_limits *limits, uint32_t slots);
/* Also gamma_local_fini: frees all flows. */
void gamma_message_local_fini(struct gamma_message_local *messages);

#endif /* GAMMA_MESSAGE_LOCAL_H */
