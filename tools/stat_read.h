/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoints of this host whose counters may be read: found in /proc, without gammad. */
#ifndef GAMMA_STAT_READ_H
#define GAMMA_STAT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/stats_page.h"

enum { STAT_TEXT_LEN = 64 };

/* An endpoint at some time. */
struct stat_endpoint {
	pid_t pid;
	ino_t inode; /* of its page: distinguishes it from another of that process */
	uid_t uid;
	char command[STAT_TEXT_LEN], job[STAT_TEXT_LEN]; /* job "": none is known */
	struct gamma_stats_page page;
};

struct stat_list {
	struct stat_endpoint *endpoint;
	size_t count, size;
	unsigned hidden;         /* processes that this user may not look into */
	unsigned other_releases; /* endpoints whose counters are others */
};

/* Reads all endpoints below proc ("/proc"); 0 or a negative errno. */
int stat_read_all(const char *proc, struct stat_list *list);
void stat_read_free(struct stat_list *list);

#endif /* GAMMA_STAT_READ_H */
