// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Draws a run from a seed. In its first span applications send and post while network and hosts
 * misbehave; then everything heals, and within a bound computed from what was drawn all that can
 * end must have ended.
 */
#include "draw.h"
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_plan.h"

enum {
	MESSAGES_MIN = 200,
	MESSAGES_MORE = 120,
	SLICE_US = 500,
	RAILS_S = 9, /* in which all rails are used again */
};

enum shape { ALL_TO_ALL, TO_ONE, RING, PAIRS, SHAPES };

/* ---- faults of hosts and cables ---- */

static unsigned any_node(struct plan *plan)
{
	return (unsigned) (dice(plan) % plan->config.nodes);
}

static uint64_t some_time(struct plan *plan)
{
	return SIM_START + dice(plan) % plan->span;
}

static void heals(struct plan *plan, uint64_t from, uint64_t until)
{
	plan->heal = gamma_max(plan->heal, until);
	plan->silence = gamma_max(plan->silence, until - from);
}

/* What sim_at calls at its time: an event of one node, or of two, that lasts until then. */
struct incident {
	struct sim *sim;
	enum {
		STOP,
		COMPUTE,
		REFUSE,
		CUT,
		CUT_ONE_WAY,
		KILL,
		UNPLUG,
		TELL,
		LEAVE,
		SHRINK,
		LOWER,
		FOREIGN,
		CUT_RAIL,
		DOWN_RAIL
	} what;
	unsigned a, b;  /* LOWER, SHRINK: b bytes; of a rail: b its place */
	uint64_t until; /* LOWER: place of the NIC */
};

static void happen(struct sim *sim, void *arg)
{
	struct incident incident = *(struct incident *) arg;

	free(arg);
	switch (incident.what) {
	case STOP:
		if (sim->nodes[incident.a].away < incident.until)
			sim_stop(sim, incident.a, incident.until);
		break;
	case COMPUTE:
		if (sim->nodes[incident.a].away < incident.until)
			sim_compute(sim, incident.a, incident.until);
		break;
	case REFUSE:
		sim_refuse(sim, incident.a, incident.until);
		break;
	case CUT:
		sim_cut(sim, incident.a, incident.b, incident.until);
		break;
	case CUT_ONE_WAY:
		sim_cut_one_way(sim, incident.a, incident.b, incident.until);
		break;
	case UNPLUG:
		sim_unplug(sim, incident.a, incident.until);
		break;
	case KILL:
		if (sim_alive(sim, incident.a))
			sim_kill(sim, incident.a, incident.until);
		break;
	case TELL:
		sim_publish_epoch(sim, incident.a);
		break;
	case LEAVE:
		sim_close(sim, incident.a);
		break;
	case SHRINK:
		sim_switch_mtu(sim, incident.b);
		break;
	case LOWER:
		sim_nic_mtu(sim, incident.a, (unsigned) incident.until, incident.b);
		break;
	case FOREIGN:
		sim_foreign(sim, incident.a, incident.b);
		break;
	case CUT_RAIL:
		sim_rail_cut(sim, incident.a, incident.b, incident.until);
		break;
	case DOWN_RAIL:
		sim_rail_down(sim, incident.a, incident.b, incident.until);
		break;
	}
}

static void plan_incident(struct sim *sim, uint64_t when, struct incident incident)
{
	struct incident *copy = malloc(sizeof(*copy));

	if (!copy)
		abort();
	*copy = incident;
	sim_at(sim, when, happen, copy);
}

static void lasting(struct plan *plan, struct sim *sim, int what, uint64_t low, uint64_t high)
{
	uint64_t when = some_time(plan), until = when + spread(plan, low, high);
	unsigned a = any_node(plan);
	unsigned b =
		(a + 1 + (unsigned) (dice(plan) % (plan->config.nodes - 1))) % plan->config.nodes;

	heals(plan, when, until);
	plan_incident(sim, when, (struct incident){sim, what, a, b, until});
}

