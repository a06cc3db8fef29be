/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of memory pieces: arithmetic and copies, used wherever bytes stand in the user's memory. */
#ifndef GAMMA_IOV_H
#define GAMMA_IOV_H

#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

enum { GAMMA_IOV_MAX = 8 }; /* iovecs in one message */

uint64_t gamma_iov_len(const struct iovec *iov, unsigned count);
/* Copies len bytes to or from the piece list beginning at offset; returns bytes copied. */
uint64_t gamma_iov_write(const struct iovec *iov, unsigned count, uint64_t offset, const void *from,
			 uint64_t len);
uint64_t gamma_iov_read(const struct iovec *iov, unsigned count, uint64_t offset, void *to,
			uint64_t len);
/* All pieces one behind the other; returns the place behind them. Empty ones may be nowhere. */
static inline uint8_t *gamma_iov_gather(const struct iovec *iov, unsigned count, uint8_t *to)
{
	for (unsigned i = 0; i < count; i++) {
		if (iov[i].iov_len)
			memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	return to;
}
/* The pieces of [offset, offset + len) as a list of its own; returns how many. */
unsigned gamma_iov_slice(const struct iovec *iov, unsigned count, uint64_t offset, uint64_t len,
			 struct iovec *out, unsigned max);

#endif /* GAMMA_IOV_H */
