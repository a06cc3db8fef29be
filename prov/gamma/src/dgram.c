// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Best-effort endpoints: a message is a frame, sent once. Receives are served in the order of
 * posting; a few messages that come before their receive are kept, further ones are lost.
 */
#include "ep.h"

#include <stdlib.h>

enum { KEPT_MAX = 1024 }; /* messages kept for receives that are not posted yet */

struct gamma_kept_datagram {
	struct gamma_list entry;
	struct gamma_addr source;
	struct gamma_envelope envelope;
	uint8_t payload[];
};

ssize_t gamma_dgram_send(struct gamma_ep *ep, const struct gamma_post *post)
{
	const struct gamma_addr *addr = gamma_av_addr(ep->av, post->addr);
	struct gamma_envelope envelope = {
		.data = post->data,
		.length = (uint64_t) gamma_post_len(post),
		.flags = post->flags & FI_REMOTE_CQ_DATA ? GAMMA_HAS_DATA : 0,
	};
	struct gamma_tx tx = {
		.context = post->context,
		.flags = FI_SEND | FI_MSG,
		.notify = gamma_notifies(post, ep->tx_selective),
		.send.envelope = envelope,
	};
	int ret;

	if (!addr)
		return -FI_EINVAL;
	ret = gamma_endpoint_send_datagram(ep->endpoint, addr, post->iov, (unsigned) post->count,
					   &envelope);
	if (ret == -EAGAIN)
		gamma_domain_progress(ep->domain);
	if (ret)
		return ret;
	gamma_complete_tx(ep, &tx, 0);
	return 0;
}

static void deliver(struct gamma_ep *ep, struct gamma_rx *rx, const struct gamma_addr *source,
		    const struct gamma_envelope *envelope, const uint8_t *payload)
{
	uint64_t placed = gamma_iov_write(rx->recv.iov, rx->recv.iov_count, 0, payload,
					  envelope->length);
	fi_addr_t fi_addr = ep->want_source ? gamma_av_find(ep->av, source) : FI_ADDR_NOTAVAIL;

	gamma_complete_rx(ep, rx, envelope, placed, 0, fi_addr, source);
	gamma_list_remove(&rx->entry);
	gamma_rx_put(ep, rx);
}

void gamma_dgram_arrived(void *context, const struct gamma_addr *source,
			 const struct gamma_envelope *envelope, const uint8_t *payload)
{
	struct gamma_ep *ep = context;
	struct gamma_kept_datagram *kept;

	if (!gamma_list_empty(&ep->posted_msg)) {
		deliver(ep, gamma_list_first(&ep->posted_msg, struct gamma_rx, entry), source,
			envelope, payload);
		return;
	}
	if (ep->datagram_count >= KEPT_MAX)
		return;
	kept = malloc(sizeof(*kept) + envelope->length);
	if (!kept)
		return;
	kept->source = *source;
	kept->envelope = *envelope;
	memcpy(kept->payload, payload, envelope->length);
	gamma_list_append(&ep->datagrams, &kept->entry);
	ep->datagram_count++;
}

static void drop_first(struct gamma_ep *ep)
{
	struct gamma_kept_datagram *kept =
		gamma_list_first(&ep->datagrams, struct gamma_kept_datagram, entry);

	gamma_list_remove(&kept->entry);
	ep->datagram_count--;
	free(kept);
}

void gamma_dgram_post(struct gamma_ep *ep, struct gamma_rx *rx)
{
	struct gamma_kept_datagram *kept;

	if (gamma_list_empty(&ep->datagrams)) {
		gamma_list_append(&ep->posted_msg, &rx->entry);
		return;
	}
	kept = gamma_list_first(&ep->datagrams, struct gamma_kept_datagram, entry);
	deliver(ep, rx, &kept->source, &kept->envelope, kept->payload);
	drop_first(ep);
}

void gamma_dgram_drop(struct gamma_ep *ep)
{
	while (!gamma_list_empty(&ep->datagrams))
		drop_first(ep);
}
