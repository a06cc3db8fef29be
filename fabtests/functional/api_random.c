// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-random: random calls. All endpoints are in this process, in the network namespaces named:
 * the first two in the first one, so that they share memory, and the third in the last one.
 *
 *	gamma-random [--seed N] [--count N] [NAMESPACE [NAMESPACE]]
 *
 * A seed that fails prints itself; with --count 1 it runs alone. Started by test_api_random.sh.
 */
#include "api_random.h"

#include <fcntl.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 120, SLOTS = 8, SLOT = 64, PATIENCE_S = 60, MULTI_LEN = 8192, KEY = 7 };

struct node {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *sends, *recvs; /* or NULL */
	struct fid_ep *ep;
	struct fid_mr *mr, *sums_mr;
	uint8_t name[64];
	size_t name_len;
	fi_addr_t peers[NODES];
	/* What each peer may change here: its slots, and a sum. */
	uint8_t memory[NODES][SLOTS][SLOT], should[NODES][SLOTS][SLOT];
	uint64_t sums[NODES], sums_should[NODES];
	bool slot_busy[NODES][SLOTS]; /* an operation of this node on that peer's memory */
	bool selective;
	uint64_t sent, failed_sends, received, failed_recvs; /* as counters must say */
};

/* Memory of an operation. */
struct buffer {
	struct buffer *next;
	uint8_t bytes[];
};

static struct node nodes[NODES];
static bool is_open;
static struct buffer *buffers; /* until the endpoints are closed */
static unsigned long counts[ADD + 1];
static const char *namespaces[2];
static uint64_t state;
static unsigned long seed;

void fail_check(const char *file, int line, const char *what, long long is, long long should)
{
	printf("not ok: seed %lu, after %d operations: %s:%d: %s", seed, op_count,
	       strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, what);
	if (is != should)
		printf(" (%lld, not %lld)", is, should);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

/* splitmix64 */
static uint64_t draw(uint64_t below)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % below;
}

static bool one_in(unsigned n)
{
	return !draw(n);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

/* ---- completions ---- */

static int node_of(const struct node *node, fi_addr_t source)
{
	for (int i = 0; i < NODES; i++)
		if (node->peers[i] == source)
			return i;
	return NONE;
}

static int message_of(const struct fi_cq_tagged_entry *entry, const uint8_t *bytes)
{
	int id = NONE;

	if (entry->flags & FI_REMOTE_CQ_DATA)
		return (int) entry->data;
	CHECK(entry->len >= sizeof(id));
	memcpy(&id, bytes, sizeof(id));
	return id;
}

static void end_memory(struct op *op)
{
	struct node *node = &nodes[op->node];
	uint8_t *should = nodes[op->peer].should[op->node][op->slot];

	if (op->kind == WRITE)
		CHECK(!memcmp(nodes[op->peer].memory[op->node][op->slot], should, SLOT));
	if (op->kind == READ)
		CHECK(!memcmp(op->bytes, should, op->len));
	if (op->kind != ADD)
		node->slot_busy[op->peer][op->slot] = false;
}

static void end_receive(struct op *op, const struct fi_cq_tagged_entry *entry, fi_addr_t source)
{
	const uint8_t *bytes = op->kind == MULTI ? entry->buf : op->bytes;
	int id;

	nodes[op->node].received++;
	if (op->kind == MULTI && !(entry->flags & FI_RECV)) {
		nodes[op->node].received--; /* a release alone */
		op->released = op->done = true;
		return;
	}
	id = message_of(entry, bytes);
	CHECK(id >= 0 && id < op_count);
	CHECK_EQ(node_of(&nodes[op->node], source), ops[id].node);
	CHECK_EQ(entry->len, ops[id].len);
	if (op->kind == CLAIM) {
		CHECK_EQ(op->match, id);
	} else {
		model_match(op, id, bytes, entry->len);
	}
	op->released |= entry->flags & FI_MULTI_RECV;
	op->done = op->kind != MULTI || op->released;
}

static void end_claim_or_peek(struct op *op, const struct fi_cq_tagged_entry *entry)
{
	struct iovec iov = {.iov_base = op->bytes, .iov_len = op->len};
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = op};

	CHECK(entry->flags & FI_REMOTE_CQ_DATA);
	if (op->kind == CLAIM && op->match != NONE) /* the second one: the message itself */
		return;
	model_peeked(op, (int) entry->data, entry->tag, entry->len);
	op->done = op->kind == PEEK;
	if (op->kind == CLAIM)
		CHECK_EQ(fi_trecvmsg(nodes[op->node].ep, &msg, FI_CLAIM), 0);
}

