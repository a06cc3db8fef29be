// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/send_window.c: numbers, acknowledgements, what is to be sent again. */
#include "pair_fixture.h"

#include <stdlib.h>

static struct gamma_flow *flow; /* of node 0 to node 1 */

static int setup_flow(void **state)
{
	setup(state);
	flow = net_flow(net, 0, 1);
	return 0;
}

/* Makes so many frames leave without a peer that answers. */
static void send_frames(unsigned count)
{
	flow->tx.limit = flow->tx.next + count;
	net->nodes[0].unplugged = true;
	for (unsigned i = 0; i < count; i++)
		net_send(net, 0, 1, 600, GAMMA_WHEN_ARRIVED);
	net_run(net, 0);
	assert_int_equal(gamma_send_window_unacked(&flow->tx), count);
}

static bool ack(uint32_t number)
{
	struct gamma_fields fields = {
		.extensions = GAMMA_EXT_ACK,
		.ack = number,
		.limit = flow->tx.limit,
	};

	return gamma_send_window_receive_ack(flow, &fields, net->now, net->now);
}

static bool sack(uint32_t number, uint32_t base, uint64_t low, uint64_t high)
{
	struct gamma_fields fields = {
		.extensions = GAMMA_EXT_ACK | GAMMA_EXT_SACK,
		.ack = number,
		.limit = flow->tx.limit,
		.sack_base = base,
		.sack = {low, high},
	};

	return gamma_send_window_receive_ack(flow, &fields, net->now, net->now);
}

/* Frames that will not be sent again, those acknowledged for good included. */
static uint32_t arrived(void)
{
	uint32_t count = flow->tx.una;

	for (uint32_t seq = flow->tx.una; seq != flow->tx.next; seq++)
		count += gamma_send_window_at(&flow->tx, seq)->state == GAMMA_SENT_ARRIVED;
	return count;
}

static void ack__cumulative(void **state)
{
	(void) state;
	send_frames(8);
	assert_true(ack(3));
	assert_int_equal(flow->tx.una, 3);
	assert_int_equal(net->nodes[0].sent, 3);
	assert_true(ack(8));
	assert_int_equal(gamma_send_window_unacked(&flow->tx), 0);
	assert_int_equal(net->nodes[0].sent, 8);
}

static void ack__older_one_changes_nothing(void **state)
{
	(void) state;
	send_frames(8);
	assert_true(ack(5));
	assert_true(ack(2));
	assert_true(ack(5));
	assert_int_equal(flow->tx.una, 5);
	assert_int_equal(net->nodes[0].sent, 5);
}

static void ack__of_what_was_never_sent(void **state)
{
	(void) state;
	send_frames(8);
	assert_false(ack(9));
	assert_int_equal(flow->tx.una, 0);
}

static void ack__across_the_wrap(void **state)
{
	(void) state;
	net_begin_at(net, 0, 1, UINT32_MAX - 2);
	send_frames(8);
	assert_int_equal(flow->tx.next, 5);
	assert_true(ack(UINT32_MAX));
	assert_int_equal(net->nodes[0].sent, 2);
	assert_true(ack(4));
	assert_int_equal(net->nodes[0].sent, 7);
	assert_false(ack(6));
	assert_int_equal(gamma_send_window_unacked(&flow->tx), 1);
}

static void sack__is_not_the_end_of_a_send(void **state)
{
	(void) state;
	send_frames(8);
	assert_true(sack(1, 1, 0x5 << 1, 0)); /* frames 2 and 4 */
	assert_int_equal(arrived(), 3);
	assert_int_equal(net->nodes[0].sent, 1); /* the receiver has not looked at them yet */
	assert_int_equal(flow->tx.una, 1);
	assert_true(ack(8));
	assert_int_equal(net->nodes[0].sent, 8);
}

static void sack__bits_outside_the_window_are_ignored(void **state)
{
	(void) state;
	send_frames(8);
	assert_true(ack(4));
	assert_true(sack(4, 2, ~0ull & ~4ull, ~0ull)); /* all but frame 4, and many never sent */
	assert_int_equal(arrived(), 7);
	assert_int_equal(flow->tx.una, 4);
}

static void sack__gap_of_more_than_the_bits(void **state)
{
	(void) state;
	send_frames(300);
	assert_true(sack(1, 172, ~0ull, ~0ull)); /* 172 to 299 */
	assert_int_equal(arrived(), 1 + 128);
	assert_true(sack(1, 44, ~0ull, ~0ull));
	assert_int_equal(arrived(), 1 + 256);
	assert_true(ack(300));
	assert_int_equal(net->nodes[0].sent, 300);
}

