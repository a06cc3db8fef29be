/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The user who has bound an abstract AF_UNIX name for datagrams. Anyone may bind any of them, so a
 * name alone proves nothing.
 */
#ifndef GAMMA_UNIX_NAME_OWNER_H
#define GAMMA_UNIX_NAME_OWNER_H

#include <sys/types.h>

struct sockaddr_un;

/* Two descriptors, of the network namespace whose names are asked for. */
struct gamma_name_owner {
	int probe_fd; /* AF_UNIX datagram socket */
	int diag_fd;  /* netlink, the kernel's list of sockets */
};

/* In that namespace. 0 or a negative errno; on -ENOENT, from a kernel that cannot be asked, both
 * are open all the same. */
int gamma_name_owner_open(struct gamma_name_owner *owner);
void gamma_name_owner_close(struct gamma_name_owner *owner);
/* 0: *uid has bound it, with a socket that anyone may send to. -ECONNREFUSED: nobody has. -EPERM:
 * that socket takes messages from one other only, which no port does. -ENOENT: somebody has, but
 * the kernel does not say who. */
int gamma_name_owner_find(const struct gamma_name_owner *owner, const struct sockaddr_un *name,
			  unsigned len, uid_t *uid);

#endif /* GAMMA_UNIX_NAME_OWNER_H */
