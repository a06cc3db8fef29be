// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The path of every send and receive call: checks, an operation from the pool, and the
 * hand-over to the engine or to matching. msg.c and tagged.c only translate their arguments.
 */
#include "ep.h"

#include <stdlib.h>

/* ---- operations ---- */

struct gamma_tx *gamma_submit_get_tx(struct gamma_fi_ep *ep)
{
	struct gamma_tx *tx;

	if (gamma_list_empty(&ep->free_tx)) {
		tx = malloc(sizeof(*tx));
		if (!tx)
			return NULL;
		gamma_list_init(&tx->entry);
	} else {
		tx = gamma_list_first(&ep->free_tx, struct gamma_tx, entry);
		gamma_list_remove(&tx->entry);
	}
	gamma_list_append(&ep->sends, &tx->entry);
	tx->copy = NULL;
	tx->work = NULL;
	tx->done = NULL;
	ep->tx_used++;
	return tx;
}

/* Freed entries go to the front: the next user finds them in the cache. */
static void put_free(struct gamma_list *pool, struct gamma_list *entry)
{
	gamma_list_remove(entry);
	gamma_list_append(pool->next, entry);
}

void gamma_submit_put_tx(struct gamma_fi_ep *ep, struct gamma_tx *tx)
{
	if (gamma_unlikely(tx->copy))
		free(tx->copy);
	tx->copy = NULL;
	if (gamma_unlikely(tx->work))
		gamma_deferred_work_free(tx->work);
	tx->work = NULL;
	ep->tx_used--;
	put_free(&ep->free_tx, &tx->entry);
}

void gamma_submit_init_rx_ctx(struct gamma_rx_ctx *rx_ctx, struct gamma_domain *domain)
{
	rx_ctx->domain = domain;
	rx_ctx->min_multi = GAMMA_MIN_MULTI_RECV;
	gamma_list_init(&rx_ctx->posted_msg);
	gamma_list_init(&rx_ctx->posted_tagged);
	gamma_list_init(&rx_ctx->unexpected_msg);
	gamma_list_init(&rx_ctx->unexpected_tagged);
	gamma_list_init(&rx_ctx->datagrams);
	gamma_list_init(&rx_ctx->matched);
	gamma_list_init(&rx_ctx->free);
}

static void free_pool_rx(struct gamma_list *list)
{
	while (!gamma_list_empty(list)) {
		struct gamma_rx *rx = gamma_list_first(list, struct gamma_rx, entry);

		gamma_list_remove(&rx->entry);
		gamma_deferred_work_free(rx->work);
		free(rx);
	}
}

void gamma_submit_fini_rx_ctx(struct gamma_rx_ctx *rx_ctx)
{
	free_pool_rx(&rx_ctx->matched);
	free_pool_rx(&rx_ctx->free);
}

struct gamma_rx *gamma_submit_get_rx(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *parent)
{
	struct gamma_rx *rx;

	if (gamma_list_empty(&rx_ctx->free)) {
		rx = malloc(sizeof(*rx));
		if (!rx)
			return NULL;
		gamma_list_init(&rx->entry);
	} else {
		rx = gamma_list_first(&rx_ctx->free, struct gamma_rx, entry);
		gamma_list_remove(&rx->entry);
	}
	rx->ep = rx_ctx->ep;
	rx->flow = NULL;
	rx->work = NULL;
	rx->multi = false;
	rx->parent = parent;
	if (!parent)
		rx_ctx->used++;
	return rx;
}

void gamma_submit_put_rx(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx)
{
	if (rx->parent)
		gamma_multi_recv_put(rx_ctx, rx);
	else
		rx_ctx->used--;
	if (gamma_unlikely(rx->work))
		gamma_deferred_work_free(rx->work);
	rx->work = NULL;
	put_free(&rx_ctx->free, &rx->entry);
}

int64_t gamma_submit_len(const struct gamma_post *post)
{
	uint64_t len = 0;

	if (post->count > GAMMA_IOV_LIMIT)
		return -1;
	for (size_t i = 0; i < post->count; i++)
		if (__builtin_add_overflow(len, post->iov[i].iov_len, &len))
			return -1;
	return len <= INT64_MAX ? (int64_t) len : -1;
}

/* ---- sends ---- */

/* The flow to an AV entry. A flow that has ended is looked up again, since an address without epoch
 * may mean a new process by now. */
struct gamma_flow *gamma_submit_find_flow(struct gamma_fi_ep *ep, fi_addr_t fi_addr)
{
	const struct gamma_addr *addr;
	struct gamma_addr context;
	struct gamma_flow *flow;

