// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Operations that wait for a counter: triggered ones (FI_TRIGGER) and deferred work queued on a
 * domain. The operation is kept in the form that submit.c and remote.c take. It is due when the
 * counter reaches the threshold, and the thread that next releases the domain's lock posts it.
 */
#include "ep.h"

#include <rdma/fi_trigger.h>
#include <sched.h>
#include <stdlib.h>

enum kind { SEND, RECEIVE, REMOTE, SET, ADD };

struct gamma_deferred_work {
	struct gamma_list entry;        /* of the triggering counter, or of domain->due */
	struct gamma_list domain_entry; /* of domain->deferred_works, until it is posted */
	const void *request;            /* the user's request; NULL: a triggered operation */
	struct gamma_cntr *trigger, *completion; /* counted as references; completion may be NULL */
	uint64_t threshold;
	bool reports; /* its completion is also reported to the endpoint */
	enum kind kind;
	struct gamma_fi_ep_handle *handle; /* of the endpoint or the shared context */
	struct gamma_post post;
	struct gamma_rma_post remote;
	struct iovec iov[GAMMA_IOV_LIMIT], result[GAMMA_IOV_LIMIT];
	struct fi_rma_iov target[GAMMA_IOV_LIMIT];
	struct gamma_cntr *cntr; /* of SET and ADD */
	uint64_t value;
};

/* NULL: no counter, or another domain's. */
static struct gamma_cntr *cntr_of(struct fid_cntr *fid, const struct gamma_domain *domain)
{
	struct gamma_cntr *cntr;

	if (!fid || fid->fid.fclass != FI_CLASS_CNTR)
		return NULL;
	cntr = gamma_container_of(fid, struct gamma_cntr, cntr_fid);
	return cntr->domain == domain ? cntr : NULL;
}

static struct gamma_deferred_work *work_new(struct gamma_cntr *trigger, uint64_t threshold)
{
	struct gamma_deferred_work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	gamma_list_init(&work->entry);
	gamma_list_init(&work->domain_entry);
	work->trigger = trigger;
	work->threshold = threshold;
	gamma_refs_take(&trigger->refs);
	return work;
}

void gamma_deferred_work_free(struct gamma_deferred_work *work)
{
	if (!work)
		return;
	gamma_list_remove(&work->entry);
	gamma_list_remove(&work->domain_entry);
	gamma_refs_drop(&work->trigger->refs);
	if (work->completion)
		gamma_refs_drop(&work->completion->refs);
	if (work->cntr)
		gamma_refs_drop(&work->cntr->refs);
	free(work);
}

bool gamma_deferred_work_complete(struct gamma_deferred_work *work, int error)
{
	if (work->completion && error)
		gamma_cntr_add_error(work->completion, 1);
	else if (work->completion)
		gamma_cntr_add(work->completion, 1);
	return work->reports;
}

/* ---- waiting ---- */

/* Errors count as well, so that waiting for a number of operations always ends. */
static bool is_due(const struct gamma_deferred_work *work)
{
	return work->trigger->value + work->trigger->errors >= work->threshold;
}

void gamma_deferred_work_check(struct gamma_cntr *cntr)
{
	struct gamma_list *pos, *next;

	gamma_list_for_each_safe (pos, next, &cntr->deferred_works) {
		if (!is_due(gamma_list_entry(pos, struct gamma_deferred_work, entry)))
			return;
		gamma_list_remove(pos);
		gamma_list_append(&cntr->domain->due, pos);
	}
}

/* In the order of thresholds, and of submission: one step of the counter may set off several. */
static void insert_by_threshold(struct gamma_deferred_work *work)
{
	struct gamma_list *works = &work->trigger->deferred_works, *pos = works->prev;

	while (pos != works && gamma_list_entry(pos, struct gamma_deferred_work, entry)->threshold >
				       work->threshold)
		pos = pos->prev;
	gamma_list_append(pos->next, &work->entry);
}

