// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Completions of finished operations: a queue entry, a count, or an error with its cause. */
#include "ep.h"

static void count_completion(struct gamma_cntr *cntr, int error)
{
	if (gamma_likely(!cntr))
		return;
	if (error)
		gamma_cntr_add_error(cntr, 1);
	else
		gamma_cntr_add(cntr, 1);
}

struct gamma_cntr *gamma_completion_cntr(const struct gamma_fi_ep *ep, uint64_t flags)
{
	return ep->cntrs[flags & FI_SEND   ? GAMMA_CNTR_SEND
			 : flags & FI_RECV ? GAMMA_CNTR_RECV
			 : flags & FI_READ ? GAMMA_CNTR_READ
					   : GAMMA_CNTR_WRITE];
}

static void write_tx(struct gamma_fi_ep *ep, const struct gamma_tx *tx, int error)
{
	struct gamma_completion completion = {
		.context = tx->context,
		.flags = tx->flags,
		.len = tx->send.envelope.length,
		.tag = tx->send.envelope.tag,
		.data = tx->send.envelope.data,
		.source = FI_ADDR_NOTAVAIL,
	};

	if (gamma_unlikely(error))
		gamma_cq_write_error(ep->tx_cq, &completion, -error, 0,
				     error == -FI_ECANCELED ? NULL : ep->cause);
	else
		gamma_cq_write(ep->tx_cq, completion);
}

void gamma_completion_write_tx(struct gamma_fi_ep *ep, const struct gamma_tx *tx, int error)
{
	if (ep->closing ||
	    (gamma_unlikely(tx->work) && !gamma_deferred_work_complete(tx->work, error)))
		return;
	count_completion(gamma_completion_cntr(ep, tx->flags), error);
	if (ep->tx_cq && (tx->notify || error))
		write_tx(ep, tx, error);
}

void gamma_completion_write_sent(struct gamma_fi_ep *ep, const struct gamma_post *post,
				 uint64_t len, bool waits)
{
	struct gamma_completion completion = {
		.context = post->context,
		.flags = FI_SEND | (post->flags & (FI_MSG | FI_TAGGED)),
		.len = len,
		.tag = post->tag,
		.data = post->data,
		.source = FI_ADDR_NOTAVAIL,
	};

	if (!ep->tx_cq)
		return;
	if (waits)
		gamma_cq_hold_from_here(ep->tx_cq);
	gamma_cq_write(ep->tx_cq, completion);
}

void gamma_completion_write_unknown_source(struct gamma_fi_ep *ep,
					   const struct gamma_completion *completion,
					   const struct gamma_addr *source)
{
	struct gamma_addr shown = *source;

	gamma_endpoint_show_addr(ep->endpoint, &shown);
	gamma_cq_write_unknown_source(ep->rx_cq, completion, &shown);
}

GAMMA_NOINLINE static void write_rx_error(struct gamma_fi_ep *ep,
					  struct gamma_completion completion, uint64_t lost,
					  int error, const struct gamma_addr *source)
{
	if (error) {
		gamma_cq_write_error(ep->rx_cq, &completion, -error, 0, ep->cause);
	} else if (lost) {
		gamma_cq_write_error(ep->rx_cq, &completion, FI_ETRUNC, lost, NULL);
	} else {
		gamma_completion_write_unknown_source(ep, &completion, source);
	}
}

/* False: no entry was wanted. The completion is passed by value so that a success is built in the
 * queue. */
static inline bool write_rx(struct gamma_fi_ep *ep, const struct gamma_rx *rx,
			    struct gamma_completion completion, uint64_t lost, int error,
			    const struct gamma_addr *source)
{
	bool unknown = ep->source_err && completion.source == FI_ADDR_NOTAVAIL;

	if (gamma_unlikely(error || lost || unknown))
		write_rx_error(ep, completion, lost, error, source);
	else if (rx->wanted || !ep->rx_selective)
		gamma_cq_write(ep->rx_cq, completion);
	else
		return false;
	return true;
}

void gamma_completion_write_rx(struct gamma_fi_ep *ep, struct gamma_rx *rx,
			       const struct gamma_envelope *envelope, uint64_t placed, int error,
			       fi_addr_t source, const struct gamma_addr *source_addr)
{
	uint64_t lost = error ? 0 : envelope->length - placed;
	bool releases = gamma_multi_recv_releases(rx);
	int result = error;
	struct gamma_completion completion = {
		.context = rx->context,
		.flags = rx->flags | (envelope->flags & GAMMA_HAS_DATA ? FI_REMOTE_CQ_DATA : 0) |
			 (envelope->flags & GAMMA_TO_GROUP ? FI_MULTICAST : 0) |
			 (releases ? FI_MULTI_RECV : 0),
		.len = placed,
		.buf = rx->recv.iov_count ? rx->recv.iov[0].iov_base : NULL,
		.data = envelope->data,
		.tag = envelope->tag,
		.source = source,
	};

	if (ep->closing)
		return;
	if (lost)
		result = -FI_ETRUNC;
	if (gamma_unlikely(rx->work) && !gamma_deferred_work_complete(rx->work, result))
		return;
	count_completion(ep->cntrs[GAMMA_CNTR_RECV], result);
	if (ep->rx_cq && write_rx(ep, rx, completion, lost, error, source_addr) && releases)
		rx->parent->released = true;
}

void gamma_completion_write_unmatched(struct gamma_fi_ep *ep, const struct gamma_rx *rx, int error)
{
	struct gamma_completion completion = {
		.context = rx->context,
		.flags = rx->flags | (rx->multi ? FI_MULTI_RECV : 0),
		.tag = rx->tag,
		.buf = rx->recv.iov_count ? rx->recv.iov[0].iov_base : NULL,
		.source = FI_ADDR_NOTAVAIL,
	};

	if (gamma_unlikely(rx->work) && !gamma_deferred_work_complete(rx->work, -error))
		return;
	count_completion(ep->cntrs[GAMMA_CNTR_RECV], -error);
	if (ep->rx_cq)
		gamma_cq_write_error(ep->rx_cq, &completion, error, 0,
				     error == FI_ECANCELED ? NULL : ep->cause);
}

void gamma_completion_write_release(struct gamma_fi_ep *ep, const struct gamma_rx *parent)
{
	struct gamma_completion completion = {
		.context = parent->context,
		.flags = FI_MULTI_RECV,
		.source = FI_ADDR_NOTAVAIL,
	};

	if (ep->rx_cq)
		gamma_cq_write(ep->rx_cq, completion);
}
