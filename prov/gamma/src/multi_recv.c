// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Buffers for many messages (FI_MULTI_RECV): each message takes the next slice. The buffer is
 * released to the user when too little of it is left and all slices are complete. Called by
 * submit.c and match.c.
 */
#include "ep.h"

int gamma_multi_recv_open(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx)
{
	rx->spare = gamma_submit_get_rx(rx_ctx, rx);
	rx->multi = rx->spare;
	rx->consumed = rx->released = false;
	rx->slices = 0;
	rx->error = 0;
	return rx->spare ? 0 : -FI_ENOMEM;
}

void gamma_multi_recv_close(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *parent)
{
	struct gamma_rx *spare = parent->spare;

	parent->spare = NULL;
	if (!spare)
		return;
	spare->parent = NULL;
	rx_ctx->used++; /* slices do not count */
	gamma_submit_put_rx(rx_ctx, spare);
}

GAMMA_NOINLINE static void consume_buffer(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *parent)
{
	gamma_multi_recv_close(rx_ctx, parent);
	parent->consumed = true;
	gamma_match_unlist(parent);
	gamma_list_append(&rx_ctx->matched, &parent->entry);
}

static bool is_used_up(const struct gamma_rx_ctx *rx_ctx, const struct gamma_rx *parent)
{
	return parent->recv.capacity < gamma_max(rx_ctx->min_multi, 1);
}

static void cut_slice(struct gamma_rx *parent, struct gamma_rx *slice, uint64_t length)
{
	struct iovec *rest = &parent->recv.iov[0];

	length = gamma_min(length, rest->iov_len);
	slice->parent = parent;
	slice->work = NULL;
	slice->recv.iov[0] = (struct iovec){.iov_base = rest->iov_base, .iov_len = length};
	slice->recv.iov_count = 1;
	slice->recv.capacity = length;
	slice->context = parent->context;
	slice->flags = parent->flags;
	slice->tag = slice->ignore = 0;
	slice->source = parent->source;
	slice->wanted = parent->wanted;
	rest->iov_base = (char *) rest->iov_base + length;
	rest->iov_len -= length;
	parent->recv.capacity = rest->iov_len;
	parent->slices++;
}

/* Without memory for the next slice the buffer is released early. */
static struct gamma_rx *take_slice(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *parent,
				   uint64_t length)
{
	struct gamma_rx *slice = parent->spare;

	parent->spare = gamma_submit_get_rx(rx_ctx, parent);
	cut_slice(parent, slice, length);
	if (!parent->spare || is_used_up(rx_ctx, parent))
		consume_buffer(rx_ctx, parent);
	return slice;
}

struct gamma_rx *gamma_multi_recv_take(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep,
				       struct gamma_rx *posted, uint64_t length)
{
	struct gamma_rx *taken = posted;

	if (gamma_unlikely(posted->multi))
		taken = take_slice(rx_ctx, posted, length);
	else
		gamma_match_unlist(posted);
	taken->ep = ep;
	gamma_list_append(&rx_ctx->matched, &taken->entry);
	return taken;
}

bool gamma_multi_recv_releases(const struct gamma_rx *rx)
{
	const struct gamma_rx *parent = rx->parent;

	return parent && parent->consumed && parent->slices == 1 && !parent->error;
}

/* All slices are complete: report it unless the last one's completion did. */
static void end_buffer(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep, struct gamma_rx *parent)
{
	bool silent = parent->released || !ep || (ep->closing && ep == rx_ctx->ep);

	if (!silent && parent->error)
		gamma_completion_write_unmatched(ep, parent, parent->error);
	else if (!silent)
		gamma_completion_write_release(ep, parent);
	gamma_submit_put_rx(rx_ctx, parent);
}

void gamma_multi_recv_stop(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep,
			   struct gamma_rx *parent, int error)
{
	parent->error = error;
	consume_buffer(rx_ctx, parent);
	if (!parent->slices)
		end_buffer(rx_ctx, ep, parent);
}

static void end_slice(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep, struct gamma_rx *parent)
{
	parent->slices--;
	if (parent->consumed && !parent->slices)
		end_buffer(rx_ctx, ep, parent);
}

void gamma_multi_recv_put(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *slice)
{
	end_slice(rx_ctx, slice->ep, slice->parent);
}

/* The slice is complete at once and needs no receive from the pool. */
uint64_t gamma_multi_recv_place(struct gamma_fi_ep *ep, struct gamma_rx *parent,
				const struct gamma_envelope *envelope, const uint8_t *bytes,
				fi_addr_t source, const struct gamma_addr *source_addr)
{
	struct gamma_rx slice;
	uint64_t placed;

	cut_slice(parent, &slice, envelope->length);
	placed = slice.recv.capacity;
	if (placed)
		memcpy(slice.recv.iov[0].iov_base, bytes, placed);
	if (gamma_unlikely(is_used_up(ep->rx, parent)))
		consume_buffer(ep->rx, parent);
	gamma_completion_write_rx(ep, &slice, envelope, placed, 0, source, source_addr);
	end_slice(ep->rx, ep, parent);
	return placed;
}
