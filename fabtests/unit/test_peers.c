// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/peers.c and dead_peers.c: what is kept of peers that are no more. */
#include "pair_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t flows(unsigned node)
{
	return net->nodes[node].ep.flow_count;
}

/* Longer than what has ended is remembered. */
static void wait_until_forgotten(void)
{
	net_run(net, 3 * SEC);
}

static void looked_up_without_answer__is_forgotten(void **state)
{
	(void) state;
	net->nodes[1].unplugged = true;
	for (int i = 0; i < 10; i++) {
		struct outgoing *out = net_send_partial(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);

		net_run(net, 31 * SEC);
		assert_int_equal(out->error, -ETIMEDOUT);
		wait_until_forgotten();
	}
	assert_int_equal(flows(0), 0);
	assert_int_equal(net->nodes[0].ep.dead_peers.count, 0);
	assert_int_equal(net->nodes[0].gone, 10);
}

/* Its host knows that nobody has the port any more. */
static void ended__is_forgotten(void **state)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_NO_PORT);
	struct outgoing *out;

	(void) state;
	net_exchange(net);
	net->nodes[1].wakes = net->now + 100 * SEC;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	fields.src_epoch = GAMMA_EPOCH_ANY;
	net_run(net, 2 * SEC);
	fields.seq = net_flow(net, 0, 1)->lookup;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	wait_until_forgotten();
	assert_int_equal(flows(0), 0);
	assert_int_equal(net->nodes[0].ep.dead_peers.count, 0);
}

/* Node 0 declares node 1 dead, and has forgotten its flow then. */
static void declare_dead(void)
{
	struct outgoing *out;

	net_exchange(net);
	net->nodes[1].unplugged = true;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 31 * SEC);
	assert_int_equal(out->error, -ETIMEDOUT);
	wait_until_forgotten();
	assert_int_equal(flows(0), 0);
	net->nodes[1].unplugged = false;
}

static void given_up__its_frames_open_no_flow(void **state)
{
	struct outgoing *out;

	(void) state;
	declare_dead();
	net_post(net, 0, 64);
	out = net_send(net, 1, 0, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	assert_int_equal(net->nodes[0].received, 0);
	assert_int_equal(net_stats(net, 0)->resets_out, 2);
	wait_until_forgotten();
	assert_int_equal(flows(0), 0);
}

static void given_up__nothing_is_begun_to_it(void **state)
{
	struct gamma_send send = {.envelope.length = 0};

	(void) state;
	declare_dead();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(gamma_send_message(net_flow(net, 0, 1), &send), -EHOSTDOWN);
		wait_until_forgotten();
		assert_int_equal(flows(0), 0);
	}
	assert_int_equal(net->nodes[0].ep.dead_peers.count, 1);
	assert_string_equal(net->nodes[0].last_cause, GAMMA_DECLARED_DEAD);
}

/* A flow of its own only if its port has another owner. */
static void given_up__another_epoch_is_a_stranger(void **state)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_PROBE, GAMMA_PROBE_PLAIN);

	(void) state;
	declare_dead();
	fields.src_epoch++;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(flows(0), 1);
	assert_int_equal(net_stats(net, 0)->resets_out, 0);
}

/* A peer that only waited for this endpoint, by a directed receive, sends BYE too when it closes.
 */
static void bye__of_a_stranger_is_answered(void **state)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_BYE, GAMMA_ASK);

	(void) state;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, 1);
	assert_int_equal(net_stats(net, 0)->frames_out, 1);
	assert_int_equal(net_stats(net, 0)->stray, 0);
	assert_int_equal(flows(0), 0);
}

/* ---- more were declared dead than are remembered ---- */

/* So many unknown peers ask node 0 something, once. */
static void unknown_peers(unsigned count, uint32_t epoch)
{
	for (unsigned i = 0; i < count; i++) {
		struct gamma_fields fields =
			net_fields(net, 1, 0, GAMMA_KIND_PROBE, GAMMA_PROBE_PLAIN);

		fields.src_port = (uint16_t) (20000 + i);
		fields.src_epoch = epoch;
		net_forge(net, 1, 0, &fields, NULL);
		if (i % 100 == 99)
			net_run(net, MS);
	}
	net_run(net, MS);
}

/* The flow of a further one stays and says the same, as long as it must. */
static void full__the_next_flow_is_not_forgotten(void **state)
{
	struct gamma_dead_peers *dead = &net->nodes[0].ep.dead_peers;
	struct outgoing *out;

	(void) state;
	assert_int_equal(dead->most, GAMMA_DEAD_PEERS_MAX);
	dead->most = 0;
	net_exchange(net);
	net->nodes[1].unplugged = true;
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 31 * SEC);
	for (int i = 0; i < 5; i++)
		wait_until_forgotten();
	assert_int_equal(flows(0), 1);
	assert_true(dead->full_warned);
	net->nodes[1].unplugged = false;
	net_post(net, 0, 64);
	out = net_send(net, 1, 0, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	assert_int_equal(net->nodes[0].received, 0);
	dead->most = 1;
	wait_until_forgotten();
	assert_int_equal(flows(0), 0);
	assert_int_equal(dead->count, 1);
}

