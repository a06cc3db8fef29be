// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * fi_atomic, fi_fetch_atomic, fi_compare_atomic and their variants: checks, and the translation of
 * elements into bytes. remote.c does the rest.
 */
#include "ep.h"

/* One call with all arguments. */
struct call {
	enum gamma_atomic_form form;
	const struct fi_msg_atomic *msg;
	const struct fi_ioc *compare;
	size_t compare_count; /* pieces */
	const struct fi_ioc *result;
	size_t result_count; /* pieces */
	uint64_t flags;
	bool silent; /* fi_inject_atomic */
};

static const enum gamma_op ops[] = {
	[GAMMA_ATOMIC_BASE] = GAMMA_OP_ATOMIC,
	[GAMMA_ATOMIC_FETCH] = GAMMA_OP_FETCH,
	[GAMMA_ATOMIC_COMPARE] = GAMMA_OP_COMPARE,
};

/* SIZE_MAX: more than any call may have. */
static size_t elements_of(const struct fi_ioc *ioc, size_t count)
{
	size_t elements = 0;

	for (size_t i = 0; i < count; i++) {
		if (ioc[i].count > GAMMA_ATOMIC_CALL_MAX)
			return SIZE_MAX;
		elements += ioc[i].count;
	}
	return elements;
}

/* The same, of the target's memory, with lengths in bytes. */
static size_t add_targets(struct fi_rma_iov *targets, const struct fi_msg_atomic *msg, size_t size)
{
	size_t elements = 0;

	for (size_t i = 0; i < msg->rma_iov_count; i++) {
		const struct fi_rma_ioc *piece = &msg->rma_iov[i];

		if (piece->count > GAMMA_ATOMIC_CALL_MAX)
			return SIZE_MAX;
		elements += piece->count;
		targets[i] = (struct fi_rma_iov){
			.addr = piece->addr,
			.len = piece->count * size,
			.key = piece->key,
		};
	}
	return elements;
}

static void add_iov(struct iovec *iov, const struct fi_ioc *ioc, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++)
		iov[i] = (struct iovec){.iov_base = ioc[i].addr, .iov_len = ioc[i].count * size};
}

/* READ takes no operands; a program may leave anything in their place. */
static size_t gather_operands(const struct fi_msg_atomic *msg)
{
	return msg->op == FI_ATOMIC_READ ? 0 : msg->iov_count;
}

static bool exceeds_iov_limit(const struct call *call)
{
	return gather_operands(call->msg) > GAMMA_IOV_LIMIT ||
	       call->compare_count > GAMMA_IOV_LIMIT || call->result_count > GAMMA_IOV_LIMIT ||
	       !call->msg->rma_iov_count || call->msg->rma_iov_count > GAMMA_IOV_LIMIT;
}

static bool counts_agree(const struct call *call, size_t elements)
{
	const struct fi_msg_atomic *msg = call->msg;

	if (msg->op != FI_ATOMIC_READ && elements_of(msg->msg_iov, msg->iov_count) != elements)
		return false;
	if (call->form == GAMMA_ATOMIC_COMPARE &&
	    elements_of(call->compare, call->compare_count) != elements)
		return false;
	return call->form == GAMMA_ATOMIC_BASE ||
	       elements_of(call->result, call->result_count) == elements;
}

static ssize_t submit_atomic(struct fid_ep *fid, const struct call *call)
{
	const struct fi_msg_atomic *msg = call->msg;
	size_t most = gamma_atomic_valid_count(call->form, msg->datatype, msg->op), elements;
	size_t size = gamma_atomic_ops_size((uint32_t) msg->datatype), count = gather_operands(msg);
	struct iovec iov[2 * GAMMA_IOV_LIMIT], result[GAMMA_IOV_LIMIT];
	struct fi_rma_iov targets[GAMMA_IOV_LIMIT];

	if (!most)
		return -FI_EOPNOTSUPP;
	if (exceeds_iov_limit(call))
		return -FI_EINVAL;
	elements = add_targets(targets, msg, size);
	if (elements > most)
		return -FI_EMSGSIZE;
	if (!elements || !counts_agree(call, elements))
		return -FI_EINVAL;
	add_iov(iov, msg->msg_iov, count, size);
	add_iov(iov + count, call->compare, call->compare_count, size);
	add_iov(result, call->result, call->result_count, size);
	return gamma_remote_submit(
		gamma_ep_handle_of(fid),
		&(struct gamma_rma_post){
			.op = ops[call->form],
			.operands =
				call->form == GAMMA_ATOMIC_COMPARE ? 2 : msg->op != FI_ATOMIC_READ,
			.unit = (uint8_t) size,
			.datatype = (uint8_t) msg->datatype,
			.atomic_op = (uint8_t) msg->op,
			.addr = msg->addr,
			.iov = iov,
			.count = count + call->compare_count,
			.result = result,
			.result_count = call->result_count,
			.target = targets,
			.target_count = msg->rma_iov_count,
			.data = msg->data,
			.context = msg->context,
			.flags = call->flags | FI_ATOMIC |
				 (call->form == GAMMA_ATOMIC_BASE ? FI_WRITE : FI_READ),
			.silent = call->silent,
		});
}

static ssize_t submit_atomic_msg(struct fid_ep *fid, const struct call *call)
{
	return gamma_submit_refuses(call->flags, GAMMA_TX_FLAGS) ? -FI_EBADFLAGS
								 : submit_atomic(fid, call);
}

/* For the calls that have no message: one range of the target's memory, as long as all operands or,
 * without operands, all results. */
