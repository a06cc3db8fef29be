// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of tools/capture.c and traffic.c: files made in memory. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "capture.h"
#include "traffic.h"
#include "wire/codec.h"

enum { ETHERNET = 1, LINUX_SLL2 = 276 };

#define NS GAMMA_NS_PER_S

static uint8_t file[4096];
static size_t len;
static bool big; /* the file's numbers are big-endian */

static void put(const void *bytes, size_t size)
{
	assert_true(len + size <= sizeof(file));
	memcpy(file + len, bytes, size);
	len += size;
}

static void put16(uint16_t value)
{
	value = big ? __builtin_bswap16(value) : value;
	put(&value, sizeof(value));
}

static void put32(uint32_t value)
{
	value = big ? __builtin_bswap32(value) : value;
	put(&value, sizeof(value));
}

static void begin(bool is_big)
{
	len = 0;
	big = is_big;
}

static void pcap(uint32_t magic, uint32_t link_type)
{
	put32(magic);
	put16(2);
	put16(4);
	put32(0);
	put32(0);
	put32(65535);
	put32(link_type);
}

static void record(uint32_t seconds, uint32_t fraction, const void *bytes, uint32_t size,
		   uint32_t on_wire)
{
	put32(seconds);
	put32(fraction);
	put32(size);
	put32(on_wire);
	put(bytes, size);
}

static void section(void)
{
	put32(0x0a0d0d0a);
	put32(28);
	put32(0x1a2b3c4d);
	put16(1);
	put16(0);
	put32(UINT32_MAX);
	put32(UINT32_MAX);
	put32(28);
}

/* resolution 0: no option. */
static void interface(uint16_t link_type, uint8_t resolution)
{
	uint32_t size = resolution ? 32 : 20;
	uint8_t value[4] = {resolution};

	put32(1);
	put32(size);
	put16(link_type);
	put16(0);
	put32(65535);
	if (resolution) {
		put16(9);
		put16(1);
		put(value, sizeof(value));
		put32(0); /* the end of the options */
	}
	put32(size);
}

static void block(uint32_t index, uint64_t time, const void *bytes, uint32_t size)
{
	static const uint8_t zeros[4];
	uint32_t whole = 32 + (size + 3) / 4 * 4;

	put32(6);
	put32(whole);
	put32(index);
	put32((uint32_t) (time >> 32));
	put32((uint32_t) time);
	put32(size);
	put32(size);
	put(bytes, size);
	put(zeros, (size_t) -size % 4);
	put32(whole);
}

static struct capture capture;
static struct capture_frame frame;

static void assert_frame(uint64_t time, uint32_t captured, uint32_t on_wire)
{
	assert_true(capture_next(&capture, &frame));
	assert_int_equal(frame.time, time);
	assert_int_equal(frame.captured, captured);
	assert_int_equal(frame.len, on_wire);
}

static void assert_end(const char *error)
{
	assert_false(capture_next(&capture, &frame));
	if (!error)
		assert_null(capture.error);
	else if (!capture.error || !strstr(capture.error, error))
		fail_msg("'%s' does not hold '%s'", capture.error, error);
}

static void capture_next__pcap_of_each_kind(void **state)
{
	(void) state;
	for (int kind = 0; kind < 4; kind++) {
		begin(kind & 1);
		pcap(kind & 2 ? 0xa1b23c4d : 0xa1b2c3d4, ETHERNET);
		record(7, 5, "abcdef", 6, 1514);
		record(8, 0, "xyz", 3, 3);
		assert_true(capture_begin(&capture, file, len));
		assert_frame(7 * NS + (kind & 2 ? 5 : 5000), 6, 1514);
		assert_memory_equal(frame.bytes, "abcdef", 6);
		assert_frame(8 * NS, 3, 3);
		assert_end(NULL);
	}
}

static void capture_next__pcapng_of_each_kind(void **state)
{
	static const struct {
		uint8_t resolution;
		uint64_t time, ns;
	} kinds[] = {
		{0, 1700000000000001, 1700000000000001000},
		{9, 1700000000000000001, 1700000000000000001},
		{12, 5000, 5},
		{3, 4, 4000000},
		{0x80 | 10, 1024, NS},
	};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(kinds); i++) {
		begin(i & 1);
		section();
		interface(ETHERNET, kinds[i].resolution);
		put32(4); /* a block of names, which is skipped */
		put32(16);
		put32(0);
		put32(16);
		block(0, kinds[i].time, "abcde", 5);
		assert_true(capture_begin(&capture, file, len));
		assert_frame(kinds[i].ns, 5, 5);
		assert_end(NULL);
	}
}

static void capture_next__sections_of_both_orders(void **state)
{
	(void) state;
	begin(false);
	section();
	interface(ETHERNET, 0);
	block(0, 1, "ab", 2);
	big = true;
	section();
	interface(ETHERNET, 9);
	block(0, 1, "ab", 2);
	block(1, 1, "ab", 2);
	assert_true(capture_begin(&capture, file, len));
	assert_frame(1000, 2, 2);
	assert_frame(1, 2, 2);
	assert_end("an interface that it does not describe");
}

