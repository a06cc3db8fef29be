// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: which receive a message matches, and what becomes of unmatched messages and receives.
 */
#include "api.h"

#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>

/* A message in one frame, one in several frames, and a rendezvous. */
static const size_t kinds[] = {100, 10000, 200000};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static void send_tag(struct node *node, size_t len, uint64_t tag, unsigned seed)
{
	struct message message;

	message_init(&message, len, 1);
	message.tagged = true;
	message.tag = tag;
	send_filled(node, &message, seed);
}

/* The oldest receive that fits gets the message, whatever their order. */
static void test_tags(bool sender)
{
	struct message in[4];
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	if (!sender) {
		post_tag(&node, &in[0], 64, 7, 0);
		post_tag(&node, &in[1], 64, 0x100, 0xff);
		post_tag(&node, &in[2], 64, 0x123, 0);
		post_tag(&node, &in[3], 64, 0, UINT64_MAX);
	}
	aside_sync();
	if (sender) {
		send_tag(&node, 64, 0x123, 1);
		send_tag(&node, 64, 0x123, 2);
		send_tag(&node, 64, UINT64_MAX, 3);
		send_tag(&node, 64, 7, 4);
	} else {
		receive_filled(&node, &in[1], 1);
		receive_filled(&node, &in[2], 2);
		receive_filled(&node, &in[3], 3);
		receive_filled(&node, &in[0], 4);
	}
	node_close_pair(&node);
}

/* A tagged message does not match fi_recv, nor an untagged one fi_trecv. */
static void test_tagged_apart(bool sender)
{
	struct message plain, tagged;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	message_init(&plain, 32, 1);
	if (!sender) {
		message_receive(&node, &plain);
		post_tag(&node, &tagged, 32, 1, UINT64_MAX);
		aside_sync();
		receive_filled(&node, &tagged, 8);
		receive_filled(&node, &plain, 9);
	} else {
		aside_sync();
		send_tag(&node, 32, 1, 8);
		message_fill(&plain, 9);
		message_send(&node, &plain);
		wait_sent(&node, &plain);
		message_free(&plain);
	}
	node_close_pair(&node);
}

/* All come before any receive is posted, and are then received last first. */
static void test_unexpected(bool sender)
{
	struct message messages[4 * KINDS];
	struct node node;
	unsigned count = 4 * KINDS;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; sender && i < count; i++) {
		message_init(&messages[i], kinds[i % KINDS] + i, 1);
		message_fill(&messages[i], i);
		messages[i].tagged = true;
		messages[i].tag = i;
		message_send(&node, &messages[i]);
	}
	aside_sync();
	for (unsigned i = count; i-- > 0;) {
		if (!sender) {
			post_tag(&node, &messages[i], kinds[i % KINDS] + i, i, 0);
			receive_filled(&node, &messages[i], i);
		} else {
			wait_done(node.tx_cq, &messages[i]);
		}
	}
	for (unsigned i = 0; sender && i < count; i++)
		message_free(&messages[i]);
	node_close_pair(&node);
}

/* Many unexpected messages of one tag, then one that is received first. Meant for a receiver with
 * little memory for them: they wait at their sender, and lose neither bytes nor order. */
static void test_behind_unexpected(bool sender)
{
	enum { MANY = 10000, LENGTH = 64 };
	struct message message;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; sender && i <= MANY; i++) {
		message_init(&message, LENGTH, 1);
		message_fill(&message, i);
		message.send = INJECT;
		message.tagged = true;
		message.tag = i < MANY ? 1 : 2;
		message_send(&node, &message);
		message_free(&message);
	}
	if (!sender) {
		post_tag(&node, &message, LENGTH, 2, 0);
		receive_filled(&node, &message, MANY);
	}
	for (unsigned i = 0; !sender && i < MANY; i++) {
		post_tag(&node, &message, LENGTH, 1, 0);
		receive_filled(&node, &message, i);
	}
	node_close_pair(&node);
}

/* They are never received: neither close nor later messages suffer. */
static void test_never_received(bool sender)
{
	struct message message;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; sender && i < 20; i++)
		send_tag(&node, 3000, i, i);
	aside_sync();
	if (sender) {
		send_tag(&node, 3000, 100, 100);
	} else {
		post_tag(&node, &message, 3000, 100, 0);
		receive_filled(&node, &message, 100);
	}
	node_close_pair(&node);
}

static void expect_truncated(struct node *node, struct message *message, size_t len, unsigned seed)
{
	struct fi_cq_err_entry error;

	wait_error(node->rx_cq, &error);
	CHECK_EQ(error.err, FI_ETRUNC);
	CHECK(error.op_context == message);
	CHECK_EQ(error.len, message->len);
	CHECK_EQ(error.olen, len - message->len);
	CHECK_EQ(error.tag, message->tag);
	message_check(message, seed, message->len);
	message_free(message);
}

