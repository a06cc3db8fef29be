// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The wire in memory between the endpoints of pair.c: rules, random faults, links; see pair.h. */
#include "pair_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_BYTE = 1 };

struct wire_frame {
	struct gamma_list entry;
	uint64_t at; /* ns: arrival */
	unsigned to;
	size_t len;
	uint8_t bytes[];
};

uint64_t net_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1dull >> 16;
}

unsigned wire_node_of_mac(const uint8_t *mac)
{
	return (unsigned) mac[4] << 8 | mac[5];
}

static unsigned index_of(const struct node *node)
{
	return (unsigned) (node - node->net->nodes);
}

struct rule *net_rule(struct net *net, struct rule rule)
{
	assert_true(net->rule_count < gamma_array_size(net->rules));
	net->rules[net->rule_count] = rule;
	return &net->rules[net->rule_count++];
}

struct rule *net_drop(struct net *net, int from, uint8_t kind, unsigned times)
{
	return net_rule(net, (struct rule){.fate = DROP,
					   .from = from,
					   .kind = kind,
					   .op = ANY_OP,
					   .seq = ANY_SEQ,
					   .times = times});
}

void wire_fly(struct net *net, unsigned to, const uint8_t *bytes, size_t len, uint64_t at)
{
	struct wire_frame *frame = net_allocate(sizeof(*frame) + len);
	struct gamma_list *pos = net->flying.prev;

	frame->at = at;
	frame->to = to;
	frame->len = len;
	memcpy(frame->bytes, bytes, len);
	while (pos != &net->flying && gamma_list_entry(pos, struct wire_frame, entry)->at > at)
		pos = pos->prev;
	gamma_list_append(pos->next, &frame->entry);
}

static bool rule_applies(const struct rule *rule, unsigned from, const struct gamma_fields *fields)
{
	if (rule->from != ANY_NODE && rule->from != (int) from)
		return false;
	if (rule->kind && rule->kind != fields->kind)
		return false;
	if (rule->op != ANY_OP && rule->op != fields->op &&
	    !(rule->op == 0 && fields->kind == GAMMA_KIND_DATA))
		return false;
	return rule->seq == ANY_SEQ || rule->seq == fields->seq;
}

static enum fate fate_by_rule(struct net *net, unsigned from, const struct gamma_fields *fields,
			      uint64_t *delay)
{
	for (unsigned i = 0; i < net->rule_count; i++) {
		struct rule *rule = &net->rules[i];

		if (!rule_applies(rule, from, fields))
			continue;
		if (rule->skip) {
			rule->skip--;
			continue;
		}
		if (rule->times && rule->met == rule->times)
			continue;
		rule->met++;
		*delay = rule->delay;
		return rule->fate;
	}
	return PASS;
}

static enum fate fate_by_chance(struct net *net, uint64_t *delay)
{
	unsigned dice;

	if (!net->seed)
		return PASS;
	dice = (unsigned) (net_random(&net->seed) % 1000);
	*delay = net_random(&net->seed) % (20 * US);
	return dice < 4 * net->chaos ? DROP + dice / net->chaos : PASS;
}

static void damage(struct net *net, uint8_t *bytes, const struct gamma_fields *fields, bool spoil)
{
	uint64_t seed = net->now * 2 + 1;
	unsigned from = spoil ? fields->header_len : 0;
	unsigned to = spoil || fields->extensions & GAMMA_EXT_PAYLOAD_CRC
			      ? (unsigned) fields->header_len + fields->payload_len
			      : fields->header_len;
	uint64_t bit = 8 * from + net_random(&seed) % (8 * (to - from));

	bytes[GAMMA_ETH_LEN + bit / 8] ^= (uint8_t) (1u << bit % 8);
}

/* A node's second NIC differs from the first by that byte of its MAC address. */
uint8_t wire_rail_of(const struct net *net, const uint8_t *frame)
{
	return net->options.nics > 1 ? frame[2] : 0;
}

static void transmit(struct net *net, unsigned from, uint8_t *bytes, size_t len)
{
	struct node *node = &net->nodes[from];
	struct gamma_fields fields;
	unsigned to = wire_node_of_mac(bytes);
	unsigned rail = wire_rail_of(net, bytes);
	uint64_t delay = 0, at;
	enum fate fate;

	assert_int_equal(gamma_codec_parse(bytes, len, &fields), GAMMA_OK);
	node->busy = gamma_max(node->busy, net->now) + len * NS_PER_BYTE;
	at = node->busy + (rail ? net->options.second_latency : net->options.latency);
	node->left[rail] += fields.kind == GAMMA_KIND_DATA;
	fate = fate_by_rule(net, from, &fields, &delay);
	if (fate == PASS)
		fate = fate_by_chance(net, &delay);
	if (to >= net->count || node->unplugged || node->broken[rail] ||
	    net->nodes[to].broken[rail] ||
	    (net->options.switch_mtu && len > net->options.switch_mtu + GAMMA_ETH_LEN))
		fate = DROP;
	if (fate == DROP) {
		net->drops++;
		return;
	}
	if (fate == CORRUPT || (fate == SPOIL && fields.payload_len))
		damage(net, bytes, &fields, fate == SPOIL);
	wire_fly(net, to, bytes, len, fate == DELAY ? at + delay : at);
	if (fate == DUPLICATE)
		wire_fly(net, to, bytes, len, at + delay);
}

