// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Applications that take messages by active ports: what the provider's active_port_run.c does, on
 * the product's own lending. A handler is given its message where it arrived if it can be lent,
 * else what was kept or fetched. It may answer, keep the bytes, or take its time, in which its
 * endpoint receives nothing unless it has kept them. A message whose receive is not posted yet
 * has no handler yet.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define FETCHED UINT32_MAX

enum { HANDLERS = 64 /* in one progress call */, SLOW_US = 40, SLOWEST = 16 };

static struct sim_message *message_of(struct node *node, const struct gamma_envelope *envelope)
{
	return node->sim->messages[port_message_id(envelope)];
}

static bool has_handler(const struct node *node, const struct sim_message *message)
{
	return message->posted && message->to_life == node->life;
}

/* ---- the engine's side ---- */

void port_begin(struct node *node)
{
	node->ports = (struct ports){.polls = false};
	gamma_list_init(&node->ports.arrived);
	if (!node->sim->config.ports)
		return;
	node->ports.blocked = calloc(node->sim->config.nodes, sizeof(*node->ports.blocked));
	if (!node->ports.blocked)
		abort();
}

bool port_lend(struct node *node, struct sim_message *message, const uint8_t *bytes)
{
	struct ports *ports = &node->ports;

	message->arrived_order = ++ports->order;
	message->arrived_life = node->life;
	if (!ports->polls || ports->lent_count == PORT_LENT ||
	    ports->blocked[message->from] == FETCHED || !has_handler(node, message) ||
	    !gamma_lending_lend(&node->ep, bytes, message->length))
		return false;
	ports->lent[ports->lent_count] = message;
	ports->lent_at[ports->lent_count++] = bytes;
	message->matched = true;
	return true;
}

void port_later(struct node *node, struct sim_message *message, struct gamma_inbound *inbound)
{
	if (message->arrived_life != node->life || !message->arrived_order) {
		message->arrived_order = ++node->ports.order;
		message->arrived_life = node->life;
	}
	gamma_list_append(&node->ports.arrived, &inbound->entry);
}

/* ---- handlers ---- */

/* Nothing that came earlier from that sender still waits for a handler that it has. */
static void check_order(struct node *node, const struct sim_message *message)
{
	struct sim *sim = node->sim;

	for (unsigned i = 0; i < sim->message_count; i++) {
		const struct sim_message *other = sim->messages[i];

		if (other->port && other->from == message->from && other->to == message->to &&
		    other->arrived_order && other->arrived_life == node->life &&
		    other->arrived_order < message->arrived_order && has_handler(node, other) &&
		    !other->handled && !other->received)
			sim_fail(sim, "node %u handles message %u before message %u of that sender",
				 node->index, message->id, other->id);
	}
}

static void check_bytes(struct node *node, const struct sim_message *message, const uint8_t *bytes,
			const char *when)
{
	if (message->length && memcmp(bytes, message->pattern, message->length))
		sim_fail(node->sim, "message %u (%u -> %u) has other bytes as its handler %s",
			 message->id, message->from, message->to, when);
}

static void answer(struct node *node, struct sim_message *message)
{
	if (message->answer && !message->answer->sent && node->state == NODE_ALIVE)
		sim_send(message->answer);
}

static void end_handler(struct node *node)
{
	struct ports *ports = &node->ports;
	struct sim_message *message = ports->running;

	check_bytes(node, message, ports->bytes, "ends");
	ports->running = NULL;
	free(ports->taken);
	ports->taken = NULL;
	message->received = true;
	message->received_at = node->sim->now;
	message->placed = message->length;
	if (message->on_received)
		message->on_received(message, message->arg);
}

/* Its copy outlives the slot, which is free for other frames as soon as all in it have been
 * handled. */
static void keep(struct node *node)
{
	struct ports *ports = &node->ports;
	uint8_t *copy = malloc(ports->running->length + 1);

	if (!copy)
		abort();
	memcpy(copy, ports->bytes, ports->running->length);
	free(ports->taken);
	ports->bytes = ports->taken = copy;
	if (ports->lent_next == ports->lent_count)
		gamma_lending_return(&node->ep);
	node->sim->totals.ports_kept++;
}

/* taken: bytes to free when the handler has ended, or NULL. */
static void begin_handler(struct node *node, struct sim_message *message, const uint8_t *bytes,
			  uint8_t *taken)
{
	struct ports *ports = &node->ports;
	struct sim *sim = node->sim;

	if (message->handled)
		sim_fail(sim, "message %u (%u -> %u) is handled twice", message->id, message->from,
			 message->to);
	check_order(node, message);
	check_bytes(node, message, bytes, "begins");
	message->matched = message->handled = true;
	sim->totals.ports_handled++;
	ports->running = message;
	ports->bytes = bytes;
	ports->taken = taken;
	ports->until = sim->now;
	answer(node, message);
	if (message->id % 4 == 1)
		keep(node);
	if (message->id % 3 == 1)
		ports->until += (1 + message->id % SLOWEST) * SLOW_US * SIM_US;
	if (ports->until == sim->now)
		end_handler(node);
}

