// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Operations that an endpoint does not have. libfabric's calls go through these tables unchecked,
 * so every slot returns -FI_ENOSYS.
 */
#include "ep.h"

/* A function of any of the many signatures below that takes anything and refuses. */
#define REFUSE(name, ...)                                   \
	static ssize_t name(struct fid_ep *ep, __VA_ARGS__) \
	{                                                   \
		return -FI_ENOSYS;                          \
	}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- contexts and their options ---- */
ssize_t gamma_unsupported_cancel(struct fid *fid, void *context)
{
	return -FI_ENOSYS;
}

int gamma_unsupported_getopt(struct fid *fid, int level, int option, void *value, size_t *len)
{
	return -FI_ENOPROTOOPT;
}

int gamma_unsupported_setopt(struct fid *fid, int level, int option, const void *value, size_t len)
{
	return -FI_ENOPROTOOPT;
}

int gamma_unsupported_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attr,
			     struct fid_ep **tx_ep, void *context)
{
	return -FI_ENOSYS;
}

int gamma_unsupported_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attr,
			     struct fid_ep **rx_ep, void *context)
{
	return -FI_ENOSYS;
}

ssize_t gamma_unsupported_size_left(struct fid_ep *ep)
{
	return -FI_ENOSYS;
}

/* ---- names and connections ---- */
static int no_setname(struct fid *fid, void *addr, size_t len)
{
	return -FI_ENOSYS;
}

static int no_getname(struct fid *fid, void *addr, size_t *len)
{
	return -FI_ENOSYS;
}

int gamma_unsupported_getpeer(struct fid_ep *ep, void *addr, size_t *len)
{
	return -FI_ENOSYS;
}

int gamma_unsupported_connect(struct fid_ep *ep, const void *addr, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

int gamma_unsupported_listen(struct fid_pep *pep)
{
	return -FI_ENOSYS;
}

int gamma_unsupported_accept(struct fid_ep *ep, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

int gamma_unsupported_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

int gamma_unsupported_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return -FI_ENOSYS;
}

int gamma_unsupported_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
			   void *context)
{
	return -FI_ENOSYS;
}

/* ---- messages ---- */
REFUSE(no_recv, void *buf, size_t len, void *desc, fi_addr_t addr, void *context)
REFUSE(no_recvv, const struct iovec *iov, void **desc, size_t count, fi_addr_t addr, void *context)
REFUSE(no_msg, const struct fi_msg *msg, uint64_t flags)
REFUSE(no_send, const void *buf, size_t len, void *desc, fi_addr_t addr, void *context)
REFUSE(no_inject, const void *buf, size_t len, fi_addr_t addr)
REFUSE(no_senddata, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t addr,
       void *context)
REFUSE(no_injectdata, const void *buf, size_t len, uint64_t data, fi_addr_t addr)

/* ---- tagged ---- */
REFUSE(no_trecv, void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t tag, uint64_t ignore,
       void *context)
REFUSE(no_trecvv, const struct iovec *iov, void **desc, size_t count, fi_addr_t addr, uint64_t tag,
       uint64_t ignore, void *context)
REFUSE(no_tmsg, const struct fi_msg_tagged *msg, uint64_t flags)
REFUSE(no_tsend, const void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t tag,
       void *context)
REFUSE(no_tsendv, const struct iovec *iov, void **desc, size_t count, fi_addr_t addr, uint64_t tag,
       void *context)
REFUSE(no_tinject, const void *buf, size_t len, fi_addr_t addr, uint64_t tag)
REFUSE(no_tsenddata, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t addr,
       uint64_t tag, void *context)
REFUSE(no_tinjectdata, const void *buf, size_t len, uint64_t data, fi_addr_t addr, uint64_t tag)

/* ---- remote memory ---- */
REFUSE(no_read, void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t remote, uint64_t key,
       void *context)
REFUSE(no_rmav, const struct iovec *iov, void **desc, size_t count, fi_addr_t addr, uint64_t remote,
       uint64_t key, void *context)
REFUSE(no_rmamsg, const struct fi_msg_rma *msg, uint64_t flags)
REFUSE(no_write, const void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t remote,
       uint64_t key, void *context)
REFUSE(no_inject_write, const void *buf, size_t len, fi_addr_t addr, uint64_t remote, uint64_t key)
REFUSE(no_writedata, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t addr,
       uint64_t remote, uint64_t key, void *context)
REFUSE(no_inject_writedata, const void *buf, size_t len, uint64_t data, fi_addr_t addr,
       uint64_t remote, uint64_t key)

