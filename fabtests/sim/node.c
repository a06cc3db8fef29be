// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A host's endpoint: when it makes progress, what a progress call does, how it ends and comes
 * back. It uses the engine's own calls, except those that read a clock.
 */
#include "internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "engine/receive_run.h"
#include "link/train.h"
#include "wire/pseudo_mac.h"

enum {
	WATCH_MS = 10, /* a watching thread checks whether the application polls, as the provider's
			  does */
	WAKE_US = 30,  /* until a sleeping thread runs */
	POLL_NS = 60,  /* until a polling application sees a frame */
	IDLE_RUNS = 20000, /* progress calls in a row without progress: a livelock */
};

/* ---- time ---- */

/* The earliest time from `when` on at which this node makes progress. */
static uint64_t available(const struct node *node, uint64_t when)
{
	uint64_t takeover = node->away_since + WATCH_MS * SIM_MS;

	if (node->away <= when)
		return when;
	if (node->stopped || !node->watched)
		return node->away;
	return gamma_min(node->away, gamma_max(when, takeover) + WAKE_US * SIM_US);
}

/* Frames that came there; the engine does not look at a link over UDP before it is a rail. */
static uint32_t frames_of(const struct node *node, unsigned rail)
{
	return !rail || rail < node->ep.local.rail_count ? node->nics[rail].ring_count : 0;
}

static bool has_frames(const struct node *node)
{
	for (unsigned r = 0; r < SIM_RAILS_MAX; r++)
		if (frames_of(node, r))
			return true;
	return false;
}

/* When a polling application sees what has come. */
static uint64_t seen(const struct node *node)
{
	uint64_t soon = node->sim->now + POLL_NS;

	if (!node->train || !node->nics[0].ring_head)
		return soon;
	return gamma_max(soon, node->nics[0].ring_head->landed + node->sim->config.train_gather);
}

static uint64_t next_run(struct node *node)
{
	const struct sim *sim = node->sim;
	const struct gamma_local *local = &node->ep.local;
	uint64_t when = local->next_deadline;

	if (node->state == NODE_GONE)
		return GAMMA_NEVER;
	if (local->deferred.flow)
		when = sim->now + POLL_NS;
	else if (has_frames(node) && !node->ep.lending.lent)
		when = gamma_min(when, seen(node));
	when = gamma_min(when, gamma_max(port_due(node), sim->now));
	if (!gamma_list_empty(&local->ready))
		when = sim->now;
	else if (node->ep.stalled_until)
		when = gamma_min(when, gamma_max(node->ep.stalled_until, sim->now));
	if (node->state != NODE_ALIVE)
		when = gamma_min(when, gamma_min(node->closing_until, sim->now + SIM_MS));
	if (when == GAMMA_NEVER)
		return when;
	return available(node, gamma_max(gamma_max(when, node->busy), sim->now));
}

void node_wake(struct node *node)
{
	uint64_t when = next_run(node);

	if (when >= node->run_at)
		return; /* an earlier call will handle it */
	node->run_at = when;
	sim_push(node->sim, when, EVENT_NODE, node->life, node);
}

/* ---- a progress call ---- */

static void count_timers(struct node *node)
{
	struct sim *sim = node->sim;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &node->ep.local.timed) {
		const struct gamma_flow *flow =
			gamma_list_entry(pos, struct gamma_flow, timed_entry);

		for (int timer = 0; timer < GAMMA_TIMER_COUNT; timer++)
			sim->totals.timers[timer] += flow->deadlines[timer] <= sim->now;
	}
}

/* As in the engine: of the first frame only its message, if it brings one. */
static void dispatch(struct nic *nic, const struct gamma_arrival *arrival, bool first)
{
	struct node *node = nic->node;

	if (first && !gamma_local_rail_is_udp(&node->ep.local, nic->rail) &&
	    gamma_fastpath_receive(&node->ep, arrival))
		return;
	if (node->ep.local.deferred.flow)
		gamma_flow_process_deferred(&node->ep.local, node->sim->now);
	node->ep.local.refused_data = false;
	if (gamma_local_rail_is_udp(&node->ep.local, nic->rail) &&
	    !gamma_dispatch_is_named(&node->ep, (uint8_t) nic->rail, arrival)) {
		node->ep.local.stats.stray++;
		return;
	}
	gamma_dispatch(&node->ep, &nic->link, arrival, node->sim->now);
	/* What a slow rail carries holds up what a fast one has brought: as much as may be kept. */
	if (node->ep.local.refused_data && node->ep.local.rail_count > 1 &&
	    node->ep.local.early_frames >= node->ep.local.pool.slots) {
		fault_count(node->sim, SIM_EARLY);
		node->sim->quiet = false;
	}
}

