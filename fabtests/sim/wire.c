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
#include "wire/pseudo_mac.h"

/* Preamble, frame check sequence and gap of a frame on the cable; the shortest one. */
enum { FRAMING = 24, SHORTEST = 60 };
enum { SPOILT = 0xdb }; /* what a released slot has */

static const size_t class_size[FRAME_CLASSES] = {256, 2048, UINT16_MAX + GAMMA_ETH_LEN};

static unsigned node_of_mac(const uint8_t *mac)
{
	return (unsigned) mac[4] << 8 | mac[5];
}

/* The place of the NIC. */
static unsigned rail_of_mac(const uint8_t *mac)
{
	return mac[2];
}

uint64_t wire_rate(const struct sim *sim, unsigned node)
{
	return sim->config.rates[node] ? sim->config.rates[node] : sim->config.rate;
}

static uint64_t nic_rate(const struct nic *nic)
{
	const struct sim *sim = nic->node->sim;
	uint64_t rate = nic->rail ? sim->config.rails[nic->rail].rate : 0;

	return rate ? rate : wire_rate(sim, nic->node->index);
}

static uint64_t cable_latency(const struct sim *sim, unsigned rail)
{
	uint64_t latency = rail ? sim->config.rails[rail].latency : 0;

	return (latency ? latency : sim->config.latency) / 2;
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
	frame->rail = (uint8_t) rail_of_mac(bytes);
	frame->copied = true; /* it had no credit */
	if (gamma_codec_parse(frame->bytes, len, &frame->fields) != GAMMA_OK)
		abort();
	frame->port = htons(frame->fields.src_port);
	return frame;
}

/* ---- out of a host ---- */

/* Frames of one host keep their order on its cable, except those that a fault delays. */
static uint64_t at_switch(struct nic *nic, uint64_t extra)
{
	struct sim *sim = nic->node->sim;
	uint64_t when = nic->cable->nic_free + cable_latency(sim, nic->rail);

	if (extra)
		return when + extra;
	if (fault_now(sim, sim->chances.jitter > 0))
		when += sim_random(sim) % sim->chances.jitter;
	nic->cable->last_at_switch = gamma_max(nic->cable->last_at_switch, when);
	return nic->cable->last_at_switch;
}

