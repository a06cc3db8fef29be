// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * How a domain's endpoints are moved: by whoever reads a queue, by threads that sleep until
 * there is something to do, or, at FI_PROGRESS_AUTO, by a thread of the domain's own.
 */
#include "gamma.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

GAMMA_FLATTEN void gamma_progress_poll(struct gamma_domain *domain)
{
	struct gamma_list *pos, *next;

	__atomic_store_n(&domain->rounds, domain->rounds + 1, __ATOMIC_RELAXED);
	if (gamma_unlikely(!gamma_list_empty(&domain->retry)))
		gamma_deferred_work_retry(domain);
	gamma_list_for_each_safe (pos, next, &domain->eps)
		gamma_ep_progress(gamma_ep_of_domain_entry(pos));
}

bool gamma_domain_is_inherited(const struct gamma_domain *domain)
{
	return domain->owner != getpid();
}

/* ---- what to sleep on ---- */

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	/* A descriptor that two share is watched once. */
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) && errno != EEXIST ? -errno : 0;
}

int gamma_progress_watch(struct gamma_domain *domain, struct gamma_fi_ep *ep)
{
	int fds[GAMMA_EP_FDS], count, i, ret = 0;

	if (!domain->watches)
		return 0;
	count = gamma_ep_fds(ep, fds);
	for (i = 0; !ret && i < count; i++)
		ret = watch(domain->wait_fd, fds[i]);
	return ret;
}

void gamma_progress_unwatch(struct gamma_domain *domain, struct gamma_fi_ep *ep)
{
	int fds[GAMMA_EP_FDS], count, i;

	if (!domain->watches || gamma_domain_is_inherited(domain))
		return;
	count = gamma_ep_fds(ep, fds);
	for (i = 0; i < count; i++)
		epoll_ctl(domain->wait_fd, EPOLL_CTL_DEL, fds[i], NULL);
}

static int watch_all(struct gamma_domain *domain)
{
	struct gamma_list *pos;
	int ret = 0;

	if (domain->watches)
		return 0;
	domain->watches = true;
	for (pos = domain->eps.next; !ret && pos != &domain->eps; pos = pos->next)
		ret = gamma_progress_watch(domain, gamma_ep_of_domain_entry(pos));
	domain->watches = !ret;
	return ret;
}

/* A socket that is watched costs the kernel a look at the watcher for each frame that comes and
 * each that leaves, asleep or not: not while the program polls. */
static void watch_none(struct gamma_domain *domain)
{
	struct gamma_list *pos;

	if (domain->sleepers)
		return;
	gamma_list_for_each (pos, &domain->eps)
		gamma_progress_unwatch(domain, gamma_ep_of_domain_entry(pos));
	domain->watches = false;
}

void gamma_progress_close(struct gamma_domain *domain)
{
	if (domain->timer_fd >= 0)
		close(domain->timer_fd);
	if (domain->wait_fd >= 0)
		close(domain->wait_fd);
	domain->timer_fd = domain->wait_fd = -1;
	domain->watches = false;
	domain->timer_at = GAMMA_NEVER;
}

int gamma_progress_wait_fd(struct gamma_domain *domain)
{
	static bool told; /* who then polls would fill the log */
	int ret = 0;

	if (domain->wait_fd >= 0)
		return domain->wait_fd;
	domain->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	domain->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (domain->wait_fd < 0 || domain->timer_fd < 0)
		ret = -errno;
	if (!ret)
		ret = watch(domain->wait_fd, domain->timer_fd);
	if (!ret)
		ret = watch_all(domain);
	if (!ret)
		return domain->wait_fd;
	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		GAMMA_WARN(DOMAIN, "polling instead of sleeping: %s; raise the limit (ulimit -n)\n",
			   strerror(-ret));
	gamma_progress_close(domain);
	return ret;
}

/* ---- the timer ---- */

