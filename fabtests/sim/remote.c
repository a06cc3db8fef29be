// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Remote memory: each application has an area for every other one, and a model of what must be in
 * it after all that has been posted so far, because operations take effect in the order of their
 * posting. What is read must be what the model had when the read was posted.
 *
 *   0 .......... COUNTER   WRITTEN .......... STATIC ................ AREA
 *   atomic counter         overwritten again   never written, so that long
 *                          and again           reads know what they find
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WRITTEN = 64, /* bytes: its offset */
	STATIC = 65536,
	AREA = 262144,
	MARGIN = 64, /* on both sides; nobody may touch it */
	UNTOUCHED = 0x77,
	SPOILT = 0xdb,
	LOOK_MS = 100,  /* until an application that is away is checked again */
	BASE = 0x10000, /* address of an area */
};

struct area {
	uint8_t *block, *bytes; /* AREA bytes, and margins around */
	uint8_t *model;         /* the first STATIC of them, as they must become */
	uint32_t life;          /* of the node that it is at */
	uint32_t applied;       /* operations that have changed it */
	uint32_t posted;        /* those that will, and those */
	bool unsure; /* one of the two has died, or has declared the other dead: the outcome is open
		      */
};

static uint8_t mixed(uint32_t id, uint64_t i)
{
	uint64_t word = (id * 0x9e3779b97f4a7c15ull + i) * 0xbf58476d1ce4e5b9ull;

	return (uint8_t) (word >> 56);
}

/* ---- areas ---- */

static struct area *area_of(struct sim *sim, unsigned at, unsigned peer)
{
	struct area **slot;

	if (!sim->areas)
		sim->areas = calloc((size_t) sim->config.nodes * sim->config.nodes,
				    sizeof(struct area *));
	if (!sim->areas)
		abort();
	slot = &sim->areas[at * sim->config.nodes + peer];
	if (*slot)
		return *slot;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot)
		abort();
	(*slot)->block = malloc(AREA + 2 * MARGIN);
	(*slot)->model = calloc(1, STATIC);
	if (!(*slot)->block || !(*slot)->model)
		abort();
	memset((*slot)->block, UNTOUCHED, AREA + 2 * MARGIN);
	(*slot)->bytes = (*slot)->block + MARGIN;
	(*slot)->life = node_of(sim, at)->life;
	/* What is posted to an incarnation that has ended, unnoticed so far, is lost. */
	(*slot)->unsure = (*slot)->life || node_of(sim, peer)->life;
	memset((*slot)->bytes, 0, STATIC);
	for (unsigned i = STATIC; i < AREA; i++)
		(*slot)->bytes[i] = mixed(0, i);
	return *slot;
}

/* The result of a posted operation; -EACCES and -EINVAL were provoked, or are wrong. */
static enum gamma_refusal look_up(struct node *node, struct gamma_flow *flow,
				  const struct gamma_rma_access *access, struct area **area)
{
	unsigned peer = (unsigned) flow->addr.mac[4] << 8 | flow->addr.mac[5];
	uint64_t offset = access->address - BASE;

	if (access->key != peer + 1)
		return GAMMA_REFUSED_KEY;
	if (access->address < BASE || offset > AREA || access->length > AREA - offset)
		return GAMMA_REFUSED_BOUNDS;
	*area = area_of(node->sim, node->index, peer);
	return 0;
}

static enum gamma_refusal on_reach(void *context, struct gamma_flow *flow,
				   const struct gamma_rma_access *access,
				   struct gamma_rma_region *reached)
{
	struct area *area;
	enum gamma_refusal refusal = look_up(context, flow, access, &area);

	if (refusal)
		return refusal;
	reached->iov[0] = (struct iovec){area->bytes + (access->address - BASE), access->length};
	reached->iov_count = 1;
	reached->region = area;
	return 0;
}

/* Adds to a counter. */
static enum gamma_refusal on_apply(void *context, struct gamma_flow *flow,
				   const struct gamma_rma_access *access, const uint8_t *operands,
				   uint8_t *result)
{
	struct area *area;
	enum gamma_refusal refusal = look_up(context, flow, access, &area);
	uint64_t value, operand;

	if (refusal)
		return refusal;
	memcpy(&value, area->bytes + (access->address - BASE), sizeof(value));
	memcpy(&operand, operands, sizeof(operand));
	if (access->op == GAMMA_OP_FETCH)
		memcpy(result, &value, sizeof(value));
	value += operand;
	memcpy(area->bytes + (access->address - BASE), &value, sizeof(value));
	return 0;
}

