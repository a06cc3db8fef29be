// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* An endpoint's life: opening, enabling, options, names, aliases, closing. */
#include "ep.h"
#include "report.h"
#include "base/ipv6_names.h"

#include <arpa/inet.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "link/port.h"

/* Bytes: 64 KiB, which is what leaves without asking over UDP and from Open MPI, and the headers of
 * an upper layer. The copy is made while the receiver is busy with the message, and saves it an
 * acknowledgement before its answer. */
enum { COPY_SIZE = (64 << 10) + 256 };

/* Capabilities for which there are completions of an endpoint's own calls, and of peers'. */
#define OUTWARD (FI_SEND | FI_READ | FI_WRITE)
#define INWARD  (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)

#define MESSAGES (FI_MSG | FI_TAGGED | FI_COLLECTIVE)
#define REMOTE   (FI_RMA | FI_ATOMIC)

/* ---- what the domain asks ---- */

struct gamma_list *gamma_ep_domain_entry(struct gamma_fi_ep *ep)
{
	return &ep->domain_entry;
}

struct gamma_fi_ep *gamma_ep_of_domain_entry(struct gamma_list *entry)
{
	return gamma_container_of(entry, struct gamma_fi_ep, domain_entry);
}

void gamma_ep_progress(struct gamma_fi_ep *ep)
{
	if (gamma_unlikely(gamma_endpoint_progress(ep->endpoint))) {
		ep->domain->should_yield = true;
		ep->domain->host_peers = gamma_endpoint_has_host_peers(ep->endpoint);
	}
	if (gamma_unlikely(ep->coll_active))
		gamma_coll_run_progress(ep);
}

uint64_t gamma_ep_deadline(const struct gamma_fi_ep *ep)
{
	return gamma_min(gamma_endpoint_deadline(ep->endpoint), gamma_coll_run_deadline(ep));
}

void gamma_ep_withdraw(struct gamma_fi_ep *ep, const struct gamma_mr *mr)
{
	if (ep->closing)
		gamma_lock_take(&ep->linger_lock);
	gamma_endpoint_withdraw(ep->endpoint, mr);
	if (ep->closing)
		gamma_lock_release(&ep->linger_lock);
}

void gamma_ep_remove_source(struct gamma_fi_ep *ep, const struct gamma_av *av, fi_addr_t fi_addr)
{
	gamma_source_remove(ep, av, fi_addr);
	if (ep->av == av)
		gamma_coll_group_forget(ep->coll, fi_addr);
}

bool gamma_ep_ready(const struct gamma_fi_ep *ep)
{
	return gamma_endpoint_ready(ep->endpoint);
}

void gamma_ep_watch(struct gamma_fi_ep *ep, bool asleep)
{
	gamma_endpoint_watch(ep->endpoint, asleep);
}

bool gamma_ep_armed(const struct gamma_fi_ep *ep)
{
	return gamma_endpoint_armed(ep->endpoint);
}

int gamma_ep_fds(const struct gamma_fi_ep *ep, int fds[GAMMA_EP_FDS])
{
	_Static_assert((int) GAMMA_EP_FDS == (int) GAMMA_ENDPOINT_FDS, "the engine writes as many");

	return (int) gamma_endpoint_fds(ep->endpoint, fds);
}

static struct gamma_fi_ep *ep_of(struct fid *fid)
{
	return gamma_container_of(fid, struct gamma_fi_ep_handle, fid.fid)->ep;
}

/* ---- enabling ---- */

static void explain_taken_port(const struct gamma_fi_ep *ep)
{
	const struct gamma_domain *domain = ep->domain;
	const struct gamma_nic *nic = &domain->nic;
	uid_t uid;
	int ret = gamma_port_owner(nic->mac, ep->port, &uid);

	for (unsigned i = 0; ret && i < domain->more_count; i++) {
		ret = gamma_port_owner(domain->more[i].mac, ep->port, &uid);
		nic = ret ? nic : &domain->more[i];
	}
	if (ret)
		gamma_report("%s: port %u is in use by another process: choose another or none",
			     nic->name, ep->port);
	else
		gamma_report("%s: port %u is in use by another process, of user %u: choose another "
			     "or none",
			     nic->name, ep->port, uid);
}