/* at 0 means at once, GAMMA_NEVER not at all. */
static void set_timer(struct gamma_domain *domain, uint64_t at)
{
	struct itimerspec spec = {0};

	if (at != GAMMA_NEVER) {
		spec.it_value.tv_sec = at / GAMMA_NS_PER_S;
		spec.it_value.tv_nsec = at % GAMMA_NS_PER_S;
		/* All zero would disarm it. */
		if (!at)
			spec.it_value.tv_nsec = 1;
	}
	timerfd_settime(domain->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
	domain->timer_at = at;
}

static uint64_t earliest_deadline(const struct gamma_domain *domain)
{
	uint64_t earliest = GAMMA_NEVER;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &domain->eps)
		earliest = gamma_min(earliest, gamma_ep_deadline(gamma_ep_of_domain_entry(pos)));
	return earliest;
}

static void watch_links(struct gamma_domain *domain, bool asleep)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &domain->eps)
		gamma_ep_watch(gamma_ep_of_domain_entry(pos), asleep);
}

bool gamma_progress_arm(struct gamma_domain *domain)
{
	struct gamma_list *pos;
	uint64_t deadline;

	if (gamma_progress_wait_fd(domain) < 0 || watch_all(domain))
		return false;
	/* This also tells the links that their reader is about to sleep: before the deadline. */
	gamma_list_for_each (pos, &domain->eps)
		if (gamma_ep_ready(gamma_ep_of_domain_entry(pos)))
			return false;
	deadline = earliest_deadline(domain);
	if (deadline <= gamma_now())
		return false;
	watch_links(domain, true);
	/* A timer that has gone off stays readable until it is set again, as here. */
	if (domain->timer_at != deadline)
		set_timer(domain, deadline);
	return true;
}

void gamma_progress_woken(struct gamma_domain *domain)
{
	watch_links(domain, false);
}

static bool all_armed(const struct gamma_domain *domain)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &domain->eps)
		if (!gamma_ep_armed(gamma_ep_of_domain_entry(pos)))
			return false;
	return true;
}

void gamma_progress_rearm(struct gamma_domain *domain)
{
	uint64_t deadline = all_armed(domain) ? earliest_deadline(domain) : 0;

	/* A timer that is early costs the sleepers one look; one that has gone off wakes them. */
	if (deadline < domain->timer_at && domain->timer_fd >= 0)
		set_timer(domain, deadline);
}

/* ---- progress without the application ---- */

/*
 * A thread that moves the domain while the application does not: always at FI_PROGRESS_AUTO, and
 * for reliable endpoints also at FI_PROGRESS_MANUAL, only later. There it repairs what was lost of
 * the last message, and answers peers, while the application computes or waits elsewhere.
 * While the application polls by itself, or waits for the lock, the two would only take the core
 * and the lock from each other: the thread pauses, without looking at the links.
 */
enum {
	AUTO_PAUSE_MS = 1,
	WATCH_PAUSE_MS = 10,
	/* What a short message waits at most, for others to share a frame with: less if the program
	 * did not poll meanwhile the last time, since it costs who polls as often. */
	PROMISE_MIN_US = 125,
	PROMISE_MAX_US = 1000,
};

struct gamma_progress_thread {
	struct gamma_list entry; /* of auto_domains */
	struct gamma_domain *domain;
	pthread_t thread;
	int stop_fd;
	bool stops;           /* it is to end; atomic */
	int promise_fd;       /* a timer: when it goes off, what waits is sent */
	bool promised;        /* it runs; atomic */
	uint32_t promise_us;  /* until it goes off, the next time; atomic */
	uint64_t waits_since; /* domain's rounds when something last began to wait */
	int pause_ms;
};

static pthread_mutex_t auto_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gamma_list auto_domains = {&auto_domains, &auto_domains};

bool gamma_progress_thread_can_flush(const struct gamma_domain *domain)
{
	return domain->automatic != NULL;
}

