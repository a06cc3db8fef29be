// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Whole runs under random faults: frames dropped, doubled, delayed and damaged. Every message must
 * arrive once, intact and in order. A seed gives the same run again:
 *
 *   GAMMA_TEST_SEED=123 test_chaos      that seed alone
 *   GAMMA_TEST_SEEDS=100000 test_chaos  so many, from 1
 */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEEDS = 3000, LENGTH_MAX = 30000 };

static uint64_t current;

static uint64_t length(uint64_t *seed)
{
	static const uint64_t edges[] = {0, 512, 513, 1460, 1461, 4096, 4097, 16384, 16385};

	switch (net_random(seed) % 8) {
	case 0:
		return edges[net_random(seed) % gamma_array_size(edges)];
	case 1:
		return net_random(seed) % LENGTH_MAX;
	case 2:
		return net_random(seed) % 6000;
	}
	return net_random(seed) % 600;
}

static struct net_options options(uint64_t *seed)
{
	struct net_options options = net_defaults();

	options.eager_size = net_random(seed) % 2 ? 4096 : 16384;
	options.latency = net_random(seed) % (20 * US);
	if (net_random(seed) % 3 == 0)
		options.unexpected_size = net_random(seed) % 5000;
	options.slots = net_random(seed) % 2 ? 64 : 256;
	if (net_random(seed) % 4 == 0) {
		options.mtu = 9000;
		options.switch_mtu = net_random(seed) % 4 ? 0 : 1500;
		options.inject_size = net_random(seed) % 2 ? 512 : 8192;
	}
	return options;
}

static void begin_near_the_wrap(struct net *net, uint64_t *seed)
{
	for (unsigned a = 0; a < net->count; a++)
		for (unsigned b = 0; b < net->count; b++)
			if (a != b)
				net_begin_at(net, a, b, (uint32_t) - (net_random(seed) % 40));
}

static uint32_t lowered(uint32_t before, uint32_t mtu)
{
	return before ? (uint32_t) gamma_min(before, mtu) : mtu;
}

/* The path comes to carry less: a switch, a NIC, or a virtual NIC's peer has been set anew. */
static void lower(struct net *net, uint64_t *seed)
{
	struct node *node = &net->nodes[net_random(seed) % net->count];
	uint32_t mtu = net_random(seed) % 2 ? 1500 : 1500 + (uint32_t) (net_random(seed) % 7500);

	switch (net_random(seed) % 4) {
	case 0:
		if (net_random(seed) % 4 == 0)
			mtu = 600 + (uint32_t) (net_random(seed) % 900);
		node->nic_mtu = lowered(node->nic_mtu, mtu);
		break;
	case 1:
		node->takes = lowered(node->takes, mtu);
		break;
	default:
		net->options.switch_mtu = lowered(net->options.switch_mtu, mtu);
	}
}

/* Some messages between random nodes, some receives posted before and some behind. */
static void traffic(struct net *net, uint64_t *seed)
{
	unsigned messages = 1 + (unsigned) (net_random(seed) % 40);
	unsigned first_time = (unsigned) (net_random(seed) % 60);
	unsigned again = first_time + (unsigned) (net_random(seed) % 20);
	bool jumbo = net->options.mtu == 9000 && !net->options.switch_mtu;

	for (unsigned i = 0; i < messages; i++) {
		if (jumbo && (i == first_time || i == again))
			lower(net, seed);
		unsigned from = (unsigned) (net_random(seed) % net->count);
		unsigned to =
			(from + 1 + (unsigned) (net_random(seed) % (net->count - 1))) % net->count;
		bool first = net_random(seed) % 2;

		if (first)
			net_post(net, to, LENGTH_MAX);
		net_send(net, from, to, length(seed), (int) (net_random(seed) % 3));
		if (net_random(seed) % 3 == 0)
			net_run(net, net_random(seed) % (100 * US));
		if (!first)
			net_post(net, to, LENGTH_MAX);
	}
}

static void check(const struct net *net)
{
	for (unsigned a = 0; a < net->count; a++) {
		const struct node *node = &net->nodes[a];

		assert_int_equal(node->send_errors, 0);
		assert_int_equal(node->receive_errors, 0);
		assert_int_equal(node->failures, 0);
		assert_true(gamma_list_empty(&node->unexpected));
		for (unsigned b = 0; b < net->count; b++)
			assert_int_equal(node->next_match[b], net->nodes[b].next_number[a]);
	}
}

static void run(uint64_t number)
{
	uint64_t seed = number * 0x9e3779b97f4a7c15ull | 1;
	struct net_options chosen;
	struct net *net;

	current = number;
	for (int i = 0; i < 4; i++)
		net_random(&seed);
	chosen = options(&seed);
	net = net_new(2 + (unsigned) (net_random(&seed) % 3), &chosen);
	for (unsigned i = 0; i < net->count; i++)
		net->nodes[i].ep.local.limits.payload_crc = net_random(&seed) % 4 == 0;
	if (net_random(&seed) % 2)
		begin_near_the_wrap(net, &seed);
	net->seed = net_random(&seed) | 1;
	net->chaos = 1 + (unsigned) (net_random(&seed) % 60);
	net->unstamped = net_random(&seed) % 2;
	net->steps_max = 100000;
	traffic(net, &seed);
	net_finish(net, 60 * SEC);
	net_run(net, SEC);
	check(net);
	net_free(net);
}

static void chaos__every_message_once_intact_and_in_order(void **state)
{
	const char *one = getenv("GAMMA_TEST_SEED"), *many = getenv("GAMMA_TEST_SEEDS");
	uint64_t first = one ? strtoull(one, NULL, 0) : 1;
	uint64_t last = one ? first : many ? strtoull(many, NULL, 0) : SEEDS;

	(void) state;
	for (uint64_t number = first; number <= last; number++)
		run(number);
	current = 0;
}

static int print_seed(void **state)
{
	(void) state;
	if (current)
		print_error("again: GAMMA_TEST_SEED=%llu\n", (unsigned long long) current);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(chaos__every_message_once_intact_and_in_order,
					  print_seed),
	};

	gamma_log_set_sink(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
