// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The life of an incoming message: its memory, the bytes kept for it, and its end.
 */
#include "message/inbound.h"

#include <stdlib.h>

#include "base/iov.h"

static struct gamma_inbound *inbound_get(struct gamma_local *local)
{
	struct gamma_inbound *inbound = gamma_message_local(local)->spare;
	struct gamma_notice *accept;

	if (!inbound)
		return calloc(1, sizeof(*inbound));
	accept = inbound->accept;
	*inbound = (struct gamma_inbound){.accept = accept};
	gamma_message_local(local)->spare = NULL;
	return inbound;
}

static void inbound_put(struct gamma_local *local, struct gamma_inbound *inbound)
{
	if (!gamma_message_local(local)->spare && inbound->accept) {
		gamma_message_local(local)->spare = inbound;
		return;
	}
	free(inbound->accept);
	free(inbound);
}

void gamma_inbound_fini(struct gamma_local *local)
{
	if (gamma_message_local(local)->spare)
		free(gamma_message_local(local)->spare->accept);
	free(gamma_message_local(local)->spare);
	gamma_message_local(local)->spare = NULL;
}

struct gamma_inbound *gamma_inbound_new(struct gamma_flow *flow,
					const struct gamma_envelope *envelope, uint32_t id)
{
	struct gamma_inbound *inbound = inbound_get(flow->local);

	if (!inbound)
		return NULL;
	gamma_list_init(&inbound->entry);
	gamma_list_init(&inbound->arriving_entry);
	inbound->flow = flow;
	inbound->envelope = *envelope;
	inbound->id = id;
	inbound->wanted = envelope->length;
	gamma_list_append(&gamma_message_state(flow)->incoming, &inbound->flow_entry);
	return inbound;
}

bool gamma_inbound_keep(struct gamma_inbound *inbound, uint64_t bytes, uint64_t most)
{
	struct gamma_local *local = inbound->flow->local;

	if (!bytes)
		return true;
	if (gamma_message_local(local)->buffered + bytes > most)
		return false;
	inbound->buffered = malloc(bytes);
	if (!inbound->buffered)
		return false;
	inbound->buffered_size = bytes;
	gamma_message_local(local)->buffered += bytes;
	return true;
}

void gamma_inbound_free(struct gamma_inbound *inbound)
{
	struct gamma_local *local = inbound->flow->local;

	gamma_list_remove(&inbound->flow_entry);
	gamma_list_remove(&inbound->arriving_entry);
	if (inbound->accepted)
		gamma_transfers_remove(&gamma_message_local(local)->accepted, inbound->accepted);
	gamma_message_local(local)->buffered -= inbound->buffered_size;
	free(inbound->buffered);
	free(inbound->head);
	inbound_put(local, inbound);
}

void gamma_inbound_received(struct gamma_flow *flow, struct gamma_recv *recv,
			    const struct gamma_envelope *envelope, uint64_t placed, int error)
{
	struct gamma_local *local = flow->local;

	if (!error)
		local->stats.messages_in++;
	gamma_message_local(local)->handlers->received(gamma_message_local(local)->context, recv,
						       flow, envelope, placed, error);
}

void gamma_inbound_finish(struct gamma_inbound *inbound, int error)
{
	struct gamma_flow *flow = inbound->flow;
	struct gamma_recv *recv = inbound->recv;
	struct gamma_envelope envelope = inbound->envelope;
	uint64_t placed = gamma_min(inbound->arrived, recv->capacity);

	if (inbound->buffered && !error) {
		placed = gamma_iov_write(recv->iov, recv->iov_count, 0, inbound->buffered, placed);
		flow->local->stats.bytes_copied_in += placed;
	}
	gamma_inbound_free(inbound);
	gamma_inbound_received(flow, recv, &envelope, placed, error);
}
