// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Many senders to one receiver, more than its ring has slots, through a switch whose port buffers
 * little: credit must keep the ring whole, the port from overflowing, and the link busy.
 */
#include "scenario.h"

enum {
	SENDERS = 1000,
	MESSAGE = 64 << 10, /* bytes */
	LOOK_US = 200,
	MEASURE_MS = 200,
};

static void shallow(struct sim_config *config)
{
	config->nodes = SENDERS + 1;
	config->slots = 256;
	config->port_buffer = 128 << 10;
	config->latency = 10 * SIM_US;
}

/* Payload bytes of each sender that the receiver's windows have taken. */
static uint64_t taken(struct sim *sim, uint64_t by_sender[SENDERS + 1])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i <= SENDERS; i++)
		by_sender[i] = 0;
	for (unsigned i = 0; i < sim_messages(sim); i++) {
		const struct sim_message *message = sim_message_at(sim, i);

		by_sender[message->from] += message->taken;
		sum += message->taken;
	}
	return sum;
}

/* 1: all have the same; 1 / n: one has all (R. Jain). */
static double fairness(const uint64_t by_sender[SENDERS + 1])
{
	double sum = 0, squares = 0;

	for (unsigned i = 1; i <= SENDERS; i++) {
		sum += (double) by_sender[i];
		squares += (double) by_sender[i] * (double) by_sender[i];
	}
	return sum * sum / (SENDERS * squares);
}

static bool all_have_met(const uint64_t by_sender[SENDERS + 1])
{
	for (unsigned i = 1; i <= SENDERS; i++)
		if (!by_sender[i])
			return false;
	return true;
}

/* Until everybody's first bytes have come. */
static void meet(struct sim *sim)
{
	static uint64_t by_sender[SENDERS + 1];

	do {
		sim_run(sim, LOOK_US * SIM_US);
		taken(sim, by_sender);
	} while (!all_have_met(by_sender) && !sim_failure(sim) &&
		 sim_now(sim) < SIM_START + SIM_SEC);
	SIM_CHECK(sim, all_have_met(by_sender), "not everybody was heard within a second");
}

static void begin(struct sim *sim, struct scenario_stream streams[SENDERS])
{
	for (unsigned i = 0; i < SENDERS; i++) {
		streams[i] = (struct scenario_stream){.from = i + 1,
						      .to = 0,
						      .length = MESSAGE,
						      .level = GAMMA_WHEN_ARRIVED,
						      .count = UINT32_MAX,
						      .window = 2};
		scenario_stream(sim, &streams[i]);
	}
}

static void incast(struct sim *sim)
{
	static struct scenario_stream streams[SENDERS];
	static uint64_t before[SENDERS + 1], after[SENDERS + 1];
	/* Payload in the largest frames, of what the cable carries with framing and gaps. */
	double most = 1e10 / 8 * (1500 - GAMMA_BULK_HEADER) / (1500 + GAMMA_ETH_LEN + 24);
	struct gamma_stats stats;
	double share, fair;
	uint64_t met, bytes;

	begin(sim, streams);
	meet(sim);
	met = sim_now(sim);
	bytes = taken(sim, before);
	sim_run(sim, MEASURE_MS * SIM_MS);
	bytes = taken(sim, after) - bytes;
	for (unsigned i = 0; i <= SENDERS; i++)
		after[i] -= before[i];
	share = (double) bytes / (most * MEASURE_MS / 1000);
	fair = fairness(after);
	for (unsigned i = 0; i < SENDERS; i++)
		streams[i].count = streams[i].begun;
	sim_run(sim, MEASURE_MS * SIM_MS);
	sim_finish(sim, SIM_SEC);
	stats = scenario_stats(sim);
	scenario_tell(
		"all had met after %.2f ms; in the %u ms then %.1f %% of what the link carries; "
		"Jain %.3f; switch dropped %llu, ring %llu, sent again %llu, probes %llu, "
		"requests %llu, acks %llu, DATA %llu",
		(double) (met - SIM_START) / 1e6, MEASURE_MS, 100 * share, fair,
		(unsigned long long) sim_fault_count(sim, SIM_SWITCH_DROP),
		(unsigned long long) stats.ring_drops, (unsigned long long) stats.retransmissions,
		(unsigned long long) stats.probes_out, (unsigned long long) stats.requests_out,
		(unsigned long long) stats.acks_out, (unsigned long long) stats.data_frames_out);
	SIM_CHECK(sim, share >= 0.9, "%.1f %% of the goodput", 100 * share);
	SIM_CHECK(sim, fair > 0.95, "fairness %.3f", fair);
}

const struct sim_scenario scenario_incast = {
	.name = "incast",
	.summary = "1,000 senders, a ring of 256 slots, 128 KiB in the switch: full link, fair, no "
		   "drop",
	.configure = shallow,
	.run = incast,
};
