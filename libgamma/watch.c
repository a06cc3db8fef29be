// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Empty messages to all nodes, and what becomes of them: see watch.h. */
#include "watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "endpoints.h"
#include "job.h"

enum {
	INTERVAL_S = 10, /* between two empty messages, unless LIBGAMMA_KEEPALIVE is set */
	CALLS = 1024,    /* of watch_poll between two looks at the clock */
};

struct node {
	bool asked;  /* an empty message is on its way */
	bool failed; /* atomic */
};

static struct {
	struct endpoints *endpoints;
	const struct job *job;
	struct fi_gamma_msg msg;
	struct node *nodes;
	unsigned failures; /* nodes; atomic */
	unsigned calls;    /* of watch_poll; atomic */
	bool suspects;     /* ask at once; atomic */
	bool leaving;      /* the job ends */
	long interval;     /* s; 0: never */
	time_t next;       /* when to ask again, s */
	pthread_mutex_t lock;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

int watch_open(struct endpoints *endpoints, const struct job *job, uint16_t port, uint32_t arg)
{
	const long interval = job_number("LIBGAMMA_KEEPALIVE", INTERVAL_S);

	if (interval < 0) {
		fprintf(stderr,
			"libgamma: LIBGAMMA_KEEPALIVE is %s: must be a number of seconds, "
			"0 for none\n",
			getenv("LIBGAMMA_KEEPALIVE"));
		return -1;
	}
	watch.endpoints = endpoints;
	watch.job = job;
	watch.msg = (struct fi_gamma_msg){.port = port, .arg = arg};
	watch.interval = interval;
	watch.next = now_s() + watch.interval;
	watch.failures = watch.calls = 0;
	watch.suspects = watch.leaving = false;
	watch.nodes = calloc(job->nodes, sizeof(*watch.nodes));
	if (watch.nodes)
		return 0;
	fprintf(stderr, "libgamma: no memory\n");
	return -1;
}

void watch_close(void)
{
	free(watch.nodes);
	watch.nodes = NULL;
}

static void fail(unsigned short number, int error)
{
	struct node *node = &watch.nodes[number];
	char host[JOB_NAME_MAX];

	if (__atomic_exchange_n(&node->failed, true, __ATOMIC_ACQ_REL))
		return;
	__atomic_add_fetch(&watch.failures, 1, __ATOMIC_RELEASE);
	if (watch.leaving && error == FI_ECONNRESET)
		return;
	job_host(watch.job, number, host, sizeof(host));
	fprintf(stderr, "libgamma: node %u (%s) has failed: %s\n", number, host,
		fi_strerror(error));
}

bool watch_completed(void *context, int error)
{
	struct node *node = context;

	if (node < watch.nodes || node >= watch.nodes + watch.job->nodes)
		return false;
	__atomic_store_n(&node->asked, false, __ATOMIC_RELEASE);
	if (error)
		fail((unsigned short) (node - watch.nodes), error);
	return true;
}

/* Complete when the node's provider has it: the program there need not do anything. */
static void ask(unsigned short number)
{
	struct node *node = &watch.nodes[number];
	ssize_t ret;

	if (number == watch.job->node || watch_failed(number) ||
	    __atomic_exchange_n(&node->asked, true, __ATOMIC_ACQ_REL))
		return;
	watch.msg.context = node;
	ret = endpoints_send(watch.endpoints, number, false, &watch.msg,
			     FI_COMPLETION | FI_DELIVERY_COMPLETE);
	if (!ret)
		return;
	__atomic_store_n(&node->asked, false, __ATOMIC_RELEASE);
	if (ret != -FI_EAGAIN)
		fail(number, (int) -ret);
}

void watch_suspect(void)
{
	__atomic_store_n(&watch.suspects, true, __ATOMIC_RELEASE);
}

void watch_poll(void)
{
	time_t now;

	if (__atomic_add_fetch(&watch.calls, 1, __ATOMIC_RELAXED) % CALLS ||
	    pthread_mutex_trylock(&watch.lock))
		return;
	now = now_s();
	if (endpoints_failed(watch.endpoints))
		watch_suspect();
	if (__atomic_exchange_n(&watch.suspects, false, __ATOMIC_ACQ_REL) ||
	    (watch.interval > 0 && now >= watch.next)) {
		watch.next = now + watch.interval;
		for (unsigned node = 0; node < watch.job->nodes; node++)
			ask((unsigned short) node);
	}
	pthread_mutex_unlock(&watch.lock);
}

void watch_leaving(void)
{
	watch.leaving = true;
}

bool watch_failed(unsigned short node)
{
	return __atomic_load_n(&watch.nodes[node].failed, __ATOMIC_ACQUIRE);
}

unsigned watch_failures(void)
{
	return __atomic_load_n(&watch.failures, __ATOMIC_ACQUIRE);
}
