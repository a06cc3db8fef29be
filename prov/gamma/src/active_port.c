// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Active ports: messages that run a handler. Here are the table of handlers, the sends, and the
 * extension's operations; active_port_run.c runs the handlers.
 */
#include "ep.h"

#include <stdlib.h>

void gamma_active_port_init(struct gamma_active_ports *ports, struct gamma_domain *domain)
{
	gamma_list_init(&ports->arrived);
	gamma_list_init(&ports->kept);
	gamma_list_init(&ports->fetches);
	gamma_list_init(&ports->datagrams);
	gamma_sleep_init(&ports->waiter, domain, FI_WAIT_FD);
}

void gamma_active_port_fini(struct gamma_active_ports *ports)
{
	struct gamma_domain *domain = ports->waiter.domain;

	for (unsigned i = 0; ports->pages && i < GAMMA_ACTIVE_PORT_PAGE; i++)
		free(ports->pages[i]);
	free(ports->pages);
	gamma_active_port_run_free_kept(ports);
	gamma_domain_lock(domain);
	domain->active_ports -= ports->lent != NULL;
	gamma_sleep_close(&ports->waiter);
	gamma_domain_unlock(domain);
	free(ports->lent);
}

/* ---- handlers ---- */

const struct fi_gamma_port_attr *gamma_active_port_find(const struct gamma_active_ports *ports,
							uint16_t port)
{
	const struct gamma_active_port_page *page =
		ports->pages ? ports->pages[port / GAMMA_ACTIVE_PORT_PAGE] : NULL;
	const struct fi_gamma_port_attr *attr =
		page ? &page->ports[port % GAMMA_ACTIVE_PORT_PAGE] : NULL;

	return attr && attr->handler ? attr : NULL;
}

/* The first handler of an endpoint: from now on calls look for messages to handle. */
static bool make_room(struct gamma_active_ports *ports)
{
	if (ports->lent)
		return true;
	ports->lent = calloc(GAMMA_ACTIVE_PORT_TURN, sizeof(*ports->lent));
	ports->waiter.domain->active_ports += ports->lent != NULL;
	return ports->lent;
}

static int set_locked(struct gamma_active_ports *ports, uint16_t port,
		      const struct fi_gamma_port_attr *attr)
{
	struct gamma_active_port_page **page;

	if (!attr && !gamma_active_port_find(ports, port))
		return 0;
	if (!ports->pages)
		ports->pages = calloc(GAMMA_ACTIVE_PORT_PAGE, sizeof(*ports->pages));
	if (!ports->pages || !make_room(ports))
		return -FI_ENOMEM;
	page = &ports->pages[port / GAMMA_ACTIVE_PORT_PAGE];
	if (!*page)
		*page = calloc(1, sizeof(**page));
	if (!*page)
		return -FI_ENOMEM;
	(*page)->ports[port % GAMMA_ACTIVE_PORT_PAGE] =
		attr ? *attr : (struct fi_gamma_port_attr){0};
	return 0;
}

int gamma_active_port_refuse(const struct gamma_fi_ep *ep, const char *why)
{
	GAMMA_WARN(EP_CTRL, "%s: active port: %s\n", ep->domain->nic.name, why);
	return -FI_EINVAL;
}

static int port_set(struct fid_ep *fid, uint16_t port, const struct fi_gamma_port_attr *attr)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	int ret;

	if (port > FI_GAMMA_PORT_MAX)
		return gamma_active_port_refuse(ep, "ports end at 65279");
	if (attr && (attr->size != sizeof(*attr) || attr->flags))
		return gamma_active_port_refuse(ep,
						"set size and flags of struct fi_gamma_port_attr");
	if (attr && !attr->handler)
		return gamma_active_port_refuse(
			ep, "no handler: pass NULL instead of the structure to unset");
	gamma_domain_lock(ep->domain);
	ret = set_locked(&ep->ports, port, attr);
	if (!ret && attr)
		gamma_active_port_run_set(ep);
	gamma_domain_unlock(ep->domain);
	return ret;
}

