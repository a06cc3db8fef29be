// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Collective operations: libfabric's calls, which check their arguments and begin an operation on a
 * group.
 */
#include "ep.h"

#include <stdlib.h>

/* A call as libfabric passes it. */
struct request {
	enum gamma_plan_kind kind;
	const void *from;
	void *to;
	size_t count;
	fi_addr_t coll_addr, root_addr;
	uint32_t datatype, op;
	uint64_t flags;
	void *context;
};

static bool has_root(enum gamma_plan_kind kind)
{
	return kind == GAMMA_PLAN_BROADCAST || kind == GAMMA_PLAN_REDUCE ||
	       kind == GAMMA_PLAN_GATHER || kind == GAMMA_PLAN_SCATTER;
}

/* Members whose parts lie in one buffer. */
static uint32_t parts_of(const struct gamma_coll_group *group, enum gamma_plan_kind kind)
{
	return kind == GAMMA_PLAN_GATHER || kind == GAMMA_PLAN_ALLGATHER ||
			       kind == GAMMA_PLAN_SCATTER
		       ? group->n
		       : 1;
}

static int fill_call(struct gamma_coll_group *group, const struct request *request,
		     struct gamma_plan_call *call)
{
	uint32_t unit = gamma_coll_query_unit(request->kind, request->datatype, request->op),
		 root = 0;

	if (!unit)
		return -FI_EOPNOTSUPP;
	if (request->count > GAMMA_MAX_MSG_SIZE / unit / parts_of(group, request->kind))
		return -FI_EMSGSIZE;
	if (has_root(request->kind))
		root = gamma_coll_group_place(group, request->root_addr);
	if (root == GAMMA_COLL_NO_PLACE)
		return -FI_EINVAL;
	*call = (struct gamma_plan_call){
		.kind = request->kind,
		.place = group->place,
		.n = group->n,
		.root = root,
		.datatype = request->datatype,
		.op = request->op,
		.unit = unit,
		.count = request->count,
		.from = request->from,
		.to = request->to,
	};
	return 0;
}

static ssize_t begin_locked(struct gamma_fi_ep *ep, const struct request *request)
{
	struct gamma_coll_group *group = gamma_coll_group_find(ep->coll, request->coll_addr);
	struct gamma_plan_call call;
	struct gamma_coll_op *op;
	int ret;

	if (!group || !group->live)
		return group && group->error ? group->error : -FI_EINVAL;
	if (group->error)
		return group->error;
	ret = fill_call(group, request, &call);
	if (ret)
		return ret;
	op = calloc(1, sizeof(*op));
	if (!op)
		return -FI_ENOMEM;
	op->call = call;
	op->context = request->context;
	op->notify = gamma_submit_notifies(false, ep->tx_selective, request->flags);
	ret = gamma_coll_run_begin(group, op);
	if (ret)
		free(op);
	return ret;
}

static ssize_t begin(struct fid_ep *fid, const struct request *request)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	ssize_t ret;

	if (request->flags & ~(FI_COMPLETION | FI_MORE | GAMMA_COMPLETION_LEVELS))
		return -FI_EBADFLAGS;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	gamma_domain_lock(ep->domain);
	ret = begin_locked(ep, request);
	gamma_domain_unlock(ep->domain);
	return ret;
}

static ssize_t coll_barrier2(struct fid_ep *ep, fi_addr_t coll, uint64_t flags, void *context)
{
	return begin(ep, &(struct request){.kind = GAMMA_PLAN_BARRIER,
					   .coll_addr = coll,
					   .flags = flags,
					   .context = context});
}

static ssize_t coll_barrier(struct fid_ep *ep, fi_addr_t coll, void *context)
{
	return coll_barrier2(ep, coll, gamma_ep_handle_of(ep)->tx_flags & FI_COMPLETION, context);
}

static ssize_t coll_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc,
			      fi_addr_t coll, fi_addr_t root, enum fi_datatype datatype,
			      uint64_t flags, void *context)
{
	(void) desc;
	return begin(ep, &(struct request){.kind = GAMMA_PLAN_BROADCAST,
					   .to = buf,
					   .count = count,
					   .coll_addr = coll,
					   .root_addr = root,
					   .datatype = (uint32_t) datatype,
					   .flags = flags,
					   .context = context});
}