	if (gamma_likely(fi_addr < ep->flow_count)) {
		flow = ep->flows[fi_addr];
		if (gamma_likely(flow && gamma_flow_usable(flow)))
			return flow;
	}
	if (gamma_unlikely(fi_addr == GAMMA_ACTIVE_PORT_SENDER))
		return ep->ports.sender;
	addr = gamma_av_addr(ep->av, fi_addr);
	if (!addr)
		return gamma_av_context(ep->av, fi_addr, &context)
			       ? gamma_endpoint_flow(ep->endpoint, &context)
			       : NULL;
	if (fi_addr >= ep->flow_count) {
		size_t count = gamma_max(ep->av->count, 64);
		struct gamma_flow **flows = realloc(ep->flows, count * sizeof(*flows));

		if (!flows)
			return NULL;
		memset(flows + ep->flow_count, 0, (count - ep->flow_count) * sizeof(*flows));
		ep->flows = flows;
		ep->flow_count = count;
	}
	flow = gamma_source_removed_flow(ep, addr);
	if (gamma_likely(!flow))
		flow = gamma_endpoint_flow(ep->endpoint, addr);
	ep->flows[fi_addr] = flow;
	return flow;
}

static enum gamma_completion_level completion_level_of(uint64_t flags)
{
	if (flags & FI_MATCH_COMPLETE)
		return GAMMA_WHEN_MATCHED;
	if (flags & (FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE))
		return GAMMA_WHEN_ARRIVED;
	return GAMMA_WHEN_COPIED;
}

static uint32_t envelope_flags(uint64_t flags)
{
	return (flags & FI_TAGGED ? GAMMA_TAGGED : 0) |
	       (flags & FI_REMOTE_CQ_DATA ? GAMMA_HAS_DATA : 0) |
	       (flags & GAMMA_POST_TO_PORT ? GAMMA_TAGGED | GAMMA_TO_PORT : 0);
}

static struct gamma_envelope envelope_of(const struct gamma_post *post, uint64_t len)
{
	return (struct gamma_envelope){
		.tag = post->tag,
		.data = post->data,
		.length = len,
		.flags = envelope_flags(post->flags),
	};
}

/* A short message that completes when copied, with nothing queued before it, needs no operation of
 * its own unless a counter or deferred work waits for its end. */
static bool copied_at_once(struct gamma_fi_ep *ep, struct gamma_flow *flow,
			   const struct gamma_post *post, uint64_t len)
{
	bool notify = gamma_submit_notifies(post->silent, ep->tx_selective, post->flags);
	bool polls = notify && !(post->flags & FI_INJECT);
	struct gamma_envelope envelope = envelope_of(post, len);
	enum gamma_endpoint_copied how;

	if (ep->cntrs[GAMMA_CNTR_SEND] || post->work ||
	    post->flags &
		    (FI_FENCE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE))
		return false;
	how = gamma_endpoint_send_copy(
		ep->endpoint, flow, post->iov, (unsigned) post->count, &envelope,
		polls || gamma_progress_thread_can_flush(ep->domain), post->flags & FI_MORE);
	if (how == GAMMA_COPIED_NOT)
		return false;
	if (how == GAMMA_COPIED_DELAYED && !polls)
		gamma_progress_thread_set_flush_timer(ep->domain);
	if (notify)
		gamma_completion_write_sent(ep, post, len, how == GAMMA_COPIED_DELAYED);
	return true;
}

static void fill_send(struct gamma_fi_ep *ep, struct gamma_tx *tx, const struct gamma_post *post,
		      uint64_t len)
{
	struct gamma_send *send = &tx->send;

	for (size_t i = 0; i < post->count; i++)
		send->iov[i] = post->iov[i];
	send->iov_count = (unsigned) post->count;
	send->envelope = envelope_of(post, len);
	send->level = completion_level_of(post->flags);
	send->fence = post->flags & FI_FENCE;
	send->more = post->flags & FI_MORE;
	tx->context = post->context;
	tx->flags = FI_SEND | (post->flags & (FI_MSG | FI_TAGGED));
	tx->notify =
		gamma_submit_notifies(post->silent, ep->tx_selective || post->work, post->flags);
	tx->work = post->work;
	send->may_delay = tx->notify && !(post->flags & FI_INJECT);
}

int gamma_submit_copy_tx(struct gamma_tx *tx, const struct iovec *iov, size_t count, uint64_t len)
{
	tx->copy = malloc(len);
	if (!tx->copy)
		return -FI_ENOMEM;
	gamma_iov_read(iov, (unsigned) count, 0, tx->copy, len);
	tx->send.iov[0] = (struct iovec){.iov_base = tx->copy, .iov_len = len};
	tx->send.iov_count = 1;
	return 0;
}

