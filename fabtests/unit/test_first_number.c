// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of frame numbers that begin at random, and of forged first frames. */
#include "pair_fixture.h"

#include <errno.h>
#include <string.h>

#include "flow/receive_window.h"
#include "flow/send_window.h"

static int setup_random(void **state)
{
	setup(state);
	for (unsigned i = 0; i < 2; i++) {
		net->nodes[i].ep.local.limits.random_start = true;
		net->nodes[i].ep.local.random.key[0] = i + 1;
	}
	return 0;
}

static void exchange(unsigned from)
{
	net_post(net, 1 - from, 64);
	net_send(net, from, 1 - from, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
}

/* A frame from node 0 to node 1 with that number, though node 0 has not sent it. */
static void forge(uint8_t kind, uint8_t op, uint32_t seq)
{
	struct gamma_fields fields = net_fields(net, 0, 1, kind, op);

	fields.seq = seq;
	fields.extensions = kind == GAMMA_KIND_DATA ? GAMMA_EXT_TAG : 0;
	fields.tag = 0;
	net_forge(net, 0, 1, &fields, NULL);
	net_run(net, US / 2);
}

static void first__random_both_ways(void **state)
{
	const struct gamma_flow *out = net_flow(net, 0, 1), *in = net_flow(net, 1, 0);

	(void) state;
	assert_int_equal(out->tx.first % GAMMA_WINDOW_MAX, 0);
	assert_int_not_equal(out->tx.first, in->tx.first);
	exchange(0);
	exchange(1);
	assert_int_equal(in->rx.first, out->tx.first);
	assert_int_equal(out->rx.first, in->tx.first);
	assert_int_equal(in->rx.next, out->tx.first + 1);
	assert_int_equal(net_stats(net, 1)->stray + net_stats(net, 1)->malformed, 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void first__lost_or_late(void **state)
{
	(void) state;
	net_drop(net, 0, GAMMA_KIND_DATA, 1);
	for (unsigned i = 0; i < 4; i++) {
		net_post(net, 1, 64);
		net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	}
	net_finish(net, SEC);
	assert_int_equal(net_flow(net, 1, 0)->rx.first, net_flow(net, 0, 1)->tx.first);
}

/* Until something has begun the sequence, only one of the first frames can. */
static void first__not_in_the_middle(void **state)
{
	const struct gamma_flow *flow = net_flow(net, 1, 0);

	(void) state;
	forge(GAMMA_KIND_DATA, GAMMA_OP_SEND, GAMMA_FIRST_CREDIT + 1);
	assert_false(flow->rx.begun);
	assert_int_equal(net_stats(net, 1)->stray, 1);
	assert_int_equal(net_stats(net, 1)->messages_in, 0);
}

static void forged__without_data_does_no_harm(void **state)
{
	static const uint8_t kinds[] = {GAMMA_KIND_REQUEST, GAMMA_KIND_BYE};
	const struct gamma_flow *out = net_flow(net, 0, 1), *in = net_flow(net, 1, 0);

	(void) state;
	forge(kinds[0], 0, out->tx.first + (5 << 20));
	forge(kinds[1], GAMMA_ASK, out->tx.first + (9 << 20));
	assert_int_not_equal(in->rx.first, out->tx.first);
	exchange(0);
	exchange(1);
	assert_int_equal(in->rx.first, out->tx.first);
	assert_true(in->rx.proven);
	assert_int_equal(in->state, GAMMA_FLOW_OPEN);
}

/* As likely as one in two thousand, if the attacker begins with 0. */
static void forged__near_the_true_one_does_no_harm(void **state)
{
	static const uint32_t distances[] = {480 * GAMMA_WINDOW_MAX, -480u * GAMMA_WINDOW_MAX,
					     2 * GAMMA_WINDOW_MAX, -1u * GAMMA_WINDOW_MAX};

	for (unsigned i = 0; i < gamma_array_size(distances); i++) {
		teardown(state);
		setup_random(state);
		forge(GAMMA_KIND_REQUEST, 0, net_flow(net, 0, 1)->tx.first + distances[i]);
		assert_int_not_equal(net_flow(net, 1, 0)->rx.first, net_flow(net, 0, 1)->tx.first);
		exchange(0);
		exchange(1);
		assert_int_equal(net_flow(net, 1, 0)->rx.first, net_flow(net, 0, 1)->tx.first);
		assert_true(net_flow(net, 1, 0)->rx.proven);
	}
}

/* Wrong contents, as ever without keys; but then both sides learn it. */
static void forged__data_ends_with_an_error(void **state)
{
	const struct gamma_flow *out = net_flow(net, 0, 1), *in = net_flow(net, 1, 0);

	(void) state;
	forge(GAMMA_KIND_DATA, GAMMA_OP_SEND, out->tx.first + (5 << 20));
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 100 * MS);
	assert_int_equal(in->state, GAMMA_FLOW_FAILED);
	assert_int_equal(in->error, -ECONNRESET);
	assert_string_equal(net->nodes[1].last_cause, "another host has sent frames in its name");
	assert_int_equal(out->error, -ECONNRESET);
}

static void forged__later_is_only_a_question(void **state)
{
	const struct gamma_flow *out = net_flow(net, 0, 1), *in = net_flow(net, 1, 0);

	(void) state;
	exchange(0);
	forge(GAMMA_KIND_DATA, GAMMA_OP_SEND, out->tx.first + (5 << 20));
	net_run(net, MS);
	assert_true(in->rx.proven);
	forge(GAMMA_KIND_DATA, GAMMA_OP_SEND, out->tx.first + (6 << 20));
	net_run(net, MS);
	assert_int_equal(net_stats(net, 1)->stray, 2);
	assert_int_equal(net_stats(net, 1)->probes_out, 1);
	exchange(0);
	assert_int_equal(in->state, GAMMA_FLOW_OPEN);
}

#define RANDOM_TEST(name) cmocka_unit_test_setup_teardown(name, setup_random, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RANDOM_TEST(first__random_both_ways),
		RANDOM_TEST(first__lost_or_late),
		RANDOM_TEST(first__not_in_the_middle),
		RANDOM_TEST(forged__without_data_does_no_harm),
		RANDOM_TEST(forged__near_the_true_one_does_no_harm),
		RANDOM_TEST(forged__data_ends_with_an_error),
		RANDOM_TEST(forged__later_is_only_a_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
