// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The applications: messages, each with the receive that is meant for it (its tag is its number
 * in the run), and the work of the interface layer: matching, unexpected messages, completions.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LENGTH_MAX = 1 << 20,  /* bytes of the pattern; longer messages repeat it */
	PATTERN_SHIFT = 65536, /* different beginnings */
	COPY_MAX =
		16384, /* bytes: longer ones are copied (and then spoilt) only one time in four */
	SPOILT = 0xdb,
	LOOK_MS = 100, /* until an application that is away is checked again */
};

/* Message bytes are a window into this: comparing is fast, and no two messages look alike. */
static const uint8_t *pattern(uint32_t id)
{
	static uint8_t table[LENGTH_MAX + PATTERN_SHIFT + 8];
	static bool made;
	uint64_t word = 0x243f6a8885a308d3ull;

	for (size_t i = 0; !made && i + 8 <= sizeof(table); i += 8) {
		word = (word ^ word >> 27) * 0x3c79ac492ba7b653ull + 1;
		memcpy(table + i, &word, 8);
	}
	made = true;
	return table + (id * 40503u) % PATTERN_SHIFT;
}

static struct node *sender_of(const struct sim_message *message)
{
	return node_of(message->sim, message->from);
}

static struct node *receiver_of(const struct sim_message *message)
{
	return node_of(message->sim, message->to);
}

/* ---- messages ---- */

struct sim_message *sim_message(struct sim *sim, unsigned from, unsigned to, uint64_t length,
				enum gamma_completion_level level)
{
	struct sim_message *message = calloc(1, sizeof(*message));

	sim->messages = sim_grow_list(sim->messages, sim->message_count);
	if (!message || length > LENGTH_MAX)
		abort();
	message->sim = sim;
	message->id = sim->message_count;
	message->from = from;
	message->to = to;
	message->length = length;
	message->level = level;
	message->pattern = pattern(message->id);
	sim->messages[sim->message_count++] = message;
	sim->totals.messages++;
	sim->totals.bytes += length;
	sim->totals.sizes[totals_size_class(length, &sim->config)]++;
	sim->totals.levels[level]++;
	return message;
}

unsigned sim_messages(const struct sim *sim)
{
	return sim->message_count;
}

struct sim_message *sim_message_at(const struct sim *sim, unsigned index)
{
	return sim->messages[index];
}

static void message_free(struct sim_message *message)
{
	free(message->copy);
	free(message->place);
	free(message);
}

void app_free(struct sim *sim)
{
	for (unsigned i = 0; i < sim->message_count; i++)
		message_free(sim->messages[i]);
	free(sim->messages);
}

/* ---- sending ---- */

static void make_bytes(struct sim_message *message)
{
	const void *bytes = message->pattern;

	if (message->length && (message->length <= COPY_MAX || message->id % 4 == 0)) {
		message->copy = malloc(message->length);
		if (!message->copy)
			abort();
		bytes = memcpy(message->copy, message->pattern, message->length);
	}
	message->send.iov[0] = (struct iovec){(void *) bytes, message->length};
	message->send.iov_count = 1;
	/* An iovec list of the bytes. */
	if (message->id % 3 == 0 && message->length > 1) {
		size_t first = 1 + message->id * 7919u % (message->length - 1);

		message->send.iov[0].iov_len = first;
		message->send.iov[1] =
			(struct iovec){(char *) bytes + first, message->length - first};
		message->send.iov_count = 2;
	}
}

static void send_ended(struct sim_message *message, int error)
{
	message->done = true;
	message->error = error;
	message->done_at = message->sim->now;
	message->sim->totals.sends_failed += error != 0;
	/* Nobody may read the memory any more. */
	if (message->copy)
		memset(message->copy, SPOILT, message->length);
	if (message->sim->verbose)
		sim_note(message->sim, "message %u %u -> %u: send ends with %d", message->id,
			 message->from, message->to, error);
	if (message->on_sent)
		message->on_sent(message, message->arg);
}

/* Counts of messages sent and begun on a flow: the two halves of the application's tag. */
static uint32_t next_sent(struct gamma_flow *flow)
{
	return (uint32_t) flow->user_tag++;
}

