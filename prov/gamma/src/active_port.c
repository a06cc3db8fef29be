// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Active ports: messages that run a handler. match.c hands them over as they arrive, without
 * looking for a receive; poll runs their handlers, one at a time and without the domain's lock.
 */
#include "ep.h"
#include "rdma/fi_ext_gamma.h"

#include <stdlib.h>

enum { PAGE = 256 };

struct gamma_active_port_page {
	struct fi_gamma_port_attr ports[PAGE]; /* no handler: not set */
};

/* A demoted message on its way from its sender. */
struct gamma_active_port_fetch {
	struct gamma_recv recv;
	struct gamma_envelope envelope;
	struct gamma_flow *flow; /* its sender's */
	bool done;               /* all of it is here, unless error */
	int error;               /* negative errno */
	uint8_t bytes[];
};

void gamma_active_port_init(struct gamma_active_ports *ports)
{
	gamma_list_init(&ports->arrived);
	gamma_list_init(&ports->kept);
}

void gamma_active_port_fini(struct gamma_active_ports *ports)
{
	for (unsigned i = 0; ports->pages && i < PAGE; i++)
		free(ports->pages[i]);
	free(ports->pages);
	free(ports->fetch);
}

void gamma_active_port_arrived(struct gamma_fi_ep *ep, struct gamma_inbound *inbound)
{
	gamma_list_append(&ep->ports.arrived, &inbound->entry);
}

void gamma_active_port_received(struct gamma_fi_ep *ep, int error)
{
	ep->ports.fetch->done = true;
	ep->ports.fetch->error = error;
}

void gamma_active_port_replace(struct gamma_fi_ep *ep, const struct gamma_flow *flow,
			       struct gamma_flow *other)
{
	struct gamma_active_port_fetch *fetch = ep->ports.fetch;

	if (ep->ports.sender == flow)
		ep->ports.sender = other;
	if (!fetch || fetch->flow != flow)
		return;
	fetch->flow = other;
	if (!other)
		fetch->error = -FI_ECONNRESET;
}

/* ---- handlers ---- */

static const struct fi_gamma_port_attr *find_handler(const struct gamma_active_ports *ports,
						     uint16_t port)
{
	const struct gamma_active_port_page *page = ports->pages ? ports->pages[port / PAGE] : NULL;

	return page && page->ports[port % PAGE].handler ? &page->ports[port % PAGE] : NULL;
}

static int set_locked(struct gamma_active_ports *ports, uint16_t port,
		      const struct fi_gamma_port_attr *attr)
{
	struct gamma_active_port_page **page;

	if (!attr && !find_handler(ports, port))
		return 0;
	if (!ports->pages)
		ports->pages = calloc(PAGE, sizeof(struct gamma_active_port_page *));
	if (!ports->pages)
		return -FI_ENOMEM;
	page = &ports->pages[port / PAGE];
	if (!*page)
		*page = calloc(1, sizeof(**page));
	if (!*page)
		return -FI_ENOMEM;
	(*page)->ports[port % PAGE] = attr ? *attr : (struct fi_gamma_port_attr){0};
	return 0;
}

static int refuse_call(const struct gamma_fi_ep *ep, const char *why)
{
	GAMMA_WARN(EP_CTRL, "%s: active port: %s\n", ep->domain->nic.name, why);
	return -FI_EINVAL;
}

static int port_set(struct fid_ep *fid, uint16_t port, const struct fi_gamma_port_attr *attr)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	int ret;

	if (port > FI_GAMMA_PORT_MAX)
		return refuse_call(ep, "ports end at 65279");
	if (attr && (attr->size != sizeof(*attr) || attr->flags))
		return refuse_call(ep, "set size and flags of struct fi_gamma_port_attr");
	if (attr && !attr->handler)
		return refuse_call(ep, "no handler: pass NULL instead of the structure to unset");
	gamma_domain_lock(ep->domain);
	ret = set_locked(&ep->ports, port, attr);
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
		return refuse_call(ep, "ports end at 65279");
	if (msg->head_len > FI_GAMMA_HEAD_MAX)
		return refuse_call(ep, "a head has at most 64 bytes");
	if (gamma_submit_refuses(flags, GAMMA_TX_FLAGS) || flags & FI_TRIGGER)
		return -FI_EBADFLAGS;
	if (msg->head_len)
		iov[post.count++] = (struct iovec){(void *) msg->head, msg->head_len};
	if (msg->iov_count > GAMMA_IOV_LIMIT - post.count)
		return -FI_EINVAL;
	for (size_t i = 0; i < msg->iov_count; i++)
		iov[post.count++] = msg->iov[i];
	len = gamma_submit_len(&post);
	if (len < 0 || (uint64_t) len > gamma_settings.eager_size)
		return -FI_EMSGSIZE;
	post.tag = gamma_envelope_port_tag(msg->port, (uint8_t) msg->head_len, msg->arg);
	post.flags = flags | FI_MSG | GAMMA_POST_TO_PORT;
	return gamma_submit_send(gamma_ep_handle_of(fid), &post);
}

