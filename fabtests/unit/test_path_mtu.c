// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/path_mtu.c: frames above 1,500 bytes only after one came through. */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static unsigned warnings;
static char warning[512];

static void listen(enum gamma_log_level level, const char *line)
{
	warnings += level == GAMMA_LOG_WARN;
	snprintf(warning, sizeof(warning), "%s", line);
}

static struct net *with(uint32_t mtu, uint32_t switch_mtu)
{
	struct net_options options = net_defaults();

	options.mtu = mtu;
	options.switch_mtu = switch_mtu;
	warnings = 0;
	gamma_log_set_sink(listen);
	return net_new(2, &options);
}

static void done(struct net *net)
{
	gamma_log_set_sink(NULL);
	net_free(net);
}

static void exchange(struct net *net, uint64_t length)
{
	net_post(net, 1, length);
	net_send(net, 0, 1, length, GAMMA_WHEN_ARRIVED);
	net_finish(net, 10 * SEC);
}

static uint32_t path(struct net *net, unsigned a, unsigned b)
{
	return net_flow(net, a, b)->path_mtu.mtu;
}

static void ordinary__asks_nothing(void **state)
{
	struct net *net = with(1500, 0);

	(void) state;
	exchange(net, 100000);
	net_run(net, SEC);
	assert_int_equal(path(net, 0, 1), 1500);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 0);
	assert_int_equal(warnings, 0);
	done(net);
}

static void jumbo__used_after_one_probe_each_way(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	exchange(net, 64);
	net_run(net, SEC);
	assert_int_equal(path(net, 0, 1), 9000);
	assert_int_equal(path(net, 1, 0), 9000);
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
	net->nodes[1].ep.local.limits.mtu = 4000;
	net->nodes[1].ep.local.addr.mtu = __builtin_bswap16(4000);
	exchange(net, 64);
	net_run(net, SEC);
	assert_int_equal(path(net, 0, 1), 4000);
	assert_int_equal(path(net, 1, 0), 4000);
	done(net);
}

static void jumbo__peer_has_an_ordinary_one(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	net->nodes[1].ep.local.limits.mtu = 1500;
	net->nodes[1].ep.local.addr.mtu = __builtin_bswap16(1500);
	exchange(net, 100000);
	net_run(net, SEC);
	assert_int_equal(path(net, 0, 1), 1500);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 0);
	assert_int_equal(warnings, 0);
	done(net);
}

/* The address said nothing: the peer's first frames tell. */
static void jumbo__learned_from_frames(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	net->nodes[0].ep.local.addr.mtu = net->nodes[1].ep.local.addr.mtu = 0;
	for (int i = 0; i < 4; i++)
		exchange(net, 64);
	net_run(net, SEC);
	assert_int_equal(path(net, 0, 1), 9000);
	assert_int_equal(path(net, 1, 0), 9000);
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
	for (int i = 0; i < 20; i++) {
		exchange(net, 64);
		net_run(net, MS);
	}
	assert_int_equal(path(net, 0, 1), 9000);
	assert_int_equal(net_stats(net, 0)->mtu_probes_out, 2);
	assert_int_equal(warnings, 0);
	done(net);
}

static void switch_is_smaller__stays_and_warns_once(void **state)
{
	struct net *net = with(9000, 1500);

	(void) state;
	for (int i = 0; i < 200; i++) {
		exchange(net, 5000);
		net_run(net, MS);
	}
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

static void exchange_for(struct net *net, uint64_t length, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		exchange(net, length);
		net_run(net, MS);
	}
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
	assert_int_equal(warnings, 2); /* though six answers came */
	assert_non_null(strstr(warning, "frames of 9000 bytes do reach 02:00:00:00:00:01"));
	done(net);
}

/* The switch carries less by then: that is found out as ever, and what is still under way of the
 * former question does not raise it again. */
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

/* Node 1, or somebody in its name. */
static void forge_mtu(struct net *net, uint16_t mtu)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_ACK, GAMMA_ACK_PLAIN);

	fields.extensions = GAMMA_EXT_MTU;
	fields.mtu = mtu;
	net_forge(net, 1, 0, &fields, NULL);
}

static void tell_mtu(struct net *net, uint16_t mtu)
{
	net->nodes[1].ep.local.limits.mtu = mtu;
	forge_mtu(net, mtu);
}

