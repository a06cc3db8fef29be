// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: active ports (fi_gamma_ports(7)). Both processes run handlers, whose context is the
 * struct side of their endpoint. */
#include "api.h"

#include <pthread.h>
#include <rdma/fi_ext_gamma.h>
#include <stdlib.h>
#include <string.h>

enum {
	MANY = 1000,          /* messages of one direction */
	LONG = 3 * (1 << 20), /* bytes */
	THREADS = 8,          /* that send */
	OF_EACH = 200,        /* messages */
	BEHIND = 10,          /* messages to a port between two tagged ones */
	NUMBERED = 1,         /* ports */
	ECHO = 2,
	ANSWERED = 3,
	GREAT = 65279,
};

struct side {
	struct node node;
	struct fi_gamma_port_ops *ops;
	unsigned next[THREADS]; /* numbered message of that sender */
	unsigned handled;       /* messages, of any port */
	bool nested;            /* a handler runs */
	char *memory;           /* for a long message */
	uint64_t flags;         /* of sends, besides FI_COMPLETION */
};

static void open_side(struct side *side, enum fi_ep_type type)
{
	struct node_options options = {.type = type};

	memset(side, 0, sizeof(*side));
	node_open_pair(&side->node, &options);
	CHECK_EQ(fi_gamma_open_ports(side->node.ep, &side->ops), 0);
}

static void set(struct side *side, uint16_t port, fi_gamma_handler handler)
{
	struct fi_gamma_port_attr attr = {
		.size = sizeof(attr), .handler = handler, .context = side};

	CHECK_EQ(side->ops->set(side->node.ep, port, &attr), 0);
}

/* Runs handlers by all means there are, in turn. */
static void handle_until(struct side *side, unsigned count)
{
	double end = now() + PATIENCE_S;
	struct fi_cq_tagged_entry entry;

	for (unsigned turn = 0; side->handled < count; turn++) {
		CHECK(now() < end);
		if (turn % 3 == 0)
			CHECK(side->ops->poll(side->node.ep, 3) >= 0);
		else if (turn % 3 == 1)
			CHECK(fi_cq_read(side->node.rx_cq, &entry, 1) == -FI_EAGAIN);
		else
			side->ops->wait(side->node.ep, 1);
	}
}

static void send_to(struct side *side, uint16_t port, const void *head, size_t head_len,
		    void *bytes, size_t len, uint32_t arg)
{
	struct iovec iov = {.iov_base = bytes, .iov_len = len};
	struct fi_gamma_msg msg = {.head = head,
				   .head_len = head_len,
				   .iov = &iov,
				   .iov_count = len > 0,
				   .addr = side->node.peer,
				   .port = port,
				   .arg = arg};
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = side->ops->send(side->node.ep, &msg, FI_COMPLETION | side->flags)) ==
	       -FI_EAGAIN)
		progress_all();
	CHECK_EQ(ret, 0);
	while ((ret = fi_cq_read(side->node.tx_cq, &entry, 1)) == -FI_EAGAIN)
		;
	CHECK_EQ(ret, 1);
	CHECK_EQ(entry.flags, FI_SEND | FI_MSG);
}

static void close_side(struct side *side)
{
	free(side->memory);
	node_close_pair(&side->node);
}

/* The arg counts a sender's messages, in the high byte is which it is. */
static void on_numbered(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct side *side = context;
	unsigned sender = arrival->arg >> 24, number = arrival->arg & 0xffffff;

	CHECK(ep == side->node.ep && !side->nested);
	side->nested = true;
	CHECK_EQ(number, side->next[sender]++);
	CHECK_EQ(arrival->head_len, 4);
	CHECK(!memcmp(arrival->head, &arrival->arg, 4));
	CHECK_EQ(arrival->len, number % 1400);
	content_check(arrival->data, number, arrival->len);
	CHECK_EQ(arrival->source, side->node.peer);
	side->handled++;
	side->nested = false;
}

static void send_numbered(struct side *side, unsigned sender, unsigned number)
{
	uint32_t arg = sender << 24 | number;
	struct message message;

	message_init(&message, number % 1400, 1);
	message_fill(&message, number);
	send_to(side, number & 1 ? NUMBERED : GREAT, &arg, sizeof(arg), message.iov[0].iov_base,
		message.len, arg);
	message_free(&message);
}

