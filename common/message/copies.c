// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Copies that belong to a flow. A message whose sender waits for an answer, not for an
 * acknowledgement, is complete when it is copied. The receiver should not wait for that either: the
 * frames leave from the caller's memory, and the copy, which only a retransmission reads, is taken
 * behind them, while the receiver is busy with the message.
 */
#include "message/copies.h"

#include <stdlib.h>

#include "message/send.h"

struct gamma_copied {
	struct gamma_send send;
	struct gamma_send *original; /* not complete: its memory is still used; or NULL */
	uint8_t bytes[];
};

static struct gamma_copied *copied_of(struct gamma_send *send)
{
	return gamma_container_of(send, struct gamma_copied, send);
}

static struct gamma_copied *new_copy(struct gamma_flow *flow, const struct gamma_envelope *envelope)
{
	struct gamma_copied *copied = malloc(sizeof(*copied) + envelope->length);

	if (!copied)
		return NULL;
	copied->original = NULL;
	copied->send = (struct gamma_send){
		.envelope = *envelope,
		.level = GAMMA_WHEN_ARRIVED,
		.flow = flow,
		.state = GAMMA_SEND_QUEUED,
		.wanted = envelope->length,
		.copied = true,
	};
	gamma_list_init(&copied->send.entry);
	return copied;
}

static void copy_bytes(struct gamma_copied *copied, const struct iovec *iov, unsigned iov_count)
{
	const uint64_t length = copied->send.envelope.length;

	gamma_iov_read(iov, iov_count, 0, copied->bytes, length);
	copied->send.iov[0] = (struct iovec){.iov_base = copied->bytes, .iov_len = length};
	copied->send.iov_count = 1;
	copied->send.flow->local->stats.bytes_copied_out += length;
}

struct gamma_send *gamma_copies_make(struct gamma_flow *flow, const struct iovec *iov,
				     unsigned iov_count, const struct gamma_envelope *envelope)
{
	struct gamma_copied *copied = new_copy(flow, envelope);

	if (!copied)
		return NULL;
	copy_bytes(copied, iov, iov_count);
	return &copied->send;
}

/* The original waits among those that have left, until its bytes are copied. */
static void defer(struct gamma_flow *flow, struct gamma_copied *copied, struct gamma_send *send)
{
	for (unsigned i = 0; i < send->iov_count; i++)
		copied->send.iov[i] = send->iov[i];
	copied->send.iov_count = send->iov_count;
	copied->original = send;
	gamma_message_local(flow->local)->deferred_copy = copied;
	gamma_list_remove(&send->entry);
	send->state = GAMMA_SEND_FLYING;
	gamma_list_append(&gamma_message_state(flow)->flying, &send->entry);
}

struct gamma_send *gamma_copies_replace(struct gamma_flow *flow, struct gamma_send *send)
{
	struct gamma_copied *copied = new_copy(flow, &send->envelope);

	if (!copied)
		return NULL;
	gamma_list_append(&send->entry, &copied->send.entry); /* in front of it */
	if (flow->same_host || gamma_message_local(flow->local)->deferred_copy) {
		copy_bytes(copied, send->iov, send->iov_count);
		gamma_send_finish(flow, send, 0);
	} else {
		defer(flow, copied, send);
	}
	return &copied->send;
}

/* Not inlined: output passes by for each short message. */
GAMMA_NOINLINE void gamma_copies_take(struct gamma_message_local *messages)
{
	struct gamma_copied *copied = messages->deferred_copy;
	struct gamma_send *original = copied->original;

	messages->deferred_copy = NULL;
	copied->original = NULL;
	copy_bytes(copied, original->iov, original->iov_count);
	gamma_send_finish(copied->send.flow, original, 0);
}

void gamma_copies_forget(struct gamma_flow *flow)
{
	struct gamma_message_local *messages = gamma_message_local(flow->local);
	struct gamma_copied *copied = messages->deferred_copy;

	if (!copied || copied->send.flow != flow)
		return;
	messages->deferred_copy = NULL;
	copied->original = NULL;
}

void gamma_copies_finish(struct gamma_flow *flow, struct gamma_send *send, int error)
{
	struct gamma_copied *copied = copied_of(send);
	struct gamma_send *original = copied->original;

	if (original)
		gamma_message_local(flow->local)->deferred_copy = NULL;
	free(copied);
	if (original)
		gamma_send_finish(flow, original, error);
}