/* One frame; notes what the peer's window has accepted of a message. False: something of it is
 * lent. */
static bool take(struct nic *nic, const struct gamma_arrival *arrival, bool first)
{
	struct node *node = nic->node;
	const struct frame *frame = nic->ring_head;
	struct sim_message *message = frame->message;
	uint32_t payload = frame->fields.payload_len, carries = frame->carries;
	uint64_t before = node->ep.local.stats.data_frames_in;

	node->busy += node->sim->config.cost_frame + payload * node->sim->config.cost_kib / 1024;
	gamma_lending_begin(&node->ep, arrival);
	dispatch(nic, arrival, first);
	if (message && node->ep.local.stats.data_frames_in != before)
		app_taken(message, carries);
	check_step(node);
	if (gamma_lending_end(&node->ep, &nic->link))
		return false;
	nic->link.ops->release(&nic->link);
	return true;
}

/* What the frames of the train that follow bring: the run releases them. */
struct brought {
	struct sim_message *message;
	uint32_t payload, carries;
};

static void note_brought(const struct nic *nic, struct brought brought[GAMMA_TRAIN_FRAMES])
{
	const struct frame *frame = nic->ring_head;

	for (uint32_t i = 0; i < nic->node->train_frames; i++, frame = frame->next)
		brought[i] =
			(struct brought){frame->message, frame->fields.payload_len, frame->carries};
}

/* Of a train, but its first frame: those that the product receives together. */
static unsigned take_run(struct nic *nic, struct gamma_arrival *arrival, unsigned most)
{
	struct node *node = nic->node;
	const struct sim_config *config = &node->sim->config;
	struct brought brought[GAMMA_TRAIN_FRAMES];
	unsigned count;

	if (!node->train || !arrival->behind || arrival->alone)
		return 0;
	note_brought(nic, brought);
	count = gamma_receive_run(&node->ep, &nic->link, arrival, most, node->sim->now);
	for (unsigned i = 0; i < count; i++) {
		node->busy += config->cost_frame + brought[i].payload * config->cost_kib / 1024;
		if (brought[i].message)
			app_taken(brought[i].message, brought[i].carries);
	}
	node->sim->totals.runs_taken += count > 0;
	if (count)
		check_step(node);
	return count;
}

static unsigned take_in(struct nic *nic)
{
	struct gamma_local *local = &nic->node->ep.local;
	struct gamma_arrival arrival;
	unsigned taken = 0;

	if (local->deferred.flow)
		gamma_flow_process_deferred(local, nic->node->sim->now);
	local->rail = (uint8_t) nic->rail;
	if (local->ecn)
		local->ecn = &nic->link.ecn;
	arrival.behind = false;
	while (taken < GAMMA_POLL_BUDGET && !nic->node->ep.lending.lent &&
	       nic->link.ops->next(&nic->link, &arrival)) {
		unsigned run = take_run(nic, &arrival, GAMMA_POLL_BUDGET - taken);

		taken += run;
		if (run && arrival.alone)
			break;
		if (run)
			continue;
		taken++;
		if (!take(nic, &arrival, taken == 1))
			break;
	}
	local->rail = 0;
	return taken;
}

static void progress(struct node *node)
{
	struct sim *sim = node->sim;
	struct gamma_local *local = &node->ep.local;
	uint64_t sent = local->stats.frames_out;
	unsigned taken = 0;

	node->busy = sim->now + sim->config.cost_call;
	if (local->deferred.flow)
		gamma_flow_process_deferred(local, sim->now);
	for (unsigned r = 0; r < SIM_RAILS_MAX; r++)
		if (frames_of(node, r))
			taken += take_in(&node->nics[r]);
	if (local->deferred.flow && gamma_list_empty(&local->ready) &&
	    sim->now < local->next_deadline)
		return;
	node->ep.resets = 0;
	if (sim->now >= local->next_deadline) {
		count_timers(node);
		gamma_timers_expire(local, sim->now);
	}
	gamma_output(&node->ep, sim->now);
	sent = local->stats.frames_out - sent;
	node->busy += sent * sim->config.cost_frame;
	node->idle_runs = taken || sent ? 0 : node->idle_runs + 1;
	if (node->idle_runs > IDLE_RUNS)
		sim_fail(sim, "livelock: node %u has made %u progress calls without a frame",
			 node->index, node->idle_runs);
	check_progress(node);
}

/* ---- closing: as gamma_endpoint_linger ---- */

static bool any_flow(struct node *node, bool unacked_only)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &node->ep.local.flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (unacked_only ? gamma_flow_unacked(flow)
				 : gamma_flow_unfinished(flow, node->sim->now))
			return true;
	}
	return false;
}

