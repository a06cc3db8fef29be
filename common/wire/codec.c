// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Builds and parses frames; see codec.h. All frames from the wire pass gamma_codec_parse first. */
#include "wire/codec.h"

#include <string.h>

/* Bytes of each extension. */
enum {
	LEN_ACK = sizeof(struct gamma_ext_ack),
	LEN_SACK = sizeof(struct gamma_ext_sack),
	LEN_DELAY = sizeof(struct gamma_ext_delay),
	LEN_TAG = 8,
	LEN_CQ_DATA = 8,
	LEN_MESSAGE = sizeof(struct gamma_ext_message),
	LEN_FRAGMENT = 8,
	LEN_PAYLOAD_CRC = 4,
	LEN_MTU = sizeof(struct gamma_ext_mtu),
	LEN_CUTS = 4,
	LEN_RMA = sizeof(struct gamma_ext_rma),
	LEN_ATOMIC = sizeof(struct gamma_ext_atomic),
	LEN_KEY = sizeof(struct gamma_ext_key),
	LEN_PART = sizeof(struct gamma_ext_part),
	LEN_SACK_LONG = sizeof(struct gamma_ext_sack_long),
};

/* The sums for all sets of four. */
#define SUMS(a, b, c, d)                                                                         \
	{                                                                                        \
		0, a, b, (a) + (b), c, (a) + (c), (b) + (c), (a) + (b) + (c), d, (a) + (d),      \
			(b) + (d), (a) + (b) + (d), (c) + (d), (a) + (c) + (d), (b) + (c) + (d), \
			(a) + (b) + (c) + (d)                                                    \
	}
static const uint8_t sums[4][16] = {
	SUMS(LEN_ACK, LEN_SACK, LEN_DELAY, LEN_TAG),
	SUMS(LEN_CQ_DATA, LEN_MESSAGE, LEN_FRAGMENT, LEN_PAYLOAD_CRC),
	SUMS(LEN_MTU, LEN_CUTS, LEN_RMA, LEN_ATOMIC),
	SUMS(LEN_KEY, LEN_PART, LEN_SACK_LONG, 0),
};
_Static_assert(GAMMA_EXT_TAG == 1 << 3 && GAMMA_EXT_PAYLOAD_CRC == 1 << 7 &&
		       GAMMA_EXT_ATOMIC == 1 << 11 && GAMMA_EXT_COUNT == 15,
	       "the sets are in the order of the bits");

unsigned gamma_codec_extensions_len(uint16_t extensions)
{
	return sums[0][extensions & 15] + sums[1][extensions >> 4 & 15] +
	       sums[2][extensions >> 8 & 15] + sums[3][extensions >> 12];
}

static uint8_t *put16(uint8_t *at, uint16_t value)
{
	value = __builtin_bswap16(value);
	memcpy(at, &value, 2);
	return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
	value = __builtin_bswap32(value);
	memcpy(at, &value, 4);
	return at + 4;
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
	value = __builtin_bswap64(value);
	memcpy(at, &value, 8);
	return at + 8;
}

static uint16_t get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, 2);
	return __builtin_bswap16(value);
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return __builtin_bswap32(value);
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, 8);
	return __builtin_bswap64(value);
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "codec.c swaps bytes for little-endian hosts"
#endif

static uint8_t *put_sack(uint8_t *at, const struct gamma_fields *f, size_t bytes)
{
	at = put32(at, f->sack_base);
	memcpy(at, f->sack, bytes);
	return at + bytes;
}

static const uint8_t *get_sack(const uint8_t *at, struct gamma_fields *f, size_t bytes)
{
	f->sack_base = get32(at);
	memcpy(f->sack, at + 4, bytes);
	return at + 4 + bytes;
}

#define BIT(extension) __builtin_ctz(extension) /* dense: the switches become jumps by a table */

