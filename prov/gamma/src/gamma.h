/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider's objects and what they offer each other. One file of this folder
 * implements each libfabric object; what travels on the wire lives in common/.
 *
 * Locking: a domain has one lock (none for datagrams at FI_THREAD_DOMAIN) that covers its
 * endpoints, completion queues, counters, address vectors and memory regions. Every
 * function that libfabric calls takes it; functions declared here expect it held unless
 * they say otherwise. An event queue has its own lock, a fabric too.
 */
#ifndef GAMMA_PROV_H
#define GAMMA_PROV_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <string.h>
#include <time.h>

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
/* 2.x headers leave this one to the provider. */
#ifndef EXTERNALLY_VISIBLE
#if defined(__GNUC__) && !defined(__clang__)
#define EXTERNALLY_VISIBLE externally_visible
#else
#define EXTERNALLY_VISIBLE
#endif
#endif
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "base/base.h"
#include "conf/conf.h"
#include "nic/select.h"
#include "lock.h"
#include "message/atomic_ops.h"
#include "wire/address.h"

#define GAMMA_PROV_NAME        "gamma"
#define GAMMA_PROV_VERSION     FI_VERSION(GAMMA_VERSION_MAJOR, GAMMA_VERSION_MINOR) /* configure.ac */
/* Provider-specific address format and protocol: the top bit, then "GAM". */
#define GAMMA_ADDR_FORMAT      (0x80000000u | 0x47414du)
#define GAMMA_PROTOCOL         (0x80000000u | 0x47414du)
#define GAMMA_PROTOCOL_VERSION 1

/* Values that 2.x headers warn of, and programs written for 1.x go on using. */
enum {
	GAMMA_MR_BASIC = 1 << 0,    /* FI_MR_BASIC, of fi_domain_attr.mr_mode */
	GAMMA_MR_SCALABLE = 1 << 1, /* FI_MR_SCALABLE */
};
#define GAMMA_REG_MR (1ull << 59) /* FI_REG_MR, of fi_domain_bind */

/* ---- limits, as fi_info states them ---- */
#define GAMMA_IOV_LIMIT       8u           /* entries of a scatter or gather list */
#define GAMMA_TX_SIZE         1024u        /* operations outstanding on an endpoint */
#define GAMMA_RX_SIZE         4096u        /* receives posted on an endpoint */
#define GAMMA_GROUP_PORT      1u           /* of a multicast group without service */
#define GAMMA_CONTEXT_MAX     8u           /* of a scalable endpoint, each way; fits its address */
#define GAMMA_MIN_MULTI_RECV  4096u        /* bytes: FI_OPT_MIN_MULTI_RECV unless set */
#define GAMMA_MAX_MSG_SIZE    (1ull << 40) /* bytes */
#define GAMMA_CQ_DATA_SIZE    8u           /* bytes */
#define GAMMA_MR_KEY_SIZE     8u           /* bytes */
#define GAMMA_CQ_COUNT        256u         /* of a domain: CQs, counters, endpoints each */
#define GAMMA_MR_COUNT        65536u       /* memory regions of a domain */
#define GAMMA_MAX_ERR_DATA    256u         /* bytes of fi_cq_err_entry.err_data */
#define GAMMA_ATOMIC_CALL_MAX 65536u       /* bytes of target memory of an atomic call */

