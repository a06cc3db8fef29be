// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Progress of a domain's endpoints: made by calls that read a queue and by threads that sleep until
 * there is something to do. progress_thread.c makes it without the application.
 */
#include "gamma.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	SLICE_US = 2500, /* who keeps a core for longer does not poll */
	KEEP_US = 1000,  /* three programs that poll for so long give up a core within SLICE_US */
};

GAMMA_FLATTEN void gamma_progress_poll(struct gamma_domain *domain)
{
	struct gamma_list *pos, *next;

	__atomic_store_n(&domain->rounds, domain->rounds + 1, __ATOMIC_RELAXED);
	if (gamma_unlikely(!gamma_list_empty(&domain->retry)))
		gamma_deferred_work_retry(domain);
	gamma_list_for_each_safe (pos, next, &domain->eps)
		gamma_ep_progress(gamma_ep_of_domain_entry(pos));
}

/* A program that polls returns the core within microseconds. One that computes keeps it for its
 * time slice. With such a program on each of their cores, two ends that yield again at once are
 * hardly ever awake at the same time (experiment 213). */
void gamma_progress_yield(struct gamma_domain *domain, bool host_peers)
{
	uint64_t left = gamma_now(), back;

	if (!host_peers && left < __atomic_load_n(&domain->keep_core, __ATOMIC_RELAXED))
		return;
	sched_yield();
	back = gamma_now();
	if (back - left >= SLICE_US * GAMMA_NS_PER_US)
		__atomic_store_n(&domain->keep_core, back + KEEP_US * GAMMA_NS_PER_US,
				 __ATOMIC_RELAXED);
}

bool gamma_progress_is_inherited(const struct gamma_domain *domain)
{
	return domain->owner != getpid();
}

/* ---- what to sleep on ---- */

static int watch_fd(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	/* A descriptor shared by two endpoints is watched once. */
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) && errno != EEXIST ? -errno : 0;
}

int gamma_progress_watch(struct gamma_domain *domain, struct gamma_fi_ep *ep)
{
	int fds[GAMMA_EP_FDS], count, i, ret = 0;

	if (!domain->watches)
		return 0;
	count = gamma_ep_fds(ep, fds);
	for (i = 0; !ret && i < count; i++)
		ret = watch_fd(domain->wait_fd, fds[i]);
	return ret;
}

void gamma_progress_unwatch(struct gamma_domain *domain, struct gamma_fi_ep *ep)
{
	int fds[GAMMA_EP_FDS], count, i;

	if (!domain->watches || gamma_progress_is_inherited(domain))
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

void gamma_progress_unwatch_all(struct gamma_domain *domain)
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
	static bool warned; /* once: a polling program would fill the log */
	int ret = 0;

	if (domain->wait_fd >= 0)
		return domain->wait_fd;
	domain->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	domain->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (domain->wait_fd < 0 || domain->timer_fd < 0)
		ret = -errno;
	if (!ret)
		ret = watch_fd(domain->wait_fd, domain->timer_fd);
	if (!ret)
		ret = watch_all(domain);
	if (!ret)
		return domain->wait_fd;
	if (!__atomic_exchange_n(&warned, true, __ATOMIC_RELAXED))
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
	/* Before the deadline, since this also prepares the links for a sleeping reader. */
	gamma_list_for_each (pos, &domain->eps)
		if (gamma_ep_ready(gamma_ep_of_domain_entry(pos)))
			return false;
	deadline = earliest_deadline(domain);
	if (deadline <= gamma_now())
		return false;
	watch_links(domain, true);
	/* An expired timer stays readable until it is set again, as here. */
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

	/* An early timer costs the sleepers one wake-up. */
	if (deadline < domain->timer_at && domain->timer_fd >= 0)
		set_timer(domain, deadline);
}
