/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which paths between hosts gamma-discover measures, and in which order. Hosts are indices. */
#ifndef GAMMA_DISCOVER_ROUNDS_H
#define GAMMA_DISCOVER_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	DISCOVER_ALL_PAIRS = 64,    /* hosts; of more, some paths are measured: */
	DISCOVER_RANDOM_PAIRS = 16, /* from each to the next and to so many by chance */
};

struct discover_path {
	size_t from, to;
};

/* The hosts to which paths from that one are measured: of those that take part all, or if they are
 * many the next and some by chance, with the same seed the same ones. Returns how many. */
size_t discover_rounds_choose(const bool *takes_part, size_t count, size_t from, unsigned seed,
			      bool *chosen);

/* All paths between hosts that take part, each way. Up to DISCOVER_ALL_PAIRS they come in the
 * rounds of a tournament: those of a round have no host in common. Returns how many; *paths is the
 * caller's to free; NULL: no memory. */
size_t discover_rounds_plan(const bool *takes_part, const unsigned *seeds, size_t count,
			    struct discover_path **paths);

#endif /* GAMMA_DISCOVER_ROUNDS_H */