/* How far an operation may be wanted to have come when it completes. */
#define GAMMA_COMPLETION_LEVELS \
	(FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

/* Whether that many contexts of an endpoint make it a scalable one. */
static inline bool gamma_attr_several_contexts(size_t count)
{
	return count > 1 && count != FI_SHARED_CONTEXT;
}

extern struct fi_provider gamma_prov;

#define GAMMA_WARN(subsys, ...) FI_WARN(&gamma_prov, FI_LOG_##subsys, __VA_ARGS__)
#define GAMMA_INFO(subsys, ...) FI_INFO(&gamma_prov, FI_LOG_##subsys, __VA_ARGS__)

struct gamma_fi_ep;
struct gamma_eq;
struct gamma_mr;
struct gamma_waitset;

/* A time to give up from a libfabric timeout in ms; negative: never. */
static inline uint64_t gamma_sleep_deadline(int timeout)
{
	return timeout < 0 ? GAMMA_NEVER : gamma_now() + timeout * GAMMA_NS_PER_MS;
}

/* References that keep an object from being closed. */
static inline void gamma_refs_take(int *refs)
{
	__atomic_add_fetch(refs, 1, __ATOMIC_RELAXED);
}

static inline void gamma_refs_drop(int *refs)
{
	__atomic_sub_fetch(refs, 1, __ATOMIC_RELEASE);
}

static inline bool gamma_refs_any(int *refs)
{
	return __atomic_load_n(refs, __ATOMIC_ACQUIRE) > 0;
}

/* ---- settings: FI_GAMMA_* variables, read once by init.c ---- */
struct gamma_settings {
	char *iface;              /* FI_GAMMA_IFACE: NIC to use, or NULL: choose */
	char *conf_path;          /* FI_GAMMA_CONF: gamma.conf, or NULL: /etc/gamma.conf */
	char *fabric_name;        /* FI_GAMMA_FABRIC: "gamma" unless set */
	char *stats;              /* FI_GAMMA_STATS: "stderr", a file to append to, or NULL: none */
	char *broker;             /* FI_GAMMA_BROKER: path of gammad's socket */
	uint16_t ethertype;       /* FI_GAMMA_ETHERTYPE: 0x88B5 unless set */
	bool automatic;           /* FI_GAMMA_AUTO: answer queries that name no provider */
	bool payload_crc;         /* FI_GAMMA_PAYLOAD_CRC: checksums over payloads too */
	unsigned link;            /* FI_GAMMA_LINK: enum gamma_link_choice */
	size_t ring_size;         /* FI_GAMMA_RING_SIZE: bytes of an endpoint's receive ring */
	size_t inject_size;       /* FI_GAMMA_INJECT_SIZE: bytes copied and sent at once */
	size_t eager_size;        /* FI_GAMMA_EAGER_SIZE: bytes sent before the peer has matched */
	uint64_t unexpected_size; /* FI_GAMMA_UNEXPECTED_SIZE: bytes kept that nobody has asked for
				   */
	uint64_t peer_timeout; /* FI_GAMMA_PEER_TIMEOUT: ns without any answer until a peer is dead
				*/
	uint64_t linger;       /* FI_GAMMA_LINGER: ns that a close waits for the last acks */
	uint64_t shm_size;     /* FI_GAMMA_SHM_SIZE: bytes shared with each neighbour; 0: none */
	uint64_t budget;       /* FI_GAMMA_BUDGET: bytes on their way to a NIC; 0: no bound */
};
extern struct gamma_settings gamma_settings;

/* settings.c. Defines the variables. */
void gamma_settings_define(void);
/* Reads them; a bad value: -FI_EINVAL and one line with cause and cure in error. */
int gamma_settings_load(char *error, size_t error_len);
void gamma_settings_free(void);
/* What gamma_settings_load said when the provider was loaded, or NULL. */
const char *gamma_init_error(void);

/* select.c. Whether the user has named this provider for that query (or in the environment). */
bool gamma_select_is_named(const struct fi_info *hints);
/* Whether to answer: named, an inventory, or FI_GAMMA_AUTO. */
bool gamma_select_answers(const char *node, const char *service, const struct fi_info *hints);
/* Whether every NIC is an answer, and not only the best one of those that the query allows. */
bool gamma_select_lists_all(const char *node, const char *service, const struct fi_info *hints);
/* Why gamma cannot serve, to the log and, if the user named it, once per process to stderr. */
void gamma_select_explain(bool named, const char *reason);

/* ---- info.c, attr.c: fi_getinfo and the attributes it returns ---- */
int gamma_info_get(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **info);
/* Whether an endpoint with this info can be opened (its fields may have been changed):
 * 0, or -FI_EINVAL after a line at info level that says which. */
int gamma_attr_check_info(uint32_t api_version, const struct fi_info *info, size_t mtu);
/* Whether an endpoint of that type can satisfy the hints: NULL, or the field that is in the way. */
const char *gamma_attr_check_hints(uint32_t api_version, enum fi_ep_type type, size_t mtu,
				   const struct fi_info *hints);
/* Fills in everything of info but names and addresses; the hints have been checked. mtu: bytes. */
void gamma_attr_fill_info(struct fi_info *info, uint32_t api_version, enum fi_ep_type type,
			  size_t mtu, const struct fi_info *hints);

/* nic_info.c. What fi_info.nic says of a NIC; NULL: no memory. */
struct fid_nic *gamma_nic_info_new(const struct gamma_nic *nic);

/* ---- fabric.c ---- */
struct gamma_fabric {
	struct fid_fabric fabric_fid;
	struct gamma_list opened_entry; /* of all that are open */
	uint32_t api_version;
	int refs; /* domains, event queues, wait sets; atomic */
};
/* Of those of programs of that version (0: any) the one that has been open longest, or NULL; with
 * `only` that or none: it need not be ours. */
struct fid_fabric *gamma_fabric_find_opened(uint32_t api_version, const struct fid_fabric *only);
int gamma_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* For slots of a struct fi_ops that an object has no use for; -FI_ENOSYS, bind -FI_EINVAL. */
int gamma_unsupported_bind(struct fid *fid, struct fid *other, uint64_t flags);
int gamma_unsupported_control(struct fid *fid, int command, void *arg);
int gamma_unsupported_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			       void *context);
int gamma_unsupported_tostr(const struct fid *fid, char *buf, size_t len);
int gamma_unsupported_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops,
			      void *context);

