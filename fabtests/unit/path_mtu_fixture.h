/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of path MTU: two endpoints whose NICs and switch have chosen MTUs, and
 * warnings. */
#ifndef GAMMA_TEST_PATH_MTU_FIXTURE_H
#define GAMMA_TEST_PATH_MTU_FIXTURE_H

#include "pair.h"

#include <stdio.h>

static unsigned warnings;
static char warning[512];

static inline void listen(enum gamma_log_level level, const char *line)
{
	warnings += level == GAMMA_LOG_WARN;
	snprintf(warning, sizeof(warning), "%s", line);
}

static inline struct net *with(uint32_t mtu, uint32_t switch_mtu)
{
	struct net_options options = net_defaults();

	options.mtu = mtu;
	options.switch_mtu = switch_mtu;
	warnings = 0;
	gamma_log_set_sink(listen);
	return net_new(2, &options);
}

static inline void done(struct net *net)
{
	gamma_log_set_sink(NULL);
	net_free(net);
}

/* A message from node 0 that node 1 waits for. */
static inline void begin(struct net *net, uint64_t length)
{
	net_post(net, 1, length);
	net_send(net, 0, 1, length, GAMMA_WHEN_ARRIVED);
}

static inline void exchange(struct net *net, uint64_t length)
{
	begin(net, length);
	net_finish(net, 10 * SEC);
}

static inline void exchange_for(struct net *net, uint64_t length, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		exchange(net, length);
		net_run(net, MS);
	}
}

static inline uint32_t path(struct net *net, unsigned a, unsigned b)
{
	return net_flow(net, a, b)->path_mtu.mtu;
}

static inline void check_paths(struct net *net, uint32_t there, uint32_t back)
{
	assert_int_equal(path(net, 0, 1), there);
	assert_int_equal(path(net, 1, 0), back);
}

/* What node 0 thinks of its path, and what users were warned of; the end of a test. */
static inline void end_with(struct net *net, uint32_t mtu, unsigned warned)
{
	assert_int_equal(path(net, 0, 1), mtu);
	assert_int_equal(warnings, warned);
	done(net);
}

/* By an address that says so too. */
static inline void set_mtu_of_peer(struct net *net, uint16_t mtu)
{
	net->nodes[1].ep.local.limits.mtu = mtu;
	net->nodes[1].ep.local.addr.mtu = __builtin_bswap16(mtu);
}

/* A frame from node 1, or forged in its name. */
static inline void forge_mtu(struct net *net, uint16_t mtu)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_ACK, GAMMA_ACK_PLAIN);

	fields.extensions = GAMMA_EXT_MTU;
	fields.mtu = mtu;
	net_forge(net, 1, 0, &fields, NULL);
}

static inline void advertise_mtu(struct net *net, uint16_t mtu)
{
	net->nodes[1].ep.local.limits.mtu = mtu;
	forge_mtu(net, mtu);
}

#endif /* GAMMA_TEST_PATH_MTU_FIXTURE_H */
