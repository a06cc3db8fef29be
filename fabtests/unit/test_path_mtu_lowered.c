// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/path_mtu.c: a path that carries less than before, and losses that do
 * not come from its MTU.
 */
#include "path_mtu_fixture.h"

#include <errno.h>
#include <string.h>

enum way { SWITCH, OWN_NIC, PEER_OF_VIRTUAL_NIC };

static void lower(struct net *net, enum way way, unsigned node, uint32_t mtu)
{
	if (way == SWITCH)
		net->options.switch_mtu = mtu;
	else if (way == OWN_NIC)
		net->nodes[node].nic_mtu = mtu;
	else
		net->nodes[node].takes = mtu;
}

/* Two endpoints whose path has carried 9,000 bytes; eager messages are long, copied ones too. */
static struct net *proven(uint32_t first)
{
	struct net *net = with(9000, 0);

	for (unsigned i = 0; i < 2; i++) {
		net->nodes[i].ep.local.limits.eager_size = 65536;
		net->nodes[i].ep.local.limits.inject_size = 20000;
		net_begin_at(net, i, 1 - i, first);
	}
	exchange(net, 64);
	net_run(net, MS);
	check_paths(net, 9000, 9000);
	return net;
}

static void both_ways(struct net *net, uint64_t length)
{
	for (unsigned i = 0; i < 8; i++) {
		net_post(net, 1 - i % 2, length);
		net_send(net, i % 2, 1 - i % 2, length, GAMMA_WHEN_ARRIVED);
	}
}

/* Messages of every op both ways, while the path MTU falls. */
static void fall_back(enum way way, uint64_t length, uint32_t first, uint64_t seed)
{
	struct net *net = proven(first);
	unsigned more = 0;

	net->chaos = 20;
	net->seed = seed;
	both_ways(net, length);
	net_run(net, 15 * US);
	lower(net, way, 0, 1500);
	both_ways(net, length);
	net_finish(net, 10 * SEC);
	/* The padded probes decide while something is heard. */
	while (!net_flow(net, 0, 1)->path_mtu.settled || !net_flow(net, 1, 0)->path_mtu.settled) {
		assert_true(more++ < 1000);
		exchange(net, 64);
		net_run(net, MS);
	}
	assert_true(net_stats(net, 0)->parts_out > 0);
	assert_int_equal(path(net, 0, 1), 1500);
	if (way == SWITCH) {
		assert_true(net_stats(net, 1)->parts_out > 0);
		assert_int_equal(path(net, 1, 0), 1500);
	}
	assert_int_equal(net->nodes[0].received, 8);
	assert_int_equal(net->nodes[1].received, 8 + 1 + more);
	assert_int_equal(warnings, way == SWITCH ? 2 : 1);
	done(net);
}

static void lowered__in_the_middle_of_messages_of_every_op(void **state)
{
	/* SEND copied; FIRST and MORE copied, in place; BULK */
	static const uint64_t lengths[] = {8000, 18000, 60000, 200000};

	(void) state;
	for (unsigned i = 0; i < gamma_array_size(lengths); i++)
		for (int way = SWITCH; way <= PEER_OF_VIRTUAL_NIC; way++)
			for (uint64_t seed = 0; seed < 20; seed++)
				fall_back(way, lengths[i], seed % 2 ? 0 : UINT32_MAX - 3, seed);
}

static void lowered__said_once_with_nic_and_peer(void **state)
{
	struct net *net = proven(0);

	(void) state;
	lower(net, SWITCH, 0, 1500);
	exchange_for(net, 8000, 200);
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warning, "frames of 9000 bytes do not reach 02:00:00:00:00:01"));
	assert_non_null(strstr(warning, "from 02:00:00:00:00:00"));
	assert_non_null(strstr(warning, "falling back to 1500"));
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 1 + GAMMA_MTU_TRIES);
	done(net);
}

