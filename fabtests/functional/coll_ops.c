// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-coll: operations, and whether their results are right. */
#include "coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { BARRIER, BROADCAST, REDUCE, ALLREDUCE, GATHER, ALLGATHER, SCATTER };

struct op {
	const struct group *group;
	enum kind kind;
	size_t count;
	unsigned root;
	uint32_t *in, *out;
};

const char *op_name(unsigned kind)
{
	static const char *const names[OPS] = {"barrier", "broadcast", "reduce", "allreduce",
					       "gather",  "allgather", "scatter"};

	return names[kind];
}

/* Element k of what a member gives; of a scatter's root: of block b. */
static uint32_t element(unsigned member, size_t k, unsigned block)
{
	return (uint32_t) (member * 1000003u + k * 17u + block * 7919u + 1);
}

static fi_addr_t addr_of(const struct group *group, unsigned member)
{
	return group->first + member * group->stride;
}

static ssize_t start(struct op *op)
{
	const struct group *group = op->group;
	fi_addr_t coll = fi_mc_addr(group->mc), root = addr_of(group, op->root);

	switch (op->kind) {
	case BARRIER:
		return fi_barrier(node_ep, coll, op);
	case BROADCAST:
		return fi_broadcast(node_ep, group->place == op->root ? op->in : op->out, op->count,
				    NULL, coll, root, FI_UINT32, 0, op);
	case REDUCE:
		return fi_reduce(node_ep, op->in, op->count, NULL, op->out, NULL, coll, root,
				 FI_UINT32, FI_SUM, 0, op);
	case ALLREDUCE:
		return fi_allreduce(node_ep, op->in, op->count, NULL, op->out, NULL, coll,
				    FI_UINT32, FI_SUM, 0, op);
	case GATHER:
		return fi_gather(node_ep, op->in, op->count, NULL, op->out, NULL, coll, root,
				 FI_UINT32, 0, op);
	case ALLGATHER:
		return fi_allgather(node_ep, op->in, op->count, NULL, op->out, NULL, coll,
				    FI_UINT32, 0, op);
	case SCATTER:
		return fi_scatter(node_ep, op->in, op->count, NULL, op->out, NULL, coll, root,
				  FI_UINT32, 0, op);
	}
	return -FI_EINVAL;
}

struct op *begin_op(const struct group *group, unsigned kind, size_t count, unsigned root)
{
	size_t blocks = kind == SCATTER ? group->n : 1;
	struct op *op = calloc(1, sizeof(*op));

	*op = (struct op){.group = group, .kind = (enum kind) kind, .count = count, .root = root};
	op->in = malloc(blocks * count * 4 + 4);
	op->out = calloc(group->n, count * 4 + 4);
	for (size_t block = 0; block < blocks; block++)
		for (size_t k = 0; k < count; k++)
			op->in[block * count + k] = element(group->place, k, (unsigned) block);
	CHECK_EQ(start(op), 0);
	return op;
}

static uint32_t sum_of(const struct group *group, size_t k)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < group->n; i++)
		sum += element(i, k, 0);
	return sum;
}

static void check_result(const struct op *op)
{
	const struct group *group = op->group;
	bool is_root = group->place == op->root;

	for (size_t k = 0; k < op->count; k++) {
		if (op->kind == BROADCAST && !is_root)
			CHECK_EQ(op->out[k], element(op->root, k, 0));
		if (op->kind == ALLREDUCE || (op->kind == REDUCE && is_root))
			CHECK_EQ(op->out[k], sum_of(group, k));
		if (op->kind == SCATTER)
			CHECK_EQ(op->out[k], element(op->root, k, group->place));
		for (unsigned i = 0; i < group->n; i++)
			if (op->kind == ALLGATHER || (op->kind == GATHER && is_root))
				CHECK_EQ(op->out[i * op->count + k], element(i, k, 0));
	}
}

void check_op(struct op *op)
{
	check_result(op);
	free(op->in);
	free(op->out);
	free(op);
}

static void wait_op(struct op *op)
{
	struct ending ending;

	wait_ending(op, &ending);
	if (ending.error)
		printf("%s\n", ending.text);
	CHECK_EQ(ending.error, 0);
}

void end_op(struct op *op)
{
	wait_op(op);
	check_op(op);
}

/* ---- datatypes ---- */

