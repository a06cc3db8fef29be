// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * When to look for the frames of a long message. Whoever polls the next slot of the ring takes the
 * line of the cache that the kernel is about to write from the core that writes it, the sender's on
 * a virtual wire, and that for each frame. So while much is still to come the link is left alone
 * for a while, and the frames that have gathered are taken in one go; towards the message's end it
 * is polled as always, so that the end is seen at once. Called by the endpoint when it has found
 * frames.
 */
#include "engine/internal.h"

/* As long as half of what is to come will take, and as credit lasts for others to go on sending. */
void gamma_rx_moderation_plan(struct gamma_rx_moderation *moderation,
			      const struct gamma_local *local, unsigned taken, uint64_t now)
{
	uint64_t passed = now - moderation->looked;
	uint64_t bytes = local->stats.bytes_in - moderation->bytes;
	uint64_t wait = GAMMA_RX_MODERATION_US * GAMMA_NS_PER_US;

	moderation->looked = now;
	moderation->bytes = local->stats.bytes_in;
	if (!local->arriving_bytes || taken == GAMMA_POLL_BUDGET ||
	    passed > bytes * GAMMA_RX_MODERATION_NS_BYTE)
		return;
	wait = gamma_min(wait, passed * (local->arriving_bytes / 2) / bytes);
	wait = gamma_min(wait, passed / taken * gamma_credit_window(local->arriving_from) /
				       GAMMA_RX_MODERATION_WINDOW);
	if (wait >= GAMMA_RX_MODERATION_LEAST_US * GAMMA_NS_PER_US)
		moderation->until = now + wait;
}
