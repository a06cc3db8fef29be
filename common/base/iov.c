// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Lists of memory pieces: see iov.h. */
#include "base/iov.h"

#include <string.h>

#include "base/base.h"

uint64_t gamma_iov_len(const struct iovec *iov, unsigned count)
{
	uint64_t len = 0;

	for (unsigned i = 0; i < count; i++)
		len += iov[i].iov_len;
	return len;
}

unsigned gamma_iov_slice(const struct iovec *iov, unsigned count, uint64_t offset, uint64_t len,
			 struct iovec *out, unsigned max)
{
	unsigned pieces = 0;

	for (unsigned i = 0; i < count && len && pieces < max; i++) {
		uint64_t part;

		if (offset >= iov[i].iov_len) {
			offset -= iov[i].iov_len;
			continue;
		}
		part = gamma_min(iov[i].iov_len - offset, len);
		out[pieces].iov_base = (void *) ((uintptr_t) iov[i].iov_base + offset);
		out[pieces++].iov_len = part;
		len -= part;
		offset = 0;
	}
	return pieces;
}

/* Most messages are one piece. */
static bool is_in_first(const struct iovec *iov, unsigned count, uint64_t offset, uint64_t len)
{
	return count && len && len <= iov->iov_len && offset <= iov->iov_len - len;
}

/* Between a list, from OFFSET on, and LEN bytes that are one piece; returns how many there were. */
static uint64_t copy_pieces(const struct iovec *iov, unsigned count, uint64_t offset, char *flat,
			    uint64_t len, bool to_list)
{
	uint64_t done = 0;

	for (unsigned i = 0; i < count && done < len; i++) {
		char *piece = (char *) iov[i].iov_base + offset;
		uint64_t part;

		if (offset >= iov[i].iov_len) {
			offset -= iov[i].iov_len;
			continue;
		}
		part = gamma_min(iov[i].iov_len - offset, len - done);
		memcpy(to_list ? piece : flat + done, to_list ? flat + done : piece, part);
		done += part;
		offset = 0;
	}
	return done;
}

uint64_t gamma_iov_write(const struct iovec *iov, unsigned count, uint64_t offset, const void *from,
			 uint64_t len)
{
	if (gamma_likely(is_in_first(iov, count, offset, len))) {
		memcpy((char *) iov->iov_base + offset, from, len);
		return len;
	}
	return copy_pieces(iov, count, offset, (char *) from, len, true);
}

uint64_t gamma_iov_read(const struct iovec *iov, unsigned count, uint64_t offset, void *to,
			uint64_t len)
{
	if (gamma_likely(is_in_first(iov, count, offset, len))) {
		memcpy(to, (const char *) iov->iov_base + offset, len);
		return len;
	}
	return copy_pieces(iov, count, offset, to, len, false);
}
