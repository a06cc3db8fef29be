// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: several endpoints that share one receive context. */
#include "api.h"

#include <stdlib.h>
#include <string.h>

enum { ENDPOINTS = 4, ROUNDS = 5 };

static const size_t kinds[] = {100, 10000, 200000};
enum { KINDS = sizeof(kinds) / sizeof(*kinds), MANY = ROUNDS * ENDPOINTS * KINDS };

/* The receiver's endpoints, all on one node; the sender knows them by their place in the table. */
struct family {
	struct node node;
	struct fid_ep *more[ENDPOINTS - 1];
	fi_addr_t to[ENDPOINTS]; /* at the sender */
};

static void open_family(struct family *family, bool sender, uint64_t caps, enum fi_ep_type type)
{
	struct node_options options = {.caps = caps, .type = type, .shared = !sender};
	static struct name names[ENDPOINTS];

	node_open_pair(&family->node, &options);
	for (unsigned i = 0; !sender && i < ENDPOINTS; i++) {
		if (i)
			family->more[i - 1] = node_another_endpoint(&family->node, &options);
		endpoint_name(i ? family->more[i - 1] : family->node.ep, &names[i]);
	}
	aside_exchange(names, names, sizeof(names));
	for (unsigned i = 0; sender && i < ENDPOINTS; i++)
		family->to[i] = i ? node_insert(&family->node, &names[i]) : family->node.peer;
}

static void close_family(struct family *family, bool sender)
{
	aside_sync();
	if (!sender)
		CHECK_EQ(fi_close(&family->node.srx->fid), -FI_EBUSY);
	for (unsigned i = 0; !sender && i < ENDPOINTS - 1; i++)
		if (family->more[i])
			CHECK_EQ(fi_close(&family->more[i]->fid), 0);
	node_close_pair(&family->node);
}

static void send_all(struct family *family, bool tagged)
{
	static struct message out[MANY];

	for (unsigned i = 0; i < MANY; i++) {
		message_init(&out[i], kinds[i / ENDPOINTS % KINDS], 1);
		message_fill(&out[i], i);
		out[i].send = SENDDATA;
		out[i].data = out[i].tag = i;
		out[i].tagged = tagged;
		out[i].addr = family->to[i % ENDPOINTS];
		message_send(&family->node, &out[i]);
	}
	aside_sync();
	for (unsigned i = 0; i < MANY; i++) {
		wait_done(family->node.tx_cq, &out[i]);
		message_free(&out[i]);
	}
}

/* Without tags any receive may get any message: the data says which. */
static void receive_all(struct family *family, bool tagged, bool late)
{
	static struct message in[MANY];
	bool seen[MANY] = {false};
	struct completion completion;
	struct message *message;

	if (late)
		aside_sync();
	for (unsigned i = 0; i < MANY; i++) {
		message_init(&in[i], 200000, 1);
		in[i].tagged = tagged;
		in[i].tag = i;
		message_receive(&family->node, &in[i]);
	}
	if (!late)
		aside_sync();
	for (unsigned i = 0; i < MANY; i++) {
		wait_completion(family->node.rx_cq, &completion);
		message = completion.entry.op_context;
		CHECK(completion.entry.data < MANY && !seen[completion.entry.data]);
		seen[completion.entry.data] = true;
		if (tagged)
			CHECK_EQ(message->tag, completion.entry.data);
		CHECK_EQ(completion.entry.len, kinds[completion.entry.data / ENDPOINTS % KINDS]);
		message_check(message, (unsigned) completion.entry.data, completion.entry.len);
		message_free(message);
	}
}

static void test_shared(bool sender)
{
	struct family family = {0};

	open_family(&family, sender, 0, FI_EP_RDM);
	for (unsigned variant = 0; variant < 4; variant++) {
		if (sender)
			send_all(&family, variant & 1);
		else
			receive_all(&family, variant & 1, variant & 2);
		aside_sync();
	}
	close_family(&family, sender);
}

static void send_to(struct family *family, unsigned endpoint, size_t len, unsigned seed)
{
	struct message message;

	message_init(&message, len, 1);
	message.tagged = true;
	message.tag = seed;
	message.addr = family->to[endpoint];
	send_filled(&family->node, &message, seed);
}

/* Its receiver has closed: it may have arrived before, or not. */
static void end_lost(struct node *node, struct message *lost)
{
	double end = now() + PATIENCE_S;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = {0};
	ssize_t ret;

	while ((ret = fi_cq_read(node->tx_cq, &entry, 1)) == -FI_EAGAIN)
		CHECK(now() < end);
	if (ret == -FI_EAVAIL)
		CHECK_EQ(fi_cq_readerr(node->tx_cq, &error, 0), 1);
	CHECK((ret == 1 ? entry.op_context : error.op_context) == lost);
}