static void say_bye(struct node *node)
{
	uint64_t linger = node->sim->config.linger;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &node->ep.local.flows)
		gamma_flow_bye(gamma_list_entry(pos, struct gamma_flow, all_entry), node->sim->now);
	gamma_output(&node->ep, node->sim->now);
	node->state = NODE_PARTING;
	node->closing_until += linger - gamma_flow_drain_time(linger);
}

static bool waits(struct node *node, bool unacked_only)
{
	bool sends = !unacked_only && !gamma_list_empty(&node->ep.local.ready);

	return node->sim->now < node->closing_until && (sends || any_flow(node, unacked_only));
}

static void go_on_closing(struct node *node)
{
	if (node->state == NODE_CLOSING && !waits(node, true))
		say_bye(node);
	if (node->state == NODE_PARTING && !waits(node, false)) {
		check_closed(node);
		node_end(node);
	}
}

void sim_close(struct sim *sim, unsigned index)
{
	struct node *node = node_of(sim, index);

	if (node->state != NODE_ALIVE)
		return;
	sim->totals.closes++;
	node->state = NODE_CLOSING;
	node->closing_until = sim->now + gamma_flow_drain_time(sim->config.linger);
	node_wake(node);
}

void node_run(struct node *node)
{
	node->run_at = GAMMA_NEVER;
	port_allow(node);
	progress(node);
	port_run(node);
	if (node->state != NODE_ALIVE)
		go_on_closing(node);
	if (node->state != NODE_GONE)
		node_wake(node);
}

/* ---- beginning and end ---- */

static uint32_t new_epoch(const struct node *node)
{
	return 0xe0000000u | node->index << 16 | (node->life & 0xffff);
}

/* Whether frames leave by it in trains, as over UDP. */
static bool has_trains(const struct node *node, unsigned rail)
{
	const struct sim_config *config = &node->sim->config;

	return rail ? config->udp[node->index] >> rail & 1 : config->trains;
}

/* The rail whose cable it shares, or that rail itself. */
static unsigned cable_of(const struct node *node, unsigned rail)
{
	const struct sim_config *config = &node->sim->config;
	unsigned first =
		config->udp[node->index] ? (unsigned) __builtin_ctz(config->udp[node->index]) : 0;

	return config->twins && first && rail >= first && rail < 2 * first ? rail - first : rail;
}

static void begin_nic(struct node *node, unsigned rail, uint32_t mtu, uint32_t slots)
{
	struct nic *nic = &node->nics[rail];

	nic->node = node;
	nic->rail = rail;
	nic->link.ops = &wire_link_ops;
	nic->link.mtu = mtu;
	nic->link.slots = slots;
	nic->link.train = has_trains(node, rail) ? gamma_train_length(mtu) : 0;
	nic->link.stats = &node->ep.local.stats;
	nic->reads = false;
}

/* Returns the slots of the smallest ring. */
static uint32_t begin_nics(struct node *node, uint32_t mtu)
{
	const struct sim_config *config = &node->sim->config;
	uint32_t slots = config->trains ? train_open(node, mtu) : config->slots;

	for (unsigned r = 0; r < SIM_RAILS_MAX; r++)
		node->nics[r].cable = &node->nics[cable_of(node, r)].own_cable;
	begin_nic(node, 0, mtu, slots);
	for (unsigned r = 1; r < config->nics[node->index]; r++) {
		const struct sim_rail *rail = &config->rails[r];

		begin_nic(node, r, rail->mtu ? rail->mtu : mtu,
			  rail->slots ? rail->slots : config->slots);
		slots = gamma_links_slots(slots, &node->nics[r].link);
	}
	return slots;
}

/* As the engine does with a link over UDP that it has opened unasked: no rail yet. */
static void begin_unasked(struct node *node, uint8_t mac[GAMMA_MAC_LEN])
{
	struct gamma_local *local = &node->ep.local;

	mac[1] = GAMMA_PSEUDO_MAC_1;
	mac[2] = 1;
	memcpy(node->ep.udp_mac, mac, GAMMA_MAC_LEN);
	node->ep.rails[1].link = &node->nics[1].link;
	local->limits.rail_mtu =
		(uint32_t) gamma_max(node->nics[0].link.mtu, node->nics[1].link.mtu);
	local->use_udp = gamma_links_use_udp;
}