static int enqueue_work(struct gamma_deferred_work *work)
{
	struct gamma_domain *domain = work->trigger->domain;

	gamma_domain_lock(domain);
	gamma_list_append(&domain->deferred_works, &work->domain_entry);
	insert_by_threshold(work);
	gamma_deferred_work_check(work->trigger);
	gamma_domain_unlock(domain);
	return 0;
}

/* ---- posting what is due ---- */

static ssize_t submit_work(struct gamma_deferred_work *work)
{
	struct gamma_deferred_work *owner = work->request ? work : NULL;

	switch (work->kind) {
	case SEND:
		work->post.work = owner;
		return gamma_submit_send(work->handle, &work->post);
	case RECEIVE:
		work->post.work = owner;
		return gamma_submit_recv(work->handle, &work->post);
	case REMOTE:
		work->remote.work = owner;
		return gamma_remote_submit(work->handle, &work->remote);
	case SET:
		return fi_cntr_set(&work->cntr->cntr_fid, work->value);
	case ADD:
		return fi_cntr_add(&work->cntr->cntr_fid, work->value);
	}
	return 0;
}

/* The endpoint that reports an operation, or NULL. */
static struct gamma_fi_ep *reporting_ep(const struct gamma_fi_ep_handle *handle)
{
	if (!handle || handle->ep)
		return handle ? handle->ep : NULL;
	return gamma_shared_ctx_reporter(handle->rx);
}

/* Nothing was posted, and the call that could have returned the error has ended. */
static void fail_work(struct gamma_deferred_work *work, int error)
{
	struct gamma_fi_ep *ep = reporting_ep(work->handle);
	bool receive = work->kind == RECEIVE;
	struct gamma_cq *cq = ep ? receive ? ep->rx_cq : ep->tx_cq : NULL;
	struct gamma_cntr *cntr;
	struct gamma_completion completion = {
		.context = work->kind == REMOTE ? work->remote.context : work->post.context,
		.flags = (receive ? FI_RECV : FI_SEND) | (work->post.flags & (FI_MSG | FI_TAGGED)),
		.source = FI_ADDR_NOTAVAIL,
	};

	if (work->kind == REMOTE)
		completion.flags = work->remote.flags & (FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE);
	if (work->request && !gamma_deferred_work_complete(work, error))
		return;
	cntr = ep ? gamma_completion_cntr(ep, completion.flags) : NULL;
	if (cntr)
		gamma_cntr_add_error(cntr, 1);
	if (cq)
		gamma_cq_write_error(cq, &completion, -error, 0, NULL);
}

/* Whether it is a triggered operation with that context which was posted through the handle. */
static bool is_triggered(const struct gamma_deferred_work *work,
			 const struct gamma_fi_ep_handle *handle, const void *context)
{
	return !work->request && work->handle == handle &&
	       context == (work->kind == REMOTE ? work->remote.context : work->post.context);
}

bool gamma_deferred_work_cancel(struct gamma_domain *domain,
				const struct gamma_fi_ep_handle *handle, const void *context)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &domain->deferred_works) {
		struct gamma_deferred_work *work =
			gamma_list_entry(pos, struct gamma_deferred_work, domain_entry);

		if (!is_triggered(work, handle, context))
			continue;
		fail_work(work, -FI_ECANCELED);
		gamma_deferred_work_free(work);
		return true;
	}
	return false;
}

static bool is_kept(const struct gamma_deferred_work *work)
{
	return work->request && work->kind != SET && work->kind != ADD;
}

static void move_all(struct gamma_list *from, struct gamma_list *to)
{
	while (!gamma_list_empty(from)) {
		struct gamma_list *first = from->next;

		gamma_list_remove(first);
		gamma_list_append(to, first);
	}
}

/* Called with the lock, which is released for the submission. On -FI_EAGAIN it and all later ones
 * wait. */
