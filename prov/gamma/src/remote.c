// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Common parts of operations on remote memory in the provider: posting one (called by rma.c and
 * by the atomics), and, as the target, finding the memory that a peer means and reporting accesses
 * to it (called by the engine).
 */
#include "ep.h"

/* ---- posting ---- */

static bool take_target(struct gamma_rma *remote, const struct gamma_rma_post *post, uint64_t *len)
{
	*len = 0;
	if (!post->target_count || post->target_count > GAMMA_RMA_IOV_MAX)
		return false;
	for (size_t i = 0; i < post->target_count; i++) {
		const struct fi_rma_iov *target = &post->target[i];

		remote->segments[i] = (struct gamma_rma_iov){
			.address = target->addr,
			.key = target->key,
			.length = target->len,
		};
		if (__builtin_add_overflow(*len, target->len, len))
			return false;
	}
	remote->segment_count = (unsigned) post->target_count;
	return true;
}

static bool copy_checked_iov(struct iovec *to, unsigned *to_count, const struct iovec *from,
			     size_t count, uint64_t wanted)
{
	uint64_t len = 0;

	if (count > GAMMA_IOV_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		to[i] = from[i];
		if (__builtin_add_overflow(len, from[i].iov_len, &len))
			return false;
	}
	*to_count = (unsigned) count;
	return len == wanted;
}

/* Operands and comparands, whose sizes atomic.c has checked, may together have more iovecs than a
 * send. */
static int take_operands(struct gamma_tx *tx, const struct gamma_rma_post *post, uint64_t len)
{
	struct gamma_send *send = &tx->send;

	if (post->op == GAMMA_OP_COMPARE && post->count > GAMMA_IOV_MAX)
		return gamma_submit_copy_tx(tx, post->iov, post->count, len);
	return copy_checked_iov(send->iov, &send->iov_count, post->iov, post->count, len)
		       ? 0
		       : -FI_EINVAL;
}

/* Local and remote memory must be of the same size. */
static int fill_remote(struct gamma_fi_ep *ep, struct gamma_tx *tx,
		       const struct gamma_rma_post *post)
{
	struct gamma_rma *remote = &tx->remote;
	struct gamma_send *send = &tx->send;
	bool result = post->op != GAMMA_OP_WRITE && post->op != GAMMA_OP_ATOMIC;
	uint64_t len;
	int ret;

	remote->op = post->op;
	remote->operands = post->operands;
	remote->unit = post->unit;
	remote->datatype = post->datatype;
	remote->atomic_op = post->atomic_op;
	if (!take_target(remote, post, &len) ||
	    !copy_checked_iov(remote->result, &remote->result_count, post->result,
			      post->result_count, result ? len : 0))
		return -FI_EINVAL;
	ret = take_operands(tx, post, post->operands * len);
	if (ret)
		return ret;
	send->envelope.tag = 0;
	send->envelope.data = post->data;
	send->envelope.flags = post->flags & FI_REMOTE_CQ_DATA ? GAMMA_HAS_DATA : 0;
	send->fence = post->flags & FI_FENCE;
	send->more = post->flags & FI_MORE;
	tx->context = post->context;
	tx->flags = post->flags & (FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE);
	tx->notify =
		gamma_submit_notifies(post->silent, ep->tx_selective || post->work, post->flags);
	tx->work = post->work;
	return 0;
}

static ssize_t submit_remote_locked(struct gamma_fi_ep *ep, const struct gamma_rma_post *post)
{
	struct gamma_flow *flow = gamma_submit_find_flow(ep, post->addr);
	bool inject = post->silent || post->flags & FI_INJECT;
	struct gamma_tx *tx;
	bool done = false;
	ssize_t ret;

	if (gamma_unlikely(!flow))
		return gamma_av_addr(ep->av, post->addr) ? -FI_ENOMEM : -FI_EINVAL;
	tx = gamma_submit_get_tx(ep);
	if (!tx)
		return -FI_ENOMEM;
	tx->done = &done;
	ret = fill_remote(ep, tx, post);
	if (!ret) {
		/* A program that waits for the completion polls. */
		tx->send.may_delay =
			(tx->notify && !inject) || gamma_progress_thread_can_flush(ep->domain);
		ret = gamma_endpoint_rma(ep->endpoint, flow, &tx->send, &tx->remote);
	}
	if (ret) {
		tx->work = NULL;
		gamma_submit_put_tx(ep, tx);
		return ret;
	}
	if (done)
		return 0;
	if (gamma_send_has_frames(flow)) /* other processes may wait for its effect */
		gamma_progress_thread_set_flush_timer(ep->domain);
	if (inject && !gamma_rma_requester_is_copied(&tx->send))
		gamma_submit_release_buffer(ep, tx, &done);
	if (!done)
		tx->done = NULL;
	return 0;
}

