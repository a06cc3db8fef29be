// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: operations that wait for a counter: triggered operations, and deferred work of a
 * domain. */
#include "api.h"

#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include <stdlib.h>
#include <string.h>

enum { LEN = 20000, KEY = 77 };

static struct fid_cntr *open_counter(struct node *node)
{
	struct fid_cntr *cntr;

	CHECK_EQ(fi_cntr_open(node->domain, NULL, &cntr, NULL), 0);
	return cntr;
}

static void wait_count(struct fid_cntr *cntr, uint64_t count)
{
	double end = now() + PATIENCE_S;

	while (fi_cntr_read(cntr) < count)
		CHECK(now() < end);
}

static struct fi_triggered_context when(struct fid_cntr *cntr, size_t threshold)
{
	struct fi_triggered_context context = {.event_type = FI_TRIGGER_THRESHOLD};

	context.trigger.threshold.cntr = cntr;
	context.trigger.threshold.threshold = threshold;
	return context;
}

/* Posted out of order; they leave as the counter says. */
static void send_triggered(struct node *node)
{
	struct fid_cntr *cntr = open_counter(node);
	struct fi_triggered_context contexts[2] = {when(cntr, 2), when(cntr, 1)};
	struct completion completion;
	struct message messages[2];

	for (unsigned i = 0; i < 2; i++) {
		struct fi_msg msg = {.msg_iov = messages[i].iov,
				     .iov_count = 1,
				     .addr = node->peer,
				     .context = &contexts[i]};

		message_init(&messages[i], LEN, 1);
		message_fill(&messages[i], i);
		CHECK_EQ(fi_sendmsg(node->ep, &msg, FI_TRIGGER | FI_COMPLETION), 0);
	}
	CHECK_EQ(fi_close(&cntr->fid), -FI_EBUSY);
	for (double end = now() + 0.05; now() < end;)
		expect_nothing(node->tx_cq);
	for (unsigned i = 2; i-- > 0;) {
		CHECK_EQ(fi_cntr_add(cntr, 1), 0);
		wait_completion(node->tx_cq, &completion);
		CHECK(completion.entry.op_context == &contexts[i]);
		message_free(&messages[i]);
	}
	CHECK_EQ(fi_close(&cntr->fid), 0);
}

static void test_triggered(bool sender)
{
	struct message messages[2];
	struct node node;

	node_open_pair(&node, &(struct node_options){.caps = FI_TRIGGER});
	for (unsigned i = 0; !sender && i < 2; i++) {
		message_init(&messages[i], LEN, 1);
		message_receive(&node, &messages[i]);
	}
	aside_sync();
	if (sender)
		send_triggered(&node);
	for (unsigned i = 0; !sender && i < 2; i++)
		receive_filled(&node, &messages[i], 1 - i);
	node_close_pair(&node);
}

/* One step of the counter triggers three: they leave in the order of their thresholds, then of the
 * calls. */
static void step_triggered(struct node *node)
{
	static const size_t thresholds[] = {3, 2, 2};
	struct fid_cntr *cntr = open_counter(node);
	struct fi_triggered_context contexts[3];
	struct completion completion;
	char bytes[3] = {0, 1, 2};

	for (unsigned i = 0; i < 3; i++) {
		struct iovec iov = {.iov_base = &bytes[i], .iov_len = 1};
		struct fi_msg msg = {.msg_iov = &iov,
				     .iov_count = 1,
				     .addr = node->peer,
				     .context = &contexts[i]};

		contexts[i] = when(cntr, thresholds[i]);
		CHECK_EQ(fi_sendmsg(node->ep, &msg, FI_TRIGGER | FI_COMPLETION), 0);
	}
	CHECK_EQ(fi_cntr_set(cntr, 5), 0);
	for (unsigned i = 0; i < 3; i++)
		wait_completion(node->tx_cq, &completion);
	CHECK_EQ(fi_close(&cntr->fid), 0);
}

