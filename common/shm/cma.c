// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Large messages straight out of a neighbour's memory, without a copy in between: the kernel
 * copies from one process to the other (process_vm_readv). Whether it may is tried on first
 * contact: containers, hardened kernels and programs that may not be traced forbid it.
 */
#include "shm/shm.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/iov.h"

enum { CHUNK = 1 << 30 /* bytes in one call; the kernel takes less than 2 GiB */ };

static bool read_memory(pid_t pid, const struct iovec *local, unsigned local_count,
			const struct iovec *remote, unsigned remote_count, uint64_t bytes)
{
	ssize_t ret;

	do
		ret = process_vm_readv(pid, local, local_count, remote, remote_count, 0);
	while (ret < 0 && errno == EINTR);
	return ret >= 0 && (uint64_t) ret == bytes;
}

static struct iovec at(uint64_t address, uint64_t len)
{
	return (struct iovec){(void *) (uintptr_t) address, len};
}

bool gamma_cma_is_possible(pid_t pid, const struct gamma_handover *handover)
{
	uint8_t nonce[sizeof(handover->nonce)];
	struct iovec local = {nonce, sizeof(nonce)};
	struct iovec remote = at(handover->nonce_at, sizeof(nonce));

	return pid > 0 && read_memory(pid, &local, 1, &remote, 1, sizeof(nonce)) &&
	       !memcmp(nonce, handover->nonce, sizeof(nonce));
}

/* The list of pieces stands in the sender's memory, too. */
static bool read_pieces(pid_t pid, const struct gamma_source *source, struct iovec *pieces,
			uint64_t len)
{
	struct iovec local = {pieces, source->pieces * sizeof(*pieces)};
	struct iovec remote = at(source->address, local.iov_len);
	uint64_t room = 0;

	if (source->pieces == 1) {
		pieces[0] = at(source->address, len);
		return true;
	}
	if (!read_memory(pid, &local, 1, &remote, 1, local.iov_len))
		return false;
	for (uint32_t i = 0; i < source->pieces; i++) {
		if (pieces[i].iov_len > UINT64_MAX - room)
			return false;
		room += pieces[i].iov_len;
	}
	return room >= len;
}

/* The stamp is read behind the bytes, by the same call: if it stands, the sender had not taken
 * the memory back before, nor is it another process that has got its number. That takes the
 * kernel as long as some thousand bytes. */
bool gamma_cma_read(pid_t pid, const struct gamma_source *source, uint64_t offset,
		    const struct iovec *iov, unsigned iov_count, uint64_t len, bool caller_knows)
{
	struct iovec pieces[GAMMA_FRAME_IOV], local[GAMMA_FRAME_IOV + 1],
		remote[GAMMA_FRAME_IOV + 1];
	uint64_t stamp = source->stamp, done = offset, end = offset + len;
	unsigned more = caller_knows && len <= CHUNK ? 0 : 1;

	if (!source->pieces || source->pieces > GAMMA_FRAME_IOV || iov_count > GAMMA_FRAME_IOV ||
	    !read_pieces(pid, source, pieces, end))
		return false;
	while (done < end) {
		uint64_t part = gamma_min(end - done, CHUNK);
		unsigned to = gamma_iov_slice(iov, iov_count, done, part, local, GAMMA_FRAME_IOV);
		unsigned from = gamma_iov_slice(pieces, source->pieces, done, part, remote,
						GAMMA_FRAME_IOV);

		local[to] = (struct iovec){&stamp, sizeof(stamp)};
		remote[from] = at(source->stamp_at, sizeof(stamp));
		if (!read_memory(pid, local, to + more, remote, from + more,
				 part + more * sizeof(stamp)) ||
		    stamp != source->stamp)
			return false;
		done += part;
	}
	return true;
}
