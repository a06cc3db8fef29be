// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Fuzz target: frames of any content, with a correct checksum, into an endpoint with open flows.
 * The input is a list of records, one per frame. Whatever comes, every send and receive ends at
 * most once, the credit account stays right, and nothing leaks.
 */
#include "pair_remote.h"

#include <arpa/inet.h>
#include <string.h>

enum { RECORDS_MAX = 200, PEERS = 2, STRANGER = 3, REGION = 8192, PAYLOAD_MAX = 1400, ROW_LEN = 8 };

/* The beginning of a record; the values of extensions follow it. */
struct record {
	uint8_t how; /* the sender, and which addresses are wrong: see below */
	uint8_t kind, op, flags;
	uint16_t extensions;
	uint16_t payload_len;
	uint32_t seq, ack, limit;
	uint32_t id;
	uint32_t offset;
	uint64_t length;
} __attribute__((packed));

enum {
	HOW_FROM = 3, /* 0, 1: a peer; 2, 3: an unknown peer */
	HOW_WRONG_DST_EPOCH = 1 << 2,
	HOW_WRONG_SRC_EPOCH = 1 << 3,
	HOW_ABSOLUTE = 1 << 4, /* numbers as they are, not relative to the flow's */
	HOW_TIME = 1 << 5,     /* time passes before it */
	HOW_DAMAGED = 1 << 6,  /* one byte of the frame is changed afterwards */
	HOW_OTHER_TENANT = 1 << 7,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t operands[512], results[512];

/* Requests to peers in a row share frames, which are in flight. */
static void begin_rows(struct net *net)
{
	for (unsigned peer = 1; peer <= PEERS; peer++) {
		for (unsigned i = 0; i < 3; i++) {
			net_write(net, 0, peer, i * 8, operands, 8);
			net_send(net, 0, peer, ROW_LEN, GAMMA_WHEN_COPIED);
			net_atomic(net, 0, peer, GAMMA_OP_ATOMIC, i * 8, operands, 1, NULL);
			net_read(net, 0, peer, i * 8, results, 8);
		}
	}
	net_run(net, net->options.latency / 2);
}

static void begin(struct net *net)
{
	static const uint64_t lengths[] = {0, 64, 3000, 40000};

	for (unsigned peer = 1; peer <= PEERS; peer++) {
		for (unsigned i = 0; i < gamma_array_size(lengths); i++) {
			net_send(net, 0, peer, lengths[i], (int) (i % 3));
			net_send(net, peer, 0, lengths[i], GAMMA_WHEN_ARRIVED);
		}
	}
	for (unsigned peer = 1; peer <= PEERS; peer++) {
		net_write(net, peer, 0, 0, operands, 3000);
		net_read(net, 0, peer, 0, results, 3000);
		net_atomic(net, 0, peer, GAMMA_OP_FETCH, 8, operands, 4, results);
	}
	for (int i = 0; i < 4; i++)
		net_post(net, 0, 2000);
	net_post(net, 1, 50000);
	net_run(net, 20 * US);
	begin_rows(net);
}

/* 1, 2: a peer; 3, 4: an unknown peer. */
static unsigned sender_of(const struct record *record)
{
	return 1 + (record->how & HOW_FROM);
}

static const struct gamma_flow *flow_from(struct net *net, unsigned from)
{
	return from <= PEERS ? net_flow(net, 0, from) : NULL;
}

/* A record gives the differences from these, so that most inputs get far. */
static uint16_t usual_extensions(uint8_t op)
{
	if (op > GAMMA_OP_FAILED)
		return 0;
	return gamma_receive_needed_extensions[op] | (op == GAMMA_OP_WRITE ? GAMMA_EXT_RMA : 0);
}

/* What CUT and FAILED name: a frame of the peer's, and an offset in it. */
static void name_frame(const struct record *record, const struct gamma_flow *flow,
		       struct gamma_fields *fields)
{
	fields->id = flow->tx.una + record->id % 16;
	fields->fragment = record->offset % 8;
	if (fields->op != GAMMA_OP_CUT)
		return;
	fields->fragment |= (uint64_t) record->limit << GAMMA_FRAGMENT_OFFSET_BITS;
	fields->length ^= ROW_LEN;
}

static void fill(struct net *net, const struct record *record, struct gamma_fields *fields)
{
	unsigned from = sender_of(record);
	const struct gamma_flow *flow = flow_from(net, from);
	bool relative = flow && !(record->how & HOW_ABSOLUTE);
	uint8_t op = record->op % (GAMMA_OP_FAILED + 2);

	*fields = net_fields(net, flow ? from : 1, 0, (record->kind + GAMMA_KIND_DATA) % 12, op);
	fields->src_epoch += !!(record->how & HOW_WRONG_SRC_EPOCH);
	fields->dst_epoch += !!(record->how & HOW_WRONG_DST_EPOCH);
	fields->tenant += !!(record->how & HOW_OTHER_TENANT);
	fields->flags = record->flags & GAMMA_FLAGS_KNOWN & ~GAMMA_FLAG_PORT;
	fields->extensions = (record->extensions ^ usual_extensions(op)) &
			     (GAMMA_EXT_KNOWN | GAMMA_EXT_NAMES_PORT);
	if (GAMMA_HEADER_LEN + gamma_codec_extensions_len(fields->extensions) > GAMMA_HEADER_MAX)
		fields->extensions &= ~GAMMA_EXT_SACK_LONG; /* no header has room for all */
	fields->payload_len = record->payload_len % PAYLOAD_MAX;
	fields->seq = record->seq + (relative ? flow->rx.next : 0);
	fields->ack = record->ack + (relative ? flow->tx.una : 0);
	fields->limit = record->limit + (relative ? flow->tx.limit : 0);
	fields->sack_base = record->ack + (relative ? flow->tx.una : 0);
	fields->sack[0] = record->length;
	fields->sack[1] = ~record->length;
	fields->echo = fields->ack;
	fields->delay = record->limit;
	fields->tag = record->id;
	if (fields->extensions & GAMMA_EXT_NAMES_PORT) {
		fields->tag |= (uint64_t) (record->limit % (GAMMA_PORT_HEAD_MAX + 8))
			       << GAMMA_PORT_TAG_HEAD_SHIFT;
		/* An announcement has its head, mostly. */
		if (op == GAMMA_OP_ANNOUNCE && record->payload_len % 4)
			fields->payload_len = record->limit % (GAMMA_PORT_HEAD_MAX + 8);
	}
	fields->data = record->length;
	/* Ids that transfers.c gives first lie close above 2^16. */
	fields->id = record->id ^ 0x10000;
	fields->length = record->length;
	fields->fragment = (uint64_t) fields->id << GAMMA_FRAGMENT_OFFSET_BITS | record->offset;
	if (flow && (op == GAMMA_OP_CUT || op == GAMMA_OP_FAILED) && !(record->flags & 0x80))
		name_frame(record, flow, fields);
	/* Now and then in a region that exists. */
	fields->rma_key = record->flags & 0x10 ? record->limit : REGION_KEY;
	fields->rma_address = record->ack + (record->flags & 0x20 ? record->length : REGION_BASE);
	fields->rma_length = record->flags & 0x40 ? record->length : record->length % 4096;
	fields->datatype = (uint8_t) record->id;
	fields->atomic_op = (uint8_t) record->limit;
	fields->count = (uint16_t) (fields->rma_length / 8);
	fields->mtu = (uint16_t) record->offset;
	fields->probe = (uint16_t) record->length;
	fields->part_offset = (uint16_t) record->offset;
	fields->part_total = (uint16_t) (record->length >> 16);
}

/* Items of a BATCH, of which the last may be truncated; one in eight has an op that does not
 * exist. */
static void fill_items(const struct record *record, const struct gamma_fields *fields,
		       uint8_t *payload, uint32_t room)
{
	static const uint8_t ops[] = {GAMMA_OP_SEND,   GAMMA_OP_WRITE,  GAMMA_OP_READ,
				      GAMMA_OP_REPLY,  GAMMA_OP_ATOMIC, GAMMA_OP_FETCH,
				      GAMMA_OP_COMPARE};
	struct gamma_fields item = *fields;
	uint32_t used = 0, next;

	for (unsigned i = 0; used < fields->payload_len; i++) {
		unsigned kind = record->offset >> (3 * (i % 8)) & 7;

		item.op = ops[kind % gamma_array_size(ops)];
		item.payload_len = (uint16_t) (record->length >> (8 * (i % 4)) & 0x7f);
		if (item.op == GAMMA_OP_WRITE && i % 2)
			item.rma_length = item.payload_len;
		item.count = item.payload_len / 8;
		if (used + gamma_codec_item_head_len(item.op, item.extensions) + item.payload_len >
		    room)
			return;
		next = (uint32_t) (gamma_codec_build_item(payload + used, &item) - payload) +
		       item.payload_len;
		if (kind == gamma_array_size(ops))
			payload[used + offsetof(struct gamma_batch_item, op)] = GAMMA_OP_BULK;
		used = next;
	}
}

static void inject(struct net *net, const struct record *record)
{
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX + PAYLOAD_MAX] = {0};
	uint8_t *payload = room + GAMMA_ETH_LEN + GAMMA_HEADER_MAX;
	uint8_t mac[GAMMA_MAC_LEN] = {2, 0, 0, 0, STRANGER, 0};
	struct node *node = &net->nodes[0];
	unsigned from = sender_of(record);
	struct gamma_arrival arrival;
	struct gamma_fields fields;

