// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/slow_port.c: a pool whose frames come at a given pace, without a
 * network; and what a sender does that is bounded (common/flow/transmit.c).
 */
#include "pair_fixture.h"

enum {
	LOOK = 64,   /* frames between two looks */
	FULL = 1514, /* bytes of a frame */
	SMALL = 74,
	FRAME_NS = 12100, /* of a full one at 1 Gbit/s */
	TRIP_NS = 26000,
	BEGIN = 6,  /* looks with short messages, enough for a bound to begin */
	TRAIN = 44, /* frames */
	KEPT = 1,   /* frames granted for what does not fill one */
};

static struct gamma_local local;
static uint64_t stamp;

static int begin(void **state)
{
	(void) state;
	memset(&local, 0, sizeof(local));
	gamma_credit_pool_init(&local.pool, 256);
	gamma_credit_pool_set_budget(&local.pool, GAMMA_BUDGET);
	local.pool.bulk = 1;
	local.pool.bulk_granted = 224;
	stamp = SEC;
	return 0;
}

static void arrive(uint32_t bytes, uint64_t ns)
{
	stamp += ns;
	local.stats.bytes_in += bytes;
	local.pool.arrivals++;
	if (local.pool.slow_port.share && local.pool.bulk_granted > 2)
		local.pool.bulk_granted--;
	if (local.pool.arrivals >= local.pool.slow_port.look)
		gamma_slow_port_look(&local.pool, stamp);
}

/* Looks at full frames that take so long, with a short message in each. */
static void looks(unsigned count, uint64_t frame_ns, bool with_short)
{
	for (unsigned i = 0; i < count; i++) {
		local.pool.shorts += with_short;
		for (unsigned k = 0; k < LOOK; k++)
			arrive(FULL, frame_ns);
	}
}

static enum gamma_slow_port_state now_is(void)
{
	return local.pool.slow_port.state;
}

/* ---- whether there is a slow port, and somebody to profit ---- */

static void watch__begins_at_a_slow_port_with_short_messages(void **state)
{
	(void) state;
	looks(BEGIN, FRAME_NS, true);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_EMPTY);
	assert_int_equal(local.stats.slow_port_bounds, 1);
	assert_int_equal(local.pool.slow_port.share, 1 + KEPT);
}

/* Over UDP the frames of a train have one time, the first one's. */
static void watch__counts_whole_trains(void **state)
{
	(void) state;
	for (unsigned train = 0; train < 2 * TRAIN && now_is() == GAMMA_SLOW_PORT_WATCH; train++) {
		local.pool.shorts++;
		for (unsigned i = 0; i < TRAIN; i++)
			arrive(FULL, i ? 0 : TRAIN * FRAME_NS);
	}
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_EMPTY);
}

static void watch__not_without_short_messages(void **state)
{
	(void) state;
	looks(1, FRAME_NS, true);
	looks(100, FRAME_NS, false);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
	assert_int_equal(local.pool.slow_port.share, 0);
}

static void watch__not_above_2_gbit(void **state)
{
	(void) state;
	looks(100, 5900, true);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
}

/* A flood of short frames is slow by its bytes only. */
static void watch__not_for_short_frames(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 100 * LOOK; i++) {
		local.pool.shorts++;
		arrive(SMALL, 600);
	}
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
}

static void watch__not_if_a_sender_is_away(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 100; i++) {
		stamp += i % 3 ? 0 : MS;
		looks(1, 2000 + i % 2 * 6000, true);
	}
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
}

static void watch__not_beside_many_senders(void **state)
{
	(void) state;
	local.pool.bulk = 17;
	looks(100, FRAME_NS, true);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
}

static void watch__not_without_a_backlog(void **state)
{
	(void) state;
	local.pool.bulk = 0;
	looks(100, FRAME_NS, true);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
}

/* ---- the trial ---- */

/* Up to the bound: what was under way comes at the port's rate, and then rounds take so long. */
static void hold(uint64_t round_ns)
{
	looks(BEGIN, FRAME_NS, true);
	while (now_is() == GAMMA_SLOW_PORT_EMPTY)
		arrive(FULL, FRAME_NS);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_ROUNDS);
	while (now_is() == GAMMA_SLOW_PORT_ROUNDS)
		arrive(FULL, round_ns);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_HOLD);
}

static void trial__round_trip_in_frames_and_some_more(void **state)
{
	(void) state;
	hold(TRIP_NS);
	assert_int_equal(local.pool.slow_port.bound, 2 + 3);
	assert_int_equal(local.pool.slow_port.share, 2 + 3 + KEPT);
}

static void trial__short_messages_do_not_count(void **state)
{
	(void) state;
	looks(BEGIN, FRAME_NS, true);
	while (now_is() == GAMMA_SLOW_PORT_EMPTY)
		arrive(FULL, FRAME_NS);
	for (unsigned i = 0; now_is() == GAMMA_SLOW_PORT_ROUNDS; i++) {
		arrive(FULL, TRIP_NS / 2);
		if (now_is() == GAMMA_SLOW_PORT_ROUNDS)
			arrive(SMALL, TRIP_NS / 2);
	}
	assert_int_equal(local.pool.slow_port.bound, 2 + 3);
}

