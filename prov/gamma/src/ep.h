/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The endpoint as its own files see it: ep.c (life), binding.c, options.c, msg.c and tagged.c
 * (calls), submit.c (what the calls have in common), match.c (arriving messages and posted
 * receives), multi_recv.c, shared_ctx.c, sep.c (scalable endpoints), rma.c, atomic.c and remote.c
 * (operations on remote memory), atomic_target.c, dgram.c, mc.c (multicast groups), coll.c and its
 * siblings (collective operations), completion.c.
 */
#ifndef GAMMA_EP_H
#define GAMMA_EP_H

#include "active_port.h"
#include "coll.h"
#include "engine/endpoint.h"
#include "gamma.h"

struct gamma_rx_ctx;
struct gamma_deferred_work;

/* The user's handle: the endpoint itself, an alias with flags of its own, or a shared receive
 * context. */
struct gamma_fi_ep_handle {
	struct fid_ep fid;
	struct gamma_fi_ep *ep;  /* NULL: a shared receive context */
	struct gamma_rx_ctx *rx; /* of that, where receives are posted; else NULL: ep->rx */
	struct gamma_deferred_work
		*work; /* operations posted through it are deferred as this work; or NULL */
	uint64_t tx_flags, rx_flags; /* default operation flags */
};

/* A send in progress. */
struct gamma_tx {
	struct gamma_send send;
	struct gamma_list entry; /* in ep->sends, or in the pool */
	void *context;
	uint64_t flags; /* of its completion entry: FI_SEND | FI_MSG ... */
	bool notify;    /* write a completion entry */
	bool *done;     /* set when it ends within the call that posted it, or NULL */
	struct gamma_deferred_work
		*work; /* completed at its end instead of the endpoint's queue; or NULL */
	void *copy;    /* of the message, if it had to be copied but could not leave, or NULL */
	struct gamma_rma remote; /* if send.remote refers to it */
};

/* A posted receive. */
struct gamma_rx {
	struct gamma_recv recv;
	struct gamma_list entry; /* in a posted list, among the matched, or in the pool */
	struct gamma_fi_ep *ep;  /* whose message it has matched; NULL: none yet */
	struct gamma_flow *flow; /* while posted: to the source that it names, or NULL */
	void *context;
	uint64_t flags; /* of its completion entry: FI_RECV | FI_MSG ... */
	uint64_t tag, ignore;
	fi_addr_t source;              /* FI_ADDR_UNSPEC: any; GAMMA_SOURCE_NAMED: ... */
	struct gamma_addr source_name; /* ... what was removed from the AV since */
	struct gamma_deferred_work
		*work; /* completed at its end instead of the endpoint's queue; or NULL */
	bool wanted;   /* a completion entry even on a selective queue: FI_COMPLETION */
	/* of a slice of a multi-receive buffer */
	struct gamma_rx *parent; /* the buffer; else NULL */
	/* of a multi-receive buffer, whose recv is its unused rest */
	bool multi;
	bool consumed;          /* no more pieces are taken */
	bool released;          /* the release has been reported */
	uint32_t slices;        /* matched and not complete */
	struct gamma_rx *spare; /* the next slice, allocated ahead since a match must not fail */
	int error;              /* positive FI_E* that it ends with; 0: it was used up */
};

/* A best-effort message that no receive was posted for. */
struct gamma_unexpected_datagram;

/* Posted receives, and the messages that wait for some: an endpoint's own, or shared. */
struct gamma_rx_ctx {
	struct gamma_domain *domain;
	struct gamma_fi_ep *ep; /* whose own it is; NULL: shared */
	bool directed;          /* receives may name a source */
	int error;              /* negative errno: nothing will arrive any more; else 0 */
	size_t size, used;      /* receives that may be posted, and are */
	size_t min_multi;       /* bytes: a multi-receive buffer with less room is released */
	struct gamma_list posted_msg, posted_tagged; /* struct gamma_rx, in the order of posting */
	struct gamma_list unexpected_msg,
		unexpected_tagged;   /* struct gamma_inbound, as they came */
	struct gamma_list datagrams; /* struct gamma_unexpected_datagram */
	size_t datagram_count;
	struct gamma_list
		matched;        /* struct gamma_rx whose message is arriving, and used-up buffers */
	struct gamma_list free; /* struct gamma_rx */
};

