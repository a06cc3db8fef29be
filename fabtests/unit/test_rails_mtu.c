// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/rails_mtu.c: the largest frame of the second of two NICs. */
#include "rails_fixture.h"

#include <errno.h>

#include "engine/output.h"
#include "flow/rails_nics.h"

static void mtu__of_the_own_second_nic_is_lowered(void **state)
{
	(void) state;
	two_nics(20 * US, 1500, 9000);
	net_exchange(net);
	net_run(net, 50 * MS);
	gamma_rails_nics_set_mtu(&net->nodes[0].ep.local, 1, 2000, net->now);
	assert_int_equal(rail(0, 1)->mtu, 2000);
	gamma_rails_nics_set_mtu(&net->nodes[0].ep.local, 1, 500, net->now);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_NONE);
	assert_int_equal(net->nodes[0].ep.local.own_rails[1].doubted, 0);
	send_long(1);
	net_finish(net, SEC);
}

/* The NIC's MTU falls while the answer to a larger probe is on its way. */
static void mtu__late_answer_does_not_undo_that_it_is_lowered(void **state)
{
	struct gamma_local *local;

	(void) state;
	two_nics(20 * US, 1500, 9000);
	local = &net->nodes[0].ep.local;
	net_exchange(net);
	while (!rail(0, 1)->probe_first)
		net_run(net, 10 * US);
	assert_int_equal(rail(0, 1)->probe_size, 9000);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_UNPROVEN);
	gamma_rails_nics_set_mtu(local, 1, 2000, net->now);
	net_run(net, 50 * MS);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	assert_int_equal(rail(0, 1)->mtu, 2000);
}

/* Nor does it bring a NIC back whose MTU is too small for any rail. */
static void mtu__late_answer_of_a_rail_that_is_none_any_more(void **state)
{
	(void) state;
	gamma_rails_want_probe(net_flow(net, 0, 1), 1);
	net_run(net, 5 * US);
	assert_true(rail(0, 1)->probing);
	gamma_rails_nics_set_mtu(&net->nodes[0].ep.local, 1, 500, net->now);
	net_run(net, 50 * MS);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_NONE);
}

/* Peers knew of the NIC, and try it all the while. */
static void mtu__of_the_own_second_nic_is_raised_again(void **state)
{
	struct gamma_local *local = &net->nodes[0].ep.local;

	(void) state;
	gamma_rails_nics_set_mtu(local, 1, 500, net->now);
	net->nodes[0].broken[1] = true;
	send_long(2);
	net_finish(net, SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_NONE);
	net->nodes[0].broken[1] = false;
	gamma_rails_nics_restore_mtu(local, 1, 1500, net->now);
	net_run(net, 5 * SEC);
	for (unsigned from = 0; from < 2; from++) {
		assert_int_equal(rail(from, 1)->state, GAMMA_RAIL_USABLE);
		assert_int_equal(rail(from, 1)->mtu, 1500);
	}
}

/* A flow that has begun meanwhile: the peer has got a list without that NIC. */
static void mtu__raised_is_advertised_to_a_peer_that_did_not_know_the_nic(void **state)
{
	struct gamma_local *local;

	(void) state;
	two_nics(20 * US, 1500, 9000);
	local = &net->nodes[0].ep.local;
	gamma_rails_nics_set_mtu(local, 1, 500, net->now);
	net_exchange(net);
	net_run(net, 50 * MS);
	assert_int_equal(net_flow(net, 1, 0)->rails->count, 1);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_NONE);
	assert_int_equal(rail(1, 1)->state, GAMMA_RAIL_NONE);
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	gamma_rails_nics_restore_mtu(local, 1, 9000, net->now);
	net_run(net, 50 * MS);
	for (unsigned from = 0; from < 2; from++) {
		assert_int_equal(rail(from, 1)->state, GAMMA_RAIL_USABLE);
		assert_int_equal(rail(from, 1)->mtu, 9000);
	}
	assert_int_equal(net_stats(net, 0)->rails_doubted, 0);
}

/* One that began with 1,500 bytes, as its first probes were answered late. */
static void mtu__larger_is_found_in_the_midst_of_a_stream(void **state)
{
	(void) state;
	two_nics(20 * US, 1500, 9000);
	net_exchange(net);
	net_run(net, 50 * MS);
	rail(0, 1)->mtu = 1500;
	send_long(2);
	net_run(net, 2 * MS);
	assert_true(rail(0, 1)->in_flight > 0);
	assert_int_equal(rail(0, 1)->mtu, 9000);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->rails_doubted, 0);
}

