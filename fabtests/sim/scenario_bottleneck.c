// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A flow over UDP shares a port of 100 Mbit/s on a routed path with other traffic: a TCP sender
 * with CUBIC (RFC 9438) and HyStart, modelled here by its window alone.
 */
#include <stdlib.h>

#include "scenario.h"

enum {
	MESSAGE = 1 << 20, /* bytes */
	SEGMENT = 1514,    /* bytes: of a TCP segment on the cable */
	SEGMENT_DATA = 1448,
	MARK_AT = 128 << 10, /* bytes in the port's queue */
	LATER_MS = 2000,     /* the second begins */
	SETTLE_MS = 30000,
	MEASURE_MS = 20000,
};

/* ---- the TCP sender ---- */

struct tcp {
	struct sim *sim;
	bool stopped;             /* sends nothing new */
	double window;            /* segments */
	double slow_start;        /* segments: below it the window doubles in a round trip */
	double most;              /* segments: the window when it was last reduced */
	double reno;              /* segments: as Reno's would be */
	double plateau;           /* s after `began`: when the window is at `most` again */
	uint64_t began;           /* ns: the growth since the last reduction; 0: not yet */
	uint64_t rtt_min;         /* ns */
	uint64_t next, recover;   /* segments: the next one; losses before this one are known */
	uint64_t under_way, data; /* segments; bytes that have arrived */
};

struct segment {
	struct tcp *tcp;
	uint64_t number, sent; /* sent: ns */
	bool lost;
};

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double cube_root(double value)
{
	double root = value > 1 ? value : 1;

	for (unsigned i = 0; i < 60; i++)
		root = (2 * root + value / (root * root)) / 3;
	return value > 0 ? root : 0;
}

static void grow(struct tcp *tcp)
{
	double since, target;

	if (tcp->window < tcp->slow_start) {
		tcp->window++;
		return;
	}
	if (!tcp->began) {
		tcp->began = sim_now(tcp->sim);
		tcp->plateau = cube_root((tcp->most - tcp->window) / 0.4);
		tcp->reno = tcp->window;
	}
	since = (double) (sim_now(tcp->sim) - tcp->began + tcp->rtt_min) / 1e9 - tcp->plateau;
	target = tcp->most + 0.4 * since * since * since;
	tcp->reno += 9.0 / 17 / tcp->window;
	if (target > tcp->window)
		tcp->window += smaller((target - tcp->window) / tcp->window, 0.5);
	tcp->window = larger(tcp->window, tcp->reno);
}

static void reduce(struct tcp *tcp)
{
	tcp->most = tcp->window < tcp->most ? 0.85 * tcp->window : tcp->window;
	tcp->window = larger(0.7 * tcp->window, 2.0);
	tcp->slow_start = tcp->window;
	tcp->began = 0;
	tcp->recover = tcp->next;
}

static void send_segments(struct tcp *tcp);

/* Its acknowledgement is here, or the evidence of its loss. */
static void heard_of(struct sim *sim, void *arg)
{
	struct segment *segment = arg;
	struct tcp *tcp = segment->tcp;
	uint64_t trip = sim_now(sim) - segment->sent;

	tcp->under_way--;
	if (segment->lost) {
		if (segment->number >= tcp->recover)
			reduce(tcp);
	} else {
		tcp->data += SEGMENT_DATA;
		tcp->rtt_min = gamma_min(tcp->rtt_min, trip);
		if (tcp->window < tcp->slow_start && trip > tcp->rtt_min + tcp->rtt_min / 8)
			tcp->slow_start = tcp->window;
		grow(tcp);
	}
	free(segment);
	send_segments(tcp);
}

/* Those behind a lost one arrive after the queue that was full, and their acknowledgements are the
 * evidence. */
static void at_port(struct sim *sim, void *arg)
{
	struct segment *segment = arg;
	uint64_t arrives;

	segment->lost = !sim_cross(sim, 0, SEGMENT, &arrives);
	sim_at(sim, arrives + sim_config(sim)->latency, heard_of, segment);
}

static void send_segments(struct tcp *tcp)
{
	while (!tcp->stopped && (double) (tcp->under_way + 1) <= tcp->window) {
		struct segment *segment = malloc(sizeof(*segment));

		if (!segment)
			abort();
		*segment = (struct segment){tcp, tcp->next++, sim_now(tcp->sim), false};
		tcp->under_way++;
		sim_at(tcp->sim, sim_now(tcp->sim) + sim_config(tcp->sim)->latency / 2, at_port,
		       segment);
	}
}

static bool is_silent(struct sim *sim, void *arg)
{
	const struct tcp *tcp = arg;

	(void) sim;
	return !tcp->under_way;
}

/* ---- the scenario ---- */

static void far_away(struct sim_config *config)
{
	config->routed = true;
	config->trains = true;
	config->slots = 2048;
	config->rates[0] = 100000000;
	config->latency = 10 * SIM_MS;
	config->port_buffer = 512 << 10;
}

static uint64_t taken(const struct sim *sim)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < sim_messages(sim); i++)
		bytes += sim_message_at(sim, i)->taken;
	return bytes;
}

static void far_away_marked(struct sim_config *config)
{
	far_away(config);
	config->mark_at = MARK_AT;
}

struct shares {
	double gamma, tcp; /* parts of what the port passes */
	uint64_t reductions, again;
};

