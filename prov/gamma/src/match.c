// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Arriving messages and posted receives: each message takes the oldest receive that fits, each
 * receive the oldest message that came before it. Called by the engine (handlers) and by submit.c.
 */
#include "ep.h"
#include "report.h"

static bool is_tagged(const struct gamma_envelope *envelope)
{
	return envelope->flags & GAMMA_TAGGED;
}

static struct gamma_list *posted_for(struct gamma_rx_ctx *rx_ctx, bool tagged)
{
	return tagged ? &rx_ctx->posted_tagged : &rx_ctx->posted_msg;
}

static struct gamma_list *unexpected_for(struct gamma_rx_ctx *rx_ctx, bool tagged)
{
	return tagged ? &rx_ctx->unexpected_tagged : &rx_ctx->unexpected_msg;
}

static struct gamma_fi_ep *ep_of(const struct gamma_flow *flow)
{
	return gamma_message_local(flow->local)->context;
}

void gamma_match_unlist(struct gamma_rx *rx)
{
	gamma_list_remove(&rx->entry);
	if (rx->flow)
		rx->flow->expected--;
	rx->flow = NULL;
}

/* Only that peer is expected to send for this receive. */
static void expect_from(struct gamma_rx *rx, struct gamma_flow *flow)
{
	if (rx->flow)
		rx->flow->expected--;
	rx->flow = flow;
	flow->expected++;
}

static bool receive_fits(const struct gamma_rx *rx, struct gamma_flow *flow,
			 const struct gamma_envelope *envelope)
{
	if (is_tagged(envelope) && (envelope->tag | rx->ignore) != (rx->tag | rx->ignore))
		return false;
	return gamma_source_fits(rx, flow);
}

/* ---- the engine's side ---- */

/* The oldest receive that fits, or NULL. */
static struct gamma_rx *find_posted_for(struct gamma_fi_ep *ep, struct gamma_flow *flow,
					const struct gamma_envelope *envelope)
{
	struct gamma_list *pos;

	if (gamma_unlikely(envelope->flags & GAMMA_TO_PORT))
		return NULL;
	gamma_list_for_each (pos, posted_for(ep->rx, is_tagged(envelope))) {
		struct gamma_rx *rx = gamma_list_entry(pos, struct gamma_rx, entry);

		if (receive_fits(rx, flow, envelope))
			return rx;
	}
	return NULL;
}

static fi_addr_t source_of(struct gamma_fi_ep *ep, struct gamma_flow *flow)
{
	return ep->want_source ? gamma_source_of(ep, flow) : FI_ADDR_NOTAVAIL;
}

GAMMA_FLATTEN static uint64_t on_deliver(void *context, struct gamma_flow *flow,
					 const struct gamma_envelope *envelope,
					 const uint8_t *bytes)
{
	struct gamma_fi_ep *ep = context;
	struct gamma_rx *rx = find_posted_for(ep, flow, envelope);
	uint64_t placed;

	if (gamma_unlikely(!rx && gamma_coll_is_ours(envelope)))
		return gamma_coll_run_deliver(ep, flow, envelope, bytes);
	if (gamma_unlikely(!rx))
		return envelope->flags & GAMMA_TO_PORT &&
				       gamma_active_port_run_lend(ep, flow, envelope, bytes)
			       ? 0
			       : GAMMA_UNMATCHED;
	if (rx->multi)
		return gamma_multi_recv_place(ep, rx, envelope, bytes, source_of(ep, flow),
					      &flow->addr);
	gamma_match_unlist(rx);
	placed = gamma_iov_write(rx->recv.iov, rx->recv.iov_count, 0, bytes, envelope->length);
	gamma_completion_write_rx(ep, rx, envelope, placed, 0, source_of(ep, flow), &flow->addr);
	gamma_submit_put_rx(ep->rx, rx);
	return placed;
}

static struct gamma_recv *on_match(void *context, struct gamma_flow *flow,
				   const struct gamma_envelope *envelope)
{
	struct gamma_fi_ep *ep = context;
	struct gamma_rx *rx = find_posted_for(ep, flow, envelope);

	if (gamma_unlikely(!rx && gamma_coll_is_ours(envelope)))
		return gamma_coll_run_match(ep, flow, envelope);
	return rx ? &gamma_multi_recv_take(ep->rx, ep, rx, envelope->length)->recv : NULL;
}

