// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/message/rma_target.c: what it does with frames that no honest peer sends,
 * and with regions that are closed while peers are at them.
 */
#include <errno.h>

enum { REGION = 2000000, ROOM = 1440 };

#include "pair_remote_fixture.h"

static uint32_t next_seq; /* of forged frames */

static int setup_forged(void **state)
{
	next_seq = 0;
	return setup(state);
}

/* ---- hostile frames ---- */

static struct gamma_fields fields_of(uint8_t op, uint16_t extensions)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, op);

	fields.seq = next_seq++;
	fields.extensions = extensions;
	fields.rma_address = REGION_BASE;
	fields.rma_key = REGION_KEY;
	return fields;
}

static void forge(struct gamma_fields fields, uint16_t len)
{
	fields.payload_len = len;
	net_forge(net, 0, 1, &fields, bytes);
	net_run(net, 10 * US);
}

static void begin_write(uint64_t length, uint16_t len)
{
	struct gamma_fields fields = fields_of(GAMMA_OP_WRITE, GAMMA_EXT_RMA);

	fields.rma_length = length;
	forge(fields, len);
}

static void go_on(uint64_t fragment, uint16_t len)
{
	struct gamma_fields fields = fields_of(GAMMA_OP_WRITE, GAMMA_EXT_FRAGMENT);

	fields.fragment = fragment;
	forge(fields, len);
}

static uint64_t malformed(void)
{
	return net_stats(net, 1)->malformed;
}

static void nothing_written(uint64_t from)
{
	for (uint64_t i = from; i < REGION; i++)
		assert_int_equal(regions[1].bytes[i], 0);
}

static void hostile__write(void **state)
{
	(void) state;
	net->lawless = true;
	go_on(0, 100); /* of nothing */
	assert_int_equal(malformed(), 1);
	forge(fields_of(GAMMA_OP_WRITE, 0), 100);
	forge(fields_of(GAMMA_OP_WRITE, GAMMA_EXT_RMA | GAMMA_EXT_FRAGMENT), 100);
	assert_int_equal(malformed(), 3);
	begin_write(50, 51); /* more than it says */
	assert_int_equal(malformed(), 4);
	begin_write(50, 0); /* nothing of something */
	assert_int_equal(malformed(), 5);
	begin_write(GAMMA_MESSAGE_MAX + 1, 100);
	assert_int_equal(malformed(), 6);
	go_on(100, 100); /* what follows of it is not looked at */
	assert_int_equal(malformed(), 6);
	nothing_written(0);
	begin_write(300, 100);
	go_on(101, 100); /* a gap */
	assert_int_equal(malformed(), 7);
	go_on(100, 100);
	nothing_written(100);
	begin_write(300, 100);
	go_on(100, 201); /* beyond the end */
	assert_int_equal(malformed(), 8);
	nothing_written(100);
	begin_write(300, 100);
	go_on(1ull << 40 | 100, 100); /* with an id */
	assert_int_equal(malformed(), 9);
	nothing_written(100);
	begin_write(300, 100);
	begin_write(300, 100); /* before the last one's end */
	assert_int_equal(malformed(), 10);
	begin_write(100 | GAMMA_RMA_CONTINUES, 100); /* a new one begins without this */
	assert_int_equal(regions[1].touched, 0);
	assert_int_equal(net_stats(net, 1)->remote_refused, 0);
	begin_write(100, 100);
	assert_int_equal(regions[1].touched, 1);
}

/* Refused as an honest one would be: by the interface layer, who is asked before anything is
 * touched; nothing reaches it that wraps around. */
static void hostile__addresses(void **state)
{
	static const struct {
		uint64_t address, key, length;
	} rows[] = {
		{REGION_BASE, 0, 8},
		{REGION_BASE + REGION - 7, REGION_KEY, 8},
		{REGION_BASE + REGION, REGION_KEY, 8},
		{REGION_BASE - 8, REGION_KEY, 8},
		{UINT64_MAX, REGION_KEY, 8},
		{UINT64_MAX - 7, REGION_KEY, 8},
		{REGION_BASE, REGION_KEY, REGION + 1},
		{REGION_BASE + 100, REGION_KEY, GAMMA_MESSAGE_MAX},
	};

	(void) state;
	net->lawless = true;
	for (unsigned i = 0; i < gamma_array_size(rows); i++) {
		struct gamma_fields fields = fields_of(GAMMA_OP_WRITE, GAMMA_EXT_RMA);

		fields.rma_address = rows[i].address;
		fields.rma_key = rows[i].key;
		fields.rma_length = rows[i].length;
		forge(fields, 8);
		fields.op = GAMMA_OP_READ;
		fields.seq = next_seq++;
		fields.extensions = GAMMA_EXT_RMA | GAMMA_EXT_FRAGMENT;
		fields.fragment = 5ull << GAMMA_FRAGMENT_OFFSET_BITS;
		forge(fields, 0);
		assert_int_equal(net_stats(net, 1)->remote_refused, 2 * i + 2);
	}
	nothing_written(0);
	assert_int_equal(regions[1].touched, 0);
	assert_int_equal(malformed(), 0);
}

