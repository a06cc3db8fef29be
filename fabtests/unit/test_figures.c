// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of fabtests/benchmarks/figures.c: paths whose figures are known. */
#include "unit.h"

#include <math.h>

#include "figures.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-6)

enum { COUNT = 22 };

static struct figures_point points[COUNT];

/* D(S) = 10 us + S / 125 MB/s, and streams that are best in the middle. */
static void make_linear_path(void)
{
	for (int i = 0; i < COUNT; i++) {
		points[i].bytes = i ? 1 << (i - 1) : 0;
		points[i].delay = 10 + points[i].bytes / 125;
		points[i].stream = i == 10 ? 120 : 100;
	}
}

static void latency__is_that_of_the_smallest(void **state)
{
	(void) state;
	make_linear_path();
	assert_near(figures_of(points, COUNT).latency, 10);
}

static void asymptotic__is_without_the_latency(void **state)
{
	(void) state;
	make_linear_path();
	assert_near(figures_of(points, COUNT).asymptotic, 125);
}

/* Half the bandwidth is reached where the bytes take as long as the latency. */
static void half_power__between_two_sizes(void **state)
{
	(void) state;
	make_linear_path();
	assert_near(figures_of(points, COUNT).half_power, 1250);
}

static void half_power__at_a_size(void **state)
{
	struct figures_point three[] = {{0, 10, 0}, {1250, 20, 0}, {125000, 1010, 0}};

	(void) state;
	assert_near(figures_of(three, 3).half_power, 1250);
}

/* Behind a dip it is the size from which on the half is kept. */
static void half_power__behind_a_dip(void **state)
{
	struct figures_point five[] = {
		{0, 10, 0}, {2000, 20, 0}, {4000, 100, 0}, {8000, 110, 0}, {125000, 1010, 0}};

	(void) state;
	assert_true(figures_of(five, 5).half_power > 4000);
	assert_true(figures_of(five, 5).half_power < 8000);
}

static void half_power__not_among_the_sizes(void **state)
{
	struct figures_point two[] = {{0, 10, 0}, {10, 10.08, 0}};

	(void) state;
	assert_near(figures_of(two, 2).half_power, 0);
}

static void asymptotic__of_delays_that_do_not_rise_is_unknown(void **state)
{
	struct figures_point two[] = {{0, 10, 0}, {10, 9, 0}};

	(void) state;
	assert_near(figures_of(two, 2).asymptotic, 0);
	assert_near(figures_of(two, 2).half_power, 0);
}

static void stream__is_the_best(void **state)
{
	(void) state;
	make_linear_path();
	assert_near(figures_of(points, COUNT).stream, 120);
	assert_near(figures_of(points, COUNT).stream_bytes, 512);
}

static void throughput__is_size_by_delay(void **state)
{
	(void) state;
	make_linear_path();
	assert_near(figures_throughput(&points[0]), 0);
	assert_near(figures_throughput(&points[1]), 1 / 10.008);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latency__is_that_of_the_smallest),
		cmocka_unit_test(asymptotic__is_without_the_latency),
		cmocka_unit_test(half_power__between_two_sizes),
		cmocka_unit_test(half_power__at_a_size),
		cmocka_unit_test(half_power__behind_a_dip),
		cmocka_unit_test(half_power__not_among_the_sizes),
		cmocka_unit_test(asymptotic__of_delays_that_do_not_rise_is_unknown),
		cmocka_unit_test(stream__is_the_best),
		cmocka_unit_test(throughput__is_size_by_delay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