static void on_unexpected(void *context, struct gamma_inbound *inbound)
{
	struct gamma_fi_ep *ep = context;

	if (gamma_unlikely(gamma_coll_is_ours(&inbound->envelope)))
		gamma_coll_run_unexpected(ep, inbound);
	else if (gamma_unlikely(inbound->envelope.flags & GAMMA_TO_PORT))
		gamma_active_port_run_later(ep, inbound);
	else
		gamma_list_append(unexpected_for(ep->rx, is_tagged(&inbound->envelope)),
				  &inbound->entry);
}

static void on_received(void *context, struct gamma_recv *recv, struct gamma_flow *flow,
			const struct gamma_envelope *envelope, uint64_t placed, int error)
{
	struct gamma_fi_ep *ep = context;
	struct gamma_rx *rx = gamma_container_of(recv, struct gamma_rx, recv);
	struct gamma_envelope of_data;

	if (gamma_unlikely(gamma_coll_is_ours(envelope))) {
		gamma_coll_run_received(ep, recv, error);
		return;
	}
	if (ep->closing)
		return;
	if (gamma_unlikely(envelope->flags & GAMMA_TO_PORT)) {
		if (gamma_active_port_run_received(ep, recv, error))
			return;
		of_data = *envelope;
		placed = gamma_active_port_run_strip_head(recv, &of_data, placed);
		envelope = &of_data;
	}
	gamma_completion_write_rx(ep, rx, envelope, placed, error, source_of(ep, flow),
				  &flow->addr);
	gamma_submit_put_rx(ep->rx, rx);
}

static void explain_refusal(struct gamma_fi_ep *ep, const struct gamma_flow *flow,
			    enum gamma_refusal refusal)
{
	char name[GAMMA_NAME_LEN];

	snprintf(ep->cause, sizeof(ep->cause), "peer %s: %s",
		 gamma_flow_addr_name(&flow->addr, name),
		 gamma_rma_requester_refusal_name(refusal));
	if (!ep->closing)
		GAMMA_INFO(EP_DATA, "%s: %s\n", ep->domain->nic.name, ep->cause);
}

static void on_sent(void *context, struct gamma_send *send, struct gamma_flow *flow, int error)
{
	struct gamma_fi_ep *ep = context;
	struct gamma_tx *tx = gamma_container_of(send, struct gamma_tx, send);

	if (gamma_unlikely(gamma_coll_is_ours(&send->envelope))) {
		gamma_coll_run_sent(ep, send, error);
		return;
	}
	if (gamma_unlikely(send->rma && send->rma->refusal))
		explain_refusal(ep, flow, send->rma->refusal);
	gamma_completion_write_tx(ep, tx, error);
	if (tx->done)
		*tx->done = true;
	gamma_submit_put_tx(ep, tx);
}

/* A posted receive ends with a positive FI_E*. ep: reports it, or NULL. */
static void end_posted(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep, struct gamma_rx *rx,
		       int error)
{
	if (rx->multi) {
		gamma_multi_recv_stop(rx_ctx, ep, rx, error);
		return;
	}
	gamma_match_unlist(rx);
	if (ep)
		gamma_completion_write_unmatched(ep, rx, error);
	gamma_submit_put_rx(rx_ctx, rx);
}

/* Ends the receives that name this peer. */
static void fail_directed(struct gamma_fi_ep *ep, struct gamma_list *posted,
			  struct gamma_flow *flow, int error)
{
	struct gamma_list *pos, *tmp;

	if (!ep->rx->directed)
		return;
	gamma_list_for_each_safe (pos, tmp, posted) {
		struct gamma_rx *rx = gamma_list_entry(pos, struct gamma_rx, entry);

		if (rx->flow == flow)
			end_posted(ep->rx, ep, rx, -error);
	}
}

/* Errors of no operation go to the endpoint's or the domain's event queue, if there is one. */
static void report_to_eq(struct gamma_fi_ep *ep, int error)
{
	struct gamma_eq *eq = ep->eq ? ep->eq : ep->domain->eq;

	if (eq)
		gamma_eq_report_error(eq, &(struct fi_eq_err_entry){
						  .fid = &ep->handle.fid.fid,
						  .context = ep->handle.fid.fid.context,
						  .err = -error,
						  .prov_errno = GAMMA_PROV_ERRNO_TEXT - error,
						  .err_data = ep->cause,
						  .err_data_size = strlen(ep->cause) + 1,
					  });
}

