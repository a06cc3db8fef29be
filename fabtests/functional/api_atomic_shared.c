// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: several processes change the same memory by atomic operations; refused operations. */
#include "api_atomic.h"

#include <rdma/fi_trigger.h>
#include <string.h>

enum { READ_ONLY_KEY = ATOMIC_KEY + 1 };

/* ---- many at the same element ---- */

enum { ROUNDS = 2000, UNDER_WAY = 200 };

/* The own memory becomes the target, for the endpoint that has registered it. */
static void turn_to_self(struct node *node, struct target *target)
{
	struct name name;

	node_name(node, &name);
	node->peer = node_insert(node, &name);
	target->address = target_base(node, target);
	target->key = fi_mr_key(target->mr);
}

/* Adds 1 `times` times; every value fetched is returned only once. */
static void add_up(struct node *node, const struct target *target, uint64_t *results)
{
	static const uint64_t one = 1;
	struct atomic atomic = {
		.form = FETCH,
		.type = FI_UINT64,
		.op = FI_SUM,
		.count = 1,
		.address = target->address,
		.key = target->key,
		.operand = &one,
	};
	struct completion completion;

	for (unsigned posted = 0, done = 0; done < ROUNDS;) {
		atomic.result = &results[posted];
		if (posted < ROUNDS && posted - done < UNDER_WAY && !atomic_try(node, &atomic))
			posted++;
		while (poll_completion(node->tx_cq, &completion))
			done++;
	}
	for (unsigned i = 1; i < ROUNDS; i++)
		CHECK(results[i] > results[i - 1]); /* in the order of the calls */
}

/* Both add to the receiver's number: all numbers on the way have been given out once. */
static void test_adders(bool sender)
{
	static uint64_t results[ROUNDS], theirs[ROUNDS];
	struct target target;
	struct node node;

	atomic_open(&node, &target, 4096);
	if (!sender)
		turn_to_self(&node, &target);
	aside_sync();
	add_up(&node, &target, results);
	aside_exchange(results, theirs, sizeof(results));
	for (unsigned own = 0, their = 0; own + their < 2 * ROUNDS;) {
		uint64_t next = own + their;

		if (own < ROUNDS && results[own] == next)
			own++;
		else if (their < ROUNDS && theirs[their] == next)
			their++;
		else
			CHECK_EQ(own < ROUNDS ? results[own] : theirs[their], next);
	}
	if (!sender)
		CHECK_EQ(*(uint64_t *) target.memory, 2 * ROUNDS);
	atomic_close(&node, &target);
}

/* The receiver's processor adds to the number that the sender adds to. */
static void test_processor(bool sender)
{
	static uint64_t results[ROUNDS];
	struct target target;
	struct node node;
	uint64_t *number, added = 0;

	atomic_open(&node, &target, 4096);
	number = (uint64_t *) target.memory;
	aside_sync();
	if (sender)
		add_up(&node, &target, results);
	while (!sender && __atomic_load_n(number, __ATOMIC_RELAXED) - added < ROUNDS) {
		for (unsigned i = 0; i < 50; i++, added++)
			__atomic_add_fetch(number, 1, __ATOMIC_RELAXED);
		progress_all();
	}
	aside_sync();
	if (!sender)
		CHECK_EQ(*number, ROUNDS + added);
	atomic_close(&node, &target);
}

/* Both take a lock in the receiver's memory by CSWAP and update what it protects. */
static void test_lock(bool sender)
{
	enum { TURNS = 100 };
	struct target target;
	struct node node;
	uint64_t zero = 0, one = 1, was, value;
	struct atomic lock = {.form = COMPARE,
			      .type = FI_UINT64,
			      .op = FI_CSWAP,
			      .count = 1,
			      .operand = &one,
			      .compare = &zero,
			      .result = &was};
	struct atomic read = {.form = FETCH,
			      .type = FI_UINT64,
			      .op = FI_ATOMIC_READ,
			      .count = 1,
			      .result = &value};
	struct atomic write = {.form = BASE, .type = FI_UINT64, .op = FI_ATOMIC_WRITE, .count = 1};

	atomic_open(&node, &target, 4096);
	if (!sender)
		turn_to_self(&node, &target);
	lock.address = target.address;
	read.address = target.address + 8;
	lock.key = read.key = write.key = target.key;
	aside_sync();
	for (unsigned turn = 0; turn < TURNS; turn++) {
		do {
			atomic_run(&node, &lock);
		} while (was);
		atomic_run(&node, &read);
		value++;
		write.address = target.address + 8;
		write.operand = &value;
		atomic_run(&node, &write);
		write.address = target.address;
		write.operand = &zero;
		atomic_run(&node, &write);
	}
	aside_sync();
	if (!sender)
		CHECK_EQ(((uint64_t *) target.memory)[1], 2 * TURNS);
	atomic_close(&node, &target);
}

