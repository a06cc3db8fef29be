// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/path_mtu.c: frames above 1,500 bytes only after one came through. */
#include "path_mtu_fixture.h"

#include <errno.h>
#include <string.h>

static void ordinary__asks_nothing(void **state)
{
	struct net *net = with(1500, 0);

	(void) state;
	exchange(net, 100000);
	net_run(net, SEC);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 0);
	end_with(net, 1500, 0);
}

static void jumbo__used_after_one_probe_each_way(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	exchange(net, 64);
	net_run(net, SEC);
	check_paths(net, 9000, 9000);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 1);
	assert_int_equal(net_stats(net, 1)->mtu_probes_out, 1);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
	assert_int_equal(warnings, 0);
	done(net);
}

static void jumbo__small_frames_until_then(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	net_send(net, 0, 1, 8000, GAMMA_WHEN_ARRIVED);
	net_run(net, 0);
	assert_int_equal(net_flow(net, 0, 1)->tx.next, 6);
	done(net);
}

static void jumbo__smaller_of_both(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	set_mtu_of_peer(net, 4000);
	exchange(net, 64);
	net_run(net, SEC);
	check_paths(net, 4000, 4000);
	done(net);
}

static void jumbo__peer_has_an_ordinary_one(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	set_mtu_of_peer(net, 1500);
	exchange(net, 100000);
	net_run(net, SEC);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 0);
	end_with(net, 1500, 0);
}

/* The address has no MTU: the peer's first frames have it. */
static void jumbo__learned_from_frames(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	net->nodes[0].ep.local.addr.mtu = net->nodes[1].ep.local.addr.mtu = 0;
	for (int i = 0; i < 4; i++)
		exchange(net, 64);
	net_run(net, SEC);
	check_paths(net, 9000, 9000);
	done(net);
}

static void one_probe_lost__is_tried_again(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	net_rule(net, (struct rule){.fate = DROP,
				    .kind = GAMMA_KIND_PROBE,
				    .op = GAMMA_PROBE_MTU,
				    .seq = ANY_SEQ,
				    .times = 1});
	exchange_for(net, 64, 20);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 2);
	end_with(net, 9000, 0);
}

static void switch_is_smaller__stays_and_warns_once(void **state)
{
	struct net *net = with(9000, 1500);

	(void) state;
	exchange_for(net, 5000, 200);
	assert_int_equal(path(net, 0, 1), 1500);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, GAMMA_MTU_TRIES);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(warnings, 2); /* one of each host */
	assert_non_null(strstr(warning, "9000"));
	assert_non_null(strstr(warning, "02:00:00:00:00:0"));
	done(net);
}

/* Frames of 9,000 bytes pass, but the answers to node 0's first padded probes take so long. */
static void answers_take(struct net *net, uint64_t delay, unsigned times)
{
	net_rule(net, (struct rule){.fate = DELAY,
				    .from = 1,
				    .kind = GAMMA_KIND_ACK,
				    .op = GAMMA_ACK_PROBED,
				    .seq = ANY_SEQ,
				    .times = times,
				    .delay = delay});
}

static void answered_late__is_used_and_the_warning_taken_back(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	answers_take(net, 200 * MS, 0);
	exchange_for(net, 64, 100);
	assert_int_equal(path(net, 0, 1), 1500);
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warning, "staying at 1500"));
	exchange_for(net, 64, 200);
	assert_int_equal(path(net, 0, 1), 9000);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, GAMMA_MTU_TRIES);
	assert_int_equal(warnings, 2); /* despite six answers */
	assert_non_null(strstr(warning, "frames of 9000 bytes do reach 02:00:00:00:00:01"));
	done(net);
}

/* The switch carries less by then. The probes find that, and late answers to earlier probes do not
 * raise the MTU again. */
static void answered_late__and_doubted_since(void **state)
{
	static const unsigned delays[] = {20, 200}; /* ms: while that is asked, and after */

	(void) state;
	for (unsigned i = 0; i < gamma_array_size(delays); i++) {
		struct net *net = with(9000, 0);

		answers_take(net, delays[i] * MS, 1);
		exchange_for(net, 64, 10); /* the second padded probe is answered at once */
		assert_int_equal(path(net, 0, 1), 9000);
		net->options.switch_mtu = 1500;
		exchange_for(net, 8000, 300);
		assert_int_equal(path(net, 0, 1), 1500);
		assert_int_equal(net_stats(net, 0)->mtu_probes_out, 2 + GAMMA_MTU_TRIES);
		assert_int_equal(warnings, 1);
		assert_non_null(strstr(warning, "falling back to 1500"));
		done(net);
	}
}

