// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A simulation's life: configuration, clock, random numbers, verdict; see sim.h. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
	void (*call)(struct sim *sim, void *arg);
	void *arg;
};

void sim_config_default(struct sim_config *config)
{
	*config = (struct sim_config){
		.seed = 1,
		.nodes = 2,
		.slots = 256,
		.mtu = 1500,
		.rate = 10000000000,
		.latency = 2 * SIM_US,
		.port_buffer = 1 << 20,
		.nic_queue = 1 << 20,
		.inject_size = 512,
		.eager_size = 16384,
		.unexpected_size = 64 << 20,
		.peer_timeout = 30 * SIM_SEC,
		.forget = 30 * SIM_SEC,
		.linger = SIM_SEC,
		.cost_call = 50,
		.cost_frame = 100,
		.cost_kib = 120,
		.watched = true,
		.stamped = true,
		.steps_max = 50000000,
	};
}

/* ---- random numbers: splitmix64 ---- */

uint64_t sim_random(struct sim *sim)
{
	uint64_t z = sim->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) >> 8;
}

uint64_t sim_between(struct sim *sim, uint64_t low, uint64_t high)
{
	return low + sim_random(sim) % (high - low + 1);
}

/* ---- beginning and end ---- */

struct sim *sim_new(const struct sim_config *config)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		abort();
	sim->config = *config;
	sim->now = SIM_START;
	sim->random = config->seed * 0x9e3779b97f4a7c15ull + 1;
	sim->quiet = true;
	sim->totals.seeds = 1;
	sim->nodes = calloc(config->nodes, sizeof(*sim->nodes));
	if (!sim->nodes || config->nodes > SIM_NODES_MAX)
		abort();
	for (unsigned i = 0; i < config->nodes; i++)
		node_init(sim, i);
	return sim;
}

static void free_event(struct sim *sim, const struct event *event)
{
	if (event->kind == EVENT_SWITCH || event->kind == EVENT_HOST)
		wire_frame_free(sim, event->what);
	else if (event->kind == EVENT_CALL)
		free(event->what);
}

void sim_free(struct sim *sim)
{
	if (!sim)
		return;
	for (unsigned i = 0; i < sim->config.nodes; i++) {
		node_end(&sim->nodes[i]);
		free(sim->nodes[i].cut_until);
		free(sim->nodes[i].train);
	}
	for (size_t i = 0; i < sim->heap.count; i++)
		free_event(sim, &sim->heap.events[i]);
	event_free(&sim->heap);
	attacker_free(sim);
	wire_free(sim);
	app_free(sim);
	remote_free(sim);
	if (sim->pcap)
		pcap_close(sim->pcap);
	free(sim->nodes);
	free(sim);
}

const struct sim_config *sim_config(const struct sim *sim)
{
	return &sim->config;
}

void sim_switch_mtu(struct sim *sim, uint32_t mtu)
{
	sim->config.switch_mtu = mtu;
	sim->shrunk = true;
}

void sim_virtual_nics(struct sim *sim)
{
	sim->virtual = true;
}

void sim_nic_mtu(struct sim *sim, unsigned node, unsigned nic, uint32_t mtu)
{
	struct gamma_link *link = &node_of(sim, node)->nics[nic].link;

	if (mtu >= link->mtu)
		return;
	link->mtu = mtu;
	sim->totals.lowered++;
}

void sim_tap(struct sim *sim, struct sim_tap tap)
{
	sim->tap = tap;
}

/* ---- time ---- */

uint64_t sim_now(const struct sim *sim)
{
	return sim->now;
}

void sim_push(struct sim *sim, uint64_t when, enum event_kind kind, uint32_t life, void *what)
{
	event_push(&sim->heap, (struct event){
				       .time = gamma_max(when, sim->now),
				       .kind = kind,
				       .life = life,
				       .what = what,
			       });
}

void sim_at(struct sim *sim, uint64_t when, void (*call)(struct sim *sim, void *arg), void *arg)
{
	struct call *later = malloc(sizeof(*later));

	if (!later)
		abort();
	*later = (struct call){call, arg};
	sim_push(sim, when, EVENT_CALL, 0, later);
}

