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

static inline void exchange(struct net *net, uint64_t length)
{
	net_post(net, 1, length);
	net_send(net, 0, 1, length, GAMMA_WHEN_ARRIVED);
	net_finish(net, 10 * SEC);
}

static inline uint32_t path(struct net *net, unsigned a, unsigned b)
{
	return net_flow(net, a, b)->path_mtu.mtu;
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
