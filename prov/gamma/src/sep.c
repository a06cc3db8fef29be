// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Scalable endpoints: several contexts under one address. Each context is an endpoint of its own
 * with a port next to the others' and the same epoch; a sender that names a receive context
 * (fi_rx_addr) adds its index to the port. Opened through domain.c; ep.c takes address and address
 * vector of a context from here.
 */
#include "ep.h"
#include "link/broker.h"
#include "link/packet_socket.h"
#include "link/port.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

enum { PORTS = 2 * GAMMA_CONTEXT_MAX };

/* Receive contexts first, then those for sending: in this order they have their ports. */
struct gamma_sep {
	struct fid_ep fid;
	struct gamma_domain *domain;
	struct fi_info *info;
	struct gamma_av *av;
	uint16_t port; /* of the first, host order */
	uint32_t epoch;
	unsigned receives, transmits;
	struct gamma_fi_ep *contexts[PORTS]; /* open ones */
	int fds[PORTS];                      /* claims of those that are not enabled, else -1 */
	bool by_gammad; /* given by gammad, with everything that an endpoint needs: */
	struct gamma_brokered brokered[PORTS];
	int refs; /* contexts open; atomic */
};

static struct gamma_sep *sep_of(struct fid *fid)
{
	return gamma_container_of(fid, struct gamma_sep, fid.fid);
}

/* ---- what ep.c asks ---- */

int gamma_sep_assign_address(struct gamma_fi_ep *ep, struct gamma_endpoint_attr *attr)
{
	struct gamma_sep *sep = ep->sep;

	if (sep->fds[ep->context_index] < 0) {
		GAMMA_WARN(EP_CTRL,
			   "%s: this context released its port when enabling it failed: close "
			   "the scalable endpoint and open it again\n",
			   ep->domain->nic.name);
		return -FI_EBUSY;
	}
	attr->port = sep->port + ep->context_index;
	attr->epoch = sep->epoch;
	attr->claimed = true;
	attr->port_fd = sep->fds[ep->context_index];
	sep->fds[ep->context_index] = -1;
	if (sep->by_gammad)
		attr->brokered = &sep->brokered[ep->context_index];
	return 0;
}

void gamma_sep_bind_av(struct gamma_fi_ep *ep)
{
	ep->av = ep->sep->av;
	if (ep->av)
		gamma_refs_take(&ep->av->refs);
}

void gamma_sep_detach(struct gamma_fi_ep *ep)
{
	ep->sep->contexts[ep->context_index] = NULL;
	gamma_refs_drop(&ep->sep->refs);
}

/* ---- its contexts ---- */

/* Opens the context at an index. It can be opened again only if it was closed before it was
 * enabled. */
static int open_context(struct gamma_sep *sep, unsigned place, const struct fi_info *info,
			void *context, struct fid_ep **fid)
{
	struct gamma_domain *domain = sep->domain;
	struct gamma_fi_ep *ep;
	int ret = gamma_attr_check_info(domain->fabric->api_version, info, domain->nic.mtu);

	if (ret)
		return ret;
	if (sep->contexts[place] || sep->fds[place] < 0)
		return -FI_EBUSY;
	ep = gamma_ep_new(domain, info, context);
	if (!ep)
		return -FI_ENOMEM;
	ep->sep = sep;
	ep->context_index = place;
	ep->shares_rx = ep->shares_tx = false;
	sep->contexts[place] = ep;
	gamma_refs_take(&sep->refs);
	*fid = &ep->handle.fid;
	return 0;
}

/* Older applications' structures end there. */
enum { TX_ATTR_LEN = offsetof(struct fi_tx_attr, tclass) };

/* Arguments for opening a context: what is asked for, else what the whole has. */
#define TAKE(taken, asked, field) \
	((taken)->field = (asked)->field ? (asked)->field : (taken)->field)

/* Of the fields that both directions have. */
#define TAKE_ATTR(taken, asked)                                                                 \
	(TAKE(taken, asked, caps), TAKE(taken, asked, op_flags), TAKE(taken, asked, msg_order), \
	 TAKE(taken, asked, comp_order), TAKE(taken, asked, size), TAKE(taken, asked, iov_limit))

