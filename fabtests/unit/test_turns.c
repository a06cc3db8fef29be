// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/group/turns.c. */
#include "unit.h"

#include "group/stream.h"
#include "group/turns.h"

enum { MEMBERS = 8, WINDOW = 112 };

static struct gamma_turns turns;

static int setup(void **state)
{
	(void) state;
	return gamma_turns_init(&turns, MEMBERS, WINDOW) ? 0 : -1;
}

static int teardown(void **state)
{
	(void) state;
	gamma_turns_fini(&turns);
	return 0;
}

static void one_root__never_waits(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 100; i++)
		assert_false(gamma_turns_broadcast(&turns, 3, i % 2 ? 1000 : 1));
}

static void other_roots__wait_when_rings_may_be_full(void **state)
{
	uint32_t root = 0, frames = 0;

	(void) state;
	while (!gamma_turns_broadcast(&turns, root++, 20))
		frames += 20;
	assert_int_equal(frames, 100);
}

static void a_root__is_clear_of_what_was_before_its_own(void **state)
{
	(void) state;
	assert_false(gamma_turns_broadcast(&turns, 1, 90));
	assert_true(gamma_turns_broadcast(&turns, 2, 90));
	/* Member 2 knows that all have taken both; 1 does not. */
	assert_false(gamma_turns_broadcast(&turns, 2, 90));
	assert_true(gamma_turns_broadcast(&turns, 1, 30));
}

static void long_streams__begin_with_a_stream_window(void **state)
{
	(void) state;
	assert_false(gamma_turns_broadcast(&turns, 0, WINDOW - GAMMA_STREAM_WINDOW));
	assert_false(gamma_turns_broadcast(&turns, 1, 100000));
	assert_true(gamma_turns_broadcast(&turns, 2, 1));
}

static void allgather__clears_all_of_what_was_before(void **state)
{
	(void) state;
	gamma_turns_broadcast(&turns, 0, 100);
	assert_true(gamma_turns_allgather(&turns, 40));
	/* Its own frames may be in rings still. */
	assert_true(gamma_turns_broadcast(&turns, 5, 1));
	assert_true(gamma_turns_allgather(&turns, 1));
}

static void allgather__of_few_frames_does_not_wait(void **state)
{
	(void) state;
	assert_false(gamma_turns_allgather(&turns, 6));
	assert_false(gamma_turns_broadcast(&turns, 5, WINDOW - MEMBERS * 6));
	assert_true(gamma_turns_broadcast(&turns, 4, 1));
}

static void begun__is_kept_of_each_member(void **state)
{
	(void) state;
	assert_false(gamma_turns_has_begun(&turns, 2, 0));
	gamma_turns_announce(&turns, 2, 0);
	assert_true(gamma_turns_has_begun(&turns, 2, 0));
	assert_false(gamma_turns_has_begun(&turns, 3, 0));
	gamma_turns_announce(&turns, 2, 7);
	gamma_turns_announce(&turns, 2, 5);
	assert_true(gamma_turns_has_begun(&turns, 2, 7));
	assert_false(gamma_turns_has_begun(&turns, 2, 8));
}

static void begun__wraps_with_the_numbers(void **state)
{
	enum { LAST = (1 << 24) - 1 };

	(void) state;
	gamma_turns_announce(&turns, 1, LAST / 2 + 1);
	gamma_turns_announce(&turns, 1, LAST);
	assert_true(gamma_turns_has_begun(&turns, 1, LAST));
	assert_false(gamma_turns_has_begun(&turns, 1, 0));
	gamma_turns_announce(&turns, 1, 0);
	assert_true(gamma_turns_has_begun(&turns, 1, LAST));
	assert_true(gamma_turns_has_begun(&turns, 1, 0));
}

#define CLEAN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLEAN(one_root__never_waits),
		CLEAN(other_roots__wait_when_rings_may_be_full),
		CLEAN(a_root__is_clear_of_what_was_before_its_own),
		CLEAN(long_streams__begin_with_a_stream_window),
		CLEAN(allgather__clears_all_of_what_was_before),
		CLEAN(allgather__of_few_frames_does_not_wait),
		CLEAN(begun__is_kept_of_each_member),
		CLEAN(begun__wraps_with_the_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
