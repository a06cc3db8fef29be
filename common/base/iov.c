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
		out[pieces].iov_base = (char *) iov[i].iov_base + offset;
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

uint64_t gamma_iov_write(const struct iovec *iov, unsigned count, uint64_t offset,
			 const void *from, uint64_t len)
{
	struct iovec piece[GAMMA_IOV_MAX];
	uint64_t done = 0;
	unsigned pieces;

	if (gamma_likely(is_in_first(iov, count, offset, len))) {
		memcpy((char *) iov->iov_base + offset, from, len);
		return len;
	}
	pieces = gamma_iov_slice(iov, count, offset, len, piece, GAMMA_IOV_MAX);
	for (unsigned i = 0; i < pieces; i++) {
		memcpy(piece[i].iov_base, (const char *) from + done, piece[i].iov_len);
		done += piece[i].iov_len;
	}
	return done;
}

uint64_t gamma_iov_read(const struct iovec *iov, unsigned count, uint64_t offset, void *to,
			uint64_t len)
{
	struct iovec piece[GAMMA_IOV_MAX];
	uint64_t done = 0;
	unsigned pieces;

	if (gamma_likely(is_in_first(iov, count, offset, len))) {
		memcpy(to, (const char *) iov->iov_base + offset, len);
		return len;
	}
	pieces = gamma_iov_slice(iov, count, offset, len, piece, GAMMA_IOV_MAX);
	for (unsigned i = 0; i < pieces; i++) {
		memcpy((char *) to + done, piece[i].iov_base, piece[i].iov_len);
		done += piece[i].iov_len;
	}
	return done;
}
