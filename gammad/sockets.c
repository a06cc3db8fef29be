// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Reads the kernel's list of packet sockets completely. */
#include "gammad/sockets.h"

#include <errno.h>
#include <stdlib.h>

enum { READINGS_MAX = 16 };

static bool add(struct gammad_sockets *sockets, uint64_t inode)
{
	if (sockets->count == sockets->room) {
		size_t room = sockets->room ? 2 * sockets->room : 256;
		uint64_t *grown = realloc(sockets->inodes, room * sizeof(*grown));

		if (!grown)
			return false;
		sockets->inodes = grown;
		sockets->room = room;
	}
	sockets->inodes[sockets->count++] = inode;
	return true;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* One socket per line, the inode last. */
static bool read_list(struct gammad_sockets *sockets, FILE *(*open_list)(void) )
{
	FILE *file = open_list();
	unsigned long long inode;
	char line[256];
	bool complete = file != NULL;

	while (complete && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %llu", &inode) == 1)
			complete = add(sockets, inode);
	}
	if (file) {
		complete = complete && !ferror(file);
		fclose(file);
	}
	if (sockets->count)
		qsort(sockets->inodes, sockets->count, sizeof(*sockets->inodes), compare);
	return complete;
}

bool gammad_sockets_has(const struct gammad_sockets *sockets, uint64_t inode)
{
	return sockets->count &&
	       bsearch(&inode, sockets->inodes, sockets->count, sizeof(*sockets->inodes), compare);
}

static bool has_all(const struct gammad_sockets *sockets, const struct gammad_sockets *before)
{
	for (size_t i = 0; i < before->count; i++) {
		if (!gammad_sockets_has(sockets, before->inodes[i]))
			return false;
	}
	return true;
}

/* The kernel finds its position again by counting: when a socket that was listed closes
 * between two reads, another one is skipped. So a list is complete only if it has all sockets
 * of the one before. */
bool gammad_sockets_read(struct gammad_sockets *sockets, FILE *(*open_list)(void) )
{
	struct gammad_sockets before = {0};
	bool good;

	*sockets = (struct gammad_sockets){0};
	good = read_list(sockets, open_list);
	for (int i = 1; good && i < READINGS_MAX; i++) {
		free(before.inodes);
		before = *sockets;
		*sockets = (struct gammad_sockets){0};
		good = read_list(sockets, open_list);
		if (good && has_all(sockets, &before)) {
			free(before.inodes);
			return true;
		}
	}
	free(before.inodes);
	if (good)
		errno = EAGAIN;
	return false;
}
