/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What tests of credit share: a node's pool, short messages, a request to give credit back. */
#ifndef GAMMA_TEST_CREDIT_FIXTURE_H
#define GAMMA_TEST_CREDIT_FIXTURE_H

#include "pair_fixture.h"

static inline struct gamma_credit_pool *pool(unsigned node)
{
	return &net->nodes[node].ep.local.pool;
}

static inline void messages(unsigned from, unsigned to, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		net_post(net, to, 64);
		net_send(net, from, to, 64, GAMMA_WHEN_ARRIVED);
	}
}

/* Short messages that have arrived, by which the receiver knows the sender. */
static inline void exchange(unsigned from, unsigned to, unsigned count)
{
	messages(from, to, count);
	net_finish(net, SEC);
}

/* Node 1 asks node 0 for the credit that node 0 does not use. */
static inline void ask_back(void)
{
	struct gamma_flow *flow = net_flow(net, 1, 0);

	flow->credit.reclaiming = true;
	gamma_flow_want(flow, GAMMA_PENDING_RECLAIM);
	gamma_loss_rearm(flow, net->now);
	net_run(net, 100 * US);
}

#endif /* GAMMA_TEST_CREDIT_FIXTURE_H */
