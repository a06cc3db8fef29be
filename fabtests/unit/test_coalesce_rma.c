// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/message/coalesce.c: short operations on remote memory that share frames with
 * each other and with messages, at both ends (rma_requester.c, rma_target.c).
 */
#include <errno.h>

enum { REGION = 65536, COUNT = 64 };

#include "pair_remote_fixture.h"

/* 4 + 24 + 8 bytes: 14 in 512. */
static struct outgoing *write_number(unsigned place, uint64_t number)
{
	return net_write(net, 0, 1, place * 8, &number, 8);
}

static uint64_t number_at(unsigned place)
{
	uint64_t number;

	memcpy(&number, regions[1].bytes + place * 8, 8);
	return number;
}

static uint64_t frames(unsigned node)
{
	return net_stats(net, node)->data_frames_out;
}

static void lose(enum fate fate, int from, unsigned times)
{
	net_rule(net, (struct rule){.fate = fate,
				    .from = from,
				    .kind = GAMMA_KIND_DATA,
				    .op = GAMMA_OP_BATCH,
				    .seq = ANY_SEQ,
				    .times = times});
}

static void writes__share_frames(void **state)
{
	(void) state;
	for (unsigned i = 0; i < COUNT; i++)
		write_number(i, i + 1);
	net_finish(net, SEC);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(number_at(i), i + 1);
	assert_int_equal(frames(0), 5);
	assert_int_equal(net_stats(net, 0)->batched, COUNT);
	assert_int_equal(net_stats(net, 0)->remote_out, COUNT);
	assert_int_equal(regions[1].touched, COUNT);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void writes__are_complete_when_they_are_there(void **state)
{
	struct outgoing *writes[20];

	(void) state;
	net->nodes[1].wakes = net->now + 20 * MS;
	for (unsigned i = 0; i < gamma_array_size(writes); i++)
		writes[i] = write_number(i, 1);
	net_run(net, 19 * MS);
	for (unsigned i = 0; i < gamma_array_size(writes); i++)
		assert_false(writes[i]->done);
	net_finish(net, SEC);
	for (unsigned i = 0; i < gamma_array_size(writes); i++)
		assert_int_equal(writes[i]->error, 0);
}

static void writes__to_the_same_place_in_their_order(void **state)
{
	(void) state;
	lose(DROP, 0, 2);
	for (unsigned i = 0; i < COUNT; i++)
		write_number(0, i);
	net_finish(net, SEC);
	assert_int_equal(number_at(0), COUNT - 1);
	assert_int_equal(net_stats(net, 0)->retransmissions, 2);
}

static void writes__of_several_pieces_have_their_own_frames(void **state)
{
	const struct gamma_rma two = {
		.op = GAMMA_OP_WRITE,
		.operands = 1,
		.segment_count = 2,
		.segments = {{REGION_BASE, REGION_KEY, 8}, {REGION_BASE + 800, REGION_KEY, 8}},
	};

	(void) state;
	net_remote(net, 0, 1, &two, bytes, NULL);
	write_number(1, 7);
	write_number(2, 8);
	net_finish(net, SEC);
	assert_memory_equal(regions[1].bytes, bytes, 8);
	assert_memory_equal(regions[1].bytes + 800, bytes + 8, 8);
	assert_int_equal(number_at(2), 8);
	assert_int_equal(frames(0), 3);
	assert_int_equal(net_stats(net, 0)->batched, 2);
}

static void writes__deliver_their_data(void **state)
{
	const struct gamma_rma remote = {
		.op = GAMMA_OP_WRITE,
		.operands = 1,
		.segment_count = 1,
		.segments = {{REGION_BASE, REGION_KEY, 8}},
	};

	(void) state;
	for (uint64_t i = 0; i < 10; i++)
		net_remote(net, 0, 1, &remote, bytes, i % 2 ? &i : NULL);
	net_finish(net, SEC);
	assert_int_equal(regions[1].with_data, 5);
	assert_int_equal(regions[1].last_data, 9);
	assert_int_equal(frames(0), 1);
}

static void reads__share_frames_both_ways(void **state)
{
	(void) state;
	memcpy(regions[1].bytes, bytes, REGION);
	for (unsigned i = 0; i < COUNT; i++)
		net_read(net, 0, 1, i * 8, read_back + i * 8, 8);
	net_finish(net, SEC);
	assert_memory_equal(read_back, bytes, COUNT * 8);
	assert_int_equal(frames(0), 5);
	assert_true(frames(1) <= 5);
	assert_int_equal(net_flow(net, 0, 1)->owed, 0);
	assert_int_equal(gamma_message_state(net_flow(net, 1, 0))->reading, 0);
}

static void reads__of_much_ask_together(void **state)
{
	(void) state;
	memcpy(regions[1].bytes, bytes, REGION);
	for (unsigned i = 0; i < 6; i++)
		net_read(net, 0, 1, i * 10000, read_back + i * 10000, 10000);
	net_finish(net, SEC);
	assert_memory_equal(read_back, bytes, 60000);
	assert_int_equal(frames(0), 1);
}

static void atomics__once_each_whatever_is_lost(void **state)
{
	const uint64_t operands[] = {1, 1}, set[] = {1000, 40};
	uint64_t before[COUNT], last = 0;

	(void) state;
	lose(DROP, 0, 2);
	lose(DUPLICATE, 0, 2);
	lose(DROP, 1, 1);
	for (unsigned i = 0; i < COUNT; i++) {
		net_atomic(net, 0, 1, GAMMA_OP_ATOMIC, 0, operands, 2, NULL);
		net_atomic(net, 0, 1, GAMMA_OP_FETCH, 0, operands, 1, &before[i]);
		if (i == COUNT / 2)
			net_atomic(net, 0, 1, GAMMA_OP_COMPARE, 8, set, 1, &last);
	}
	net_finish(net, SEC);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(before[i], 2 * i + 1);
	assert_int_equal(number_at(0), 2 * COUNT);
	assert_int_equal(number_at(1), COUNT);
	assert_int_equal(last, COUNT / 2 + 1);
	assert_true(net_stats(net, 0)->batched > COUNT);
}

static void mixed__with_messages_stay_in_line(void **state)
{
	uint64_t seen[COUNT];

	(void) state;
	for (unsigned i = 0; i < COUNT; i++) {
		write_number(0, i);
		net_post(net, 1, 100);
		net_send(net, 0, 1, 20, i % 3 ? GAMMA_WHEN_COPIED : GAMMA_WHEN_ARRIVED);
		net_read(net, 0, 1, 0, &seen[i], 8);
	}
	net_finish(net, SEC);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(seen[i], i);
	assert_int_equal(net->nodes[1].received, COUNT);
}

static void fenced__waits_for_those_before(void **state)
{
	struct outgoing *before = write_number(0, 1), *fenced = write_number(0, 2);

	(void) state;
	fenced->send.fence = true;
	write_number(1, 3);
	net->nodes[1].unplugged = true;
	net_run(net, 100 * US);
	assert_int_equal(frames(0), 1);
	net->nodes[1].unplugged = false;
	net_finish(net, SEC);
	assert_true(before->done_at <= fenced->done_at);
	assert_int_equal(number_at(0), 2);
	assert_int_equal(number_at(1), 3);
}

/* ---- refusals, cut messages, the end ---- */

static void refused__is_the_one_meant(void **state)
{
	struct outgoing *writes[COUNT];

	(void) state;
	for (unsigned i = 0; i < COUNT; i++) {
		writes[i] = write_number(i % 5 ? i : REGION / 8, i + 1);
		if (i % 3 == 0) {
			net_post(net, 1, 100);
			net_send(net, 0, 1, 20, GAMMA_WHEN_COPIED);
		}
	}
	net_finish(net, SEC);
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(writes[i]->error, i % 5 ? 0 : -EINVAL);
		assert_int_equal(number_at(i), i % 5 ? i + 1 : 0);
	}
	assert_int_equal(net_stats(net, 1)->remote_refused, 13);
	assert_int_equal(net_stats(net, 0)->malformed + net_stats(net, 1)->malformed, 0);
}

