// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/rails_nics.c: a NIC has no carrier, here or at the peer. */
#include "rails_fixture.h"

#include "flow/rails_list.h"
#include "flow/rails_nics.h"

static bool has_no_second_carrier; /* of host 1 */

static bool second_carrier(struct gamma_local *local, uint8_t rail)
{
	return !rail || local != &net->nodes[1].ep.local || !has_no_second_carrier;
}

static void pull_second_of_peer(void)
{
	for (unsigned i = 0; i < 2; i++)
		net->nodes[i].ep.local.has_carrier = second_carrier;
	has_no_second_carrier = net->nodes[1].broken[1] = true;
}

static void carrier__the_peer_has_lost_is_left_at_once(void **state)
{
	(void) state;
	send_long(3);
	net_run(net, 500 * US);
	assert_true(rail(0, 1)->in_flight > 0);
	pull_second_of_peer();
	assert_false(gamma_rails_nics_look(&net->nodes[1].ep.local, 1, net->now));
	assert_int_equal(rail(1, 1)->state, GAMMA_RAIL_DOUBTED);
	net_run(net, 300 * US);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	assert_int_equal(rail(0, 1)->in_flight, 0);
	net_finish(net, SEC);
	/* It is probed as soon as it has one again. */
	has_no_second_carrier = net->nodes[1].broken[1] = false;
	assert_true(gamma_rails_nics_look(&net->nodes[1].ep.local, 1, net->now));
	net_run(net, MS);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	assert_int_equal(rail(1, 1)->state, GAMMA_RAIL_USABLE);
}

/* The peer looks when it is asked by the other rail. */
static void carrier__is_looked_at_when_the_sender_asks(void **state)
{
	unsigned probes = 0;

	(void) state;
	send_long(3);
	net_run(net, 500 * US);
	pull_second_of_peer();
	for (int i = 0; i < 100 && rail(0, 1)->state == GAMMA_RAIL_USABLE; i++) {
		probes = gamma_max(probes, rail(0, 1)->unanswered);
		net_run(net, 50 * US);
	}
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	assert_true(probes < 2);
	net_finish(net, SEC);
}

/* The first word of it may get lost. */
static void carrier__is_reported_again_when_the_sender_asks(void **state)
{
	(void) state;
	send_long(3);
	net_run(net, 500 * US);
	pull_second_of_peer();
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 1,
				    .kind = GAMMA_KIND_ACK,
				    .op = GAMMA_ACK_RAILS,
				    .seq = ANY_SEQ,
				    .times = 1});
	gamma_rails_nics_look(&net->nodes[1].ep.local, 1, net->now);
	for (int i = 0; i < 100 && rail(0, 1)->state == GAMMA_RAIL_USABLE; i++)
		net_run(net, 50 * US);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	assert_int_equal(rail(1, 1)->state, GAMMA_RAIL_DOUBTED);
	assert_int_equal(rail(0, 1)->overtaken, 0);
	net_finish(net, SEC);
}

/* The own NIC's shows before any probe. */
static void carrier__of_the_own_nic_is_looked_at_first(void **state)
{
	struct gamma_local *local = &net->nodes[1].ep.local;

	(void) state;
	pull_second_of_peer();
	for (int i = 0; i < 3; i++) {
		net_post(net, 0, LONG);
		net_send(net, 1, 0, LONG, GAMMA_WHEN_ARRIVED);
	}
	net_run(net, 3 * MS);
	assert_true(local->own_rails[1].no_carrier);
	assert_int_equal(rail(1, 1)->state, GAMMA_RAIL_DOUBTED);
	net_finish(net, SEC);
}

/* Raw frames and datagrams go by one cable. */
static void carrier__of_one_nic_is_that_of_its_twin(void **state)
{
	struct gamma_local *local = &net->nodes[1].ep.local;
	struct gamma_rails_list list;

	(void) state;
	local->own_rails[0].twin = 1 + 1;
	local->own_rails[1].twin = 1 + 0;
	pull_second_of_peer();
	assert_false(gamma_rails_nics_look(local, 1, net->now));
	gamma_rails_list_fill(local, &list);
	assert_int_equal(list.down, 3);
	has_no_second_carrier = net->nodes[1].broken[1] = false;
	assert_true(gamma_rails_nics_look(local, 1, net->now));
	gamma_rails_list_fill(local, &list);
	assert_int_equal(list.down, 0);
}

static void say_down(uint32_t number, uint8_t down)
{
	struct gamma_rails_list list;
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_ACK, GAMMA_ACK_RAILS);

	gamma_rails_list_fill(&net->nodes[1].ep.local, &list);
	list.down = down;
	fields.seq = number;
	fields.payload_len = sizeof(list);
	fields.extensions = GAMMA_EXT_PAYLOAD_CRC;
	fields.payload_crc = gamma_crc32c(0, &list, sizeof(list));
	net_forge(net, 1, 0, &fields, &list);
	net_run(net, 5 * US);
}

/* A list without the number of the question has no effect. */
static void carrier__forged__needs_the_number(void **state)
{
	uint32_t number = net_flow(net, 0, 1)->rails->ask;

	(void) state;
	say_down(number + 1, 2);
	assert_int_equal(net_stats(net, 0)->rails_doubted, 0);
	say_down(number, 1); /* the NIC by which it comes works */
	assert_int_equal(net_stats(net, 0)->rails_doubted, 0);
	say_down(number, 2);
	assert_int_equal(net_stats(net, 0)->rails_doubted, 1);
	/* It is wrong: the probe that leaves at once shows that. */
	net_run(net, MS);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
}

static void carrier__of_the_last_rail_changes_nothing(void **state)
{
	(void) state;
	gamma_rails_nics_down(&net->nodes[0].ep.local, 0, net->now);
	net->nodes[0].broken[0] = true;
	say_down(net_flow(net, 0, 1)->rails->ask, 2);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RAILS_TEST(carrier__the_peer_has_lost_is_left_at_once),
		RAILS_TEST(carrier__is_looked_at_when_the_sender_asks),
		RAILS_TEST(carrier__is_reported_again_when_the_sender_asks),
		RAILS_TEST(carrier__of_the_own_nic_is_looked_at_first),
		RAILS_TEST(carrier__of_one_nic_is_that_of_its_twin),
		RAILS_TEST(carrier__forged__needs_the_number),
		RAILS_TEST(carrier__of_the_last_rail_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
