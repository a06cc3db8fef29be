/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gamma-api: two processes that try every call of the libfabric interface on each other. What
 * its files share: api_main.c (which tests, in what order), api_node.c (opening endpoints, and the
 * out-of-band connection of the two processes), api_message.c (sending, receiving, checking) and
 * the tests in api_transfer.c, api_matching.c, api_completion.c, api_life.c, api_multi.c,
 * api_shared.c, api_scalable.c, api_work.c, api_multicast.c, api_progress.c, api_limits.c,
 * api_exchange.c, api_calls.c, api_cancel.c, api_controls.c, api_waiting.c, api_memory.c,
 * api_rma.c, api_target.c, api_atomic.c, api_atomic_shared.c, api_ports.c,
 * api_ports_life.c.
 */
#ifndef GAMMA_API_H
#define GAMMA_API_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>

#include "check.h"

enum {
	PATIENCE_S = 120, /* for anything that must happen; see stall_s in lib.sh */
	ADDR_MAX = 64,    /* bytes of an endpoint's name */
	PIECES = 8,       /* iov_limit */
};

double now(void); /* s */
void nap(unsigned milliseconds);

/* ---- api_main.c ---- */

struct test {
	const char *name;
	void (*run)(bool sender);
	bool both_ways;  /* run a second time with the roles exchanged */
	bool on_request; /* only if named: something must happen from outside */
};
extern const struct test transfer_tests[], matching_tests[], completion_tests[], life_tests[],
	multi_tests[], shared_tests[], scalable_tests[], work_tests[], multicast_tests[],
	progress_tests[], limit_tests[], call_tests[], cancel_tests[], control_tests[],
	waiting_tests[], exchange_tests[], memory_tests[], rma_tests[], target_tests[],
	atomic_tests[], atomic_shared_tests[], port_tests[], port_life_tests[];

/* ---- api_node.c: endpoints ---- */

struct node_options {
	enum fi_ep_type type;      /* default: RDM */
	uint64_t caps;             /* besides FI_MSG and FI_TAGGED */
	uint64_t tx_bind, rx_bind; /* FI_SELECTIVE_COMPLETION */
	uint64_t tx_op_flags;      /* completion level */
	uint64_t rx_op_flags;
	enum fi_wait_obj wait; /* of CQs and counters */
	enum fi_threading threading;
	enum fi_progress progress; /* default: as the provider has it */
	enum fi_av_type av_type;
	enum fi_cq_format format; /* default: tagged */
	int mr_mode; /* FI_MR_BASIC, FI_MR_SCALABLE: hint; bits: what the program does of its own */
	const char *port;
	bool counters;
	bool one_cq; /* for both directions */
	bool events; /* an event queue */
	bool shared; /* receives go to a shared context, sends through one */
};

struct node {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *tx_cq, *rx_cq;
	struct fid_cntr *tx_cntr, *rx_cntr;
	struct fid_eq *eq;
	struct fid_ep *ep;
	struct fid_ep *srx; /* where receives go, if they do not go to ep */
	struct fid_stx *stx;
	fi_addr_t peer;
	struct node *next; /* of the open ones */
};

/* Opens up to the enabled endpoint; node_try_open leaves the last step's result to the caller. */
void node_open(struct node *node, const struct node_options *options);
int node_try_open(struct node *node, const struct node_options *options);
/* Another endpoint on the same objects, enabled. */
struct fid_ep *node_another_endpoint(struct node *node, const struct node_options *options);
/* Also exchanges addresses with the peer's node. */
void node_open_pair(struct node *node, const struct node_options *options);
void node_close(struct node *node);
/* Synchronises with the peer: nothing is in flight any more. */
void node_close_pair(struct node *node);

struct name {
	uint8_t bytes[ADDR_MAX];
	size_t len;
};
void endpoint_name(struct fid_ep *ep, struct name *name);
void node_name(struct node *node, struct name *name);
fi_addr_t node_insert(struct node *node, const struct name *name);
/* Counted by its NIC, from any sender. */
unsigned long node_frames_sent(const struct node *node);
/* What messages about a peer name it by: the MAC address of a host of the lab, but for its end;
 * over UDP the pseudo MAC address. */
const char *node_peer_text(void);

/* ---- api_node.c: the two processes ---- */

void aside_listen(const char *port);
void aside_connect(const char *host, const char *port);
/* Sends and receives as many bytes. All open endpoints are progressed meanwhile. */
void aside_exchange(const void *out, void *in, size_t len);
void aside_sync(void);
void progress_all(void);

/* Sizes in bytes, as configured or by default. */
struct sizes {
	size_t inject, eager, mtu;
};
void node_sizes(const struct node *node, struct sizes *sizes);

/* ---- api_message.c ---- */

enum send_kind { SEND, SENDV, SENDMSG, SENDDATA, INJECT, INJECTDATA, SEND_KINDS };
enum recv_kind { RECV, RECVV, RECVMSG, RECV_KINDS };

struct message {
	enum send_kind send;
	enum recv_kind recv;
	bool tagged;
	uint64_t tag, ignore;
	bool has_data;
	uint64_t data;
	uint64_t flags; /* of sendmsg and recvmsg */
	fi_addr_t addr; /* destination; source, if a receive is directed */
	struct iovec iov[PIECES];
	size_t segments;
	size_t len;     /* bytes in all */
	unsigned seed;  /* of the contents */
	bool is_silent; /* no completion entry */
	void *memory;   /* behind iov */
	bool done;      /* set by the thread that reads its completion */
};

/* Memory for a message of len bytes in one piece, or in several with gaps between them. */
void message_init(struct message *message, size_t len, size_t segments);
void message_fill(struct message *message, unsigned seed);
/* The first len bytes are those of a message filled with this seed, and no byte behind changed. */
void message_check(const struct message *message, unsigned seed, size_t len);
void message_free(struct message *message);
/* The contents of a message filled with this seed are at bytes. */
void content_check(const void *bytes, unsigned seed, size_t len);

ssize_t message_try_send(struct node *node, struct message *message);
ssize_t message_try_receive(struct node *node, struct message *message);
/* Retries while the provider returns -FI_EAGAIN. */
void message_send(struct node *node, struct message *message);
void message_receive(struct node *node, struct message *message);

struct completion {
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;
};
/* Both fail the test after PATIENCE_S. */
void wait_completion(struct fid_cq *cq, struct completion *completion);
void wait_error(struct fid_cq *cq, struct fi_cq_err_entry *error);
bool poll_completion(struct fid_cq *cq, struct completion *completion);
void expect_nothing(struct fid_cq *cq);

/* Waits for the completion of this message and checks each of its fields. */
void wait_sent(struct node *node, struct message *message);
void wait_received(struct node *node, struct message *message, size_t len);
/* Fills it, sends it and waits for its completion; the message is freed. */
void send_filled(struct node *node, struct message *message, unsigned seed);
/* Waits for a posted one, all of which must have come, and checks it; the message is freed. */
void receive_filled(struct node *node, struct message *message, unsigned seed);
/* An untagged message of that length and contents, from posting to the end. */
void send_one(struct node *node, size_t len, unsigned seed);
void receive_one(struct node *node, size_t len, unsigned seed);
/* Posts a tagged receive: receive_filled is its end. */
void post_tag(struct node *node, struct message *message, size_t len, uint64_t tag,
	      uint64_t ignore);
/* Reads completions of any message, until this one's is there. */
void wait_done(struct fid_cq *cq, struct message *message);

#endif /* GAMMA_API_H */
