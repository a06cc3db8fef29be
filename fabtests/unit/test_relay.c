// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/group/relay.c. */
#include "unit.h"

#include "group/relay.h"

enum { FRAMES = 100, FAN = GAMMA_RELAY_FAN };

static struct gamma_relay relay;

static void parent__is_whose_child_it_is(void **state)
{
	(void) state;
	for (uint32_t rank = 1; rank < 5000; rank++) {
		uint32_t first = gamma_relay_first_child(gamma_relay_parent(rank));

		assert_true(gamma_relay_parent(rank) < rank);
		assert_in_range(rank, first, first + FAN - 1);
	}
}

static void init__counts_the_children_that_exist(void **state)
{
	(void) state;
	gamma_relay_init(&relay, 0, FAN + 1, FRAMES);
	assert_int_equal(relay.count, FAN);
	gamma_relay_init(&relay, 1, FAN + 1, FRAMES);
	assert_int_equal(relay.count, 0);
	gamma_relay_init(&relay, 1, FAN + 3, FRAMES);
	assert_int_equal(relay.count, 2);
	gamma_relay_init(&relay, UINT32_MAX - 1, UINT32_MAX, FRAMES);
	assert_int_equal(relay.count, 0);
}

static void least__is_that_of_the_slowest(void **state)
{
	(void) state;
	gamma_relay_init(&relay, 0, 4, FRAMES);
	assert_int_equal(gamma_relay_least(&relay, 50), 0);
	for (uint32_t child = 0; child < 3; child++)
		assert_true(gamma_relay_report(&relay, child, 20 + child));
	assert_int_equal(gamma_relay_least(&relay, 50), 20);
	assert_int_equal(gamma_relay_least(&relay, 10), 10);
	assert_true(gamma_relay_report(&relay, 0, 40));
	assert_int_equal(gamma_relay_least(&relay, 50), 21);
	/* An older report may come late. */
	assert_true(gamma_relay_report(&relay, 1, 3));
	assert_int_equal(gamma_relay_least(&relay, 50), 21);
}

static void least__without_children_is_the_own(void **state)
{
	(void) state;
	gamma_relay_init(&relay, 7, 8, FRAMES);
	assert_int_equal(gamma_relay_least(&relay, 50), 50);
	assert_true(gamma_relay_has_begun(&relay));
}

static void report__of_no_child_or_too_many_frames_is_refused(void **state)
{
	(void) state;
	gamma_relay_init(&relay, 0, 4, FRAMES);
	assert_false(gamma_relay_report(&relay, 3, 1));
	assert_false(gamma_relay_report(&relay, UINT32_MAX, 1));
	assert_false(gamma_relay_report(&relay, 0, FRAMES + 1));
	assert_true(gamma_relay_report(&relay, 0, FRAMES));
}

static void begun__once_all_children_have_reported(void **state)
{
	(void) state;
	gamma_relay_init(&relay, 0, 3, FRAMES);
	assert_true(gamma_relay_report(&relay, 1, 0));
	assert_true(gamma_relay_report(&relay, 1, 0));
	assert_false(gamma_relay_has_begun(&relay));
	assert_true(gamma_relay_report(&relay, 0, 0));
	assert_true(gamma_relay_has_begun(&relay));
	assert_true(gamma_relay_lags(&relay, 0, 1));
	assert_false(gamma_relay_lags(&relay, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parent__is_whose_child_it_is),
		TEST(init__counts_the_children_that_exist),
		TEST(least__is_that_of_the_slowest),
		TEST(least__without_children_is_the_own),
		TEST(report__of_no_child_or_too_many_frames_is_refused),
		TEST(begun__once_all_children_have_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