static void plan_deaths(struct plan *plan, struct sim *sim)
{
	unsigned count = 1 + (unsigned) (dice(plan) % 2);

	plan->dead = true;
	plan->faults++;
	for (unsigned i = 0; i < count; i++) {
		uint64_t when = some_time(plan), back = when + spread(plan, 1, SIM_SEC);
		unsigned node = any_node(plan);

		sim_excuse(sim, node);
		if (percent(plan, 20)) {
			plan_incident(sim, when,
				      (struct incident){sim, KILL, node, 0, GAMMA_NEVER});
			continue;
		}
		heals(plan, when, back + SIM_SEC);
		plan_incident(sim, when, (struct incident){sim, KILL, node, 0, back});
		plan_incident(sim, back + dice(plan) % (100 * SIM_MS),
			      (struct incident){sim, TELL, node, 0, 0});
	}
}

/* Some node closes in order while frames of it are in flight, and some of these come again
 * later. */
static void plan_leaving(struct plan *plan, struct sim *sim)
{
	unsigned node = any_node(plan);

	plan->dead = true;
	sim_excuse(sim, node);
	plan_incident(sim, some_time(plan), (struct incident){sim, LEAVE, node, 0, 0});
}

static void plan_cuts(struct plan *plan, struct sim *sim)
{
	if (percent(plan, 15))
		lasting(plan, sim, CUT, SIM_US * 100, 3 * SIM_SEC);
	else if (percent(plan, 15))
		lasting(plan, sim, CUT_ONE_WAY, SIM_US * 100, 3 * SIM_SEC);
	else if (percent(plan, 10))
		lasting(plan, sim, UNPLUG, SIM_US * 100, 3 * SIM_SEC);
	else
		return;
	plan->faults++;
}

static void plan_hosts(struct plan *plan, struct sim *sim)
{
	if (percent(plan, 40))
		for (unsigned i = 1 + (unsigned) (dice(plan) % 3); i; i--)
			lasting(plan, sim, STOP, SIM_MS, 10 * SIM_SEC);
	if (percent(plan, 50))
		for (unsigned i = 1 + (unsigned) (dice(plan) % 20); i; i--)
			lasting(plan, sim, COMPUTE, 10 * SIM_US, 200 * SIM_MS);
	if (percent(plan, 25))
		lasting(plan, sim, REFUSE, 10 * SIM_US, 50 * SIM_MS);
	if (percent(plan, 30))
		for (unsigned i = 0; i < plan->config.nodes; i++)
			sim_watch(sim, i, percent(plan, 50));
	if (plan->lossless)
		return;
	plan_cuts(plan, sim);
	if (percent(plan, 15))
		plan_deaths(plan, sim);
	if (percent(plan, 4)) {
		unsigned node = any_node(plan);

		plan->dead = true;
		sim_excuse(sim, node);
		plan_incident(sim, some_time(plan),
			      (struct incident){sim, STOP, node, 0, GAMMA_NEVER});
	}
}

/* ---- traffic ---- */

static uint64_t draw_length(struct plan *plan)
{
	const struct sim_config *config = &plan->config;
	uint64_t payload = config->mtu - GAMMA_HEADER_LEN - 8;
	uint64_t length;

	if (percent(plan, 30))
		length = PICK(plan, 0, 1, config->inject_size, config->inject_size + 1, payload - 1,
			      payload, payload + 1, config->eager_size - 1, config->eager_size,
			      config->eager_size + 1, 1 << 20);
	else
		length = spread(plan, 1, plan->longest);
	/* A run is to be short. */
	return plan->volume + length > 24 << 20 ? length % 512 : length;
}

static void draw_pair(struct plan *plan, unsigned *from, unsigned *to)
{
	unsigned nodes = plan->config.nodes;

	*from = any_node(plan);
	*to = (*from + 1 + (unsigned) (dice(plan) % (nodes - 1))) % nodes;
	if (plan->shape == TO_ONE && *from)
		*to = 0;
	else if (plan->shape == RING)
		*to = (*from + 1) % nodes;
	else if (plan->shape == PAIRS)
		*to = (*from ^ 1) < nodes ? *from ^ 1 : (*from + 1) % nodes;
}

/* An application addresses a peer with or without its epoch, varying. */
static bool knows_in_part(const struct plan *plan, unsigned from, unsigned to)
{
	return (from * 64 + to) * 2654435761u % 100 < plan->partial;
}