static void explain_create(const struct gamma_fi_ep *ep, int error)
{
	const char *name = ep->domain->nic.name;

	if (error == -EACCES && ep->domain->nic.udp) {
		gamma_report("%s: UDP port %u needs privilege: choose one from 1024 on", name,
			     ep->port);
		return;
	}
	switch (-error) {
	case EADDRINUSE:
		explain_taken_port(ep);
		break;
	case EADDRNOTAVAIL:
		gamma_report("%s: its IP address has gone: see `ip address`, and start again",
			     name);
		break;
	case EPERM:
		gamma_report("%s: no CAP_NET_RAW and no gammad: run as root, or start gammad",
			     name);
		break;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		gamma_report("%s: cannot open an endpoint: %s; raise the process's limits (ulimit)",
			     name, strerror(-error));
		break;
	default: /* a line before it has said why */
		GAMMA_WARN(EP_CTRL, "%s: cannot open an endpoint: %s\n", name, strerror(-error));
	}
}

static enum gamma_link_choice link_choice(const struct gamma_nic *nic)
{
	if (nic->udp)
		return GAMMA_LINK_UDP;
	switch (gamma_settings.link) {
	case GAMMA_LINK_SETTING_XDP:
		return GAMMA_LINK_XDP;
	case GAMMA_LINK_SETTING_AUTO:
		return GAMMA_LINK_AUTO;
	default:
		return GAMMA_LINK_PACKET;
	}
}

/* 0: one of them does not say. */
static uint64_t speed_of_all(const struct gamma_domain *domain)
{
	uint64_t speed = domain->nic.speed;

	for (unsigned i = 0; i < domain->more_count && speed; i++)
		if (!gamma_domain_is_twin(domain, i))
			speed = domain->more[i].speed ? speed + domain->more[i].speed : 0;
	return speed;
}

/* Of the slowest NIC, ns; 0: one of them does not say how fast it is. */
static uint64_t frame_time(const struct gamma_domain *domain)
{
	const struct gamma_nic *nic = &domain->nic;
	uint64_t longest = 0;

	for (unsigned i = 0; i <= domain->more_count; nic = &domain->more[i++]) {
		if (!nic->speed)
			return 0;
		longest = gamma_max(longest, nic->mtu * 8 * GAMMA_NS_PER_S / nic->speed);
	}
	return longest;
}

static void set_nic(struct gamma_endpoint_nic *to, const struct gamma_nic *nic, bool udp)
{
	to->ifindex = nic->ifindex;
	to->mtu = nic->mtu;
	to->name = nic->name;
	to->udp = udp;
	memcpy(to->mac, nic->mac, GAMMA_MAC_LEN);
}

static void set_nics(struct gamma_endpoint_attr *attr, const struct gamma_domain *domain)
{
	memcpy(attr->mac, domain->nic.mac, GAMMA_MAC_LEN);
	attr->more_count = domain->more_count;
	for (unsigned i = 0; i < domain->more_count; i++)
		set_nic(&attr->more[i], &domain->more[i], domain->more[i].udp && !domain->nic.udp);
	attr->optional = domain->optional;
	set_nic(&attr->beside, &domain->beside, true);
}

static int create_endpoint(struct gamma_fi_ep *ep)
{
	const struct gamma_nic *nic = &ep->domain->nic;
	struct gamma_endpoint_attr attr = {
		.broker = gamma_settings.broker,
		.ifindex = nic->ifindex,
		.mtu = nic->mtu,
		.prefix = nic->prefix,
		.port = ep->port,
		.ethertype = gamma_settings.ethertype,
		.tenant = geteuid(),
		.host = gamma_host_identity(),
		.link = link_choice(nic),
		.ring_bytes = gamma_settings.ring_size,
		.shm_bytes = gamma_settings.shm_size,
		.speed = speed_of_all(ep->domain),
		.budget = gamma_settings.budget,
		.linger = gamma_settings.linger,
		.datagram = ep->type == FI_EP_DGRAM,
		.page_nic = nic->name,
		.limits =
			{
				.inject_size = (uint32_t) gamma_settings.inject_size,
				.copy_size = COPY_SIZE,
				.eager_size = gamma_ep_eager_size(ep),
				.unexpected_size = gamma_settings.unexpected_size,
				.peer_timeout = gamma_settings.peer_timeout,
				.forget = 30 * GAMMA_NS_PER_S,
				.payload_crc = gamma_settings.payload_crc,
				.frame_ns = frame_time(ep->domain),
			},
	};
	int ret = ep->sep ? gamma_sep_assign_address(ep, &attr) : 0;

	if (ret)
		return ret;
	set_nics(&attr, ep->domain);
	ret = gamma_endpoint_create(&attr, &gamma_match_handlers, ep, &ep->endpoint);
	if (ret)
		explain_create(ep, ret);
	return ret;
}

