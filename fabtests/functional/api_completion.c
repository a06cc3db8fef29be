// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: when and how a program learns that an operation is complete. */
#include "api.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const size_t kinds[] = {100, 10000, 200000};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

/* Only operations that request it get an entry; errors are always reported. */
static void test_selective(bool sender)
{
	struct node_options options = {.tx_bind = FI_SELECTIVE_COMPLETION,
				       .rx_bind = FI_SELECTIVE_COMPLETION};
	struct message quiet, loud;
	struct fi_cq_err_entry error;
	struct node node;

	node_open_pair(&node, &options);
	message_init(&quiet, 3000, 1);
	message_init(&loud, 3000, 1);
	loud.send = SENDMSG;
	loud.recv = RECVMSG;
	loud.flags = FI_COMPLETION;
	if (sender) {
		message_fill(&quiet, 1);
		message_fill(&loud, 2);
		aside_sync();
		message_send(&node, &quiet);
		message_send(&node, &loud);
		wait_sent(&node, &loud);
		expect_nothing(node.tx_cq);
	} else {
		message_receive(&node, &quiet);
		message_receive(&node, &loud);
		aside_sync();
		wait_received(&node, &loud, 3000);
		message_check(&quiet, 1, 3000);
		message_check(&loud, 2, 3000);
		expect_nothing(node.rx_cq);
		message_receive(&node, &quiet);
		CHECK_EQ(fi_cancel(&node.ep->fid, &quiet), 0);
		wait_error(node.rx_cq, &error);
		CHECK_EQ(error.err, FI_ECANCELED);
	}
	node_close_pair(&node);
	message_free(&quiet);
	message_free(&loud);
}

static void wait_count(struct fid_cntr *cntr, uint64_t count)
{
	double end = now() + PATIENCE_S;

	while (fi_cntr_read(cntr) < count)
		CHECK(now() < end);
	CHECK_EQ(fi_cntr_read(cntr), count);
}

/* Reading counters alone must progress the endpoint; injected messages and errors count too. */
static void test_counters(bool sender)
{
	struct node_options options = {.counters = true,
				       .tx_bind = FI_SELECTIVE_COMPLETION,
				       .rx_bind = FI_SELECTIVE_COMPLETION};
	struct message messages[KINDS + 1];
	struct node node;

	node_open_pair(&node, &options);
	for (unsigned i = 0; i <= KINDS; i++) {
		message_init(&messages[i], i < KINDS ? kinds[i] : 8, 1);
		messages[i].send = i < KINDS ? SEND : INJECT;
		if (sender)
			message_fill(&messages[i], i);
		else
			message_receive(&node, &messages[i]);
	}
	aside_sync();
	for (unsigned i = 0; sender && i <= KINDS; i++)
		message_send(&node, &messages[i]);
	wait_count(sender ? node.tx_cntr : node.rx_cntr, KINDS + 1);
	CHECK_EQ(fi_cntr_readerr(sender ? node.tx_cntr : node.rx_cntr), 0);
	for (unsigned i = 0; i <= KINDS; i++) {
		if (!sender)
			message_check(&messages[i], i, messages[i].len);
		message_free(&messages[i]);
	}
	message_init(&messages[0], 1, 1);
	message_receive(&node, &messages[0]);
	CHECK_EQ(fi_cancel(&node.ep->fid, &messages[0]), 0);
	CHECK_EQ(fi_cntr_readerr(node.rx_cntr), 1);
	CHECK_EQ(fi_cntr_set(node.rx_cntr, 0), 0);
	CHECK_EQ(fi_cntr_read(node.rx_cntr), 0);
	message_free(&messages[0]);
	node_close_pair(&node);
}

/* Asleep until the count is reached, or until the time is up. */
static void test_counter_wait(bool sender)
{
	struct node_options options = {.counters = true, .wait = FI_WAIT_UNSPEC};
	struct message message;
	struct node node;
	double begin;

	node_open_pair(&node, &options);
	begin = now();
	CHECK_EQ(fi_cntr_wait(node.rx_cntr, 1, 50), -FI_ETIMEDOUT);
	CHECK(now() - begin > 0.045 && now() - begin < 2);
	message_init(&message, 100, 1);
	if (!sender)
		message_receive(&node, &message);
	aside_sync();
	if (sender) {
		nap(50);
		message_fill(&message, 1);
		message_send(&node, &message);
		CHECK_EQ(fi_cntr_wait(node.tx_cntr, 1, 1000 * PATIENCE_S), 0);
	} else {
		CHECK_EQ(fi_cntr_wait(node.rx_cntr, 1, 1000 * PATIENCE_S), 0);
		message_check(&message, 1, 100);
	}
	aside_sync();
	message_free(&message);
	node_close_pair(&node);
}

