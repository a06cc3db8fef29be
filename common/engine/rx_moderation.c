// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Receive moderation: when to poll for the frames of a long message. Polling the next slot of the
 * ring takes its cache line away from the core that is about to write it (on a virtual wire: the
 * sender's core), once for each frame. So while much of the message is still to come, the link is
 * not polled for a while, and then all frames that have gathered are received at once. Towards the
 * end of the message it is polled as usual, so that the end is seen at once. Called by the progress
 * call when it has found frames.
 */
#include "engine/progress.h"
#include "engine/rx_moderation.h"

/* Waits half the time that the rest of the message will take, and not longer than the credit lasts,
 * so that the sender need not stop. */
void gamma_rx_moderation_plan(struct gamma_rx_moderation *moderation,
			      const struct gamma_message_local *messages, unsigned taken,
			      uint64_t now)
{
	uint64_t passed = now - moderation->looked;
	uint64_t bytes = messages->local.stats.bytes_in - moderation->bytes;
	uint64_t wait = GAMMA_RX_MODERATION_US * GAMMA_NS_PER_US;

	moderation->looked = now;
	moderation->bytes = messages->local.stats.bytes_in;
	if (!messages->arriving_bytes || taken == GAMMA_POLL_BUDGET ||
	    passed > bytes * GAMMA_RX_MODERATION_NS_BYTE)
		return;
	wait = gamma_min(wait, passed * (messages->arriving_bytes / 2) / bytes);
	wait = gamma_min(wait, passed / taken * gamma_credit_window(messages->arriving_from) /
				       GAMMA_RX_MODERATION_WINDOW);
	if (wait >= GAMMA_RX_MODERATION_LEAST_US * GAMMA_NS_PER_US)
		moderation->until = now + wait;
}
