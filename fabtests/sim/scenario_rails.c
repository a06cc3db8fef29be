// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Hosts with two NICs: how much they carry together, and what one of them costs that fails. */
#include "scenario.h"

enum { MIB = 1 << 20, GIGA = 1000000000, MESSAGES = 24, MORE = 60 };

static void gigabit(struct sim_config *config)
{
	config->rate = GIGA;
	config->latency = 20 * SIM_US;
}

static struct sim *two_nics(struct sim *sim, uint64_t rate, uint64_t latency)
{
	struct sim_config config = *sim_config(sim);

	config.nics[0] = config.nics[1] = 2;
	config.rails[1].rate = rate;
	config.rails[1].latency = latency;
	return scenario_begin(sim, &config);
}

static struct scenario_stream stream_of(unsigned count)
{
	return (struct scenario_stream){.from = 0,
					.to = 1,
					.length = MIB,
					.level = GAMMA_WHEN_ARRIVED,
					.count = count,
					.window = 4};
}

/* They know each other, and each other's NICs. */
static double goodput(struct sim *sim, struct sim *side)
{
	struct scenario_stream stream = stream_of(MESSAGES);

	sim_exchange(side, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_finish(side, SIM_SEC);
	sim_run(side, 50 * SIM_MS);
	scenario_stream_run(side, &stream, 10 * SIM_SEC);
	SIM_CHECK(sim, !scenario_stats(side).retransmissions, "%llu frames were sent again",
		  (unsigned long long) scenario_stats(side).retransmissions);
	SIM_CHECK(sim, !scenario_stats(side).rails_doubted, "a NIC was doubted");
	scenario_end(sim, side);
	return scenario_goodput(&stream);
}

static void striped(struct sim *sim)
{
	double one = goodput(sim, scenario_begin(sim, NULL));
	double two = goodput(sim, two_nics(sim, GIGA, 0)) / one;
	double three = goodput(sim, two_nics(sim, 2ull * GIGA, 0)) / one;
	double far = goodput(sim, two_nics(sim, GIGA, 200 * SIM_US)) / one;

	SIM_CHECK(sim, two >= 1.9, "two NICs carry %.2f times as much as one", two);
	SIM_CHECK(sim, three >= 2.7, "NICs of 1 and 2 Gbit/s carry %.2f times 1 Gbit/s", three);
	SIM_CHECK(sim, far >= 1.8, "with ten times the delay on one %.2f times", far);
	scenario_report("1 + 1 Gbit/s: %.2f times 1; 1 + 2: %.2f times; delays of 1 to 10: %.2f",
			two, three, far);
}

const struct sim_scenario scenario_rails = {
	.name = "rails",
	.summary = "two NICs carry a stream together, as fast as their sum; nothing is sent again",
	.configure = gigabit,
	.run = striped,
};

/* ---- one fails ---- */

struct gap {
	struct sim *sim;
	uint64_t received, since; /* frames, and ns: when they were last more */
	uint64_t longest;         /* ns without more */
	unsigned count;           /* of messages */
};

static void watch(struct sim *sim, void *arg)
{
	struct gap *gap = arg;
	uint64_t received = sim_stats(sim, 1)->data_frames_in;

	if (received != gap->received)
		gap->since = sim_now(sim);
	gap->received = received;
	gap->longest = gamma_max(gap->longest, sim_now(sim) - gap->since);
	if (sim_stats(sim, 1)->messages_in < gap->count)
		sim_at(sim, sim_now(sim) + 50 * SIM_US, watch, gap);
}

static bool is_back(struct sim *sim, void *arg)
{
	const struct gamma_rails *rails = sim_flow(sim, 0, 1)->rails;
	const unsigned *nic = arg;

	return rails->rail[*nic].state == GAMMA_RAIL_USABLE;
}

/* What happens to the NIC: the sender's is cut off without a sign, or down; the receiver's is. */
enum failure { CUT, DOWN, PEER_DOWN, FAILURES };

static void fail_until(struct sim *sim, unsigned nic, enum failure failure, uint64_t until)
{
	if (failure == CUT)
		sim_rail_cut(sim, 0, nic, until);
	else
		sim_rail_down(sim, failure == PEER_DOWN, nic, until);
}

/* Returns the longest time in which nothing new came, ns. */
static uint64_t silence(struct sim *sim, unsigned nic, enum failure failure, uint64_t *back,
			uint64_t *repeated)
{
	struct sim *side = two_nics(sim, GIGA, 0);
	struct scenario_stream stream = stream_of(MORE);
	struct gap gap = {.sim = side, .count = MORE + 1};
	uint64_t plugged;

	sim_exchange(side, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_finish(side, SIM_SEC);
	sim_run(side, 50 * SIM_MS);
	gap.since = sim_now(side);
	scenario_stream(side, &stream);
	watch(side, &gap);
	sim_run(side, 50 * SIM_MS);
	fail_until(side, nic, failure, GAMMA_NEVER);
	sim_finish(side, 10 * SIM_SEC);
	plugged = sim_now(side);
	*repeated = scenario_stats(side).retransmissions;
	fail_until(side, nic, failure, 0);
	SIM_CHECK(sim, sim_run_until(side, is_back, &nic, SIM_SEC), "NIC %u is not used again",
		  nic);
	*back = sim_now(side) - plugged;
	scenario_end(sim, side);
	return gap.longest;
}

static void one_fails(struct sim *sim)
{
	uint64_t longest[FAILURES] = {0}, known, back_longest = 0, most = 0;

	for (unsigned nic = 0; nic < 2; nic++) {
		for (enum failure failure = 0; failure < FAILURES; failure++) {
			uint64_t back = 0, repeated = 0;
			uint64_t gap = silence(sim, nic, failure, &back, &repeated);

			longest[failure] = gamma_max(longest[failure], gap);
			back_longest = gamma_max(back_longest, back);
			most = gamma_max(most, repeated);
		}
	}
	SIM_CHECK(sim, longest[CUT] <= 7 * SIM_MS, "nothing came for %.1f ms",
		  (double) longest[CUT] / 1e6);
	known = gamma_max(longest[DOWN], longest[PEER_DOWN]);
	SIM_CHECK(sim, known <= 3 * SIM_MS, "a NIC was down: nothing came for %.1f ms",
		  (double) known / 1e6);
	SIM_CHECK(sim, most <= 256, "%llu frames were sent again", (unsigned long long) most);
	scenario_report("nothing came for %.1f ms at most, %.1f ms if a NIC was down; %llu frames "
			"were sent again at most; used again after %.0f ms at most",
			(double) longest[CUT] / 1e6, (double) known / 1e6,
			(unsigned long long) most, (double) back_longest / 1e6);
}

const struct sim_scenario scenario_rail_fails = {
	.name = "rail-fails",
	.summary = "one of two NICs is cut off, or down, in a stream: the other carries on",
	.configure = gigabit,
	.run = one_fails,
};

/* ---- virtual NICs ---- */

enum { JUMBO = 9000, HOSTS = 13 };

static void many(struct sim_config *config)
{
	config->nodes = HOSTS;
	config->mtu = JUMBO;
	config->latency = 20 * SIM_US;
	for (unsigned i = 0; i < HOSTS; i++)
		config->nics[i] = 2;
}

static bool all_use_both(struct sim *sim, void *arg)
{
	(void) arg;
	for (unsigned i = 1; i < HOSTS; i++)
		if (sim_flow(sim, 0, i)->rails->rail[1].state != GAMMA_RAIL_USABLE)
			return false;
	return true;
}

static void begin_streams(struct sim *sim, struct scenario_stream streams[HOSTS], unsigned count)
{
	for (unsigned i = 1; i < HOSTS; i++) {
		streams[i] = stream_of(count);
		streams[i].to = i;
		scenario_stream(sim, &streams[i]);
	}
}

/* The other ends get a smaller MTU in the midst of streams; later one NIC is cut off for long. */
static void refused(struct sim *sim)
{
	struct scenario_stream streams[HOSTS];
	uint64_t plugged;

	sim_virtual_nics(sim);
	begin_streams(sim, streams, 4);
	sim_run(sim, 5 * SIM_MS);
	sim_switch_mtu(sim, GAMMA_SAFE_MTU);
	sim_finish(sim, 10 * SIM_SEC);
	SIM_CHECK(sim, !scenario_stats(sim).rails_doubted, "%llu times a NIC was doubted",
		  (unsigned long long) scenario_stats(sim).rails_doubted);
	sim_rail_cut(sim, 0, 1, GAMMA_NEVER);
	begin_streams(sim, streams, 1);
	sim_finish(sim, 10 * SIM_SEC);
	sim_run(sim, SIM_SEC);
	SIM_CHECK(sim, !all_use_both(sim, NULL), "a NIC that is cut off is used");
	sim_rail_cut(sim, 0, 1, 0);
	plugged = sim_now(sim);
	SIM_CHECK(sim, sim_run_until(sim, all_use_both, NULL, 600 * SIM_MS),
		  "the NIC is not used again toward all within 600 ms");
	scenario_report("none was doubted; one that was cut off is used again toward %u peers "
			"after %.0f ms",
			HOSTS - 1, (double) (sim_now(sim) - plugged) / 1e6);
}

const struct sim_scenario scenario_rail_virtual = {
	.name = "rail-virtual",
	.summary =
		"virtual NICs refuse large frames: none is doubted, nor waits for others' probes",
	.configure = many,
	.run = refused,
};
