// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of rails of one NIC, with raw frames and over UDP: common/flow/rails.c and
 * rails_choice.c. */
#include "rails_fixture.h"

#include <arpa/inet.h>
#include <errno.h>

#include "engine/dispatch.h"
#include "engine/links.h"
#include "engine/output.h"
#include "flow/rails_choice.h"
#include "flow/rails_nics.h"

enum { UDP_MTU = 1472 };

/* Round trips over UDP are the shorter ones here. */
static void raw_and_udp(void)
{
	struct net_options options = net_defaults();

	options.nics = 2;
	options.latency = 20 * US;
	options.second_mtu = UDP_MTU;
	options.second_latency = US;
	options.second_udp = true;
	net_free(net);
	net = net_new(2, &options);
}

static int setup_udp(void **state)
{
	setup(state);
	raw_and_udp();
	net_exchange(net);
	net_run(net, 50 * MS);
	return 0;
}

#define UDP_TEST(name) cmocka_unit_test_setup_teardown(name, setup_udp, teardown)

static void udp__long_messages_take_it_alone(void **state)
{
	unsigned raw = net->nodes[0].left[0], udp = net->nodes[0].left[1];

	(void) state;
	assert_int_equal(rail(0, 1)->mtu, UDP_MTU);
	send_long(4);
	net_finish(net, SEC);
	assert_in_range(net->nodes[0].left[1] - udp, 4 * LONG / UDP_MTU, UINT32_MAX);
	assert_in_range(net->nodes[0].left[0] - raw, 4, 8); /* announcements */
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 1)->stray, 0);
}

static void send_each(unsigned count, uint64_t length)
{
	for (unsigned i = 0; i < count; i++) {
		net_post(net, 1, length);
		net_send(net, 0, 1, length, GAMMA_WHEN_ARRIVED);
		net_finish(net, SEC);
	}
}

static void udp__short_messages_stay_raw(void **state)
{
	unsigned udp = net->nodes[0].left[1];

	(void) state;
	send_each(20, 1400);
	send_each(20, 8);
	assert_int_equal(net_flow(net, 0, 1)->rail, 0);
	assert_int_equal(net->nodes[0].left[1], udp);
}

/* Its first frame makes a peer that seldom polls for trains poll for the others. */
static void udp__an_eager_message_goes_on_there(void **state)
{
	unsigned raw = net->nodes[0].left[0], udp = net->nodes[0].left[1];

	(void) state;
	for (unsigned i = 0; i < 20; i++) {
		net_run(net, GAMMA_RAIL_EXPECTED_US * US);
		send_each(1, EAGER);
	}
	assert_int_equal(net->nodes[0].left[0] - raw, 20);
	assert_int_equal(net->nodes[0].left[1] - udp, 20 * (EAGER / 1400));
	assert_int_equal(net_flow(net, 0, 1)->rail, 0);
}

