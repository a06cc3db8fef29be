// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* An endpoint's life: opening, binding, enabling, options, names, aliases, closing. */
#include "ep.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- what the domain asks ---- */

struct gamma_list *gamma_ep_domain_entry(struct gamma_ep *ep)
{
	return &ep->domain_entry;
}

struct gamma_ep *gamma_ep_of_domain_entry(struct gamma_list *entry)
{
	return gamma_container_of(entry, struct gamma_ep, domain_entry);
}

void gamma_ep_progress(struct gamma_ep *ep)
{
	ep->domain->in_the_way |= gamma_endpoint_progress(ep->endpoint);
}

uint64_t gamma_ep_deadline(const struct gamma_ep *ep)
{
	return gamma_endpoint_deadline(ep->endpoint);
}

void gamma_ep_withdraw(struct gamma_ep *ep, const struct gamma_mr *mr)
{
	gamma_endpoint_withdraw(ep->endpoint, mr);
}

bool gamma_ep_ready(const struct gamma_ep *ep)
{
	return gamma_endpoint_ready(ep->endpoint);
}

int gamma_ep_fds(const struct gamma_ep *ep, int fds[4])
{
	gamma_endpoint_fds(ep->endpoint, fds);
	return GAMMA_ENDPOINT_FDS;
}

/* ---- binding ---- */

static int bind_cq(struct gamma_ep *ep, struct gamma_cq *cq, uint64_t flags)
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
		gamma_ref(&cq->refs);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
		gamma_ref(&cq->refs);
	}
	return 0;
}

static int bind_one_cntr(struct gamma_ep *ep, struct gamma_cntr *cntr, unsigned which)
{
	if (ep->cntrs[which])
		return -FI_EINVAL;
	ep->cntrs[which] = cntr;
	gamma_ref(&cntr->refs);
	return 0;
}

static int bind_cntr(struct gamma_ep *ep, struct gamma_cntr *cntr, uint64_t flags)
{
	static const uint64_t events[GAMMA_CNTR_COUNT] = {
		[GAMMA_CNTR_SEND] = FI_SEND,
		[GAMMA_CNTR_RECV] = FI_RECV,
		[GAMMA_CNTR_READ] = FI_READ,
		[GAMMA_CNTR_WRITE] = FI_WRITE,
		[GAMMA_CNTR_REMOTE_READ] = FI_REMOTE_READ,
		[GAMMA_CNTR_REMOTE_WRITE] = FI_REMOTE_WRITE,
	};
	uint64_t known = 0;
	int ret = 0;

	for (unsigned i = 0; i < GAMMA_CNTR_COUNT; i++)
		known |= events[i];
	if (!flags || flags & ~known)
		return -FI_EBADFLAGS;
	if (cntr->domain != ep->domain)
		return -FI_EINVAL;
	for (unsigned i = 0; !ret && i < GAMMA_CNTR_COUNT; i++)
		if (flags & events[i])
			ret = bind_one_cntr(ep, cntr, i);
	return ret;
}

static int bind_av(struct gamma_ep *ep, struct gamma_av *av)
{
	if (ep->av || av->domain != ep->domain)
		return -FI_EINVAL;
	ep->av = av;
	gamma_ref(&av->refs);
	return 0;
}

static int bind_eq(struct gamma_ep *ep, struct gamma_eq *eq)
{
	if (ep->eq)
		return -FI_EINVAL;
	ep->eq = eq;
	gamma_ref(&eq->refs);
	return 0;
}

static struct gamma_ep *ep_of(struct fid *fid)
{
	return gamma_container_of(fid, struct gamma_ep_handle, fid.fid)->ep;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct gamma_ep *ep = ep_of(fid);
	int ret;

	/* Counters may come later: some programs make them after enabling. */
	if (ep->enabled && other->fclass != FI_CLASS_CNTR)
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
	}
	return -FI_EINVAL;
}

static void unbind_all(struct gamma_ep *ep)
{
	if (ep->tx_cq)
		gamma_unref(&ep->tx_cq->refs);
	if (ep->rx_cq)
		gamma_unref(&ep->rx_cq->refs);
	if (ep->av)
		gamma_unref(&ep->av->refs);
	if (ep->eq)
		gamma_unref(&ep->eq->refs);
	for (int i = 0; i < GAMMA_CNTR_COUNT; i++)
		if (ep->cntrs[i])
			gamma_unref(&ep->cntrs[i]->refs);
}

/* ---- enabling ---- */

