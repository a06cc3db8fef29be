/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations that wait for a counter: triggered ones, and deferred work of a domain.
 */
#ifndef GAMMA_PROV_DEFERRED_WORK_H
#define GAMMA_PROV_DEFERRED_WORK_H

#include "base/base.h"
#include "prov.h"

struct gamma_cntr;
struct gamma_deferred_work;
struct gamma_domain;
struct gamma_fi_ep_handle;
struct gamma_post;
struct gamma_rma_post;

/* FI_QUEUE_WORK, FI_CANCEL_WORK, FI_FLUSH_WORK on a domain. */
int gamma_deferred_work_control(struct gamma_domain *domain, int command, void *arg);
/* The counter has changed: operations may be due. */
void gamma_deferred_work_check(struct gamma_cntr *cntr);
/* Operations that found -FI_EAGAIN are due again. */
GAMMA_NOINLINE void gamma_deferred_work_retry(struct gamma_domain *domain);
/* Posts the operations that are due; called without the lock. */
void gamma_deferred_work_run(struct gamma_domain *domain);

/* Keeps an operation until its counter reaches the threshold of its context, or of its work. */
ssize_t gamma_deferred_work_defer(struct gamma_fi_ep_handle *handle, const struct gamma_post *post,
				  bool receive);
ssize_t gamma_deferred_work_defer_remote(struct gamma_fi_ep_handle *handle,
					 const struct gamma_rma_post *post);
/* The operation has ended; true: report it to the endpoint's queue and counters too. */
GAMMA_NOINLINE bool gamma_deferred_work_complete(struct gamma_deferred_work *work, int error);
/* work may be NULL. */
GAMMA_NOINLINE void gamma_deferred_work_free(struct gamma_deferred_work *work);
/* Cancels the first waiting triggered operation of that context; false: there is none. */
bool gamma_deferred_work_cancel(struct gamma_domain *domain,
				const struct gamma_fi_ep_handle *handle, const void *context);
/* Drops the operations that wait to be posted through an endpoint, or a shared context, that
 * closes. */
void gamma_deferred_work_drop(struct gamma_domain *domain, const struct gamma_fi_ep_handle *handle);

#endif /* GAMMA_PROV_DEFERRED_WORK_H */