/* Nor does it end the search for the size that passes. */
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
		assert_int_equal(path(net, 0, 1), 9000);
		assert_int_equal(warnings, 0);
		done(net);
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
			tell_mtu(net, 4000);
		net_run(net, MS);
		exchange_for(net, 64, 200);
		assert_int_equal(path(net, 0, 1), 1500);
		done(net);
	}
}

/* What is asked for heeds what the peer tells meanwhile. */
static void asking__for_less_when_the_peer_says_so(void **state)
{
	struct net *net = with(9000, 0);

	(void) state;
	answers_take(net, 20 * MS, 1);
	exchange_for(net, 64, 1);
	tell_mtu(net, 4000);
	net_run(net, MS);
	assert_int_equal(path(net, 0, 1), 4000);
	exchange_for(net, 64, 50);
	assert_int_equal(path(net, 0, 1), 4000);
	assert_int_equal(warnings, 0);
	done(net);
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
	assert_int_equal(path(net, 0, 1), 4000);
	assert_int_equal(path(net, 1, 0), 4000);
	done(net);
}

/* Nothing passes at all: that is no evidence, and no reason to go on asking for ever. */
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
	net_post(net, 1, 5000);
	net_send(net, 0, 1, 5000, GAMMA_WHEN_ARRIVED);
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
	net_post(net, 1, 5000);
	net_send(net, 0, 1, 5000, GAMMA_WHEN_ARRIVED);
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
	net_post(net, 1, 5000);
	net_send(net, 0, 1, 5000, GAMMA_WHEN_ARRIVED);
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
	net->nodes[1].ep.local.limits.mtu = 1400;
	net->nodes[1].ep.local.addr.mtu = __builtin_bswap16(1400);
	exchange(net, 100000);
	net_run(net, SEC);
	assert_int_equal(path(net, 0, 1), 1400);
	assert_int_equal(path(net, 1, 0), 1400);
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

/* ---- the path comes to carry less ---- */

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
	assert_int_equal(path(net, 0, 1), 9000);
	assert_int_equal(path(net, 1, 0), 9000);
	return net;
}

static void both_ways(struct net *net, uint64_t length)
{
	for (unsigned i = 0; i < 8; i++) {
		net_post(net, 1 - i % 2, length);
		net_send(net, i % 2, 1 - i % 2, length, GAMMA_WHEN_ARRIVED);
	}
}

/* Messages of every op both ways; in the middle of them the path carries less. */
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
	for (int i = 0; i < 200; i++) {
		exchange(net, 8000);
		net_run(net, MS);
	}
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
	assert_int_equal(path(net, 0, 1), 4000);
	assert_int_equal(path(net, 1, 0), 4000);
	assert_int_equal(net_flow(net, 1, 0)->path_mtu.peer_mtu, 4000);
	assert_int_equal(net_stats(net, 0)->parts_out, 3);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warning, "lowered from 9000 to 4000"));
	assert_int_equal(__builtin_bswap16(net->nodes[0].ep.local.addr.mtu), 4000);
	done(net);
}

/* What the link did not take has told nobody. */
static void lowered__told_though_the_link_refuses_at_first(void **state)
{
	struct net *net = proven(0);

	(void) state;
	gamma_path_mtu_set_own(&net->nodes[0].ep.local, 4000);
	net->nodes[0].link_error = -EAGAIN;
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 10 * MS);
	assert_true(net_stats(net, 0)->send_stalls > GAMMA_MTU_REPORTS);
	net->nodes[0].link_error = 0;
	net_finish(net, 10 * MS);
	net_run(net, MS);
	assert_int_equal(net_flow(net, 1, 0)->path_mtu.peer_mtu, 4000);
	assert_int_equal(path(net, 1, 0), 4000);
	done(net);
}

/* It was begun when it could be larger. */
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

/* Its parts are still too large for the switch. */
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

/* A datagram that is too long now is said to be: not to be tried again for ever. */
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

/* Whatever frame says so: the peer itself is asked, and its answer counts. */
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

/* Frames already cut heed what the peer tells, too. */
static void lowered__told_by_the_peer(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net_rule(net,
		 (struct rule){.fate = DROP, .from = 0, .op = GAMMA_OP_SEND, .seq = 1, .times = 1});
	net_post(net, 1, 8000);
	net_send(net, 0, 1, 8000, GAMMA_WHEN_ARRIVED);
	net_run(net, 0);
	tell_mtu(net, 3000);
	net_finish(net, SEC);
	assert_int_equal(path(net, 0, 1), 3000);
	assert_int_equal(net_stats(net, 0)->parts_out, 3);
	assert_int_equal(net_stats(net, 0)->retransmissions, 3);
	assert_int_equal(warnings, 0);
	done(net);
}

