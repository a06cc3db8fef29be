// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The order of gamma-discover's measurements: see discover_rounds.h. Knows no network. */
#include "discover_rounds.h"

#include <stdlib.h>
#include <string.h>

size_t discover_rounds_choose(const bool *takes_part, size_t count, size_t from, unsigned seed,
			      bool *chosen)
{
	size_t others = 0, have = 0;

	for (size_t i = 0; i < count; i++)
		others += takes_part[i] && i != from;
	for (size_t i = 0; i < count; i++)
		chosen[i] = others < DISCOVER_ALL_PAIRS && takes_part[i] && i != from;
	if (others < DISCOVER_ALL_PAIRS)
		return others;
	for (size_t i = 1; !have; i++) {
		size_t next = (from + i) % count;

		chosen[next] = takes_part[next];
		have = chosen[next];
	}
	while (have <= DISCOVER_RANDOM_PAIRS) {
		size_t at = (size_t) rand_r(&seed) % count;

		if (!takes_part[at] || at == from || chosen[at])
			continue;
		chosen[at] = true;
		have++;
	}
	return have;
}

/* ---- all paths: a tournament ---- */

/* Player of a round at that table's side: one stays, the others move on by one. */
static size_t player(size_t players, size_t round, size_t table, bool second)
{
	if (table == 0 && !second)
		return players - 1;
	return (round + (second ? players - 1 - table : table)) % (players - 1);
}

static size_t plan_all(const size_t *members, size_t member_count, struct discover_path *paths)
{
	const size_t players = member_count + member_count % 2; /* an odd one meets nobody */
	size_t planned = 0;

	for (size_t round = 0; round + 1 < players; round++) {
		for (size_t i = 0; i < players; i++) { /* every table twice: each way */
			size_t table = i % (players / 2);
			size_t a = player(players, round, table, i >= players / 2);
			size_t b = player(players, round, table, i < players / 2);

			if (a < member_count && b < member_count)
				paths[planned++] = (struct discover_path){members[a], members[b]};
		}
	}
	return planned;
}

/* ---- of many hosts some ---- */

static size_t plan_some(const bool *takes_part, const unsigned *seeds, size_t count, bool *chosen,
			struct discover_path *paths)
{
	size_t planned = 0;

	for (size_t from = 0; from < count; from++) {
		if (!takes_part[from])
			continue;
		discover_rounds_choose(takes_part, count, from, seeds[from], chosen);
		for (size_t to = 0; to < count; to++)
			if (chosen[to])
				paths[planned++] = (struct discover_path){from, to};
	}
	return planned;
}

size_t discover_rounds_plan(const bool *takes_part, const unsigned *seeds, size_t count,
			    struct discover_path **paths)
{
	size_t *members = calloc(count + 1, sizeof(*members)), member_count = 0, planned = 0;
	bool *chosen = calloc(count + 1, sizeof(*chosen));

	*paths = NULL;
	for (size_t i = 0; members && i < count; i++)
		if (takes_part[i])
			members[member_count++] = i;
	if (chosen && members)
		*paths = calloc(member_count > DISCOVER_ALL_PAIRS
					? member_count * (DISCOVER_RANDOM_PAIRS + 1)
					: member_count * member_count + 1,
				sizeof(**paths));
	if (*paths && member_count > DISCOVER_ALL_PAIRS)
		planned = plan_some(takes_part, seeds, count, chosen, *paths);
	else if (*paths)
		planned = plan_all(members, member_count, *paths);
	free(members);
	free(chosen);
	return planned;
}
