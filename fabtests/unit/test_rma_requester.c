// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/message/rma_requester.c: operations on remote memory as their requester sees
 * them, with the target's side of rma_target.c at the other end.
 */
#include <errno.h>

enum { REGION = 400000 };

#include "pair_remote_fixture.h"

static void fill_region(unsigned node)
{
	memcpy(regions[node].bytes, bytes, REGION);
}

static void lose(enum fate fate, int from, uint8_t op, unsigned skip)
{
	net_rule(net, (struct rule){.fate = fate,
				    .from = from,
				    .kind = GAMMA_KIND_DATA,
				    .op = op,
				    .seq = ANY_SEQ,
				    .skip = skip,
				    .times = 1,
				    .delay = 50 * US});
}

static const uint64_t lengths[] = {0, 1, 8, 512, 513, 1440, 1444, 1445, 1460, 5000, 100000};

/* ---- writes ---- */

static void write__lands_whole(void **state)
{
	(void) state;
	for (unsigned i = 0; i < gamma_array_size(lengths); i++) {
		struct outgoing *write = net_write(net, 0, 1, 1000 + i, bytes + i, lengths[i]);

		net_finish(net, SEC);
		assert_int_equal(write->error, 0);
		assert_memory_equal(regions[1].bytes + 1000 + i, bytes + i, lengths[i]);
		assert_int_equal(regions[1].touched, i + 1);
	}
	assert_int_equal(net_stats(net, 0)->remote_out, gamma_array_size(lengths));
	assert_int_equal(net_stats(net, 1)->remote_in, gamma_array_size(lengths));
	assert_int_equal(net_stats(net, 0)->messages_out, 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void write__short_costs_a_frame_and_an_ack(void **state)
{
	(void) state;
	net_write(net, 0, 1, 0, bytes, 64);
	net_finish(net, SEC);
	net_run(net, 10 * MS);
	assert_int_equal(net_stats(net, 0)->data_frames_out, 1);
	assert_int_equal(net_stats(net, 1)->acks_out, 1);
	assert_int_equal(net_stats(net, 1)->data_frames_out, 0);
}

static void write__is_complete_when_it_is_there(void **state)
{
	struct outgoing *write;

	(void) state;
	net->nodes[1].wakes = net->now + 20 * MS;
	write = net_write(net, 0, 1, 0, bytes, 64);
	net_run(net, 19 * MS);
	assert_false(write->done);
	net_finish(net, SEC);
	assert_memory_equal(regions[1].bytes, bytes, 64);
}

static void write__later_wins_whatever_overtakes(void **state)
{
	(void) state;
	lose(DELAY, 0, GAMMA_OP_WRITE, 1);
	net_write(net, 0, 1, 0, bytes, 5000);
	net_write(net, 0, 1, 0, bytes + 9, 5000);
	net_finish(net, SEC);
	assert_memory_equal(regions[1].bytes, bytes + 9, 5000);
	assert_int_equal(regions[1].touched, 2);
}

static void write__lost_frames_come_again(void **state)
{
	(void) state;
	lose(DROP, 0, GAMMA_OP_WRITE, 0);
	lose(DROP, 0, GAMMA_OP_WRITE, 5);
	lose(DUPLICATE, 0, GAMMA_OP_WRITE, 7);
	net_write(net, 0, 1, 0, bytes, 20000);
	net_finish(net, SEC);
	assert_memory_equal(regions[1].bytes, bytes, 20000);
	assert_int_equal(regions[1].touched, 1);
}

/* ---- several pieces ---- */

static const struct gamma_rma three_pieces = {
	.op = GAMMA_OP_WRITE,
	.operands = 1,
	.segment_count = 5,
	.segments =
		{
			{REGION_BASE + 50000, REGION_KEY, 4000},
			{0, 12345, 0}, /* touches nothing, so the key does not matter */
			{REGION_BASE + 10, REGION_KEY, 1},
			{REGION_BASE + 9000, REGION_KEY, 3000},
			{7, 7, 0},
		},
};

static void pieces__each_goes_to_its_place(void **state)
{
	const uint64_t data = 0xfeedfacecafebeef;

	(void) state;
	net_remote(net, 0, 1, &three_pieces, bytes, &data);
	net_finish(net, SEC);
	assert_memory_equal(regions[1].bytes + 50000, bytes, 4000);
	assert_memory_equal(regions[1].bytes + 10, bytes + 4000, 1);
	assert_memory_equal(regions[1].bytes + 9000, bytes + 4001, 3000);
	assert_int_equal(regions[1].iov_count, 3);
	assert_int_equal(regions[1].touched, 1);
	assert_int_equal(regions[1].with_data, 1);
	assert_true(regions[1].last_data == data);
}

static void pieces__are_read_into_one(void **state)
{
	struct gamma_rma remote = three_pieces;

	(void) state;
	fill_region(1);
	remote.op = GAMMA_OP_READ;
	remote.operands = 0;
	remote.result[0] = (struct iovec){read_back, 7001};
	remote.result_count = 1;
	net_remote(net, 0, 1, &remote, NULL, NULL);
	net_finish(net, SEC);
	assert_memory_equal(read_back, bytes + 50000, 4000);
	assert_memory_equal(read_back + 4000, bytes + 10, 1);
	assert_memory_equal(read_back + 4001, bytes + 9000, 3000);
	assert_int_equal(read_back[7001], 0);
	net_run(net, 10 * MS); /* the last acknowledgement */
	assert_int_equal(regions[1].touched, 1);
}

/* The first piece is refused: nothing of the others may be done. */
static void pieces__refused_one_ends_all(void **state)
{
	struct gamma_rma remote = three_pieces;
	struct outgoing *write;

	(void) state;
	remote.segments[0].key++;
	write = net_remote(net, 0, 1, &remote, bytes, NULL);
	net_write(net, 0, 1, 20000, bytes, 3000);
	net_finish(net, SEC);
	assert_int_equal(write->error, -EACCES);
	assert_int_equal(regions[1].bytes[10], 0);
	assert_int_equal(regions[1].bytes[9000], 0);
	assert_memory_equal(regions[1].bytes + 20000, bytes, 3000);
	assert_int_equal(regions[1].touched, 1);
	assert_int_equal(net_stats(net, 1)->malformed, 0);
}

/* ---- reads ---- */

static void read__brings_what_is_there(void **state)
{
	(void) state;
	fill_region(1);
	for (unsigned i = 0; i < gamma_array_size(lengths); i++) {
		struct outgoing *read = net_read(net, 0, 1, 1000 + i, read_back, lengths[i]);

		net_finish(net, SEC);
		assert_int_equal(read->error, 0);
		assert_memory_equal(read_back, bytes + 1000 + i, lengths[i]);
		net_run(net, 10 * MS);
		assert_int_equal(regions[1].touched, i + 1);
	}
	assert_int_equal(net_flow(net, 0, 1)->owed, 0);
	assert_int_equal(gamma_message_state(net_flow(net, 1, 0))->reading, 0);
}

static void read__short_costs_a_frame_each_way(void **state)
{
	(void) state;
	net_read(net, 0, 1, 0, read_back, 64);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->data_frames_out, 1);
	assert_int_equal(net_stats(net, 1)->data_frames_out, 1);
	assert_int_equal(net_stats(net, 1)->acks_out, 0);
}

static void read__sees_what_was_written_before(void **state)
{
	(void) state;
	lose(DROP, 0, GAMMA_OP_WRITE, 1);
	net_write(net, 0, 1, 0, bytes, 30000);
	net_read(net, 0, 1, 0, read_back, 30000);
	net_finish(net, SEC);
	assert_memory_equal(read_back, bytes, 30000);
}

/* Its answer has to be sent again, when the write has long been carried out. */
static void read_short_then_write(void)
{
	lose(DROP, 1, GAMMA_OP_REPLY, 0);
	net_read(net, 0, 1, 0, read_back, GAMMA_ATOMIC_BYTES);
	net_write(net, 0, 1, 0, bytes + 5, 2000);
	net_finish(net, SEC);
	assert_memory_equal(read_back, bytes, GAMMA_ATOMIC_BYTES);
	assert_memory_equal(regions[1].bytes, bytes + 5, 2000);
}

static void read__short_does_not_see_what_is_written_later(void **state)
{
	(void) state;
	fill_region(1);
	read_short_then_write();
}

/* Nor in frames that have become smaller than that. */
static void read__short_in_several_frames_neither(void **state)
{
	(void) state;
	fill_region(1);
	gamma_path_mtu_set_own(&net->nodes[1].ep.local, 600);
	read_short_then_write();
}

static void read__lost_frames_come_again(void **state)
{
	(void) state;
	fill_region(1);
	lose(DROP, 0, GAMMA_OP_READ, 0);
	lose(DROP, 1, GAMMA_OP_REPLY, 0);
	lose(DELAY, 1, GAMMA_OP_REPLY, 3);
	lose(DUPLICATE, 1, GAMMA_OP_REPLY, 5);
	net_read(net, 0, 1, 0, read_back, 20000);
	net_read(net, 0, 1, 50000, read_back + 50000, 20);
	net_finish(net, SEC);
	assert_memory_equal(read_back, bytes, 20000);
	assert_memory_equal(read_back + 50000, bytes + 50000, 20);
}

/* ---- atomics ---- */

static void atomic__any_number_of_elements(void **state)
{
	static uint64_t operands[600], before[300], expected[300];
	uint64_t *at = (uint64_t *) (void *) regions[1].bytes;

	(void) state;
	for (unsigned i = 0; i < 300; i++) {
		at[i] = expected[i] = 1000 + i;
		operands[i] = i * i;
	}
	net_atomic(net, 0, 1, GAMMA_OP_ATOMIC, 0, operands, 300, NULL);
	net_atomic(net, 0, 1, GAMMA_OP_FETCH, 0, operands, 300, before);
	net_finish(net, SEC);
	for (unsigned i = 0; i < 300; i++) {
		assert_true(before[i] == expected[i] + operands[i]);
		assert_true(at[i] == expected[i] + 2 * operands[i]);
		operands[300 + i] = i % 2 ? at[i] : 0; /* comparand */
		expected[i] = i % 2 ? operands[i] : at[i];
	}
	net_atomic(net, 0, 1, GAMMA_OP_COMPARE, 0, operands, 300, before);
	net_finish(net, SEC);
	assert_memory_equal(at, expected, sizeof(expected));
	assert_int_equal(regions[1].touched, 3);
}

static void atomic__carried_out_once(void **state)
{
	const uint64_t one[] = {1};
	uint64_t before = 77, value;

	(void) state;
	lose(DROP, 0, GAMMA_OP_FETCH, 0);
	lose(DUPLICATE, 0, GAMMA_OP_FETCH, 1);
	lose(DROP, 1, GAMMA_OP_REPLY, 0);
	lose(DUPLICATE, 0, GAMMA_OP_ATOMIC, 0);
	for (unsigned i = 0; i < 10; i++) {
		net_atomic(net, 0, 1, GAMMA_OP_FETCH, 8, one, 1, &before);
		net_atomic(net, 0, 1, GAMMA_OP_ATOMIC, 8, one, 1, NULL);
		net_finish(net, SEC);
		assert_int_equal(before, 2 * i);
	}
	memcpy(&value, regions[1].bytes + 8, 8);
	assert_int_equal(value, 20);
}

/* ---- refusals ---- */

static void refused__reports_why_and_touches_nothing(void **state)
{
	static const struct {
		uint64_t address, key, length;
		int error;
		enum gamma_refusal refusal;
	} rows[] = {
		{REGION_BASE, 78, 8, -EACCES, GAMMA_REFUSED_KEY},
		{REGION_BASE - 1, REGION_KEY, 8, -EINVAL, GAMMA_REFUSED_BOUNDS},
		{REGION_BASE + REGION - 7, REGION_KEY, 8, -EINVAL, GAMMA_REFUSED_BOUNDS},
		{REGION_BASE, REGION_KEY, REGION + 1, -EINVAL, GAMMA_REFUSED_BOUNDS},
		{UINT64_MAX - 3, REGION_KEY, 8, -EINVAL, GAMMA_REFUSED_BOUNDS},
	};
	static const enum gamma_op ops[] = {GAMMA_OP_WRITE, GAMMA_OP_READ, GAMMA_OP_ATOMIC,
					    GAMMA_OP_FETCH};
	static uint8_t data[REGION + 1];

	(void) state;
	for (unsigned i = 0; i < gamma_array_size(rows); i++) {
		for (unsigned j = 0; j < gamma_array_size(ops); j++) {
			bool result = ops[j] == GAMMA_OP_READ || ops[j] == GAMMA_OP_FETCH;
			bool atomic = ops[j] >= GAMMA_OP_ATOMIC;
			struct gamma_rma remote = {
				.op = ops[j],
				.operands = ops[j] != GAMMA_OP_READ,
				.unit = atomic ? 8 : 0,
				.segment_count = 1,
				.segments = {{rows[i].address, rows[i].key,
					      atomic ? 8 : rows[i].length}},
				.result = {{read_back, rows[i].length}},
				.result_count = result,
			};
			struct outgoing *out;

			if (atomic && rows[i].length > 8)
				continue;
			out = net_remote(net, 0, 1, &remote, data, NULL);
			net_finish(net, SEC);
			assert_int_equal(out->error, rows[i].error);
			assert_int_equal(out->remote.refusal, rows[i].refusal);
		}
	}
	assert_int_equal(regions[1].touched, 0);
	assert_int_equal(net_stats(net, 1)->remote_refused, 18);
	assert_int_equal(net_stats(net, 0)->malformed + net_stats(net, 1)->malformed, 0);
}

static void refused__by_access(void **state)
{
	struct outgoing *write, *read;

	(void) state;
	regions[1].writable = false;
	write = net_write(net, 0, 1, 0, bytes, 10);
	read = net_read(net, 0, 1, 0, read_back, 10);
	net_finish(net, SEC);
	assert_int_equal(write->remote.refusal, GAMMA_REFUSED_ACCESS);
	assert_int_equal(read->error, 0);
}

static void refused__where_nothing_is_offered(void **state)
{
	const uint64_t one[] = {1};
	struct outgoing *out[4];

	(void) state;
	net->nodes[1].ep.handlers.messages.target = NULL;
	out[0] = net_write(net, 0, 1, 0, bytes, 10);
	out[1] = net_read(net, 0, 1, 0, read_back, 10);
	out[2] = net_atomic(net, 0, 1, GAMMA_OP_ATOMIC, 0, one, 1, NULL);
	out[3] = net_write(net, 0, 1, 0, bytes, 0);
	net_finish(net, SEC);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(out[i]->error, -EOPNOTSUPP);
}

/* The acknowledgement of a refused write may come first, but must not complete it. */
static void refused__acknowledgement_does_not_overtake(void **state)
{
	struct outgoing *write;

	(void) state;
	net_rule(net, (struct rule){.fate = DELAY,
				    .from = 1,
				    .kind = GAMMA_KIND_DATA,
				    .op = GAMMA_OP_FAILED,
				    .seq = ANY_SEQ,
				    .times = 1,
				    .delay = 5 * MS});
	write = net_write(net, 0, 1, REGION, bytes, 8);
	while (!net_stats(net, 0)->acks_in)
		assert_true(net_step(net, 2 * SEC));
	assert_false(write->done);
	assert_int_equal(net_stats(net, 0)->data_frames_in, 0);
	net_finish(net, SEC);
	assert_int_equal(write->error, -EINVAL);
}

static void refused__long_write_is_cut_short(void **state)
{
	struct outgoing *write;

	(void) state;
	write = net_write(net, 0, 1, 1, bytes, REGION);
	net_write(net, 0, 1, 0, bytes, 20000);
	net_finish(net, SEC);
	assert_int_equal(write->error, -EINVAL);
	assert_true(net_stats(net, 0)->data_frames_out < 100);
	assert_memory_equal(regions[1].bytes, bytes, 20000);
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	assert_int_equal(net_stats(net, 1)->remote_refused, 1);
}

static void refused__others_go_on(void **state)
{
	const uint64_t one[] = {1};
	uint64_t before = 0;

	(void) state;
	for (unsigned i = 0; i < 50; i++) {
		net_write(net, 0, 1, i % 3 ? i * 100 : REGION, bytes + i * 100, 100);
		net_atomic(net, 0, 1, GAMMA_OP_FETCH, i % 5 ? 80000 : REGION, one, 1, &before);
	}
	net_finish(net, SEC);
	assert_int_equal(net->nodes[0].send_errors, 17 + 10);
	assert_int_equal(net->nodes[0].sent, 33 + 40);
	assert_int_equal(before, 39);
	for (unsigned i = 0; i < 50; i++)
		if (i % 3)
			assert_memory_equal(regions[1].bytes + i * 100, bytes + i * 100, 100);
}

static void post__too_long(void **state)
{
	struct gamma_rma remote = three_pieces;
	struct outgoing out = {.next = NULL};

	(void) state;
	remote.segments[0].length = GAMMA_MESSAGE_MAX;
	assert_int_equal(gamma_rma_requester_post(net_flow(net, 0, 1), &out.send, &remote),
			 -EMSGSIZE);
	remote.segments[0].length = UINT64_MAX;
	assert_int_equal(gamma_rma_requester_post(net_flow(net, 0, 1), &out.send, &remote),
			 -EMSGSIZE);
	assert_false(gamma_send_has_frames(net_flow(net, 0, 1)));
}

/* ---- fence ---- */

static void fence__waits_for_all_before(void **state)
{
	struct outgoing *read, *fenced, *behind, *message;

	(void) state;
	lose(DELAY, 1, GAMMA_OP_REPLY, 0);
	read = net_read(net, 0, 1, 0, read_back, 64);
	fenced = net_write(net, 0, 1, 0, bytes, 64);
	fenced->send.fence = true;
	behind = net_write(net, 0, 1, 64, bytes, 64);
	while (!read->done) {
		assert_true(net_step(net, 2 * SEC));
		assert_true(read->done || net_stats(net, 0)->data_frames_out == 1);
	}
	net_finish(net, SEC);
	assert_true(fenced->done_at > read->done_at && behind->done_at >= fenced->done_at);
	/* Also behind an announced message, and in front of another message. */
	message = net_send(net, 0, 1, 50000, GAMMA_WHEN_ARRIVED);
	fenced = net_write(net, 0, 1, 0, bytes, 5000);
	fenced->send.fence = true;
	net_run(net, 20 * MS);
	assert_false(fenced->done);
	net_post(net, 1, 50000);
	net_finish(net, SEC);
	assert_true(fenced->done_at > message->done_at);
}

static void fence__of_a_message_waits_for_a_write(void **state)
{
	struct outgoing *write, *message;

	(void) state;
	net_post(net, 1, 100);
	write = net_write(net, 0, 1, 0, bytes, 20000);
	message = net_send(net, 0, 1, 100, GAMMA_WHEN_COPIED);
	message->send.fence = true;
	net_finish(net, SEC);
	assert_true(message->done_at >= write->done_at);
}

/* ---- the end of a flow ---- */

static void end__all_pending_get_an_error(void **state)
{
	static struct net_options options;
	struct outgoing *out[5];
	const uint64_t one[] = {1};

	teardown(state);
	options = net_defaults();
	options.peer_timeout = 200 * MS;
	net = net_new(2, &options);
	remote_begin(net, REGION);
	net_write(net, 0, 1, 0, bytes, 100);
	net_finish(net, SEC);
	net->nodes[1].unplugged = true;
	out[0] = net_write(net, 0, 1, 0, bytes, 8);
	out[1] = net_read(net, 0, 1, 0, read_back, 8);
	out[2] = net_write(net, 0, 1, 0, bytes, 300000);
	out[3] = net_read(net, 0, 1, 0, read_back, 300000);
	out[4] = net_atomic(net, 0, 1, GAMMA_OP_FETCH, 0, one, 1, (uint64_t *) (void *) read_back);
	net_finish(net, 2 * SEC);
	for (unsigned i = 0; i < gamma_array_size(out); i++)
		assert_int_equal(out[i]->error, -ETIMEDOUT);
	assert_int_equal(net_flow(net, 0, 1)->owed, 0);
}

static void end__bye_of_the_target(void **state)
{
	struct outgoing *read;

	(void) state;
	net->nodes[1].wakes = net->now + 5 * MS;
	read = net_read(net, 0, 1, 0, read_back, 300000);
	net_run(net, 6 * MS);
	gamma_flow_bye(net_flow(net, 1, 0), net->now);
	net_finish(net, SEC);
	if (read->error)
		assert_int_equal(read->error, -ECONNRESET);
	net_run(net, 10 * MS);
	assert_int_equal(net_flow(net, 0, 1)->owed, 0);
}

#define REMOTE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REMOTE_TEST(write__lands_whole),
		REMOTE_TEST(write__short_costs_a_frame_and_an_ack),
		REMOTE_TEST(write__is_complete_when_it_is_there),
		REMOTE_TEST(write__later_wins_whatever_overtakes),
		REMOTE_TEST(write__lost_frames_come_again),
		REMOTE_TEST(pieces__each_goes_to_its_place),
		REMOTE_TEST(pieces__are_read_into_one),
		REMOTE_TEST(pieces__refused_one_ends_all),
		REMOTE_TEST(read__brings_what_is_there),
		REMOTE_TEST(read__short_costs_a_frame_each_way),
		REMOTE_TEST(read__sees_what_was_written_before),
		REMOTE_TEST(read__short_does_not_see_what_is_written_later),
		REMOTE_TEST(read__short_in_several_frames_neither),
		REMOTE_TEST(read__lost_frames_come_again),
		REMOTE_TEST(atomic__any_number_of_elements),
		REMOTE_TEST(atomic__carried_out_once),
		REMOTE_TEST(refused__reports_why_and_touches_nothing),
		REMOTE_TEST(refused__by_access),
		REMOTE_TEST(refused__where_nothing_is_offered),
		REMOTE_TEST(refused__acknowledgement_does_not_overtake),
		REMOTE_TEST(refused__long_write_is_cut_short),
		REMOTE_TEST(refused__others_go_on),
		REMOTE_TEST(post__too_long),
		REMOTE_TEST(fence__waits_for_all_before),
		REMOTE_TEST(fence__of_a_message_waits_for_a_write),
		REMOTE_TEST(end__all_pending_get_an_error),
		REMOTE_TEST(end__bye_of_the_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
