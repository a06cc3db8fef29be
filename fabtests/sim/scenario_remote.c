// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Scenarios of RMA operations. */
#include "scenario.h"

enum { ROUNDS = 200 };

/* Of all kinds, in both directions, some refused, among messages. */
static void post_all(struct sim *sim)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned from = i % 2;
		uint64_t when = SIM_START + i * 5 * SIM_US;

		sim_remote_at(sim, SIM_PUT, from, 1 - from, i * 301, when);
		sim_remote_at(sim, SIM_GET, from, 1 - from, 1 + i * 5, when);
		sim_remote_at(sim, SIM_GET_STATIC, from, 1 - from, i * 601, when);
		sim_remote_at(sim, SIM_FETCH, from, 1 - from, 8, when);
		sim_remote_at(sim, SIM_ADD, from, 1 - from, 8, when);
		if (i % 10 == 0)
			sim_remote_at(sim, SIM_FORBIDDEN, from, 1 - from, 3000, when);
		sim_exchange(sim, from, 1 - from, i * 100, GAMMA_WHEN_ARRIVED);
	}
}

static struct gamma_stats run_all(struct sim *sim)
{
	struct gamma_stats stats;

	post_all(sim);
	sim_finish(sim, 10 * SIM_SEC);
	stats = scenario_stats(sim);
	SIM_CHECK(sim, stats.remote_out == 5 * ROUNDS && stats.remote_refused == ROUNDS / 10,
		  "%llu were carried out and %llu refused", (unsigned long long) stats.remote_out,
		  (unsigned long long) stats.remote_refused);
	scenario_report("%llu carried out, %llu refused, %llu frames sent again, %.1f ms",
			(unsigned long long) stats.remote_out,
			(unsigned long long) stats.remote_refused,
			(unsigned long long) stats.retransmissions,
			(double) (sim_now(sim) - SIM_START) / 1e6);
	return stats;
}

static void remote(struct sim *sim)
{
	SIM_CHECK(sim, run_all(sim).retransmissions == 0,
		  "frames were sent again on a good network");
}

const struct sim_scenario scenario_remote = {
	.name = "remote",
	.summary = "writes, reads and atomics both ways among messages: in order, each once",
	.run = remote,
};

static void remote_loss(struct sim *sim)
{
	uint64_t retransmissions;

	sim_chances(sim)->loss = 30000;
	sim_chances(sim)->reorder = 30000;
	sim_chances(sim)->reorder_delay = 50 * SIM_US;
	sim_chances(sim)->duplicate = 10000;
	sim_chances(sim)->until = GAMMA_NEVER;
	retransmissions = run_all(sim).retransmissions;
	SIM_CHECK(sim, retransmissions > 100, "only %llu frames were sent again",
		  (unsigned long long) retransmissions);
}

const struct sim_scenario scenario_remote_loss = {
	.name = "remote-loss",
	.summary = "the same with 3 % lost, 3 % late and 1 % doubled",
	.run = remote_loss,
};
