// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: cancelled sends: they end with an error and never arrive, or arrive complete. */
#include "api.h"

#include <string.h>

enum { HELD = 8, MANY = 300, BIG = 1 << 20, LEN = 10000 /* bytes */ };

/* Counts how each send ended, and reports it to the receiver. */
struct outcome {
	uint8_t cancelled[MANY];
};

static void prepare(struct message *message, unsigned number, size_t len, bool sender)
{
	message_init(message, len, 1);
	message->tagged = true;
	message->tag = number;
	if (sender)
		message_fill(message, number);
}

static void take_error(struct node *node, struct message *messages, struct outcome *outcome)
{
	struct fi_cq_err_entry error = {0};
	struct message *message;

	CHECK_EQ(fi_cq_readerr(node->tx_cq, &error, 0), 1);
	message = error.op_context;
	CHECK_EQ(error.err, FI_ECANCELED);
	CHECK(error.flags & FI_SEND && error.flags & FI_TAGGED);
	CHECK(!message->done && message->tag & 1); /* the odd ones are cancelled */
	message->done = true;
	outcome->cancelled[message - messages] = true;
}

/* One end for every send, of one kind or the other. */
static unsigned take_ends(struct node *node, struct message *messages, unsigned count,
			  struct outcome *outcome)
{
	struct fi_cq_tagged_entry entry;
	double end = now() + PATIENCE_S;
	unsigned cancelled = 0;

	for (unsigned i = 0; i < count;) {
		ssize_t ret = fi_cq_read(node->tx_cq, &entry, 1);

		CHECK(now() < end);
		if (ret == -FI_EAGAIN)
			continue;
		i++;
		if (ret == -FI_EAVAIL) {
			take_error(node, messages, outcome);
			cancelled++;
			continue;
		}
		CHECK_EQ(ret, 1);
		CHECK(!((struct message *) entry.op_context)->done);
		((struct message *) entry.op_context)->done = true;
	}
	expect_nothing(node->tx_cq);
	return cancelled;
}

/* Complete or not at all: its receive can still be cancelled. */
static void check_arrivals(struct node *node, struct message *messages, unsigned count,
			   const struct outcome *outcome)
{
	struct fi_cq_err_entry error;

	for (unsigned i = 0; i < count; i++) {
		if (outcome->cancelled[i])
			continue;
		wait_done(node->rx_cq, &messages[i]);
		message_check(&messages[i], (unsigned) messages[i].tag, messages[i].len);
	}
	expect_nothing(node->rx_cq);
	for (unsigned i = 0; i < count; i++) {
		if (!outcome->cancelled[i])
			continue;
		CHECK_EQ(fi_cancel(&node->ep->fid, &messages[i]), 0);
		wait_error(node->rx_cq, &error);
		CHECK(error.op_context == &messages[i]);
		CHECK_EQ(error.err, FI_ECANCELED);
		message_check(&messages[i], 0, 0);
	}
}

static void meet(struct node *node, bool sender)
{
	struct message message;

	if (!sender) {
		receive_one(node, LEN, 77);
		return;
	}
	message_init(&message, LEN, 1);
	message_fill(&message, 77);
	message_send(node, &message);
	wait_sent(node, &message);
	message_free(&message);
}

/* Behind a fence that waits for an announced message: nothing of them can have left. */
static void test_cancel_held(bool sender)
{
	static struct message messages[HELD], big;
	struct outcome outcome = {{0}}, none;
	struct node node;

	node_open_pair(&node, &(struct node_options){.caps = FI_FENCE});
	prepare(&big, HELD, BIG, sender);
	for (unsigned i = 0; i < HELD; i++) {
		prepare(&messages[i], i, i % 4 < 2 ? LEN : 100, sender);
		if (!sender)
			message_receive(&node, &messages[i]);
	}
	/* Only then is the big one sure to leave at once. */
	meet(&node, sender);
	messages[0].send = SENDMSG;
	messages[0].flags = FI_FENCE | FI_COMPLETION;
	aside_sync();
	/* The credit for what they met by has come back. */
	for (double end = now() + 0.02; now() < end;)
		expect_nothing(node.tx_cq);
	if (sender) {
		message_send(&node, &big);
		for (unsigned i = 0; i < HELD; i++)
			message_send(&node, &messages[i]);
		CHECK_EQ(fi_cancel(&node.ep->fid, &big), 0); /* announced: it goes on */
		CHECK_EQ(fi_cancel(&node.ep->fid, NULL), 0);
		CHECK_EQ(fi_cancel(&node.ep->fid, &node), 0); /* none of that context */
		for (unsigned i = 1; i < HELD; i += 2) {
			CHECK_EQ(fi_cancel(&node.ep->fid, &messages[i]), 0);
			CHECK_EQ(fi_cancel(&node.ep->fid, &messages[i]), 0); /* nothing */
		}
		CHECK_EQ(take_ends(&node, messages, HELD / 2, &outcome), HELD / 2);
	}
	aside_exchange(&outcome, sender ? &none : &outcome, sizeof(outcome));
	if (sender) {
		for (unsigned i = 0; i < HELD; i += 2)
			wait_done(node.tx_cq, &messages[i]);
		wait_done(node.tx_cq, &big);
	} else {
		message_receive(&node, &big);
		wait_done(node.rx_cq, &big);
		message_check(&big, HELD, BIG);
		check_arrivals(&node, messages, HELD, &outcome);
	}
	node_close_pair(&node);
	message_free(&big);
	for (unsigned i = 0; i < HELD; i++)
		message_free(&messages[i]);
}

/* While they are being sent: how many are too late is left to chance. */
static void test_cancel_sending(bool sender)
{
	static struct message messages[MANY];
	struct outcome outcome = {{0}}, none;
	unsigned cancelled = 0;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; i < MANY; i++) {
		prepare(&messages[i], i, i % 3 ? LEN : i % 5 * 100, sender);
		if (!sender)
			message_receive(&node, &messages[i]);
	}
	aside_sync();
	if (sender) {
		for (unsigned i = 0; i < MANY; i++)
			message_send(&node, &messages[i]);
		for (unsigned i = 1; i < MANY; i += 2)
			CHECK_EQ(fi_cancel(&node.ep->fid, &messages[i]), 0);
		cancelled = take_ends(&node, messages, MANY, &outcome);
		printf("%u of %u taken back\n", cancelled, MANY / 2);
	}
	aside_exchange(&outcome, sender ? &none : &outcome, sizeof(outcome));
	if (!sender)
		check_arrivals(&node, messages, MANY, &outcome);
	node_close_pair(&node);
	for (unsigned i = 0; i < MANY; i++)
		message_free(&messages[i]);
}

const struct test cancel_tests[] = {
	{.name = "cancel_held", .run = test_cancel_held, .both_ways = true},
	{.name = "cancel_sending", .run = test_cancel_sending, .both_ways = true},
	{0},
};