/* ---- atomics ---- */
REFUSE(no_atomic, const void *buf, size_t count, void *desc, fi_addr_t addr, uint64_t remote,
       uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
REFUSE(no_atomicv, const struct fi_ioc *iov, void **desc, size_t count, fi_addr_t addr,
       uint64_t remote, uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
REFUSE(no_atomicmsg, const struct fi_msg_atomic *msg, uint64_t flags)
REFUSE(no_inject_atomic, const void *buf, size_t count, fi_addr_t addr, uint64_t remote,
       uint64_t key, enum fi_datatype type, enum fi_op op)
REFUSE(no_fetch, const void *buf, size_t count, void *desc, void *result, void *result_desc,
       fi_addr_t addr, uint64_t remote, uint64_t key, enum fi_datatype type, enum fi_op op,
       void *context)
REFUSE(no_fetchv, const struct fi_ioc *iov, void **desc, size_t count, struct fi_ioc *resultv,
       void **result_desc, size_t result_count, fi_addr_t addr, uint64_t remote, uint64_t key,
       enum fi_datatype type, enum fi_op op, void *context)
REFUSE(no_fetchmsg, const struct fi_msg_atomic *msg, struct fi_ioc *resultv, void **result_desc,
       size_t result_count, uint64_t flags)
REFUSE(no_compare, const void *buf, size_t count, void *desc, const void *compare,
       void *compare_desc, void *result, void *result_desc, fi_addr_t addr, uint64_t remote,
       uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
REFUSE(no_comparev, const struct fi_ioc *iov, void **desc, size_t count,
       const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
       struct fi_ioc *resultv, void **result_desc, size_t result_count, fi_addr_t addr,
       uint64_t remote, uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
REFUSE(no_comparemsg, const struct fi_msg_atomic *msg, const struct fi_ioc *comparev,
       void **compare_desc, size_t compare_count, struct fi_ioc *resultv, void **result_desc,
       size_t result_count, uint64_t flags)

static int no_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return -FI_EOPNOTSUPP;
}

/* ---- collectives ---- */
REFUSE(no_barrier, fi_addr_t coll, void *context)
REFUSE(no_barrier2, fi_addr_t coll, uint64_t flags, void *context)
REFUSE(no_broadcast, void *buf, size_t count, void *desc, fi_addr_t coll, fi_addr_t root,
       enum fi_datatype type, uint64_t flags, void *context)
REFUSE(no_alltoall, const void *buf, size_t count, void *desc, void *result, void *result_desc,
       fi_addr_t coll, enum fi_datatype type, uint64_t flags, void *context)
REFUSE(no_allreduce, const void *buf, size_t count, void *desc, void *result, void *result_desc,
       fi_addr_t coll, enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
REFUSE(no_reduce, const void *buf, size_t count, void *desc, void *result, void *result_desc,
       fi_addr_t coll, fi_addr_t root, enum fi_datatype type, enum fi_op op, uint64_t flags,
       void *context)
REFUSE(no_scatter, const void *buf, size_t count, void *desc, void *result, void *result_desc,
       fi_addr_t coll, fi_addr_t root, enum fi_datatype type, uint64_t flags, void *context)
REFUSE(no_collmsg, const struct fi_msg_collective *msg, struct fi_ioc *resultv, void **result_desc,
       size_t result_count, uint64_t flags)

#pragma GCC diagnostic pop

struct fi_ops_ep gamma_unsupported_ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = gamma_unsupported_cancel,
	.getopt = gamma_unsupported_getopt,
	.setopt = gamma_unsupported_setopt,
	.tx_ctx = gamma_unsupported_tx_ctx,
	.rx_ctx = gamma_unsupported_rx_ctx,
	.rx_size_left = gamma_unsupported_size_left,
	.tx_size_left = gamma_unsupported_size_left,
};

struct fi_ops_cm gamma_unsupported_cm_ops = {
	GAMMA_UNSUPPORTED_CONNECTIONS,
	.setname = no_setname,
	.getname = no_getname,
	.join = gamma_unsupported_join,
};

struct fi_ops_msg gamma_unsupported_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = no_recv,
	.recvv = no_recvv,
	.recvmsg = no_msg,
	.send = no_send,
	.sendv = no_recvv,
	.sendmsg = no_msg,
	.inject = no_inject,
	.senddata = no_senddata,
	.injectdata = no_injectdata,
};

struct fi_ops_tagged gamma_unsupported_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = no_trecv,
	.recvv = no_trecvv,
	.recvmsg = no_tmsg,
	.send = no_tsend,
	.sendv = no_tsendv,
	.sendmsg = no_tmsg,
	.inject = no_tinject,
	.senddata = no_tsenddata,
	.injectdata = no_tinjectdata,
};

struct fi_ops_rma gamma_unsupported_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = no_read,
	.readv = no_rmav,
	.readmsg = no_rmamsg,
	.write = no_write,
	.writev = no_rmav,
	.writemsg = no_rmamsg,
	.inject = no_inject_write,
	.writedata = no_writedata,
	.injectdata = no_inject_writedata,
};

struct fi_ops_atomic gamma_unsupported_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = no_atomic,
	.writev = no_atomicv,
	.writemsg = no_atomicmsg,
	.inject = no_inject_atomic,
	.readwrite = no_fetch,
	.readwritev = no_fetchv,
	.readwritemsg = no_fetchmsg,
	.compwrite = no_compare,
	.compwritev = no_comparev,
	.compwritemsg = no_comparemsg,
	.writevalid = no_valid,
	.readwritevalid = no_valid,
	.compwritevalid = no_valid,
};

struct fi_ops_collective gamma_unsupported_collective_ops = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = no_barrier,
	.broadcast = no_broadcast,
	.alltoall = no_alltoall,
	.allreduce = no_allreduce,
	.allgather = no_alltoall,
	.reduce_scatter = no_allreduce,
	.reduce = no_reduce,
	.scatter = no_scatter,
	.gather = no_scatter,
	.msg = no_collmsg,
	.barrier2 = no_barrier2,
};
