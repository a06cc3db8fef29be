/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared memory without a name, between two processes of a host: made by one, handed over through
 * the other's port socket together with one end of a pair of sockets. Nothing is left of it when
 * both have ended, however they end.
 */
#ifndef GAMMA_LINK_SEGMENT_H
#define GAMMA_LINK_SEGMENT_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "wire/segment.h"

/* Makes `bytes` of zeroed memory, reserved and of fixed size, and maps it. Returns its descriptor
 * or a negative errno. */
int gamma_segment_make(size_t bytes, void **at);
/* Maps one that somebody else has made: 0, or a negative errno if touching it could be fatal. */
int gamma_segment_map(int fd, size_t *bytes, void **at);

/* Sends a handover with its two descriptors to the socket of that name: 0 or a negative errno. */
struct sockaddr_un;
int gamma_handover_send(int fd, const struct sockaddr_un *name, unsigned name_len,
			const struct gamma_handover *handover, int segment_fd, int pair_fd);

/* What the kernel says of a datagram, besides its bytes. */
struct gamma_enclosed {
	struct ucred sender; /* uid -1: unknown */
	int fds[2];	     /* -1: none */
};
union gamma_enclosure {
	char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(2 * sizeof(int))];
	struct cmsghdr align;
};
/* Reads it; descriptors beyond two, and a single one, are closed. */
void gamma_enclosed_read(struct msghdr *msg, struct gamma_enclosed *enclosed);

#endif /* GAMMA_LINK_SEGMENT_H */