/* A peer to which frames are on their way there is looking. */
static void udp__an_eager_message_behind_others_is_all_there(void **state)
{
	unsigned raw = net->nodes[0].left[0];

	(void) state;
	for (unsigned i = 0; i < 4; i++) {
		net_post(net, 1, EAGER);
		net_send(net, 0, 1, EAGER, GAMMA_WHEN_ARRIVED);
	}
	net_finish(net, SEC);
	assert_int_equal(net->nodes[0].left[0] - raw, 1);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

/* So is one that has just taken frames there. */
static void udp__an_eager_message_soon_after_another_is_all_there(void **state)
{
	unsigned raw = net->nodes[0].left[0];

	(void) state;
	net->options.latency = US; /* one acknowledgement for the whole message */
	net_run(net, GAMMA_RAIL_EXPECTED_US * US);
	send_each(20, EAGER);
	assert_int_equal(net->nodes[0].left[0] - raw, 1);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

/* So is one that has just sent frames there: it waits for their acknowledgement. */
static void udp__an_eager_message_soon_after_the_peers_is_all_there(void **state)
{
	unsigned raw = net->nodes[0].left[0];

	(void) state;
	net->options.latency = US;
	net_run(net, GAMMA_RAIL_EXPECTED_US * US);
	net_post(net, 0, EAGER);
	net_send(net, 1, 0, EAGER, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	send_each(1, EAGER);
	assert_int_equal(net->nodes[0].left[0], raw);
	net_run(net, GAMMA_RAIL_EXPECTED_US * US);
	send_each(1, EAGER);
	assert_int_equal(net->nodes[0].left[0], raw + 1);
}

/* Raw frames that take long bound what leaves in one call, but not what leaves in trains. */
static void udp__an_eager_message_leaves_whole_beside_slow_raw_frames(void **state)
{
	struct gamma_endpoint *endpoint = &net->nodes[0].ep;
	unsigned left = net->nodes[0].left[0] + net->nodes[0].left[1];

	(void) state;
	endpoint->train = 44;
	endpoint->packet->frame_ns = GAMMA_SEND_US * US / GAMMA_SEND_LEAST;
	endpoint->rails[1].idle = GAMMA_LINKS_IDLE;
	net_post(net, 1, EAGER);
	net_send(net, 0, 1, EAGER, GAMMA_WHEN_ARRIVED);
	gamma_output(endpoint, net->now);
	assert_int_equal(net->nodes[0].left[0] + net->nodes[0].left[1] - left, 1 + EAGER / 1400);
	net_finish(net, SEC);
}

/* A train would bring them later than they come by themselves. */
static void udp__an_eager_message_of_one_frame_stays_raw(void **state)
{
	unsigned udp = net->nodes[0].left[1];

	(void) state;
	send_each(20, 1300);
	assert_int_equal(net->nodes[0].left[1], udp);
	send_each(1, 2600);
	assert_true(net->nodes[0].left[1] > udp);
}

/* Short messages wait behind what is under way through a slow port: no trains, also between two
 * bounds. */
static void udp__nothing_toward_a_slow_port(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);
	unsigned udp = net->nodes[0].left[1];

	(void) state;
	flow->tx.bounded = true;
	assert_int_equal(gamma_rails_choice_next(flow, true), 0);
	flow->tx.bounded = false;
	assert_int_equal(flow->rails->raw_left, GAMMA_RAIL_RAW);
	send_long(2);
	net_finish(net, SEC);
	assert_in_range(net->nodes[0].left[1] - udp, 0, 8); /* probes */
	assert_in_range(flow->rails->raw_left, 1, GAMMA_RAIL_RAW - 2 * (LONG / 1500));
	flow->rails->raw_left = 0;
	send_long(2);
	net_finish(net, SEC);
	assert_true(net->nodes[0].left[1] - udp > LONG / UDP_MTU);
}

static bool use_udp(struct gamma_local *local)
{
	(void) local;
	return true;
}

/* As of endpoints that have opened UDP unasked. */
static void unasked__a_flow_has_rails_once_a_message_is_long(void **state)
{
	(void) state;
	raw_and_udp();
	for (unsigned i = 0; i < 2; i++)
		net->nodes[i].ep.local.use_udp = use_udp;
	net_exchange(net);
	send_each(20, 1400);
	send_each(20, 1300);
	assert_null(net_flow(net, 0, 1)->rails);
	assert_null(net_flow(net, 1, 0)->rails);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
	send_each(2, EAGER);
	net_run(net, 50 * MS);
	assert_non_null(net_flow(net, 1, 0)->rails);
	for (unsigned from = 0; from < 2; from++)
		assert_int_equal(rail(from, 1)->state, GAMMA_RAIL_USABLE);
	send_long(4);
	net_finish(net, SEC);
	assert_in_range(net->nodes[0].left[1], 4 * LONG / UDP_MTU, UINT32_MAX);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

/* Whether the only link takes frames matters to nobody, until there is a second one. */
static void unasked__the_first_link_was_full_before(void **state)
{
	struct gamma_endpoint *endpoint;

	(void) state;
	raw_and_udp();
	endpoint = &net->nodes[0].ep;
	endpoint->local.use_udp = use_udp;
	endpoint->local.rail_count = 0;
	net_exchange(net);
	endpoint->burst[0] =
		(struct gamma_frame){.flow = net_flow(net, 0, 1), .kind = GAMMA_KIND_ACK};
	gamma_output_account(endpoint, &net->nodes[0].link, false, 1, 0, -EAGAIN, net->now);
	assert_int_equal(endpoint->local.rails_busy, 1);
	net_run(net, MS);
	assert_int_equal(endpoint->packet_until, 0);
	assert_int_equal(endpoint->local.rails_busy, 0);
}

/* The peer has asked, or a long message was sent; then nothing but short ones come, whose frames
 * take the fast path. */
static void unasked__rails_are_asked_for_behind_short_messages(void **state)
{
	struct gamma_fields fields;
	struct gamma_flow *flow;

	(void) state;
	raw_and_udp();
	net->nodes[1].ep.local.use_udp = use_udp;
	net_exchange(net);
	net->lawless = true;
	flow = net_flow(net, 1, 0);
	gamma_rails_begin(flow);
	assert_false(flow->rails->asking);
	fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);
	fields.seq = flow->rx.next;
	assert_true(gamma_flow_receive_message(flow, &fields, (const uint8_t *) "", net->now));
	gamma_flow_process_deferred(flow->local, net->now);
	assert_true(flow->rails->asking);
	net_run(net, 50 * MS);
	assert_int_equal(rail(1, 1)->state, GAMMA_RAIL_USABLE);
}

/* Else nobody would look whether the first rail is silent. */
static void unasked__what_is_in_flight_is_counted(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	raw_and_udp();
	net->nodes[0].ep.local.use_udp = use_udp;
	net_exchange(net);
	flow = net_flow(net, 0, 1);
	for (unsigned i = 0; i < 3; i++) {
		net_post(net, 1, 1400);
		net_send(net, 0, 1, 1400, GAMMA_WHEN_ARRIVED);
	}
	net_step(net, net->now + MS);
	assert_int_equal(gamma_send_window_in_flight(&flow->tx), 3);
	gamma_rails_begin(flow);
	assert_int_equal(flow->rails->rail[0].in_flight, 3);
	net_finish(net, SEC);
	assert_int_equal(flow->rails->rail[0].in_flight, 0);
}

static void unasked__a_peer_that_has_none(void **state)
{
	(void) state;
	raw_and_udp();
	net->nodes[0].ep.local.use_udp = use_udp;
	net->nodes[1].ep.local.rail_count = 0;
	net_exchange(net);
	send_long(4);
	net_finish(net, SEC);
	assert_int_equal(net_flow(net, 0, 1)->rails->count, 1);
	assert_false(net_flow(net, 0, 1)->rails->asking);
	assert_null(net_flow(net, 1, 0)->rails);
	assert_int_equal(net->nodes[0].left[1], 0);
	assert_int_equal(net_stats(net, 1)->malformed + net_stats(net, 1)->stray, 0);
}

static void udp__a_peer_that_is_gone_is_declared_dead_in_time(void **state)
{
	uint64_t began;

	(void) state;
	send_long(4);
	net_run(net, 2 * MS);
	net->nodes[1].broken[0] = net->nodes[1].broken[1] = true;
	began = net->now;
	while (!net_stats(net, 0)->peer_timeouts && net->now < began + 1000 * SEC)
		net_run(net, 10 * MS);
	assert_in_range(net->now - began, 0, 3 * net->nodes[0].ep.local.limits.peer_timeout / 2);
}

static void udp__what_it_refuses_leaves_raw(void **state)
{
	unsigned raw = net->nodes[0].left[0];

	(void) state;
	net->nodes[0].ep.rails[1].until = net->now + SEC;
	net->nodes[0].ep.local.rails_busy = 2;
	send_long(1);
	net_finish(net, SEC);
	assert_in_range(net->nodes[0].left[0] - raw, LONG / 1500, UINT32_MAX);
}

/* A firewall that drops it costs nothing but the trains. */
static void udp__that_is_cut_is_doubted_and_raw_goes_on(void **state)
{
	(void) state;
	send_long(4);
	net_run(net, MS);
	assert_true(rail(0, 1)->in_flight > 0);
	net->nodes[0].broken[1] = true;
	net_finish(net, SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_DOUBTED);
	assert_int_equal(rail(0, 0)->state, GAMMA_RAIL_USABLE);
	net->nodes[0].broken[1] = false;
	net_run(net, SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	assert_int_equal(net_flow(net, 0, 1)->rail, 0);
}

static void udp__that_never_answers_is_reported_once(void **state)
{
	(void) state;
	raw_and_udp();
	net->nodes[0].broken[1] = true;
	net_exchange(net);
	send_long(2);
	net_finish(net, SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_UNPROVEN);
	assert_false(net->nodes[0].ep.local.own_rails[1].silent_reported);
	net_run(net, 5 * SEC);
	assert_true(net->nodes[0].ep.local.own_rails[1].silent_reported);
	net->nodes[0].broken[1] = false;
	net_run(net, 5 * SEC);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
}

/* Where the raw one fails, all goes over UDP until it is back. */
static void udp__carries_all_without_the_raw_one(void **state)
{
	(void) state;
	net->nodes[0].broken[0] = true;
	send_long(1);
	net_finish(net, SEC);
	assert_int_equal(net_flow(net, 0, 1)->rail, 1);
	net->nodes[0].broken[0] = false;
	net_run(net, SEC);
	assert_int_equal(net_flow(net, 0, 1)->rail, 0);
}

static void udp__is_no_pair_for_a_raw_one(void **state)
{
	(void) state;
	raw_and_udp();
	net->nodes[1].ep.local.rails_udp = 0;
	net_exchange(net);
	net_run(net, 50 * MS);
	send_long(1);
	net_finish(net, SEC);
	for (unsigned from = 0; from < 2; from++) {
		assert_int_equal(rail(from, 1)->state, GAMMA_RAIL_NONE);
		assert_int_equal(rail(from, 1)->mac[0], 0);
		assert_int_equal(net_stats(net, from)->rails_proven, 0);
	}
	assert_int_equal(net->nodes[0].left[1], 0);
}

static void udp__list_with_no_hosts_address_is_malformed(void **state)
{
	static const uint8_t first_bytes[] = {0, 127, 224, 255};
	struct gamma_rails_list list = {.count = 2, .udp = 2};
	uint64_t before = net_stats(net, 1)->malformed;

	(void) state;
	list.rails[0] = (struct gamma_rail_entry){{2}, htons(1500)};
	list.rails[1] = (struct gamma_rail_entry){{2, 0, 1}, htons(UDP_MTU)};
	forge_list(GAMMA_PROBE_RAILS, list, true);
	for (unsigned i = 0; i < sizeof(first_bytes); i++) {
		list.rails[1] = (struct gamma_rail_entry){{2, 4, first_bytes[i]}, htons(UDP_MTU)};
		forge_list(GAMMA_PROBE_RAILS, list, true);
	}
	list.rails[1] = (struct gamma_rail_entry){{2, 4, 1, 9}, htons(UDP_MTU)};
	list.udp = 3; /* the first one is raw */
	forge_list(GAMMA_PROBE_RAILS, list, true);
	list.udp = 4; /* there is none */
	forge_list(GAMMA_PROBE_RAILS, list, true);
	assert_int_equal(net_stats(net, 1)->malformed, before + 7);
}

/* What comes over UDP says nothing of where UDP is. */
static void udp__list_that_came_over_udp_is_not_entered(void **state)
{
	struct gamma_local *local = &net->nodes[1].ep.local;
	struct gamma_rails_list list = {.count = 2, .udp = 2};
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_PROBE, GAMMA_PROBE_RAILS);
	uint8_t before = rail(1, 1)->mac[3];

	(void) state;
	rail(1, 1)->proven = false;
	list.rails[1] = (struct gamma_rail_entry){{2, 4, 1, 9}, htons(UDP_MTU)};
	fields.extensions = GAMMA_EXT_PAYLOAD_CRC;
	fields.payload_len = sizeof(list);
	local->rail = 1;
	assert_true(
		gamma_rails_asked(net_flow(net, 1, 0), &fields, (const uint8_t *) &list, net->now));
	assert_int_equal(rail(1, 1)->mac[3], before);
	local->rail = 0;
	assert_true(
		gamma_rails_asked(net_flow(net, 1, 0), &fields, (const uint8_t *) &list, net->now));
	assert_int_equal(rail(1, 1)->mac[3], 9);
}

/* Frames over UDP are a named peer's, or nobody's. */
static void udp__frames_of_others_are_dropped(void **state)
{
	struct gamma_endpoint *endpoint = &net->nodes[1].ep;
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_BULK);
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX], named[GAMMA_MAC_LEN], other[GAMMA_MAC_LEN];
	struct gamma_arrival arrival = {.frame = NULL};

	(void) state;
	memcpy(named, rail(1, 1)->mac, sizeof(named));
	memcpy(other, named, sizeof(other));
	other[2]++;
	for (unsigned i = 0; i < 5; i++) {
		struct gamma_fields sent = fields;
		const uint8_t *from = i == 1 ? other : named;

		sent.flags |= i == 2 ? 0 : GAMMA_FLAG_RAIL;
		sent.src_port += i == 3;
		sent.src_epoch += i == 4;
		arrival.frame = gamma_codec_build(&sent, endpoint->local.own_rails[1].mac, from,
						  GAMMA_ETHERTYPE, room + sizeof(room));
		arrival.len = (size_t) GAMMA_ETH_LEN + sent.header_len;
		assert_int_equal(gamma_dispatch_is_named(endpoint, 1, &arrival), i == 0);
	}
	/* The peer's raw address is no address of its UDP port. */
	fields.flags |= GAMMA_FLAG_RAIL;
	arrival.frame = gamma_codec_build(&fields, endpoint->local.own_rails[1].mac,
					  net->nodes[0].ep.local.addr.mac, GAMMA_ETHERTYPE,
					  room + sizeof(room));
	assert_false(gamma_dispatch_is_named(endpoint, 1, &arrival));
	arrival.len = GAMMA_ETH_LEN + GAMMA_HEADER_LEN - 1;
	assert_false(gamma_dispatch_is_named(endpoint, 1, &arrival));
}

