// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Descriptors and credentials of messages between processes of a host: see scm.h. */
#include "unix/scm.h"

#include <errno.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

union control {
	char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(GAMMA_SCM_MORE * sizeof(int))];
	struct cmsghdr align;
};

int gamma_scm_send(int fd, const struct sockaddr_un *name, unsigned name_len, const void *bytes,
		   size_t len, const int *fds, size_t count)
{
	struct iovec iov = {.iov_base = (void *) bytes, .iov_len = len};
	union {
		char space[CMSG_SPACE(GAMMA_SCM_FDS * sizeof(int))];
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

static void take_fds(const struct cmsghdr *cmsg, struct gamma_scm *scm)
{
	size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
		if (i < GAMMA_SCM_FDS && scm->fds[i] < 0)
			scm->fds[i] = fd;
		else if (scm->more_count < GAMMA_SCM_MORE)
			scm->more[scm->more_count++] = fd;
		else
			close(fd); /* more than any kernel passes */
	}
}

/* Bytes, sender and name, with room for no descriptor: MSG_CTRUNC in *flags, which are recvmsg's,
 * shows that there are some. */
static ssize_t receive_without_fds(int fd, void *bytes, size_t room, struct gamma_scm *scm,
				   int *flags)
{
	union {
		char space[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = bytes, .iov_len = room};
	struct msghdr msg = {
		.msg_name = &scm->name,
		.msg_namelen = sizeof(scm->name),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t len;
	struct cmsghdr *cmsg;

	scm->sender = (struct ucred){.uid = (uid_t) -1};
	len = recvmsg(fd, &msg, *flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0)
		return -errno;
	scm->name_len = msg.msg_namelen;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_CREDENTIALS)
		memcpy(&scm->sender, CMSG_DATA(cmsg), sizeof(scm->sender));
	*flags = msg.msg_flags;
	return len;
}

ssize_t gamma_scm_peek(int fd, struct gamma_scm *scm, uint8_t *first, bool *descriptors)
{
	int flags = MSG_PEEK | MSG_TRUNC;
	ssize_t len = receive_without_fds(fd, first, 1, scm, &flags);

	if (len >= 0)
		*descriptors = flags & MSG_CTRUNC;
	return len;
}

ssize_t gamma_scm_receive_bytes(int fd, void *bytes, size_t room, struct gamma_scm *scm)
{
	int flags = 0;

	scm->fds[0] = scm->fds[1] = -1;
	scm->more_count = 0;
	scm->truncated = false;
	return receive_without_fds(fd, bytes, room, scm, &flags);
}

ssize_t gamma_scm_receive(int fd, void *bytes, size_t room, struct gamma_scm *scm)
{
	union control control;
	struct iovec iov = {.iov_base = bytes, .iov_len = room};
	struct msghdr msg = {
		.msg_name = &scm->name,
		.msg_namelen = sizeof(scm->name),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t len;

	scm->sender = (struct ucred){.uid = (uid_t) -1};
	scm->fds[0] = scm->fds[1] = -1;
	scm->more_count = 0;
	scm->truncated = false;
	len = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0)
		return -errno;
	scm->truncated = msg.msg_flags & MSG_CTRUNC;
	scm->name_len = msg.msg_namelen;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET)
			continue;
		if (cmsg->cmsg_type == SCM_CREDENTIALS)
			memcpy(&scm->sender, CMSG_DATA(cmsg), sizeof(scm->sender));
		else if (cmsg->cmsg_type == SCM_RIGHTS)
			take_fds(cmsg, scm);
	}
	return len;
}

/* Newer than some headers; since Linux 6.16. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

bool gamma_scm_refuse(int fd)
{
	int none = 0;

	return !setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &none, sizeof(none));
}

/* Moves all descriptors of scm to fds, and returns how many. */
static size_t take_all(struct gamma_scm *scm, int *fds)
{
	size_t count = 0;

	for (unsigned i = 0; i < GAMMA_SCM_FDS; i++) {
		if (scm->fds[i] >= 0)
			fds[count++] = scm->fds[i];
		scm->fds[i] = -1;
	}
	memcpy(fds + count, scm->more, scm->more_count * sizeof(*fds));
	count += scm->more_count;
	scm->more_count = 0;
	return count;
}

void gamma_scm_close(struct gamma_scm *scm)
{
	int fds[GAMMA_SCM_FDS + GAMMA_SCM_MORE];
	size_t count = take_all(scm, fds);

	while (count)
		close(fds[--count]);
}
