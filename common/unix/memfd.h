/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared memory without a name, between two processes of a host: made by one, handed over through
 * the other's port socket together with one end of a pair of sockets. Nothing is left of it when
 * both have ended, however they end.
 */
#ifndef GAMMA_LINK_SEGMENT_H
#define GAMMA_LINK_SEGMENT_H

#include <stddef.h>

#include "wire/segment.h"

/* Makes a file of `bytes` of zeroed memory, reserved and of fixed size; name: for people who look.
 * Returns its descriptor or a negative errno. */
int gamma_memfd_file(const char *name, size_t bytes);
/* The same, and maps it; a forked child does not get it. */
int gamma_memfd_make(size_t bytes, void **at);
/* Maps one that somebody else has made: 0, or a negative errno if touching it could be fatal. */
int gamma_memfd_map(int fd, size_t *bytes, void **at);

#endif /* GAMMA_LINK_SEGMENT_H */
