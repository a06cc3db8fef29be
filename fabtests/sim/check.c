// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Invariants of every step of every node, whatever the network does: doc/protocol.md section 5.
 * Invariants of messages are checked where they begin and end: app.c.
 */
#include "internal.h"

enum { MANY_FLOWS = 8, SAMPLE = 8, SCAN = 16 };

/* ---- credit ---- */

/* No sender exceeds its credit: it does not use returned credit. Forged credit cannot be
 * distinguished from the peer's. */
static void check_limit(const struct node *node, const struct gamma_flow *flow)
{
	uint32_t reached = flow->rx.highest + flow->credit.returned;

	if (gamma_seq_before(flow->credit.limit, reached) && !node->sim->attacked)
		sim_fail(node->sim, "a peer of node %u has used %u frames more than it was granted",
			 node->index, reached - flow->credit.limit);
}

/* First credit that the pool has not counted yet is the reserve's. */
static void sum_windows(const struct node *node, uint32_t *sum, uint32_t *active)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &node->ep.local.flows) {
		const struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (!flow->credit.active)
			continue;
		check_limit(node, flow);
		(*active)++;
		*sum += gamma_credit_window(flow) - flow->credit.first;
	}
}

static void check_bound(struct node *node)
{
	const struct gamma_credit_pool *pool = &node->ep.local.pool;
	uint32_t size = pool->slots - pool->reserve;

	if (pool->granted > size)
		sim_fail(node->sim, "node %u has granted %u of %u frames, to %u flows", node->index,
			 pool->granted, size, pool->active);
}

/* The flows' credit adds up to the pool's account, and that does not exceed the ring. */
void check_step(struct node *node)
{
	const struct gamma_local *local = &node->ep.local;
	const struct gamma_credit_pool *pool = &local->pool;
	uint32_t sum = 0, active = 0;

	/* With many flows the sum is checked at every eighth step, the bound at each. */
	node->runs++;
	check_bound(node);
	if (node->ep.flow_count > MANY_FLOWS && node->runs % SAMPLE)
		return;
	sum_windows(node, &sum, &active);
	node->sim->totals.credit_checks++;
	if (pool->granted != sum || pool->active != active)
		sim_fail(node->sim, "node %u: pool says %u frames to %u flows, flows hold %u, %u",
			 node->index, pool->granted, pool->active, sum, active);
}

/* ---- repair ---- */

/* How long after its transmission an overtaken frame is known to be lost; doubled, because
 * round trips measured since may have shortened the window. */
static uint64_t grace(const struct gamma_loss_of_rail *loss, uint8_t wide)
{
	uint64_t window = gamma_max(loss->rtt_min / 4, GAMMA_REORDER_MIN_US * SIM_US);

	window = gamma_max(window, gamma_min(window << wide, 2 * loss->rtt));

	return 2 * (gamma_max(loss->rack_rtt, loss->rtt_min) + window);
}

static bool overdue(const struct gamma_flow *flow, uint32_t seq, uint64_t now)
{
	const struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);

	const struct gamma_loss_of_rail *loss =
		sent->rail ? &flow->rails->rail[sent->rail].loss : &flow->loss.first;

	return sent->state == GAMMA_SENT_FLYING && sent->serial < loss->rack_serial &&
	       now > sent->time + grace(loss, flow->loss.wide);
}

/* By a count of its own: what has arrived is not under way. */
static bool may_repair(const struct gamma_flow *flow)
{
	uint32_t flying = 0;

	for (uint32_t seq = flow->tx.una; seq != flow->tx.next; seq++) {
		const struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);

		if (sent->state == GAMMA_SENT_FLYING)
			flying += sent->again;
	}
	return (!flow->congestion.on || gamma_congestion_is_open(flow)) &&
	       flying < flow->repair.bound;
}