static void cut__messages_between_writes(void **state)
{
	struct net_options options = net_defaults();

	(void) state;
	teardown(NULL);
	options.unexpected_size = 100;
	net = net_new(2, &options);
	remote_begin(net, REGION);
	for (unsigned i = 0; i < COUNT; i++) {
		write_number(i, i + 1);
		net_send(net, 0, 1, 20, GAMMA_WHEN_COPIED);
	}
	net_run(net, MS);
	assert_int_equal(net_stats(net, 1)->demoted, COUNT - 5);
	for (unsigned i = 0; i < COUNT; i++)
		net_post(net, 1, 64);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(number_at(i), i + 1);
	assert_int_equal(net_stats(net, 0)->malformed, 0);
}

static void failed__ends_all_that_wait(void **state)
{
	(void) state;
	net->nodes[1].unplugged = true;
	for (unsigned i = 0; i < COUNT; i++)
		write_number(i, 1);
	net_run(net, 100 * US);
	gamma_flow_fail(net_flow(net, 0, 1), -ECONNRESET, "test");
	assert_int_equal(net->nodes[0].send_errors, COUNT);
}

static void forge_notice(uint8_t op, uint64_t length, uint64_t fragment)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_DATA, op);

	fields.extensions = GAMMA_EXT_MESSAGE | GAMMA_EXT_FRAGMENT;
	fields.seq = net_flow(net, 0, 1)->rx.next;
	fields.id = 0;
	fields.length = length;
	fields.fragment = fragment;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, 0);
}