static unsigned node_send(struct node *node, struct gamma_link *link,
			  const struct gamma_frame *frames, unsigned count, int *error)
{
	uint8_t bytes[UINT16_MAX + GAMMA_ETH_LEN];
	struct net *net = node->net;

	*error = node->link_error;
	if (node->link_error)
		return 0;
	/* Now and then a link takes only the first of them. */
	if (net->seed && net_random(&net->seed) % 1000 < net->chaos) {
		*error = -EAGAIN;
		count = (unsigned) (net_random(&net->seed) % count);
	}
	for (unsigned i = 0; i < count; i++) {
		const struct gamma_frame *frame = &frames[i];
		size_t len = frame->head_len;

		memcpy(bytes, frame->head, len);
		for (unsigned k = 0; k < frame->iov_count; k++) {
			assert_true(len + frame->iov[k].iov_len <= sizeof(bytes));
			memcpy(bytes + len, frame->iov[k].iov_base, frame->iov[k].iov_len);
			len += frame->iov[k].iov_len;
		}
		if (node->nic_mtu && len > node->nic_mtu + GAMMA_ETH_LEN) {
			*error = -EMSGSIZE;
			link->mtu = node->nic_mtu;
			return i;
		}
		if (node->takes && len > node->takes + GAMMA_ETH_LEN) {
			*error = -EAGAIN;
			return i;
		}
		assert_true(len <= (wire_rail_of(net, bytes) ? node->second.mtu
							     : node->ep.local.limits.mtu) +
					   GAMMA_ETH_LEN);
		transmit(net, index_of(node), bytes, len);
	}
	return count;
}

static unsigned link_send(struct gamma_link *link, const struct gamma_frame *frames, unsigned count,
			  int *error)
{
	return node_send(gamma_container_of(link, struct node, link), link, frames, count, error);
}

static unsigned second_send(struct gamma_link *link, const struct gamma_frame *frames,
			    unsigned count, int *error)
{
	return node_send(gamma_container_of(link, struct node, second), link, frames, count, error);
}

static bool link_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct node *node = gamma_container_of(link, struct node, link);
	struct wire_frame *frame;

	if (gamma_list_empty(&node->ring))
		return false;
	frame = gamma_list_first(&node->ring, struct wire_frame, entry);
	arrival->frame = frame->bytes;
	arrival->len = frame->len;
	arrival->payload = NULL;
	arrival->stamp = node->net->unstamped ? 0 : frame->at;
	arrival->flow = NULL;
	return true;
}

static void link_release(struct gamma_link *link)
{
	struct node *node = gamma_container_of(link, struct node, link);
	struct wire_frame *frame = gamma_list_first(&node->ring, struct wire_frame, entry);

	gamma_list_remove(&frame->entry);
	free(frame);
	node->ring_count--;
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

/* Of the second NIC, whose frames come into the same ring. */
const struct gamma_link_ops wire_second_ops = {
	.send = second_send,
	.count = link_nothing,
	.close = link_nothing,
};

/* A frame reaches its ring, or finds it full. */
static void land(struct net *net, struct wire_frame *frame)
{
	struct node *node = &net->nodes[frame->to];

	gamma_list_remove(&frame->entry);
	if (node->unplugged || node->ring_count == net->options.slots) {
		node->ep.local.stats.ring_drops += !node->unplugged;
		net->drops++;
		free(frame);
		return;
	}
	gamma_list_append(&node->ring, &frame->entry);
	node->ring_count++;
}

void wire_deliver(struct net *net)
{
	while (wire_next(net) <= net->now)
		land(net, gamma_list_first(&net->flying, struct wire_frame, entry));
}

uint64_t wire_next(const struct net *net)
{
	if (gamma_list_empty(&net->flying))
		return GAMMA_NEVER;
	return gamma_list_first(&net->flying, struct wire_frame, entry)->at;
}

void wire_free(struct gamma_list *list)
{
	while (!gamma_list_empty(list)) {
		struct wire_frame *frame = gamma_list_first(list, struct wire_frame, entry);

		gamma_list_remove(&frame->entry);
		free(frame);
	}
}