/* A receive context that endpoints share. */
struct gamma_srx {
	struct gamma_fi_ep_handle handle;
	struct gamma_rx_ctx rx;
	struct gamma_list eps; /* struct gamma_fi_ep.srx_entry: enabled ones */
	int refs;              /* endpoints bound; atomic */
};

/* A transmit context that endpoints share: a name only, since sends need no shared resource. */
struct gamma_stx {
	struct fid_stx stx_fid;
	struct gamma_domain *domain;
	int refs; /* endpoints bound; atomic */
};

enum {
	GAMMA_CNTR_SEND,
	GAMMA_CNTR_RECV,
	GAMMA_CNTR_READ,
	GAMMA_CNTR_WRITE,
	GAMMA_CNTR_REMOTE_READ,
	GAMMA_CNTR_REMOTE_WRITE,
	GAMMA_CNTR_COUNT
};
enum { GAMMA_CAUSE_LEN = 256 };

struct gamma_fi_ep {
	struct gamma_fi_ep_handle handle;
	struct gamma_domain *domain;
	struct gamma_list domain_entry;
	enum fi_ep_type type;
	bool enabled;
	bool coll_active; /* gamma_coll_run_progress has something to do, or to wait for */
	bool closing;     /* completions are dropped */
	struct gamma_lock
		linger_lock; /* on the engine's endpoint once closing; after the domain's lock */
	bool ended;          /* revoked by gammad, or its NIC was removed */
	bool fast_inject;    /* enabled, reliable, and injected messages have no counter */
	bool transmits, receives;  /* a context of a scalable endpoint does one of them */
	bool initiates, is_target; /* by its capabilities: of messages and operations on memory */
	bool takes_messages; /* not only operations on memory, which complete without its queue */
	bool shares_rx, shares_tx; /* it is to be bound to contexts that others use as well */
	bool multicast;            /* may join groups */
	bool want_source;          /* FI_SOURCE */
	bool source_err;           /* FI_SOURCE_ERR */
	bool reachable;            /* FI_REMOTE_READ or FI_REMOTE_WRITE: peers may use regions */
	bool tx_selective, rx_selective;
	uint16_t port;            /* wanted; 0: any */
	int aliases;              /* and groups that it is in; atomic */
	struct gamma_list groups; /* struct gamma_mc */
	struct gamma_av *av;
	struct gamma_eq *eq;
	struct gamma_srx *srx; /* or NULL */
	struct gamma_list srx_entry;
	struct gamma_stx *stx;  /* or NULL */
	struct gamma_sep *sep;  /* whose context it is, or NULL */
	unsigned context_index; /* among its contexts, and of its port behind the first one */
	struct gamma_cq *tx_cq, *rx_cq;
	struct gamma_cntr *cntrs[GAMMA_CNTR_COUNT];
	struct gamma_endpoint *endpoint; /* the engine's, once enabled */
	struct gamma_flow **flows;       /* by fi_addr_t: a cache */
	size_t flow_count;
	struct gamma_list removed_names; /* of source.c */
	size_t tx_size, tx_used;         /* sends that may be outstanding, and are */
	struct gamma_rx_ctx *rx;         /* own_rx or the shared one's */
	struct gamma_rx_ctx own_rx;
	struct gamma_active_ports ports;
	struct gamma_coll *coll;     /* with FI_COLLECTIVE; else NULL */
	struct gamma_list free_tx;   /* struct gamma_tx */
	struct gamma_list sends;     /* struct gamma_tx outstanding */
	char cause[GAMMA_CAUSE_LEN]; /* the cause for which a flow is failing, for people */
};

/* Bytes that are sent before the receiver has a buffer for them. */
static inline size_t gamma_ep_eager_size(const struct gamma_fi_ep *ep)
{
	const struct gamma_domain *domain = ep->domain;
	bool udp = domain->nic.udp || domain->nic.has_udp || domain->beside.mtu;

	return udp ? gamma_settings.udp_eager_size : gamma_settings.eager_size;
}

static inline struct gamma_fi_ep_handle *gamma_ep_handle_of(struct fid_ep *fid)
{
	return gamma_container_of(fid, struct gamma_fi_ep_handle, fid);
}