static void on_failed(void *context, struct gamma_flow *flow, int error, const char *cause)
{
	struct gamma_fi_ep *ep = context;
	char name[GAMMA_NAME_LEN];

	snprintf(ep->cause, sizeof(ep->cause), "peer %s: %s",
		 gamma_flow_addr_name(&flow->addr, name), cause);
	if (ep->closing)
		return;
	/* A program without an event queue may never hear of it, and wait. */
	if (ep->eq || ep->domain->eq)
		GAMMA_WARN(EP_DATA, "%s: %s%s\n", ep->domain->nic.name, ep->cause,
			   gamma_report_cure(error, ep->domain->nic.udp));
	else
		gamma_report("%s: %s%s", ep->domain->nic.name, ep->cause,
			     gamma_report_cure(error, ep->domain->nic.udp));
	fail_directed(ep, &ep->rx->posted_msg, flow, error);
	fail_directed(ep, &ep->rx->posted_tagged, flow, error);
	gamma_coll_run_failed(ep, flow, error, cause);
	/* Injected messages have no completion that could report their loss. */
	report_to_eq(ep, error);
}

/* A shared context goes on as long as one of its endpoints does. */
static bool serves_others(const struct gamma_fi_ep *ep)
{
	struct gamma_list *pos;

	if (!ep->srx)
		return false;
	gamma_list_for_each (pos, &ep->srx->eps) {
		if (!gamma_container_of(pos, struct gamma_fi_ep, srx_entry)->ended)
			return true;
	}
	return false;
}

static void end_all_posted(struct gamma_fi_ep *ep, struct gamma_list *posted, int error)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, posted)
		end_posted(ep->rx, ep, gamma_list_entry(pos, struct gamma_rx, entry), -error);
}

static void on_ended(void *context, int error, const char *cause)
{
	struct gamma_fi_ep *ep = context;

	ep->ended = true;
	snprintf(ep->cause, sizeof(ep->cause), "%s", cause);
	if (ep->closing)
		return;
	GAMMA_WARN(EP_CTRL, "%s: %s\n", ep->domain->nic.name, cause);
	if (!serves_others(ep)) {
		ep->rx->error = error;
		ep->rx->size = 0; /* no further one is taken */
		end_all_posted(ep, &ep->rx->posted_msg, error);
		end_all_posted(ep, &ep->rx->posted_tagged, error);
	}
	report_to_eq(ep, error);
}

static void clear_flow(struct gamma_list *posted, const struct gamma_flow *flow)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, posted) {
		struct gamma_rx *rx = gamma_list_entry(pos, struct gamma_rx, entry);

		if (rx->flow == flow)
			rx->flow = NULL;
	}
}

/* Receives expected from the peer of one flow are now expected from the other's. */
static void hand_over_posted(struct gamma_list *posted, struct gamma_flow *flow,
			     struct gamma_flow *other)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, posted) {
		struct gamma_rx *rx = gamma_list_entry(pos, struct gamma_rx, entry);

		if (rx->flow != flow)
			continue;
		expect_from(rx, other);
		if (!gamma_timers_is_set(other, GAMMA_TIMER_PROBE))
			gamma_loss_rearm(other, gamma_now());
	}
}

/* The flow was made for an address without epoch, or for a NIC whose gammad answered: the other
 * flow takes its place. */
static void on_merged(void *context, struct gamma_flow *flow, struct gamma_flow *other)
{
	struct gamma_fi_ep *ep = context;

	hand_over_posted(&ep->rx->posted_msg, flow, other);
	hand_over_posted(&ep->rx->posted_tagged, flow, other);
	gamma_source_replace(ep, flow, other);
	gamma_active_port_run_replace(ep, flow, other);
	gamma_coll_run_replace(ep, flow, other);
}

static void on_gone(void *context, struct gamma_flow *flow)
{
	struct gamma_fi_ep *ep = context;

	gamma_active_port_run_replace(ep, flow, NULL);
	gamma_coll_run_replace(ep, flow, NULL);
	if (flow->expected) {
		clear_flow(&ep->rx->posted_msg, flow);
		clear_flow(&ep->rx->posted_tagged, flow);
	}
	gamma_source_replace(ep, flow, NULL);
}

