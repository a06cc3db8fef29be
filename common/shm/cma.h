/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cross-memory attach: the kernel copies from another process's memory (process_vm_readv). */
#ifndef GAMMA_CMA_H
#define GAMMA_CMA_H

#include <stdbool.h>
#include <sys/types.h>

#include "wire/frame.h"
#include "wire/segment.h"

/* Whether this process may read the memory of the one that handed over a segment. */
bool gamma_cma_is_possible(pid_t pid, const struct gamma_handover *handover);
/* Copies len bytes, at the same offset there and here. False: not all could be read, or they were
 * no longer valid. The stamp shows that, unless the caller knows it otherwise. */
bool gamma_cma_read(pid_t pid, const struct gamma_source *source, uint64_t offset,
		    const struct iovec *iov, unsigned iov_count, uint64_t len, bool caller_knows);

#endif /* GAMMA_CMA_H */