/* Endpoints that share receives share an address vector too: a receive may name a source. */
static bool shared_ctx_fits(const struct gamma_fi_ep *ep)
{
	const struct gamma_fi_ep *other;

	if ((ep->shares_rx && !ep->srx) || (ep->shares_tx && !ep->stx)) {
		GAMMA_WARN(EP_CTRL,
			   "%s: the info asks for FI_SHARED_CONTEXT, but none is bound: call "
			   "fi_ep_bind before fi_enable\n",
			   ep->domain->nic.name);
		return false;
	}
	other = ep->srx ? gamma_shared_ctx_reporter(&ep->srx->rx) : NULL;
	return !other || (other->av == ep->av && other->type == ep->type);
}

static int enable_ep(struct gamma_fi_ep *ep)
{
	struct gamma_domain *domain = ep->domain;
	int ret;

	if (ep->enabled)
		return 0;
	if (ep->sep && !ep->av)
		gamma_sep_bind_av(ep);
	if (!ep->av)
		return -FI_ENOAV;
	if ((ep->transmits && ep->initiates && !ep->tx_cq) ||
	    (ep->receives && ep->takes_messages && !ep->rx_cq))
		return -FI_ENOCQ;
	if (!shared_ctx_fits(ep))
		return -FI_EINVAL;
	ret = create_endpoint(ep);
	if (ret)
		return ret;
	gamma_domain_lock(domain);
	ret = gamma_progress_watch(domain, ep);
	ep->enabled = !ret;
	ep->fast_inject = ep->enabled && ep->type == FI_EP_RDM && ep->transmits &&
			  !ep->cntrs[GAMMA_CNTR_SEND];
	if (ep->enabled)
		gamma_list_append(&domain->eps, &ep->domain_entry);
	if (ep->enabled && ep->srx) {
		gamma_list_append(&ep->srx->eps, &ep->srx_entry);
		gamma_match_join(ep);
	}
	gamma_domain_unlock(domain);
	if (ret) {
		gamma_endpoint_destroy(ep->endpoint);
		ep->endpoint = NULL;
	}
	return ret;
}

/* ---- closing ---- */

static void free_pool_tx(struct gamma_list *list)
{
	while (!gamma_list_empty(list)) {
		struct gamma_tx *tx = gamma_list_first(list, struct gamma_tx, entry);

		gamma_list_remove(&tx->entry);
		free(tx->copy);
		gamma_deferred_work_free(tx->work);
		free(tx);
	}
}

/* A thread that closes a region meanwhile withdraws it here before the lock is taken again. */
static void on_asleep(void *context, bool asleep)
{
	struct gamma_fi_ep *ep = context;

	if (!asleep) {
		gamma_lock_take(&ep->linger_lock);
		return;
	}
	gamma_lock_release(&ep->linger_lock);
	while (gamma_lock_is_wanted(&ep->linger_lock))
		sched_yield();
}

/* Removes the endpoint from the domain first: the rest, which waits for peers, must not delay the
 * domain's other endpoints. */