static void capture_begin__refuses_others(void **state)
{
	(void) state;
	assert_false(capture_begin(&capture, "", 0));
	assert_non_null(capture.error);
	assert_false(capture_begin(&capture, "#!/bin/bash", 11));
	assert_string_equal(capture.error, "is neither a pcap nor a pcapng file");
	begin(false);
	pcap(0xa1b2c3d4, LINUX_SLL2);
	assert_false(capture_begin(&capture, file, len));
	assert_non_null(strstr(capture.error, "not captured on Ethernet"));
	assert_false(capture_begin(&capture, file, 20));
	begin(false);
	section();
	interface(LINUX_SLL2, 0);
	block(0, 1, "ab", 2);
	assert_true(capture_begin(&capture, file, len));
	assert_end("not captured on Ethernet");
}

static void capture_next__each_truncation_is_reported_or_ends_between_frames(void **state)
{
	(void) state;
	for (int ng = 0; ng < 2; ng++) {
		begin(false);
		if (ng) {
			section();
			interface(ETHERNET, 9);
			block(0, 1, "abcde", 5);
		} else {
			pcap(0xa1b2c3d4, ETHERNET);
			record(7, 5, "abcdef", 6, 1514);
		}
		for (size_t i = 0; i < len; i++) {
			uint8_t *copy = malloc(i + !i); /* for valgrind and sanitizers */

			memcpy(copy, file, i);
			if (capture_begin(&capture, copy, i)) {
				assert_false(capture_next(&capture, &frame));
				assert_true(capture.error || i == 24 || i == 28 || i == 60);
			}
			free(copy);
		}
	}
}

/* ---- traffic ---- */

static const uint8_t macs[2][GAMMA_MAC_LEN] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};

static void add(struct traffic *traffic, uint64_t time, struct gamma_fields fields)
{
	uint8_t room[2048] = {0};
	struct capture_frame made = {.time = time};

	fields.src_epoch = fields.dst_epoch = 5;
	made.bytes = gamma_codec_build(&fields, macs[0], macs[1], traffic->ethertype, room + 300);
	made.captured = GAMMA_ETH_LEN + fields.header_len; /* as with tcpdump -s */
	made.len = made.captured + fields.payload_len;
	assert_true(traffic_add(traffic, &made));
}

static void traffic_add__counts_what_frames_carry(void **state)
{
	struct traffic traffic = {.ethertype = GAMMA_ETHERTYPE, .interval = NS};
	struct gamma_fields data = {
		.kind = GAMMA_KIND_DATA, .op = GAMMA_OP_SEND, .payload_len = 54};
	struct gamma_fields ack = {
		.kind = GAMMA_KIND_ACK, .extensions = GAMMA_EXT_ACK, .ack = 1, .limit = 16};
	struct gamma_fields request = {.kind = GAMMA_KIND_REQUEST};

	(void) state;
	add(&traffic, 5 * NS, data);
	data.flags = GAMMA_FLAG_AGAIN;
	add(&traffic, 5 * NS + 1, data);
	add(&traffic, 5 * NS + 2, ack);
	add(&traffic, 5 * NS + 3, ack); /* the same limit: no credit */
	ack.limit = 17;
	add(&traffic, 7 * NS, ack);
	ack.flags = GAMMA_FLAG_AGAIN; /* no retransmission */
	add(&traffic, 7 * NS, ack);
	add(&traffic, 6 * NS, request);
	assert_int_equal(traffic.all.frames, 7);
	assert_int_equal(traffic.all.bytes, 2 * 100 + 4 * 54 + 46);
	assert_int_equal(traffic.all.data, 2);
	assert_int_equal(traffic.all.acks, 4);
	assert_int_equal(traffic.all.credits, 3);
	assert_int_equal(traffic.all.retransmissions, 1);
	assert_int_equal(traffic.interval_count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(traffic.intervals[i].number, i);
	assert_int_equal(traffic.intervals[1].counts.frames, 1);
	assert_int_equal(traffic.last - traffic.first, 2 * NS);
	traffic_end(&traffic);
}

static void traffic_add__knows_many_flows(void **state)
{
	struct traffic traffic = {.ethertype = GAMMA_ETHERTYPE, .interval = NS};
	struct gamma_fields ack = {.kind = GAMMA_KIND_ACK, .extensions = GAMMA_EXT_ACK, .limit = 8};

	(void) state;
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 1000; i++) {
			ack.src_port = (uint16_t) (7000 + i);
			add(&traffic, i, ack);
		}
	}
	assert_int_equal(traffic.all.credits, 1000);
	assert_int_equal(traffic.flow_count, 1000);
	traffic_end(&traffic);
}

static void traffic_add__leaves_out_others(void **state)
{
	struct traffic traffic = {.ethertype = GAMMA_ETHERTYPE, .interval = NS};
	uint8_t bytes[64] = {0};
	struct capture_frame other = {.bytes = bytes, .captured = 64, .len = 64};

	(void) state;
	assert_true(traffic_add(&traffic, &other));
	other.captured = 3;
	assert_true(traffic_add(&traffic, &other));
	assert_int_equal(traffic.others, 2);
	bytes[12] = 0x88;
	bytes[13] = 0xb5;
	for (other.captured = 14; other.captured < 64; other.captured++)
		assert_true(traffic_add(&traffic, &other));
	assert_int_equal(traffic.malformed, 50);
	assert_int_equal(traffic.all.frames, 0);
	traffic_end(&traffic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(capture_next__pcap_of_each_kind),
		TEST(capture_next__pcapng_of_each_kind),
		TEST(capture_next__sections_of_both_orders),
		TEST(capture_begin__refuses_others),
		TEST(capture_next__each_truncation_is_reported_or_ends_between_frames),
		TEST(traffic_add__counts_what_frames_carry),
		TEST(traffic_add__knows_many_flows),
		TEST(traffic_add__leaves_out_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