static void on_touched(void *context, struct gamma_flow *flow,
		       const struct gamma_rma_access *access, bool last, const uint64_t *data)
{
	struct node *node = context;
	unsigned peer = (unsigned) flow->addr.mac[4] << 8 | flow->addr.mac[5];
	struct area *area = area_of(node->sim, node->index, peer);

	if (!last || access->op == GAMMA_OP_READ)
		return;
	if (data && *data != ++area->applied && !area->unsure)
		sim_fail(node->sim, "operation %llu of node %u on node %u came as number %u",
			 (unsigned long long) *data, peer, node->index, area->applied);
	if (!data && access->length)
		sim_fail(node->sim, "node %u got an operation without its context", node->index);
}

const struct gamma_rma_target remote_target = {
	.reach = on_reach,
	.apply = on_apply,
	.touched = on_touched,
};

/* ---- operations ---- */

static bool changes(const struct sim_remote *op)
{
	return op->kind == SIM_PUT || op->kind == SIM_ADD || op->kind == SIM_FETCH;
}

static bool has_result(const struct sim_remote *op)
{
	return op->kind == SIM_GET || op->kind == SIM_GET_STATIC || op->kind == SIM_FETCH;
}

static uint64_t place_of(const struct sim_remote *op)
{
	switch (op->kind) {
	case SIM_PUT:
	case SIM_GET:
		return WRITTEN + op->id * 7919u % (STATIC - WRITTEN - op->length + 1);
	case SIM_GET_STATIC:
		return STATIC + op->id * 7919u % (AREA - STATIC - op->length + 1);
	case SIM_FORBIDDEN:
		return op->id % 2 ? AREA - op->length / 2 : 0;
	default:
		return 0;
	}
}

static enum gamma_op op_of(const struct sim_remote *op)
{
	switch (op->kind) {
	case SIM_PUT:
		return GAMMA_OP_WRITE;
	case SIM_ADD:
		return GAMMA_OP_ATOMIC;
	case SIM_FETCH:
		return GAMMA_OP_FETCH;
	case SIM_FORBIDDEN:
		return op->id % 3 ? GAMMA_OP_WRITE : GAMMA_OP_READ;
	default:
		return GAMMA_OP_READ;
	}
}

static void fill(struct sim_remote *op)
{
	uint64_t place = place_of(op);
	struct gamma_rma *remote = &op->remote;

	remote->op = op_of(op);
	remote->operands = remote->op != GAMMA_OP_READ;
	remote->unit = remote->op >= GAMMA_OP_ATOMIC ? 8 : 0;
	remote->segment_count = 1;
	remote->segments[0] = (struct gamma_rma_iov){
		.address = BASE + place,
		.key = op->from + 1 + (op->kind == SIM_FORBIDDEN && !(op->id % 2)) * 5000,
		.length = op->length,
	};
	/* Several iovecs of it, one behind the other. */
	if (op->kind != SIM_FORBIDDEN && !remote->unit && op->id % 3 == 0 && op->length > 1) {
		uint64_t first = 1 + op->id * 104729u % (op->length - 1);

		remote->segments[0].length = first;
		remote->segments[1] = remote->segments[0];
		remote->segments[1].address += first;
		remote->segments[1].length = op->length - first;
		remote->segment_count = 2;
	}
	if (remote->op == GAMMA_OP_READ || remote->op == GAMMA_OP_FETCH) {
		remote->result[0] = (struct iovec){op->result, op->length};
		remote->result_count = 1;
	}
	op->send.iov[0] = (struct iovec){op->bytes, op->length};
	op->send.iov_count = remote->operands;
	op->send.fence = op->fence;
}

