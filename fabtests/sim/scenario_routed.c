// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Two senders on other subnets, 20 ms away, before a port of 100 Mbit/s that buffers what the path
 * holds: the second begins later. Both get their part, and the port stays busy.
 */
#include "scenario.h"

enum {
	MESSAGE = 1 << 20, /* bytes */
	LATER_MS = 2000,   /* the second sender begins */
	SETTLE_MS = 30000,
	MEASURE_MS = 20000,
};

static void far_away(struct sim_config *config)
{
	config->nodes = 3;
	config->routed = true;
	config->slots = 2048;
	config->rates[0] = 100000000;
	config->latency = 10 * SIM_MS;
	config->port_buffer = 512 << 10;
}

static void begin_stream(struct sim *sim, struct scenario_stream *stream, unsigned from)
{
	*stream = (struct scenario_stream){.from = from,
					   .length = MESSAGE,
					   .level = GAMMA_WHEN_ARRIVED,
					   .count = UINT32_MAX,
					   .window = 4};
	scenario_stream(sim, stream);
}

static void count_taken(struct sim *sim, uint64_t by_sender[3])
{
	for (unsigned i = 0; i < sim_messages(sim); i++)
		by_sender[sim_message_at(sim, i)->from] += sim_message_at(sim, i)->taken;
}

static void share(struct sim *sim)
{
	struct scenario_stream first, second;
	uint64_t before[3] = {0}, after[3] = {0}, a, b, possible;
	struct gamma_stats stats;

	begin_stream(sim, &first, 1);
	sim_run(sim, LATER_MS * SIM_MS);
	begin_stream(sim, &second, 2);
	sim_run(sim, SETTLE_MS * SIM_MS);
	count_taken(sim, before);
	sim_run(sim, MEASURE_MS * SIM_MS);
	count_taken(sim, after);
	a = after[1] - before[1];
	b = after[2] - before[2];
	possible = 12500000ull * MEASURE_MS / 1000;
	first.count = first.begun;
	second.count = second.begun;
	stats = scenario_stats(sim);
	SIM_CHECK(sim, 100 * a >= 35 * (a + b) && 100 * b >= 35 * (a + b),
		  "one has %.0f %% of both", 100.0 * (double) a / (double) (a + b));
	SIM_CHECK(sim, 10 * (a + b) >= 8 * possible, "the port is busy for %.2f of the time",
		  (double) (a + b) / (double) possible);
	SIM_CHECK(sim, stats.window_reductions, "no window shrank");
	sim_finish(sim, 10 * SIM_SEC);
	scenario_report("%.2f of the port, %.0f and %.0f %%; windows shrank %llu times",
			(double) (a + b) / (double) possible, 100.0 * (double) a / (double) (a + b),
			100.0 * (double) b / (double) (a + b),
			(unsigned long long) stats.window_reductions);
}

const struct sim_scenario scenario_routed_fair = {
	.name = "routed-fair",
	.summary = "two senders of other subnets share a port of 100 Mbit/s, 20 ms away",
	.configure = far_away,
	.run = share,
};