static void test_triggered_at_once(bool sender)
{
	static const char should[] = {1, 2, 0};
	struct completion completion;
	char bytes[3] = {9, 9, 9};
	struct node node;

	node_open_pair(&node, &(struct node_options){.caps = FI_TRIGGER});
	for (unsigned i = 0; !sender && i < 3; i++)
		CHECK_EQ(fi_recv(node.ep, &bytes[i], 1, NULL, FI_ADDR_UNSPEC, NULL), 0);
	aside_sync();
	if (sender)
		step_triggered(&node);
	for (unsigned i = 0; !sender && i < 3; i++)
		wait_completion(node.rx_cq, &completion);
	if (!sender)
		CHECK(!memcmp(bytes, should, sizeof(bytes)));
	node_close_pair(&node);
}

static void expect_cancelled(struct fid_cq *cq, const void *context, uint64_t flags)
{
	struct fi_cq_err_entry error;

	wait_error(cq, &error);
	CHECK_EQ(error.err, FI_ECANCELED);
	CHECK(error.op_context == context);
	CHECK_EQ(error.flags & (FI_SEND | FI_RECV | FI_READ | FI_WRITE), flags);
}

/* Its counter never reaches the threshold: each kind of operation can be cancelled, and its context
 * used again. One without context cannot be cancelled. */
static void test_triggered_cancel(bool sender)
{
	struct fi_triggered_context contexts[3];
	struct fid_cntr *cntr;
	struct node node;
	struct name name;
	char byte = 0;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct fi_rma_iov remote = {.len = 1, .key = KEY};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1};
	struct fi_msg_rma rma = {
		.msg_iov = &iov, .iov_count = 1, .rma_iov = &remote, .rma_iov_count = 1};

	(void) sender;
	node_open(&node, &(struct node_options){.caps = FI_TRIGGER | FI_RMA});
	cntr = open_counter(&node);
	node_name(&node, &name);
	msg.addr = rma.addr = node_insert(&node, &name);
	for (unsigned i = 0; i < 3; i++)
		contexts[i] = when(cntr, 1);
	msg.context = &contexts[0];
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_TRIGGER), 0);
	msg.context = &contexts[1];
	CHECK_EQ(fi_recvmsg(node.ep, &msg, FI_TRIGGER), 0);
	rma.context = &contexts[2];
	CHECK_EQ(fi_writemsg(node.ep, &rma, FI_TRIGGER), 0);
	CHECK_EQ(fi_cancel(&node.ep->fid, &contexts[1]), 0);
	expect_cancelled(node.rx_cq, &contexts[1], FI_RECV);
	CHECK_EQ(fi_cancel(&node.ep->fid, &contexts[2]), 0);
	expect_cancelled(node.tx_cq, &contexts[2], FI_WRITE);
	CHECK_EQ(fi_cancel(&node.ep->fid, &contexts[0]), 0);
	expect_cancelled(node.tx_cq, &contexts[0], FI_SEND);
	CHECK_EQ(fi_cancel(&node.ep->fid, &contexts[0]), 0); /* nothing */
	CHECK_EQ(fi_recv(node.ep, &byte, 1, NULL, FI_ADDR_UNSPEC, NULL), 0);
	CHECK_EQ(fi_cancel(&node.ep->fid, NULL), 0);
	CHECK_EQ(fi_cntr_add(cntr, 1), 0);
	expect_nothing(node.tx_cq);
	expect_nothing(node.rx_cq);
	CHECK_EQ(fi_close(&cntr->fid), 0);
	node_close(&node);
}

/* An operation that cannot be posted when it is due counts as failed. */
static void test_triggered_in_vain(bool sender)
{
	struct fi_triggered_context context;
	struct fi_cq_err_entry error;
	struct fid_cntr *cntr;
	struct node node;
	struct name name;
	struct iovec iov = {.iov_base = &name, .iov_len = 1};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .context = &context};

	(void) sender;
	node_open(&node, &(struct node_options){.caps = FI_TRIGGER, .counters = true});
	cntr = open_counter(&node);
	context = when(cntr, 1);
	node_name(&node, &name);
	msg.addr = node_insert(&node, &name);
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_TRIGGER), 0);
	CHECK_EQ(fi_av_remove(node.av, &msg.addr, 1, 0), 0);
	CHECK_EQ(fi_cntr_add(cntr, 1), 0);
	wait_error(node.tx_cq, &error);
	CHECK_EQ(error.err, FI_EINVAL);
	CHECK(error.op_context == &context);
	CHECK_EQ(fi_cntr_readerr(node.tx_cntr), 1);
	CHECK_EQ(fi_cntr_read(node.tx_cntr), 0);
	CHECK_EQ(fi_close(&cntr->fid), 0);
	node_close(&node);
}