static void malformed__notices(void **state)
{
	struct outgoing *first, *second;

	(void) state;
	net->nodes[1].unplugged = true;
	first = write_number(0, 1);
	net_send(net, 0, 1, 20, GAMMA_WHEN_COPIED);
	second = write_number(1, 1);
	net_run(net, 10 * US);
	net->nodes[1].unplugged = false;
	assert_int_equal(frames(0), 1);
	forge_notice(GAMMA_OP_FAILED, GAMMA_REFUSED_KEY, 1); /* a message */
	forge_notice(GAMMA_OP_FAILED, GAMMA_REFUSED_KEY, 3); /* not that many */
	forge_notice(GAMMA_OP_CUT, 8, 0x123456ull << GAMMA_FRAGMENT_OFFSET_BITS); /* a write */
	assert_int_equal(net_stats(net, 0)->malformed, 3);
	forge_notice(GAMMA_OP_FAILED, GAMMA_REFUSED_KEY, 2);
	assert_int_equal(net_stats(net, 0)->malformed, 3);
	assert_int_equal(second->send.error, -EACCES);
	assert_int_equal(first->send.error, 0);
}

#define NET_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(writes__share_frames),
		NET_TEST(writes__are_complete_when_they_are_there),
		NET_TEST(writes__to_the_same_place_in_their_order),
		NET_TEST(writes__of_several_pieces_have_their_own_frames),
		NET_TEST(writes__deliver_their_data),
		NET_TEST(reads__share_frames_both_ways),
		NET_TEST(reads__of_much_ask_together),
		NET_TEST(atomics__once_each_whatever_is_lost),
		NET_TEST(mixed__with_messages_stay_in_line),
		NET_TEST(fenced__waits_for_those_before),
		NET_TEST(refused__is_the_one_meant),
		NET_TEST(cut__messages_between_writes),
		NET_TEST(failed__ends_all_that_wait),
		NET_TEST(malformed__notices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
