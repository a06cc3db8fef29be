// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Frames of earlier operations that rings may still hold. A root knows that they hold nothing older
 * than its own stream once that is with all receivers, since frames are taken in the order of
 * arrival.
 */
#include "group/turns.h"

#include <stdlib.h>

#include "base/base.h"
#include "group/plan.h"
#include "group/stream.h"

bool gamma_turns_init(struct gamma_turns *turns, uint32_t members, uint32_t window)
{
	*turns = (struct gamma_turns){
		.members = members,
		.window = window,
		.cleared = calloc(members, sizeof(*turns->cleared)),
		.begun = calloc(members, sizeof(*turns->begun)),
	};
	return turns->cleared && turns->begun;
}

void gamma_turns_fini(struct gamma_turns *turns)
{
	free(turns->cleared);
	turns->cleared = NULL;
	free(turns->begun);
	turns->begun = NULL;
}

/* Whether so many frames of that member might find a ring full. */
static bool is_crowded(const struct gamma_turns *turns, uint32_t member, uint64_t frames)
{
	return turns->sent - turns->cleared[member] + frames > turns->window;
}

/* Frames that a stream sends before any report. */
static uint64_t first_frames(uint32_t frames)
{
	return gamma_min(frames, GAMMA_STREAM_WINDOW);
}

bool gamma_turns_broadcast(struct gamma_turns *turns, uint32_t root, uint32_t frames)
{
	bool waits = is_crowded(turns, root, first_frames(frames));

	turns->sent += gamma_min(frames, turns->window);
	turns->cleared[root] = turns->sent;
	return waits;
}

bool gamma_turns_allgather(struct gamma_turns *turns, uint32_t frames)
{
	uint64_t first = GAMMA_PLAN_CASTERS * first_frames(frames), before = turns->sent;
	bool waits = false;

	for (uint32_t member = 0; member < turns->members; member++) {
		if (member < GAMMA_PLAN_CASTERS)
			waits |= is_crowded(turns, member, first);
		turns->cleared[member] = before;
	}
	turns->sent += gamma_min((uint64_t) frames * turns->members, turns->window);
	return waits;
}

void gamma_turns_announce(struct gamma_turns *turns, uint32_t member, uint32_t number)
{
	if (!gamma_turns_has_begun(turns, member, number))
		turns->begun[member] = number + 1;
}

bool gamma_turns_has_begun(const struct gamma_turns *turns, uint32_t member, uint32_t number)
{
	/* Of 24 bits, so that they wrap. */
	return (int32_t) ((turns->begun[member] - (number + 1)) << 8) >= 0;
}