static struct shares share(struct sim *sim, bool tcp_first)
{
	const double possible = 12500000.0 * MEASURE_MS / 1000;
	struct scenario_stream stream = {.from = 1,
					 .length = MESSAGE,
					 .level = GAMMA_WHEN_ARRIVED,
					 .count = UINT32_MAX,
					 .window = 4};
	struct sim *side = scenario_begin(sim, NULL);
	struct tcp tcp = {
		.sim = side, .window = 10, .slow_start = 1e9, .rtt_min = UINT64_MAX, .most = 0};
	struct gamma_stats stats;
	struct shares shares;
	uint64_t before;

	if (tcp_first)
		send_segments(&tcp);
	else
		scenario_stream(side, &stream);
	sim_run(side, LATER_MS * SIM_MS);
	if (tcp_first)
		scenario_stream(side, &stream);
	else
		send_segments(&tcp);
	sim_run(side, SETTLE_MS * SIM_MS);
	before = taken(side);
	tcp.data = 0;
	sim_run(side, MEASURE_MS * SIM_MS);
	stats = scenario_stats(side);
	shares = (struct shares){(double) (taken(side) - before) / possible,
				 (double) tcp.data / possible, stats.window_reductions,
				 stats.retransmissions};
	stream.count = stream.begun;
	tcp.stopped = true;
	sim_run_until(side, is_silent, &tcp, SIM_SEC);
	sim_finish(side, 10 * SIM_SEC);
	scenario_end(sim, side);
	return shares;
}

static void check_shares(struct sim *sim, struct shares shares)
{
	double both = shares.gamma + shares.tcp;

	SIM_CHECK(sim, shares.gamma >= 0.35 * both && shares.tcp >= 0.35 * both,
		  "gamma has %.0f %% of both", 100 * shares.gamma / both);
	SIM_CHECK(sim, both >= 0.8, "the port is busy for %.2f of the time", both);
}

static void report_shares(struct shares later, struct shares first)
{
	scenario_report("gamma has %.0f %% if it begins later, %.0f %% if it begins first; both "
			"have %.2f and %.2f of the port",
			100 * later.gamma / (later.gamma + later.tcp),
			100 * first.gamma / (first.gamma + first.tcp), later.gamma + later.tcp,
			first.gamma + first.tcp);
}

static void beside_tcp(struct sim *sim)
{
	struct shares later = share(sim, true), first = share(sim, false);

	check_shares(sim, later);
	check_shares(sim, first);
	report_shares(later, first);
}

/* What TCP, which this model does not mark, loses there is marked of the flow: it slows down as TCP
 * does, and has nothing to send again. */
static void check_marked(struct sim *sim, struct shares shares)
{
	check_shares(sim, shares);
	SIM_CHECK(sim, shares.reductions, "no window shrank");
	SIM_CHECK(sim, !shares.again, "%llu frames were sent again",
		  (unsigned long long) shares.again);
}

static void beside_tcp_marked(struct sim *sim)
{
	struct shares later = share(sim, true), first = share(sim, false);

	check_marked(sim, later);
	check_marked(sim, first);
	report_shares(later, first);
}

const struct sim_scenario scenario_bottleneck_fair = {
	.name = "bottleneck-fair",
	.summary = "a flow over UDP and a TCP sender share a port of 100 Mbit/s, 20 ms away",
	.configure = far_away,
	.run = beside_tcp,
};

const struct sim_scenario scenario_bottleneck_marked = {
	.name = "bottleneck-marked",
	.summary = "the same before a port that marks frames (ECN) and drops segments early",
	.configure = far_away_marked,
	.run = beside_tcp_marked,
};

/* ---- two NICs over UDP ---- */

static void two_marked(struct sim_config *config)
{
	far_away_marked(config);
	config->trains = false;
	config->nics[0] = config->nics[1] = 2;
}

/* Each NIC is at a path of its own, and the sender slows down for either. */
static void both_marked(struct sim *sim)
{
	const double possible = 2 * 12500000.0 * MEASURE_MS / 1000;
	struct scenario_stream stream = {.from = 1,
					 .length = MESSAGE,
					 .level = GAMMA_WHEN_ARRIVED,
					 .count = UINT32_MAX,
					 .window = 8};
	struct gamma_stats stats;
	uint64_t before;
	double busy;

	sim_exchange(sim, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	sim_run(sim, SIM_SEC);
	scenario_stream(sim, &stream);
	sim_run(sim, SETTLE_MS * SIM_MS);
	before = taken(sim);
	sim_run(sim, MEASURE_MS * SIM_MS);
	busy = (double) (taken(sim) - before) / possible;
	stats = scenario_stats(sim);
	stream.count = stream.begun;
	sim_finish(sim, 10 * SIM_SEC);
	SIM_CHECK(sim, stats.rails_proven == 2, "the second NIC is not used");
	SIM_CHECK(sim, stats.ecn_marked && stats.window_reductions, "no window shrank");
	SIM_CHECK(sim, !stats.retransmissions, "%llu frames were sent again",
		  (unsigned long long) stats.retransmissions);
	SIM_CHECK(sim, busy >= 0.8, "the ports are busy for %.2f of the time", busy);
	scenario_report("%.2f of both ports; %llu frames were marked; the window shrank %llu times",
			busy, (unsigned long long) stats.ecn_marked,
			(unsigned long long) stats.window_reductions);
}

const struct sim_scenario scenario_two_nics_marked = {
	.name = "two-nics-marked",
	.summary = "two NICs over UDP, each before a port of 100 Mbit/s that marks frames (ECN)",
	.configure = two_marked,
	.run = both_marked,
};