/* The caller may overwrite its buffer when fi_inject returns, though the message still waits. */
static int keep_copy(struct gamma_tx *tx, uint64_t len)
{
	return len ? gamma_submit_copy_tx(tx, tx->send.iov, tx->send.iov_count, len) : 0;
}

void gamma_submit_release_buffer(struct gamma_fi_ep *ep, struct gamma_tx *tx, const bool *done)
{
	if (*done || tx->copy || !keep_copy(tx, tx->send.envelope.length))
		return;
	while (!*done)
		gamma_endpoint_progress(ep->endpoint);
}

static ssize_t send_message(struct gamma_fi_ep *ep, const struct gamma_post *post, uint64_t len)
{
	bool inject = post->silent || post->flags & FI_INJECT;
	struct gamma_flow *flow = gamma_submit_find_flow(ep, post->addr);
	struct gamma_tx *tx;
	bool done = false;
	int ret;

	if (gamma_unlikely(!flow))
		return gamma_av_addr(ep->av, post->addr) ? -FI_ENOMEM : -FI_EINVAL;
	if (gamma_likely(copied_at_once(ep, flow, post, len)))
		return 0;
	tx = gamma_submit_get_tx(ep);
	if (!tx)
		return -FI_ENOMEM;
	fill_send(ep, tx, post, len);
	/* A message that must wait behind others is copied first: afterwards the call could no
	 * longer fail. */
	ret = inject && gamma_send_has_frames(flow) ? keep_copy(tx, len) : 0;
	tx->done = &done;
	if (!ret)
		ret = gamma_endpoint_send(ep->endpoint, flow, &tx->send);
	if (ret) {
		tx->work = NULL;
		gamma_submit_put_tx(ep, tx);
		return ret;
	}
	if (inject)
		gamma_submit_release_buffer(ep, tx, &done);
	if (!done)
		tx->done = NULL;
	return 0;
}

static ssize_t send_locked(struct gamma_fi_ep *ep, const struct gamma_post *post, uint64_t len)
{
	/* A handler cannot wait for room: meanwhile nothing is received. */
	if (gamma_unlikely(ep->tx_used >= ep->tx_size) && !gamma_active_port_run_is_handler(ep)) {
		gamma_progress_poll(ep->domain);
		return -FI_EAGAIN;
	}
	return ep->type == FI_EP_DGRAM ? gamma_dgram_send(ep, post) : send_message(ep, post, len);
}

ssize_t gamma_submit_send(struct gamma_fi_ep_handle *handle, const struct gamma_post *post)
{
	struct gamma_fi_ep *ep = handle->ep;
	int64_t len = gamma_submit_len(post);
	ssize_t ret;

	if (gamma_unlikely(!ep || !ep->transmits))
		return -FI_ENOSYS; /* a receive context */
	if (gamma_unlikely(!ep->enabled))
		return -FI_EOPBADSTATE;
	if (gamma_unlikely(gamma_deferred_work_wanted(handle, post->flags)))
		return gamma_deferred_work_defer(handle, post, false);
	if (gamma_unlikely(len < 0))
		return -FI_EINVAL;
	if ((post->silent || post->flags & FI_INJECT) &&
	    (uint64_t) len > gamma_settings.inject_size)
		return -FI_EMSGSIZE;
	gamma_domain_lock(ep->domain);
	ret = send_locked(ep, post, (uint64_t) len);
	gamma_domain_unlock(ep->domain);
	return ret;
}

/* The shortest path: an inline shm message to a shm peer with a known flow, without completion. */
static bool inject_shm(struct gamma_fi_ep *ep, const struct iovec *iov, size_t count,
		       const struct gamma_envelope *envelope, fi_addr_t dest)
{
	bool sent;

	gamma_domain_lock(ep->domain);
	sent = dest < ep->flow_count && ep->flows[dest] &&
	       gamma_endpoint_send_shm(ep->endpoint, ep->flows[dest], iov, (unsigned) count,
				       envelope);
	gamma_domain_unlock(ep->domain);
	return sent;
}

ssize_t gamma_submit_send_to_port(struct gamma_fi_ep_handle *handle, const struct gamma_post *post,
				  uint64_t len)
{
	struct gamma_fi_ep *ep = handle->ep;
	struct gamma_envelope envelope = envelope_of(post, len);

	if ((post->flags & ~(FI_MSG | GAMMA_POST_TO_PORT)) == FI_INJECT && ep->tx_selective &&
	    ep->fast_inject && !handle->work && len <= gamma_settings.inject_size &&
	    inject_shm(ep, post->iov, post->count, &envelope, post->addr))
		return 0;
	return gamma_submit_send(handle, post);
}