static void explain_create(const struct gamma_ep *ep, int error)
{
	const char *name = ep->domain->nic.name;

	switch (-error) {
	case EADDRINUSE:
		GAMMA_WARN(EP_CTRL,
			   "%s: port %u is in use by another process: choose another or none\n",
			   name, ep->port);
		break;
	case EPERM:
		GAMMA_WARN(EP_CTRL,
			   "%s: no CAP_NET_RAW: run as root, or give the program the capability\n",
			   name);
		break;
	default:
		GAMMA_WARN(EP_CTRL, "%s: cannot open an endpoint: %s\n", name, strerror(-error));
	}
}

static int create_endpoint(struct gamma_ep *ep)
{
	const struct gamma_nic *nic = &ep->domain->nic;
	struct gamma_endpoint_attr attr = {
		.ifindex = nic->ifindex,
		.mtu = nic->mtu,
		.port = ep->port,
		.ethertype = gamma_settings.ethertype,
		.tenant = geteuid(),
		.host = gamma_host_identity(),
		.ring_bytes = gamma_settings.ring_size,
		.speed = nic->speed,
		.budget = gamma_settings.budget,
		.linger = gamma_settings.linger,
		.datagram = ep->type == FI_EP_DGRAM,
		.limits =
			{
				.inject_size = (uint32_t) gamma_settings.inject_size,
				.eager_size = gamma_settings.eager_size,
				.unexpected_size = gamma_settings.unexpected_size,
				.peer_timeout = gamma_settings.peer_timeout,
				.forget = 30 * GAMMA_NS_PER_S,
				.payload_crc = gamma_settings.payload_crc,
			},
	};
	int ret;

	memcpy(attr.mac, nic->mac, GAMMA_MAC_LEN);
	ret = gamma_endpoint_create(&attr, &gamma_ep_handlers, ep, &ep->endpoint);
	if (ret)
		explain_create(ep, ret);
	return ret;
}

static int enable(struct gamma_ep *ep)
{
	struct gamma_domain *domain = ep->domain;
	int ret;

	if (ep->enabled)
		return 0;
	if (!ep->av)
		return -FI_ENOAV;
	if (!ep->tx_cq || !ep->rx_cq)
		return -FI_ENOCQ;
	ret = create_endpoint(ep);
	if (ret)
		return ret;
	gamma_domain_lock(domain);
	ep->av_generation = ep->av->generation;
	gamma_list_append(&domain->eps, &ep->domain_entry);
	ret = gamma_domain_wait_add(domain, ep);
	ep->enabled = !ret;
	gamma_domain_unlock(domain);
	return ret;
}

/* ---- closing ---- */

static void free_pool_tx(struct gamma_list *list)
{
	while (!gamma_list_empty(list)) {
		struct gamma_tx *tx = gamma_list_first(list, struct gamma_tx, entry);

		gamma_list_remove(&tx->entry);
		free(tx->copy);
		free(tx);
	}
}

static void free_pool_rx(struct gamma_list *list)
{
	while (!gamma_list_empty(list)) {
		struct gamma_rx *rx = gamma_list_first(list, struct gamma_rx, entry);

		gamma_list_remove(&rx->entry);
		free(rx);
	}
}

/* Takes the endpoint from the domain first: what remains, waiting for the peers included, is done
 * without holding up the domain's other endpoints. */
static void shut_down(struct gamma_ep *ep)
{
	struct gamma_domain *domain = ep->domain;

	gamma_domain_lock(domain);
	ep->closing = true;
	ep->enabled = false;
	gamma_domain_wait_del(domain, ep);
	gamma_list_remove(&ep->domain_entry);
	gamma_match_drop(ep);
	gamma_domain_unlock(domain);
	gamma_endpoint_linger(ep->endpoint);
	gamma_report_stats(ep);
	gamma_endpoint_destroy(ep->endpoint);
}

static int ep_close(struct fid *fid)
{
	struct gamma_ep *ep = ep_of(fid);

	if (gamma_in_use(&ep->aliases))
		return -FI_EBUSY;
	if (ep->endpoint)
		shut_down(ep);
	gamma_dgram_drop(ep);
	free_pool_tx(&ep->sends);
	free_pool_tx(&ep->free_tx);
	free_pool_rx(&ep->matched);
	free_pool_rx(&ep->free_rx);
	unbind_all(ep);
	gamma_unref(&ep->domain->refs);
	free(ep->flows);
	free(ep);
	return 0;
}

/* ---- control ---- */

static int get_op_flags(const struct gamma_ep_handle *handle, uint64_t *flags)
{
	bool tx = *flags & FI_TRANSMIT;
	bool rx = *flags & FI_RECV;

	if (tx == rx)
		return -FI_EINVAL;
	*flags = tx ? handle->tx_flags : handle->rx_flags;
	return 0;
}

