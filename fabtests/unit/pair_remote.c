// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Remote memory on the network of pair.h: see pair_remote.h. */
#include "pair_remote.h"

#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = 0xA5 };

struct region regions[REGION_NODES];

static struct region *region_of(const struct node *node)
{
	return &regions[node - node->net->nodes];
}

static enum gamma_refusal look_up(struct region *region, const struct gamma_rma_access *access,
				  bool writes, uint8_t **at)
{
	uint64_t offset = access->address - REGION_BASE;

	region->asked++;
	if (access->key != REGION_KEY || !region->open)
		return GAMMA_REFUSED_KEY;
	if (writes ? !region->writable : !region->readable)
		return GAMMA_REFUSED_ACCESS;
	if (access->address < REGION_BASE || offset > region->length ||
	    access->length > region->length - offset)
		return GAMMA_REFUSED_BOUNDS;
	*at = region->bytes + offset;
	return 0;
}

/* In two pieces, as a region may be. */
static enum gamma_refusal on_reach(void *context, struct gamma_flow *flow,
				   const struct gamma_rma_access *access,
				   struct gamma_rma_region *reached)
{
	struct region *region = region_of(context);
	enum gamma_refusal refusal;
	uint8_t *at = NULL;

	(void) flow;
	refusal = look_up(region, access, access->op == GAMMA_OP_WRITE, &at);
	if (refusal)
		return refusal;
	reached->iov[0] = (struct iovec){at, access->length / 2};
	reached->iov[1] =
		(struct iovec){at + access->length / 2, access->length - access->length / 2};
	reached->iov_count = 2;
	reached->region = region;
	return 0;
}

static void apply_one(uint64_t *at, const struct gamma_rma_access *access, const uint8_t *operands,
		      unsigned i)
{
	uint64_t operand, comparand;

	memcpy(&operand, operands + 8 * i, 8);
	if (access->op != GAMMA_OP_COMPARE) {
		*at += operand;
		return;
	}
	memcpy(&comparand, operands + 8 * (access->count + i), 8);
	if (*at == comparand)
		*at = operand;
}

static enum gamma_refusal on_apply(void *context, struct gamma_flow *flow,
				   const struct gamma_rma_access *access, const uint8_t *operands,
				   uint8_t *result)
{
	struct region *region = region_of(context);
	enum gamma_refusal refusal;
	uint8_t *at = NULL;

	(void) flow;
	refusal = look_up(region, access, true, &at);
	if (refusal)
		return refusal;
	if (access->length != 8u * access->count ||
	    access->operands != access->length * (access->op == GAMMA_OP_COMPARE ? 2 : 1))
		return GAMMA_REFUSED_UNSUPPORTED;
	if (access->op != GAMMA_OP_ATOMIC)
		memcpy(result, at, access->length);
	for (unsigned i = 0; i < access->count; i++)
		apply_one((uint64_t *) (void *) at + i, access, operands, i);
	return 0;
}

static void on_touched(void *context, struct gamma_flow *flow,
		       const struct gamma_rma_access *access, bool last, const uint64_t *data)
{
	struct region *region = region_of(context);

	(void) flow, (void) access;
	region->iov_count++;
	region->touched += last;
	if (data) {
		region->with_data++;
		region->last_data = *data;
	}
}

static const struct gamma_rma_target target = {
	.reach = on_reach,
	.apply = on_apply,
	.touched = on_touched,
};

void remote_begin(struct net *net, uint64_t length)
{
	assert_true(net->count <= REGION_NODES);
	memset(regions, 0, sizeof(regions));
	net_allocates++;
	for (unsigned i = 0; i < net->count; i++) {
		struct region *region = &regions[i];

		region->block = malloc(length + 2 * REGION_MARGIN);
		assert_non_null(region->block);
		memset(region->block, UNTOUCHED, length + 2 * REGION_MARGIN);
		region->bytes = region->block + REGION_MARGIN;
		memset(region->bytes, 0, length);
		region->length = length;
		region->open = region->readable = region->writable = true;
		net->nodes[i].ep.handlers.messages.target = &target;
	}
	net_allocates--;
}

