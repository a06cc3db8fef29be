// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/atomic_valid.c: what the queries say, and that they agree. */
#include "prov_fake.h"

enum { NUMBERS = 300 }; /* of types and operations, beyond all that exist */

static const uint64_t forms[] = {0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC};

static int setup(void **state)
{
	int ret = fake_setup(state);

	((struct fake *) *state)->gamma_domain->caps |= FI_ATOMIC;
	return ret;
}

static int query(struct fake *fake, unsigned type, unsigned op, uint64_t flags,
		 struct fi_atomic_attr *attr)
{
	return fi_query_atomic(fake->domain, (enum fi_datatype) type, (enum fi_op) op, attr, flags);
}

static int valid(unsigned form, unsigned type, unsigned op, size_t *count)
{
	int (*const calls[])(struct fid_ep *, enum fi_datatype, enum fi_op,
			     size_t *) = {gamma_atomic_valid_write, gamma_atomic_valid_readwrite,
					  gamma_atomic_valid_compwrite};

	return calls[form](NULL, (enum fi_datatype) type, (enum fi_op) op, count);
}

static void query__agrees_with_valid(void **state)
{
	unsigned offered = 0;

	for (unsigned form = 0; form < gamma_array_size(forms); form++)
		for (unsigned type = 0; type < NUMBERS; type++)
			for (unsigned op = 0; op < NUMBERS; op++) {
				struct fi_atomic_attr attr = {0};
				size_t count = 0;
				int ret = query(*state, type, op, forms[form], &attr);

				assert_int_equal(ret, valid(form, type, op, &count));
				assert_int_equal(attr.count, count);
				assert_int_equal(ret, ret ? -FI_EOPNOTSUPP : 0);
				assert_int_equal(attr.count * attr.size,
						 ret ? 0 : GAMMA_ATOMIC_CALL_MAX);
				offered += !ret;
			}
	/* 10 types of integers, 3 of real and 3 of complex numbers: without result, with it (READ
	 * too), with comparand */
	assert_int_equal(offered, 10 * (12 + 13 + 7) + 3 * (9 + 10 + 6) + 3 * (7 + 8 + 2));
}

static void query__sizes_are_the_types_own(void **state)
{
	static const struct {
		enum fi_datatype type;
		size_t size;
	} sizes[] = {
		{FI_INT8, 1},
		{FI_UINT16, 2},
		{FI_INT32, 4},
		{FI_UINT64, 8},
		{FI_FLOAT, sizeof(float)},
		{FI_DOUBLE, sizeof(double)},
		{FI_FLOAT_COMPLEX, 2 * sizeof(float)},
		{FI_DOUBLE_COMPLEX, 2 * sizeof(double)},
		{FI_LONG_DOUBLE, sizeof(long double)},
		{FI_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double)},
		{FI_INT128, 16},
	};

	for (size_t i = 0; i < gamma_array_size(sizes); i++) {
		struct fi_atomic_attr attr;

		assert_int_equal(query(*state, sizes[i].type, FI_SUM, 0, &attr), 0);
		assert_int_equal(attr.size, sizes[i].size);
	}
	assert_int_equal(query(*state, FI_INT32, FI_SUM, 0, NULL), 0);
	assert_int_equal(valid(0, FI_INT32, FI_SUM, NULL), 0);
}

static void query__flags_that_make_no_sense(void **state)
{
	struct fi_atomic_attr attr;

	assert_int_equal(
		query(*state, FI_INT32, FI_SUM, FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC, &attr),
		-FI_EINVAL);
	assert_int_equal(query(*state, FI_INT32, FI_SUM, FI_TAGGED, &attr), -FI_EOPNOTSUPP);
	assert_int_equal(query(*state, FI_INT32, FI_SUM, FI_FETCH_ATOMIC | FI_TAGGED, &attr),
			 -FI_EOPNOTSUPP);
	assert_int_equal(query(*state, FI_INT32, FI_SUM, FI_MULTI_RECV, &attr), -FI_EBADFLAGS);
}

static void query__domain_without_atomics(void **state)
{
	struct fake *fake = *state;
	struct fi_atomic_attr attr;

	fake->gamma_domain->caps &= ~FI_ATOMIC;
	assert_int_equal(query(fake, FI_INT32, FI_SUM, 0, &attr), -FI_EOPNOTSUPP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(query__agrees_with_valid),
		TEST(query__sizes_are_the_types_own),
		TEST(query__flags_that_make_no_sense),
		TEST(query__domain_without_atomics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