/* The large frame is lost three times, and then leaves in parts. */
static void lowered__what_it_costs(void **state)
{
	struct net *net = proven(0);
	unsigned parts =
		(8000 + 1500 - GAMMA_HEADER_LEN - 8 - 4 - 1) / (1500 - GAMMA_HEADER_LEN - 8 - 4);

	(void) state;
	exchange(net, 8000);
	lower(net, SWITCH, 0, 1500);
	exchange(net, 8000);
	assert_int_equal(net_stats(net, 0)->parts_out, parts);
	assert_int_equal(net_stats(net, 1)->parts_in, parts);
	assert_int_equal(net_stats(net, 0)->retransmissions, GAMMA_MTU_LOSSES - 1 + parts);
	assert_int_equal(net_stats(net, 1)->duplicates, 0);
	exchange(net, 8000);
	assert_int_equal(net_stats(net, 0)->parts_out, parts);
	done(net);
}

static void lowered__own_nic_at_once_and_the_peer_learns_it(void **state)
{
	struct net *net = proven(0);

	(void) state;
	lower(net, OWN_NIC, 0, 4000);
	exchange(net, 8000);
	net_run(net, MS);
	check_paths(net, 4000, 4000);
	assert_int_equal(net_flow(net, 1, 0)->path_mtu.peer_mtu, 4000);
	assert_int_equal(net_stats(net, 0)->parts_out, 3);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warning, "lowered from 9000 to 4000"));
	assert_int_equal(__builtin_bswap16(net->nodes[0].ep.local.addr.mtu), 4000);
	done(net);
}

/* Frames that the link refused have advertised nothing. */
static void lowered__advertised_though_the_link_refuses_at_first(void **state)
{
	struct net *net = proven(0);

	(void) state;
	gamma_path_mtu_set_own(&net->nodes[0].ep.local, 4000);
	net->nodes[0].link_error = -EAGAIN;
	begin(net, 64);
	net_run(net, 10 * MS);
	assert_true(net_stats(net, 0)->send_stalls > GAMMA_MTU_REPORTS);
	net->nodes[0].link_error = 0;
	net_finish(net, 10 * MS);
	net_run(net, MS);
	assert_int_equal(net_flow(net, 1, 0)->path_mtu.peer_mtu, 4000);
	assert_int_equal(path(net, 1, 0), 4000);
	done(net);
}

/* The frame was begun when it could be larger. */
static void lowered__while_a_frame_is_filling(void **state)
{
	static const uint8_t bytes[3000];
	const struct iovec iov = {(void *) bytes, sizeof(bytes)};
	struct gamma_envelope envelope = {.flags = GAMMA_TAGGED, .length = sizeof(bytes)};
	struct net *net = proven(0);
	struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	net->lawless = true;
	for (int i = 0; i < 2; i++) {
		net_post(net, 1, sizeof(bytes));
		assert_true(gamma_coalesce_add(flow, &iov, 1, &envelope));
	}
	lower(net, OWN_NIC, 0, 1500);
	gamma_path_mtu_set_own(&net->nodes[0].ep.local, 1500);
	net_run(net, 10 * MS);
	assert_int_equal(net->nodes[1].received, 1 + 2);
	assert_int_equal(net_stats(net, 0)->parts_out, 5);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(warnings, 1);
	done(net);
}

/* The parts of the frame are still too large for the switch. */
static void lowered__and_once_more_while_a_frame_is_under_way(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net_post(net, 1, 8000);
	net->nodes[1].unplugged = true;
	net_send(net, 0, 1, 8000, GAMMA_WHEN_ARRIVED);
	net_run(net, 15 * US);
	net->nodes[1].unplugged = false;
	gamma_path_mtu_set_own(&net->nodes[0].ep.local, 4000);
	lower(net, SWITCH, 0, 1500);
	net_finish(net, 100 * MS);
	assert_int_equal(path(net, 0, 1), 1500);
	done(net);
}

