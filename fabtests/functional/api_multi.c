// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: buffers that take many messages (FI_MULTI_RECV). */
#include "api.h"

#include <stdlib.h>
#include <string.h>

enum {
	COUNT = 300,   /* messages */
	LEAST = 70000, /* bytes: a buffer with less room is given back; no message is longer */
	SIZE = 300000, /* bytes of a buffer */
	POSTS = COUNT, /* at most */
	BUFFERS = 2,
};

/* In one frame, in several, announced; and empty ones. */
static size_t len_of(unsigned i)
{
	static const size_t lens[] = {100, 0, 10000, 1, LEAST, 5000, 16385, 33, 1460, 40000};

	return lens[i % 10] + (i % 10 == 4 ? 0 : i % 7);
}

/* Each time that a buffer is posted. Messages come in the order in which they were sent. */
struct post {
	char *buffer;
	unsigned first, messages; /* those that fit into it */
	unsigned seen;            /* completions so far */
	bool released;
};

struct stream {
	struct node *node;
	char *buffers[BUFFERS];
	struct post posts[POSTS];
	unsigned posted;
	bool by_default; /* the flag is the endpoint's, and not the call's */
};

/* How many messages, from the first on, go into a buffer until it has too little room left. */
static unsigned messages_in_buffer(unsigned first)
{
	size_t room = SIZE;
	unsigned i;

	for (i = first; i < COUNT && room >= LEAST; i++)
		room -= len_of(i);
	return i - first;
}

static void post(struct stream *stream, char *buffer)
{
	struct post *post = &stream->posts[stream->posted];
	struct iovec iov = {.iov_base = buffer, .iov_len = SIZE};
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = post};
	const struct post *last = post - 1;

	CHECK(stream->posted < POSTS);
	memset(buffer, 0, SIZE);
	post->buffer = buffer;
	post->first = stream->posted++ ? last->first + last->messages : 0;
	post->messages = messages_in_buffer(post->first);
	if (stream->by_default)
		CHECK_EQ(fi_recv(stream->node->ep, buffer, SIZE, NULL, FI_ADDR_UNSPEC, post), 0);
	else
		CHECK_EQ(fi_recvmsg(stream->node->ep, &msg, FI_MULTI_RECV), 0);
}

static void check_place(const struct post *post, const struct fi_cq_tagged_entry *entry)
{
	unsigned number = (unsigned) entry->data;
	const char *place = post->buffer;

	CHECK(number >= post->first && number < post->first + post->messages);
	for (unsigned i = post->first; i < number; i++)
		place += len_of(i);
	CHECK(entry->buf == place);
	CHECK_EQ(entry->len, len_of(number));
	content_check(place, number, entry->len);
}

/* One entry. Released with its last message, not before and not twice; then it is posted anew. */
static unsigned take_entry(struct stream *stream)
{
	struct completion completion;
	struct post *posted;
	bool message;

	wait_completion(stream->node->rx_cq, &completion);
	posted = completion.entry.op_context;
	message = completion.entry.flags & FI_RECV;
	CHECK(!posted->released);
	if (message) {
		check_place(posted, &completion.entry);
		posted->seen++;
	}
	if (completion.entry.flags & FI_MULTI_RECV) {
		CHECK_EQ(posted->seen, posted->messages);
		posted->released = true;
		post(stream, posted->buffer);
	}
	return message;
}

static void send_numbers(struct node *node, unsigned first, unsigned end)
{
	static struct message messages[COUNT];

	for (unsigned i = first; i < end; i++) {
		message_init(&messages[i], len_of(i), 1);
		message_fill(&messages[i], i);
		messages[i].send = SENDDATA;
		messages[i].data = i;
		message_send(node, &messages[i]);
	}
	aside_sync(); /* before some of them can have been received */
	for (unsigned i = first; i < end; i++) {
		wait_done(node->tx_cq, &messages[i]);
		message_free(&messages[i]);
	}
}

static void receive_numbers(struct stream *stream, unsigned count)
{
	for (unsigned i = 0; i < BUFFERS; i++) {
		stream->buffers[i] = malloc(SIZE);
		post(stream, stream->buffers[i]);
	}
	while (count)
		count -= take_entry(stream);
}

