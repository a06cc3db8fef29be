/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider's objects and what they offer each other. One file of this folder
 * implements each libfabric object; what travels on the wire lives in common/.
 *
 * Locking: a domain has one lock (none at FI_THREAD_DOMAIN) that covers its
 * endpoints, completion queues, counters, address vectors and memory regions. Every
 * function that libfabric calls takes it; functions declared here expect it held unless
 * they say otherwise. An event queue has its own lock, a fabric too.
 */
#ifndef GAMMA_PROV_H
#define GAMMA_PROV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#ifndef EXTERNALLY_VISIBLE
#define EXTERNALLY_VISIBLE externally_visible
#endif
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "base/base.h"
#include "conf/conf.h"
#include "link/nic.h"
#include "wire/address.h"

#define GAMMA_PROV_NAME "gamma"
#define GAMMA_PROV_VERSION FI_VERSION(1, 0) /* keep in step with configure.ac when it reaches 1.0 */
/* Provider-specific address format: the top bit, then "GAM". */
#define GAMMA_ADDR_FORMAT (0x80000000u | 0x47414du)

/* ---- limits, as fi_info states them ---- */
#define GAMMA_IOV_LIMIT 8u		   /* entries of a scatter or gather list */
#define GAMMA_TX_SIZE 1024u		   /* operations outstanding on an endpoint */
#define GAMMA_RX_SIZE 4096u		   /* receives posted on an endpoint */
#define GAMMA_MAX_MSG_SIZE (1ull << 40)	   /* bytes */
#define GAMMA_CQ_DATA_SIZE 8u		   /* bytes */
#define GAMMA_MR_KEY_SIZE 8u		   /* bytes */

extern struct fi_provider gamma_prov;

#define GAMMA_WARN(subsys, ...) FI_WARN(&gamma_prov, FI_LOG_##subsys, __VA_ARGS__)
#define GAMMA_INFO(subsys, ...) FI_INFO(&gamma_prov, FI_LOG_##subsys, __VA_ARGS__)

/* ---- settings: FI_GAMMA_* variables, read once by init.c ---- */
struct gamma_settings {
	char *iface;	     /* FI_GAMMA_IFACE: NIC to use, or NULL: choose */
	char *conf_path;     /* FI_GAMMA_CONF: gamma.conf, or NULL: /etc/gamma.conf */
	char *fabric_name;   /* FI_GAMMA_FABRIC: "gamma" unless set */
	char *stats;	     /* FI_GAMMA_STATS: "stderr", a file to append to, or NULL: none */
	uint16_t ethertype;  /* FI_GAMMA_ETHERTYPE: 0x88B5 unless set */
	bool automatic;	     /* FI_GAMMA_AUTO: answer queries that name no provider */
	size_t ring_size;    /* FI_GAMMA_RING_SIZE: bytes of an endpoint's receive ring */
	size_t inject_size;  /* FI_GAMMA_INJECT_SIZE: bytes copied and sent at once */
	size_t eager_size;   /* FI_GAMMA_EAGER_SIZE: bytes sent before the peer has matched */
	uint64_t peer_timeout; /* FI_GAMMA_PEER_TIMEOUT: ns without any answer until a peer is dead */
	uint64_t linger;     /* FI_GAMMA_LINGER: ns that a close waits for the last acks */
};
extern struct gamma_settings gamma_settings;

/* init.c. Defines and reads the variables; a bad value: one warning line, -FI_EINVAL. */
int gamma_settings_load(void);

/* ---- info.c, attr.c: fi_getinfo and the attributes it returns ---- */
int gamma_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		  const struct fi_info *hints, struct fi_info **info);
/* Whether an endpoint, domain, ... with this info can be opened (fields the user may have changed). */
int gamma_check_info(uint32_t api_version, const struct fi_info *info);

extern const struct fi_tx_attr gamma_rdm_tx_attr, gamma_dgram_tx_attr;
extern const struct fi_rx_attr gamma_rdm_rx_attr, gamma_dgram_rx_attr;