static void lowered__below_1500(void **state)
{
	struct net *net = proven(0);

	(void) state;
	lower(net, OWN_NIC, 0, 1000);
	exchange(net, 8000);
	exchange(net, 100000);
	assert_int_equal(path(net, 0, 1), 1000);
	done(net);
}

/* A datagram that is now too long fails with -EMSGSIZE, and not always with -EAGAIN. */
static void lowered__datagrams(void **state)
{
	static uint8_t bytes[9000];
	struct iovec iov = {bytes, 8000};
	struct gamma_envelope envelope = {.length = 8000};
	struct net *net = with(9000, 0);
	struct gamma_endpoint *ep = &net->nodes[0].ep;
	const struct gamma_addr *peer = &net->nodes[1].ep.local.addr;

	(void) state;
	lower(net, OWN_NIC, 0, 4000);
	assert_int_equal(gamma_endpoint_send_datagram(ep, peer, &iov, 1, &envelope), -EMSGSIZE);
	assert_int_equal(gamma_endpoint_datagram_max(ep), 4000 - GAMMA_DGRAM_HEADER_MAX);
	assert_int_equal(gamma_endpoint_send_datagram(ep, peer, &iov, 1, &envelope), -EMSGSIZE);
	assert_int_equal(net_stats(net, 0)->datagrams_out, 0);
	assert_int_equal(warnings, 1);
	done(net);
}

/* Only the peer's answer to a probe lowers the MTU, not the field of any frame. */
static void forged__mtu_lowers_nothing(void **state)
{
	static const uint16_t mtus[] = {0, 1, 64, 576, 1499, 1500, 8999};

	(void) state;
	for (unsigned i = 0; i < gamma_array_size(mtus); i++) {
		struct net *net = proven(0);

		for (int times = 0; times < 20; times++) {
			forge_mtu(net, mtus[i]);
			exchange(net, 8000);
		}
		assert_int_equal(path(net, 0, 1), 9000);
		assert_int_equal(net_stats(net, 0)->parts_out, 0);
		done(net);
	}
}

/* Frames already built follow the MTU that the peer advertises, too. */
static void lowered__advertised_by_the_peer(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net_rule(net,
		 (struct rule){.fate = DROP, .from = 0, .op = GAMMA_OP_SEND, .seq = 1, .times = 1});
	begin(net, 8000);
	net_run(net, 0);
	advertise_mtu(net, 3000);
	net_finish(net, SEC);
	assert_int_equal(path(net, 0, 1), 3000);
	assert_int_equal(net_stats(net, 0)->parts_out, 3);
	assert_int_equal(net_stats(net, 0)->retransmissions, 3);
	assert_int_equal(warnings, 0);
	done(net);
}

/* Three losses in a row by chance: small frames for a moment, and back when the probe returns. */
static void doubted__spuriously(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 0,
				    .op = GAMMA_OP_SEND,
				    .seq = 1,
				    .times = GAMMA_MTU_LOSSES});
	exchange(net, 8000);
	net_run(net, MS);
	assert_true(net_stats(net, 0)->parts_out > 0);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 2);
	end_with(net, 9000, 0);
}

/* Other large frames pass: the losses do not come from the size. */
static void doubted__not_while_large_frames_pass(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net_rule(net,
		 (struct rule){.fate = DROP, .from = 0, .op = GAMMA_OP_SEND, .seq = 1, .times = 6});
	begin(net, 8000);
	for (int i = 0; i < 100; i++) {
		net_run(net, 20 * US);
		begin(net, 8000);
	}
	net_finish(net, SEC);
	assert_int_equal(net->rules[0].met, 6);
	assert_int_equal(net_stats(net, 0)->parts_out, 0);
	assert_int_equal(path(net, 0, 1), 9000);
	done(net);
}

/* A frame was large only because of its acknowledgement, and its repetition passes; losses of the
 * next large frame are counted instead. */