/* The engine does not know that of a link over UDP without a twin. */
static bool has_carrier(struct gamma_local *local, uint8_t rail)
{
	const struct node *node = gamma_container_of(local, struct node, ep.local);
	const struct nic *nic = &node->nics[rail];

	return (gamma_local_rail_is_udp(local, rail) && nic->cable == &nic->own_cable) ||
	       nic->cable->down_until <= node->sim->now;
}

/* As the engine does for an endpoint with several NICs. */
static void begin_rails(struct node *node, const uint8_t *first)
{
	const struct sim_config *config = &node->sim->config;
	uint8_t mac[GAMMA_MAC_LEN];

	if (config->nics[node->index] < 2)
		return;
	memcpy(mac, first, sizeof(mac));
	if (config->unasked && config->udp[node->index]) {
		begin_unasked(node, mac);
		return;
	}
	if (gamma_aliases_init(&node->ep))
		abort();
	node->ep.local.has_carrier = has_carrier;
	gamma_links_add(&node->ep, &node->nics[0].link, mac, false);
	for (unsigned r = 1; r < config->nics[node->index]; r++) {
		bool udp = config->udp[node->index] >> r & 1;

		mac[1] = udp || config->routed ? GAMMA_PSEUDO_MAC_1 : 0;
		mac[2] = (uint8_t) r;
		gamma_links_add(&node->ep, &node->nics[r].link, mac, udp);
	}
}

static void begin(struct node *node)
{
	const struct sim_config *config = &node->sim->config;
	uint32_t slots, mtu = config->mtus[node->index] ? config->mtus[node->index] : config->mtu;
	struct gamma_limits limits = {
		.mtu = mtu,
		.local_mtu = GAMMA_SHM_SOCKET_MTU,
		.inject_size = config->inject_size,
		.copy_size = config->copy_size,
		.eager_size = config->eager_size,
		.unexpected_size = config->unexpected_size,
		.peer_timeout = config->peer_timeout,
		.forget = config->forget,
		.payload_crc = config->payload_crc,
		.random_start = true,
	};
	struct gamma_addr addr = {
		.mac = {2, config->routed ? GAMMA_PSEUDO_MAC_1 : 0, 0, 0,
			(uint8_t) (node->index >> 8), (uint8_t) node->index},
		.port = htons((uint16_t) (9000 + node->index)),
		.epoch = htonl(new_epoch(node)),
		.version = GAMMA_ADDR_VERSION,
		.mtu = htons((uint16_t) mtu),
		.host = node->index + 1,
	};

	memset(&node->ep, 0, sizeof(node->ep));
	node->epoch = new_epoch(node);
	node->state = NODE_ALIVE;
	node->idle_runs = 0;
	node->known_mtu = mtu;
	slots = begin_nics(node, mtu);
	if (gamma_peers_init(&node->ep))
		abort();
	gamma_message_local_init(&node->ep.messages, &addr, TENANT, &limits, slots);
	node->ep.local.flow_size = sizeof(struct gamma_peer);
	node->ep.local.random.key[0] = config->seed;
	node->ep.local.random.key[1] = node->epoch;
	node->ep.handlers = app_handlers;
	node->sim->totals.takings[config->delivery[node->index]]++;
	if (config->delivery[node->index] == SIM_IN_STEPS)
		node->ep.handlers.messages.deliver = NULL;
	node->ep.context = node;
	node->ep.messages.handlers = &node->ep.handlers.messages;
	node->ep.messages.context = node;
	node->ep.local.forget = gamma_peers_forget;
	node->ep.packet = &node->nics[0].link;
	begin_rails(node, addr.mac);
	node->ep.train = gamma_links_train(&node->ep);
	port_begin(node);
	node->ep.prefix = config->routed ? 32 : 0;
}

void node_init(struct sim *sim, unsigned index)
{
	struct node *node = node_of(sim, index);

	node->sim = sim;
	node->index = index;
	node->watched = sim->config.watched;
	node->run_at = GAMMA_NEVER;
	for (unsigned r = 0; r < SIM_RAILS_MAX; r++)
		node->nics[r].ring_tail = &node->nics[r].ring_head;
	node->cut_until = calloc(sim->config.nodes, sizeof(*node->cut_until));
	if (!node->cut_until)
		abort();
	begin(node);
	node->known_epoch = node->epoch;
}

static void add_stats(struct gamma_stats *to, const struct gamma_stats *from)
{
	uint64_t *sum = (uint64_t *) to;
	const uint64_t *part = (const uint64_t *) from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += part[i];
}

void node_end(struct node *node)
{
	if (node->state == NODE_GONE)
		return;
	add_stats(&node->sim->totals.stats, &node->ep.local.stats);
	node->state = NODE_GONE;
	app_node_ended(node);
	port_end(node);
	gamma_message_local_fini(&node->ep.messages);
	gamma_peers_fini(&node->ep);
	wire_ring_clear(node);
	node->run_at = GAMMA_NEVER;
	node->life++;
}

