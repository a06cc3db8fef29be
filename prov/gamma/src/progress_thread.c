// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A thread that makes progress on a domain while the application does not: always at
 * FI_PROGRESS_AUTO, and for reliable endpoints also at FI_PROGRESS_MANUAL, only later. In the
 * second case it repairs the loss of the last message, and answers peers, while the application
 * computes or waits elsewhere. While the application polls, or waits for the lock, the thread
 * pauses without looking at the links: the two would only compete for the core and the lock.
 */
#include "active_port.h"
#include "gamma.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
	AUTO_PAUSE_MS = 1,
	WATCH_PAUSE_MS = 10,
	/* The longest time that a short message waits for others to share its frame. It is short if
	 * the program did not poll during the last such wait, and grows while the program polls. */
	FLUSH_MIN_US = 125,
	FLUSH_MAX_US = 1000,
	FORK_WAIT_MS = 100, /* for each lock that another thread, or the interrupted code, holds */
};

struct gamma_progress_thread {
	struct gamma_list entry; /* of threads; threads_lock */
	struct gamma_domain *domain;
	pthread_t thread;
	int stop_fd;
	bool stops;             /* request to end; atomic */
	int flush_fd;           /* flush timer: at its expiry delayed messages are sent */
	bool flush_armed;       /* the flush timer runs; atomic */
	uint32_t flush_us;      /* its next duration; atomic */
	uint64_t delayed_since; /* domain->rounds when a message was last delayed; atomic */
	int pause_ms;
	bool fork_holds; /* before_fork has the domain's lock; threads_lock */
};

static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gamma_list threads = {&threads, &threads};
static bool fork_holds_list; /* before_fork has threads_lock; threads_lock */

bool gamma_progress_thread_can_flush(const struct gamma_domain *domain)
{
	return domain->progress_thread != NULL;
}

/* A running timer is left alone, so that most calls make no system call. */
void gamma_progress_thread_set_flush_timer(struct gamma_domain *domain)
{
	struct gamma_progress_thread *self = domain->progress_thread;
	struct itimerspec spec = {0};

	if (!self || self->delayed_since == domain->rounds)
		return;
	__atomic_store_n(&self->delayed_since, domain->rounds, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&self->flush_armed, true, __ATOMIC_SEQ_CST))
		return;
	spec.it_value.tv_nsec =
		__atomic_load_n(&self->flush_us, __ATOMIC_RELAXED) * (long) GAMMA_NS_PER_US;
	timerfd_settime(self->flush_fd, 0, &spec, NULL);
}

/* The flush timer has expired: true if the program has not polled since a message was delayed.
 * Takes no lock, which the polling program needs. Either this call sees the delayed message, or the
 * call that delays it sets the timer again. */
static bool flush_is_due(struct gamma_progress_thread *self)
{
	uint32_t now = __atomic_load_n(&self->flush_us, __ATOMIC_RELAXED);
	uint32_t later = gamma_min(2 * now, FLUSH_MAX_US);
	uint64_t times;
	bool due;

	if (read(self->flush_fd, &times, sizeof(times)) < 0)
		return false;
	__atomic_store_n(&self->flush_armed, false, __ATOMIC_SEQ_CST);
	due = __atomic_load_n(&self->delayed_since, __ATOMIC_SEQ_CST) ==
	      __atomic_load_n(&self->domain->rounds, __ATOMIC_SEQ_CST);
	__atomic_store_n(&self->flush_us, due ? FLUSH_MIN_US : later, __ATOMIC_RELAXED);
	return due;
}

/* Sleeps until the domain has something to do, or the flush timer expires; true: the thread must
 * end. */
static bool wait_for_work(struct gamma_progress_thread *self, bool idle, bool pause, bool *due)
{
	struct pollfd fds[] = {
		{.fd = self->stop_fd, .events = POLLIN},
		{.fd = self->flush_fd, .events = POLLIN},
		{.fd = self->domain->wait_fd, .events = POLLIN},
	};
	int timeout = pause ? self->pause_ms : idle ? -1 : 0;

	do {
		poll(fds, pause ? 2 : 3, timeout);
		*due = fds[1].revents && flush_is_due(self);
	} while (pause && fds[1].revents && !*due && !fds[0].revents);
	return fds[0].revents;
}

/* The thread that ends this one may never release the lock: a signal interrupted it with the lock
 * held, and the handler called exit. */
static bool lock_unless_it_stops(struct gamma_progress_thread *self)
{
	struct gamma_domain *domain = self->domain;

	return !domain->thread_safe || gamma_lock_take_unless(&domain->lock, &self->stops);
}

static void *thread_main(void *arg)
{
	struct gamma_progress_thread *self = arg;
	struct gamma_domain *domain = self->domain;
	uint64_t rounds = 0;
	bool idle = false, pause = false, due = false, polls, handles, stop = false;

	pthread_setname_np(pthread_self(), "gamma-progress");
	if (self->pause_ms == AUTO_PAUSE_MS)
		gamma_affinity_bind_thread(domain->nic.name);
	while (!stop && lock_unless_it_stops(self)) {
		if (idle) {
			domain->sleepers--;
			gamma_progress_woken(domain);
		}
		/* A pause cut short by the flush timer does not show whether the program polls. */
		polls = domain->rounds != rounds || (due && pause);
		if (polls)
			gamma_progress_unwatch_all(domain);
		if (due || !polls)
			gamma_progress_poll(domain);
		rounds = domain->rounds;
		/* Frames that arrive meanwhile stay in the ring: it must not wake this thread. */
		handles = gamma_active_port_run_watch(domain);
		idle = !polls && !handles && gamma_progress_arm(domain);
		domain->sleepers += idle;
		gamma_domain_unlock(domain);
		/* Released and retaken at once, the lock would never reach a waiting thread. */
		pause = polls || handles || gamma_lock_is_wanted(&domain->lock);
		stop = wait_for_work(self, idle, pause, &due);
	}
	return NULL;
}