	fill(net, record, &fields);
	if (fields.kind == GAMMA_KIND_LOOKUP)
		memcpy(payload, &net->nodes[1].ep.local.addr, GAMMA_ADDR_LEN);
	if (fields.kind == GAMMA_KIND_DATA && fields.op == GAMMA_OP_BATCH)
		fill_items(record, &fields, payload, PAYLOAD_MAX);
	/* Right, unless the frame is damaged below. */
	fields.payload_crc = gamma_crc32c(0, payload, fields.payload_len);
	arrival.frame =
		gamma_codec_build(&fields, node->ep.local.addr.mac,
				  flow_from(net, from) ? net->nodes[from].ep.local.addr.mac : mac,
				  GAMMA_ETHERTYPE, payload);
	arrival.len = (size_t) GAMMA_ETH_LEN + fields.header_len + fields.payload_len;
	arrival.payload = NULL;
	arrival.flow = NULL;
	arrival.stamp = net->now;
	arrival.behind = record->how & HOW_DAMAGED; /* either is possible */
	if (record->how & HOW_DAMAGED)
		((uint8_t *) arrival.frame)[record->offset % arrival.len] ^= record->op | 1;
	gamma_dispatch(&node->ep, &node->link, &arrival, net->now);
}

/* A flow to an address without epoch, so that answers to LOOKUP mean something. */
static void look_up(struct net *net)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr;

	addr.epoch = htonl(GAMMA_EPOCH_ANY);
	gamma_peers_add(&net->nodes[0].ep, &addr, net->now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_options options = net_defaults();
	struct net *net;

	options.peer_timeout = 100 * MS;
	options.mtu = size % 2 ? 1500 : 9000;
	net = net_new(PEERS + 1, &options);
	remote_begin(net, REGION);
	net->lawless = true;
	net->nodes[size / 2 % 3].ep.local.limits.payload_crc = size % 5 == 0;
	begin(net);
	if (size % 3 == 0)
		look_up(net);
	for (int i = 0; i < RECORDS_MAX && size >= sizeof(struct record); i++) {
		struct record record;

		memcpy(&record, data, sizeof(record));
		data += sizeof(record);
		size -= sizeof(record);
		if (record.how & HOW_TIME)
			net_run(net, record.payload_len * 100ull);
		inject(net, &record);
	}
	while (!gamma_list_empty(&net->nodes[0].unexpected)) {
		net_discard(net, 0);
		if (!gamma_list_empty(&net->nodes[0].unexpected))
			net_post(net, 0, 1000);
	}
	remote_close(net, 0);
	net_run(net, SEC);
	net_free(net);
	remote_end();
	return 0;
}