/* ---- domain.c, progress.c ---- */
#define GAMMA_MR_BUCKETS 256u /* a power of two */

struct gamma_domain {
	struct fid_domain domain_fid;
	struct gamma_list opened_entry; /* of all that are open */
	struct gamma_fabric *fabric;
	struct gamma_nic nic; /* the NIC it is on */
	struct gamma_eq *eq;  /* bound, or NULL */
	bool reports_mr;      /* it is told of memory registrations: FI_REG_MR */
	bool thread_safe;   /* false: the caller serialises, FI_THREAD_DOMAIN, and no thread is ours
			     */
	bool auto_progress; /* FI_PROGRESS_AUTO */
	bool should_yield;  /* polls in vain: the core is offered to others at the next unlock */
	struct gamma_lock lock;
	pid_t owner; /* a forked child shares the descriptors and must leave them as they are */
	enum fi_av_type av_type;
	uint64_t caps;
	uint32_t mr_mode; /* FI_MR_* bits in force, GAMMA_MR_BASIC as its bits */
	struct gamma_list
		eps; /* struct gamma_fi_ep.domain_entry: enabled ones, progressed in turn */
	struct gamma_list closing; /* of the same: moved by the threads that close them */
	int refs;                  /* endpoints, CQs, counters, AVs, MRs; atomic */
	uint64_t next_mr_key;
	struct gamma_list mrs[GAMMA_MR_BUCKETS]; /* struct gamma_mr.bucket, by key */
	size_t counted_mrs;                      /* regions with a counter */
	struct gamma_list deferred_works;        /* operations that wait for a counter: work.c */
	struct gamma_list due;                   /* those of them that wait no more */
	struct gamma_list retry;                 /* and of these, for which there was no room */
	bool posting;                            /* a thread is posting what is due */
	/* One epoll instance for all that can move the domain while its threads sleep: the
	 * endpoints' link sockets and the timer. Made on first use, -1 before. */
	int wait_fd;
	int timer_fd;
	uint64_t timer_at; /* when timer_fd becomes readable, ns; GAMMA_NEVER: not set */
	int sleepers;      /* threads asleep, wait sets, objects armed by fi_trywait */
	bool watches;      /* the link sockets are in wait_fd: not while the program polls */
	uint64_t rounds;   /* calls of gamma_progress_poll so far */
	/* A thread that moves the domain while the application does not; NULL: none. */
	struct gamma_progress_thread *progress_thread;
};
int gamma_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		      void *context);