static void trial__the_quickest_round_counts(void **state)
{
	(void) state;
	looks(BEGIN, FRAME_NS, true);
	while (now_is() == GAMMA_SLOW_PORT_EMPTY)
		arrive(FULL, FRAME_NS);
	for (unsigned i = 0; now_is() == GAMMA_SLOW_PORT_ROUNDS; i++)
		arrive(FULL, i == 2 ? TRIP_NS : 40 * TRIP_NS);
	assert_int_equal(local.pool.slow_port.bound, 2 + 3);
}

static void trial__frames_that_waited_together_are_no_round(void **state)
{
	(void) state;
	looks(BEGIN, FRAME_NS, true);
	while (now_is() == GAMMA_SLOW_PORT_EMPTY)
		arrive(FULL, FRAME_NS);
	for (unsigned i = 0; now_is() == GAMMA_SLOW_PORT_ROUNDS; i++)
		arrive(FULL, i % 3 == 1 ? 0 : TRIP_NS);
	assert_int_equal(local.pool.slow_port.bound, 2 + 3);
}

static void trial__senders_share_equally(void **state)
{
	(void) state;
	local.pool.bulk = 4;
	hold(FRAME_NS);
	assert_int_equal(local.pool.slow_port.bound, 4 + 3);
	assert_int_equal(local.pool.slow_port.share, 2 + KEPT);
	local.pool.bulk = 2;
	gamma_slow_port_senders_changed(&local.pool);
	assert_int_equal(local.pool.slow_port.share, 3 + KEPT);
}

static void trial__a_new_flow_spoils_it(void **state)
{
	(void) state;
	looks(BEGIN, FRAME_NS, true);
	local.pool.bulk = 2;
	while (now_is() == GAMMA_SLOW_PORT_EMPTY)
		arrive(FULL, FRAME_NS);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WIDER);
	assert_int_equal(local.pool.slow_port.share, GAMMA_GRANT_MIN + KEPT);
	looks(3, FRAME_NS, true);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_EMPTY);
}

static void trial__losses_end_it_for_a_while(void **state)
{
	(void) state;
	looks(BEGIN, FRAME_NS, true);
	for (unsigned i = 0; i < 100 * LOOK && now_is() != GAMMA_SLOW_PORT_WATCH; i++) {
		if (now_is() == GAMMA_SLOW_PORT_EMPTY)
			gamma_slow_port_lost(&local.pool);
		arrive(FULL, FRAME_NS);
	}
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
	assert_int_equal(local.pool.bound, GAMMA_GRANT_MIN);
	looks(50, FRAME_NS, true);
	assert_int_equal(local.stats.slow_port_bounds, 1);
	looks(200, FRAME_NS, true);
	assert_int_equal(local.stats.slow_port_bounds, 2);
}

/* ---- while it lasts ---- */

/* Credit begins small, since much at once would fill the port. */
static void hold__ends_without_short_messages(void **state)
{
	(void) state;
	hold(TRIP_NS);
	looks(SEC / (LOOK * FRAME_NS) + 2, FRAME_NS, false);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
	assert_int_equal(local.pool.slow_port.share, 0);
	assert_int_equal(local.pool.bound, GAMMA_GRANT_MIN);
}

static void hold__goes_on_with_a_few_short_messages(void **state)
{
	(void) state;
	hold(TRIP_NS);
	for (unsigned i = 0; i < 100; i++)
		looks(10, FRAME_NS, i % 10 == 0);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_HOLD);
}

static void hold__looks_for_more_each_second(void **state)
{
	uint64_t until;

	(void) state;
	hold(TRIP_NS);
	until = stamp + SEC + LOOK * FRAME_NS;
	while (stamp < until && now_is() == GAMMA_SLOW_PORT_HOLD)
		looks(1, FRAME_NS, true);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WIDER);
	assert_int_equal(local.pool.slow_port.share, 2 * 5 + KEPT);
}

static void hold__rises_if_frames_come_more_slowly(void **state)
{
	(void) state;
	hold(TRIP_NS);
	looks(3, FRAME_NS * 17 / 16, true);
	assert_int_equal(local.pool.slow_port.bound, 7);
	looks(100, FRAME_NS * 17 / 16, true);
	assert_int_equal(local.pool.slow_port.bound, 10); /* twice what it began with, no more */
}

static void hold__ends_where_processes_are_away(void **state)
{
	(void) state;
	hold(TRIP_NS);
	for (unsigned i = 0; i < 200 && now_is() == GAMMA_SLOW_PORT_HOLD; i++) {
		stamp += i % 8 ? 0 : 2 * MS;
		looks(1, FRAME_NS, true);
	}
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
	looks(100, FRAME_NS, true); /* 78 ms */
	assert_int_equal(local.stats.slow_port_bounds, 1);
}

static void hold__ends_at_a_faster_port(void **state)
{
	(void) state;
	hold(TRIP_NS);
	looks(1, 5000, true);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_HOLD);
	looks(1, 5000, true);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
}

