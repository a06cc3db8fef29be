// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/credit.c. The harness checks the account after every frame: what the
 * flows hold is what the pool has granted, and no grant goes beyond slots minus reserve.
 */
#include "credit_fixture.h"

#include <errno.h>

/* ---- granting ---- */

static void first__frames_before_the_peer_is_heard_of(void **state)
{
	(void) state;
	net->nodes[1].wakes = net->now + MS;
	messages(0, 1, 20);
	net_run(net, 500 * US);
	assert_int_equal(net_stats(net, 0)->data_frames_out, GAMMA_FIRST_CREDIT);
	assert_int_equal(net_stats(net, 0)->credit_stalls, 1);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
}

static void grant__grows_to_an_equal_share(void **state)
{
	(void) state;
	messages(0, 1, 8);
	net_finish(net, SEC);
	assert_int_equal(pool(1)->reserve, 32);
	assert_int_equal(pool(1)->share, 224);
	assert_in_range(gamma_credit_window(net_flow(net, 1, 0)), 224 - 28, 224);
	assert_int_equal(pool(1)->granted, gamma_credit_window(net_flow(net, 1, 0)));
}

static void grant__a_long_stream_never_runs_dry(void **state)
{
	(void) state;
	net_post(net, 1, 8 << 20);
	net_send(net, 0, 1, 8 << 20, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 1)->ring_drops, 0);
}

static void grant__across_the_wrap(void **state)
{
	(void) state;
	net_begin_at(net, 0, 1, UINT32_MAX - 100);
	net_begin_at(net, 1, 0, UINT32_MAX - 3);
	net_post(net, 1, 1 << 20);
	net_send(net, 0, 1, 1 << 20, GAMMA_WHEN_ARRIVED);
	messages(1, 0, 100);
	net_finish(net, SEC);
	assert_true(net_flow(net, 0, 1)->tx.next < 1000);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->requests_out + net_stats(net, 1)->requests_out, 0);
}

/* ---- late, repeated and lost grants ---- */

static void limit__stale_and_repeated_ones_are_harmless(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	gamma_credit_receive_limit(flow, 100);
	gamma_credit_receive_limit(flow, 50);
	gamma_credit_receive_limit(flow, 100);
	assert_int_equal(flow->tx.limit, 100);
	flow->tx.limit = UINT32_MAX - 1;
	gamma_credit_receive_limit(flow, 5);
	gamma_credit_receive_limit(flow, UINT32_MAX);
	assert_int_equal(flow->tx.limit, 5);
}

/* Takes the pool away, so that node 1 has nothing to grant. */
static void drain(void)
{
	pool(1)->reserve = pool(1)->slots;
	pool(1)->share = 0;
}

static void refill(void)
{
	pool(1)->reserve = pool(1)->slots / 8;
	pool(1)->share = 100;
}

static void starved__asks_and_is_served(void **state)
{
	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, GAMMA_REQUEST_US * US / 2);
	assert_int_equal(net_stats(net, 0)->data_frames_out, GAMMA_FIRST_CREDIT);
	assert_int_equal(net_stats(net, 0)->requests_out, 0); /* the last frame said BACKLOG */
	net_run(net, GAMMA_REQUEST_US * US);
	assert_int_equal(net_stats(net, 0)->requests_out, 1);
	assert_int_equal(net_stats(net, 1)->requests_in, 1);
	refill();
	net_finish(net, 10 * MS);
	assert_int_equal(net_stats(net, 0)->data_frames_out, 30);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->credit_stalls, 1);
}

static void starved__lost_request_is_repeated(void **state)
{
	struct rule *rule = net_rule(net, (struct rule){.fate = DROP,
							.kind = GAMMA_KIND_REQUEST,
							.op = ANY_OP,
							.seq = ANY_SEQ,
							.times = 1});

	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, 100 * US);
	refill();
	net_finish(net, 4 * GAMMA_REQUEST_US * US);
	assert_int_equal(rule->met, 1);
	assert_int_equal(net_stats(net, 0)->requests_out, 2);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void starved__lost_grant_is_repeated(void **state)
{
	struct rule *rule;

	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, 100 * US);
	refill();
	rule = net_rule(net, (struct rule){.fate = DROP,
					   .from = 1,
					   .kind = GAMMA_KIND_ACK,
					   .op = ANY_OP,
					   .seq = ANY_SEQ,
					   .times = 1});
	net_finish(net, 5 * GAMMA_REQUEST_US * US);
	assert_int_equal(rule->met, 1);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void starved__requests_back_off(void **state)
{
	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, 10 * SEC);
	assert_in_range(net_stats(net, 0)->requests_out, 10, 40);
	assert_int_equal(net->nodes[0].failures, 0);
}