static int sep_tx_ctx(struct fid_ep *fid, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
		      void *context)
{
	struct gamma_sep *sep = sep_of(&fid->fid);
	struct fi_info info = *sep->info;
	struct fi_tx_attr taken = {0};
	int ret;

	if (index < 0 || (unsigned) index >= sep->transmits)
		return -FI_EINVAL;
	if (info.tx_attr)
		taken = *info.tx_attr;
	if (attr) {
		TAKE_ATTR(&taken, attr);
		TAKE(&taken, attr, inject_size);
		TAKE(&taken, attr, rma_iov_limit);
	}
	info.tx_attr = &taken;
	ret = open_context(sep, sep->receives + (unsigned) index, &info, context, tx_ep);
	if (ret)
		return ret;
	if (attr)
		memcpy(attr, &taken, TX_ATTR_LEN);
	gamma_ep_handle_of(*tx_ep)->ep->receives = false;
	(*tx_ep)->fid.fclass = FI_CLASS_TX_CTX;
	return 0;
}

static int sep_rx_ctx(struct fid_ep *fid, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
		      void *context)
{
	struct gamma_sep *sep = sep_of(&fid->fid);
	struct fi_info info = *sep->info;
	struct fi_rx_attr taken = {0};
	int ret;

	if (index < 0 || (unsigned) index >= sep->receives)
		return -FI_EINVAL;
	if (info.rx_attr)
		taken = *info.rx_attr;
	if (attr)
		TAKE_ATTR(&taken, attr);
	info.rx_attr = &taken;
	ret = open_context(sep, (unsigned) index, &info, context, rx_ep);
	if (ret)
		return ret;
	if (attr)
		*attr = taken;
	gamma_ep_handle_of(*rx_ep)->ep->transmits = false;
	(*rx_ep)->rma = &gamma_unsupported_rma_ops;
	(*rx_ep)->atomic = &gamma_unsupported_atomic_ops;
	(*rx_ep)->fid.fclass = FI_CLASS_RX_CTX;
	return 0;
}

/* ---- life ---- */

static int sep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct gamma_sep *sep = sep_of(fid);

	(void) flags;
	if (other->fclass != FI_CLASS_AV || sep->av)
		return -FI_EINVAL;
	sep->av = gamma_container_of(other, struct gamma_av, av_fid.fid);
	if (sep->av->domain != sep->domain) {
		sep->av = NULL;
		return -FI_EINVAL;
	}
	gamma_refs_take(&sep->av->refs);
	return 0;
}

/* Each context is enabled by itself. */
static int sep_control(struct fid *fid, int command, void *arg)
{
	(void) arg;
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	return sep_of(fid)->av ? 0 : -FI_ENOAV;
}

static int sep_close(struct fid *fid)
{
	struct gamma_sep *sep = sep_of(fid);

	if (gamma_refs_any(&sep->refs))
		return -FI_EBUSY;
	for (unsigned i = 0; i < sep->receives + sep->transmits; i++) {
		if (sep->fds[i] >= 0 && sep->by_gammad)
			gamma_broker_close(&sep->brokered[i]);
		else if (sep->fds[i] >= 0)
			close(sep->fds[i]);
	}
	if (sep->av)
		gamma_refs_drop(&sep->av->refs);
	gamma_refs_drop(&sep->domain->refs);
	fi_freeinfo(sep->info);
	free(sep);
	return 0;
}

/* The name of the first context that is enabled, as that of all. */
static int sep_getname(struct fid *fid, void *addr, size_t *len)
{
	struct gamma_sep *sep = sep_of(fid);
	const struct gamma_fi_ep *ep = NULL;
	struct gamma_addr name;

	for (unsigned i = 0; i < PORTS && !(ep && ep->enabled); i++)
		ep = sep->contexts[i];
	if (!ep || !ep->enabled)
		return -FI_EOPBADSTATE;
	name = *gamma_endpoint_addr(ep->endpoint);
	name.port = htons(sep->port);
	name.contexts = GAMMA_CONTEXTS(sep->receives, sep->transmits);
	return gamma_ep_copy_name(&name, addr, len);
}

static int sep_setname(struct fid *fid, void *addr, size_t len)
{
	(void) fid, (void) addr, (void) len;
	return -FI_EOPBADSTATE; /* the ports have been claimed */
}