static void end_op(struct op *op, const struct fi_cq_tagged_entry *entry, fi_addr_t source)
{
	CHECK(!op->done);
	CHECK(!op->silent);
	if (op->kind == RECV || op->kind == MULTI || (op->kind == CLAIM && op->match != NONE)) {
		end_receive(op, entry, source);
		return;
	}
	if (op->kind == PEEK || op->kind == CLAIM) {
		end_claim_or_peek(op, entry);
		return;
	}
	op->done = true;
	if (op->kind != SEND)
		end_memory(op);
}

static void end_truncated(struct op *op, const struct fi_cq_err_entry *error)
{
	struct fi_cq_tagged_entry entry = {.flags = error->flags, .data = error->data};
	const uint8_t *bytes = op->kind == MULTI ? error->buf : op->bytes;
	int id;

	entry.len = error->len;
	id = message_of(&entry, bytes);
	CHECK(id >= 0 && id < op_count);
	CHECK_EQ(error->len + error->olen, ops[id].len);
	if (op->kind != CLAIM)
		model_match(op, id, bytes, error->len);
	op->released |= error->flags & FI_MULTI_RECV;
	op->done = op->kind != MULTI || op->released;
}

static void end_badly(struct node *node)
{
	struct fi_cq_err_entry error = {0};
	struct op *op;

	CHECK_EQ(fi_cq_readerr(node->cq, &error, 0), 1);
	op = error.op_context;
	CHECK(op >= ops && op < ops + op_count && !op->done);
	if (error.err == FI_ENOMSG) {
		CHECK(op->kind == PEEK || op->kind == CLAIM);
		op->done = op->unmatched = true;
		return;
	}
	if (op->kind == SEND) {
		CHECK(op->cancelled && error.err == FI_ECANCELED);
		node->failed_sends++;
		op->sent = false; /* it never leaves */
		op->done = true;
		return;
	}
	node->failed_recvs++;
	if (error.err == FI_ETRUNC) {
		end_truncated(op, &error);
		return;
	}
	CHECK_EQ(error.err, FI_ECANCELED);
	CHECK(op->cancelled);
	op->done = op->unmatched = true;
}

/* Reads what is there. */
static void read_queue(struct node *node)
{
	struct fi_cq_tagged_entry entries[3];
	fi_addr_t sources[3];
	ssize_t count;

	while ((count = fi_cq_readfrom(node->cq, entries, 1 + draw(3), sources)) != -FI_EAGAIN) {
		if (count == -FI_EAVAIL) {
			end_badly(node);
			continue;
		}
		CHECK(count > 0);
		for (ssize_t i = 0; i < count; i++) {
			struct op *op = entries[i].op_context;

			CHECK(op >= ops && op < ops + op_count);
			CHECK_EQ(op->node, (int) (node - nodes));
			end_op(op, &entries[i], sources[i]);
		}
	}
}

static void read_all(void)
{
	for (int i = 0; i < NODES; i++)
		read_queue(&nodes[i]);
}

/* Repeats a call that has no room. */
#define CALL(call)                                      \
	do {                                            \
		double end_ = now() + PATIENCE_S;       \
		ssize_t ret_;                           \
		while ((ret_ = (call)) == -FI_EAGAIN) { \
			CHECK(now() < end_);            \
			read_all();                     \
		}                                       \
		CHECK_EQ(ret_, 0);                      \
	} while (0)

/* ---- calls ---- */

static size_t some_length(void)
{
	static const size_t lengths[] = {0, 1, 8, 64, 500, 1460, 1500, 4000, 9000, 20000, LEN_MAX};

	return lengths[draw(sizeof(lengths) / sizeof(lengths[0]))];
}

static uint64_t some_tag(void)
{
	return draw(3);
}

static struct op *new_op(enum kind kind, int node)
{
	struct op *op = model_add(kind, node);
	struct buffer *buffer = malloc(sizeof(*buffer) + LEN_MAX);

