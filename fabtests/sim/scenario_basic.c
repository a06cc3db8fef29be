// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The simplest scenarios: messages of every kind on a good network, and one lost frame. */
#include "scenario.h"

static void exchange(struct sim *sim)
{
	static const uint64_t lengths[] = {0, 1, 512, 513, 1460, 1461, 16384, 16385, 1 << 20};

	for (unsigned i = 0; i < gamma_array_size(lengths); i++)
		for (int level = GAMMA_WHEN_COPIED; level <= GAMMA_WHEN_MATCHED; level++)
			sim_exchange(sim, i % 2, 1 - i % 2, lengths[i], level);
	sim_finish(sim, SIM_SEC);
	SIM_CHECK(sim, sim_stats(sim, 0)->retransmissions + sim_stats(sim, 1)->retransmissions == 0,
		  "frames were sent again on a good network");
	scenario_report("%u messages in %.1f round trips, nothing was sent twice",
			sim_messages(sim), scenario_trips(sim, sim_now(sim) - SIM_START));
}

const struct sim_scenario scenario_exchange = {
	.name = "exchange",
	.summary = "messages of all sizes and completion levels; nothing is sent twice",
	.run = exchange,
};

static void one_loss(struct sim *sim)
{
	struct sim_message *first, *second;
	uint64_t usual;

	first = sim_exchange(sim, 0, 1, 65536, GAMMA_WHEN_ARRIVED);
	sim_finish(sim, SIM_SEC);
	usual = first->done_at - first->sent_at;
	sim_rule(sim, (struct sim_rule){.fate = SIM_RULE,
					.from = 0,
					.to = 1,
					.kind = GAMMA_KIND_DATA,
					.op = GAMMA_OP_BULK,
					.seq = SIM_ANY_SEQ,
					.skip = 10,
					.times = 1});
	second = sim_exchange(sim, 0, 1, 65536, GAMMA_WHEN_ARRIVED);
	sim_finish(sim, SIM_SEC);
	SIM_CHECK(sim, sim_stats(sim, 0)->retransmissions == 1, "%llu frames were sent again",
		  (unsigned long long) sim_stats(sim, 0)->retransmissions);
	SIM_CHECK(sim,
		  second->done_at - second->sent_at < 2 * usual + 4 * sim_round_trip(sim, 0, 1),
		  "the repair took too long");
	scenario_report("one frame was sent again; %.1f round trips instead of %.1f",
			scenario_trips(sim, second->done_at - second->sent_at),
			scenario_trips(sim, usual));
}

const struct sim_scenario scenario_one_loss = {
	.name = "one-loss",
	.summary = "one frame of many is lost: that one is sent again, within round trips",
	.run = one_loss,
};
