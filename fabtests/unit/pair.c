// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The endpoints, their messages and virtual time; see pair.h. */
#include "pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair_wire.h"
#include "wire/pseudo_mac.h"

enum { TENANT = 1000 };

volatile unsigned net_allocates; /* volatile: calloc does not read it */

void *net_allocate(size_t size)
{
	void *block;

	net_allocates++;
	block = calloc(1, size);
	net_allocates--;
	assert_non_null(block);
	return block;
}

/* Byte of message `number` from a node, at an offset. */
static uint8_t pattern(unsigned from, uint32_t number, uint64_t offset)
{
	return (uint8_t) (from * 89 + number * 57 + offset * 7 + (offset >> 8) * 3 + 1);
}

static unsigned peer_of(const struct gamma_flow *flow)
{
	return wire_node_of_mac(flow->addr.mac);
}

/* ---- what the application would do ---- */

static void check_order(struct node *node, struct gamma_flow *flow,
			const struct gamma_envelope *envelope)
{
	if (node->net->lawless)
		return;
	assert_true(envelope->flags & GAMMA_TAGGED);
	assert_int_equal((uint32_t) envelope->tag, node->next_match[peer_of(flow)]);
}

/* A message that there is no memory for is offered again: only one that was taken counts. */
static void count_match(struct node *node, const struct gamma_flow *flow)
{
	if (!node->net->lawless)
		node->next_match[peer_of(flow)]++;
}

static struct gamma_recv *on_match(void *context, struct gamma_flow *flow,
				   const struct gamma_envelope *envelope)
{
	struct node *node = context;
	struct incoming *incoming;

	check_order(node, flow, envelope);
	/* Messages that came before and wait are matched first. */
	if (gamma_list_empty(&node->posted) || !gamma_list_empty(&node->unexpected))
		return NULL;
	incoming = gamma_list_first(&node->posted, struct incoming, entry);
	gamma_list_remove(&incoming->entry);
	count_match(node, flow);
	return &incoming->recv;
}

static void on_unexpected(void *context, struct gamma_inbound *inbound)
{
	struct node *node = context;

	count_match(node, inbound->flow);
	gamma_list_append(&node->unexpected, &inbound->entry);
}

static void free_incoming(struct incoming *incoming)
{
	gamma_list_remove(&incoming->entry);
	gamma_list_remove(&incoming->all_entry);
	free(incoming->bytes);
	free(incoming);
}

static void check_bytes(const struct node *node, const struct incoming *incoming, unsigned from,
			const struct gamma_envelope *envelope, uint64_t placed)
{
	uint32_t number = (uint32_t) envelope->tag;

	if (node->net->lawless)
		return;
	assert_int_equal(placed, gamma_min(envelope->length, incoming->recv.capacity));
	for (uint64_t i = 0; i < placed; i++)
		if (incoming->bytes[i] != pattern(from, number, i))
			fail_msg("message %u from %u: byte %llu of %llu is wrong", number, from,
				 (unsigned long long) i, (unsigned long long) placed);
}

static void on_received(void *context, struct gamma_recv *recv, struct gamma_flow *flow,
			const struct gamma_envelope *envelope, uint64_t placed, int error)
{
	struct node *node = context;
	struct incoming *incoming = gamma_container_of(recv, struct incoming, recv);

	node->placed = placed;
	node->envelope = *envelope;
	if (error) {
		node->receive_errors++;
		node->last_error = error;
	} else {
		check_bytes(node, incoming, peer_of(flow), envelope, placed);
		node->received++;
	}
	free_incoming(incoming);
	if (!error && node->on_received)
		node->on_received(node, peer_of(flow));
}

static void on_sent(void *context, struct gamma_send *send, struct gamma_flow *flow, int error)
{
	struct node *node = context;
	struct outgoing *outgoing = gamma_container_of(send, struct outgoing, send);

	(void) flow;
	assert_false(outgoing->done);
	if (!send->rma && outgoing->present)
		memset(outgoing->bytes, 0xee, outgoing->present); /* it may be used again */
	outgoing->done = true;
	outgoing->error = error;
	outgoing->done_at = node->net->now;
	node->sent += !error;
	node->send_errors += !!error;
	if (error)
		node->last_error = error;
}

