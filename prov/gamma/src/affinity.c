// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Keeps a progress thread near its NIC: on the processors of the NIC's memory node, as far as the
 * process may use them. Looked up when the first such thread starts, not when the provider is
 * loaded. Where it is unknown, threads run anywhere. Called by progress_thread.c.
 */
#include "gamma.h"
#include "base/topology.h"

/* Kept for the life of the process: finding it takes tens of milliseconds. */
static struct gamma_topology *topology;
static const char *why_none;

static void load_topology(void)
{
	topology = gamma_topology_load(&why_none);
}

void gamma_affinity_bind_thread(const char *interface)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *why;
	char cpus[128];

	pthread_once(&once, load_topology);
	why = topology ? gamma_topology_bind(topology, interface, cpus, sizeof(cpus)) : why_none;
	if (why)
		GAMMA_INFO(DOMAIN, "%s: the progress thread runs anywhere: %s\n", interface, why);
	else
		GAMMA_INFO(DOMAIN, "%s: the progress thread runs on processors %s\n", interface,
			   cpus);
}

void gamma_affinity_cleanup(void)
{
	gamma_topology_free(topology);
	topology = NULL;
}
