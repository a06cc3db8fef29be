// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/congestion.c: a window in virtual time, and a flow that obeys it. */
#include "pair_fixture.h"

enum {
	UNIT = GAMMA_CONGESTION_UNIT,
	FIRST = 10,     /* frames: the first window */
	TRIP_US = 2000, /* round trip of the windows without a network */
	FRAMES = 400,   /* of the message that crosses a network */
};

static struct gamma_local local;
static struct gamma_flow flow;
static uint64_t now;

static int begin(void **state)
{
	(void) state;
	memset(&local, 0, sizeof(local));
	memset(&flow, 0, sizeof(flow));
	flow.local = &local;
	flow.loss.first.rtt = flow.loss.first.rtt_min = TRIP_US * US;
	now = SEC;
	gamma_congestion_start(&flow);
	return 0;
}

static uint32_t window(void)
{
	return (uint32_t) (flow.congestion.window / UNIT);
}

/* A whole window leaves, is full, and all of it arrives a round trip later. */
static void round_trip(bool full)
{
	struct gamma_sent sent = {0};
	uint32_t count = window();

	if (!full)
		count /= 2;
	flow.tx.next += count;
	flow.tx.serial += count;
	if (full)
		gamma_congestion_filled(&flow);
	now += flow.loss.first.rtt;
	for (uint32_t i = 0; i < count; i++) {
		sent.serial = flow.loss.first.rack_serial = flow.tx.serial - count + i + 1;
		gamma_congestion_arrived(&flow, &sent, now);
	}
	flow.tx.una += count;
	gamma_congestion_released(&flow, count);
	gamma_congestion_measured(&flow, flow.loss.first.rtt);
}

static void lose(void)
{
	struct gamma_sent sent = {.serial = ++flow.tx.serial};

	gamma_congestion_lost(&flow, &sent);
}

/* Until the window is so large, in slow start. */
static void grow_to(uint32_t frames)
{
	while (window() < frames)
		round_trip(true);
}

/* ---- the window ---- */

static void slow_start__doubles_in_a_round_trip(void **state)
{
	(void) state;
	assert_int_equal(window(), FIRST);
	round_trip(true);
	assert_int_equal(window(), 2 * FIRST);
	round_trip(true);
	assert_int_equal(window(), 4 * FIRST);
}

static void slow_start__not_with_a_window_that_is_not_used(void **state)
{
	(void) state;
	round_trip(false);
	assert_int_equal(window(), FIRST);
}

static void slow_start__ends_when_a_queue_begins(void **state)
{
	uint32_t before;

	(void) state;
	grow_to(40);
	flow.loss.first.rtt += 8 * MS;
	round_trip(true);
	for (int i = 0; i < 3; i++)
		gamma_congestion_measured(&flow, flow.loss.first.rtt);
	assert_false(flow.congestion.slow_start);
	before = window();
	round_trip(true);
	assert_in_range(window(), before, before + 2);
}

static void is_open__until_the_window_is_under_way(void **state)
{
	(void) state;
	flow.tx.next = FIRST - 1;
	assert_true(gamma_congestion_is_open(&flow));
	flow.tx.next = FIRST;
	assert_false(gamma_congestion_is_open(&flow));
	flow.tx.lost = 1;
	assert_true(gamma_congestion_is_open(&flow));
}

static void lost__takes_three_tenths(void **state)
{
	(void) state;
	grow_to(80);
	lose();
	assert_int_equal(window(), 56);
	assert_int_equal(local.stats.window_reductions, 1);
}

static void lost__once_for_the_frames_under_way(void **state)
{
	struct gamma_sent sent;

	(void) state;
	grow_to(80);
	sent = (struct gamma_sent){.serial = flow.tx.serial - 1};
	lose();
	gamma_congestion_lost(&flow, &sent);
	assert_int_equal(window(), 56);
	lose();
	assert_int_equal(window(), 39);
}

static void lost__not_below_two_frames(void **state)
{
	(void) state;
	for (int i = 0; i < 20; i++)
		lose();
	assert_int_equal(window(), 2);
}