static void on_failed(void *context, struct gamma_flow *flow, int error, const char *cause)
{
	struct node *node = context;

	(void) flow;
	node->failures++;
	node->last_error = error;
	snprintf(node->last_cause, sizeof(node->last_cause), "%s", cause);
}

static void on_gone(void *context, struct gamma_flow *flow)
{
	struct node *node = context;

	(void) flow;
	node->gone++;
}

static const struct gamma_endpoint_handlers handlers = {
	.messages =
		{
			.match = on_match,
			.unexpected = on_unexpected,
			.received = on_received,
			.sent = on_sent,
			.failed = on_failed,
		},
	.gone = on_gone,
};

/* ---- making and unmaking ---- */

struct net_options net_defaults(void)
{
	return (struct net_options){
		.mtu = 1500,
		.slots = 256,
		.latency = US,
		.inject_size = 512,
		.eager_size = 16384,
		.unexpected_size = 64 << 20,
		.peer_timeout = 30 * SEC,
	};
}

static void add_second_nic(struct node *node, const uint8_t *first)
{
	const struct net_options *options = &node->net->options;
	uint8_t mac[GAMMA_MAC_LEN];

	memcpy(mac, first, sizeof(mac));
	assert_int_equal(gamma_aliases_init(&node->ep), 0);
	gamma_links_add(&node->ep, &node->link, mac, false);
	node->second = node->link;
	node->second.ops = &wire_second_ops;
	node->second.mtu = options->second_mtu ? options->second_mtu : options->mtu;
	mac[1] = options->second_udp ? GAMMA_PSEUDO_MAC_1 : mac[1];
	mac[2] = 1;
	gamma_links_add(&node->ep, &node->second, mac, options->second_udp);
}

static void node_init(struct net *net, unsigned index)
{
	const struct net_options *options = &net->options;
	struct node *node = &net->nodes[index];
	struct gamma_limits limits = {
		.mtu = options->mtu,
		.local_mtu = GAMMA_SHM_SOCKET_MTU,
		.inject_size = options->inject_size,
		.eager_size = options->eager_size,
		.unexpected_size = options->unexpected_size,
		.peer_timeout = options->peer_timeout,
		.forget = 2 * SEC,
	};
	struct gamma_addr addr = {
		.mac = {2, 0, 0, 0, (uint8_t) (index >> 8), (uint8_t) index},
		.port = htons((uint16_t) (9000 + index)),
		.epoch = htonl(0xe0000000 + index),
		.version = GAMMA_ADDR_VERSION,
		.mtu = htons((uint16_t) options->mtu),
		.host = index + 1,
	};

	node->net = net;
	gamma_list_init(&node->ring);
	gamma_list_init(&node->posted);
	gamma_list_init(&node->unexpected);
	gamma_list_init(&node->receives);
	node->next_number = calloc(net->count, sizeof(*node->next_number));
	node->next_match = calloc(net->count, sizeof(*node->next_match));
	assert_true(node->next_number && node->next_match);
	node->link.ops = &wire_link_ops;
	node->link.mtu = options->mtu;
	node->link.slots = options->slots;
	assert_int_equal(gamma_peers_init(&node->ep), 0);
	gamma_message_local_init(&node->ep.messages, &addr, TENANT, &limits, options->slots);
	node->ep.local.flow_size = sizeof(struct gamma_peer);
	node->link.stats = &node->ep.local.stats;
	node->ep.handlers = handlers;
	node->ep.context = node;
	node->ep.messages.handlers = &node->ep.handlers.messages;
	node->ep.messages.context = node;
	node->ep.local.forget = gamma_peers_forget;
	node->ep.packet = &node->link;
	if (options->nics > 1)
		add_second_nic(node, addr.mac);
}

struct net *net_new(unsigned count, const struct net_options *options)
{
	struct net *net = calloc(1, sizeof(*net));

	assert_non_null(net);
	net->options = options ? *options : net_defaults();
	net->count = count;
	net->nodes = calloc(count, sizeof(*net->nodes));
	assert_non_null(net->nodes);
	net->now = SEC;
	net->steps_max = 2000000;
	gamma_list_init(&net->flying);
	for (unsigned i = 0; i < count; i++)
		node_init(net, i);
	return net;
}