/* A receiver without free slots is not dead. */
static void starved__for_longer_than_the_peer_timeout(void **state)
{
	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, 100 * SEC);
	assert_int_equal(net->nodes[0].failures, 0);
	refill();
	net_finish(net, SEC);
}

static void starved__by_a_dead_receiver(void **state)
{
	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, MS);
	net->nodes[1].unplugged = true;
	net_run(net, 35 * SEC);
	assert_int_equal(net->nodes[0].failures, 1);
	assert_int_equal(net->nodes[0].last_error, -ETIMEDOUT);
}

/* A peer that sends more than it was granted gets no more for it, and the account stays right
 * (the harness checks that). */
static void overrun__is_not_paid_for(void **state)
{
	(void) state;
	drain();
	net_flow(net, 0, 1)->tx.limit += 20;
	messages(0, 1, GAMMA_FIRST_CREDIT + 20);
	net_run(net, MS);
	assert_int_equal(gamma_credit_window(net_flow(net, 1, 0)), 0);
	assert_int_equal(pool(1)->granted, 0);
	refill();
	messages(0, 1, 50);
	net_finish(net, 10 * MS);
}

static void release__returns_what_a_failed_flow_held(void **state)
{
	(void) state;
	messages(0, 1, 20);
	net_finish(net, SEC);
	assert_true(pool(1)->granted > 0);
	gamma_flow_fail(net_flow(net, 1, 0), -ETIMEDOUT, "test");
	assert_int_equal(pool(1)->granted, 0);
	assert_int_equal(pool(1)->active, 0);
}

/* ---- many peers ---- */

enum { PEERS = 100 };

static struct net *crowd(void)
{
	teardown(NULL);
	net = net_new(PEERS + 1, NULL);
	return net;
}

/* One after the other, each with more than its first credit: grants of idle ones come back. */
static void crowd__one_after_the_other(void **state)
{
	(void) state;
	crowd();
	for (unsigned peer = 1; peer <= PEERS; peer++) {
		messages(peer, 0, 30);
		net_finish(net, 100 * MS);
	}
	assert_int_equal(net->nodes[0].received, PEERS * 30);
	assert_true(net_stats(net, 0)->reclaims_out > 0);
	assert_int_equal(net_stats(net, 0)->ring_drops, 0);
	for (unsigned peer = 1; peer <= PEERS; peer++)
		assert_int_equal(net_stats(net, peer)->retransmissions, 0);
}

/* All at once: the first credits overrun the ring; the losses are repaired, and the shares are
 * fair. */
static void crowd__all_at_once(void **state)
{
	(void) state;
	crowd();
	for (unsigned peer = 1; peer <= PEERS; peer++)
		messages(peer, 0, 60);
	net_finish(net, 100 * MS);
	assert_int_equal(net->nodes[0].received, PEERS * 60);
}

/* ---- several senders with a backlog ---- */

static void bulk_streams(unsigned senders, uint64_t length)
{
	teardown(NULL);
	net = net_new(senders + 1, NULL);
	for (unsigned peer = 1; peer <= senders; peer++) {
		net_post(net, 0, length);
		net_send(net, peer, 0, length, GAMMA_WHEN_ARRIVED);
	}
}

static void bulk__is_known_by_what_frames_say(void **state)
{
	(void) state;
	bulk_streams(2, 1 << 20);
	net_run(net, 100 * US);
	assert_int_equal(pool(0)->bulk, 2);
	net_finish(net, SEC);
	assert_int_equal(pool(0)->bulk, 0);
	assert_int_equal(pool(0)->bulk_granted, 0);
	assert_int_equal(pool(0)->bound, pool(0)->slots - pool(0)->reserve);
}

static void bulk__loss_lowers_the_bound_and_quiet_raises_it(void **state)
{
	uint32_t bound;

	(void) state;
	bulk_streams(3, 4 << 20);
	net_run(net, 200 * US);
	net_drop(net, 1, GAMMA_KIND_DATA, 1);
	net_run(net, 400 * US);
	bound = pool(0)->bound;
	assert_in_range(bound, GAMMA_BUDGET, 150);
	net_finish(net, SEC);
	assert_true(pool(0)->bound > bound);
	assert_int_equal(net_stats(net, 0)->ring_drops, 0);
	assert_int_equal(net_stats(net, 1)->requests_out + net_stats(net, 2)->requests_out, 0);
}

static void bulk__an_overtaken_frame_changes_nothing(void **state)
{
	(void) state;
	bulk_streams(1, 5000);
	net_rule(net, (struct rule){.fate = DELAY,
				    .from = 1,
				    .kind = GAMMA_KIND_DATA,
				    .op = ANY_OP,
				    .seq = 2,
				    .delay = 50 * US,
				    .times = 1});
	net_finish(net, SEC);
	assert_true(net_stats(net, 0)->out_of_order > 0);
	assert_int_equal(pool(0)->bulk, 0);
}

