/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event queues; each has a lock of its own.
 */
#ifndef GAMMA_PROV_EQ_H
#define GAMMA_PROV_EQ_H

#include <pthread.h>
#include "fabric.h"
#include "prov.h"

struct gamma_waitset;

/* ---- eq.c ---- */
struct gamma_eq {
	struct fid_eq eq_fid;
	struct gamma_fabric *fabric;
	int refs; /* objects bound, threads in sread; atomic */
	/* private to eq.c */
	pthread_mutex_t lock;
	uint64_t flags; /* of fi_eq_attr */
	enum fi_wait_obj wait_obj;
	struct gamma_waitset *wait_set; /* or NULL */
	int event_fd; /* readable while the queue holds something, -1 without a wait object */
	struct gamma_list events;
	struct gamma_list errors;
	struct gamma_eq_error *last_error; /* owns the err_data that the user may still read */
};
int gamma_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		  void *context);
/* Takes the queue's own lock. */
int gamma_eq_report(struct gamma_eq *eq, uint32_t event, const void *entry, size_t len);
int gamma_eq_report_error(struct gamma_eq *eq, const struct fi_eq_err_entry *entry);
/* Whether a read would return something. Takes the lock. */
bool gamma_eq_ready(struct gamma_eq *eq);

#endif /* GAMMA_PROV_EQ_H */