static inline struct gamma_rx_ctx *gamma_ep_handle_rx(const struct gamma_fi_ep_handle *handle)
{
	return handle->ep ? handle->ep->rx : handle->rx;
}

/* Whether an operation with these flags is to be deferred. */
static inline bool gamma_deferred_work_wanted(const struct gamma_fi_ep_handle *handle,
					      uint64_t flags)
{
	return flags & FI_TRIGGER || handle->work;
}

extern struct fi_ops_msg gamma_msg_ops;
extern struct fi_ops_tagged gamma_tagged_ops;
extern struct fi_ops_rma gamma_rma_ops;
extern struct fi_ops_atomic gamma_atomic_ops;
extern const struct gamma_endpoint_handlers gamma_match_handlers;
extern const struct gamma_rma_target gamma_remote_target;

/* Of a post's flags, private: the tag names an active port. */
#define GAMMA_POST_TO_PORT (1ull << 60)

/* ---- submit.c: the common path of all sends and receives ---- */

struct gamma_post {
	const struct iovec *iov;
	size_t count;
	fi_addr_t addr;
	uint64_t tag, ignore, data;
	void *context;
	struct gamma_deferred_work *work; /* whose operation it is, or NULL */
	uint64_t flags; /* FI_TAGGED or FI_MSG, FI_REMOTE_CQ_DATA, FI_INJECT, FI_COMPLETION, ... */
	bool silent;    /* fi_inject and its variants: no completion entry */
};
ssize_t gamma_submit_send(struct gamma_fi_ep_handle *handle, const struct gamma_post *post);
/* The same to an active port; len: gamma_submit_len of post. */
ssize_t gamma_submit_send_to_port(struct gamma_fi_ep_handle *handle, const struct gamma_post *post,
				  uint64_t len);
ssize_t gamma_submit_recv(struct gamma_fi_ep_handle *handle, const struct gamma_post *post);
/* kind: FI_MSG or FI_TAGGED, with FI_REMOTE_CQ_DATA if data is to go with it. */
ssize_t gamma_submit_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
			    uint64_t tag, uint64_t data, uint64_t kind);

/* Flags that the *msg calls of every operation on a peer take. */
#define GAMMA_TX_FLAGS                                                                     \
	(FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_MORE | FI_INJECT | FI_FENCE | FI_TRIGGER | \
	 GAMMA_COMPLETION_LEVELS)

/* Whether some of the flags are not supported. The completion of a fenced operation implies that of
 * all before it at its level (fi_cq(3)), but an eager message has no report of its match. */
static inline bool gamma_submit_refuses(uint64_t flags, uint64_t taken)
{
	const uint64_t all_matched = FI_FENCE | FI_MATCH_COMPLETE;

	return flags & ~taken || (flags & all_matched) == all_matched;
}

/* Flags that the *msg calls of every receive take. Every complete message is visible here, which is
 * more than FI_TRANSMIT_COMPLETE asks. */
#define GAMMA_RX_FLAGS                                                            \
	(FI_COMPLETION | FI_MORE | FI_PEEK | FI_CLAIM | FI_DISCARD | FI_TRIGGER | \
	 FI_TRANSMIT_COMPLETE)

/* The forms in which libfabric's calls pass an operation; kind: FI_MSG or FI_TAGGED. */

static inline ssize_t gamma_submit_recv_iov(struct fid_ep *fid, const struct iovec *iov,
					    size_t count, fi_addr_t source, uint64_t tag,
					    uint64_t ignore, void *context, uint64_t kind)
{
	struct gamma_fi_ep_handle *handle = gamma_ep_handle_of(fid);

	return gamma_submit_recv(handle, &(struct gamma_post){
						 .iov = iov,
						 .count = count,
						 .addr = source,
						 .tag = tag,
						 .ignore = ignore,
						 .context = context,
						 .flags = handle->rx_flags | kind,
					 });
}