static void leave(struct nic *nic, struct frame *frame)
{
	struct node *node = nic->node;
	struct sim *sim = node->sim;
	uint64_t delay = 0;
	enum sim_fault fault = fault_of(sim, frame, &delay);
	const struct frame *old;

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
		sim_push(sim, at_switch(nic, 1 + delay), EVENT_SWITCH, 0,
			 wire_frame_copy(sim, frame));
		break;
	case SIM_REPLAY:
		old = fault_recall(sim, delay);
		if (old)
			sim_push(sim, at_switch(nic, 1 + delay), EVENT_SWITCH, 0,
				 wire_frame_copy(sim, old));
		break;
	default:
		break;
	}
	sim_push(sim, at_switch(nic, fault == SIM_REORDER ? 1 + delay : node->train_delay),
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

/* A frame made when the raw path carried larger ones leaves whole by a NIC that carries it. If that
 * is not the one for what is ordered, which it is depends on which were busy when it was chosen. */
static bool raw_takes(const struct gamma_flow *flow, const struct frame *frame)
{
	uint32_t len = frame->fields.payload_len + (uint32_t) GAMMA_HEADER_MAX;
	bool ordered_is_raw = !gamma_local_rail_is_udp(flow->local, flow->rail);

	if (flow->rail && ordered_is_raw && len > flow->rails->rail[flow->rail].mtu)
		return false;
	return flow->rails->rail[0].state == GAMMA_RAIL_USABLE && !(flow->local->rails_busy & 1) &&
	       len <= flow->path_mtu.mtu;
}

/* Bytes that have a place at the receiver, or one of several frames of a message, or a frame that
 * is sent once more. */
static bool may_leave_over_udp(const struct frame *frame, const struct gamma_frame *from)
{
	uint8_t op = frame->fields.op;

	return op == GAMMA_OP_BULK || op == GAMMA_OP_REPLY || op == GAMMA_OP_SEND_FIRST ||
	       op == GAMMA_OP_SEND_MORE || op == GAMMA_OP_WRITE || from->part ||
	       frame->fields.flags & GAMMA_FLAG_AGAIN;
}

/* Unless all are over UDP: raw frames go to raw NICs, and over UDP, beside a raw NIC that takes
 * them, only what may come in any order. */
static void check_kind(const struct nic *nic, const struct frame *frame,
		       const struct gamma_frame *from)
{
	const struct node *node = nic->node;
	bool udp = node->sim->config.udp[node->index] >> nic->rail & 1;

	if ((frame->bytes[1] == GAMMA_PSEUDO_MAC_1) != (udp || node->sim->config.routed))
		sim_fail(node->sim, "node %u sent a frame by NIC %u to one of the other kind",
			 node->index, nic->rail);
	if (udp && frame->fields.kind == GAMMA_KIND_DATA && raw_takes(from->flow, frame) &&
	    !may_leave_over_udp(frame, from))
		sim_fail(node->sim, "node %u sent a short message by NIC %u, over UDP", node->index,
			 nic->rail);
}

/* A frame that was gathered. */
static void transmit_frame(struct nic *nic, struct frame *frame, const struct gamma_frame *from)
{
	struct node *node = nic->node;
	struct sim *sim = node->sim;
	size_t len = frame->len;

	frame->from = (uint16_t) node->index;
	frame->port = node->ep.local.addr.port;
	frame->life = node->life;
	frame->to = (uint16_t) node_of_mac(frame->bytes);
	frame->rail = (uint8_t) nic->rail;
	frame->ecn =
		from->ecn && from->kind == GAMMA_KIND_DATA ? GAMMA_ECN_CAPABLE : GAMMA_ECN_NONE;
	if (rail_of_mac(frame->bytes) != nic->rail ||
	    rail_of_mac(frame->bytes + GAMMA_MAC_LEN) != nic->rail)
		sim_fail(sim, "node %u sent a frame by NIC %u that names another", node->index,
			 nic->rail);
	note_message(frame, from);
	if (gamma_codec_parse(frame->bytes, len, &frame->fields) != GAMMA_OK)
		sim_fail(sim, "node %u sent a malformed frame", node->index);
	if (nic->rail)
		check_kind(nic, frame, from);
	nic->cable->nic_free =
		gamma_max(nic->cable->nic_free, sim->now) + wire_time(len, nic_rate(nic));
	sim->totals.kinds[frame->fields.kind & 15][frame->fields.op & 15]++;
	digest_frame(sim, frame, nic->cable->nic_free);
	if (sim->pcap)
		pcap_add(sim->pcap, nic->cable->nic_free, frame->bytes, len);
	if (sim->tap.frame)
		sim->tap.frame(sim->tap.arg, frame->from, frame->to, &frame->fields, len,
			       nic->cable->nic_free);
	fault_remember(sim, frame);
	if (gamma_unlikely(sim->attacked))
		attacker_record(sim, frame);
	leave(nic, frame);
}

static void transmit(struct nic *nic, const struct gamma_frame *from)
{
	struct frame *frame = frame_new(nic->node->sim, frame_len(from));
	size_t len = from->head_len;

	memcpy(frame->bytes, from->head, len);
	for (unsigned i = 0; i < from->iov_count; i++) {
		memcpy(frame->bytes + len, from->iov[i].iov_base, from->iov[i].iov_len);
		len += from->iov[i].iov_len;
	}
	transmit_frame(nic, frame, from);
}

void wire_transmit(struct node *node, const struct gamma_frame *from, const uint8_t *bytes,
		   size_t len)
{
	struct frame *frame = frame_new(node->sim, GAMMA_ETH_LEN + len);

	memcpy(frame->bytes, from->head, GAMMA_ETH_LEN);
	memcpy(frame->bytes + GAMMA_ETH_LEN, bytes, len);
	transmit_frame(&node->nics[0], frame, from);
}

/* Bytes that wait in the NIC. */
static uint64_t backlog(const struct nic *nic)
{
	const struct sim *sim = nic->node->sim;

	if (nic->cable->nic_free <= sim->now)
		return 0;
	return (nic->cable->nic_free - sim->now) * (nic_rate(nic) / 1000000) / 8000;
}

/* As far as the endpoint knows. */
static uint32_t own_mtu(const struct nic *nic)
{
	const struct gamma_local *local = &nic->node->ep.local;

	return nic->rail ? local->own_rails[nic->rail].mtu : local->limits.mtu;
}

static bool other_end_drops(const struct sim *sim, size_t len)
{
	return sim->virtual && sim->config.switch_mtu &&
	       len > sim->config.switch_mtu + GAMMA_ETH_LEN;
}

static unsigned link_send(struct gamma_link *link, const struct gamma_frame *frames, unsigned count,
			  int *error)
{
	struct nic *nic = gamma_container_of(link, struct nic, link);
	struct node *node = nic->node;
	struct sim *sim = node->sim;
	unsigned sent = 0, most = count;

	*error = -EAGAIN;
	if (nic->cable->down_until > sim->now) {
		*error = node->ep.local.rail_count > 1 ? -ENETDOWN : -EAGAIN;
		most = 0;
		fault_count(sim, SIM_REFUSED);
	} else if (node->refuses > sim->now) {
		*error = -ENOBUFS;
		most = 0;
		fault_count(sim, SIM_REFUSED);
	} else if (fault_chance(sim, sim->chances.partly)) {
		most = (unsigned) (sim_random(sim) % count);
		fault_count(sim, SIM_PARTLY);
	}
	while (sent < most && backlog(nic) < sim->config.nic_queue) {
		size_t len = frame_len(&frames[sent]);
		unsigned n;

		/* The endpoint may not know yet that its NIC's MTU was lowered: that is no
		 * error of its own. */
		if (len > own_mtu(nic) + GAMMA_ETH_LEN)
			sim_fail(sim, "node %u made a frame of %zu bytes, more than its MTU",
				 node->index, len);
		if (len > link->mtu + GAMMA_ETH_LEN) {
			if (!nic->rail)
				node->known_mtu = link->mtu;
			*error = -EMSGSIZE;
			break;
		}
		if (other_end_drops(sim, len)) {
			*error = -EAGAIN; /* as with a full queue */
			break;
		}
		n = node->train ? gamma_train_count(&frames[sent], most - sent) : 1;
		if (node->train)
			train_transmit(node, &frames[sent], n);
		else
			transmit(nic, &frames[sent]);
		sent += n;
	}
	return sent;
}

/* ---- the switch ---- */

/* Active queue management: behind so much that frames are marked, or dropped. */
static bool is_long(const struct sim *sim, uint64_t ahead)
{
	return sim->config.mark_at && ahead > sim->config.mark_at;
}

/* A frame enters the queue of the port to that node, which it leaves at *leaves; false: the queue
 * is full, and that is when the last one leaves. */
static bool enter_port(struct sim *sim, struct nic *to, size_t len, uint8_t *ecn, uint64_t *leaves)
{
	uint64_t rate = nic_rate(to), ahead;
	bool room;

	to->cable->port_free = gamma_max(to->cable->port_free, sim->now);
	ahead = (to->cable->port_free - sim->now) * (rate / 1000000) / 8000;
	room = ahead + len <= sim->config.port_buffer;
	if (is_long(sim, ahead) && *ecn == GAMMA_ECN_NONE)
		room = false;
	else if (is_long(sim, ahead))
		*ecn = GAMMA_ECN_MARKED;
	if (room)
		to->cable->port_free += wire_time(len, rate);
	*leaves = to->cable->port_free;
	return room;
}

bool sim_cross(struct sim *sim, unsigned to, size_t len, uint64_t *arrives)
{
	uint8_t ecn = GAMMA_ECN_NONE;
	bool passes = enter_port(sim, &node_of(sim, to)->nics[0], len, &ecn, arrives);

	*arrives += sim->config.latency / 2;
	return passes;
}

static bool is_cut(const struct sim *sim, const struct node *node, const struct frame *frame)
{
	const struct cable *cable = node->nics[frame->rail].cable;

	return gamma_max(cable->cut_until, cable->down_until) > sim->now;
}

void wire_at_switch(struct sim *sim, struct frame *frame)
{
	uint64_t leaves, limit = sim->config.switch_mtu;

	if (frame->to >= sim->config.nodes || frame->rail >= SIM_RAILS_MAX ||
	    !node_of(sim, frame->to)->nics[frame->rail].node) {
		wire_drop(sim, frame, SIM_NOBODY);
		return;
	}
	if (sim->nodes[frame->from].cut_until[frame->to] > sim->now ||
	    is_cut(sim, node_of(sim, frame->from), frame) ||
	    is_cut(sim, node_of(sim, frame->to), frame)) {
		wire_drop(sim, frame, SIM_CUT);
		return;
	}
	if (limit && frame->len > limit + GAMMA_ETH_LEN) {
		wire_drop(sim, frame, SIM_MTU_DROP);
		return;
	}
	if (!enter_port(sim, &node_of(sim, frame->to)->nics[frame->rail], frame->len, &frame->ecn,
			&leaves)) {
		wire_drop(sim, frame, SIM_SWITCH_DROP);
		return;
	}
	sim_push(sim, leaves + cable_latency(sim, frame->rail), EVENT_HOST, 0, frame);
}

/* ---- into a host ---- */

void wire_at_host(struct sim *sim, struct frame *frame)
{
	struct node *node = node_of(sim, frame->to);
	struct nic *nic = &node->nics[frame->rail];

	if (node->state == NODE_GONE) {
		wire_drop(sim, frame, SIM_NOBODY);
		return;
	}
	if (node->train ? !train_has_room(node, frame) : nic->ring_count == nic->link.slots) {
		check_ring_drop(node, frame);
		node->ep.local.stats.ring_drops++;
		wire_drop(sim, frame, SIM_RING_DROP);
		return;
	}
	frame->next = NULL;
	frame->landed = sim->now;
	*nic->ring_tail = frame;
	nic->ring_tail = &frame->next;
	nic->ring_count++;
	if (node->train)
		train_landed(node, frame);
	node_wake(node);
}

static bool link_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct nic *nic = gamma_container_of(link, struct nic, link);
	struct node *node = nic->node;

	if (node->train)
		return train_next(node, arrival);
	if (!nic->ring_head)
		return false;
	link->ecn = nic->ring_head->ecn;
	nic->reads = true;
	arrival->frame = nic->ring_head->bytes;
	arrival->len = nic->ring_head->len;
	arrival->payload = NULL;
	arrival->stamp = node->sim->config.stamped ? nic->ring_head->landed : 0;
	arrival->flow = NULL;
	return true;
}

void wire_ring_pop(struct nic *nic)
{
	struct frame *frame = nic->ring_head;

	nic->ring_head = frame->next;
	if (!nic->ring_head)
		nic->ring_tail = &nic->ring_head;
	nic->ring_count--;
	wire_frame_free(nic->node->sim, frame);
}

static void link_release(struct gamma_link *link)
{
	struct nic *nic = gamma_container_of(link, struct nic, link);

	if (nic->node->train) {
		train_release(nic->node);
		return;
	}
	if (!nic->reads) {
		sim_fail(nic->node->sim, "node %u releases a slot that it has not read",
			 nic->node->index);
		return;
	}
	nic->reads = false;
	/* Others may write there. */
	if (nic->node->sim->config.ports)
		memset(nic->ring_head->bytes, SPOILT, nic->ring_head->len);
	wire_ring_pop(nic);
}

void wire_ring_clear(struct node *node)
{
	if (node->train)
		train_clear(node);
	for (unsigned r = 0; r < SIM_RAILS_MAX; r++)
		while (node->nics[r].ring_head)
			wire_ring_pop(&node->nics[r]);
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
