/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The whole provider on an engine without links: messages wait in real flows until the test
 * acknowledges them, and the test makes up the frames of peers. Linked in place of
 * common/engine/endpoint.c. Nothing touches the network.
 */
#ifndef GAMMA_TEST_PROV_FAKE_ENGINE_H
#define GAMMA_TEST_PROV_FAKE_ENGINE_H

#include "prov_fake_domain.h"

#include "engine/endpoint.h"
#include "ep.h"

/* The engine's endpoint. */
struct gamma_endpoint {
	struct gamma_message_local messages;
	struct gamma_endpoint_attr attr; /* as the provider has asked for it */
	struct gamma_endpoint_handlers handlers;
	void *context;                     /* of the handlers */
	void (*on_progress)(void *arg);    /* called by each progress; or NULL */
	void *arg;                         /* of on_progress */
	int send_error;                    /* what a send returns; 0: it is taken */
	enum gamma_endpoint_copied copied; /* what a send of a copy returns */
	bool shm;                          /* peers take inline shm messages */
	bool host_peers;                   /* there are peers on this host */
	bool idle;                         /* progress finds nothing, for long now */
	struct gamma_envelope envelope;    /* of the latest message copied, or datagram */
	uint8_t bytes[64];                 /* the first ones of its payload */
	bool may_delay, more;              /* of the latest message copied */
	struct gamma_send *send;           /* the latest one taken */
	struct gamma_rma *rma;             /* of the latest operation on remote memory */
	unsigned copies, sends, shm_sends; /* calls that took a message */
	unsigned datagrams, progressed;    /* calls */
	unsigned lingered, joined;         /* calls; groups joined now */
	int fd;                            /* to sleep on; never readable */
	bool polling;                      /* on_progress runs: the domain is locked */
	const struct gamma_list *lends;    /* while it is empty; NULL: not allowed */
	bool lent;                         /* something is */
	unsigned returned;                 /* calls that gave back what was lent */
	const void *withdrawn;             /* the latest region withdrawn */
};

/* What the next gamma_endpoint_create returns; 0: it succeeds. */
extern int fake_create_error;

/* An endpoint with all that it needs, and one entry in its AV: fake_addr(1, 100, 7). */
struct fake_ep {
	struct fake *fake;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct gamma_endpoint *engine;
	struct gamma_flow *flow; /* to the first entry of the AV */
	struct gamma_addr peer;  /* that entry */
};

/* Capabilities on top of FI_MSG and FI_TAGGED; cq_flags: on top of both directions. */
struct fake_ep *fake_ep_open(struct fake *fake, enum fi_ep_type type, uint64_t caps,
			     uint64_t cq_flags);
void fake_ep_close(struct fake_ep *fep);
/* An info with which an endpoint of that type can be opened on the fake domain; the caller frees.
 */
struct fi_info *fake_info(enum fi_ep_type type, uint64_t caps);
struct gamma_endpoint *fake_engine_of(struct fid_ep *ep);

/* cmocka's setup and teardown: *state is a struct fake_ep of reliable messages with
 * FI_DIRECTED_RECV and FI_SOURCE, or of datagrams. */
int fake_ep_setup(void **state);
int fake_ep_setup_dgram(void **state);
int fake_ep_teardown(void **state);

/* The flow of another peer: to that address, made if need be. */
struct gamma_flow *fake_flow(struct fake_ep *fep, const struct gamma_addr *addr);
/* Receives posted that count as owed by the peer. */
unsigned fake_expected(const struct gamma_flow *flow);

/* A frame of data arrives, with these fields but for those that the flow knows. */
void fake_arrive_fields(struct gamma_flow *flow, struct gamma_fields *fields, const void *payload);
/* A message arrives in one frame: text, with its tag (UINT64_MAX: untagged). */
void fake_arrive(struct gamma_flow *flow, uint64_t tag, const char *text);
/* The same with CQ data. */
void fake_arrive_data(struct gamma_flow *flow, const char *text, uint64_t data);
/* A message to a port arrives, announced only, or its bytes do: `op` SEND, ANNOUNCE, BULK. id: of
 * the receiver, with BULK. */
void fake_arrive_port(struct gamma_flow *flow, uint8_t op, uint32_t id, uint64_t tag,
		      const char *text);
/* The announcement of a message of that many bytes arrives. */
void fake_announce(struct gamma_flow *flow, uint64_t tag, uint64_t length);
/* Frames of the flow leave, up to what credit allows; returns how many of them carry data. */
unsigned fake_transmit(struct gamma_flow *flow);
/* The peer acknowledges all that has left. */
void fake_acknowledge(struct gamma_flow *flow);
/* The peer has been declared dead. */
void fake_fail(struct gamma_flow *flow, int error);

#endif /* GAMMA_TEST_PROV_FAKE_ENGINE_H */
