/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions and tables for slots of libfabric's ops that an object does not support: they return
 * -FI_ENOSYS, bind -FI_EINVAL.
 */
#ifndef GAMMA_PROV_UNSUPPORTED_H
#define GAMMA_PROV_UNSUPPORTED_H

#include "prov.h"

int gamma_fabric_unsupported_bind(struct fid *fid, struct fid *other, uint64_t flags);
int gamma_fabric_unsupported_control(struct fid *fid, int command, void *arg);
int gamma_fabric_unsupported_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
				      void *context);
int gamma_fabric_unsupported_tostr(const struct fid *fid, char *buf, size_t len);
int gamma_fabric_unsupported_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops,
				     void *context);

extern struct fi_ops_cm gamma_unsupported_cm_ops;
extern struct fi_ops_ep gamma_unsupported_ep_ops;
ssize_t gamma_unsupported_cancel(struct fid *fid, void *context);
int gamma_unsupported_getopt(struct fid *fid, int level, int option, void *value, size_t *len);
int gamma_unsupported_setopt(struct fid *fid, int level, int option, const void *value, size_t len);
int gamma_unsupported_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attr,
			     struct fid_ep **tx_ep, void *context);
int gamma_unsupported_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attr,
			     struct fid_ep **rx_ep, void *context);
ssize_t gamma_unsupported_size_left(struct fid_ep *ep);
int gamma_unsupported_getpeer(struct fid_ep *ep, void *addr, size_t *len);
int gamma_unsupported_connect(struct fid_ep *ep, const void *addr, const void *param, size_t len);
int gamma_unsupported_listen(struct fid_pep *pep);
int gamma_unsupported_accept(struct fid_ep *ep, const void *param, size_t len);
int gamma_unsupported_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len);
int gamma_unsupported_shutdown(struct fid_ep *ep, uint64_t flags);
int gamma_unsupported_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
			   void *context);
extern struct fi_ops_msg gamma_unsupported_msg_ops;
extern struct fi_ops_tagged gamma_unsupported_tagged_ops;
extern struct fi_ops_rma gamma_unsupported_rma_ops;
extern struct fi_ops_atomic gamma_unsupported_atomic_ops;
extern struct fi_ops_collective gamma_unsupported_collective_ops;

/* The slots of a struct fi_ops_cm that no endpoint supports: there are no connections. */
#define GAMMA_UNSUPPORTED_CONNECTIONS                                             \
	.size = sizeof(struct fi_ops_cm), .getpeer = gamma_unsupported_getpeer,   \
	.connect = gamma_unsupported_connect, .listen = gamma_unsupported_listen, \
	.accept = gamma_unsupported_accept, .reject = gamma_unsupported_reject,   \
	.shutdown = gamma_unsupported_shutdown

#endif /* GAMMA_PROV_UNSUPPORTED_H */