static void run_call(struct sim *sim, struct call *later)
{
	struct call call = *later;

	free(later);
	call.call(sim, call.arg);
}

static void run_node(struct sim *sim, const struct event *event)
{
	struct node *node = event->what;

	/* Superseded by an earlier or later call, or by another incarnation. */
	if (node->run_at == sim->now && node->life == event->life)
		node_run(node);
}

static void run_event(struct sim *sim, const struct event *event)
{
	switch (event->kind) {
	case EVENT_SWITCH:
		wire_at_switch(sim, event->what);
		break;
	case EVENT_HOST:
		wire_at_host(sim, event->what);
		break;
	case EVENT_NODE:
		run_node(sim, event);
		break;
	case EVENT_POST:
	case EVENT_SEND:
		app_event(sim, *event);
		break;
	case EVENT_BACK:
		node_back(event->what);
		break;
	case EVENT_CALL:
		run_call(sim, event->what);
		break;
	}
}

/* One event; false: none before until. */
static bool step(struct sim *sim, uint64_t until)
{
	struct event event;

	if (!sim->heap.count || sim->heap.events[0].time > until)
		return false;
	event = event_pop(&sim->heap);
	sim->now = event.time;
	digest(sim, event.time ^ (uint64_t) event.kind << 56);
	if (++sim->steps > sim->config.steps_max)
		sim_fail(sim, "livelock: %llu events", (unsigned long long) sim->steps);
	run_event(sim, &event);
	return true;
}

bool sim_run(struct sim *sim, uint64_t duration)
{
	uint64_t until = sim->now + duration;

	while (!failed(sim) && step(sim, until))
		;
	if (!failed(sim))
		sim->now = until;
	return !failed(sim);
}

bool sim_run_until(struct sim *sim, bool (*condition)(struct sim *sim, void *arg), void *arg,
		   uint64_t limit)
{
	uint64_t until = sim->now + limit;

	while (!failed(sim) && !condition(sim, arg))
		if (!step(sim, until))
			return false;
	return !failed(sim);
}

uint64_t sim_round_trip(const struct sim *sim, unsigned a, unsigned b)
{
	uint64_t there = wire_time(64, wire_rate(sim, a)) + wire_time(64, wire_rate(sim, b));

	return 2 * (sim->config.latency + there);
}

uint64_t sim_stream_time(const struct sim *sim, unsigned a, unsigned b, uint64_t bytes)
{
	uint64_t rate = gamma_min(wire_rate(sim, a), wire_rate(sim, b));
	uint32_t mtu = (uint32_t) gamma_min(GAMMA_SAFE_MTU, sim->config.mtu);
	uint64_t frames = bytes / (mtu - GAMMA_BULK_HEADER) + 1;

	return frames * wire_time(mtu + GAMMA_ETH_LEN, rate);
}

/* ---- lists ---- */

enum { LIST_FIRST = 256 }; /* entries, a power of two */

void *sim_grow_list(void *list, unsigned count)
{
	if (count && (count < LIST_FIRST || count & (count - 1)))
		return list;
	list = realloc(list, (count ? 2ul * count : LIST_FIRST) * sizeof(void *));
	if (!list)
		abort();
	return list;
}

/* ---- verdict ---- */

void sim_fail(struct sim *sim, const char *format, ...)
{
	va_list args;
	size_t len;

	if (failed(sim))
		return;
	len = (size_t) snprintf(sim->failure, sizeof(sim->failure),
				"at %.9f s: ", (double) sim->now / 1e9);
	va_start(args, format);
	vsnprintf(sim->failure + len, sizeof(sim->failure) - len, format, args);
	va_end(args);
}

const char *sim_failure(const struct sim *sim)
{
	return failed(sim) ? sim->failure : NULL;
}

void sim_verbose(struct sim *sim, bool verbose)
{
	sim->verbose = verbose;
}

void sim_note(struct sim *sim, const char *format, ...)
{
	va_list args;

	if (!sim->verbose)
		return;
	fprintf(stderr, "%.9f ", (double) sim->now / 1e9);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}
