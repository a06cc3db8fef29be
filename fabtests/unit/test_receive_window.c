// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/receive_window.c: each frame once, early ones kept, gaps reported. */
#include "pair_fixture.h"

static struct gamma_flow *flow; /* of node 1, from node 0 */

static int setup_flow(void **state)
{
	setup(state);
	flow = net_flow(net, 1, 0);
	return 0;
}

/* Small message frames in any order; message numbers follow the sequence. */
static void arrive(uint32_t seq, uint32_t first)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);

	fields.seq = seq;
	fields.extensions = GAMMA_EXT_TAG;
	fields.tag = seq - first;
	gamma_receive_window_data(flow, &fields, (const uint8_t *) "", net->now, net->now);
}

static const struct gamma_stats *stats(void)
{
	return net_stats(net, 1);
}

static void order__in_order(void **state)
{
	(void) state;
	for (uint32_t seq = 0; seq < 100; seq++)
		arrive(seq, 0);
	assert_int_equal(flow->rx.next, 100);
	assert_int_equal(stats()->data_frames_in, 100);
	assert_int_equal(stats()->out_of_order, 0);
	assert_null(flow->rx.early);
}

static void order__early_frames_wait_and_drain(void **state)
{
	(void) state;
	arrive(3, 0);
	arrive(1, 0);
	arrive(2, 0);
	assert_int_equal(flow->rx.next, 0);
	assert_int_equal(stats()->out_of_order, 3);
	assert_int_equal(stats()->unexpected, 0);
	arrive(0, 0);
	assert_int_equal(flow->rx.next, 4);
	assert_int_equal(stats()->unexpected, 4);
	assert_int_equal(stats()->data_frames_in, 4);
}

static void order__drains_up_to_the_next_gap(void **state)
{
	(void) state;
	arrive(1, 0);
	arrive(2, 0);
	arrive(4, 0);
	arrive(0, 0);
	assert_int_equal(flow->rx.next, 3);
	assert_int_equal(flow->rx.highest, 5);
	arrive(3, 0);
	assert_int_equal(flow->rx.next, 5);
}

static void order__across_the_wrap(void **state)
{
	const uint32_t first = UINT32_MAX - 1;

	(void) state;
	net_begin_at(net, 0, 1, first);
	arrive(1, first);
	arrive(UINT32_MAX, first);
	arrive(first, first);
	assert_int_equal(flow->rx.next, 0);
	assert_int_equal(flow->rx.highest, 2);
	arrive(0, first);
	assert_int_equal(flow->rx.next, 2);
	arrive(UINT32_MAX, first);
	assert_int_equal(stats()->duplicates, 1);
	assert_int_equal(stats()->unexpected, 4);
}

static void duplicate__of_taken_and_of_held(void **state)
{
	(void) state;
	arrive(0, 0);
	arrive(2, 0);
	flow->ack.now = false;
	arrive(0, 0);
	assert_true(gamma_ack_due(flow));
	flow->ack.now = false;
	arrive(2, 0);
	assert_true(gamma_ack_due(flow));
	assert_int_equal(stats()->duplicates, 2);
	assert_int_equal(stats()->data_frames_in, 2);
	assert_int_equal(flow->rx.arrived, 2);
}

static void window__last_number_and_the_one_beyond(void **state)
{
	(void) state;
	arrive(GAMMA_WINDOW_MAX - 1, 0);
	assert_int_equal(flow->rx.highest, GAMMA_WINDOW_MAX);
	arrive(GAMMA_WINDOW_MAX, 0);
	arrive(GAMMA_WINDOW_MAX + 1000000, 0);
	assert_int_equal(stats()->stray, 2);
	assert_int_equal(stats()->data_frames_in, 1);
	for (uint32_t seq = 0; seq < GAMMA_WINDOW_MAX - 1; seq++)
		arrive(seq, 0);
	assert_int_equal(flow->rx.next, GAMMA_WINDOW_MAX);
}

/* The whole window backwards: every frame but the last is early. */
static void window__backwards(void **state)
{
	(void) state;
	net->nodes[1].ep.local.pool.slots = GAMMA_WINDOW_MAX; /* a ring that could have held them */
	for (uint32_t seq = GAMMA_WINDOW_MAX; seq-- > 0;)
		arrive(seq, 0);
	assert_int_equal(net->nodes[1].ep.local.early_frames, 0);
	assert_int_equal(flow->rx.next, GAMMA_WINDOW_MAX);
	assert_int_equal(stats()->unexpected, GAMMA_WINDOW_MAX);
	assert_int_equal(stats()->out_of_order, GAMMA_WINDOW_MAX - 1);
}

/* More than the ring has slots was never granted: a peer that sends so much early
 * finds no room, and the frame in order is taken all the same. */
static void window__early_frames_of_all_flows_are_bounded(void **state)
{
	struct gamma_local *local = &net->nodes[1].ep.local;
	uint32_t slots = local->pool.slots;

	(void) state;
	for (uint32_t seq = GAMMA_WINDOW_MAX - 1; seq > 0; seq--)
		arrive(seq, 0);
	assert_int_equal(local->early_frames, slots);
	assert_int_equal(stats()->data_frames_in, slots);
	for (uint32_t seq = 0; seq < GAMMA_WINDOW_MAX - 1 - slots; seq++)
		arrive(seq, 0);
	assert_int_equal(flow->rx.next, GAMMA_WINDOW_MAX - 1 - slots);
	arrive(GAMMA_WINDOW_MAX - 1 - slots, 0);
	assert_int_equal(flow->rx.next, GAMMA_WINDOW_MAX);
	assert_int_equal(local->early_frames, 0);
	arrive(GAMMA_WINDOW_MAX + 5, 0);
	assert_int_equal(local->early_frames, 1);
	gamma_receive_window_free(flow);
	assert_int_equal(local->early_frames, 0);
}

