// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: reading and writing the other process's memory. */
#include "api_region.h"

#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

enum { CALLS = 7, PIECE = 700 };
static const uint64_t call_data = 0xfedcba9876543210ull;

/* Each writes PIECE or three times PIECE bytes at `to`. */
static void write_by(struct node *node, struct region *region, int call, size_t to)
{
	struct iovec iov[3] = {{region->local, 100},
			       {region->local + 100, 3 * PIECE - 101},
			       {region->local + 3 * PIECE - 1, 1}};
	struct fi_rma_iov there[2] = {
		{region->there.addr + to, 2 * PIECE, region->there.key},
		{region->there.addr + to + 2 * PIECE, PIECE, region->there.key}};
	struct fi_msg_rma msg = {.msg_iov = iov,
				 .iov_count = 3,
				 .addr = node->peer,
				 .rma_iov = there,
				 .rma_iov_count = 2,
				 .context = node,
				 .data = call_data};
	uint64_t addr = there[0].addr, key = there[0].key;

	switch (call) {
	case 0:
		UNTIL_TAKEN(fi_write(node->ep, region->local, PIECE, NULL, node->peer, addr, key,
				     node));
		break;
	case 1:
		UNTIL_TAKEN(fi_writev(node->ep, iov, NULL, 3, node->peer, addr, key, node));
		break;
	case 2:
		UNTIL_TAKEN(fi_writemsg(node->ep, &msg, FI_COMPLETION));
		break;
	case 3:
		UNTIL_TAKEN(fi_writemsg(node->ep, &msg,
					FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_INJECT |
						FI_DELIVERY_COMPLETE));
		break;
	case 4:
		UNTIL_TAKEN(fi_writedata(node->ep, region->local, PIECE, NULL, call_data,
					 node->peer, addr, key, node));
		break;
	case 5:
		UNTIL_TAKEN(fi_inject_write(node->ep, region->local, PIECE, node->peer, addr, key));
		return;
	case 6:
		UNTIL_TAKEN(fi_inject_writedata(node->ep, region->local, PIECE, call_data,
						node->peer, addr, key));
		return;
	}
	if (call == 3) /* injected: the memory is free at once */
		memset(region->local, 0, 3 * PIECE);
	expect_done(node, node, FI_RMA | FI_WRITE);
}

static size_t call_len(int call)
{
	return call >= 1 && call <= 3 ? 3 * PIECE : PIECE;
}