static ssize_t inject_any(struct gamma_fi_ep_handle *handle, const void *buf,
			  const struct gamma_envelope *envelope, fi_addr_t dest, uint64_t kind)
{
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = envelope->length};
	uint64_t multicast = handle->tx_flags & FI_MULTICAST; /* it says what dest is */
	struct gamma_post post = {
		.iov = &iov,
		.count = 1,
		.addr = dest,
		.tag = envelope->tag,
		.data = envelope->data,
		.flags = kind | multicast,
		.silent = true,
	};

	return gamma_submit_send(handle, &post);
}

ssize_t gamma_submit_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
			    uint64_t tag, uint64_t data, uint64_t kind)
{
	struct gamma_fi_ep_handle *handle = gamma_ep_handle_of(fid);
	struct gamma_fi_ep *ep = handle->ep;
	struct gamma_envelope envelope = {
		.tag = tag, .data = data, .length = len, .flags = envelope_flags(kind)};
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};

	if (gamma_likely(ep && ep->fast_inject && !handle->work &&
			 len <= gamma_settings.inject_size) &&
	    gamma_likely(inject_shm(ep, &iov, 1, &envelope, dest)))
		return 0;
	return inject_any(handle, buf, &envelope, dest, kind);
}

/* ---- receives ---- */

void gamma_submit_fill_rx(const struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx,
			  const struct gamma_post *post, uint64_t capacity)
{
	for (size_t i = 0; i < post->count; i++)
		rx->recv.iov[i] = post->iov[i];
	rx->recv.iov_count = (unsigned) post->count;
	rx->recv.capacity = capacity;
	rx->context = post->context;
	rx->flags = FI_RECV | (post->flags & (FI_MSG | FI_TAGGED));
	rx->tag = post->tag;
	rx->ignore = post->ignore;
	rx->source = rx_ctx->directed ? post->addr : FI_ADDR_UNSPEC;
	rx->wanted = post->flags & FI_COMPLETION;
	rx->work = post->work;
}

static ssize_t post_recv_locked(struct gamma_rx_ctx *rx_ctx, const struct gamma_post *post,
				uint64_t capacity)
{
	struct gamma_rx *rx;

	if (gamma_unlikely(rx_ctx->used >= rx_ctx->size)) {
		gamma_progress_poll(rx_ctx->domain);
		return rx_ctx->error ? rx_ctx->error : -FI_EAGAIN;
	}
	rx = gamma_submit_get_rx(rx_ctx, NULL);
	if (!rx)
		return -FI_ENOMEM;
	gamma_submit_fill_rx(rx_ctx, rx, post, capacity);
	if (gamma_unlikely(post->flags & FI_MULTI_RECV && post->flags & FI_MSG) &&
	    gamma_multi_recv_open(rx_ctx, rx)) {
		rx->work = NULL;
		gamma_submit_put_rx(rx_ctx, rx);
		return -FI_ENOMEM;
	}
	if (!gamma_list_empty(&rx_ctx->datagrams))
		gamma_dgram_post(rx_ctx, rx);
	else
		gamma_match_post(rx_ctx, rx);
	return 0;
}

ssize_t gamma_submit_recv(struct gamma_fi_ep_handle *handle, const struct gamma_post *post)
{
	struct gamma_rx_ctx *rx_ctx = gamma_ep_handle_rx(handle);
	bool no_buffer = post->flags & (FI_PEEK | FI_DISCARD); /* whatever the list says */
	int64_t capacity = no_buffer ? 0 : gamma_submit_len(post);
	ssize_t ret;

	if (gamma_unlikely(handle->ep && !handle->ep->enabled))
		return -FI_EOPBADSTATE;
	/* The shared context is where its receives go; a transmit context has none. */
	if (gamma_unlikely(handle->ep != rx_ctx->ep || (handle->ep && !handle->ep->receives)))
		return -FI_ENOSYS;
	if (gamma_unlikely(gamma_deferred_work_wanted(handle, post->flags)))
		return gamma_deferred_work_defer(handle, post, true);
	if (gamma_unlikely(capacity < 0))
		return -FI_EINVAL;
	/* Multi-receive buffers are one contiguous range. */
	if (gamma_unlikely(post->flags & FI_MULTI_RECV) && post->flags & FI_MSG && post->count != 1)
		return -FI_EINVAL;
	gamma_domain_lock(rx_ctx->domain);
	if (gamma_unlikely(post->flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)))
		ret = gamma_match_peek(rx_ctx, post);
	else
		ret = post_recv_locked(rx_ctx, post, (uint64_t) capacity);
	gamma_domain_unlock(rx_ctx->domain);
	return ret;
}
