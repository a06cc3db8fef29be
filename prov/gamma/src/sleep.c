// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * How threads sleep on a completion queue or a counter. All sleepers of a domain wait for its
 * wait_fd, and a woken thread makes progress on the whole domain. The events report completions
 * that another thread has written. All but opening and control is under the domain's lock.
 */
#include "gamma.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	/* An answer through a switch takes less, and sleeping and waking take about as long. */
	SPIN_US = 20,
};

int gamma_sleep_check(enum fi_wait_obj wait_obj, const struct fid_wait *wait_set)
{
	switch (wait_obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
	case FI_WAIT_YIELD:
		return 0;
	case FI_WAIT_SET:
		return wait_set ? 0 : -FI_EINVAL;
	default:
		return -FI_ENOSYS;
	}
}

void gamma_sleep_init(struct gamma_waiter *waiter, struct gamma_domain *domain,
		      enum fi_wait_obj wait_obj)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->domain = domain;
	waiter->wait_obj = wait_obj;
	waiter->inner.fd = waiter->outer.fd = -1;
	waiter->wait_fd = -1;
}

void gamma_sleep_close(struct gamma_waiter *waiter)
{
	if (waiter->armed)
		waiter->domain->sleepers--;
	if (waiter->wait_fd >= 0)
		close(waiter->wait_fd);
	if (waiter->outer.fd >= 0)
		close(waiter->outer.fd);
	if (waiter->inner.fd >= 0)
		close(waiter->inner.fd);
	gamma_sleep_init(waiter, waiter->domain, waiter->wait_obj);
}

int gamma_sleep_end(struct gamma_waiter *waiter, int *refs, struct fid *fid)
{
	bool busy;

	if (gamma_refs_any(refs))
		return -FI_EBUSY;
	if (waiter->wait_set)
		gamma_waitset_detach(waiter->wait_set, fid);
	gamma_domain_lock(waiter->domain);
	busy = waiter->blocked;
	if (!busy)
		gamma_sleep_close(waiter);
	gamma_domain_unlock(waiter->domain);
	return busy ? -FI_EBUSY : 0;
}

static int open_event(struct gamma_wakeup_fd *event)
{
	if (event->fd < 0)
		event->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return event->fd < 0 ? -errno : 0;
}

static void raise_event(struct gamma_wakeup_fd *event)
{
	uint64_t one = 1;

	if (!event->signalled)
		event->signalled = write(event->fd, &one, sizeof(one)) == sizeof(one);
}

static void clear_event(struct gamma_wakeup_fd *event)
{
	uint64_t count;

	if (event->signalled)
		event->signalled = read(event->fd, &count, sizeof(count)) < 0;
}

void gamma_sleep_signal(struct gamma_waiter *waiter)
{
	if (waiter->wait_set)
		gamma_waitset_signal(waiter->wait_set);
	if (waiter->sleepers)
		raise_event(&waiter->inner);
	if (waiter->armed)
		raise_event(&waiter->outer);
}

static int open_wait_fd(struct gamma_waiter *waiter)
{
	struct epoll_event event = {.events = EPOLLIN};
	int domain_fd = gamma_progress_wait_fd(waiter->domain);
	int ret = domain_fd < 0 ? domain_fd : open_event(&waiter->outer);

	if (waiter->wait_fd >= 0 || ret)
		return ret ? ret : waiter->wait_fd;
	waiter->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	if (waiter->wait_fd < 0)
		return -errno;
	if (!epoll_ctl(waiter->wait_fd, EPOLL_CTL_ADD, domain_fd, &event) &&
	    !epoll_ctl(waiter->wait_fd, EPOLL_CTL_ADD, waiter->outer.fd, &event))
		return waiter->wait_fd;
	ret = -errno;
	close(waiter->wait_fd);
	waiter->wait_fd = -1;
	return ret;
}