/* The first probe is lost, as the peer has not begun to look at that rail. */
static void mtu__large_is_asked_for_twice_before_small(void **state)
{
	(void) state;
	two_nics(20 * US, 1500, 9000);
	net->nodes[1].broken[1] = true;
	net_exchange(net);
	while (!rail(0, 1)->probe_first)
		net_run(net, 100 * US);
	net->nodes[1].broken[1] = false;
	while (rail(0, 1)->state != GAMMA_RAIL_USABLE)
		net_run(net, 100 * US);
	assert_int_equal(rail(0, 1)->mtu, 9000);
}

/* ---- a link that refuses the probe ---- */

enum { PEERS = 12 };

/* Node 0 has a virtual NIC beside its first one, which refuses what its other end would drop, and
 * does not say so. */
static void setup_virtual(unsigned nodes)
{
	struct net_options options = net_defaults();

	options.nics = 2;
	options.mtu = 1500;
	options.second_mtu = 9000;
	net_free(net);
	net = net_new(nodes, &options);
	net->nodes[0].takes = 1500;
}

static void greet_all(void)
{
	for (unsigned i = 1; i < net->count; i++) {
		net_post(net, i, 64);
		net_send(net, 0, i, 64, GAMMA_WHEN_ARRIVED);
	}
	net_finish(net, SEC);
}

static void probe__that_is_refused_is_followed_by_a_small_one(void **state)
{
	(void) state;
	setup_virtual(2);
	greet_all();
	net_run(net, MS);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	assert_int_equal(rail(0, 1)->mtu, 1500);
	assert_int_equal(rail(1, 1)->mtu, 9000);
	net->nodes[0].takes = 0;
	send_long(2);
	net_finish(net, SEC);
	assert_int_equal(rail(0, 1)->mtu, 9000);
}

/* It does not take the link for full: other flows' probes leave. */
static void probe__that_is_refused_puts_off_no_others(void **state)
{
	(void) state;
	setup_virtual(1 + PEERS);
	greet_all();
	net_run(net, MS);
	for (unsigned i = 1; i <= PEERS; i++) {
		const struct gamma_rail *it = &net_flow(net, 0, i)->rails->rail[1];

		assert_int_equal(it->state, GAMMA_RAIL_USABLE);
		assert_int_equal(it->mtu, 1500);
		assert_int_equal(it->held_up, 0);
	}
	assert_int_equal(net_stats(net, 0)->send_stalls, 0);
}

static void probe__that_a_full_link_refuses_waits(void **state)
{
	struct gamma_endpoint *endpoint;

	(void) state;
	two_nics(20 * US, 1500, 9000);
	endpoint = &net->nodes[0].ep;
	net_exchange(net);
	net_run(net, 50 * MS);
	gamma_rails_nics_down(&endpoint->local, 1, net->now);
	net->nodes[0].link_error = -EAGAIN;
	gamma_output(endpoint, net->now);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	assert_int_equal(rail(0, 1)->probe_size, 1500);
	assert_int_equal(net_stats(net, 0)->send_stalls, 1);
	assert_int_equal(endpoint->local.rails_busy, 2);
	net->nodes[0].link_error = 0;
	net_run(net, SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	assert_int_equal(rail(0, 1)->mtu, 9000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RAILS_TEST(mtu__of_the_own_second_nic_is_lowered),
		RAILS_TEST(mtu__late_answer_does_not_undo_that_it_is_lowered),
		RAILS_TEST(mtu__late_answer_of_a_rail_that_is_none_any_more),
		RAILS_TEST(mtu__of_the_own_second_nic_is_raised_again),
		RAILS_TEST(mtu__raised_is_advertised_to_a_peer_that_did_not_know_the_nic),
		RAILS_TEST(mtu__larger_is_found_in_the_midst_of_a_stream),
		RAILS_TEST(mtu__large_is_asked_for_twice_before_small),
		RAILS_TEST(probe__that_is_refused_is_followed_by_a_small_one),
		RAILS_TEST(probe__that_is_refused_puts_off_no_others),
		RAILS_TEST(probe__that_a_full_link_refuses_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
