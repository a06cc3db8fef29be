// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: endpoints of several contexts (fi_scalable_ep). */
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { CONTEXTS = 4, BITS = 3 };

static const size_t kinds[] = {100, 10000, 200000};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

/* On a node whose own endpoint is not used. To api_message.c each context is a node. */
struct scalable {
	struct node node;
	struct fi_info *info;
	struct fid_av *av;
	struct fid_ep *sep;
	struct node tx[CONTEXTS], rx[CONTEXTS];
	fi_addr_t peer;
};

/* A context opened without attributes, or with some, reports those that the provider chose. */
static void open_both(struct scalable *all, unsigned i)
{
	const struct fi_info *whole = all->info;
	struct fi_tx_attr tx = {.size = 7};
	struct fi_rx_attr rx = {.size = 9};

	CHECK_EQ(fi_tx_context(all->sep, (int) i, i ? &tx : NULL, &all->tx[i].ep, NULL), 0);
	CHECK_EQ(fi_rx_context(all->sep, (int) i, i ? &rx : NULL, &all->rx[i].ep, NULL), 0);
	if (!i)
		return;
	CHECK_EQ(tx.size, 7);
	CHECK_EQ(tx.caps, whole->tx_attr->caps);
	CHECK_EQ(tx.op_flags, whole->tx_attr->op_flags);
	CHECK_EQ(tx.inject_size, whole->tx_attr->inject_size);
	CHECK_EQ(tx.iov_limit, PIECES);
	CHECK_EQ(rx.size, 9);
	CHECK_EQ(rx.caps, whole->rx_attr->caps);
	CHECK_EQ(rx.msg_order, whole->rx_attr->msg_order);
	CHECK_EQ(rx.iov_limit, PIECES);
}

static void open_context(struct scalable *all, unsigned i)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct node *tx = &all->tx[i], *rx = &all->rx[i];

	open_both(all, i);
	CHECK_EQ(fi_cq_open(all->node.domain, &attr, &tx->tx_cq, NULL), 0);
	CHECK_EQ(fi_cq_open(all->node.domain, &attr, &rx->rx_cq, NULL), 0);
	CHECK_EQ(fi_enable(tx->ep), -FI_ENOCQ);
	CHECK_EQ(fi_ep_bind(tx->ep, &tx->tx_cq->fid, FI_TRANSMIT), 0);
	CHECK_EQ(fi_ep_bind(rx->ep, &rx->rx_cq->fid, FI_RECV), 0);
	CHECK_EQ(fi_enable(tx->ep), 0);
	CHECK_EQ(fi_enable(rx->ep), 0);
}