/* ---- sending ---- */

static ssize_t send_to(struct fid_ep *fid, fi_addr_t addr, const struct fi_gamma_msg *msg,
		       uint64_t flags)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	struct iovec iov[GAMMA_IOV_LIMIT];
	struct gamma_post post = {.iov = iov, .addr = addr, .context = msg->context};
	int64_t len;

	if (msg->port > FI_GAMMA_PORT_MAX)
		return gamma_active_port_refuse(ep, "ports end at 65279");
	if (msg->head_len > FI_GAMMA_HEAD_MAX)
		return gamma_active_port_refuse(ep, "a head has at most 64 bytes");
	if (gamma_submit_refuses(flags, gamma_options_send_flags(gamma_ep_handle_of(fid))) ||
	    flags & (FI_TRIGGER | FI_REMOTE_CQ_DATA))
		return -FI_EBADFLAGS;
	if (msg->head_len)
		iov[post.count++] = (struct iovec){(void *) msg->head, msg->head_len};
	if (msg->iov_count > GAMMA_IOV_LIMIT - post.count)
		return gamma_active_port_refuse(ep, "more entries than iov_limit; the head is one");
	for (size_t i = 0; i < msg->iov_count; i++)
		iov[post.count++] = msg->iov[i];
	len = gamma_submit_len(&post);
	if (len < 0 || (uint64_t) len > GAMMA_MESSAGE_MAX)
		return -FI_EMSGSIZE;
	post.tag = gamma_envelope_port_tag(msg->port, (uint8_t) msg->head_len, msg->arg);
	post.flags = flags | FI_MSG | GAMMA_POST_TO_PORT;
	return gamma_submit_send_to_port(gamma_ep_handle_of(fid), &post, (uint64_t) len);
}

static ssize_t port_send(struct fid_ep *fid, const struct fi_gamma_msg *msg, uint64_t flags)
{
	return send_to(fid, msg->addr, msg, flags);
}

static ssize_t port_reply(struct fid_ep *fid, const struct fi_gamma_arrival *arrival,
			  const struct fi_gamma_msg *msg, uint64_t flags)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;

	if (!gamma_active_port_run_is_current(ep, arrival))
		return gamma_active_port_refuse(ep, "reply outside of the handler");
	if (flags & FI_MULTICAST)
		return -FI_EBADFLAGS;
	return send_to(fid, GAMMA_ACTIVE_PORT_SENDER, msg, flags);
}

static int port_query(struct fid_ep *fid, fi_addr_t addr, struct fi_gamma_port_info *info)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;

	(void) addr;
	if (!info || info->size != sizeof(*info))
		return gamma_active_port_refuse(ep, "set size of struct fi_gamma_port_info");
	info->head_max = FI_GAMMA_HEAD_MAX;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	info->frame_max = ep->type == FI_EP_DGRAM ? gamma_endpoint_datagram_max(ep->endpoint)
						  : gamma_endpoint_message_max(ep->endpoint);
	info->whole_max = ep->type == FI_EP_DGRAM ? info->frame_max : gamma_ep_eager_size(ep);
	return 0;
}

static struct fi_gamma_port_ops port_ops = {
	.size = sizeof(struct fi_gamma_port_ops),
	.set = port_set,
	.send = port_send,
	.reply = port_reply,
	.receive = gamma_active_port_run_receive,
	.keep = gamma_active_port_run_keep,
	.release = gamma_active_port_run_release,
	.poll = gamma_active_port_run_poll,
	.wait = gamma_active_port_run_wait,
	.query = port_query,
};

int gamma_active_port_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context)
{
	const struct gamma_fi_ep_handle *handle =
		gamma_container_of(fid, struct gamma_fi_ep_handle, fid.fid);

	(void) context;
	if (!handle->ep || handle->ep->sep || !name || strcmp(name, FI_GAMMA_PORT_OPS_1))
		return -FI_ENOSYS;
	if (flags || !ops)
		return -FI_EINVAL;
	*ops = &port_ops;
	return 0;
}
