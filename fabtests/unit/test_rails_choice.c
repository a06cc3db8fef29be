// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/rails_choice.c: operations on the memory of a host with two NICs. */
#include "pair_remote.h"

#include <string.h>

#include "flow/rails_choice.h"

enum { LONG = 1 << 20, SHORT = 16384, PLACES = 4 * LONG };

static struct net *net;
static uint8_t bytes[PLACES], read_back[PLACES];

static struct gamma_rail *second_rail(void)
{
	return &net_flow(net, 0, 1)->rails->rail[1];
}

static int setup_two(void **state)
{
	struct net_options options = net_defaults();

	(void) state;
	options.nics = 2;
	options.second_mtu = options.mtu;
	options.second_latency = options.latency;
	net = net_new(2, &options);
	remote_begin(net, PLACES);
	for (unsigned i = 0; i < PLACES; i++)
		bytes[i] = (uint8_t) (i * 31 + (i >> 8) * 7 + 1);
	memset(read_back, 0, sizeof(read_back));
	net_exchange(net);
	net_run(net, 50 * MS);
	return 0;
}

static int teardown_two(void **state)
{
	(void) state;
	net_free(net);
	remote_end();
	return 0;
}

/* The NICs of that node have carried about as many DATA frames, and nothing came twice. */
static void assert_divided(unsigned node, const unsigned before[2])
{
	unsigned first = net->nodes[node].left[0] - before[0];
	unsigned second = net->nodes[node].left[1] - before[1];

	assert_in_range(second, first / 3, first * 3);
	assert_int_equal(net_stats(net, node)->retransmissions, 0);
	assert_int_equal(net_stats(net, node)->rails_doubted, 0);
}

static void choose__a_long_write_leaves_by_both(void **state)
{
	unsigned before[2] = {net->nodes[0].left[0], net->nodes[0].left[1]};

	(void) state;
	net_write(net, 0, 1, 0, bytes, PLACES);
	net_finish(net, SEC);
	assert_memory_equal(regions[1].bytes, bytes, PLACES);
	assert_int_equal(regions[1].touched, 1);
	assert_divided(0, before);
}

static void choose__a_long_read_comes_by_both(void **state)
{
	unsigned before[2] = {net->nodes[1].left[0], net->nodes[1].left[1]};

	(void) state;
	memcpy(regions[1].bytes, bytes, PLACES);
	net_read(net, 0, 1, 0, read_back, PLACES);
	net_finish(net, SEC);
	assert_memory_equal(read_back, bytes, PLACES);
	assert_divided(1, before);
}

static void choose__a_short_write_leaves_by_one(void **state)
{
	unsigned second = net->nodes[0].left[1];

	(void) state;
	for (unsigned i = 0; i < 16; i++)
		net_write(net, 0, 1, i * SHORT, bytes + i * SHORT, SHORT);
	net_finish(net, SEC);
	assert_memory_equal(regions[1].bytes, bytes, 16 * SHORT);
	assert_int_equal(net->nodes[0].left[1], second);
	assert_int_equal(net_stats(net, 1)->out_of_order, 0);
}

/* Writes to the same place, of which the last one stays, and what comes behind them. */
static void choose__writes_keep_their_order(void **state)
{
	(void) state;
	net->options.second_latency += 50 * US; /* its frames come later than those behind them */
	for (unsigned i = 0; i < 8; i++)
		net_write(net, 0, 1, 0, bytes + (size_t) i * 4096, LONG);
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	while (net->nodes[1].received < 2)
		net_run(net, 100 * US);
	assert_memory_equal(regions[1].bytes, bytes + (size_t) 7 * 4096, LONG);
	net_finish(net, SEC);
	assert_true(net_stats(net, 1)->out_of_order > 0);
}

static void choose__a_write_goes_on_without_a_rail_that_fails(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 4; i++)
		net_write(net, 0, 1, (uint64_t) i * LONG, bytes + (size_t) i * LONG, LONG);
	net_run(net, 500 * US);
	assert_true(second_rail()->in_flight > 0);
	net->nodes[1].broken[1] = true;
	net_finish(net, SEC);
	assert_memory_equal(regions[1].bytes, bytes, PLACES);
	assert_int_equal(second_rail()->state, GAMMA_RAIL_DOUBTED);
}

/* ---- two NICs, each with raw frames and over UDP ---- */

enum { TRAIN = 45 };

static struct gamma_local local;
static struct gamma_flow flow;
static struct gamma_rails rails;

static int setup_twins(void **state)
{
	(void) state;
	local = (struct gamma_local){.rail_count = 4, .rails_udp = 0xc};
	rails = (struct gamma_rails){.count = 4};
	memset(&flow, 0, sizeof(flow));
	flow.local = &local;
	flow.rails = &rails;
	for (unsigned r = 0; r < 4; r++) {
		rails.rail[r].state = GAMMA_RAIL_USABLE;
		rails.rail[r].frame_ns = 1000;
		local.own_rails[r].twin = (uint8_t) (1 + (r ^ 2));
		local.own_rails[r].train = r < 2 ? 0 : TRAIN;
	}
	return 0;
}

