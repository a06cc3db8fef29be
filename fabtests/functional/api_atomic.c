// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: atomic operations on the other process's memory, on all types and by all calls. */
#include "api_atomic.h"

#include <stdlib.h>
#include <string.h>

enum {
	TYPES = FI_UINT128 + 1,
	DIFF = ATOMIC_OPS - 1,
	PER_SLOT = 3, /* elements that an operation works on in a slot */
	ELEMENT = 32, /* bytes of the largest */
	SLOT = PER_SLOT * ELEMENT,
	SLOTS = FORMS * TYPES * ATOMIC_OPS,
};

/* ---- memory that the other process may reach ---- */

uint64_t target_base(const struct node *node, const struct target *target)
{
	return node->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t) target->memory : 0;
}

void target_open(struct node *node, struct target *target, size_t len, uint64_t access,
		 uint64_t key)
{
	uint64_t own[2], theirs[2];

	target->memory = aligned_alloc(4096, (len + 4095) / 4096 * 4096);
	CHECK(target->memory);
	memset(target->memory, 0, len);
	CHECK_EQ(fi_mr_reg(node->domain, target->memory, len, access, 0, key, 0, &target->mr, NULL),
		 0);
	own[0] = target_base(node, target);
	own[1] = fi_mr_key(target->mr);
	aside_exchange(own, theirs, sizeof(own));
	target->address = theirs[0];
	target->key = theirs[1];
}

void target_close(struct target *target)
{
	CHECK_EQ(fi_close(&target->mr->fid), 0);
	free(target->memory);
}

void atomic_open(struct node *node, struct target *target, size_t len)
{
	node_open_pair(node, &(struct node_options){.caps = FI_ATOMIC});
	target_open(node, target, len, FI_REMOTE_READ | FI_REMOTE_WRITE, ATOMIC_KEY);
}

void atomic_close(struct node *node, struct target *target)
{
	aside_sync();
	target_close(target);
	node_close_pair(node);
}

/* ---- elements: small numbers, which every type can hold, and what becomes of them ---- */

static size_t element_size(enum fi_datatype type)
{
	static const size_t sizes[TYPES] = {
		[FI_INT8] = 1,
		[FI_UINT8] = 1,
		[FI_INT16] = 2,
		[FI_UINT16] = 2,
		[FI_INT32] = 4,
		[FI_UINT32] = 4,
		[FI_INT64] = 8,
		[FI_UINT64] = 8,
		[FI_FLOAT] = 4,
		[FI_DOUBLE] = 8,
		[FI_FLOAT_COMPLEX] = 8,
		[FI_DOUBLE_COMPLEX] = 16,
		[FI_LONG_DOUBLE] = sizeof(long double),
		[FI_LONG_DOUBLE_COMPLEX] = 2 * sizeof(long double),
		[FI_INT128] = 16,
		[FI_UINT128] = 16,
	};

	return sizes[type];
}

static void put_element(enum fi_datatype type, void *row, size_t i, int value)
{
	union {
		__extension__ __int128 integer;
		float f[2];
		double d[2];
		long double l[2];
	} element;

	memset(&element, 0, sizeof(element));
	switch (type) {
	case FI_FLOAT:
	case FI_FLOAT_COMPLEX:
		element.f[0] = (float) value;
		break;
	case FI_DOUBLE:
	case FI_DOUBLE_COMPLEX:
		element.d[0] = value;
		break;
	case FI_LONG_DOUBLE:
	case FI_LONG_DOUBLE_COMPLEX:
		element.l[0] = value;
		break;
	default:
		element.integer = value;
	}
	memcpy((uint8_t *) row + i * element_size(type), &element, element_size(type));
}