/* ---- fabric.c ---- */
struct gamma_fabric {
	struct fid_fabric fabric_fid;
	uint32_t api_version;
	int refs; /* domains, event queues, wait sets; atomic */
};
int gamma_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* ---- domain.c ---- */
struct gamma_domain {
	struct fid_domain domain_fid;
	struct gamma_fabric *fabric;
	struct gamma_nic nic;	    /* the NIC it is on */
	struct gamma_eq *eq;	    /* bound, or NULL */
	bool thread_safe;	    /* false at FI_THREAD_DOMAIN: the caller serialises */
	pthread_mutex_t lock;
	enum fi_av_type av_type;
	enum fi_resource_mgmt resource_mgmt;
	uint64_t caps;
	uint32_t mr_mode;
	struct gamma_list eps;	    /* struct gamma_ep.domain_entry: enabled ones, progressed in turn */
	int refs;		    /* endpoints, CQs, counters, AVs, MRs; atomic */
	uint64_t next_mr_key;
	struct gamma_list mrs;	    /* struct gamma_mr.domain_entry */
	/* One epoll instance for all that can move the domain while its threads sleep: the
	 * endpoints' link sockets and the timer. Made on first use, -1 before. */
	int wait_fd;
	int timer_fd;
};
int gamma_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		      void *context);

static inline void gamma_domain_lock(struct gamma_domain *domain)
{
	if (domain->thread_safe)
		pthread_mutex_lock(&domain->lock);
}

static inline void gamma_domain_unlock(struct gamma_domain *domain)
{
	if (domain->thread_safe)
		pthread_mutex_unlock(&domain->lock);
}

/* Moves every enabled endpoint of the domain: receives, sends, timers. */
void gamma_domain_progress(struct gamma_domain *domain);
/* The epoll descriptor that becomes readable when progress has something to do; < 0: error. */
int gamma_domain_wait_fd(struct gamma_domain *domain);
/* An endpoint was enabled after wait_fd was made, or closes: add or take out its descriptors. */
int gamma_domain_wait_add(struct gamma_domain *domain, struct gamma_ep *ep);
void gamma_domain_wait_del(struct gamma_domain *domain, struct gamma_ep *ep);
/* Sets timer_fd to the earliest deadline of the endpoints. Returns false when a deadline has
 * passed or a frame waits already: do not sleep, call progress. */
bool gamma_domain_arm(struct gamma_domain *domain);

/* ---- av.c ---- */
struct gamma_av {
	struct fid_av av_fid;
	struct gamma_domain *domain;
	struct gamma_eq *eq;
	uint64_t flags;
	struct gamma_av_entry *entries; /* indexed by fi_addr_t; grows */
	size_t count, size;
	uint32_t generation; /* goes up with every insert and remove: endpoints' caches check it */
	int refs;	     /* endpoints bound; atomic */
	/* private: hash of (mac, port) for reverse look-up */
	struct gamma_av_hash *hash;
};
struct gamma_av_entry {
	struct gamma_addr addr;
	bool used;
	uint32_t hash_next; /* next entry of the same hash chain, UINT32_MAX: none */
};
int gamma_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);
/* The address at an index, or NULL if none is there. */
static inline const struct gamma_addr *gamma_av_addr(const struct gamma_av *av, fi_addr_t fi_addr)
{
	return fi_addr < av->count && av->entries[fi_addr].used ? &av->entries[fi_addr].addr : NULL;
}
/* The index of a peer seen on the wire: same MAC and port, and an epoch equal or unknown in the
 * AV (an exact epoch wins). FI_ADDR_NOTAVAIL if it is not in the AV. */
fi_addr_t gamma_av_find(const struct gamma_av *av, const struct gamma_addr *addr);

/* ---- eq.c ---- */
struct gamma_eq {
	struct fid_eq eq_fid;
	struct gamma_fabric *fabric;
	int refs;
	/* private to eq.c */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	enum fi_wait_obj wait_obj;
	int event_fd; /* readable while the queue holds something, -1 without FI_WAIT_FD */
	struct gamma_list events;
	struct gamma_list errors;
};
int gamma_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context);
/* Takes the queue's own lock. */
int gamma_eq_report(struct gamma_eq *eq, uint32_t event, const void *entry, size_t len);
int gamma_eq_report_error(struct gamma_eq *eq, const struct fi_eq_err_entry *entry);

/* ---- cq.c ---- */

/* One completion, in the widest form; what a reader gets depends on the CQ's format. */
struct gamma_completion {
	void *context;
	uint64_t flags; /* FI_SEND, FI_RECV, FI_TAGGED, FI_MSG, FI_REMOTE_CQ_DATA, ... */
	size_t len;	/* bytes placed */
	void *buf;
	uint64_t data;
	uint64_t tag;
	fi_addr_t source; /* FI_ADDR_NOTAVAIL: unknown */
};

