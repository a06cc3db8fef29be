// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: every call, every size around a boundary, order, and many messages at once. */
#include "api.h"

#include <stdlib.h>
#include <string.h>

/* One message from the sender to the receiver, whose receive is posted before or after it comes. */
struct transfer {
	enum send_kind send;
	enum recv_kind recv;
	bool tagged, posted_late;
	size_t len, segments;
	unsigned seed;
};

static void set_call(struct message *message, const struct transfer *transfer)
{
	message->send = transfer->send;
	message->recv = transfer->recv;
	message->tagged = transfer->tagged;
	message->tag = 0xfedcba9876543210ull ^ transfer->seed;
	message->has_data = transfer->send == SENDDATA || transfer->send == INJECTDATA;
	message->data = 0x0123456789abcdefull ^ transfer->seed;
}

static void transfer_send(struct node *node, const struct transfer *transfer)
{
	struct message message;

	message_init(&message, transfer->len, transfer->segments);
	message_fill(&message, transfer->seed);
	set_call(&message, transfer);
	if (!transfer->posted_late)
		aside_sync();
	message_send(node, &message);
	if (transfer->posted_late)
		aside_sync();
	wait_sent(node, &message);
	message_free(&message);
}

static void transfer_receive(struct node *node, const struct transfer *transfer)
{
	struct message message;

	message_init(&message, transfer->len, transfer->segments);
	set_call(&message, transfer);
	if (transfer->posted_late) {
		aside_sync();
		expect_nothing(node->rx_cq);
	}
	message_receive(node, &message);
	if (!transfer->posted_late)
		aside_sync();
	receive_filled(node, &message, transfer->seed);
}

static void move(struct node *node, bool sender, const struct transfer *transfer)
{
	if (sender)
		transfer_send(node, transfer);
	else
		transfer_receive(node, transfer);
}

static void test_calls(bool sender)
{
	struct transfer transfer = {.len = 100};
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (int send = 0; send < SEND_KINDS; send++)
		for (int recv = 0; recv < RECV_KINDS; recv++)
			for (int i = 0; i < 4; i++) {
				transfer.send = (enum send_kind) send;
				transfer.recv = (enum recv_kind) recv;
				transfer.tagged = i & 1;
				transfer.posted_late = i & 2;
				transfer.segments =
					(send == SENDV || send == SENDMSG) && recv != RECV ? 3 : 1;
				transfer.seed++;
				move(&node, sender, &transfer);
			}
	node_close_pair(&node);
}

static void move_in_all_ways(struct node *node, bool sender, size_t len)
{
	struct transfer transfer = {.len = len, .segments = 1, .seed = (unsigned) len};

	for (int i = 0; i < 4; i++) {
		transfer.tagged = i & 1;
		transfer.posted_late = i & 2;
		transfer.send = i == 1 ? SENDDATA : SEND;
		transfer.seed++;
		move(node, sender, &transfer);
	}
}

static void test_sizes(bool sender)
{
	struct node node;
	struct sizes sizes;

	node_open_pair(&node, &(struct node_options){0});
	node_sizes(&node, &sizes);
	const size_t around[] = {1,         sizes.inject,  sizes.eager, 1500,
				 sizes.mtu, 2 * sizes.mtu, 65536,       1 << 20};

	for (size_t i = 0; i < sizeof(around) / sizeof(*around); i++)
		for (size_t len = around[i] - 1; len <= around[i] + 1; len++)
			move_in_all_ways(&node, sender, len);
	node_close_pair(&node);
}

/* With every length of header the payload of one frame ends somewhere here. */
static void test_frame_boundary(bool sender)
{
	struct transfer transfer = {.segments = 1};
	struct node node;
	struct sizes sizes;

	node_open_pair(&node, &(struct node_options){0});
	node_sizes(&node, &sizes);
	for (size_t len = 1500 - 120; len <= 1500; len++) {
		transfer.len = len;
		transfer.seed = (unsigned) len;
		transfer.tagged = len & 1;
		move(&node, sender, &transfer);
	}
	for (size_t len = sizes.mtu - 120; sizes.mtu != 1500 && len <= sizes.mtu; len++) {
		transfer.len = len;
		transfer.seed = (unsigned) len;
		transfer.tagged = len & 1;
		move(&node, sender, &transfer);
	}
	node_close_pair(&node);
}

static void test_64_mib(bool sender)
{
	struct transfer transfer = {.len = 64 << 20, .segments = 1, .seed = 64};
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	move(&node, sender, &transfer);
	node_close_pair(&node);
}

