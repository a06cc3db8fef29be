// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/repair.c: the bound alone, and a flow that obeys it. */
#include "rails_fixture.h"

#include <errno.h>

#include "flow/rails_nics.h"

enum {
	FIRST = GAMMA_REPAIR_FIRST,
	LEAST = GAMMA_REPAIR_LEAST,
	ENTRIES = 1024,
	FRAMES = 400, /* of the message that crosses a network */
};

static struct gamma_local local;
static struct gamma_flow flow;
static struct gamma_sent sent[ENTRIES];

/* 1,000 frames are under way, and some of them are to be sent again. */
static int begin(void **state)
{
	(void) state;
	memset(&local, 0, sizeof(local));
	memset(&flow, 0, sizeof(flow));
	memset(sent, 0, sizeof(sent));
	gamma_list_init(&local.ready);
	gamma_list_init(&flow.ready_entry);
	flow.local = &local;
	flow.tx.sent = sent;
	flow.tx.size = ENTRIES;
	flow.tx.next = 1000;
	flow.tx.serial = 1000;
	flow.tx.lost = 1;
	gamma_repair_begin(&flow);
	return 0;
}

/* A search for lost frames, after a round trip in which so many were sent again. */
static void round_trip_of(uint32_t count, uint32_t lost)
{
	flow.tx.serial += 100;
	flow.loss.first.rack_serial = flow.tx.serial;
	flow.repair.flying = count;
	flow.repair.lost = lost;
	gamma_repair_adapt(&flow);
}

/* The same of as many as may be. */
static void round_trip(uint32_t lost)
{
	round_trip_of(flow.repair.bound, lost);
}

/* ---- the bound ---- */

static void bound__doubles_in_a_round_trip_without_loss(void **state)
{
	(void) state;
	assert_int_equal(flow.repair.bound, FIRST);
	round_trip(0);
	assert_int_equal(flow.repair.bound, 2 * FIRST);
	gamma_repair_adapt(&flow); /* the same round trip */
	assert_int_equal(flow.repair.bound, 2 * FIRST);
	for (int i = 0; i < 20; i++)
		round_trip(0);
	assert_int_equal(flow.repair.bound, GAMMA_WINDOW_MAX);
}

static void bound__falls_to_what_has_arrived(void **state)
{
	(void) state;
	round_trip(0);
	round_trip(88);
	assert_int_equal(flow.repair.bound, 2 * FIRST - 88);
	for (int i = 0; i < 20; i++)
		round_trip(flow.repair.bound);
	assert_int_equal(flow.repair.bound, LEAST);
	round_trip(0);
	assert_int_equal(flow.repair.bound, 2 * LEAST);
}

static void bound__stays_when_few_are_lost(void **state)
{
	(void) state;
	round_trip(FIRST / 3);
	assert_int_equal(flow.repair.bound, FIRST);
}

/* A port that loses nearly all of a repair will do so again, however much more was allowed. */
static void bound__falls_when_a_smaller_repair_is_lost(void **state)
{
	(void) state;
	for (int i = 0; i < 20; i++)
		round_trip(0);
	assert_int_equal(flow.repair.bound, GAMMA_WINDOW_MAX);
	round_trip_of(200, 160);
	assert_int_equal(flow.repair.bound, 40);
	round_trip_of(LEAST, LEAST);
	assert_int_equal(flow.repair.bound, LEAST);
}

static void bound__stays_when_a_part_of_a_smaller_one_is_lost(void **state)
{
	(void) state;
	round_trip_of(40, 20);
	assert_int_equal(flow.repair.bound, FIRST);
	round_trip_of(LEAST - 1, LEAST - 1);
	assert_int_equal(flow.repair.bound, FIRST);
	for (unsigned i = 0; i < 40; i++) /* what is under way may arrive yet */
		sent[i].again = 1;
	round_trip_of(50, 10);
	assert_int_equal(flow.repair.flying, 40);
	assert_int_equal(flow.repair.bound, FIRST);
}

