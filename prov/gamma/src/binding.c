// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Objects that an endpoint is bound to: queues, counters, the address vector, shared contexts. It
 * holds a reference to each until it is closed.
 */
#include "ep.h"

static int bind_cq(struct gamma_fi_ep *ep, struct gamma_cq *cq, uint64_t flags)
{
	if (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION) ||
	    !(flags & (FI_TRANSMIT | FI_RECV)))
		return -FI_EBADFLAGS;
	if ((flags & FI_TRANSMIT && ep->tx_cq) || (flags & FI_RECV && ep->rx_cq) ||
	    cq->domain != ep->domain)
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
		gamma_refs_take(&cq->refs);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
		gamma_refs_take(&cq->refs);
	}
	return 0;
}

static int bind_cntr(struct gamma_fi_ep *ep, struct gamma_cntr *cntr, uint64_t flags)
{
	static const uint64_t events[GAMMA_CNTR_COUNT] = {
		[GAMMA_CNTR_SEND] = FI_SEND,
		[GAMMA_CNTR_RECV] = FI_RECV,
		[GAMMA_CNTR_READ] = FI_READ,
		[GAMMA_CNTR_WRITE] = FI_WRITE,
		[GAMMA_CNTR_REMOTE_READ] = FI_REMOTE_READ,
		[GAMMA_CNTR_REMOTE_WRITE] = FI_REMOTE_WRITE,
	};
	uint64_t known = 0, counted = 0;

	for (unsigned i = 0; i < GAMMA_CNTR_COUNT; i++) {
		known |= events[i];
		counted |= ep->cntrs[i] ? events[i] : 0;
	}
	if (!flags || flags & ~known)
		return -FI_EBADFLAGS;
	if (flags & counted || cntr->domain != ep->domain)
		return -FI_EINVAL;
	for (unsigned i = 0; i < GAMMA_CNTR_COUNT; i++) {
		if (!(flags & events[i]))
			continue;
		ep->cntrs[i] = cntr;
		gamma_refs_take(&cntr->refs);
	}
	/* Of an enabled endpoint too: from now on injected messages are counted. */
	ep->fast_inject = ep->fast_inject && !ep->cntrs[GAMMA_CNTR_SEND];
	return 0;
}

static int bind_av(struct gamma_fi_ep *ep, struct gamma_av *av)
{
	if (ep->av || ep->sep || av->domain != ep->domain)
		return -FI_EINVAL;
	ep->av = av;
	gamma_refs_take(&av->refs);
	return 0;
}

static int bind_eq(struct gamma_fi_ep *ep, struct gamma_eq *eq)
{
	if (ep->eq)
		return -FI_EINVAL;
	ep->eq = eq;
	gamma_refs_take(&eq->refs);
	return 0;
}

/* Only if the info has asked for it, and only one. */
static int bind_srx(struct gamma_fi_ep *ep, struct gamma_srx *srx)
{
	if (!ep->shares_rx || ep->srx || srx->rx.domain != ep->domain)
		return -FI_EINVAL;
	ep->srx = srx;
	ep->rx = &srx->rx;
	gamma_refs_take(&srx->refs);
	return 0;
}

/*
 * OpenSHMEM binds one even to an endpoint whose info has not asked for it, and closes the context
 * first: such an endpoint keeps no reference.
 */
static int bind_stx(struct gamma_fi_ep *ep, struct gamma_stx *stx)
{
	if (ep->stx || stx->domain != ep->domain)
		return -FI_EINVAL;
	if (!ep->shares_tx)
		return 0;
	ep->stx = stx;
	gamma_refs_take(&stx->refs);
	return 0;
}

static struct gamma_fi_ep *ep_of(struct fid *fid)
{
	return gamma_container_of(fid, struct gamma_fi_ep_handle, fid.fid)->ep;
}

int gamma_binding_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct gamma_fi_ep *ep = ep_of(fid);
	int ret;

	/* Some programs bind these after enabling. */
	if (ep->enabled && other->fclass != FI_CLASS_CNTR && other->fclass != FI_CLASS_STX_CTX)
		return -FI_EOPBADSTATE;
	switch (other->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, gamma_container_of(other, struct gamma_cq, cq_fid.fid), flags);
	case FI_CLASS_CNTR:
		gamma_domain_lock(ep->domain);
		ret = bind_cntr(ep, gamma_container_of(other, struct gamma_cntr, cntr_fid.fid),
				flags);
		gamma_domain_unlock(ep->domain);
		return ret;
	case FI_CLASS_AV:
		return bind_av(ep, gamma_container_of(other, struct gamma_av, av_fid.fid));
	case FI_CLASS_EQ:
		return bind_eq(ep, gamma_container_of(other, struct gamma_eq, eq_fid.fid));
	case FI_CLASS_SRX_CTX:
		return bind_srx(ep, gamma_container_of(other, struct gamma_srx, handle.fid.fid));
	case FI_CLASS_STX_CTX:
		return bind_stx(ep, gamma_container_of(other, struct gamma_stx, stx_fid.fid));
	}
	return -FI_EINVAL;
}

void gamma_binding_undo(struct gamma_fi_ep *ep)
{
	if (ep->tx_cq)
		gamma_refs_drop(&ep->tx_cq->refs);
	if (ep->rx_cq)
		gamma_refs_drop(&ep->rx_cq->refs);
	if (ep->av)
		gamma_refs_drop(&ep->av->refs);
	if (ep->eq)
		gamma_refs_drop(&ep->eq->refs);
	if (ep->srx)
		gamma_refs_drop(&ep->srx->refs);
	if (ep->stx)
		gamma_refs_drop(&ep->stx->refs);
	for (int i = 0; i < GAMMA_CNTR_COUNT; i++)
		if (ep->cntrs[i])
			gamma_refs_drop(&ep->cntrs[i]->refs);
}
