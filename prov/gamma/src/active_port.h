/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Active ports of an endpoint: handlers, and the messages that wait for them. The domain's lock
 * covers all of it, except while a handler runs.
 */
#ifndef GAMMA_PROV_ACTIVE_PORT_H
#define GAMMA_PROV_ACTIVE_PORT_H

#include <rdma/fabric.h>
#include <stdbool.h>

#include "message/message.h"

struct gamma_fi_ep;
struct gamma_active_port_fetch;

/* Stands for the sender of the message whose handler runs, in a send's address. */
#define GAMMA_ACTIVE_PORT_SENDER (FI_ADDR_NOTAVAIL - 1)

struct gamma_active_ports {
	struct gamma_list arrived; /* struct gamma_inbound, as they came */
	struct gamma_list kept;    /* the same, after their handlers have asked for it */
	struct gamma_active_port_page *
		*pages; /* handlers, by the port's high byte; NULL: none yet */
	struct gamma_active_port_fetch *fetch; /* a message whose bytes had stayed with its sender,
						* and all others wait for it; NULL: none */
	struct gamma_flow *sender;             /* of the message whose handler runs, or NULL */
	bool running;                          /* a handler */
};

/* Of an endpoint that opens. */
void gamma_active_port_init(struct gamma_active_ports *ports);
/* Of an endpoint whose engine has ended: the engine has freed the messages. */
void gamma_active_port_fini(struct gamma_active_ports *ports);
/* A message to a port has arrived. */
void gamma_active_port_arrived(struct gamma_fi_ep *ep, struct gamma_inbound *inbound);
/* The bytes of one that was demoted have come, or never will: error. */
void gamma_active_port_received(struct gamma_fi_ep *ep, int error);
/* A flow ends; other: the one that takes its place, or NULL. */
void gamma_active_port_replace(struct gamma_fi_ep *ep, const struct gamma_flow *flow,
			       struct gamma_flow *other);
/* fi_open_ops on an endpoint or an alias. */
int gamma_active_port_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context);

#endif /* GAMMA_PROV_ACTIVE_PORT_H */