struct gamma_cq {
	struct fid_cq cq_fid;
	struct gamma_domain *domain;
	enum fi_cq_format format;
	enum fi_wait_obj wait_obj;
	struct gamma_completion *ring; /* grows: a CQ never overruns */
	size_t size;		       /* entries of ring, a power of two */
	size_t head, tail;	       /* free-running; tail - head entries wait */
	struct gamma_list errors;      /* struct gamma_cq_error */
	int event_fd;		       /* fi_cq_signal and completions made by other threads; -1: none */
	int wait_fd;		       /* epoll of event_fd and the domain's wait_fd; -1: none yet */
	int sleepers;		       /* threads in sread, or 1 while a trywait has promised a wake-up */
	bool signalled;		       /* fi_cq_signal was called */
	struct gamma_wait *wait_set;   /* or NULL */
	int refs;		       /* endpoints bound, poll sets; atomic */
};
int gamma_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
/* Adds a success; wakes sleepers. Out of memory: the endpoint reports -FI_ENOMEM as an error entry
 * kept in reserve. */
void gamma_cq_write(struct gamma_cq *cq, const struct gamma_completion *completion);
/* Adds an error. err: positive FI_E*; olen: bytes lost; text: provider's words for fi_cq_strerror
 * (copied into err_data), or NULL. */
void gamma_cq_write_error(struct gamma_cq *cq, const struct gamma_completion *completion, int err,
			  size_t olen, const char *text);
/* As gamma_cq_write_error for a source that is not in the AV (FI_SOURCE_ERR): err FI_EADDRNOTAVAIL,
 * err_data the raw address. */
void gamma_cq_write_unknown_source(struct gamma_cq *cq, const struct gamma_completion *completion,
				   const struct gamma_addr *source);

/* ---- cntr.c ---- */
struct gamma_cntr {
	struct fid_cntr cntr_fid;
	struct gamma_domain *domain;
	enum fi_wait_obj wait_obj;
	uint64_t value, errors;
	int event_fd, wait_fd, sleepers;
	struct gamma_wait *wait_set;
	int refs;
};
int gamma_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		    void *context);
void gamma_cntr_add(struct gamma_cntr *cntr, uint64_t value);
void gamma_cntr_add_error(struct gamma_cntr *cntr, uint64_t value);

/* ---- mr.c ---- */
struct gamma_mr {
	struct fid_mr mr_fid;
	struct gamma_domain *domain;
	struct gamma_list domain_entry;
	uint64_t access;
	uint64_t offset; /* subtract from a remote address to get an offset into iov */
	struct iovec iov[GAMMA_IOV_LIMIT];
	size_t iov_count;
	size_t len; /* bytes in all */
};
extern struct fi_ops_mr gamma_mr_ops;

/* ---- wait.c: wait sets and poll sets (API < 2) ---- */
int gamma_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **wait);
int gamma_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **poll);
int gamma_trywait(struct fid_fabric *fabric, struct fid **fids, int count);
/* A CQ or counter got something: wakes a wait set's sleepers. */
void gamma_wait_signal(struct gamma_wait *wait);
int gamma_wait_attach(struct gamma_wait *wait, struct fid *fid, int fd, struct gamma_domain *domain);
void gamma_wait_detach(struct gamma_wait *wait, struct fid *fid, int fd);

/* ---- ep.c and its operations ---- */
struct gamma_ep;
int gamma_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			void *context);
/* What domain.c needs of an endpoint. */
struct gamma_list *gamma_ep_domain_entry(struct gamma_ep *ep);
struct gamma_ep *gamma_ep_of_domain_entry(struct gamma_list *entry);
void gamma_ep_progress(struct gamma_ep *ep);
uint64_t gamma_ep_deadline(const struct gamma_ep *ep); /* ns, CLOCK_MONOTONIC; GAMMA_NEVER */
bool gamma_ep_ready(const struct gamma_ep *ep);	       /* a frame waits in a link */
/* Descriptors to sleep on; returns how many (at most 4). */
int gamma_ep_fds(const struct gamma_ep *ep, int fds[4]);

#endif /* GAMMA_PROV_H */