static ssize_t port_send(struct fid_ep *fid, const struct fi_gamma_msg *msg, uint64_t flags)
{
	return send_to(fid, msg->addr, msg, flags);
}

static ssize_t port_reply(struct fid_ep *fid, const struct fi_gamma_arrival *arrival,
			  const struct fi_gamma_msg *msg, uint64_t flags)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;

	if (!arrival || !ep->ports.running)
		return refuse_call(ep, "reply outside of the handler");
	return send_to(fid, GAMMA_ACTIVE_PORT_SENDER, msg, flags);
}

/* ---- running handlers ---- */

/* What a handler sees, and what becomes of its message. */
struct delivery {
	struct fi_gamma_arrival arrival;
	struct gamma_inbound *inbound; /* NULL: it was fetched */
	bool keep;                     /* the handler has called keep */
};

static void call_handler(struct gamma_fi_ep *ep, const struct fi_gamma_port_attr *port,
			 struct gamma_flow *flow, const struct gamma_envelope *envelope,
			 const uint8_t *bytes, struct delivery *delivery)
{
	struct fi_gamma_port_attr handler = *port; /* another thread may set it meanwhile */
	uint8_t head_len = gamma_envelope_head_len(envelope);

	delivery->arrival = (struct fi_gamma_arrival){
		.size = sizeof(delivery->arrival),
		.port = gamma_envelope_port(envelope),
		.head_len = head_len,
		.arg = (uint32_t) envelope->tag,
		.head = bytes,
		.data = bytes ? bytes + head_len : NULL,
		.len = envelope->length - head_len,
		.source = gamma_match_source_of(ep, flow),
	};
	ep->ports.sender = flow;
	ep->ports.running = true;
	gamma_domain_unlock(ep->domain);
	handler.handler(&ep->handle.fid, &delivery->arrival, handler.context);
	gamma_domain_lock(ep->domain);
	ep->ports.running = false;
	ep->ports.sender = NULL;
}

static void run_whole(struct gamma_fi_ep *ep, const struct fi_gamma_port_attr *port,
		      struct gamma_inbound *inbound)
{
	struct delivery delivery = {.inbound = inbound};

	gamma_list_remove(&inbound->entry);
	call_handler(ep, port, inbound->flow, &inbound->envelope, inbound->buffered, &delivery);
	if (delivery.keep)
		gamma_list_append(&ep->ports.kept, &inbound->entry);
	else
		gamma_receive_discard(inbound);
}

static bool run_fetched(struct gamma_fi_ep *ep)
{
	struct gamma_active_port_fetch *fetch = ep->ports.fetch;
	const struct fi_gamma_port_attr *port =
		find_handler(&ep->ports, gamma_envelope_port(&fetch->envelope));
	struct delivery delivery = {0};

	if (!fetch->done)
		return false;
	if (!fetch->error && port)
		call_handler(ep, port, fetch->flow, &fetch->envelope, fetch->bytes, &delivery);
	ep->ports.fetch = NULL;
	free(fetch);
	return true;
}

/* Its bytes have stayed with its sender, for lack of memory or because that is this endpoint: now
 * they have a place. */
static void begin_fetch(struct gamma_fi_ep *ep, struct gamma_inbound *inbound)
{
	struct gamma_active_port_fetch *fetch;
	uint64_t length = inbound->envelope.length;

	if (length > GAMMA_EAGER_MAX) { /* no honest sender */
		gamma_list_remove(&inbound->entry);
		gamma_receive_discard(inbound);
		return;
	}
	fetch = calloc(1, sizeof(*fetch) + length);
	if (!fetch)
		return; /* the next poll tries again */
	fetch->envelope = inbound->envelope;
	fetch->flow = inbound->flow;
	fetch->recv = (struct gamma_recv){
		.iov = {{.iov_base = fetch->bytes, .iov_len = length}},
		.iov_count = 1,
		.capacity = length,
	};
	ep->ports.fetch = fetch;
	gamma_list_remove(&inbound->entry);
	gamma_receive_accept(inbound, &fetch->recv);
	gamma_progress_poll(ep->domain);
}