static void shut_down_ep(struct gamma_fi_ep *ep)
{
	struct gamma_domain *domain = ep->domain;

	gamma_domain_lock(domain);
	ep->closing = true;
	gamma_deferred_work_drop(domain, &ep->handle);
	ep->enabled = ep->fast_inject = false;
	gamma_progress_unwatch(domain, ep);
	gamma_list_remove(&ep->domain_entry);
	gamma_list_append(&domain->closing, &ep->domain_entry);
	gamma_list_remove(&ep->srx_entry);
	gamma_match_leave(ep);
	gamma_domain_unlock(domain);
	gamma_lock_take(&ep->linger_lock);
	gamma_endpoint_linger(ep->endpoint, on_asleep);
	gamma_lock_release(&ep->linger_lock);
	gamma_domain_lock(domain);
	gamma_list_remove(&ep->domain_entry);
	gamma_domain_unlock(domain);
	gamma_stats_report(ep);
	gamma_endpoint_destroy(ep->endpoint);
	if (!ep->srx)
		return;
	gamma_domain_lock(domain);
	gamma_match_return(ep);
	gamma_domain_unlock(domain);
}

static int ep_close(struct fid *fid)
{
	struct gamma_fi_ep *ep = ep_of(fid);

	if (gamma_refs_any(&ep->aliases) || !gamma_active_port_run_stop(ep))
		return -FI_EBUSY;
	if (ep->endpoint)
		shut_down_ep(ep);
	gamma_active_port_fini(&ep->ports);
	gamma_coll_group_fini(ep);
	gamma_dgram_drop(&ep->own_rx);
	gamma_submit_fini_rx_ctx(&ep->own_rx);
	free_pool_tx(&ep->sends);
	free_pool_tx(&ep->free_tx);
	if (ep->sep)
		gamma_sep_detach(ep);
	gamma_binding_undo(ep);
	gamma_refs_drop(&ep->domain->refs);
	gamma_source_fini(ep);
	free(ep);
	return 0;
}

/* ---- control ---- */

static int make_alias(struct gamma_fi_ep_handle *handle, struct fi_alias *alias);

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct gamma_fi_ep_handle *handle =
		gamma_container_of(fid, struct gamma_fi_ep_handle, fid.fid);

	switch (command) {
	case FI_ENABLE:
		return enable_ep(handle->ep);
	case FI_GETOPSFLAG:
	case FI_SETOPSFLAG:
		return gamma_options_op_flags(handle, command == FI_SETOPSFLAG, arg);
	case FI_ALIAS:
		return make_alias(handle, arg);
	}
	return -FI_ENOSYS;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = gamma_binding_bind,
	.control = ep_control,
	.ops_open = gamma_stats_open_ops,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

/* ---- endpoint operations ---- */

/* The first send of that context that has not begun to leave. */
static void cancel_send(struct gamma_fi_ep *ep, const void *context)
{
	struct gamma_list *pos;

	if (ep->type != FI_EP_RDM)
		return;
	gamma_list_for_each (pos, &ep->sends) {
		struct gamma_tx *tx = gamma_list_entry(pos, struct gamma_tx, entry);

		if (tx->context == context && gamma_send_cancel(&tx->send))
			return;
	}
}

/* Without such an operation, or too late for it, nothing happens. Operations without context cannot
 * be identified. */
static ssize_t ep_cancel(struct fid *fid, void *context)
{
	struct gamma_fi_ep *ep = ep_of(fid);

	if (!context)
		return 0;
	gamma_domain_lock(ep->domain);
	if (!gamma_match_cancel(ep->rx, context) &&
	    !gamma_deferred_work_cancel(ep->domain, &ep->handle, context))
		cancel_send(ep, context);
	gamma_domain_unlock(ep->domain);
	return 0;
}

static int ep_getopt(struct fid *fid, int level, int option, void *value, size_t *len)
{
	return gamma_options_get(ep_of(fid)->rx, level, option, value, len);
}

static int ep_setopt(struct fid *fid, int level, int option, const void *value, size_t len)
{
	return gamma_options_set(ep_of(fid)->rx, level, option, value, len);
}

static ssize_t size_left(const struct gamma_fi_ep *ep, bool receives)
{
	size_t size, used;
	bool enabled;

	gamma_domain_lock(ep->domain);
	enabled = ep->enabled;
	size = receives ? ep->rx->size : ep->tx_size;
	used = receives ? ep->rx->used : ep->tx_used;
	gamma_domain_unlock(ep->domain);
	/* Claimed messages may exceed the size. */
	return enabled ? (ssize_t) (size - gamma_min(used, size)) : -FI_EOPBADSTATE;
}

