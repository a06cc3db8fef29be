/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Active ports of an endpoint: handlers (active_port.c), and the messages that wait for them or are
 * handled (active_port_run.c). The domain's lock covers all of it, except while a handler runs.
 */
#ifndef GAMMA_PROV_ACTIVE_PORT_H
#define GAMMA_PROV_ACTIVE_PORT_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <stdbool.h>

#include "engine/lending.h"
#include "message/message.h"
#include "rdma/fi_ext_gamma.h"
#include "sleep.h"

struct gamma_fi_ep;

/* Stands for the sender of the message whose handler runs, in a send's address. */
#define GAMMA_ACTIVE_PORT_SENDER (FI_ADDR_NOTAVAIL - 1)

enum {
	GAMMA_ACTIVE_PORT_PAGE = 256,       /* ports; that many pages hold them all */
	GAMMA_ACTIVE_PORT_DATAGRAMS = 1024, /* that wait for handlers; others are lost */
	GAMMA_ACTIVE_PORT_STUCK_S = 5,      /* a handler that runs for so long is reported */
	GAMMA_ACTIVE_PORT_TURN = 64,        /* handlers that one call runs, unless it says so */
};

struct gamma_active_port_page {
	struct fi_gamma_port_attr ports[GAMMA_ACTIVE_PORT_PAGE]; /* no handler: not set */
};

/* A message that is handled where it arrived. */
struct gamma_active_port_lent {
	struct gamma_flow *flow;        /* its sender's; NULL: gone, or a datagram's */
	struct gamma_addr source;       /* the sender of a datagram */
	struct gamma_envelope envelope; /* as it came */
	const uint8_t *bytes;           /* in the slot */
};

struct gamma_active_ports {
	struct gamma_list arrived;   /* struct gamma_inbound, as they came */
	struct gamma_list datagrams; /* those that wait for their handlers */
	unsigned datagram_count;     /* of them */
	struct gamma_list kept;      /* what handlers have kept */
	struct gamma_active_port_page *
		*pages;            /* handlers, by the port's high byte; NULL: none yet */
	struct gamma_list fetches; /* messages whose bytes had stayed with their senders; others of
				    * such a sender wait */
	struct gamma_active_port_lent *lent;    /* GAMMA_ACTIVE_PORT_TURN; NULL: no handler yet */
	unsigned lent_count, lent_next;         /* taken in this progress call, and handled */
	unsigned lent_most;                     /* may be taken; 0: it is not one that handles */
	const struct fi_gamma_arrival *current; /* whose handler runs, or NULL */
	pthread_t thread;                       /* that runs it */
	struct gamma_flow *sender;              /* of that message, or NULL */
	struct gamma_addr datagram_sender;      /* the same at best effort */
	struct gamma_inbound *announced; /* that message, if it is still with its sender, or NULL */
	bool received;                   /* its handler has posted a receive for it */
	uint64_t handled;                /* messages */
	struct gamma_waiter waiter;      /* threads in wait */
	uint64_t turn;                   /* domain->ports_turn when its handlers ran last */
	bool closing;                    /* nothing is handled any more */
	uint64_t seen_handled;           /* handled, when a handler was last seen to run */
	uint64_t seen_at;                /* ns: since when it has been that one */
	bool reported;                   /* that it does not return */
	/* Where heads go that handlers have seen. */
	uint8_t head_again[FI_GAMMA_HEAD_MAX];
};

/* Of an endpoint that opens. */
void gamma_active_port_init(struct gamma_active_ports *ports, struct gamma_domain *domain);
/* Of an endpoint whose engine has ended: the engine has freed the messages. */
void gamma_active_port_fini(struct gamma_active_ports *ports);
/* fi_open_ops on an endpoint or an alias. */
int gamma_active_port_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context);
/* The handler of a port, or NULL. */
const struct fi_gamma_port_attr *gamma_active_port_find(const struct gamma_active_ports *ports,
							uint16_t port);
