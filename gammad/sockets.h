/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The packet sockets that are open: the sweep in open.c finds out by them which endpoints are
 * gone. */
#ifndef GAMMAD_SOCKETS_H
#define GAMMAD_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gammad_sockets {
	uint64_t *inodes; /* ascending; the caller frees them */
	size_t count, room;
};

/* Reads the kernel's whole list (/proc/net/packet), which open_list opens. False: it could not
 * be read completely, see errno. */
bool gammad_sockets_read(struct gammad_sockets *sockets, FILE *(*open_list)(void) );
bool gammad_sockets_has(const struct gammad_sockets *sockets, uint64_t inode);

#endif /* GAMMAD_SOCKETS_H */