static void node_fini(struct node *node)
{
	gamma_message_local_fini(&node->ep.messages);
	gamma_peers_fini(&node->ep);
	wire_free(&node->ring);
	while (!gamma_list_empty(&node->receives))
		free_incoming(gamma_list_first(&node->receives, struct incoming, all_entry));
	while (node->sends) {
		struct outgoing *outgoing = node->sends;

		node->sends = outgoing->next;
		free(outgoing->bytes);
		free(outgoing);
	}
	free(node->next_number);
	free(node->next_match);
}

void net_free(struct net *net)
{
	for (unsigned i = 0; i < net->count; i++)
		node_fini(&net->nodes[i]);
	wire_free(&net->flying);
	free(net->nodes);
	free(net);
}

/* ---- flows and messages ---- */

struct gamma_flow *net_flow(struct net *net, unsigned a, unsigned b)
{
	struct gamma_endpoint *ep = &net->nodes[a].ep;
	const struct gamma_addr *peer = &net->nodes[b].ep.local.addr;
	struct gamma_flow *flow =
		gamma_peers_find(ep, peer->mac, ntohs(peer->port), ntohl(peer->epoch));

	return flow ? flow : gamma_peers_add(ep, peer, net->now);
}

void net_begin_at(struct net *net, unsigned a, unsigned b, uint32_t seq)
{
	struct gamma_flow *out = net_flow(net, a, b), *in = net_flow(net, b, a);

	gamma_send_window_begin(out, seq);
	gamma_receive_window_begin(in, seq);
	in->ack.sent_limit = in->credit.limit;
}

static struct outgoing *send_on(struct net *net, struct gamma_flow *flow, unsigned from,
				unsigned to, uint64_t length, size_t present,
				enum gamma_completion_level level)
{
	struct outgoing *outgoing = net_allocate(sizeof(*outgoing));
	struct node *node = &net->nodes[from];
	uint32_t number = node->next_number[to]++;
	int ret;

	outgoing->bytes = net_allocate(present);
	outgoing->present = present;
	for (size_t i = 0; i < present; i++)
		outgoing->bytes[i] = pattern(from, number, i);
	outgoing->send.iov[0] = (struct iovec){outgoing->bytes, length};
	outgoing->send.iov_count = 1;
	outgoing->send.envelope.tag = number;
	outgoing->send.envelope.flags = GAMMA_TAGGED;
	if (net->to_port) {
		outgoing->send.envelope.flags |= GAMMA_TO_PORT;
		outgoing->send.envelope.tag = gamma_envelope_port_tag(1, net->head_len, number);
	}
	outgoing->send.envelope.length = length;
	outgoing->send.level = level;
	outgoing->next = node->sends;
	node->sends = outgoing;
	if (flow->has_shm_channel && gamma_shm_path_announce(flow, &outgoing->send))
		return outgoing;
	ret = gamma_send_message(flow, &outgoing->send);
	if (ret) {
		outgoing->done = true;
		outgoing->error = ret;
	}
	return outgoing;
}

struct outgoing *net_send_part(struct net *net, unsigned from, unsigned to, uint64_t length,
			       size_t present, enum gamma_completion_level level)
{
	return send_on(net, net_flow(net, from, to), from, to, length, present, level);
}

struct outgoing *net_send_partial(struct net *net, unsigned from, unsigned to, uint64_t length,
				  enum gamma_completion_level level)
{
	struct gamma_endpoint *ep = &net->nodes[from].ep;
	struct gamma_addr peer = net->nodes[to].ep.local.addr;
	struct gamma_flow *flow;

	peer.epoch = 0;
	flow = gamma_peers_any(ep, peer.mac, ntohs(peer.port));
	if (!flow)
		flow = gamma_peers_add(ep, &peer, net->now);
	return send_on(net, flow, from, to, length, length, level);
}

struct outgoing *net_send(struct net *net, unsigned from, unsigned to, uint64_t length,
			  enum gamma_completion_level level)
{
	return net_send_part(net, from, to, length, length, level);
}