/* kind: with FI_REMOTE_CQ_DATA if data is to go with it. */
static inline ssize_t gamma_submit_send_iov(struct fid_ep *fid, const struct iovec *iov,
					    size_t count, fi_addr_t dest, uint64_t tag,
					    uint64_t data, void *context, uint64_t kind)
{
	struct gamma_fi_ep_handle *handle = gamma_ep_handle_of(fid);

	return gamma_submit_send(handle, &(struct gamma_post){
						 .iov = iov,
						 .count = count,
						 .addr = dest,
						 .tag = tag,
						 .data = data,
						 .context = context,
						 .flags = handle->tx_flags | kind,
					 });
}

/* An endpoint that is not enabled; NULL: no memory. */
struct gamma_fi_ep *gamma_ep_new(struct gamma_domain *domain, const struct fi_info *info,
				 void *context);
/* Implements fi_getname for an endpoint of that name. */
int gamma_ep_copy_name(const struct gamma_addr *name, void *addr, size_t *len);
/* The flow to an AV entry, made if need be; NULL: no such entry, or no memory. */
struct gamma_flow *gamma_submit_find_flow(struct gamma_fi_ep *ep, fi_addr_t fi_addr);
struct gamma_tx *gamma_submit_get_tx(struct gamma_fi_ep *ep);
void gamma_submit_put_tx(struct gamma_fi_ep *ep, struct gamma_tx *tx);
/* Makes the send use a copy of these bytes. */
int gamma_submit_copy_tx(struct gamma_tx *tx, const struct iovec *iov, size_t count, uint64_t len);
/* The message was taken but its bytes may be needed (again), and the caller may overwrite them when
 * its call returns: copies them or, without memory for that, waits until *done. */
void gamma_submit_release_buffer(struct gamma_fi_ep *ep, struct gamma_tx *tx, const bool *done);
void gamma_submit_init_rx_ctx(struct gamma_rx_ctx *rx_ctx, struct gamma_domain *domain);
/* Frees what is in the pools; nothing is posted any more. */
void gamma_submit_fini_rx_ctx(struct gamma_rx_ctx *rx_ctx);
/* parent: the multi-receive buffer of a slice, or NULL. */
struct gamma_rx *gamma_submit_get_rx(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *parent);
void gamma_submit_put_rx(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx);
/* Fills in the user's arguments; capacity: bytes, gamma_submit_len of post. */
void gamma_submit_fill_rx(const struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx,
			  const struct gamma_post *post, uint64_t capacity);
/* Bytes in all, or -1 if there are too many bytes or iovecs for an operation. */
int64_t gamma_submit_len(const struct gamma_post *post);
/* Whether an operation writes a completion entry; selective also for a struct gamma_deferred_work.
 */
static inline bool gamma_submit_notifies(bool silent, bool selective, uint64_t flags)
{
	return !silent && (!selective || flags & FI_COMPLETION);
}

/* ---- binding.c ---- */
/* fi_ep_bind */
int gamma_binding_bind(struct fid *fid, struct fid *other, uint64_t flags);
/* The endpoint closes. */
void gamma_binding_undo(struct gamma_fi_ep *ep);

/* ---- match.c ---- */

/* A posted receive meets the oldest unexpected message that fits, or waits. */
void gamma_match_post(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx);
/* FI_PEEK, FI_CLAIM, FI_DISCARD on unexpected messages. */
ssize_t gamma_match_peek(struct gamma_rx_ctx *rx_ctx, const struct gamma_post *post);
bool gamma_match_cancel(struct gamma_rx_ctx *rx_ctx, void *context);
/* All posted receives go, silently. */
void gamma_match_drop(struct gamma_rx_ctx *rx_ctx);
/* The endpoint has joined a shared context. */
void gamma_match_join(struct gamma_fi_ep *ep);
/* The endpoint is about to close. It takes its matched receives from a shared context: until the
 * engine has ended it needs them without the domain's lock. */
void gamma_match_leave(struct gamma_fi_ep *ep);
/* Returns these receives to the shared context once the engine has ended. */
void gamma_match_return(struct gamma_fi_ep *ep);
/* Takes a receive off the posted list; a peer that it names is no longer expected to send. */
void gamma_match_unlist(struct gamma_rx *rx);

/* ---- source.c ---- */
/* Of a posted receive: its source is not in the AV any more by the index that it was posted with.
 */
