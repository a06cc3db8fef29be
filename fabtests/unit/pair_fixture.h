/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What most tests on pair.h begin and end with: two endpoints on the default network. */
#ifndef GAMMA_TEST_PAIR_FIXTURE_H
#define GAMMA_TEST_PAIR_FIXTURE_H

#include "pair.h"

static struct net *net;

static int setup(void **state)
{
	(void) state;
	net = net_new(2, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	net_free(net);
	return 0;
}

#define NET_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif /* GAMMA_TEST_PAIR_FIXTURE_H */