static inline uint8_t *put_extension(uint8_t *at, unsigned bit, const struct gamma_fields *f)
{
	switch (bit) {
	case BIT(GAMMA_EXT_ACK):
		return put32(put32(at, f->ack), f->limit);
	case BIT(GAMMA_EXT_SACK):
		return put_sack(at, f, GAMMA_SACK_BITS / 8);
	case BIT(GAMMA_EXT_DELAY):
		return put32(put32(at, f->echo), f->delay);
	case BIT(GAMMA_EXT_TAG):
		return put64(at, f->tag);
	case BIT(GAMMA_EXT_CQ_DATA):
		return put64(at, f->data);
	case BIT(GAMMA_EXT_MESSAGE):
		return put64(put32(at, f->id), f->length);
	case BIT(GAMMA_EXT_FRAGMENT):
		return put64(at, f->fragment);
	case BIT(GAMMA_EXT_PAYLOAD_CRC):
		return put32(at, f->payload_crc);
	case BIT(GAMMA_EXT_MTU):
		return put16(put16(at, f->mtu), f->probe);
	case BIT(GAMMA_EXT_CUTS):
		return put32(at, f->cuts);
	case BIT(GAMMA_EXT_RMA):
		return put64(put64(put64(at, f->rma_address), f->rma_key), f->rma_length);
	case BIT(GAMMA_EXT_ATOMIC):
		*at++ = f->datatype;
		*at++ = f->atomic_op;
		return put16(at, f->count);
	case BIT(GAMMA_EXT_KEY):
		memcpy(at, f->key, sizeof(f->key));
		return at + sizeof(f->key);
	case BIT(GAMMA_EXT_PART):
		return put16(put16(at, f->part_offset), f->part_total);
	case BIT(GAMMA_EXT_SACK_LONG):
		return put_sack(at, f, GAMMA_SACK_LONG_BITS / 8);
	}
	return at;
}

static inline const uint8_t *get_extension(const uint8_t *at, unsigned bit, struct gamma_fields *f)
{
	switch (bit) {
	case BIT(GAMMA_EXT_ACK):
		f->ack = get32(at);
		f->limit = get32(at + 4);
		return at + 8;
	case BIT(GAMMA_EXT_SACK):
		return get_sack(at, f, GAMMA_SACK_BITS / 8);
	case BIT(GAMMA_EXT_DELAY):
		f->echo = get32(at);
		f->delay = get32(at + 4);
		return at + 8;
	case BIT(GAMMA_EXT_TAG):
		f->tag = get64(at);
		return at + 8;
	case BIT(GAMMA_EXT_CQ_DATA):
		f->data = get64(at);
		return at + 8;
	case BIT(GAMMA_EXT_MESSAGE):
		f->id = get32(at);
		f->length = get64(at + 4);
		return at + 12;
	case BIT(GAMMA_EXT_FRAGMENT):
		f->fragment = get64(at);
		return at + 8;
	case BIT(GAMMA_EXT_PAYLOAD_CRC):
		f->payload_crc = get32(at);
		return at + 4;
	case BIT(GAMMA_EXT_MTU):
		f->mtu = get16(at);
		f->probe = get16(at + 2);
		return at + 4;
	case BIT(GAMMA_EXT_CUTS):
		f->cuts = get32(at);
		return at + 4;
	case BIT(GAMMA_EXT_RMA):
		f->rma_address = get64(at);
		f->rma_key = get64(at + 8);
		f->rma_length = get64(at + 16);
		return at + 24;
	case BIT(GAMMA_EXT_ATOMIC):
		f->datatype = at[0];
		f->atomic_op = at[1];
		f->count = get16(at + 2);
		return at + 4;
	case BIT(GAMMA_EXT_KEY):
		memcpy(f->key, at, sizeof(f->key));
		return at + sizeof(f->key);
	case BIT(GAMMA_EXT_PART):
		f->part_offset = get16(at);
		f->part_total = get16(at + 2);
		return at + 4;
	case BIT(GAMMA_EXT_SACK_LONG):
		return get_sack(at, f, GAMMA_SACK_LONG_BITS / 8);
	}
	return at;
}

/* The extensions of nearly all messages: 8 bytes each, in the order of the bits. */
enum { EXT_OF_MESSAGES = GAMMA_EXT_ACK | GAMMA_EXT_TAG | GAMMA_EXT_CQ_DATA | GAMMA_EXT_NAMES_PORT };