static void run_one(struct gamma_domain *domain, struct gamma_deferred_work *work)
{
	bool kept = is_kept(work);
	ssize_t ret;

	gamma_list_remove(&work->entry);
	gamma_list_remove(&work->domain_entry);
	gamma_domain_unlock(domain);
	ret = submit_work(work);
	gamma_domain_lock(domain);
	if (!ret && kept)
		return; /* kept until its completion, which may be over already */
	if (ret == -FI_EAGAIN) {
		gamma_list_append(domain->deferred_works.next, &work->domain_entry);
		gamma_list_append(&domain->retry, &work->entry);
		move_all(&domain->due, &domain->retry);
		return;
	}
	if (ret)
		fail_work(work, (int) ret);
	gamma_deferred_work_free(work);
}

/* There may be room now. */
void gamma_deferred_work_retry(struct gamma_domain *domain)
{
	move_all(&domain->due, &domain->retry);
	move_all(&domain->retry, &domain->due);
}

void gamma_deferred_work_run(struct gamma_domain *domain)
{
	gamma_domain_lock(domain);
	if (domain->posting) {
		gamma_domain_unlock(domain);
		return;
	}
	domain->posting = true;
	while (!gamma_list_empty(&domain->due))
		run_one(domain, gamma_list_first(&domain->due, struct gamma_deferred_work, entry));
	domain->posting = false;
	gamma_domain_unlock(domain);
}

/* ---- triggered operations ---- */

static void copy_iov(struct iovec *to, const struct iovec **iov, size_t count)
{
	if (count) /* else there need be no list */
		memcpy(to, *iov, gamma_min(count, GAMMA_IOV_LIMIT) * sizeof(*to));
	*iov = to;
}

static void keep_post(struct gamma_deferred_work *work, enum kind kind,
		      struct gamma_fi_ep_handle *handle, const struct gamma_post *post)
{
	work->kind = kind;
	work->handle = handle->ep ? &handle->ep->handle : handle;
	work->post = *post;
	work->post.flags &= ~FI_TRIGGER;
	work->reports = post->flags & FI_COMPLETION;
	copy_iov(work->iov, &work->post.iov, post->count);
}

static void keep_remote(struct gamma_deferred_work *work, struct gamma_fi_ep_handle *handle,
			const struct gamma_rma_post *post)
{
	work->kind = REMOTE;
	work->handle = &handle->ep->handle;
	work->remote = *post;
	work->remote.flags &= ~FI_TRIGGER;
	work->reports = post->flags & FI_COMPLETION;
	copy_iov(work->iov, &work->remote.iov, post->count);
	copy_iov(work->result, &work->remote.result, post->result_count);
	memcpy(work->target, post->target,
	       gamma_min(post->target_count, GAMMA_IOV_LIMIT) * sizeof(*work->target));
	work->remote.target = work->target;
}

/* The user's context names the counter and the threshold. */
static int new_trigger(struct gamma_domain *domain, void *context,
		       struct gamma_deferred_work **work)
{
	const struct fi_triggered_context *triggered = context;
	struct gamma_cntr *cntr;

	if (!triggered || triggered->event_type != FI_TRIGGER_THRESHOLD)
		return triggered ? -FI_ENOSYS : -FI_EINVAL;
	cntr = cntr_of(triggered->trigger.threshold.cntr, domain);
	if (!cntr)
		return -FI_EINVAL;
	*work = work_new(cntr, triggered->trigger.threshold.threshold);
	return *work ? 0 : -FI_ENOMEM;
}

/* Deferred work passes through here as well, to have its arguments checked and in one form. */
static int work_for(struct gamma_fi_ep_handle *handle, void *context,
		    struct gamma_deferred_work **work)
{
	*work = handle->work;
	return *work ? 0 : new_trigger(gamma_ep_handle_rx(handle)->domain, context, work);
}

