// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A host at the switch that sends frames in the names of the others. It knows what LOOKUP reveals
 * of them, repeats frames that it has recorded, alters some of these, and invents others. It
 * guesses frame numbers well, but not so well that a receiver would have to believe it: a protocol
 * without keys cannot distinguish DATA with the right number, or an acknowledgement of what is in
 * flight, from the peer's. What it never knows are random numbers. Random numbers of its own, so
 * that the rest of a run is drawn as without it.
 */
#include "internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECORD_EVERY = 5, /* frames */
	FAR = 1 << 20,    /* frames: no run comes so far before a frame is read */
	ACK_LIMIT_AT = GAMMA_ETH_LEN + GAMMA_HEADER_LEN + 4,
	FLAGS_AT = GAMMA_ETH_LEN + offsetof(struct gamma_header, flags),
	SUM_AT = GAMMA_ETH_LEN + offsetof(struct gamma_header, checksum),
};

static uint64_t dice(struct attacker *attacker)
{
	uint64_t z = attacker->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) >> 8;
}

/* Any, or one of those where comparisons change. */
static uint32_t any_number(struct attacker *attacker)
{
	static const uint32_t borders[] = {0, 1, INT32_MAX, 1u << 31, UINT32_MAX};

	return dice(attacker) % 4 ? (uint32_t) dice(attacker)
				  : borders[dice(attacker) % gamma_array_size(borders)];
}

/* ---- recorded frames ---- */

void attacker_record(struct sim *sim, const struct frame *frame)
{
	struct attacker *attacker = &sim->attacker;
	struct frame **slot;

	if (sim->now >= attacker->until || dice(attacker) % RECORD_EVERY)
		return;
	slot = &attacker->recorded[attacker->count++ % OLD_FRAMES];
	if (*slot)
		wire_frame_free(sim, *slot);
	*slot = wire_frame_copy(sim, frame);
}

void attacker_free(struct sim *sim)
{
	for (unsigned i = 0; i < OLD_FRAMES; i++)
		free(sim->attacker.recorded[i]);
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, sizeof(value));
}

static void repair_checksum(struct frame *frame)
{
	put32(frame->bytes + SUM_AT,
	      gamma_crc32c_header(frame->bytes, SUM_AT, frame->bytes + SUM_AT + 4,
				  frame->fields.header_len - GAMMA_HEADER_LEN));
}

/* The flags, or the limit: all else that a frame of the peer's says is right. PORT is of what it
 * carries, which nothing protects. */
static void alter(struct attacker *attacker, struct frame *frame)
{
	uint32_t limit = frame->fields.limit;

	if (frame->fields.extensions & GAMMA_EXT_ACK && dice(attacker) % 2)
		put32(frame->bytes + ACK_LIMIT_AT,
		      dice(attacker) % 2 ? any_number(attacker)
					 : limit + (uint32_t) (dice(attacker) % 2000));
	else
		frame->bytes[FLAGS_AT] = (frame->bytes[FLAGS_AT] & GAMMA_FLAG_PORT) |
					 (dice(attacker) & GAMMA_FLAGS_KNOWN & ~GAMMA_FLAG_PORT);
	repair_checksum(frame);
}

static struct frame *repeat(struct sim *sim)
{
	struct attacker *attacker = &sim->attacker;
	unsigned known = (unsigned) gamma_min(attacker->count, OLD_FRAMES);
	struct frame *frame;

	if (!known)
		return NULL;
	frame = wire_frame_copy(sim, attacker->recorded[dice(attacker) % known]);
	if (dice(attacker) % 2)
		alter(attacker, frame);
	return frame;
}

/* ---- invented frames ---- */

/* What a host off the path might guess: around what has arrived, or anything. */
static uint32_t next_number(struct attacker *attacker, const struct gamma_flow *flow)
{
	if (flow && dice(attacker) % 2)
		return flow->rx.highest + (uint32_t) (dice(attacker) % 4);
	return any_number(attacker);
}

