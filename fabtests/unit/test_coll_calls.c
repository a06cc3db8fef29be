// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* coll_gamma's bcast.c, reduce.c, gather.c, limits.c and types.c: what libfabric is asked for, and
 * what the component before gets. */
#include "coll_fake.h"

static unsigned char from[8192], to[4 * 8192];

static int set_up(void **state)
{
	if (coll_fake_setup(state))
		return -1;
	coll_fake_join(*state);
	coll_fake.previous = 0;
	return 0;
}

static bool is_gammas(void)
{
	const bool gammas = coll_fake.ops == 2 && !coll_fake.previous;

	assert_true(gammas || (coll_fake.ops == 1 && coll_fake.previous == 1));
	return gammas;
}

static void bcast(void *state, int count, struct ompi_datatype_t *type, int root)
{
	struct coll_gamma_module *module = state;

	assert_int_equal(
		module->super.coll_bcast(from, count, type, root, &coll_fake_comm, &module->super),
		OMPI_SUCCESS);
}

static void allreduce(void *state, const void *data, int count, struct ompi_datatype_t *type,
		      struct ompi_op_t *op)
{
	struct coll_gamma_module *module = state;

	assert_int_equal(module->super.coll_allreduce(data, to, count, type, op, &coll_fake_comm,
						      &module->super),
			 OMPI_SUCCESS);
}

static void reduce(void *state, const void *data, int count, struct ompi_op_t *op, int root)
{
	struct coll_gamma_module *module = state;

	assert_int_equal(module->super.coll_reduce(data, to, count, &coll_fake_long, op, root,
						   &coll_fake_comm, &module->super),
			 OMPI_SUCCESS);
}

static void allgather(void *state, const void *data, int count)
{
	struct coll_gamma_module *module = state;

	assert_int_equal(module->super.coll_allgather(data, count, &coll_fake_byte, to, count,
						      &coll_fake_byte, &coll_fake_comm,
						      &module->super),
			 OMPI_SUCCESS);
}

static void gather(void *state, const void *data, int count, int root)
{
	struct coll_gamma_module *module = state;

	assert_int_equal(module->super.coll_gather(data, count, &coll_fake_byte, to, count,
						   &coll_fake_byte, root, &coll_fake_comm,
						   &module->super),
			 OMPI_SUCCESS);
}

/* ---- broadcast ---- */

static void bcast__bytes_of_any_type_in_their_place(void **state)
{
	bcast(*state, 5, &coll_fake_pair, 2);
	assert_true(is_gammas());
	assert_int_equal(coll_fake.last, FI_BROADCAST);
	assert_int_equal(coll_fake.type, FI_UINT8);
	assert_int_equal(coll_fake.count, 5 * 16);
	assert_ptr_equal(coll_fake.from, from);
	assert_int_equal(coll_fake.root, 12);
}

static void bcast__of_nothing_is_the_previous_components(void **state)
{
	bcast(*state, 0, &coll_fake_byte, 0);
	assert_false(is_gammas());
}

static void bcast__at_the_limit(void **state)
{
	bcast(*state, 4096, &coll_fake_byte, 0);
	assert_true(is_gammas());
}

static void bcast__above_the_limit_is_the_previous_components(void **state)
{
	bcast(*state, 4097, &coll_fake_byte, 0);
	assert_false(is_gammas());
}

/* ---- reductions ---- */

static void allreduce__as_libfabric_names_it(void **state)
{
	allreduce(*state, from, 3, &coll_fake_long, &coll_fake_sum);
	assert_true(is_gammas());
	assert_int_equal(coll_fake.last, FI_ALLREDUCE);
	assert_int_equal(coll_fake.type, FI_INT64);
	assert_int_equal(coll_fake.op, FI_SUM);
	assert_int_equal(coll_fake.count, 3);
	assert_ptr_equal(coll_fake.from, from);
	assert_ptr_equal(coll_fake.to, to);
}

static void allreduce__users_operation_is_the_previous_components(void **state)
{
	allreduce(*state, from, 3, &coll_fake_long, &coll_fake_user);
	assert_false(is_gammas());
}

static void allreduce__derived_type_is_the_previous_components(void **state)
{
	allreduce(*state, from, 3, &coll_fake_pair, &coll_fake_sum);
	assert_false(is_gammas());
}

static void allreduce__of_more_than_the_provider_takes(void **state)
{
	allreduce(*state, from, 100, &coll_fake_long, &coll_fake_sum);
	assert_true(is_gammas());
	coll_fake.ops = 1;
	allreduce(*state, from, 101, &coll_fake_long, &coll_fake_sum);
	assert_false(is_gammas());
}

static void reduce__result_at_the_root_alone(void **state)
{
	reduce(*state, from, 3, &coll_fake_sum, COLL_FAKE_RANK);
	assert_int_equal(coll_fake.last, FI_REDUCE);
	assert_ptr_equal(coll_fake.to, to);
	assert_int_equal(coll_fake.root, 10 + COLL_FAKE_RANK);
	reduce(*state, from, 3, &coll_fake_sum, 3);
	assert_null(coll_fake.to);
	assert_int_equal(coll_fake.root, 13);
}

/* ---- gathers ---- */

static void allgather__count_is_that_of_one_process(void **state)
{
	allgather(*state, from, 700);
	assert_true(is_gammas());
	assert_int_equal(coll_fake.last, FI_ALLGATHER);
	assert_int_equal(coll_fake.count, 700);
	assert_ptr_equal(coll_fake.from, from);
	assert_ptr_equal(coll_fake.to, to);
}

