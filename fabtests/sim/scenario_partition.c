// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The network is partitioned, for a while or for good; endpoints close on bad networks. */
#include "scenario.h"

#include <errno.h>

enum { MESSAGES = 16, TIMEOUT_S = 4, LOSSY_RUNS = 20 };

static void short_timeout(struct sim_config *config)
{
	config->peer_timeout = TIMEOUT_S * SIM_SEC;
}

static void send_both_ways(struct sim *sim, struct sim_message **messages)
{
	static const uint64_t lengths[] = {8, 1400, 16000, 1 << 20};

	for (unsigned i = 0; i < MESSAGES; i++)
		messages[i] =
			sim_exchange(sim, i % 2, 1 - i % 2, lengths[i / 2 % 4], GAMMA_WHEN_ARRIVED);
}

/* ms from healing until all was done. */
static double healed(struct sim *sim, bool both_ways)
{
	struct sim *side = scenario_begin(sim, NULL);
	struct sim_message *messages[MESSAGES];
	uint64_t heal;
	double ms;

	sim_exchange(side, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_finish(side, SIM_SEC);
	heal = sim_now(side) + (TIMEOUT_S - 1) * SIM_SEC;
	send_both_ways(side, messages);
	sim_run(side, 100 * SIM_US);
	if (both_ways)
		sim_cut(side, 0, 1, heal);
	else
		sim_cut_one_way(side, 0, 1, heal);
	sim_finish(side, 10 * SIM_SEC);
	ms = sim_now(side) > heal ? (double) (sim_now(side) - heal) / 1e6 : 0;
	scenario_end(sim, side);
	return ms;
}

static void partition(struct sim *sim)
{
	double symmetric = healed(sim, true), one_way = healed(sim, false);
	double most = GAMMA_PROBE_MAX_US / 1000 + 20;

	SIM_CHECK(sim, symmetric <= most && one_way <= most, "%.1f and %.1f ms after healing",
		  symmetric, one_way);
	scenario_report(
		"cut for %u s of a timeout of %u: all complete %.0f ms after healing; cut one way "
		"only: %.0f ms",
		TIMEOUT_S - 1, TIMEOUT_S, symmetric, one_way);
}

const struct sim_scenario scenario_partition = {
	.name = "partition",
	.summary = "a partition heals within the peer timeout: nothing is lost, all goes on soon",
	.configure = short_timeout,
	.run = partition,
};

static bool both_failed(struct sim *sim, void *arg)
{
	(void) arg;
	return sim_flow(sim, 0, 1)->state == GAMMA_FLOW_FAILED &&
	       sim_flow(sim, 1, 0)->state == GAMMA_FLOW_FAILED;
}

/* s until both sides have failed. */
static double failed_after(struct sim *sim, bool both_ways)
{
	struct sim *side = scenario_begin(sim, NULL);
	struct sim_message *messages[MESSAGES], *late;
	uint64_t began;
	double seconds;

	sim_exchange(side, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_finish(side, SIM_SEC);
	sim_excuse(side, 0);
	sim_excuse(side, 1);
	send_both_ways(side, messages);
	sim_run(side, 100 * SIM_US);
	began = sim_now(side);
	if (both_ways)
		sim_cut(side, 0, 1, began + 30 * SIM_SEC);
	else
		sim_cut_one_way(side, 0, 1, began + 30 * SIM_SEC);
	SIM_CHECK(side, sim_run_until(side, both_failed, NULL, 30 * SIM_SEC), "not both gave up");
	seconds = (double) (sim_now(side) - began) / 1e9;
	for (unsigned i = 0; i < MESSAGES; i++)
		SIM_CHECK(side, messages[i]->done, "message %u has no end", messages[i]->id);
	sim_run(side, 30 * SIM_SEC);
	late = sim_exchange(side, 0, 1, 8, GAMMA_WHEN_ARRIVED);
	SIM_CHECK(side, late->done && late->error,
		  "a peer that was declared dead is sent to again");
	scenario_end(sim, side);
	return seconds;
}

static void declared_dead(struct sim *sim)
{
	double symmetric = failed_after(sim, true), one_way = failed_after(sim, false);
	double most = TIMEOUT_S + GAMMA_PROBE_MAX_US / 1e6 + GAMMA_KEEPALIVE_US / 1e6;

	SIM_CHECK(sim, symmetric <= most, "both were declared dead after %.2f s", symmetric);
	SIM_CHECK(sim, one_way <= 2 * most, "cut one way only: after %.2f s", one_way);
	scenario_report("timeout %u s: both have failed after %.2f s; cut one way only: %.2f s",
			TIMEOUT_S, symmetric, one_way);
}

const struct sim_scenario scenario_declared_dead = {
	.name = "declared-dead",
	.summary = "a partition outlasts the peer timeout: both sides get errors",
	.configure = short_timeout,
	.run = declared_dead,
};

/* ---- closing ---- */

static bool closed(struct sim *sim, void *arg)
{
	(void) arg;
	return !sim_alive(sim, 0);
}

/* ms until it was closed, everything delivered. */
static double close_under_loss(struct sim *sim, uint64_t seed, uint32_t loss, unsigned *informed)
{
	struct sim_config config = *sim_config(sim);
	struct sim_message *messages[MESSAGES];
	struct sim *side;
	uint64_t began;
	double ms;

	config.seed = seed;
	side = scenario_begin(sim, &config);
	*sim_chances(side) = (struct sim_chances){.until = GAMMA_NEVER, .loss = loss};
	/* A frame has come from there lately: the peer has to be informed. */
	sim_exchange(side, 1, 0, 64, GAMMA_WHEN_ARRIVED);
	sim_finish(side, SIM_SEC);
	for (unsigned i = 0; i < MESSAGES; i++)
		messages[i] = sim_exchange(side, 0, 1, i % 4 ? 200 : 8000, GAMMA_WHEN_COPIED);
	began = sim_now(side);
	sim_close(side, 0);
	SIM_CHECK(side, sim_run_until(side, closed, NULL, 2 * SIM_SEC), "it has not closed");
	ms = (double) (sim_now(side) - began) / 1e6;
	sim_run(side, SIM_MS);
	for (unsigned i = 0; i < MESSAGES; i++)
		SIM_CHECK(side, messages[i]->received, "message %u was not delivered", i);
	*informed +=
		sim_endpoint(side, 1)->flow_count == 1 &&
		gamma_list_first(&sim_endpoint(side, 1)->local.flows, struct gamma_flow, all_entry)
				->state == GAMMA_FLOW_CLOSED;
	scenario_end(sim, side);
	return ms;
}

/* ms until it has closed toward a silent peer. */
static double close_in_vain(struct sim *sim)
{
	struct sim *side = scenario_begin(sim, NULL);
	uint64_t began;
	double ms;

	sim_exchange(side, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_finish(side, SIM_SEC);
	sim_excuse(side, 1);
	sim_cut(side, 0, 1, GAMMA_NEVER);
	sim_exchange(side, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	began = sim_now(side);
	sim_close(side, 0);
	SIM_CHECK(side, sim_run_until(side, closed, NULL, 10 * SIM_SEC), "it has not closed");
	ms = (double) (sim_now(side) - began) / 1e6;
	scenario_end(sim, side);
	return ms;
}

static bool waits_no_more(struct sim *sim, void *arg)
{
	(void) arg;
	return !sim_waits(sim, 1, 0);
}

/* ms until it has closed toward a peer that expects nothing but has waited for it so long. The
 * peer knows then, although so many BYEs are lost. */
static double close_on_a_waiting_one(struct sim *sim, unsigned lost, uint64_t waited)
{
	struct sim *side = scenario_begin(sim, NULL);
	struct sim_rule bye = scenario_lose(0, 1, GAMMA_KIND_BYE, GAMMA_ASK, 0);
	uint64_t began;
	double ms;

	sim_exchange(side, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_finish(side, SIM_SEC);
	sim_run(side, SIM_SEC);
	bye.times = lost;
	if (lost)
		sim_rule(side, bye);
	SIM_CHECK(side, sim_expect(side, 1, 0), "they do not know each other");
	sim_run(side, waited);
	began = sim_now(side);
	sim_close(side, 0);
	SIM_CHECK(side, sim_run_until(side, closed, NULL, 2 * SIM_SEC), "it has not closed");
	ms = (double) (sim_now(side) - began) / 1e6;
	SIM_CHECK(side, sim_run_until(side, waits_no_more, NULL, SIM_MS),
		  "%u lost: the peer still waits for an endpoint that has closed", lost);
	scenario_end(sim, side);
	return ms;
}

static void closing(struct sim *sim)
{
	double linger = (double) sim_config(sim)->linger / 1e6, longest = 0;
	double good = 0, vain = close_in_vain(sim);
	double at_once = close_on_a_waiting_one(sim, 0, 0), last = 0;
	double known = close_on_a_waiting_one(sim, 2 * GAMMA_BYE_TRIES, 2 * SIM_SEC);
	unsigned informed = 0, quick = 0;

	for (unsigned lost = 1; lost < GAMMA_BYE_TRIES; lost++)
		last = close_on_a_waiting_one(sim, lost, 0);
	good = close_under_loss(sim, 1, 0, &quick);
	for (unsigned seed = 1; seed <= LOSSY_RUNS; seed++)
		longest = gamma_max(longest, close_under_loss(sim, seed, 200000, &informed));
	SIM_CHECK(sim, quick == 1, "on a good network the peer does not know");
	SIM_CHECK(sim, longest <= linger && informed >= LOSSY_RUNS - 1,
		  "at 20 %% loss it took up to %.0f ms, and %u of %u peers know", longest, informed,
		  LOSSY_RUNS);
	SIM_CHECK(sim, vain <= linger + 2, "toward a silent peer it took %.0f ms", vain);
	SIM_CHECK(sim, at_once <= 2 && last <= 20,
		  "toward a peer that is owed nothing it took %.2f and %.1f ms", at_once, last);
	SIM_CHECK(sim, known <= linger + 2, "toward a peer that is known to wait it took %.0f ms",
		  known);
	scenario_report(
		"closing takes %.2f ms; at 20 %% loss at most %.1f, everything delivered, %u of %u "
		"peers know; toward a silent peer %.0f, the linger bound; toward one that is owed "
		"nothing %.2f, with all BYEs but the last lost %.1f; toward one that is known to "
		"wait, "
		"with %u of them lost, %.0f",
		good, longest, informed, LOSSY_RUNS, vain, at_once, last, 2 * GAMMA_BYE_TRIES,
		known);
}

const struct sim_scenario scenario_closing = {
	.name = "closing",
	.summary = "endpoints close on a bad network: delivered, peers informed, and within the "
		   "linger "
		   "bound",
	.run = closing,
};