static void bound__is_new_when_all_of_that_time_has_arrived(void **state)
{
	(void) state;
	round_trip(FIRST);
	assert_int_equal(flow.repair.bound, LEAST);
	flow.tx.una = 999;
	round_trip(1);
	assert_int_equal(flow.repair.bound, LEAST);
	flow.tx.una = 1000;
	flow.tx.next = 2000;
	round_trip(1);
	assert_int_equal(flow.repair.bound, FIRST);
}

/* It shows that all before it was lost, and the network has taken nothing. */
static void bound__stays_when_a_probe_is_answered(void **state)
{
	(void) state;
	for (int i = 0; i < 10; i++) {
		flow.tx.serial += 100;
		flow.loss.first.rack_serial = flow.tx.serial + 1;
		gamma_repair_probed(&flow, flow.loss.first.rack_serial);
		gamma_repair_adapt(&flow); /* too early to call the last frames lost */
		flow.repair.flying = flow.repair.lost = flow.repair.bound;
		gamma_repair_adapt(&flow);
		gamma_repair_adapt(&flow);
	}
	assert_int_equal(flow.repair.bound, LEAST);
}

static void flying__counts_parts(void **state)
{
	(void) state;
	sent[0].again = 7;
	sent[1].again = 1;
	round_trip(0);
	assert_int_equal(flow.repair.flying, 8);
}

static void flying__counts_what_was_sent_again(void **state)
{
	(void) state;
	sent[0].again = sent[1].again = sent[2].again = 1;
	sent[1].state = GAMMA_SENT_ARRIVED;
	sent[2].state = GAMMA_SENT_LOST;
	round_trip(0);
	assert_int_equal(flow.repair.flying, 1);
	assert_false(gamma_list_empty(&local.ready));
}

static void flying__at_the_bound_waits(void **state)
{
	(void) state;
	for (int i = 0; i < FIRST; i++)
		sent[i].again = 1;
	gamma_repair_adapt(&flow);
	assert_int_equal(flow.repair.flying, FIRST);
	assert_true(gamma_list_empty(&local.ready));
}

/* ---- a flow ---- */

/* Frames that leave again before an answer can come back. */
static void sender__repeats_a_bounded_burst(void **state)
{
	const struct gamma_repair *repair;
	uint64_t before, most = 0;

	(void) state;
	net_exchange(net);
	repair = &net_flow(net, 0, 1)->repair;
	net_drop(net, 0, GAMMA_KIND_DATA, FRAMES);
	net_post(net, 1, FRAMES * 1400);
	net_send(net, 0, 1, FRAMES * 1400, GAMMA_WHEN_ARRIVED);
	do {
		before = net_stats(net, 0)->retransmissions;
		net_step(net, net->now + SEC);
		most = gamma_max(most, net_stats(net, 0)->retransmissions - before);
		assert_true(repair->flying <= gamma_max(repair->bound, FIRST));
	} while (net->nodes[1].received < 2);
	assert_in_range(most, 1, FIRST);
	net_finish(net, SEC);
}

/* Nothing was lost any more, so that nothing was counted: all that was sent again has arrived. */
static void sender__repeats_what_the_link_refused_after_a_repair(void **state)
{
	struct gamma_repair *repair;

	(void) state;
	net_exchange(net);
	repair = &net_flow(net, 0, 1)->repair;
	repair->flying = repair->bound;
	net->nodes[0].link_error = -EAGAIN;
	net_post(net, 1, ALONE);
	net_send(net, 0, 1, ALONE, GAMMA_WHEN_ARRIVED);
	net_run(net, 10 * US);
	net->nodes[0].link_error = 0;
	net_finish(net, 100 * MS);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
}

/* ---- several rails: of a repetition that arrives it is not known by which one it came ---- */

static struct gamma_flow *lose_of_message(unsigned lost)
{
	struct gamma_flow *sender = net_flow(net, 0, 1);

	net_rule(net, (struct rule){.fate = DROP,
				    .kind = GAMMA_KIND_DATA,
				    .op = GAMMA_OP_BULK,
				    .seq = ANY_SEQ,
				    .times = lost});
	net_post(net, 1, FRAMES * 1400);
	net_send(net, 0, 1, FRAMES * 1400, GAMMA_WHEN_ARRIVED);
	while (sender->repair.flying < sender->repair.bound)
		net_step(net, net->now + SEC);
	return sender;
}

