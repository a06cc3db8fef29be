// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: control operations of objects: counters set by hand, options, queue sizes, texts,
 * names, and calls that this provider does not offer. */
#include "api.h"

#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_rma.h>
#include <string.h>

/* ---- counters ---- */

static void set_by_hand(struct fid_cntr *cntr)
{
	CHECK_EQ(fi_cntr_read(cntr), 0);
	CHECK_EQ(fi_cntr_add(cntr, 5), 0);
	CHECK_EQ(fi_cntr_read(cntr), 5);
	CHECK_EQ(fi_cntr_adderr(cntr, 2), 0);
	CHECK_EQ(fi_cntr_adderr(cntr, 1), 0);
	CHECK_EQ(fi_cntr_readerr(cntr), 3);
	CHECK_EQ(fi_cntr_seterr(cntr, 1), 0);
	CHECK_EQ(fi_cntr_readerr(cntr), 1);
	CHECK_EQ(fi_cntr_set(cntr, 1ull << 40), 0);
	CHECK_EQ(fi_cntr_read(cntr), 1ll << 40);
	CHECK_EQ(fi_cntr_wait(cntr, 1ull << 40, 0), 0);
	CHECK_EQ(fi_cntr_seterr(cntr, 0), 0);
	CHECK_EQ(fi_cntr_set(cntr, 0), 0);
	CHECK_EQ(fi_cntr_readerr(cntr), 0);
}

/* A threshold that is reached, one that is not, and an error that is reported once. */
static void wait_by_hand(struct fid_cntr *cntr)
{
	double begin;

	CHECK_EQ(fi_cntr_wait(cntr, 0, -1), 0);
	CHECK_EQ(fi_cntr_wait(cntr, 1, 0), -FI_ETIMEDOUT);
	begin = now();
	CHECK_EQ(fi_cntr_wait(cntr, 1, 40), -FI_ETIMEDOUT);
	CHECK(now() - begin > 0.035 && now() - begin < 5);
	CHECK_EQ(fi_cntr_add(cntr, 3), 0);
	CHECK_EQ(fi_cntr_wait(cntr, 3, -1), 0);
	CHECK_EQ(fi_cntr_wait(cntr, 4, 1), -FI_ETIMEDOUT);
	CHECK_EQ(fi_cntr_adderr(cntr, 1), 0);
	CHECK_EQ(fi_cntr_wait(cntr, 3, -1), 0); /* what is there is there */
	CHECK_EQ(fi_cntr_wait(cntr, 4, -1), -FI_EAVAIL);
	CHECK_EQ(fi_cntr_wait(cntr, 4, 1), -FI_ETIMEDOUT);
	CHECK_EQ(fi_cntr_seterr(cntr, 0), 0);
	CHECK_EQ(fi_cntr_set(cntr, 0), 0);
}

static void *add_later(void *cntr)
{
	nap(30);
	CHECK_EQ(fi_cntr_add(cntr, 1), 0);
	nap(30);
	CHECK_EQ(fi_cntr_set(cntr, 100), 0);
	nap(30);
	CHECK_EQ(fi_cntr_adderr(cntr, 1), 0);
	return NULL;
}

/* Calls of another thread wake a waiter: a change by hand counts. */
static void wait_for_thread(struct fid_cntr *cntr)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, add_later, cntr), 0);
	CHECK_EQ(fi_cntr_wait(cntr, 1, 1000 * PATIENCE_S), 0);
	CHECK_EQ(fi_cntr_wait(cntr, 100, -1), 0);
	CHECK_EQ(fi_cntr_wait(cntr, 101, -1), -FI_EAVAIL);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void test_counter_calls(bool sender)
{
	static const enum fi_wait_obj waits[] = {FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_FD,
						 FI_WAIT_YIELD};
	struct fi_cntr_attr attr = {.flags = 1};
	struct fid_cntr *cntr;
	struct node node;

	(void) sender;
	node_open(&node, &(struct node_options){0});
	CHECK_EQ(fi_cntr_open(node.domain, &attr, &cntr, NULL), -FI_EBADFLAGS);
	attr = (struct fi_cntr_attr){.wait_obj = FI_WAIT_MUTEX_COND};
	CHECK_EQ(fi_cntr_open(node.domain, &attr, &cntr, NULL), -FI_ENOSYS);
	for (unsigned i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		attr.wait_obj = waits[i];
		CHECK_EQ(fi_cntr_open(node.domain, &attr, &cntr, NULL), 0);
		set_by_hand(cntr);
		wait_by_hand(cntr);
		wait_for_thread(cntr);
		CHECK_EQ(fi_close(&cntr->fid), 0);
	}
	node_close(&node);
}

