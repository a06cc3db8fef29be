// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Hosts with jumbo frames, and a switch between them that passes some sizes only. */
#include "scenario.h"

enum { JUMBO = 9000, LOWERED = 4000, EAGER = 16000, MESSAGES = 24, TRICKLE = 40 };

static unsigned warnings;

static void count_warning(enum gamma_log_level level, const char *line)
{
	(void) line;
	warnings += level == GAMMA_LOG_WARN;
}

static void jumbo(struct sim_config *config)
{
	config->mtu = JUMBO;
	config->latency = 20 * SIM_US;
}

static void lower(struct sim *sim, void *arg)
{
	(void) arg;
	sim_switch_mtu(sim, GAMMA_SAFE_MTU);
}

struct passage {
	double ms;
	unsigned warnings;
	uint32_t mtu;
	struct gamma_stats stats; /* the sender's */
};

/* A stream between two hosts; lowered: ms after which the switch is set to 1,500. */
static struct passage pass(struct sim *sim, uint32_t mtu, uint32_t switch_mtu, unsigned lowered)
{
	struct scenario_stream stream = {.from = 0,
					 .to = 1,
					 .length = 1 << 20,
					 .level = GAMMA_WHEN_ARRIVED,
					 .count = MESSAGES,
					 .window = 4};
	struct sim_config config = *sim_config(sim);
	struct passage passage;
	struct sim *side;

	config.mtu = mtu;
	config.switch_mtu = switch_mtu;
	side = scenario_begin(sim, &config);
	warnings = 0;
	gamma_log_set_sink(count_warning);
	if (lowered)
		sim_at(side, sim_now(side) + lowered * SIM_MS, lower, NULL);
	scenario_stream_run(side, &stream, SIM_SEC);
	/* A little more at intervals, since large frames are tried only while others pass. */
	for (unsigned i = 0; i < TRICKLE; i++) {
		sim_exchange(side, 0, 1, 1000, GAMMA_WHEN_ARRIVED);
		sim_run(side, 5 * SIM_MS);
	}
	sim_finish(side, SIM_SEC);
	gamma_log_set_sink(NULL);
	passage = (struct passage){.ms = (double) (stream.ended_at - stream.began_at) / 1e6,
				   .warnings = warnings,
				   .mtu = sim_flow(side, 0, 1)->path_mtu.mtu,
				   .stats = *sim_stats(side, 0)};
	scenario_end(sim, side);
	return passage;
}

static void behind_small(struct sim *sim)
{
	struct passage small = pass(sim, 1500, 0, 0), large = pass(sim, JUMBO, 1500, 0);

	SIM_CHECK(sim, large.mtu == 1500, "frames of %u bytes are used", large.mtu);
	SIM_CHECK(sim, large.warnings == 2, "%u warnings", large.warnings);
	SIM_CHECK(sim, large.stats.mtu_probes_out == GAMMA_MTU_TRIES, "%llu probes of the MTU",
		  (unsigned long long) large.stats.mtu_probes_out);
	SIM_CHECK(sim, !large.stats.retransmissions && large.ms < 1.05 * small.ms,
		  "it took %.1f ms instead of %.1f", large.ms, small.ms);
	scenario_report(
		"24 MiB in %.1f ms, %.1f with hosts of 1,500; %llu padded probes, 1 warning at "
		"each host",
		large.ms, small.ms, (unsigned long long) large.stats.mtu_probes_out);
}

const struct sim_scenario scenario_small_switch = {
	.name = "small-switch",
	.summary = "hosts of 9,000 behind a switch of 1,500: all goes at 1,500, with one warning",
	.configure = jumbo,
	.run = behind_small,
};

static void all_large(struct sim *sim)
{
	struct passage large = pass(sim, JUMBO, JUMBO, 0);

	SIM_CHECK(sim, large.mtu == JUMBO, "frames of %u bytes are used", large.mtu);
	SIM_CHECK(sim, !large.warnings, "%u warnings", large.warnings);
	SIM_CHECK(sim, large.stats.mtu_probes_out == 1, "%llu probes of the MTU",
		  (unsigned long long) large.stats.mtu_probes_out);
	SIM_CHECK(sim, large.stats.data_frames_out < 26ull * (1 << 20) / 8000 + TRICKLE,
		  "%llu frames: most were small", (unsigned long long) large.stats.data_frames_out);
	scenario_report("24 MiB in %.1f ms and large frames after one padded probe", large.ms);
}