	CHECK(op && buffer);
	buffer->next = buffers;
	buffers = buffer;
	op->bytes = buffer->bytes;
	return op;
}

static struct op *some_op(enum kind kind)
{
	return new_op(kind, (int) draw(NODES));
}

static void inject(struct op *op)
{
	struct node *node = &nodes[op->node];
	fi_addr_t to = node->peers[op->peer];

	op->silent = op->copied = true;
	op->len = draw(500);
	model_fill(op);
	op->sent = true;
	if (op->tagged)
		CALL(fi_tinjectdata(node->ep, op->bytes, op->len, (uint64_t) op->id, to, op->tag));
	else if (op->len < sizeof(op->id) || one_in(2))
		CALL(fi_injectdata(node->ep, op->bytes, op->len, (uint64_t) op->id, to));
	else
		CALL(fi_inject(node->ep, op->bytes, op->len, to));
	memset(op->bytes, 0xee, op->len);
}

static uint64_t some_flags(const struct op *op)
{
	static const uint64_t levels[] = {0, 0, FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE,
					  FI_DELIVERY_COMPLETE};
	uint64_t flags = levels[draw(5)] | (one_in(3) ? FI_MORE : 0);

	if (op->tagged || op->len < sizeof(op->id) || one_in(2))
		flags |= FI_REMOTE_CQ_DATA;
	if (op->len <= 500 && one_in(3))
		flags |= FI_INJECT;
	return flags | (one_in(2) ? FI_COMPLETION : 0);
}

static void sendmsg_some(struct op *op)
{
	struct node *node = &nodes[op->node];
	size_t cut = op->len / 3;
	struct iovec iov[] = {{op->bytes, cut}, {op->bytes + cut, op->len - cut}};
	struct fi_msg_tagged tagged = {.msg_iov = iov,
				       .iov_count = 2,
				       .addr = node->peers[op->peer],
				       .tag = op->tag,
				       .context = op,
				       .data = (uint64_t) op->id};
	struct fi_msg msg = {.msg_iov = iov,
			     .iov_count = 2,
			     .addr = tagged.addr,
			     .context = op,
			     .data = tagged.data};
	uint64_t flags = some_flags(op);

	op->silent = node->selective && !(flags & FI_COMPLETION);
	if (op->tagged)
		CALL(fi_tsendmsg(node->ep, &tagged, flags));
	else
		CALL(fi_sendmsg(node->ep, &msg, flags));
	if (flags & FI_INJECT)
		memset(op->bytes, 0xee, op->len);
}

static void send_some(void)
{
	struct op *op = some_op(SEND);

	op->peer = (int) draw(NODES);
	op->tagged = one_in(2);
	op->tag = some_tag();
	nodes[op->node].sent++;
	if (one_in(4)) {
		inject(op);
		return;
	}
	op->len = some_length();
	model_fill(op);
	op->sent = true;
	sendmsg_some(op);
}

static void receive(struct op *op)
{
	struct node *node = &nodes[op->node];
	fi_addr_t from = op->peer == ANY ? FI_ADDR_UNSPEC : node->peers[op->peer];

	if (op->tagged)
		CALL(fi_trecv(node->ep, op->bytes, op->len, NULL, from, op->tag, op->ignore, op));
	else
		CALL(fi_recv(node->ep, op->bytes, op->len, NULL, from, op));
}

static void receive_some(void)
{
	struct op *op = some_op(RECV);

	op->tagged = one_in(2);
	op->tag = some_tag();
	op->ignore = one_in(3) ? UINT64_MAX : 0;
	op->peer = one_in(2) ? ANY : (int) draw(NODES);
	op->len = one_in(5) ? 600 : LEN_MAX;
	receive(op);
}

static void receive_many(void)
{
	struct op *op = some_op(MULTI);
	struct iovec iov = {.iov_base = op->bytes, .iov_len = MULTI_LEN};
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = op};

	op->len = MULTI_LEN;
	CALL(fi_recvmsg(nodes[op->node].ep, &msg, FI_MULTI_RECV));
}