static int outcome(unsigned op, int t, int o, int c)
{
	switch (op) {
	case FI_MIN:
		return o < t ? o : t;
	case FI_MAX:
		return o > t ? o : t;
	case FI_SUM:
		return t + o;
	case FI_PROD:
		return t * o;
	case FI_LOR:
		return t || o;
	case FI_LAND:
		return t && o;
	case FI_BOR:
		return t | o;
	case FI_BAND:
		return t & o;
	case FI_LXOR:
		return !t != !o;
	case FI_BXOR:
		return t ^ o;
	case FI_ATOMIC_WRITE:
		return o;
	case FI_CSWAP:
		return c == t ? o : t;
	case FI_CSWAP_NE:
		return c != t ? o : t;
	case FI_CSWAP_LE:
		return c <= t ? o : t;
	case FI_CSWAP_LT:
		return c < t ? o : t;
	case FI_CSWAP_GE:
		return c >= t ? o : t;
	case FI_CSWAP_GT:
		return c > t ? o : t;
	case FI_MSWAP:
		return (o & c) | (t & ~c);
	case DIFF:
		return t - o;
	}
	return t; /* FI_ATOMIC_READ */
}

/* ---- one operation ---- */

static bool is_offered(struct node *node, enum form form, unsigned type, unsigned op, size_t *count)
{
	const uint64_t flags[] = {0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC};
	enum fi_datatype datatype = (enum fi_datatype) type;
	enum fi_op operation = (enum fi_op) op;
	struct fi_atomic_attr attr;
	size_t most = 0;
	int ret = form == BASE    ? fi_atomicvalid(node->ep, datatype, operation, &most)
		  : form == FETCH ? fi_fetch_atomicvalid(node->ep, datatype, operation, &most)
				  : fi_compare_atomicvalid(node->ep, datatype, operation, &most);

	CHECK_EQ(fi_query_atomic(node->domain, datatype, operation, &attr, flags[form]), ret);
	CHECK(ret == 0 || ret == -FI_EOPNOTSUPP);
	if (!ret) {
		CHECK_EQ(attr.count, most);
		CHECK_EQ(attr.size, element_size(datatype));
	}
	if (count)
		*count = most;
	return !ret;
}

static ssize_t call_msg(struct node *node, const struct atomic *atomic)
{
	struct fi_ioc operand = {(void *) atomic->operand, atomic->count};
	struct fi_ioc compare = {(void *) atomic->compare, atomic->count};
	struct fi_ioc result = {atomic->result, atomic->count};
	struct fi_rma_ioc target = {atomic->address, atomic->count, atomic->key};
	struct fi_msg_atomic msg = {
		.msg_iov = &operand,
		.iov_count = atomic->operand ? 1 : 0,
		.addr = node->peer,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.datatype = atomic->type,
		.op = (enum fi_op) atomic->op,
		.context = (void *) atomic,
	};

	if (atomic->form == BASE)
		return fi_atomicmsg(node->ep, &msg, atomic->flags);
	if (atomic->form == FETCH)
		return fi_fetch_atomicmsg(node->ep, &msg, &result, NULL, 1, atomic->flags);
	return fi_compare_atomicmsg(node->ep, &msg, &compare, NULL, 1, &result, NULL, 1,
				    atomic->flags);
}

ssize_t atomic_try(struct node *node, const struct atomic *atomic)
{
	enum fi_op op = (enum fi_op) atomic->op;

	if (atomic->flags)
		return call_msg(node, atomic);
	if (atomic->form == BASE)
		return fi_atomic(node->ep, atomic->operand, atomic->count, NULL, node->peer,
				 atomic->address, atomic->key, atomic->type, op, (void *) atomic);
	if (atomic->form == FETCH)
		return fi_fetch_atomic(node->ep, atomic->operand, atomic->count, NULL,
				       atomic->result, NULL, node->peer, atomic->address,
				       atomic->key, atomic->type, op, (void *) atomic);
	return fi_compare_atomic(node->ep, atomic->operand, atomic->count, NULL, atomic->compare,
				 NULL, atomic->result, NULL, node->peer, atomic->address,
				 atomic->key, atomic->type, op, (void *) atomic);
}

