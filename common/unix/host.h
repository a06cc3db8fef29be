/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The host identity, which every endpoint's address contains: peers with the same identity can use
 * shared memory.
 */
#ifndef GAMMA_HOST_H
#define GAMMA_HOST_H

#include <stdint.h>

/*
 * A hash of the kernel's boot id and of the calling thread's network namespace. Two processes have
 * the same one if they can connect by an abstract socket. Never 0.
 */
uint64_t gamma_host_identity(void);

#endif /* GAMMA_HOST_H */