const struct gamma_endpoint_handlers gamma_match_handlers = {
	.messages =
		{
			.deliver = on_deliver,
			.match = on_match,
			.unexpected = on_unexpected,
			.received = on_received,
			.sent = on_sent,
			.failed = on_failed,
			.target = &gamma_remote_target,
		},
	.datagram = gamma_dgram_arrived,
	.gone = on_gone,
	.merged = on_merged,
	.ended = on_ended,
};

/* ---- the caller's side ---- */

static struct gamma_inbound *find_unexpected(struct gamma_rx_ctx *rx_ctx, const struct gamma_rx *rx)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, unexpected_for(rx_ctx, rx->flags & FI_TAGGED)) {
		struct gamma_inbound *inbound = gamma_list_entry(pos, struct gamma_inbound, entry);

		if (!inbound->user && receive_fits(rx, inbound->flow, &inbound->envelope))
			return inbound;
	}
	return NULL;
}

/* A receive that names its source is expected from that peer: if the peer is gone, it ends with an
 * error. The peer of an address without epoch may not have started yet. */
static void expect_message(struct gamma_fi_ep *ep, struct gamma_rx *rx)
{
	const struct gamma_addr *addr = gamma_av_addr(ep->av, rx->source);
	struct gamma_flow *flow;
	int error = 0;

	if (!addr)
		return;
	if (addr->epoch == GAMMA_EPOCH_ANY && !gamma_source_flow(ep, rx->source))
		return;
	flow = gamma_submit_find_flow(ep, rx->source);
	if (!flow)
		return;
	if (gamma_unlikely(!gamma_flow_usable(flow)))
		error = gamma_flow_refuse_post(flow);
	expect_from(rx, flow);
	if (gamma_unlikely(error))
		end_posted(ep->rx, ep, rx, -error);
	else if (gamma_unlikely(!gamma_timers_is_set(flow, GAMMA_TIMER_PROBE)))
		gamma_loss_rearm(flow, gamma_now());
}

/* The endpoint that waits for a source: among those that share the receives, preferably one with a
 * flow to it. NULL: there is none yet. */
static struct gamma_fi_ep *endpoint_for_source(const struct gamma_rx_ctx *rx_ctx, fi_addr_t source)
{
	const struct gamma_srx *srx;
	struct gamma_fi_ep *any = NULL;
	struct gamma_list *pos;

	if (gamma_likely(rx_ctx->ep))
		return rx_ctx->ep;
	srx = gamma_container_of(rx_ctx, const struct gamma_srx, rx);
	gamma_list_for_each (pos, &srx->eps) {
		struct gamma_fi_ep *ep = gamma_container_of(pos, struct gamma_fi_ep, srx_entry);

		if (gamma_source_flow(ep, source))
			return ep;
		if (!any && !ep->ended)
			any = ep;
	}
	return any;
}

static void expect_source(const struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx)
{
	struct gamma_fi_ep *ep = endpoint_for_source(rx_ctx, rx->source);

	if (ep)
		expect_message(ep, rx);
}

/* Moves the directed receives of a shared context from an endpoint that leaves to another one;
 * without one that leaves, assigns those that have none yet. */
static void expect_sources(const struct gamma_rx_ctx *rx_ctx, struct gamma_list *posted,
			   const struct gamma_fi_ep *leaves)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, posted) {
		struct gamma_rx *rx = gamma_list_entry(pos, struct gamma_rx, entry);

		if (rx->flow && ep_of(rx->flow) == leaves) {
			rx->flow->expected--;
			rx->flow = NULL;
		}
		if (!rx->flow && rx->source != FI_ADDR_UNSPEC)
			expect_source(rx_ctx, rx);
	}
}

void gamma_match_join(struct gamma_fi_ep *ep)
{
	expect_sources(ep->rx, &ep->rx->posted_msg, NULL);
	expect_sources(ep->rx, &ep->rx->posted_tagged, NULL);
}

/* The message goes to a receive; true: its sender waits for the ACCEPT. */
static bool accept_unexpected(struct gamma_inbound *inbound, struct gamma_rx *rx)
{
	bool announced = inbound->state == GAMMA_INBOUND_ANNOUNCED;

	gamma_list_remove(&inbound->entry);
	inbound->user = NULL;
	gamma_receive_accept(inbound, &rx->recv);
	return announced;
}