static void plan_message(struct plan *plan, struct sim *sim, uint64_t when)
{
	struct sim_message *message;
	uint64_t length = draw_length(plan), capacity = length;
	unsigned from, to;

	draw_pair(plan, &from, &to);
	message = sim_message(sim, from, to, length, (int) (dice(plan) % LEVELS));
	message->partial = knows_in_part(plan, from, to);
	plan->volume += length;
	sim_send_at(message, when);
	if (plan->unposted && percent(plan, 10))
		return;
	if (percent(plan, 10))
		capacity = percent(plan, 50) ? length / 2 : length + 100;
	when = percent(plan, 55) ? SIM_START + dice(plan) % (when - SIM_START + 1)
				 : when + spread(plan, 100, 2 * plan->span);
	sim_post_at(message, capacity, when);
	plan->heal = gamma_max(plan->heal, when);
}

static void plan_traffic(struct plan *plan, struct sim *sim)
{
	unsigned left = plan->messages;
	uint64_t calm = plan->span / (1 + dice(plan) % 20);

	while (left) {
		uint64_t when = some_time(plan);
		unsigned burst = percent(plan, 30) ? (unsigned) (1 + dice(plan) % 40) : 1;

		if (percent(plan, 30)) /* much at the beginning */
			when = SIM_START + dice(plan) % (calm + 1);
		for (burst = (unsigned) gamma_min(burst, left); burst; burst--, left--)
			plan_message(plan, sim, when);
	}
}

/* Some handlers answer. */
static void plan_answer(struct plan *plan, struct sim *sim, struct plan *own, unsigned index)
{
	struct sim_message *message = sim_message_at(sim, index), *answer;
	uint64_t most = percent(own, 50) ? 512 : 20000, length = dice(own) % (most + 1);

	answer = sim_message(sim, message->to, message->from, length, (int) (dice(own) % LEVELS));
	answer->answers = message;
	message->answer = answer;
	plan->messages++;
	plan->volume += length;
	sim_post_at(answer, length, SIM_START);
}

/* Some messages of the traffic go to active ports instead. With random numbers of its own. */
static void plan_ports(struct plan *plan, struct sim *sim)
{
	struct plan own = {.random = plan->config.seed ^ 0x510e527f};
	unsigned count = sim_messages(sim);

	for (unsigned i = 0; plan->config.ports && i < count; i++) {
		struct sim_message *message = sim_message_at(sim, i);

		if (percent(&own, 50))
			continue;
		message->port = true;
		message->capacity = message->length;
		if (message->length <= plan->config.eager_size && percent(&own, 60))
			message->head_len =
				(uint8_t) (dice(&own) %
					   (1 + gamma_min(message->length, GAMMA_PORT_HEAD_MAX)));
		if (message->length > plan->config.eager_size)
			message->head_len = (uint8_t) gamma_min(
				message->length, message->id % (GAMMA_PORT_HEAD_MAX + 1));
		if (percent(&own, 30))
			plan_answer(plan, sim, &own, i);
	}
}

/* RMA operations among the messages of some runs. They use their own random numbers, so that
 * the rest of a run is drawn as without them. */
static void plan_remotes(struct plan *plan, struct sim *sim)
{
	struct plan own = {.random = plan->config.seed ^ 0x5bd1e995,
			   .config = plan->config,
			   .span = plan->span,
			   .shape = plan->shape};
	unsigned left = 20 + (unsigned) (dice(&own) % 130);

	if (!percent(&own, 40))
		return;
	plan->messages += left;
	while (left) {
		unsigned burst = percent(&own, 40) ? (unsigned) (1 + dice(&own) % 30) : 1;
		uint64_t when = some_time(&own);
		unsigned from, to;

		draw_pair(&own, &from, &to);
		for (burst = (unsigned) gamma_min(burst, left); burst; burst--, left--) {
			enum sim_remote_kind kind =
				(enum sim_remote_kind)(dice(&own) % SIM_REMOTE_KINDS);
			uint64_t most = kind == SIM_GET ? GAMMA_ATOMIC_BYTES : 60000;
			uint64_t length = percent(&own, 5) ? 0 : spread(&own, 1, most);
			struct sim_remote *op;

			if (kind == SIM_FORBIDDEN)
				length += 2;
			op = sim_remote_at(sim, kind, from, to, length, when);
			op->partial = knows_in_part(plan, from, to);
			/* It would wait forever behind a message without a receive. */
			op->fence = !plan->unposted && percent(&own, 4);
			plan->volume += length;
		}
	}
}

