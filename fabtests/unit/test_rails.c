// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/rails.c: endpoints with two NICs. */
#include "rails_fixture.h"

#include <arpa/inet.h>
#include <errno.h>

#include "engine/dispatch.h"
#include "flow/rails_choice.h"
#include "flow/rails_list.h"
#include "flow/rails_nics.h"

/* ---- validation ---- */

static void validate__both_ends_prove_the_second(void **state)
{
	(void) state;
	for (unsigned from = 0; from < 2; from++) {
		assert_int_equal(net_flow(net, from, 1 - from)->rails->count, 2);
		assert_int_equal(rail(from, 1)->state, GAMMA_RAIL_USABLE);
		assert_int_equal(rail(from, 1)->mtu, 1500);
		assert_int_equal(net_stats(net, from)->rails_proven, 1);
	}
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void validate__not_while_it_is_cut(void **state)
{
	two_nics(20 * US, 1500, 1500);
	net->nodes[1].broken[1] = true;
	(void) state;
	net_exchange(net);
	net_run(net, 100 * MS);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_UNPROVEN);
	net->nodes[1].broken[1] = false;
	net_run(net, 9 * SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
}

static void validate__a_peer_with_one_nic_has_one_rail(void **state)
{
	struct gamma_local *local;

	(void) state;
	two_nics(20 * US, 1500, 1500);
	local = &net->nodes[1].ep.local;
	local->rail_count = 0;
	net_exchange(net);
	net_run(net, 100 * MS);
	assert_int_equal(net_flow(net, 0, 1)->rails->count, 1);
	assert_false(net_flow(net, 0, 1)->rails->asking);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_NONE);
	assert_null(net_flow(net, 1, 0)->rails);
	/* It takes the probe of a rail for a plain one, and its answer says as much. */
	gamma_rails_want_probe(net_flow(net, 0, 1), 0);
	net_run(net, MS);
	assert_false(rail(0, 0)->probing);
	assert_int_equal(rail(0, 0)->unanswered, 0);
}

static void validate__the_second_has_an_mtu_of_its_own(void **state)
{
	(void) state;
	two_nics(20 * US, 1500, 9000);
	net_exchange(net);
	net_run(net, 50 * MS);
	assert_int_equal(rail(0, 1)->mtu, 9000);
	assert_int_equal(net_flow(net, 0, 1)->path_mtu.mtu, 1500);
	send_long(2);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

/* ---- lists ---- */

static void list__of_equal_or_no_addresses_is_malformed(void **state)
{
	struct gamma_rails_list list = {.count = 2};
	uint64_t before = net_stats(net, 1)->malformed;

	(void) state;
	list.rails[0] = list.rails[1] = (struct gamma_rail_entry){{2, 9}, htons(1500)};
	forge_list(GAMMA_PROBE_RAILS, list, true);
	list.rails[1] = (struct gamma_rail_entry){{1}, htons(1500)};
	forge_list(GAMMA_PROBE_RAILS, list, true);
	list.rails[1] = (struct gamma_rail_entry){{2, 1}, htons(100)};
	forge_list(GAMMA_PROBE_RAILS, list, true);
	list.count = GAMMA_RAILS_MAX + 1;
	forge_list(GAMMA_PROBE_RAILS, list, true);
	list.count = 1;
	forge_list(GAMMA_PROBE_RAILS, list, false);
	assert_int_equal(net_stats(net, 1)->malformed, before + 5);
}

static void list__leaves_out_a_nic_with_too_small_an_mtu(void **state)
{
	struct gamma_local local = {.rail_count = 3, .rails_udp = 4};
	struct gamma_rails_list list;

	(void) state;
	for (unsigned r = 0; r < 3; r++)
		local.own_rails[r] = (struct gamma_own_rail){.mac = {2, (uint8_t) r}, .mtu = 1500};
	local.own_rails[2].mtu = GAMMA_LEAST_MTU - 1;
	gamma_rails_list_fill(&local, &list);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.udp, 0);
	assert_int_equal(list.rails[2].mtu, 0);
	/* The third one's place is the third: one before it stays, and the list is valid. */
	local.own_rails[1].mtu = 100;
	local.own_rails[2].mtu = GAMMA_LEAST_MTU;
	gamma_rails_list_fill(&local, &list);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.udp, 4);
	assert_int_equal(ntohs(list.rails[1].mtu), GAMMA_LEAST_MTU);
	assert_int_equal(ntohs(list.rails[2].mtu), GAMMA_LEAST_MTU);
}

