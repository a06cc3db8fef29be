// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The counter: successes and errors of the operations of endpoints and regions bound to it. They
 * add under the domain's lock; reading makes progress.
 */
#include "active_port.h"
#include "gamma.h"

#include <stdlib.h>

static struct gamma_cntr *cntr_of(struct fid_cntr *cntr_fid)
{
	return gamma_container_of(cntr_fid, struct gamma_cntr, cntr_fid);
}

static inline void cntr_changed(struct gamma_cntr *cntr)
{
	if (gamma_unlikely(!gamma_list_empty(&cntr->deferred_works)))
		gamma_deferred_work_check(cntr);
	gamma_sleep_wake(&cntr->waiter);
}

void gamma_cntr_add(struct gamma_cntr *cntr, uint64_t value)
{
	cntr->value += value;
	cntr_changed(cntr);
}

void gamma_cntr_add_error(struct gamma_cntr *cntr, uint64_t value)
{
	cntr->errors += value;
	cntr_changed(cntr);
}

static uint64_t cntr_read(struct fid_cntr *cntr_fid)
{
	struct gamma_cntr *cntr = cntr_of(cntr_fid);
	uint64_t value;

	gamma_domain_lock(cntr->domain);
	gamma_active_port_progress(cntr->domain);
	value = cntr->seen_value = cntr->value;
	gamma_domain_unlock(cntr->domain);
	return value;
}

static uint64_t cntr_readerr(struct fid_cntr *cntr_fid)
{
	struct gamma_cntr *cntr = cntr_of(cntr_fid);
	uint64_t errors;

	gamma_domain_lock(cntr->domain);
	gamma_active_port_progress(cntr->domain);
	errors = cntr->seen_errors = cntr->known_errors = cntr->errors;
	gamma_domain_unlock(cntr->domain);
	return errors;
}

static int cntr_add(struct fid_cntr *cntr_fid, uint64_t value)
{
	struct gamma_cntr *cntr = cntr_of(cntr_fid);

	gamma_domain_lock(cntr->domain);
	gamma_cntr_add(cntr, value);
	gamma_domain_unlock(cntr->domain);
	return 0;
}

static int cntr_adderr(struct fid_cntr *cntr_fid, uint64_t value)
{
	struct gamma_cntr *cntr = cntr_of(cntr_fid);

	gamma_domain_lock(cntr->domain);
	gamma_cntr_add_error(cntr, value);
	gamma_domain_unlock(cntr->domain);
	return 0;
}

static int cntr_set(struct fid_cntr *cntr_fid, uint64_t value)
{
	struct gamma_cntr *cntr = cntr_of(cntr_fid);

	gamma_domain_lock(cntr->domain);
	cntr->value = cntr->seen_value = value;
	cntr_changed(cntr);
	gamma_domain_unlock(cntr->domain);
	return 0;
}

static int cntr_seterr(struct fid_cntr *cntr_fid, uint64_t value)
{
	struct gamma_cntr *cntr = cntr_of(cntr_fid);

	gamma_domain_lock(cntr->domain);
	cntr->errors = cntr->seen_errors = cntr->known_errors = value;
	cntr_changed(cntr);
	gamma_domain_unlock(cntr->domain);
	return 0;
}

/* 0: threshold reached; -FI_EAVAIL: errors that the caller does not know of; -FI_EAGAIN. */
static int wait_result(struct gamma_cntr *cntr, uint64_t threshold, uint64_t known)
{
	if (cntr->value >= threshold) {
		cntr->seen_value = cntr->value;
		return 0;
	}
	if (cntr->errors != known) {
		cntr->known_errors = cntr->seen_errors = cntr->errors;
		return -FI_EAVAIL;
	}
	return -FI_EAGAIN;
}

/*
 * Also for FI_WAIT_NONE, since applications count on it. A signal does not end the wait: no return
 * value stands for it.
 */
static int cntr_wait(struct fid_cntr *cntr_fid, uint64_t threshold, int timeout)
{
	struct gamma_cntr *cntr = cntr_of(cntr_fid);
	bool may_sleep = cntr->waiter.wait_obj != FI_WAIT_YIELD;
	struct gamma_sleep_spin spin;
	int ret, waited = 0;
	uint64_t known;

	if (cntr->waiter.wait_obj == FI_WAIT_SET)
		return -FI_ENOSYS; /* fi_wait is what sleeps */
	gamma_sleep_spin_init(&spin, timeout);
	gamma_domain_lock(cntr->domain);
	cntr->waiter.blocked++;
	/* An unreported error ends the wait even if it is older, since the failed operation never
	 * arrives. A new error ends every thread's wait. */
	known = cntr->known_errors;
	gamma_active_port_progress(cntr->domain);
	while ((ret = wait_result(cntr, threshold, known)) == -FI_EAGAIN &&
	       waited != -FI_ETIMEDOUT) {
		waited = gamma_sleep_spin_wait(&spin, &cntr->waiter, may_sleep);
		gamma_active_port_progress(cntr->domain);
	}
	cntr->waiter.blocked--;
	gamma_domain_unlock(cntr->domain);
	return ret == -FI_EAGAIN ? -FI_ETIMEDOUT : ret;
}

/* ---- opening and closing ---- */

static int cntr_control(struct fid *fid, int command, void *arg)
{
	struct gamma_cntr *cntr = gamma_container_of(fid, struct gamma_cntr, cntr_fid.fid);

	return gamma_sleep_control(&cntr->waiter, command, arg);
}

static int cntr_close(struct fid *fid)
{
	struct gamma_cntr *cntr = gamma_container_of(fid, struct gamma_cntr, cntr_fid.fid);
	struct gamma_domain *domain = cntr->domain;

	if (gamma_sleep_end(&cntr->waiter, &cntr->refs, fid))
		return -FI_EBUSY;
	free(cntr);
	gamma_refs_drop(&domain->refs);
	return 0;
}

static struct fi_ops cntr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = cntr_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

static int check_attr(const struct fi_cntr_attr *attr)
{
	/* Counting bytes, since 2.0, is not offered. */
	if (attr->events != FI_CNTR_EVENTS_COMP)
		return -FI_ENOSYS;
	if (attr->flags)
		return -FI_EBADFLAGS;
	return gamma_sleep_check(attr->wait_obj, attr->wait_set);
}

int gamma_cntr_open(struct fid_domain *domain_fid, struct fi_cntr_attr *attr,
		    struct fid_cntr **cntr_fid, void *context)
{
	struct gamma_domain *domain =
		gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	struct fi_cntr_attr none = {0};
	struct gamma_cntr *cntr;
	int ret;

	attr = attr ? attr : &none;
	ret = check_attr(attr);
	if (ret)
		return ret;
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -FI_ENOMEM;
	cntr->domain = domain;
	cntr->cntr_fid.fid.fclass = FI_CLASS_CNTR;
	cntr->cntr_fid.fid.context = context;
	cntr->cntr_fid.fid.ops = &cntr_fid_ops;
	cntr->cntr_fid.ops = &cntr_ops;
	gamma_list_init(&cntr->deferred_works);
	gamma_sleep_init(&cntr->waiter, domain, attr->wait_obj);
	gamma_refs_take(&domain->refs);
	if (attr->wait_obj == FI_WAIT_SET) {
		ret = gamma_waitset_attach(attr->wait_set, &cntr->cntr_fid.fid,
					   &cntr->waiter.wait_set);
		if (ret) {
			cntr_close(&cntr->cntr_fid.fid);
			return ret;
		}
	}
	*cntr_fid = &cntr->cntr_fid;
	return 0;
}