static void post(struct node *node, const struct atomic *atomic)
{
	double end = now() + PATIENCE_S;
	ssize_t ret;

	while ((ret = atomic_try(node, atomic)) == -FI_EAGAIN) {
		CHECK(now() < end);
		progress_all();
	}
	CHECK_EQ(ret, 0);
}

static void wait_end(struct node *node, const struct atomic *atomic)
{
	struct completion completion;

	wait_completion(node->tx_cq, &completion);
	CHECK(completion.entry.op_context == (void *) atomic);
	CHECK_EQ(completion.entry.flags, FI_ATOMIC | (atomic->form == BASE ? FI_WRITE : FI_READ));
}

void atomic_run(struct node *node, const struct atomic *atomic)
{
	post(node, atomic);
	wait_end(node, atomic);
}

void atomic_run_failing(struct node *node, const struct atomic *atomic, int error)
{
	struct fi_cq_err_entry entry;

	post(node, atomic);
	wait_error(node->tx_cq, &entry);
	CHECK(entry.op_context == (void *) atomic);
	CHECK_EQ(entry.err, error);
}

/* ---- every operation on every type, each in a slot of its own ---- */

static int value_at(unsigned slot, unsigned i, unsigned kind)
{
	return (int) ((slot * 5 + i * 3 + kind * 7 + slot / 8) % 8);
}

static unsigned slot_of(enum form form, unsigned type, unsigned op)
{
	return (form * TYPES + type) * ATOMIC_OPS + op;
}

static void work_in_slot(struct node *node, const struct target *target, struct atomic *atomic)
{
	unsigned slot = slot_of(atomic->form, atomic->type, atomic->op);
	uint8_t operand[SLOT], compare[SLOT], result[SLOT], former[SLOT];

	memset(result, 0xee, sizeof(result));
	for (unsigned i = 0; i < PER_SLOT; i++) {
		put_element(atomic->type, former, i, value_at(slot, i, 0));
		put_element(atomic->type, operand, i, value_at(slot, i, 1));
		put_element(atomic->type, compare, i, value_at(slot, i, 2));
	}
	atomic->count = PER_SLOT;
	atomic->address = target->address + slot * SLOT;
	atomic->key = target->key;
	atomic->operand = atomic->op == FI_ATOMIC_READ ? NULL : operand;
	atomic->compare = compare;
	atomic->result = result;
	atomic_run(node, atomic);
	if (atomic->form != BASE)
		CHECK(!memcmp(result, former, PER_SLOT * element_size(atomic->type)));
	else
		CHECK_EQ(result[0], 0xee);
}

static void check_slot(const struct target *target, enum form form, unsigned type, unsigned op,
		       bool offered)
{
	unsigned slot = slot_of(form, type, op);
	uint8_t should[SLOT];

	for (unsigned i = 0; i < PER_SLOT; i++) {
		int t = value_at(slot, i, 0), o = value_at(slot, i, 1), c = value_at(slot, i, 2);

		put_element((enum fi_datatype) type, should, i, offered ? outcome(op, t, o, c) : t);
	}
	CHECK(!memcmp(target->memory + slot * SLOT, should,
		      PER_SLOT * element_size((enum fi_datatype) type)));
}

static void fill_slots(const struct target *target)
{
	for (unsigned slot = 0; slot < SLOTS; slot++)
		for (unsigned i = 0; i < PER_SLOT; i++)
			put_element((enum fi_datatype)(slot / ATOMIC_OPS % TYPES),
				    target->memory + slot * SLOT, i, value_at(slot, i, 0));
}

