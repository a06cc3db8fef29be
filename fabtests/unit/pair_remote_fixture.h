/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What tests on pair_remote.h begin and end with: two endpoints, each with REGION bytes (an enum of
 * the file that includes this) that peers may touch, and as many to write there and to read into.
 */
#ifndef GAMMA_TEST_PAIR_REMOTE_FIXTURE_H
#define GAMMA_TEST_PAIR_REMOTE_FIXTURE_H

#include "pair_remote.h"

#include <string.h>

static struct net *net;
static uint8_t bytes[REGION], read_back[REGION];

static int setup(void **state)
{
	(void) state;
	net = net_new(2, NULL);
	remote_begin(net, REGION);
	for (unsigned i = 0; i < REGION; i++)
		bytes[i] = (uint8_t) (i * 31 + (i >> 8) * 7 + 1);
	memset(read_back, 0, sizeof(read_back));
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	net_free(net);
	remote_end();
	return 0;
}

#endif /* GAMMA_TEST_PAIR_REMOTE_FIXTURE_H */
