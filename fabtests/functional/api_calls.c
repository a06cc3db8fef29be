// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: calls that no message depends on, with right and wrong arguments. */
#include "api.h"

#include <string.h>

static void test_flags(bool sender)
{
	uint64_t flags = FI_TRANSMIT;
	struct fid_ep *alias = NULL;
	struct node node;
	char byte = 0;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1};

	(void) sender;
	node_open_pair(&node, &(struct node_options){0});
	msg.addr = node.peer;
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_MULTICAST), -FI_EBADFLAGS);
	CHECK_EQ(fi_control(&node.ep->fid, FI_GETOPSFLAG, &flags), 0);
	CHECK(flags & FI_INJECT_COMPLETE);
	flags = FI_TRANSMIT | FI_RECV;
	CHECK_EQ(fi_control(&node.ep->fid, FI_GETOPSFLAG, &flags), -FI_EINVAL);
	CHECK_EQ(fi_control(&node.ep->fid, FI_GETOPSFLAG, NULL), -FI_EINVAL);
	flags = FI_TRANSMIT | FI_DELIVERY_COMPLETE;
	CHECK_EQ(fi_control(&node.ep->fid, FI_SETOPSFLAG, &flags), 0);
	flags = FI_TRANSMIT;
	CHECK_EQ(fi_control(&node.ep->fid, FI_GETOPSFLAG, &flags), 0);
	CHECK_EQ(flags, FI_DELIVERY_COMPLETE);
	CHECK_EQ(fi_control(&node.ep->fid, FI_BACKLOG, &flags), -FI_ENOSYS);
	CHECK_EQ(fi_control(&node.ep->fid, 12345, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_ep_alias(node.ep, &alias, 0), -FI_EINVAL);
	CHECK_EQ(fi_ep_alias(node.ep, &alias, FI_TRANSMIT | FI_COMPLETION), 0);
	CHECK_EQ(fi_close(&node.ep->fid), -FI_EBUSY);
	CHECK_EQ(fi_send(alias, &byte, 1, NULL, 77, NULL), -FI_EINVAL);
	CHECK_EQ(fi_close(&alias->fid), 0);
	CHECK_EQ(fi_enable(node.ep), 0); /* it is already */
	node_close_pair(&node);
}