static void peek_some(void)
{
	struct op *op = some_op(one_in(2) ? PEEK : CLAIM);
	struct fi_msg_tagged msg = {.context = op};

	op->tagged = true;
	op->tag = msg.tag = some_tag();
	op->ignore = msg.ignore = one_in(2) ? UINT64_MAX : 0;
	op->peer = one_in(2) ? ANY : (int) draw(NODES);
	op->len = LEN_MAX;
	op->discards = op->kind == PEEK && one_in(2);
	msg.addr = op->peer == ANY ? FI_ADDR_UNSPEC : nodes[op->node].peers[op->peer];
	CHECK_EQ(fi_trecvmsg(nodes[op->node].ep, &msg,
			     FI_PEEK | (op->kind == CLAIM ? FI_CLAIM : 0) |
				     (op->discards ? FI_DISCARD : 0)),
		 0);
}

static void cancel_some(void)
{
	struct op *op = op_count ? &ops[draw((uint64_t) op_count)] : NULL;

	if (!op || op->done || op->silent || op->kind > MULTI)
		return;
	op->cancelled = true;
	CHECK_EQ(fi_cancel(&nodes[op->node].ep->fid, op), 0);
}

/* Another index for a peer, or the same again; perhaps the index goes to a third one. */
static void change_av(void)
{
	struct node *node = &nodes[draw(NODES)];
	int first = (int) draw(NODES), second = (int) draw(NODES);

	read_queue(node);
	CHECK_EQ(fi_av_remove(node->av, &node->peers[first], 1, 0), 0);
	if (second != first)
		CHECK_EQ(fi_av_remove(node->av, &node->peers[second], 1, 0), 0);
	CHECK_EQ(fi_av_insert(node->av, nodes[first].name, 1, &node->peers[first], 0, NULL), 1);
	if (second != first)
		CHECK_EQ(fi_av_insert(node->av, nodes[second].name, 1, &node->peers[second], 0,
				      NULL),
			 1);
}

static void touch_memory(enum kind kind)
{
	struct op *op = some_op(kind);
	struct node *node = &nodes[op->node], *peer;
	uint64_t offset;

	op->peer = (int) draw(NODES);
	op->slot = (unsigned) draw(SLOTS);
	op->len = draw(SLOT + 1);
	peer = &nodes[op->peer];
	if (node->slot_busy[op->peer][op->slot] || node->selective) {
		op->done = true;
		return;
	}
	node->slot_busy[op->peer][op->slot] = true;
	offset = (uint64_t) (peer->memory[op->node][op->slot] - peer->memory[0][0]);
	for (size_t i = 0; kind == WRITE && i < op->len; i++)
		op->bytes[i] = peer->should[op->node][op->slot][i] = (uint8_t) draw(256);
	if (kind == WRITE)
		CALL(fi_write(node->ep, op->bytes, op->len, NULL, node->peers[op->peer], offset,
			      KEY, op));
	else
		CALL(fi_read(node->ep, op->bytes, op->len, NULL, node->peers[op->peer], offset, KEY,
			     op));
}

static void add_some(void)
{
	struct op *op = some_op(ADD);
	struct node *node = &nodes[op->node];
	uint64_t value = draw(1000);

	op->peer = (int) draw(NODES);
	op->silent = node->selective;
	nodes[op->peer].sums_should[op->node] += value;
	memcpy(op->bytes, &value, sizeof(value));
	CALL(fi_atomic(node->ep, op->bytes, 1, NULL, node->peers[op->peer],
		       (uint64_t) op->node * sizeof(uint64_t), KEY + 1, FI_UINT64, FI_SUM, op));
}

static void step(void)
{
	uint64_t what = draw(100);

	if (what < 38)
		send_some();
	else if (what < 68)
		receive_some();
	else if (what < 71)
		receive_many();
	else if (what < 76)
		peek_some();
	else if (what < 80)
		cancel_some();
	else if (what < 83)
		change_av();
	else if (what < 88)
		touch_memory(WRITE);
	else if (what < 91)
		touch_memory(READ);
	else if (what < 94)
		add_some();
	else
		read_queue(&nodes[draw(NODES)]);
}

/* ---- the end of a seed ---- */

static bool all_ended(void)
{
	for (int i = 0; i < op_count; i++)
		if (!ops[i].done && !ops[i].silent && ops[i].kind != RECV && ops[i].kind != MULTI)
			return false;
	return true;
}