static int get_wait(struct gamma_waiter *waiter, int *fd)
{
	int ret;

	if (waiter->wait_obj == FI_WAIT_SET)
		return gamma_waitset_get_fd(waiter->wait_set, fd);
	if (waiter->wait_obj == FI_WAIT_NONE || waiter->wait_obj == FI_WAIT_YIELD)
		return -FI_ENODATA;
	gamma_domain_lock(waiter->domain);
	ret = open_wait_fd(waiter);
	gamma_domain_unlock(waiter->domain);
	if (ret < 0)
		return ret;
	*fd = ret;
	return 0;
}

int gamma_sleep_control(struct gamma_waiter *waiter, int command, void *arg)
{
	switch (command) {
	case FI_GETWAIT:
		return arg ? get_wait(waiter, arg) : -FI_EINVAL;
	case FI_GETWAITOBJ:
		return gamma_waitset_get_wait_obj(waiter->wait_obj, arg);
	default:
		return -FI_ENOSYS;
	}
}

bool gamma_sleep_arm(struct gamma_waiter *waiter)
{
	if (open_event(&waiter->outer))
		return false;
	clear_event(&waiter->outer);
	/* It stays armed: no call reports that the application has stopped waiting. */
	if (!waiter->armed) {
		waiter->armed = true;
		waiter->domain->sleepers++;
	}
	return gamma_progress_arm(waiter->domain);
}

int gamma_sleep_poll_fds(struct pollfd *fds, int count, uint64_t deadline)
{
	uint64_t now = gamma_now();
	struct timespec left;
	int ret;

	if (deadline <= now)
		return -FI_ETIMEDOUT;
	left.tv_sec = (deadline - now) / GAMMA_NS_PER_S;
	left.tv_nsec = (deadline - now) % GAMMA_NS_PER_S;
	ret = ppoll(fds, count, deadline == GAMMA_NEVER ? NULL : &left, NULL);
	if (ret < 0)
		return errno == EINTR ? -FI_EINTR : 0;
	return ret ? 0 : -FI_ETIMEDOUT;
}

int gamma_sleep_block(struct gamma_waiter *waiter, uint64_t deadline)
{
	struct gamma_domain *domain = waiter->domain;
	struct pollfd fds[2];
	int ret = 0;

	/* Without descriptors the thread keeps polling. */
	if (open_event(&waiter->inner) || gamma_progress_wait_fd(domain) < 0)
		return deadline <= gamma_now() ? -FI_ETIMEDOUT : 0;
	waiter->sleepers++;
	domain->sleepers++;
	if (gamma_progress_arm(domain)) {
		fds[0] = (struct pollfd){.fd = domain->wait_fd, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = waiter->inner.fd, .events = POLLIN};
		gamma_domain_unlock(domain);
		ret = gamma_sleep_poll_fds(fds, gamma_array_size(fds), deadline);
		gamma_domain_lock(domain);
	}
	domain->sleepers--;
	waiter->sleepers--;
	gamma_progress_woken(domain);
	/* The last one out: as long as others sleep it must wake them too. */
	if (!waiter->sleepers)
		clear_event(&waiter->inner);
	return ret;
}

void gamma_sleep_spin_init(struct gamma_sleep_spin *spin, int timeout)
{
	uint64_t now = gamma_now();

	spin->spin_until = now + SPIN_US * GAMMA_NS_PER_US;
	spin->deadline = timeout < 0 ? GAMMA_NEVER : now + timeout * GAMMA_NS_PER_MS;
	spin->yielded = false;
}

int gamma_sleep_spin_wait(struct gamma_sleep_spin *spin, struct gamma_waiter *waiter,
			  bool may_sleep)
{
	uint64_t now = gamma_now();
	bool yield = now >= spin->spin_until && (!spin->yielded || !may_sleep);

	if (now >= spin->deadline)
		return -FI_ETIMEDOUT;
	if (now >= spin->spin_until && !yield)
		return gamma_sleep_block(waiter, spin->deadline);
	/* Let others have the lock, and the core once before the costlier sleep. */
	gamma_domain_unlock(waiter->domain);
	if (yield) {
		sched_yield();
		spin->yielded = true;
	}
	gamma_domain_lock(waiter->domain);
	return 0;
}