/* The oldest message with a handler, or NULL. All others wait for it if not all of it is here. */
static struct gamma_inbound *next_message(const struct gamma_active_ports *ports)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &ports->arrived) {
		struct gamma_inbound *inbound = gamma_list_entry(pos, struct gamma_inbound, entry);

		if (find_handler(ports, gamma_envelope_port(&inbound->envelope)))
			return inbound;
	}
	return NULL;
}

/* False: there is nothing to do. */
static bool run_next(struct gamma_fi_ep *ep, size_t *handled)
{
	struct gamma_inbound *inbound;

	if (ep->ports.fetch) {
		*handled += ep->ports.fetch->done;
		return run_fetched(ep);
	}
	inbound = next_message(&ep->ports);
	if (!inbound)
		return false;
	if (inbound->error) {
		gamma_list_remove(&inbound->entry);
		gamma_receive_discard(inbound);
		return true;
	}
	if (inbound->state == GAMMA_INBOUND_ARRIVING)
		return false;
	if (inbound->state == GAMMA_INBOUND_ANNOUNCED || inbound->own) {
		begin_fetch(ep, inbound);
		return ep->ports.fetch && ep->ports.fetch->done;
	}
	run_whole(ep, find_handler(&ep->ports, gamma_envelope_port(&inbound->envelope)), inbound);
	++*handled;
	return true;
}

static ssize_t port_poll(struct fid_ep *fid, size_t most)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	size_t handled = 0;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	gamma_domain_lock(ep->domain);
	gamma_progress_poll(ep->domain);
	while (handled < most && !ep->ports.running && run_next(ep, &handled))
		;
	gamma_domain_unlock(ep->domain);
	return (ssize_t) handled;
}

/* ---- keeping ---- */

static int port_keep(struct fid_ep *fid, const struct fi_gamma_arrival *arrival, void **kept)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	struct delivery *delivery;

	if (!arrival || !kept || !ep->ports.running)
		return refuse_call(ep, "keep outside of the handler");
	delivery = gamma_container_of(arrival, struct delivery, arrival);
	if (!delivery->inbound || !delivery->inbound->buffered)
		return -FI_ENODATA; /* nothing to keep, or fetched: copy it */
	delivery->keep = true;
	*kept = delivery->inbound->buffered;
	return 0;
}

static int port_release(struct fid_ep *fid, void *kept)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	struct gamma_inbound *found = NULL;
	struct gamma_list *pos;

	gamma_domain_lock(ep->domain);
	gamma_list_for_each (pos, &ep->ports.kept) {
		struct gamma_inbound *inbound = gamma_list_entry(pos, struct gamma_inbound, entry);

		if (kept && inbound->buffered == kept)
			found = inbound;
	}
	if (found) {
		gamma_list_remove(&found->entry);
		gamma_receive_discard(found);
	}
	gamma_domain_unlock(ep->domain);
	return found ? 0 : refuse_call(ep, "release of what was not kept");
}

static int port_query(struct fid_ep *fid, fi_addr_t addr, struct fi_gamma_port_info *info)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;

	(void) addr;
	if (!info || info->size != sizeof(*info))
		return refuse_call(ep, "set size of struct fi_gamma_port_info");
	info->head_max = FI_GAMMA_HEAD_MAX;
	info->data_max = gamma_settings.eager_size;
	return 0;
}

static struct fi_gamma_port_ops port_ops = {
	.size = sizeof(struct fi_gamma_port_ops),
	.set = port_set,
	.send = port_send,
	.reply = port_reply,
	.keep = port_keep,
	.release = port_release,
	.poll = port_poll,
	.query = port_query,
};

int gamma_active_port_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context)
{
	const struct gamma_fi_ep_handle *handle =
		gamma_container_of(fid, struct gamma_fi_ep_handle, fid.fid);

	(void) context;
	if (!handle->ep || handle->ep->type != FI_EP_RDM || handle->ep->sep || !name ||
	    strcmp(name, FI_GAMMA_PORT_OPS_1))
		return -FI_ENOSYS;
	if (flags || !ops)
		return -FI_EINVAL;
	*ops = &port_ops;
	return 0;
}