/* A receive that is too small gets what fits, and an error that says how much was lost. */
static void test_truncation(bool sender)
{
	struct message message;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned late = 0; late < 2; late++)
		for (unsigned i = 0; i < KINDS; i++)
			for (unsigned part = 0; part < 3; part++) {
				size_t fits = part == 0 ? 0 : part == 1 ? 1 : kinds[i] - 1;

				if (!sender && !late)
					post_tag(&node, &message, fits, i, 0);
				aside_sync();
				if (sender) {
					message_init(&message, kinds[i], 1);
					message_fill(&message, i);
					message.tagged = true;
					message.tag = i;
					message_send(&node, &message);
				}
				if (late)
					aside_sync();
				if (!sender && late)
					post_tag(&node, &message, fits, i, 0);
				if (!sender) {
					expect_truncated(&node, &message, kinds[i], i);
					continue;
				}
				wait_sent(&node, &message);
				message_free(&message);
			}
	node_close_pair(&node);
}

static void expect_cancelled(struct node *node, struct message *message)
{
	struct fi_cq_err_entry error;

	CHECK_EQ(fi_cancel(&node->ep->fid, message), 0);
	wait_error(node->rx_cq, &error);
	CHECK_EQ(error.err, FI_ECANCELED);
	CHECK(error.op_context == message);
	CHECK(error.flags & FI_RECV);
	CHECK_EQ(fi_cq_readerr(node->rx_cq, &error, 0), -FI_EAGAIN);
}

/* A cancelled buffer is never written to; the next message matches the next receive. */
static void test_cancel(bool sender)
{
	struct message first, second;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	if (!sender) {
		post_tag(&node, &first, 500, 1, 0);
		post_tag(&node, &second, 500, 1, 0);
		expect_cancelled(&node, &first);
		expect_nothing(node.rx_cq);
	}
	aside_sync();
	if (sender) {
		send_tag(&node, 500, 1, 3);
	} else {
		receive_filled(&node, &second, 3);
		message_check(&first, 0, 0);
		CHECK_EQ(fi_cancel(&node.ep->fid, &second), 0); /* long done: nothing happens */
		expect_nothing(node.rx_cq);
		message_free(&first);
	}
	node_close_pair(&node);
}

static ssize_t peek(struct node *node, uint64_t tag, uint64_t flags, void *context)
{
	/* Nothing is received: the list of buffers may be anything. */
	struct fi_msg_tagged msg = {.msg_iov = (const struct iovec *) 8,
				    .iov_count = tag % 2 ? 1 : 1000,
				    .addr = FI_ADDR_UNSPEC,
				    .tag = tag,
				    .context = context};

	return fi_trecvmsg(node->ep, &msg, flags);
}

static void expect_none(struct node *node, uint64_t tag)
{
	struct fi_cq_err_entry error;
	struct fi_context context;

	CHECK_EQ(peek(node, tag, FI_PEEK, &context), 0);
	wait_error(node->rx_cq, &error);
	CHECK_EQ(error.err, FI_ENOMSG);
	CHECK(error.op_context == &context);
}

/* Until the message has come: what is not there gives an error each time. */
static void expect_peeked(struct node *node, uint64_t tag, uint64_t flags, size_t len,
			  void *context)
{
	double end = now() + PATIENCE_S;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = {0};
	ssize_t ret;

	do {
		CHECK(now() < end);
		CHECK_EQ(peek(node, tag, FI_PEEK | flags, context), 0);
		while ((ret = fi_cq_read(node->rx_cq, &entry, 1)) == -FI_EAGAIN)
			CHECK(now() < end);
		if (ret == -FI_EAVAIL) {
			CHECK_EQ(fi_cq_readerr(node->rx_cq, &error, 0), 1);
			CHECK_EQ(error.err, FI_ENOMSG);
		}
	} while (ret != 1);
	CHECK(entry.op_context == context);
	CHECK_EQ(entry.tag, tag);
	CHECK_EQ(entry.len, len);
}

static void receive_claimed(struct node *node, size_t len, uint64_t tag, unsigned seed,
			    struct fi_context *context)
{
	struct message message;
	struct completion completion;

	message_init(&message, len, 1);
	struct fi_msg_tagged msg = {.msg_iov = message.iov,
				    .iov_count = 1,
				    .addr = FI_ADDR_UNSPEC,
				    .tag = tag,
				    .context = context};