static void doubted__though_the_first_suspect_arrives_small(void **state)
{
	const uint32_t fits = GAMMA_SAFE_MTU - GAMMA_HEADER_LEN - 8; /* with its tag */
	struct net *net = proven(0);

	(void) state;
	net->options.switch_mtu = GAMMA_SAFE_MTU;
	net_post(net, 0, 10);
	net_send(net, 1, 0, 10, GAMMA_WHEN_COPIED);
	net_run(net, 50 * US);
	net->nodes[0].ep.local.limits.inject_size = 64;
	exchange(net, fits);
	assert_int_equal(net_stats(net, 0)->retransmissions, 1);
	assert_int_equal(net_flow(net, 0, 1)->path_mtu.losses, 1);
	exchange(net, 8000);
	assert_int_equal(path(net, 0, 1), GAMMA_SAFE_MTU);
	done(net);
}

static void random_loss__is_no_reason(void **state)
{
	(void) state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct net *net = proven(0);

		net->seed = seed * 0x9e3779b97f4a7c15ull;
		net->chaos = 50; /* 5 % dropped, 5 % damaged */
		for (int i = 0; i < 10; i++)
			exchange(net, 8000);
		exchange(net, 300000);
		/* A probe may be under way; it is asked again as long as something is heard. */
		for (int i = 0; i < 100 && path(net, 0, 1) < 9000; i++) {
			exchange(net, 64);
			net_run(net, MS);
		}
		end_with(net, 9000, 0);
	}
}

/* Nothing passes for a while: that is no evidence about sizes. */
static void cable_pulled__is_no_reason(void **state)
{
	struct net *net = proven(0);

	(void) state;
	begin(net, 200000);
	net_run(net, 15 * US);
	net->nodes[1].unplugged = true;
	net_run(net, 5 * SEC);
	net->nodes[1].unplugged = false;
	net_finish(net, 5 * SEC);
	assert_int_equal(net_stats(net, 0)->parts_out, 0);
	end_with(net, 9000, 0);
}

/* The link refuses everything for a second, as without a carrier. */
static void refused__carrier_lost_and_back(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net->nodes[0].link_error = -EAGAIN;
	net_post(net, 1, 200000);
	begin(net, 8000);
	net_send(net, 0, 1, 200000, GAMMA_WHEN_ARRIVED);
	net_run(net, SEC);
	net->nodes[0].link_error = 0;
	net_finish(net, 5 * SEC);
	net_run(net, SEC);
	end_with(net, 9000, 0);
}

/* A padded probe that has not left is no evidence, whatever arrived before. */
static void asking__behind_what_the_link_does_not_take(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net->nodes[0].link_error = -EAGAIN;
	for (unsigned i = 0; i < 40; i++)
		begin(net, 18000);
	net_run(net, SEC);
	net->nodes[0].link_error = 0;
	net_finish(net, 5 * SEC);
	net_run(net, SEC);
	end_with(net, 9000, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(forged__mtu_lowers_nothing),
		TEST(lowered__in_the_middle_of_messages_of_every_op),
		TEST(lowered__said_once_with_nic_and_peer),
		TEST(lowered__what_it_costs),
		TEST(lowered__own_nic_at_once_and_the_peer_learns_it),
		TEST(lowered__advertised_though_the_link_refuses_at_first),
		TEST(lowered__while_a_frame_is_filling),
		TEST(lowered__and_once_more_while_a_frame_is_under_way),
		TEST(lowered__below_1500),
		TEST(lowered__datagrams),
		TEST(lowered__advertised_by_the_peer),
		TEST(doubted__spuriously),
		TEST(doubted__not_while_large_frames_pass),
		TEST(doubted__though_the_first_suspect_arrives_small),
		TEST(random_loss__is_no_reason),
		TEST(cable_pulled__is_no_reason),
		TEST(refused__carrier_lost_and_back),
		TEST(asking__behind_what_the_link_does_not_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
