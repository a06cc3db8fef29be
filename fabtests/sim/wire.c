// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The network: each host's NIC sends at its rate over a cable to the switch, whose port to the
 * destination has a rate and a finite buffer, and the frame ends in that host's receive ring,
 * which has finite slots. Called by the product's code as its link, and by the event loop.
 */
#include "internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "link/train.h"

/* Preamble, frame check sequence and gap of a frame on the cable; the shortest one. */
enum { FRAMING = 24, SHORTEST = 60 };
enum { SPOILT = 0xdb }; /* what a released slot has */

static const size_t class_size[FRAME_CLASSES] = {256, 2048, UINT16_MAX + GAMMA_ETH_LEN};

static unsigned node_of_mac(const uint8_t *mac)
{
	return (unsigned) mac[4] << 8 | mac[5];
}

uint64_t wire_rate(const struct sim *sim, unsigned node)
{
	return sim->config.rates[node] ? sim->config.rates[node] : sim->config.rate;
}

uint64_t wire_time(uint64_t bytes, uint64_t rate)
{
	return (gamma_max(bytes, SHORTEST) + FRAMING) * 8000 / (rate / 1000000);
}

/* ---- frames ---- */

static struct frame *frame_new(struct sim *sim, size_t len)
{
	struct frame *frame;
	uint8_t class = 0;

	while (class_size[class] < len)
		class ++;
	frame = sim->free_frames[class];
	if (frame)
		sim->free_frames[class] = frame->next;
	else
		frame = malloc(sizeof(*frame) + class_size[class]);
	if (!frame)
		abort();
	memset(frame, 0, sizeof(*frame));
	frame->class = class;
	frame->len = len;
	return frame;
}

void wire_frame_free(struct sim *sim, struct frame *frame)
{
	frame->next = sim->free_frames[frame->class];
	sim->free_frames[frame->class] = frame;
}

struct frame *wire_frame_copy(struct sim *sim, const struct frame *frame)
{
	struct frame *copy = frame_new(sim, frame->len);

	memcpy(copy, frame, sizeof(*frame) + frame->len);
	copy->copied = true;
	return copy;
}

void wire_drop(struct sim *sim, struct frame *frame, enum sim_fault why)
{
	bool padding = frame->fields.kind == GAMMA_KIND_PROBE && why == SIM_MTU_DROP;

	fault_count(sim, why);
	/* A padded probe that is too long informs its sender: it does not count as a loss. */
	if (!padding)
		sim->quiet = false;
	if (sim->verbose)
		sim_note(sim, "%s: frame %u -> %u kind %u op %u seq %u", sim_fault_names[why],
			 frame->from, frame->to, frame->fields.kind, frame->fields.op,
			 frame->fields.seq);
	wire_frame_free(sim, frame);
}

void wire_free(struct sim *sim)
{
	for (unsigned i = 0; i < OLD_FRAMES; i++)
		free(sim->old[i]);
	for (unsigned class = 0; class < FRAME_CLASSES; class ++) {
		while (sim->free_frames[class]) {
			struct frame *frame = sim->free_frames[class];

			sim->free_frames[class] = frame->next;
			free(frame);
		}
	}
}

struct frame *wire_frame_new(struct sim *sim, const uint8_t *bytes, size_t len)
{
	struct frame *frame = frame_new(sim, len);

	memcpy(frame->bytes, bytes, len);
	frame->from = (uint16_t) node_of_mac(bytes + GAMMA_MAC_LEN);
	frame->to = (uint16_t) node_of_mac(bytes);
	frame->copied = true; /* it had no credit */
	if (gamma_codec_parse(frame->bytes, len, &frame->fields) != GAMMA_OK)
		abort();
	frame->port = htons(frame->fields.src_port);
	return frame;
}

/* ---- out of a host ---- */

/* Frames of one host keep their order on its cable, except those that a fault delays. */
static uint64_t at_switch(struct node *node, uint64_t extra)
{
	struct sim *sim = node->sim;
	uint64_t when = node->nic_free + sim->config.latency / 2;

	if (extra)
		return when + extra;
	if (fault_now(sim, sim->chances.jitter > 0))
		when += sim_random(sim) % sim->chances.jitter;
	node->last_at_switch = gamma_max(node->last_at_switch, when);
	return node->last_at_switch;
}

static void leave(struct node *node, struct frame *frame)
{
	struct sim *sim = node->sim;
	uint64_t delay = 0;
	enum sim_fault fault = fault_of(sim, frame, &delay);

	if (node->train_cut) {
		wire_drop(sim, frame, SIM_TRAIN_CUT);
		return;
	}
	if (fault != SIM_PASS && fault != SIM_LOSS && fault != SIM_BURST_LOSS &&
	    fault != SIM_RULE) {
		fault_count(sim, fault);
		sim->quiet = false;
	}
	switch (fault) {
	case SIM_LOSS:
	case SIM_BURST_LOSS:
	case SIM_RULE:
		wire_drop(sim, frame, fault);
		return;
	case SIM_HEADER_DAMAGE:
	case SIM_PAYLOAD_DAMAGE:
		fault_damage(sim, frame, fault);
		break;
	case SIM_DUPLICATE:
		sim_push(sim, at_switch(node, 1 + delay), EVENT_SWITCH, 0,
			 wire_frame_copy(sim, frame));
		break;
	case SIM_REPLAY:
		sim_push(
			sim, at_switch(node, 1 + delay), EVENT_SWITCH, 0,
			wire_frame_copy(
				sim,
				sim->old[sim_random(sim) % gamma_min(sim->old_count, OLD_FRAMES)]));
		break;
	default:
		break;
	}
	sim_push(sim, at_switch(node, fault == SIM_REORDER ? 1 + delay : node->train_delay),
		 EVENT_SWITCH, 0, frame);
}

