// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A port of 1 Gbit/s before the receiver, senders of 10 Gbit/s that fill it, and short messages
 * beside them: these wait for a few frames only, the port stays busy, and its senders share it.
 */
#include "scenario.h"

enum {
	SENDERS_MAX = 8,
	MESSAGE = 1 << 20,                 /* bytes */
	SHORT = 8,                         /* bytes */
	SHORT_WIRE = 14 + 40 + SHORT + 24, /* on the cable */
	APART_US = 20,                     /* from the end of a short message to the next one */
	LATER_MS = 20,                     /* the next sender begins */
	SETTLE_MS = 60,                    /* from the last sender's beginning */
	MEASURE_MS = 100,
};

struct beside {
	struct sim *sim;
	unsigned from;
	bool over;
	unsigned count;
	uint64_t ns; /* from send to receive, of all of them */
};

struct port {
	uint64_t rate; /* bit/s */
	uint32_t mtu;
	unsigned senders;
	bool shorts;
	bool trains;               /* over UDP: frames bear no time of arrival */
	uint64_t stop_every, stop; /* ns: the first sender is stopped that often, for so long */
};

struct outcome {
	double share;              /* payload, of what the port passes in full frames */
	double fair;               /* Jain's index over the senders */
	double waited;             /* frames that short messages wait */
	uint64_t slow_port_bounds; /* the receiver's count */
};

/* ---- short messages, one at a time ---- */

static void next_short(struct sim *sim, void *arg);

static void short_came(struct sim_message *message, void *arg)
{
	struct beside *beside = arg;
	uint64_t now = sim_now(message->sim);

	beside->count++;
	beside->ns += now - message->sent_at;
	sim_at(message->sim, now + APART_US * SIM_US, next_short, beside);
}

static void next_short(struct sim *sim, void *arg)
{
	struct beside *beside = arg;
	struct sim_message *message;

	if (beside->over)
		return;
	message = sim_message(sim, beside->from, 0, SHORT, GAMMA_WHEN_COPIED);
	message->on_received = short_came;
	message->arg = beside;
	sim_post(message, SHORT);
	sim_send(message);
}

static double mean(const struct beside *beside)
{
	return (double) beside->ns / gamma_max(beside->count, 1);
}

/* ---- one run ---- */

static struct sim *network(struct sim *sim, const struct port *port)
{
	struct sim_config config = *sim_config(sim);

	config.nodes = SENDERS_MAX + 1;
	config.rates[0] = port->rate;
	config.mtu = port->mtu;
	config.trains = port->trains;
	config.latency = 5 * SIM_US;
	config.port_buffer = 4 << 20;
	return scenario_begin(sim, &config);
}

/* ns that a short message takes on an idle network */
static double idle(struct sim *sim, const struct port *port)
{
	struct beside beside;
	struct sim *side = network(sim, port);

	beside = (struct beside){.sim = side, .from = 1};
	next_short(side, &beside);
	sim_run(side, SIM_MS);
	beside.over = true;
	sim_finish(side, SIM_SEC);
	scenario_end(sim, side);
	return mean(&beside);
}

static void stop_again(struct sim *sim, void *arg)
{
	const struct port *port = arg;

	sim_stop(sim, 1, sim_now(sim) + port->stop);
	sim_at(sim, sim_now(sim) + port->stop_every, stop_again, arg);
}

static void begin(struct sim *side, struct port *port, struct scenario_stream *streams,
		  struct beside *beside)
{
	for (unsigned i = 0; i < port->senders; i++) {
		streams[i] = (struct scenario_stream){.from = i + 1,
						      .length = MESSAGE,
						      .level = GAMMA_WHEN_ARRIVED,
						      .count = UINT32_MAX,
						      .window = 4};
		scenario_stream(side, &streams[i]);
		if (!i && port->shorts)
			next_short(side, beside);
		sim_run(side, LATER_MS * SIM_MS);
	}
	if (port->stop)
		stop_again(side, port);
}

static void taken(struct sim *side, uint64_t by_sender[SENDERS_MAX + 1])
{
	for (unsigned i = 0; i < sim_messages(side); i++)
		by_sender[sim_message_at(side, i)->from] += sim_message_at(side, i)->taken;
}

static struct outcome measure(struct sim *sim, struct port port)
{
	struct beside beside;
	struct scenario_stream streams[SENDERS_MAX];
	uint64_t before[SENDERS_MAX + 1] = {0}, after[SENDERS_MAX + 1] = {0};
	double wire = port.mtu + GAMMA_ETH_LEN + 24, sum = 0, squares = 0;
	double frame_ns = wire * 8e9 / (double) port.rate, none = idle(sim, &port);
	struct sim *side = network(sim, &port);
	struct outcome outcome = {0};

	beside = (struct beside){.sim = side, .from = 1};
	begin(side, &port, streams, &beside);
	sim_run(side, SETTLE_MS * SIM_MS);
	taken(side, before);
	beside.count = 0;
	beside.ns = 0;
	sim_run(side, MEASURE_MS * SIM_MS);
	taken(side, after);
	for (unsigned i = 1; i <= port.senders; i++) {
		double bytes = (double) (after[i] - before[i]);

		sum += bytes;
		squares += bytes * bytes;
	}
	outcome.share = (sum * wire / (port.mtu - GAMMA_BULK_HEADER) + beside.count * SHORT_WIRE) *
			8e3 / MEASURE_MS / (double) port.rate;
	outcome.fair = sum * sum / (port.senders * squares);
	if (beside.count)
		outcome.waited = (mean(&beside) - none) / frame_ns;
	outcome.slow_port_bounds = sim_stats(side, 0)->slow_port_bounds;
	for (unsigned i = 0; i < port.senders; i++)
		streams[i].count = streams[i].begun;
	beside.over = true;
	port.stop_every = SIM_SEC * 1000;
	sim_run(side, SIM_MS);
	sim_finish(side, 10 * SIM_SEC);
	scenario_end(sim, side);
	return outcome;
}

