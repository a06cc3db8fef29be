// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/group/schedule.c and tree.h. */
#include "unit.h"

#include <string.h>

#include "group/schedule.h"
#include "group/tree.h"

#define NONE GAMMA_SCHEDULE_NONE

static struct gamma_schedule schedule;
static uint8_t bytes[8];

static int setup(void **state)
{
	(void) state;
	gamma_schedule_init(&schedule);
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	gamma_schedule_fini(&schedule);
	return 0;
}

static uint32_t number_of(const struct gamma_schedule_step *step)
{
	return (uint32_t) (step - schedule.steps);
}

static void schedule__without_steps_has_ended(void **state)
{
	(void) state;
	gamma_schedule_start(&schedule);
	assert_null(gamma_schedule_next(&schedule));
	assert_true(gamma_schedule_has_ended(&schedule));
}

static void step__waits_for_both(void **state)
{
	uint32_t a = gamma_schedule_receive(&schedule, 1, bytes, 1, NONE, NONE);
	uint32_t b = gamma_schedule_receive(&schedule, 2, bytes, 1, NONE, NONE);
	uint32_t c = gamma_schedule_copy(&schedule, bytes, bytes, 1, a, b);

	(void) state;
	gamma_schedule_start(&schedule);
	assert_int_equal(number_of(gamma_schedule_next(&schedule)), a);
	assert_int_equal(number_of(gamma_schedule_next(&schedule)), b);
	assert_null(gamma_schedule_next(&schedule));
	gamma_schedule_done(&schedule, &schedule.steps[b]);
	assert_null(gamma_schedule_next(&schedule));
	gamma_schedule_done(&schedule, &schedule.steps[a]);
	assert_int_equal(number_of(gamma_schedule_next(&schedule)), c);
	assert_false(gamma_schedule_has_ended(&schedule));
	gamma_schedule_done(&schedule, &schedule.steps[c]);
	assert_true(gamma_schedule_has_ended(&schedule));
}

static void steps__that_wait_for_one_become_ready_together(void **state)
{
	uint32_t first = gamma_schedule_receive(&schedule, 1, bytes, 1, NONE, NONE);
	unsigned ready = 0;

	(void) state;
	for (uint32_t i = 0; i < 100; i++)
		gamma_schedule_send(&schedule, i, bytes, 1, i % 2 ? first : NONE,
				    i % 2 ? NONE : first);
	gamma_schedule_start(&schedule);
	assert_int_equal(number_of(gamma_schedule_next(&schedule)), first);
	gamma_schedule_done(&schedule, &schedule.steps[first]);
	while (gamma_schedule_next(&schedule))
		ready++;
	assert_int_equal(ready, 100);
}

/* Messages may overtake each other, so both sides number them. */
static void messages__are_numbered_for_each_peer(void **state)
{
	static const uint32_t peers[] = {1, 2, 1, 1, 2};
	static const uint32_t numbers[] = {0, 0, 1, 2, 1};

	(void) state;
	for (unsigned i = 0; i < 5; i++)
		gamma_schedule_send(&schedule, peers[i], bytes, 1, NONE, NONE);
	gamma_schedule_receive(&schedule, 1, bytes, 1, NONE, NONE);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(schedule.steps[i].index, numbers[i]);
	assert_int_equal(schedule.steps[5].index, 0);
}

static void memory__lives_as_long_as_the_schedule(void **state)
{
	uint8_t *first = gamma_schedule_take_memory(&schedule, 100);
	uint8_t *second = gamma_schedule_take_memory(&schedule, 0);

	(void) state;
	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal((uintptr_t) first % 16, 0);
	memset(first, 1, 100);
}

static void tree__each_rank_has_one_parent(void **state)
{
	(void) state;
	for (uint32_t n = 1; n < 40; n++) {
		uint32_t children = 0;

		for (uint32_t rank = 0; rank < n; rank++) {
			uint32_t span = gamma_tree_span(rank, n), below = 1;

			for (uint32_t distance = 1; distance < span; distance *= 2) {
				assert_true(rank + distance < n);
				assert_int_equal(gamma_tree_parent(rank + distance), rank);
				below += gamma_tree_size(rank, distance, n);
				children++;
			}
			if (!rank)
				assert_int_equal(below, n);
		}
		assert_int_equal(children, n - 1);
	}
}

static void tree__ranks_begin_at_the_root(void **state)
{
	(void) state;
	for (uint32_t root = 0; root < 7; root++) {
		assert_int_equal(gamma_tree_rank(root, root, 7), 0);
		for (uint32_t place = 0; place < 7; place++)
			assert_int_equal(gamma_tree_place(gamma_tree_rank(place, root, 7), root, 7),
					 place);
	}
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(schedule__without_steps_has_ended),
		TEST(step__waits_for_both),
		TEST(steps__that_wait_for_one_become_ready_together),
		TEST(messages__are_numbered_for_each_peer),
		TEST(memory__lives_as_long_as_the_schedule),
		TEST(tree__each_rank_has_one_parent),
		TEST(tree__ranks_begin_at_the_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
