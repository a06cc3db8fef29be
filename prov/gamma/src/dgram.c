// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Best-effort endpoints: a message is a frame, sent once. Receives are served in the order of
 * posting; a few messages that come before their receive are kept, further ones are lost.
 */
#include "ep.h"

#include <stdlib.h>

enum { KEPT_MAX = 1024 }; /* messages kept for receives that are not posted yet */

struct gamma_unexpected_datagram {
	struct gamma_list entry;
	struct gamma_fi_ep *ep; /* to which it came */
	struct gamma_addr source;
	struct gamma_envelope envelope;
	uint8_t payload[];
};

ssize_t gamma_dgram_send(struct gamma_fi_ep *ep, const struct gamma_post *post)
{
	const struct gamma_group *group =
		post->flags & FI_MULTICAST ? gamma_mc_find(ep, post->addr) : NULL;
	const struct gamma_addr *addr = post->addr == GAMMA_ACTIVE_PORT_SENDER
						? &ep->ports.datagram_sender
						: gamma_av_addr(ep->av, post->addr);
	struct gamma_envelope envelope = {
		.tag = post->tag,
		.data = post->data,
		.length = (uint64_t) gamma_submit_len(post),
		.flags = (post->flags & FI_REMOTE_CQ_DATA ? GAMMA_HAS_DATA : 0) |
			 (post->flags & GAMMA_POST_TO_PORT ? GAMMA_TAGGED | GAMMA_TO_PORT : 0),
	};
	struct gamma_tx tx; /* only what its completion needs */
	int ret;

	if (post->flags & FI_MULTICAST ? !group : !addr)
		return -FI_EINVAL;
	if (group)
		ret = gamma_endpoint_send_group(ep->endpoint, group, post->iov,
						(unsigned) post->count, &envelope);
	else
		ret = gamma_endpoint_send_datagram(ep->endpoint, addr, post->iov,
						   (unsigned) post->count, &envelope);
	if (ret == -EAGAIN)
		gamma_progress_poll(ep->domain);
	if (ret)
		return ret;
	tx.context = post->context;
	tx.flags = FI_SEND | FI_MSG | (group ? FI_MULTICAST : 0);
	tx.notify =
		gamma_submit_notifies(post->silent, ep->tx_selective || post->work, post->flags);
	tx.work = post->work;
	tx.send.envelope = envelope;
	gamma_completion_write_tx(ep, &tx, 0);
	gamma_deferred_work_free(tx.work);
	return 0;
}

static void deliver_datagram(struct gamma_fi_ep *ep, struct gamma_rx *rx,
			     const struct gamma_addr *source, const struct gamma_envelope *envelope,
			     const uint8_t *payload)
{
	uint64_t placed =
		gamma_iov_write(rx->recv.iov, rx->recv.iov_count, 0, payload, envelope->length);
	fi_addr_t fi_addr = ep->want_source ? gamma_av_find(ep->av, source) : FI_ADDR_NOTAVAIL;

	gamma_completion_write_rx(ep, rx, envelope, placed, 0, fi_addr, source);
	gamma_submit_put_rx(ep->rx, rx);
}

void gamma_dgram_arrived(void *context, const struct gamma_addr *source,
			 const struct gamma_envelope *envelope, const uint8_t *payload)
{
	struct gamma_fi_ep *ep = context;
	struct gamma_rx_ctx *rx_ctx = ep->rx;
	struct gamma_unexpected_datagram *kept;
	struct gamma_rx *rx;

	if (gamma_unlikely(envelope->flags & GAMMA_TO_PORT)) {
		gamma_active_port_run_datagram(ep, source, envelope, payload);
		return;
	}
	if (!gamma_list_empty(&rx_ctx->posted_msg)) {
		rx = gamma_list_first(&rx_ctx->posted_msg, struct gamma_rx, entry);
		rx = gamma_multi_recv_take(rx_ctx, ep, rx, envelope->length);
		deliver_datagram(ep, rx, source, envelope, payload);
		return;
	}
	if (rx_ctx->datagram_count >= KEPT_MAX)
		return;
	kept = malloc(sizeof(*kept) + envelope->length);
	if (!kept)
		return;
	kept->ep = ep;
	kept->source = *source;
	kept->envelope = *envelope;
	memcpy(kept->payload, payload, envelope->length);
	gamma_list_append(&rx_ctx->datagrams, &kept->entry);
	rx_ctx->datagram_count++;
}

static struct gamma_unexpected_datagram *first_kept(const struct gamma_rx_ctx *rx_ctx)
{
	return gamma_list_first(&rx_ctx->datagrams, struct gamma_unexpected_datagram, entry);
}

static void drop_first(struct gamma_rx_ctx *rx_ctx)
{
	struct gamma_unexpected_datagram *kept = first_kept(rx_ctx);

	gamma_list_remove(&kept->entry);
	rx_ctx->datagram_count--;
	free(kept);
}

/* A multi-receive buffer takes as many messages as fit; the program may post it again with the
 * last. */
void gamma_dgram_post(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx)
{
	bool used_up = false;

	gamma_list_append(&rx_ctx->posted_msg, &rx->entry);
	while (!used_up && !gamma_list_empty(&rx_ctx->datagrams)) {
		struct gamma_unexpected_datagram *kept = first_kept(rx_ctx);
		struct gamma_rx *taken =
			gamma_multi_recv_take(rx_ctx, kept->ep, rx, kept->envelope.length);

		used_up = taken == rx || rx->consumed;
		deliver_datagram(kept->ep, taken, &kept->source, &kept->envelope, kept->payload);
		drop_first(rx_ctx);
	}
}

void gamma_dgram_move(struct gamma_fi_ep *ep, struct gamma_rx_ctx *from, struct gamma_rx_ctx *to)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, &from->datagrams) {
		if (gamma_list_entry(pos, struct gamma_unexpected_datagram, entry)->ep != ep)
			continue;
		gamma_list_remove(pos);
		gamma_list_append(&to->datagrams, pos);
		from->datagram_count--;
		to->datagram_count++;
	}
}

void gamma_dgram_drop(struct gamma_rx_ctx *rx_ctx)
{
	while (!gamma_list_empty(&rx_ctx->datagrams))
		drop_first(rx_ctx);
}
