/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A page of memory in which an endpoint shows its counters to gamma-stat: written by
 * engine/stats_page.c, read by tools/stat.c. It is a memfd, found among the descriptors of the
 * process in /proc, so that owner and root alone can open it, and nothing of it is left when the
 * process has ended.
 */
#ifndef GAMMA_STATS_PAGE_H
#define GAMMA_STATS_PAGE_H

#include "base/stats.h"
#include "wire/address.h"

#define GAMMA_STATS_PAGE_NAME  "gamma-stat" /* of the memfd */
#define GAMMA_STATS_PAGE_MAGIC 0x736d6167u

enum {
	GAMMA_STATS_PAGE_VERSION = 1,
	GAMMA_STATS_PAGE_BYTES = 4096,
	GAMMA_STATS_PAGE_US = 50000, /* between two copies, while the program polls */
};

struct gamma_stats_page {
	uint32_t magic;         /* GAMMA_STATS_PAGE_MAGIC */
	uint32_t version;       /* of this layout, GAMMA_STATS_PAGE_VERSION */
	uint32_t count;         /* of counters: another release has other ones */
	int32_t pid;            /* of the process, in its own pid namespace */
	struct gamma_addr addr; /* of the endpoint */
	char nic[16];           /* its name, with a final 0 */
	uint32_t datagram;      /* 1: best effort only */
	uint32_t flows;         /* peers that it has a flow with */
	uint64_t sequence;      /* odd while what follows is written */
	uint64_t written;       /* ns, CLOCK_MONOTONIC: when */
	struct gamma_stats stats;
};
_Static_assert(sizeof(struct gamma_stats_page) <= GAMMA_STATS_PAGE_BYTES, "it is one page");

#endif /* GAMMA_STATS_PAGE_H */