/* A send with FI_MATCH_COMPLETE is not complete before the receiver has matched it. */
static void test_match_complete(bool sender)
{
	struct message message;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; i < KINDS; i++) {
		message_init(&message, kinds[i], 1);
		message.send = SENDMSG;
		message.flags = FI_MATCH_COMPLETE | FI_COMPLETION;
		if (sender) {
			message_fill(&message, i);
			message_send(&node, &message);
			for (double end = now() + 0.05; now() < end;)
				expect_nothing(node.tx_cq);
			aside_sync();
			wait_sent(&node, &message);
		} else {
			aside_sync();
			message_receive(&node, &message);
			wait_received(&node, &message, kinds[i]);
			message_check(&message, i, kinds[i]);
		}
		message_free(&message);
	}
	node_close_pair(&node);
}

static void send_at_level(struct node *node, size_t len, uint64_t level, unsigned seed)
{
	struct message message;

	message_init(&message, len, 1);
	message.send = SENDMSG;
	message.flags = level | FI_COMPLETION;
	send_filled(node, &message, seed);
}

/* At every level, by the call's flags and as the endpoint's default. */
static void test_levels(bool sender)
{
	static const uint64_t levels[] = {FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE,
					  FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE};
	unsigned seed = 0;
	struct node node;

	for (unsigned k = 0; k < 4; k++) {
		node_open_pair(&node, &(struct node_options){.tx_op_flags = levels[k]});
		CHECK(node.info->tx_attr->op_flags & levels[k]);
		for (unsigned i = 0; i < KINDS; i++)
			for (unsigned level = 0; level < 5; level++, seed++) {
				if (!sender)
					receive_one(&node, kinds[i], seed);
				else if (level < 4)
					send_at_level(&node, kinds[i], levels[level], seed);
				else
					send_one(&node, kinds[i], seed);
			}
		node_close_pair(&node);
	}
}

/* Delivered means: at the peer, though nobody has posted a receive. */
static void test_delivery_complete(bool sender)
{
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	if (sender)
		send_at_level(&node, 1000, FI_DELIVERY_COMPLETE, 5);
	aside_sync();
	if (!sender)
		receive_one(&node, 1000, 5);
	node_close_pair(&node);
}

/* Waits as users of epoll do: sleep on the descriptor only if fi_trywait allows it. */
static void sleep_on_fd(struct node *node, struct fid_cq *cq, int fd)
{
	struct fid *fids[] = {&cq->fid};
	struct pollfd set = {.fd = fd, .events = POLLIN};

	if (fi_trywait(node->fabric, fids, 1) == 0)
		CHECK_EQ(poll(&set, 1, 1000 * PATIENCE_S), 1);
}

static void wait_on_fd(struct node *node, struct fid_cq *cq, struct message *message)
{
	double end = now() + PATIENCE_S;
	struct completion completion;
	int fd;

	CHECK_EQ(fi_control(&cq->fid, FI_GETWAIT, &fd), 0);
	while (!poll_completion(cq, &completion)) {
		CHECK(now() < end);
		sleep_on_fd(node, cq, fd);
	}
	CHECK(completion.entry.op_context == message);
}

static void ping_pong(bool sender, const struct node_options *options, unsigned rounds,
		      void (*wait)(struct node *, struct fid_cq *, struct message *))
{
	struct message out, in;
	struct node node;

	node_open_pair(&node, options);
	for (unsigned i = 0; i < rounds; i++) {
		message_init(&in, kinds[i % KINDS], 1);
		message_init(&out, kinds[i % KINDS], 1);
		message_fill(&out, i);
		message_receive(&node, &in);
		if (sender)
			message_send(&node, &out);
		if (i % 10 == 4)
			nap(i * 7 % 25); /* the domain's own thread may take the arrival first */
		wait(&node, node.rx_cq, &in);
		message_check(&in, i, in.len);
		if (i % 10 == 9)
			nap(2 + i * 7 % 25); /* the other one is asleep by then */
		if (!sender)
			message_send(&node, &out);
		wait(&node, node.tx_cq, &out);
		message_free(&in);
		message_free(&out);
	}
	node_close_pair(&node);
}