/* What no receive was posted for. */
static void take_rest(int node, bool tagged)
{
	double end = now() + PATIENCE_S;
	struct op *op;

	while (model_missing(node, tagged)) {
		op = new_op(RECV, node);
		op->len = LEN_MAX;
		op->tagged = tagged;
		op->ignore = UINT64_MAX;
		receive(op);
		while (!op->done && model_missing(node, tagged)) {
			CHECK(now() < end);
			read_all();
		}
	}
}

/* Receives that no message came for. */
static void cancel_rest(void)
{
	for (int i = 0; i < op_count; i++) {
		struct op *op = &ops[i];

		if (op->done || (op->kind != RECV && op->kind != MULTI))
			continue;
		/* So late it is no excuse for an order that is wrong. */
		if (op->match == NONE)
			op->unmatched = false;
		CHECK_EQ(fi_cancel(&nodes[op->node].ep->fid, op), 0);
		op->cancelled = true;
		read_queue(&nodes[op->node]);
		CHECK(op->done);
	}
}

static void check_counters(const struct node *node)
{
	double end = now() + PATIENCE_S;

	if (!node->sends)
		return;
	/* Silent ones may still be under way. */
	while (fi_cntr_read(node->sends) + node->failed_sends != node->sent) {
		CHECK(now() < end);
		read_all();
	}
	CHECK_EQ(fi_cntr_readerr(node->sends), node->failed_sends);
	CHECK_EQ(fi_cntr_read(node->recvs), node->received);
	CHECK_EQ(fi_cntr_readerr(node->recvs), node->failed_recvs);
}

static void settle(void)
{
	double end = now() + PATIENCE_S;

	for (int i = 0; i < NODES; i++) {
		take_rest(i, true);
		take_rest(i, false);
	}
	while (!all_ended()) {
		CHECK(now() < end);
		read_all();
	}
	cancel_rest();
	for (int i = 0; i < NODES; i++) {
		while (memcmp(nodes[i].sums, nodes[i].sums_should, sizeof(nodes[i].sums))) {
			CHECK(now() < end);
			read_all();
		}
		check_counters(&nodes[i]);
	}
	model_check();
}

/* ---- endpoints ---- */

static void enter(const char *name)
{
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;

	if (!name)
		return;
	CHECK(fd >= 0);
	CHECK_EQ(setns(fd, CLONE_NEWNET), 0);
	close(fd);
}

static void get_info(struct node *node)
{
	struct fi_info *hints = fi_allocinfo();

	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV | FI_SOURCE |
		      FI_MULTI_RECV;
	hints->fabric_attr->prov_name = strdup("gamma");
	CHECK_EQ(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &node->info), 0);
	fi_freeinfo(hints);
}

static void open_memory(struct node *node)
{
	uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;

	CHECK_EQ(fi_mr_reg(node->domain, node->memory, sizeof(node->memory), access, 0, KEY, 0,
			   &node->mr, NULL),
		 0);
	CHECK_EQ(fi_mr_reg(node->domain, node->sums, sizeof(node->sums), access, 0, KEY + 1, 0,
			   &node->sums_mr, NULL),
		 0);
}

static void open_counters(struct node *node)
{
	struct fi_cntr_attr attr = {0};

	CHECK_EQ(fi_cntr_open(node->domain, &attr, &node->sends, NULL), 0);
	CHECK_EQ(fi_cntr_open(node->domain, &attr, &node->recvs, NULL), 0);
	CHECK_EQ(fi_ep_bind(node->ep, &node->sends->fid, FI_SEND), 0);
	CHECK_EQ(fi_ep_bind(node->ep, &node->recvs->fid, FI_RECV), 0);
}