/* Evidence is acted on at once: after a progress call no frame is known or due to be lost. */
static void check_evidence(struct node *node, const struct gamma_flow *flow)
{
	struct sim *sim = node->sim;
	uint32_t ahead = gamma_send_window_unacked(&flow->tx);

	if (flow->tx.lost && may_repair(flow))
		sim_fail(sim, "node %u knows that %u frames are lost, may send, and does not",
			 node->index, flow->tx.lost);
	if (node->runs % SCAN)
		ahead = (uint32_t) gamma_min(ahead, 1);
	for (uint32_t i = 0; i < ahead; i++)
		if (overdue(flow, flow->tx.una + i, sim->now))
			sim_fail(sim,
				 "node %u: frame %u was overtaken long ago but is not repaired",
				 node->index, flow->tx.una + i);
	sim->totals.evidence_checks++;
}

/* No receiver grants more, so a sender does not believe it. */
static void check_believed(const struct node *node, const struct gamma_flow *flow)
{
	uint32_t credit = flow->tx.limit - flow->tx.returned - flow->tx.next;

	if (credit > GAMMA_WINDOW_MAX)
		sim_fail(node->sim, "node %u believes that it may send %u frames", node->index,
			 credit);
}

/* Where nothing is lost, forged frames leave those of their victims large. A full queue may make
 * them small for a while. */
static void check_not_lowered(const struct node *node, const struct gamma_flow *flow)
{
	const struct sim *sim = node->sim;

	if (sim->lossless && sim->attacked && flow->state == GAMMA_FLOW_OPEN &&
	    !sim->totals.faults[SIM_RING_DROP] && !sim->totals.faults[SIM_SWITCH_DROP] &&
	    flow->path_mtu.settled && flow->path_mtu.mtu < GAMMA_SAFE_MTU)
		sim_fail(node->sim, "node %u makes frames of %u bytes since some were forged",
			 node->index, flow->path_mtu.mtu);
}

/* Only unanswered probes lengthen the wait for the next ones. */
static void check_backoff(const struct node *node, const struct gamma_flow *flow)
{
	if (flow->loss.backoff && !flow->loss.probing)
		sim_fail(node->sim,
			 "node %u: a probe was answered, yet the next one waits %u times doubled",
			 node->index, flow->loss.backoff);
}

/* ---- rails ---- */

static bool moves(const struct node *node)
{
	return node->state != NODE_GONE && node->away != GAMMA_NEVER;
}

static bool is_flow(const struct node *node, const struct gamma_flow *flow)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &node->ep.local.flows)
		if (gamma_list_entry(pos, struct gamma_flow, all_entry) == flow)
			return true;
	return false;
}

/* Of each rail the frames that are in flight by it, and no others, are counted. */
static void check_in_flight(const struct node *node, const struct gamma_flow *flow)
{
	uint32_t counted[SIM_RAILS_MAX] = {0};

	for (uint32_t seq = flow->tx.una; seq != flow->tx.next; seq++) {
		const struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);

		counted[sent->rail] += sent->state == GAMMA_SENT_FLYING;
	}
	for (unsigned r = 0; r < SIM_RAILS_MAX; r++)
		if (counted[r] != flow->rails->rail[r].in_flight)
			sim_fail(node->sim,
				 "node %u: %u frames are in flight by NIC %u, it counts %u",
				 node->index, counted[r], r, flow->rails->rail[r].in_flight);
}

/* Frames come from peers that have flows. */
static void check_aliases(const struct node *node)
{
	for (uint32_t i = 0; i < GAMMA_ALIAS_CHAINS; i++)
		for (const struct gamma_alias *alias = node->ep.aliases[i]; alias;
		     alias = alias->next)
			if (!is_flow(node, alias->flow))
				sim_fail(node->sim,
					 "node %u would dispatch frames to a flow that is freed",
					 node->index);
}

/* A link that takes nothing is tried again. */
static void check_busy(const struct node *node)
{
	if (node->ep.local.rails_busy && !node->ep.stalled_until)
		sim_fail(node->sim, "node %u takes NICs for busy for ever (bits %x)", node->index,
			 node->ep.local.rails_busy);
}

