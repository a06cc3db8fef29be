/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared memory without a name (memfd). One process makes it and passes the descriptor to another.
 * It is freed when both have ended, however they end.
 */
#ifndef GAMMA_MEMFD_H
#define GAMMA_MEMFD_H

#include <stddef.h>

#include "wire/segment.h"

/* Makes a file with bytes of zeroed memory, reserved and of fixed size. The name shows up in /proc
 * only. Returns its descriptor or a negative errno. */
int gamma_memfd_file(const char *name, size_t bytes);
/* The same, and maps it. A forked child does not inherit the mapping. */
int gamma_memfd_make(size_t bytes, void **at);
/* Maps one that another process has made: 0, or a negative errno if an access could be fatal. */
int gamma_memfd_map(int fd, size_t *bytes, void **at);

#endif /* GAMMA_MEMFD_H */