static ssize_t coll_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t coll,
			      enum fi_datatype datatype, enum fi_op op, uint64_t flags,
			      void *context)
{
	(void) desc, (void) result_desc;
	return begin(ep, &(struct request){.kind = GAMMA_PLAN_ALLREDUCE,
					   .from = buf,
					   .to = result,
					   .count = count,
					   .coll_addr = coll,
					   .datatype = (uint32_t) datatype,
					   .op = (uint32_t) op,
					   .flags = flags,
					   .context = context});
}

static ssize_t coll_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t coll,
			      enum fi_datatype datatype, uint64_t flags, void *context)
{
	(void) desc, (void) result_desc;
	return begin(ep, &(struct request){.kind = GAMMA_PLAN_ALLGATHER,
					   .from = buf,
					   .to = result,
					   .count = count,
					   .coll_addr = coll,
					   .datatype = (uint32_t) datatype,
					   .flags = flags,
					   .context = context});
}

static ssize_t coll_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			   enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)
{
	(void) desc, (void) result_desc;
	return begin(ep, &(struct request){.kind = GAMMA_PLAN_REDUCE,
					   .from = buf,
					   .to = result,
					   .count = count,
					   .coll_addr = coll,
					   .root_addr = root,
					   .datatype = (uint32_t) datatype,
					   .op = (uint32_t) op,
					   .flags = flags,
					   .context = context});
}

static ssize_t coll_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			    void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			    enum fi_datatype datatype, uint64_t flags, void *context)
{
	(void) desc, (void) result_desc;
	return begin(ep, &(struct request){.kind = GAMMA_PLAN_SCATTER,
					   .from = buf,
					   .to = result,
					   .count = count,
					   .coll_addr = coll,
					   .root_addr = root,
					   .datatype = (uint32_t) datatype,
					   .flags = flags,
					   .context = context});
}

static ssize_t coll_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			   enum fi_datatype datatype, uint64_t flags, void *context)
{
	(void) desc, (void) result_desc;
	return begin(ep, &(struct request){.kind = GAMMA_PLAN_GATHER,
					   .from = buf,
					   .to = result,
					   .count = count,
					   .coll_addr = coll,
					   .root_addr = root,
					   .datatype = (uint32_t) datatype,
					   .flags = flags,
					   .context = context});
}

/* With one buffer each way. That of the operands may be missing: scatter's root alone has it. */
static ssize_t coll_msg(struct fid_ep *ep, const struct fi_msg_collective *msg,
			struct fi_ioc *resultv, void **result_desc, size_t result_count,
			uint64_t flags)
{
	enum gamma_plan_kind kind = gamma_coll_query_kind(msg->coll);
	bool one_buffer = kind == GAMMA_PLAN_BROADCAST;

	(void) result_desc;
	if (!kind)
		return -FI_ENOSYS;
	if (msg->iov_count > 1 || result_count > 1)
		return -FI_EINVAL;
	return begin(ep, &(struct request){
				 .kind = kind,
				 .from = msg->iov_count ? msg->msg_iov->addr : NULL,
				 .to = one_buffer     ? (msg->iov_count ? msg->msg_iov->addr : NULL)
				       : result_count ? resultv->addr
						      : NULL,
				 .count = msg->iov_count ? msg->msg_iov->count
					  : result_count ? resultv->count
							 : 0,
				 .coll_addr = msg->coll_addr,
				 .root_addr = msg->root_addr,
				 .datatype = (uint32_t) msg->datatype,
				 .op = (uint32_t) msg->op,
				 .flags = flags,
				 .context = msg->context,
			 });
}

static ssize_t no_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t coll,
			   enum fi_datatype datatype, uint64_t flags, void *context)
{
	(void) ep, (void) buf, (void) count, (void) desc, (void) result, (void) result_desc;
	(void) coll, (void) datatype, (void) flags, (void) context;
	return -FI_ENOSYS;
}

static ssize_t no_reduce_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				 void *result, void *result_desc, fi_addr_t coll,
				 enum fi_datatype datatype, enum fi_op op, uint64_t flags,
				 void *context)
{
	(void) op;
	return no_alltoall(ep, buf, count, desc, result, result_desc, coll, datatype, flags,
			   context);
}

struct fi_ops_collective gamma_coll_ops = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = coll_barrier,
	.broadcast = coll_broadcast,
	.alltoall = no_alltoall,
	.allreduce = coll_allreduce,
	.allgather = coll_allgather,
	.reduce_scatter = no_reduce_scatter,
	.reduce = coll_reduce,
	.scatter = coll_scatter,
	.gather = coll_gather,
	.msg = coll_msg,
	.barrier2 = coll_barrier2,
};