const struct sim_scenario scenario_large_switch = {
	.name = "large-switch",
	.summary = "hosts and switch of 9,000: large frames after one padded probe",
	.configure = jumbo,
	.run = all_large,
};

static void lowered(struct sim *sim)
{
	struct passage usual = pass(sim, JUMBO, 0, 0), less = pass(sim, JUMBO, 0, 5);

	SIM_CHECK(sim, less.mtu == 1500, "frames of %u bytes are used", less.mtu);
	SIM_CHECK(sim, less.stats.parts_out, "no frame went in parts");
	SIM_CHECK(sim, less.warnings >= 1 && less.warnings <= 2, "%u warnings", less.warnings);
	SIM_CHECK(sim, less.ms < usual.ms + 15, "it took %.1f ms instead of %.1f", less.ms,
		  usual.ms);
	scenario_report(
		"24 MiB in %.1f ms, %.1f had the switch not changed; %llu parts of frames, %u "
		"warning(s)",
		less.ms, usual.ms, (unsigned long long) less.stats.parts_out, less.warnings);
}

const struct sim_scenario scenario_lowered_switch = {
	.name = "lowered-switch",
	.summary = "the switch's MTU falls from 9,000 to 1,500 under a stream: it goes on",
	.configure = jumbo,
	.run = lowered,
};

static void usual(struct sim_config *config)
{
	config->mtu = GAMMA_SAFE_MTU;
	config->latency = 20 * SIM_US;
}

enum { TUNNEL = 1400 };

/* The hosts get no notice, and the first large frame is one of the stream. */
static void below_1500(struct sim *sim)
{
	struct passage usual = pass(sim, GAMMA_SAFE_MTU, 0, 0);
	struct passage tunnel = pass(sim, GAMMA_SAFE_MTU, TUNNEL, 0);

	SIM_CHECK(sim, tunnel.mtu == TUNNEL, "frames of %u bytes are used", tunnel.mtu);
	SIM_CHECK(sim, tunnel.warnings >= 1 && tunnel.warnings <= 2, "%u warnings",
		  tunnel.warnings);
	SIM_CHECK(sim, tunnel.stats.parts_out, "no frame went in parts");
	SIM_CHECK(sim, tunnel.ms < 1.15 * usual.ms + 2 * (double) GAMMA_MTU_BELOW_US / 1000,
		  "it took %.1f ms instead of %.1f", tunnel.ms, usual.ms);
	scenario_report("24 MiB in %.1f ms, %.1f where 1,500 bytes pass; %u warning(s)", tunnel.ms,
			usual.ms, tunnel.warnings);
}

const struct sim_scenario scenario_below_1500 = {
	.name = "below-1500",
	.summary = "a path passes 1,400 bytes, which no host knows: the flow finds them",
	.configure = usual,
	.run = below_1500,
};

static void short_timeout(struct sim_config *config)
{
	jumbo(config);
	config->peer_timeout = 2 * SIM_SEC;
}

/* The other host is stopped meanwhile, until `back`. Returns the largest frame that the sender
 * assumes then. */
static uint32_t lower_nic(struct sim *sim, uint64_t back)
{
	struct sim *side = scenario_begin(sim, NULL);
	uint32_t mtu;

	sim_exchange(side, 0, 1, EAGER, GAMMA_WHEN_ARRIVED);
	sim_run(side, 10 * SIM_MS);
	sim_stop(side, 1, back);
	if (back == GAMMA_NEVER)
		sim_excuse(side, 1);
	sim_nic_mtu(side, 0, 0, LOWERED);
	sim_exchange(side, 0, 1, EAGER, GAMMA_WHEN_ARRIVED);
	sim_finish(side, 10 * SIM_SEC);
	sim_run(side, 10 * SIM_MS); /* it asks whether that is true */
	mtu = sim_flow(side, 1, 0)->path_mtu.mtu;
	scenario_end(sim, side);
	return mtu;
}

static void lowered_host(struct sim *sim)
{
	uint32_t returned = lower_nic(sim, sim_now(sim) + SIM_SEC);
	uint32_t stopped = lower_nic(sim, GAMMA_NEVER);

	SIM_CHECK(sim, returned == LOWERED, "frames of %u bytes are used", returned);
	SIM_CHECK(sim, stopped == JUMBO, "one that is stopped uses %u bytes", stopped);
	scenario_report("frames of %u bytes once it has returned", returned);
}

const struct sim_scenario scenario_lowered_host = {
	.name = "lowered-host",
	.summary = "a NIC's MTU falls while the peer is stopped: it learns that when it returns",
	.configure = short_timeout,
	.run = lowered_host,
};