/* Once in a round trip, whatever else was marked in it. */
static void marked__as_a_loss_once_in_a_round_trip(void **state)
{
	(void) state;
	grow_to(80);
	gamma_congestion_marked(&flow);
	gamma_congestion_marked(&flow);
	assert_int_equal(window(), 56);
	assert_false(flow.congestion.slow_start);
	round_trip(true);
	gamma_congestion_marked(&flow);
	assert_in_range(window(), 39, 40);
	assert_int_equal(local.stats.window_reductions, 2);
}

/* 24 frames are missing: the curve is back after the cube root of 24 / 0.4 seconds, 3.9. */
static void growth__is_cubic(void **state)
{
	uint64_t reduced;

	(void) state;
	flow.loss.first.rtt = flow.loss.first.rtt_min = 100 * MS;
	grow_to(80);
	lose();
	reduced = now;
	while (now < reduced + 2 * SEC)
		round_trip(true);
	assert_in_range(window(), 75, 79);
	while (now < reduced + 4200 * MS)
		round_trip(true);
	assert_in_range(window(), 78, 81);
	while (now < reduced + 8 * SEC)
		round_trip(true);
	assert_in_range(window(), 95, 115);
}

/* With short round trips Reno's window grows faster, and is the least. */
static void growth__not_slower_than_reno(void **state)
{
	(void) state;
	grow_to(80);
	lose();
	for (int i = 0; i < 100; i++)
		round_trip(true);
	assert_in_range(window(), 56 + 48, 56 + 54);
}

static void silent__two_frames_and_slow_start(void **state)
{
	(void) state;
	grow_to(80);
	flow.tx.next++;
	flow.loss.backoff = 2;
	gamma_congestion_silent(&flow);
	assert_int_equal(window(), 2);
	assert_true(flow.congestion.slow_start);
}

/* ---- a flow ---- */

static void sender__keeps_to_the_window(void **state)
{
	uint32_t most = 0;

	(void) state;
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	gamma_congestion_start(net_flow(net, 0, 1));
	net_post(net, 1, FRAMES * 1400);
	net_send(net, 0, 1, FRAMES * 1400, GAMMA_WHEN_ARRIVED);
	for (int i = 0; i < 20; i++) {
		const struct gamma_flow *sender = net_flow(net, 0, 1);
		uint32_t under_way = gamma_send_window_unacked(&sender->tx);

		most = (uint32_t) gamma_max(most, under_way);
		assert_true((uint64_t) under_way * UNIT <= sender->congestion.window);
		net_run(net, 500);
	}
	assert_true(most > 0);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
	assert_int_equal(net_flow(net, 0, 1)->congestion.arrived, 0);
}

static void sender__repairs_within_the_window(void **state)
{
	(void) state;
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	gamma_congestion_start(net_flow(net, 0, 1));
	net_rule(net, (struct rule){.fate = DROP, .seq = 20, .times = 2});
	net_post(net, 1, FRAMES * 1400);
	net_send(net, 0, 1, FRAMES * 1400, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_true(net_stats(net, 0)->retransmissions >= 2);
	assert_true(net_stats(net, 0)->window_reductions >= 1);
	assert_int_equal(net_flow(net, 0, 1)->congestion.arrived, 0);
}

#define WINDOW_TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WINDOW_TEST(slow_start__doubles_in_a_round_trip),
		WINDOW_TEST(slow_start__not_with_a_window_that_is_not_used),
		WINDOW_TEST(slow_start__ends_when_a_queue_begins),
		WINDOW_TEST(is_open__until_the_window_is_under_way),
		WINDOW_TEST(lost__takes_three_tenths),
		WINDOW_TEST(lost__once_for_the_frames_under_way),
		WINDOW_TEST(lost__not_below_two_frames),
		WINDOW_TEST(marked__as_a_loss_once_in_a_round_trip),
		WINDOW_TEST(growth__is_cubic),
		WINDOW_TEST(growth__not_slower_than_reno),
		WINDOW_TEST(silent__two_frames_and_slow_start),
		NET_TEST(sender__keeps_to_the_window),
		NET_TEST(sender__repairs_within_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
