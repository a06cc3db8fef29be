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

/* Payload bytes of each sender that the receiver's windows have accepted. */
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

/* Until the first bytes of every sender have arrived. */
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

/* Payload share of what the receiver's cable carries in the largest frames, with framing and
 * gaps. */
static double share_of_link(const struct sim *sim, uint64_t bytes, uint64_t ns)
{
	double frame = (1500 - GAMMA_BULK_HEADER) / (1500.0 + GAMMA_ETH_LEN + 24);

	return (double) bytes * 8e9 / (double) ns / ((double) sim_config(sim)->rate * frame);
}

static void check(struct sim *sim, double share, double whole, double fair, uint64_t dropped)
{
	SIM_CHECK(sim, share >= 0.9 && whole >= 0.9, "%.1f %% of the link, %.1f %% from the start",
		  100 * share, 100 * whole);
	SIM_CHECK(sim, fair > 0.95, "fairness %.3f", fair);
	SIM_CHECK(sim, dropped < 2000, "the switch dropped %llu frames in %u ms",
		  (unsigned long long) dropped, MEASURE_MS);
}

static void incast(struct sim *sim)
{
	static struct scenario_stream streams[SENDERS];
	static uint64_t before[SENDERS + 1], after[SENDERS + 1];
	uint64_t met, first, all, early, late;
	struct gamma_stats stats;
	double share, whole, fair;

	begin(sim, streams);
	meet(sim);
	met = sim_now(sim) - SIM_START;
	first = taken(sim, before);
	early = sim_fault_count(sim, SIM_SWITCH_DROP);
	sim_run(sim, MEASURE_MS * SIM_MS);
	all = taken(sim, after);
	late = sim_fault_count(sim, SIM_SWITCH_DROP) - early;
	share = share_of_link(sim, all - first, MEASURE_MS * SIM_MS);
	whole = share_of_link(sim, all, sim_now(sim) - SIM_START);
	for (unsigned i = 0; i <= SENDERS; i++)
		after[i] -= before[i];
	fair = fairness(after);
	stats = scenario_stats(sim);
	check(sim, share, whole, fair, late);
	for (unsigned i = 0; i < SENDERS; i++)
		streams[i].count = streams[i].begun;
	sim_run(sim, MEASURE_MS * SIM_MS);
	sim_finish(sim, SIM_SEC);
	scenario_report(
		"all had met after %.0f ms (switch dropped %llu, ring %llu); in the %u ms then "
		"%.1f %% of the link, %.1f %% from the very start, Jain %.3f, switch dropped "
		"%llu; for %llu DATA frames %llu sent again, %llu probes, %llu requests, %llu "
		"reclaims",
		(double) met / 1e6, (unsigned long long) early,
		(unsigned long long) stats.ring_drops, MEASURE_MS, 100 * share, 100 * whole, fair,
		(unsigned long long) late, (unsigned long long) stats.data_frames_out,
		(unsigned long long) stats.retransmissions, (unsigned long long) stats.probes_out,
		(unsigned long long) stats.requests_out, (unsigned long long) stats.reclaims_out);
}

const struct sim_scenario scenario_incast = {
	.name = "incast",
	.summary = "1,000 senders, a ring of 256 slots, 128 KiB in the switch: full link, fair, "
		   "rings whole",
	.configure = shallow,
	.run = incast,
};
