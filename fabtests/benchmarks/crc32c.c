// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * How fast the checksum of a payload is: GB/s by length, with the processor's help and by table.
 * No network, no arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"
#include "wire/codec.h"

#include "command.h"

typedef uint32_t checksum(uint32_t crc, const void *bytes, size_t len);

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}

/* Best of several rounds: others may be using the machine. */
static double rate(checksum *sum, const uint8_t *bytes, size_t len, unsigned times)
{
	volatile uint32_t sink = 0;
	double best = 1e9;

	for (int round = 0; round < 7; round++) {
		double begin = now(), took;

		for (unsigned i = 0; i < times; i++)
			sink = sum(sink, bytes, len);
		took = now() - begin;
		best = took < best ? took : best;
	}
	return (double) len * times / best / 1e9;
}

int main(int argc, char **argv)
{
	static const size_t lengths[] = {64, 256, 1460, 8960, 65495};
	uint8_t *bytes = calloc(1, lengths[gamma_array_size(lengths) - 1]);

	command_usage = "usage: gamma-crc32c\n";
	command_option(argc, argv, "h");
	command_end(argc, argv);
	if (!bytes)
		return 1;
	printf("%8s %12s %12s\n", "bytes", "GB/s", "table, GB/s");
	for (size_t i = 0; i < gamma_array_size(lengths); i++) {
		unsigned times = (unsigned) (20000000 / lengths[i]);

		printf("%8zu %12.2f %12.2f\n", lengths[i],
		       rate(gamma_crc32c, bytes, lengths[i], times),
		       rate(gamma_crc32c_by_table, bytes, lengths[i], times / 10));
	}
	free(bytes);
	return 0;
}