/* Then there is no room for unknown_peers' any more, while those that are known go on. */
static void full__strangers_are_not_met(void **state)
{
	uint64_t stray;

	(void) state;
	net_exchange(net);
	net->nodes[0].ep.flow_count += GAMMA_FLOWS_MAX - 2;
	unknown_peers(1, 1);
	assert_int_equal(flows(0), GAMMA_FLOWS_MAX);
	stray = net_stats(net, 0)->stray;
	unknown_peers(1, 2);
	assert_int_equal(flows(0), GAMMA_FLOWS_MAX);
	assert_int_equal(net_stats(net, 0)->stray, stray + 1);
	net_exchange(net);
	net->nodes[0].ep.flow_count -= GAMMA_FLOWS_MAX - 2;
}

/* ---- peers that vanish without a word while nothing is owed ---- */

static void vanished__are_found_out_when_they_are_many(void **state)
{
	(void) state;
	net_exchange(net);
	for (uint32_t round = 1; round <= 3; round++) {
		unknown_peers(GAMMA_SWEEP_FLOWS, round);
		assert_in_range(flows(0), GAMMA_SWEEP_FLOWS + 1, GAMMA_SWEEP_FLOWS + 2);
		net_run(net, GAMMA_IDLE_S * SEC);
		unknown_peers(1, 100 + round);
		net_run(net, 35 * SEC);
		assert_in_range(flows(0), 2, 4);
	}
	/* Nobody had asked anything of them, nor had they said anything; who was there stays. */
	assert_int_equal(net->nodes[0].ep.dead_peers.count, 0);
	assert_int_equal(net->nodes[0].failures, 0);
	assert_int_equal(net_flow(net, 0, 1)->state, GAMMA_FLOW_OPEN);
	net_exchange(net);
}

static void vanished__few_are_left_alone(void **state)
{
	uint64_t probes;

	(void) state;
	unknown_peers(100, 1);
	probes = net_stats(net, 0)->probes_out;
	net_run(net, GAMMA_IDLE_S * SEC);
	unknown_peers(1, 2);
	net_run(net, 35 * SEC);
	assert_int_equal(flows(0), 101);
	assert_int_equal(net_stats(net, 0)->probes_out, probes);
}

/* ---- dead_peers ---- */

static void name(struct gamma_flow *flow, uint32_t i)
{
	memset(flow, 0, sizeof(*flow));
	flow->addr.mac[0] = 2;
	flow->addr.mac[5] = (uint8_t) (i % 3);
	flow->port = (uint16_t) (i % 7);
	flow->epoch = i / 2 + 1;
}

static void dead_peers__thousands_are_found_again(void **state)
{
	enum { COUNT = 5000 };
	struct gamma_dead_peers dead = {.most = COUNT};
	struct gamma_flow *flow = calloc(1, sizeof(*flow));

	(void) state;
	name(flow, 0);
	assert_false(gamma_dead_peers_has(&dead, flow));
	for (int twice = 0; twice < 2; twice++)
		for (uint32_t i = 0; i < COUNT; i++) {
			name(flow, i);
			assert_true(gamma_dead_peers_add(&dead, flow));
		}
	assert_int_equal(dead.count, COUNT);
	for (uint32_t i = 0; i < 2 * COUNT; i++) {
		name(flow, i);
		assert_int_equal(gamma_dead_peers_has(&dead, flow), i < COUNT);
	}
	gamma_dead_peers_free(&dead);
	free(flow);
}

/* None is dropped for another: that peer could come back. */
static void dead_peers__so_many_and_no_more(void **state)
{
	struct gamma_dead_peers dead = {.most = GAMMA_DEAD_PEERS_MAX};
	struct gamma_flow *flow = calloc(1, sizeof(*flow));

	(void) state;
	for (uint32_t i = 0; i <= GAMMA_DEAD_PEERS_MAX; i++) {
		flow->epoch = (i + 1) * 2654435761u; /* all different, as if drawn */
		assert_int_equal(gamma_dead_peers_add(&dead, flow), i < GAMMA_DEAD_PEERS_MAX);
	}
	assert_int_equal(dead.count, GAMMA_DEAD_PEERS_MAX);
	assert_false(gamma_dead_peers_has(&dead, flow));
	flow->epoch = 2654435761u;
	assert_true(gamma_dead_peers_has(&dead, flow));
	assert_true(gamma_dead_peers_add(&dead, flow));
	gamma_dead_peers_free(&dead);
	free(flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(looked_up_without_answer__is_forgotten),
		NET_TEST(ended__is_forgotten),
		NET_TEST(given_up__its_frames_open_no_flow),
		NET_TEST(given_up__nothing_is_begun_to_it),
		NET_TEST(given_up__another_epoch_is_a_stranger),
		NET_TEST(bye__of_a_stranger_is_answered),
		NET_TEST(full__the_next_flow_is_not_forgotten),
		NET_TEST(full__strangers_are_not_met),
		NET_TEST(vanished__are_found_out_when_they_are_many),
		NET_TEST(vanished__few_are_left_alone),
		TEST(dead_peers__thousands_are_found_again),
		TEST(dead_peers__so_many_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