/* Each once, in order over both ports, with all of its bytes. */
static void test_ports(bool sender)
{
	struct side side;

	open_side(&side, FI_EP_RDM);
	set(&side, NUMBERED, on_numbered);
	set(&side, GREAT, on_numbered);
	aside_sync();
	for (unsigned i = 0; sender && i < MANY; i++)
		send_numbered(&side, 0, i);
	if (!sender)
		handle_until(&side, MANY);
	close_side(&side);
}

/* Those without a handler wait for it. */
static void test_ports_set_late(bool sender)
{
	struct side side;

	open_side(&side, FI_EP_RDM);
	for (unsigned i = 0; sender && i < MANY / 10; i++)
		send_numbered(&side, 0, i);
	aside_sync();
	set(&side, GREAT, on_numbered);
	set(&side, NUMBERED, on_numbered);
	if (!sender)
		handle_until(&side, MANY / 10);
	close_side(&side);
}

static void on_echo(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct side *side = context;
	struct iovec iov = {.iov_base = (void *) arrival->data, .iov_len = arrival->len};
	struct fi_gamma_msg msg = {.head = arrival->head,
				   .head_len = arrival->head_len,
				   .iov = &iov,
				   .iov_count = 1,
				   .port = ANSWERED,
				   .arg = arrival->arg + 1};

	CHECK_EQ(side->ops->poll(ep, 1), 0);
	CHECK_EQ(fi_close(&ep->fid), -FI_EBUSY);
	CHECK_EQ(side->ops->reply(ep, arrival, &msg, FI_INJECT), 0);
	side->handled++;
}

static void on_answer(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct side *side = context;
	void *kept;

	CHECK_EQ(arrival->arg, 2 * side->handled + 1);
	CHECK(!memcmp(arrival->head, "question", 8));
	CHECK_EQ(arrival->len, 4);
	CHECK_EQ(side->ops->keep(ep, arrival, &kept), 0);
	CHECK(!memcmp(kept, "data", 4));
	CHECK_EQ(side->ops->release(ep, kept), 0);
	side->handled++;
}

static void request_and_reply(bool sender, enum fi_ep_type type, unsigned count)
{
	struct side side;

	open_side(&side, type);
	set(&side, ECHO, on_echo);
	set(&side, ANSWERED, on_answer);
	aside_sync();
	for (unsigned i = 0; sender && i < count; i++) {
		send_to(&side, ECHO, "question", 8, "data", 4, 2 * i);
		handle_until(&side, i + 1);
	}
	if (!sender)
		handle_until(&side, count);
	close_side(&side);
}

static void test_ports_reply(bool sender)
{
	request_and_reply(sender, FI_EP_RDM, MANY);
}

static void test_ports_datagrams(bool sender)
{
	request_and_reply(sender, FI_EP_DGRAM, 10);
}

static void on_long(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct side *side = context;
	struct iovec iov;

	CHECK(arrival->flags & FI_GAMMA_ANNOUNCED);
	CHECK_EQ(arrival->len, LONG);
	CHECK(!arrival->data);
	CHECK_EQ(arrival->head_len, arrival->arg ? FI_GAMMA_HEAD_MAX : 0);
	content_check(arrival->head, 4, arrival->head_len);
	if (arrival->arg) {
		side->memory = malloc(LONG);
		iov = (struct iovec){.iov_base = side->memory, .iov_len = LONG};
		CHECK_EQ(side->ops->receive(ep, arrival, &iov, 1, side, 0), 0);
		CHECK_EQ(side->ops->receive(ep, arrival, &iov, 1, side, 0), -FI_EINVAL);
	}
	side->handled++;
}

/* The first is dropped; the second one has a head, and is received. */
static void test_ports_long(bool sender)
{
	struct completion completion;
	struct message message, head;
	struct side side;

	open_side(&side, FI_EP_RDM);
	set(&side, NUMBERED, on_long);
	aside_sync();
	message_init(&message, LONG, 1);
	message_fill(&message, 3);
	message_init(&head, FI_GAMMA_HEAD_MAX, 1);
	message_fill(&head, 4);
	for (uint32_t arg = 0; sender && arg < 2; arg++)
		send_to(&side, NUMBERED, head.iov[0].iov_base, arg ? head.len : 0,
			message.iov[0].iov_base, LONG, arg);
	message_free(&message);
	message_free(&head);
	if (!sender) {
		wait_completion(side.node.rx_cq, &completion);
		CHECK_EQ(side.handled, 2);
		CHECK_EQ(completion.entry.flags, FI_RECV | FI_MSG);
		CHECK_EQ(completion.entry.len, LONG);
		CHECK(completion.entry.op_context == &side);
		content_check(side.memory, 3, LONG);
	}
	close_side(&side);
}