static void put_extensions(uint8_t *at, const struct gamma_fields *f)
{
	if (!(f->extensions & ~EXT_OF_MESSAGES)) {
		if (f->extensions & GAMMA_EXT_ACK)
			at = put_extension(at, BIT(GAMMA_EXT_ACK), f);
		if (f->extensions & GAMMA_EXT_TAG)
			at = put_extension(at, BIT(GAMMA_EXT_TAG), f);
		if (f->extensions & GAMMA_EXT_CQ_DATA)
			put_extension(at, BIT(GAMMA_EXT_CQ_DATA), f);
		return;
	}
	for (unsigned bits = f->extensions; bits; bits &= bits - 1)
		at = put_extension(at, (unsigned) __builtin_ctz(bits), f);
}

/* False: extensions that exclude each other. */
static bool get_extensions(const uint8_t *at, struct gamma_fields *f)
{
	if (!(f->extensions & ~EXT_OF_MESSAGES)) {
		if (f->extensions & GAMMA_EXT_ACK)
			at = get_extension(at, BIT(GAMMA_EXT_ACK), f);
		if (f->extensions & GAMMA_EXT_TAG)
			at = get_extension(at, BIT(GAMMA_EXT_TAG), f);
		if (f->extensions & GAMMA_EXT_CQ_DATA)
			get_extension(at, BIT(GAMMA_EXT_CQ_DATA), f);
		return true;
	}
	if (f->extensions & GAMMA_EXT_SACK && f->extensions & GAMMA_EXT_SACK_LONG)
		return false;
	for (unsigned bits = f->extensions; bits; bits &= bits - 1)
		at = get_extension(at, (unsigned) __builtin_ctz(bits), f);
	return true;
}

/* The checksum field is the last of the base header: cover what stands before and behind it. */
static uint32_t checksum(const uint8_t *frame, unsigned header_len)
{
	const size_t before = GAMMA_ETH_LEN + offsetof(struct gamma_header, checksum);

	return gamma_crc32c_header(frame, before, frame + before + 4,
				   header_len - GAMMA_HEADER_LEN);
}

/* The flag PORT, where GAMMA_EXT_NAMES_PORT stands for it; and back. */
enum { PORT_SHIFT = 11 };
_Static_assert(GAMMA_FLAG_PORT << PORT_SHIFT == GAMMA_EXT_NAMES_PORT, "one shift apart");

static uint8_t port_flag(uint16_t extensions)
{
	return (uint8_t) (extensions >> PORT_SHIFT & GAMMA_FLAG_PORT);
}

uint8_t *gamma_codec_build(struct gamma_fields *f, const uint8_t dst_mac[GAMMA_MAC_LEN],
			   const uint8_t src_mac[GAMMA_MAC_LEN], uint16_t ethertype,
			   uint8_t *payload)
{
	unsigned header_len = GAMMA_HEADER_LEN + gamma_codec_extensions_len(f->extensions);
	uint8_t *frame = payload - header_len - GAMMA_ETH_LEN;
	uint8_t *at = frame;
	uint8_t *sum;

	f->header_len = (uint8_t) header_len;
	memcpy(at, dst_mac, GAMMA_MAC_LEN);
	memcpy(at + GAMMA_MAC_LEN, src_mac, GAMMA_MAC_LEN);
	at = put16(at + 2 * GAMMA_MAC_LEN, ethertype);
	at = put32(put16(put16(at, f->dst_port), f->src_port), f->tenant);
	*at++ = (uint8_t) (GAMMA_VERSION << 4 | f->kind);
	*at++ = f->op;
	*at++ = f->header_len;
	*at++ = (uint8_t) (f->flags | port_flag(f->extensions));
	at = put16(put16(at, f->extensions & GAMMA_EXT_KNOWN), f->payload_len);
	at = put32(put32(put32(at, f->src_epoch), f->dst_epoch), f->seq);
	sum = at;
	put_extensions(at + 4, f);
	put32(sum, checksum(frame, header_len));
	return frame;
}

/* As every version has them: where the header's length and its checksum stand, and what the latter
 * covers. So what the wire has damaged is not taken for another version. */
static bool is_intact(const uint8_t *frame, size_t len, unsigned header_len)
{
	const uint8_t *sum = frame + GAMMA_ETH_LEN + offsetof(struct gamma_header, checksum);

	return header_len >= GAMMA_HEADER_LEN && len >= GAMMA_ETH_LEN + (size_t) header_len &&
	       get32(sum) == checksum(frame, header_len);
}