/* ---- deferred until a counter's threshold ---- */

/* Three calls on one number, each set off by the one before: 5, then 5 + 7, then 9. */
static void work_in_a_row(struct node *node, const struct target *target, struct fid_cntr *cntr)
{
	uint64_t operands[] = {5, 7, 9}, twelve = 12, results[2] = {0};
	struct fi_ioc iov[] = {{&operands[0], 1}, {&operands[1], 1}, {&operands[2], 1}};
	struct fi_ioc comparand = {&twelve, 1};
	struct fi_ioc result[] = {{&results[0], 1}, {&results[1], 1}};
	struct fi_rma_ioc place = {target->address, 1, target->key};
	struct fi_msg_atomic msg = {
		.iov_count = 1,
		.addr = node->peer,
		.rma_iov = &place,
		.rma_iov_count = 1,
		.datatype = FI_UINT64,
	};
	struct fi_op_atomic base = {.ep = node->ep, .msg = msg};
	struct fi_op_fetch_atomic fetch = {.ep = node->ep, .msg = msg};
	struct fi_op_compare_atomic compare = {.ep = node->ep, .msg = msg};
	struct fi_deferred_work works[3];
	double end = now() + PATIENCE_S;

	base.msg.msg_iov = &iov[0];
	base.msg.op = FI_ATOMIC_WRITE;
	fetch.msg.msg_iov = &iov[1];
	fetch.msg.op = FI_SUM;
	fetch.fetch = (struct fi_msg_fetch){.msg_iov = &result[0], .iov_count = 1};
	compare.msg.msg_iov = &iov[2];
	compare.msg.op = FI_CSWAP;
	compare.compare = (struct fi_msg_compare){.msg_iov = &comparand, .iov_count = 1};
	compare.fetch = (struct fi_msg_fetch){.msg_iov = &result[1], .iov_count = 1};
	memset(works, 0, sizeof(works));
	works[0].op_type = FI_OP_ATOMIC;
	works[0].op.atomic = &base;
	works[1].op_type = FI_OP_FETCH_ATOMIC;
	works[1].op.fetch_atomic = &fetch;
	works[2].op_type = FI_OP_COMPARE_ATOMIC;
	works[2].op.compare_atomic = &compare;
	for (unsigned i = 3; i-- > 0;) {
		works[i].triggering_cntr = works[i].completion_cntr = cntr;
		works[i].threshold = i + 1;
		CHECK_EQ(fi_control(&node->domain->fid, FI_QUEUE_WORK, &works[i]), 0);
	}
	CHECK_EQ(fi_cntr_add(cntr, 1), 0);
	while (fi_cntr_read(cntr) < 4)
		CHECK(now() < end);
	CHECK_EQ(results[0], 5);
	CHECK_EQ(results[1], 12);
	expect_nothing(node->tx_cq);
}

static void test_deferred(bool sender)
{
	struct target target;
	struct node node;
	struct fid_cntr *cntr;

	node_open_pair(&node, &(struct node_options){.caps = FI_ATOMIC | FI_TRIGGER});
	target_open(&node, &target, 4096, FI_REMOTE_READ | FI_REMOTE_WRITE, ATOMIC_KEY);
	CHECK_EQ(fi_cntr_open(node.domain, NULL, &cntr, NULL), 0);
	if (sender)
		work_in_a_row(&node, &target, cntr);
	aside_sync();
	if (!sender)
		CHECK_EQ(*(uint64_t *) target.memory, 9);
	CHECK_EQ(fi_close(&cntr->fid), 0);
	atomic_close(&node, &target);
}

/* ---- refusals ---- */