/* Of those on the info's fabric that serve as one opened with that info (NULL: any) would the one
 * that has been open longest, or NULL; with `only` that or none: it need not be ours. */
struct gamma_domain *gamma_domain_find_opened(const struct fi_info *info,
					      const struct fid_domain *only);

/* work.c: posts operations that waited for a counter; without the lock. */
void gamma_deferred_work_run(struct gamma_domain *domain);

/* Wakes the sleepers if what was to wake them has been taken, and sets the timer anew if an earlier
 * deadline has come up. */
void gamma_progress_rearm(struct gamma_domain *domain);

static inline void gamma_domain_lock(struct gamma_domain *domain)
{
	if (domain->thread_safe)
		gamma_lock_take(&domain->lock);
}

/* What the caller did under the lock may be due before the sleepers would wake: see to that. Who
 * offers the core does it without the lock: else those who want the lock would get the core, and
 * not the lock. */
static inline void gamma_domain_unlock(struct gamma_domain *domain)
{
	bool offer, due;

	if (gamma_unlikely(domain->sleepers))
		gamma_progress_rearm(domain);
	offer = domain->should_yield;
	domain->should_yield = false;
	due = !gamma_list_empty(&domain->due) && !domain->posting;
	if (domain->thread_safe)
		gamma_lock_release(&domain->lock);
	if (gamma_unlikely(due))
		gamma_deferred_work_run(domain);
	if (gamma_unlikely(offer))
		sched_yield();
}

/* Moves every enabled endpoint of the domain: receives, sends, timers. */
void gamma_progress_poll(struct gamma_domain *domain);
/* The epoll descriptor that becomes readable when progress has something to do; < 0: error. */
int gamma_progress_wait_fd(struct gamma_domain *domain);
/* An endpoint was enabled while sockets are watched, or closes: add or take out its descriptors. */
int gamma_progress_watch(struct gamma_domain *domain, struct gamma_fi_ep *ep);
void gamma_progress_unwatch(struct gamma_domain *domain, struct gamma_fi_ep *ep);
/* Sets timer_fd to the earliest deadline of the endpoints. Returns false when a deadline has
 * passed or a frame waits already: do not sleep, call progress. */
bool gamma_progress_arm(struct gamma_domain *domain);
/* The caller has slept, or is about to: its next progress looks at all that wakes. */
void gamma_progress_woken(struct gamma_domain *domain);
/* Stops watching the link sockets unless a thread sleeps: the kernel notifies the watcher of every
 * frame that comes or leaves, which a polling program need not pay for. */
void gamma_progress_unwatch_all(struct gamma_domain *domain);
/* Closes wait_fd and timer_fd. */
void gamma_progress_close(struct gamma_domain *domain);
/* Whether this is a forked child of the process that opened the domain. */
bool gamma_domain_is_inherited(const struct gamma_domain *domain);
/* Starts and stops the thread that makes progress without the application: at once at
 * FI_PROGRESS_AUTO, else after it has not polled for a while; stop without the lock. */
int gamma_progress_thread_start(struct gamma_domain *domain, bool automatic_progress);
void gamma_progress_thread_stop(struct gamma_domain *domain);
/* Whether there is one, which can promise to send before long what waits for others to share a
 * frame with, though the program may never poll again; and its promise. */
bool gamma_progress_thread_can_flush(const struct gamma_domain *domain);
void gamma_progress_thread_set_flush_timer(struct gamma_domain *domain);
/* Stops the threads of domains that nobody closed, before the library goes. */
void gamma_progress_thread_stop_all(void);
/* bind.c: has the calling thread run near that NIC, where the process may. */
void gamma_affinity_bind_thread(const char *interface);
void gamma_affinity_cleanup(void);