#define CHECK_TYPE(type, fi_type, fi_op, expression)                                              \
	do {                                                                                      \
		type own[5], result[5], expected[5];                                              \
		struct ending ending;                                                             \
                                                                                                  \
		for (unsigned k = 0; k < 5; k++) {                                                \
			own[k] = (type) (group->place * 3 + k);                                   \
			expected[k] = (type) k;                                                   \
			for (unsigned i = 1; i < group->n; i++) {                                 \
				type a = expected[k], b = (type) (i * 3 + k);                     \
                                                                                                  \
				expected[k] = (type) (expression);                                \
			}                                                                         \
		}                                                                                 \
		CHECK_EQ(fi_allreduce(node_ep, own, 5, NULL, result, NULL, fi_mc_addr(group->mc), \
				      fi_type, fi_op, 0, own),                                    \
			 0);                                                                      \
		wait_ending(own, &ending);                                                        \
		CHECK_EQ(ending.error, 0);                                                        \
		for (unsigned k = 0; k < 5; k++)                                                  \
			CHECK(result[k] == expected[k]);                                          \
	} while (0)

void check_types(const struct group *group)
{
	CHECK_TYPE(int8_t, FI_INT8, FI_SUM, a + b);
	CHECK_TYPE(uint16_t, FI_UINT16, FI_BXOR, a ^ b);
	CHECK_TYPE(int32_t, FI_INT32, FI_MIN, a < b ? a : b);
	CHECK_TYPE(uint32_t, FI_UINT32, FI_LAND, a && b);
	CHECK_TYPE(int64_t, FI_INT64, FI_MAX, a > b ? a : b);
	CHECK_TYPE(uint64_t, FI_UINT64, FI_BOR, a | b);
	CHECK_TYPE(float, FI_FLOAT, FI_SUM, a + b);
	CHECK_TYPE(double, FI_DOUBLE, FI_MAX, a > b ? a : b);
	CHECK_TYPE(long double, FI_LONG_DOUBLE, FI_SUM, a + b);
}

/* Sums of floats have the same bits everywhere and each time. */
void check_order(const struct group *group)
{
	enum { COUNT = 20000 };
	static float own[COUNT], result[COUNT], before[COUNT];
	static uint32_t hashes[MEMBERS_MAX];
	uint32_t hash = 0;
	struct ending ending;

	for (unsigned k = 0; k < COUNT; k++)
		own[k] = 1e7f / (float) (3 * k + 1) * (float) (group->place + 1);
	for (unsigned run = 0; run < 5; run++) {
		CHECK_EQ(fi_allreduce(node_ep, own, COUNT, NULL, result, NULL,
				      fi_mc_addr(group->mc), FI_FLOAT, FI_SUM, 0, own),
			 0);
		wait_ending(own, &ending);
		CHECK_EQ(ending.error, 0);
		CHECK(!run || !memcmp(before, result, sizeof(before)));
		memcpy(before, result, sizeof(before));
	}
	for (size_t k = 0; k < sizeof(result); k++)
		hash = (hash ^ ((uint8_t *) result)[k]) * 16777619u;
	aside_allgather(&hash, hashes, sizeof(hash));
	for (unsigned i = 0; i < members; i++)
		CHECK_EQ(hashes[i], hash);
}

/* ---- times, for people ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/* From the root's begin to the last member's end, us: the hosts of a lab have one clock. */
static double time_op(const struct group *group, unsigned kind, size_t count)
{
	enum { ROUNDS = 15 };
	double spans[ROUNDS], own[2], all[MEMBERS_MAX][2];

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct op *op;

		end_op(begin_op(group, 0, 0, 0));
		own[0] = now();
		op = begin_op(group, kind, count, 0);
		wait_op(op);
		own[1] = now();
		check_op(op);
		aside_allgather(own, all, sizeof(own));
		spans[round] = 0;
		for (unsigned i = 0; i < group->n; i++)
			if (all[i][1] - all[0][0] > spans[round])
				spans[round] = all[i][1] - all[0][0];
	}
	qsort(spans, ROUNDS, sizeof(*spans), compare);
	return 1e6 * spans[ROUNDS / 2];
}

void time_ops(const struct group *group)
{
	static const struct {
		unsigned kind;
		size_t count;
	} ops[] = {{0, 0}, {1, 2}, {1, 1024}, {1, 16384}, {1, 262144}, {3, 2}, {5, 16384}};

	for (unsigned i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		double us = time_op(group, ops[i].kind, ops[i].count);

		if (!group->place)
			printf("%s of %zu bytes: %.0f us\n", op_name(ops[i].kind), 4 * ops[i].count,
			       us);
	}
}