static uint32_t next_begun(struct gamma_flow *flow)
{
	flow->user_tag += 1ull << 32;
	return (uint32_t) (flow->user_tag >> 32) - 1;
}

static struct gamma_envelope envelope_of(const struct sim_message *message)
{
	struct gamma_envelope envelope = {
		.tag = message->id,
		.length = message->length,
		.flags = GAMMA_TAGGED,
	};

	if (message->port) {
		envelope.tag = gamma_envelope_port_tag((uint16_t) (message->id % 3),
						       message->head_len, message->id);
		envelope.flags |= GAMMA_TO_PORT;
	} else if (message->id % 5 == 0) {
		envelope.data = ~(uint64_t) message->id;
		envelope.flags |= GAMMA_HAS_DATA;
	}
	return envelope;
}

/* The message that an envelope is of; SIM: of all that there are; NULL: nobody sent it. */
static struct sim_message *message_of(struct sim *sim, const struct gamma_envelope *envelope)
{
	uint64_t id = envelope->flags & GAMMA_TO_PORT ? port_message_id(envelope) : envelope->tag;

	return envelope->flags & GAMMA_TAGGED && id < sim->message_count ? sim->messages[id] : NULL;
}

/* Every third short message is copied into a frame as it is posted, and is finished. */
static bool is_copied(struct gamma_flow *flow, const struct sim_message *message)
{
	const struct gamma_send *send = &message->send;

	return message->level == GAMMA_WHEN_COPIED && message->id % 3 == 0 &&
	       gamma_send_can_copy(flow, &send->envelope) &&
	       gamma_coalesce_add(flow, send->iov, send->iov_count, &send->envelope);
}

void sim_send(struct sim_message *message)
{
	struct sim *sim = message->sim;
	struct node *node = sender_of(message);
	struct gamma_flow *flow;
	bool copied;
	int error;

	message->sent_at = sim->now;
	message->sent = true;
	message->from_life = node->life;
	sim->totals.partial += message->partial;
	if (node->state != NODE_ALIVE) {
		message->lost = true;
		return;
	}
	make_bytes(message);
	message->send.envelope = envelope_of(message);
	message->send.level = message->level;
	flow = node_flow_to(node, message->to, message->partial);
	copied = flow && is_copied(flow, message);
	error = copied ? 0 : flow ? gamma_send_message(flow, &message->send) : -ENOMEM;
	if (error) {
		send_ended(message, error);
		return;
	}
	message->number = next_sent(flow);
	message->epoch = flow->epoch;
	if (copied)
		send_ended(message, 0);
	if (!copied || message->id % 2)
		gamma_output(&node->ep, sim->now);
	check_step(node);
	node_wake(node);
}

/* The peer accepted a DATA frame with its payload as new. */
void app_taken(struct sim_message *message, uint32_t payload)
{
	message->taken += payload;
	message->taken_frames++;
}

/* ---- receiving ---- */

struct gamma_recv *app_consume(struct sim_message *message)
{
	uint64_t room = gamma_min(message->length, message->capacity);

	message->place = malloc(room + 1);
	if (!message->place)
		abort();
	message->place[room] = SPOILT; /* a byte that nobody may write */
	message->recv.iov[0] = (struct iovec){message->place, room};
	message->recv.iov_count = 1;
	message->recv.capacity = message->capacity;
	message->matched = true;
	return &message->recv;
}

void sim_post(struct sim_message *message, uint64_t capacity)
{
	struct node *node = receiver_of(message);
	struct gamma_inbound *inbound = message->inbound;

	message->posted = true;
	message->posted_at = message->sim->now;
	message->capacity = capacity;
	message->to_life = node->life;
	if (message->port)
		node_wake(node);
	if (!inbound || message->port || node->state != NODE_ALIVE)
		return;
	message->inbound = NULL;
	message->sim->totals.late_posts++;
	gamma_receive_accept(inbound, app_consume(message));
	gamma_output(&node->ep, message->sim->now);
	check_step(node);
	node_wake(node);
}