/* In some runs NICs get another MTU, occasionally below what every Ethernet passes, and so
 * does the switch. With random numbers of its own, too. */
static void plan_nics(struct plan *plan, struct sim *sim)
{
	struct plan own = {.random = plan->config.seed ^ 0x2545f491,
			   .config = plan->config,
			   .span = plan->span};
	unsigned count = 1 + (unsigned) (dice(&own) % 3);

	if (plan->lossless || !percent(&own, plan->config.mtu > GAMMA_SAFE_MTU ? 30 : 4))
		return;
	while (count--) {
		unsigned low = percent(&own, 25) ? 600 : GAMMA_SAFE_MTU;
		unsigned mtu = (unsigned) spread(&own, low, plan->config.mtu - 1);

		plan_incident(sim, some_time(&own),
			      (struct incident){sim, LOWER, any_node(&own), mtu, 0});
	}
	if (plan->config.mtu > GAMMA_SAFE_MTU && percent(&own, 50))
		plan_incident(sim, some_time(&own),
			      (struct incident){sim, SHRINK, 0, GAMMA_SAFE_MTU, 0});
}

/* In some runs the link itself refuses what the switch does not pass. With random numbers of its
 * own, too. */
static void plan_virtual_nics(struct plan *plan, struct sim *sim)
{
	struct plan own = {.random = plan->config.seed ^ 0x3c6ef372};

	if (!plan->lossless && percent(&own, 25))
		sim_virtual_nics(sim);
}

/* In some runs the switch passes less than every Ethernet does, from the beginning or later. With
 * random numbers of its own, too. */
static void plan_tunnel(struct plan *plan, struct sim *sim)
{
	struct plan own = {.random = plan->config.seed ^ 0x165667b1,
			   .config = plan->config,
			   .span = plan->span};
	unsigned size = (unsigned) PICK(&own, 1400, 1280, 1006, 700);

	plan->tunnel = !plan->lossless && percent(&own, 5);
	if (plan->tunnel)
		plan_incident(sim, percent(&own, 50) ? sim_now(sim) : some_time(&own),
			      (struct incident){sim, SHRINK, 0, size, 0});
}

/* In some runs somebody forges frames, until everything heals. With random numbers of its own, as
 * above. */
static void plan_attack(struct plan *plan, struct sim *sim)
{
	struct plan own = {.random = plan->config.seed ^ 0x27d4eb2f, .config = plan->config};
	uint64_t frames = spread(&own, 20, 3000);

	if (percent(&own, 25))
		sim_attack(sim, dice(&own), plan->heal, (plan->heal - sim_now(sim)) / frames,
			   plan->silence < SIM_SEC &&
				   plan->silence < plan->config.peer_timeout / 4);
	sim->lossless = plan->lossless;
}

/* What happens to whole trains, and frames of other processes of the hosts. With random numbers of
 * its own, too. */
static void plan_trains(struct plan *plan, struct sim *sim)
{
	struct plan own = {.random = plan->config.seed ^ 0x9e3779b9,
			   .config = plan->config,
			   .span = plan->span};
	unsigned foreign = (unsigned) spread(&own, 1, 40);

	if (!plan->config.trains)
		return;
	if (!plan->lossless && percent(&own, 60))
		sim->chances.train_cut = share(&own, 100000);
	if (!plan->lossless && percent(&own, 60))
		sim->chances.train_reorder = share(&own, 200000);
	while (foreign--) {
		unsigned to = any_node(&own), host = any_node(&own);

		if (host != to)
			plan_incident(sim, some_time(&own),
				      (struct incident){sim, FOREIGN, host, to, 0});
	}
}

/* A node that may be silent for so long may be declared dead. */
static void excuse_silent(struct plan *plan, struct sim *sim)
{
	if (plan->silence + plan->span + SIM_SEC < plan->config.peer_timeout)
		return;
	plan->dead = true;
	for (unsigned i = 0; i < plan->config.nodes; i++)
		sim_excuse(sim, i);
}