#define GAMMA_SOURCE_NAMED (FI_ADDR_NOTAVAIL - 2)
/* The AV's index of a flow's peer, or FI_ADDR_NOTAVAIL. */
fi_addr_t gamma_source_of(struct gamma_fi_ep *ep, struct gamma_flow *flow);
/* Whether a receive is for messages of that flow. */
bool gamma_source_fits(const struct gamma_rx *rx, struct gamma_flow *flow);
/* The flow in use to an entry of the AV that has been talked to; else NULL. */
struct gamma_flow *gamma_source_flow(const struct gamma_fi_ep *ep, fi_addr_t fi_addr);
/* The same to an address that was removed, and whose flow gamma_endpoint_flow would not find; else
 * NULL. */
struct gamma_flow *gamma_source_removed_flow(const struct gamma_fi_ep *ep,
					     const struct gamma_addr *addr);
/* An entry of an AV is about to be removed. */
void gamma_source_remove(struct gamma_fi_ep *ep, const struct gamma_av *av, fi_addr_t fi_addr);
/* A flow ends; other: the one that takes its place, or NULL. */
void gamma_source_replace(struct gamma_fi_ep *ep, const struct gamma_flow *flow,
			  struct gamma_flow *other);
void gamma_source_fini(struct gamma_fi_ep *ep);

/* ---- multi_recv.c ---- */

/* Turns a receive that is about to be posted into a multi-receive buffer. */
int gamma_multi_recv_open(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx);
/* The receive for a message of that length: the posted one itself, or a slice of its buffer; a
 * receive or buffer that cannot take another message is no longer posted. */
struct gamma_rx *gamma_multi_recv_take(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep,
				       struct gamma_rx *posted, uint64_t length);
/* Places a whole message in a slice of a posted buffer and completes it; returns the bytes placed.
 */
uint64_t gamma_multi_recv_place(struct gamma_fi_ep *ep, struct gamma_rx *parent,
				const struct gamma_envelope *envelope, const uint8_t *bytes,
				fi_addr_t source, const struct gamma_addr *source_addr);
/* Ends a buffer with an error, once its arriving messages have ended. */
void gamma_multi_recv_stop(struct gamma_rx_ctx *rx_ctx, struct gamma_fi_ep *ep,
			   struct gamma_rx *parent, int error);
/* Whether the completion of this receive releases its multi-receive buffer. */
bool gamma_multi_recv_releases(const struct gamma_rx *rx);
/* The context closes with this buffer posted; its list entry stays. */
void gamma_multi_recv_close(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *parent);
/* A piece has come to its end. */
void gamma_multi_recv_put(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *slice);

/* ---- sep.c ---- */
struct gamma_sep;
/* Port, epoch and address vector of a context. The port is assigned once: then -FI_EBUSY. */
int gamma_sep_assign_address(struct gamma_fi_ep *ep, struct gamma_endpoint_attr *attr);
void gamma_sep_bind_av(struct gamma_fi_ep *ep);
/* The context closes. */
void gamma_sep_detach(struct gamma_fi_ep *ep);

/* ---- shared_ctx.c ---- */
/* An endpoint to whose queues a shared context can report, or NULL. */
struct gamma_fi_ep *gamma_shared_ctx_reporter(const struct gamma_rx_ctx *rx_ctx);

/* ---- remote.c: the common path of RMA and atomics ---- */

/* An operation on a peer's memory; see struct gamma_rma. */
struct gamma_rma_post {
	enum gamma_op op;
	uint8_t operands, unit, datatype, atomic_op; /* as in struct gamma_rma */
	fi_addr_t addr;
	const struct iovec *iov; /* operands */
	size_t count;
	const struct iovec *result; /* of READ, FETCH, COMPARE */
	size_t result_count;
	const struct fi_rma_iov *target; /* lengths in bytes */
	size_t target_count;
	uint64_t data;
	void *context;
	struct gamma_deferred_work *work; /* whose operation it is, or NULL */
	uint64_t
		flags; /* FI_RMA or FI_ATOMIC, FI_READ or FI_WRITE, FI_COMPLETION, FI_INJECT, ... */
	bool silent;   /* no completion entry */
};
/* -FI_EINVAL: the sizes of local and remote memory differ, or there are too many iovecs. */
ssize_t gamma_remote_submit(struct gamma_fi_ep_handle *handle, const struct gamma_rma_post *post);
/* The memory that a peer addresses, if its region allows the access: FI_REMOTE_READ,
 * FI_REMOTE_WRITE. */