/* A forged MTU does not end the search for the size that passes. */
static void forged__mtu_while_asking(void **state)
{
	static const uint16_t mtus[] = {64, 1500, 2000, 9500};

	(void) state;
	for (unsigned i = 0; i < gamma_array_size(mtus); i++) {
		struct net *net = with(9000, 0);

		answers_take(net, 20 * MS, 1);
		exchange_for(net, 64, 1);
		for (int times = 0; times < 20; times++) {
			forge_mtu(net, mtus[i]);
			exchange_for(net, 64, 1);
		}
		exchange_for(net, 64, 50);
		end_with(net, 9000, 0);
	}
}

static void answered_late__for_more_than_either_takes_now(void **state)
{
	(void) state;
	for (int own = 0; own < 2; own++) {
		struct net *net = with(9000, 0);

		answers_take(net, 200 * MS, 0);
		exchange_for(net, 64, 100);
		if (own)
			gamma_path_mtu_set_own(&net->nodes[0].ep.local, 4000);
		else
			advertise_mtu(net, 4000);
		net_run(net, MS);
		exchange_for(net, 64, 200);
		assert_int_equal(path(net, 0, 1), 1500);
		done(net);
	}
}

/* The size of the probes follows the MTU that the peer advertises meanwhile. */
static void asking__for_less_when_the_peer_says_so(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	answers_take(net, 20 * MS, 1);
	exchange_for(net, 64, 1);
	advertise_mtu(net, 4000);
	net_run(net, MS);
	assert_int_equal(path(net, 0, 1), 4000);
	exchange_for(net, 64, 50);
	end_with(net, 4000, 0);
}

/* That says nothing of whether the path carries what is left. */
static void asking__after_the_own_nic_was_lowered(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	net->nodes[1].ep.local.addr.mtu = 0;
	net_flow(net, 0, 1);
	gamma_path_mtu_set_own(&net->nodes[0].ep.local, 4000);
	exchange_for(net, 64, 4);
	check_paths(net, 4000, 4000);
	done(net);
}

/* Nothing passes at all: that is no evidence, and no reason to go on asking. */
static void silence__asks_again_when_the_peer_is_heard(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	net->nodes[1].unplugged = true;
	net_flow(net, 0, 1);
	net_run(net, 100 * SEC);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 1);
	assert_int_equal(warnings, 0);
	net->nodes[1].unplugged = false;
	exchange(net, 64);
	net_run(net, SEC);
	assert_int_equal(path(net, 0, 1), 9000);
	done(net);
}

/* Both NICs say 1,500 and some sizes vanish between them: the largest of a few that passes. */
static void below_1500__goes_on_with_what_passes(void **state)
{
	static const struct {
		uint32_t carries, found;
	} paths[] = {{1499, 1400}, {1400, 1400}, {1300, 1280},
		     {1006, 1006}, {600, 576},   {576, 576}};

	(void) state;
	for (unsigned i = 0; i < gamma_array_size(paths); i++) {
		struct net *net = with(1500, paths[i].carries);

		exchange(net, 100000);
		exchange_for(net, 64, 1000);
		exchange(net, 100000);
		assert_int_equal(path(net, 0, 1), paths[i].found);
		assert_int_equal(path(net, 1, 0), 1500); /* nothing large has gone there */
		assert_int_equal(warnings, 1);
		assert_non_null(strstr(warning, "frames of 1500 bytes do not reach"));
		done(net);
	}
}

/* A frame between what passes and what is used is evidence too. */
static void below_1500__one_frame_is_enough(void **state)
{
	struct net *net = with(9000, 1000);

	(void) state;
	exchange(net, 1100);
	exchange_for(net, 64, 400);
	assert_int_equal(path(net, 0, 1), 576);
	done(net);
}

static void below_576__ends_with_an_error(void **state)
{
	struct net *net = with(1500, 500);

	(void) state;
	begin(net, 5000);
	for (int s = 0; s < 45 && !net->nodes[0].send_errors; s++) /* the peer timeout is 30 s */
		net_run(net, SEC);
	assert_int_equal(net->nodes[0].send_errors, 1);
	assert_int_equal(net_flow(net, 0, 1)->error, -EMSGSIZE);
	done(net);
}

