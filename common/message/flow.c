// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The messages of a flow as a whole, while it lives and when it ends: called by flow/. */
#include "flow/upcalls.h"
#include "message/message.h"
#include "message/receive.h"
#include "message/send.h"

void gamma_message_flow_init(struct gamma_flow *flow)
{
	struct gamma_message_state *m = gamma_message_state(flow);

	gamma_list_init(&m->queue);
	gamma_list_init(&m->announced);
	gamma_list_init(&m->flying);
	gamma_list_init(&m->streams);
	gamma_list_init(&m->incoming);
	gamma_list_init(&m->arriving);
	gamma_list_init(&m->notices);
	gamma_list_init(&m->requested);
	gamma_list_init(&m->feed_entry);
}

void gamma_message_flow_failed(struct gamma_flow *flow, int error, const char *cause)
{
	const struct gamma_message_local *messages = gamma_message_local(flow->local);

	messages->handlers->failed(messages->context, flow, error, cause);
}

void gamma_message_flow_drop(struct gamma_flow *flow, int error)
{
	gamma_send_drop_all(flow, error);
	gamma_receive_drop_all(flow, error);
}

void gamma_message_flow_hand_over(struct gamma_flow *from, struct gamma_flow *to)
{
	struct gamma_list *queue = &gamma_message_state(from)->queue;

	while (!gamma_list_empty(queue)) {
		struct gamma_send *send = gamma_list_first(queue, struct gamma_send, entry);

		gamma_list_remove(&send->entry);
		send->flow = to;
		gamma_list_append(&gamma_message_state(to)->queue, &send->entry);
	}
}

bool gamma_message_flow_has_announced(const struct gamma_flow *flow)
{
	return !gamma_list_empty(&gamma_message_state(flow)->announced);
}

bool gamma_message_flow_has_undelivered(const struct gamma_flow *flow)
{
	const struct gamma_message_local *messages = gamma_message_local(flow->local);

	return messages->has_undelivered && messages->has_undelivered(flow);
}