static void digest_frame(struct sim *sim, const struct frame *frame, uint64_t leaves)
{
	size_t len = gamma_min(frame->len, GAMMA_ETH_LEN + frame->fields.header_len);
	uint64_t word = 0;

	digest(sim, leaves);
	digest(sim, frame->len);
	for (size_t i = 0; i < len; i += sizeof(word)) {
		memcpy(&word, frame->bytes + i, gamma_min(sizeof(word), len - i));
		digest(sim, word);
	}
}

/* The message whose payload it carries, if that has not ended, and how many bytes of it. */
static void note_message(struct frame *frame, const struct gamma_frame *from)
{
	const struct gamma_sent *sent;

	if (from->kind != GAMMA_KIND_DATA || !from->flow)
		return;
	sent = gamma_send_window_at(&from->flow->tx, from->seq);
	frame->carries = sent->len;
	/* A copy that the flow has made for itself belongs to no message any more. */
	if (sent->send && !sent->send->copied && !sent->send->rma && !sent->send->reply)
		frame->message = gamma_container_of(sent->send, struct sim_message, send);
}

static size_t frame_len(const struct gamma_frame *frame)
{
	size_t len = frame->head_len;

	for (unsigned i = 0; i < frame->iov_count; i++)
		len += frame->iov[i].iov_len;
	return len;
}

/* A frame that was gathered. */
static void transmit_frame(struct node *node, struct frame *frame, const struct gamma_frame *from)
{
	struct sim *sim = node->sim;
	size_t len = frame->len;

	frame->from = (uint16_t) node->index;
	frame->port = node->ep.local.addr.port;
	frame->life = node->life;
	frame->to = (uint16_t) node_of_mac(frame->bytes);
	note_message(frame, from);
	if (gamma_codec_parse(frame->bytes, len, &frame->fields) != GAMMA_OK)
		sim_fail(sim, "node %u sent a malformed frame", node->index);
	node->nic_free =
		gamma_max(node->nic_free, sim->now) + wire_time(len, wire_rate(sim, node->index));
	sim->totals.kinds[frame->fields.kind & 15][frame->fields.op & 15]++;
	digest_frame(sim, frame, node->nic_free);
	if (sim->pcap)
		pcap_add(sim->pcap, node->nic_free, frame->bytes, len);
	if (sim->tap.frame)
		sim->tap.frame(sim->tap.arg, frame->from, frame->to, &frame->fields, len,
			       node->nic_free);
	fault_remember(sim, frame);
	if (gamma_unlikely(sim->attacked))
		attacker_record(sim, frame);
	leave(node, frame);
}

static void transmit(struct node *node, const struct gamma_frame *from)
{
	struct frame *frame = frame_new(node->sim, frame_len(from));
	size_t len = from->head_len;

	memcpy(frame->bytes, from->head, len);
	for (unsigned i = 0; i < from->iov_count; i++) {
		memcpy(frame->bytes + len, from->iov[i].iov_base, from->iov[i].iov_len);
		len += from->iov[i].iov_len;
	}
	transmit_frame(node, frame, from);
}

void wire_transmit(struct node *node, const struct gamma_frame *from, const uint8_t *bytes,
		   size_t len)
{
	struct frame *frame = frame_new(node->sim, GAMMA_ETH_LEN + len);

	memcpy(frame->bytes, from->head, GAMMA_ETH_LEN);
	memcpy(frame->bytes + GAMMA_ETH_LEN, bytes, len);
	transmit_frame(node, frame, from);
}

/* Bytes that wait in the NIC. */
static uint64_t backlog(const struct node *node)
{
	const struct sim *sim = node->sim;

	if (node->nic_free <= sim->now)
		return 0;
	return (node->nic_free - sim->now) * (wire_rate(sim, node->index) / 1000000) / 8000;
}