/* The list's lock, which may be held by the code that a signal handler has interrupted. */
static bool lock_threads_within(unsigned ms)
{
	const struct timespec pause = {.tv_nsec = GAMMA_NS_PER_MS};

	while (pthread_mutex_trylock(&threads_lock)) {
		if (!ms--)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/*
 * Without this, a child forked while the thread works would inherit a held lock and half-changed
 * queues. Only the holder of threads_lock holds several domains' locks. A signal handler may fork
 * while the code that it interrupted holds a lock: then the wait ends without it. A crash handler
 * that starts a debugger must not hang.
 */
static void before_fork(void)
{
	struct gamma_list *pos;

	fork_holds_list = lock_threads_within(FORK_WAIT_MS);
	if (!fork_holds_list)
		return;
	gamma_list_for_each (pos, &threads) {
		struct gamma_progress_thread *self =
			gamma_list_entry(pos, struct gamma_progress_thread, entry);

		self->fork_holds = !self->domain->thread_safe ||
				   gamma_lock_take_within(&self->domain->lock, FORK_WAIT_MS);
	}
}

/* Releases what before_fork took, and nothing else. */
static void after_fork(void)
{
	struct gamma_list *pos;

	if (!fork_holds_list)
		return;
	gamma_list_for_each (pos, &threads) {
		struct gamma_progress_thread *self =
			gamma_list_entry(pos, struct gamma_progress_thread, entry);

		if (self->fork_holds)
			gamma_domain_unlock(self->domain);
	}
	fork_holds_list = false;
	pthread_mutex_unlock(&threads_lock);
}

static void hook_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* Signals are for the application's threads. */
static int create_thread(struct gamma_progress_thread *self)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&self->thread, NULL, thread_main, self);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -ret;
}

static void close_fds(const struct gamma_progress_thread *self)
{
	if (self->stop_fd >= 0)
		close(self->stop_fd);
	if (self->flush_fd >= 0)
		close(self->flush_fd);
}

static int new_thread(struct gamma_domain *domain, int pause_ms, struct gamma_progress_thread **out)
{
	struct gamma_progress_thread *self = calloc(1, sizeof(*self));
	int ret;

	if (!self)
		return -FI_ENOMEM;
	self->domain = domain;
	self->pause_ms = pause_ms;
	self->flush_us = FLUSH_MIN_US;
	self->delayed_since = UINT64_MAX;
	self->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	self->flush_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	ret = self->stop_fd < 0 || self->flush_fd < 0 ? -errno : gamma_progress_wait_fd(domain);
	if (ret >= 0)
		ret = create_thread(self);
	if (!ret) {
		*out = self;
		return 0;
	}
	close_fds(self);
	free(self);
	return ret;
}

int gamma_progress_thread_start(struct gamma_domain *domain, bool automatic_progress)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int pause_ms = automatic_progress ? AUTO_PAUSE_MS : WATCH_PAUSE_MS;
	struct gamma_progress_thread *self = NULL;
	int ret = new_thread(domain, pause_ms, &self);

	if (ret) {
		GAMMA_WARN(
			DOMAIN,
			"%s: cannot start the progress thread, so losses are repaired only while "
			"the program polls: %s; raise the limits (ulimit -u, ulimit -n)\n",
			domain->nic.name, strerror(-ret));
		/* At FI_PROGRESS_MANUAL the program was to poll anyway. */
		return automatic_progress ? ret : 0;
	}
	domain->progress_thread = self;
	pthread_once(&once, hook_forks);
	pthread_mutex_lock(&threads_lock);
	gamma_list_append(&threads, &self->entry);
	pthread_mutex_unlock(&threads_lock);
	return 0;
}

/* The caller has taken it off the list. */
static void end_thread(struct gamma_progress_thread *self)
{
	uint64_t one = 1;

	__atomic_store_n(&self->stops, true, __ATOMIC_RELEASE);
	/* A forked child has the memory but not the thread. */
	if (!gamma_progress_is_inherited(self->domain) &&
	    write(self->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(self->thread, NULL);
	close_fds(self);
	self->domain->progress_thread = NULL;
	free(self);
}

void gamma_progress_thread_stop(struct gamma_domain *domain)
{
	if (!domain->progress_thread)
		return;
	pthread_mutex_lock(&threads_lock);
	gamma_list_remove(&domain->progress_thread->entry);
	pthread_mutex_unlock(&threads_lock);
	end_thread(domain->progress_thread);
}

void gamma_progress_thread_stop_all(void)
{
	pthread_mutex_lock(&threads_lock);
	while (!gamma_list_empty(&threads)) {
		struct gamma_progress_thread *self =
			gamma_list_first(&threads, struct gamma_progress_thread, entry);

		gamma_list_remove(&self->entry);
		end_thread(self);
	}
	pthread_mutex_unlock(&threads_lock);
}