/* ---- address_text.c ---- */
/* As snprintf. */
int gamma_address_text_write(const struct gamma_addr *addr, char *buf, size_t len);
/* Whether a node begins like that; may be NULL. */
bool gamma_address_text_matches(const char *node);
bool gamma_address_text_read(const char *text, struct gamma_addr *addr);

/* ---- av.c ---- */
struct gamma_av {
	struct fid_av av_fid;
	struct gamma_domain *domain;
	struct gamma_eq *eq;
	uint64_t flags;
	struct gamma_av_entry *entries; /* indexed by fi_addr_t; grows */
	size_t count, size;             /* entries ever used; entries allocated */
	size_t lowest_free;             /* no free index is lower */
	unsigned rx_ctx_bits;           /* high bits of an fi_addr_t that name a receive context */
	size_t scalable;                /* entries of scalable endpoints */
	uint32_t generation; /* goes up with every insert and remove: endpoints' caches check it */
	int refs;            /* endpoints bound; atomic */
	bool duplicates;     /* a MAC and port has been in twice */
	/* private: hash of (mac, port) for reverse look-up */
	struct gamma_av_hash *hash;
};
struct gamma_av_entry {
	struct gamma_addr addr;
	bool used;
	uint32_t hash_next; /* next entry of the same hash chain, UINT32_MAX: none */
};
int gamma_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		  void *context);
/* The address at an index, or NULL if none is there. */
static inline const struct gamma_addr *gamma_av_addr(const struct gamma_av *av, fi_addr_t fi_addr)
{
	return fi_addr < av->count && av->entries[fi_addr].used ? &av->entries[fi_addr].addr : NULL;
}
/* What fi_rx_addr has made of an index: the address of that receive context. False: no such one. */
bool gamma_av_context(const struct gamma_av *av, fi_addr_t fi_addr, struct gamma_addr *addr);
/* The index of a peer seen on the wire: same MAC and port, and an epoch equal or unknown in the
 * AV (an exact epoch wins). FI_ADDR_NOTAVAIL if it is not in the AV. */
fi_addr_t gamma_av_find(const struct gamma_av *av, const struct gamma_addr *addr);
/* Whether two indices are of one peer, which gamma_av_find knows by one of them only. */
bool gamma_av_same_peer(const struct gamma_av *av, fi_addr_t a, fi_addr_t b);

/* ---- eq.c ---- */
struct gamma_eq {
	struct fid_eq eq_fid;
	struct gamma_fabric *fabric;
	int refs;
	/* private to eq.c */
	pthread_mutex_t lock;
	uint64_t flags; /* of fi_eq_attr */
	enum fi_wait_obj wait_obj;
	struct gamma_waitset *wait_set; /* or NULL */
	int event_fd; /* readable while the queue holds something, -1 without a wait object */
	struct gamma_list events;
	struct gamma_list errors;
	struct gamma_eq_error *last_error; /* owns the err_data that the user may still read */
};
int gamma_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		  void *context);
/* Takes the queue's own lock. */
int gamma_eq_report(struct gamma_eq *eq, uint32_t event, const void *entry, size_t len);
int gamma_eq_report_error(struct gamma_eq *eq, const struct fi_eq_err_entry *entry);
/* Whether a read would return something. Takes the lock. */
bool gamma_eq_ready(struct gamma_eq *eq);

