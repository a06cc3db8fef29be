// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Cuts trains: which frames leave together, and which frames a received train has. See train.h. */
#include "link/train.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/base.h"

enum { TRUESIZE = 2304 }; /* bytes of receive buffer that a lone datagram of MTU 1,500 takes */

/* ---- out ---- */

size_t gamma_train_frame_len(const struct gamma_frame *frame)
{
	size_t len = frame->head_len - GAMMA_ETH_LEN;

	for (unsigned i = 0; i < frame->iov_count; i++)
		len += frame->iov[i].iov_len;
	return len;
}

static bool same_peer(const struct gamma_frame *a, const struct gamma_frame *b)
{
	return !memcmp(a->head, b->head, GAMMA_MAC_LEN) &&
	       !memcmp(a->head + GAMMA_ETH_LEN, b->head + GAMMA_ETH_LEN, sizeof(uint16_t));
}

unsigned gamma_train_count(const struct gamma_frame *frames, unsigned count)
{
	size_t segment = gamma_train_frame_len(frames), total = segment, len = segment;
	unsigned n = 1;

	count = (unsigned) gamma_min(count, GAMMA_TRAIN_FRAMES);
	for (; n < count && len == segment && same_peer(frames, frames + n); n++) {
		len = gamma_train_frame_len(frames + n);
		total += len;
		if (len > segment || total > GAMMA_TRAIN_BYTES)
			break;
	}
	return n;
}

uint32_t gamma_train_length(uint32_t mtu)
{
	return (uint32_t) gamma_max(gamma_min(GAMMA_TRAIN_BYTES / mtu, GAMMA_TRAIN_FRAMES), 1);
}

unsigned gamma_train_gather(const struct gamma_frame *frames, unsigned count, struct iovec *iov)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		iov[n++] = (struct iovec){(void *) (frames[i].head + GAMMA_ETH_LEN),
					  frames[i].head_len - GAMMA_ETH_LEN};
		for (unsigned j = 0; j < frames[i].iov_count; j++)
			iov[n++] = frames[i].iov[j];
	}
	return n;
}

/* ---- in ---- */

uint32_t gamma_train_slots(uint32_t bytes, uint32_t mtu)
{
	return (bytes - bytes / GAMMA_TRAIN_KEPT) / (uint32_t) gamma_max(TRUESIZE, 2 * mtu);
}

uint32_t gamma_train_segment(const uint8_t *bytes, uint32_t len)
{
	struct gamma_header header;
	uint32_t segment;

	if (len < GAMMA_HEADER_LEN)
		return len;
	memcpy(&header, bytes, sizeof(header));
	segment = (uint32_t) header.header_len + ntohs(header.payload_len);
	return segment < GAMMA_HEADER_LEN ? len : (uint32_t) gamma_min(segment, len);
}

void gamma_train_begin(struct gamma_train *train, uint32_t len, uint32_t segment)
{
	train->at = 0;
	train->len = len;
	train->segment = segment;
}

bool gamma_train_is_empty(const struct gamma_train *train)
{
	return train->at == train->len;
}

static uint32_t next_len(const struct gamma_train *train)
{
	return (uint32_t) gamma_min(train->segment, train->len - train->at);
}

bool gamma_train_is_for(const struct gamma_train *train, uint16_t port, uint32_t tenant)
{
	struct gamma_header header;

	if (next_len(train) < GAMMA_HEADER_LEN)
		return false;
	memcpy(&header, train->bytes + train->at, sizeof(header));
	return header.src_port == train->port && header.dst_port == htons(port) &&
	       (header.tenant == htonl(tenant) ||
		(header.version_kind & 0x0f) == GAMMA_KIND_LOOKUP);
}

_Static_assert(offsetof(struct gamma_train, bytes) ==
		       offsetof(struct gamma_train, head) + GAMMA_ETH_LEN,
	       "the first frame's header stands before it, too");

void gamma_train_lend(struct gamma_train *train, const uint8_t head[GAMMA_ETH_LEN],
		      struct gamma_arrival *arrival)
{
	uint32_t len = next_len(train);
	uint8_t *frame = (uint8_t *) train + offsetof(struct gamma_train, head) + train->at;

	memcpy(frame, head, GAMMA_ETH_LEN);
	*arrival = (struct gamma_arrival){
		.frame = frame,
		.len = GAMMA_ETH_LEN + len,
		.alone = train->at + len == train->len,
		.behind = train->at > 0,
	};
}

void gamma_train_release(struct gamma_train *train)
{
	train->at += next_len(train);
}
