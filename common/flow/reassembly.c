// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Frames that come in parts, because they were built when the path carried larger ones: reassembles
 * each from slices in any order. Called by the receive window, which takes a frame when it is
 * complete; nothing is allocated before the first part comes.
 */
#include "flow/reassembly.h"

#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"

struct gamma_reassembly {
	uint8_t op;
	uint16_t total;   /* bytes of the frame's payload */
	uint16_t arrived; /* distinct bytes of it */
	uint64_t *bits;   /* by byte of the payload: it has arrived; behind the payload */
	uint8_t payload[];
};

static struct gamma_reassembly *parts_new(const struct gamma_fields *fields)
{
	size_t room = (fields->part_total + 7u) & ~7u;
	struct gamma_reassembly *parts =
		calloc(1, sizeof(*parts) + room + (room / 64 + 1) * sizeof(uint64_t));

	if (!parts)
		return NULL;
	parts->op = fields->op;
	parts->total = fields->part_total;
	parts->bits = (uint64_t *) (parts->payload + room);
	return parts;
}

/* The frame's entry, made if need be. NULL: no memory, or too much is kept. */
static struct gamma_reassembly **entry_of(struct gamma_flow *flow,
					  const struct gamma_fields *fields)
{
	struct gamma_receive_window *rx = &flow->rx;
	struct gamma_reassembly **entry;

	if (!rx->parts)
		rx->parts = calloc(GAMMA_WINDOW_MAX, sizeof(*rx->parts));
	if (!rx->parts)
		return NULL;
	entry = &rx->parts[fields->seq % GAMMA_WINDOW_MAX];
	if (!*entry && gamma_receive_window_may_keep(flow, fields->seq)) {
		*entry = parts_new(fields);
		flow->local->early_frames += *entry != NULL;
	}
	return *entry ? entry : NULL;
}

/* Marks bytes [from, to) as arrived; returns how many were not before. */
static uint32_t mark_arrived(uint64_t *bits, uint32_t from, uint32_t to)
{
	uint32_t fresh = 0;

	while (from < to) {
		uint32_t end = (uint32_t) gamma_min(to, (from | 63) + 1);
		uint64_t mask = ~0ull >> (64 - (end - from)) << (from % 64);

		fresh += (uint32_t) __builtin_popcountll(mask & ~bits[from / 64]);
		bits[from / 64] |= mask;
		from = end;
	}
	return fresh;
}

static bool sensible(const struct gamma_fields *fields)
{
	return fields->payload_len && fields->payload_len < fields->part_total &&
	       (uint32_t) fields->part_offset + fields->payload_len <= fields->part_total;
}

bool gamma_reassembly_add(struct gamma_flow *flow, struct gamma_fields *fields,
			  const uint8_t **payload)
{
	struct gamma_reassembly **entry, *parts;
	uint32_t from = fields->part_offset;

	flow->local->stats.parts_in++;
	if (!sensible(fields)) {
		flow->local->stats.malformed++;
		return false;
	}
	entry = entry_of(flow, fields);
	if (!entry)
		return false;
	parts = *entry;
	if (parts->total != fields->part_total || parts->op != fields->op) {
		flow->local->stats.malformed++;
		return false;
	}
	memcpy(parts->payload + from, *payload, fields->payload_len);
	parts->arrived += (uint16_t) mark_arrived(parts->bits, from, from + fields->payload_len);
	if (parts->arrived < parts->total)
		return false;
	fields->extensions &= ~GAMMA_EXT_PART;
	fields->payload_len = parts->total;
	*payload = parts->payload;
	return true;
}

void gamma_reassembly_drop(struct gamma_flow *flow, uint32_t seq)
{
	struct gamma_reassembly **entry;

	if (gamma_likely(!flow->rx.parts))
		return;
	entry = &flow->rx.parts[seq % GAMMA_WINDOW_MAX];
	flow->local->early_frames -= *entry != NULL;
	free(*entry);
	*entry = NULL;
}

void gamma_reassembly_free(struct gamma_flow *flow)
{
	struct gamma_receive_window *rx = &flow->rx;

	for (uint32_t i = 0; rx->parts && i < GAMMA_WINDOW_MAX; i++)
		gamma_reassembly_drop(flow, i);
	free(rx->parts);
	rx->parts = NULL;
}
