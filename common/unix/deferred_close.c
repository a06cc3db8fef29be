// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Closing descriptors in threads of their own. A thread runs only while there is work for it. */
#include "unix/deferred_close.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 16, STACK = 65536 };

struct batch {
	size_t count;
	int fds[];
};

static unsigned threads; /* atomic; a forked child does not count its parent's threads */
static pid_t process;    /* whose threads are counted */

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

static void *work(void *arg)
{
	struct batch *batch = arg;

	close_all(batch->fds, batch->count);
	free(batch);
	__atomic_sub_fetch(&threads, 1, __ATOMIC_RELAXED);
	return NULL;
}

bool gamma_deferred_close_is_full(void)
{
	return process == getpid() && __atomic_load_n(&threads, __ATOMIC_RELAXED) >= THREADS_MAX;
}

/* The program's signal handlers must not run in this thread. */
static bool start(struct batch *batch)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	bool started;

	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_create(&thread, &attr, work, batch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return started;
}

void gamma_deferred_close_fds(const int *fds, size_t count)
{
	struct batch *batch = malloc(sizeof(*batch) + count * sizeof(*fds));

	if (!batch)
		return close_all(fds, count);
	batch->count = count;
	memcpy(batch->fds, fds, count * sizeof(*fds));
	if (process != getpid()) {
		process = getpid();
		__atomic_store_n(&threads, 0, __ATOMIC_RELAXED);
	}
	__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	if (start(batch))
		return;
	__atomic_sub_fetch(&threads, 1, __ATOMIC_RELAXED);
	close_all(fds, count);
	free(batch);
}
