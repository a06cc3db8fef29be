/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where NICs sit among the processors, which hwloc knows. It is loaded when it is asked for and
 * need not be installed. Used by the provider's threads (affinity.c) and Open MPI's component
 * (nics.c).
 */
#ifndef GAMMA_TOPOLOGY_H
#define GAMMA_TOPOLOGY_H

#include <stddef.h>

struct gamma_topology;

/* Takes tens of milliseconds. NULL: nothing is known, and why. */
struct gamma_topology *gamma_topology_load(const char **why);
void gamma_topology_free(struct gamma_topology *topology);

/*
 * How many levels of the machine lie between an interface and the processors that this process may
 * use: 0 if some of these are beside it. -1: not known.
 */
int gamma_topology_distance(const struct gamma_topology *topology, const char *interface);

/*
 * Has the calling thread run beside an interface, on those processors that the process may use, and
 * writes which. NULL, or why it cannot.
 */
const char *gamma_topology_bind(const struct gamma_topology *topology, const char *interface,
				char *cpus, size_t size);

#endif /* GAMMA_TOPOLOGY_H */
