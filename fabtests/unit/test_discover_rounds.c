// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of tools/discover_rounds.c: which paths are measured, and in which order. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "discover_rounds.h"

enum { HOSTS_MAX = 400 };

static bool takes_part[HOSTS_MAX], seen[HOSTS_MAX][HOSTS_MAX];
static unsigned seeds[HOSTS_MAX];
static struct discover_path *paths;

/* Hosts, of which every absent-th takes no part; 0: all do. */
static size_t plan(size_t hosts, size_t absent)
{
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < hosts; i++) {
		takes_part[i] = !absent || i % absent;
		seeds[i] = (unsigned) i;
	}
	return discover_rounds_plan(takes_part, seeds, hosts, &paths);
}

static size_t count_members(size_t hosts)
{
	size_t count = 0;

	for (size_t i = 0; i < hosts; i++)
		count += takes_part[i];
	return count;
}

/* No path twice, none to itself or to a host that takes no part. */
static void check_paths(size_t hosts, size_t planned)
{
	for (size_t i = 0; i < planned; i++) {
		const struct discover_path *path = &paths[i];

		assert_true(path->from < hosts && path->to < hosts && path->from != path->to);
		assert_true(takes_part[path->from] && takes_part[path->to]);
		assert_false(seen[path->from][path->to]);
		seen[path->from][path->to] = true;
	}
}

static void plan__up_to_64_hosts_has_every_path_each_way_once(void **state)
{
	(void) state;
	for (size_t hosts = 0; hosts <= DISCOVER_ALL_PAIRS; hosts++) {
		for (size_t absent = 0; absent <= 3; absent += 3) {
			size_t planned = plan(hosts, absent), members = count_members(hosts);

			assert_non_null(paths);
			assert_int_equal(planned, members ? members * (members - 1) : 0);
			check_paths(hosts, planned);
			free(paths);
		}
	}
}

/* So that measurements may go on beside each other. */
static void plan__paths_of_a_round_have_no_host_in_common(void **state)
{
	(void) state;
	for (size_t hosts = 2; hosts <= DISCOVER_ALL_PAIRS; hosts++) {
		size_t planned = plan(hosts, 0), round = hosts / 2;

		for (size_t i = 0; i < planned; i++)
			for (size_t j = i - i % round; j < i; j++)
				assert_true(paths[i].from != paths[j].from &&
					    paths[i].from != paths[j].to &&
					    paths[i].to != paths[j].from &&
					    paths[i].to != paths[j].to);
		free(paths);
	}
}

static void plan__above_64_hosts_has_a_ring_and_16_by_chance(void **state)
{
	static const size_t sizes[] = {65, 66, 100, 255, HOSTS_MAX};

	(void) state;
	for (size_t row = 0; row < gamma_array_size(sizes); row++) {
		size_t hosts = sizes[row], planned = plan(hosts, 0), distances = 0;

		assert_int_equal(planned, hosts * (1 + DISCOVER_RANDOM_PAIRS));
		check_paths(hosts, planned);
		for (size_t i = 0; i < hosts; i++) {
			assert_true(seen[i][(i + 1) % hosts]);
			for (size_t j = 0; j < hosts; j++)
				if (seen[i][j])
					distances += (j + hosts - i) % hosts;
		}
		/* Half way around on average, but for those to the next. */
		distances /= hosts * DISCOVER_RANDOM_PAIRS;
		assert_true(distances > hosts * 2 / 5 && distances < hosts * 3 / 5);
		free(paths);
	}
}

static void plan__ring_passes_over_hosts_without_a_part(void **state)
{
	(void) state;
	check_paths(HOSTS_MAX, plan(HOSTS_MAX, 3));
	assert_true(seen[1][2] && seen[2][4] && seen[HOSTS_MAX - 2][1]);
	free(paths);
}

static void choose__same_seed_chooses_the_same(void **state)
{
	bool first[HOSTS_MAX], again[HOSTS_MAX];

	(void) state;
	for (size_t i = 0; i < HOSTS_MAX; i++)
		takes_part[i] = i != 7; /* the host that measures */
	assert_int_equal(discover_rounds_choose(takes_part, HOSTS_MAX, 7, 5, first), 17);
	assert_int_equal(discover_rounds_choose(takes_part, HOSTS_MAX, 7, 5, again), 17);
	assert_memory_equal(first, again, sizeof(first));
	assert_false(first[7]);
	assert_true(first[8]);
	discover_rounds_choose(takes_part, HOSTS_MAX, 7, 6, again);
	assert_memory_not_equal(first, again, sizeof(first));
	assert_int_equal(discover_rounds_choose(takes_part, DISCOVER_ALL_PAIRS, 7, 5, first),
			 DISCOVER_ALL_PAIRS - 1);
	assert_int_equal(discover_rounds_choose(takes_part, 1, 0, 5, first), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(plan__up_to_64_hosts_has_every_path_each_way_once),
		TEST(plan__paths_of_a_round_have_no_host_in_common),
		TEST(plan__above_64_hosts_has_a_ring_and_16_by_chance),
		TEST(plan__ring_passes_over_hosts_without_a_part),
		TEST(choose__same_seed_chooses_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
