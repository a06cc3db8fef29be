// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Frames by what they carry. Whether one raises a limit is known from those before it. */
#include "traffic.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "carried.h"
#include "wire/codec.h"

enum { AT_HEADER_LEN = GAMMA_ETH_LEN + offsetof(struct gamma_header, header_len) };

/* One direction of a conversation. */
struct traffic_flow {
	bool used;
	uint8_t macs[2 * GAMMA_MAC_LEN]; /* destination, source */
	uint16_t dst_port, src_port;
	uint32_t dst_epoch, src_epoch;
	uint32_t limit; /* highest that it has sent */
};

/* ---- limits ---- */

static bool is_same(const struct traffic_flow *a, const struct traffic_flow *b)
{
	return !memcmp(a->macs, b->macs, sizeof(a->macs)) && a->dst_port == b->dst_port &&
	       a->src_port == b->src_port && a->dst_epoch == b->dst_epoch &&
	       a->src_epoch == b->src_epoch;
}

/* Where a flow is in a table of a power of two entries, or the free entry where it belongs. */
static struct traffic_flow *find(struct traffic_flow *flows, size_t size,
				 const struct traffic_flow *key)
{
	uint32_t hash = gamma_crc32c(0, key->macs, sizeof(key->macs));
	size_t at;

	hash = (hash ^ key->src_epoch) * 2654435761u ^ key->dst_epoch;
	hash ^= (uint32_t) key->src_port << 16 ^ key->dst_port;
	at = hash * 2654435761u % size;
	while (flows[at].used && !is_same(&flows[at], key))
		at = (at + 1) % size;
	return &flows[at];
}

static bool grow(struct traffic *traffic)
{
	size_t size = traffic->flow_size ? 2 * traffic->flow_size : 64;
	struct traffic_flow *flows = calloc(size, sizeof(*flows));

	if (!flows)
		return false;
	for (size_t i = 0; i < traffic->flow_size; i++)
		if (traffic->flows[i].used)
			*find(flows, size, &traffic->flows[i]) = traffic->flows[i];
	free(traffic->flows);
	traffic->flows = flows;
	traffic->flow_size = size;
	return true;
}

/* Whether a frame with the extension ACK raises the limit; false in *ok: no memory. */
static bool raises_limit(struct traffic *traffic, const uint8_t *frame,
			 const struct gamma_fields *fields, bool *ok)
{
	struct traffic_flow key = {
		.used = true,
		.dst_port = fields->dst_port,
		.src_port = fields->src_port,
		.dst_epoch = fields->dst_epoch,
		.src_epoch = fields->src_epoch,
		.limit = fields->limit,
	};
	struct traffic_flow *flow;

	memcpy(key.macs, frame, sizeof(key.macs));
	*ok = 2 * (traffic->flow_count + 1) <= traffic->flow_size || grow(traffic);
	if (!*ok)
		return false;
	flow = find(traffic->flows, traffic->flow_size, &key);
	if (flow->used && !gamma_seq_before(flow->limit, fields->limit))
		return false;
	traffic->flow_count += !flow->used;
	*flow = key;
	return true;
}

/* ---- intervals ---- */

/* The interval of that number; the file may be out of order. NULL: no memory. */
static struct traffic_interval *interval_at(struct traffic *traffic, uint64_t number)
{
	size_t at = traffic->interval_count;

	while (at && traffic->intervals[at - 1].number > number)
		at--;
	if (at && traffic->intervals[at - 1].number == number)
		return &traffic->intervals[at - 1];
	if (traffic->interval_count == traffic->interval_size) {
		size_t size = traffic->interval_size ? 2 * traffic->interval_size : 64;
		void *grown = realloc(traffic->intervals, size * sizeof(*traffic->intervals));

		if (!grown)
			return NULL;
		traffic->intervals = grown;
		traffic->interval_size = size;
	}
	memmove(&traffic->intervals[at + 1], &traffic->intervals[at],
		(traffic->interval_count++ - at) * sizeof(*traffic->intervals));
	traffic->intervals[at] = (struct traffic_interval){.number = number};
	return &traffic->intervals[at];
}

static void add_counts(struct traffic_counts *sum, const struct traffic_counts *more)
{
	sum->frames += more->frames;
	sum->bytes += more->bytes;
	sum->data += more->data;
	sum->acks += more->acks;
	sum->credits += more->credits;
	sum->retransmissions += more->retransmissions;
}

/* Frames captured before the first frame of the file count to its interval. */
static bool count(struct traffic *traffic, uint64_t time, const struct traffic_counts *counts)
{
	struct traffic_interval *interval;

	if (!traffic->all.frames)
		traffic->first = traffic->last = time;
	traffic->last = gamma_max(traffic->last, time);
	add_counts(&traffic->all, counts);
	interval = interval_at(
		traffic, time > traffic->first ? (time - traffic->first) / traffic->interval : 0);
	if (interval)
		add_counts(&interval->counts, counts);
	return interval;
}

/* ---- frames ---- */

/* Enough of the frame is in the file to read its header. */
static bool has_header(const struct carried_frame *frame)
{
	return frame->captured >= GAMMA_ETH_LEN + GAMMA_HEADER_LEN &&
	       frame->captured >= (size_t) GAMMA_ETH_LEN + frame->bytes[AT_HEADER_LEN];
}

static bool add_frame(struct traffic *traffic, uint64_t time, const struct carried_frame *frame)
{
	struct traffic_counts counts = {.frames = 1, .bytes = frame->wire_len};
	struct gamma_fields fields;
	bool ok = true;

	if (frame->behind && !has_header(frame)) {
		traffic->unread++;
		return true;
	}
	if (!has_header(frame) ||
	    gamma_codec_parse(frame->bytes, frame->len, &fields) != GAMMA_OK) {
		traffic->malformed++;
		return true;
	}
	counts.data = fields.kind == GAMMA_KIND_DATA || fields.kind == GAMMA_KIND_DATAGRAM;
	counts.acks = (fields.extensions & GAMMA_EXT_ACK) != 0;
	counts.retransmissions = fields.kind == GAMMA_KIND_DATA && fields.flags & GAMMA_FLAG_AGAIN;
	counts.credits = fields.kind == GAMMA_KIND_REQUEST || fields.kind == GAMMA_KIND_RECLAIM;
	if (counts.acks && raises_limit(traffic, frame->bytes, &fields, &ok))
		counts.credits = 1;
	return ok && count(traffic, time, &counts);
}

bool traffic_add(struct traffic *traffic, const struct capture_frame *packet)
{
	struct carried_frame frame;
	struct carried carried;

	if (!carried_begin(&carried, packet, traffic->ethertype)) {
		traffic->others++;
		return true;
	}
	while (carried_next(&carried, &frame))
		if (!add_frame(traffic, packet->time, &frame))
			return false;
	return true;
}

void traffic_end(struct traffic *traffic)
{
	free(traffic->intervals);
	free(traffic->flows);
}