/* ---- waiter.c: how threads sleep on a CQ or a counter ---- */
struct gamma_wakeup_fd {
	int fd;         /* readable: look again; -1: nobody has waited yet */
	bool signalled; /* fd is readable */
};
struct gamma_waiter {
	struct gamma_domain *domain;
	enum fi_wait_obj wait_obj;
	struct gamma_waitset *wait_set; /* or NULL */
	struct gamma_wakeup_fd inner;   /* for the threads in gamma_sleep_block */
	struct gamma_wakeup_fd outer; /* for the application: readable until its next fi_trywait */
	int wait_fd;  /* for FI_GETWAIT: epoll of outer and the domain's; -1: none yet */
	int sleepers; /* threads in gamma_sleep_block */
	bool armed;   /* fi_trywait has promised a wake-up through wait_fd */
};
/* What a CQ or a counter may be opened with. */
int gamma_sleep_check(enum fi_wait_obj wait_obj, const struct fid_wait *wait_set);
void gamma_sleep_init(struct gamma_waiter *waiter, struct gamma_domain *domain,
		      enum fi_wait_obj wait_obj);
void gamma_sleep_close(struct gamma_waiter *waiter);
/* FI_GETWAIT and FI_GETWAITOBJ. Takes the domain's lock. */
int gamma_sleep_control(struct gamma_waiter *waiter, int command, void *arg);
/* For fi_trywait: true if it is safe to block on what FI_GETWAIT gave. */
bool gamma_sleep_arm(struct gamma_waiter *waiter);
/* Sleeps until woken, until the domain has something to do, or until deadline: 0, -FI_ETIMEDOUT or
 * -FI_EINTR. Called and left with the domain's lock held, which is free meanwhile. */
int gamma_sleep_block(struct gamma_waiter *waiter, uint64_t deadline);
GAMMA_NOINLINE void gamma_sleep_signal(struct gamma_waiter *waiter);

static inline void gamma_sleep_wake(struct gamma_waiter *waiter)
{
	if (gamma_unlikely(waiter->sleepers || waiter->armed || waiter->wait_set))
		gamma_sleep_signal(waiter);
}

/* Blocks until a descriptor is ready, or until deadline: 0, -FI_ETIMEDOUT or -FI_EINTR. No lock. */
struct pollfd;
int gamma_sleep_poll_fds(struct pollfd *fds, int count, uint64_t deadline);

/* How long a thread polls before it sleeps. */
struct gamma_sleep_spin {
	uint64_t spin_until; /* ns */
	uint64_t deadline;   /* ns */
	bool yielded;        /* has offered the core to others once */
};
void gamma_sleep_spin_init(struct gamma_sleep_spin *patience, int timeout);
/* Between two looks: polls on, yields or sleeps. Returns as gamma_sleep_block, lock held too. */
int gamma_sleep_spin_wait(struct gamma_sleep_spin *patience, struct gamma_waiter *waiter,
			  bool may_sleep);

/* ---- cq.c ---- */

/* One completion, in the widest form; what a reader gets depends on the CQ's format. */
struct gamma_completion {
	void *context;
	uint64_t flags; /* FI_SEND, FI_RECV, FI_TAGGED, FI_MSG, FI_REMOTE_CQ_DATA, ... */
	size_t len;     /* bytes placed */
	void *buf;
	uint64_t data;
	uint64_t tag;
	fi_addr_t source; /* FI_ADDR_NOTAVAIL: unknown */
};

struct gamma_cq {
	struct fid_cq cq_fid;
	struct gamma_domain *domain;
	enum fi_cq_format format;
	struct gamma_completion *ring; /* grows: a CQ never overruns */
	size_t size;                   /* entries of ring, a power of two */
	size_t head, tail;             /* free-running; tail - head entries wait */
	size_t held_from;         /* the first of those whose messages are to leave before ... */
	uint64_t held_round;      /* ... if the domain's rounds are still these: else they have */
	struct gamma_list errors; /* struct gamma_cq_error */
	struct gamma_cq_error *last_error; /* owns the err_data that the user may still read */
	struct gamma_cq_error *reserve;    /* tells that memory ran out; NULL: in use */
	struct gamma_waiter waiter;
	int blocked;         /* threads in sread */
	bool interrupt;      /* fi_cq_signal was called while none was */
	uint32_t interrupts; /* fi_cq_signal was called while some were: all return */
	int refs;            /* endpoints bound, poll sets; atomic */
};
int gamma_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		  void *context);
/* Where the ring is full: it grows. */
GAMMA_NOINLINE void gamma_cq_write_full(struct gamma_cq *cq, struct gamma_completion completion);
/* Adds a success; wakes sleepers. Out of memory: the completion is lost, and an error entry kept in
 * reserve says so (FI_ENOMEM). */
