// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Messages to an active port of the provider: Open MPI's callback runs on the bytes where they
 * arrived. Those that fit one frame go that way; longer ones are put together in the buffers of
 * receive.c. A message begins with the sender's name, and its number has the tag and the kind.
 */
#include "btl_gamma.h"

#include <rdma/fi_errno.h>
#include <string.h>

enum { KIND_SHIFT = 8 }; /* of the number */

/* Called by the provider within fi_cq_read or fi_trywait, one message at a time. */
static void on_message(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct btl_gamma_module *module = context;
	struct btl_gamma_port *port = module->port;
	unsigned char *data = (unsigned char *) arrival->data;
	struct btl_gamma_header header = {
		.tag = (uint8_t) arrival->arg,
		.kind = (uint8_t) (arrival->arg >> KIND_SHIFT),
	};
	bool polling;

	(void) ep;
	__atomic_store_n(&port->handled, port->handled + 1, __ATOMIC_RELAXED);
	if (!data || arrival->len < sizeof(header.sender))
		return;
	memcpy(&header.sender, data, sizeof(header.sender));
	polling = btl_gamma_progress_leave(port);
	btl_gamma_receive_message(module, &header, data + sizeof(header.sender),
				  arrival->len - sizeof(header.sender));
	if (polling)
		btl_gamma_progress_reenter(port);
}

/* Before the address is published: nobody sends earlier. */
void btl_gamma_active_port_open(struct btl_gamma_module *module)
{
	const struct fi_gamma_port_attr attr = {
		.size = sizeof(attr), .handler = on_message, .context = module};
	struct fi_gamma_port_info info = {.size = sizeof(info)};
	struct btl_gamma_port *port = module->port;
	struct fi_gamma_port_ops *ops = NULL;
	int rc;

	if (!mca_btl_gamma_component.ports)
		return;
	rc = fi_gamma_open_ports(port->ep, &ops);
	if (!rc)
		rc = ops->query(port->ep, FI_ADDR_UNSPEC, &info);
	if (!rc)
		rc = ops->set(port->ep, BTL_GAMMA_ACTIVE_PORT, &attr);
	if (rc) {
		btl_gamma_report_slow(
			"the provider offers no active port on %s: %s.",
			"Messages are copied once more. Install provider and component from the "
			"same release, or set btl_gamma_ports to 0.",
			port->nic, fi_strerror(-rc));
		return;
	}
	port->active = ops;
	port->active_max = info.frame_max;
}

/* iov begins with the sender's name. context: of the completion; NULL: the message is copied, and
 * there is none. */
int btl_gamma_active_port_send(struct mca_btl_base_endpoint_t *peer, const struct iovec *iov,
			       size_t count, mca_btl_base_tag_t tag, void *context)
{
	const struct btl_gamma_port *port = peer->module->port;
	const struct fi_gamma_msg message = {
		.iov = iov,
		.iov_count = count,
		.addr = peer->address,
		.port = BTL_GAMMA_ACTIVE_PORT,
		.arg = tag | BTL_GAMMA_KIND_MESSAGE << KIND_SHIFT,
		.context = context,
	};

	return (int) port->active->send(port->ep, &message, context ? FI_COMPLETION : FI_INJECT);
}
