/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The gamma provider's extensions of libfabric, for reliable endpoints (FI_EP_RDM) and best effort
 * (FI_EP_DGRAM). Active ports: messages that run a handler of the receiver instead of filling a
 * receive that it has posted; fi_gamma_ports(7) describes them. Counters: what FI_GAMMA_STATS
 * writes, while the endpoint is open.
 */
#ifndef FI_EXT_GAMMA_H
#define FI_EXT_GAMMA_H

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FI_GAMMA_PORT_OPS_1 "gamma_port_ops_1"
#define FI_GAMMA_HEAD_MAX   64    /* bytes */
#define FI_GAMMA_PORT_MAX   65279 /* the highest port of programs */

/* Flags of an arrival: the data stands where it came in; it is still with its sender. */
#define FI_GAMMA_IN_PLACE  (1ULL << 60)
#define FI_GAMMA_ANNOUNCED (1ULL << 61)

/* A message, as its handler sees it; it and all that it points to are valid until the handler
 * returns. */
struct fi_gamma_arrival {
	size_t size;       /* bytes of this structure: it may grow */
	uint16_t port;     /* to which it was sent */
	uint16_t head_len; /* bytes of head */
	uint32_t arg;      /* the sender's */
	const void *head;  /* the sender's, a copy aligned to 16 bytes */
	const void *data;  /* NULL: FI_GAMMA_ANNOUNCED */
	size_t len;        /* bytes of data */
	fi_addr_t source;  /* FI_ADDR_NOTAVAIL: the sender is not in the address vector */
	uint64_t flags;    /* FI_GAMMA_IN_PLACE, FI_GAMMA_ANNOUNCED, FI_MULTICAST */
};

/* Called without a lock of the provider by whichever thread polls or waits: by poll and wait below,
 * fi_cq_read, fi_cq_sread, fi_cntr_read, fi_cntr_wait and those like them. */
typedef void (*fi_gamma_handler)(struct fid_ep *ep, const struct fi_gamma_arrival *arrival,
				 void *context);

/* The action of a port. */
struct fi_gamma_port_attr {
	size_t size;              /* bytes of this structure */
	fi_gamma_handler handler; /* not NULL */
	void *context;            /* handed to it */
	uint64_t flags;           /* 0 */
};

/* A message to a port. Its memory may be used again as that of fi_sendmsg. */
struct fi_gamma_msg {
	const void *head;        /* what the handler finds apart from the data */
	size_t head_len;         /* bytes, at most FI_GAMMA_HEAD_MAX */
	const struct iovec *iov; /* the data, gathered */
	size_t iov_count;        /* entries; with a head one less than iov_limit */
	fi_addr_t addr;          /* ignored by reply */
	uint16_t port;           /* at most FI_GAMMA_PORT_MAX */
	uint32_t arg;            /* handed to the handler */
	void *context;           /* of the completion */
};

/* Limits of ports. */
struct fi_gamma_port_info {
	size_t size;      /* bytes of this structure: set by the caller */
	size_t head_max;  /* bytes of a head */
	size_t whole_max; /* bytes of head and data together that a handler gets as a whole; of
			   * a longer message it gets the head, and receives the data */
	size_t frame_max; /* bytes of head and data that travel in one frame over the endpoint's
			   * NIC: only such messages are handled in place */
};

/* Each returns 0 or a negative FI_E*. */
struct fi_gamma_port_ops {
	size_t size; /* bytes of this structure: it may grow */
	/* Sets the handler of a port; attr NULL: it has none any more. */
	int (*set)(struct fid_ep *ep, uint16_t port, const struct fi_gamma_port_attr *attr);
	/* Sends; flags as of fi_sendmsg. */
	ssize_t (*send)(struct fid_ep *ep, const struct fi_gamma_msg *msg, uint64_t flags);
	/* The same to the sender of an arrival, from its handler. */
	ssize_t (*reply)(struct fid_ep *ep, const struct fi_gamma_arrival *arrival,
			 const struct fi_gamma_msg *msg, uint64_t flags);
	/* From the handler: the announced data goes there; count: with a head one less than
	 * iov_limit. Its completion, with FI_RECV and FI_MSG, goes to the endpoint's completion
	 * queue; flags: FI_COMPLETION. */
	ssize_t (*receive)(struct fid_ep *ep, const struct fi_gamma_arrival *arrival,
			   const struct iovec *iov, size_t count, void *context, uint64_t flags);
	/* From the handler: *data is the data from now on, valid until release. */
	int (*keep)(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void **data);
	/* Ends that. */
	int (*release)(struct fid_ep *ep, void *data);
	/* Makes progress, then runs handlers for at most `most` messages; returns their number.
	 * Within a handler it runs none. */
	ssize_t (*poll)(struct fid_ep *ep, size_t most);
	/* Polls until a handler has run; timeout in ms, negative: none. -FI_ETIMEDOUT. */
	int (*wait)(struct fid_ep *ep, int timeout);
	/* Fills info, of which info->size bytes are the caller's. */
	int (*query)(struct fid_ep *ep, fi_addr_t addr, struct fi_gamma_port_info *info);
};

/* The operations of an endpoint. -FI_ENOSYS: it has none. */
static inline int fi_gamma_open_ports(struct fid_ep *ep, struct fi_gamma_port_ops **ops)
{
	return fi_open_ops(&ep->fid, FI_GAMMA_PORT_OPS_1, 0, (void **) ops, NULL);
}

/* ---- an endpoint's counters, as fi_gamma(7) describes them ---- */

#define FI_GAMMA_COUNTER_OPS_1 "gamma_counter_ops_1"

struct fi_gamma_counter_ops {
	size_t size; /* bytes of this structure: it may grow */
	/* How many there are, of every endpoint. */
	size_t (*count)(struct fid_ep *ep);
	/* Name and meaning of one, valid until the provider is unloaded. -FI_EINVAL: there is none.
	 */
	int (*describe)(struct fid_ep *ep, size_t index, const char **name, const char **meaning);
	/* The values of the first `count`; counters that an endpoint does not have are 0. Any
	 * thread may call it. */
	int (*read)(struct fid_ep *ep, uint64_t *values, size_t count);
};

/* -FI_ENOSYS: there are none. */
static inline int fi_gamma_open_counters(struct fid_ep *ep, struct fi_gamma_counter_ops **ops)
{
	return fi_open_ops(&ep->fid, FI_GAMMA_COUNTER_OPS_1, 0, (void **) ops, NULL);
}

#ifdef __cplusplus
}
#endif

#endif /* FI_EXT_GAMMA_H */
