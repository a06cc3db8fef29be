// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/mtu.c: frames above 1,500 bytes only after one came through. */
#include "pair.h"

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
	gamma_log_to(listen);
	return net_new(2, &options);
}

static void done(struct net *net)
{
	gamma_log_to(NULL);
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
	return net_flow(net, a, b)->path.mtu;
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
	net_rule(net, (struct rule){.fate = DROP, .kind = GAMMA_KIND_PROBE, .op = GAMMA_PROBE_MTU,
				    .seq = ANY_SEQ, .times = 1});
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
		TEST(silence__asks_again_when_the_peer_is_heard),
		TEST(small__peer_below_1500),
		TEST(small__learned_from_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