struct sim_message *sim_exchange(struct sim *sim, unsigned from, unsigned to, uint64_t length,
				 enum gamma_completion_level level)
{
	struct sim_message *message = sim_message(sim, from, to, length, level);

	sim_post(message, length);
	sim_send(message);
	return message;
}

/* Exactly once, in order, and at the right endpoint. */
static void check_begin(struct node *node, struct gamma_flow *flow, struct sim_message *message)
{
	struct sim *sim = node->sim;
	uint32_t number = next_begun(flow);

	if (message->begun)
		sim_fail(sim, "message %u (%u -> %u) was delivered twice", message->id,
			 message->from, message->to);
	if (!message->sent || message->to != node->index ||
	    message->from != ((unsigned) flow->addr.mac[4] << 8 | flow->addr.mac[5]))
		sim_fail(sim, "message %u (%u -> %u) came to node %u", message->id, message->from,
			 message->to, node->index);
	if (message->number != number)
		sim_fail(sim, "message %u (%u -> %u) is number %u of its flow but came as %u",
			 message->id, message->from, message->to, message->number, number);
	if (message->epoch && message->epoch != node->epoch)
		sim_fail(sim, "message %u (%u -> %u) for epoch %08x came to %08x", message->id,
			 message->from, message->to, message->epoch, node->epoch);
	message->begun = true;
	message->epoch = node->epoch;
}

static void check_envelope(const struct sim_message *message, const struct gamma_envelope *envelope)
{
	const struct gamma_envelope sent = envelope_of(message);

	if (envelope->length != sent.length || envelope->flags != sent.flags ||
	    envelope->tag != sent.tag ||
	    (sent.flags & GAMMA_HAS_DATA && envelope->data != sent.data))
		sim_fail(message->sim, "message %u (%u -> %u): wrong envelope", message->id,
			 message->from, message->to);
}

static void check_bytes(const struct sim_message *message, uint64_t placed)
{
	uint64_t want = gamma_min(message->length, message->capacity);

	if (placed != want || memcmp(message->place, message->pattern, placed) ||
	    message->place[want] != SPOILT)
		sim_fail(message->sim,
			 "message %u (%u -> %u): %llu of %llu bytes came, or wrong ones",
			 message->id, message->from, message->to, (unsigned long long) placed,
			 (unsigned long long) want);
}

static void on_received(void *context, struct gamma_recv *recv, struct gamma_flow *flow,
			const struct gamma_envelope *envelope, uint64_t placed, int error)
{
	struct sim_message *message = gamma_container_of(recv, struct sim_message, recv);
	struct node *node = context;
	struct sim *sim = node->sim;

	(void) flow;
	check_envelope(message, envelope);
	if (message->received || !message->matched)
		sim_fail(sim, "the receive of message %u ended %s", message->id,
			 message->received ? "twice" : "though it was not matched");
	message->received = true;
	message->receive_error = error;
	message->received_at = sim->now;
	message->placed = placed;
	sim->totals.receives_failed += error != 0;
	if (!error)
		check_bytes(message, placed);
	if (message->port)
		port_received(node, message, message->place, error);
	free(message->place);
	message->place = NULL;
	if (sim->verbose)
		sim_note(sim, "message %u %u -> %u: receive ends with %d", message->id,
			 message->from, message->to, error);
	if (message->on_received)
		message->on_received(message, message->arg);
}

/* The message that a node is asked about, for the first and only time; NULL: none. */
static struct sim_message *begun(struct node *node, struct gamma_flow *flow,
				 const struct gamma_envelope *envelope)
{
	struct sim *sim = node->sim;
	struct sim_message *message;

	message = message_of(sim, envelope);
	if (!message) {
		sim_fail(sim, "node %u was offered a message nobody sent", node->index);
		return NULL;
	}
	check_begin(node, flow, message);
	check_envelope(message, envelope);
	return message;
}

static bool has_receive(const struct node *node, const struct sim_message *message)
{
	return message->posted && !message->matched && !message->port &&
	       message->to_life == node->life;
}

