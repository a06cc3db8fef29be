// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The cost of one lost frame, and the goodput that is left when many are lost. */
#include "scenario.h"

#include <stdio.h>
#include <string.h>

static void long_cable(struct sim_config *config)
{
	config->latency = 20 * SIM_US;
}

static void long_cable_in_trains(struct sim_config *config)
{
	long_cable(config);
	config->trains = true;
}

/* ---- one frame ---- */

struct loss {
	const char *what;
	uint64_t length;  /* bytes of the message */
	int from;         /* the side whose frame is lost: 0 sends the message */
	uint8_t kind, op; /* of that frame, */
	unsigned skip;    /* after so many of that kind */
	double trips;     /* what it may cost */
	bool demoted;     /* the message is unexpected, without memory for it */
	bool also_answer; /* the answer to the following probe is lost too */
};

enum { WARM_UP = 32, MIB = 1 << 20, BULK_FRAMES = (MIB + 1459) / 1460 };

static const struct loss losses[] = {
	{"the first frame", MIB, 0, GAMMA_KIND_DATA, GAMMA_OP_BULK, 0, 2, false, false},
	{"one in the middle", MIB, 0, GAMMA_KIND_DATA, GAMMA_OP_BULK, BULK_FRAMES / 2, 2, false,
	 false},
	{"the last of many", MIB, 0, GAMMA_KIND_DATA, GAMMA_OP_BULK, BULK_FRAMES - 1, 3, false,
	 false},
	{"a short message", 64, 0, GAMMA_KIND_DATA, GAMMA_OP_SEND, 0, 3, false, false},
	{"an ANNOUNCE", MIB, 0, GAMMA_KIND_DATA, GAMMA_OP_ANNOUNCE, 0, 3, false, false},
	{"an ACCEPT", MIB, 1, GAMMA_KIND_DATA, GAMMA_OP_ACCEPT, 0, 3, false, false},
	{"a CUT", 1024, 1, GAMMA_KIND_DATA, GAMMA_OP_CUT, 0, 3, true, false},
	{"an acknowledgement", 64, 1, GAMMA_KIND_ACK, GAMMA_ACK_PLAIN, 0, 3, false, false},
	{"a frame and the probe's answer", 64, 0, GAMMA_KIND_DATA, GAMMA_OP_SEND, 0, 4, false,
	 true},
};

static uint64_t time_of(struct sim *sim, const struct loss *loss, bool warm, bool lose)
{
	struct sim_config config = *sim_config(sim);
	struct sim *side;
	struct sim_message *message;
	uint64_t passed;

	config.unexpected_size = loss->demoted ? 0 : config.unexpected_size;
	side = scenario_begin(sim, &config);
	for (int i = 0; warm && i < WARM_UP; i++) {
		sim_exchange(side, i % 2, 1 - i % 2, 64, GAMMA_WHEN_ARRIVED);
		sim_finish(side, SIM_SEC);
	}
	if (lose)
		sim_rule(side, scenario_lose(loss->from, 1 - loss->from, loss->kind, loss->op,
					     loss->skip));
	if (lose && loss->also_answer)
		sim_rule(side, scenario_lose(1, 0, GAMMA_KIND_ACK, GAMMA_ACK_PROBED, 0));
	message = sim_message(side, 0, 1, loss->length, GAMMA_WHEN_ARRIVED);
	if (loss->demoted)
		sim_post_at(message, loss->length, sim_now(side) + 30 * SIM_US);
	else
		sim_post(message, loss->length);
	sim_send(message);
	sim_finish(side, SIM_SEC);
	passed = gamma_max(message->done_at, message->received_at) - message->sent_at;
	scenario_end(sim, side);
	return passed;
}

static double cost(struct sim *sim, const struct loss *loss, bool warm)
{
	uint64_t with = time_of(sim, loss, warm, true);
	uint64_t without = time_of(sim, loss, warm, false);

	SIM_CHECK(sim, with >= without, "%s: its loss saved time", loss->what);
	return with > without ? scenario_trips(sim, with - without) : 0;
}

static void loss_cost(struct sim *sim)
{
	char line[512] = "";

	for (size_t i = 0; i < gamma_array_size(losses); i++) {
		const struct loss *loss = &losses[i];
		double warm = cost(sim, loss, true), cold = cost(sim, loss, false);
		size_t len = strlen(line);

		snprintf(line + len, sizeof(line) - len, "%s%s %.1f (%.0f)", i ? ", " : "",
			 loss->what, warm, cold);
		SIM_CHECK(sim, warm <= loss->trips, "the loss of %s cost %.1f round trips",
			  loss->what, warm);
	}
	scenario_report("round trips more (on a flow that has not measured any): %s", line);
}

const struct sim_scenario scenario_loss_cost = {
	.name = "loss-cost",
	.summary = "any one frame is lost: that costs few round trips, not a timeout",
	.configure = long_cable,
	.run = loss_cost,
};

const struct sim_scenario scenario_train_loss_cost = {
	.name = "train-loss-cost",
	.summary = "the same in trains, as over UDP: any one frame of a train is lost",
	.configure = long_cable_in_trains,
	.run = loss_cost,
};

/* ---- many frames ---- */

enum { SEEDS = 5, RANDOM_MESSAGES = 48 };

static double goodput_at(struct sim *sim, uint64_t seed, uint32_t loss)
{
	struct scenario_stream stream = {.from = 0,
					 .to = 1,
					 .length = MIB,
					 .level = GAMMA_WHEN_ARRIVED,
					 .count = RANDOM_MESSAGES,
					 .window = 4};
	struct sim_config config = *sim_config(sim);
	struct sim *side;

	config.seed = seed;
	side = scenario_begin(sim, &config);
	*sim_chances(side) = (struct sim_chances){.until = GAMMA_NEVER, .loss = loss};
	scenario_stream_run(side, &stream, 60 * SIM_SEC);
	scenario_end(sim, side);
	return scenario_goodput(&stream);
}

/* The median of several runs. */
static double median(struct sim *sim, uint32_t loss)
{
	double sorted[SEEDS];

	for (unsigned i = 0; i < SEEDS; i++) {
		double value = goodput_at(sim, i + 1, loss);
		unsigned at = i;

		for (; at && sorted[at - 1] > value; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = value;
	}
	return sorted[SEEDS / 2];
}

static void random_loss(struct sim *sim)
{
	double whole = goodput_at(sim, 1, 0), one = median(sim, 10000) / whole;
	double ten = median(sim, 100000) / whole;

	SIM_CHECK(sim, whole > 9e9, "%.2f Gbit/s without loss", whole / 1e9);
	SIM_CHECK(sim, one >= 0.8, "at 1 %% loss %.0f %% of the goodput", 100 * one);
	SIM_CHECK(sim, ten >= 0.7, "at 10 %% loss %.0f %% of the goodput", 100 * ten);
	scenario_report("%.2f Gbit/s without loss, %.1f %% of it at 1 %% loss, %.1f %% at 10 %%",
			whole / 1e9, 100 * one, 100 * ten);
}

const struct sim_scenario scenario_random_loss = {
	.name = "random-loss",
	.summary = "a stream of 1 MiB messages with one frame in 100, or in 10, lost: goodput",
	.configure = long_cable,
	.run = random_loss,
};
