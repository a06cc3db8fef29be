// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* coll_gamma's agree.c and group.c: whether a communicator uses gamma; joins, failures, the end. */
#include "coll_fake.h"

#include <rdma/fi_errno.h>

static int call(void *state)
{
	struct coll_gamma_module *module = state;

	return module->super.coll_barrier(&coll_fake_comm, &module->super);
}

static void call_times(void *state, int times)
{
	while (times--)
		assert_int_equal(call(state), OMPI_SUCCESS);
}

/* In any case later calls go to the component before. */
static void assert_declined(void *state, unsigned int agreements)
{
	unsigned int previous;

	call_times(state, COLL_FAKE_AFTER + 1);
	assert_int_equal(coll_fake.agreements, agreements);
	previous = coll_fake.previous;
	call_times(state, 2);
	assert_int_equal(coll_fake.previous, previous + 2);
	assert_int_equal(coll_fake.agreements, agreements);
	assert_int_equal(coll_fake.ops, 0);
}

/* ---- the agreement ---- */

static void first_calls__are_the_previous_components(void **state)
{
	call_times(*state, COLL_FAKE_AFTER);
	assert_int_equal(coll_fake.previous, COLL_FAKE_AFTER);
	assert_int_equal(coll_fake.agreements, 0);
}

static int other_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	(void) comm, (void) module;
	return OMPI_SUCCESS;
}

/* As Open MPI's han does: it looks whether the table has its own functions, and removes them. */
static void previous_component__is_in_the_table_and_may_leave_it(void **state)
{
	struct coll_gamma_module *module = *state;
	mca_coll_base_comm_coll_t *table = coll_fake_comm.c_coll;
	const mca_coll_base_module_barrier_fn_t before = table->coll_barrier;

	table->coll_barrier = coll_gamma_barrier;
	coll_fake.instead = other_barrier;
	call_times(*state, 1);
	assert_ptr_equal(coll_fake.in_table, before);
	assert_ptr_equal(table->coll_barrier, coll_gamma_barrier);
	assert_ptr_equal(module->barrier, other_barrier);
	call_times(*state, 1);
	assert_int_equal(coll_fake.previous, 1);
}

static void next_call__agrees_and_is_gammas(void **state)
{
	call_times(*state, COLL_FAKE_AFTER + 3);
	assert_int_equal(coll_fake.previous, COLL_FAKE_AFTER);
	assert_int_equal(coll_fake.agreements, 2);
	assert_int_equal(coll_fake.ops, 3);
}

static void process_without_the_component__no_process_is_asked(void **state)
{
	coll_fake.without[3] = true;
	assert_declined(*state, 0);
}

static void endpoint_without_collectives__no_process_is_asked(void **state)
{
	coll_fake.cannot[0] = true;
	assert_declined(*state, 0);
}

static void process_that_cannot_be_reached__is_agreed(void **state)
{
	coll_fake.unreachable[2] = true;
	assert_declined(*state, 1);
}

static void too_few_hosts__are_agreed(void **state)
{
	coll_fake.hosts = 2;
	assert_declined(*state, 1);
}

static void as_many_hosts_as_needed__join(void **state)
{
	coll_fake.hosts = 3;
	coll_fake_join(*state);
	assert_int_equal(coll_fake.ops, 1);
}

static void others_cannot__is_agreed(void **state)
{
	coll_fake.others_veto = 1;
	assert_declined(*state, 1);
}

static void no_port_here__is_agreed(void **state)
{
	coll_fake.no_port = true;
	assert_declined(*state, 1);
}

static void join_refused__all_decline(void **state)
{
	coll_fake.join_result = -FI_ENOSYS;
	assert_declined(*state, 2);
	assert_int_equal(coll_fake.open_objects, 0);
}

static void join_failed__all_decline(void **state)
{
	coll_fake.join_fails = true;
	assert_declined(*state, 2);
	assert_int_equal(coll_fake.open_objects, 0);
}

static void join_failed_elsewhere__the_group_is_closed(void **state)
{
	coll_fake.others_veto = 2;
	assert_declined(*state, 2);
	assert_int_equal(coll_fake.open_objects, 0);
}

/* ---- operations ---- */

