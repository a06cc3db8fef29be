// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/budget.c, on endpoints without links. The NIC is nobody's. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/budget.h"
#include "engine/state.h"

enum { SLOTS = 4096 };

struct fake {
	struct gamma_endpoint endpoint;
	struct gamma_link packet;
	struct gamma_flow flows[2]; /* the second one's peer is on this host */
};

static struct gamma_endpoint_attr attr;
static uint64_t now;

/* A NIC of this test alone, so that tests can run at the same time. */
static int setup(void **state)
{
	pid_t pid = getpid();

	(void) state;
	memset(&attr, 0, sizeof(attr));
	attr.mac[0] = 0x0a;
	memcpy(attr.mac + 2, &pid, 4);
	attr.budget = 1500 * 100;
	now = gamma_now();
	return 0;
}

static struct fake *open_fake(void)
{
	static const struct gamma_limits limits = {.mtu = 1500};
	static const struct gamma_addr addr;
	struct fake *fake = calloc(1, sizeof(*fake));

	assert_non_null(fake);
	fake->packet.mtu = 1500;
	fake->endpoint.packet = &fake->packet;
	gamma_local_init(&fake->endpoint.local, &addr, 0, &limits, SLOTS);
	fake->flows[1].same_host = true;
	for (unsigned i = 0; i < 2; i++)
		gamma_list_append(&fake->endpoint.local.flows, &fake->flows[i].all_entry);
	gamma_budget_open(&fake->endpoint, &attr);
	return fake;
}

static void close_fake(struct fake *fake)
{
	gamma_budget_close(&fake->endpoint);
	free(fake);
}

static struct gamma_credit_pool *divide(struct fake *fake, uint32_t bulk)
{
	struct gamma_credit_pool *pool = &fake->endpoint.local.pool;

	pool->bulk = bulk;
	gamma_budget_divide(&fake->endpoint, now);
	return pool;
}

static void open__in_frames(void **state)
{
	struct fake *fake = open_fake();

	(void) state;
	assert_int_equal(fake->endpoint.local.pool.budget, 100);
	close_fake(fake);
}

static void open__no_bound(void **state)
{
	struct fake *fake;

	(void) state;
	attr.budget = 0;
	fake = open_fake();
	assert_int_equal(fake->endpoint.local.pool.budget, 0);
	assert_int_equal(divide(fake, 5)->budget, 0);
	close_fake(fake);
}

static void open__datagrams_have_no_credit(void **state)
{
	struct fake *fake;

	(void) state;
	attr.datagram = true;
	fake = open_fake();
	assert_null(fake->endpoint.budget.share);
	close_fake(fake);
}

static void divide__by_senders(void **state)
{
	struct fake *first = open_fake(), *second = open_fake();

	(void) state;
	assert_int_equal(divide(first, 3)->budget, 100);
	assert_int_equal(divide(second, 1)->budget, 25);
	assert_int_equal(divide(first, 3)->budget, 75);
	/* One without senders is in nobody's way, and keeps the part of its next one. */
	now += GAMMA_BUDGET_PAGE_FRESH_MS * GAMMA_NS_PER_MS;
	divide(first, 3);
	assert_int_equal(divide(second, 0)->budget, 25);
	assert_int_equal(divide(first, 3)->budget, 100);
	close_fake(second);
	close_fake(first);
}

/* A sender that is between two messages is not forgotten at once. */
static void divide__pauses_do_not_count(void **state)
{
	struct fake *first = open_fake(), *second = open_fake();

	(void) state;
	divide(first, 1);
	now += GAMMA_BUDGET_PAGE_FRESH_MS * GAMMA_NS_PER_MS - 1;
	assert_int_equal(divide(first, 0)->budget, 100);
	assert_int_equal(divide(second, 1)->budget, 50);
	now++;
	divide(first, 0);
	assert_int_equal(divide(second, 1)->budget, 100);
	close_fake(second);
	close_fake(first);
}

static void divide__the_silent_do_not_count(void **state)
{
	struct fake *first = open_fake(), *second = open_fake();

	(void) state;
	divide(first, 3);
	now += GAMMA_BUDGET_PAGE_FRESH_MS * GAMMA_NS_PER_MS;
	assert_int_equal(divide(second, 1)->budget, 100);
	close_fake(second);
	close_fake(first);
}

static void divide__never_below_a_grant(void **state)
{
	struct fake *first = open_fake(), *second = open_fake();

	(void) state;
	divide(first, 1000);
	assert_int_equal(divide(second, 1)->budget, GAMMA_GRANT_MIN);
	close_fake(second);
	close_fake(first);
}

/* 100 Gbit/s and 100 us: the cable holds 1.25 MB. */
static void measure__what_the_cable_holds(void **state)
{
	struct fake *fake;

	(void) state;
	attr.speed = 100000000000;
	fake = open_fake();
	fake->flows[0].loss.first.rtt_min = 100 * GAMMA_NS_PER_US;
	fake->flows[1].loss.first.rtt_min = 2000000 * GAMMA_NS_PER_US;
	assert_int_equal(divide(fake, 2)->budget, 100); /* not yet */
	now += 2 * GAMMA_NS_PER_S;
	assert_int_equal(divide(fake, 2)->budget, 2 * 1250000 / 1500);
	fake->flows[0].loss.first.rtt_min = GAMMA_NS_PER_US;
	now += 2 * GAMMA_NS_PER_S;
	assert_int_equal(divide(fake, 2)->budget, 100);
	close_fake(fake);
}

/* A forged or mistaken round trip makes no number overflow. */
static void measure__absurd(void **state)
{
	struct fake *fake;

	(void) state;
	attr.speed = 1000000000000;
	attr.budget = 1 << 30;
	fake = open_fake();
	fake->flows[0].loss.first.rtt_min = UINT64_MAX - 1;
	now += 2 * GAMMA_NS_PER_S;
	assert_in_range(divide(fake, 2)->budget, (1 << 30) / 1500, UINT32_MAX);
	assert_int_equal(fake->endpoint.local.pool.bound, SLOTS - SLOTS / 8);
	close_fake(fake);
}

#define BUDGET_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUDGET_TEST(open__in_frames),
		BUDGET_TEST(open__no_bound),
		BUDGET_TEST(open__datagrams_have_no_credit),
		BUDGET_TEST(divide__by_senders),
		BUDGET_TEST(divide__pauses_do_not_count),
		BUDGET_TEST(divide__the_silent_do_not_count),
		BUDGET_TEST(divide__never_below_a_grant),
		BUDGET_TEST(measure__what_the_cable_holds),
		BUDGET_TEST(measure__absurd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