/* Pieces with gaps between them, an empty one too, in different places on both sides. */
static void test_iovecs(bool sender)
{
	static const size_t lens[] = {0, 1, 9, 1400, 5000, 16384, 100000, 1 << 20};
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (size_t segments = 2; segments <= PIECES; segments += 3) {
			struct transfer transfer = {
				.send = segments == 2 ? SENDV : SENDMSG,
				.recv = segments == 2 ? RECVMSG : RECVV,
				.tagged = i & 1,
				.posted_late = segments == 5,
				.len = lens[i],
				.segments = sender ? segments : PIECES + 1 - segments / 2,
				.seed = (unsigned) (i * 10 + segments),
			};

			if (transfer.segments > PIECES)
				transfer.segments = PIECES;
			move(&node, sender, &transfer);
		}
	node_close_pair(&node);
}

static void test_cq_data_bits(bool sender)
{
	struct message message;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	message_init(&message, 8, 1);
	for (int bit = 0; bit <= 64; bit++) {
		message.send = bit & 1 ? SENDDATA : INJECTDATA;
		message.tagged = bit & 2;
		message.has_data = true;
		message.tag = message.data = bit < 64 ? 1ull << bit : UINT64_MAX;
		message.is_silent = !(bit & 1);
		message.addr = sender ? node.peer : FI_ADDR_UNSPEC;
		if (sender) {
			message_send(&node, &message);
			wait_sent(&node, &message);
		} else {
			message_receive(&node, &message);
			wait_received(&node, &message, 8);
		}
	}
	message_free(&message);
	node_close_pair(&node);
}

enum { INJECTIONS = 2000 };

/* The buffer belongs to the sender again when fi_inject returns, also behind a backlog. */
static void test_inject_reuse(bool sender)
{
	struct message message;
	struct sizes sizes;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	node_sizes(&node, &sizes);
	for (unsigned i = 0; i < INJECTIONS; i++) {
		size_t len = i % 7 ? i % 200 : sizes.inject;

		message_init(&message, len, 1);
		message.send = INJECT;
		if (sender) {
			message_fill(&message, i);
			message_send(&node, &message);
			memset(message.iov[0].iov_base, 0xEE, len);
		} else {
			message_receive(&node, &message);
			wait_received(&node, &message, len);
			message_check(&message, i, len);
		}
		message_free(&message);
	}
	node_close_pair(&node);
}

enum { STREAM = 1000 };

static size_t random_len(unsigned i)
{
	static const size_t limits[] = {100, 2000, 20000, 60000};

	srandom(i);
	return (size_t) random() % limits[random() % 4];
}

static void stream_out(struct node *node, struct message *messages)
{
	for (unsigned i = 0; i < STREAM; i++) {
		message_init(&messages[i], random_len(i), 1);
		message_fill(&messages[i], i);
		messages[i].tagged = true;
		messages[i].tag = 5;
		message_send(node, &messages[i]);
	}
	for (unsigned i = 0; i < STREAM; i++) {
		wait_done(node->tx_cq, &messages[i]);
		message_free(&messages[i]);
	}
}

/* Receives of one tag match in the order of sending, though they may end in another. */
static void stream_in(struct node *node, struct message *messages, unsigned ahead)
{
	for (unsigned i = 0; i < STREAM + ahead; i++) {
		if (i < STREAM) {
			message_init(&messages[i], random_len(i), 1);
			messages[i].tagged = true;
			messages[i].tag = 5;
			message_receive(node, &messages[i]);
		}
		if (i < ahead)
			continue;
		wait_done(node->rx_cq, &messages[i - ahead]);
		message_check(&messages[i - ahead], i - ahead, messages[i - ahead].len);
		message_free(&messages[i - ahead]);
	}
}

/* Each receive is exactly as long as the message that must match it: another one is truncated or
 * short.
 */
static void test_order(bool sender)
{
	static const unsigned ahead[] = {1, 64, STREAM};
	struct message *messages = calloc(STREAM, sizeof(*messages));
	struct node node;

	CHECK(messages);
	node_open_pair(&node, &(struct node_options){0});
	for (size_t i = 0; i < sizeof(ahead) / sizeof(*ahead); i++) {
		if (sender)
			stream_out(&node, messages);
		else
			stream_in(&node, messages, ahead[i]);
		aside_sync();
	}
	free(messages);
	node_close_pair(&node);
}

enum { FLOOD = 3000, FLOOD_LEN = 3000 };