/* Of so many frames of long messages those that each rail takes, as they arrive at once. */
static void take_frames(unsigned count, unsigned taken[4])
{
	memset(taken, 0, 4 * sizeof(*taken));
	for (unsigned i = 0; i < count; i++) {
		uint8_t r = gamma_rails_choice_next(&flow, true);

		taken[r]++;
		rails.rail[r].in_flight++;
	}
}

static void twins__both_nics_by_whole_trains(void **state)
{
	unsigned taken[4];

	(void) state;
	take_frames(TRAIN, taken);
	assert_int_equal(taken[2], TRAIN);
	assert_true(gamma_rails_choice_turn_is_over(&flow));
	take_frames(TRAIN, taken);
	assert_int_equal(taken[3], TRAIN);
	assert_int_equal(gamma_rails_choice_run(&flow, 3, TRAIN), 0);
}

/* What one turn carries, before anything has been measured: by the speed that the NICs name, or as
 * if by slow ones. */
static void twins__a_turn_before_measurements(void **state)
{
	unsigned taken[4];

	(void) state;
	for (unsigned r = 0; r < 4; r++)
		rails.rail[r].frame_ns = 0;
	take_frames(2 * GAMMA_RAIL_TURN, taken);
	assert_int_equal(taken[2], GAMMA_RAIL_TURN);
	rails.rail[2].in_flight = rails.rail[3].in_flight = 0;
	local.limits.frame_ns = 1200;
	take_frames(TRAIN, taken);
	assert_int_equal(taken[2], TRAIN);
	/* The only one: */
	local.rails_udp = 4;
	rails.rail[1].state = rails.rail[3].state = GAMMA_RAIL_UNPROVEN;
	rails.rail[2].in_flight = 0;
	local.limits.frame_ns = 0;
	take_frames(TRAIN, taken);
	assert_int_equal(taken[2], TRAIN);
	assert_true(gamma_rails_choice_turn_is_over(&flow));
}

/* Short trains, each of which is through before the next one begins, are not divided. */
static void twins__a_new_turn_when_nothing_is_under_way(void **state)
{
	unsigned taken[4];

	(void) state;
	for (int i = 0; i < 10; i++) {
		take_frames(12, taken);
		assert_true(taken[2] == 12 || taken[3] == 12);
		rails.rail[2].in_flight = rails.rail[3].in_flight = 0;
	}
}

/* A train would keep a slow port busy for long, and the other one idle. */
static void twins__fewer_frames_by_slow_ports(void **state)
{
	unsigned taken[4];

	(void) state;
	rails.rail[2].frame_ns = rails.rail[3].frame_ns = 12000;
	take_frames(GAMMA_RAIL_TURN, taken);
	assert_int_equal(taken[2], GAMMA_RAIL_TURN);
	take_frames(GAMMA_RAIL_TURN, taken);
	assert_int_equal(taken[3], GAMMA_RAIL_TURN);
}

static void twins__a_nic_without_udp_takes_raw_frames(void **state)
{
	unsigned taken[4];

	(void) state;
	rails.rail[3].state = GAMMA_RAIL_UNPROVEN;
	take_frames(16 * TRAIN, taken);
	assert_int_equal(taken[0], 0);
	assert_in_range(taken[1], 4 * TRAIN, 12 * TRAIN);
	assert_int_equal(taken[1] + taken[2], 16 * TRAIN);
	/* Whole trains are made of those over UDP alone. */
	rails.spread = 1;
	assert_int_equal(gamma_rails_choice_run(&flow, 1, TRAIN), 0);
}

static void twins__raw_frames_where_neither_has_udp(void **state)
{
	unsigned taken[4];

	(void) state;
	rails.rail[2].state = rails.rail[3].state = GAMMA_RAIL_DOUBTED;
	take_frames(16 * TRAIN, taken);
	assert_in_range(taken[0], 4 * TRAIN, 12 * TRAIN);
	assert_int_equal(taken[0] + taken[1], 16 * TRAIN);
}

#define CHOICE_TEST(name) cmocka_unit_test_setup_teardown(name, setup_two, teardown_two)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHOICE_TEST(choose__a_long_write_leaves_by_both),
		CHOICE_TEST(choose__a_long_read_comes_by_both),
		CHOICE_TEST(choose__a_short_write_leaves_by_one),
		CHOICE_TEST(choose__writes_keep_their_order),
		CHOICE_TEST(choose__a_write_goes_on_without_a_rail_that_fails),
		cmocka_unit_test_setup(twins__both_nics_by_whole_trains, setup_twins),
		cmocka_unit_test_setup(twins__a_turn_before_measurements, setup_twins),
		cmocka_unit_test_setup(twins__a_new_turn_when_nothing_is_under_way, setup_twins),
		cmocka_unit_test_setup(twins__fewer_frames_by_slow_ports, setup_twins),
		cmocka_unit_test_setup(twins__a_nic_without_udp_takes_raw_frames, setup_twins),
		cmocka_unit_test_setup(twins__raw_frames_where_neither_has_udp, setup_twins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