static void bulk__one_alone_is_bounded_too(void **state)
{
	(void) state;
	bulk_streams(1, 4 << 20);
	net_run(net, 200 * US);
	net_drop(net, 1, GAMMA_KIND_DATA, 1);
	net_run(net, MS);
	assert_in_range(pool(0)->bound, GAMMA_BUDGET, 150);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 1)->retransmissions, 1);
}

/* The holders of the whole bound are dead: the other peers do not wait for them. */
static void bulk__dead_holders_do_not_stop_the_others(void **state)
{
	(void) state;
	bulk_streams(6, 4 << 20);
	gamma_credit_pool_set_budget(pool(0), 16);
	pool(0)->bound = 16;
	net_run(net, 300 * US);
	for (unsigned peer = 1; peer <= 6; peer++)
		if (gamma_credit_window(net_flow(net, 0, peer)) > 2)
			net->nodes[peer].unplugged = true;
	net_run(net, SEC);
	for (unsigned peer = 1; peer <= 6; peer++)
		assert_true(net->nodes[peer].unplugged || net->nodes[peer].sent);
}

static void bulk__loss_elsewhere_on_the_nic_lowers_it_too(void **state)
{
	(void) state;
	bulk_streams(1, 8 << 20);
	gamma_credit_pool_set_budget(pool(0), 40);
	net_run(net, 500 * US);
	gamma_credit_pool_lost(pool(0));
	assert_in_range(pool(0)->bound, 40, 112);
	gamma_credit_pool_lost(pool(0)); /* of the same loss, perhaps */
	assert_in_range(pool(0)->bound, 56, 112);
	net_finish(net, SEC);
}

static void budget__sets_the_minimum(void **state)
{
	(void) state;
	gamma_credit_pool_set_budget(pool(0), 300);
	assert_int_equal(pool(0)->bound, 224);
	pool(0)->bound = 64;
	gamma_credit_pool_set_budget(pool(0), 100);
	assert_int_equal(pool(0)->bound, 100);
	gamma_credit_pool_set_budget(pool(0), 0);
	assert_int_equal(pool(0)->bound, 224);
}

/* The peers that would be asked first die. */
static void kill_holders(unsigned count)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &pool(0)->holders) {
		struct gamma_flow *flow =
			gamma_list_entry(pos, struct gamma_flow, credit.grant_entry);

		if (!gamma_credit_window(flow) || !count)
			continue;
		net->nodes[flow->addr.mac[5]].unplugged = true;
		count--;
	}
	assert_int_equal(count, 0);
}

/* The peer that should give credit back is dead: the others must not starve. */
static void crowd__with_dead_holders(void **state)
{
	(void) state;
	crowd();
	for (unsigned peer = 1; peer <= 20; peer++) {
		messages(peer, 0, 10);
		net_finish(net, 100 * MS);
	}
	kill_holders(2);
	for (unsigned peer = 21; peer <= PEERS; peer++) {
		messages(peer, 0, 30);
		net_finish(net, SEC);
	}
	assert_int_equal(net->nodes[0].received, 20 * 10 + 80 * 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(first__frames_before_the_peer_is_heard_of),
		NET_TEST(grant__grows_to_an_equal_share),
		NET_TEST(grant__a_long_stream_never_runs_dry),
		NET_TEST(grant__across_the_wrap),
		NET_TEST(limit__stale_and_repeated_ones_are_harmless),
		NET_TEST(starved__asks_and_is_served),
		NET_TEST(starved__lost_request_is_repeated),
		NET_TEST(starved__lost_grant_is_repeated),
		NET_TEST(starved__requests_back_off),
		NET_TEST(starved__for_longer_than_the_peer_timeout),
		NET_TEST(starved__by_a_dead_receiver),
		NET_TEST(overrun__is_not_paid_for),
		NET_TEST(release__returns_what_a_failed_flow_held),
		NET_TEST(crowd__one_after_the_other),
		NET_TEST(crowd__all_at_once),
		NET_TEST(crowd__with_dead_holders),
		NET_TEST(bulk__is_known_by_what_frames_say),
		NET_TEST(bulk__loss_lowers_the_bound_and_quiet_raises_it),
		NET_TEST(bulk__an_overtaken_frame_changes_nothing),
		NET_TEST(bulk__one_alone_is_bounded_too),
		NET_TEST(bulk__dead_holders_do_not_stop_the_others),
		NET_TEST(bulk__loss_elsewhere_on_the_nic_lowers_it_too),
		NET_TEST(budget__sets_the_minimum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