/* A frame number that the peer cannot send now, or has sent long ago. */
static uint32_t wrong_number(struct attacker *attacker, const struct gamma_flow *flow)
{
	uint32_t next = flow ? flow->rx.next : 0;

	/* Nor one of the first frames, which no receiver could distinguish from the peer's. */
	return (next + FAR + (uint32_t) (dice(attacker) % (1u << 30))) | GAMMA_WINDOW_MAX / 2;
}

/* Acknowledges what has been acknowledged, or more than was sent. */
static void forge_ack(struct attacker *attacker, const struct gamma_flow *flow,
		      struct gamma_fields *fields)
{
	static const uint32_t beyond[] = {1, 100, GAMMA_WINDOW_MAX, GAMMA_WINDOW_MAX + 1,
					  INT32_MAX};
	uint32_t una = flow ? flow->tx.una : 0, next = flow ? flow->tx.next : 0;

	fields->extensions |= GAMMA_EXT_ACK;
	fields->ack = dice(attacker) % 4 ? una - (uint32_t) (dice(attacker) % 50)
					 : next + FAR + (uint32_t) (dice(attacker) % (1u << 30));
	fields->limit = dice(attacker) % 2
				? next + beyond[dice(attacker) % gamma_array_size(beyond)]
				: any_number(attacker);
	if (dice(attacker) % 4 == 0) {
		fields->extensions |= GAMMA_EXT_CUTS;
		fields->cuts = any_number(attacker);
	}
}

static void forge_mtu(struct attacker *attacker, struct gamma_fields *fields)
{
	static const uint16_t mtus[] = {0, 1, 64, 319, 576, 1400, 1500, 4000, 9000, UINT16_MAX};

	fields->extensions |= GAMMA_EXT_MTU;
	fields->mtu = mtus[dice(attacker) % gamma_array_size(mtus)];
	fields->probe = mtus[dice(attacker) % gamma_array_size(mtus)];
}

/* In flight, asked for, or anything. */
static uint32_t reset_number(struct attacker *attacker, const struct gamma_flow *flow)
{
	uint32_t open = flow ? gamma_send_window_unacked(&flow->tx) : 0;

	if (flow && dice(attacker) % 4)
		return flow->tx.una + (uint32_t) (dice(attacker) % (open + 1));
	return any_number(attacker);
}

/* All of it, a part, or anything. */
static uint32_t returned_number(struct attacker *attacker, const struct gamma_flow *flow)
{
	if (flow && dice(attacker) % 2)
		return flow->credit.returned +
		       (uint32_t) (dice(attacker) % (gamma_credit_window(flow) + 2));
	return any_number(attacker);
}

/* One that the victim proves, or ignores where its peer may be silent for too long to answer. The
 * first frame of a flow is never ignored. */
static void forge_bye(const struct attacker *attacker, const struct gamma_flow *flow,
		      struct gamma_fields *fields)
{
	if (flow) {
		fields->extensions |= GAMMA_EXT_ACK;
		fields->ack = flow->tx.una - !attacker->says_bye;
	} else if (!attacker->says_bye) {
		fields->op = GAMMA_ANSWER;
	}
}

/* flow: the victim's, toward the host in whose name the frame speaks; or NULL. */
static void invent(struct attacker *attacker, const struct gamma_flow *flow,
		   struct gamma_fields *fields)
{
	fields->op = dice(attacker) % 2;
	fields->flags = dice(attacker) % 4 ? 0 : dice(attacker) & GAMMA_FLAGS_KNOWN;
	fields->seq = any_number(attacker);
	switch (fields->kind) {
	case GAMMA_KIND_DATA:
		fields->op = 1 + dice(attacker) % GAMMA_OP_FAILED;
		fields->seq = wrong_number(attacker, flow);
		break;
	case GAMMA_KIND_REQUEST:
	case GAMMA_KIND_BYE:
		fields->seq = next_number(attacker, flow);
		break;
	case GAMMA_KIND_RECLAIM:
		fields->seq = returned_number(attacker, flow);
		break;
	case GAMMA_KIND_RESET:
		fields->op = dice(attacker) % 3;
		fields->seq = reset_number(attacker, flow);
		break;
	case GAMMA_KIND_LOOKUP:
		fields->op = dice(attacker) % (GAMMA_LOOKUP_HOST_VIA + 1);
		break;
	}
	if (fields->kind != GAMMA_KIND_LOOKUP && dice(attacker) % 2)
		forge_ack(attacker, flow, fields);
	if (fields->kind == GAMMA_KIND_BYE && fields->op == GAMMA_ASK)
		forge_bye(attacker, flow, fields);
	if (dice(attacker) % 4 == 0)
		forge_mtu(attacker, fields);
}