static void allgather__above_the_limit_is_the_previous_components(void **state)
{
	allgather(*state, from, 4097);
	assert_false(is_gammas());
}

static void gather__result_at_the_root_alone(void **state)
{
	gather(*state, from, 50, COLL_FAKE_RANK);
	assert_int_equal(coll_fake.last, FI_GATHER);
	assert_ptr_equal(coll_fake.to, to);
	gather(*state, from, 50, 0);
	assert_null(coll_fake.to);
	assert_int_equal(coll_fake.root, 10);
}

/* ---- limits ---- */

static void limits__smallest_and_largest(void **state)
{
	struct coll_gamma_limits limits = {0};

	(void) state;
	limits.max[COLL_GAMMA_BCAST] = 100;
	limits.minus_min[COLL_GAMMA_BCAST] = -10;
	assert_false(coll_gamma_limits_allow(&limits, COLL_GAMMA_BCAST, 0));
	assert_false(coll_gamma_limits_allow(&limits, COLL_GAMMA_BCAST, 9));
	assert_true(coll_gamma_limits_allow(&limits, COLL_GAMMA_BCAST, 10));
	assert_true(coll_gamma_limits_allow(&limits, COLL_GAMMA_BCAST, 100));
	assert_false(coll_gamma_limits_allow(&limits, COLL_GAMMA_BCAST, 101));
	assert_false(coll_gamma_limits_allow(&limits, COLL_GAMMA_GATHER, 1));
}

static void limits__are_the_users_and_the_providers(void **state)
{
	struct coll_gamma_limits limits = {0};

	(void) state;
	mca_coll_gamma_component.max[COLL_GAMMA_BCAST] = SIZE_MAX;
	mca_coll_gamma_component.max[COLL_GAMMA_GATHER] = 77;
	mca_coll_gamma_component.min[COLL_GAMMA_GATHER] = 5;
	coll_gamma_limits_fill(&limits, mca_coll_gamma_component.btl->port()->domain, 3);
	assert_int_equal(limits.max[COLL_GAMMA_BCAST], 1 << 20);
	assert_int_equal(limits.max[COLL_GAMMA_GATHER], 77);
	assert_int_equal(limits.minus_min[COLL_GAMMA_GATHER], -5);
	assert_int_equal(limits.reduces[FI_SUM][FI_INT64], 100);
	assert_int_equal(limits.reduces[FI_MIN][FI_INT64], 0);
}

static void limits__short_operations_want_hosts(void **state)
{
	struct coll_gamma_limits limits = {0};
	struct fid_domain *domain = mca_coll_gamma_component.btl->port()->domain;

	(void) state;
	mca_coll_gamma_component.short_hosts = 5;
	coll_gamma_limits_fill(&limits, domain, 4);
	assert_false(coll_gamma_limits_allow(&limits, COLL_GAMMA_BARRIER, 1));
	assert_false(coll_gamma_limits_allow(&limits, COLL_GAMMA_ALLREDUCE, 8));
	assert_true(coll_gamma_limits_allow(&limits, COLL_GAMMA_REDUCE, 8));
	coll_gamma_limits_fill(&limits, domain, 5);
	assert_true(coll_gamma_limits_allow(&limits, COLL_GAMMA_BARRIER, 1));
	assert_true(coll_gamma_limits_allow(&limits, COLL_GAMMA_ALLREDUCE, 8));
}

static void types__floats_have_no_bits(void **state)
{
	struct ompi_datatype_t real = coll_fake_long;
	struct ompi_op_t op = coll_fake_sum;
	enum fi_datatype type;
	enum fi_op found;

	(void) state;
	real.id = OMPI_DATATYPE_MPI_DOUBLE;
	ompi_op_ddt_map[real.id] = OMPI_OP_BASE_TYPE_DOUBLE;
	assert_true(coll_gamma_types_find(&real, &op, &type, &found));
	assert_int_equal(type, FI_DOUBLE);
	op.op_type = OMPI_OP_BXOR;
	assert_false(coll_gamma_types_find(&real, &op, &type, &found));
	assert_true(coll_gamma_types_find(&coll_fake_long, &op, &type, &found));
	assert_int_equal(found, FI_BXOR);
	op.op_type = OMPI_OP_MAXLOC;
	assert_false(coll_gamma_types_find(&coll_fake_long, &op, &type, &found));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, coll_fake_teardown)
	const struct CMUnitTest tests[] = {
		TEST(bcast__bytes_of_any_type_in_their_place),
		TEST(bcast__of_nothing_is_the_previous_components),
		TEST(bcast__at_the_limit),
		TEST(bcast__above_the_limit_is_the_previous_components),
		TEST(allreduce__as_libfabric_names_it),
		TEST(allreduce__users_operation_is_the_previous_components),
		TEST(allreduce__derived_type_is_the_previous_components),
		TEST(allreduce__of_more_than_the_provider_takes),
		TEST(reduce__result_at_the_root_alone),
		TEST(allgather__count_is_that_of_one_process),
		TEST(allgather__above_the_limit_is_the_previous_components),
		TEST(gather__result_at_the_root_alone),
		TEST(limits__smallest_and_largest),
		TEST(limits__short_operations_want_hosts),
		TEST(limits__are_the_users_and_the_providers),
		TEST(types__floats_have_no_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