ssize_t gamma_deferred_work_defer(struct gamma_fi_ep_handle *handle, const struct gamma_post *post,
				  bool receive)
{
	struct gamma_deferred_work *work;
	int ret;

	if (post->silent || post->flags & (FI_INJECT | FI_PEEK | FI_CLAIM | FI_DISCARD) ||
	    (handle->work && post->flags & FI_MULTI_RECV) || gamma_submit_len(post) < 0)
		return -FI_EINVAL;
	ret = work_for(handle, post->context, &work);
	if (ret)
		return ret;
	keep_post(work, receive ? RECEIVE : SEND, handle, post);
	return enqueue_work(work);
}

ssize_t gamma_deferred_work_defer_remote(struct gamma_fi_ep_handle *handle,
					 const struct gamma_rma_post *post)
{
	struct gamma_deferred_work *work;
	int ret;

	if (post->silent || post->flags & FI_INJECT || post->count > GAMMA_IOV_LIMIT ||
	    post->result_count > GAMMA_IOV_LIMIT || post->target_count > GAMMA_IOV_LIMIT)
		return -FI_EINVAL;
	ret = work_for(handle, post->context, &work);
	if (ret)
		return ret;
	keep_remote(work, handle, post);
	return enqueue_work(work);
}

/* ---- deferred work ---- */

static ssize_t queue_cntr(struct gamma_deferred_work *work, struct gamma_domain *domain,
			  const struct fi_op_cntr *op, enum kind kind)
{
	struct gamma_cntr *cntr = op ? cntr_of(op->cntr, domain) : NULL;

	if (!cntr || work->completion)
		return -FI_EINVAL;
	work->kind = kind;
	work->cntr = cntr;
	work->value = op->value;
	gamma_refs_take(&cntr->refs);
	return enqueue_work(work);
}

/* An alias for the length of a call: what is posted through it belongs to the work. */
static struct fid_ep *borrow_handle(struct gamma_fi_ep_handle *alias, struct fid_ep *fid,
				    const struct gamma_domain *domain,
				    struct gamma_deferred_work *work)
{
	const struct gamma_fi_ep_handle *handle;

	if (!fid || (fid->fid.fclass != FI_CLASS_EP && fid->fid.fclass != FI_CLASS_TX_CTX &&
		     fid->fid.fclass != FI_CLASS_RX_CTX))
		return NULL;
	handle = gamma_ep_handle_of(fid);
	if (handle->ep->domain != domain)
		return NULL;
	*alias = *handle;
	alias->work = work;
	return &alias->fid;
}

static ssize_t queue_data(struct gamma_deferred_work *work, struct gamma_domain *domain,
			  const struct fi_deferred_work *asked)
{
	struct gamma_fi_ep_handle alias;
	struct fid_ep *ep;

	/* Every kind of operation begins with its endpoint. */
	ep = asked->op.msg ? borrow_handle(&alias, asked->op.msg->ep, domain, work) : NULL;
	if (!ep)
		return -FI_EINVAL;
	switch (asked->op_type) {
	case FI_OP_RECV:
		return fi_recvmsg(ep, &asked->op.msg->msg, asked->op.msg->flags);
	case FI_OP_SEND:
		return fi_sendmsg(ep, &asked->op.msg->msg, asked->op.msg->flags);
	case FI_OP_TRECV:
		return fi_trecvmsg(ep, &asked->op.tagged->msg, asked->op.tagged->flags);
	case FI_OP_TSEND:
		return fi_tsendmsg(ep, &asked->op.tagged->msg, asked->op.tagged->flags);
	case FI_OP_READ:
		return fi_readmsg(ep, &asked->op.rma->msg, asked->op.rma->flags);
	case FI_OP_WRITE:
		return fi_writemsg(ep, &asked->op.rma->msg, asked->op.rma->flags);
	case FI_OP_ATOMIC:
		return fi_atomicmsg(ep, &asked->op.atomic->msg, asked->op.atomic->flags);
	case FI_OP_FETCH_ATOMIC: {
		const struct fi_op_fetch_atomic *op = asked->op.fetch_atomic;

		return fi_fetch_atomicmsg(ep, &op->msg, op->fetch.msg_iov, op->fetch.desc,
					  op->fetch.iov_count, op->flags);
	}
	case FI_OP_COMPARE_ATOMIC: {
		const struct fi_op_compare_atomic *op = asked->op.compare_atomic;

		return fi_compare_atomicmsg(ep, &op->msg, op->compare.msg_iov, op->compare.desc,
					    op->compare.iov_count, op->fetch.msg_iov,
					    op->fetch.desc, op->fetch.iov_count, op->flags);
	}
	default:
		return -FI_ENOSYS;
	}
}

