// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The processes of a job: see job.h. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool by_pmix;

static int open_by_environment(struct job *job)
{
	const char *node = getenv("LIBGAMMA_NODE");

	job->hosts = getenv("LIBGAMMA_NODES");
	if (!job->hosts || !node) {
		fprintf(stderr, "libgamma: start the program by mpirun or srun --mpi=pmix, or set "
				"LIBGAMMA_NODES=HOST,HOST,... and LIBGAMMA_NODE=NUMBER\n");
		return -1;
	}
	job->node = (unsigned short) atoi(node);
	job->nodes = 1;
	for (const char *at = job->hosts; *at; at++)
		job->nodes = (unsigned short) (job->nodes + (*at == ','));
	if (job->node < job->nodes)
		return 0;
	fprintf(stderr, "libgamma: LIBGAMMA_NODE is %u, but LIBGAMMA_NODES names %u\n", job->node,
		job->nodes);
	return -1;
}

int job_open(struct job *job)
{
	by_pmix = job_pmix_offered();
	return by_pmix ? job_pmix_open(job) : open_by_environment(job);
}

int job_exchange(const struct job *job, const void *names, size_t count, void *all)
{
	return job_pmix_exchange(job, names, count * JOB_NAME_MAX, all);
}

void job_host(const struct job *job, unsigned short node, char *host, size_t len)
{
	const char *from = job->hosts;

	while (node--)
		from = strchr(from, ',') + 1;
	snprintf(host, len, "%.*s", (int) strcspn(from, ","), from);
}

void job_close(void)
{
	if (by_pmix)
		job_pmix_close();
	by_pmix = false;
}

void job_abort(void)
{
	if (by_pmix)
		job_pmix_abort();
	exit(1);
}
