/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How often times of a kind were measured, in classes of which each is a quarter of an octave wide:
 * a percentile is exact to 19 %. One writer; copies are read by others.
 */
#ifndef GAMMA_BASE_HISTOGRAM_H
#define GAMMA_BASE_HISTOGRAM_H

#include <stdint.h>

enum {
	GAMMA_HISTOGRAM_CLASSES = 96, /* up to 8 s; the last one holds what is longer */
	GAMMA_HISTOGRAM_SHIFT = 8,    /* the first four are 256 ns wide */
};

struct gamma_histogram {
	uint32_t counts[GAMMA_HISTOGRAM_CLASSES]; /* they wrap: differences count */
};

/* The class of a time in ns. */
static inline unsigned gamma_histogram_class(uint64_t ns)
{
	uint64_t units = ns >> GAMMA_HISTOGRAM_SHIFT;
	unsigned octave, class;

	if (units < 4)
		return (unsigned) units;
	octave = 63 - (unsigned) __builtin_clzll(units);
	class = 4 * (octave - 1) + (unsigned) ((units >> (octave - 2)) & 3);
	return class < GAMMA_HISTOGRAM_CLASSES ? class : GAMMA_HISTOGRAM_CLASSES - 1;
}

/* The shortest time of a class, ns; of the one behind the last class, the end of that. */
static inline uint64_t gamma_histogram_from(unsigned class)
{
	if (class < 4)
		return (uint64_t) class << GAMMA_HISTOGRAM_SHIFT;
	return (uint64_t) (4 + class % 4) << (class / 4 - 1 + GAMMA_HISTOGRAM_SHIFT);
}

static inline void gamma_histogram_add(struct gamma_histogram *histogram, uint64_t ns)
{
	histogram->counts[gamma_histogram_class(ns)]++;
}

/* The end of the class in which the percentile lies, ns; 0: nothing was measured. */
static inline uint64_t gamma_histogram_percentile(const struct gamma_histogram *histogram,
						  unsigned percent)
{
	uint64_t all = 0, wanted, seen = 0;
	unsigned class;

	for (class = 0; class < GAMMA_HISTOGRAM_CLASSES; class ++)
		all += histogram->counts[class];
	wanted = (all * percent + 99) / 100;
	for (class = 0; all && class < GAMMA_HISTOGRAM_CLASSES; class ++) {
		seen += histogram->counts[class];
		if (seen >= wanted)
			return gamma_histogram_from(class + 1);
	}
	return 0;
}

#endif /* GAMMA_BASE_HISTOGRAM_H */