/* late: they are all there before the first buffer is. */
static void run_stream(bool sender, bool late, bool by_default)
{
	struct node_options options = {.caps = FI_MULTI_RECV,
				       .rx_op_flags = by_default ? FI_MULTI_RECV : 0};
	static struct stream stream;
	size_t least = LEAST, len = sizeof(least);
	struct node node;

	node_open_pair(&node, &options);
	memset(&stream, 0, sizeof(stream));
	stream.node = &node;
	stream.by_default = by_default;
	CHECK_EQ(fi_setopt(&node.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, len), 0);
	least = 0;
	CHECK_EQ(fi_getopt(&node.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &len), 0);
	CHECK_EQ(least, LEAST);
	if (sender) {
		send_numbers(&node, 0, COUNT);
	} else {
		if (late)
			aside_sync();
		receive_numbers(&stream, COUNT);
		if (!late)
			aside_sync();
	}
	node_close_pair(&node);
	for (unsigned i = 0; i < BUFFERS; i++)
		free(stream.buffers[i]);
}

static void test_multi(bool sender)
{
	run_stream(sender, false, false);
	run_stream(sender, false, true);
}

static void test_multi_unexpected(bool sender)
{
	run_stream(sender, true, false);
}

static void post_one(struct node *node, void *buffer, size_t len, void *context, uint64_t flags)
{
	struct iovec iov = {.iov_base = buffer, .iov_len = len};
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = context};

	CHECK_EQ(fi_recvmsg(node->srx ? node->srx : node->ep, &msg, FI_MULTI_RECV | flags), 0);
}

static void set_least(struct node *node, size_t least)
{
	CHECK_EQ(fi_setopt(&node->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
			   sizeof(least)),
		 0);
}

/* Completions are suppressed, but the release of the buffer is still reported. */
static void test_multi_selective(bool sender)
{
	struct node_options options = {.caps = FI_MULTI_RECV, .rx_bind = FI_SELECTIVE_COMPLETION};
	struct completion completion;
	static char buffer[1000];
	struct node node;

	node_open_pair(&node, &options);
	set_least(&node, 100);
	if (!sender)
		post_one(&node, buffer, sizeof(buffer), &node, 0);
	aside_sync();
	for (unsigned i = 0; sender && i < 4; i++)
		send_one(&node, 240, i);
	if (!sender) {
		wait_completion(node.rx_cq, &completion);
		CHECK_EQ(completion.entry.flags, FI_MULTI_RECV);
		CHECK(completion.entry.op_context == &node);
		for (unsigned i = 0; i < 4; i++)
			content_check(buffer + i * 240, i, 240);
		expect_nothing(node.rx_cq);
	}
	node_close_pair(&node);
}

/* A message longer than the rest of the buffer is truncated, and releases the buffer. */
static void test_multi_truncated(bool sender)
{
	static const size_t lens[] = {5000, 100000};
	struct fi_cq_err_entry error;
	struct completion completion;
	static char buffer[6000];
	struct node node;

	node_open_pair(&node, &(struct node_options){.caps = FI_MULTI_RECV});
	set_least(&node, 1);
	for (unsigned i = 0; i < 2; i++) {
		if (!sender)
			post_one(&node, buffer, sizeof(buffer), &node, 0);
		aside_sync();
		if (sender) {
			send_one(&node, 2000, 7);
			send_one(&node, lens[i], 8);
			continue;
		}
		wait_completion(node.rx_cq, &completion);
		CHECK_EQ(completion.entry.len, 2000);
		CHECK(!(completion.entry.flags & FI_MULTI_RECV));
		wait_error(node.rx_cq, &error);
		CHECK_EQ(error.err, FI_ETRUNC);
		CHECK_EQ(error.len, 4000);
		CHECK_EQ(error.olen, lens[i] - 4000);
		CHECK(error.flags & FI_MULTI_RECV);
		content_check(buffer, 7, 2000);
		content_check(buffer + 2000, 8, 4000);
	}
	node_close_pair(&node);
}