static void note_alias(struct gamma_local *local, struct gamma_flow *flow, uint8_t r,
		       const uint8_t mac[GAMMA_MAC_LEN])
{
	(void) local, (void) flow, (void) r, (void) mac;
}

/* The last byte of the address that this rail pairs with; 0: none. Own rails: udp, bits. */
static uint8_t pair_of(unsigned r, uint8_t own_udp, const struct gamma_rails_list *list)
{
	static struct gamma_flow flow;
	struct gamma_local local = {.rail_count = 4, .rails_udp = own_udp, .alias = note_alias};
	struct gamma_rails rails = {.count = 1};

	for (unsigned i = 0; i < 4; i++)
		local.own_rails[i].mtu = 1500;
	flow.local = &local;
	flow.rails = &rails;
	gamma_rails_list_enter(&flow, list, true);
	return rails.rail[r].proven ? rails.rail[r].mac[5] : 0;
}

/* The first one over UDP with the first one over UDP, wherever they stand. */
static void list__pairs_rails_of_one_kind(void **state)
{
	struct gamma_rails_list list = {.count = 4, .udp = 0xc};

	(void) state;
	for (unsigned i = 0; i < 4; i++)
		list.rails[i] =
			(struct gamma_rail_entry){{2, 0, 0, 0, 0, (uint8_t) (10 + i)}, htons(1500)};
	assert_int_equal(pair_of(1, 0xc, &list), 11);
	assert_int_equal(pair_of(2, 0xc, &list), 12);
	assert_int_equal(pair_of(3, 0xc, &list), 13);
	assert_int_equal(pair_of(1, 0, &list), 11);
	assert_int_equal(pair_of(2, 0, &list), 0);
	/* A peer with one NIC, and UDP on it. */
	list.count = 2;
	list.udp = 2;
	assert_int_equal(pair_of(1, 0xc, &list), 0);
	assert_int_equal(pair_of(2, 0xc, &list), 11);
	assert_int_equal(pair_of(3, 0xc, &list), 0);
}

/* Rails are counted in the own order. */
static void list__down_is_of_the_own_rails(void **state)
{
	static struct gamma_flow flow;
	struct gamma_local local = {.rail_count = 4, .rails_udp = 0xc};
	struct gamma_rails_list list = {.count = 2, .udp = 2, .down = 3};

	(void) state;
	flow.local = &local;
	assert_int_equal(gamma_rails_list_down(&flow, &list), 1 | 4);
	list.down = 2;
	assert_int_equal(gamma_rails_list_down(&flow, &list), 4);
}

/* A question that names more than was answered before: one more question, not one each time. */
static void list__that_names_more_is_asked_for_again(void **state)
{
	struct gamma_rails_list list = {.count = 2};
	struct gamma_flow *flow = net_flow(net, 1, 0);

	(void) state;
	flow->rails->count = 1;
	list.rails[0] = (struct gamma_rail_entry){{2}, htons(1500)};
	list.rails[1] = (struct gamma_rail_entry){{2, 6, 6, 6, 6, 6}, htons(1500)};
	forge_list(GAMMA_PROBE_RAILS, list, true);
	assert_int_equal(flow->rails->count, 2);
	assert_false(flow->rails->asking);
	assert_int_equal(rail(1, 1)->mac[1], 0);
	assert_int_equal(rail(1, 1)->state, GAMMA_RAIL_USABLE);
}

/* What was answered to a question stands. */
static void list__that_is_forged_replaces_nothing(void **state)
{
	struct gamma_rails_list list = {.count = 2};

	(void) state;
	list.rails[0] = (struct gamma_rail_entry){{2}, htons(1500)};
	list.rails[1] = (struct gamma_rail_entry){{2, 6, 6, 6, 6, 6}, htons(1500)};
	forge_list(GAMMA_PROBE_RAILS, list, true);
	assert_int_equal(rail(1, 1)->mac[1], 0);
	send_long(1);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 1)->stray, 0);
}

/* Bytes that the answer to a LOOKUP with so long a payload has behind its header. */
static uint64_t found_len(uint16_t asked)
{
	static const uint8_t zeros[128];
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_ASK);
	uint64_t before = net_stats(net, 1)->bytes_out;

	fields.dst_epoch = GAMMA_EPOCH_ANY;
	fields.payload_len = asked;
	net_forge(net, 0, 1, &fields, zeros);
	net_run(net, MS);
	return net_stats(net, 1)->bytes_out - before - GAMMA_ETH_LEN - GAMMA_HEADER_LEN;
}