static void open_node(struct node *node)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .size = 4};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	size_t min_multi = 1000;

	memset(node, 0, sizeof(*node));
	get_info(node);
	node->selective = one_in(4);
	CHECK_EQ(fi_fabric(node->info->fabric_attr, &node->fabric, NULL), 0);
	CHECK_EQ(fi_domain(node->fabric, node->info, &node->domain, NULL), 0);
	CHECK_EQ(fi_cq_open(node->domain, &cq_attr, &node->cq, NULL), 0);
	CHECK_EQ(fi_av_open(node->domain, &av_attr, &node->av, NULL), 0);
	CHECK_EQ(fi_endpoint(node->domain, node->info, &node->ep, NULL), 0);
	CHECK_EQ(fi_ep_bind(node->ep, &node->av->fid, 0), 0);
	CHECK_EQ(fi_ep_bind(node->ep, &node->cq->fid,
			    FI_TRANSMIT | (node->selective ? FI_SELECTIVE_COMPLETION : 0)),
		 0);
	CHECK_EQ(fi_ep_bind(node->ep, &node->cq->fid, FI_RECV), 0);
	if (one_in(2))
		open_counters(node);
	CHECK_EQ(fi_enable(node->ep), 0);
	CHECK_EQ(fi_setopt(&node->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min_multi,
			   sizeof(min_multi)),
		 0);
	open_memory(node);
	node->name_len = sizeof(node->name);
	CHECK_EQ(fi_getname(&node->ep->fid, node->name, &node->name_len), 0);
}

static void close_node(struct node *node)
{
	CHECK_EQ(fi_close(&node->cq->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&node->domain->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&node->ep->fid), 0);
	CHECK_EQ(fi_close(&node->sums_mr->fid), 0);
	CHECK_EQ(fi_close(&node->mr->fid), 0);
	CHECK_EQ(fi_close(&node->av->fid), 0);
	CHECK_EQ(fi_close(&node->cq->fid), 0);
	if (node->sends) {
		CHECK_EQ(fi_close(&node->sends->fid), 0);
		CHECK_EQ(fi_close(&node->recvs->fid), 0);
	}
	CHECK_EQ(fi_close(&node->domain->fid), 0);
	CHECK_EQ(fi_close(&node->fabric->fid), 0);
	fi_freeinfo(node->info);
}

static void open_all(void)
{
	for (int i = 0; i < NODES; i++) {
		enter(namespaces[i == NODES - 1 && namespaces[1] ? 1 : 0]);
		open_node(&nodes[i]);
	}
	for (int i = 0; i < NODES; i++)
		for (int peer = 0; peer < NODES; peer++)
			CHECK_EQ(fi_av_insert(nodes[i].av, nodes[peer].name, 1,
					      &nodes[i].peers[peer], 0, NULL),
				 1);
	is_open = true;
}

/* Silent sends may use their bytes until then. */
static void close_all(void)
{
	for (int i = 0; i < NODES; i++)
		close_node(&nodes[i]);
	while (buffers) {
		struct buffer *buffer = buffers;

		buffers = buffer->next;
		free(buffer);
	}
	is_open = false;
}

static void count_ops(void)
{
	for (int i = 0; i < op_count; i++)
		counts[ops[i].kind] += ops[i].kind > CLAIM || ops[i].match != NONE;
}

/* Most seeds go on with the endpoints of the one before, since it takes long to open some. Others
 * close endpoints that have operations outstanding. */
static void run_seed(void)
{
	state = seed * 0x2545f4914f6cdd1dull;
	op_count = 0;
	if (!is_open)
		open_all();
	for (int i = 0; i < STEPS; i++)
		step();
	if (one_in(50)) {
		close_all();
		return;
	}
	settle();
	count_ops();
}

int main(int argc, char **argv)
{
	unsigned long count = 1;
	int arg = 1;

	seed = 1;
	for (; arg + 1 < argc && !strncmp(argv[arg], "--", 2); arg += 2) {
		if (!strcmp(argv[arg], "--seed"))
			seed = strtoul(argv[arg + 1], NULL, 10);
		else if (!strcmp(argv[arg], "--count"))
			count = strtoul(argv[arg + 1], NULL, 10);
	}
	for (int i = 0; i < 2 && arg < argc; i++)
		namespaces[i] = argv[arg++];
	for (unsigned long i = 0; i < count; i++, seed++)
		run_seed();
	if (is_open)
		close_all();
	printf("ok: %lu seeds: %lu messages, %lu by posted receives, %lu multi-receive buffers, "
	       "%lu "
	       "discarded, %lu claimed, %lu operations on memory\n",
	       count, counts[SEND], counts[RECV], counts[MULTI], counts[PEEK], counts[CLAIM],
	       counts[WRITE] + counts[READ] + counts[ADD]);
	return 0;
}
