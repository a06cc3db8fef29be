/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Wait sets and poll sets (API < 2).
 */
#ifndef GAMMA_PROV_WAITSET_H
#define GAMMA_PROV_WAITSET_H

#include "prov.h"

int gamma_waitset_open(struct fid_fabric *fabric, struct fi_wait_attr *attr,
		       struct fid_wait **wait);
int gamma_waitset_open_poll(struct fid_domain *domain, struct fi_poll_attr *attr,
			    struct fid_poll **poll);
int gamma_waitset_trywait(struct fid_fabric *fabric, struct fid **fids, int count);
/* A CQ or counter has changed: wakes the wait set's sleepers. */
void gamma_waitset_signal(struct gamma_waitset *wait);
/* A CQ, counter or EQ was opened with FI_WAIT_SET, or closes. Without the domain's lock. */
int gamma_waitset_attach(struct fid_wait *wait_fid, struct fid *fid, struct gamma_waitset **wait);
void gamma_waitset_detach(struct gamma_waitset *wait, struct fid *fid);
int gamma_waitset_get_fd(struct gamma_waitset *wait, int *fd);
/* FI_GETWAITOBJ of any of them. */
int gamma_waitset_get_wait_obj(enum fi_wait_obj obj, enum fi_wait_obj *place);

#endif /* GAMMA_PROV_WAITSET_H */