static void test_types(bool sender)
{
	struct target target;
	struct node node;
	unsigned offered = 0;

	atomic_open(&node, &target, SLOTS * SLOT);
	fill_slots(&target);
	aside_sync();
	for (int form = 0; sender && form < FORMS; form++)
		for (unsigned type = 0; type < TYPES; type++)
			for (unsigned op = 0; op < ATOMIC_OPS; op++) {
				struct atomic atomic = {.form = (enum form) form,
							.type = (enum fi_datatype) type,
							.op = op};

				if (is_offered(&node, atomic.form, type, op, NULL))
					work_in_slot(&node, &target, &atomic);
				offered += is_offered(&node, atomic.form, type, op, NULL);
			}
	CHECK_EQ(offered, sender ? 446 : 0);
	aside_sync();
	for (int form = 0; !sender && form < FORMS; form++)
		for (unsigned type = 0; type < TYPES; type++)
			for (unsigned op = 0; op < ATOMIC_OPS; op++)
				check_slot(&target, (enum form) form, type, op,
					   is_offered(&node, (enum form) form, type, op, NULL));
	atomic_close(&node, &target);
}

/* ---- the calls ---- */

static void vectors(struct node *node, const struct target *target)
{
	int32_t operand[16], compare[16], result[16];
	struct fi_ioc operands[PIECES], compares[PIECES], results[PIECES];
	struct completion completion;

	for (int i = 0; i < 16; i++) {
		operand[i] = 100 + i;
		compare[i] = i;
	}
	for (int i = 0; i < PIECES; i++) {
		operands[i] = (struct fi_ioc){&operand[2 * i], 2};
		compares[i] = (struct fi_ioc){&compare[2 * i], 2};
		results[i] = (struct fi_ioc){&result[14 - 2 * i], 2}; /* the other way round */
	}
	CHECK_EQ(fi_atomicv(node->ep, operands, NULL, PIECES, node->peer, target->address,
			    target->key, FI_INT32, FI_ATOMIC_WRITE, operand),
		 0);
	wait_completion(node->tx_cq, &completion);
	CHECK(completion.entry.op_context == operand);
	/* Where the comparand is another, the target's element is exchanged. */
	for (int i = 0; i < 16; i++) {
		operand[i] = 200 + i;
		compare[i] = i % 2 ? 100 + i : 0;
	}
	CHECK_EQ(fi_compare_atomicv(node->ep, operands, NULL, PIECES, compares, NULL, PIECES,
				    results, NULL, PIECES, node->peer, target->address, target->key,
				    FI_INT32, FI_CSWAP_NE, compare),
		 0);
	wait_completion(node->tx_cq, &completion);
	for (int i = 0; i < 16; i++)
		CHECK_EQ(result[(14 - i / 2 * 2) + i % 2], 100 + i);
	CHECK_EQ(fi_fetch_atomicv(node->ep, operands, NULL, PIECES, results, NULL, PIECES,
				  node->peer, target->address, target->key, FI_INT32, FI_SUM,
				  result),
		 0);
	wait_completion(node->tx_cq, &completion);
	CHECK(completion.entry.op_context == result);
	for (int i = 0; i < 16; i++)
		CHECK_EQ(result[(14 - i / 2 * 2) + i % 2], (i % 2 ? 100 : 200) + i);
}

/* Several segments of the target's memory in one call, and flags. */
static void messages(struct node *node, const struct target *target)
{
	uint64_t operand[4] = {1, 2, 3, 4}, result[4] = {0};
	struct fi_ioc operands[] = {{operand, 1}, {operand + 1, 3}};
	struct fi_ioc results[] = {{result, 3}, {result + 3, 1}};
	struct fi_rma_ioc pieces[] = {{target->address + 1024, 2, target->key},
				      {target->address + 2048, 1, target->key},
				      {target->address + 512, 1, target->key}};
	struct fi_msg_atomic msg = {
		.msg_iov = operands,
		.iov_count = 2,
		.addr = node->peer,
		.rma_iov = pieces,
		.rma_iov_count = 3,
		.datatype = FI_UINT64,
		.op = FI_SUM,
		.context = operand,
	};
	struct completion completion;

	CHECK_EQ(fi_atomicmsg(node->ep, &msg, FI_COMPLETION | FI_INJECT), 0);
	memset(operand, 0, sizeof(operand)); /* it is free already */
	wait_completion(node->tx_cq, &completion);
	CHECK(completion.entry.op_context == operand);
	operand[0] = 10;
	CHECK_EQ(fi_fetch_atomicmsg(node->ep, &msg, results, NULL, 2,
				    FI_DELIVERY_COMPLETE | FI_FENCE),
		 0);
	wait_completion(node->tx_cq, &completion);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(result[i], i + 1);
}