static inline void gamma_cq_write(struct gamma_cq *cq, struct gamma_completion completion)
{
	if (gamma_unlikely(cq->tail - cq->head == cq->size)) {
		gamma_cq_write_full(cq, completion);
		return;
	}
	cq->ring[cq->tail++ & (cq->size - 1)] = completion;
	gamma_sleep_wake(&cq->waiter);
}
/* Adds an error. err: positive FI_E*; olen: bytes lost; text: provider's words for fi_cq_strerror
 * (copied into err_data), or NULL. */
GAMMA_NOINLINE void gamma_cq_write_error(struct gamma_cq *cq,
					 const struct gamma_completion *completion, int err,
					 size_t olen, const char *text);
/* As gamma_cq_write_error for a source that is not in the AV (FI_SOURCE_ERR): err FI_EADDRNOTAVAIL,
 * err_data the raw address. */
GAMMA_NOINLINE void gamma_cq_write_unknown_source(struct gamma_cq *cq,
						  const struct gamma_completion *completion,
						  const struct gamma_addr *source);

/* What is added from now on is not read before the domain has been moved once more. */
static inline void gamma_cq_hold_from_here(struct gamma_cq *cq)
{
	if (cq->held_round == cq->domain->rounds)
		return;
	cq->held_round = cq->domain->rounds;
	cq->held_from = cq->tail;
}

/* Whether a read would return something. */
static inline bool gamma_cq_ready(const struct gamma_cq *cq)
{
	return cq->tail != cq->head || !gamma_list_empty(&cq->errors);
}

/* prov_errno of an entry whose err_data is text for fi_cq_strerror: this plus err. */
#define GAMMA_PROV_ERRNO_TEXT 0x10000
/* What fi_cq_strerror and fi_eq_strerror return. */
const char *gamma_cq_error_text(int prov_errno, const void *err_data, char *buf, size_t len);

/* ---- cntr.c ---- */
struct gamma_cntr {
	struct fid_cntr cntr_fid;
	struct gamma_domain *domain;
	uint64_t value, errors;
	uint64_t seen_value;   /* as fi_trywait or fi_cntr_read last showed it */
	uint64_t seen_errors;  /* as fi_trywait last showed it */
	uint64_t known_errors; /* as fi_cntr_readerr or fi_cntr_wait last told the user */
	struct gamma_list deferred_works; /* operations that wait for it: work.c */
	struct gamma_waiter waiter;
	int refs; /* endpoints and regions bound, poll sets, operations; atomic */
};
int gamma_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		    void *context);
GAMMA_NOINLINE void gamma_cntr_add(struct gamma_cntr *cntr, uint64_t value);
GAMMA_NOINLINE void gamma_cntr_add_error(struct gamma_cntr *cntr, uint64_t value);

/* ---- work.c ---- */
/* FI_QUEUE_WORK, FI_CANCEL_WORK, FI_FLUSH_WORK on a domain. */
int gamma_deferred_work_control(struct gamma_domain *domain, int command, void *arg);
/* The counter has changed: something may be due. */
void gamma_deferred_work_check(struct gamma_cntr *cntr);
/* What found no room is due again. */
GAMMA_NOINLINE void gamma_deferred_work_retry(struct gamma_domain *domain);