	CHECK_EQ(fi_trecvmsg(node->ep, &msg, FI_CLAIM), 0);
	wait_completion(node->rx_cq, &completion);
	CHECK(completion.entry.op_context == context);
	CHECK_EQ(completion.entry.len, len);
	message_check(&message, seed, len);
	message_free(&message);
}

/* Tags 10 to 14 of each kind are waiting. */
static void peek_kind(struct node *node, size_t len, uint64_t base)
{
	struct fi_context context, claimed;
	struct message message;

	expect_peeked(node, base, 0, len, &context);
	expect_peeked(node, base, 0, len, &context); /* peeking changes nothing */
	post_tag(node, &message, len, base, 0);
	receive_filled(node, &message, (unsigned) base);
	expect_none(node, base);

	expect_peeked(node, base + 1, FI_DISCARD, len, &context);
	expect_none(node, base + 1);

	expect_peeked(node, base + 2, FI_CLAIM, len, &claimed);
	expect_none(node, base + 2); /* nobody else can have it */
	receive_claimed(node, len, base + 2, (unsigned) base + 2, &claimed);

	expect_peeked(node, base + 3, FI_CLAIM, len, &claimed);
	CHECK_EQ(peek(node, base + 3, FI_CLAIM | FI_DISCARD, &claimed), 0);
	struct completion completion;
	wait_completion(node->rx_cq, &completion);
	CHECK(completion.entry.op_context == &claimed);
}

static void test_peek(bool sender)
{
	static struct message messages[4 * KINDS];
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; sender && i < 4 * KINDS; i++) {
		unsigned tag = 10 * (i / 4) + i % 4;

		message_init(&messages[i], kinds[i / 4], 1);
		message_fill(&messages[i], tag);
		messages[i].tagged = true;
		messages[i].tag = tag;
		message_send(&node, &messages[i]);
	}
	if (!sender)
		expect_none(&node, 99);
	aside_sync();
	for (unsigned i = 0; !sender && i < KINDS; i++)
		peek_kind(&node, kinds[i], 10 * i);
	/* Discarded ones too are complete for their sender. */
	for (unsigned i = 0; sender && i < 4 * KINDS; i++) {
		wait_done(node.tx_cq, &messages[i]);
		message_free(&messages[i]);
	}
	node_close_pair(&node);
}

/* A second endpoint of the sender: the receiver distinguishes the two. */
static void open_second(struct node *node, struct node *second, bool sender, fi_addr_t *addr)
{
	struct name own = {0}, theirs;

	if (sender) {
		node_open(second, &(struct node_options){0});
		node_name(second, &own);
		node_name(node, &theirs); /* its peer's is known to the first */
	}
	aside_exchange(&own, &theirs, sizeof(own));
	if (!sender)
		*addr = node_insert(node, &theirs);
}

static void give_second_its_peer(struct node *node, struct node *second)
{
	struct name name = {.len = ADDR_MAX};

	CHECK_EQ(fi_av_lookup(node->av, node->peer, name.bytes, &name.len), 0);
	second->peer = node_insert(second, &name);
}

static void test_directed(bool sender)
{
	struct message from_first, from_second, from_any;
	struct node node, second;
	fi_addr_t second_addr = FI_ADDR_UNSPEC;

	node_open_pair(&node, &(struct node_options){.caps = FI_DIRECTED_RECV | FI_SOURCE});
	open_second(&node, &second, sender, &second_addr);
	if (!sender) {
		message_init(&from_second, 5000, 1);
		message_init(&from_first, 5000, 1);
		message_init(&from_any, 5000, 1);
		from_second.tagged = from_first.tagged = from_any.tagged = true;
		from_second.addr = second_addr;
		from_first.addr = node.peer;
		message_receive(&node, &from_second);
		message_receive(&node, &from_first);
		message_receive(&node, &from_any);
	}
	aside_sync();
	if (sender) {
		give_second_its_peer(&node, &second);
		send_tag(&node, 5000, 0, 1);
		send_tag(&node, 5000, 0, 2);
	} else {
		receive_filled(&node, &from_first, 1);
		receive_filled(&node, &from_any, 2);
	}
	/* Messages of different endpoints may overtake each other. */
	aside_sync();
	if (sender)
		send_tag(&second, 5000, 0, 3);
	else
		receive_filled(&node, &from_second, 3);
	aside_sync();
	if (sender)
		node_close(&second);
	node_close_pair(&node);
}

static fi_addr_t receive_from(struct node *node, struct message *message)
{
	struct completion completion;

	message_init(message, 40, 1);
	message_receive(node, message);
	wait_completion(node->rx_cq, &completion);
	CHECK(completion.entry.op_context == message);
	message_free(message);
	return completion.source;
}