/* A look there costs a system call. */
static void udp__is_looked_at_seldom_while_nothing_comes(void **state)
{
	struct gamma_endpoint *endpoint = &net->nodes[1].ep;
	struct gamma_rail_link *link = &endpoint->rails[1];

	(void) state;
	gamma_links_looked(endpoint, 1, 1);
	for (unsigned i = 0; i < GAMMA_LINKS_IDLE; i++) {
		assert_true(gamma_links_wait(endpoint));
		gamma_links_looked(endpoint, 1, 0);
	}
	link->look_at = GAMMA_NEVER;
	for (unsigned i = 0; i < 4 * GAMMA_LINKS_SKIP; i++)
		assert_false(gamma_links_wait(endpoint));
	link->look_at = 0;
	for (unsigned i = 1; i < GAMMA_LINKS_SKIP; i++)
		assert_false(gamma_links_wait(endpoint));
	assert_true(gamma_links_wait(endpoint));
}

/* Both rails leave by one virtual NIC, which refuses what its other end would drop, and does not
 * say so. The raw rail has been refused most and is doubted: its probe leaves all the same. */
static void udp__jumbo_frames_that_the_nic_refuses_become_small(void **state)
{
	struct net_options options = net_defaults();
	unsigned raw, udp;

	(void) state;
	options.nics = 2;
	options.mtu = 9000;
	options.second_mtu = 8972;
	options.second_udp = true;
	net_free(net);
	net = net_new(2, &options);
	net_exchange(net);
	net_run(net, 50 * MS);
	send_long(4);
	net_finish(net, SEC);
	assert_int_equal(rail(0, 1)->mtu, 8972);
	net->nodes[0].takes = GAMMA_SAFE_MTU;
	raw = net->nodes[0].left[0];
	udp = net->nodes[0].left[1];
	gamma_rails_nics_down(&net->nodes[0].ep.local, 0, net->now);
	send_long(8);
	net_finish(net, SEC);
	assert_int_equal(rail(0, 0)->state, GAMMA_RAIL_USABLE);
	assert_int_equal(rail(0, 1)->mtu, GAMMA_SAFE_MTU_UDP);
	/* It is tried for MTU_REFUSED_US, and then carries the stream at once: it does not count as
	 * full since its padded probe is refused. */
	assert_in_range(net->nodes[0].left[0] - raw, 0, 64);
	assert_true(net->nodes[0].left[1] - udp >= 8 * LONG / 1452);
	raw = net->nodes[0].left[0];
	send_long(4);
	net_finish(net, SEC);
	assert_in_range(net->nodes[0].left[0] - raw, 4, 64);
	assert_int_equal(rail(0, 1)->state, GAMMA_RAIL_USABLE);
	net->nodes[0].takes = 0;
	send_each(4, EAGER);
	send_long(1);
	net_finish(net, SEC);
}