static struct gamma_inbound *take_unexpected(struct node *node)
{
	struct gamma_inbound *inbound =
		gamma_list_first(&node->unexpected, struct gamma_inbound, entry);

	gamma_list_remove(&inbound->entry);
	return inbound;
}

void net_post(struct net *net, unsigned index, size_t capacity)
{
	struct node *node = &net->nodes[index];
	struct incoming *incoming = net_allocate(sizeof(*incoming));

	incoming->bytes = net_allocate(capacity);
	incoming->recv.iov[0] = (struct iovec){incoming->bytes, capacity};
	incoming->recv.iov_count = 1;
	incoming->recv.capacity = capacity;
	gamma_list_init(&incoming->entry);
	gamma_list_append(&node->receives, &incoming->all_entry);
	if (gamma_list_empty(&node->unexpected))
		gamma_list_append(&node->posted, &incoming->entry);
	else
		gamma_receive_accept(take_unexpected(node), &incoming->recv);
}

void net_discard(struct net *net, unsigned node)
{
	assert_false(gamma_list_empty(&net->nodes[node].unexpected));
	gamma_receive_discard(take_unexpected(&net->nodes[node]));
}

struct gamma_fields net_fields(const struct net *net, unsigned a, unsigned b, uint8_t kind,
			       uint8_t op)
{
	const struct gamma_local *from = &net->nodes[a].ep.local, *to = &net->nodes[b].ep.local;

	return (struct gamma_fields){
		.dst_port = to->port,
		.src_port = from->port,
		.tenant = TENANT,
		.kind = kind,
		.op = op,
		.src_epoch = from->epoch,
		.dst_epoch = to->epoch,
	};
}

void net_forge(struct net *net, unsigned a, unsigned b, struct gamma_fields *fields,
	       const void *payload)
{
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX + 2048];
	uint8_t *at = room + GAMMA_ETH_LEN + GAMMA_HEADER_MAX;
	uint8_t *frame;

	if (payload && fields->payload_len)
		memcpy(at, payload, fields->payload_len);
	frame = gamma_codec_build(fields, net->nodes[b].ep.local.addr.mac,
				  net->nodes[a].ep.local.addr.mac, GAMMA_ETHERTYPE, at);
	wire_fly(net, b, frame, (size_t) GAMMA_ETH_LEN + fields->header_len + fields->payload_len,
		 net->now);
}

/* The number of node 0's LOOKUP that is out, or any. */
static uint32_t lookup_number(const struct net *net)
{
	const struct gamma_list *flows = &net->nodes[0].ep.local.flows;
	struct gamma_list *pos;

	gamma_list_for_each (pos, flows) {
		const struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (flow->looking_up)
			return flow->lookup;
	}
	return 77;
}

void net_answer_lookup(struct net *net, uint8_t op, const struct gamma_addr *addr)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_LOOKUP, op);

	fields.seq = lookup_number(net);
	fields.payload_len = addr ? sizeof(*addr) : 0;
	net_forge(net, 1, 0, &fields, addr);
	net_run(net, US / 2);
}

void net_forge_bye(struct net *net, uint32_t beyond)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_BYE, GAMMA_ASK);

	fields.seq = net_flow(net, 0, 1)->rx.highest + beyond;
	fields.extensions = GAMMA_EXT_ACK;
	fields.ack = net_flow(net, 0, 1)->tx.next;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, US / 2);
}

/* ---- time ---- */

/* What the flows hold is what the pool says, and never goes beyond the pool. What is left of first
 * credit, which every unknown peer has, belongs to the reserve. */
static void check_credit(struct node *node)
{
	const struct gamma_credit_pool *pool = &node->ep.local.pool;
	uint32_t sum = 0, active = 0, bulk = 0, bulk_sum = 0;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &node->ep.local.flows) {
		const struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);
		uint32_t window = gamma_credit_window(flow) - flow->credit.first;

		if (!flow->credit.active)
			continue;
		assert_true(flow->credit.first <= gamma_credit_window(flow));
		active++;
		sum += window;
		bulk += flow->credit.bulk;
		bulk_sum += flow->credit.bulk ? window : 0;
	}
	assert_int_equal(pool->active, active);
	assert_int_equal(pool->granted, sum);
	assert_int_equal(pool->bulk, bulk);
	assert_int_equal(pool->bulk_granted, bulk_sum);
	assert_true(pool->granted <= pool->slots - pool->reserve || pool->granted <= node->granted);
	node->granted = pool->granted;
}