static int set_op_flags(struct gamma_ep_handle *handle, const uint64_t *flags)
{
	bool tx = *flags & FI_TRANSMIT;
	bool rx = *flags & FI_RECV;

	if (tx == rx)
		return -FI_EINVAL;
	if (tx)
		handle->tx_flags = *flags & ~FI_TRANSMIT;
	else
		handle->rx_flags = *flags & ~FI_RECV;
	return 0;
}

static int make_alias(struct gamma_ep_handle *handle, struct fi_alias *alias);

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct gamma_ep_handle *handle = gamma_container_of(fid, struct gamma_ep_handle, fid.fid);

	switch (command) {
	case FI_ENABLE:
		return enable(handle->ep);
	case FI_GETOPSFLAG:
		return get_op_flags(handle, arg);
	case FI_SETOPSFLAG:
		return set_op_flags(handle, arg);
	case FI_ALIAS:
		return make_alias(handle, arg);
	}
	return -FI_ENOSYS;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = gamma_no_ops_open,
	.tostr = gamma_no_tostr,
	.ops_set = gamma_no_ops_set,
};

/* ---- endpoint operations ---- */

static ssize_t ep_cancel(struct fid *fid, void *context)
{
	struct gamma_ep *ep = ep_of(fid);
	ssize_t ret;

	gamma_domain_lock(ep->domain);
	ret = gamma_match_cancel(ep, context);
	gamma_domain_unlock(ep->domain);
	return ret;
}

static int ep_getopt(struct fid *fid, int level, int option, void *value, size_t *len)
{
	(void) fid, (void) value, (void) len;
	return level == FI_OPT_ENDPOINT && option >= 0 ? -FI_ENOPROTOOPT : -FI_EINVAL;
}

static int ep_setopt(struct fid *fid, int level, int option, const void *value, size_t len)
{
	(void) fid, (void) value, (void) len;
	return level == FI_OPT_ENDPOINT && option >= 0 ? -FI_ENOPROTOOPT : -FI_EINVAL;
}

static int no_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
		     void *context)
{
	(void) ep, (void) index, (void) attr, (void) tx_ep, (void) context;
	return -FI_ENOSYS;
}

static int no_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
		     void *context)
{
	(void) ep, (void) index, (void) attr, (void) rx_ep, (void) context;
	return -FI_ENOSYS;
}

static ssize_t size_left(const struct gamma_ep *ep, bool receives)
{
	ssize_t left = -FI_EOPBADSTATE;

	gamma_domain_lock(ep->domain);
	if (ep->enabled)
		left = (ssize_t) (receives ? ep->rx_size - ep->rx_used : ep->tx_size - ep->tx_used);
	gamma_domain_unlock(ep->domain);
	return left;
}

static ssize_t rx_size_left(struct fid_ep *fid)
{
	return size_left(gamma_handle(fid)->ep, true);
}

static ssize_t tx_size_left(struct fid_ep *fid)
{
	return size_left(gamma_handle(fid)->ep, false);
}

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = no_tx_ctx,
	.rx_ctx = no_rx_ctx,
	.rx_size_left = rx_size_left,
	.tx_size_left = tx_size_left,
};

/* ---- names ---- */

static int ep_getname(struct fid *fid, void *addr, size_t *len)
{
	const struct gamma_ep *ep = ep_of(fid);
	size_t room = *len;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	*len = GAMMA_ADDR_LEN;
	if (room && addr)
		memcpy(addr, gamma_endpoint_addr(ep->endpoint), gamma_min(room, GAMMA_ADDR_LEN));
	return room < GAMMA_ADDR_LEN ? -FI_ETOOSMALL : 0;
}

static int ep_setname(struct fid *fid, void *addr, size_t len)
{
	struct gamma_ep *ep = ep_of(fid);
	const struct gamma_addr *wanted = addr;

	if (ep->enabled)
		return -FI_EOPBADSTATE;
	if (len < GAMMA_ADDR_LEN || memcmp(wanted->mac, ep->domain->nic.mac, GAMMA_MAC_LEN))
		return -FI_EINVAL;
	ep->port = ntohs(wanted->port);
	return 0;
}

static int no_getpeer(struct fid_ep *ep, void *addr, size_t *len)
{
	(void) ep, (void) addr, (void) len;
	return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t len)
{
	(void) ep, (void) addr, (void) param, (void) len;
	return -FI_ENOSYS;
}

static int no_listen(struct fid_pep *pep)
{
	(void) pep;
	return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *ep, const void *param, size_t len)
{
	(void) ep, (void) param, (void) len;
	return -FI_ENOSYS;
}

static int no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len)
{
	(void) pep, (void) handle, (void) param, (void) len;
	return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	(void) ep, (void) flags;
	return -FI_ENOSYS;
}

static int no_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		   void *context)
{
	(void) ep, (void) addr, (void) flags, (void) mc, (void) context;
	return -FI_ENOSYS;
}

static struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = ep_setname,
	.getname = ep_getname,
	.getpeer = no_getpeer,
	.connect = no_connect,
	.listen = no_listen,
	.accept = no_accept,
	.reject = no_reject,
	.shutdown = no_shutdown,
	.join = no_join,
};

/* ---- opening ---- */

static void set_ops(struct gamma_ep_handle *handle, enum fi_ep_type type, uint64_t caps)
{
	struct fid_ep *fid = &handle->fid;

	fid->fid.fclass = FI_CLASS_EP;
	fid->ops = &ep_ops;
	fid->cm = &cm_ops;
	fid->msg = &gamma_msg_ops;
	fid->tagged = type == FI_EP_RDM ? &gamma_tagged_ops : &gamma_no_tagged_ops;
	fid->rma = caps & FI_RMA ? &gamma_rma_ops : &gamma_no_rma_ops;
	fid->atomic = &gamma_no_atomic_ops;
	fid->collective = &gamma_no_collective_ops;
}

static int alias_close(struct fid *fid)
{
	struct gamma_ep_handle *handle = gamma_container_of(fid, struct gamma_ep_handle, fid.fid);

	gamma_unref(&handle->ep->aliases);
	free(handle);
	return 0;
}

static struct fi_ops alias_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = alias_close,
	.bind = gamma_no_bind,
	.control = ep_control,
	.ops_open = gamma_no_ops_open,
	.tostr = gamma_no_tostr,
	.ops_set = gamma_no_ops_set,
};

/* The same endpoint with default flags of its own, for one direction. */
static int make_alias(struct gamma_ep_handle *handle, struct fi_alias *alias)
{
	struct gamma_ep_handle *made;
	bool tx = alias->flags & FI_TRANSMIT;
	bool rx = alias->flags & FI_RECV;

	if (tx == rx)
		return -FI_EINVAL;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -FI_ENOMEM;
	*made = *handle;
	made->fid.fid.ops = &alias_fid_ops;
	if (tx)
		made->tx_flags = alias->flags & ~FI_TRANSMIT;
	else
		made->rx_flags = alias->flags & ~FI_RECV;
	gamma_ref(&handle->ep->aliases);
	*alias->fid = &made->fid.fid;
	return 0;
}

static void init_lists(struct gamma_ep *ep)
{
	gamma_list_init(&ep->domain_entry);
	gamma_list_init(&ep->posted_msg);
	gamma_list_init(&ep->posted_tagged);
	gamma_list_init(&ep->unexpected_msg);
	gamma_list_init(&ep->unexpected_tagged);
	gamma_list_init(&ep->datagrams);
	gamma_list_init(&ep->matched);
	gamma_list_init(&ep->free_tx);
	gamma_list_init(&ep->free_rx);
	gamma_list_init(&ep->sends);
}

static void take_info(struct gamma_ep *ep, const struct fi_info *info)
{
	const struct gamma_addr *source = info->src_addr;

	ep->type = info->ep_attr->type;
	ep->directed = info->caps & FI_DIRECTED_RECV;
	ep->want_source = info->caps & (FI_SOURCE | FI_DIRECTED_RECV);
	ep->source_err = info->caps & FI_SOURCE_ERR;
	ep->tx_size = info->tx_attr && info->tx_attr->size ? info->tx_attr->size : GAMMA_TX_SIZE;
	ep->rx_size = info->rx_attr && info->rx_attr->size ? info->rx_attr->size : GAMMA_RX_SIZE;
	ep->handle.tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	ep->handle.rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	if (source && info->src_addrlen >= GAMMA_ADDR_LEN)
		ep->port = ntohs(source->port);
}

int gamma_endpoint_open(struct fid_domain *domain_fid, struct fi_info *info, struct fid_ep **ep_fid,
			void *context)
{
	struct gamma_domain *domain =
		gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	struct gamma_ep *ep;
	uint64_t caps;
	int ret;

	if (!info || !info->ep_attr)
		return -FI_EINVAL;
	ret = gamma_check_info(domain->fabric->api_version, info, domain->nic.mtu);
	if (ret)
		return ret;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	init_lists(ep);
	ep->domain = domain;
	ep->handle.ep = ep;
	ep->handle.fid.fid.context = context;
	ep->handle.fid.fid.ops = &ep_fid_ops;
	take_info(ep, info);
	caps = info->caps ? info->caps : domain->caps;
	ep->remote_access = caps & (FI_REMOTE_READ | FI_REMOTE_WRITE);
	set_ops(&ep->handle, ep->type, caps);
	gamma_ref(&domain->refs);
	*ep_fid = &ep->handle.fid;
	return 0;
}
