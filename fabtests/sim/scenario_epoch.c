// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A peer that is killed and comes back, while frames for and from its earlier incarnation are
 * in flight. */
#include "scenario.h"

#include <errno.h>

enum { MESSAGES = 12, LATE_MS = 2 };

static void long_cable(struct sim_config *config)
{
	config->latency = 20 * SIM_US;
}

/* All frames between the two are replayed much later; some come even after that. */
static void haunt(struct sim *sim, uint64_t late)
{
	for (int from = 0; from < 2; from++)
		sim_rule(sim, (struct sim_rule){.fate = SIM_DUPLICATE,
						.from = from,
						.to = 1 - from,
						.op = SIM_ANY_OP,
						.seq = SIM_ANY_SEQ,
						.times = 400,
						.delay = late});
	*sim_chances(sim) = (struct sim_chances){
		.until = sim_now(sim) + 100 * SIM_MS, .replay = 50000, .replay_delay = 20 * SIM_MS};
}

/* Some are expected, some are not; all are in flight when the receiver dies. */
static void send_some(struct sim *sim, struct sim_message **messages)
{
	static const uint64_t lengths[] = {8, 1400, 16000, 1 << 20};

	for (unsigned i = 0; i < MESSAGES; i++) {
		messages[i] =
			sim_message(sim, i % 2, 1 - i % 2, lengths[i / 2 % 4], GAMMA_WHEN_ARRIVED);
		if (i % 3)
			sim_post(messages[i], messages[i]->length);
		sim_send(messages[i]);
	}
}

static bool survivors_end(struct sim *sim, void *arg)
{
	struct sim_message **messages = arg;

	(void) sim;
	for (unsigned i = 0; i < MESSAGES; i += 2)
		if (!messages[i]->done)
			return false;
	return true;
}

static double error_after(struct sim *sim, uint64_t down)
{
	struct sim *side = scenario_begin(sim, NULL);
	struct sim_message *messages[MESSAGES], *fresh[MESSAGES];
	uint64_t back, last = 0, stray;
	unsigned failed = 0;

	sim_exchange(side, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_finish(side, SIM_SEC);
	haunt(side, down + LATE_MS * SIM_MS);
	send_some(side, messages);
	sim_run(side, 50 * SIM_US);
	back = sim_now(side) + down;
	sim_kill(side, 1, back);
	SIM_CHECK(side, sim_run_until(side, survivors_end, messages, 2 * down + 10 * SIM_MS),
		  "sends toward the old epoch have not ended");
	for (unsigned i = 0; i < MESSAGES; i += 2) {
		failed += messages[i]->error == -ECONNRESET;
		last = gamma_max(last, messages[i]->done_at);
	}
	SIM_CHECK(side, failed, "no send failed");
	sim_publish_epoch(side, 1);
	for (unsigned i = 0; i < MESSAGES; i++)
		fresh[i] = sim_exchange(side, i % 2, 1 - i % 2, 5000, GAMMA_WHEN_ARRIVED);
	sim_run(side, 200 * SIM_MS);
	sim_finish(side, SIM_SEC);
	for (unsigned i = 0; i < MESSAGES; i++)
		SIM_CHECK(side, fresh[i]->done && !fresh[i]->error && fresh[i]->received,
			  "a message between the new ones failed");
	/* Nothing else has reached the new incarnation; app.c checks that for every message. */
	SIM_CHECK(side, sim_stats(side, 1)->messages_in == MESSAGES / 2,
		  "%llu messages reached the new endpoint",
		  (unsigned long long) sim_stats(side, 1)->messages_in);
	stray = sim_stats(side, 1)->stray;
	SIM_CHECK(side, stray > 20, "only %llu old frames reached it", (unsigned long long) stray);
	scenario_end(sim, side);
	return last > back ? scenario_trips(sim, last - back) : 0;
}

static void restarted(struct sim *sim)
{
	double at_once = error_after(sim, 0), later = error_after(sim, 100 * SIM_MS);

	/* A peer that has waited for 100 ms asks again within as long. */
	SIM_CHECK(sim, at_once <= 6, "the senders' error came after %.1f round trips", at_once);
	SIM_CHECK(sim, later <= scenario_trips(sim, 100 * SIM_MS) + 2,
		  "back after 100 ms: the error came after %.1f round trips", later);
	scenario_report(
		"old frames to the new endpoint: none believed; senders to the old one fail after "
		"%.1f round trips, or, if it was down for 100 ms, %.1f ms",
		at_once, later * (double) sim_round_trip(sim, 0, 1) / 1e6);
}

const struct sim_scenario scenario_restarted = {
	.name = "restarted",
	.summary = "a peer is killed and restarted under delayed, doubled and replayed frames",
	.configure = long_cable,
	.run = restarted,
};