/* ---- what is promised ---- */

enum { GBIT = 1000000000 };

/* A short message waits for 3 frames, or, with other senders, for two of each and one more. */
static void beside_senders(struct sim *sim, uint32_t mtu, struct outcome *one, struct outcome *all)
{
	for (unsigned senders = 1; senders <= SENDERS_MAX; senders *= 2) {
		double most = gamma_max(3, 2 * senders + 1);

		*all = measure(sim, (struct port){GBIT, mtu, senders, .shorts = true});
		if (senders == 1)
			*one = *all;
		SIM_CHECK(sim, all->waited <= most, "MTU %u, %u senders: waits for %.1f frames",
			  mtu, senders, all->waited);
		SIM_CHECK(sim, all->share >= 0.98, "MTU %u, %u senders: %.1f %% of the port", mtu,
			  senders, 100 * all->share);
		SIM_CHECK(sim, all->fair >= 0.98, "MTU %u, %u senders: Jain %.3f", mtu, senders,
			  all->fair);
	}
}

/* No bound applies where it would help nobody, or where a frame takes no longer than hosts'
 * jitter. */
static void without_bound(struct sim *sim, struct port port)
{
	struct outcome outcome = measure(sim, port);

	SIM_CHECK(sim, !outcome.slow_port_bounds, "bounded at %.1f Gbit/s, MTU %u",
		  (double) port.rate / GBIT, port.mtu);
	SIM_CHECK(sim, outcome.share >= 0.99, "%.1f %% of %.1f Gbit/s, MTU %u", 100 * outcome.share,
		  (double) port.rate / GBIT, port.mtu);
}

static void slow_port(struct sim *sim)
{
	struct outcome one[2], all[2], faster;

	beside_senders(sim, 1500, &one[0], &all[0]);
	beside_senders(sim, 9000, &one[1], &all[1]);
	faster = measure(sim, (struct port){2 * (uint64_t) GBIT, 1500, 1, .shorts = true});
	SIM_CHECK(sim, faster.share >= 0.98 && faster.waited <= 3,
		  "at 2 Gbit/s %.1f %%, waits for %.1f frames", 100 * faster.share, faster.waited);
	without_bound(sim, (struct port){GBIT, 1500, 1, .shorts = false});
	without_bound(sim, (struct port){GBIT, 9000, 1, .shorts = false});
	without_bound(sim, (struct port){25 * (uint64_t) GBIT / 10, 1500, 1, .shorts = true});
	without_bound(sim, (struct port){5 * (uint64_t) GBIT, 9000, 1, .shorts = true});
	scenario_report("a short message waits for %.1f (1,500) and %.1f frames (9,000), beside %u "
			"senders %.1f and %.1f, which take %.1f and %.1f %% of the port, Jain %.3f "
			"and %.3f",
			one[0].waited, one[1].waited, SENDERS_MAX, all[0].waited, all[1].waited,
			100 * all[0].share, 100 * all[1].share, all[0].fair, all[1].fair);
}

const struct sim_scenario scenario_slow_port = {
	.name = "slow-port",
	.summary = "short messages beside streams at a port of 1 Gbit/s wait for at most 3 frames; "
		   "the port is full, and shared equally",
	.run = slow_port,
};

/* The host sees trains, whose frames have one time. */
static void slow_port_trains(struct sim *sim)
{
	struct outcome one = measure(sim, (struct port){GBIT, 1500, 1, true, true, 0, 0});

	SIM_CHECK(sim, one.slow_port_bounds, "no bound");
	SIM_CHECK(sim, one.waited <= 6, "waits for %.1f frames", one.waited);
	SIM_CHECK(sim, one.share >= 0.95, "%.1f %% of the port", 100 * one.share);
	without_bound(sim, (struct port){GBIT, 1500, 1, false, true, 0, 0});
	without_bound(sim, (struct port){5 * (uint64_t) GBIT, 1500, 1, true, true, 0, 0});
	scenario_report("a short message waits for %.1f frames beside a stream that takes %.1f %%",
			one.waited, 100 * one.share);
}

const struct sim_scenario scenario_slow_port_trains = {
	.name = "slow-port-trains",
	.summary = "short messages beside a stream in trains, as over UDP, wait for at most 6 "
		   "frames of a port of 1 Gbit/s",
	.run = slow_port_trains,
};

/* If the sender's process is away again and again, less data in flight costs bandwidth, but
 * not all. */
static void slow_port_away(struct sim *sim)
{
	double least = 1;

	for (unsigned stop = 1; stop <= 4; stop *= 2) {
		struct port port = {GBIT, 1500, 1, true, false, 20 * SIM_MS, stop * SIM_MS};
		struct outcome with = measure(sim, port), without;

		port.shorts = false;
		without = measure(sim, port);
		if (with.share < least * without.share)
			least = with.share / without.share;
	}
	SIM_CHECK(sim, least >= 0.85, "%.1f %% of what came without short messages", 100 * least);
	scenario_report("1, 2, 4 of 20 ms: at least %.1f %% of what comes without short messages",
			100 * least);
}

const struct sim_scenario scenario_slow_port_away = {
	.name = "slow-port-away",
	.summary = "the same with the sender stopped again and again: the bound does not cost much",
	.run = slow_port_away,
};
