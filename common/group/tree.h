/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The binomial tree over ranks 0 to n - 1 with root 0: a rank's parent has its lowest bit cleared,
 * and the subtree of each rank is a range of ranks. A rank is a member's place counted from the
 * operation's root.
 */
#ifndef GAMMA_GROUP_TREE_H
#define GAMMA_GROUP_TREE_H

#include <stdint.h>

static inline uint32_t gamma_tree_rank(uint32_t place, uint32_t root, uint32_t n)
{
	return place >= root ? place - root : place + n - root;
}

static inline uint32_t gamma_tree_place(uint32_t rank, uint32_t root, uint32_t n)
{
	return rank < n - root ? rank + root : rank - (n - root);
}

static inline uint32_t gamma_tree_parent(uint32_t rank)
{
	return rank & (rank - 1);
}

/* The distance of the first child that a rank may not have: its children are rank + 1, + 2, + 4 ...
 * below that. */
static inline uint32_t gamma_tree_span(uint32_t rank, uint32_t n)
{
	uint32_t span = 1;

	while (!(rank & span) && span < n - rank)
		span *= 2;
	return span;
}

/* Ranks in the subtree of a child at that distance. */
static inline uint32_t gamma_tree_size(uint32_t rank, uint32_t distance, uint32_t n)
{
	uint32_t most = n - rank - distance;

	return distance < most ? distance : most;
}

#endif /* GAMMA_GROUP_TREE_H */
