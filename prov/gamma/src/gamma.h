/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider's objects and what they offer each other; each has a header and a file of its own.
 * The protocol lives in common/.
 *
 * Locking: a domain's lock covers its endpoints, completion queues, counters, address vectors and
 * memory regions (domain.h). Every function that libfabric calls takes it; functions declared in
 * these headers expect it held unless they say otherwise. An event queue has its own lock, a fabric
 * too.
 */
#ifndef GAMMA_PROV_H
#define GAMMA_PROV_H

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "address_text.h"
#include "atomic_valid.h"
#include "av.h"
#include "cntr.h"
#include "conf/conf.h"
#include "cq.h"
#include "deferred_work.h"
#include "domain.h"
#include "eq.h"
#include "fabric.h"
#include "info.h"
#include "mr.h"
#include "nic/select.h"
#include "progress.h"
#include "prov.h"
#include "refs.h"
#include "settings.h"
#include "sleep.h"
#include "unsupported.h"
#include "waitset.h"

/* ---- ep.c ---- */
int gamma_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		  void *context);
/* sep.c: an endpoint with several contexts. */
int gamma_sep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
		   void *context);
/* shared_ctx.c: contexts that endpoints share. */
int gamma_shared_ctx_open_rx(struct fid_domain *domain, struct fi_rx_attr *attr,
			     struct fid_ep **srx, void *context);
int gamma_shared_ctx_open_tx(struct fid_domain *domain, struct fi_tx_attr *attr,
			     struct fid_stx **stx, void *context);
/* Calls of a domain to an endpoint. */
struct gamma_list *gamma_ep_domain_entry(struct gamma_fi_ep *ep);
struct gamma_fi_ep *gamma_ep_of_domain_entry(struct gamma_list *entry);
void gamma_ep_progress(struct gamma_fi_ep *ep);
uint64_t gamma_ep_deadline(const struct gamma_fi_ep *ep); /* ns, CLOCK_MONOTONIC; GAMMA_NEVER */
/* An entry of an AV is about to be removed. */
void gamma_ep_remove_source(struct gamma_fi_ep *ep, const struct gamma_av *av, fi_addr_t fi_addr);
/* A region is about to be closed: bytes of it that the endpoint still sends are copied or dropped.
 */
void gamma_ep_withdraw(struct gamma_fi_ep *ep, const struct gamma_mr *mr);
bool gamma_ep_ready(const struct gamma_fi_ep *ep);        /* a frame waits in a link */
void gamma_ep_watch(struct gamma_fi_ep *ep, bool asleep); /* see gamma_endpoint_watch */
bool gamma_ep_armed(const struct gamma_fi_ep *ep);
enum { GAMMA_EP_FDS = 10 };
/* Descriptors to sleep on; returns how many. */
int gamma_ep_fds(const struct gamma_fi_ep *ep, int fds[GAMMA_EP_FDS]);

#endif /* GAMMA_PROV_H */