/* Once it is complete at these levels, the receiver's next poll handles it. */
static void test_ports_delivered(bool sender)
{
	struct side side;

	open_side(&side, FI_EP_RDM);
	set(&side, NUMBERED, on_numbered);
	set(&side, GREAT, on_numbered);
	for (unsigned i = 0; i < 2 * BEHIND; i++) {
		side.flags = i % 2 ? FI_TRANSMIT_COMPLETE : FI_DELIVERY_COMPLETE;
		if (sender)
			send_numbered(&side, 0, i);
		aside_sync();
		CHECK(side.ops->poll(side.node.ep, 1) >= 0);
		CHECK_EQ(side.handled, sender ? 0 : i + 1);
		aside_sync();
	}
	close_side(&side);
}

/* Not complete before there is a handler. */
static void test_ports_matched(bool sender)
{
	struct iovec iov = {.iov_base = "data", .iov_len = 4};
	struct fi_gamma_msg msg = {.head = "question",
				   .head_len = 8,
				   .iov = &iov,
				   .iov_count = 1,
				   .port = ANSWERED,
				   .arg = 1};
	struct completion completion;
	struct side side;

	open_side(&side, FI_EP_RDM);
	msg.addr = side.node.peer;
	if (sender)
		CHECK_EQ(side.ops->send(side.node.ep, &msg, FI_COMPLETION | FI_MATCH_COMPLETE), 0);
	aside_sync();
	expect_nothing(side.node.tx_cq);
	aside_sync();
	set(&side, ANSWERED, on_answer);
	if (sender)
		wait_completion(side.node.tx_cq, &completion);
	else
		handle_until(&side, 1);
	close_side(&side);
}

/* It is sent when the data of the long message before it has arrived. */
static void on_fenced(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct side *side = context;

	(void) ep;
	CHECK_EQ(arrival->len, 0);
	content_check(side->memory, 3, LONG);
	side->handled++;
}

static void test_ports_fence(bool sender)
{
	struct completion completion;
	struct message message;
	struct side side;
	struct iovec iov;
	struct fi_gamma_msg msg = {.iov = &iov, .iov_count = 1, .port = NUMBERED, .arg = 1};
	struct fi_gamma_msg fenced = {.port = ECHO};
	uint8_t head[FI_GAMMA_HEAD_MAX];

	open_side(&side, FI_EP_RDM);
	set(&side, NUMBERED, on_long);
	set(&side, ECHO, on_fenced);
	aside_sync();
	message_init(&message, LONG, 1);
	message_fill(&message, 4);
	memcpy(head, message.iov[0].iov_base, sizeof(head));
	message_fill(&message, 3);
	iov = message.iov[0];
	msg.addr = fenced.addr = side.node.peer;
	msg.head = head;
	msg.head_len = sizeof(head);
	if (sender) {
		CHECK_EQ(side.ops->send(side.node.ep, &msg, FI_COMPLETION), 0);
		CHECK_EQ(side.ops->send(side.node.ep, &fenced, FI_COMPLETION | FI_FENCE), 0);
		wait_completion(side.node.tx_cq, &completion);
		wait_completion(side.node.tx_cq, &completion);
	} else {
		wait_completion(side.node.rx_cq, &completion);
		handle_until(&side, 2);
	}
	message_free(&message);
	close_side(&side);
}

/* Keeps its data, and waits for the message that was sent behind it and the others. */
static void on_keep_and_wait(struct fid_ep *ep, const struct fi_gamma_arrival *arrival,
			     void *context)
{
	struct side *side = context;
	struct message behind;
	void *kept;

	CHECK_EQ(arrival->arg, side->handled);
	side->handled++;
	if (arrival->arg % BEHIND)
		return;
	CHECK_EQ(side->ops->keep(ep, arrival, &kept), 0);
	post_tag(&side->node, &behind, 1, arrival->arg, 0);
	receive_filled(&side->node, &behind, arrival->arg);
	CHECK(!memcmp(kept, "waiting", 7));
	CHECK_EQ(side->ops->release(ep, kept), 0);
}