static unsigned looks;

static void count_look(struct gamma_link *link)
{
	(void) link;
	looks++;
}

/* Its second socket would be polled at each eighth look. */
static void udp__both_sockets_are_looked_at_when_it_is_seldom(void **state)
{
	struct gamma_endpoint *endpoint = &net->nodes[1].ep;
	struct gamma_rail_link *link = &endpoint->rails[1];

	(void) state;
	looks = 0;
	link->link->look = NULL;
	link->idle = GAMMA_LINKS_IDLE;
	gamma_links_look(endpoint, 1);
	link->link->look = count_look;
	link->idle = GAMMA_LINKS_IDLE - 1;
	gamma_links_look(endpoint, 1);
	assert_int_equal(looks, 0);
	link->idle = GAMMA_LINKS_IDLE;
	gamma_links_look(endpoint, 1);
	assert_int_equal(looks, 1);
	link->link->look = NULL;
}

static void udp__is_looked_at_while_frames_are_expected(void **state)
{
	struct gamma_endpoint *endpoint = &net->nodes[1].ep;

	(void) state;
	endpoint->rails[1].idle = GAMMA_LINKS_IDLE;
	gamma_links_expect(endpoint);
	for (unsigned i = 0; i < GAMMA_LINKS_EXPECT; i++) {
		assert_true(gamma_links_wait(endpoint));
		gamma_links_looked(endpoint, 1, 0);
	}
	assert_false(gamma_links_wait(endpoint));
	gamma_links_expect(endpoint);
	endpoint->local.deferred.flow = net_flow(net, 1, 0); /* the program may be answering */
	for (unsigned i = 0; i + 1 < GAMMA_LINKS_DEFER; i++)
		assert_false(gamma_links_wait(endpoint));
	gamma_links_wait(endpoint);
	assert_true(gamma_links_wait(endpoint));
	endpoint->local.deferred.flow = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UDP_TEST(udp__long_messages_take_it_alone),
		UDP_TEST(udp__short_messages_stay_raw),
		UDP_TEST(udp__an_eager_message_goes_on_there),
		UDP_TEST(udp__an_eager_message_behind_others_is_all_there),
		UDP_TEST(udp__an_eager_message_soon_after_another_is_all_there),
		UDP_TEST(udp__an_eager_message_soon_after_the_peers_is_all_there),
		UDP_TEST(udp__an_eager_message_leaves_whole_beside_slow_raw_frames),
		UDP_TEST(udp__an_eager_message_of_one_frame_stays_raw),
		UDP_TEST(udp__nothing_toward_a_slow_port),
		UDP_TEST(udp__a_peer_that_is_gone_is_declared_dead_in_time),
		UDP_TEST(unasked__a_flow_has_rails_once_a_message_is_long),
		UDP_TEST(unasked__the_first_link_was_full_before),
		UDP_TEST(unasked__rails_are_asked_for_behind_short_messages),
		UDP_TEST(unasked__what_is_in_flight_is_counted),
		UDP_TEST(unasked__a_peer_that_has_none),
		UDP_TEST(udp__what_it_refuses_leaves_raw),
		UDP_TEST(udp__that_is_cut_is_doubted_and_raw_goes_on),
		UDP_TEST(udp__that_never_answers_is_reported_once),
		UDP_TEST(udp__carries_all_without_the_raw_one),
		UDP_TEST(udp__is_no_pair_for_a_raw_one),
		UDP_TEST(udp__list_with_no_hosts_address_is_malformed),
		UDP_TEST(udp__list_that_came_over_udp_is_not_entered),
		UDP_TEST(udp__frames_of_others_are_dropped),
		UDP_TEST(udp__is_looked_at_seldom_while_nothing_comes),
		UDP_TEST(udp__both_sockets_are_looked_at_when_it_is_seldom),
		UDP_TEST(udp__is_looked_at_while_frames_are_expected),
		UDP_TEST(udp__jumbo_frames_that_the_nic_refuses_become_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