enum gamma_malformed gamma_codec_parse(const uint8_t *frame, size_t len, struct gamma_fields *f)
{
	const uint8_t *at = frame + GAMMA_ETH_LEN;
	uint32_t sum;

	if (len < GAMMA_ETH_LEN + GAMMA_HEADER_LEN)
		return GAMMA_SHORT;
	f->kind = at[8] & 0x0f;
	f->header_len = at[10];
	if (at[GAMMA_VERSION_AT] >> 4 != GAMMA_VERSION)
		return is_intact(frame, len, f->header_len) ? GAMMA_BAD_VERSION
							    : GAMMA_BAD_CHECKSUM;
	f->extensions = get16(at + 12);
	f->payload_len = get16(at + 14);
	f->flags = at[11];
	if (f->extensions & ~GAMMA_EXT_KNOWN || f->flags & ~GAMMA_FLAGS_KNOWN)
		return GAMMA_BAD_EXTENSION;
	if (f->header_len != GAMMA_HEADER_LEN + gamma_codec_extensions_len(f->extensions))
		return GAMMA_BAD_LENGTH;
	if (len < (size_t) GAMMA_ETH_LEN + f->header_len + f->payload_len)
		return GAMMA_SHORT;
	sum = get32(at + offsetof(struct gamma_header, checksum));
	if (sum != checksum(frame, f->header_len))
		return GAMMA_BAD_CHECKSUM;
	if (f->kind < GAMMA_KIND_DATA || f->kind > GAMMA_KIND_DATAGRAM)
		return GAMMA_BAD_KIND;
	f->extensions |= (uint16_t) ((f->flags & GAMMA_FLAG_PORT) << PORT_SHIFT);
	f->flags &= (uint8_t) ~GAMMA_FLAG_PORT;
	f->dst_port = get16(at);
	f->src_port = get16(at + 2);
	f->tenant = get32(at + 4);
	f->op = at[9];
	f->src_epoch = get32(at + 16);
	f->dst_epoch = get32(at + 20);
	f->seq = get32(at + 24);
	return get_extensions(at + GAMMA_HEADER_LEN, f) ? GAMMA_OK : GAMMA_BAD_EXTENSION;
}

bool gamma_codec_is_simple_message(const uint8_t *frame, size_t len)
{
	const uint8_t *at = frame + GAMMA_ETH_LEN;

	return len >= GAMMA_ETH_LEN + GAMMA_HEADER_LEN &&
	       at[8] == (GAMMA_VERSION << 4 | GAMMA_KIND_DATA) && at[9] == GAMMA_OP_SEND &&
	       !(at[11] & ~(GAMMA_FLAG_PORT | GAMMA_FLAG_RAIL)) &&
	       !(get16(at + 12) & ~EXT_OF_MESSAGES);
}

bool gamma_codec_is_simple_fragment(const uint8_t *frame, size_t len)
{
	const uint8_t *at = frame + GAMMA_ETH_LEN;

	return len >= GAMMA_ETH_LEN + GAMMA_HEADER_LEN &&
	       at[8] == (GAMMA_VERSION << 4 | GAMMA_KIND_DATA) &&
	       (at[9] == GAMMA_OP_SEND_MORE || at[9] == GAMMA_OP_BULK || at[9] == GAMMA_OP_WRITE) &&
	       !(at[11] & ~(GAMMA_FLAG_ACK_REQUESTED | GAMMA_FLAG_BACKLOG | GAMMA_FLAG_RAIL)) &&
	       get16(at + 12) == GAMMA_EXT_FRAGMENT;
}

uint8_t *gamma_codec_build_behind(const uint8_t *first, uint32_t index, uint64_t len,
				  uint8_t *payload)
{
	enum {
		SUM = GAMMA_ETH_LEN + offsetof(struct gamma_header, checksum),
		SEQ = GAMMA_ETH_LEN + offsetof(struct gamma_header, seq),
		FRAGMENT = GAMMA_ETH_LEN + GAMMA_HEADER_LEN,
		HEAD = FRAGMENT + LEN_FRAGMENT,
	};
	uint8_t *frame = payload - HEAD;

	memcpy(frame, first, HEAD);
	put32(frame + SEQ, get32(first + SEQ) + index);
	put64(frame + FRAGMENT, get64(first + FRAGMENT) + index * len);
	put32(frame + SUM, checksum(frame, GAMMA_HEADER_LEN + LEN_FRAGMENT));
	return frame;
}