static void injected(struct node *node, const struct target *target)
{
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t operand = i;
		ssize_t ret;

		while ((ret = fi_inject_atomic(node->ep, &operand, 1, node->peer,
					       target->address + 3072, target->key, FI_UINT64,
					       FI_SUM)) == -FI_EAGAIN)
			progress_all();
		CHECK_EQ(ret, 0);
		operand = 1000000;
	}
	expect_nothing(node->tx_cq);
}

static void test_calls(bool sender)
{
	struct target target;
	struct node node;
	uint64_t sum = 0;

	atomic_open(&node, &target, 4096);
	if (sender) {
		vectors(&node, &target);
		messages(&node, &target);
		injected(&node, &target);
		atomic_run(&node, &(struct atomic){.form = FETCH,
						   .type = FI_UINT64,
						   .op = FI_ATOMIC_READ,
						   .count = 1,
						   .address = target.address + 3072,
						   .key = target.key,
						   .result = &sum});
		CHECK_EQ(sum, 99 * 100 / 2);
	}
	aside_sync();
	if (!sender) {
		const int32_t *first = (int32_t *) target.memory;
		const uint64_t *numbers = (uint64_t *) target.memory;

		for (int i = 0; i < 16; i++)
			CHECK_EQ(first[i], (i % 2 ? 300 : 400) + 2 * i);
		CHECK_EQ(numbers[1024 / 8], 11);
		CHECK_EQ(numbers[1024 / 8 + 1], 2);
		CHECK_EQ(numbers[2048 / 8], 3);
		CHECK_EQ(numbers[512 / 8], 4);
		CHECK_EQ(numbers[3072 / 8], 99 * 100 / 2);
	}
	atomic_close(&node, &target);
}

/* ---- counters, and entries only on request ---- */

static struct fid_cntr *bound_cntr(struct node *node, uint64_t events)
{
	struct fi_cntr_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fid_cntr *cntr;

	CHECK_EQ(fi_cntr_open(node->domain, &attr, &cntr, NULL), 0);
	CHECK_EQ(fi_ep_bind(node->ep, &cntr->fid, events), 0);
	return cntr;
}

static void wait_count(struct fid_cntr *cntr, uint64_t count)
{
	double end = now() + PATIENCE_S;

	while (fi_cntr_read(cntr) < count)
		CHECK(now() < end);
	CHECK_EQ(fi_cntr_read(cntr), count);
}

/*
 * Of each kind three, quietly; at the target each call counts once, however many its frames. To
 * the endpoint those that fetch are reads; the region's counter has all that modify it.
 */
