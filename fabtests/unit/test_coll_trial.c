// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* coll_gamma's trial.c: which component has which call, and which one is kept. */
#include "coll_fake.h"

enum {
	TRIAL = 12,
	ALL = 2 * TRIAL, /* calls before the decision */
	BLOCK = 4,
	BOTH_AGREE = 2, /* agreements by which the group is formed */
};

static unsigned char data[8192];

static int set_up(void **state)
{
	if (coll_fake_setup(state))
		return -1;
	mca_coll_gamma_component.trial = TRIAL;
	coll_fake.gamma_ns = 2000;
	coll_fake.previous_ns = 3000;
	/* The call that forms the group is a barrier. */
	coll_fake_join(*state);
	coll_fake.previous = coll_fake.ops = 0;
	return 0;
}

static int bcast(void *state, int count)
{
	struct coll_gamma_module *module = state;

	return module->super.coll_bcast(data, count, &coll_fake_byte, 0, &coll_fake_comm,
					&module->super);
}

static void bcasts(void *state, int count, int times)
{
	while (times--)
		assert_int_equal(bcast(state, count), OMPI_SUCCESS);
}

/* Of one more call. */
static bool is_gammas(void *state, int count)
{
	const unsigned int ops = coll_fake.ops, previous = coll_fake.previous;

	bcasts(state, count, 1);
	assert_int_equal(coll_fake.ops + coll_fake.previous, ops + previous + 1);
	return coll_fake.ops > ops;
}

static void first_calls__alternate_in_blocks(void **state)
{
	int i;

	for (i = 0; i < ALL; i++)
		assert_int_equal(is_gammas(*state, 100), i / BLOCK % 2 == 0);
	assert_int_equal(coll_fake.agreements, BOTH_AGREE);
}

static void faster_gamma__is_kept(void **state)
{
	int i;

	bcasts(*state, 100, ALL);
	for (i = 0; i < 20; i++)
		assert_true(is_gammas(*state, 100));
}

static void faster_previous_component__is_kept(void **state)
{
	int i;

	coll_fake.previous_ns = 1900;
	bcasts(*state, 100, ALL);
	for (i = 0; i < 20; i++)
		assert_false(is_gammas(*state, 100));
}

static void equally_fast__previous_component_is_kept(void **state)
{
	coll_fake.previous_ns = coll_fake.gamma_ns;
	bcasts(*state, 100, ALL);
	assert_false(is_gammas(*state, 100));
}

static void hardly_faster_gamma__is_not_kept(void **state)
{
	coll_fake.previous_ns = coll_fake.gamma_ns * 9 / 8;
	bcasts(*state, 100, ALL);
	assert_false(is_gammas(*state, 100));
}

static void clearly_faster_gamma__is_kept(void **state)
{
	coll_fake.previous_ns = coll_fake.gamma_ns * 9 / 8 + 10;
	bcasts(*state, 100, ALL);
	assert_true(is_gammas(*state, 100));
}

/* Ours are 200 and 300. */
static void sum_of_all_processes__decides(void **state)
{
	coll_fake.others_times[0] = 800;
	coll_fake.others_times[1] = 825;
	bcasts(*state, 100, ALL);
	assert_false(is_gammas(*state, 100));
	coll_fake.others_times[1] = 826;
	bcasts(*state, 200, ALL);
	assert_true(is_gammas(*state, 200));
}

static void decided__nothing_is_agreed_again(void **state)
{
	bcasts(*state, 100, ALL + 50);
	assert_int_equal(coll_fake.agreements, BOTH_AGREE + 1);
}

static void one_slow_call__decides_nothing(void **state)
{
	bcasts(*state, 100, 2 * BLOCK + 1);
	coll_fake.gamma_ns = 900000;
	bcasts(*state, 100, 1);
	coll_fake.gamma_ns = 2000;
	bcasts(*state, 100, ALL - 2 * BLOCK - 2);
	assert_true(is_gammas(*state, 100));
}