/* False: none is left; the slot is free again. */
static bool run_lent(struct node *node)
{
	struct ports *ports = &node->ports;
	unsigned next = ports->lent_next;

	if (next == ports->lent_count) {
		ports->lent_next = ports->lent_count = 0;
		gamma_lending_return(&node->ep);
		return false;
	}
	ports->lent_next++;
	node->sim->totals.ports_in_place++;
	begin_handler(node, ports->lent[next], ports->lent_at[next], NULL);
	return true;
}

/* The oldest with a handler whose sender has none before it on its way, or NULL. */
static struct gamma_inbound *next_arrived(struct node *node)
{
	struct ports *ports = &node->ports;
	struct gamma_list *pos;

	ports->searches++;
	gamma_list_for_each (pos, &ports->arrived) {
		struct gamma_inbound *inbound = gamma_list_entry(pos, struct gamma_inbound, entry);
		struct sim_message *message = message_of(node, &inbound->envelope);
		uint32_t *blocked = &ports->blocked[message->from];

		if (!has_handler(node, message) || *blocked == FETCHED ||
		    *blocked == ports->searches)
			continue;
		if (inbound->error || inbound->state != GAMMA_INBOUND_ARRIVING)
			return inbound;
		*blocked = ports->searches;
	}
	return NULL;
}

/* Its sender has failed: there is nothing to handle. */
static void drop(struct node *node, struct gamma_inbound *inbound)
{
	struct sim_message *message = message_of(node, &inbound->envelope);

	message->received = true;
	message->receive_error = inbound->error;
	message->received_at = node->sim->now;
	node->sim->totals.receives_failed++;
	gamma_receive_discard(inbound);
}

/* The head is here before the other bytes. */
static void check_head(struct node *node, const struct sim_message *message,
		       const struct gamma_inbound *inbound)
{
	uint8_t head[GAMMA_PORT_HEAD_MAX];

	gamma_receive_read_head(inbound, head);
	if (message->head_len && memcmp(head, message->pattern, message->head_len))
		sim_fail(node->sim, "message %u (%u -> %u) is announced with another head",
			 message->id, message->from, message->to);
}

/* Bytes that are still with their sender come: of a long message while others are handled, of one
 * that was demoted before others of its sender are. */
static void fetch(struct node *node, struct gamma_inbound *inbound)
{
	struct sim_message *message = message_of(node, &inbound->envelope);

	if (message->length <= node->sim->config.eager_size) {
		node->ports.blocked[message->from] = FETCHED;
		message->fetched = true;
		node->sim->totals.ports_fetched++;
	} else {
		check_order(node, message);
		check_head(node, message, inbound);
		message->handled = true;
		node->sim->totals.ports_announced++;
		answer(node, message);
	}
	gamma_receive_accept(inbound, app_consume(message));
}

void port_received(struct node *node, struct sim_message *message, const uint8_t *bytes, int error)
{
	if (!message->fetched)
		return;
	message->fetched = false;
	node->ports.blocked[message->from] = 0;
	if (error)
		return;
	check_bytes(node, message, bytes, "begins");
	message->handled = true;
	node->sim->totals.ports_handled++;
	answer(node, message);
}

/* False: there is nothing to do now. */
static bool run_arrived(struct node *node)
{
	struct gamma_inbound *inbound = next_arrived(node);
	struct sim_message *message;
	static const uint8_t none[1];
	uint8_t *bytes;

	if (!inbound)
		return false;
	gamma_list_remove(&inbound->entry);
	message = message_of(node, &inbound->envelope);
	message->inbound = NULL;
	if (inbound->error) {
		drop(node, inbound);
	} else if (inbound->state == GAMMA_INBOUND_ANNOUNCED) {
		fetch(node, inbound);
	} else {
		bytes = gamma_receive_take(inbound);
		begin_handler(node, message, bytes ? bytes : none, bytes);
	}
	return true;
}

void port_allow(struct node *node)
{
	struct ports *ports = &node->ports;

	ports->polls = node->sim->config.ports && !ports->running && !ports->lent_count &&
		       node->away <= node->sim->now;
	if (ports->polls)
		gamma_lending_allow(&node->ep, &ports->arrived);
}

void port_run(struct node *node)
{
	struct ports *ports = &node->ports;
	uint64_t now = node->sim->now;
	bool polled = ports->polls;

	if (polled)
		gamma_lending_allow(&node->ep, NULL);
	ports->polls = false;
	if (!node->sim->config.ports || node->away > now)
		return;
	if (ports->running && ports->until > now)
		return;
	if (ports->running)
		end_handler(node);
	for (unsigned i = 0; i < HANDLERS && !ports->running; i++)
		if (!(ports->lent_count && run_lent(node)) && !run_arrived(node))
			break;
	gamma_output(&node->ep, now);
}

/* When handlers may go on; GAMMA_NEVER: there is nothing for them. */
uint64_t port_due(struct node *node)
{
	const struct ports *ports = &node->ports;

	if (!node->sim->config.ports)
		return GAMMA_NEVER;
	if (ports->running)
		return ports->until;
	if (ports->lent_count || next_arrived(node))
		return node->sim->now;
	return GAMMA_NEVER;
}

void port_end(struct node *node)
{
	free(node->ports.taken);
	free(node->ports.blocked);
	node->ports = (struct ports){.polls = false};
}
