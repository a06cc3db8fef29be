// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/wire/codec.c: frames to numbers and back, and what is refused. */
#include "unit.h"

#include <string.h>

#include "wire/codec.h"
#include "wire/envelope.h"

static const uint8_t to[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 1};
static const uint8_t from[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 2};

static uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX + 256];
static uint8_t *const payload = room + GAMMA_ETH_LEN + GAMMA_HEADER_MAX;

static struct gamma_fields sample(uint16_t extensions)
{
	struct gamma_fields fields;

	memset(&fields, 0, sizeof(fields));
	fields.dst_port = 0x1234;
	fields.src_port = 0x5678;
	fields.tenant = 0x9abcdef0;
	fields.kind = GAMMA_KIND_DATA;
	fields.op = GAMMA_OP_SEND;
	fields.flags = GAMMA_FLAG_ACK_REQUESTED;
	fields.extensions = extensions;
	fields.payload_len = 5;
	fields.src_epoch = 0x11223344;
	fields.dst_epoch = 0x55667788;
	fields.seq = 0xfffffffe;
	return fields;
}

static void set_extensions(struct gamma_fields *f)
{
	f->ack = 0xa1a2a3a4, f->limit = 0xb1b2b3b4;
	f->sack_base = 0xc1c2c3c4;
	f->sack[0] = 0x8000000000000001, f->sack[1] = 0x0123456789abcdef;
	f->echo = 0xd1d2d3d4, f->delay = 0xe1e2e3e4;
	f->tag = 0x1112131415161718, f->data = 0x2122232425262728;
	f->id = 0x31323334, f->length = 1ull << 40;
	f->fragment = 0x123456ffffffffff;
	f->payload_crc = 0x41424344;
	f->mtu = 9000, f->probe = 8999;
	f->cuts = 0x51525354;
	f->rma_address = 0x6162636465666768, f->rma_key = 0x7172737475767778;
	f->rma_length = 0x8182838485868788;
	f->datatype = 7, f->atomic_op = 3, f->count = 0x0a0b;
	for (unsigned i = 0; i < sizeof(f->key); i++)
		f->key[i] = (uint8_t) (i + 1);
}

static size_t length_of(const uint8_t *frame, const struct gamma_fields *fields)
{
	(void) frame;
	return (size_t) GAMMA_ETH_LEN + fields->header_len + fields->payload_len;
}

/* The checksum again, after a test has changed the header. */
static void correct(uint8_t *frame)
{
	const size_t before = GAMMA_ETH_LEN + offsetof(struct gamma_header, checksum);
	size_t header_len = frame[GAMMA_ETH_LEN + offsetof(struct gamma_header, header_len)];
	uint32_t crc = gamma_crc32c(0, frame, before);

	if (header_len > GAMMA_HEADER_LEN)
		crc = gamma_crc32c(crc, frame + before + 4, header_len - GAMMA_HEADER_LEN);
	crc = __builtin_bswap32(crc);
	memcpy(frame + before, &crc, 4);
}

/* ---- there and back ---- */

static void build__every_extension_comes_back(void **state)
{
	(void) state;
	for (unsigned bit = 0; bit < GAMMA_EXT_COUNT; bit++) {
		struct gamma_fields in = sample((uint16_t) (1u << bit)), out;
		uint8_t *frame, copy[sizeof(room)];

		set_extensions(&in);
		frame = gamma_codec_build(&in, to, from, GAMMA_ETHERTYPE, payload);
		memset(&out, 0, sizeof(out));
		assert_int_equal(gamma_codec_parse(frame, length_of(frame, &in), &out), GAMMA_OK);
		assert_int_equal(out.extensions, 1u << bit);
		memcpy(copy, frame, (size_t) GAMMA_ETH_LEN + out.header_len);
		frame = gamma_codec_build(&out, to, from, GAMMA_ETHERTYPE, payload);
		assert_memory_equal(copy, frame, (size_t) GAMMA_ETH_LEN + out.header_len);
	}
}

/* All that fit: a header has 255 bytes at most. */
static void build__all_extensions_at_once(void **state)
{
	struct gamma_fields in = sample(GAMMA_EXT_KNOWN & ~GAMMA_EXT_SACK_LONG), out;
	uint8_t *frame;

	(void) state;
	set_extensions(&in);
	frame = gamma_codec_build(&in, to, from, GAMMA_ETHERTYPE, payload);
	assert_true(frame >= room);
	memset(&out, 0, sizeof(out));
	assert_int_equal(gamma_codec_parse(frame, length_of(frame, &in), &out), GAMMA_OK);
	assert_memory_equal(&in, &out, sizeof(in));
}