static unsigned link_send(struct gamma_link *link, const struct gamma_frame *frames, unsigned count,
			  int *error)
{
	struct node *node = gamma_container_of(link, struct node, link);
	struct sim *sim = node->sim;
	unsigned sent = 0, most = count;

	*error = -EAGAIN;
	if (node->refuses > sim->now) {
		*error = -ENOBUFS;
		most = 0;
		fault_count(sim, SIM_REFUSED);
	} else if (fault_chance(sim, sim->chances.partly)) {
		most = (unsigned) (sim_random(sim) % count);
		fault_count(sim, SIM_PARTLY);
	}
	while (sent < most && backlog(node) < sim->config.nic_queue) {
		size_t len = frame_len(&frames[sent]);
		unsigned n;

		/* The endpoint may not know yet that its NIC's MTU was lowered: that is no
		 * error of its own. */
		if (len > node->ep.local.limits.mtu + GAMMA_ETH_LEN)
			sim_fail(sim, "node %u made a frame of %zu bytes, more than its MTU",
				 node->index, len);
		if (len > node->link.mtu + GAMMA_ETH_LEN) {
			node->known_mtu = node->link.mtu;
			*error = -EMSGSIZE;
			break;
		}
		n = node->train ? gamma_train_count(&frames[sent], most - sent) : 1;
		if (node->train)
			train_transmit(node, &frames[sent], n);
		else
			transmit(node, &frames[sent]);
		sent += n;
	}
	return sent;
}

/* ---- the switch ---- */

/* A frame enters the queue of the port to that node, which it leaves at *leaves; false: the queue
 * is full, and that is when the last one leaves. */
static bool enter_port(struct sim *sim, struct node *to, size_t len, uint64_t *leaves)
{
	uint64_t rate = wire_rate(sim, to->index), ahead;
	bool room;

	to->port_free = gamma_max(to->port_free, sim->now);
	ahead = (to->port_free - sim->now) * (rate / 1000000) / 8000;
	room = ahead + len <= sim->config.port_buffer;
	if (room)
		to->port_free += wire_time(len, rate);
	*leaves = to->port_free;
	return room;
}

bool sim_cross(struct sim *sim, unsigned to, size_t len, uint64_t *arrives)
{
	bool passes = enter_port(sim, node_of(sim, to), len, arrives);

	*arrives += sim->config.latency / 2;
	return passes;
}

void wire_at_switch(struct sim *sim, struct frame *frame)
{
	uint64_t leaves, limit = sim->config.switch_mtu;

	if (frame->to >= sim->config.nodes) {
		wire_drop(sim, frame, SIM_NOBODY);
		return;
	}
	if (sim->nodes[frame->from].cut_until[frame->to] > sim->now) {
		wire_drop(sim, frame, SIM_CUT);
		return;
	}
	if (limit && frame->len > limit + GAMMA_ETH_LEN) {
		wire_drop(sim, frame, SIM_MTU_DROP);
		return;
	}
	if (!enter_port(sim, node_of(sim, frame->to), frame->len, &leaves)) {
		wire_drop(sim, frame, SIM_SWITCH_DROP);
		return;
	}
	sim_push(sim, leaves + sim->config.latency / 2, EVENT_HOST, 0, frame);
}

/* ---- into a host ---- */

void wire_at_host(struct sim *sim, struct frame *frame)
{
	struct node *node = node_of(sim, frame->to);

	if (node->state == NODE_GONE) {
		wire_drop(sim, frame, SIM_NOBODY);
		return;
	}
	if (node->train ? !train_has_room(node, frame) : node->ring_count == sim->config.slots) {
		check_ring_drop(node, frame);
		node->ep.local.stats.ring_drops++;
		wire_drop(sim, frame, SIM_RING_DROP);
		return;
	}
	frame->next = NULL;
	frame->landed = sim->now;
	*node->ring_tail = frame;
	node->ring_tail = &frame->next;
	node->ring_count++;
	if (node->train)
		train_landed(node, frame);
	node_wake(node);
}

static bool link_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct node *node = gamma_container_of(link, struct node, link);

	if (node->train)
		return train_next(node, arrival);
	if (!node->ring_head)
		return false;
	node->reads = true;
	arrival->frame = node->ring_head->bytes;
	arrival->len = node->ring_head->len;
	arrival->payload = NULL;
	arrival->stamp = node->sim->config.stamped ? node->ring_head->landed : 0;
	arrival->flow = NULL;
	return true;
}

void wire_ring_pop(struct node *node)
{
	struct frame *frame = node->ring_head;

	node->ring_head = frame->next;
	if (!node->ring_head)
		node->ring_tail = &node->ring_head;
	node->ring_count--;
	wire_frame_free(node->sim, frame);
}

static void link_release(struct gamma_link *link)
{
	struct node *node = gamma_container_of(link, struct node, link);

	if (node->train) {
		train_release(node);
		return;
	}
	if (!node->reads) {
		sim_fail(node->sim, "node %u releases a slot that it has not read", node->index);
		return;
	}
	node->reads = false;
	/* Others may write there. */
	if (node->sim->config.ports)
		memset(node->ring_head->bytes, SPOILT, node->ring_head->len);
	wire_ring_pop(node);
}

void wire_ring_clear(struct node *node)
{
	if (node->train)
		train_clear(node);
	while (node->ring_head)
		wire_ring_pop(node);
}

static void link_nothing(struct gamma_link *link)
{
	(void) link;
}

const struct gamma_link_ops wire_link_ops = {
	.send = link_send,
	.next = link_next,
	.release = link_release,
	.count = link_nothing,
	.close = link_nothing,
};