static struct gamma_recv *on_match(void *context, struct gamma_flow *flow,
				   const struct gamma_envelope *envelope)
{
	struct node *node = context;
	struct sim_message *message = begun(node, flow, envelope);

	return message && has_receive(node, message) ? app_consume(message) : NULL;
}

/* Earlier receives are posted only now, so that the message is refused and buffered until
 * then. */
static bool posts_late(const struct node *node, struct sim_message *message)
{
	if (node->sim->config.delivery[node->index] != SIM_AT_ONCE_POSTS_AFTER || message->id % 2)
		return false;
	message->posted = false;
	sim_post_at(message, message->capacity, node->sim->now);
	node->sim->totals.whole_late++;
	return true;
}

/* All bytes are here, also of a message without a receive so far. */
static uint64_t on_whole(void *context, struct gamma_flow *flow,
			 const struct gamma_envelope *envelope, const uint8_t *bytes)
{
	struct node *node = context;
	struct sim_message *message = begun(node, flow, envelope);
	struct gamma_recv *recv;
	uint64_t placed;

	if (!message)
		return GAMMA_UNMATCHED;
	if (message->length && memcmp(bytes, message->pattern, message->length))
		sim_fail(node->sim, "message %u (%u -> %u) is not whole, or other bytes",
			 message->id, message->from, message->to);
	if (message->port)
		return port_lend(node, message, bytes) ? 0 : GAMMA_UNMATCHED;
	if (!has_receive(node, message) || posts_late(node, message)) {
		node->sim->totals.whole_refused++;
		return GAMMA_UNMATCHED;
	}
	recv = app_consume(message);
	placed = gamma_iov_write(recv->iov, recv->iov_count, 0, bytes, envelope->length);
	on_received(node, recv, flow, envelope, placed, 0);
	node->sim->totals.whole_taken++;
	return placed;
}

/* Only after it was offered without success. */
static void on_unexpected(void *context, struct gamma_inbound *inbound)
{
	struct node *node = context;
	struct sim *sim = node->sim;
	struct sim_message *message;

	message = message_of(sim, &inbound->envelope);
	if (!message) {
		sim_fail(sim, "node %u is to keep a message nobody sent", node->index);
		return;
	}
	check_envelope(message, &inbound->envelope);
	if (message->to != node->index || !message->begun || message->matched || message->inbound)
		sim_fail(sim, "message %u (%u -> %u) is to be kept at node %u, %s", message->id,
			 message->from, message->to, node->index,
			 message->matched   ? "though a receive has matched"
			 : message->inbound ? "twice"
					    : "which was not asked about it");
	message->inbound = inbound;
	if (message->port)
		port_later(node, message, inbound);
}

/* ---- ends of sends ---- */

/* A success must be true: what the completion level promises has happened at the peer. */
static void check_promise(const struct sim_message *message)
{
	uint64_t want = message->length;

	if (message->level == GAMMA_WHEN_COPIED &&
	    (message->length <= message->sim->config.inject_size ||
	     message->length <= message->sim->config.copy_size))
		return;
	/* A receive that is too short gets only what fits. */
	if (message->matched)
		want = gamma_min(want, message->capacity);
	if (!message->taken_frames || message->taken < want)
		sim_fail(message->sim,
			 "message %u (%u -> %u) is said to have arrived, with %llu of %llu bytes",
			 message->id, message->from, message->to,
			 (unsigned long long) message->taken, (unsigned long long) want);
	if (message->level == GAMMA_WHEN_MATCHED && !message->matched)
		sim_fail(message->sim, "message %u (%u -> %u) is said to be matched but is not",
			 message->id, message->from, message->to);
}

static void on_sent(void *context, struct gamma_send *send, struct gamma_flow *flow, int error)
{
	struct sim_message *message;
	struct node *node = context;

	(void) flow;
	if (send->rma) {
		remote_sent(node, send, error);
		return;
	}
	message = gamma_container_of(send, struct sim_message, send);
	if (message->done || message->lost)
		sim_fail(node->sim, "the send of message %u ended twice", message->id);
	if (!error)
		check_promise(message);
	send_ended(message, error);
}

