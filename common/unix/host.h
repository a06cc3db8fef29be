/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which host a process runs on, as far as shared memory is concerned. Put in every
 * endpoint's address; peers with the same number are neighbours.
 */
#ifndef GAMMA_LINK_HOST_H
#define GAMMA_LINK_HOST_H

#include <stdint.h>

/*
 * A hash of the kernel's boot id and of the calling thread's network namespace: two
 * processes have the same one if they can meet on an abstract socket. Never 0.
 */
uint64_t gamma_host_identity(void);

#endif /* GAMMA_LINK_HOST_H */