static void build__bytes_on_the_wire(void **state)
{
	struct gamma_fields in = sample(GAMMA_EXT_FRAGMENT);
	static const uint8_t expected[] = {
		2,    0,    0,    0,    0,    1,    2,    0,    0,
		0,    0,    2,    0x88, 0xb5,                   /* Ethernet */
		0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, /* ports, tenant */
		0x11, 1,    40,   1,    0,    64,   0,    5, /* version and kind, op, length, flags,
								extensions */
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* epochs */
		0xff, 0xff, 0xff, 0xfe,                         /* sequence */
	};
	uint8_t *frame;

	(void) state;
	in.fragment = 0x0102030405060708;
	frame = gamma_codec_build(&in, to, from, GAMMA_ETHERTYPE, payload);
	assert_int_equal(in.header_len, GAMMA_BULK_HEADER);
	assert_ptr_equal(frame + GAMMA_ETH_LEN + GAMMA_BULK_HEADER, payload);
	assert_memory_equal(frame, expected, sizeof(expected));
	assert_memory_equal(payload - 8, "\1\2\3\4\5\6\7\10", 8);
}

static void build__lengths_are_as_specified(void **state)
{
	(void) state;
	assert_int_equal(gamma_codec_extensions_len(0), 0);
	assert_int_equal(gamma_codec_extensions_len(GAMMA_EXT_ACK), 8);
	assert_int_equal(gamma_codec_extensions_len(GAMMA_EXT_SACK), sizeof(struct gamma_ext_sack));
	assert_int_equal(gamma_codec_extensions_len(GAMMA_EXT_KNOWN), GAMMA_EXT_ALL_LEN);
	assert_int_equal(GAMMA_BULK_HEADER, 40);
}

/* ---- refused ---- */

static uint8_t *good(struct gamma_fields *fields)
{
	*fields = sample(GAMMA_EXT_ACK);
	fields->ack = fields->limit = 1;
	return gamma_codec_build(fields, to, from, GAMMA_ETHERTYPE, payload);
}

static void parse__padding_is_not_payload(void **state)
{
	struct gamma_fields in, out;
	uint8_t *frame = good(&in);

	(void) state;
	assert_int_equal(gamma_codec_parse(frame, length_of(frame, &in) + 40, &out), GAMMA_OK);
	assert_int_equal(out.payload_len, 5);
}

static void parse__every_shorter_frame_is_short(void **state)
{
	struct gamma_fields in, out;
	uint8_t *frame = good(&in);

	(void) state;
	for (size_t len = 0; len < length_of(frame, &in); len++)
		assert_int_equal(gamma_codec_parse(frame, len, &out), GAMMA_SHORT);
}

static void parse__every_flipped_bit_is_seen(void **state)
{
	struct gamma_fields in, out;
	uint8_t *frame = good(&in);
	size_t len = length_of(frame, &in);
	size_t bits = 8 * ((size_t) GAMMA_ETH_LEN + in.header_len);

	(void) state;
	for (size_t bit = 0; bit < bits; bit++) {
		frame[bit / 8] ^= (uint8_t) (1u << bit % 8);
		assert_int_not_equal(gamma_codec_parse(frame, len, &out), GAMMA_OK);
		frame[bit / 8] ^= (uint8_t) (1u << bit % 8);
	}
	assert_int_equal(gamma_codec_parse(frame, len, &out), GAMMA_OK);
}

/* Sets one byte of the header, makes the checksum right, and parses. */
static enum gamma_malformed with(size_t offset, uint8_t value)
{
	struct gamma_fields in, out;
	uint8_t *frame = good(&in);

	frame[GAMMA_ETH_LEN + offset] = value;
	correct(frame);
	return gamma_codec_parse(frame, length_of(frame, &in), &out);
}

static void parse__other_version(void **state)
{
	(void) state;
	assert_int_equal(with(offsetof(struct gamma_header, version_kind), 0x01),
			 GAMMA_BAD_VERSION);
	assert_int_equal(with(offsetof(struct gamma_header, version_kind), 0x21),
			 GAMMA_BAD_VERSION);
}