static void no_room__is_tried_again(void **state)
{
	coll_fake_join(*state);
	coll_fake.again = 3;
	assert_int_equal(call(*state), OMPI_SUCCESS);
	assert_int_equal(coll_fake.ops, 2);
}

static void failed_operation__ends_the_group(void **state)
{
	coll_fake_join(*state);
	coll_fake.op_fails = true;
	assert_int_not_equal(call(*state), OMPI_SUCCESS);
	/* the set only */
	assert_int_equal(coll_fake.open_objects, 1);
}

static void after_a_failure__all_calls_fail(void **state)
{
	coll_fake_join(*state);
	coll_fake.op_fails = true;
	assert_int_not_equal(call(*state), OMPI_SUCCESS);
	coll_fake.op_fails = false;
	assert_int_not_equal(call(*state), OMPI_SUCCESS);
	assert_int_equal(coll_fake.ops, 2);
}

static void refused_operation__ends_the_group(void **state)
{
	coll_fake_join(*state);
	coll_fake.op_result = -FI_ECONNRESET;
	assert_int_not_equal(call(*state), OMPI_SUCCESS);
	assert_int_equal(coll_fake.open_objects, 1);
}

/* ---- the end ---- */

static void disable_module(void **state)
{
	struct coll_gamma_module *module = *state;

	module->super.coll_module_disable(&module->super, &coll_fake_comm);
}

static void freed__closes_after_a_barrier_without_waiters(void **state)
{
	coll_fake_join(*state);
	coll_fake.op_stays = true;
	disable_module(state);
	assert_int_equal(coll_fake.last, FI_BARRIER);
	assert_int_equal(coll_fake.open_objects, 2);
	coll_fake_complete(OPAL_SUCCESS);
	assert_int_equal(coll_fake.open_objects, 0);
}

static void freed__without_having_joined_closes_nothing(void **state)
{
	call_times(*state, 1);
	disable_module(state);
	assert_null(coll_fake.pending);
}

static void freed__after_a_failure_closes_at_once(void **state)
{
	coll_fake_join(*state);
	coll_fake.op_fails = true;
	assert_int_not_equal(call(*state), OMPI_SUCCESS);
	disable_module(state);
	assert_int_equal(coll_fake.open_objects, 0);
}

static void endpoint_closed__closes_groups_in_use_and_others(void **state)
{
	coll_fake_join(*state);
	coll_gamma_group_close_all();
	assert_int_equal(coll_fake.open_objects, 0);
	assert_int_not_equal(call(*state), OMPI_SUCCESS);
	disable_module(state);
}

static void endpoint_closed__ends_a_barrier_without_waiters(void **state)
{
	coll_fake_join(*state);
	coll_fake.op_stays = true;
	disable_module(state);
	assert_int_equal(coll_fake.open_objects, 2);
	coll_gamma_group_close_all();
	assert_null(coll_fake.pending);
	assert_int_equal(coll_fake.open_objects, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, coll_fake_setup, coll_fake_teardown)
	const struct CMUnitTest tests[] = {
		TEST(first_calls__are_the_previous_components),
		TEST(previous_component__is_in_the_table_and_may_leave_it),
		TEST(next_call__agrees_and_is_gammas),
		TEST(process_without_the_component__no_process_is_asked),
		TEST(endpoint_without_collectives__no_process_is_asked),
		TEST(process_that_cannot_be_reached__is_agreed),
		TEST(too_few_hosts__are_agreed),
		TEST(as_many_hosts_as_needed__join),
		TEST(others_cannot__is_agreed),
		TEST(no_port_here__is_agreed),
		TEST(join_refused__all_decline),
		TEST(join_failed__all_decline),
		TEST(join_failed_elsewhere__the_group_is_closed),
		TEST(no_room__is_tried_again),
		TEST(failed_operation__ends_the_group),
		TEST(after_a_failure__all_calls_fail),
		TEST(refused_operation__ends_the_group),
		TEST(freed__closes_after_a_barrier_without_waiters),
		TEST(freed__without_having_joined_closes_nothing),
		TEST(freed__after_a_failure_closes_at_once),
		TEST(endpoint_closed__closes_groups_in_use_and_others),
		TEST(endpoint_closed__ends_a_barrier_without_waiters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