/* A virtual NIC whose peer has such an MTU refuses the frames instead. */
static void below_576__refused_by_the_link(void **state)
{
	struct net *net = with(1500, 0);

	(void) state;
	exchange(net, 64);
	net->nodes[0].takes = 500;
	begin(net, 5000);
	net_run(net, MS);
	net_send(net, 1, 0, 64, GAMMA_WHEN_ARRIVED); /* the peer asks what became of it */
	for (int s = 0; s < 90 && !net->nodes[0].send_errors; s++)
		net_run(net, SEC);
	assert_int_equal(net->nodes[0].send_errors, 1);
	assert_int_equal(net_flow(net, 0, 1)->error, -EMSGSIZE);
	done(net);
}

/* Before the peer was ever heard, the first frame of all is refused: the silence has a reason. */
static void below_576__refused_and_nothing_heard(void **state)
{
	struct net *net = with(1500, 0);

	(void) state;
	net->nodes[0].takes = 500;
	begin(net, 5000);
	for (int s = 0; s < 45 && !net->nodes[0].send_errors; s++)
		net_run(net, SEC);
	assert_int_equal(net->nodes[0].send_errors, 1);
	assert_non_null(strstr(net->nodes[0].last_cause, "nothing heard of it for 30."));
	assert_non_null(strstr(net->nodes[0].last_cause, "took no frame of 576 bytes"));
	done(net);
}

static void small__peer_below_1500(void **state)
{
	struct net *net = with(1500, 0);

	(void) state;
	set_mtu_of_peer(net, 1400);
	exchange(net, 100000);
	net_run(net, SEC);
	check_paths(net, 1400, 1400);
	done(net);
}

/* Its address said nothing, but its first frames do. */
static void small__learned_from_frames(void **state)
{
	struct net *net = with(1500, 0);

	(void) state;
	net->nodes[1].ep.local.limits.mtu = 1400;
	net->nodes[1].ep.local.addr.mtu = 0;
	exchange(net, 64);
	net_run(net, MS);
	assert_int_equal(path(net, 0, 1), 1400);
	done(net);
}

/* ---- over UDP alone ---- */

enum { UDP_HEADERS = 28 }; /* bytes, with IPv4's */

/* Bytes after the Ethernet header. */
static struct net *with_udp(uint32_t mtu, uint32_t switch_mtu)
{
	struct net *net = with(mtu - UDP_HEADERS, switch_mtu - UDP_HEADERS);

	for (unsigned i = 0; i < 2; i++)
		net->nodes[i].ep.local.limits.overhead = UDP_HEADERS;
	return net;
}

static void udp__ordinary_asks_nothing(void **state)
{
	struct net *net = with_udp(1500, 1500);

	(void) state;
	exchange(net, 100000);
	net_run(net, SEC);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 0);
	end_with(net, 1500 - UDP_HEADERS, 0);
}

/* Hosts with jumbo frames, and a path that does not carry them: its first frames fit. */
static void udp__jumbo_hosts_lose_nothing_on_an_ordinary_path(void **state)
{
	struct net *net = with_udp(9000, 1500);

	(void) state;
	begin(net, 1 << 20);
	net_finish(net, 50 * MS);
	exchange_for(net, 5000, 200);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	end_with(net, 1500 - UDP_HEADERS, 2); /* one of each host */
}

static void udp__below_1500_goes_on_with_what_passes(void **state)
{
	struct net *net = with_udp(1500, 1400);

	(void) state;
	exchange(net, 1 << 20);
	exchange_for(net, 10000, 500);
	end_with(net, 1400 - UDP_HEADERS, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ordinary__asks_nothing),
		TEST(jumbo__used_after_one_probe_each_way),
		TEST(jumbo__small_frames_until_then),
		TEST(jumbo__smaller_of_both),
		TEST(jumbo__peer_has_an_ordinary_one),
		TEST(jumbo__learned_from_frames),
		TEST(one_probe_lost__is_tried_again),
		TEST(switch_is_smaller__stays_and_warns_once),
		TEST(answered_late__is_used_and_the_warning_taken_back),
		TEST(answered_late__and_doubted_since),
		TEST(forged__mtu_while_asking),
		TEST(answered_late__for_more_than_either_takes_now),
		TEST(asking__for_less_when_the_peer_says_so),
		TEST(asking__after_the_own_nic_was_lowered),
		TEST(silence__asks_again_when_the_peer_is_heard),
		TEST(below_1500__goes_on_with_what_passes),
		TEST(below_1500__one_frame_is_enough),
		TEST(below_576__ends_with_an_error),
		TEST(below_576__refused_by_the_link),
		TEST(below_576__refused_and_nothing_heard),
		TEST(small__peer_below_1500),
		TEST(small__learned_from_frames),
		TEST(udp__ordinary_asks_nothing),
		TEST(udp__jumbo_hosts_lose_nothing_on_an_ordinary_path),
		TEST(udp__below_1500_goes_on_with_what_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