/* Applies the operation to the model. */
static void apply_to_model(struct sim_remote *op, struct area *area)
{
	uint64_t place = place_of(op), value;

	if (op->kind == SIM_GET)
		memcpy(op->expected, area->model + place, op->length);
	if (op->kind == SIM_PUT)
		memcpy(area->model + place, op->bytes, op->length);
	if (op->kind != SIM_ADD && op->kind != SIM_FETCH)
		return;
	memcpy(op->expected, area->model, sizeof(value));
	memcpy(&value, area->model, sizeof(value));
	value += op->bytes[0];
	memcpy(area->model, &value, sizeof(value));
}

static void ended(struct sim_remote *op, int error)
{
	op->done = true;
	op->error = error;
	op->sim->totals.remotes_failed += error != 0;
	memset(op->bytes, SPOILT, op->length); /* nobody may read it any more */
	if (op->sim->verbose)
		sim_note(op->sim, "operation %u %u -> %u: ends with %d", op->id, op->from, op->to,
			 error);
}

static void post(struct sim_remote *op)
{
	struct sim *sim = op->sim;
	struct node *node = node_of(sim, op->from);
	struct area *area = area_of(sim, op->to, op->from);
	struct gamma_flow *flow = node_flow_to(node, op->to, op->partial);
	int error;

	op->posted = true;
	fill(op);
	if (changes(op)) {
		op->order = area->posted + 1;
		op->send.envelope.flags = GAMMA_HAS_DATA;
		op->send.envelope.data = op->order;
	}
	error = flow ? gamma_rma_requester_post(flow, &op->send, &op->remote) : -ENOMEM;
	if (error) {
		area->unsure = true;
		ended(op, error);
		return;
	}
	area->posted += changes(op);
	apply_to_model(op, area);
	gamma_output(&node->ep, sim->now);
	check_step(node);
	node_wake(node);
}

/* An application that is away does it when it comes back, if it does. */
static void at_its_time(struct sim *sim, void *arg)
{
	struct sim_remote *op = arg;
	struct node *node = node_of(sim, op->from);
	uint64_t when = gamma_max(gamma_min(node->away, sim->now + LOOK_MS * SIM_MS), node->busy);

	if (node->state != NODE_ALIVE)
		op->lost = true;
	else if (when > sim->now)
		sim_at(sim, when, at_its_time, op);
	else
		post(op);
}

struct sim_remote *sim_remote_at(struct sim *sim, enum sim_remote_kind kind, unsigned from,
				 unsigned to, uint64_t length, uint64_t when)
{
	struct sim_remote *op = calloc(1, sizeof(*op));

	sim->remotes = sim_grow_list(sim->remotes, sim->remote_count);
	if (!op)
		abort();
	op->sim = sim;
	op->id = sim->remote_count;
	op->kind = kind;
	op->from = from;
	op->to = to;
	op->length = kind == SIM_ADD || kind == SIM_FETCH ? 8 : length;
	op->bytes = calloc(1, op->length + 1);
	op->result = calloc(1, op->length + 1);
	op->expected = calloc(1, op->length + 1);
	if (!op->bytes || !op->result || !op->expected)
		abort();
	for (uint64_t i = 0; i < op->length; i++)
		op->bytes[i] = kind == SIM_PUT ? mixed(op->id + 1, i) : 0;
	if (op->length)
		op->bytes[0] |= 1;
	op->result[op->length] = SPOILT; /* a byte that nobody may write */
	sim->remotes[sim->remote_count++] = op;
	sim->totals.remotes++;
	sim_at(sim, when, at_its_time, op);
	return op;
}

/* ---- their ends ---- */

static void check_result(const struct sim_remote *op, const struct area *area)
{
	bool wrong = op->result[op->length] != SPOILT;

	if (op->kind == SIM_GET_STATIC)
		for (uint64_t i = 0; i < op->length; i++)
			wrong |= op->result[i] != mixed(0, place_of(op) + i);
	else if (has_result(op) && !area->unsure)
		wrong |= memcmp(op->result, op->expected, op->length) != 0;
	if (wrong)
		sim_fail(op->sim, "operation %u (%u -> %u) brought wrong bytes", op->id, op->from,
			 op->to);
}