static void parse__unknown_kind(void **state)
{
	(void) state;
	assert_int_equal(with(offsetof(struct gamma_header, version_kind), 0x10), GAMMA_BAD_KIND);
	assert_int_equal(with(offsetof(struct gamma_header, version_kind), 0x1b), GAMMA_BAD_KIND);
	assert_int_equal(with(offsetof(struct gamma_header, version_kind), 0x1a), GAMMA_OK);
}

static void parse__unknown_flag_or_extension(void **state)
{
	size_t high = offsetof(struct gamma_header, extensions);

	(void) state;
	assert_int_equal(with(offsetof(struct gamma_header, flags), 0x40), GAMMA_BAD_EXTENSION);
	assert_int_equal(with(high, 0x40), GAMMA_BAD_LENGTH);
	assert_int_equal(with(high, 0x80), GAMMA_BAD_EXTENSION);
}

/* Both would fill the same fields. */
static void parse__short_and_long_sack_exclude_each_other(void **state)
{
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX];
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_ACK,
		.extensions = GAMMA_EXT_ACK | GAMMA_EXT_SACK | GAMMA_EXT_SACK_LONG,
	};
	const uint8_t *frame =
		gamma_codec_build(&fields, to, from, GAMMA_ETHERTYPE, room + sizeof(room));

	(void) state;
	assert_int_equal(gamma_codec_parse(frame, (size_t) (room + sizeof(room) - frame), &fields),
			 GAMMA_BAD_EXTENSION);
}

static void parse__header_length_disagrees(void **state)
{
	size_t at = offsetof(struct gamma_header, header_len);

	(void) state;
	for (unsigned len = 0; len < 256; len++)
		if (len >= GAMMA_HEADER_LEN && len != GAMMA_HEADER_LEN + 8)
			assert_int_equal(with(at, (uint8_t) len), GAMMA_BAD_LENGTH);
}

static void parse__payload_longer_than_the_frame(void **state)
{
	(void) state;
	assert_int_equal(with(offsetof(struct gamma_header, payload_len), 0xff), GAMMA_SHORT);
	assert_int_equal(with(offsetof(struct gamma_header, payload_len) + 1, 6), GAMMA_SHORT);
}

static void plain__a_message_and_its_acknowledgement(void **state)
{
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX];
	struct gamma_fields fields = {.kind = GAMMA_KIND_DATA, .op = GAMMA_OP_SEND};
	const uint8_t mac[GAMMA_MAC_LEN] = {2};
	static const uint16_t allowed = GAMMA_EXT_ACK | GAMMA_EXT_TAG | GAMMA_EXT_CQ_DATA;
	const uint8_t *frame;

	(void) state;
	for (unsigned bit = 0; bit < 12; bit++) {
		fields.extensions = (uint16_t) (1 << bit);
		frame = gamma_codec_build(&fields, mac, mac, 0x88b5, room + sizeof(room));
		assert_int_equal(
			gamma_codec_is_simple_message(frame, GAMMA_ETH_LEN + fields.header_len),
			allowed >> bit & 1);
	}
	fields.extensions = allowed;
	frame = gamma_codec_build(&fields, mac, mac, 0x88b5, room + sizeof(room));
	assert_true(gamma_codec_is_simple_message(frame, GAMMA_ETH_LEN + fields.header_len));
	assert_false(gamma_codec_is_simple_message(frame, GAMMA_ETH_LEN + GAMMA_HEADER_LEN - 1));
	fields.extensions = GAMMA_EXT_TAG | GAMMA_EXT_NAMES_PORT;
	frame = gamma_codec_build(&fields, mac, mac, 0x88b5, room + sizeof(room));
	assert_true(gamma_codec_is_simple_message(frame, GAMMA_ETH_LEN + fields.header_len));
	fields.flags = GAMMA_FLAG_ACK_REQUESTED;
	frame = gamma_codec_build(&fields, mac, mac, 0x88b5, room + sizeof(room));
	assert_false(gamma_codec_is_simple_message(frame, GAMMA_ETH_LEN + fields.header_len));
	fields.flags = 0;
	fields.op = GAMMA_OP_BULK;
	frame = gamma_codec_build(&fields, mac, mac, 0x88b5, room + sizeof(room));
	assert_false(gamma_codec_is_simple_message(frame, GAMMA_ETH_LEN + fields.header_len));
}