static void expect_data(struct node *node, size_t len)
{
	struct completion completion;

	wait_completion(node->rx_cq, &completion);
	CHECK_EQ(completion.entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	CHECK(completion.entry.op_context == NULL);
	CHECK(completion.entry.data == call_data);
	CHECK_EQ(completion.entry.len, len);
}

static void test_rma_writes(bool sender)
{
	struct region region;
	struct node node;

	rma_open(&node, &region, (struct node_options){0});
	for (int call = 0; call < CALLS; call++) {
		if (sender) {
			region_fill(region.local, (unsigned) call, REGION);
			write_by(&node, &region, call, 10000 * (size_t) call);
			memset(region.local, 0, PIECE);
			/* Behind it in order: when this has come, so has that. */
			put_and_wait(&node, &region, 0, REGION - 1, 1);
		} else if (call == 3 || call == 4 || call == 6) {
			expect_data(&node, call_len(call));
			region_check(region.bytes + 10000 * call, (unsigned) call, call_len(call));
		}
		aside_sync();
		if (!sender)
			region_check(region.bytes + 10000 * call, (unsigned) call, call_len(call));
		expect_nothing(node.tx_cq);
		expect_nothing(node.rx_cq);
		aside_sync();
	}
	rma_close(&node, &region);
}

static void test_rma_reads(bool sender)
{
	struct region region;
	struct node node;

	rma_open(&node, &region, (struct node_options){0});
	region_fill(region.bytes, 9, REGION);
	aside_sync();
	if (sender) {
		struct iovec iov[2] = {{region.local, 1000}, {region.local + 1000, 1000}};
		struct fi_rma_iov there[2] = {{region.there.addr, 1500, region.there.key},
					      {region.there.addr + 1500, 500, region.there.key}};
		struct fi_msg_rma msg = {.msg_iov = iov,
					 .iov_count = 2,
					 .addr = node.peer,
					 .rma_iov = there,
					 .rma_iov_count = 2,
					 .context = &node};

		get_and_wait(&node, &region, 0, 0, 2000);
		region_check(region.local, 9, 2000);
		memset(region.local, 0, 2000);
		UNTIL_TAKEN(fi_readv(node.ep, iov, NULL, 2, node.peer, region.there.addr,
				     region.there.key, &node));
		expect_done(&node, &node, FI_RMA | FI_READ);
		region_check(region.local, 9, 2000);
		memset(region.local, 0, 2000);
		UNTIL_TAKEN(fi_readmsg(node.ep, &msg, FI_COMPLETION));
		expect_done(&node, &node, FI_RMA | FI_READ);
		region_check(region.local, 9, 2000);
	}
	rma_close(&node, &region);
}

static void test_rma_sizes(bool sender)
{
	struct region region;
	struct sizes sizes;
	struct node node;

	rma_open(&node, &region, (struct node_options){0});
	node_sizes(&node, &sizes);
	const size_t around[] = {1,         1024,  1400,   1420, 1440, sizes.inject,
				 sizes.mtu, 65536, 1 << 20};

	for (size_t i = 0; sender && i < sizeof(around) / sizeof(*around); i++) {
		for (size_t len = around[i] - 1; len <= around[i] + 1; len++) {
			region_fill(region.local, (unsigned) len, len);
			put_and_wait(&node, &region, 0, 3 * i, len);
			memset(region.local, 0, len);
			get_and_wait(&node, &region, 3 * i, 0, len);
			region_check(region.local, (unsigned) len, len);
		}
	}
	rma_close(&node, &region);
}

/* ---- order ---- */

/* What is written before a message is there when the message is; what is read behind a write is
 * what was written, and a short read does not see what is written behind it. */
static void test_rma_order(bool sender)
{
	enum { SHORT = 1024 };
	struct region region;
	struct message message;
	struct node node;

	rma_open(&node, &region, (struct node_options){0});
	CHECK_EQ(node.info->ep_attr->max_order_war_size, SHORT);
	memset(region.local, 0, REGION);
	message_init(&message, 8, 1);
	for (unsigned round = 0; round < 20; round++) {
		size_t len = round % 4 == 3 ? LONG : 100 * round + 1;

		if (sender) {
			struct completion completion;

			region_fill(region.local, round, len);
			memset(region.local + LONG, 0xFF, 2 * LONG);
			put(&node, &region, 0, 0, len, NULL);
			get(&node, &region, 0, LONG, len, NULL);
			get(&node, &region, 0, 2 * LONG, len < SHORT ? len : SHORT, NULL);
			put(&node, &region, LONG + 1000000, 0, 1, NULL); /* overwrites the first */
			put(&node, &region, 0, 0, 1, NULL);
			message_fill(&message, round);
			message_send(&node, &message);
			for (int i = 0; i < 6; i++)
				wait_completion(node.tx_cq, &completion);
			/* A read beyond max_order_war_size may see what is written behind it. */
			if (len > SHORT)
				region.local[LONG] = region_byte(round, 0);
			region_check(region.local + LONG, round, len < SHORT ? len : SHORT);
			region_check(region.local + 2 * LONG, round, len < SHORT ? len : SHORT);
		} else {
			receive_one(&node, 8, round);
			region_check(region.bytes, round, len);
		}
		aside_sync();
	}
	message_free(&message);
	rma_close(&node, &region);
}

/* Both ways at once, among messages. The other side may be a round ahead, and writes elsewhere. */
static void test_rma_both_ways(bool sender)
{
	enum { ROUNDS = 30 };
	unsigned seed = sender ? 1 : 2;
	struct message out, in;
	struct region region;
	struct node node;

	rma_open(&node, &region, (struct node_options){0});
	message_init(&out, 20000, 1);
	message_init(&in, 20000, 1);
	region_fill(region.local, seed, 2 * LONG);
	message_fill(&out, seed);
	for (int i = 0; i < ROUNDS; i++) {
		struct completion completion;
		size_t len = (size_t) (LONG >> i % 12), there = (size_t) (i % 2 * LONG);

		message_receive(&node, &in);
		put(&node, &region, 0, there, len, NULL);
		message_send(&node, &out);
		get(&node, &region, there, 2 * LONG, len, NULL);
		for (int j = 0; j < 3; j++)
			wait_completion(node.tx_cq, &completion);
		region_check(region.local + 2 * LONG, seed, len);
		wait_completion(node.rx_cq, &completion);
		message_check(&in, 3 - seed, 20000);
		region_check(region.bytes + there, 3 - seed, len);
	}
	message_free(&out);
	message_free(&in);
	rma_close(&node, &region);
}

/* More of them than may be outstanding. */
static void test_rma_many(bool sender)
{
	enum { MANY = 5000, LEN = 200 };
	struct region region;
	struct node node;
	unsigned done = 0;

	rma_open(&node, &region, (struct node_options){0});
	region_fill(region.local, 5, MANY * LEN);
	for (unsigned i = 0; sender && done < 2 * MANY;) {
		struct completion completion;
		ssize_t ret = -FI_EAGAIN;

		if (i < MANY)
			ret = fi_write(node.ep, region.local + i * LEN, LEN, NULL, node.peer,
				       region.there.addr + i * LEN, region.there.key, NULL);
		else if (i < 2 * MANY)
			ret = fi_read(node.ep, region.local + REGION / 2 + (i - MANY) * LEN, LEN,
				      NULL, node.peer, region.there.addr + (i - MANY) * LEN,
				      region.there.key, NULL);
		CHECK(!ret || ret == -FI_EAGAIN);
		i += !ret;
		while (poll_completion(node.tx_cq, &completion))
			done++;
	}
	if (sender)
		region_check(region.local + REGION / 2, 5, MANY * LEN);
	aside_sync();
	if (!sender)
		region_check(region.bytes, 5, MANY * LEN);
	rma_close(&node, &region);
}

/* ---- completion ---- */

static void wait_count(struct fid_cntr *cntr, uint64_t count)
{
	double end = now() + PATIENCE_S;

	while (fi_cntr_read(cntr) < count)
		CHECK(now() < end);
	CHECK_EQ(fi_cntr_read(cntr), count);
}

static struct fid_cntr *region_counter(struct node *node, struct fid_mr *mr, uint64_t flags)
{
	struct fid_cntr *cntr;

	CHECK_EQ(fi_cntr_open(node->domain, NULL, &cntr, NULL), 0);
	CHECK_EQ(fi_mr_bind(mr, &cntr->fid, flags), 0);
	return cntr;
}

static void use_counters(struct node *node, struct region *region)
{
	put(node, region, 0, 0, 8, NULL);
	put(node, region, 0, 0, LONG, NULL);
	UNTIL_TAKEN(fi_inject_write(node->ep, region->local, 8, node->peer, region->there.addr,
				    region->there.key));
	wait_count(node->tx_cntr, 3);
	get(node, region, 0, 0, 8, NULL);
	get(node, region, 0, 0, LONG, NULL);
	wait_count(node->rx_cntr, 2);
	UNTIL_TAKEN(fi_inject_write(node->ep, region->local, 8, node->peer, 0, KEY + 1));
	while (!fi_cntr_readerr(node->tx_cntr))
		continue;
	CHECK_EQ(fi_cntr_read(node->tx_cntr), 3);
	CHECK_EQ(fi_cntr_readerr(node->rx_cntr), 0);
}

static void test_rma_counters(bool sender)
{
	struct node_options options = {.counters = true, .tx_bind = FI_SELECTIVE_COMPLETION};
	struct fid_cntr *region_writes, *region_reads;
	struct fid_mr *mr;
	struct region region;
	struct node node;
	uint8_t more[64];

	rma_open(&node, &region, options);
	CHECK_EQ(fi_mr_reg(node.domain, more, sizeof(more), FI_REMOTE_READ, 0, KEY + 2, 0, &mr,
			   NULL),
		 0);
	/* Besides what they count already. */
	CHECK_EQ(fi_ep_bind(node.ep, &node.tx_cntr->fid, sender ? FI_WRITE : FI_REMOTE_WRITE), 0);
	CHECK_EQ(fi_ep_bind(node.ep, &node.rx_cntr->fid, sender ? FI_READ : FI_REMOTE_READ), 0);
	region_writes = region_counter(&node, region.mr, FI_REMOTE_WRITE);
	region_reads = region_counter(&node, mr, FI_REMOTE_READ);
	aside_sync();
	if (sender)
		use_counters(&node, &region);
	aside_sync();
	if (!sender) {
		wait_count(node.tx_cntr, 3);
		wait_count(node.rx_cntr, 2);
		CHECK_EQ(fi_cntr_readerr(node.tx_cntr), 0);
	}
	CHECK_EQ(fi_cntr_read(region_writes), sender ? 0 : 3);
	CHECK_EQ(fi_cntr_read(region_reads), 0);
	aside_sync();
	CHECK_EQ(fi_close(&region_writes->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&mr->fid), 0);
	CHECK_EQ(fi_close(&region_reads->fid), 0);
	region_close(&region);
	CHECK_EQ(fi_close(&region_writes->fid), 0);
	node_close_pair(&node);
}

/* Writes into, and reads from, both regions in one operation each, the first of them twice. */
static void use_both_regions(struct node *node, struct region *region, size_t len)
{
	struct iovec iov = {region->local, 3 * len};
	struct fi_rma_iov there[] = {{region->there.addr, len, region->there.key},
				     {0, len, KEY + 2},
				     {region->there.addr + len, len, region->there.key}};
	struct fi_msg_rma msg = {.msg_iov = &iov,
				 .iov_count = 1,
				 .addr = node->peer,
				 .rma_iov = there,
				 .rma_iov_count = 3};

	UNTIL_TAKEN(fi_writemsg(node->ep, &msg, 0));
	msg.rma_iov_count = 2;
	iov.iov_len = 2 * len;
	UNTIL_TAKEN(fi_readmsg(node->ep, &msg, 0));
}

static void test_rma_counters_of_regions(bool sender)
{
	struct node_options options = {.counters = true, .tx_bind = FI_SELECTIVE_COMPLETION};
	static const size_t lengths[] = {8, LONG};
	struct fid_cntr *counts[2];
	struct region region;
	struct fid_mr *mr;
	struct node node;
	void *more = calloc(1, LONG);

	rma_open(&node, &region, options);
	CHECK_EQ(fi_mr_reg(node.domain, more, LONG, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY + 2, 0,
			   &mr, NULL),
		 0);
	CHECK_EQ(fi_ep_bind(node.ep, &node.tx_cntr->fid, sender ? FI_WRITE : FI_REMOTE_WRITE), 0);
	CHECK_EQ(fi_ep_bind(node.ep, &node.rx_cntr->fid, sender ? FI_READ : FI_REMOTE_READ), 0);
	counts[0] = region_counter(&node, region.mr, FI_REMOTE_WRITE | FI_REMOTE_READ);
	counts[1] = region_counter(&node, mr, FI_REMOTE_WRITE | FI_REMOTE_READ);
	aside_sync();
	for (unsigned i = 0; i < 2; i++) {
		if (sender)
			use_both_regions(&node, &region, lengths[i]);
		wait_count(node.tx_cntr, i + 1);
		wait_count(node.rx_cntr, i + 1);
		aside_sync();
	}
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(fi_cntr_read(counts[i]), sender ? 0 : 4);
	aside_sync();
	CHECK_EQ(fi_close(&mr->fid), 0);
	region_close(&region);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(fi_close(&counts[i]->fid), 0);
	node_close_pair(&node);
	free(more);
}

/* To the beginning of the region, with flags of its own. */
static void put_msg(struct node *node, const struct region *region, size_t from, size_t len,
		    uint64_t flags, void *context)
{
	struct iovec iov = {region->local + from, len};
	struct fi_rma_iov there = {region->there.addr, len, region->there.key};
	struct fi_msg_rma msg = {.msg_iov = &iov,
				 .iov_count = 1,
				 .addr = node->peer,
				 .rma_iov = &there,
				 .rma_iov_count = 1,
				 .context = context};

	UNTIL_TAKEN(fi_writemsg(node->ep, &msg, flags));
}

/* Only what asks for it gets an entry, errors always. */
static void test_rma_selective(bool sender)
{
	struct node_options options = {.tx_bind = FI_SELECTIVE_COMPLETION};
	struct fi_cq_err_entry error;
	struct region region;
	struct node node;

	rma_open(&node, &region, options);
	if (sender) {
		put(&node, &region, 0, 0, 8, NULL);
		get(&node, &region, 0, 0, LONG, NULL);
		put_msg(&node, &region, 0, 8, FI_COMPLETION | FI_FENCE, &error);
		expect_done(&node, &error, FI_RMA | FI_WRITE);
		expect_nothing(node.tx_cq);
		region.there.key++;
		put_msg(&node, &region, 0, 8, 0, &error);
		wait_error(node.tx_cq, &error);
		CHECK(error.op_context == &error);
	}
	rma_close(&node, &region);
}

/* A fenced operation begins when all before it are complete. */
static void test_rma_fence(bool sender)
{
	struct region region;
	struct node node;

	rma_open(&node, &region, (struct node_options){.caps = FI_FENCE});
	region_fill(region.bytes, 3, LONG);
	aside_sync();
	if (sender) {
		memset(region.local + LONG, 0, LONG);
		get(&node, &region, 0, 0, LONG, &node);
		put_msg(&node, &region, LONG, LONG, FI_COMPLETION | FI_FENCE, &region);
		expect_done(&node, &node, FI_RMA | FI_READ);
		expect_done(&node, &region, FI_RMA | FI_WRITE);
		region_check(region.local, 3,
			     LONG); /* nothing of what was written behind the fence */
	}
	rma_close(&node, &region);
}

/* ---- bursts ---- */

enum row_kind { ROW_INJECTED, ROW_WRITTEN, ROW_READ, ROW_KINDS };
enum { ROW = 60, NUMBER = 8, ROW_LEN = ROW * NUMBER };
enum { OF_TARGET = 0x11, OF_SENDER = 0x22, SEEN = 0x33 }; /* bytes of a burst */

static void post_row(struct node *node, struct region *region, enum row_kind kind)
{
	for (size_t at = 0; at < ROW_LEN; at += NUMBER) {
		if (kind == ROW_INJECTED)
			UNTIL_TAKEN(fi_inject_write(node->ep, region->local + at, NUMBER,
						    node->peer, region->there.addr + at,
						    region->there.key));
		else if (kind == ROW_WRITTEN)
			put(node, region, at, at, NUMBER, node);
		else
			get(node, region, at, at, NUMBER, node);
	}
}

/* Its last byte; nobody calls the provider meanwhile, unless the progress is the program's. */
static void await_row(const uint8_t *bytes, uint8_t value, bool automatic)
{
	const volatile uint8_t *last = bytes + ROW_LEN - 1;

	for (double end = now() + PATIENCE_S; now() < end && *last != value; nap(1))
		if (!automatic)
			progress_all();
	for (size_t i = 0; i < ROW_LEN; i++)
		CHECK_EQ(bytes[i], value);
}

static void row_begins(struct node *node, struct region *region, enum row_kind kind, bool automatic)
{
	uint64_t flags = FI_RMA | (kind == ROW_READ ? FI_READ : FI_WRITE);
	unsigned long before = node_frames_sent(node);

	memset(region->local, OF_SENDER, ROW_LEN);
	memset(region->bytes, 0, ROW_LEN);
	post_row(node, region, kind);
	if (automatic && kind == ROW_READ)
		await_row(region->local, OF_TARGET, true);
	else if (automatic)
		await_row(region->bytes, SEEN, true);
	for (unsigned i = 0; kind != ROW_INJECTED && i < ROW; i++)
		expect_done(node, node, flags);
	if (kind == ROW_READ)
		await_row(region->local, OF_TARGET, automatic);
	aside_sync();
	/* Injected operations do not wait where nothing guarantees a later flush. */
	if (automatic || kind != ROW_INJECTED)
		CHECK(node_frames_sent(node) - before <= ROW / 3);
}

static void row_arrives(struct node *node, struct region *region, enum row_kind kind,
			bool automatic)
{
	unsigned long before = node_frames_sent(node);

	if (kind != ROW_READ)
		await_row(region->bytes, OF_SENDER, automatic);
	if (automatic && kind != ROW_READ) {
		memset(region->local, SEEN, ROW_LEN);
		put_and_wait(node, region, 0, 0, ROW_LEN);
	}
	aside_sync();
	CHECK(node_frames_sent(node) - before <= ROW / 2);
}

/* They share frames, and take effect though no thread polls. */
static void test_rma_in_a_row(bool sender)
{
	for (int automatic = 0; automatic < 2; automatic++) {
		struct node_options options = {.progress = automatic ? FI_PROGRESS_AUTO
								     : FI_PROGRESS_MANUAL};
		struct region region;
		struct node node;

		rma_open(&node, &region, options);
		for (enum row_kind kind = 0; kind < ROW_KINDS; kind++) {
			memset(region.bytes, OF_TARGET, ROW_LEN);
			aside_sync();
			(sender ? row_begins : row_arrives)(&node, &region, kind, automatic);
		}
		rma_close(&node, &region);
	}
}

const struct test rma_tests[] = {
	{.name = "rma_writes", .run = test_rma_writes, .both_ways = true},
	{.name = "rma_reads", .run = test_rma_reads, .both_ways = true},
	{.name = "rma_sizes", .run = test_rma_sizes},
	{.name = "rma_order", .run = test_rma_order},
	{.name = "rma_both_ways", .run = test_rma_both_ways},
	{.name = "rma_many", .run = test_rma_many},
	{.name = "rma_counters", .run = test_rma_counters},
	{.name = "rma_counters_of_regions", .run = test_rma_counters_of_regions},
	{.name = "rma_selective", .run = test_rma_selective},
	{.name = "rma_fence", .run = test_rma_fence},
	{.name = "rma_in_a_row", .run = test_rma_in_a_row, .both_ways = true},
	{0},
};