/* A call made no sense: logs why, returns -FI_EINVAL. */
int gamma_active_port_refuse(const struct gamma_fi_ep *ep, const char *why);

/* ---- active_port_run.c ---- */

/* A whole message to a port: true if it is handled where it is, within this progress call. */
bool gamma_active_port_run_lend(struct gamma_fi_ep *ep, struct gamma_flow *flow,
				const struct gamma_envelope *envelope, const uint8_t *bytes);
/* A message to a port has arrived, or has been announced, and waits for its handler. */
void gamma_active_port_run_later(struct gamma_fi_ep *ep, struct gamma_inbound *inbound);
/* A message to a port at best effort: lent, kept, or lost if many wait. */
void gamma_active_port_run_datagram(struct gamma_fi_ep *ep, const struct gamma_addr *source,
				    const struct gamma_envelope *envelope, const uint8_t *bytes);
/* Bytes that had stayed with their sender have come, or never will: error. False: the receive is
 * one that a handler has posted. */
bool gamma_active_port_run_received(struct gamma_fi_ep *ep, struct gamma_recv *recv, int error);
/* A receive that a handler has posted gets its end: takes the head, which came in front of the
 * data, from it and from the envelope; returns the bytes of data that were placed. */
uint64_t gamma_active_port_run_strip_head(struct gamma_recv *recv, struct gamma_envelope *envelope,
					  uint64_t placed);
/* A flow ends; other: the one that takes its place, or NULL. */
void gamma_active_port_run_replace(struct gamma_fi_ep *ep, const struct gamma_flow *flow,
				   struct gamma_flow *other);
/* A port has got a handler: threads that wait for one are woken if messages wait, too. */
void gamma_active_port_run_set(struct gamma_fi_ep *ep);
/* Whether a handler runs, as the domain's own thread sees it; reports one that does not return. */
bool gamma_active_port_run_watch(struct gamma_domain *domain);
/* The endpoint is to close: no handler runs any more. False: one runs now. */
bool gamma_active_port_run_stop(struct gamma_fi_ep *ep);
/* Progress of a domain in which ports have handlers, then these. The lock is let go meanwhile. */
void gamma_active_port_run_all(struct gamma_domain *domain);

/* Whether messages wait for a call that runs their handlers. */
bool gamma_active_port_run_pending(const struct gamma_domain *domain);

/* Progress for a call that may run handlers: progress_poll for those that may not. */
static inline void gamma_active_port_progress(struct gamma_domain *domain)
{
	if (gamma_likely(!domain->active_ports))
		gamma_progress_poll(domain);
	else
		gamma_active_port_run_all(domain);
}

/* Whether a handler has been called with that, and runs. */
bool gamma_active_port_run_is_current(const struct gamma_fi_ep *ep,
				      const struct fi_gamma_arrival *arrival);
/* Whether the calling thread runs a handler of the endpoint. */
bool gamma_active_port_run_is_handler(const struct gamma_fi_ep *ep);
/* The endpoint is closing: what handlers have kept and not released, and the datagrams that wait.
 */
void gamma_active_port_run_free_kept(struct gamma_active_ports *ports);

/* The extension's calls, as fi_ext_gamma.h has them. */
ssize_t gamma_active_port_run_receive(struct fid_ep *fid, const struct fi_gamma_arrival *arrival,
				      const struct iovec *iov, size_t count, void *context,
				      uint64_t flags);
int gamma_active_port_run_keep(struct fid_ep *fid, const struct fi_gamma_arrival *arrival,
			       void **data);
int gamma_active_port_run_release(struct fid_ep *fid, void *data);
ssize_t gamma_active_port_run_poll(struct fid_ep *fid, size_t most);
int gamma_active_port_run_wait(struct fid_ep *fid, int timeout);

#endif /* GAMMA_PROV_ACTIVE_PORT_H */
