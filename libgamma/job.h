/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The processes of a job, and how they learn of each other's endpoints: by PMIx if something has
 * started them that offers it, else by LIBGAMMA_NODES and LIBGAMMA_NODE.
 */
#ifndef LIBGAMMA_JOB_H
#define LIBGAMMA_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOB_NAME_MAX = 64, JOB_PORT = 7400 };

/* Data that a node publishes to the others. */
struct job_card {
	char reliable[JOB_NAME_MAX], best_effort[JOB_NAME_MAX]; /* names of its endpoints */
	char host[JOB_NAME_MAX];
	uint64_t group; /* of the whole job, if this is node 0's */
};

struct job {
	unsigned short node, nodes;
	unsigned port;          /* without PMIx: the first one of the job */
	uint64_t group;         /* its 39 low bits name the group of all nodes */
	const char *hosts;      /* comma-separated, by node; NULL: PMIx exchanges cards */
	struct job_card *cards; /* by node; NULL: not exchanged */
};

/* A whole number from the environment; -1: it is none. */
long job_number(const char *variable, long fallback);
/* 0, or -1 with a line on standard error. */
int job_open(struct job *job);
/* Every process hands in its card, of which host and group are filled in here; all get those of
 * all. Only with PMIx. */
int job_exchange(struct job *job, struct job_card *own);
/* The host of a node; len: of the buffer. */
void job_host(const struct job *job, unsigned short node, char *host, size_t len);
void job_close(struct job *job);
void job_abort(void) __attribute__((noreturn));

/* job_pmix.c, or job_no_pmix.c if the library is built without PMIx. */
bool job_pmix_offered(void);
int job_pmix_open(struct job *job);
int job_pmix_exchange(const struct job *job, const void *card, size_t len, void *all);
void job_pmix_close(void);
void job_pmix_abort(void);

#endif /* LIBGAMMA_JOB_H */