/* What the answer to LOOKUP would carry if another incarnation had the port; of questions by way of
 * a host the MAC address of the other one. */
static size_t put_address(const struct node *from, struct gamma_fields *fields, uint8_t *payload)
{
	struct gamma_addr addr = from->ep.local.addr;

	if (fields->kind != GAMMA_KIND_LOOKUP)
		return 0;
	if (fields->op == GAMMA_LOOKUP_HOST_VIA) {
		memset(payload, 0, sizeof(addr));
		memcpy(payload, addr.mac, GAMMA_MAC_LEN);
		return sizeof(addr);
	}
	if (fields->op != GAMMA_LOOKUP_FOUND)
		return 0;
	addr.epoch ^= htonl(1);
	memcpy(payload, &addr, sizeof(addr));
	return sizeof(addr);
}

static struct frame *forge(struct sim *sim, const struct node *from, const struct node *to)
{
	struct attacker *attacker = &sim->attacker;
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX + GAMMA_ADDR_LEN];
	uint8_t *payload = room + sizeof(room) - GAMMA_ADDR_LEN, *head;
	const struct gamma_addr *source = &from->ep.local.addr, *target = &to->ep.local.addr;
	struct gamma_fields fields = {
		.kind = (uint8_t) (1 + dice(attacker) % GAMMA_KIND_DATAGRAM),
		.tenant = TENANT,
		.src_port = ntohs(source->port),
		.dst_port = ntohs(target->port),
		.src_epoch = from->epoch,
		.dst_epoch = to->epoch,
	};

	invent(attacker, gamma_peers_find(&to->ep, source->mac, fields.src_port, fields.src_epoch),
	       &fields);
	fields.payload_len = (uint16_t) put_address(from, &fields, payload);
	head = gamma_codec_build(&fields, target->mac, source->mac, GAMMA_ETHERTYPE, payload);
	return wire_frame_new(sim, head, (size_t) (payload - head) + fields.payload_len);
}

/* ---- the attack ---- */

static void attack_once(struct sim *sim)
{
	struct attacker *attacker = &sim->attacker;
	unsigned nodes = sim->config.nodes, to = (unsigned) (dice(attacker) % nodes);
	unsigned from = (to + 1 + (unsigned) (dice(attacker) % (nodes - 1))) % nodes;
	struct frame *frame = NULL;

	if (dice(attacker) % 4 == 0)
		frame = repeat(sim);
	else if (sim->nodes[to].state != NODE_GONE && sim->nodes[from].state != NODE_GONE)
		frame = forge(sim, node_of(sim, from), node_of(sim, to));
	if (!frame)
		return;
	fault_count(sim, SIM_FORGED);
	if (sim->pcap)
		pcap_add(sim->pcap, sim->now, frame->bytes, frame->len);
	sim_push(sim, sim->now, EVENT_SWITCH, 0, frame);
}

static void go_on(struct sim *sim, void *arg)
{
	struct attacker *attacker = &sim->attacker;

	(void) arg;
	if (sim->now >= attacker->until)
		return;
	attack_once(sim);
	sim_at(sim, sim->now + 1 + dice(attacker) % (2 * attacker->pause), go_on, NULL);
}

void sim_attack(struct sim *sim, uint64_t seed, uint64_t until, uint64_t pause, bool asks)
{
	struct attacker *attacker = &sim->attacker;

	attacker->random = seed;
	attacker->until = until;
	attacker->pause = gamma_max(pause, 1);
	attacker->says_bye = asks;
	sim->quiet = false;
	sim->attacked = true;
	sim_at(sim, sim->now, go_on, NULL);
}