static void test_binding(bool sender)
{
	struct fid_ep *ep;
	struct node node;

	(void) sender;
	node_open_pair(&node, &(struct node_options){.events = true, .counters = true});
	CHECK_EQ(fi_ep_bind(node.ep, &node.av->fid, 0), -FI_EOPBADSTATE);
	CHECK_EQ(fi_ep_bind(node.ep, &node.tx_cntr->fid, FI_SEND), -FI_EINVAL); /* it has one */
	CHECK_EQ(fi_endpoint(node.domain, node.info, &ep, NULL), 0);
	CHECK_EQ(fi_enable(ep), -FI_ENOAV);
	CHECK_EQ(fi_ep_bind(ep, &node.domain->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_ep_bind(ep, &node.tx_cq->fid, 0), -FI_EBADFLAGS);
	CHECK_EQ(fi_ep_bind(ep, &node.tx_cq->fid, FI_TRANSMIT | FI_MORE), -FI_EBADFLAGS);
	CHECK_EQ(fi_ep_bind(ep, &node.tx_cntr->fid, FI_MORE), -FI_EBADFLAGS);
	CHECK_EQ(fi_ep_bind(ep, &node.av->fid, 0), 0);
	CHECK_EQ(fi_ep_bind(ep, &node.av->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_enable(ep), -FI_ENOCQ);
	CHECK_EQ(fi_ep_bind(ep, &node.tx_cq->fid, FI_TRANSMIT), 0);
	CHECK_EQ(fi_ep_bind(ep, &node.tx_cq->fid, FI_TRANSMIT), -FI_EINVAL);
	CHECK_EQ(fi_enable(ep), -FI_ENOCQ);
	CHECK_EQ(fi_send(ep, NULL, 0, NULL, node.peer, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_recv(ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_close(&node.av->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&node.tx_cq->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&node.eq->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&node.domain->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&node.fabric->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&ep->fid), 0);
	node_close_pair(&node);
}

static void open_with_caps(struct node *node, uint64_t caps, struct fid_ep **ep)
{
	struct fi_info *info = fi_dupinfo(node->info);

	info->caps = caps;
	info->tx_attr->caps = info->rx_attr->caps = 0;
	CHECK_EQ(fi_endpoint(node->domain, info, ep, NULL), 0);
	CHECK_EQ(fi_ep_bind(*ep, &node->av->fid, 0), 0);
	fi_freeinfo(info);
}

/* Only a direction that the capabilities allow needs a queue. */
static void open_half(struct node *node, uint64_t caps, uint64_t direction, struct fid_ep **ep)
{
	open_with_caps(node, caps, ep);
	CHECK_EQ(fi_enable(*ep), -FI_ENOCQ);
	CHECK_EQ(fi_ep_bind(*ep, &(direction == FI_SEND ? node->tx_cq : node->rx_cq)->fid,
			    direction),
		 0);
	CHECK_EQ(fi_enable(*ep), 0);
}

/* The target of operations on memory initiates nothing that could complete. */
static void open_target(struct node *node)
{
	struct fid_ep *ep;

	open_with_caps(node, FI_RMA | FI_REMOTE_WRITE, &ep);
	CHECK_EQ(fi_enable(ep), 0);
	CHECK_EQ(fi_close(&ep->fid), 0);
}

static void test_one_direction(bool sender)
{
	static const uint64_t senders[] = {FI_MSG | FI_SEND, FI_RMA | FI_READ | FI_WRITE};
	static const uint64_t receivers[] = {FI_MSG | FI_RECV,
					     FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_WRITE};
	struct fid_ep *own = NULL, *ep;
	struct node node;

	node_open_pair(&node, &(struct node_options){.caps = FI_RMA});
	for (unsigned i = 0; i < 2; i++) {
		open_half(&node, receivers[i], FI_RECV, &ep);
		CHECK_EQ(fi_close(&ep->fid), 0);
		open_half(&node, senders[i], FI_SEND, &ep);
		CHECK_EQ(fi_close(&ep->fid), 0);
	}
	open_target(&node);
	if (sender) {
		own = node.ep;
		open_half(&node, FI_MSG | FI_SEND, FI_SEND, &node.ep);
		send_one(&node, 100, 1);
		send_one(&node, 100000, 2);
		aside_sync();
		CHECK_EQ(fi_close(&node.ep->fid), 0);
		node.ep = own;
	} else {
		receive_one(&node, 100, 1);
		receive_one(&node, 100000, 2);
		aside_sync();
	}
	node_close_pair(&node);
}

/* A refused call leaves nothing behind: the counter stays unbound. */
static void test_bind_counter(bool sender)
{
	struct fid_cntr *first, *second;
	struct fid_ep *ep;
	struct node node;

	(void) sender;
	node_open(&node, &(struct node_options){0});
	CHECK_EQ(fi_cntr_open(node.domain, NULL, &first, NULL), 0);
	CHECK_EQ(fi_cntr_open(node.domain, NULL, &second, NULL), 0);
	CHECK_EQ(fi_endpoint(node.domain, node.info, &ep, NULL), 0);
	CHECK_EQ(fi_ep_bind(ep, &first->fid, FI_RECV), 0);
	CHECK_EQ(fi_ep_bind(ep, &second->fid, FI_SEND | FI_RECV), -FI_EINVAL);
	CHECK_EQ(fi_close(&second->fid), 0);
	CHECK_EQ(fi_close(&ep->fid), 0);
	CHECK_EQ(fi_close(&first->fid), 0);
	node_close(&node);
}

static void bind_counters(struct node *node)
{
	CHECK_EQ(fi_cntr_open(node->domain, NULL, &node->tx_cntr, NULL), 0);
	CHECK_EQ(fi_cntr_open(node->domain, NULL, &node->rx_cntr, NULL), 0);
	CHECK_EQ(fi_ep_bind(node->ep, &node->tx_cntr->fid, FI_SEND), 0);
	CHECK_EQ(fi_ep_bind(node->ep, &node->rx_cntr->fid, FI_RECV), 0);
}

/* Those that are bound to an enabled endpoint count from then on, injected messages too. */
static void test_bind_counter_late(bool sender)
{
	enum { BEFORE = 3, AFTER = 20 };
	double end = now() + PATIENCE_S;
	struct message message;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; i < BEFORE + AFTER; i++) {
		if (i == BEFORE) {
			aside_sync();
			bind_counters(&node);
			aside_sync();
		}
		message_init(&message, 8, 1);
		message.tagged = i & 2;
		message.send = i & 1 ? INJECT : SEND;
		if (sender) {
			send_filled(&node, &message, i);
		} else {
			message_receive(&node, &message);
			receive_filled(&node, &message, i);
		}
	}
	while (fi_cntr_read(sender ? node.tx_cntr : node.rx_cntr) < AFTER)
		CHECK(now() < end);
	CHECK_EQ(fi_cntr_read(node.tx_cntr), sender ? AFTER : 0);
	CHECK_EQ(fi_cntr_read(node.rx_cntr), sender ? 0 : AFTER);
	node_close_pair(&node);
}

static struct fi_info *ask(const struct fi_info *hints)
{
	struct fi_info *info;

	CHECK_EQ(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), 0);
	return info;
}

/* Of several NICs it is the open domain's that is the answer. */
static void ask_for_other_domain(struct node *node, struct fi_info *hints)
{
	const char *own = node->info->domain_attr->name;
	struct fi_info *all = fi_allocinfo(), *list, *other, *info;
	struct fid_domain *domain;

	all->fabric_attr->prov_name = strdup("gamma");
	list = ask(all);
	for (other = list; other && !strcmp(other->domain_attr->name, own); other = other->next)
		;
	if (other) {
		CHECK_EQ(fi_domain(node->fabric, other, &domain, NULL), 0);
		hints->domain_attr->domain = domain;
		info = ask(hints);
		CHECK(!strcmp(info->domain_attr->name, other->domain_attr->name));
		CHECK(info->domain_attr->domain == domain);
		fi_freeinfo(info);
		CHECK_EQ(fi_close(&domain->fid), 0);
	}
	fi_freeinfo(list);
	fi_freeinfo(all);
}

/* fi_getinfo reports the open objects, and answers for one of them alone if given. */
static void test_opened(bool sender)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct node node;

	(void) sender;
	hints->caps = FI_MSG;
	hints->fabric_attr->prov_name = strdup("gamma");
	node_open(&node, &(struct node_options){0});
	info = ask(hints);
	CHECK(info->fabric_attr->fabric == node.fabric);
	CHECK(info->domain_attr->domain == node.domain);
	fi_freeinfo(info);
	/* Rejects what does not fit: another version, or missing capabilities. */
	CHECK_EQ(fi_getinfo(FI_VERSION(1, 16), NULL, NULL, 0, hints, &info), 0);
	CHECK(!info->fabric_attr->fabric && !info->domain_attr->domain);
	fi_freeinfo(info);
	hints->caps |= FI_RMA;
	info = ask(hints);
	CHECK(info->fabric_attr->fabric == node.fabric && !info->domain_attr->domain);
	fi_freeinfo(info);
	hints->caps = FI_MSG;
	hints->fabric_attr->fabric = node.fabric;
	ask_for_other_domain(&node, hints);
	hints->domain_attr->domain = node.domain;
	info = ask(hints);
	CHECK(!strcmp(info->domain_attr->name, node.info->domain_attr->name));
	fi_freeinfo(info);
	node_close(&node);
	CHECK_EQ(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->fabric_attr->fabric = NULL;
	hints->domain_attr->domain = NULL;
	info = ask(hints);
	CHECK(!info->fabric_attr->fabric && !info->domain_attr->domain);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* A receive may be content with less than it gets. */
static void test_receive_level(bool sender)
{
	struct node_options options = {.rx_op_flags = FI_TRANSMIT_COMPLETE};
	struct message message;
	struct node node;

	node_open_pair(&node, &options);
	CHECK_EQ(node.info->rx_attr->op_flags, FI_TRANSMIT_COMPLETE);
	for (unsigned i = 0; i < 4; i++) {
		message_init(&message, 100, 1);
		message.tagged = i & 1;
		message.recv = i & 2 ? RECVMSG : RECV;
		if (sender) {
			send_filled(&node, &message, i);
			continue;
		}
		message.flags = FI_TRANSMIT_COMPLETE;
		message_receive(&node, &message);
		receive_filled(&node, &message, i);
	}
	node_close_pair(&node);
}

static void test_refused_messages(bool sender)
{
	struct iovec iov[PIECES + 1] = {{0}};
	struct fi_msg msg = {.msg_iov = iov, .iov_count = PIECES + 1};
	struct fi_msg_tagged tagged = {.msg_iov = iov, .iov_count = PIECES + 1};
	static char big[1 << 21];
	struct node node;

	(void) sender;
	node_open_pair(&node, &(struct node_options){0});
	msg.addr = tagged.addr = node.peer;
	CHECK_EQ(fi_sendmsg(node.ep, &msg, 0), -FI_EINVAL);
	CHECK_EQ(fi_tsendmsg(node.ep, &tagged, 0), -FI_EINVAL);
	CHECK_EQ(fi_recvmsg(node.ep, &msg, 0), -FI_EINVAL);
	CHECK_EQ(fi_trecvmsg(node.ep, &tagged, 0), -FI_EINVAL);
	/* Together they seem to be two bytes. */
	msg.iov_count = tagged.iov_count = 2;
	iov[0].iov_len = SIZE_MAX;
	iov[1].iov_len = 3;
	CHECK_EQ(fi_sendmsg(node.ep, &msg, 0), -FI_EINVAL);
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_INJECT), -FI_EINVAL);
	CHECK_EQ(fi_trecvmsg(node.ep, &tagged, 0), -FI_EINVAL);
	iov[0].iov_len = iov[1].iov_len = 0;
	msg.iov_count = tagged.iov_count = 1;
	CHECK_EQ(fi_sendmsg(node.ep, &msg, 1ull << 59), -FI_EBADFLAGS);
	/* That all before them have been matched. */
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_FENCE | FI_MATCH_COMPLETE), -FI_EBADFLAGS);
	CHECK_EQ(fi_tsendmsg(node.ep, &tagged, FI_FENCE | FI_MATCH_COMPLETE), -FI_EBADFLAGS);
	CHECK_EQ(fi_recvmsg(node.ep, &msg, FI_INJECT), -FI_EBADFLAGS);
	CHECK_EQ(fi_trecvmsg(node.ep, &tagged, FI_MULTI_RECV), -FI_EBADFLAGS);
	CHECK_EQ(fi_trecvmsg(node.ep, &tagged, FI_DISCARD), -FI_EINVAL);
	CHECK_EQ(fi_trecvmsg(node.ep, &tagged, FI_CLAIM), -FI_EINVAL); /* no context */
	tagged.context = &node;
	CHECK_EQ(fi_trecvmsg(node.ep, &tagged, FI_CLAIM), -FI_EINVAL); /* nothing claimed by it */
	CHECK_EQ(fi_inject(node.ep, big, sizeof(big), node.peer), -FI_EMSGSIZE);
	CHECK_EQ(fi_send(node.ep, big, 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_EINVAL);
	CHECK_EQ(fi_cancel(&node.ep->fid, &msg), 0); /* no such operation: nothing happens */
	expect_nothing(node.rx_cq);
	CHECK_EQ(fi_shutdown(node.ep, 0), -FI_ENOSYS);
	CHECK_EQ(fi_connect(node.ep, big, NULL, 0), -FI_ENOSYS);
	node_close_pair(&node);
}

const struct test call_tests[] = {
	{.name = "flags", .run = test_flags},
	{.name = "binding", .run = test_binding},
	{.name = "one_direction", .run = test_one_direction, .both_ways = true},
	{.name = "bind_counter", .run = test_bind_counter},
	{.name = "bind_counter_late", .run = test_bind_counter_late, .both_ways = true},
	{.name = "opened", .run = test_opened},
	{.name = "receive_level", .run = test_receive_level},
	{.name = "refused_messages", .run = test_refused_messages},
	{0},
};