/* A timer that runs is left alone: the system call is made now and then only. */
void gamma_progress_thread_set_flush_timer(struct gamma_domain *domain)
{
	struct gamma_progress_thread *automatic = domain->automatic;
	struct itimerspec spec = {0};

	if (!automatic || automatic->waits_since == domain->rounds)
		return;
	__atomic_store_n(&automatic->waits_since, domain->rounds, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&automatic->promised, true, __ATOMIC_SEQ_CST))
		return;
	spec.it_value.tv_nsec =
		__atomic_load_n(&automatic->promise_us, __ATOMIC_RELAXED) * (long) GAMMA_NS_PER_US;
	timerfd_settime(automatic->promise_fd, 0, &spec, NULL);
}

/* The timer has gone off: whether the program has not polled since something began to wait. Asked
 * without the lock, which who keeps polling needs. Either this sees what waits, or who has it wait
 * sets the timer anew. */
static bool promise_due(struct gamma_progress_thread *automatic)
{
	uint32_t now = __atomic_load_n(&automatic->promise_us, __ATOMIC_RELAXED);
	uint32_t later = gamma_min(2 * now, PROMISE_MAX_US);
	uint64_t times;
	bool due;

	if (read(automatic->promise_fd, &times, sizeof(times)) < 0)
		return false;
	__atomic_store_n(&automatic->promised, false, __ATOMIC_SEQ_CST);
	due = __atomic_load_n(&automatic->waits_since, __ATOMIC_SEQ_CST) ==
	      __atomic_load_n(&automatic->domain->rounds, __ATOMIC_SEQ_CST);
	__atomic_store_n(&automatic->promise_us, due ? PROMISE_MIN_US : later, __ATOMIC_RELAXED);
	return due;
}

/* Sleeps until the domain has something to do, or a promise is to be kept; true: the thread is to
 * end. */
static bool auto_wait(struct gamma_progress_thread *automatic, bool idle, bool pause, bool *due)
{
	struct pollfd fds[] = {
		{.fd = automatic->stop_fd, .events = POLLIN},
		{.fd = automatic->promise_fd, .events = POLLIN},
		{.fd = automatic->domain->wait_fd, .events = POLLIN},
	};
	int timeout = pause ? automatic->pause_ms : idle ? -1 : 0;

	do {
		poll(fds, pause ? 2 : 3, timeout);
		*due = fds[1].revents && promise_due(automatic);
	} while (pause && fds[1].revents && !*due && !fds[0].revents);
	return fds[0].revents;
}

/* Who ends the thread may have been interrupted with the lock held, by a signal whose handler calls
 * exit: it will never let go. */
static bool lock_unless_it_stops(struct gamma_progress_thread *automatic)
{
	struct gamma_domain *domain = automatic->domain;

	return !domain->thread_safe || gamma_lock_take_unless(&domain->lock, &automatic->stops);
}

static void *auto_main(void *arg)
{
	struct gamma_progress_thread *automatic = arg;
	struct gamma_domain *domain = automatic->domain;
	uint64_t rounds = 0;
	bool idle = false, pause = false, due = false, polls, stop = false;

	pthread_setname_np(pthread_self(), "gamma-progress");
	if (automatic->pause_ms == AUTO_PAUSE_MS)
		gamma_affinity_bind_thread(domain->nic.name);
	while (!stop && lock_unless_it_stops(automatic)) {
		if (idle) {
			domain->sleepers--;
			gamma_progress_woken(domain);
		}
		/* Of a pause that a promise cuts short it cannot be told whether the program polls.
		 */
		polls = domain->rounds != rounds || (due && pause);
		if (polls)
			watch_none(domain);
		if (due || !polls)
			gamma_progress_poll(domain);
		rounds = domain->rounds;
		idle = !polls && gamma_progress_arm(domain);
		domain->sleepers += idle;
		gamma_domain_unlock(domain);
		/* A lock that is let go and taken again at once never gets to who waits for it. */
		pause = polls || gamma_lock_is_wanted(&domain->lock);
		stop = auto_wait(automatic, idle, pause, &due);
	}
	return NULL;
}