/* Other NICs than the first get smaller MTUs. */
static void plan_rail_mtu(struct plan *plan, struct plan *own, struct sim *sim)
{
	unsigned count = percent(own, 50) ? 1 + (unsigned) (dice(own) % 4) : 0;

	while (count--) {
		struct incident incident = {sim, LOWER, any_node(own), 0, 0};

		incident.until = 1 + dice(own) % (plan->rails - 1);
		incident.b = (unsigned) spread(own, 600, 8999);
		plan_incident(sim, some_time(own), incident);
	}
}

/* NICs are cut off, or go down, and come back; one of a host, or one after the other. */
static void plan_rails(struct plan *plan, struct sim *sim)
{
	struct plan own = {.random = plan->config.seed ^ 0x68e31da4,
			   .config = plan->config,
			   .span = plan->span};
	unsigned count = 1 + (unsigned) (dice(&own) % 6);

	if (!plan->rails || plan->lossless)
		return;
	while (count--) {
		uint64_t when = some_time(&own);
		uint64_t until = when + spread(&own, 100 * SIM_US, 2 * SIM_SEC);
		unsigned node = any_node(&own);
		unsigned nic = (unsigned) (dice(&own) % plan->rails);

		heals(plan, when, until);
		plan_incident(sim, when,
			      (struct incident){sim, percent(&own, 60) ? CUT_RAIL : DOWN_RAIL, node,
						nic, until});
	}
	plan_rail_mtu(plan, &own, sim);
	/* Of two hosts, one NIC each: no path is left, and the outages add up. */
	plan->silence = gamma_max(plan->silence, plan->heal - SIM_START);
	excuse_silent(plan, sim);
}

static void begin_near_wrap(struct plan *plan, struct sim *sim)
{
	for (unsigned a = 0; a < plan->config.nodes; a++)
		for (unsigned b = 0; b < plan->config.nodes; b++)
			if (a != b)
				sim_begin_at(sim, a, b, (uint32_t) - (dice(plan) % 200));
}

/* ---- a run ---- */

/* All rails pass again: an endpoint that is silent for long tries them every few seconds. */
static void await_rails(struct sim *sim)
{
	const uint64_t begun = sim->now;

	while (!failed(sim) && sim->now < begun + RAILS_S * SIM_SEC) {
		if (!check_rails(sim, false))
			sim->totals.max_rails_ms = (sim->now - begun) / SIM_MS;
		sim_run(sim, SIM_SEC / 10);
	}
	if (!failed(sim))
		check_rails(sim, true);
}

static void draw_plan(struct plan *plan, uint64_t seed)
{
	memset(plan, 0, sizeof(*plan));
	plan->random = seed * 0x9e3779b97f4a7c15ull;
	plan->lossless = percent(plan, 15);
	draw_config(plan);
	plan->config.seed = seed;
	plan->messages = MESSAGES_MIN + (unsigned) (dice(plan) % MESSAGES_MORE);
	plan->shape = (unsigned) (dice(plan) % SHAPES);
	plan->span = spread(plan, 500 * SIM_US, 2 * SIM_SEC);
	plan->longest = PICK(plan, 4096, 65536, 262144, 1 << 20);
	plan->unposted = percent(plan, 25);
	plan->wrap = percent(plan, 15) && plan->config.nodes <= 16;
	plan->partial = plan->wrap || percent(plan, 70) ? 0 : (unsigned) PICK(plan, 5, 50, 100);
	plan->heal = SIM_START + plan->span;
	plan->silence = plan->span;
	plan->config.copy_size = (uint32_t) PICK(plan, 0, 0, 4096, 16384);
	plan->config.stamped = seed % 2; /* the same random numbers for all else */
	draw_config_more(plan);
}

/* Each flow finds the size that passes by its own losses, and a stream behind it waits. */
#define TUNNEL_TIME (20ull * GAMMA_MTU_BELOW_US * SIM_US)

/* How long all may take to settle once nothing goes wrong any more: the bytes at the slowest
 * rate, three times, for repetitions and queues; the longest waits between two tries, a few
 * times in a row; and the peer timeout if some node is dead. A handler whose turn comes when a
 * fetch from that node has failed may answer another message of it, and fail once more. Two other
 * nodes may need the credit that it holds of both one after the other. */
