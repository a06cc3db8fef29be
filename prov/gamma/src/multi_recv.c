// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Buffers for many messages (FI_MULTI_RECV): each message takes a piece, right behind the one
 * before. The buffer is the user's again when too little of it is left and all pieces are complete.
 * Called by post.c and match.c.
 */
#include "ep.h"

int gamma_multi_recv_open(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx)
{
	rx->spare = gamma_rx_ctx_get(rx_ctx, rx);
	rx->multi = rx->spare;
	rx->consumed = rx->released = false;
	rx->pieces = 0;
	rx->error = 0;
	return rx->spare ? 0 : -FI_ENOMEM;
}

void gamma_multi_recv_close(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *whole)
{
	struct gamma_rx *spare = whole->spare;

	whole->spare = NULL;
	if (!spare)
		return;
	spare->whole = NULL;
	rx_ctx->used++; /* it did not count as long as it was a piece */
	gamma_rx_ctx_put(rx_ctx, spare);
}

GAMMA_NOINLINE static void consume(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *whole)
{
	gamma_multi_recv_close(rx_ctx, whole);
	whole->consumed = true;
	gamma_match_unlist(whole);
	gamma_list_append(&rx_ctx->matched, &whole->entry);
}

static bool is_used_up(const struct gamma_rx_ctx *rx_ctx, const struct gamma_rx *whole)
{
	return whole->recv.capacity < gamma_max(rx_ctx->min_multi, 1);
}

static void cut_piece(struct gamma_rx *whole, struct gamma_rx *piece, uint64_t length)
{
	struct iovec *rest = &whole->recv.iov[0];

	length = gamma_min(length, rest->iov_len);
	piece->whole = whole;
	piece->work = NULL;
	piece->recv.iov[0] = (struct iovec){.iov_base = rest->iov_base, .iov_len = length};
	piece->recv.iov_count = 1;
	piece->recv.capacity = length;
	piece->context = whole->context;
	piece->flags = whole->flags;
	piece->tag = piece->ignore = 0;
	piece->source = whole->source;
	piece->wanted = whole->wanted;
	rest->iov_base = (char *) rest->iov_base + length;
	rest->iov_len -= length;
	whole->recv.capacity = rest->iov_len;
	whole->pieces++;
}

/* Without memory for the next piece the buffer is given back early. */
static struct gamma_rx *take_piece(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *whole,
				   uint64_t length)
{
	struct gamma_rx *piece = whole->spare;

	whole->spare = gamma_rx_ctx_get(rx_ctx, whole);
	cut_piece(whole, piece, length);
	if (!whole->spare || is_used_up(rx_ctx, whole))
		consume(rx_ctx, whole);
	return piece;
}

struct gamma_rx *gamma_multi_recv_take(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep,
				       struct gamma_rx *posted, uint64_t length)
{
	struct gamma_rx *taken = posted;

	if (gamma_unlikely(posted->multi))
		taken = take_piece(rx_ctx, posted, length);
	else
		gamma_match_unlist(posted);
	taken->ep = ep;
	gamma_list_append(&rx_ctx->matched, &taken->entry);
	return taken;
}

bool gamma_multi_recv_releases(const struct gamma_rx *rx)
{
	const struct gamma_rx *whole = rx->whole;

	return whole && whole->consumed && whole->pieces == 1 && !whole->error;
}

/* All pieces are complete: unless the last one's completion has said so, the user is told. */
static void end_whole(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep, struct gamma_rx *whole)
{
	bool silent = whole->released || !ep || (ep->closing && ep == rx_ctx->ep);

	if (!silent && whole->error)
		gamma_completion_write_unmatched(ep, whole, whole->error);
	else if (!silent)
		gamma_completion_write_release(ep, whole);
	gamma_rx_ctx_put(rx_ctx, whole);
}

void gamma_multi_recv_stop(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep,
			   struct gamma_rx *whole, int error)
{
	whole->error = error;
	consume(rx_ctx, whole);
	if (!whole->pieces)
		end_whole(rx_ctx, ep, whole);
}

static void end_piece(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep, struct gamma_rx *whole)
{
	whole->pieces--;
	if (whole->consumed && !whole->pieces)
		end_whole(rx_ctx, ep, whole);
}

void gamma_multi_recv_put(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *piece)
{
	end_piece(rx_ctx, piece->ep, piece->whole);
}

/* The piece is complete at once: none of the pool is needed for it. */
uint64_t gamma_multi_recv_place(struct gamma_fi_ep *ep, struct gamma_rx *whole,
				const struct gamma_envelope *envelope, const uint8_t *bytes,
				fi_addr_t source, const struct gamma_addr *source_addr)
{
	struct gamma_rx piece;
	uint64_t placed;

	cut_piece(whole, &piece, envelope->length);
	placed = piece.recv.capacity;
	if (placed)
		memcpy(piece.recv.iov[0].iov_base, bytes, placed);
	if (gamma_unlikely(is_used_up(ep->rx, whole)))
		consume(ep->rx, whole);
	gamma_completion_write_rx(ep, &piece, envelope, placed, 0, source, source_addr);
	end_piece(ep->rx, ep, whole);
	return placed;
}
