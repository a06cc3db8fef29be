// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Options and default flags of endpoints and shared contexts: for ep.c and shared_ctx.c. */
#include "ep.h"

/* The only supported option: the others do not apply. */
static bool is_min_multi(int level, int option)
{
	return level == FI_OPT_ENDPOINT && option == FI_OPT_MIN_MULTI_RECV;
}

int gamma_options_get(const struct gamma_rx_ctx *rx_ctx, int level, int option, void *value,
		      size_t *len)
{
	size_t room;

	if (!is_min_multi(level, option))
		return -FI_ENOPROTOOPT;
	if (!value || !len)
		return -FI_EINVAL;
	room = *len;
	*len = sizeof(rx_ctx->min_multi);
	if (room < sizeof(rx_ctx->min_multi))
		return -FI_ETOOSMALL;
	memcpy(value, &rx_ctx->min_multi, sizeof(rx_ctx->min_multi));
	return 0;
}

int gamma_options_set(struct gamma_rx_ctx *rx_ctx, int level, int option, const void *value,
		      size_t len)
{
	if (!is_min_multi(level, option))
		return -FI_ENOPROTOOPT;
	if (!value || len != sizeof(rx_ctx->min_multi))
		return -FI_EINVAL;
	gamma_domain_lock(rx_ctx->domain);
	memcpy(&rx_ctx->min_multi, value, sizeof(rx_ctx->min_multi));
	gamma_domain_unlock(rx_ctx->domain);
	return 0;
}

/* No acknowledgement of a datagram arrives, and messages to groups are datagrams. */
uint64_t gamma_options_send_flags(const struct gamma_fi_ep_handle *handle)
{
	const uint64_t reliable = FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_FENCE;

	if (handle->ep && handle->ep->type == FI_EP_DGRAM)
		return (GAMMA_TX_FLAGS & ~reliable) | FI_MULTICAST;
	return GAMMA_TX_FLAGS;
}

/* Default flags of the calls without flags: those that the *msg calls take. */
#define RX_DEFAULTS (FI_COMPLETION | FI_MORE | FI_MULTI_RECV | FI_TRIGGER | FI_TRANSMIT_COMPLETE)

int gamma_options_check_flags(const struct gamma_fi_ep_handle *handle, uint64_t flags)
{
	bool tx = flags & FI_TRANSMIT;
	bool rx = flags & FI_RECV;

	if (tx == rx)
		return -FI_EINVAL;
	if (tx ? gamma_submit_refuses(flags, FI_TRANSMIT | gamma_options_send_flags(handle))
	       : flags & ~(FI_RECV | RX_DEFAULTS))
		return -FI_EBADFLAGS;
	return 0;
}

int gamma_options_op_flags(struct gamma_fi_ep_handle *handle, bool set, uint64_t *flags)
{
	uint64_t *own;
	int ret;

	if (!flags)
		return -FI_EINVAL;
	ret = gamma_options_check_flags(handle, *flags);
	if (ret)
		return ret;
	own = *flags & FI_TRANSMIT ? &handle->tx_flags : &handle->rx_flags;
	if (set)
		*own = *flags & ~(FI_TRANSMIT | FI_RECV);
	else
		*flags = *own;
	return 0;
}