static uint64_t bound(const struct plan *plan, const struct sim *sim)
{
	uint64_t slowest = 100000000000ull, time;
	uint64_t frames = plan->volume / 1400 + 2 * plan->messages;
	unsigned timeouts = 1u + plan->config.ports + (plan->config.nodes > 2);

	for (unsigned i = 0; i < plan->config.nodes; i++)
		slowest = gamma_min(slowest, wire_rate(sim, i));
	for (unsigned r = 1; r < plan->rails; r++)
		if (plan->config.rails[r].rate)
			slowest = gamma_min(slowest, plan->config.rails[r].rate);
	time = wire_time(plan->volume, slowest) + frames * 2 * plan->config.cost_frame;
	return 3 * time + (plan->rails ? 8 : 4) * GAMMA_KEEPALIVE_US * SIM_US +
	       (plan->tunnel ? TUNNEL_TIME : 0) +
	       (plan->dead ? timeouts * plan->config.peer_timeout + 4 * SIM_SEC : 0);
}

static bool settled(struct sim *sim, void *arg)
{
	uint64_t *looked = arg;

	if (sim->now < *looked)
		return false;
	*looked = sim->now + SLICE_US * SIM_US;
	return sim_settled(sim);
}

static void settle(struct plan *plan, struct sim *sim)
{
	uint64_t limit = bound(plan, sim), begun, looked = 0;

	if (plan->heal > sim->now && !sim_run(sim, plan->heal - sim->now))
		return;
	begun = sim->now;
	sim_run_until(sim, settled, &looked, limit);
	if (!sim_settled(sim))
		sim_finish(sim, 0); /* says what is not */
	sim->totals.max_settle_us = (sim->now - begun) / SIM_US;
	sim->totals.max_settle_percent = (sim->now - begun) * 100 / limit;
}

static bool is_there(const struct sim *sim, unsigned node)
{
	return sim->nodes[node].state == NODE_ALIVE && sim->nodes[node].away <= sim->now;
}

static bool one_closed(struct sim *sim, void *arg)
{
	return !sim_alive(sim, *(unsigned *) arg);
}

/* Otherwise the endpoint waits for that, and little of the linger bound is left. */
static bool all_acked(struct sim *sim, unsigned node)
{
	for (unsigned i = 0; i < sim->config.nodes; i++) {
		const struct gamma_flow *flow = sim_flow(sim, node, i);

		if (flow && gamma_flow_unacked(flow))
			return false;
	}
	return true;
}

/* In some runs a node closes while others wait for it, by receives from it alone, and some of
 * its BYEs get lost, but not all: once it has closed, the others know. It sends more BYEs if
 * it knows that they wait. With random numbers of its own, as above. */
static void close_one(struct plan *plan, struct sim *sim)
{
	struct plan own = {.random = plan->config.seed ^ 0x85ebca6b, .config = plan->config};
	unsigned closes = any_node(&own), lost = (unsigned) (dice(&own) % GAMMA_BYE_TRIES);
	bool some = percent(&own, 40), long_since = percent(&own, 50);
	bool waits[RULES_MAX] = {false};

	if (!some || !is_there(sim, closes))
		return;
	for (unsigned i = 0; i < gamma_min(plan->config.nodes, RULES_MAX); i++)
		waits[i] = i != closes && is_there(sim, i) && sim_flow(sim, closes, i) &&
			   sim_flow(sim, closes, i)->state == GAMMA_FLOW_OPEN &&
			   sim_expect(sim, i, closes);
	if (long_since && all_acked(sim, closes)) {
		sim_run(sim, GAMMA_PROBED_US * SIM_US / 2);
		lost += GAMMA_BYE_TRIES;
	}
	for (unsigned i = 0; i < RULES_MAX; i++)
		if (waits[i] && lost)
			sim_rule(sim, (struct sim_rule){.fate = SIM_RULE,
							.from = (int) closes,
							.to = (int) i,
							.kind = GAMMA_KIND_BYE,
							.op = GAMMA_ASK,
							.seq = SIM_ANY_SEQ,
							.times = lost});
	sim_close(sim, closes);
	if (!sim_run_until(sim, one_closed, &closes, 2 * plan->config.linger) && !failed(sim))
		sim_fail(sim, "node %u did not close within twice the linger time", closes);
	sim_run(sim, 100 * SIM_MS);
	for (unsigned i = 0; i < RULES_MAX; i++)
		if (waits[i] && sim_waits(sim, i, closes) && !failed(sim))
			sim_fail(sim, "node %u waits for node %u, which has closed", i, closes);
}

