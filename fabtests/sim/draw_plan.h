/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a seed draws, shared by draw.c (a run) and draw_config.c (its hosts and network). */
#ifndef GAMMA_SIM_DRAW_PLAN_H
#define GAMMA_SIM_DRAW_PLAN_H

#include "internal.h"

struct plan {
	struct sim_config config;
	uint64_t random;
	bool lossless;   /* nothing may get lost, doubled or reordered */
	unsigned faults; /* kinds of faults */
	unsigned messages;
	unsigned shape;   /* of the traffic */
	uint64_t span;    /* ns */
	uint64_t heal;    /* ns: every fault has ended by then */
	uint64_t silence; /* ns: the longest that a node may be silent */
	uint64_t longest; /* bytes of a message */
	uint64_t volume;  /* bytes in all */
	bool unposted;    /* some receives never come */
	unsigned partial; /* percent of messages to addresses without epoch */
	bool wrap;
	bool dead;      /* some node goes for good, or comes back as another incarnation */
	bool tunnel;    /* the switch passes less than 1,500 bytes */
	unsigned rails; /* NICs of a host at most; 0: all have one */
};

static inline uint64_t dice(struct plan *plan)
{
	uint64_t z = plan->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) >> 8;
}

static inline bool percent(struct plan *plan, unsigned chance)
{
	return dice(plan) % 100 < chance;
}

/* Between low and high, every power of two equally likely. */
static inline uint64_t spread(struct plan *plan, uint64_t low, uint64_t high)
{
	unsigned powers = 0;
	uint64_t value;

	while (low << powers < high)
		powers++;
	value = low << dice(plan) % (powers + 1);
	value += dice(plan) % (value + 1);
	return gamma_min(value, high);
}

#define PICK(plan, ...)       \
	(((const uint64_t[]){ \
		__VA_ARGS__})[dice(plan) % gamma_array_size(((const uint64_t[]){__VA_ARGS__}))])

/* Of a million frames: how many a kind of fault meets. */
static inline uint32_t share(struct plan *plan, uint32_t most)
{
	plan->faults++;
	return (uint32_t) spread(plan, gamma_max(most / 256, 1), most);
}

/* draw_config.c */
void draw_config(struct plan *plan);
void draw_config_more(struct plan *plan);
void draw_config_chances(struct plan *plan, struct sim_chances *chances);

#endif /* GAMMA_SIM_DRAW_PLAN_H */
