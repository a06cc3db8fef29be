// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A receiver that computes for a minute, and does not poll. */
#include "scenario.h"

#include <errno.h>

enum { AWAY_S = 60, MESSAGES = 12 };

static void may_delay(struct sim_config *config)
{
	config->peer_timeout = 120 * SIM_SEC;
}

/* Messages of all kinds; their receives are posted before, or when the receiver is back. */
static void send_some(struct sim *sim, struct sim_message **messages, uint64_t back)
{
	static const uint64_t lengths[] = {8, 1400, 16000, 1 << 20};

	for (unsigned i = 0; i < MESSAGES; i++) {
		uint64_t length = lengths[i % 4];

		messages[i] = sim_message(sim, 0, 1, length, (int) (i / 4));
		if (i % 3)
			sim_post(messages[i], length);
		else
			sim_post_at(messages[i], length, back);
		sim_send(messages[i]);
	}
}

static uint64_t last_end(struct sim_message **messages)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < MESSAGES; i++)
		last = gamma_max(last, gamma_max(messages[i]->done_at, messages[i]->received_at));
	return last;
}

static void check_probes(struct sim *sim, unsigned most)
{
	struct gamma_stats stats = scenario_stats(sim);

	SIM_CHECK(sim, !stats.retransmissions, "%llu frames were sent again",
		  (unsigned long long) stats.retransmissions);
	SIM_CHECK(sim, stats.probes_out <= most, "%llu probes in %u s",
		  (unsigned long long) stats.probes_out, AWAY_S);
}

/* Everything has ended soon after `back`: 3 MiB and a few round trips. */
static double bounded(struct sim *sim, struct sim_message **messages, uint64_t back)
{
	uint64_t most =
		sim_stream_time(sim, 0, 1, 3 << 20) * 5 / 4 + 20 * sim_round_trip(sim, 0, 1);
	uint64_t after = last_end(messages) > back ? last_end(messages) - back : 0;

	SIM_CHECK(sim, after <= most, "all had come %.3f ms after its return",
		  (double) after / 1e6);
	return (double) after / 1e6;
}

static void stopped(struct sim *sim)
{
	struct sim_message *messages[MESSAGES];
	uint64_t back = sim_now(sim) + SIM_MS + AWAY_S * SIM_SEC;
	double after;

	sim_exchange(sim, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_run(sim, SIM_MS);
	sim_stop(sim, 1, back);
	send_some(sim, messages, back);
	sim_finish(sim, 200 * SIM_SEC);
	check_probes(sim, 2 * AWAY_S + 20);
	after = bounded(sim, messages, back);
	scenario_report(
		"stopped for %u s: %llu probes, no repetition, all complete %.2f ms after its "
		"return",
		AWAY_S, (unsigned long long) sim_stats(sim, 0)->probes_out, after);
}

const struct sim_scenario scenario_stopped = {
	.name = "stopped",
	.summary =
		"a receiver is stopped for 60 s: few probes, nothing is sent again, all completes",
	.configure = may_delay,
	.run = stopped,
};

static void computing(struct sim *sim)
{
	struct sim_message *messages[MESSAGES];
	uint64_t back = sim_now(sim) + SIM_MS + AWAY_S * SIM_SEC;
	double after;

	sim_exchange(sim, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_run(sim, SIM_MS);
	sim_compute(sim, 1, back);
	send_some(sim, messages, back);
	sim_finish(sim, 200 * SIM_SEC);
	/* Those that wait for a receive are probed once a second. */
	check_probes(sim, AWAY_S + 20);
	after = bounded(sim, messages, back);
	SIM_CHECK(sim, messages[1]->received_at < back - (AWAY_S - 1) * SIM_SEC,
		  "its thread did not take a message that was waited for");
	scenario_report(
		"computing for %u s, its thread polls: %llu probes, no repetition, what was "
		"posted came meanwhile, the rest %.2f ms after its return",
		AWAY_S, (unsigned long long) sim_stats(sim, 0)->probes_out, after);
}

const struct sim_scenario scenario_computing = {
	.name = "computing",
	.summary = "the same, with a thread that polls for it: what is posted comes in meanwhile",
	.configure = may_delay,
	.run = computing,
};

static void impatient(struct sim_config *config)
{
	config->peer_timeout = 2 * SIM_SEC;
}

static void too_long(struct sim *sim)
{
	struct sim_message *messages[MESSAGES];
	uint64_t began, last = 0;
	unsigned failed = 0;

	sim_exchange(sim, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_run(sim, SIM_MS);
	sim_excuse(sim, 1);
	began = sim_now(sim);
	sim_stop(sim, 1, began + AWAY_S * SIM_SEC);
	send_some(sim, messages, began + AWAY_S * SIM_SEC);
	sim_run(sim, 10 * SIM_SEC);
	for (unsigned i = 0; i < MESSAGES; i++) {
		SIM_CHECK(sim, messages[i]->done, "message %u has not ended after 10 s", i);
		failed += messages[i]->error == -ETIMEDOUT;
		last = gamma_max(last, messages[i]->done_at - began);
	}
	/* Three were copied before the receiver's silence could be known. */
	SIM_CHECK(sim, failed >= MESSAGES - 3, "only %u sends failed", failed);
	SIM_CHECK(sim, last <= 2 * SIM_SEC + GAMMA_PROBE_MAX_US * SIM_US + SIM_MS,
		  "the last ended after %.3f s", (double) last / 1e9);
	SIM_CHECK(sim, sim_stats(sim, 0)->peer_timeouts == 1, "it was not declared dead once");
	sim_run(sim, AWAY_S * SIM_SEC);
	scenario_report("silent for longer than the timeout of 2 s: %u sends failed after %.2f s",
			failed, (double) last / 1e9);
}

const struct sim_scenario scenario_too_long = {
	.name = "stopped-too-long",
	.summary = "a receiver is stopped for longer than the peer timeout: prompt errors",
	.configure = impatient,
	.run = too_long,
};