/* Three losses in a row by chance: small frames for a moment, and back when the probe returns. */
static void doubted__in_vain(void **state)
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
	assert_int_equal(path(net, 0, 1), 9000);
	assert_int_equal(warnings, 0);
	done(net);
}

/* Other large frames pass: it is not the size. */
static void doubted__not_while_large_frames_pass(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net_rule(net,
		 (struct rule){.fate = DROP, .from = 0, .op = GAMMA_OP_SEND, .seq = 1, .times = 6});
	net_post(net, 1, 8000);
	net_send(net, 0, 1, 8000, GAMMA_WHEN_ARRIVED);
	for (int i = 0; i < 100; i++) {
		net_run(net, 20 * US);
		net_post(net, 1, 8000);
		net_send(net, 0, 1, 8000, GAMMA_WHEN_ARRIVED);
	}
	net_finish(net, SEC);
	assert_int_equal(net->rules[0].met, 6);
	assert_int_equal(net_stats(net, 0)->parts_out, 0);
	assert_int_equal(path(net, 0, 1), 9000);
	done(net);
}

/* A frame that was large only by the acknowledgement riding on it passes when it is repeated; the
 * next large one is watched in its place. */
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
		assert_int_equal(path(net, 0, 1), 9000);
		assert_int_equal(warnings, 0);
		done(net);
	}
}

/* Nothing passes for a while: that says nothing of sizes. */
static void cable_pulled__is_no_reason(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net_post(net, 1, 200000);
	net_send(net, 0, 1, 200000, GAMMA_WHEN_ARRIVED);
	net_run(net, 15 * US);
	net->nodes[1].unplugged = true;
	net_run(net, 5 * SEC);
	net->nodes[1].unplugged = false;
	net_finish(net, 5 * SEC);
	assert_int_equal(net_stats(net, 0)->parts_out, 0);
	assert_int_equal(path(net, 0, 1), 9000);
	assert_int_equal(warnings, 0);
	done(net);
}

/* The link refuses everything for a second, as without a carrier. */
static void refused__carrier_lost_and_back(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net->nodes[0].link_error = -EAGAIN;
	net_post(net, 1, 200000);
	net_post(net, 1, 8000);
	net_send(net, 0, 1, 8000, GAMMA_WHEN_ARRIVED);
	net_send(net, 0, 1, 200000, GAMMA_WHEN_ARRIVED);
	net_run(net, SEC);
	net->nodes[0].link_error = 0;
	net_finish(net, 5 * SEC);
	net_run(net, SEC);
	assert_int_equal(path(net, 0, 1), 9000);
	assert_int_equal(warnings, 0);
	done(net);
}

/* A padded probe that has not left says nothing, whatever had arrived before. */
static void asking__behind_what_the_link_does_not_take(void **state)
{
	struct net *net = proven(0);

	(void) state;
	net->nodes[0].link_error = -EAGAIN;
	for (unsigned i = 0; i < 40; i++) {
		net_post(net, 1, 18000);
		net_send(net, 0, 1, 18000, GAMMA_WHEN_ARRIVED);
	}
	net_run(net, SEC);
	net->nodes[0].link_error = 0;
	net_finish(net, 5 * SEC);
	net_run(net, SEC);
	assert_int_equal(path(net, 0, 1), 9000);
	assert_int_equal(warnings, 0);
	done(net);
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
		TEST(forged__mtu_lowers_nothing),
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
		TEST(lowered__in_the_middle_of_messages_of_every_op),
		TEST(lowered__said_once_with_nic_and_peer),
		TEST(lowered__what_it_costs),
		TEST(lowered__own_nic_at_once_and_the_peer_learns_it),
		TEST(lowered__told_though_the_link_refuses_at_first),
		TEST(lowered__while_a_frame_is_filling),
		TEST(lowered__and_once_more_while_a_frame_is_under_way),
		TEST(lowered__below_1500),
		TEST(lowered__datagrams),
		TEST(lowered__told_by_the_peer),
		TEST(doubted__in_vain),
		TEST(doubted__not_while_large_frames_pass),
		TEST(doubted__though_the_first_suspect_arrives_small),
		TEST(random_loss__is_no_reason),
		TEST(cable_pulled__is_no_reason),
		TEST(refused__carrier_lost_and_back),
		TEST(asking__behind_what_the_link_does_not_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
