/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Socket control messages (SCM): descriptors and credentials that a Unix socket carries besides
 * bytes. Used by shared memory and by both sides of gammad's socket.
 */
#ifndef GAMMA_SCM_H
#define GAMMA_SCM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

enum {
	GAMMA_SCM_FDS = 2,    /* descriptors in one message of this project, at most */
	GAMMA_SCM_MORE = 253, /* descriptors in any message, at most */
};

struct gamma_scm {
	struct ucred sender;     /* uid -1: unknown */
	struct sockaddr_un name; /* of the sender's socket */
	unsigned name_len;       /* bytes of it */
	int fds[GAMMA_SCM_FDS];  /* -1: none */
	bool truncated;          /* the kernel closed some, for lack of free descriptors */
	unsigned more_count;
	int more[GAMMA_SCM_MORE]; /* further ones: not a message of this project */
};

/* Sends len bytes with count descriptors to that name, or to the connected socket if name is NULL.
 * Never blocks. Returns 0 or a negative errno. */
int gamma_scm_send(int fd, const struct sockaddr_un *name, unsigned name_len, const void *bytes,
		   size_t len, const int *fds, size_t count);
/* Looks at the next message and leaves it in the queue: fills in scm's sender and name, the
 * message's first byte, and whether it carries descriptors, none of which enters this process.
 * Returns the message's bytes or a negative errno. Never blocks. */
ssize_t gamma_scm_peek(int fd, struct gamma_scm *scm, uint8_t *first, bool *descriptors);
/* Returns the bytes received, at most room, or a negative errno. Never blocks. The caller owns all
 * descriptors: if the kernel had to close some, the caller could block. */
ssize_t gamma_scm_receive(int fd, void *bytes, size_t room, struct gamma_scm *scm);
/* The same without descriptors: none enters this process, and the kernel drops all that came with
 * the message, in this call. */
ssize_t gamma_scm_receive_bytes(int fd, void *bytes, size_t room, struct gamma_scm *scm);
void gamma_scm_close(struct gamma_scm *scm);
/* From now on the kernel refuses descriptors sent to this socket and to sockets that it accepts.
 * False: the kernel is too old for that. */
bool gamma_scm_refuse(int fd);

#endif /* GAMMA_SCM_H */