/* Until it has come: what is not there gives an error each time. */
static void expect_peeked(struct family *family, uint64_t tag, size_t len)
{
	struct fi_msg_tagged msg = {.addr = FI_ADDR_UNSPEC, .tag = tag, .context = family};
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = {0};
	double end = now() + PATIENCE_S;
	ssize_t ret;

	do {
		CHECK(now() < end);
		CHECK_EQ(fi_trecvmsg(family->node.srx, &msg, FI_PEEK), 0);
		/* Others' completions are not looked at. */
		do
			ret = fi_cq_read(family->node.rx_cq, &entry, 1);
		while (ret == 1 && entry.op_context != family);
		if (ret == -FI_EAVAIL)
			CHECK_EQ(fi_cq_readerr(family->node.rx_cq, &error, 0), 1);
	} while (ret != 1);
	CHECK_EQ(entry.len, len);
}

/* One endpoint goes, with messages for it on their way and unread: the others go on. */
static void test_shared_close(bool sender)
{
	enum { LONG = 8 << 20 };
	struct family family = {0};
	struct message message, lost;
	struct fi_cq_tagged_entry entry;

	open_family(&family, sender, 0, FI_EP_RDM);
	if (sender) {
		/* An endpoint sends no BYE to a peer that it has not heard from. */
		send_to(&family, 1, 50, 4);
		send_to(&family, 1, 100, 1); /* never received */
		message_init(&lost, LONG, 1);
		lost.tagged = true;
		lost.tag = 2;
		lost.addr = family.to[1];
		message_send(&family.node, &lost);
		aside_sync();
		progress_all();
		aside_sync();
		end_lost(&family.node, &lost);
		send_to(&family, 0, 5000, 3);
		send_to(&family, 2, 5000, 3);
	} else {
		post_tag(&family.node, &message, 50, 4, 0);
		receive_filled(&family.node, &message, 4);
		post_tag(&family.node, &lost, LONG, 2, 0);
		aside_sync();
		/* Else it would not know which peers to send BYE to. */
		expect_peeked(&family, 1, 100);
		CHECK_EQ(fi_close(&family.more[0]->fid), 0);
		family.more[0] = NULL;
		while (fi_cq_read(family.node.rx_cq, &entry, 1) == 1)
			CHECK(entry.op_context == &lost); /* it may have been complete */
		aside_sync();
		for (unsigned i = 0; i < 2; i++) {
			post_tag(&family.node, &message, 5000, 3, 0);
			receive_filled(&family.node, &message, 3);
		}
	}
	close_family(&family, sender);
	message_free(&lost);
}

static void expect_cancelled(struct family *family, struct message *message)
{
	struct fi_cq_err_entry error;

	CHECK_EQ(fi_cancel(&family->node.srx->fid, message), 0);
	wait_error(family->node.rx_cq, &error);
	CHECK_EQ(error.err, FI_ECANCELED);
	CHECK(error.op_context == message);
	message_free(message);
}

