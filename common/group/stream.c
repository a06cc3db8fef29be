// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The sender of a multicast stream: its window, and the frames that receivers ask for again. The
 * interface layer owns it, one for each operation that this member is the root of.
 */
#include "group/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* In stream->asked: the frame has been sent to all again already. */
#define AGAIN 0x80u

bool gamma_stream_init(struct gamma_stream *stream, uint32_t frames, uint32_t receivers,
		       uint32_t window_max)
{
	memset(stream, 0, sizeof(*stream));
	stream->frames = frames;
	stream->receivers = receivers;
	stream->window_max = window_max;
	stream->window = (uint32_t) gamma_min(GAMMA_STREAM_WINDOW, window_max);
	stream->threshold = window_max;
	stream->repair_at = GAMMA_NEVER;
	stream->remind_at = GAMMA_NEVER;
	stream->taken = calloc(receivers + 1, sizeof(*stream->taken));
	stream->marks = calloc(receivers + 1, sizeof(*stream->marks));
	stream->asked = calloc(frames + 1, sizeof(*stream->asked));
	if (!receivers)
		stream->stable = stream->sent = frames;
	if (stream->taken && stream->asked && stream->marks)
		return true;
	gamma_stream_fini(stream);
	return false;
}

void gamma_stream_fini(struct gamma_stream *stream)
{
	free(stream->taken);
	free(stream->marks);
	free(stream->asked);
	free(stream->wanted);
	stream->taken = NULL;
	stream->marks = NULL;
	stream->asked = NULL;
	stream->wanted = NULL;
}

void gamma_stream_excuse(struct gamma_stream *stream, uint32_t receiver)
{
	stream->taken[receiver] = stream->frames;
	if (stream->receivers == 1)
		stream->stable = stream->sent = stream->frames;
}

void gamma_stream_relay(struct gamma_stream *stream, uint32_t receiver)
{
	stream->marks[receiver].relayed = true;
}

void gamma_stream_hold(struct gamma_stream *stream)
{
	for (uint32_t i = 0; i < stream->receivers; i++) {
		stream->marks[i].begun =
			stream->marks[i].relayed || stream->taken[i] == stream->frames;
		stream->absent += !stream->marks[i].begun;
	}
}

bool gamma_stream_next(struct gamma_stream *stream, uint32_t *frame)
{
	if (stream->absent || stream->sent == stream->frames ||
	    stream->sent - stream->stable >= stream->window)
		return false;
	*frame = stream->sent++;
	return true;
}

void gamma_stream_unsend(struct gamma_stream *stream)
{
	stream->sent--;
}

/* ---- the window ---- */

/* It doubles for each window that arrives, and after a loss grows by one for each. */
static void grow_window(struct gamma_stream *stream, uint32_t advanced)
{
	if (stream->window < stream->threshold) {
		stream->window += advanced;
	} else {
		stream->grown += advanced;
		if (stream->grown >= stream->window) {
			stream->grown = 0;
			stream->window++;
		}
	}
	stream->window = (uint32_t) gamma_min(stream->window, stream->window_max);
}

/* Several receivers miss a frame: once for all frames that were under way. */
static void cut_window(struct gamma_stream *stream)
{
	uint32_t least = (uint32_t) gamma_min(GAMMA_STREAM_WINDOW_MIN, stream->window_max);

	if (stream->stable < stream->cut_at)
		return;
	stream->cut_at = stream->sent;
	stream->window = (uint32_t) gamma_max(stream->window / 2, least);
	stream->threshold = stream->window;
	stream->grown = 0;
}

static void note_begun(struct gamma_stream *stream, uint32_t receiver)
{
	if (gamma_likely(!stream->absent) || stream->marks[receiver].begun)
		return;
	stream->marks[receiver].begun = true;
	stream->absent--;
}

bool gamma_stream_report(struct gamma_stream *stream, uint32_t receiver, uint32_t taken)
{
	uint32_t stable = stream->frames;

	if (receiver >= stream->receivers || taken > stream->sent)
		return false;
	note_begun(stream, receiver);
	if (taken <= stream->taken[receiver])
		return true;
	stream->taken[receiver] = taken;
	for (uint32_t i = 0; i < stream->receivers; i++)
		if (!stream->marks[i].relayed)
			stable = (uint32_t) gamma_min(stable, stream->taken[i]);
	grow_window(stream, stable - stream->stable);
	stream->stable = stable;
	return true;
}

/* ---- what is sent again ---- */