/* More sends than an endpoint holds, to a receiver that sleeps: -FI_EAGAIN, and nothing is lost. */
static void test_many_outstanding(bool sender)
{
	struct message *messages = calloc(FLOOD, sizeof(*messages));
	struct node node;

	CHECK(messages);
	node_open_pair(&node, &(struct node_options){0});
	if (!sender)
		nap(300);
	for (unsigned i = 0; i < FLOOD; i++) {
		message_init(&messages[i], FLOOD_LEN, 1);
		if (sender) {
			message_fill(&messages[i], i);
			message_send(&node, &messages[i]);
		} else {
			message_receive(&node, &messages[i]);
		}
	}
	for (unsigned i = 0; i < FLOOD; i++) {
		wait_done(sender ? node.tx_cq : node.rx_cq, &messages[i]);
		if (!sender)
			message_check(&messages[i], i, FLOOD_LEN);
		message_free(&messages[i]);
	}
	free(messages);
	node_close_pair(&node);
}

enum { BOTH = 200, BOTH_LEN = 100000 };

static void test_both_directions(bool sender)
{
	static struct message out[BOTH], in[BOTH];
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; i < BOTH; i++) {
		message_init(&in[i], BOTH_LEN, 1);
		message_receive(&node, &in[i]);
	}
	for (unsigned i = 0; i < BOTH; i++) {
		message_init(&out[i], BOTH_LEN, 1);
		message_fill(&out[i], 2 * i + sender);
		message_send(&node, &out[i]);
	}
	for (unsigned i = 0; i < BOTH; i++) {
		wait_done(node.tx_cq, &out[i]);
		wait_done(node.rx_cq, &in[i]);
		message_check(&in[i], 2 * i + !sender, BOTH_LEN);
		message_free(&out[i]);
		message_free(&in[i]);
	}
	node_close_pair(&node);
}

/* Impossible operations are refused at once, without effect. */
static void test_refused(bool sender)
{
	struct transfer transfer = {.len = 10, .segments = 1};
	struct iovec many[PIECES + 1] = {{0}};
	struct message message;
	struct sizes sizes;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	node_sizes(&node, &sizes);
	message_init(&message, sizes.inject + 1, 1);
	CHECK_EQ(fi_inject(node.ep, message.iov[0].iov_base, message.len, node.peer), -FI_EMSGSIZE);
	CHECK_EQ(fi_send(node.ep, message.iov[0].iov_base, 10, NULL, 12345, NULL), -FI_EINVAL);
	CHECK_EQ(fi_sendv(node.ep, many, NULL, PIECES + 1, node.peer, NULL), -FI_EINVAL);
	CHECK_EQ(fi_recvv(node.ep, many, NULL, PIECES + 1, FI_ADDR_UNSPEC, NULL), -FI_EINVAL);
	message_free(&message);
	move(&node, sender, &transfer);
	node_close_pair(&node);
}

/* Best effort: up to one frame, whole or not at all. */
static void test_datagrams(bool sender)
{
	struct transfer transfer = {.segments = 1};
	struct node node;

	node_open_pair(&node, &(struct node_options){.type = FI_EP_DGRAM});
	size_t max = node.info->ep_attr->max_msg_size;
	const size_t lens[] = {0, 1, 100, max - 1, max};

	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (int send = 0; send < SEND_KINDS; send++) {
			transfer.len = lens[i];
			transfer.send = (enum send_kind) send;
			if (send >= INJECT && lens[i] > node.info->tx_attr->inject_size)
				continue;
			transfer.seed++;
			move(&node, sender, &transfer);
		}
	CHECK_EQ(fi_send(node.ep, lens, max + 1, NULL, node.peer, NULL), -FI_EMSGSIZE);
	node_close_pair(&node);
}

const struct test transfer_tests[] = {
	{.name = "calls", .run = test_calls, .both_ways = true},
	{.name = "sizes", .run = test_sizes, .both_ways = true},
	{.name = "frame_boundary", .run = test_frame_boundary},
	{.name = "64_mib", .run = test_64_mib},
	{.name = "iovecs", .run = test_iovecs, .both_ways = true},
	{.name = "cq_data_bits", .run = test_cq_data_bits},
	{.name = "inject_reuse", .run = test_inject_reuse, .both_ways = true},
	{.name = "order", .run = test_order},
	{.name = "many_outstanding", .run = test_many_outstanding, .both_ways = true},
	{.name = "both_directions", .run = test_both_directions},
	{.name = "refused", .run = test_refused},
	{.name = "datagrams", .run = test_datagrams},
	{0},
};
