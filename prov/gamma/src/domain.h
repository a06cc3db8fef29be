/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Domains. A domain has one lock (none at FI_THREAD_DOMAIN of datagrams) that covers its endpoints,
 * completion queues, counters, address vectors and memory regions.
 */
#ifndef GAMMA_PROV_DOMAIN_H
#define GAMMA_PROV_DOMAIN_H

#include "deferred_work.h"
#include "lock.h"
#include "nic_list.h"
#include "progress.h"
#include "prov.h"

#define GAMMA_MR_BUCKETS 256u /* a power of two */

struct gamma_domain {
	struct fid_domain domain_fid;
	struct gamma_list opened_entry; /* in the list of open domains */
	struct gamma_fabric *fabric;
	char name[GAMMA_DOMAIN_NAME_LEN];
	struct gamma_nic nic;                       /* the NIC it is on: the first one, */
	struct gamma_nic more[GAMMA_RAILS_MAX - 1]; /* and those behind it, more_count */
	struct gamma_nic beside; /* the only one over UDP, which endpoints use unasked; its MTU is
				  * 0: they do not */
	struct gamma_eq *eq;     /* bound, or NULL */
	bool reports_mr;         /* to that queue: memory registrations, FI_REG_MR */
	bool thread_safe; /* false: FI_THREAD_DOMAIN, the caller serialises and there is no progress
			   * thread */
	bool auto_progress; /* FI_PROGRESS_AUTO */
	bool should_yield;  /* many polls found nothing: the next unlock yields the core */
	bool host_peers;    /* of the endpoint that has set should_yield */
	bool posting;       /* a thread is posting the due ones of the deferred works */
	bool watches;       /* the link sockets are in wait_fd: not while the program polls */
	struct gamma_lock lock;
	pid_t owner; /* a forked child must not touch the shared descriptors */
	enum fi_av_type av_type;
	unsigned more_count;
	unsigned optional; /* of these, so many at the end are over UDP, which endpoints use
			    * unasked */
	uint64_t caps;
	uint32_t mr_mode;          /* FI_MR_* bits in force, GAMMA_MR_BASIC as its bits */
	struct gamma_list eps;     /* struct gamma_fi_ep.domain_entry: enabled ones, progressed one
				      after the other */
	struct gamma_list closing; /* of the same: progressed by the threads that close them */
	int refs;                  /* endpoints, CQs, counters, AVs, MRs; atomic */
	uint64_t next_mr_key;
	struct gamma_list mrs[GAMMA_MR_BUCKETS]; /* struct gamma_mr.bucket, by key */
	size_t counted_mrs;                      /* regions with a counter */
	struct gamma_list deferred_works; /* struct gamma_deferred_work that wait for a counter */
	struct gamma_list due;            /* those whose threshold has been reached */
	struct gamma_list retry;          /* those of the due ones that found -FI_EAGAIN */
	/* An epoll instance over the endpoints' link sockets and the timer, on which threads sleep.
	 * Made on first use, -1 before. */
	int wait_fd;
	int timer_fd;
	uint64_t timer_at;     /* when timer_fd becomes readable, ns; GAMMA_NEVER: not set */
	int sleepers;          /* threads asleep, wait sets, objects armed by fi_trywait */
	unsigned active_ports; /* endpoints that have set a handler */
	uint64_t ports_turn;   /* rounds of running these */
	uint64_t rounds;       /* calls of gamma_progress_poll so far */
	uint64_t keep_core;    /* ns: the core is not yielded before; atomic */
	/* Makes progress while the application does not; NULL: none. */
	struct gamma_progress_thread *progress_thread;
};
int gamma_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		      void *context);

/* The oldest open domain on the info's fabric that serves as one opened with that info (NULL: any)
 * would, or NULL. only, unless NULL: that domain or none; it may be another provider's. */
struct gamma_domain *gamma_domain_find_opened(const struct fi_info *info,
					      const struct fid_domain *only);

/* Whether more[i] is one of the NICs before it again, over UDP. */
static inline bool gamma_domain_is_twin(const struct gamma_domain *domain, unsigned i)
{
	return domain->more[i].udp && !domain->nic.udp;
}

/* Whether this process is a forked child of the process that opened the domain. */
bool gamma_progress_is_inherited(const struct gamma_domain *domain);

static inline void gamma_domain_lock(struct gamma_domain *domain)
{
	if (domain->thread_safe)
		gamma_lock_take(&domain->lock);
}

/* Work done under the lock may be due before the sleepers would wake. The core is yielded without
 * the lock: a thread that waits for the lock would otherwise get the core and not the lock. */
static inline void gamma_domain_unlock(struct gamma_domain *domain)
{
	bool offer, host_peers, due;

	if (gamma_unlikely(domain->sleepers))
		gamma_progress_rearm(domain);
	offer = domain->should_yield;
	host_peers = domain->host_peers;
	domain->should_yield = false;
	due = !gamma_list_empty(&domain->due) && !domain->posting;
	if (domain->thread_safe)
		gamma_lock_release(&domain->lock);
	if (gamma_unlikely(due))
		gamma_deferred_work_run(domain);
	if (gamma_unlikely(offer))
		gamma_progress_yield(domain, host_peers);
}

#endif /* GAMMA_PROV_DOMAIN_H */
