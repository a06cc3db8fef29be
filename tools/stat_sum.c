// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * One line for a job that has ended: the sum of the lines that its endpoints have written as they
 * closed, to the file that FI_GAMMA_STATS names. For the epilog of a resource manager.
 */
#include "stat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file is a user's, and root reads it in an epilog: it may have anything, and any length. */
enum {
	LINE_ROOM = 32768,    /* bytes; a line has some 5,000 */
	FILE_MOST = 64 << 20, /* bytes that are read */
};

struct sum {
	unsigned endpoints, damaged; /* lines */
	bool partly;                 /* the file has more than was read */
	struct gamma_stats stats;
};

/* Of "name":number in a line; false: it is not there. */
static bool number_of(const char *line, const char *name, uint64_t *value)
{
	char key[64];
	const char *at;
	char *rest;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(line, key);
	if (!at || at[strlen(key)] < '0' || at[strlen(key)] > '9')
		return false;
	*value = strtoull(at + strlen(key), &rest, 10);
	return *rest == ',' || *rest == '}';
}

/* A line is whole, or, if its process was killed, not counted at all. */
static void add_line(struct sum *sum, const char *line)
{
	struct gamma_stats stats = {0};
	bool whole = line[0] == '{' && strstr(line, "}\n");

#define READ(field, meaning) whole = whole && number_of(line, #field, &stats.field);
	GAMMA_STATS_TABLE(READ)
#undef READ
	sum->endpoints += whole;
	sum->damaged += !whole;
	if (!whole)
		return;
#define ADD(field, meaning) sum->stats.field += stats.field;
	GAMMA_STATS_TABLE(ADD)
#undef ADD
}

/* A line that is longer than any is one damaged line. */
static void add_lines(struct sum *sum, FILE *from)
{
	static char line[LINE_ROOM];
	bool within = false; /* a line of which a part has been read */
	off_t begin = 0;

	while (!sum->partly && fgets(line, sizeof(line), from)) {
		const off_t end = ftello(from);

		if (!within)
			add_line(sum, line);
		/* It may have zero bytes. */
		within = end - begin == LINE_ROOM - 1 && line[LINE_ROOM - 2] != '\n';
		sum->partly = end >= FILE_MOST;
		begin = end;
	}
}

void stat_sum_print(const char *file)
{
	FILE *from = fopen(file, "re");
	struct sum sum = {0};
	const struct gamma_stats *stats = &sum.stats;

	if (!from)
		stat_fail("--sum %s: %s", file, strerror(errno));
	add_lines(&sum, from);
	if (ferror(from))
		stat_fail("--sum %s: %s", file, strerror(errno));
	fclose(from);
	printf("gamma: %u endpoints, %llu messages out, %llu in, %.3f MB out, %.3f MB in, "
	       "%.1f %% by shared memory, %llu frames resent, %llu dropped, %llu credit stalls, "
	       "%llu peers lost",
	       sum.endpoints, (unsigned long long) stats->messages_out + stats->datagrams_out,
	       (unsigned long long) stats->messages_in + stats->datagrams_in,
	       (double) stats->bytes_out / 1e6, (double) stats->bytes_in / 1e6,
	       stat_change_sent(stats)
		       ? 100.0 * (double) (stats->tx_shm_inline + stats->tx_shm_rndv) /
				 (double) stat_change_sent(stats)
		       : 0.0,
	       (unsigned long long) stats->retransmissions, (unsigned long long) stats->ring_drops,
	       (unsigned long long) stats->credit_stalls,
	       (unsigned long long) stats->peer_timeouts);
	if (sum.damaged)
		printf("; %u lines damaged or of another release", sum.damaged);
	if (sum.partly)
		printf("; only the first %d MiB were read", FILE_MOST >> 20);
	putchar('\n');
}