static ssize_t rx_size_left(struct fid_ep *fid)
{
	return size_left(gamma_ep_handle_of(fid)->ep, true);
}

static ssize_t tx_size_left(struct fid_ep *fid)
{
	return size_left(gamma_ep_handle_of(fid)->ep, false);
}

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = gamma_unsupported_tx_ctx,
	.rx_ctx = gamma_unsupported_rx_ctx,
	.rx_size_left = rx_size_left,
	.tx_size_left = tx_size_left,
};

/* ---- names ---- */

int gamma_ep_copy_name(const struct gamma_addr *name, void *addr, size_t *len)
{
	struct gamma_addr shown = *name;
	size_t room;

	if (!len)
		return -FI_EINVAL;
	room = *len;
	*len = GAMMA_ADDR_LEN;
	gamma_ipv6_names_show_addr(&shown);
	if (addr)
		memcpy(addr, &shown, gamma_min(room, GAMMA_ADDR_LEN));
	return room < GAMMA_ADDR_LEN ? -FI_ETOOSMALL : 0;
}

static int ep_getname(struct fid *fid, void *addr, size_t *len)
{
	const struct gamma_fi_ep *ep = ep_of(fid);

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	return gamma_ep_copy_name(gamma_endpoint_addr(ep->endpoint), addr, len);
}

static int ep_setname(struct fid *fid, void *addr, size_t len)
{
	struct gamma_fi_ep *ep = ep_of(fid);
	struct gamma_addr wanted;
	bool own;

	if (ep->enabled)
		return -FI_EOPBADSTATE;
	if (!addr || len < GAMMA_ADDR_LEN)
		return -FI_EINVAL;
	memcpy(&wanted, addr, sizeof(wanted));
	if (gamma_ipv6_names_hold_addr(&wanted))
		return -FI_EINVAL;
	own = !memcmp(wanted.mac, ep->domain->nic.mac, GAMMA_MAC_LEN);
	gamma_ipv6_names_drop_addr(&wanted);
	if (!own)
		return -FI_EINVAL;
	ep->port = ntohs(wanted.port);
	return 0;
}

static struct fi_ops_cm cm_ops = {
	GAMMA_UNSUPPORTED_CONNECTIONS,
	.setname = ep_setname,
	.getname = ep_getname,
	.join = gamma_mc_join,
};

/* ---- opening ---- */

static void set_ep_ops(struct gamma_fi_ep_handle *handle, enum fi_ep_type type, uint64_t caps)
{
	struct fid_ep *fid = &handle->fid;

	fid->fid.fclass = FI_CLASS_EP;
	fid->ops = &ep_ops;
	fid->cm = &cm_ops;
	fid->msg = &gamma_msg_ops;
	fid->tagged = type == FI_EP_RDM ? &gamma_tagged_ops : &gamma_unsupported_tagged_ops;
	fid->rma = caps & FI_RMA ? &gamma_rma_ops : &gamma_unsupported_rma_ops;
	fid->atomic = caps & FI_ATOMIC ? &gamma_atomic_ops : &gamma_unsupported_atomic_ops;
	fid->collective =
		caps & FI_COLLECTIVE ? &gamma_coll_ops : &gamma_unsupported_collective_ops;
}

static int alias_close(struct fid *fid)
{
	struct gamma_fi_ep_handle *handle =
		gamma_container_of(fid, struct gamma_fi_ep_handle, fid.fid);

	gamma_refs_drop(&handle->ep->aliases);
	free(handle);
	return 0;
}

static struct fi_ops alias_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = alias_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = ep_control,
	.ops_open = gamma_stats_open_ops,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

/* The same endpoint with default flags of its own, for one direction. */
static int make_alias(struct gamma_fi_ep_handle *handle, struct fi_alias *alias)
{
	struct gamma_fi_ep_handle *made;
	int ret;

	if (!alias || !alias->fid)
		return -FI_EINVAL;
	ret = gamma_options_check_flags(handle, alias->flags);
	if (ret)
		return ret;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -FI_ENOMEM;
	*made = *handle;
	made->fid.fid.ops = &alias_fid_ops;
	if (alias->flags & FI_TRANSMIT)
		made->tx_flags = alias->flags & ~FI_TRANSMIT;
	else
		made->rx_flags = alias->flags & ~FI_RECV;
	gamma_refs_take(&handle->ep->aliases);
	*alias->fid = &made->fid.fid;
	return 0;
}