static void list__in_the_answer_to_a_question_as_long(void **state)
{
	const uint16_t both = GAMMA_ADDR_LEN + sizeof(struct gamma_rails_list);

	(void) state;
	assert_int_equal(found_len(0), GAMMA_ADDR_LEN);
	assert_int_equal(found_len(both - 1), GAMMA_ADDR_LEN);
	assert_int_equal(found_len(both), both);
	assert_int_equal(found_len(both + 1), both);
	net->nodes[1].ep.local.rail_count = 1;
	assert_int_equal(found_len(both), GAMMA_ADDR_LEN);
}

static void flag__no_flow_begins_by_another_rail(void **state)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);

	(void) state;
	fields.src_epoch++;
	fields.flags = GAMMA_FLAG_RAIL;
	net_forge(net, 0, 1, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(net_stats(net, 1)->stray, 1);
	assert_int_equal(net->nodes[1].ep.flow_count, 1);
}

/* ---- which rail ---- */

static void choose__long_messages_leave_by_both(void **state)
{
	unsigned first = net->nodes[0].left[0], second = net->nodes[0].left[1];

	(void) state;
	send_long(4);
	net_finish(net, SEC);
	first = net->nodes[0].left[0] - first;
	second = net->nodes[0].left[1] - second;
	assert_in_range(second, first / 3, first * 3);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

/* Its time was measured while it had little to carry, or the peer was away. */
static void choose__a_rail_with_few_frames_gets_more(void **state)
{
	unsigned first, second;

	(void) state;
	send_long(1);
	net_finish(net, SEC);
	rail(0, 0)->frame_ns = 500;
	rail(0, 1)->frame_ns = 100 * US;
	send_long(4);
	net_finish(net, SEC);
	first = net->nodes[0].left[0], second = net->nodes[0].left[1];
	send_long(4);
	net_finish(net, SEC);
	first = net->nodes[0].left[0] - first;
	second = net->nodes[0].left[1] - second;
	assert_in_range(second, first / 3, first * 3);
}

/* A rail that has failed is not a slow one: how long it may be silent does not grow. */
static void choose__silence_is_no_measure(void **state)
{
	uint64_t most = 0;

	(void) state;
	send_long(2);
	net_run(net, 500 * US);
	assert_true(rail(0, 1)->in_flight > 0);
	net->nodes[1].broken[1] = true;
	for (int i = 0; i < 200 && rail(0, 1)->state == GAMMA_RAIL_USABLE; i++) {
		send_long(1);
		net_run(net, 100 * US);
		most = gamma_max(most, rail(0, 1)->frame_ns);
	}
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	assert_true(most <= 100 * US);
	net_finish(net, SEC);
}

static void choose__what_is_ordered_leaves_by_one(void **state)
{
	unsigned second = net->nodes[0].left[1];

	(void) state;
	for (int i = 0; i < 20; i++) {
		net_post(net, 1, EAGER);
		net_send(net, 0, 1, i % 2 ? EAGER : 64, GAMMA_WHEN_ARRIVED);
	}
	net_finish(net, SEC);
	assert_int_equal(net->nodes[0].left[1], second);
	assert_int_equal(net_stats(net, 1)->out_of_order, 0);
}

static void choose__the_shorter_round_trip(void **state)
{
	(void) state;
	two_nics(2 * US, 1500, 1500);
	net->options.latency = 40 * US;
	net_exchange(net);
	net_run(net, 50 * MS);
	net_exchange(net);
	assert_int_equal(net_flow(net, 0, 1)->rail, 1);
}

/* ---- loss ---- */

/* Tenfold round trips: what a fast rail brings says nothing of the slow one. */
static void loss__not_for_what_another_rail_brings(void **state)
{
	(void) state;
	two_nics(2 * MS, 1500, 1500);
	net_exchange(net);
	net_run(net, 50 * MS);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	send_long(6);
	net_finish(net, 5 * SEC);
	assert_true(net->nodes[0].left[1] > 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->rails_doubted, 0);
}

static void loss__one_frame_of_a_rail_is_sent_again_once(void **state)
{
	(void) state;
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 0,
				    .kind = GAMMA_KIND_DATA,
				    .op = GAMMA_OP_BULK,
				    .seq = ANY_SEQ,
				    .skip = 30,
				    .times = 1});
	send_long(1);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->retransmissions, 1);
	assert_int_equal(net_stats(net, 0)->rails_doubted, 0);
}