static void on_failed(void *context, struct gamma_flow *flow, int error, const char *cause)
{
	struct node *node = context;
	unsigned peer = (unsigned) flow->addr.mac[4] << 8 | flow->addr.mac[5];
	struct sim *sim = node->sim;

	sim_note(sim, "node %u gives up %u: %d, %s", node->index, peer, error, cause);
	if (peer >= sim->config.nodes || (!node->excused && !node_of(sim, peer)->excused &&
					  node_of(sim, peer)->state == NODE_ALIVE))
		sim_fail(sim, "node %u gave up node %u without reason: %s", node->index, peer,
			 cause);
}

static void on_gone(void *context, struct gamma_flow *flow)
{
	(void) context;
	(void) flow;
}

/* What waited for the peer's epoch goes to a flow that has been opened with it meanwhile, behind
 * what was sent there. */
static void on_merged(void *context, struct gamma_flow *flow, struct gamma_flow *other)
{
	struct node *node = context;
	unsigned peer = (unsigned) other->addr.mac[4] << 8 | other->addr.mac[5];
	uint32_t before = (uint32_t) other->user_tag;

	/* A node has of a peer either partial addresses or whole ones: unless one of them has begun
	 * anew, the peer's first frame ends the search for it. */
	if (!node->life && !node_of(node->sim, peer)->life &&
	    !memcmp(flow->addr.mac, other->addr.mac, GAMMA_MAC_LEN))
		sim_fail(node->sim, "node %u looks node %u up, to which it has a flow", node->index,
			 peer);
	for (unsigned i = 0; i < node->sim->message_count; i++) {
		struct sim_message *message = node->sim->messages[i];

		if (!message->sent || message->begun || message->epoch ||
		    message->from != node->index || message->to != peer ||
		    message->from_life != node->life)
			continue;
		message->number += before;
		message->epoch = other->epoch;
	}
	other->user_tag += (uint32_t) flow->user_tag;
}

const struct gamma_endpoint_handlers app_handlers = {
	.merged = on_merged,
	.messages =
		{
			.deliver = on_whole,
			.match = on_match,
			.unexpected = on_unexpected,
			.received = on_received,
			.sent = on_sent,
			.failed = on_failed,
			.target = &remote_target,
		},
	.gone = on_gone,
};

/* ---- endpoints that end ---- */

void app_node_ended(struct node *node)
{
	struct sim *sim = node->sim;

	remote_node_ended(node);
	for (unsigned i = 0; i < sim->message_count; i++) {
		struct sim_message *message = sim->messages[i];

		if (message->from == node->index && message->sent && !message->done)
			message->lost = true;
		if (message->to != node->index)
			continue;
		message->inbound = NULL;
		message->receiver_lost |= message->matched && !message->received;
	}
}

/* The application starts again and posts its receives again. */
void app_node_back(struct node *node)
{
	struct sim *sim = node->sim;

	for (unsigned i = 0; i < sim->message_count; i++) {
		struct sim_message *message = sim->messages[i];

		if (message->to == node->index && message->posted && !message->matched)
			message->to_life = node->life;
	}
}

/* ---- planned calls ---- */

void sim_post_at(struct sim_message *message, uint64_t capacity, uint64_t when)
{
	message->capacity = capacity;
	message->post_planned = true;
	sim_push(message->sim, when, EVENT_POST, 0, message);
}

void sim_send_at(struct sim_message *message, uint64_t when)
{
	sim_push(message->sim, when, EVENT_SEND, 0, message);
}

/* An application that is away does it when it comes back, if it does. */
void app_event(struct sim *sim, struct event event)
{
	struct sim_message *message = event.what;
	struct node *node = event.kind == EVENT_POST ? receiver_of(message) : sender_of(message);
	uint64_t when = gamma_max(gamma_min(node->away, sim->now + LOOK_MS * SIM_MS), node->busy);

	if (node->state == NODE_ALIVE && when > sim->now) {
		sim_push(sim, when, event.kind, 0, message);
	} else if (event.kind == EVENT_POST) {
		sim_post(message, message->capacity);
	} else {
		sim_send(message);
	}
}