static void hold__ends_without_a_backlog(void **state)
{
	(void) state;
	hold(TRIP_NS);
	local.pool.bulk = 0;
	looks(4, FRAME_NS, true);
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_WATCH);
}

static void hold__goes_on_between_two_messages(void **state)
{
	(void) state;
	hold(TRIP_NS);
	for (unsigned i = 0; i < 10; i++) {
		local.pool.bulk = i % 2;
		looks(1, FRAME_NS, true);
	}
	assert_int_equal(now_is(), GAMMA_SLOW_PORT_HOLD);
}

/* ---- the sender ---- */

/* The receiver of the net grants so much, and looks no more. */
static void bound(uint32_t share)
{
	struct gamma_slow_port *pace = &net->nodes[1].ep.local.pool.slow_port;

	pace->state = GAMMA_SLOW_PORT_HOLD;
	pace->bound = share - KEPT;
	pace->share = share;
	pace->look = UINT64_MAX;
}

static void stream(void)
{
	net_post(net, 1, 1 << 20);
	net_send(net, 0, 1, 1 << 20, GAMMA_WHEN_ARRIVED);
}

static void sender__keeps_the_last_credit(void **state)
{
	const struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	bound(3);
	stream();
	net_run(net, 200 * US);
	assert_true(flow->tx.bounded);
	for (unsigned i = 0; i < 200; i++) {
		net_step(net, net->now + MS);
		assert_true(gamma_send_window_in_flight(&flow->tx) < 3);
	}
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
}

/* It does not wait for what is under way. */
static void sender__uses_it_for_a_short_message(void **state)
{
	const struct gamma_flow *flow = net_flow(net, 0, 1);
	uint64_t frames;

	(void) state;
	bound(3);
	stream();
	net_run(net, 200 * US);
	for (unsigned i = 0; i < 100 && gamma_send_window_in_flight(&flow->tx) < 2; i++)
		net_step(net, net->now + MS);
	frames = net_stats(net, 0)->data_frames_out;
	net_post(net, 1, 8);
	net_send(net, 0, 1, 8, GAMMA_WHEN_COPIED);
	gamma_output(&net->nodes[0].ep, net->now);
	assert_int_equal(net_stats(net, 0)->data_frames_out, frames + 1);
	assert_int_equal(gamma_send_window_in_flight(&flow->tx), 3);
	net_finish(net, SEC);
}

static void sender__one_frame_in_a_call(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);
	uint64_t frames;

	(void) state;
	bound(9);
	stream();
	net_run(net, 200 * US);
	assert_true(flow->tx.bounded);
	gamma_credit_receive_limit(flow, flow->tx.limit + 4);
	frames = net_stats(net, 0)->data_frames_out;
	gamma_output(&net->nodes[0].ep, net->now);
	assert_int_equal(net_stats(net, 0)->data_frames_out, frames + 1);
	net_run(net, 10 * US);
	assert_true(net_stats(net, 0)->data_frames_out >= frames + 4);
	flow->tx.limit -= 4; /* which nobody has granted */
}

static void sender__is_not_bounded_by_an_ordinary_share(void **state)
{
	(void) state;
	stream();
	net_finish(net, SEC);
	assert_false(net_flow(net, 0, 1)->tx.bounded);
}

#define POOL_TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		POOL_TEST(watch__begins_at_a_slow_port_with_short_messages),
		POOL_TEST(watch__counts_whole_trains),
		POOL_TEST(watch__not_without_short_messages),
		POOL_TEST(watch__not_above_2_gbit),
		POOL_TEST(watch__not_for_short_frames),
		POOL_TEST(watch__not_if_a_sender_is_away),
		POOL_TEST(watch__not_beside_many_senders),
		POOL_TEST(watch__not_without_a_backlog),
		POOL_TEST(trial__round_trip_in_frames_and_some_more),
		POOL_TEST(trial__short_messages_do_not_count),
		POOL_TEST(trial__the_quickest_round_counts),
		POOL_TEST(trial__frames_that_waited_together_are_no_round),
		POOL_TEST(trial__senders_share_equally),
		POOL_TEST(trial__a_new_flow_spoils_it),
		POOL_TEST(trial__losses_end_it_for_a_while),
		POOL_TEST(hold__ends_without_short_messages),
		POOL_TEST(hold__goes_on_with_a_few_short_messages),
		POOL_TEST(hold__looks_for_more_each_second),
		POOL_TEST(hold__rises_if_frames_come_more_slowly),
		POOL_TEST(hold__ends_where_processes_are_away),
		POOL_TEST(hold__ends_at_a_faster_port),
		POOL_TEST(hold__ends_without_a_backlog),
		POOL_TEST(hold__goes_on_between_two_messages),
		NET_TEST(sender__keeps_the_last_credit),
		NET_TEST(sender__uses_it_for_a_short_message),
		NET_TEST(sender__one_frame_in_a_call),
		NET_TEST(sender__is_not_bounded_by_an_ordinary_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