static void behind__is_what_build_makes(void **state)
{
	uint8_t first_room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX], room[2][sizeof(first_room)];
	struct gamma_fields fields = {.kind = GAMMA_KIND_DATA,
				      .op = GAMMA_OP_BULK,
				      .flags = GAMMA_FLAG_BACKLOG,
				      .extensions = GAMMA_EXT_FRAGMENT,
				      .payload_len = 1460,
				      .dst_port = 9228,
				      .src_port = 9000,
				      .tenant = 1000,
				      .src_epoch = 7,
				      .dst_epoch = 9,
				      .seq = UINT32_MAX - 1,
				      .fragment = 3ull << GAMMA_FRAGMENT_OFFSET_BITS | 100};
	const uint8_t mac[GAMMA_MAC_LEN] = {2};
	const uint8_t *first, *made, *built;

	(void) state;
	first = gamma_codec_build(&fields, mac, mac, 0x88b5, first_room + sizeof(first_room));
	assert_true(gamma_codec_is_simple_fragment(first, GAMMA_ETH_LEN + fields.header_len));
	for (uint32_t index = 0; index < 4; index++) {
		made = gamma_codec_build_behind(first, index, 1460, room[0] + sizeof(room[0]));
		built = gamma_codec_build(&fields, mac, mac, 0x88b5, room[1] + sizeof(room[1]));
		assert_int_equal(made - room[0], built - room[1]);
		assert_memory_equal(made, built, GAMMA_ETH_LEN + fields.header_len);
		fields.seq++;
		fields.fragment += 1460;
	}
}

/* The flag PORT is no bit of the extensions on the wire, whatever else the frame has. */
static void port__is_a_flag(void **state)
{
	static const uint16_t beside[] = {GAMMA_EXT_TAG, GAMMA_EXT_TAG | GAMMA_EXT_MESSAGE, 0};
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX];
	const uint8_t mac[GAMMA_MAC_LEN] = {2};

	(void) state;
	for (size_t i = 0; i < 3; i++) {
		struct gamma_fields fields = {.kind = GAMMA_KIND_DATA,
					      .op = GAMMA_OP_SEND,
					      .flags = GAMMA_FLAG_BACKLOG,
					      .extensions = beside[i] | GAMMA_EXT_NAMES_PORT};
		struct gamma_fields out;
		const struct gamma_header *header;
		const uint8_t *frame;

		fields.tag = gamma_envelope_port_tag(65535, 64, UINT32_MAX);
		frame = gamma_codec_build(&fields, mac, mac, 0x88b5, room + sizeof(room));
		header = (const void *) (frame + GAMMA_ETH_LEN);
		assert_int_equal(header->flags, GAMMA_FLAG_BACKLOG | GAMMA_FLAG_PORT);
		assert_int_equal(__builtin_bswap16(header->extensions), beside[i]);
		assert_int_equal(gamma_codec_parse(frame, GAMMA_ETH_LEN + fields.header_len, &out),
				 GAMMA_OK);
		assert_int_equal(out.extensions, fields.extensions);
		assert_int_equal(out.flags, GAMMA_FLAG_BACKLOG);
		assert_true(!beside[i] || out.tag == fields.tag);
	}
}

/* What a tag says of a port comes back; nonsense is recognised. */
static void port__tags(void **state)
{
	struct gamma_envelope envelope = {
		.tag = gamma_envelope_port_tag(65279, 64, 0xfffffffe),
		.length = 64,
		.flags = GAMMA_TAGGED | GAMMA_TO_PORT,
	};

	(void) state;
	assert_int_equal(gamma_envelope_port(&envelope), 65279);
	assert_int_equal(gamma_envelope_head_len(&envelope), 64);
	assert_int_equal((uint32_t) envelope.tag, 0xfffffffe);
	assert_int_equal(gamma_envelope_flags(gamma_envelope_extensions(&envelope)),
			 envelope.flags);
	assert_true(gamma_envelope_port_is_valid(&envelope));
	envelope.length = 63;
	assert_false(gamma_envelope_port_is_valid(&envelope));
	envelope.length = 1000;
	envelope.tag = gamma_envelope_port_tag(1, 65, 0);
	assert_false(gamma_envelope_port_is_valid(&envelope));
	envelope.tag = gamma_envelope_port_tag(1, 0, 0) | 1ull << 39;
	assert_false(gamma_envelope_port_is_valid(&envelope));
	envelope.flags = GAMMA_TAGGED; /* any tag is good for a tagged message */
	assert_true(gamma_envelope_port_is_valid(&envelope));
	envelope.tag = 0;
	envelope.flags = GAMMA_TO_PORT;
	assert_false(gamma_envelope_port_is_valid(&envelope));
}