static struct fi_ops sep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = sep_close,
	.bind = sep_bind,
	.control = sep_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_ep sep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = gamma_unsupported_cancel,
	.getopt = gamma_unsupported_getopt,
	.setopt = gamma_unsupported_setopt,
	.tx_ctx = sep_tx_ctx,
	.rx_ctx = sep_rx_ctx,
	.rx_size_left = gamma_unsupported_size_left,
	.tx_size_left = gamma_unsupported_size_left,
};

static struct fi_ops_cm sep_cm_ops = {
	GAMMA_UNSUPPORTED_CONNECTIONS,
	.setname = sep_setname,
	.getname = sep_getname,
	.join = gamma_unsupported_join,
};

static void set_sep_ops(struct fid_ep *fid, void *context)
{
	fid->fid.fclass = FI_CLASS_SEP;
	fid->fid.context = context;
	fid->fid.ops = &sep_fid_ops;
	fid->ops = &sep_ops;
	fid->cm = &sep_cm_ops;
	fid->msg = &gamma_unsupported_msg_ops;
	fid->tagged = &gamma_unsupported_tagged_ops;
	fid->rma = &gamma_unsupported_rma_ops;
	fid->atomic = &gamma_unsupported_atomic_ops;
	fid->collective = &gamma_unsupported_collective_ops;
}

static unsigned contexts_of(size_t asked)
{
	return gamma_attr_several_contexts(asked) ? (unsigned) asked : 1;
}

/* Whole endpoints, since it is gammad that opens them. */
static int claim_from_gammad(struct gamma_sep *sep)
{
	unsigned count = sep->receives + sep->transmits;
	struct gamma_broker_open ask = {
		.port = sep->port,
		.epoch = sep->epoch,
		.ethertype = gamma_settings.ethertype,
		.ring_bytes = (uint32_t) gamma_settings.ring_size,
	};
	int ret;

	memcpy(ask.mac, sep->domain->nic.mac, GAMMA_MAC_LEN);
	ret = gamma_broker_open_range(gamma_settings.broker, &ask, count, sep->brokered);
	for (unsigned i = 0; !ret && i < count; i++)
		sep->fds[i] = sep->brokered[i].port_fd;
	sep->port = ret ? sep->port : sep->brokered[0].opened.port;
	sep->by_gammad = !ret;
	return ret;
}

static int claim_ports(struct gamma_sep *sep)
{
	const struct gamma_addr *source = sep->info->src_addr;
	int ret = gamma_endpoint_random_epoch(&sep->epoch);

	if (source && sep->info->src_addrlen >= GAMMA_ADDR_LEN)
		sep->port = ntohs(source->port);
	if (ret)
		return ret;
	if (!sep->domain->nic.udp && gamma_packet_socket_try() == -EPERM)
		return claim_from_gammad(sep);
	ret = gamma_port_claim_range(sep->domain->nic.mac, &sep->port,
				     sep->receives + sep->transmits, sep->fds);
	if (ret)
		GAMMA_WARN(
			EP_CTRL,
			"%s: cannot claim %u successive ports from %u: %s; choose another port\n",
			sep->domain->nic.name, sep->receives + sep->transmits, sep->port,
			strerror(-ret));
	return ret;
}

int gamma_sep_open(struct fid_domain *domain_fid, struct fi_info *info, struct fid_ep **sep_fid,
		   void *context)
{
	struct gamma_domain *domain =
		gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	struct gamma_sep *sep;
	int ret;

	if (!info || !info->ep_attr || info->ep_attr->type != FI_EP_RDM)
		return -FI_EINVAL;
	ret = gamma_attr_check_info(domain->fabric->api_version, info, domain->nic.mtu);
	if (ret)
		return ret;
	sep = calloc(1, sizeof(*sep));
	if (!sep)
		return -FI_ENOMEM;
	sep->domain = domain;
	sep->receives = contexts_of(info->ep_attr->rx_ctx_cnt);
	sep->transmits = contexts_of(info->ep_attr->tx_ctx_cnt);
	set_sep_ops(&sep->fid, context);
	sep->info = fi_dupinfo(info);
	ret = sep->info ? claim_ports(sep) : -FI_ENOMEM;
	if (ret) {
		fi_freeinfo(sep->info);
		free(sep);
		return ret;
	}
	gamma_refs_take(&domain->refs);
	*sep_fid = &sep->fid;
	return 0;
}
