// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Frames that move credit: each of them lost, duplicated, or replayed much later. */
#include "scenario.h"

#include <stdio.h>
#include <string.h>

enum { HOLDERS = 5, ASKER = HOLDERS + 1, MESSAGES = 40 };

static void small_ring(struct sim_config *config)
{
	config->nodes = ASKER + 1;
	config->slots = SIM_SLOTS_MIN;
	config->latency = 20 * SIM_US;
}

struct trouble {
	const char *what;
	uint8_t kind, op;
	bool from_receiver;
	bool from_asker; /* or to it */
};

static const struct trouble troubles[] = {
	{"REQUEST", GAMMA_KIND_REQUEST, SIM_ANY_OP, false, true},
	{"grant", GAMMA_KIND_ACK, SIM_ANY_OP, true, true},
	{"RECLAIM", GAMMA_KIND_RECLAIM, GAMMA_ASK, true, false},
	{"its answer", GAMMA_KIND_RECLAIM, GAMMA_ANSWER, false, false},
};

/* The rule begins to count when the first REQUEST leaves. */
static void arm(void *arg, unsigned from, unsigned to, const struct gamma_fields *fields,
		size_t len, uint64_t leaves)
{
	struct sim_rule *rule = arg;

	(void) to;
	(void) len;
	(void) leaves;
	if (fields->kind == GAMMA_KIND_REQUEST && from == ASKER)
		rule->skip = 0;
}

static void add_rule(struct sim *sim, const struct trouble *trouble, enum sim_fault fate,
		     uint64_t delay)
{
	struct sim_rule rule =
		scenario_lose(SIM_ANY_NODE, SIM_ANY_NODE, trouble->kind, trouble->op, 1000000);

	rule.fate = fate;
	rule.delay = delay;
	rule.times = fate == SIM_RULE ? 1 : 0;
	if (trouble->from_receiver)
		rule.from = 0;
	else if (trouble->from_asker)
		rule.from = ASKER;
	if (trouble->from_receiver && trouble->from_asker)
		rule.to = ASKER;
	sim_tap(sim, (struct sim_tap){.frame = arm, .arg = sim_rule(sim, rule)});
}

static bool has_come(struct sim *sim, void *arg)
{
	const struct sim_message *message = arg;

	(void) sim;
	return message->done && message->received;
}

/* Some flows hold all credit and have nothing to send; another one needs it. It sends one
 * message after the other, so that it never sends BACKLOG and has to request credit. */
static uint64_t time_of(struct sim *sim, const struct trouble *trouble, enum sim_fault fate,
			uint64_t delay)
{
	struct sim *side = scenario_begin(sim, NULL);
	uint64_t began, passed;

	for (unsigned i = 0; i < 20; i++) {
		for (unsigned holder = 1; holder <= HOLDERS; holder++)
			sim_exchange(side, holder, 0, 1000, GAMMA_WHEN_ARRIVED);
		sim_finish(side, SIM_SEC);
	}
	if (trouble)
		add_rule(side, trouble, fate, delay);
	began = sim_now(side);
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct sim_message *message =
			sim_exchange(side, ASKER, 0, 1000, GAMMA_WHEN_ARRIVED);

		sim_run_until(side, has_come, message, SIM_SEC);
	}
	sim_finish(side, SIM_SEC);
	passed = sim_now(side) - began;
	SIM_CHECK(side, sim_stats(side, ASKER)->requests_out, "it did not have to ask");
	SIM_CHECK(side, sim_stats(side, 0)->reclaims_out, "no credit was asked back");
	sim_run(side, 3 * SIM_SEC);
	scenario_end(sim, side);
	return passed;
}

static void credit(struct sim *sim)
{
	uint64_t usual = time_of(sim, NULL, SIM_PASS, 0);
	double most = scenario_trips(sim, GAMMA_REQUEST_US * SIM_US) + 4;
	char line[400] = "";

	for (size_t i = 0; i < gamma_array_size(troubles); i++) {
		const struct trouble *trouble = &troubles[i];
		uint64_t lost = time_of(sim, trouble, SIM_RULE, 0);
		uint64_t twice = time_of(sim, trouble, SIM_DUPLICATE, 0);
		uint64_t late = time_of(sim, trouble, SIM_DUPLICATE, 500 * SIM_US);
		double cost = lost > usual ? scenario_trips(sim, lost - usual) : 0;
		double harm = scenario_trips(sim, gamma_max(gamma_max(twice, late), usual) - usual);
		size_t len = strlen(line);

		SIM_CHECK(sim, cost <= most, "the loss of a %s cost %.1f round trips",
			  trouble->what, cost);
		SIM_CHECK(sim, harm <= 2, "a repeated %s cost %.1f round trips", trouble->what,
			  harm);
		snprintf(line + len, sizeof(line) - len, "%s%s %.1f (%.1f)", i ? ", " : "",
			 trouble->what, cost, harm);
	}
	scenario_report(
		"round trips more if lost (if doubled or replayed): %s; asking again after %.0f",
		line, scenario_trips(sim, GAMMA_REQUEST_US * SIM_US));
}

const struct sim_scenario scenario_credit = {
	.name = "credit",
	.summary =
		"REQUEST, grant, RECLAIM and its answer, lost, doubled or replayed: bounded cost",
	.configure = small_ring,
	.run = credit,
};
