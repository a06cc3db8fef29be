// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A receiver of a multicast stream. Nothing is asked for because time has passed alone: a question
 * names what is missing, and the sender answers only if it has sent that.
 */
#include "group/take.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

bool gamma_take_init(struct gamma_take *take, void *to, uint64_t bytes, uint32_t payload,
		     uint64_t now)
{
	uint32_t frames = gamma_take_frames(bytes, payload);

	*take = (struct gamma_take){
		.to = to,
		.bytes = bytes,
		.payload = payload,
		.frames = frames,
		.here = calloc(frames / 64 + 1, sizeof(*take->here)),
		.gap_at = GAMMA_NEVER,
		.idle = GAMMA_TAKE_IDLE_US * GAMMA_NS_PER_US,
	};
	take->idle_at = now + take->idle;
	return take->here;
}

void gamma_take_fini(struct gamma_take *take)
{
	free(take->here);
	take->here = NULL;
}

static bool is_here(const struct gamma_take *take, uint32_t frame)
{
	return take->here[frame / 64] & 1ull << frame % 64;
}

enum gamma_take_result gamma_take_frame(struct gamma_take *take, uint32_t frame,
					const uint8_t *bytes, uint32_t len, uint64_t now)
{
	uint8_t *at;

	if (frame >= take->frames || len != gamma_take_len(take->bytes, take->payload, frame))
		return GAMMA_TAKE_BAD;
	if (is_here(take, frame))
		return GAMMA_TAKE_DUPLICATE;
	if (len) { /* a message of no bytes may have no memory */
		at = take->to + (uint64_t) frame * take->payload;
		if (bytes != at)
			memcpy(at, bytes, len);
	}
	take->here[frame / 64] |= 1ull << frame % 64;
	take->have++;
	if (frame > take->seen && take->gap_at == GAMMA_NEVER)
		take->gap_at = now + GAMMA_TAKE_REORDER_US * GAMMA_NS_PER_US;
	take->seen = (uint32_t) gamma_max(take->seen, frame + 1);
	while (take->first < take->frames && is_here(take, take->first))
		take->first++;
	take->idle = GAMMA_TAKE_IDLE_US * GAMMA_NS_PER_US;
	take->idle_at = now + take->idle;
	return GAMMA_TAKE_NEW;
}

void gamma_take_remind(struct gamma_take *take, uint32_t sent, uint64_t now)
{
	if (sent > take->frames || take->first >= sent)
		return;
	take->seen = (uint32_t) gamma_max(take->seen, sent);
	/* Also what was asked for before: the answer may be lost. */
	take->asked = take->first;
	if (take->gap_at == GAMMA_NEVER)
		take->gap_at = now + GAMMA_TAKE_REORDER_US * GAMMA_NS_PER_US;
}

bool gamma_take_report(struct gamma_take *take, uint32_t *taken)
{
	uint32_t least = gamma_relay_least(&take->relay, take->first);
	bool announces = take->announces && gamma_relay_has_begun(&take->relay);

	/* Where a multiple is passed, and not so many frames after the report before: else what
	 * each receiver on the way to the sender holds back would add up, to more than a window. */
	if (!announces && (least == take->reported ||
			   (least < take->frames &&
			    least / GAMMA_STREAM_REPORT == take->reported / GAMMA_STREAM_REPORT)))
		return false;
	take->announces &= !announces;
	*taken = take->reported = least;
	return true;
}

/* Those that are missing from `base` on, below `end`. False: none is. */
static bool name_missing(const struct gamma_take *take, uint32_t base, uint32_t end,
			 struct gamma_stream_ask *ask)
{
	bool any = false;

	while (base < end && is_here(take, base))
		base++;
	*ask = (struct gamma_stream_ask){.base = base, .seen = take->seen};
	for (uint32_t i = 0; i < 32 * GAMMA_STREAM_ASK_WORDS && base + i < end; i++) {
		if (is_here(take, base + i))
			continue;
		ask->bits[i / 32] |= 1u << i % 32;
		any = true;
	}
	return any;
}

bool gamma_take_ask(struct gamma_take *take, uint64_t now, struct gamma_stream_ask *ask)
{
	uint32_t base = (uint32_t) gamma_max(take->first, take->asked);
	bool idle = now >= take->idle_at;

	if ((!idle && now < take->gap_at) || gamma_take_is_complete(take))
		return false;
	take->gap_at = GAMMA_NEVER;
	take->asked = take->seen;
	if (!idle)
		return name_missing(take, base, take->seen, ask);
	take->idle = gamma_min(2 * take->idle, GAMMA_TAKE_IDLE_MAX_US * GAMMA_NS_PER_US);
	take->idle_at = now + take->idle;
	return name_missing(take, take->first, take->frames, ask);
}