static void hostile__read(void **state)
{
	struct gamma_fields fields;

	(void) state;
	net->lawless = true;
	fields = fields_of(GAMMA_OP_READ, GAMMA_EXT_RMA);
	fields.rma_length = 8;
	forge(fields, 0);
	fields = fields_of(GAMMA_OP_READ, GAMMA_EXT_RMA | GAMMA_EXT_FRAGMENT);
	fields.rma_length = 8;
	fields.fragment = GAMMA_FRAGMENT_OFFSET_MASK;
	forge(fields, 0); /* the answer's offsets would not fit */
	fields.fragment = 0;
	fields.seq = next_seq++;
	forge(fields, 1);
	assert_int_equal(malformed(), 3);
	assert_int_equal(regions[1].asked, 0);
}

static void hostile__atomic(void **state)
{
	const uint16_t both = GAMMA_EXT_RMA | GAMMA_EXT_ATOMIC;
	struct gamma_fields fields;

	(void) state;
	net->lawless = true;
	forge(fields_of(GAMMA_OP_ATOMIC, both), 8); /* no bytes */
	fields = fields_of(GAMMA_OP_ATOMIC, both);
	fields.rma_length = 8; /* no elements */
	forge(fields, 8);
	fields.count = 1;
	fields.op = GAMMA_OP_FETCH; /* no id */
	fields.seq = next_seq++;
	forge(fields, 8);
	fields.op = GAMMA_OP_ATOMIC;
	fields.seq = next_seq++;
	fields.rma_length = GAMMA_ATOMIC_BYTES + 1;
	forge(fields, 8);
	assert_int_equal(malformed(), 4);
	assert_int_equal(regions[1].asked, 0);
	fields.seq = next_seq++;
	fields.rma_length = 800; /* more than it has operands for */
	fields.count = 100;
	forge(fields, 8);
	assert_int_equal(net_stats(net, 1)->remote_refused, 1);
	nothing_written(0);
}

/* Frames of the target's that answer nothing. */
static void hostile__answers(void **state)
{
	struct gamma_fields fields;

	(void) state;
	net->lawless = true;
	fields = fields_of(GAMMA_OP_REPLY, GAMMA_EXT_FRAGMENT);
	fields.fragment = 123ull << GAMMA_FRAGMENT_OFFSET_BITS;
	forge(fields, 8);
	assert_int_equal(net_stats(net, 1)->stray, 1);
	forge(fields_of(GAMMA_OP_REPLY, 0), 8);
	assert_int_equal(malformed(), 1);
	forge(fields_of(GAMMA_OP_FAILED, GAMMA_EXT_MESSAGE), 0);
	assert_int_equal(malformed(), 2);
	fields = fields_of(GAMMA_OP_FAILED, GAMMA_EXT_MESSAGE | GAMMA_EXT_FRAGMENT);
	fields.id = 99;
	fields.fragment = 0;
	forge(fields, 0);
	fields.seq = next_seq++;
	fields.fragment = 99ull << GAMMA_FRAGMENT_OFFSET_BITS;
	forge(fields, 0);
	assert_int_equal(malformed(), 4);
	assert_int_equal(net_flow(net, 1, 0)->tx.cuts_seen, 2);
}

/* A REPLY beyond what was asked for, or for what another peer was asked. */
static void hostile__reply(void **state)
{
	struct outgoing *read = net_read(net, 1, 0, 0, read_back, 100);
	struct gamma_fields fields;

	(void) state;
	net->lawless = true;
	net->nodes[0].unplugged = true;
	net_run(net, 0);
	fields = fields_of(GAMMA_OP_REPLY, GAMMA_EXT_FRAGMENT);
	fields.fragment = (uint64_t) read->send.id << GAMMA_FRAGMENT_OFFSET_BITS | 1;
	forge(fields, 100);
	assert_int_equal(malformed(), 1);
	fields.seq = next_seq++;
	fields.fragment |= GAMMA_FRAGMENT_OFFSET_MASK;
	forge(fields, 100);
	assert_int_equal(malformed(), 2);
	assert_false(read->done);
	assert_int_equal(read_back[0] | read_back[1] | read_back[100], 0);
}