/* The first rail that both ends have and this one does not use; -1: it uses all. */
static int unused_rail(const struct node *node, const struct gamma_flow *flow)
{
	unsigned peer = (unsigned) flow->addr.mac[4] << 8 | flow->addr.mac[5];
	const struct sim_config *config = &node->sim->config;
	unsigned both = gamma_min(config->nics[node->index], config->nics[peer]);

	if (flow->state != GAMMA_FLOW_OPEN || !flow->heard_of || !flow->rails)
		return -1;
	for (unsigned r = 0; r < both; r++)
		if (((config->udp[node->index] ^ config->udp[peer]) >> r & 1) == 0 &&
		    flow->rails->rail[r].state != GAMMA_RAIL_USABLE)
			return (int) r;
	return -1;
}

bool check_rails(struct sim *sim, bool fail)
{
	bool all = true;

	for (unsigned i = 0; i < sim->config.nodes; i++) {
		struct node *node = node_of(sim, i);
		struct gamma_list *pos;

		if (node->state != NODE_ALIVE || !moves(node))
			continue;
		gamma_list_for_each (pos, &node->ep.local.flows) {
			const struct gamma_flow *flow =
				gamma_list_entry(pos, struct gamma_flow, all_entry);
			unsigned peer = (unsigned) flow->addr.mac[4] << 8 | flow->addr.mac[5];
			int unused;

			if (sim->nodes[peer].state != NODE_ALIVE || !moves(node_of(sim, peer)) ||
			    flow->epoch != sim->nodes[peer].epoch || !sim_flow(sim, peer, i) ||
			    sim_flow(sim, peer, i)->state != GAMMA_FLOW_OPEN)
				continue;
			unused = unused_rail(node, flow);
			all &= unused < 0;
			if (unused >= 0 && fail)
				sim_fail(sim,
					 "node %u does not use its NIC %d toward node %u again", i,
					 unused, peer);
		}
	}
	return all;
}

static uint64_t unexpected_bytes(const struct gamma_flow *flow)
{
	struct gamma_list *pos;
	uint64_t bytes = 0;

	gamma_list_for_each (pos, &gamma_message_state(flow)->incoming) {
		const struct gamma_inbound *inbound =
			gamma_list_entry(pos, struct gamma_inbound, flow_entry);

		bytes += inbound->buffered ? inbound->buffered_size : 0;
	}
	return bytes;
}

void check_progress(struct node *node)
{
	struct sim *sim = node->sim;
	bool free = gamma_list_empty(&node->ep.local.ready) && !node->ep.stalled_until;
	bool sample = node->runs % (SAMPLE * SCAN) == 0;
	struct gamma_list *pos;
	uint64_t kept = 0;

	check_step(node);
	check_busy(node);
	if (node->ep.flow_count > MANY_FLOWS && node->runs % SAMPLE)
		return;
	gamma_list_for_each (pos, &node->ep.local.flows) {
		const struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		sim->totals.states[flow->state]++;
		if (free && flow->state == GAMMA_FLOW_OPEN && gamma_send_window_unacked(&flow->tx))
			check_evidence(node, flow);
		check_backoff(node, flow);
		check_believed(node, flow);
		check_not_lowered(node, flow);
		if (flow->rails && flow->state == GAMMA_FLOW_OPEN && sample)
			check_in_flight(node, flow);
		if (sample)
			kept += unexpected_bytes(flow);
	}
	if (sample && node->ep.aliases)
		check_aliases(node);
	if (sample && kept != node->ep.messages.buffered)
		sim_fail(sim, "node %u keeps %llu bytes of unexpected messages, but counts %llu",
			 node->index, (unsigned long long) kept,
			 (unsigned long long) node->ep.messages.buffered);
	if (node->ep.messages.buffered > sim->config.unexpected_size)
		sim_fail(sim, "node %u keeps %llu bytes of unexpected messages, its limit is %llu",
			 node->index, (unsigned long long) node->ep.messages.buffered,
			 (unsigned long long) sim->config.unexpected_size);
	sim->totals.max_unexpected =
		gamma_max(sim->totals.max_unexpected, node->ep.messages.buffered);
}

/* ---- rings ---- */

/* A late frame whose repetition has been accepted stands for nothing outstanding. */
static bool has_arrived(const struct gamma_receive_window *rx, uint32_t seq)
{
	uint32_t bit = seq % GAMMA_WINDOW_MAX;

	return gamma_seq_before(seq, rx->next) || rx->bits[bit / 64] >> (bit % 64) & 1;
}