/* ---- options and flags of endpoints ---- */

/* As fi_tx_size_left and fi_rx_size_left, of which compilers warn: they are deprecated. */
static ssize_t tx_left(struct fid_ep *ep)
{
	return ep->ops->tx_size_left(ep);
}

static ssize_t rx_left(struct fid_ep *ep)
{
	return ep->ops->rx_size_left(ep);
}

static void test_options(bool sender)
{
	struct node_options options = {0};
	size_t value = 4711, len = sizeof(value);
	struct fid_ep *ep;
	struct node node;
	struct fid *fid;

	(void) sender;
	node_open(&node, &options);
	ep = node.ep;
	fid = &ep->fid;
	/* Before enabling as after it: an option belongs to the endpoint alone. */
	CHECK_EQ(fi_endpoint(node.domain, node.info, &ep, NULL), 0);
	CHECK_EQ(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, len), 0);
	CHECK_EQ(tx_left(ep), -FI_EOPBADSTATE);
	CHECK_EQ(rx_left(ep), -FI_EOPBADSTATE);
	value = 0;
	CHECK_EQ(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len), 0);
	CHECK_EQ(value, 4711);
	CHECK_EQ(fi_close(&ep->fid), 0);
	CHECK_EQ(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len), 0);
	CHECK(value != 4711);
	CHECK_EQ(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, NULL, &len), -FI_EINVAL);
	CHECK_EQ(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, NULL), -FI_EINVAL);
	CHECK_EQ(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, NULL, len), -FI_EINVAL);
	CHECK_EQ(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, 3), -FI_EINVAL);
	CHECK_EQ(fi_getopt(fid, 99, FI_OPT_MIN_MULTI_RECV, &value, &len), -FI_ENOPROTOOPT);
	CHECK_EQ(fi_setopt(fid, 99, FI_OPT_MIN_MULTI_RECV, &value, len), -FI_ENOPROTOOPT);
	CHECK_EQ(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &value, &len), -FI_ENOPROTOOPT);
	node_close(&node);
}