/* The other calls: cancel, peek, sizes, flags; and what a shared context does not do. */
static void test_shared_calls(bool sender)
{
	struct family family = {0};
	struct message message;
	struct fid_ep *srx;
	uint64_t flags = FI_RECV;
	char byte = 0;

	open_family(&family, sender, 0, FI_EP_RDM);
	if (sender) {
		send_to(&family, 3, 100, 5);
		aside_sync();
		close_family(&family, sender);
		return;
	}
	aside_sync();
	srx = family.node.srx;
	expect_peeked(&family, 5, 100);
	post_tag(&family.node, &message, 100, 5, 0);
	receive_filled(&family.node, &message, 5);
	post_tag(&family.node, &message, 100, 6, 0);
	expect_cancelled(&family, &message);
	CHECK_EQ(srx->ops->rx_size_left(srx), (ssize_t) family.node.info->rx_attr->size);
	CHECK_EQ(srx->ops->tx_size_left(srx), -FI_ENOSYS);
	CHECK_EQ(fi_control(&srx->fid, FI_GETOPSFLAG, &flags), 0);
	CHECK_EQ(fi_send(srx, &byte, 1, NULL, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_recv(family.node.ep, &byte, 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOSYS);
	CHECK(fi_ep_bind(family.node.ep, &srx->fid, 0) < 0);
	close_family(&family, sender);
}

/* Each message goes to the right endpoint's queue, with the right source. */
static void test_shared_directed(bool sender)
{
	struct family family = {0};
	struct message message;

	open_family(&family, sender, FI_DIRECTED_RECV | FI_SOURCE, FI_EP_RDM);
	if (!sender) {
		message_init(&message, 100, 1);
		message.tagged = true;
		message.tag = 4;
		message.addr = family.node.peer;
		message_receive(&family.node, &message);
	}
	aside_sync();
	if (sender)
		send_to(&family, 2, 100, 4);
	else
		receive_filled(&family.node, &message, 4);
	close_family(&family, sender);
}

static struct fid_ep *endpoint_of(struct family *family, unsigned place)
{
	return place ? family->more[place - 1] : family->node.ep;
}

/* Which endpoint of the context its peer might have sent to does not matter, nor that one of them
 * has closed meanwhile. */
static void test_shared_directed_peer_closed(bool sender)
{
	for (unsigned closes = 0; closes < ENDPOINTS; closes++) {
		struct family family = {0};
		struct fi_cq_err_entry error;
		struct message message, first;

		open_family(&family, sender, FI_DIRECTED_RECV | FI_SOURCE, FI_EP_RDM);
		for (unsigned i = 0; i < ENDPOINTS; i++) {
			if (sender) {
				send_to(&family, i, 100, i);
				continue;
			}
			post_tag(&family.node, &first, 100, i, 0);
			receive_filled(&family.node, &first, i);
		}
		message_init(&message, 100, 1);
		message.addr = family.node.peer;
		if (!sender) {
			message_receive(&family.node, &message);
			CHECK_EQ(fi_close(&endpoint_of(&family, closes)->fid), 0);
			if (!closes)
				family.node.ep = family.more[ENDPOINTS - 2];
			family.more[(closes ? closes : ENDPOINTS - 1) - 1] = NULL;
			expect_nothing(family.node.rx_cq);
		}
		aside_sync();
		if (sender)
			node_close(&family.node);
		aside_sync();
		if (!sender) {
			wait_error(family.node.rx_cq, &error);
			CHECK_EQ(error.err, FI_ECONNRESET);
			CHECK(error.op_context == &message);
			for (unsigned i = 0; i < ENDPOINTS - 1; i++)
				if (family.more[i])
					CHECK_EQ(fi_close(&family.more[i]->fid), 0);
			node_close(&family.node);
		}
		message_free(&message);
	}
}

static void test_shared_datagrams(bool sender)
{
	struct family family = {0};
	struct message message;

	open_family(&family, sender, 0, FI_EP_DGRAM);
	for (unsigned late = 0; late < 2; late++) {
		for (unsigned i = 0; i < ENDPOINTS; i++) {
			message_init(&message, 300, 1);
			if (!sender && !late)
				message_receive(&family.node, &message);
			aside_sync();
			if (sender) {
				message.addr = family.to[i];
				message_fill(&message, i);
				message_send(&family.node, &message);
				wait_sent(&family.node, &message);
			}
			aside_sync();
			if (!sender && late)
				message_receive(&family.node, &message);
			if (!sender) {
				wait_received(&family.node, &message, 300);
				message_check(&message, i, 300);
			}
			message_free(&message);
		}
	}
	close_family(&family, sender);
}

/*
 * A transmit context for an endpoint that is enabled and has not announced it, and that outlives
 * it: so OpenSHMEM has it. One that has announced it holds it.
 */
static void test_shared_transmit_late(bool sender)
{
	struct family family = {0};
	struct node node = {0};
	struct fid_stx *stx;

	node_open_pair(&node, &(struct node_options){0});
	CHECK_EQ(fi_stx_context(node.domain, NULL, &stx, NULL), 0);
	CHECK_EQ(fi_ep_bind(node.ep, &stx->fid, 0), 0);
	CHECK_EQ(fi_close(&stx->fid), 0);
	node_close_pair(&node);
	open_family(&family, sender, 0, FI_EP_RDM);
	if (!sender) {
		CHECK_EQ(fi_ep_bind(family.node.ep, &family.node.stx->fid, 0), -FI_EINVAL);
		CHECK_EQ(fi_close(&family.node.stx->fid), -FI_EBUSY);
	}
	close_family(&family, sender);
}

/* An alias is the endpoint as it is, not as it was. */
static void test_shared_alias(bool sender)
{
	struct fid_ep *ep, *alias = NULL;
	struct node node = {0};
	char byte;

	(void) sender;
	node_open(&node, &(struct node_options){.shared = true});
	CHECK_EQ(fi_endpoint(node.domain, node.info, &ep, NULL), 0);
	CHECK_EQ(fi_ep_alias(ep, &alias, FI_RECV), 0);
	CHECK_EQ(fi_ep_bind(ep, &node.srx->fid, 0), 0);
	CHECK_EQ(fi_ep_bind(ep, &node.stx->fid, 0), 0);
	CHECK_EQ(fi_ep_bind(ep, &node.av->fid, 0), 0);
	CHECK_EQ(fi_ep_bind(ep, &node.tx_cq->fid, FI_TRANSMIT), 0);
	CHECK_EQ(fi_ep_bind(ep, &node.rx_cq->fid, FI_RECV), 0);
	CHECK_EQ(fi_enable(ep), 0);
	CHECK_EQ(fi_recv(ep, &byte, 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_recv(alias, &byte, 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_close(&alias->fid), 0);
	CHECK_EQ(fi_close(&ep->fid), 0);
	node_close(&node);
}

const struct test shared_tests[] = {
	{.name = "shared", .run = test_shared, .both_ways = true},
	{.name = "shared_close", .run = test_shared_close, .both_ways = true},
	{.name = "shared_alias", .run = test_shared_alias},
	{.name = "shared_calls", .run = test_shared_calls},
	{.name = "shared_directed", .run = test_shared_directed, .both_ways = true},
	{.name = "shared_directed_peer_closed",
	 .run = test_shared_directed_peer_closed,
	 .both_ways = true},
	{.name = "shared_datagrams", .run = test_shared_datagrams},
	{.name = "shared_transmit_late", .run = test_shared_transmit_late},
	{0},
};