/* It makes room for the next one at once, not only when a probe is answered. */
static void rails__what_arrives_makes_room(void **state)
{
	struct gamma_flow *sender;
	uint64_t probes;

	(void) state;
	net->nodes[0].broken[1] = true;
	gamma_rails_nics_down(&net->nodes[0].ep.local, 1, net->now);
	sender = lose_of_message(FRAMES);
	sender->repair.bound = LEAST;
	while (sender->repair.flying >= LEAST)
		net_step(net, net->now + SEC);
	probes = net_stats(net, 0)->probes_out;
	net_finish(net, 50 * MS);
	assert_true(net_stats(net, 0)->probes_out <= probes + 2);
}

static void rails__bound_grows_by_repetitions(void **state)
{
	struct gamma_flow *sender = lose_of_message(100);
	uint32_t bound = sender->repair.bound = LEAST;

	(void) state;
	sender->repair.grow = sender->tx.serial;
	while (net->nodes[1].received < 2) {
		net_step(net, net->now + SEC);
		bound = gamma_max(bound, sender->repair.bound);
	}
	assert_true(bound >= 4 * LEAST);
	net_finish(net, SEC);
}

/* An answer counts as often as it likes: only what left since the bound was set shows that it may
 * grow. */
static void rails__bound_stays_until_later_frames_arrive(void **state)
{
	struct gamma_flow *sender = net_flow(net, 0, 1);
	uint32_t bound = sender->repair.bound;

	(void) state;
	sender->tx.serial += 100;
	sender->repair.grow = sender->tx.serial;
	sender->repair.end = sender->tx.next + 1;
	sender->rails->arrived = sender->tx.serial + 1;
	gamma_repair_adapt(sender);
	assert_int_equal(sender->repair.bound, bound);
	rail(0, 1)->loss.rack_serial = sender->tx.serial + 1;
	gamma_repair_adapt(sender);
	assert_int_equal(sender->repair.bound, 2 * bound);
}

/* What left by it is not under way any more, and others have room for it. */
static void rails__flying_forgets_those_of_a_rail_that_is_left(void **state)
{
	struct gamma_flow *sender;
	uint32_t by_second = 0;

	(void) state;
	sender = lose_of_message(100);
	for (uint32_t seq = sender->tx.una; seq != sender->tx.next; seq++) {
		const struct gamma_sent *it = gamma_send_window_at(&sender->tx, seq);

		by_second += it->again && it->state == GAMMA_SENT_FLYING && it->rail == 1;
	}
	assert_int_not_equal(by_second, 0);
	gamma_rails_nics_down(&net->nodes[0].ep.local, 1, net->now);
	assert_int_equal(sender->repair.flying, sender->repair.bound - by_second);
	net_finish(net, SEC);
}

#define BOUND_TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOUND_TEST(bound__doubles_in_a_round_trip_without_loss),
		BOUND_TEST(bound__falls_to_what_has_arrived),
		BOUND_TEST(bound__stays_when_few_are_lost),
		BOUND_TEST(bound__falls_when_a_smaller_repair_is_lost),
		BOUND_TEST(bound__stays_when_a_part_of_a_smaller_one_is_lost),
		BOUND_TEST(bound__is_new_when_all_of_that_time_has_arrived),
		BOUND_TEST(bound__stays_when_a_probe_is_answered),
		BOUND_TEST(flying__counts_parts),
		BOUND_TEST(flying__counts_what_was_sent_again),
		BOUND_TEST(flying__at_the_bound_waits),
		NET_TEST(sender__repeats_a_bounded_burst),
		NET_TEST(sender__repeats_what_the_link_refused_after_a_repair),
		RAILS_TEST(rails__what_arrives_makes_room),
		RAILS_TEST(rails__bound_grows_by_repetitions),
		RAILS_TEST(rails__bound_stays_until_later_frames_arrive),
		RAILS_TEST(rails__flying_forgets_those_of_a_rail_that_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