static void lost__are_sent_again_lowest_first(void **state)
{
	uint32_t seq;

	(void) state;
	send_frames(8);
	gamma_send_window_mark_lost(flow, 5);
	gamma_send_window_mark_lost(flow, 2);
	assert_non_null(gamma_send_window_next_lost(flow, &seq));
	assert_int_equal(seq, 2);
	gamma_send_window_at(&flow->tx, seq)->state = GAMMA_SENT_FLYING;
	assert_non_null(gamma_send_window_next_lost(flow, &seq));
	assert_int_equal(seq, 5);
	gamma_send_window_at(&flow->tx, seq)->state = GAMMA_SENT_FLYING;
	assert_null(gamma_send_window_next_lost(flow, &seq));
}

static void lost__arrived_after_all(void **state)
{
	uint32_t seq;

	(void) state;
	send_frames(8);
	gamma_send_window_mark_lost(flow, 2);
	gamma_send_window_mark_lost(flow, 6);
	assert_true(ack(4));
	assert_int_equal(flow->tx.lost, 1);
	assert_non_null(gamma_send_window_next_lost(flow, &seq));
	assert_int_equal(seq, 6);
}

static void grow__keeps_what_is_under_way(void **state)
{
	(void) state;
	net_begin_at(net, 0, 1, 13); /* not at the array's beginning */
	send_frames(200);
	assert_int_equal(flow->tx.size, 256);
	for (uint32_t seq = 13; seq < 213; seq++)
		assert_non_null(gamma_send_window_at(&flow->tx, seq)->send);
	assert_true(ack(213));
	assert_int_equal(net->nodes[0].sent, 200);
}

static void open__not_without_credit_nor_beyond_the_window(void **state)
{
	(void) state;
	assert_true(gamma_send_window_is_open(flow));
	flow->tx.limit = 0;
	assert_false(gamma_send_window_is_open(flow));
	flow->tx.limit = 3;
	flow->tx.returned = 3;
	assert_false(gamma_send_window_is_open(flow));
	flow->tx.returned = 0;
	send_frames(GAMMA_WINDOW_MAX);
	flow->tx.limit += 100;
	assert_false(gamma_send_window_is_open(flow));
	assert_true(ack(1));
	assert_true(gamma_send_window_is_open(flow));
}

/* The peer's window is full because one frame is missing; that it comes must set things going. */
static void full__goes_on_when_the_gap_is_filled(void **state)
{
	struct net_options options = net_defaults();
	struct net *wide;

	(void) state;
	options.slots = 2048;
	wide = net_new(2, &options);
	net_rule(wide, (struct rule){.fate = DELAY, .seq = 20, .delay = 5 * MS, .times = 1});
	net_rule(wide, (struct rule){.fate = DROP, .seq = 20});
	net_post(wide, 1, 8 << 20);
	net_send(wide, 0, 1, 8 << 20, GAMMA_WHEN_ARRIVED);
	net_finish(wide, 100 * MS);
	net_free(wide);
}

static void drop__gives_buffers_back(void **state)
{
	(void) state;
	flow->tx.limit = 100;
	for (int i = 0; i < 20; i++)
		net_send(net, 0, 1, ALONE, GAMMA_WHEN_COPIED);
	net->nodes[0].unplugged = true;
	net_run(net, 0);
	gamma_send_window_drop(flow);
	assert_int_equal(gamma_send_window_unacked(&flow->tx), 0);
	for (int i = 0; i < 20; i++) {
		struct gamma_buffer *buffer = net->nodes[0].ep.local.buffers;

		assert_non_null(buffer);
		net->nodes[0].ep.local.buffers = buffer->next;
		free(buffer);
	}
}

#define FLOW_TEST(name) cmocka_unit_test_setup_teardown(name, setup_flow, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FLOW_TEST(ack__cumulative),
		FLOW_TEST(ack__older_one_changes_nothing),
		FLOW_TEST(ack__of_what_was_never_sent),
		FLOW_TEST(ack__across_the_wrap),
		FLOW_TEST(sack__is_not_the_end_of_a_send),
		FLOW_TEST(sack__bits_outside_the_window_are_ignored),
		FLOW_TEST(sack__gap_of_more_than_the_bits),
		FLOW_TEST(lost__are_sent_again_lowest_first),
		FLOW_TEST(lost__arrived_after_all),
		FLOW_TEST(grow__keeps_what_is_under_way),
		FLOW_TEST(open__not_without_credit_nor_beyond_the_window),
		TEST(full__goes_on_when_the_gap_is_filled),
		FLOW_TEST(drop__gives_buffers_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
