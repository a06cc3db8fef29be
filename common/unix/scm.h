/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a Unix socket carries besides bytes: descriptors, and who sent them. Called by the links,
 * and by both sides of gammad's socket.
 */
#ifndef GAMMA_LINK_ENCLOSED_H
#define GAMMA_LINK_ENCLOSED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

enum {
	GAMMA_SCM_FDS = 2,    /* in one message of ours, at most */
	GAMMA_SCM_MORE = 253, /* in any that the kernel carries */
};

struct gamma_scm {
	struct ucred sender;     /* uid -1: unknown */
	struct sockaddr_un name; /* of the sender's socket */
	unsigned name_len;       /* bytes of it */
	int fds[GAMMA_SCM_FDS];  /* -1: none */
	unsigned more_count;
	int more[GAMMA_SCM_MORE]; /* beyond these: of no message of ours */
};

/* Sends `len` bytes with `count` descriptors, to that name or, if it is NULL, to whom the socket is
 * connected; never waits. 0 or a negative errno. */
int gamma_scm_send(int fd, const struct sockaddr_un *name, unsigned name_len, const void *bytes,
		   size_t len, const int *fds, size_t count);
/* Returns the bytes received, at most `room`, or a negative errno; never waits. The descriptors are
 * the caller's, all of them: what the kernel has to close the caller would wait for. */
ssize_t gamma_scm_receive(int fd, void *bytes, size_t room, struct gamma_scm *scm);
void gamma_scm_close(struct gamma_scm *scm);
/* The same of a stranger's, which may take long: unix/deferred_close.h. */
void gamma_scm_close_deferred(struct gamma_scm *scm);
/* From here on the kernel lets nobody send descriptors to this socket, nor to those that it
 * accepts: whoever drops them last waits until they are closed. False: the kernel is too old for
 * that. */
bool gamma_scm_refuse(int fd);

#endif /* GAMMA_LINK_ENCLOSED_H */
