// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Trains, as over UDP: a burst leaves as one run of bytes that the NIC cuts into frames of one
 * size, and what has gathered in the receive buffer is lent in trains, merged as the kernel does.
 * Which frames belong together, and where each begins, is the product's own code: link/train.h.
 */
#include "internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "link/train.h"

enum {
	SPLIT_EVERY = 8,       /* one frame in so many begins a new train, though it could join */
	FOREIGN_PORT = 40000,  /* of the other process */
	FOREIGN_BYTES = 24,    /* payload of its frames */
	SMALL_FRAME = 512,     /* bytes: below it the kernel charges less */
	SMALL_TRUESIZE = 768,  /* bytes that it charges then */
	LARGE_TRUESIZE = 2304, /* bytes that it charges at least otherwise */
};

/* ---- the receive buffer ---- */

static uint64_t truesize(size_t len)
{
	return len < SMALL_FRAME ? SMALL_TRUESIZE : gamma_max(LARGE_TRUESIZE, 2 * len);
}

uint32_t train_open(struct node *node, uint32_t mtu)
{
	uint64_t bytes =
		node->sim->config.slots * truesize(mtu) * GAMMA_TRAIN_KEPT / (GAMMA_TRAIN_KEPT - 1);

	/* So that as many slots are left as were configured. */
	bytes += GAMMA_TRAIN_KEPT;

	if (!node->train)
		node->train = malloc(sizeof(*node->train));
	if (!node->train)
		abort();
	gamma_train_begin(node->train, 0, 0);
	node->train_frames = 0;
	node->buffer = node->buffer_free = bytes;
	node->buffer_kept = 0;
	return gamma_train_slots((uint32_t) bytes, mtu);
}

bool train_has_room(const struct node *node, const struct frame *frame)
{
	return truesize(frame->len - GAMMA_ETH_LEN) <= node->buffer_free;
}

void train_landed(struct node *node, const struct frame *frame)
{
	node->buffer_free -= truesize(frame->len - GAMMA_ETH_LEN);
}

/* As the kernel does, what has been read is given back a quarter of the buffer at a time, unless
 * nothing is left to be read. */
static void pop_frame(struct node *node)
{
	node->buffer_kept += truesize(node->nics[0].ring_head->len - GAMMA_ETH_LEN);
	wire_ring_pop(&node->nics[0]);
	if (node->buffer_kept < node->buffer / GAMMA_TRAIN_KEPT && node->nics[0].ring_head)
		return;
	node->buffer_free += node->buffer_kept;
	node->buffer_kept = 0;
}

/* ---- out ---- */