/*
 * A child forked while a thread works would inherit a lock that nobody opens, and queues in the
 * middle of a change. auto_lock lets only one thread hold several domains' locks.
 */
static void before_fork(void)
{
	struct gamma_list *pos;

	pthread_mutex_lock(&auto_lock);
	gamma_list_for_each (pos, &auto_domains)
		gamma_domain_lock(
			gamma_list_entry(pos, struct gamma_progress_thread, entry)->domain);
}

static void after_fork(void)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &auto_domains)
		gamma_domain_unlock(
			gamma_list_entry(pos, struct gamma_progress_thread, entry)->domain);
	pthread_mutex_unlock(&auto_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* Signals are for the application's threads. */
static int start_thread(struct gamma_progress_thread *automatic)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&automatic->thread, NULL, auto_main, automatic);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -ret;
}

static void close_fds(const struct gamma_progress_thread *automatic)
{
	if (automatic->stop_fd >= 0)
		close(automatic->stop_fd);
	if (automatic->promise_fd >= 0)
		close(automatic->promise_fd);
}

static int new_auto(struct gamma_domain *domain, int pause_ms, struct gamma_progress_thread **out)
{
	struct gamma_progress_thread *automatic = calloc(1, sizeof(*automatic));
	int ret;

	if (!automatic)
		return -FI_ENOMEM;
	automatic->domain = domain;
	automatic->pause_ms = pause_ms;
	automatic->promise_us = PROMISE_MIN_US;
	automatic->waits_since = UINT64_MAX;
	automatic->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	automatic->promise_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	ret = automatic->stop_fd < 0 || automatic->promise_fd < 0 ? -errno
								  : gamma_progress_wait_fd(domain);
	if (ret >= 0)
		ret = start_thread(automatic);
	if (!ret) {
		*out = automatic;
		return 0;
	}
	close_fds(automatic);
	free(automatic);
	return ret;
}

int gamma_progress_thread_start(struct gamma_domain *domain, bool automatic_progress)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int pause_ms = automatic_progress ? AUTO_PAUSE_MS : WATCH_PAUSE_MS;
	struct gamma_progress_thread *automatic = NULL;
	int ret = new_auto(domain, pause_ms, &automatic);

	if (ret) {
		GAMMA_WARN(DOMAIN,
			   "%s: no thread of its own, so a loss is repaired only while the program "
			   "polls: %s; raise the limits (ulimit -u, ulimit -n)\n",
			   domain->nic.name, strerror(-ret));
		/* At FI_PROGRESS_MANUAL the program was to poll anyway. */
		return automatic_progress ? ret : 0;
	}
	domain->automatic = automatic;
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&auto_lock);
	gamma_list_append(&auto_domains, &automatic->entry);
	pthread_mutex_unlock(&auto_lock);
	return 0;
}

/* The caller has taken it off the list. */
static void auto_end(struct gamma_progress_thread *automatic)
{
	uint64_t one = 1;

	__atomic_store_n(&automatic->stops, true, __ATOMIC_RELEASE);
	/* A forked child has the memory but not the thread. */
	if (!gamma_domain_is_inherited(automatic->domain) &&
	    write(automatic->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(automatic->thread, NULL);
	close_fds(automatic);
	automatic->domain->automatic = NULL;
	free(automatic);
}

void gamma_progress_thread_stop(struct gamma_domain *domain)
{
	if (!domain->automatic)
		return;
	pthread_mutex_lock(&auto_lock);
	gamma_list_remove(&domain->automatic->entry);
	pthread_mutex_unlock(&auto_lock);
	auto_end(domain->automatic);
}

void gamma_progress_thread_stop_all(void)
{
	pthread_mutex_lock(&auto_lock);
	while (!gamma_list_empty(&auto_domains)) {
		struct gamma_progress_thread *automatic =
			gamma_list_first(&auto_domains, struct gamma_progress_thread, entry);

		gamma_list_remove(&automatic->entry);
		auto_end(automatic);
	}
	pthread_mutex_unlock(&auto_lock);
}