/* A cancelled buffer is free once what was arriving in it is there. */
static void test_multi_cancel(bool sender)
{
	enum { LONG = 4 << 20 };
	struct fi_cq_err_entry error;
	struct message message;
	struct fi_cq_tagged_entry entry;
	char *buffer = calloc(2, LONG);
	struct node node;

	node_open_pair(&node, &(struct node_options){.caps = FI_MULTI_RECV});
	set_least(&node, 100);
	if (!sender) {
		post_one(&node, buffer, 2 * LONG, &node, 0);
		CHECK_EQ(fi_cancel(&node.ep->fid, &node), 0);
		wait_error(node.rx_cq, &error);
		CHECK_EQ(error.err, FI_ECANCELED);
		CHECK(error.flags & FI_MULTI_RECV);
		post_one(&node, buffer, 2 * LONG, &node, 0);
	}
	aside_sync();
	if (sender) {
		message_init(&message, LONG, 1);
		message_fill(&message, 3);
		message_send(&node, &message);
		wait_sent(&node, &message);
		message_free(&message);
	} else {
		/* Some of it is there, and probably not all. */
		for (volatile char *first = buffer + 100; !*first;)
			fi_cq_read(node.rx_cq, &entry, 0);
		CHECK_EQ(fi_cancel(&node.ep->fid, &node), 0);
		while (fi_cq_read(node.rx_cq, &entry, 1) != 1)
			continue;
		CHECK_EQ(entry.len, LONG);
		CHECK(!(entry.flags & FI_MULTI_RECV));
		content_check(buffer, 3, LONG);
		wait_error(node.rx_cq, &error);
		CHECK_EQ(error.err, FI_ECANCELED);
		CHECK(error.op_context == &node);
	}
	node_close_pair(&node);
	free(buffer);
}

/* Best-effort messages, a buffer that comes after some of them. */
static void test_multi_datagrams(bool sender)
{
	enum { LEN = 200, MANY = 20 };
	static char buffer[MANY * LEN];
	struct completion completion;
	struct node node;

	node_open_pair(&node, &(struct node_options){.type = FI_EP_DGRAM, .caps = FI_MULTI_RECV});
	set_least(&node, LEN);
	for (unsigned i = 0; sender && i < MANY / 2; i++)
		send_one(&node, LEN, i);
	aside_sync();
	if (!sender)
		post_one(&node, buffer, sizeof(buffer), &node, 0);
	aside_sync();
	for (unsigned i = MANY / 2; sender && i < MANY; i++)
		send_one(&node, LEN, i);
	for (unsigned i = 0; !sender && i < MANY; i++) {
		wait_completion(node.rx_cq, &completion);
		CHECK(completion.entry.buf == buffer + i * LEN);
		content_check(buffer + i * LEN, i, LEN);
		CHECK_EQ(!!(completion.entry.flags & FI_MULTI_RECV), i + 1 == MANY);
	}
	node_close_pair(&node);
}

/* Closed with a buffer in use; wrong arguments are refused. */
static void test_multi_close(bool sender)
{
	struct iovec iov[2] = {{0}};
	struct fi_msg msg = {.msg_iov = iov, .iov_count = 2, .addr = FI_ADDR_UNSPEC};
	static char buffer[10000];
	size_t least = 0, len = 1;
	struct node node;

	node_open_pair(&node, &(struct node_options){.caps = FI_MULTI_RECV});
	CHECK_EQ(fi_recvmsg(node.ep, &msg, FI_MULTI_RECV), -FI_EINVAL);
	CHECK_EQ(fi_setopt(&node.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, 1),
		 -FI_EINVAL);
	CHECK_EQ(fi_getopt(&node.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &len),
		 -FI_ETOOSMALL);
	CHECK_EQ(len, sizeof(least));
	CHECK_EQ(fi_setopt(&node.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &least, 8),
		 -FI_ENOPROTOOPT);
	CHECK_EQ(fi_getopt(&node.ep->fid, FI_OPT_ENDPOINT, 12345, &least, &len), -FI_ENOPROTOOPT);
	set_least(&node, 100);
	if (!sender)
		post_one(&node, buffer, sizeof(buffer), &node, 0);
	aside_sync();
	if (sender)
		send_one(&node, 1000, 1);
	node_close_pair(&node);
}

const struct test multi_tests[] = {
	{.name = "multi", .run = test_multi, .both_ways = true},
	{.name = "multi_unexpected", .run = test_multi_unexpected, .both_ways = true},
	{.name = "multi_selective", .run = test_multi_selective},
	{.name = "multi_truncated", .run = test_multi_truncated, .both_ways = true},
	{.name = "multi_cancel", .run = test_multi_cancel, .both_ways = true},
	{.name = "multi_datagrams", .run = test_multi_datagrams},
	{.name = "multi_close", .run = test_multi_close},
	{0},
};
