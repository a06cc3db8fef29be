// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Closing descriptors in threads of their own. A thread runs only while there is work for it. */
#include "unix/deferred_close.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THREADS_MAX = 16, STACK = 65536 };

struct batch {
	size_t count;
	int fds[];
};

/* A message that a thread receives. The kernel takes it from the queue, copies its bytes, and then
 * closes its descriptors: so a changed byte shows that it has left the queue. */
struct taking {
	int fd;          /* a duplicate */
	bool busy;       /* atomic: the thread is at work */
	bool unmarked;   /* the message is empty: only the end of the thread shows it */
	uint8_t mark;    /* atomic: where the first byte goes */
	uint8_t initial; /* of mark: another value than the first byte's */
};

static struct taking takings[THREADS_MAX];
static struct taking *last_taking; /* NULL: there was none */
static bool choosing;              /* atomic: a lock that nobody waits for */

static unsigned threads; /* atomic; a forked child does not count its parent's threads */
static pid_t process;    /* whose threads are counted */

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

static void *receive_and_drop(void *arg)
{
	struct taking *taking = arg;

	recv(taking->fd, &taking->mark, 1, MSG_DONTWAIT);
	close(taking->fd); /* maybe the last one: what is in the queue goes here as well */
	__atomic_store_n(&taking->busy, false, __ATOMIC_RELEASE);
	__atomic_sub_fetch(&threads, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *close_batch(void *arg)
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

/* A thread may outlive the last use of the library that it runs in, which libfabric unloads when
 * the program ends. */
static void keep_loaded(void)
{
	static bool kept; /* atomic; twice does no harm */
	Dl_info info;

	if (__atomic_exchange_n(&kept, true, __ATOMIC_RELAXED))
		return;
	if (dladdr(&threads, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* The program's signal handlers must not run in this thread. */
static bool start(void *(*work)(void *), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	bool started;

	if (pthread_attr_init(&attr))
		return false;
	keep_loaded();
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_create(&thread, &attr, work, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return started;
}

/* A forked child has none of its parent's threads. */
static void count_thread(void)
{
	if (process != getpid()) {
		process = getpid();
		last_taking = NULL;
		memset(takings, 0, sizeof(takings));
		__atomic_store_n(&threads, 0, __ATOMIC_RELAXED);
	}
	__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
}

bool gamma_deferred_close_is_taking(void)
{
	const struct taking *taking = process == getpid() ? last_taking : NULL;

	return taking && __atomic_load_n(&taking->busy, __ATOMIC_ACQUIRE) &&
	       (taking->unmarked ||
		__atomic_load_n(&taking->mark, __ATOMIC_RELAXED) == taking->initial);
}

static struct taking *free_taking(void)
{
	for (unsigned i = 0; i < THREADS_MAX; i++)
		if (!__atomic_load_n(&takings[i].busy, __ATOMIC_ACQUIRE))
			return &takings[i];
	return NULL;
}

static void take(int fd, uint8_t first, size_t len)
{
	struct taking *taking;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own < 0)
		return; /* it stays in the queue until a descriptor is free */
	count_thread();
	taking = free_taking();
	if (taking) {
		*taking = (struct taking){.fd = own,
					  .busy = true,
					  .unmarked = !len,
					  .mark = (uint8_t) ~first,
					  .initial = (uint8_t) ~first};
		last_taking = taking;
		if (start(receive_and_drop, taking))
			return;
		taking->busy = false;
	}
	__atomic_sub_fetch(&threads, 1, __ATOMIC_RELAXED);
	close(own);
}

/* Threads of the program may come here for different sockets: one of them looks again later. */
void gamma_deferred_close_take(int fd, uint8_t first, size_t len)
{
	if (__atomic_exchange_n(&choosing, true, __ATOMIC_ACQUIRE))
		return;
	if (!gamma_deferred_close_is_taking())
		take(fd, first, len);
	__atomic_store_n(&choosing, false, __ATOMIC_RELEASE);
}

void gamma_deferred_close_fds(const int *fds, size_t count)
{
	struct batch *batch = malloc(sizeof(*batch) + count * sizeof(*fds));

	if (!batch)
		return close_all(fds, count);
	batch->count = count;
	memcpy(batch->fds, fds, count * sizeof(*fds));
	count_thread();
	if (start(close_batch, batch))
		return;
	__atomic_sub_fetch(&threads, 1, __ATOMIC_RELAXED);
	close_all(fds, count);
	free(batch);
}