/* Both sides have a counter that triggers the work and one that counts what is done. */
struct works {
	struct node node;
	struct fid_cntr *go, *done;
	struct fi_deferred_work work;
	struct message message;
	struct fi_op_tagged tagged;
};

static void open_works(struct works *works, uint64_t caps)
{
	memset(works, 0, sizeof(*works));
	node_open_pair(&works->node, &(struct node_options){.caps = FI_TRIGGER | caps});
	works->go = open_counter(&works->node);
	works->done = open_counter(&works->node);
	works->work.threshold = 1;
	works->work.triggering_cntr = works->go;
	works->work.completion_cntr = works->done;
}

static void close_works(struct works *works)
{
	aside_sync();
	CHECK_EQ(fi_close(&works->go->fid), 0);
	CHECK_EQ(fi_close(&works->done->fid), 0);
	node_close_pair(&works->node);
}

static int queue(struct works *works, enum fi_op_type type, void *op)
{
	works->work.op_type = type;
	works->work.op.msg = op;
	return fi_control(&works->node.domain->fid, FI_QUEUE_WORK, &works->work);
}

static int queue_tagged(struct works *works, bool sender, uint64_t flags)
{
	works->tagged = (struct fi_op_tagged){.ep = works->node.ep, .flags = flags};
	works->tagged.msg.msg_iov = works->message.iov;
	works->tagged.msg.iov_count = 1;
	works->tagged.msg.addr = sender ? works->node.peer : FI_ADDR_UNSPEC;
	works->tagged.msg.tag = 5;
	works->tagged.msg.context = works;
	return queue(works, sender ? FI_OP_TSEND : FI_OP_TRECV, &works->tagged);
}

/* A send here triggers a receive there; only counters report it, unless entries are requested. */
static void test_deferred(bool sender)
{
	struct completion completion;
	struct works works;

	open_works(&works, 0);
	for (unsigned completes = 0; completes < 2; completes++) {
		message_init(&works.message, LEN, 1);
		if (sender)
			message_fill(&works.message, completes);
		CHECK_EQ(queue_tagged(&works, sender, completes ? FI_COMPLETION : 0), 0);
		aside_sync();
		CHECK_EQ(fi_cntr_read(works.done), completes);
		CHECK_EQ(fi_cntr_add(works.go, 1), 0);
		wait_count(works.done, completes + 1);
		if (completes) {
			wait_completion(sender ? works.node.tx_cq : works.node.rx_cq, &completion);
			CHECK(completion.entry.op_context == &works);
		} else {
			expect_nothing(sender ? works.node.tx_cq : works.node.rx_cq);
		}
		if (!sender)
			message_check(&works.message, completes, LEN);
		aside_sync();
		message_free(&works.message);
		works.work.threshold++;
	}
	close_works(&works);
}

/* A chain: the completion of the first triggers the second, whose completion counts. */
static void test_deferred_chain(bool sender)
{
	struct works works;
	struct fid_cntr *last;
	struct fi_op_cntr add = {.value = 41}, set = {.value = 7};
	struct fi_deferred_work chain = {.threshold = 1, .op_type = FI_OP_CNTR_ADD};

	open_works(&works, 0);
	last = open_counter(&works.node);
	add.cntr = set.cntr = last;
	message_init(&works.message, LEN, 1);
	CHECK_EQ(queue_tagged(&works, sender, 0), 0);
	chain.triggering_cntr = works.done;
	chain.op.cntr = &add;
	CHECK_EQ(fi_control(&works.node.domain->fid, FI_QUEUE_WORK, &chain), 0);
	aside_sync();
	fi_cntr_add(works.go, 1);
	wait_count(last, 41);
	works.work.completion_cntr = NULL;
	CHECK_EQ(queue(&works, FI_OP_CNTR_SET, &set), 0); /* it is due at once */
	wait_count(last, 7);
	CHECK_EQ(fi_cntr_read(last), 7);
	CHECK_EQ(fi_close(&last->fid), 0);
	message_free(&works.message);
	close_works(&works);
}