static void check_margins(const struct region *region)
{
	for (unsigned i = 0; i < REGION_MARGIN; i++) {
		assert_int_equal(region->block[i], UNTOUCHED);
		assert_int_equal(region->bytes[region->length + i], UNTOUCHED);
	}
}

void remote_end(void)
{
	for (unsigned i = 0; i < REGION_NODES; i++) {
		if (!regions[i].block)
			continue;
		check_margins(&regions[i]);
		free(regions[i].block);
		regions[i].block = NULL;
	}
}

void remote_close(struct net *net, unsigned node)
{
	struct region *region = &regions[node];
	struct gamma_list *pos;

	region->open = false;
	gamma_list_for_each (pos, &net->nodes[node].ep.local.flows)
		gamma_rma_target_withdraw(gamma_list_entry(pos, struct gamma_flow, all_entry),
					  region, net->now);
	memset(region->bytes, 0xEE, region->length);
}

struct outgoing *net_remote(struct net *net, unsigned from, unsigned to,
			    const struct gamma_rma *remote, const void *operands,
			    const uint64_t *data)
{
	struct node *node = &net->nodes[from];
	struct outgoing *outgoing;
	uint64_t length = 0;
	int ret;

	for (unsigned i = 0; i < remote->segment_count; i++)
		length += remote->segments[i].length * remote->operands;
	net_allocates++;
	outgoing = calloc(1, sizeof(*outgoing));
	assert_non_null(outgoing);
	outgoing->bytes = malloc(length + 1);
	assert_non_null(outgoing->bytes);
	net_allocates--;
	memcpy(outgoing->bytes, operands ? operands : "", length);
	outgoing->remote = *remote;
	/* In two pieces, as an application may have it. */
	outgoing->send.iov[0] = (struct iovec){outgoing->bytes, length / 3};
	outgoing->send.iov[1] = (struct iovec){outgoing->bytes + length / 3, length - length / 3};
	outgoing->send.iov_count = length ? 2 : 0;
	outgoing->send.envelope.flags = data ? GAMMA_HAS_DATA : 0;
	outgoing->send.envelope.data = data ? *data : 0;
	outgoing->next = node->sends;
	node->sends = outgoing;
	ret = gamma_rma_requester_post(net_flow(net, from, to), &outgoing->send, &outgoing->remote);
	if (ret) {
		outgoing->done = true;
		outgoing->error = ret;
	}
	return outgoing;
}

struct outgoing *net_write(struct net *net, unsigned from, unsigned to, uint64_t offset,
			   const void *bytes, uint64_t length)
{
	const struct gamma_rma remote = {
		.op = GAMMA_OP_WRITE,
		.operands = 1,
		.segment_count = 1,
		.segments = {{REGION_BASE + offset, REGION_KEY, length}},
	};

	return net_remote(net, from, to, &remote, bytes, NULL);
}

struct outgoing *net_read(struct net *net, unsigned from, unsigned to, uint64_t offset, void *into,
			  uint64_t length)
{
	const struct gamma_rma remote = {
		.op = GAMMA_OP_READ,
		.segment_count = 1,
		.segments = {{REGION_BASE + offset, REGION_KEY, length}},
		.result = {{into, length / 4},
			   {(uint8_t *) into + length / 4, length - length / 4}},
		.result_count = 2,
	};

	return net_remote(net, from, to, &remote, NULL, NULL);
}

struct outgoing *net_atomic(struct net *net, unsigned from, unsigned to, enum gamma_op op,
			    uint64_t offset, const uint64_t *operands, unsigned count,
			    uint64_t *into)
{
	const struct gamma_rma remote = {
		.op = op,
		.operands = op == GAMMA_OP_COMPARE ? 2 : 1,
		.unit = 8,
		.segment_count = 1,
		.segments = {{REGION_BASE + offset, REGION_KEY, 8ull * count}},
		.result = {{into, into ? 8ull * count : 0}},
		.result_count = into ? 1 : 0,
	};

	return net_remote(net, from, to, &remote, operands, NULL);
}
