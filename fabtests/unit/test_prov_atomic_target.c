// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of prov/gamma/src/atomic_target.c: a peer may write any numbers into its frames, and
 * changes memory only if all of them fit together.
 */
#include "unit.h"

#include <string.h>

#include "ep.h"

enum { MEMORY = 128, UNTOUCHED = 0x11 };

static _Alignas(64) uint8_t memory[MEMORY];
static uint8_t operands[2 * MEMORY], result[MEMORY];
static struct gamma_rma_region region;
static uint64_t wanted;
static enum gamma_refusal answer;

/* Stands for the look-up of regions. */
enum gamma_refusal gamma_remote_reach(struct gamma_fi_ep *ep, const struct gamma_rma_access *access,
				      uint64_t access_wanted, struct gamma_rma_region *reached)
{
	(void) ep;
	wanted = access_wanted;
	if (!answer) {
		*reached = region;
		if (region.iov_count == 1)
			reached->iov[0].iov_len = access->length;
	}
	return answer;
}

static int setup(void **state)
{
	(void) state;
	memset(memory, UNTOUCHED, sizeof(memory));
	memset(operands, 0x22, sizeof(operands));
	memset(result, 0x33, sizeof(result));
	region = (struct gamma_rma_region){.iov_count = 1, .iov = {{.iov_base = memory}}};
	answer = 0;
	wanted = 0;
	return 0;
}

static enum gamma_refusal ask(struct gamma_rma_access access)
{
	return gamma_atomic_target_apply(NULL, NULL, &access, operands, result);
}

static struct gamma_rma_access fetch(uint8_t datatype, uint8_t op, uint16_t count, uint64_t length,
				     uint32_t operand_bytes)
{
	return (struct gamma_rma_access){
		.op = GAMMA_OP_FETCH,
		.length = length,
		.datatype = datatype,
		.atomic_op = op,
		.count = count,
		.operands = operand_bytes,
	};
}

static void check_untouched(void)
{
	for (unsigned i = 0; i < MEMORY; i++)
		assert_int_equal(memory[i], UNTOUCHED);
	for (unsigned i = 0; i < MEMORY; i++)
		assert_int_equal(result[i], 0x33);
}

static void requested__numbers_that_fit(void **state)
{
	(void) state;
	assert_int_equal(ask(fetch(GAMMA_UINT32, GAMMA_ATOMIC_BXOR, 3, 12, 12)), 0);
	for (unsigned i = 0; i < MEMORY; i++) {
		assert_int_equal(memory[i], i < 12 ? UNTOUCHED ^ 0x22 : UNTOUCHED);
		assert_int_equal(result[i], i < 12 ? UNTOUCHED : 0x33);
	}
}

static void requested__numbers_that_contradict_each_other(void **state)
{
	const struct gamma_rma_access rows[] = {
		fetch(GAMMA_UINT32, GAMMA_ATOMIC_SUM, 3, 16, 16), /* more bytes than elements */
		fetch(GAMMA_UINT32, GAMMA_ATOMIC_SUM, 3, 12, 8),  /* operands that are not there */
		fetch(GAMMA_UINT32, GAMMA_ATOMIC_SUM, 3, 12, 0),
		fetch(GAMMA_UINT32, GAMMA_ATOMIC_SUM, 3, 12, 24),
		fetch(GAMMA_UINT32, GAMMA_ATOMIC_SUM, 65535, 12, 12),
		fetch(GAMMA_UINT64, GAMMA_ATOMIC_SUM, 3, 12, 12),
		fetch(GAMMA_UINT32, GAMMA_ATOMIC_READ, 3, 12, 12), /* nobody needs these */
	};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(rows); i++)
		assert_int_equal(ask(rows[i]), GAMMA_REFUSED_UNSUPPORTED);
	check_untouched();
	assert_int_equal(wanted, 0); /* nor was anything looked up */
}

static void requested__comparands_that_are_not_there(void **state)
{
	struct gamma_rma_access access = fetch(GAMMA_UINT32, GAMMA_ATOMIC_CSWAP, 2, 8, 8);

	(void) state;
	access.op = GAMMA_OP_COMPARE;
	assert_int_equal(ask(access), GAMMA_REFUSED_UNSUPPORTED);
	check_untouched();
	access.operands = 16;
	assert_int_equal(ask(access), 0);
}

static void requested__operations_that_do_not_exist(void **state)
{
	(void) state;
	for (unsigned type = 0; type < 256; type++)
		for (unsigned op = 0; op < 256; op++) {
			uint32_t size = gamma_atomic_ops_size(type);
			struct gamma_rma_access access =
				fetch((uint8_t) type, (uint8_t) op, 1, size ? size : 4, size);

			if (op == GAMMA_ATOMIC_READ)
				access.operands = 0;
			assert_int_equal(!ask(access),
					 gamma_atomic_ops_is_valid(GAMMA_ATOMIC_FETCH, type, op));
		}
}

