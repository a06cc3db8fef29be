// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* State that the flows of an endpoint share: identity, limits, credit pool, buffers. */
#include "flow/local.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"

uint32_t gamma_local_buffer_size(const struct gamma_local *local)
{
	uint64_t frame = gamma_max(gamma_max(local->limits.mtu, local->limits.rail_mtu),
				   local->limits.local_mtu);

	/* Also for an atomic's operands and results, which are always copied. */
	return (uint32_t) gamma_max(gamma_min(local->limits.inject_size, frame),
				    GAMMA_ATOMIC_BYTES);
}

void gamma_local_init(struct gamma_local *local, const struct gamma_addr *own, uint32_t tenant,
		      const struct gamma_limits *limits, uint32_t slots)
{
	memset(local, 0, sizeof(*local));
	local->addr = *own;
	local->port = ntohs(own->port);
	local->epoch = ntohl(own->epoch);
	local->tenant = tenant;
	local->ethertype = GAMMA_ETHERTYPE;
	local->limits = *limits;
	local->next_deadline = GAMMA_NEVER;
	local->flow_size = sizeof(struct gamma_flow);
	gamma_list_init(&local->flows);
	gamma_list_init(&local->ready);
	gamma_list_init(&local->stalled);
	gamma_list_init(&local->timed);
	gamma_credit_pool_init(&local->pool, slots);
}

void gamma_local_fini(struct gamma_local *local)
{
	while (!gamma_list_empty(&local->flows))
		gamma_flow_free(gamma_list_first(&local->flows, struct gamma_flow, all_entry));
	while (local->buffers) {
		struct gamma_buffer *buffer = local->buffers;

		local->buffers = buffer->next;
		free(buffer);
	}
	free(local->zeros);
	local->zeros = NULL;
}

struct gamma_buffer *gamma_local_get_buffer(struct gamma_local *local)
{
	struct gamma_buffer *buffer = local->buffers;

	if (gamma_likely(buffer)) {
		local->buffers = buffer->next;
		return buffer;
	}
	return malloc(sizeof(*buffer) + gamma_local_buffer_size(local));
}

void gamma_local_put_buffer(struct gamma_local *local, struct gamma_buffer *buffer)
{
	buffer->next = local->buffers;
	local->buffers = buffer;
}