static size_t flatten(const struct gamma_frame *frames, unsigned count, uint8_t *bytes)
{
	struct iovec iov[GAMMA_TRAIN_IOV];
	unsigned n = gamma_train_gather(frames, count, iov);
	size_t len = 0;

	for (unsigned i = 0; i < n; i++) {
		if (len + iov[i].iov_len > GAMMA_TRAIN_BUFFER)
			abort();
		memcpy(bytes + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	return len;
}

void train_transmit(struct node *node, const struct gamma_frame *frames, unsigned count)
{
	struct sim *sim = node->sim;
	size_t segment = gamma_train_frame_len(frames), at = 0;
	uint8_t bytes[GAMMA_TRAIN_BUFFER];
	size_t total = flatten(frames, count, bytes);
	unsigned passes = UINT32_MAX;

	if (count > 1) {
		sim->totals.trains_sent++;
		if (fault_chance(sim, sim->chances.train_cut))
			passes = (unsigned) sim_between(sim, 1, count - 1);
	}
	if (fault_chance(sim, sim->chances.train_reorder)) {
		fault_count(sim, SIM_TRAIN_REORDER);
		sim->quiet = false;
		node->train_delay = 1 + sim_random(sim) % (sim->chances.reorder_delay + 1);
	}
	for (unsigned i = 0; at < total; i++) {
		size_t len = gamma_min(segment, total - at);

		node->train_cut = i >= passes;
		wire_transmit(node, &frames[gamma_min(i, count - 1)], bytes + at, len);
		at += len;
	}
	node->train_delay = 0;
	node->train_cut = false;
}

/* ---- in ---- */

static bool joins(struct sim *sim, const struct frame *first, const struct frame *last,
		  const struct frame *next)
{
	return next && next->from == first->from && next->port == first->port &&
	       next->ecn == first->ecn && last->len == first->len && next->len <= first->len &&
	       sim_random(sim) % SPLIT_EVERY;
}

static bool assemble(struct node *node)
{
	struct gamma_train *train = node->train;
	const struct frame *first = node->nics[0].ring_head, *frame = first, *last;
	uint32_t len = 0;

	if (!first)
		return false;
	do {
		uint32_t more = (uint32_t) (frame->len - GAMMA_ETH_LEN);

		memcpy(train->bytes + len, frame->bytes + GAMMA_ETH_LEN, more);
		len += more;
		node->train_frames++;
		last = frame;
		frame = frame->next;
	} while (node->train_frames < GAMMA_TRAIN_FRAMES && len + first->len <= GAMMA_TRAIN_BYTES &&
		 joins(node->sim, first, last, frame));
	train->port = first->port;
	gamma_train_begin(train, len, (uint32_t) (first->len - GAMMA_ETH_LEN));
	node->sim->totals.trains_taken += node->train_frames > 1;
	return true;
}

bool train_next(struct node *node, struct gamma_arrival *arrival)
{
	uint16_t port = ntohs(node->ep.local.addr.port);

	for (;;) {
		if (gamma_train_is_empty(node->train) && !assemble(node))
			return false;
		if (gamma_train_is_for(node->train, port, TENANT))
			break;
		node->ep.local.stats.stray++;
		train_release(node);
	}
	node->nics[0].link.ecn = node->nics[0].ring_head->ecn;
	gamma_train_lend(node->train, node->nics[0].ring_head->bytes, arrival);
	return true;
}

void train_release(struct node *node)
{
	gamma_train_release(node->train);
	pop_frame(node);
	node->train_frames--;
	/* All of it has left the receive buffer, whatever has been lent. */
	while (gamma_train_is_empty(node->train) && node->train_frames) {
		pop_frame(node);
		node->train_frames--;
	}
}

void train_clear(struct node *node)
{
	while (node->nics[0].ring_head)
		pop_frame(node);
	gamma_train_begin(node->train, 0, 0);
	node->train_frames = 0;
}

/* ---- another process of a host ---- */

/* What the endpoint `from` would send next to the endpoint `to`. */
static struct frame *frame_in_name(struct sim *sim, const struct node *from, const struct node *to)
{
	const struct gamma_addr *source = &from->ep.local.addr, *target = &to->ep.local.addr;
	const struct gamma_flow *flow = sim_flow(sim, to->index, from->index);
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX + FOREIGN_BYTES] = {0};
	uint8_t *payload = room + sizeof(room) - FOREIGN_BYTES, *head;
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_DATA,
		.op = GAMMA_OP_SEND,
		.tenant = TENANT,
		.src_port = ntohs(source->port),
		.dst_port = ntohs(target->port),
		.src_epoch = from->epoch,
		.dst_epoch = to->epoch,
		.seq = flow ? flow->rx.next : 0,
		.payload_len = FOREIGN_BYTES,
	};

	head = gamma_codec_build(&fields, target->mac, source->mac, GAMMA_ETHERTYPE, payload);
	return wire_frame_new(sim, head, (size_t) (payload - head) + FOREIGN_BYTES);
}

void sim_foreign(struct sim *sim, unsigned host, unsigned to)
{
	struct frame *frame;

	if (!sim_alive(sim, host) || !sim_alive(sim, to))
		return;
	frame = frame_in_name(sim, node_of(sim, host), node_of(sim, to));
	frame->port = htons(FOREIGN_PORT);
	fault_count(sim, SIM_FOREIGN);
	if (sim->pcap)
		pcap_add(sim->pcap, sim->now, frame->bytes, frame->len);
	sim_push(sim, sim->now, EVENT_SWITCH, 0, frame);
}
