/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters.
 */
#ifndef GAMMA_PROV_CNTR_H
#define GAMMA_PROV_CNTR_H

#include "domain.h"
#include "sleep.h"

struct gamma_cntr {
	struct fid_cntr cntr_fid;
	struct gamma_domain *domain;
	uint64_t value, errors;
	uint64_t seen_value;              /* as fi_trywait or fi_cntr_read last showed it */
	uint64_t seen_errors;             /* as fi_trywait last showed it */
	uint64_t known_errors;            /* as fi_cntr_readerr or fi_cntr_wait last reported */
	struct gamma_list deferred_works; /* struct gamma_deferred_work that wait for it */
	struct gamma_waiter waiter;
	int refs; /* endpoints and regions bound, poll sets, operations; atomic */
};
int gamma_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		    void *context);
GAMMA_NOINLINE void gamma_cntr_add(struct gamma_cntr *cntr, uint64_t value);
GAMMA_NOINLINE void gamma_cntr_add_error(struct gamma_cntr *cntr, uint64_t value);

#endif /* GAMMA_PROV_CNTR_H */
