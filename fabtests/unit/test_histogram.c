// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/base/histogram.h. */
#include "unit.h"

#include "base/histogram.h"

static void class__holds_the_time(void **state)
{
	(void) state;
	for (uint64_t ns = 0; ns < 10000000000ull; ns = ns < 4096 ? ns + 1 : ns + ns / 7) {
		unsigned class = gamma_histogram_class(ns);

		assert_true(class < GAMMA_HISTOGRAM_CLASSES);
		assert_true(gamma_histogram_from(class) <= ns);
		if (class < GAMMA_HISTOGRAM_CLASSES - 1)
			assert_true(ns < gamma_histogram_from(class + 1));
	}
	assert_int_equal(gamma_histogram_class(UINT64_MAX), GAMMA_HISTOGRAM_CLASSES - 1);
}

static void class__is_a_quarter_of_an_octave(void **state)
{
	(void) state;
	for (unsigned class = 4; class < GAMMA_HISTOGRAM_CLASSES; class ++) {
		double from = (double) gamma_histogram_from(class);

		assert_true((double) gamma_histogram_from(class + 1) <= 1.25 * from);
	}
}

static void percentile__is_the_end_of_its_class(void **state)
{
	struct gamma_histogram histogram = {{0}};

	(void) state;
	assert_int_equal(gamma_histogram_percentile(&histogram, 50), 0);
	for (int i = 0; i < 98; i++)
		gamma_histogram_add(&histogram, 20000);
	gamma_histogram_add(&histogram, 5000000);
	gamma_histogram_add(&histogram, 5000000);
	assert_int_equal(gamma_histogram_percentile(&histogram, 50),
			 gamma_histogram_from(gamma_histogram_class(20000) + 1));
	assert_int_equal(gamma_histogram_percentile(&histogram, 98),
			 gamma_histogram_percentile(&histogram, 50));
	assert_int_equal(gamma_histogram_percentile(&histogram, 99),
			 gamma_histogram_from(gamma_histogram_class(5000000) + 1));
	assert_int_equal(gamma_histogram_percentile(&histogram, 100),
			 gamma_histogram_percentile(&histogram, 99));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(class__holds_the_time),
		TEST(class__is_a_quarter_of_an_octave),
		TEST(percentile__is_the_end_of_its_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
