// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Making, checking and handing over shared memory: see segment.h. */
#include "link/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* Beyond the limit on file sizes the kernel would not only refuse but send a signal. */
static bool within_limit(size_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur >= bytes;
}

static int make_file(void)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("gamma", flags | MFD_NOEXEC_SEAL);

	/* Before Linux 6.3 that flag was unknown. */
	return fd < 0 && errno == EINVAL ? memfd_create("gamma", flags) : fd;
}

/* Memory that could not be had when a page is first touched would be a fatal signal: so all of
 * it is asked for now. */
static int reserve(int fd, size_t bytes)
{
	int ret;

	do
		ret = fallocate(fd, 0, 0, (off_t) bytes);
	while (ret && errno == EINTR);
	return ret || fcntl(fd, F_ADD_SEALS, SEALS) ? -errno : 0;
}

static int map(int fd, size_t bytes, void **at)
{
	*at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*at == MAP_FAILED)
		return -errno;
	/* A forked child has no business in it. */
	madvise(*at, bytes, MADV_DONTFORK);
	return 0;
}

int gamma_segment_make(size_t bytes, void **at)
{
	int fd, ret;

	if (!within_limit(bytes))
		return -EFBIG;
	fd = make_file();
	if (fd < 0)
		return -errno;
	ret = reserve(fd, bytes);
	if (!ret)
		ret = map(fd, bytes, at);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int gamma_segment_map(int fd, size_t *bytes, void **at)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st))
		return -EBADF;
	if (st.st_size <= 0 || (uint64_t) st.st_size > GAMMA_SEGMENT_HEADER + GAMMA_SEGMENT_MAX ||
	    st.st_blocks * 512 < st.st_size)
		return -EINVAL;
	*bytes = (size_t) st.st_size;
	return map(fd, *bytes, at);
}

int gamma_handover_send(int fd, const struct sockaddr_un *name, unsigned name_len,
			const struct gamma_handover *handover, int segment_fd, int pair_fd)
{
	struct iovec iov = {.iov_base = (void *) handover, .iov_len = sizeof(*handover)};
	union gamma_enclosure control = {.space = {0}};
	int fds[2] = {segment_fd, pair_fd};
	struct msghdr msg = {
		.msg_name = (void *) name,
		.msg_namelen = name_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = CMSG_SPACE(sizeof(fds)),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(cmsg), fds, sizeof(fds));
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void take_fds(const struct cmsghdr *cmsg, struct gamma_enclosed *enclosed)
{
	size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
		if (i < 2 && enclosed->fds[i] < 0)
			enclosed->fds[i] = fd;
		else
			close(fd);
	}
}

void gamma_enclosed_read(struct msghdr *msg, struct gamma_enclosed *enclosed)
{
	*enclosed = (struct gamma_enclosed){.sender.uid = (uid_t) -1, .fds = {-1, -1}};
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET)
			continue;
		if (cmsg->cmsg_type == SCM_CREDENTIALS)
			memcpy(&enclosed->sender, CMSG_DATA(cmsg), sizeof(enclosed->sender));
		else if (cmsg->cmsg_type == SCM_RIGHTS)
			take_fds(cmsg, enclosed);
	}
	if (enclosed->fds[0] >= 0 && enclosed->fds[1] < 0) {
		close(enclosed->fds[0]);
		enclosed->fds[0] = -1;
	}
}