void remote_sent(struct node *node, struct gamma_send *send, int error)
{
	struct sim_remote *op = gamma_container_of(send, struct sim_remote, send);
	struct sim *sim = node->sim;
	struct area *area = area_of(sim, op->to, op->from);
	bool excused = node->excused || node_of(sim, op->to)->excused;
	bool refused = error == (op->id % 2 ? -EINVAL : -EACCES);

	if (op->done || op->lost)
		sim_fail(sim, "operation %u ended twice", op->id);
	if (op->kind == SIM_FORBIDDEN ? !refused && !excused : error && !excused)
		sim_fail(sim, "operation %u (%u -> %u) ended with %d", op->id, op->from, op->to,
			 error);
	if (error && op->kind != SIM_FORBIDDEN)
		area->unsure = true;
	if (!error && changes(op) && !area->unsure && area->applied < op->order)
		sim_fail(sim, "operation %u (%u -> %u) is said to be done and is not", op->id,
			 op->from, op->to);
	if (!error)
		check_result(op, area);
	ended(op, error);
}

bool remote_settled(struct sim *sim)
{
	for (unsigned i = 0; i < sim->remote_count; i++) {
		const struct sim_remote *op = sim->remotes[i];
		const struct node *node = node_of(sim, op->from);

		if (!op->done && !op->lost && node->state != NODE_GONE && node->away != GAMMA_NEVER)
			return false;
	}
	return true;
}

void remote_explain(struct sim *sim)
{
	for (unsigned i = 0; i < sim->remote_count; i++) {
		const struct sim_remote *op = sim->remotes[i];

		if (!op->done && !op->lost)
			sim_fail(sim, "operation %u, kind %d, %u -> %u, %llu bytes, %s", op->id,
				 op->kind, op->from, op->to, (unsigned long long) op->length,
				 op->posted ? "does not end" : "is not posted");
	}
}

/* An endpoint ends: its operations in flight, and those of others on it, are lost or done. */
void remote_node_ended(struct node *node)
{
	struct sim *sim = node->sim;

	for (unsigned i = 0; i < sim->remote_count; i++) {
		struct sim_remote *op = sim->remotes[i];

		if (op->from == node->index && op->posted && !op->done)
			op->lost = true;
	}
	for (unsigned i = 0; sim->areas && i < sim->config.nodes; i++) {
		struct area *here = sim->areas[node->index * sim->config.nodes + i];
		struct area *there = sim->areas[i * sim->config.nodes + node->index];

		if (here)
			here->unsure = true;
		if (there)
			there->unsure = true;
	}
}

/* Everything has had its effect. */
void remote_check_end(struct sim *sim)
{
	for (unsigned i = 0; sim->areas && i < sim->config.nodes * sim->config.nodes; i++) {
		const struct area *area = sim->areas[i];
		bool outside = false, excused;

		if (!area)
			continue;
		for (unsigned j = 0; j < MARGIN; j++)
			outside |=
				area->block[j] != UNTOUCHED || area->bytes[AREA + j] != UNTOUCHED;
		for (unsigned j = STATIC; j < AREA; j++)
			outside |= area->bytes[j] != mixed(0, j);
		if (outside)
			sim_fail(sim, "memory of node %u outside of what was written has changed",
				 i / sim->config.nodes);
		excused = node_of(sim, i / sim->config.nodes)->excused ||
			  node_of(sim, i % sim->config.nodes)->excused;
		if (!area->unsure && !excused && remote_settled(sim) &&
		    (area->applied != area->posted || memcmp(area->bytes, area->model, STATIC)))
			sim_fail(sim,
				 "%u of %u operations of node %u on node %u, or others, were done",
				 area->applied, area->posted, i % sim->config.nodes,
				 i / sim->config.nodes);
	}
}

void remote_free(struct sim *sim)
{
	for (unsigned i = 0; i < sim->remote_count; i++) {
		free(sim->remotes[i]->bytes);
		free(sim->remotes[i]->result);
		free(sim->remotes[i]->expected);
		free(sim->remotes[i]);
	}
	free(sim->remotes);
	for (unsigned i = 0; sim->areas && i < sim->config.nodes * sim->config.nodes; i++) {
		if (!sim->areas[i])
			continue;
		free(sim->areas[i]->block);
		free(sim->areas[i]->model);
		free(sim->areas[i]);
	}
	free(sim->areas);
}