void sim_kill(struct sim *sim, unsigned index, uint64_t back)
{
	struct node *node = node_of(sim, index);

	sim_note(sim, "kill %u", index);
	sim->totals.kills++;
	node->excused = node->rebooted = true;
	sim->quiet = false;
	node_end(node);
	if (back != GAMMA_NEVER)
		sim_push(sim, back, EVENT_BACK, node->life, node);
}

void node_back(struct node *node)
{
	if (node->state != NODE_GONE)
		return;
	sim_note(node->sim, "%u is back", node->index);
	node->sim->totals.reboots++;
	node->away = 0;
	node->stopped = false;
	begin(node);
	app_node_back(node);
}

void sim_publish_epoch(struct sim *sim, unsigned node)
{
	sim->nodes[node].known_epoch = sim->nodes[node].epoch;
}

bool sim_alive(const struct sim *sim, unsigned node)
{
	return sim->nodes[node].state != NODE_GONE;
}

/* ---- what the application does with its time ---- */

static void go_away(struct sim *sim, struct node *node, uint64_t until, bool stopped)
{
	if (node->away <= sim->now)
		node->away_since = sim->now;
	node->away = until;
	node->stopped = stopped;
	/* A call that was due may be due later now: earlier events are obsolete. */
	node->run_at = GAMMA_NEVER;
	if (node->state != NODE_GONE)
		node_wake(node);
	sim_note(sim, "node %u %s until %.6f", node->index, stopped ? "is stopped" : "computes",
		 (double) until / 1e9);
}

void sim_compute(struct sim *sim, unsigned node, uint64_t until)
{
	sim->totals.computes++;
	go_away(sim, node_of(sim, node), until, false);
}

void sim_stop(struct sim *sim, unsigned node, uint64_t until)
{
	sim->totals.stops++;
	go_away(sim, node_of(sim, node), until, true);
}

void sim_watch(struct sim *sim, unsigned node, bool watched)
{
	sim->nodes[node].watched = watched;
}

void sim_excuse(struct sim *sim, unsigned node)
{
	sim->nodes[node].excused = true;
}

/* ---- flows ---- */

struct gamma_flow *node_flow_to(struct node *node, unsigned peer, bool partial)
{
	const struct node *other = node_of(node->sim, peer);
	struct gamma_addr addr = other->ep.local.addr;
	struct gamma_flow *flow;

	addr.epoch = htonl(partial ? GAMMA_EPOCH_ANY : other->known_epoch);
	if (partial) {
		addr.host = 0;
		addr.mtu = 0;
		flow = gamma_peers_any(&node->ep, addr.mac, ntohs(addr.port));
	} else {
		flow = gamma_peers_find(&node->ep, addr.mac, ntohs(addr.port), other->known_epoch);
	}
	return flow ? flow : gamma_peers_add(&node->ep, &addr, node->sim->now);
}

struct gamma_flow *sim_flow(struct sim *sim, unsigned a, unsigned b)
{
	const struct gamma_addr *addr = &sim->nodes[b].ep.local.addr;

	return gamma_peers_find(&sim->nodes[a].ep, addr->mac, ntohs(addr->port),
				sim->nodes[b].epoch);
}

bool sim_expect(struct sim *sim, unsigned a, unsigned b)
{
	struct gamma_flow *flow = sim_flow(sim, a, b);

	if (!flow || flow->state != GAMMA_FLOW_OPEN)
		return false;
	flow->expected++;
	gamma_loss_rearm(flow, sim->now);
	node_wake(node_of(sim, a));
	return true;
}

bool sim_waits(struct sim *sim, unsigned a, unsigned b)
{
	const struct gamma_flow *flow = sim_flow(sim, a, b);

	return flow && gamma_flow_usable(flow) && flow->expected;
}

void sim_begin_at(struct sim *sim, unsigned a, unsigned b, uint32_t seq)
{
	struct gamma_flow *out = node_flow_to(node_of(sim, a), b, false);
	struct gamma_flow *in = node_flow_to(node_of(sim, b), a, false);

	if (!out || !in)
		return;
	gamma_send_window_begin(out, seq);
	gamma_receive_window_begin(in, seq);
	in->ack.sent_limit = in->credit.limit;
}

struct gamma_endpoint *sim_endpoint(struct sim *sim, unsigned node)
{
	return &sim->nodes[node].ep;
}

const struct gamma_stats *sim_stats(struct sim *sim, unsigned node)
{
	return &sim->nodes[node].ep.local.stats;
}