static bool all_closed(struct sim *sim, void *arg)
{
	(void) arg;
	for (unsigned i = 0; i < sim->config.nodes; i++)
		if (sim->nodes[i].state != NODE_GONE && sim->nodes[i].away != GAMMA_NEVER)
			return false;
	return true;
}

static void close_all(struct plan *plan, struct sim *sim)
{
	/* The network may turn bad again, and BYEs get lost. */
	if (percent(plan, 50))
		sim->chances.until = GAMMA_NEVER;
	for (unsigned i = 0; i < plan->config.nodes; i++)
		if (sim->nodes[i].away != GAMMA_NEVER)
			sim_close(sim, i);
	if (!sim_run_until(sim, all_closed, NULL, 2 * plan->config.linger) && !failed(sim))
		sim_fail(sim, "endpoints did not close within twice the linger time");
}

static void count_run(const struct plan *plan, struct sim *sim)
{
	struct totals *totals = &sim->totals;
	unsigned class = 0;

	while (2u << class < plan->config.nodes)
		class ++;
	totals->endpoints[class]++;
	totals->faulty = plan->faults >= 2;
	totals->wrapped = plan->wrap;
	totals->events = sim->steps;
	totals->virtual_ms = (sim->now - SIM_START) / SIM_MS;
}

static void run(struct plan *plan, struct sim *sim)
{
	draw_config_chances(plan, &sim->chances);
	plan_hosts(plan, sim);
	excuse_silent(plan, sim);
	if (plan->wrap)
		begin_near_wrap(plan, sim);
	plan_traffic(plan, sim);
	plan_ports(plan, sim);
	plan_remotes(plan, sim);
	plan_nics(plan, sim);
	plan_tunnel(plan, sim);
	plan_virtual_nics(plan, sim);
	if (!plan->lossless && percent(plan, 8))
		plan_leaving(plan, sim);
	if (!plan->lossless && plan->config.mtu > GAMMA_SAFE_MTU && percent(plan, 20))
		plan_incident(sim, some_time(plan),
			      (struct incident){sim, SHRINK, 0, GAMMA_SAFE_MTU, 0});
	sim->chances.until = plan->heal;
	plan_rails(plan, sim); /* how long hosts are silent decides what the attacker may say */
	plan_attack(plan, sim);
	plan_trains(plan, sim);
	settle(plan, sim);
	sim_run(sim, sim_between(sim, 0, 2 * SIM_SEC));
	if (!failed(sim) && plan->rails && !plan->tunnel)
		await_rails(sim);
	if (!failed(sim))
		sim_check_end(sim);
	if (!failed(sim))
		close_one(plan, sim);
	if (!failed(sim) && percent(plan, 50))
		close_all(plan, sim);
	if (!failed(sim) && plan->config.seed % 4 == 1)
		sim_group_random(sim, plan->config.seed);
	count_run(plan, sim);
}

bool draw_run(uint64_t seed, const struct run_options *options, struct run_result *result)
{
	uint64_t blocks = memory_live;
	struct plan plan;
	struct sim *sim;

	memset(result, 0, sizeof(*result));
	memory_bytes_max = memory_bytes;
	draw_plan(&plan, seed);
	sim = sim_new(&plan.config);
	sim_verbose(sim, options->verbose);
	if (options->pcap && sim_pcap(sim, options->pcap))
		sim_fail(sim, "cannot write %s", options->pcap);
	run(&plan, sim);
	for (unsigned i = 0; i < plan.config.nodes; i++)
		node_end(node_of(sim, i));
	sim->totals.max_memory = memory_bytes_max;
	result->totals = sim->totals;
	result->digest = sim->digest;
	snprintf(result->failure, sizeof(result->failure), "%s", sim->failure);
	sim_free(sim);
	if (!result->failure[0] && memory_live != blocks)
		snprintf(result->failure, sizeof(result->failure),
			 "at the end: %lld blocks of memory are still allocated",
			 (long long) (memory_live - blocks));
	return !result->failure[0];
}
