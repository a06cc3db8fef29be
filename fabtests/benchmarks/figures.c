// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Latency, bandwidth and half-power point from measured delays: see figures.h. */
#include "figures.h"

double figures_throughput(const struct figures_point *point)
{
	return point->bytes / point->delay;
}

/*
 * Where S / D(S) is `wanted` between two sizes, with D a straight line between them:
 * S = wanted * (D0 + slope * (S - S0)), solved for S.
 */
static double size_between(const struct figures_point *low, const struct figures_point *high,
			   double wanted)
{
	double slope = (high->delay - low->delay) / (high->bytes - low->bytes);

	return wanted * (low->delay - slope * low->bytes) / (1 - wanted * slope);
}

/* The smallest size from which on half of the bandwidth is reached. */
static double half_power(const struct figures_point *points, size_t count, double half)
{
	size_t i = count;

	while (i && figures_throughput(&points[i - 1]) >= half)
		i--;
	if (i == count)
		return 0;
	return i ? size_between(&points[i - 1], &points[i], half) : points[0].bytes;
}

struct figures figures_of(const struct figures_point *points, size_t count)
{
	const struct figures_point *first = points, *last = &points[count - 1];
	struct figures f = {.latency = first->delay};

	if (last->delay > first->delay) {
		f.asymptotic = (last->bytes - first->bytes) / (last->delay - first->delay);
		f.half_power = half_power(points, count, f.asymptotic / 2);
	}
	for (size_t i = 0; i < count; i++)
		if (points[i].stream > f.stream) {
			f.stream = points[i].stream;
			f.stream_bytes = points[i].bytes;
		}
	return f;
}