/* Also where several messages have come in one frame: sent beside others, they wait for these. */
static void test_ports_keep_and_wait(bool sender)
{
	struct iovec iov = {.iov_base = "waiting", .iov_len = 7};
	struct message behind;
	struct side side;

	open_side(&side, FI_EP_RDM);
	set(&side, NUMBERED, on_keep_and_wait);
	aside_sync();
	for (uint32_t arg = 0; sender && arg < MANY; arg++) {
		bool last = arg % BEHIND == BEHIND - 1;
		struct fi_gamma_msg msg = {.iov = &iov,
					   .iov_count = 1,
					   .addr = side.node.peer,
					   .port = NUMBERED,
					   .arg = arg};
		ssize_t ret;

		while ((ret = side.ops->send(side.node.ep, &msg,
					     FI_INJECT | (last ? 0 : FI_MORE))) == -FI_EAGAIN)
			progress_all();
		CHECK_EQ(ret, 0);
		if (!last)
			continue;
		nap(1); /* so that it comes in another frame */
		message_init(&behind, 1, 1);
		behind.send = INJECT;
		behind.tagged = true;
		behind.tag = arg / BEHIND * BEHIND;
		message_fill(&behind, (unsigned) behind.tag);
		message_send(&side.node, &behind);
		message_free(&behind);
	}
	if (!sender)
		handle_until(&side, MANY);
	close_side(&side);
}

struct sender {
	struct side *side;
	unsigned number;
};

static void *run_sender(void *arg)
{
	const struct sender *sender = arg;

	for (unsigned i = 0; i < OF_EACH; i++) {
		uint32_t numbered = sender->number << 24 | i;
		struct message message;
		struct iovec iov;
		ssize_t ret;
		struct fi_gamma_msg msg = {.head = &numbered,
					   .head_len = 4,
					   .iov = &iov,
					   .iov_count = 1,
					   .addr = sender->side->node.peer,
					   .port = NUMBERED,
					   .arg = numbered};

		message_init(&message, i % 1400, 1);
		message_fill(&message, i);
		iov = message.iov[0];
		while ((ret = sender->side->ops->send(sender->side->node.ep, &msg, FI_INJECT)) ==
		       -FI_EAGAIN)
			;
		CHECK_EQ(ret, 0);
		message_free(&message);
	}
	return NULL;
}

/* Several threads send to one port, which the original could not do. */
static void test_ports_threads(bool sender)
{
	struct sender senders[THREADS];
	pthread_t threads[THREADS];
	struct side side;

	open_side(&side, FI_EP_RDM);
	set(&side, NUMBERED, on_numbered);
	aside_sync();
	for (unsigned i = 0; sender && i < THREADS; i++) {
		senders[i] = (struct sender){.side = &side, .number = i};
		CHECK_EQ(pthread_create(&threads[i], NULL, run_sender, &senders[i]), 0);
	}
	for (unsigned i = 0; sender && i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	if (!sender)
		handle_until(&side, THREADS * OF_EACH);
	close_side(&side);
}

static void *run_handlers(void *arg)
{
	struct side *side = arg;

	while (__atomic_load_n(&side->handled, __ATOMIC_RELAXED) < MANY)
		CHECK_EQ(side->ops->wait(side->node.ep, -1), 0);
	return NULL;
}

/* A thread of the program that does nothing else runs the handlers; the others never poll. */
static void test_ports_own_thread(bool sender)
{
	struct side side;
	pthread_t thread;

	open_side(&side, FI_EP_RDM);
	set(&side, ECHO, on_echo);
	set(&side, ANSWERED, on_answer);
	aside_sync();
	for (unsigned i = 0; sender && i < MANY; i++) {
		send_to(&side, ECHO, "question", 8, "data", 4, 2 * i);
		handle_until(&side, i + 1);
	}
	if (!sender) {
		CHECK_EQ(pthread_create(&thread, NULL, run_handlers, &side), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	close_side(&side);
}

const struct test port_tests[] = {
	{.name = "ports", .run = test_ports, .both_ways = true},
	{.name = "ports_set_late", .run = test_ports_set_late, .both_ways = true},
	{.name = "ports_reply", .run = test_ports_reply, .both_ways = true},
	{.name = "ports_datagrams", .run = test_ports_datagrams, .both_ways = true},
	{.name = "ports_long", .run = test_ports_long, .both_ways = true},
	{.name = "ports_delivered", .run = test_ports_delivered, .both_ways = true},
	{.name = "ports_matched", .run = test_ports_matched, .both_ways = true},
	{.name = "ports_fence", .run = test_ports_fence, .both_ways = true},
	{.name = "ports_keep_and_wait", .run = test_ports_keep_and_wait, .both_ways = true},
	{.name = "ports_own_thread", .run = test_ports_own_thread, .both_ways = true},
	{.name = "ports_threads", .run = test_ports_threads, .both_ways = true},
	{0},
};