static void test_counted(bool sender)
{
	struct fid_cntr *region_writes;
	static uint8_t operand[ATOMIC_MANY], result[ATOMIC_MANY];
	struct node_options options = {.caps = FI_ATOMIC | FI_RMA_EVENT,
				       .tx_bind = FI_SELECTIVE_COMPLETION};
	struct atomic atomic = {.type = FI_UINT8,
				.count = ATOMIC_MANY,
				.operand = operand,
				.compare = operand,
				.result = result};
	struct target target;
	struct node node;

	node_open_pair(&node, &options);
	target_open(&node, &target, ATOMIC_MANY, FI_REMOTE_READ | FI_REMOTE_WRITE, ATOMIC_KEY);
	node.tx_cntr = bound_cntr(&node, sender ? FI_WRITE : FI_REMOTE_WRITE);
	node.rx_cntr = bound_cntr(&node, sender ? FI_READ : FI_REMOTE_READ);
	CHECK_EQ(fi_cntr_open(node.domain, NULL, &region_writes, NULL), 0);
	CHECK_EQ(fi_mr_bind(target.mr, &region_writes->fid, FI_REMOTE_WRITE), 0);
	aside_sync();
	atomic.address = target.address;
	atomic.key = target.key;
	for (int i = 0; sender && i < 9; i++) {
		atomic.form = (enum form)(i % FORMS);
		atomic.op = atomic.form == COMPARE ? FI_CSWAP : FI_SUM;
		atomic.flags = i < 6 ? 0 : FI_DELIVERY_COMPLETE; /* by the call with flags */
		CHECK_EQ(atomic_try(&node, &atomic), 0);
	}
	wait_count(node.tx_cntr, 3);
	wait_count(node.rx_cntr, 6);
	wait_count(region_writes, sender ? 0 : 9);
	expect_nothing(node.tx_cq);
	aside_sync();
	target_close(&target);
	CHECK_EQ(fi_close(&region_writes->fid), 0);
	node_close_pair(&node); /* with the counters */
}

/* ---- arrays of all lengths, some of several frames ---- */

static void one_row(struct node *node, const struct target *target, size_t count, uint8_t *operand,
		    uint8_t *result)
{
	struct atomic atomic = {
		.form = FETCH,
		.type = FI_UINT8,
		.op = FI_SUM,
		.count = count,
		.address = target->address + 7,
		.key = target->key,
		.operand = operand,
		.result = result,
	};

	atomic_run(node, &atomic);
	for (size_t i = 0; i < count; i++) /* left by the last array */
		CHECK_EQ(result[i], target->memory[i]);
	for (size_t i = 0; i < count; i++)
		target->memory[i] = (uint8_t) (target->memory[i] + operand[i]);
	atomic.form = COMPARE;
	atomic.op = FI_MSWAP;
	atomic.compare = result; /* a mask like any other */
	atomic.result = result + ATOMIC_MANY;
	atomic_run(node, &atomic);
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(result[ATOMIC_MANY + i], target->memory[i]);
		target->memory[i] =
			(uint8_t) ((operand[i] & result[i]) | (target->memory[i] & ~result[i]));
	}
}

/* The sender's own memory mirrors what the other's must be. */
static void test_lengths(bool sender)
{
	static const size_t counts[] = {1,          2,    7,    63,   255,  511,   512,
					513,        682,  1023, 1024, 1025, 1300,  1399,
					1500,       2048, 4095, 8192, 9000, 16385, ATOMIC_MANY - 1,
					ATOMIC_MANY};
	uint8_t *operand = malloc(ATOMIC_MANY), *result = malloc(2 * ATOMIC_MANY);
	struct target target;
	struct node node;
	size_t count;

	atomic_open(&node, &target, ATOMIC_MANY + 7);
	CHECK(is_offered(&node, FETCH, FI_UINT8, FI_SUM, &count));
	CHECK_EQ(count, ATOMIC_MANY);
	for (size_t i = 0; i < ATOMIC_MANY; i++)
		operand[i] = (uint8_t) (i * 13 + i / 256 + 1);
	for (size_t i = 0; sender && i < sizeof(counts) / sizeof(*counts); i++)
		one_row(&node, &target, counts[i], operand, result);
	atomic_close(&node, &target);
	free(operand);
	free(result);
}

const struct test atomic_tests[] = {
	{.name = "atomic_types", .run = test_types, .both_ways = true},
	{.name = "atomic_calls", .run = test_calls, .both_ways = true},
	{.name = "atomic_counted", .run = test_counted, .both_ways = true},
	{.name = "atomic_lengths", .run = test_lengths, .both_ways = true},
	{.name = NULL},
};