enum gamma_refusal gamma_remote_reach(struct gamma_fi_ep *ep, const struct gamma_rma_access *access,
				      uint64_t wanted, struct gamma_rma_region *reached);

/* ---- atomic_target.c ---- */
/* A peer wants an atomic operation here: struct gamma_rma_target.apply. */
enum gamma_refusal gamma_atomic_target_apply(void *context, struct gamma_flow *flow,
					     const struct gamma_rma_access *access,
					     const uint8_t *operands, uint8_t *result);

/* ---- dgram.c ---- */
ssize_t gamma_dgram_send(struct gamma_fi_ep *ep, const struct gamma_post *post);
void gamma_dgram_post(struct gamma_rx_ctx *rx_ctx, struct gamma_rx *rx);
void gamma_dgram_arrived(void *context, const struct gamma_addr *source,
			 const struct gamma_envelope *envelope, const uint8_t *payload);
void gamma_dgram_move(struct gamma_fi_ep *ep, struct gamma_rx_ctx *from, struct gamma_rx_ctx *to);
void gamma_dgram_drop(struct gamma_rx_ctx *rx_ctx);

/* ---- mc.c ---- */
int gamma_mc_join(struct fid_ep *fid, const void *addr, uint64_t flags, struct fid_mc **mc,
		  void *context);
/* The group of an address from fi_mc_addr, if the endpoint may send to it; or NULL. */
const struct gamma_group *gamma_mc_find(const struct gamma_fi_ep *ep, fi_addr_t fi_addr);

/* ---- completion.c ---- */
/* The counter of operations with these completion flags, or NULL. */
struct gamma_cntr *gamma_completion_cntr(const struct gamma_fi_ep *ep, uint64_t flags);
void gamma_completion_write_tx(struct gamma_fi_ep *ep, const struct gamma_tx *tx, int error);
/* The same for a successful send without an operation; waits: its frame has yet to leave. */
void gamma_completion_write_sent(struct gamma_fi_ep *ep, const struct gamma_post *post,
				 uint64_t len, bool waits);
void gamma_completion_write_rx(struct gamma_fi_ep *ep, struct gamma_rx *rx,
			       const struct gamma_envelope *envelope, uint64_t placed, int error,
			       fi_addr_t source, const struct gamma_addr *source_addr);
/* What has come from a peer that the address vector does not have, with FI_SOURCE_ERR: an error
 * with the address, as the program may insert it. */
void gamma_completion_write_unknown_source(struct gamma_fi_ep *ep,
					   const struct gamma_completion *completion,
					   const struct gamma_addr *source);
/* An unmatched receive ends with a positive FI_E*. */
void gamma_completion_write_unmatched(struct gamma_fi_ep *ep, const struct gamma_rx *rx, int error);
/* A multi-receive buffer is released, and no completion of a message reports it. */
void gamma_completion_write_release(struct gamma_fi_ep *ep, const struct gamma_rx *parent);

/* ---- options.c ---- */
int gamma_options_get(const struct gamma_rx_ctx *rx_ctx, int level, int option, void *value,
		      size_t *len);
int gamma_options_set(struct gamma_rx_ctx *rx_ctx, int level, int option, const void *value,
		      size_t len);
/* Default flags of one direction, named by FI_TRANSMIT or FI_RECV among them. */
int gamma_options_check_flags(const struct gamma_fi_ep_handle *handle, uint64_t flags);
/* Flags that its fi_sendmsg takes. */
uint64_t gamma_options_send_flags(const struct gamma_fi_ep_handle *handle);
/* FI_GETOPSFLAG, FI_SETOPSFLAG */
int gamma_options_op_flags(struct gamma_fi_ep_handle *handle, bool set, uint64_t *flags);

/* ---- stats.c ---- */
/* One JSON line with the endpoint's counters, where FI_GAMMA_STATS says. */
void gamma_stats_report(struct gamma_fi_ep *ep);
/* fi_open_ops of an endpoint: its counters, and active ports. */
int gamma_stats_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
			 void *context);

#endif /* GAMMA_EP_H */