/* What belongs into another frame. */
static void requested__operations_of_other_forms(void **state)
{
	struct gamma_rma_access access = fetch(GAMMA_UINT32, GAMMA_ATOMIC_CSWAP, 1, 4, 8);

	(void) state;
	assert_int_equal(ask(access), GAMMA_REFUSED_UNSUPPORTED);
	access.op = GAMMA_OP_ATOMIC;
	assert_int_equal(ask(access), GAMMA_REFUSED_UNSUPPORTED);
	access.atomic_op = GAMMA_ATOMIC_READ;
	access.operands = 0;
	assert_int_equal(ask(access), GAMMA_REFUSED_UNSUPPORTED);
	access.op = GAMMA_OP_COMPARE;
	access.atomic_op = GAMMA_ATOMIC_SUM;
	access.operands = 8;
	assert_int_equal(ask(access), GAMMA_REFUSED_UNSUPPORTED);
	check_untouched();
}

static void requested__elements_out_of_place(void **state)
{
	(void) state;
	for (uintptr_t shift = 0; shift < 16; shift++)
		for (uint8_t type = 0; type <= GAMMA_UINT128; type++) {
			uint32_t size = gamma_atomic_ops_size(type);
			bool fits = !(shift % gamma_atomic_ops_alignment(type));

			region.iov[0].iov_base = memory + shift;
			assert_int_equal(ask(fetch(type, GAMMA_ATOMIC_WRITE, 1, size, size)),
					 fits ? 0 : GAMMA_REFUSED_ALIGNMENT);
		}
}

static void requested__element_in_two_pieces(void **state)
{
	(void) state;
	region = (struct gamma_rma_region){
		.iov_count = 2,
		.iov = {{memory, 12}, {memory + 64, 12}},
	};
	assert_int_equal(ask(fetch(GAMMA_UINT64, GAMMA_ATOMIC_SUM, 3, 24, 24)),
			 GAMMA_REFUSED_ALIGNMENT);
	check_untouched();
}

static void requested__row_in_two_pieces(void **state)
{
	(void) state;
	region = (struct gamma_rma_region){
		.iov_count = 2,
		.iov = {{memory, 8}, {memory + 64, 16}},
	};
	for (unsigned i = 0; i < 24; i++)
		operands[i] = (uint8_t) i;
	memory[64] = 0x44;
	assert_int_equal(ask(fetch(GAMMA_UINT64, GAMMA_ATOMIC_WRITE, 3, 24, 24)), 0);
	assert_memory_equal(memory, operands, 8);
	assert_memory_equal(memory + 64, operands + 8, 16);
	assert_int_equal(memory[8], UNTOUCHED);
	assert_int_equal(memory[80], UNTOUCHED);
	assert_int_equal(result[8], 0x44);
	assert_int_equal(result[24], 0x33);
}

static void requested__access_that_each_needs(void **state)
{
	struct gamma_rma_access access = fetch(GAMMA_UINT32, GAMMA_ATOMIC_READ, 1, 4, 0);

	(void) state;
	answer = GAMMA_REFUSED_ACCESS;
	assert_int_equal(ask(access), GAMMA_REFUSED_ACCESS);
	assert_int_equal(wanted, FI_REMOTE_READ);
	access.atomic_op = GAMMA_ATOMIC_SUM;
	access.operands = 4;
	assert_int_equal(ask(access), GAMMA_REFUSED_ACCESS);
	assert_int_equal(wanted, FI_REMOTE_READ | FI_REMOTE_WRITE);
	access.op = GAMMA_OP_ATOMIC;
	assert_int_equal(ask(access), GAMMA_REFUSED_ACCESS);
	assert_int_equal(wanted, FI_REMOTE_WRITE);
	access.op = GAMMA_OP_COMPARE;
	access.atomic_op = GAMMA_ATOMIC_CSWAP;
	access.operands = 8;
	assert_int_equal(ask(access), GAMMA_REFUSED_ACCESS);
	assert_int_equal(wanted, FI_REMOTE_READ | FI_REMOTE_WRITE);
	check_untouched();
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requested__numbers_that_fit),
		TEST(requested__numbers_that_contradict_each_other),
		TEST(requested__comparands_that_are_not_there),
		TEST(requested__operations_that_do_not_exist),
		TEST(requested__operations_of_other_forms),
		TEST(requested__elements_out_of_place),
		TEST(requested__element_in_two_pieces),
		TEST(requested__row_in_two_pieces),
		TEST(requested__access_that_each_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