/* A multi-receive buffer may be released, and posted again, with the last message it takes. */
void gamma_match_post(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx)
{
	struct gamma_inbound *inbound;
	struct gamma_rx *taken;
	bool used_up = false, announced = false;

	gamma_list_append(posted_for(rx_ctx, rx->flags & FI_TAGGED), &rx->entry);
	while (!used_up && (inbound = find_unexpected(rx_ctx, rx))) {
		taken = gamma_multi_recv_take(rx_ctx, ep_of(inbound->flow), rx,
					      inbound->envelope.length);
		used_up = taken == rx || rx->consumed;
		announced |= accept_unexpected(inbound, taken);
	}
	if (!used_up && gamma_unlikely(rx->source != FI_ADDR_UNSPEC))
		expect_source(rx_ctx, rx);
	if (gamma_unlikely(announced))
		gamma_progress_poll(rx_ctx->domain);
}

/* The completion of a peek: the envelope, without data. */
static void complete_peek(const struct gamma_post *post, struct gamma_inbound *inbound)
{
	const struct gamma_envelope *envelope = &inbound->envelope;
	struct gamma_fi_ep *ep = ep_of(inbound->flow);
	struct gamma_completion completion = {
		.context = post->context,
		.flags = FI_RECV | (post->flags & (FI_MSG | FI_TAGGED)) |
			 (envelope->flags & GAMMA_HAS_DATA ? FI_REMOTE_CQ_DATA : 0),
		.len = envelope->length,
		.tag = envelope->tag,
		.data = envelope->data,
		.source = gamma_source_of(ep, inbound->flow),
	};

	if (ep->rx_cq)
		gamma_cq_write(ep->rx_cq, completion);
}

static void complete_miss(struct gamma_fi_ep *ep, const struct gamma_post *post)
{
	struct gamma_completion completion = {
		.context = post->context,
		.flags = FI_RECV | (post->flags & (FI_MSG | FI_TAGGED)),
		.tag = post->tag,
		.source = FI_ADDR_NOTAVAIL,
	};

	if (ep->rx_cq)
		gamma_cq_write_error(ep->rx_cq, &completion, FI_ENOMSG, 0, NULL);
}

static void discard_unexpected(struct gamma_inbound *inbound)
{
	gamma_list_remove(&inbound->entry);
	inbound->user = NULL;
	gamma_receive_discard(inbound);
}

static struct gamma_inbound *find_claimed(struct gamma_rx_ctx *rx_ctx,
					  const struct gamma_post *post)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, unexpected_for(rx_ctx, post->flags & FI_TAGGED)) {
		struct gamma_inbound *inbound = gamma_list_entry(pos, struct gamma_inbound, entry);

		if (inbound->user && inbound->user == post->context)
			return inbound;
	}
	return NULL;
}

static ssize_t receive_claimed(struct gamma_rx_ctx *rx_ctx, const struct gamma_post *post)
{
	struct gamma_inbound *inbound = find_claimed(rx_ctx, post);
	struct gamma_rx *rx;

	if (!inbound)
		return -FI_EINVAL;
	if (post->flags & FI_DISCARD) {
		complete_peek(post, inbound);
		discard_unexpected(inbound);
		return 0;
	}
	rx = gamma_submit_get_rx(rx_ctx, NULL);
	if (!rx)
		return -FI_ENOMEM;
	gamma_submit_fill_rx(rx_ctx, rx, post, (uint64_t) gamma_submit_len(post));
	rx = gamma_multi_recv_take(rx_ctx, ep_of(inbound->flow), rx, inbound->envelope.length);
	if (accept_unexpected(inbound, rx))
		gamma_progress_poll(rx_ctx->domain);
	return 0;
}

static struct gamma_inbound *find_or_progress(struct gamma_rx_ctx *rx_ctx,
					      const struct gamma_post *post)
{
	struct gamma_rx probe = {
		.flags = post->flags & (FI_MSG | FI_TAGGED),
		.tag = post->tag,
		.ignore = post->ignore,
		.source = rx_ctx->directed ? post->addr : FI_ADDR_UNSPEC,
	};
	struct gamma_inbound *inbound = find_unexpected(rx_ctx, &probe);

	if (inbound)
		return inbound;
	gamma_progress_poll(rx_ctx->domain);
	return find_unexpected(rx_ctx, &probe);
}

