// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The processes of a job: see job.h. */
#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static bool by_pmix;

/* Jobs on other hosts, or with another port, have another one. */
static uint64_t group_of(const char *hosts, unsigned port)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	for (; *hosts; hosts++)
		hash = (hash ^ (unsigned char) *hosts) * 0x100000001b3;
	return hash << 16 | port;
}

long job_number(const char *variable, long fallback)
{
	const char *text = getenv(variable);
	char *end;
	long value;

	if (!text)
		return fallback;
	errno = 0;
	value = strtol(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno ? value : -1;
}

/* Two for each node, and one for the group. */
static int read_port(struct job *job)
{
	const char *text = getenv("LIBGAMMA_PORT");
	const long port = job_number("LIBGAMMA_PORT", JOB_PORT);

	job->port = (unsigned) port;
	if (port > 0 && port + 2 * job->nodes + 1 <= UINT16_MAX)
		return 0;
	fprintf(stderr, "libgamma: LIBGAMMA_PORT is %s: the job's ports, %u, must be 1 to 65535\n",
		text ? text : "not set", 2u * job->nodes + 2);
	return -1;
}

static int open_by_environment(struct job *job)
{
	const char *text = getenv("LIBGAMMA_NODE");
	const long node = job_number("LIBGAMMA_NODE", -1);

	job->hosts = getenv("LIBGAMMA_NODES");
	if (!job->hosts || !text) {
		fprintf(stderr, "libgamma: start the program by mpirun or srun --mpi=pmix, or set "
				"LIBGAMMA_NODES=HOST,HOST,... and LIBGAMMA_NODE=NUMBER\n");
		return -1;
	}
	job->nodes = 1;
	for (const char *at = job->hosts; *at; at++)
		job->nodes = (unsigned short) (job->nodes + (*at == ','));
	if (node >= 0 && node < job->nodes) {
		job->node = (unsigned short) node;
		if (read_port(job))
			return -1;
		job->group = group_of(job->hosts, job->port);
		return 0;
	}
	fprintf(stderr, "libgamma: LIBGAMMA_NODE is %s, but LIBGAMMA_NODES names %u\n", text,
		job->nodes);
	return -1;
}

int job_open(struct job *job)
{
	by_pmix = job_pmix_offered();
	return by_pmix ? job_pmix_open(job) : open_by_environment(job);
}

int job_exchange(struct job *job, struct job_card *own)
{
	gethostname(own->host, sizeof(own->host) - 1);
	if (getrandom(&own->group, sizeof(own->group), 0) < 0)
		own->group = (uint64_t) getpid();
	job->cards = calloc(job->nodes, sizeof(*job->cards));
	if (!job->cards || job_pmix_exchange(job, own, sizeof(*own), job->cards))
		return -1;
	job->group = job->cards[0].group;
	return 0;
}

void job_host(const struct job *job, unsigned short node, char *host, size_t len)
{
	const char *from = job->hosts;

	if (!from) {
		snprintf(host, len, "%s", job->cards ? job->cards[node].host : "?");
		return;
	}
	while (node--)
		from = strchr(from, ',') + 1;
	snprintf(host, len, "%.*s", (int) strcspn(from, ","), from);
}

void job_close(struct job *job)
{
	if (by_pmix)
		job_pmix_close();
	by_pmix = false;
	free(job->cards);
	*job = (struct job){0};
}

void job_abort(void)
{
	if (by_pmix)
		job_pmix_abort();
	exit(1);
}