/* ---- mr.c ---- */
struct gamma_mr {
	struct fid_mr mr_fid;
	struct gamma_domain *domain;
	struct gamma_list bucket; /* of domain->mrs */
	struct gamma_cntr *cntr;  /* bound, counts remote accesses; or NULL */
	uint64_t cntr_flags;      /* FI_REMOTE_WRITE, FI_REMOTE_READ */
	uint64_t access;          /* FI_REMOTE_READ, ... */
	uint64_t offset;          /* subtract from a remote address to get an offset into iov */
	struct iovec iov[GAMMA_IOV_LIMIT];
	size_t iov_count;
	size_t len; /* bytes in all */
};
extern struct fi_ops_mr gamma_mr_ops;
/* FI_MAP_RAW_MR of a domain. */
int gamma_mr_map_raw(const struct fi_mr_map_raw *map);
/* The region of that key, or NULL. */
struct gamma_mr *gamma_mr_find(struct gamma_domain *domain, uint64_t key);

/* ---- atomic_valid.c ---- */
/* Elements that a call may work on; 0: there is no such operation. */
size_t gamma_atomic_valid_count(enum gamma_atomic_form form, enum fi_datatype datatype,
				enum fi_op op);
int gamma_atomic_valid_write(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			     size_t *count);
int gamma_atomic_valid_readwrite(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
				 size_t *count);
int gamma_atomic_valid_compwrite(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
				 size_t *count);
int gamma_atomic_valid_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
			     struct fi_atomic_attr *attr, uint64_t flags);

/* ---- wait.c: wait sets and poll sets (API < 2) ---- */
int gamma_waitset_open(struct fid_fabric *fabric, struct fi_wait_attr *attr,
		       struct fid_wait **wait);
int gamma_waitset_open_poll(struct fid_domain *domain, struct fi_poll_attr *attr,
			    struct fid_poll **poll);
int gamma_waitset_trywait(struct fid_fabric *fabric, struct fid **fids, int count);
/* A CQ or counter got something: wakes a wait set's sleepers. */
void gamma_waitset_signal(struct gamma_waitset *wait);
/* A CQ, counter or EQ was opened with FI_WAIT_SET, or closes. Without the domain's lock. */
int gamma_waitset_attach(struct fid_wait *wait_fid, struct fid *fid, struct gamma_waitset **wait);
void gamma_waitset_detach(struct gamma_waitset *wait, struct fid *fid);
int gamma_waitset_get_fd(struct gamma_waitset *wait, int *fd);
/* FI_GETWAITOBJ of any of them. */
int gamma_waitset_get_wait_obj(enum fi_wait_obj obj, enum fi_wait_obj *place);

/* ---- ep.c and its operations ---- */
int gamma_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		  void *context);
/* sep.c: an endpoint of several contexts. */
int gamma_sep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
		   void *context);
/* shared.c: contexts that endpoints share. */
int gamma_shared_ctx_open_rx(struct fid_domain *domain, struct fi_rx_attr *attr,
			     struct fid_ep **srx, void *context);
int gamma_shared_ctx_open_tx(struct fid_domain *domain, struct fi_tx_attr *attr,
			     struct fid_stx **stx, void *context);
/* What domain.c needs of an endpoint. */
struct gamma_list *gamma_ep_domain_entry(struct gamma_fi_ep *ep);
struct gamma_fi_ep *gamma_ep_of_domain_entry(struct gamma_list *entry);
void gamma_ep_progress(struct gamma_fi_ep *ep);
uint64_t gamma_ep_deadline(const struct gamma_fi_ep *ep); /* ns, CLOCK_MONOTONIC; GAMMA_NEVER */
/* A region is about to be closed: what the endpoint still sends of it is copied or given up. */
void gamma_ep_withdraw(struct gamma_fi_ep *ep, const struct gamma_mr *mr);
bool gamma_ep_ready(const struct gamma_fi_ep *ep);        /* a frame waits in a link */
void gamma_ep_watch(struct gamma_fi_ep *ep, bool asleep); /* see gamma_endpoint_watch */
bool gamma_ep_armed(const struct gamma_fi_ep *ep);
enum { GAMMA_EP_FDS = 3 };
/* Descriptors to sleep on; returns how many. */
int gamma_ep_fds(const struct gamma_fi_ep *ep, int fds[GAMMA_EP_FDS]);

#endif /* GAMMA_PROV_H */
