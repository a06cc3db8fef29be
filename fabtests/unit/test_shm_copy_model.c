// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/shm_copy_model.c: whether messages of a few pages are copied. */
#include "unit.h"

#include "engine/internal.h"

enum { LEN = 8192 /* bytes */, FAST = 200, SLOW = 1800 /* ns, on real machines */ };

static struct gamma_copying copying;

static int setup(void **state)
{
	(void) state;
	copying = (struct gamma_copying){.left = 0};
	return 0;
}

/* So many messages, copies of which take so long: how many are copied. */
static unsigned copied(unsigned messages, uint64_t ns)
{
	unsigned count = 0;

	for (unsigned i = 0; i < messages; i++) {
		count += gamma_copying_next(&copying, LEN);
		if (copying.timed)
			gamma_copying_took(&copying, LEN, ns);
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
		assert_true(gamma_copying_next(&copying, LEN));
		times += copying.timed;
		if (copying.timed)
			gamma_copying_took(&copying, LEN, FAST);
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
	while (!copying.timed)
		assert_true(gamma_copying_next(&copying, LEN));
	gamma_copying_took(&copying, LEN, GAMMA_NS_PER_MS);
	assert_int_equal(copied(1000, FAST), 1000);
}

/* In between it depends: one record is copied by one after the other, of many the reader takes one
 * while the next is written. */
static void length__matters(void **state)
{
	(void) state;
	gamma_copying_next(&copying, LEN);
	gamma_copying_took(&copying, LEN, LEN / 1024 * 70);
	assert_true(gamma_copying_next(&copying, LEN));
	assert_true(gamma_copying_next(&copying, 2 * LEN));
	assert_false(gamma_copying_next(&copying, 16 * LEN));
	assert_false(copying.timed);
}

/* Chunks also need a fast reader; what it is, the next that are tried tell. */
static void reader__matters_to_chunks(void **state)
{
	(void) state;
	copied(1, FAST);
	copying.read_ns = gamma_copying_known(copying.read_ns, 30);
	assert_true(gamma_copying_chunks(&copying, 16 * LEN));
	copying.read_ns = gamma_copying_known(copying.read_ns, 10000); /* interrupted */
	assert_int_equal(copying.read_ns, 60);
	copying.read_ns = gamma_copying_known(copying.read_ns, 200);
	assert_false(gamma_copying_chunks(&copying, 16 * LEN));
	assert_true(gamma_copying_next(&copying, LEN));
	while (!copying.timed)
		gamma_copying_next(&copying, 16 * LEN);
	assert_true(gamma_copying_chunks(&copying, 16 * LEN));
	copying.read_ns = gamma_copying_known(copying.read_ns, 20);
	assert_int_equal(copying.read_ns, 20);
}

/* A copy that found no room was not made: the next one is timed instead. */
static void untold__is_asked_again(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 3; i++)
		assert_true(gamma_copying_next(&copying, LEN) && copying.timed);
}

#define COPYING_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		COPYING_TEST(fast__copies_from_the_first_on),  COPYING_TEST(fast__is_timed_seldom),
		COPYING_TEST(slow__tries_less_and_less_often), COPYING_TEST(change__is_noticed),
		COPYING_TEST(interruption__changes_nothing),   COPYING_TEST(length__matters),
		COPYING_TEST(reader__matters_to_chunks),       COPYING_TEST(untold__is_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