static void test_wait_fd(bool sender)
{
	ping_pong(sender, &(struct node_options){.wait = FI_WAIT_FD}, 99, wait_on_fd);
}

static void wait_by_sread(struct node *node, struct fid_cq *cq, struct message *message)
{
	struct fi_cq_tagged_entry entry;

	(void) node;
	CHECK_EQ(fi_cq_sread(cq, &entry, 1, NULL, 1000 * PATIENCE_S), 1);
	CHECK(entry.op_context == message);
}

static void test_sread(bool sender)
{
	ping_pong(sender, &(struct node_options){.wait = FI_WAIT_UNSPEC}, 99, wait_by_sread);
	ping_pong(sender, &(struct node_options){.wait = FI_WAIT_YIELD}, 20, wait_by_sread);
	ping_pong(sender, &(struct node_options){.wait = FI_WAIT_FD}, 20, wait_by_sread);
}

static void test_sread_timeout(bool sender)
{
	struct fi_cq_tagged_entry entry;
	struct node node;
	double begin;

	(void) sender;
	node_open_pair(&node, &(struct node_options){.wait = FI_WAIT_UNSPEC});
	begin = now();
	CHECK_EQ(fi_cq_sread(node.rx_cq, &entry, 1, NULL, 100), -FI_EAGAIN);
	CHECK(now() - begin > 0.095 && now() - begin < 2);
	begin = now();
	CHECK_EQ(fi_cq_sread(node.rx_cq, &entry, 1, NULL, 0), -FI_EAGAIN);
	CHECK(now() - begin < 0.5);
	node_close_pair(&node);
}

static void *read_until_signal(void *cq)
{
	struct fi_cq_tagged_entry entry;

	return (void *) fi_cq_sread(cq, &entry, 1, NULL, -1);
}

/* A thread that would sleep forever is woken, and finds no entry. */
static void test_signal(bool sender)
{
	struct node node;
	pthread_t thread;
	void *result;

	(void) sender;
	node_open_pair(&node, &(struct node_options){.wait = FI_WAIT_UNSPEC});
	CHECK_EQ(pthread_create(&thread, NULL, read_until_signal, node.rx_cq), 0);
	nap(50);
	CHECK_EQ(fi_cq_signal(node.rx_cq), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK_EQ((long) result, -FI_EAGAIN);
	node_close_pair(&node);
}

/* Entries of other formats are shorter: the array of them is filled without gaps. */
static void test_formats(bool sender)
{
	struct fi_cq_data_entry entries[3];
	struct message messages[2];
	struct node node;
	size_t have = 0;

	node_open_pair(&node, &(struct node_options){.format = FI_CQ_FORMAT_DATA});
	for (unsigned i = 0; i < 2; i++) {
		message_init(&messages[i], 10 + i, 1);
		messages[i].send = SENDDATA;
		messages[i].data = 77 + i;
		if (!sender)
			message_receive(&node, &messages[i]);
	}
	aside_sync();
	for (unsigned i = 0; sender && i < 2; i++)
		message_send(&node, &messages[i]);
	for (double end = now() + PATIENCE_S; have < 2;) {
		ssize_t got =
			fi_cq_read(sender ? node.tx_cq : node.rx_cq, entries + have, 3 - have);

		CHECK(now() < end);
		CHECK(got > 0 || got == -FI_EAGAIN);
		have += got > 0 ? (size_t) got : 0;
	}
	CHECK_EQ(have, 2);
	for (unsigned i = 0; i < 2; i++) {
		CHECK(entries[i].op_context == &messages[i]);
		if (!sender) {
			CHECK_EQ(entries[i].len, 10 + i);
			CHECK_EQ(entries[i].data, 77 + i);
		}
		message_free(&messages[i]);
	}
	node_close_pair(&node);
}

const struct test completion_tests[] = {
	{.name = "selective", .run = test_selective, .both_ways = true},
	{.name = "counters", .run = test_counters, .both_ways = true},
	{.name = "counter_wait", .run = test_counter_wait, .both_ways = true},
	{.name = "match_complete", .run = test_match_complete, .both_ways = true},
	{.name = "delivery_complete", .run = test_delivery_complete, .both_ways = true},
	{.name = "levels", .run = test_levels},
	{.name = "wait_fd", .run = test_wait_fd},
	{.name = "sread", .run = test_sread},
	{.name = "sread_timeout", .run = test_sread_timeout},
	{.name = "signal", .run = test_signal},
	{.name = "formats", .run = test_formats},
	{0},
};