ssize_t gamma_remote_submit(struct gamma_fi_ep_handle *handle, const struct gamma_rma_post *post)
{
	struct gamma_fi_ep *ep = handle->ep;
	ssize_t ret;

	if (gamma_unlikely(!ep->enabled))
		return -FI_EOPBADSTATE;
	if (gamma_unlikely(gamma_deferred_work_wanted(handle, post->flags)))
		return gamma_deferred_work_defer_remote(handle, post);
	if (gamma_unlikely(post->silent || post->flags & FI_INJECT) &&
	    gamma_iov_len(post->iov, gamma_min(post->count, 2 * GAMMA_IOV_MAX)) >
		    gamma_settings.inject_size)
		return -FI_EMSGSIZE;
	gamma_domain_lock(ep->domain);
	if (gamma_unlikely(ep->tx_used >= ep->tx_size)) {
		gamma_progress_poll(ep->domain);
		ret = -FI_EAGAIN;
	} else {
		ret = submit_remote_locked(ep, post);
	}
	gamma_domain_unlock(ep->domain);
	return ret;
}

/* ---- the target ---- */

/* Of a target the region alone decides between reads and writes: programs exist that ask for one
 * direction and use both, as other providers let them. */
enum gamma_refusal gamma_remote_reach(struct gamma_fi_ep *ep, const struct gamma_rma_access *access,
				      uint64_t wanted, struct gamma_rma_region *reached)
{
	struct gamma_mr *mr;
	uint64_t offset;

	if (!ep->reachable || ep->closing)
		return GAMMA_REFUSED_UNSUPPORTED;
	mr = gamma_mr_find(ep->domain, access->key);
	if (!mr)
		return GAMMA_REFUSED_KEY;
	if ((mr->access & wanted) != wanted)
		return GAMMA_REFUSED_ACCESS;
	offset = access->address - mr->offset;
	if (access->address < mr->offset || offset > mr->len || access->length > mr->len - offset)
		return GAMMA_REFUSED_BOUNDS;
	reached->iov_count = gamma_iov_slice(mr->iov, (unsigned) mr->iov_count, offset,
					     access->length, reached->iov, GAMMA_IOV_MAX);
	reached->region = mr;
	return 0;
}

static enum gamma_refusal on_reach(void *context, struct gamma_flow *flow,
				   const struct gamma_rma_access *access,
				   struct gamma_rma_region *reached)
{
	(void) flow;
	return gamma_remote_reach(context, access,
				  access->op == GAMMA_OP_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE,
				  reached);
}

/* To a region, unlike an endpoint, an atomic that also fetches is a write: it modifies memory. */
static uint64_t region_events(const struct gamma_rma_access *access, uint64_t event)
{
	bool atomic = access->op >= GAMMA_OP_ATOMIC;

	return atomic && access->atomic_op != GAMMA_ATOMIC_READ ? event | FI_REMOTE_WRITE : event;
}

static void count_region_access(struct gamma_fi_ep *ep, uint64_t key, uint64_t events)
{
	struct gamma_mr *mr = gamma_mr_find(ep->domain, key);

	if (mr && mr->cntr && (!mr->cntr_flags || mr->cntr_flags & events))
		gamma_cntr_add(mr->cntr, 1);
}

/* At the endpoint an operation counts once, and once at each region that it has touched. */
static void count_remote_access(struct gamma_fi_ep *ep, const struct gamma_rma_access *access,
				uint64_t event)
{
	struct gamma_cntr *cntr = ep->cntrs[event == FI_REMOTE_READ ? GAMMA_CNTR_REMOTE_READ
								    : GAMMA_CNTR_REMOTE_WRITE];
	uint64_t events;

	if (cntr)
		gamma_cntr_add(cntr, 1);
	if (gamma_likely(!ep->domain->counted_mrs))
		return;
	events = region_events(access, event);
	for (unsigned i = 0; access->before && i < access->before->count; i++)
		if (access->before->key[i] != access->key)
			count_region_access(ep, access->before->key[i], events);
	count_region_access(ep, access->key, events);
}

static void on_touched(void *context, struct gamma_flow *flow,
		       const struct gamma_rma_access *access, bool last, const uint64_t *data)
{
	struct gamma_fi_ep *ep = context;
	bool atomic = access->op >= GAMMA_OP_ATOMIC;
	bool writes = access->op == GAMMA_OP_WRITE || access->op == GAMMA_OP_ATOMIC;
	struct gamma_completion completion = {
		.flags = (atomic ? FI_ATOMIC : FI_RMA) |
			 (writes ? FI_REMOTE_WRITE : FI_REMOTE_READ) | FI_REMOTE_CQ_DATA,
		.len = access->length + (access->before ? access->before->length : 0),
		.source = FI_ADDR_NOTAVAIL,
	};

	if (!last || ep->closing)
		return;
	count_remote_access(ep, access, writes ? FI_REMOTE_WRITE : FI_REMOTE_READ);
	if (!data || !ep->rx_cq)
		return;
	completion.data = *data;
	if (ep->want_source)
		completion.source = gamma_source_of(ep, flow);
	if (ep->source_err && completion.source == FI_ADDR_NOTAVAIL)
		gamma_completion_write_unknown_source(ep, &completion, &flow->addr);
	else
		gamma_cq_write(ep->rx_cq, completion);
}

const struct gamma_rma_target gamma_remote_target = {
	.reach = on_reach,
	.apply = gamma_atomic_target_apply,
	.touched = on_touched,
};