/* The source of a message; an unknown peer's address is reported, and inserting it makes the source
 * known. */
static void test_source(bool sender)
{
	struct node node, second;
	struct message message;
	struct name name = {0};
	fi_addr_t unknown;

	node_open_pair(&node, &(struct node_options){.caps = FI_SOURCE});
	if (sender) {
		node_open(&second, &(struct node_options){0});
		give_second_its_peer(&node, &second);
		for (int i = 0; i < 4; i++) {
			struct node *from = i == 0 || i == 3 ? &node : &second;

			message_init(&message, 40, 1);
			message_send(from, &message);
			wait_sent(from, &message);
			message_free(&message);
			if (i == 1)
				node_name(&second, &name);
			aside_exchange(&name, &name, sizeof(name));
		}
		aside_sync();
		node_close(&second);
	} else {
		CHECK_EQ(receive_from(&node, &message), node.peer);
		aside_exchange(&name, &name, sizeof(name));
		CHECK_EQ(receive_from(&node, &message), FI_ADDR_NOTAVAIL);
		aside_exchange(&name, &name, sizeof(name));
		unknown = node_insert(&node, &name);
		CHECK(unknown != node.peer);
		CHECK_EQ(receive_from(&node, &message), unknown);
		aside_exchange(&name, &name, sizeof(name));
		CHECK_EQ(receive_from(&node, &message), node.peer);
		aside_exchange(&name, &name, sizeof(name));
		aside_sync();
	}
	node_close_pair(&node);
}

/* With FI_SOURCE_ERR a message from an unknown peer arrives as an error entry that carries its
 * address, and so does the CQ data of a write, here of no bytes. */
static void test_source_error(bool sender)
{
	struct fi_cq_err_entry error = {0};
	struct completion completion;
	struct message message, answer;
	struct name own, theirs, writer = {.len = 0};
	struct node node;

	node_open(&node, &(struct node_options){.caps = FI_SOURCE | FI_SOURCE_ERR | FI_RMA});
	node_name(&node, &own);
	aside_exchange(&own, &theirs, sizeof(own));
	message_init(&message, 40, 1);
	message_init(&answer, 40, 1);
	if (sender) {
		node.peer = node_insert(&node, &theirs);
		CHECK_EQ(fi_writedata(node.ep, NULL, 0, NULL, 77, node.peer, 0, 0, &node), 0);
		wait_completion(node.tx_cq, &completion);
		message_fill(&message, 1);
		message_receive(&node, &answer);
		message_send(&node, &message);
		wait_sent(&node, &message);
		wait_received(&node, &answer, 40);
		message_check(&answer, 2, 40);
	} else {
		wait_error(node.rx_cq, &error);
		CHECK_EQ(error.err, FI_EADDRNOTAVAIL);
		CHECK_EQ(error.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
		CHECK_EQ(error.data, 77);
		writer.len = error.err_data_size;
		CHECK(writer.len && writer.len <= sizeof(writer.bytes));
		memcpy(writer.bytes, error.err_data, writer.len);
		message_receive(&node, &message);
		wait_error(node.rx_cq, &error);
		CHECK_EQ(error.err, FI_EADDRNOTAVAIL);
		CHECK(error.op_context == &message);
		message_check(&message, 1, 40);
		CHECK_EQ(error.err_data_size, writer.len);
		CHECK_EQ(memcmp(error.err_data, writer.bytes, writer.len), 0);
		CHECK_EQ(fi_av_insert(node.av, error.err_data, 1, &node.peer, 0, NULL), 1);
		message_fill(&answer, 2);
		message_send(&node, &answer);
		wait_sent(&node, &answer);
	}
	message_free(&message);
	message_free(&answer);
	node_close_pair(&node);
}

const struct test matching_tests[] = {
	{.name = "tags", .run = test_tags, .both_ways = true},
	{.name = "tagged_apart", .run = test_tagged_apart, .both_ways = true},
	{.name = "unexpected", .run = test_unexpected, .both_ways = true},
	{.name = "behind_unexpected", .run = test_behind_unexpected, .both_ways = true},
	{.name = "never_received", .run = test_never_received, .both_ways = true},
	{.name = "truncation", .run = test_truncation, .both_ways = true},
	{.name = "cancel", .run = test_cancel},
	{.name = "peek", .run = test_peek, .both_ways = true},
	{.name = "directed", .run = test_directed, .both_ways = true},
	{.name = "source", .run = test_source},
	{.name = "source_error", .run = test_source_error, .both_ways = true},
	{0},
};
