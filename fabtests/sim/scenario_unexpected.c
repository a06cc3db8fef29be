// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unexpected messages: memory stays bounded, and expected ones are served. */
#include "scenario.h"

#include <stdlib.h>

static uint64_t most_kept(struct sim *sim)
{
	uint64_t most = 0;

	for (unsigned node = 0; node < sim_config(sim)->nodes; node++)
		most = gamma_max(most, sim_endpoint(sim, node)->messages.buffered);
	return most;
}

/* ---- one message behind ten thousand ---- */

enum { OTHERS = 10000, LOOK_US = 100 };

static void little_memory(struct sim_config *config)
{
	config->unexpected_size = 64 << 10;
}

static bool has_come(struct sim *sim, void *arg)
{
	const struct sim_message *wanted = arg;

	(void) sim;
	return wanted->received;
}

static struct sim_message *send_others(struct sim *sim, unsigned index)
{
	static const uint64_t lengths[] = {64, 700, 1400, 5000};
	struct sim_message *message = sim_message(sim, 0, 1, lengths[index % 4], (int) (index % 2));

	sim_send(message);
	return message;
}

static void behind(struct sim *sim)
{
	struct sim_message **others = calloc(OTHERS, sizeof(*others)), *wanted;
	uint64_t most = 0, asked;
	double trips;

	for (unsigned i = 0; i < OTHERS; i++) {
		others[i] = send_others(sim, i);
		if (i % 16 == 0)
			sim_run(sim, 16 * 4 * SIM_US);
		most = gamma_max(most, most_kept(sim));
	}
	sim_run(sim, 10 * SIM_MS);
	asked = sim_now(sim);
	wanted = sim_exchange(sim, 0, 1, 2000, GAMMA_WHEN_ARRIVED);
	sim_run_until(sim, has_come, wanted, SIM_SEC);
	trips = scenario_trips(sim, wanted->received_at - asked);
	SIM_CHECK(sim, wanted->received && trips < 4, "what was wanted took %.1f round trips",
		  trips);
	for (unsigned i = 0; i < OTHERS && others; i++)
		sim_post(others[OTHERS - 1 - i], others[OTHERS - 1 - i]->length);
	sim_finish(sim, 10 * SIM_SEC);
	SIM_CHECK(sim, !most_kept(sim), "memory is left over");
	scenario_report(
		"behind %u messages that nobody wants: %.1f round trips; %llu of them cut, at "
		"most %llu KiB kept, all received in the end",
		OTHERS, trips, (unsigned long long) sim_stats(sim, 1)->demoted,
		(unsigned long long) most >> 10);
	free(others);
}

const struct sim_scenario scenario_behind = {
	.name = "behind-unexpected",
	.summary = "a message behind 10,000 unexpected ones comes at once, in 64 KiB of memory",
	.configure = little_memory,
	.run = behind,
};

/* ---- everybody to everybody, nothing expected ---- */

enum { HOSTS = 32, EACH = 4 };

static void many_small_rings(struct sim_config *config)
{
	config->nodes = HOSTS;
	config->slots = SIM_SLOTS_MIN;
	config->unexpected_size = 256 << 10;
	config->port_buffer = 16 << 20;
}

static void all_to_all(struct sim *sim)
{
	static const uint64_t lengths[EACH] = {64, 1400, 12000, 100000};
	uint64_t posts = sim_now(sim) + 20 * SIM_MS;
	struct gamma_stats stats;
	uint64_t most = 0;

	/* First frames of unknown peers meet rings that nobody empties. */
	for (unsigned i = 0; i < HOSTS; i += 4)
		sim_stop(sim, i, sim_now(sim) + 3 * SIM_MS);
	for (unsigned i = 0; i < HOSTS * HOSTS * EACH; i++) {
		unsigned from = i / EACH / HOSTS, to = i / EACH % HOSTS;
		struct sim_message *message;

		if (from == to)
			continue;
		message = sim_message(sim, from, to, lengths[i % EACH], GAMMA_WHEN_ARRIVED);
		sim_send_at(message, sim_now(sim) + sim_between(sim, 0, SIM_MS));
		sim_post_at(message, message->length, posts + sim_between(sim, 0, SIM_MS));
	}
	for (unsigned i = 0; i < 200; i++) {
		sim_run(sim, LOOK_US * SIM_US);
		most = gamma_max(most, most_kept(sim));
	}
	sim_finish(sim, 20 * SIM_SEC);
	stats = scenario_stats(sim);
	SIM_CHECK(sim, stats.retransmissions <= stats.ring_drops,
		  "%llu frames were sent again, rings dropped %llu",
		  (unsigned long long) stats.retransmissions,
		  (unsigned long long) stats.ring_drops);
	SIM_CHECK(sim, most <= sim_config(sim)->unexpected_size, "%llu bytes kept",
		  (unsigned long long) most);
	scenario_report(
		"%u hosts, rings of %u: %llu messages, %.1f ms after the receives; %llu DATA "
		"frames, rings dropped %llu, %llu sent again, %llu cut, at most %llu KiB kept",
		HOSTS, SIM_SLOTS_MIN, (unsigned long long) stats.messages_in,
		(double) (sim_now(sim) - posts) / 1e6, (unsigned long long) stats.data_frames_out,
		(unsigned long long) stats.ring_drops, (unsigned long long) stats.retransmissions,
		(unsigned long long) stats.demoted, (unsigned long long) most >> 10);
}

const struct sim_scenario scenario_all_to_all = {
	.name = "all-to-all",
	.summary =
		"32 hosts, all to all, all unexpected, smallest rings: no deadlock, bounded memory",
	.configure = many_small_rings,
	.run = all_to_all,
};
