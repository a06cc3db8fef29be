// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* State that the messages of an endpoint share: transfers under way, and memory for the next one.
 */
#include "message/local.h"

#include <string.h>

#include "message/inbound.h"

void gamma_message_local_init(struct gamma_message_local *messages, const struct gamma_addr *own,
			      uint32_t tenant, const struct gamma_limits *limits, uint32_t slots)
{
	memset(messages, 0, sizeof(*messages));
	gamma_local_init(&messages->local, own, tenant, limits, slots);
	messages->local.flow_size = sizeof(struct gamma_message_flow);
	gamma_list_init(&messages->reading);
	gamma_list_init(&messages->feeding);
	gamma_transfers_init(&messages->announced);
	gamma_transfers_init(&messages->accepted);
	gamma_transfers_init(&messages->requests);
}

void gamma_message_local_fini(struct gamma_message_local *messages)
{
	gamma_local_fini(&messages->local);
	gamma_inbound_fini(&messages->local);
	gamma_transfers_fini(&messages->announced);
	gamma_transfers_fini(&messages->accepted);
	gamma_transfers_fini(&messages->requests);
}
