// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/shm_copy_model.c: whether messages of a few pages are copied. */
#include "unit.h"

#include "base/base.h"
#include "engine/shm_copy_model.h"

enum { LEN = 8192 /* bytes */, FAST = 200, SLOW = 1800 /* ns, on real machines */ };

static struct gamma_shm_copy_model model;

static int setup(void **state)
{
	(void) state;
	model = (struct gamma_shm_copy_model){.left = 0};
	return 0;
}

/* So many messages, copies of which take so long: how many are copied. */
static unsigned copied(unsigned messages, uint64_t ns)
{
	unsigned count = 0;

	for (unsigned i = 0; i < messages; i++) {
		count += gamma_shm_copy_model_choose(&model, LEN);
		if (model.timed)
			gamma_shm_copy_model_record(&model, LEN, ns);
	}
	return count;
}

static void fast__copies_from_the_first_on(void **state)
{
	(void) state;
	assert_int_equal(copied(1000, FAST), 1000);
}

static void fast__is_timed_seldom(void **state)
{
	unsigned times = 0;

	(void) state;
	for (unsigned i = 0; i < 1000; i++) {
		assert_true(gamma_shm_copy_model_choose(&model, LEN));
		times += model.timed;
		if (model.timed)
			gamma_shm_copy_model_record(&model, LEN, FAST);
	}
	assert_in_range(times, 20, 40);
}

static void slow__tries_less_and_less_often(void **state)
{
	(void) state;
	assert_int_equal(copied(1, SLOW), 1);
	assert_int_equal(copied(20, SLOW), 3);
	copied(10000, SLOW);
	assert_in_range(copied(10240, SLOW), 9, 11);
}

static void change__is_noticed(void **state)
{
	(void) state;
	copied(10000, SLOW);
	assert_in_range(copied(4000, FAST), 4000 - 1024, 4000);
	assert_in_range(copied(1000, SLOW), 8, 45);
	assert_in_range(copied(4000, FAST), 4000 - 1024, 4000);
}

static void interruption__changes_nothing(void **state)
{
	(void) state;
	copied(100, FAST);
	while (!model.timed)
		assert_true(gamma_shm_copy_model_choose(&model, LEN));
	gamma_shm_copy_model_record(&model, LEN, GAMMA_NS_PER_MS);
	assert_int_equal(copied(1000, FAST), 1000);
}

/* In between it depends: one record is copied by one after the other, of many the reader takes one
 * while the next is written. */
static void length__matters(void **state)
{
	(void) state;
	gamma_shm_copy_model_choose(&model, LEN);
	gamma_shm_copy_model_record(&model, LEN, LEN / 1024 * 70);
	assert_true(gamma_shm_copy_model_choose(&model, LEN));
	assert_true(gamma_shm_copy_model_choose(&model, 2 * LEN));
	assert_false(gamma_shm_copy_model_choose(&model, 16 * LEN));
	assert_false(model.timed);
}

/* Chunks also need a fast reader; the next trial measures its speed. */
static void reader__matters_to_chunks(void **state)
{
	(void) state;
	copied(1, FAST);
	model.read_ns = gamma_shm_copy_model_smooth(model.read_ns, 30);
	assert_true(gamma_shm_copy_model_in_chunks(&model, 16 * LEN));
	model.read_ns = gamma_shm_copy_model_smooth(model.read_ns, 10000); /* interrupted */
	assert_int_equal(model.read_ns, 60);
	model.read_ns = gamma_shm_copy_model_smooth(model.read_ns, 200);
	assert_false(gamma_shm_copy_model_in_chunks(&model, 16 * LEN));
	assert_true(gamma_shm_copy_model_choose(&model, LEN));
	while (!model.timed)
		gamma_shm_copy_model_choose(&model, 16 * LEN);
	assert_true(gamma_shm_copy_model_in_chunks(&model, 16 * LEN));
	model.read_ns = gamma_shm_copy_model_smooth(model.read_ns, 20);
	assert_int_equal(model.read_ns, 20);
}

/* A copy that found no room was not made: the next one is timed instead. */
static void unreported__is_asked_again(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 3; i++)
		assert_true(gamma_shm_copy_model_choose(&model, LEN) && model.timed);
}

#define COPYING_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		COPYING_TEST(fast__copies_from_the_first_on),
		COPYING_TEST(fast__is_timed_seldom),
		COPYING_TEST(slow__tries_less_and_less_often),
		COPYING_TEST(change__is_noticed),
		COPYING_TEST(interruption__changes_nothing),
		COPYING_TEST(length__matters),
		COPYING_TEST(reader__matters_to_chunks),
		COPYING_TEST(unreported__is_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
