// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Cross-memory attach: the kernel copies a large message from the sender's memory into the
 * receiver's (process_vm_readv), without a copy in between. This is tried once on first contact,
 * because containers, hardened kernels and non-dumpable programs forbid it.
 */
#include "shm/cma.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/base.h"
#include "base/iov.h"

enum { CALL_MAX = 1 << 30 /* bytes per call; the kernel's limit is below 2 GiB */ };

static bool read_memory(pid_t pid, const struct iovec *local, unsigned local_count,
			const struct iovec *remote, unsigned remote_count, uint64_t bytes)
{
	ssize_t ret;

	do
		ret = process_vm_readv(pid, local, local_count, remote, remote_count, 0);
	while (ret < 0 && errno == EINTR);
	return ret >= 0 && (uint64_t) ret == bytes;
}

static struct iovec iovec_at(uint64_t address, uint64_t len)
{
	return (struct iovec){(void *) (uintptr_t) address, len};
}

bool gamma_cma_is_possible(pid_t pid, const struct gamma_handover *handover)
{
	uint8_t nonce[sizeof(handover->nonce)];
	struct iovec local = {nonce, sizeof(nonce)};
	struct iovec remote = iovec_at(handover->nonce_at, sizeof(nonce));

	return pid > 0 && read_memory(pid, &local, 1, &remote, 1, sizeof(nonce)) &&
	       !memcmp(nonce, handover->nonce, sizeof(nonce));
}

/* Gets the iovecs of the message, which are in the sender's memory if there are several. */
static bool read_iovecs(pid_t pid, const struct gamma_source *source, struct iovec *iovecs,
			uint64_t len)
{
	struct iovec local = {iovecs, source->iov_count * sizeof(*iovecs)};
	struct iovec remote = iovec_at(source->address, local.iov_len);
	uint64_t room = 0;

	if (source->iov_count == 1) {
		iovecs[0] = iovec_at(source->address, len);
		return true;
	}
	if (!read_memory(pid, &local, 1, &remote, 1, local.iov_len))
		return false;
	for (uint32_t i = 0; i < source->iov_count; i++) {
		if (iovecs[i].iov_len > UINT64_MAX - room)
			return false;
		room += iovecs[i].iov_len;
	}
	return room >= len;
}

/* The stamp is read after the bytes, by the same call. If it is unchanged, the sender had not
 * reused the memory before, and the process id still names the sender. Reading the stamp costs as
 * much as some thousand bytes. */
bool gamma_cma_read(pid_t pid, const struct gamma_source *source, uint64_t offset,
		    const struct iovec *iov, unsigned iov_count, uint64_t len, bool caller_knows)
{
	struct iovec iovecs[GAMMA_FRAME_IOV], local[GAMMA_FRAME_IOV + 1],
		remote[GAMMA_FRAME_IOV + 1];
	uint64_t stamp = source->stamp, done = offset, end = offset + len;
	unsigned more = caller_knows && len <= CALL_MAX ? 0 : 1;

	if (!source->iov_count || source->iov_count > GAMMA_FRAME_IOV ||
	    iov_count > GAMMA_FRAME_IOV || !read_iovecs(pid, source, iovecs, end))
		return false;
	while (done < end) {
		uint64_t part = gamma_min(end - done, CALL_MAX);
		unsigned to = gamma_iov_slice(iov, iov_count, done, part, local, GAMMA_FRAME_IOV);
		unsigned from = gamma_iov_slice(iovecs, source->iov_count, done, part, remote,
						GAMMA_FRAME_IOV);

		local[to] = (struct iovec){&stamp, sizeof(stamp)};
		remote[from] = iovec_at(source->stamp_at, sizeof(stamp));
		if (!read_memory(pid, local, to + more, remote, from + more,
				 part + more * sizeof(stamp)) ||
		    stamp != source->stamp)
			return false;
		done += part;
	}
	return true;
}