static void first_call_of_a_block__is_not_measured(void **state)
{
	int i;

	for (i = 0; i < ALL; i++) {
		coll_fake.gamma_ns = i % BLOCK ? 2000 : 900000;
		bcasts(*state, 100, 1);
	}
	assert_true(is_gammas(*state, 100));
}

static void first_blocks__warm_up(void **state)
{
	coll_fake.gamma_ns = 900000;
	bcasts(*state, 100, BLOCK);
	coll_fake.gamma_ns = 2000;
	bcasts(*state, 100, ALL - BLOCK);
	assert_true(is_gammas(*state, 100));
}

static void sizes__are_decided_apart(void **state)
{
	coll_fake.previous_ns = 1000;
	bcasts(*state, 100, ALL);
	assert_false(is_gammas(*state, 64));
	assert_false(is_gammas(*state, 127));
	assert_true(is_gammas(*state, 128));
	assert_true(is_gammas(*state, 63));
}

static void operations__are_decided_apart(void **state)
{
	struct coll_gamma_module *module = *state;

	coll_fake.previous_ns = 1000;
	bcasts(*state, 1, ALL);
	assert_false(is_gammas(*state, 1));
	assert_int_equal(module->super.coll_barrier(&coll_fake_comm, &module->super), 0);
	assert_int_equal(coll_fake.last, FI_BARRIER);
}

static void beyond_the_limits__nothing_is_counted(void **state)
{
	bcasts(*state, 4097, ALL);
	assert_int_equal(coll_fake.ops, 0);
	assert_true(is_gammas(*state, 4096));
}

static void short_trial__has_two_blocks(void **state)
{
	struct coll_gamma_module *module = *state;

	module->limits.trial = 1;
	coll_fake.previous_ns = 1000;
	bcasts(*state, 100, 4 * BLOCK);
	assert_int_equal(coll_fake.agreements, BOTH_AGREE);
	assert_false(is_gammas(*state, 100));
	assert_int_equal(coll_fake.agreements, BOTH_AGREE + 1);
}

static void without_a_trial__gamma_has_all(void **state)
{
	struct coll_gamma_module *module = *state;
	int i;

	module->limits.trial = 0;
	coll_fake.previous_ns = 1000;
	for (i = 0; i < 2 * ALL; i++)
		assert_true(is_gammas(*state, 100));
	assert_int_equal(coll_fake.agreements, BOTH_AGREE);
}

/* Others may have decided: nothing is left that all agree on. */
static void decision_fails__ends_the_group(void **state)
{
	bcasts(*state, 100, ALL);
	coll_fake.agreement_error = OMPI_ERR_UNREACH;
	assert_int_equal(bcast(*state, 100), OMPI_ERR_UNREACH);
	coll_fake.agreement_error = 0;
	assert_int_not_equal(bcast(*state, 100), OMPI_SUCCESS);
}

static void freed__in_the_midst_of_a_trial(void **state)
{
	struct coll_gamma_module *module = *state;

	bcasts(*state, 100, 2 * BLOCK + 3);
	assert_non_null(module->trials.open[COLL_GAMMA_BCAST][6]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, coll_fake_teardown)
	const struct CMUnitTest tests[] = {
		TEST(first_calls__alternate_in_blocks),
		TEST(faster_gamma__is_kept),
		TEST(faster_previous_component__is_kept),
		TEST(equally_fast__previous_component_is_kept),
		TEST(hardly_faster_gamma__is_not_kept),
		TEST(clearly_faster_gamma__is_kept),
		TEST(sum_of_all_processes__decides),
		TEST(decided__nothing_is_agreed_again),
		TEST(one_slow_call__decides_nothing),
		TEST(first_call_of_a_block__is_not_measured),
		TEST(first_blocks__warm_up),
		TEST(sizes__are_decided_apart),
		TEST(operations__are_decided_apart),
		TEST(beyond_the_limits__nothing_is_counted),
		TEST(short_trial__has_two_blocks),
		TEST(without_a_trial__gamma_has_all),
		TEST(decision_fails__ends_the_group),
		TEST(freed__in_the_midst_of_a_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
