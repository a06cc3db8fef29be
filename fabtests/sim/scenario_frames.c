// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* How many frames an exchange takes when nothing gets lost. */
#include "scenario.h"

/* ---- ping-pong ---- */

enum { ROUNDS = 1000 };

struct rally {
	unsigned rounds;
	unsigned frames[GAMMA_KIND_DATAGRAM + 1]; /* by kind */
};

static void serve(struct sim *sim, unsigned from, struct rally *rally);

static void serve_0(struct sim *sim, void *rally)
{
	serve(sim, 0, rally);
}

static void serve_1(struct sim *sim, void *rally)
{
	serve(sim, 1, rally);
}

static void returned(struct sim_message *message, void *arg)
{
	struct rally *rally = arg;

	if (message->to == 0)
		rally->rounds++;
	if (rally->rounds < ROUNDS)
		sim_at(message->sim, sim_now(message->sim), message->to ? serve_1 : serve_0, rally);
}

static void serve(struct sim *sim, unsigned from, struct rally *rally)
{
	struct sim_message *message = sim_message(sim, from, 1 - from, 8, GAMMA_WHEN_COPIED);

	message->on_received = returned;
	message->arg = rally;
	sim_post(message, 8);
	sim_send(message);
}

static void count(void *arg, unsigned from, unsigned to, const struct gamma_fields *fields,
		  size_t len, uint64_t leaves)
{
	struct rally *rally = arg;

	(void) from;
	(void) to;
	(void) len;
	(void) leaves;
	rally->frames[fields->kind]++;
}

static bool over(struct sim *sim, void *arg)
{
	const struct rally *rally = arg;

	(void) sim;
	return rally->rounds == ROUNDS;
}

static void ping_pong(struct sim *sim)
{
	struct rally rally = {0};
	uint64_t began = sim_now(sim);
	unsigned others = 0;

	sim_tap(sim, (struct sim_tap){.frame = count, .arg = &rally});
	serve(sim, 0, &rally);
	sim_run_until(sim, over, &rally, SIM_SEC);
	for (unsigned kind = 0; kind < gamma_array_size(rally.frames); kind++)
		others += kind == GAMMA_KIND_DATA ? 0 : rally.frames[kind];
	SIM_CHECK(sim, rally.frames[GAMMA_KIND_DATA] == 2 * ROUNDS && !others,
		  "%u DATA frames and %u others for %u round trips", rally.frames[GAMMA_KIND_DATA],
		  others, ROUNDS);
	scenario_report(
		"%u round trips took %u DATA frames and %u others, %.2f of the network's each",
		ROUNDS, rally.frames[GAMMA_KIND_DATA], others,
		scenario_trips(sim, sim_now(sim) - began) / ROUNDS);
	sim_run(sim, SIM_SEC);
}

const struct sim_scenario scenario_ping_pong = {
	.name = "ping-pong",
	.summary =
		"short messages to and fro: two frames a round trip, no acknowledgement, no probe",
	.run = ping_pong,
};

/* ---- a stream ---- */

enum { FEW = 4 }; /* probes */

static double acks_per_frame(struct sim *sim, const struct sim_config *config, uint64_t length,
			     unsigned messages, enum gamma_completion_level level, unsigned probes)
{
	struct scenario_stream stream = {.from = 0,
					 .to = 1,
					 .length = length,
					 .level = level,
					 .count = messages,
					 .window = 64};
	struct sim *side = scenario_begin(sim, config);
	struct gamma_stats stats;

	scenario_stream_run(side, &stream, 10 * SIM_SEC);
	stats = scenario_stats(side);
	SIM_CHECK(side, stats.probes_out <= probes && !stats.requests_out && !stats.retransmissions,
		  "%llu probes, %llu requests, %llu repetitions",
		  (unsigned long long) stats.probes_out, (unsigned long long) stats.requests_out,
		  (unsigned long long) stats.retransmissions);
	scenario_end(sim, side);
	return (double) stats.acks_out / (double) stats.data_frames_out;
}

/* Slow or long cables, large frames: frames wait in their own NIC, and answers in the peer's.
 * Hardly any probe is sent for them. */
static void other_networks(struct sim *sim)
{
	static const struct {
		uint64_t rate, latency;
		uint32_t mtu;
	} networks[] = {
		{1000000000, 2 * SIM_US, 1500},    {1000000000, 50 * SIM_US, 9000},
		{10000000000, 100 * SIM_US, 1500}, {100000000000, 1 * SIM_US, 9000},
		{2500000000, 20 * SIM_US, 1500},
	};

	for (size_t i = 0; i < gamma_array_size(networks); i++) {
		struct sim_config config = *sim_config(sim);

		config.rate = networks[i].rate;
		config.latency = networks[i].latency;
		config.mtu = networks[i].mtu;
		acks_per_frame(sim, &config, 1 << 20, 8, GAMMA_WHEN_ARRIVED, FEW);
		acks_per_frame(sim, &config, 1400, 1000, GAMMA_WHEN_ARRIVED, 0);
		acks_per_frame(sim, &config, 8, 5000, GAMMA_WHEN_COPIED, 0);
	}
}

static void stream(struct sim *sim)
{
	double bulk = acks_per_frame(sim, NULL, 1 << 20, 32, GAMMA_WHEN_ARRIVED, 0);
	double copied = acks_per_frame(sim, NULL, 8, 20000, GAMMA_WHEN_COPIED, 0);
	double asked = acks_per_frame(sim, NULL, 1024, 20000, GAMMA_WHEN_ARRIVED, 0);

	other_networks(sim);
	SIM_CHECK(sim, bulk < 0.05, "%.3f acknowledgements for each bulk frame", bulk);
	SIM_CHECK(sim, copied < 0.05, "%.3f for each frame of copied messages", copied);
	SIM_CHECK(sim, asked <= 1, "%.3f for each frame of messages that ask", asked);
	scenario_report(
		"acknowledgements for each DATA frame: %.3f of 1 MiB messages, %.3f of copied "
		"ones, %.3f of single frames whose senders ask",
		bulk, copied, asked);
}

const struct sim_scenario scenario_one_way = {
	.name = "one-way",
	.summary = "a stream in one direction: few acknowledgements for each frame, nothing else",
	.run = stream,
};

/* ---- short messages that share frames ---- */

static void batches(struct sim *sim)
{
	enum { MESSAGES = 10000 };
	struct gamma_stats stats;

	for (unsigned i = 0; i < MESSAGES; i++) {
		struct sim_message *message = sim_message(sim, 0, 1, 8, GAMMA_WHEN_COPIED);

		sim_post(message, 8);
		sim_send(message);
	}
	sim_finish(sim, SIM_SEC);
	sim_run(sim, SIM_MS);
	stats = *sim_stats(sim, 0);
	SIM_CHECK(sim, stats.data_frames_out <= MESSAGES / 16, "%llu frames for %u messages",
		  (unsigned long long) stats.data_frames_out, MESSAGES);
	SIM_CHECK(sim, sim_stats(sim, 1)->messages_in == MESSAGES, "not all have come");
	scenario_report(
		"%u messages of 8 bytes came in %llu frames, %.1f in each; %llu acknowledgements, "
		"%llu requests",
		MESSAGES, (unsigned long long) stats.data_frames_out,
		(double) MESSAGES / (double) stats.data_frames_out,
		(unsigned long long) sim_stats(sim, 1)->acks_out,
		(unsigned long long) stats.requests_out);
}

const struct sim_scenario scenario_batch = {
	.name = "batch",
	.summary = "10,000 messages of 8 bytes sent at once share frames while credit is short",
	.run = batches,
};
