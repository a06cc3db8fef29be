// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/ack.c: when arriving data is acknowledged, and in which frame. */
#include "pair_fixture.h"

static void copied(unsigned from, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		net_send(net, from, 1 - from, ALONE, GAMMA_WHEN_COPIED);
}

/* Both know each other, all is acknowledged, and the grants are there. */
static void warm_up(void)
{
	copied(0, 4);
	copied(1, 4);
	net_run(net, 10 * MS);
}

static uint64_t acks(unsigned node)
{
	return net_stats(net, node)->acks_out;
}

static void requested__answered_at_once(void **state)
{
	struct outgoing *out;
	uint64_t start;

	(void) state;
	warm_up();
	start = net->now;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	assert_in_range(out->done_at - start, 2 * US, 2 * US + 500);
}

static void not_requested__delayed_by_the_timer(void **state)
{
	uint64_t before;

	(void) state;
	warm_up();
	before = acks(1);
	copied(0, 1);
	net_run(net, GAMMA_ACK_DELAY_US * US);
	assert_int_equal(acks(1), before);
	net_run(net, 10 * US);
	assert_int_equal(acks(1), before + 1);
	assert_int_equal(gamma_send_window_unacked(&net_flow(net, 0, 1)->tx), 0);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
}

static void quarter_window__is_acknowledged_early(void **state)
{
	uint32_t window;
	uint64_t before;

	(void) state;
	warm_up();
	before = acks(1);
	window = gamma_credit_window(net_flow(net, 1, 0));
	copied(0, window / 8);
	net_run(net, 100 * US);
	assert_int_equal(acks(1), before);
	copied(0, window / 8 + 4);
	net_run(net, 100 * US);
	assert_int_equal(acks(1), before + 1);
}

static void riding__on_data_going_back(void **state)
{
	uint64_t before;

	(void) state;
	warm_up();
	before = acks(1);
	copied(0, 1);
	net_run(net, 10 * US);
	copied(1, 1);
	net_run(net, 10 * US);
	assert_int_equal(gamma_send_window_unacked(&net_flow(net, 0, 1)->tx), 0);
	net_run(net, 5 * MS);
	assert_int_equal(acks(1), before);
}

static void early_frame__is_acknowledged_at_once(void **state)
{
	uint64_t before;

	(void) state;
	warm_up();
	before = acks(1);
	net_rule(net, (struct rule){.fate = DROP, .from = 0, .seq = ANY_SEQ, .times = 1});
	copied(0, 2);
	net_run(net, 2 * US);
	assert_int_equal(acks(1), before + 1);
}

/* ---- ping-pong ---- */

enum { ROUNDS = 1000 };
static unsigned pings;

static void pong(struct node *node, unsigned from)
{
	unsigned self = (unsigned) (node - node->net->nodes);

	if (self == 0 && ++pings == ROUNDS)
		return;
	net_post(node->net, self, 64);
	net_send(node->net, self, from, 64, GAMMA_WHEN_COPIED);
}

static void ping_pong__sends_its_frames_and_no_other(void **state)
{
	(void) state;
	pings = 0;
	net->nodes[0].on_received = net->nodes[1].on_received = pong;
	net_post(net, 0, 64);
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_COPIED);
	while (pings < ROUNDS)
		assert_true(net_step(net, 10 * SEC));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(net_stats(net, i)->data_frames_out, ROUNDS);
		assert_int_equal(net_stats(net, i)->frames_out, ROUNDS);
		assert_int_equal(net_stats(net, i)->retransmissions, 0);
		assert_int_equal(net_stats(net, i)->probes_out, 0);
		assert_int_equal(net_stats(net, i)->requests_out, 0);
		assert_int_equal(acks(i), 0);
	}
	/* 2,000 hops of 1 us and some bytes */
	assert_in_range(net->now - SEC, 2 * ROUNDS * US, 3 * ROUNDS * US);
	net_run(net, 10 * MS); /* the last one is acknowledged alone */
	assert_int_equal(acks(0), 1);
	assert_int_equal(net_stats(net, 1)->probes_out, 0);
}

/* Round trips are measured there too, though no frame is an acknowledgement alone. */
static void ping_pong__measures_the_round_trip(void **state)
{
	(void) state;
	ping_pong__sends_its_frames_and_no_other(state);
	assert_in_range(net_flow(net, 0, 1)->loss.first.rtt, 2 * US, 2 * US + 500);
	assert_in_range(net_flow(net, 1, 0)->loss.first.rtt, 2 * US, 2 * US + 500);
}

/* ---- the delay that is reported ---- */

static void delay__is_not_part_of_the_round_trip(void **state)
{
	(void) state;
	warm_up();
	/* The receiver looks only every 300 us: the network still takes 2 us. */
	for (int i = 0; i < 50; i++) {
		net->nodes[1].wakes = net->now + 300 * US;
		net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
		net_run(net, MS);
	}
	assert_in_range(net_flow(net, 0, 1)->loss.first.rtt, 2 * US, 2 * US + 500);
}

static void delay__too_long_to_be_reported(void **state)
{
	struct gamma_flow *flow;
	uint64_t before;

	(void) state;
	warm_up();
	flow = net_flow(net, 0, 1);
	before = flow->loss.first.rtt;
	net->nodes[1].wakes = net->now + 5 * SEC; /* more than 2^32 ns */
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, 10 * SEC);
	assert_in_range(flow->loss.first.rtt, before / 2, before * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(requested__answered_at_once),
		NET_TEST(not_requested__delayed_by_the_timer),
		NET_TEST(quarter_window__is_acknowledged_early),
		NET_TEST(riding__on_data_going_back),
		NET_TEST(early_frame__is_acknowledged_at_once),
		NET_TEST(ping_pong__sends_its_frames_and_no_other),
		NET_TEST(ping_pong__measures_the_round_trip),
		NET_TEST(delay__is_not_part_of_the_round_trip),
		NET_TEST(delay__too_long_to_be_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