static void init_lists(struct gamma_fi_ep *ep)
{
	gamma_list_init(&ep->domain_entry);
	gamma_list_init(&ep->srx_entry);
	gamma_list_init(&ep->groups);
	gamma_list_init(&ep->removed_names);
	gamma_active_port_init(&ep->ports, ep->domain);
	gamma_list_init(&ep->free_tx);
	gamma_list_init(&ep->sends);
	gamma_submit_init_rx_ctx(&ep->own_rx, ep->domain);
	ep->own_rx.ep = ep;
	ep->rx = &ep->own_rx;
}

static void take_info(struct gamma_fi_ep *ep, const struct fi_info *info)
{
	const struct gamma_addr *source = info->src_addr;

	ep->type = info->ep_attr->type;
	ep->transmits = ep->receives = true;
	ep->shares_rx = info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
	ep->shares_tx = info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT;
	ep->own_rx.directed = info->caps & FI_DIRECTED_RECV;
	ep->multicast = info->caps & FI_MULTICAST;
	ep->want_source = info->caps & (FI_SOURCE | FI_SOURCE_ERR | FI_DIRECTED_RECV);
	ep->source_err = info->caps & FI_SOURCE_ERR;
	ep->tx_size = info->tx_attr && info->tx_attr->size ? info->tx_attr->size : GAMMA_TX_SIZE;
	ep->own_rx.size =
		info->rx_attr && info->rx_attr->size ? info->rx_attr->size : GAMMA_RX_SIZE;
	ep->handle.tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	ep->handle.rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	if (source && info->src_addrlen >= GAMMA_ADDR_LEN)
		ep->port = ntohs(source->port);
}

struct gamma_fi_ep *gamma_ep_new(struct gamma_domain *domain, const struct fi_info *info,
				 void *context)
{
	struct gamma_fi_ep *ep = calloc(1, sizeof(*ep));
	uint64_t caps;

	if (!ep)
		return NULL;
	ep->domain = domain;
	init_lists(ep);
	ep->handle.ep = ep;
	ep->handle.fid.fid.context = context;
	ep->handle.fid.fid.ops = &ep_fid_ops;
	take_info(ep, info);
	caps = info->caps ? info->caps : domain->caps;
	ep->reachable = caps & (FI_REMOTE_READ | FI_REMOTE_WRITE);
	/* Without any of these bits an endpoint is both. */
	ep->initiates = caps & OUTWARD || !(caps & INWARD);
	ep->is_target = caps & INWARD || !(caps & OUTWARD);
	ep->takes_messages = ep->is_target && (caps & MESSAGES || !(caps & REMOTE));
	set_ep_ops(&ep->handle, ep->type, caps);
	if (caps & FI_COLLECTIVE && gamma_coll_group_init(ep)) {
		free(ep);
		return NULL;
	}
	gamma_refs_take(&domain->refs);
	return ep;
}

int gamma_ep_open(struct fid_domain *domain_fid, struct fi_info *info, struct fid_ep **ep_fid,
		  void *context)
{
	struct gamma_domain *domain =
		gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	struct gamma_fi_ep *ep;
	int ret;

	if (!info || !info->ep_attr)
		return -FI_EINVAL;
	/* Several are a scalable endpoint's. */
	if (gamma_attr_several_contexts(info->ep_attr->tx_ctx_cnt) ||
	    gamma_attr_several_contexts(info->ep_attr->rx_ctx_cnt))
		return -FI_EINVAL;
	ret = gamma_attr_check_info(domain->fabric->api_version, info, domain->nic.mtu);
	if (ret)
		return ret;
	ep = gamma_ep_new(domain, info, context);
	if (!ep)
		return -FI_ENOMEM;
	*ep_fid = &ep->handle.fid;
	return 0;
}
