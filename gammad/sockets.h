/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which packet sockets are open: the sweep in open.c asks, to find out which endpoints are gone. */
#ifndef GAMMAD_SOCKETS_H
#define GAMMAD_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gammad_sockets {
	uint64_t *inodes; /* ascending; to be freed */
	size_t count, room;
};

/* All that are in the kernel's list (/proc/net/packet), which open_list opens. False: it cannot be
 * read whole, errno says why. */
bool gammad_sockets_read(struct gammad_sockets *sockets, FILE *(*open_list)(void) );
bool gammad_sockets_has(const struct gammad_sockets *sockets, uint64_t inode);

#endif /* GAMMAD_SOCKETS_H */
