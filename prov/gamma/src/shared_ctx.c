// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Contexts that several endpoints share: for receives, the posted ones and the messages that wait
 * for some (completions go to the queues of the endpoint that a message came to); for sends, a name
 * and no more. Opened through domain.c, bound by ep.c.
 */
#include "ep.h"

#include <stdlib.h>

struct gamma_fi_ep *gamma_shared_ctx_reporter(const struct gamma_rx_ctx *rx_ctx)
{
	const struct gamma_srx *srx;

	if (rx_ctx->ep)
		return rx_ctx->ep;
	srx = gamma_container_of(rx_ctx, const struct gamma_srx, rx);
	if (gamma_list_empty(&srx->eps))
		return NULL;
	return gamma_container_of(srx->eps.next, struct gamma_fi_ep, srx_entry);
}

/* ---- receives ---- */

static struct gamma_srx *srx_of(struct fid *fid)
{
	return gamma_container_of(fid, struct gamma_srx, handle.fid.fid);
}

static int srx_close(struct fid *fid)
{
	struct gamma_srx *srx = srx_of(fid);
	struct gamma_domain *domain = srx->rx.domain;

	if (gamma_refs_any(&srx->refs))
		return -FI_EBUSY;
	gamma_domain_lock(domain);
	gamma_deferred_work_drop(domain, &srx->handle);
	gamma_match_drop(&srx->rx);
	gamma_dgram_drop(&srx->rx);
	gamma_domain_unlock(domain);
	gamma_submit_fini_rx_ctx(&srx->rx);
	gamma_refs_drop(&domain->refs);
	free(srx);
	return 0;
}

/* Completions go to the queues of the endpoints: here nothing is bound. */
static int srx_control(struct fid *fid, int command, void *arg)
{
	struct gamma_fi_ep_handle *handle = &srx_of(fid)->handle;

	switch (command) {
	case FI_ENABLE:
		return 0;
	case FI_GETOPSFLAG:
	case FI_SETOPSFLAG:
		return gamma_options_op_flags(handle, command == FI_SETOPSFLAG, arg);
	}
	return -FI_ENOSYS;
}

static ssize_t srx_cancel(struct fid *fid, void *context)
{
	struct gamma_srx *srx = srx_of(fid);
	struct gamma_domain *domain = srx->rx.domain;

	if (!context)
		return 0;
	gamma_domain_lock(domain);
	if (!gamma_match_cancel(&srx->rx, context))
		gamma_deferred_work_cancel(domain, &srx->handle, context);
	gamma_domain_unlock(domain);
	return 0;
}

static int srx_getopt(struct fid *fid, int level, int option, void *value, size_t *len)
{
	return gamma_options_get(&srx_of(fid)->rx, level, option, value, len);
}

static int srx_setopt(struct fid *fid, int level, int option, const void *value, size_t len)
{
	return gamma_options_set(&srx_of(fid)->rx, level, option, value, len);
}

static ssize_t srx_size_left(struct fid_ep *fid)
{
	struct gamma_rx_ctx *rx_ctx = gamma_ep_handle_of(fid)->rx;
	ssize_t left;

	gamma_domain_lock(rx_ctx->domain);
	left = (ssize_t) (rx_ctx->size - gamma_min(rx_ctx->used, rx_ctx->size));
	gamma_domain_unlock(rx_ctx->domain);
	return left;
}

static struct fi_ops srx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = srx_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = srx_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_ep srx_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = srx_cancel,
	.getopt = srx_getopt,
	.setopt = srx_setopt,
	.tx_ctx = gamma_unsupported_tx_ctx,
	.rx_ctx = gamma_unsupported_rx_ctx,
	.rx_size_left = srx_size_left,
	.tx_size_left = gamma_unsupported_size_left,
};

static void take_rx_attr(struct gamma_srx *srx, const struct fi_rx_attr *attr)
{
	uint64_t caps = attr && attr->caps ? attr->caps : srx->rx.domain->caps;

	srx->rx.directed = caps & FI_DIRECTED_RECV;
	srx->rx.size = attr && attr->size ? attr->size : GAMMA_RX_SIZE;
	srx->handle.rx_flags = attr ? attr->op_flags : 0;
}

static void set_srx_ops(struct fid_ep *fid, void *context)
{
	fid->fid.fclass = FI_CLASS_SRX_CTX;
	fid->fid.context = context;
	fid->fid.ops = &srx_fid_ops;
	fid->ops = &srx_ops;
	fid->cm = &gamma_unsupported_cm_ops;
	fid->msg = &gamma_msg_ops;
	fid->tagged = &gamma_tagged_ops;
	fid->rma = &gamma_unsupported_rma_ops;
	fid->atomic = &gamma_unsupported_atomic_ops;
	fid->collective = &gamma_unsupported_collective_ops;
}

int gamma_shared_ctx_open_rx(struct fid_domain *domain_fid, struct fi_rx_attr *attr,
			     struct fid_ep **srx_fid, void *context)
{
	struct gamma_domain *domain =
		gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	struct gamma_srx *srx;
	int ret = attr ? gamma_attr_check_shared_rx(attr, domain->nic.mtu) : 0;

	if (ret)
		return ret;
	srx = calloc(1, sizeof(*srx));
	if (!srx)
		return -FI_ENOMEM;
	gamma_list_init(&srx->eps);
	gamma_submit_init_rx_ctx(&srx->rx, domain);
	take_rx_attr(srx, attr);
	srx->handle.rx = &srx->rx;
	set_srx_ops(&srx->handle.fid, context);
	gamma_refs_take(&domain->refs);
	*srx_fid = &srx->handle.fid;
	return 0;
}

/* ---- sends ---- */

static int stx_close(struct fid *fid)
{
	struct gamma_stx *stx = gamma_container_of(fid, struct gamma_stx, stx_fid.fid);

	if (gamma_refs_any(&stx->refs))
		return -FI_EBUSY;
	gamma_refs_drop(&stx->domain->refs);
	free(stx);
	return 0;
}

static struct fi_ops stx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = stx_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = gamma_fabric_unsupported_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

int gamma_shared_ctx_open_tx(struct fid_domain *domain_fid, struct fi_tx_attr *attr,
			     struct fid_stx **stx_fid, void *context)
{
	struct gamma_domain *domain =
		gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	struct gamma_stx *stx;
	int ret = attr ? gamma_attr_check_shared_tx(attr, domain->nic.mtu) : 0;

	if (ret)
		return ret;
	stx = calloc(1, sizeof(*stx));
	if (!stx)
		return -FI_ENOMEM;
	stx->domain = domain;
	stx->stx_fid.fid.fclass = FI_CLASS_STX_CTX;
	stx->stx_fid.fid.context = context;
	stx->stx_fid.fid.ops = &stx_fid_ops;
	stx->stx_fid.ops = &gamma_unsupported_ep_ops;
	gamma_refs_take(&domain->refs);
	*stx_fid = &stx->stx_fid;
	return 0;
}