/* Was a ring slot reserved for it when it left: a first transmission under credit? */
static bool had_credit(const struct node *node, const struct frame *frame)
{
	const struct gamma_fields *fields = &frame->fields;
	const struct gamma_flow *flow;

	/* A frame in parts: the credit was for one frame, and it arrives as several. */
	if (fields->kind != GAMMA_KIND_DATA || fields->flags & GAMMA_FLAG_AGAIN ||
	    fields->extensions & GAMMA_EXT_PART || frame->copied || frame->damaged ||
	    fields->dst_epoch != node->epoch)
		return false;
	flow = gamma_peers_find(&node->ep, frame->bytes + GAMMA_MAC_LEN, fields->src_port,
				fields->src_epoch);
	return flow && gamma_flow_usable(flow) && flow->rx.begun &&
	       fields->seq - flow->rx.first >= GAMMA_FIRST_CREDIT &&
	       !has_arrived(&flow->rx, fields->seq);
}

/* The reserve is for frames without credit. A drop while fewer of them are there than the
 * reserve: the account is wrong. */
void check_ring_drop(struct node *node, const struct frame *frame)
{
	uint32_t others = !had_credit(node, frame);

	for (const struct frame *in = node->nics[frame->rail].ring_head; in; in = in->next)
		others += !had_credit(node, in);
	if (others < node->ep.local.pool.reserve && !node->sim->attacked)
		sim_fail(node->sim,
			 "ring of node %u dropped a frame though only %u frames without credit "
			 "were in it"
			 " and its reserve is %u",
			 node->index, others, node->ep.local.pool.reserve);
}

/* ---- the end ---- */

/* Does its send end only after a match? */
static bool needs_match(const struct sim_message *message)
{
	return message->level == GAMMA_WHEN_MATCHED || message->send.demoted ||
	       message->length > message->sim->config.eager_size;
}

static bool send_is_owed(const struct sim_message *message)
{
	const struct node *from = node_of(message->sim, message->from);
	const struct node *to = node_of(message->sim, message->to);

	if (message->done || message->lost || !moves(from))
		return false;
	/* An answer may never be due. */
	if (!message->sent)
		return !message->answers;
	if (!needs_match(message) || message->matched || message->posted)
		return true;
	/* Without a receive it waits as long as its receiver lives. */
	return !moves(to) || (message->epoch && message->epoch != to->epoch);
}

static bool receive_is_owed(const struct sim_message *message)
{
	const struct node *from = node_of(message->sim, message->from);
	const struct node *to = node_of(message->sim, message->to);

	if (message->received || message->receiver_lost || !moves(to))
		return false;
	if (!message->posted)
		return message->post_planned;
	if (message->matched)
		return true;
	return message->to_life == to->life && message->done && !message->error && !from->excused &&
	       !to->excused;
}

bool sim_settled(struct sim *sim)
{
	for (unsigned i = 0; i < sim->message_count; i++)
		if (send_is_owed(sim->messages[i]) || receive_is_owed(sim->messages[i]))
			return false;
	return remote_settled(sim);
}

static void explain(struct sim *sim, uint64_t limit)
{
	for (unsigned i = 0; i < sim->message_count; i++) {
		const struct sim_message *message = sim->messages[i];

		if (!send_is_owed(message) && !receive_is_owed(message))
			continue;
		sim_fail(sim,
			 "not settled after %.3f s: message %u, %u -> %u, %llu bytes, level %d%s: "
			 "send %s, receive %s",
			 (double) limit / 1e9, message->id, message->from, message->to,
			 (unsigned long long) message->length, message->level,
			 message->partial ? ", partial address" : "",
			 message->done   ? "ended"
			 : message->sent ? "under way"
					 : "not begun",
			 message->received  ? "ended"
			 : message->matched ? "matched"
			 : message->posted  ? "posted"
					    : "not posted");
		return;
	}
	remote_explain(sim);
}

static bool settled(struct sim *sim, void *arg)
{
	(void) arg;
	return sim_settled(sim);
}

bool sim_finish(struct sim *sim, uint64_t limit)
{
	if (sim_run_until(sim, settled, NULL, limit))
		return true;
	if (!failed(sim))
		explain(sim, limit);
	return false;
}