static void refused_calls(struct node *node, const struct target *target)
{
	uint64_t number[2] = {0}, result[2];
	struct atomic atomic = {.form = BASE,
				.type = FI_UINT64,
				.op = FI_ATOMIC_READ,
				.count = 1,
				.address = target->address,
				.key = target->key,
				.operand = number,
				.compare = number,
				.result = result};

	CHECK_EQ(atomic_try(node, &atomic), -FI_EOPNOTSUPP);
	atomic.op = FI_CSWAP;
	CHECK_EQ(atomic_try(node, &atomic), -FI_EOPNOTSUPP);
	atomic.form = COMPARE;
	atomic.op = FI_SUM;
	CHECK_EQ(atomic_try(node, &atomic), -FI_EOPNOTSUPP);
	atomic.form = FETCH;
	atomic.type = FI_FLOAT;
	atomic.op = FI_BOR;
	CHECK_EQ(atomic_try(node, &atomic), -FI_EOPNOTSUPP);
	atomic.type = (enum fi_datatype) 16; /* a type of newer versions */
	atomic.op = FI_SUM;
	CHECK_EQ(atomic_try(node, &atomic), -FI_EOPNOTSUPP);
	atomic.type = FI_UINT64;
	atomic.op = ATOMIC_OPS;
	CHECK_EQ(atomic_try(node, &atomic), -FI_EOPNOTSUPP);
	atomic.op = FI_SUM;
	atomic.count = 0;
	CHECK_EQ(atomic_try(node, &atomic), -FI_EINVAL);
	atomic.count = ATOMIC_MANY / sizeof(uint64_t) + 1;
	CHECK_EQ(atomic_try(node, &atomic), -FI_EMSGSIZE);
	atomic.count = 1;
	atomic.flags = FI_TAGGED;
	CHECK_EQ(atomic_try(node, &atomic), -FI_EBADFLAGS);
}

static void uneven_counts(struct node *node, const struct target *target)
{
	uint64_t number[4] = {0};
	struct fi_ioc two = {number, 2}, three = {number, 3};
	struct fi_rma_ioc piece = {target->address, 2, target->key};
	struct fi_msg_atomic msg = {.msg_iov = &three,
				    .iov_count = 1,
				    .addr = node->peer,
				    .rma_iov = &piece,
				    .rma_iov_count = 1,
				    .datatype = FI_UINT64,
				    .op = FI_SUM};

	CHECK_EQ(fi_atomicmsg(node->ep, &msg, 0), -FI_EINVAL);
	msg.msg_iov = &two;
	CHECK_EQ(fi_fetch_atomicmsg(node->ep, &msg, &three, NULL, 1, 0), -FI_EINVAL);
	msg.op = FI_CSWAP;
	CHECK_EQ(fi_compare_atomicmsg(node->ep, &msg, &three, NULL, 1, &two, NULL, 1, 0),
		 -FI_EINVAL);
}

static void refused_there(struct node *node, const struct target *target,
			  const struct target *read_only)
{
	uint64_t number[2] = {0}, result[2];
	struct atomic atomic = {.form = FETCH,
				.type = FI_UINT64,
				.op = FI_SUM,
				.count = 2,
				.address = target->address,
				.key = 0x999,
				.operand = number,
				.compare = number,
				.result = result};

	atomic_run_failing(node, &atomic, FI_EACCES); /* no such key */
	atomic.key = target->key;
	atomic.address = target->address + 4096 - 8;
	atomic_run_failing(node, &atomic, FI_EINVAL); /* half of it beyond the end */
	atomic.address = target->address - 8;
	atomic_run_failing(node, &atomic, FI_EINVAL);
	atomic.address = target->address + 4;
	atomic_run_failing(node, &atomic, FI_EINVAL); /* not aligned */
	atomic.form = BASE;
	atomic_run_failing(node, &atomic, FI_EINVAL);
	atomic.address = read_only->address;
	atomic.key = read_only->key;
	atomic_run_failing(node, &atomic, FI_EACCES);
	atomic.form = FETCH;
	atomic_run_failing(node, &atomic, FI_EACCES);
	atomic.form = COMPARE;
	atomic.op = FI_CSWAP;
	atomic_run_failing(node, &atomic, FI_EACCES);
	atomic.form = FETCH;
	atomic.op = FI_ATOMIC_READ;
	atomic_run(node, &atomic);
}

static void test_refusals(bool sender)
{
	struct target target, read_only;
	struct node node;

	atomic_open(&node, &target, 4096);
	target_open(&node, &read_only, 4096, FI_REMOTE_READ, READ_ONLY_KEY);
	memset(target.memory, 0x5a, 4096);
	aside_sync();
	if (sender) {
		refused_calls(&node, &target);
		uneven_counts(&node, &target);
		refused_there(&node, &target, &read_only);
	}
	aside_sync();
	for (unsigned i = 0; !sender && i < 4096; i++)
		CHECK_EQ(target.memory[i], 0x5a);
	target_close(&read_only);
	atomic_close(&node, &target);
}

const struct test atomic_shared_tests[] = {
	{.name = "atomic_adders", .run = test_adders, .both_ways = true},
	{.name = "atomic_processor", .run = test_processor, .both_ways = true},
	{.name = "atomic_lock", .run = test_lock, .both_ways = true},
	{.name = "atomic_deferred", .run = test_deferred, .both_ways = true},
	{.name = "atomic_refusals", .run = test_refusals, .both_ways = true},
	{.name = NULL},
};