/* ---- regions that are closed ---- */

static void closed__write_under_way_is_refused(void **state)
{
	struct outgoing *write = net_write(net, 0, 1, 0, bytes, 300000);

	(void) state;
	while (net_stats(net, 1)->data_frames_in < 20)
		assert_true(net_step(net, 2 * SEC));
	remote_close(net, 1);
	net_finish(net, SEC);
	assert_int_equal(write->error, -EACCES);
	assert_int_equal(write->remote.refusal, GAMMA_REFUSED_KEY);
	for (unsigned i = 0; i < REGION; i++)
		assert_int_equal(regions[1].bytes[i], 0xEE);
	assert_int_equal(regions[1].touched, 0);
}

/* What was sent before is still right, also when it has to be sent again. */
static void closed__read_under_way_is_refused(void **state)
{
	struct outgoing *read;

	(void) state;
	memcpy(regions[1].bytes, bytes, REGION);
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 1,
				    .kind = GAMMA_KIND_DATA,
				    .op = GAMMA_OP_REPLY,
				    .seq = ANY_SEQ,
				    .skip = 5,
				    .times = 3});
	read = net_read(net, 0, 1, 0, read_back, REGION);
	while (net_stats(net, 1)->data_frames_out < 20)
		assert_true(net_step(net, 2 * SEC));
	remote_close(net, 1);
	net_finish(net, SEC);
	net_run(net, 100 * MS);
	assert_int_equal(read->error, -EACCES);
	assert_memory_equal(read_back, bytes, 5 * ROOM);
	for (unsigned i = 0; i < REGION; i++)
		assert_true(read_back[i] == bytes[i] || !read_back[i]);
	assert_int_equal(regions[1].touched, 0);
	assert_int_equal(gamma_message_state(net_flow(net, 1, 0))->reading, 0);
}

static void closed__read_that_has_left_completes(void **state)
{
	struct outgoing *read;

	(void) state;
	memcpy(regions[1].bytes, bytes, REGION);
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 1,
				    .kind = GAMMA_KIND_DATA,
				    .op = GAMMA_OP_REPLY,
				    .seq = ANY_SEQ,
				    .times = 1});
	read = net_read(net, 0, 1, 0, read_back, 8000);
	while (net_stats(net, 1)->data_frames_out < 6)
		assert_true(net_step(net, 2 * SEC));
	remote_close(net, 1);
	net_finish(net, SEC);
	assert_int_equal(read->error, 0);
	assert_memory_equal(read_back, bytes, 8000);
}

static void closed__does_not_disturb_messages(void **state)
{
	(void) state;
	net_post(net, 0, 100000);
	net_send(net, 1, 0, 100000, GAMMA_WHEN_ARRIVED);
	net_read(net, 0, 1, 0, read_back, 300000);
	while (net_stats(net, 1)->data_frames_out < 20)
		assert_true(net_step(net, 2 * SEC));
	remote_close(net, 1);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[0].received, 1);
}

/* ---- limits ---- */

static void flood__of_reads_waits(void **state)
{
	enum { MANY = 40 };

	(void) state;
	memcpy(regions[1].bytes, bytes, REGION);
	for (unsigned i = 0; i < MANY; i++)
		net_read(net, 0, 1, i * 2000, read_back + i * 2000, 2000);
	net_finish(net, SEC);
	assert_memory_equal(read_back, bytes, MANY * 2000);
	net_run(net, 10 * MS);
	assert_int_equal(gamma_message_state(net_flow(net, 1, 0))->reading, 0);
}

#define TARGET_TEST(name) cmocka_unit_test_setup_teardown(name, setup_forged, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TARGET_TEST(hostile__write),
		TARGET_TEST(hostile__addresses),
		TARGET_TEST(hostile__read),
		TARGET_TEST(hostile__atomic),
		TARGET_TEST(hostile__answers),
		TARGET_TEST(hostile__reply),
		TARGET_TEST(closed__write_under_way_is_refused),
		TARGET_TEST(closed__read_under_way_is_refused),
		TARGET_TEST(closed__read_that_has_left_completes),
		TARGET_TEST(closed__does_not_disturb_messages),
		TARGET_TEST(flood__of_reads_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