static void check_message(struct sim *sim, const struct sim_message *message)
{
	bool excused = node_of(sim, message->from)->excused || node_of(sim, message->to)->excused;

	if (message->done && message->error && !excused)
		sim_fail(sim, "message %u (%u -> %u) could not be sent: %d", message->id,
			 message->from, message->to, message->error);
	if (message->received && message->receive_error && !excused)
		sim_fail(sim, "message %u (%u -> %u) could not be received: %d", message->id,
			 message->from, message->to, message->receive_error);
	sim->totals.unposted += message->sent && !message->posted;
}

/* What the peer knows of this NIC: nothing new if no frame has gone to this node since. */
static uint32_t told_mtu(const struct node *node, unsigned peer, const struct gamma_flow *flow)
{
	const struct node *other = node_of(node->sim, peer);
	const struct gamma_flow *back = NULL;

	if (other->state != NODE_GONE)
		back = sim_flow(node->sim, peer, node->index);
	return back && back->mtu_reported ? other->known_mtu : flow->path_mtu.peer_mtu;
}

/* If nothing was lost, padded probes have found the largest frame that the path carries. Full
 * links may have delayed them, or their answers, until they did not count any more. A NIC or
 * switch set to a smaller MTU shows only when a larger frame comes there. */
static void check_path(struct node *node, const struct gamma_flow *flow)
{
	struct sim *sim = node->sim;
	unsigned peer = (unsigned) flow->addr.mac[4] << 8 | flow->addr.mac[5];
	uint32_t nics = (uint32_t) gamma_min(node->known_mtu, told_mtu(node, peer, flow));
	uint32_t largest = nics;

	if (sim->config.switch_mtu && sim->config.switch_mtu < largest)
		largest = GAMMA_SAFE_MTU;
	if (sim->shrunk && (flow->path_mtu.mtu == nics || sim->config.switch_mtu < GAMMA_SAFE_MTU))
		return;
	if (flow->path_mtu.unverified) /* the peer is being asked whether it takes less */
		return;
	if (flow->state == GAMMA_FLOW_OPEN && flow->path_mtu.settled && flow->path_mtu.peer_mtu &&
	    flow->path_mtu.mtu != largest)
		sim_fail(sim, "node %u sends frames of %u bytes to node %u, which takes %u",
			 node->index, flow->path_mtu.mtu, peer, largest);
}

static void check_quiet_node(struct node *node)
{
	const struct gamma_local *local = &node->ep.local;
	struct gamma_list *pos;

	/* A rail whose NIC has a long queue may be doubted without a loss. */
	if (local->stats.retransmissions && !local->stats.rails_doubted)
		sim_fail(node->sim, "node %u sent %llu frames again though nothing was lost",
			 node->index, (unsigned long long) local->stats.retransmissions);
	/* A node that is stopped for good has not seen later frames. */
	if (node->state == NODE_ALIVE && moves(node))
		gamma_list_for_each (pos, &local->flows)
			check_path(node, gamma_list_entry(pos, struct gamma_flow, all_entry));
}

/* A lossless run in order repeats nothing, whatever the applications did. */
static void check_quiet(struct sim *sim)
{
	sim->totals.lossless += sim->quiet;
	for (unsigned i = 0; sim->quiet && i < sim->config.nodes; i++)
		check_quiet_node(node_of(sim, i));
}

void sim_check_end(struct sim *sim)
{
	for (unsigned i = 0; i < sim->message_count; i++)
		check_message(sim, sim->messages[i]);
	remote_check_end(sim);
	check_quiet(sim);
}

/* An endpoint that closes in order has nothing left but messages that wait for a match. */
void check_closed(struct node *node)
{
	struct sim *sim = node->sim;

	for (unsigned i = 0; i < sim->message_count; i++) {
		const struct sim_message *message = sim->messages[i];

		if (message->from == node->index && message->sent && !message->done &&
		    !message->lost && !needs_match(message) && !node->excused &&
		    !node_of(sim, message->to)->excused && moves(node_of(sim, message->to)))
			sim_fail(sim, "node %u has closed with message %u not delivered",
				 node->index, message->id);
	}
}
