// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-discover --check: the paths between two other hosts. The gammad of the first asks the
 * second, and passes the answer on to this host. The path to the first has been measured before.
 * Such paths are compared with each other.
 */
#include "discover.h"

#include <stdlib.h>

static bool takes_part(const struct discover_host *host)
{
	return host->gammad && !host->self && !host->other_version;
}

static size_t plan(const struct discover *discover, struct discover_path **paths)
{
	bool *taking_part = calloc(discover->count + 1, sizeof(*taking_part));
	unsigned *seeds = calloc(discover->count + 1, sizeof(*seeds));
	size_t count;

	if (!taking_part || !seeds)
		discover_fail("out of memory");
	for (size_t i = 0; i < discover->count; i++) {
		taking_part[i] = takes_part(&discover->hosts[i]);
		seeds[i] = discover_check_seed(discover->hosts[i].mac);
	}
	count = discover_rounds_plan(taking_part, seeds, discover->count, paths);
	if (!*paths)
		discover_fail("out of memory");
	free(taking_part);
	free(seeds);
	return count;
}

/* Nothing is said of paths that lead over one known to be bad: from here to a host that was named,
 * or from here to all. */
static void take_over_faults(struct discover *discover)
{
	unsigned own = 0;

	for (size_t i = 0; i < discover->count; i++)
		if (discover->hosts[i].self)
			own = discover->hosts[i].faults;
	for (size_t i = 0; i < discover->count; i++)
		discover->hosts[i].faults |= own;
}

void discover_via_check(struct discover *discover)
{
	struct discover_pairs pairs = {.discover = discover};
	struct discover_path *paths;
	size_t count = plan(discover, &paths);

	discover_lanes_measure(discover, paths, count, &pairs);
	take_over_faults(discover);
	discover_pairs_check(&pairs);
	discover->via_count = pairs.count;
	free(pairs.pairs);
	free(paths);
}
