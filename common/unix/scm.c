// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Descriptors and credentials of messages between processes of a host: see enclosed.h. */
#include "unix/scm.h"

#include <errno.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "unix/deferred_close.h"

union control {
	char space[CMSG_SPACE(sizeof(struct ucred)) +
		   CMSG_SPACE(GAMMA_ENCLOSED_MORE * sizeof(int))];
	struct cmsghdr align;
};

int gamma_enclosed_send(int fd, const struct sockaddr_un *name, unsigned name_len,
			const void *bytes, size_t len, const int *fds, size_t count)
{
	struct iovec iov = {.iov_base = (void *) bytes, .iov_len = len};
	union {
		char space[CMSG_SPACE(GAMMA_ENCLOSED_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = {.space = {0}}; /* the padding goes to the kernel too */
	struct msghdr msg = {
		.msg_name = (void *) name,
		.msg_namelen = name_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = CMSG_SPACE(count * sizeof(*fds)),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(count * sizeof(*fds));
	memcpy(CMSG_DATA(cmsg), fds, count * sizeof(*fds));
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void take_fds(const struct cmsghdr *cmsg, struct gamma_enclosed *enclosed)
{
	size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
		if (i < GAMMA_ENCLOSED_FDS && enclosed->fds[i] < 0)
			enclosed->fds[i] = fd;
		else if (enclosed->more_count < GAMMA_ENCLOSED_MORE)
			enclosed->more[enclosed->more_count++] = fd;
		else
			close(fd); /* no kernel carries as many */
	}
}

ssize_t gamma_enclosed_receive(int fd, void *bytes, size_t room, struct gamma_enclosed *enclosed)
{
	union control control;
	struct iovec iov = {.iov_base = bytes, .iov_len = room};
	struct msghdr msg = {
		.msg_name = &enclosed->name,
		.msg_namelen = sizeof(enclosed->name),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t len;

	enclosed->sender = (struct ucred){.uid = (uid_t) -1};
	enclosed->fds[0] = enclosed->fds[1] = -1;
	enclosed->more_count = 0;
	len = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0)
		return -errno;
	enclosed->name_len = msg.msg_namelen;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET)
			continue;
		if (cmsg->cmsg_type == SCM_CREDENTIALS)
			memcpy(&enclosed->sender, CMSG_DATA(cmsg), sizeof(enclosed->sender));
		else if (cmsg->cmsg_type == SCM_RIGHTS)
			take_fds(cmsg, enclosed);
	}
	return len;
}

/* Newer than some headers; since Linux 6.16. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

bool gamma_enclosed_refuse(int fd)
{
	int none = 0;

	return !setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &none, sizeof(none));
}

/* All that it has; it has none after. */
static size_t take_all(struct gamma_enclosed *enclosed, int *fds)
{
	size_t count = 0;

	for (unsigned i = 0; i < GAMMA_ENCLOSED_FDS; i++) {
		if (enclosed->fds[i] >= 0)
			fds[count++] = enclosed->fds[i];
		enclosed->fds[i] = -1;
	}
	memcpy(fds + count, enclosed->more, enclosed->more_count * sizeof(*fds));
	count += enclosed->more_count;
	enclosed->more_count = 0;
	return count;
}

void gamma_enclosed_close(struct gamma_enclosed *enclosed)
{
	int fds[GAMMA_ENCLOSED_FDS + GAMMA_ENCLOSED_MORE];
	size_t count = take_all(enclosed, fds);

	while (count)
		close(fds[--count]);
}

void gamma_enclosed_close_apart(struct gamma_enclosed *enclosed)
{
	int fds[GAMMA_ENCLOSED_FDS + GAMMA_ENCLOSED_MORE];
	size_t count = take_all(enclosed, fds);

	if (count)
		gamma_apart_close(fds, count);
}
