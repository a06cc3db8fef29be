/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How threads sleep on a completion queue or a counter.
 */
#ifndef GAMMA_PROV_SLEEP_H
#define GAMMA_PROV_SLEEP_H

#include "domain.h"

struct gamma_waitset;

/* The deadline of a libfabric timeout in ms; negative: never. */
static inline uint64_t gamma_sleep_deadline(int timeout)
{
	return timeout < 0 ? GAMMA_NEVER : gamma_now() + timeout * GAMMA_NS_PER_MS;
}

struct gamma_wakeup_fd {
	int fd;         /* readable: look again; -1: no thread has waited yet */
	bool signalled; /* fd is readable */
};
struct gamma_waiter {
	struct gamma_domain *domain;
	enum fi_wait_obj wait_obj;
	struct gamma_waitset *wait_set; /* or NULL */
	struct gamma_wakeup_fd inner;   /* for the threads in gamma_sleep_block */
	struct gamma_wakeup_fd outer; /* for the application: readable until its next fi_trywait */
	int wait_fd;  /* for FI_GETWAIT: epoll of outer and the domain's; -1: none yet */
	int sleepers; /* threads in gamma_sleep_block */
	bool armed;   /* fi_trywait has armed wait_fd */
	int blocked;  /* threads in a call that waits */
};
/* Attributes that a CQ or a counter may be opened with. */
int gamma_sleep_check(enum fi_wait_obj wait_obj, const struct fid_wait *wait_set);
void gamma_sleep_init(struct gamma_waiter *waiter, struct gamma_domain *domain,
		      enum fi_wait_obj wait_obj);
void gamma_sleep_close(struct gamma_waiter *waiter);
/* The object that owns the waiter closes: -FI_EBUSY while it has references, or a thread waits on
 * it. Takes the lock. */
int gamma_sleep_end(struct gamma_waiter *waiter, int *refs, struct fid *fid);
/* FI_GETWAIT and FI_GETWAITOBJ. Takes the domain's lock. */
int gamma_sleep_control(struct gamma_waiter *waiter, int command, void *arg);
/* For fi_trywait: true if it is safe to block on the descriptor of FI_GETWAIT. */
bool gamma_sleep_arm(struct gamma_waiter *waiter);
/* Sleeps until woken, until the domain has something to do, or until deadline: 0, -FI_ETIMEDOUT or
 * -FI_EINTR. The caller holds the domain's lock, which is released meanwhile. */
int gamma_sleep_block(struct gamma_waiter *waiter, uint64_t deadline);
GAMMA_NOINLINE void gamma_sleep_signal(struct gamma_waiter *waiter);

static inline void gamma_sleep_wake(struct gamma_waiter *waiter)
{
	if (gamma_unlikely(waiter->sleepers || waiter->armed || waiter->wait_set))
		gamma_sleep_signal(waiter);
}

/* Blocks until a descriptor is ready, or until deadline: 0, -FI_ETIMEDOUT or -FI_EINTR. No lock. */
struct pollfd;
int gamma_sleep_poll_fds(struct pollfd *fds, int count, uint64_t deadline);

/* How long a thread polls before it sleeps. */
struct gamma_sleep_spin {
	uint64_t spin_until; /* ns */
	uint64_t deadline;   /* ns */
	bool yielded;        /* has yielded the core once */
};
void gamma_sleep_spin_init(struct gamma_sleep_spin *spin, int timeout);
/* Between two polls: returns at once, yields or sleeps. Returns as gamma_sleep_block, lock held
 * too. */
int gamma_sleep_spin_wait(struct gamma_sleep_spin *spin, struct gamma_waiter *waiter,
			  bool may_sleep);

#endif /* GAMMA_PROV_SLEEP_H */
