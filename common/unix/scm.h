/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Socket control messages (SCM): descriptors and credentials that a Unix socket carries besides
 * bytes. Used by shared memory and by both sides of gammad's socket.
 */
#ifndef GAMMA_SCM_H
#define GAMMA_SCM_H

#include <stdbool.h>
#include <stddef.h>
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
	unsigned more_count;
	int more[GAMMA_SCM_MORE]; /* further ones: not a message of this project */
};

/* Sends len bytes with count descriptors to that name, or to the connected socket if name is NULL.
 * Never blocks. Returns 0 or a negative errno. */
int gamma_scm_send(int fd, const struct sockaddr_un *name, unsigned name_len, const void *bytes,
		   size_t len, const int *fds, size_t count);
/* Returns the bytes received, at most room, or a negative errno. Never blocks. The caller owns all
 * descriptors: if the kernel had to close some, the caller could block. */
ssize_t gamma_scm_receive(int fd, void *bytes, size_t room, struct gamma_scm *scm);
void gamma_scm_close(struct gamma_scm *scm);
/* The same for descriptors of an unknown process, which may take long: unix/deferred_close.h. */
void gamma_scm_close_deferred(struct gamma_scm *scm);
/* From now on the kernel refuses descriptors sent to this socket and to sockets that it accepts.
 * False: the kernel is too old for that. */
bool gamma_scm_refuse(int fd);

#endif /* GAMMA_SCM_H */
