// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A receiver that reports for others: the smallest number of frames that it and all below it have.
 * What is missing they ask the sender for themselves.
 */
#include "group/relay.h"

#include <string.h>

#include "base/base.h"

void gamma_relay_init(struct gamma_relay *relay, uint32_t rank, uint32_t n, uint32_t frames)
{
	uint64_t first = (uint64_t) rank * GAMMA_RELAY_FAN + 1;

	memset(relay, 0, sizeof(*relay));
	relay->frames = frames;
	if (first < n)
		relay->count = (uint32_t) gamma_min(n - first, GAMMA_RELAY_FAN);
}

bool gamma_relay_report(struct gamma_relay *relay, uint32_t child, uint32_t taken)
{
	if (child >= relay->count || taken > relay->frames)
		return false;
	relay->children[child].begun = true;
	relay->children[child].taken = (uint32_t) gamma_max(relay->children[child].taken, taken);
	return true;
}

uint32_t gamma_relay_least(const struct gamma_relay *relay, uint32_t own)
{
	uint32_t least = own;

	for (uint32_t i = 0; i < relay->count; i++)
		least = (uint32_t) gamma_min(least, relay->children[i].taken);
	return least;
}

bool gamma_relay_has_begun(const struct gamma_relay *relay)
{
	for (uint32_t i = 0; i < relay->count; i++)
		if (!relay->children[i].begun)
			return false;
	return true;
}