static ssize_t submit_atomic_buffer(struct fid_ep *fid, struct call call, const struct fi_ioc *iov,
				    size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
				    enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_rma_ioc target = {
		.addr = addr,
		.count = op == FI_ATOMIC_READ ? elements_of(call.result, call.result_count)
					      : elements_of(iov, count),
		.key = key,
	};
	struct fi_msg_atomic msg = {
		.msg_iov = iov,
		.iov_count = count,
		.addr = dest_addr,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.datatype = datatype,
		.op = op,
		.context = context,
	};

	call.msg = &msg;
	if (!call.silent)
		call.flags = gamma_ep_handle_of(fid)->tx_flags & ~FI_REMOTE_CQ_DATA;
	return submit_atomic(fid, &call);
}

/* ---- base ---- */

static ssize_t atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			     fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			     enum fi_datatype datatype, enum fi_op op, void *context)
{
	(void) desc;
	return submit_atomic_buffer(ep, (struct call){.form = GAMMA_ATOMIC_BASE}, iov, count,
				    dest_addr, addr, key, datatype, op, context);
}

static ssize_t atomic_write(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			    fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = {.addr = (void *) buf, .count = count};

	(void) desc;
	return atomic_writev(ep, &iov, NULL, 1, dest_addr, addr, key, datatype, op, context);
}

static ssize_t atomic_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return submit_atomic_msg(
		ep, &(struct call){.form = GAMMA_ATOMIC_BASE, .msg = msg, .flags = flags});
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t dest_addr,
			     uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	struct fi_ioc iov = {.addr = (void *) buf, .count = count};
	struct call call = {.form = GAMMA_ATOMIC_BASE, .silent = true};

	return submit_atomic_buffer(ep, call, &iov, 1, dest_addr, addr, key, datatype, op, NULL);
}

/* ---- with result ---- */

static ssize_t atomic_readwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
				 size_t count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest_addr, uint64_t addr,
				 uint64_t key, enum fi_datatype datatype, enum fi_op op,
				 void *context)
{
	struct call call = {
		.form = GAMMA_ATOMIC_FETCH,
		.result = resultv,
		.result_count = result_count,
	};

	(void) desc, (void) result_desc;
	return submit_atomic_buffer(ep, call, iov, count, dest_addr, addr, key, datatype, op,
				    context);
}

static ssize_t atomic_readwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				void *result, void *result_desc, fi_addr_t dest_addr, uint64_t addr,
				uint64_t key, enum fi_datatype datatype, enum fi_op op,
				void *context)
{
	struct fi_ioc iov = {.addr = (void *) buf, .count = count};
	struct fi_ioc resultv = {.addr = result, .count = count};

	(void) desc, (void) result_desc;
	return atomic_readwritev(ep, &iov, NULL, 1, &resultv, NULL, 1, dest_addr, addr, key,
				 datatype, op, context);
}

static ssize_t atomic_readwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
				   struct fi_ioc *resultv, void **result_desc, size_t result_count,
				   uint64_t flags)
{
	(void) result_desc;
	return submit_atomic_msg(ep, &(struct call){
					     .form = GAMMA_ATOMIC_FETCH,
					     .msg = msg,
					     .result = resultv,
					     .result_count = result_count,
					     .flags = flags,
				     });
}

/* ---- with comparand ---- */

static ssize_t atomic_compwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
				 size_t count, const struct fi_ioc *comparev, void **compare_desc,
				 size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest_addr, uint64_t addr,
				 uint64_t key, enum fi_datatype datatype, enum fi_op op,
				 void *context)
{
	struct call call = {
		.form = GAMMA_ATOMIC_COMPARE,
		.compare = comparev,
		.compare_count = compare_count,
		.result = resultv,
		.result_count = result_count,
	};

	(void) desc, (void) compare_desc, (void) result_desc;
	return submit_atomic_buffer(ep, call, iov, count, dest_addr, addr, key, datatype, op,
				    context);
}

static ssize_t atomic_compwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				const void *compare, void *compare_desc, void *result,
				void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
				enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct fi_ioc iov = {.addr = (void *) buf, .count = count};
	struct fi_ioc comparev = {.addr = (void *) compare, .count = count};
	struct fi_ioc resultv = {.addr = result, .count = count};

	(void) desc, (void) compare_desc, (void) result_desc;
	return atomic_compwritev(ep, &iov, NULL, 1, &comparev, NULL, 1, &resultv, NULL, 1,
				 dest_addr, addr, key, datatype, op, context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
				   const struct fi_ioc *comparev, void **compare_desc,
				   size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				   size_t result_count, uint64_t flags)
{
	(void) compare_desc, (void) result_desc;
	return submit_atomic_msg(ep, &(struct call){
					     .form = GAMMA_ATOMIC_COMPARE,
					     .msg = msg,
					     .compare = comparev,
					     .compare_count = compare_count,
					     .result = resultv,
					     .result_count = result_count,
					     .flags = flags,
				     });
}

struct fi_ops_atomic gamma_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = atomic_write,
	.writev = atomic_writev,
	.writemsg = atomic_writemsg,
	.inject = atomic_inject,
	.readwrite = atomic_readwrite,
	.readwritev = atomic_readwritev,
	.readwritemsg = atomic_readwritemsg,
	.compwrite = atomic_compwrite,
	.compwritev = atomic_compwritev,
	.compwritemsg = atomic_compwritemsg,
	.writevalid = gamma_atomic_valid_write,
	.readwritevalid = gamma_atomic_valid_readwrite,
	.compwritevalid = gamma_atomic_valid_compwrite,
};