/* Cancelled work; close with work outstanding; wrong arguments. */
static void test_deferred_cancel(bool sender)
{
	struct fid *domain;
	struct works works;

	(void) sender;
	open_works(&works, 0);
	domain = &works.node.domain->fid;
	message_init(&works.message, LEN, 1);
	CHECK_EQ(queue_tagged(&works, false, 0), 0);
	CHECK_EQ(fi_control(domain, FI_CANCEL_WORK, &works.work), 0);
	CHECK_EQ(fi_control(domain, FI_CANCEL_WORK, &works.work), -FI_ENOENT);
	CHECK_EQ(fi_control(domain, FI_FLUSH_WORK, NULL), 0);
	CHECK_EQ(queue_tagged(&works, false, 0), 0);
	CHECK_EQ(fi_control(domain, FI_FLUSH_WORK, &works.work), 0);
	CHECK_EQ(fi_control(domain, FI_CANCEL_WORK, &works.work), -FI_ENOENT);
	CHECK_EQ(fi_control(domain, FI_CANCEL_WORK, NULL), -FI_EINVAL);
	CHECK_EQ(fi_control(domain, FI_QUEUE_WORK, NULL), -FI_EINVAL);
	CHECK_EQ(queue(&works, FI_OP_CNTR_ADD + 1, &works.tagged), -FI_ENOSYS);
	CHECK_EQ(queue(&works, FI_OP_SEND, NULL), -FI_EINVAL);
	CHECK_EQ(queue_tagged(&works, true, FI_INJECT), -FI_EINVAL);
	works.work.triggering_cntr = NULL;
	CHECK_EQ(queue_tagged(&works, false, 0), -FI_EINVAL);
	works.work.triggering_cntr = works.go;
	fi_cntr_add(works.go, 5);
	CHECK_EQ(fi_cntr_read(works.done), 0);
	works.work.threshold = 100;
	CHECK_EQ(queue_tagged(&works, false, 0), 0);
	CHECK_EQ(fi_close(&works.go->fid), -FI_EBUSY);
	CHECK_EQ(fi_control(domain, FI_FLUSH_WORK, NULL), 0);
	message_free(&works.message);
	close_works(&works);
}

/* Remote memory: write to the peer, and when that is done read it back. */
static void test_deferred_memory(bool sender)
{
	static char target[LEN], source[LEN], back[LEN];
	struct works works;
	struct fid_mr *mr;
	struct iovec iov = {.iov_base = source, .iov_len = LEN};
	struct iovec back_iov = {.iov_base = back, .iov_len = LEN};
	struct fi_rma_iov remote = {.len = LEN, .key = KEY};
	struct fi_op_rma op;

	open_works(&works, FI_RMA);
	CHECK_EQ(fi_mr_reg(works.node.domain, target, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
			   0, &mr, NULL),
		 0);
	memset(source, 'x', LEN);
	aside_sync();
	if (sender) {
		op = (struct fi_op_rma){.ep = works.node.ep};
		op.msg.msg_iov = &iov;
		op.msg.iov_count = 1;
		op.msg.addr = works.node.peer;
		op.msg.rma_iov = &remote;
		op.msg.rma_iov_count = 1;
		CHECK_EQ(queue(&works, FI_OP_WRITE, &op), 0);
		works.work.triggering_cntr = works.done;
		op.msg.msg_iov = &back_iov;
		CHECK_EQ(queue(&works, FI_OP_READ, &op), 0);
		fi_cntr_add(works.go, 1);
		wait_count(works.done, 2);
		CHECK(!memcmp(source, back, LEN));
		expect_nothing(works.node.tx_cq);
	}
	aside_sync();
	if (!sender)
		CHECK(!memcmp(source, target, LEN));
	CHECK_EQ(fi_close(&mr->fid), 0);
	close_works(&works);
}

const struct test work_tests[] = {
	{.name = "triggered", .run = test_triggered, .both_ways = true},
	{.name = "triggered_at_once", .run = test_triggered_at_once, .both_ways = true},
	{.name = "triggered_cancel", .run = test_triggered_cancel},
	{.name = "triggered_in_vain", .run = test_triggered_in_vain},
	{.name = "deferred", .run = test_deferred},
	{.name = "deferred_chain", .run = test_deferred_chain},
	{.name = "deferred_cancel", .run = test_deferred_cancel},
	{.name = "deferred_memory", .run = test_deferred_memory, .both_ways = true},
	{0},
};