/* ---- doubt ---- */

static void doubt__a_rail_that_is_cut_and_back(void **state)
{
	uint64_t took;

	(void) state;
	send_long(3);
	net_run(net, 500 * US);
	assert_true(rail(0, 1)->in_flight > 0);
	net->nodes[1].broken[1] = true;
	took = net_finish(net, SEC);
	assert_true(took < 20 * MS);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	assert_int_equal(net->nodes[0].ep.local.own_rails[1].doubted, 1);
	net->nodes[1].broken[1] = false;
	net_run(net, SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	assert_int_equal(net->nodes[0].ep.local.own_rails[1].doubted, 0);
}

static void doubt__the_first_rail_as_well(void **state)
{
	(void) state;
	net->nodes[0].broken[0] = true;
	send_long(2);
	net_finish(net, SEC);
	assert_int_equal(rail(0, 0)->state, GAMMA_RAIL_DOUBTED);
	assert_int_equal(net_flow(net, 0, 1)->rail, 1);
	net_exchange(net);
	net->nodes[0].broken[0] = false;
	net_run(net, SEC);
	assert_int_equal(rail(0, 0)->state, GAMMA_RAIL_USABLE);
}

/* A peer that does not poll says nothing by any rail. */
static void doubt__not_when_the_peer_computes(void **state)
{
	(void) state;
	send_long(2);
	net_run(net, 300 * US);
	net->nodes[1].wakes = net->now + 300 * MS;
	net_finish(net, 5 * SEC);
	assert_int_equal(net_stats(net, 0)->rails_doubted, 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void doubt__at_once_when_the_nic_is_down(void **state)
{
	(void) state;
	send_long(2);
	net_run(net, 500 * US);
	net->nodes[0].broken[1] = true;
	gamma_rails_nics_down(&net->nodes[0].ep.local, 1, net->now);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	assert_int_equal(rail(0, 1)->in_flight, 0);
	net_finish(net, SEC);
}

static void doubt__never_of_the_last_rail(void **state)
{
	(void) state;
	gamma_rails_nics_down(&net->nodes[0].ep.local, 1, net->now);
	gamma_rails_nics_down(&net->nodes[0].ep.local, 0, net->now);
	assert_int_equal(rail(0, 0)->state, GAMMA_RAIL_USABLE);
	assert_int_equal(net_flow(net, 0, 1)->rail, 0);
}

static void refuse_rail(uint8_t r)
{
	struct gamma_endpoint *endpoint = &net->nodes[0].ep;

	endpoint->burst[0] = (struct gamma_frame){
		.flow = net_flow(net, 0, 1), .kind = GAMMA_KIND_ACK, .rail = r};
	gamma_output_account(endpoint, &net->nodes[0].second, false, 1, 0, -EAGAIN, net->now);
}

/* What is refused before the link is tried again, as the rest of a burst, is no further sign that
 * it takes nothing. */
static void doubt__not_of_a_link_that_is_full_for_a_moment(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 2 * GAMMA_STALLS_MAX; i++)
		refuse_rail(1);
	assert_int_equal(net->nodes[0].ep.rails[1].stalls, 1);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	for (unsigned i = 0; i < GAMMA_STALLS_MAX; i++) {
		net->now = net->nodes[0].ep.rails[1].until;
		refuse_rail(1);
	}
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	net_run(net, SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
}

/* A probe that the link has not taken asks nothing, and says nothing if no answer comes. */
static void doubt__not_while_its_probe_cannot_leave(void **state)
{
	struct gamma_endpoint *endpoint = &net->nodes[0].ep;

	(void) state;
	endpoint->rails[1].until = net->now + SEC;
	endpoint->local.rails_busy |= 2;
	gamma_rails_want_probe(net_flow(net, 0, 1), 1);
	for (unsigned i = 0; i < 100; i++) {
		net_exchange(net);
		net_run(net, MS);
	}
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	net_run(net, 2 * SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	assert_int_equal(net_stats(net, 0)->rails_doubted, 0);
}

/* Asking for its probe meanwhile does not postpone the next look at it. */
static void doubt__looked_at_again_soon_after_its_link_was_full(void **state)
{
	struct gamma_endpoint *endpoint = &net->nodes[0].ep;
	struct gamma_flow *flow = net_flow(net, 0, 1);
	uint64_t look;

	(void) state;
	net->nodes[0].broken[1] = true;
	gamma_rails_nics_down(&endpoint->local, 1, net->now);
	net_run(net, 4 * SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	endpoint->rails[1].until = net->now + 10 * SEC;
	endpoint->local.rails_busy |= 2;
	for (unsigned i = 0; i < 100; i++) {
		look = rail(0, 1)->look;
		gamma_rails_want_probe(flow, 1);
		net_run(net, MS);
		assert_true(net->now >= look || rail(0, 1)->look <= look);
		net_run(net, 49 * MS);
	}
	net->nodes[0].broken[1] = false;
	endpoint->rails[1].until = 0;
	endpoint->local.rails_busy = 0;
	net_run(net, SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
}

/* ---- the peer has ended the flow ---- */

/* Only rails are probed: its answer to that must do. */
static void reset__answers_the_probe_of_a_rail(void **state)
{
	(void) state;
	gamma_flow_fail(net_flow(net, 1, 0), -ETIMEDOUT, "test");
	gamma_rails_want_probe(net_flow(net, 0, 1), 1);
	net_run(net, MS);
	assert_int_equal(net_flow(net, 0, 1)->state, GAMMA_FLOW_FAILED);
	assert_int_equal(net_stats(net, 0)->resets_in, 1);
}

/* ---- aliases ---- */

static void alias__ends_with_its_flow(void **state)
{
	const struct gamma_flow *flow = net_flow(net, 1, 0);
	struct gamma_endpoint *endpoint = &net->nodes[1].ep;
	uint8_t mac[GAMMA_MAC_LEN];

	(void) state;
	memcpy(mac, flow->rails->rail[1].mac, sizeof(mac));
	assert_ptr_equal(gamma_peers_find(endpoint, mac, flow->port, flow->epoch), flow);
	assert_null(gamma_peers_find(endpoint, mac, flow->port, flow->epoch + 1));
	gamma_peers_forget(&endpoint->local, net_flow(net, 1, 0), net->now);
	for (uint32_t i = 0; i < GAMMA_ALIAS_CHAINS; i++)
		assert_null(endpoint->aliases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RAILS_TEST(validate__both_ends_prove_the_second),
		RAILS_TEST(validate__not_while_it_is_cut),
		RAILS_TEST(validate__a_peer_with_one_nic_has_one_rail),
		RAILS_TEST(validate__the_second_has_an_mtu_of_its_own),
		RAILS_TEST(list__of_equal_or_no_addresses_is_malformed),
		RAILS_TEST(list__in_the_answer_to_a_question_as_long),
		RAILS_TEST(list__leaves_out_a_nic_with_too_small_an_mtu),
		RAILS_TEST(list__pairs_rails_of_one_kind),
		RAILS_TEST(list__down_is_of_the_own_rails),
		RAILS_TEST(list__that_names_more_is_asked_for_again),
		RAILS_TEST(list__that_is_forged_replaces_nothing),
		RAILS_TEST(flag__no_flow_begins_by_another_rail),
		RAILS_TEST(choose__long_messages_leave_by_both),
		RAILS_TEST(choose__a_rail_with_few_frames_gets_more),
		RAILS_TEST(choose__silence_is_no_measure),
		RAILS_TEST(choose__what_is_ordered_leaves_by_one),
		RAILS_TEST(choose__the_shorter_round_trip),
		RAILS_TEST(loss__not_for_what_another_rail_brings),
		RAILS_TEST(loss__one_frame_of_a_rail_is_sent_again_once),
		RAILS_TEST(doubt__a_rail_that_is_cut_and_back),
		RAILS_TEST(doubt__the_first_rail_as_well),
		RAILS_TEST(doubt__not_when_the_peer_computes),
		RAILS_TEST(doubt__at_once_when_the_nic_is_down),
		RAILS_TEST(doubt__never_of_the_last_rail),
		RAILS_TEST(doubt__not_of_a_link_that_is_full_for_a_moment),
		RAILS_TEST(doubt__not_while_its_probe_cannot_leave),
		RAILS_TEST(doubt__looked_at_again_soon_after_its_link_was_full),
		RAILS_TEST(reset__answers_the_probe_of_a_rail),
		RAILS_TEST(alias__ends_with_its_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