/* Told in an item, 8 bytes each but PORT; those of its op are not. */
enum { ITEM_NAMED = GAMMA_EXT_TAG | GAMMA_EXT_CQ_DATA };

static uint8_t item_bits(uint16_t extensions)
{
	return (uint8_t) ((extensions & ITEM_NAMED) |
			  (extensions & GAMMA_EXT_NAMES_PORT ? GAMMA_ITEM_PORT : 0));
}

/* The extensions that an item always has; no head: of an op that does not share frames. */
#define ITEM(bytes, has)                                                               \
	{                                                                              \
		.head = sizeof(struct gamma_batch_item) + (bytes), .extensions = (has) \
	}
static const struct {
	uint8_t head; /* bytes in front of its payload, without announced extensions */
	uint16_t extensions;
} item_kinds[] = {
	[GAMMA_OP_SEND] = ITEM(0, 0),
	[GAMMA_OP_WRITE] = ITEM(24, GAMMA_EXT_RMA),
	[GAMMA_OP_READ] = ITEM(32, GAMMA_EXT_RMA | GAMMA_EXT_FRAGMENT),
	[GAMMA_OP_REPLY] = ITEM(8, GAMMA_EXT_FRAGMENT),
	[GAMMA_OP_ATOMIC] = ITEM(28, GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC),
	[GAMMA_OP_FETCH] = ITEM(36, GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC | GAMMA_EXT_FRAGMENT),
	[GAMMA_OP_COMPARE] = ITEM(36, GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC | GAMMA_EXT_FRAGMENT),
};

uint32_t gamma_codec_item_head_len(uint8_t op, uint16_t extensions)
{
	return item_kinds[op].head + (extensions & GAMMA_EXT_TAG ? 8 : 0) +
	       (extensions & GAMMA_EXT_CQ_DATA ? 8 : 0);
}

uint8_t *gamma_codec_build_item(uint8_t *at, const struct gamma_fields *item)
{
	at = put16(at, item->payload_len);
	*at++ = item_bits(item->extensions);
	*at++ = item->op;
	if (item->extensions & GAMMA_EXT_TAG)
		at = put64(at, item->tag);
	if (item->extensions & GAMMA_EXT_CQ_DATA)
		at = put64(at, item->data);
	for (unsigned bits = item_kinds[item->op].extensions; bits; bits &= bits - 1)
		at = put_extension(at, (unsigned) __builtin_ctz(bits), item);
	return at;
}

const uint8_t *gamma_codec_parse_item(const uint8_t *at, size_t len, struct gamma_fields *item)
{
	uint8_t named, op;

	if (len < sizeof(struct gamma_batch_item))
		return NULL;
	named = at[2];
	op = at[3];
	if (op >= sizeof(item_kinds) / sizeof(item_kinds[0]) || !item_kinds[op].head ||
	    named & ~(ITEM_NAMED | GAMMA_ITEM_PORT))
		return NULL;
	item->payload_len = get16(at);
	if (gamma_codec_item_head_len(op, named) + item->payload_len > len)
		return NULL;
	item->op = op;
	item->extensions = (uint16_t) (item_kinds[op].extensions | (named & ITEM_NAMED) |
				       (named & GAMMA_ITEM_PORT ? GAMMA_EXT_NAMES_PORT : 0));
	at += sizeof(struct gamma_batch_item);
	if (named & GAMMA_EXT_TAG) {
		item->tag = get64(at);
		at += 8;
	}
	if (named & GAMMA_EXT_CQ_DATA) {
		item->data = get64(at);
		at += 8;
	}
	for (unsigned bits = item_kinds[op].extensions; bits; bits &= bits - 1)
		at = get_extension(at, (unsigned) __builtin_ctz(bits), item);
	return at;
}