static bool want(struct gamma_stream *stream, uint32_t frame, uint32_t receiver)
{
	if (stream->wanted_count == stream->wanted_size) {
		uint32_t size = stream->wanted_size ? 2 * stream->wanted_size : 64;
		struct gamma_stream_repair *wanted =
			realloc(stream->wanted, size * sizeof(*wanted));

		if (!wanted)
			return false;
		stream->wanted = wanted;
		stream->wanted_size = size;
	}
	stream->wanted[stream->wanted_count++] =
		(struct gamma_stream_repair){.frame = frame, .receiver = receiver};
	return true;
}

/* Frames below that have been lost if the receiver does not have them. It asks behind the last one
 * that has come only after a silence, and the root may have been silent itself: such a question
 * may be older than the frames. */
static uint32_t asked_end(struct gamma_stream *stream, uint32_t receiver,
			  const struct gamma_stream_ask *ask, uint64_t now)
{
	struct gamma_stream_mark *mark = &stream->marks[receiver];
	uint32_t end = (uint32_t) gamma_min(ask->seen, stream->sent);

	if (mark->at && now < mark->at + GAMMA_STREAM_CROSS_US * GAMMA_NS_PER_US)
		return end;
	if (mark->at)
		end = (uint32_t) gamma_max(end, mark->sent);
	mark->sent = stream->sent;
	mark->at = now;
	return end;
}

bool gamma_stream_ask(struct gamma_stream *stream, uint32_t receiver,
		      const struct gamma_stream_ask *ask, uint64_t now)
{
	uint32_t end;

	if (receiver >= stream->receivers)
		return true;
	end = asked_end(stream, receiver, ask, now);
	for (uint32_t i = 0; i < 32 * GAMMA_STREAM_ASK_WORDS; i++) {
		uint32_t frame = ask->base + i;

		if (!(ask->bits[i / 32] & 1u << i % 32))
			continue;
		if (frame < ask->base || frame >= end || frame < stream->taken[receiver])
			continue;
		if (!want(stream, frame, receiver))
			return false;
		if ((stream->asked[frame] & ~AGAIN) < GAMMA_STREAM_SEVERAL)
			stream->asked[frame]++;
		if ((stream->asked[frame] & ~AGAIN) > 1)
			cut_window(stream);
	}
	if (stream->wanted_count && stream->repair_at == GAMMA_NEVER)
		stream->repair_at = now + GAMMA_STREAM_GATHER_US * GAMMA_NS_PER_US;
	return true;
}

static void end_repairs(struct gamma_stream *stream)
{
	for (uint32_t i = 0; i < stream->wanted_count; i++)
		stream->asked[stream->wanted[i].frame] &= AGAIN;
	stream->wanted_count = stream->answered = 0;
	stream->repair_at = GAMMA_NEVER;
}

bool gamma_stream_next_repair(struct gamma_stream *stream, uint64_t now,
			      struct gamma_stream_repair *repair)
{
	if (now < stream->repair_at)
		return false;
	while (stream->answered < stream->wanted_count) {
		struct gamma_stream_repair *wanted = &stream->wanted[stream->answered++];
		uint8_t asked = stream->asked[wanted->frame];

		*repair = *wanted;
		if (asked == GAMMA_STREAM_SEVERAL) {
			/* Once; what is missing then goes to each. */
			stream->asked[wanted->frame] = AGAIN;
			repair->receiver = GAMMA_STREAM_ALL;
			stream->repaired_all++;
			return true;
		}
		if (asked == AGAIN) /* sent to all in this round */
			continue;
		stream->repaired_one++;
		return true;
	}
	end_repairs(stream);
	return false;
}

/* ---- reminders ---- */

static void wait_for_progress(struct gamma_stream *stream, uint64_t now, uint64_t after)
{
	stream->remind_after = after;
	stream->remind_at = now + after;
}

bool gamma_stream_remind(struct gamma_stream *stream, uint64_t now)
{
	uint64_t progress = (uint64_t) stream->sent + stream->stable + stream->repaired_one +
			    stream->repaired_all;

	if (stream->stable == stream->sent) {
		stream->remind_at = GAMMA_NEVER;
		return false;
	}
	if (stream->remind_at == GAMMA_NEVER || progress != stream->progress) {
		stream->progress = progress;
		wait_for_progress(stream, now, GAMMA_STREAM_REMIND_US * GAMMA_NS_PER_US);
		return false;
	}
	/* Repairs that were asked for go first. */
	if (now < stream->remind_at || stream->wanted_count)
		return false;
	wait_for_progress(
		stream, now,
		gamma_min(2 * stream->remind_after, GAMMA_STREAM_REMIND_MAX_US * GAMMA_NS_PER_US));
	return true;
}