ssize_t gamma_match_peek(struct gamma_rx_ctx *rx_ctx, const struct gamma_post *post)
{
	struct gamma_fi_ep *ep = gamma_shared_ctx_reporter(rx_ctx);
	struct gamma_inbound *inbound;

	if (!ep)
		return -FI_EOPBADSTATE;
	if (ep->type == FI_EP_DGRAM)
		return -FI_ENOSYS;
	if (!(post->flags & (FI_PEEK | FI_CLAIM)) || (post->flags & FI_CLAIM && !post->context))
		return -FI_EINVAL;
	if (!(post->flags & FI_PEEK))
		return receive_claimed(rx_ctx, post);
	inbound = find_or_progress(rx_ctx, post);
	if (!inbound) {
		complete_miss(ep, post);
		return 0;
	}
	complete_peek(post, inbound);
	if (post->flags & FI_DISCARD)
		discard_unexpected(inbound);
	else if (post->flags & FI_CLAIM) /* for the call that names the same context again */
		inbound->user = post->context;
	return 0;
}

static struct gamma_rx *find_posted(struct gamma_list *posted, void *context)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, posted) {
		struct gamma_rx *rx = gamma_list_entry(pos, struct gamma_rx, entry);

		if (rx->context == context)
			return rx;
	}
	return NULL;
}

/* False: it has matched, or there is none of that context. */
bool gamma_match_cancel(struct gamma_rx_ctx *rx_ctx, void *context)
{
	struct gamma_rx *rx = find_posted(&rx_ctx->posted_tagged, context);

	if (!rx)
		rx = find_posted(&rx_ctx->posted_msg, context);
	if (rx)
		end_posted(rx_ctx, gamma_shared_ctx_reporter(rx_ctx), rx, FI_ECANCELED);
	return rx;
}

/* ---- closing ---- */

static void drop_posted(struct gamma_rx_ctx *rx_ctx, struct gamma_list *posted)
{
	while (!gamma_list_empty(posted)) {
		struct gamma_rx *rx = gamma_list_first(posted, struct gamma_rx, entry);

		gamma_match_unlist(rx);
		if (rx->multi)
			gamma_multi_recv_close(rx_ctx, rx);
		gamma_submit_put_rx(rx_ctx, rx);
	}
}

/* The owner closes: the engine frees the unexpected messages that it holds. */
void gamma_match_drop(struct gamma_rx_ctx *rx_ctx)
{
	drop_posted(rx_ctx, &rx_ctx->posted_msg);
	drop_posted(rx_ctx, &rx_ctx->posted_tagged);
}

static void move_unexpected(struct gamma_fi_ep *ep, struct gamma_list *from, struct gamma_list *to)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, from) {
		struct gamma_inbound *inbound = gamma_list_entry(pos, struct gamma_inbound, entry);

		if (ep_of(inbound->flow) != ep)
			continue;
		gamma_list_remove(pos);
		gamma_list_append(to, pos);
	}
}

static void move_matched(struct gamma_fi_ep *ep, struct gamma_list *from, struct gamma_list *to)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, from) {
		struct gamma_rx *rx = gamma_list_entry(pos, struct gamma_rx, entry);

		if (rx->ep != ep || rx->multi)
			continue;
		gamma_list_remove(pos);
		gamma_list_append(to, pos);
	}
}

void gamma_match_leave(struct gamma_fi_ep *ep)
{
	struct gamma_rx_ctx *from = ep->rx, *to = &ep->own_rx;

	if (from == to) {
		gamma_match_drop(from);
		return;
	}
	expect_sources(from, &from->posted_msg, ep);
	expect_sources(from, &from->posted_tagged, ep);
	move_unexpected(ep, &from->unexpected_msg, &to->unexpected_msg);
	move_unexpected(ep, &from->unexpected_tagged, &to->unexpected_tagged);
	move_matched(ep, &from->matched, &to->matched);
	gamma_dgram_move(ep, from, to);
	ep->rx = to;
}

/* Only now is nothing written to the receives' memory any more. */
void gamma_match_return(struct gamma_fi_ep *ep)
{
	struct gamma_list *matched = &ep->own_rx.matched;

	while (!gamma_list_empty(matched))
		gamma_submit_put_rx(&ep->srx->rx,
				    gamma_list_first(matched, struct gamma_rx, entry));
}