static int queue_work(struct gamma_domain *domain, const struct fi_deferred_work *asked)
{
	struct gamma_cntr *trigger = asked ? cntr_of(asked->triggering_cntr, domain) : NULL;
	struct gamma_deferred_work *work;
	ssize_t ret;

	if (!trigger || (asked->completion_cntr && !cntr_of(asked->completion_cntr, domain)))
		return -FI_EINVAL;
	work = work_new(trigger, asked->threshold);
	if (!work)
		return -FI_ENOMEM;
	work->request = asked;
	work->completion = cntr_of(asked->completion_cntr, domain);
	if (work->completion)
		gamma_refs_take(&work->completion->refs);
	if (asked->op_type == FI_OP_CNTR_SET)
		ret = queue_cntr(work, domain, asked->op.cntr, SET);
	else if (asked->op_type == FI_OP_CNTR_ADD)
		ret = queue_cntr(work, domain, asked->op.cntr, ADD);
	else
		ret = queue_data(work, domain, asked);
	if (ret)
		gamma_deferred_work_free(work);
	return (int) ret;
}

/* ---- taking back ---- */

/* Selects the operations of a request, a counter, an endpoint, or all. */
struct selection {
	const void *request;
	const struct fid_cntr *trigger;
	const struct gamma_fi_ep_handle *handle;
};

static bool is_selected(const struct gamma_deferred_work *work, const struct selection *which)
{
	return (!which->request || work->request == which->request) &&
	       (!which->trigger || &work->trigger->cntr_fid == which->trigger) &&
	       (!which->handle || work->handle == which->handle);
}

static unsigned drop_works(struct gamma_domain *domain, const struct selection *which)
{
	struct gamma_list *pos, *next;
	unsigned dropped = 0;

	gamma_list_for_each_safe (pos, next, &domain->deferred_works) {
		struct gamma_deferred_work *work =
			gamma_list_entry(pos, struct gamma_deferred_work, domain_entry);

		if (!is_selected(work, which))
			continue;
		gamma_deferred_work_free(work);
		dropped++;
	}
	return dropped;
}

void gamma_deferred_work_drop(struct gamma_domain *domain, const struct gamma_fi_ep_handle *handle)
{
	/* Another thread may be posting through it just now: one that a forked child lacks. */
	while (domain->posting && !gamma_progress_is_inherited(domain)) {
		gamma_domain_unlock(domain);
		sched_yield();
		gamma_domain_lock(domain);
	}
	drop_works(domain, &(struct selection){.handle = handle});
}

static int drop_locked(struct gamma_domain *domain, const struct selection *which)
{
	unsigned dropped;

	gamma_domain_lock(domain);
	dropped = drop_works(domain, which);
	gamma_domain_unlock(domain);
	return dropped ? 0 : -FI_ENOENT;
}

int gamma_deferred_work_control(struct gamma_domain *domain, int command, void *arg)
{
	const struct fi_deferred_work *asked = arg;
	struct selection which = {.request = NULL};

	switch (command) {
	case FI_QUEUE_WORK:
		return queue_work(domain, asked);
	case FI_CANCEL_WORK:
		if (!asked)
			return -FI_EINVAL;
		which.request = asked;
		return drop_locked(domain, &which);
	case FI_FLUSH_WORK:
		which.trigger = asked ? asked->triggering_cntr : NULL;
		drop_locked(domain, &which);
		return 0;
	}
	return -FI_ENOSYS;
}
