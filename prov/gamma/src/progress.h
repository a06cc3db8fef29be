/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Progress of a domain: by calls (progress.c) and by a thread of its own (progress_thread.c).
 */
#ifndef GAMMA_PROV_PROGRESS_H
#define GAMMA_PROV_PROGRESS_H

#include <stdbool.h>

struct gamma_domain;
struct gamma_fi_ep;

/* Makes progress on every enabled endpoint of the domain: receives, sends, timers. */
void gamma_progress_poll(struct gamma_domain *domain);
/* Offers the core to others, unless one of them has just kept it for long; without the lock.
 * host_peers: to peers, too, which get it each time. */
void gamma_progress_yield(struct gamma_domain *domain, bool host_peers);
/* The epoll descriptor that is readable when progress has something to do; < 0: error. */
int gamma_progress_wait_fd(struct gamma_domain *domain);
/* Adds the descriptors of an endpoint that was enabled, or removes those of one that closes. */
int gamma_progress_watch(struct gamma_domain *domain, struct gamma_fi_ep *ep);
void gamma_progress_unwatch(struct gamma_domain *domain, struct gamma_fi_ep *ep);
/* Sets timer_fd to the earliest deadline of the endpoints. False: a deadline has passed or a frame
 * waits, so call progress instead of sleeping. */
bool gamma_progress_arm(struct gamma_domain *domain);
/* The caller has slept: its next progress looks at everything that wakes. */
void gamma_progress_woken(struct gamma_domain *domain);
/* Stops watching the link sockets unless a thread sleeps: the kernel notifies the watcher of every
 * frame that comes or leaves, which a polling program need not pay for. */
void gamma_progress_unwatch_all(struct gamma_domain *domain);
/* Closes wait_fd and timer_fd. */
void gamma_progress_close(struct gamma_domain *domain);
/* Wakes the sleepers if another thread has taken the event that would have woken them, and sets the
 * timer again for an earlier deadline. */
void gamma_progress_rearm(struct gamma_domain *domain);

/* ---- progress_thread.c ---- */

/* Starts and stops the thread that makes progress without the application: always at
 * FI_PROGRESS_AUTO, else after the program has not polled for a while. Stop is called without the
 * lock. */
int gamma_progress_thread_start(struct gamma_domain *domain, bool automatic_progress);
void gamma_progress_thread_stop(struct gamma_domain *domain);
/* Whether there is one, so that a message may be delayed to share a frame even if the program never
 * polls again. */
bool gamma_progress_thread_can_flush(const struct gamma_domain *domain);
/* A message has been delayed: the thread sends it when its flush timer expires. */
void gamma_progress_thread_set_flush_timer(struct gamma_domain *domain);
/* Stops the threads of domains that nobody closed, before the library goes. */
void gamma_progress_thread_stop_all(void);
/* affinity.c. Binds the calling thread to the allowed processors closest to that NIC. */
void gamma_affinity_bind_thread(const char *interface);
void gamma_affinity_cleanup(void);

#endif /* GAMMA_PROV_PROGRESS_H */
