// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Shared memory without a name: created here, or received and checked. */
#include "unix/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* Beyond the limit on file sizes the kernel would send a signal as well. */
static bool within_limit(size_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur >= bytes;
}

static int make_file(const char *name)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	/* Linux before 6.3 does not know that flag. */
	return fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd;
}

/* If there were no memory when a page is first touched, the signal would be fatal. So all of it is
 * reserved now. */
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
	/* A forked child must not inherit it. */
	madvise(*at, bytes, MADV_DONTFORK);
	return 0;
}

int gamma_memfd_file(const char *name, size_t bytes)
{
	int fd, ret;

	if (!within_limit(bytes))
		return -EFBIG;
	fd = make_file(name);
	if (fd < 0)
		return -errno;
	ret = reserve(fd, bytes);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int gamma_memfd_make(size_t bytes, void **at)
{
	int fd = gamma_memfd_file("gamma", bytes);
	int ret = fd < 0 ? fd : map(fd, bytes, at);

	if (!ret)
		return fd;
	if (fd >= 0)
		close(fd);
	return ret;
}

int gamma_memfd_map(int fd, size_t *bytes, void **at)
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