static void check_arguments(struct scalable *all)
{
	struct fi_tx_attr tx_attr = *all->info->tx_attr;
	struct fi_rx_attr rx_attr = *all->info->rx_attr;
	struct name name = {.len = ADDR_MAX};
	struct fid_ep *ep;
	char byte = 0;

	CHECK_EQ(fi_endpoint(all->node.domain, all->info, &ep, NULL), -FI_EINVAL);
	CHECK_EQ(fi_tx_context(all->sep, CONTEXTS, NULL, &ep, NULL), -FI_EINVAL);
	CHECK_EQ(fi_rx_context(all->sep, -1, NULL, &ep, NULL), -FI_EINVAL);
	CHECK_EQ(fi_rx_context(all->sep, 0, NULL, &ep, NULL), -FI_EBUSY);
	tx_attr.inject_size = all->info->tx_attr->inject_size + 1;
	rx_attr.size = all->info->rx_attr->size + 1;
	CHECK_EQ(fi_tx_context(all->sep, 0, &tx_attr, &ep, NULL), -FI_EINVAL);
	CHECK_EQ(fi_rx_context(all->sep, 0, &rx_attr, &ep, NULL), -FI_EINVAL);
	CHECK_EQ(fi_send(all->rx[0].ep, &byte, 1, NULL, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_recv(all->tx[0].ep, &byte, 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_send(all->sep, &byte, 1, NULL, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_close(&all->sep->fid), -FI_EBUSY);
	name.len = 1;
	CHECK_EQ(fi_getname(&all->sep->fid, name.bytes, &name.len), -FI_ETOOSMALL);
	CHECK_EQ(fi_send(all->tx[0].ep, &byte, 1, NULL, fi_rx_addr(0, CONTEXTS, BITS), NULL),
		 -FI_EINVAL);
}

static void open_scalable(struct scalable *all)
{
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .rx_ctx_bits = BITS};
	struct name own = {.len = ADDR_MAX}, theirs;

	memset(all, 0, sizeof(*all));
	node_open(&all->node, &(struct node_options){.caps = FI_NAMED_RX_CTX | FI_SOURCE});
	all->info = fi_dupinfo(all->node.info);
	CHECK(all->info->domain_attr->max_ep_rx_ctx >= CONTEXTS);
	all->info->ep_attr->tx_ctx_cnt = all->info->ep_attr->rx_ctx_cnt = CONTEXTS;
	CHECK_EQ(fi_av_open(all->node.domain, &av_attr, &all->av, NULL), 0);
	CHECK_EQ(fi_scalable_ep(all->node.domain, all->info, &all->sep, NULL), 0);
	CHECK_EQ(fi_enable(all->sep), -FI_ENOAV);
	CHECK_EQ(fi_scalable_ep_bind(all->sep, &all->av->fid, 0), 0);
	for (unsigned i = 0; i < CONTEXTS; i++)
		open_context(all, i);
	CHECK_EQ(fi_enable(all->sep), 0);
	CHECK_EQ(fi_getname(&all->sep->fid, own.bytes, &own.len), 0);
	aside_exchange(&own, &theirs, sizeof(own));
	CHECK_EQ(fi_av_insert(all->av, theirs.bytes, 1, &all->peer, 0, NULL), 1);
	check_arguments(all);
}

static void close_scalable(struct scalable *all)
{
	aside_sync();
	for (unsigned i = 0; i < CONTEXTS; i++) {
		CHECK_EQ(fi_close(&all->rx[i].ep->fid), 0);
		CHECK_EQ(fi_close(&all->tx[i].ep->fid), 0);
		CHECK_EQ(fi_close(&all->rx[i].rx_cq->fid), 0);
		CHECK_EQ(fi_close(&all->tx[i].tx_cq->fid), 0);
	}
	CHECK_EQ(fi_close(&all->sep->fid), 0);
	CHECK_EQ(fi_close(&all->av->fid), 0);
	fi_freeinfo(all->info);
	node_close(&all->node);
}

/* From every context to every context; each receives its own messages and knows their source. */
static void test_scalable(bool sender)
{
	static struct message in[CONTEXTS][CONTEXTS], out[CONTEXTS][CONTEXTS];
	struct completion completion;
	struct scalable all;

	(void) sender;
	open_scalable(&all);
	for (unsigned k = 0; k < KINDS; k++) {
		for (unsigned from = 0; from < CONTEXTS; from++)
			for (unsigned to = 0; to < CONTEXTS; to++) {
				struct message *message = &in[to][from];

				message_init(message, kinds[k], 1);
				message->tagged = true;
				message->tag = from;
				message_receive(&all.rx[to], message);
				message = &out[from][to];
				message_init(message, kinds[k], 1);
				message_fill(message, 10 * from + to);
				message->tagged = true;
				message->tag = from;
				message->addr = fi_rx_addr(all.peer, (int) to, BITS);
				message_send(&all.tx[from], message);
			}
		for (unsigned i = 0; i < CONTEXTS * CONTEXTS; i++) {
			unsigned to = i / CONTEXTS, from;

			wait_completion(all.rx[to].rx_cq, &completion);
			from = (unsigned) completion.entry.tag;
			CHECK(completion.entry.op_context == &in[to][from]);
			CHECK_EQ(completion.source, all.peer);
			message_check(&in[to][from], 10 * from + to, kinds[k]);
			message_free(&in[to][from]);
		}
		for (unsigned i = 0; i < CONTEXTS * CONTEXTS; i++) {
			wait_completion(all.tx[i / CONTEXTS].tx_cq, &completion);
			message_free(completion.entry.op_context);
		}
	}
	close_scalable(&all);
}

/* The port of a context that could not be enabled is gone: it does not stand for another one. */
static void test_scalable_no_descriptors(bool sender)
{
	struct rlimit before, none;
	struct fid_ep *sep, *tx;
	struct node node;

	(void) sender;
	node_open(&node, &(struct node_options){.caps = FI_NAMED_RX_CTX});
	node.info->ep_attr->tx_ctx_cnt = node.info->ep_attr->rx_ctx_cnt = CONTEXTS;
	CHECK_EQ(fi_scalable_ep(node.domain, node.info, &sep, NULL), 0);
	CHECK_EQ(fi_scalable_ep_bind(sep, &node.av->fid, 0), 0);
	CHECK_EQ(fi_tx_context(sep, 0, NULL, &tx, NULL), 0);
	CHECK_EQ(fi_ep_bind(tx, &node.tx_cq->fid, FI_TRANSMIT), 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(fi_enable(tx), -FI_EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(fi_enable(tx), -FI_EBUSY);
	CHECK_EQ(fi_close(&tx->fid), 0);
	CHECK_EQ(fi_close(&sep->fid), 0);
	node_close(&node);
}

const struct test scalable_tests[] = {
	{.name = "scalable", .run = test_scalable},
	{.name = "scalable_no_descriptors", .run = test_scalable_no_descriptors},
	{0},
};