/* Each op that shares frames, with and without each extension: what is built comes back, and no
 * shorter one is read. */
static void items__come_back(void **state)
{
	static const struct {
		uint8_t op;
		uint16_t extensions;
	} rows[] = {
		{GAMMA_OP_SEND, 0},
		{GAMMA_OP_WRITE, GAMMA_EXT_RMA},
		{GAMMA_OP_READ, GAMMA_EXT_RMA | GAMMA_EXT_FRAGMENT},
		{GAMMA_OP_REPLY, GAMMA_EXT_FRAGMENT},
		{GAMMA_OP_ATOMIC, GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC},
		{GAMMA_OP_FETCH, GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC | GAMMA_EXT_FRAGMENT},
		{GAMMA_OP_COMPARE, GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC | GAMMA_EXT_FRAGMENT},
	};
	static const uint16_t named[] = {0, GAMMA_EXT_TAG, GAMMA_EXT_CQ_DATA,
					 GAMMA_EXT_TAG | GAMMA_EXT_CQ_DATA,
					 GAMMA_EXT_TAG | GAMMA_EXT_NAMES_PORT};
	enum { NAMED = sizeof(named) / sizeof(named[0]) };
	uint8_t room[100];

	(void) state;
	for (size_t i = 0; i < NAMED * sizeof(rows) / sizeof(rows[0]); i++) {
		struct gamma_fields item = {.op = rows[i / NAMED].op, .payload_len = 5}, back = {0};
		size_t len;

		set_extensions(&item);
		item.extensions = rows[i / NAMED].extensions | named[i % NAMED];
		len = (size_t) (gamma_codec_build_item(room, &item) - room);
		assert_int_equal(len, sizeof(struct gamma_batch_item) +
					      gamma_codec_extensions_len(item.extensions));
		assert_int_equal(len, gamma_codec_item_head_len(item.op, named[i % NAMED]));
		assert_ptr_equal(gamma_codec_parse_item(room, len + 5, &back), room + len);
		assert_int_equal(back.op, item.op);
		assert_int_equal(back.extensions, item.extensions);
		assert_int_equal(back.payload_len, 5);
		assert_true(!(named[i % NAMED] & GAMMA_EXT_TAG) || back.tag == item.tag);
		assert_true(!(named[i % NAMED] & GAMMA_EXT_CQ_DATA) || back.data == item.data);
		if (rows[i / NAMED].extensions & GAMMA_EXT_RMA) {
			assert_true(back.rma_address == item.rma_address);
			assert_true(back.rma_key == item.rma_key);
			assert_true(back.rma_length == item.rma_length);
		}
		if (rows[i / NAMED].extensions & GAMMA_EXT_FRAGMENT)
			assert_true(back.fragment == item.fragment);
		if (rows[i / NAMED].extensions & GAMMA_EXT_ATOMIC)
			assert_int_equal(back.count, item.count);
		for (size_t less = 0; less < len + 5; less++)
			assert_null(gamma_codec_parse_item(room, less, &back));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(build__every_extension_comes_back),
		TEST(build__all_extensions_at_once),
		TEST(build__bytes_on_the_wire),
		TEST(build__lengths_are_as_specified),
		TEST(parse__padding_is_not_payload),
		TEST(parse__every_shorter_frame_is_short),
		TEST(parse__every_flipped_bit_is_seen),
		TEST(parse__other_version),
		TEST(parse__unknown_kind),
		TEST(parse__unknown_flag_or_extension),
		TEST(parse__short_and_long_sack_exclude_each_other),
		TEST(parse__header_length_disagrees),
		TEST(parse__payload_longer_than_the_frame),
		TEST(plain__a_message_and_its_acknowledgement),
		TEST(behind__is_what_build_makes),
		TEST(port__is_a_flag),
		TEST(port__tags),
		TEST(items__come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
