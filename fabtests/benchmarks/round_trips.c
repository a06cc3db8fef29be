// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What a ping-pong has measured: see round_trips.h. */
#include "round_trips.h"

#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

void round_trips_print(const char *tool, bool json, size_t size, uint64_t *rtt_ns, size_t count)
{
	double mean = 0, median, min;

	qsort(rtt_ns, count, sizeof(*rtt_ns), compare);
	for (size_t i = 0; i < count; i++)
		mean += (double) rtt_ns[i];
	mean /= (double) count * 2000.0;
	median = (double) rtt_ns[count / 2] / 2000.0;
	min = (double) rtt_ns[0] / 2000.0;
	if (json)
		printf("{\"tool\":\"%s\",\"mode\":\"pingpong\",\"size\":%zu,"
		       "\"iterations\":%zu,\"median_us\":%.3f,\"min_us\":%.3f,\"mean_us\":%.3f}\n",
		       tool, size, count, median, min, mean);
	else
		printf("%8zu %10.3f %10.3f %10.3f\n", size, median, min, mean);
	fflush(stdout);
}