/* Wrong ones leave what was set before. */
static void test_default_flags(bool sender)
{
	uint64_t flags = FI_RECV | FI_COMPLETION;
	struct fi_alias no_place = {.fid = NULL, .flags = FI_TRANSMIT};
	struct fid_ep *alias = NULL, *again = NULL;
	struct node node;

	(void) sender;
	node_open(&node, &(struct node_options){0});
	CHECK_EQ(fi_control(&node.ep->fid, FI_SETOPSFLAG, &flags), 0);
	flags = FI_RECV | FI_COMPLETION | 1ull << 59;
	CHECK_EQ(fi_control(&node.ep->fid, FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
	flags = FI_RECV | FI_INJECT;
	CHECK_EQ(fi_control(&node.ep->fid, FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
	flags = FI_TRANSMIT | FI_MULTI_RECV;
	CHECK_EQ(fi_control(&node.ep->fid, FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
	flags = FI_TRANSMIT | FI_FENCE | FI_MATCH_COMPLETE;
	CHECK_EQ(fi_control(&node.ep->fid, FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
	flags = FI_COMPLETION; /* of which direction? */
	CHECK_EQ(fi_control(&node.ep->fid, FI_SETOPSFLAG, &flags), -FI_EINVAL);
	CHECK_EQ(fi_control(&node.ep->fid, FI_SETOPSFLAG, NULL), -FI_EINVAL);
	flags = FI_RECV;
	CHECK_EQ(fi_control(&node.ep->fid, FI_GETOPSFLAG, &flags), 0);
	CHECK_EQ(flags, FI_COMPLETION);
	CHECK_EQ(fi_control(&node.ep->fid, FI_ALIAS, NULL), -FI_EINVAL);
	CHECK_EQ(fi_control(&node.ep->fid, FI_ALIAS, &no_place), -FI_EINVAL);
	CHECK_EQ(fi_ep_alias(node.ep, &alias, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	CHECK_EQ(fi_ep_alias(node.ep, &alias, FI_TRANSMIT | 1ull << 59), -FI_EBADFLAGS);
	/* Each has flags of its own, and an alias of an alias holds the endpoint too. */
	CHECK_EQ(fi_ep_alias(node.ep, &alias, FI_RECV), 0);
	CHECK_EQ(fi_ep_alias(alias, &again, FI_RECV | FI_COMPLETION), 0);
	CHECK_EQ(fi_control(&alias->fid, FI_GETOPSFLAG, &flags), -FI_EINVAL);
	flags = FI_RECV;
	CHECK_EQ(fi_control(&alias->fid, FI_GETOPSFLAG, &flags), 0);
	CHECK_EQ(flags, 0);
	CHECK_EQ(fi_ep_bind(alias, &node.tx_cq->fid, FI_TRANSMIT), -FI_EINVAL);
	CHECK_EQ(fi_close(&alias->fid), 0);
	CHECK_EQ(fi_close(&node.ep->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&again->fid), 0);
	node_close(&node);
}

/* Each operation takes one place and gives it back, and there are no more than were promised. */
static void test_size_left(bool sender)
{
	enum { SOME = 5 };
	struct message messages[SOME];
	struct fi_cq_err_entry error;
	ssize_t rx_size, tx_size;
	struct node node;
	char byte;

	(void) sender;
	node_open_pair(&node, &(struct node_options){0});
	rx_size = (ssize_t) node.info->rx_attr->size;
	tx_size = (ssize_t) node.info->tx_attr->size;
	CHECK_EQ(rx_left(node.ep), rx_size);
	CHECK_EQ(tx_left(node.ep), tx_size);
	for (unsigned i = 0; i < SOME; i++) {
		message_init(&messages[i], 1 << 20, 1);
		message_fill(&messages[i], i);
		message_send(&node, &messages[i]);
	}
	CHECK_EQ(tx_left(node.ep), tx_size - SOME);
	aside_sync();
	for (unsigned i = 0; i < SOME; i++)
		receive_one(&node, 1 << 20, i);
	for (unsigned i = 0; i < SOME; i++) {
		wait_sent(&node, &messages[i]);
		message_free(&messages[i]);
	}
	CHECK_EQ(tx_left(node.ep), tx_size);
	for (ssize_t i = 0; i < rx_size; i++) {
		CHECK_EQ(rx_left(node.ep), rx_size - i);
		CHECK_EQ(fi_recv(node.ep, &byte, 1, NULL, FI_ADDR_UNSPEC, &byte), 0);
	}
	CHECK_EQ(rx_left(node.ep), 0);
	CHECK_EQ(fi_recv(node.ep, &byte, 1, NULL, FI_ADDR_UNSPEC, &byte), -FI_EAGAIN);
	for (ssize_t i = 0; i < rx_size; i++) {
		CHECK_EQ(fi_cancel(&node.ep->fid, &byte), 0);
		wait_error(node.rx_cq, &error);
		CHECK_EQ(error.err, FI_ECANCELED);
	}
	CHECK_EQ(rx_left(node.ep), rx_size);
	node_close_pair(&node);
}

/* ---- texts ---- */

/* Every object's own text is refused, and fi_tostr says what an info and its parts are. */
static void test_texts(bool sender)
{
	struct node node;
	char text[8];

	(void) sender;
	node_open(&node, &(struct node_options){.events = true});
	CHECK(strstr(fi_tostr(node.info, FI_TYPE_INFO), "prov_name: gamma"));
	CHECK(strstr(fi_tostr(&node.info->caps, FI_TYPE_CAPS), "FI_MSG"));
	CHECK(strstr(fi_tostr(node.info->ep_attr, FI_TYPE_EP_ATTR), "FI_EP_RDM"));
	CHECK(strstr(fi_tostr(node.info->domain_attr, FI_TYPE_DOMAIN_ATTR), "FI_PROGRESS_"));
	CHECK(strstr(fi_tostr(node.info->tx_attr, FI_TYPE_TX_ATTR), "inject_size"));
	CHECK(strstr(fi_tostr(node.info->rx_attr, FI_TYPE_RX_ATTR), "iov_limit"));
	CHECK(strstr(fi_tostr(node.info->fabric_attr, FI_TYPE_FABRIC_ATTR), "gamma"));
	CHECK(strcmp(fi_strerror(FI_ECANCELED), fi_strerror(FI_ETRUNC)));
	/* Into a buffer of any size, or as the provider keeps it; any number has a text. */
	CHECK(fi_cq_strerror(node.rx_cq, FI_ETRUNC, NULL, text, sizeof(text)) == text);
	CHECK(strlen(text) == sizeof(text) - 1);
	CHECK(!strncmp(text, fi_strerror(FI_ETRUNC), sizeof(text) - 1));
	CHECK(!strcmp(fi_cq_strerror(node.rx_cq, FI_ETRUNC, NULL, NULL, 0),
		      fi_strerror(FI_ETRUNC)));
	CHECK(!strcmp(fi_cq_strerror(node.rx_cq, FI_ETRUNC, NULL, text, 0),
		      fi_strerror(FI_ETRUNC)));
	CHECK(fi_cq_strerror(node.rx_cq, -1, NULL, NULL, 0));
	CHECK(fi_cq_strerror(node.rx_cq, 123456789, NULL, NULL, 0));
	CHECK(fi_eq_strerror(node.eq, FI_ENODATA, NULL, text, sizeof(text)) == text);
	CHECK(!strncmp(text, fi_strerror(FI_ENODATA), sizeof(text) - 1));
	CHECK(fi_eq_strerror(node.eq, -1, NULL, NULL, 0));
	node_close(&node);
}

/* ---- what is not offered ---- */

static void refuse_of_fid(struct fid *fid)
{
	void *ops = NULL;

	CHECK(fid->ops->close && fid->ops->bind && fid->ops->control);
	CHECK_EQ(fi_open_ops(fid, "none", 0, &ops, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_set_ops(fid, "none", 0, &ops, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_control(fid, 12345, NULL), -FI_ENOSYS);
	CHECK_EQ(fid->ops->tostr(fid, NULL, 0), -FI_ENOSYS);
}

static void refuse_of_connections(struct node *node)
{
	char byte[ADDR_MAX] = {0};
	size_t len = sizeof(byte);
	struct fid_pep *pep;

	CHECK_EQ(fi_passive_ep(node->fabric, node->info, &pep, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_getpeer(node->ep, byte, &len), -FI_ENOSYS);
	CHECK_EQ(fi_accept(node->ep, byte, 1), -FI_ENOSYS);
	CHECK_EQ(node->ep->cm->listen(NULL), -FI_ENOSYS);
	CHECK_EQ(node->ep->cm->reject(NULL, NULL, NULL, 0), -FI_ENOSYS);
	CHECK_EQ(fi_setname(&node->ep->fid, byte, sizeof(byte)), -FI_EOPBADSTATE);
	CHECK_EQ(fi_getname(&node->ep->fid, NULL, NULL), -FI_EINVAL);
	len = 3;
	CHECK_EQ(fi_getname(&node->ep->fid, byte, &len), -FI_ETOOSMALL);
	CHECK_EQ(len, node->info->src_addrlen);
}

/* In a domain that was not opened for them there are sets of addresses, and nothing else. */
static void refuse_of_collectives(struct node *node)
{
	struct fi_collective_attr attr = {.op = FI_SUM, .datatype = FI_INT32};
	struct fi_av_set_attr set_attr = {0};
	struct fi_msg_collective msg = {0};
	struct fid_av_set *set;
	struct fid_ep *ep = node->ep;
	struct fid_mc *mc;
	int a = 0, b = 0;

	CHECK_EQ(fi_av_set(node->av, &set_attr, &set, NULL), 0);
	CHECK_EQ(fi_close(&set->fid), 0);
	CHECK_EQ(fi_query_collective(node->domain, FI_BARRIER, &attr, 0), -FI_ENOSYS);
	CHECK_EQ(fi_join(ep, &a, FI_COLLECTIVE, &mc, NULL), -FI_EOPNOTSUPP);
	CHECK_EQ(fi_barrier(ep, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_barrier2(ep, 0, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_broadcast(ep, &a, 1, NULL, 0, 0, FI_INT32, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_alltoall(ep, &a, 1, NULL, &b, NULL, 0, FI_INT32, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_allreduce(ep, &a, 1, NULL, &b, NULL, 0, FI_INT32, FI_SUM, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_allgather(ep, &a, 1, NULL, &b, NULL, 0, FI_INT32, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_reduce_scatter(ep, &a, 1, NULL, &b, NULL, 0, FI_INT32, FI_SUM, 0, NULL),
		 -FI_ENOSYS);
	CHECK_EQ(fi_reduce(ep, &a, 1, NULL, &b, NULL, 0, 0, FI_INT32, FI_SUM, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_scatter(ep, &a, 1, NULL, &b, NULL, 0, 0, FI_INT32, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_gather(ep, &a, 1, NULL, &b, NULL, 0, 0, FI_INT32, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(ep->collective->msg(ep, &msg, NULL, NULL, 0, 0), -FI_ENOSYS);
}

/* An endpoint that was not opened for it. */
static void refuse_of_remote_memory(struct node *node)
{
	struct fi_msg_atomic atomic = {0};
	struct fid_ep *ep = node->ep;
	struct fi_msg_rma rma = {0};
	size_t count;
	int a = 0;

	CHECK_EQ(fi_read(ep, &a, 1, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_readmsg(ep, &rma, 0), -FI_ENOSYS);
	CHECK_EQ(fi_write(ep, &a, 1, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_writedata(ep, &a, 1, NULL, 0, 0, 0, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_inject_write(ep, &a, 1, 0, 0, 0), -FI_ENOSYS);
	CHECK_EQ(fi_inject_writedata(ep, &a, 1, 0, 0, 0, 0), -FI_ENOSYS);
	CHECK_EQ(fi_atomic(ep, &a, 1, NULL, 0, 0, 0, FI_INT32, FI_SUM, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_atomicmsg(ep, &atomic, 0), -FI_ENOSYS);
	CHECK_EQ(fi_inject_atomic(ep, &a, 1, 0, 0, 0, FI_INT32, FI_SUM), -FI_ENOSYS);
	CHECK_EQ(fi_fetch_atomicmsg(ep, &atomic, NULL, NULL, 0, 0), -FI_ENOSYS);
	CHECK_EQ(fi_compare_atomicmsg(ep, &atomic, NULL, NULL, 0, NULL, NULL, 0, 0), -FI_ENOSYS);
	CHECK_EQ(fi_atomicvalid(ep, FI_INT32, FI_SUM, &count), -FI_EOPNOTSUPP);
}

static void refuse_of_events(struct node *node)
{
	struct fi_eq_attr attr = {.flags = 1ull << 59};
	struct fi_eq_entry entry = {0};
	struct fid_eq *eq;
	uint32_t event;

	CHECK_EQ(fi_eq_open(node->fabric, &attr, &eq, NULL), -FI_EBADFLAGS);
	attr = (struct fi_eq_attr){.wait_obj = FI_WAIT_MUTEX_COND};
	CHECK_EQ(fi_eq_open(node->fabric, &attr, &eq, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_eq_write(node->eq, FI_NOTIFY, &entry, sizeof(entry), 0), -FI_EINVAL);
	CHECK_EQ(fi_eq_read(node->eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	CHECK_EQ(fi_eq_readerr(node->eq, &(struct fi_eq_err_entry){0}, 0), -FI_EAGAIN);
	CHECK_EQ(fi_eq_sread(node->eq, &event, &entry, sizeof(entry), -1, 0), -FI_ENOSYS);
}

/* Contexts and scalable endpoints have all tables too, though they can do less. */
static void refuse_of_context(struct fid_ep *ep)
{
	size_t value = 0, len = sizeof(value);
	char byte = 0;

	refuse_of_fid(&ep->fid);
	CHECK_EQ(fi_send(ep, &byte, 1, NULL, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_tinject(ep, &byte, 1, 0, 0), -FI_ENOSYS);
	CHECK_EQ(fi_read(ep, &byte, 1, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_barrier(ep, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_connect(ep, &byte, NULL, 0), -FI_ENOSYS);
	CHECK_EQ(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, 12345, &value, &len), -FI_ENOPROTOOPT);
	CHECK_EQ(tx_left(ep), -FI_ENOSYS);
}

static void refuse_of_contexts(struct node *node)
{
	struct fid_ep *srx, *sep;
	struct fid_stx *stx;

	CHECK_EQ(fi_srx_context(node->domain, node->info->rx_attr, &srx, NULL), 0);
	refuse_of_context(srx);
	CHECK_EQ(fi_close(&srx->fid), 0);
	CHECK_EQ(fi_scalable_ep(node->domain, node->info, &sep, NULL), 0);
	refuse_of_context(sep);
	CHECK_EQ(fi_recv(sep, NULL, 0, NULL, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_cancel(&sep->fid, node), -FI_ENOSYS);
	CHECK_EQ(fi_close(&sep->fid), 0);
	CHECK_EQ(fi_stx_context(node->domain, node->info->tx_attr, &stx, NULL), 0);
	refuse_of_fid(&stx->fid);
	CHECK_EQ(fi_cancel(&stx->fid, node), -FI_ENOSYS);
	CHECK_EQ(fi_close(&stx->fid), 0);
}

static void refuse_of_regions(struct node *node)
{
	struct fi_mr_attr attr = {.access = FI_SEND};
	struct fid_mr *mr;
	int word = 0;

	CHECK_EQ(fi_mr_regattr(node->domain, &attr, 0, &mr), -FI_EINVAL); /* of no memory */
	CHECK_EQ(fi_mr_reg(node->domain, &word, 4, FI_SEND, 0, 0, 1ull << 59, &mr, NULL),
		 -FI_EBADFLAGS);
	CHECK_EQ(fi_mr_reg(node->domain, &word, 4, FI_SEND, 0, 0, 0, &mr, NULL), 0);
	refuse_of_fid(&mr->fid);
	CHECK_EQ(fi_mr_bind(mr, &node->eq->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_mr_bind(mr, &node->rx_cntr->fid, FI_SEND), -FI_EBADFLAGS);
	CHECK_EQ(fi_mr_enable(mr), 0);
	CHECK_EQ(fi_close(&mr->fid), 0);
}

static void test_not_offered(bool sender)
{
	struct fid_ep *contexts[2] = {NULL};
	struct node node;

	(void) sender;
	node_open(&node, &(struct node_options){.events = true, .counters = true});
	refuse_of_fid(&node.fabric->fid);
	refuse_of_fid(&node.domain->fid);
	refuse_of_fid(&node.av->fid);
	refuse_of_fid(&node.ep->fid);
	refuse_of_fid(&node.rx_cq->fid);
	refuse_of_fid(&node.rx_cntr->fid);
	refuse_of_fid(&node.eq->fid);
	refuse_of_connections(&node);
	refuse_of_collectives(&node);
	refuse_of_remote_memory(&node);
	refuse_of_events(&node);
	refuse_of_contexts(&node);
	refuse_of_regions(&node);
	CHECK_EQ(fi_tx_context(node.ep, 0, NULL, &contexts[0], NULL), -FI_ENOSYS);
	CHECK_EQ(fi_rx_context(node.ep, 0, NULL, &contexts[1], NULL), -FI_ENOSYS);
	node_close(&node);
}

const struct test control_tests[] = {
	{.name = "counter_calls", .run = test_counter_calls},
	{.name = "options", .run = test_options},
	{.name = "default_flags", .run = test_default_flags},
	{.name = "size_left", .run = test_size_left},
	{.name = "texts", .run = test_texts},
	{.name = "not_offered", .run = test_not_offered},
	{0},
};
