/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The processes of a job, and how they learn of each other's endpoints: by PMIx if something has
 * started them that offers it, else by LIBGAMMA_NODES and LIBGAMMA_NODE.
 */
#ifndef LIBGAMMA_JOB_H
#define LIBGAMMA_JOB_H

#include <stdbool.h>
#include <stddef.h>

enum { JOB_NAME_MAX = 64, JOB_PORT = 7400 };

struct job {
	unsigned short node, nodes;
	const char *hosts; /* comma-separated, by node; NULL: PMIx exchanges names */
};

/* 0, or -1 with a line on standard error. */
int job_open(struct job *job);
/* Every process hands in its names, of count endpoints; the others' come to all, JOB_NAME_MAX bytes
 * each, by node. Only with PMIx. */
int job_exchange(const struct job *job, const void *names, size_t count, void *all);
/* The host of a node, without PMIx; len: of the buffer. */
void job_host(const struct job *job, unsigned short node, char *host, size_t len);
void job_close(void);
void job_abort(void) __attribute__((noreturn));

/* job_pmix.c, or job_no_pmix.c if the library is built without PMIx. */
bool job_pmix_offered(void);
int job_pmix_open(struct job *job);
int job_pmix_exchange(const struct job *job, const void *names, size_t len, void *all);
void job_pmix_close(void);
void job_pmix_abort(void);

#endif /* LIBGAMMA_JOB_H */