/* Over UDP, beside a raw rail, only named peers are heard. */
static void dispatch(struct node *node, const struct gamma_arrival *arrival)
{
	struct gamma_local *local = &node->ep.local;

	local->rail = wire_rail_of(node->net, arrival->frame);
	if (gamma_local_rail_is_udp(local, local->rail) &&
	    !gamma_dispatch_is_named(&node->ep, local->rail, arrival))
		local->stats.stray++;
	else
		gamma_dispatch(&node->ep, node->ep.shm ? &node->ep.shm->link : &node->link, arrival,
			       node->net->now);
}

static void progress(struct node *node)
{
	struct net *net = node->net;
	struct gamma_local *local = &node->ep.local;
	struct gamma_arrival arrival;

	arrival.behind = false;
	while (node->link.ops->next(&node->link, &arrival)) {
		dispatch(node, &arrival);
		node->link.ops->release(&node->link);
		check_credit(node);
	}
	local->rail = 0;
	node->ep.resets = 0;
	if (net->now >= local->next_deadline)
		gamma_timers_expire(local, net->now);
	while (!gamma_list_empty(&local->ready) ||
	       (node->ep.stalled_until && node->ep.stalled_until <= net->now)) {
		gamma_output(&node->ep, net->now);
		if (++net->steps > net->steps_max)
			fail_msg("livelock: %lu steps", net->steps);
	}
	check_credit(node);
}

static uint64_t next_event(const struct node *node)
{
	const struct gamma_local *local = &node->ep.local;
	uint64_t when = local->next_deadline;

	if (node->ring_count)
		when = 0;
	if (!gamma_list_empty(&local->ready))
		when = 0;
	else if (node->ep.stalled_until)
		when = gamma_min(when, node->ep.stalled_until);
	return gamma_max(when, node->wakes);
}

static uint64_t next_time(const struct net *net)
{
	uint64_t when = wire_next(net);

	for (unsigned i = 0; i < net->count; i++)
		when = gamma_min(when, next_event(&net->nodes[i]));
	return gamma_max(when, net->now);
}

bool net_step(struct net *net, uint64_t until)
{
	uint64_t when = next_time(net);

	if (when > until || when == GAMMA_NEVER)
		return false;
	if (++net->steps > net->steps_max)
		fail_msg("livelock: %lu steps", net->steps);
	net->now = when;
	wire_deliver(net);
	for (unsigned i = 0; i < net->count; i++)
		if (next_event(&net->nodes[i]) <= net->now)
			progress(&net->nodes[i]);
	return true;
}

void net_run(struct net *net, uint64_t duration)
{
	uint64_t until = net->now + duration;

	while (net_step(net, until))
		;
	net->now = until;
}

static bool finished(const struct net *net)
{
	for (unsigned i = 0; i < net->count; i++) {
		const struct node *node = &net->nodes[i];

		if (!gamma_list_empty(&node->receives))
			return false;
		for (const struct outgoing *out = node->sends; out; out = out->next)
			if (!out->done)
				return false;
	}
	return true;
}

uint64_t net_finish(struct net *net, uint64_t limit)
{
	uint64_t start = net->now;

	while (!finished(net))
		if (!net_step(net, start + limit))
			fail_msg("not finished within %llu ns", (unsigned long long) limit);
	return net->now - start;
}

void net_exchange(struct net *net)
{
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
}

bool net_quiet(const struct net *net)
{
	if (!gamma_list_empty(&net->flying))
		return false;
	for (unsigned i = 0; i < net->count; i++)
		if (net->nodes[i].ring_count || !gamma_list_empty(&net->nodes[i].ep.local.ready))
			return false;
	return true;
}

const struct gamma_stats *net_stats(const struct net *net, unsigned node)
{
	return &net->nodes[node].ep.local.stats;
}