/* ---- what is reported of gaps ---- */

static struct gamma_fields sack(void)
{
	struct gamma_fields fields = {.extensions = 0};

	gamma_receive_window_sack(flow, &fields);
	assert_int_equal(fields.extensions, GAMMA_EXT_SACK);
	return fields;
}

static void sack__bits_begin_at_the_gap(void **state)
{
	struct gamma_fields fields;

	(void) state;
	arrive(0, 0);
	arrive(2, 0);
	arrive(65, 0);
	arrive(128, 0);
	fields = sack();
	assert_int_equal(fields.sack_base, 1);
	assert_true(fields.sack[0] == 2 && fields.sack[1] == (1ull | 1ull << 63));
}

static void sack__on_data_reports_all_or_nothing(void **state)
{
	struct gamma_fields fields = {.extensions = 0};

	(void) state;
	arrive(2, 0);
	arrive(500, 0);
	flow->rx.begun = true;
	gamma_ack_now(flow);
	gamma_ack_attach(flow, &fields, false, net->now);
	assert_int_equal(fields.extensions & (GAMMA_EXT_ACK | GAMMA_EXT_SACK | GAMMA_EXT_SACK_LONG),
			 0);
	assert_true(flow->ack.now);
}

static void sack__alone_reports_the_whole_window(void **state)
{
	struct gamma_fields fields = {.extensions = 0};

	(void) state;
	arrive(2, 0);
	arrive(500, 0);
	arrive(900, 0);
	gamma_receive_window_sack(flow, &fields);
	assert_int_equal(fields.extensions, GAMMA_EXT_SACK_LONG);
	assert_int_equal(fields.sack_base, 0);
	for (uint32_t i = 0; i < GAMMA_SACK_LONG_BITS; i++)
		assert_int_equal(fields.sack[i / 64] >> i % 64 & 1, i == 2 || i == 500 || i == 900);
}

/* One frame lost and hundreds after it: each is taken, and only one is sent again. */
static void sack__gap_of_more_than_the_bits(void **state)
{
	struct net_options options = net_defaults();
	struct net *wide;

	(void) state;
	options.slots = 1024;
	options.latency = 300 * US;
	wide = net_new(2, &options);
	net_rule(wide, (struct rule){.fate = DROP, .seq = 50, .times = 1});
	net_post(wide, 1, 1 << 20);
	net_send(wide, 0, 1, 1 << 20, GAMMA_WHEN_ARRIVED);
	net_finish(wide, 100 * MS);
	assert_int_equal(net_stats(wide, 0)->retransmissions, 1);
	assert_true(net_stats(wide, 1)->out_of_order > 128);
	assert_int_equal(net_stats(wide, 1)->duplicates, 0);
	net_free(wide);
}

/* ---- early frames that have a place already ---- */

static void early__fragments_are_placed_at_once(void **state)
{
	struct net_options options = net_defaults();
	struct net *two = net_new(2, &options);

	(void) state;
	/* The second fragment comes 50 us late; the rest finds the message known. */
	net_rule(two, (struct rule){.fate = DELAY,
				    .op = GAMMA_OP_SEND_MORE,
				    .seq = 1,
				    .delay = 50 * US,
				    .times = 1});
	net_post(two, 1, 10000);
	net_send(two, 0, 1, 10000, GAMMA_WHEN_ARRIVED);
	net_run(two, 30 * US);
	assert_true(net_stats(two, 1)->out_of_order >= 5);
	assert_null(net_flow(two, 1, 0)->rx.early);
	net_finish(two, SEC);
	net_free(two);
}

static void forget__frees_what_is_held(void **state)
{
	(void) state;
	arrive(5, 0);
	arrive(7, 0);
	assert_non_null(flow->rx.early);
	gamma_receive_window_free(flow);
	assert_null(flow->rx.early);
}

#define FLOW_TEST(name) cmocka_unit_test_setup_teardown(name, setup_flow, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FLOW_TEST(order__in_order),
		FLOW_TEST(order__early_frames_wait_and_drain),
		FLOW_TEST(order__drains_up_to_the_next_gap),
		FLOW_TEST(order__across_the_wrap),
		FLOW_TEST(duplicate__of_taken_and_of_held),
		FLOW_TEST(window__last_number_and_the_one_beyond),
		FLOW_TEST(window__backwards),
		FLOW_TEST(window__early_frames_of_all_flows_are_bounded),
		FLOW_TEST(sack__bits_begin_at_the_gap),
		FLOW_TEST(sack__on_data_reports_all_or_nothing),
		TEST(sack__gap_of_more_than_the_bits),
		FLOW_TEST(sack__alone_reports_the_whole_window),
		TEST(early__fragments_are_placed_at_once),
		FLOW_TEST(forget__frees_what_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
