// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The BTL's own structures, and the functions that its files call of each other. A port is one
 * NIC with one libfabric endpoint, which carries messages, RMA and atomic operations.
 */
#ifndef BTL_GAMMA_H
#define BTL_GAMMA_H

#include "openmpi.h"
#include "rdma/fi_ext_gamma.h"
#include "wire/address.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#define btl_gamma_container(pointer, type, member) \
	((type *) ((char *) (pointer) -offsetof(type, member)))

struct btl_gamma_module;

enum {
	BTL_GAMMA_NIC_NAME = 80,      /* bytes, including the final zero: of several NICs */
	BTL_GAMMA_HOST_NAME = 64,     /* ditto */
	BTL_GAMMA_HEADER_ROOM = 256,  /* bytes: no upper layer's header is longer */
	BTL_GAMMA_INJECT_MAX = 16384, /* bytes: longest message that is assembled on the stack */
	BTL_GAMMA_ACTIVE_PORT = 1,    /* of the provider, for messages */
	BTL_GAMMA_COUNTERS_MAX = 256, /* of the provider's that are shown */
	BTL_GAMMA_STARTED = 0,        /* results of start: done will be called later, */
	BTL_GAMMA_FINISHED = 1,       /* or the operation is finished already */
};

/* Kinds of messages: for an upper layer, an empty one, or the sender's last one (keepalive.c). */
enum { BTL_GAMMA_KIND_MESSAGE, BTL_GAMMA_KIND_KEEPALIVE, BTL_GAMMA_KIND_LEAVING };

/* One libfabric operation; its address is the operation's context. Part of the object that
 * owns it. */
struct btl_gamma_op {
	struct btl_gamma_module *module;
	struct mca_btl_base_endpoint_t *peer; /* NULL: a receive */
	struct btl_gamma_op *next;            /* in the queue of operations without room */
	/* STARTED, FINISHED or -FI_*; -FI_EAGAIN: to be called again */
	int (*start)(struct btl_gamma_op *op);
	/* status: Open MPI's; the operation may be freed when this returns */
	void (*done)(struct btl_gamma_op *op, int status);
	bool unreported; /* its failure is of no interest */
};

/* In front of every message. Both ends have the same byte order, which Open MPI ensures. Short
 * on purpose: with Open MPI's own 14 bytes and a record's first word (wire/record.h) it leaves
 * room for 32 bytes of data in the one cache line that an shm peer reads. A message to the active
 * port begins with the sender, and has the rest as its number. */
struct btl_gamma_header {
	uint8_t tag;  /* of an upper layer */
	uint8_t kind; /* enum above */
	opal_process_name_t sender;
} __attribute__((packed));
_Static_assert(sizeof(struct btl_gamma_header) == 10, "no gaps in it");

/* A message to send: one piece from header on, then data left in place. */
struct btl_gamma_fragment {
	mca_btl_base_descriptor_t base;
	mca_btl_base_segment_t segments[2]; /* copied; in place */
	struct btl_gamma_op op;
	struct btl_gamma_pool *pool;
	struct btl_gamma_fragment *next; /* in the pool's free list */
	uint8_t room[6];                 /* so that memory, right behind the header, is aligned */
	struct btl_gamma_header header;
	unsigned char memory[]; /* pool's room */
};
_Static_assert(offsetof(struct btl_gamma_fragment, memory) % 8 == 0,
	       "as Open MPI's headers need it");

/* Fragments of one size; module->lock. */
struct btl_gamma_pool {
	size_t room; /* bytes behind the header */
	struct btl_gamma_fragment *free;
};

enum { BTL_GAMMA_POOL_SHORT, BTL_GAMMA_POOL_EAGER, BTL_GAMMA_POOL_LARGE, BTL_GAMMA_POOLS };

/* A receive buffer for many messages. */
struct btl_gamma_buffer {
	struct btl_gamma_op op;
	unsigned int users; /* the provider while it fills the buffer, and messages being delivered;
			       atomic */
	unsigned char *memory;
};

/* A message for an upper layer that has not registered yet; module->lock. */
struct btl_gamma_undelivered {
	struct btl_gamma_undelivered *next;
	struct btl_gamma_header header;
	size_t len; /* bytes of data */
	unsigned char data[] __attribute__((aligned(8)));
};

/* Operations that libfabric had no room for, in order; module->lock. */
struct btl_gamma_queue {
	struct btl_gamma_op *first;
	struct btl_gamma_op **last;
	unsigned int count; /* also read without the lock: atomic */
};

/* A process that can be reached, through one module. The name is Open MPI's. */
struct mca_btl_base_endpoint_t {
	struct btl_gamma_module *module;
	opal_proc_t *proc; /* a reference; NULL: Open MPI has removed the peer */
	bool own_job;      /* the process belongs to our job */
	fi_addr_t address;
	size_t active_max; /* bytes of a message to its active port, the sender's name included;
			    * 0: it takes none */
	char host[BTL_GAMMA_HOST_NAME]; /* name that the peer published */
	char nic[BTL_GAMMA_NIC_NAME];   /* name that the peer published */
	unsigned char mac[GAMMA_MAC_LEN];
	bool failed;  /* its failure was reported, or must not be reported any more; atomic */
	bool probing; /* a probe without an answer so far; atomic */
	bool ended;   /* it has left, or its host has reported that it is gone; atomic */
	struct btl_gamma_op probe;
	struct btl_gamma_header probe_header;
	struct mca_btl_base_endpoint_t *next_probed; /* keepalive.c: list of peers to probe */
	struct mca_btl_base_endpoint_t *next;        /* in module->gone */
};

/* Identifies memory to a peer: the upper layers send these bytes. */
struct mca_btl_base_registration_handle_t {
	uint64_t key;
	uint64_t base; /* address of the region: libfabric counts from there */
};

/* libfabric's objects for one NIC, shared by its modules. */
struct btl_gamma_port {
	char nic[BTL_GAMMA_NIC_NAME];
	unsigned int users; /* modules */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_eq *eq; /* reports peers that were declared dead */
	struct fid_ep *ep;
	unsigned char mac[GAMMA_MAC_LEN]; /* the NIC's own; an address may contain another one */
	struct gamma_addr address;
	size_t inject_size;      /* bytes, header included */
	size_t max_message;      /* bytes, header included */
	uint32_t bandwidth;      /* Mbit/s */
	bool mtu_reported;       /* a peer's other MTU was reported; atomic */
	bool order_reported;     /* a peer has other NICs, or in another order: reported; atomic */
	bool limit_reported;     /* a peer's other max_message was reported; atomic */
	bool collective;         /* it carries collective operations */
	bool dead_peer;          /* a peer was declared dead, and nobody has probed yet; atomic */
	pthread_mutex_t polling; /* one thread at a time reads completions */
	pthread_t poller;        /* the one that does, if poller_known; atomic */
	bool poller_known;       /* atomic */
	struct fi_gamma_counter_ops *counters; /* NULL: the provider shows none */
	struct fi_gamma_port_ops *active;      /* to send to active ports; NULL: not used */
	size_t active_max;                     /* bytes that fit a frame to one */
	unsigned int handled;                  /* messages that came that way; atomic */
	struct btl_gamma_buffer *buffers;
	unsigned int buffer_count;
	uint64_t last_key; /* of registered memory; atomic */
};

/*
 * Called a module by Open MPI. A NIC has two: the first for messages; the second only for RMA,
 * which the one-sided layer uses and the messaging layer does not.
 */
struct btl_gamma_module {
	mca_btl_base_module_t super;
	struct btl_gamma_port *port;
	bool first; /* of its port: the one that polls for completions */
	pthread_mutex_t lock;
	struct btl_gamma_pool pools[BTL_GAMMA_POOLS];
	struct btl_gamma_remote *free_remotes; /* lock */
	struct btl_gamma_queue waiting;
	struct btl_gamma_undelivered *undelivered; /* newest first; lock */
	opal_hash_table_t peers;                   /* by process name; lock */
	struct mca_btl_base_endpoint_t
		*gone;         /* removed peers that operations may still name; lock */
	unsigned int calls;    /* calls of progress; atomic */
	time_t next_keepalive; /* s; lock */
	mca_btl_base_module_error_cb_fn_t error_cb;
};

struct btl_gamma_component {
	mca_btl_base_component_3_0_0_t super; /* first: Open MPI knows this part */
	struct btl_gamma_module **modules;
	size_t module_count;
	bool counters_shown; /* as performance variables, since the component was opened */
	/* parameters */
	char *if_include;
	char *if_exclude;
	bool one_endpoint; /* of several NICs */
	bool by_default;
	bool async_progress;
	bool progress_thread;
	bool ports;                /* messages go to active ports of the provider */
	unsigned int peer_timeout; /* s; 0: the provider's default */
	unsigned int keepalive;    /* s; 0: never */
	size_t ring_size;          /* bytes; 0: the provider's default */
	unsigned int receive_buffers;
	size_t receive_buffer_size;     /* bytes */
	mca_btl_base_module_t template; /* limits, flags, weights */
};

/* The one symbol that Open MPI looks for. */
extern struct btl_gamma_component mca_btl_gamma_component __attribute__((visibility("default")));

/* Locks are taken only with several threads; checked each time, because a later session may be
 * the first that wants threads (Open MPI 5). */
static inline void btl_gamma_lock(pthread_mutex_t *lock)
{
	if (opal_using_threads())
		pthread_mutex_lock(lock);
}

static inline void btl_gamma_unlock(pthread_mutex_t *lock)
{
	if (opal_using_threads())
		pthread_mutex_unlock(lock);
}

static inline bool btl_gamma_any_waiting(const struct btl_gamma_module *module)
{
	return __atomic_load_n(&module->waiting.count, __ATOMIC_RELAXED);
}

static inline struct btl_gamma_module *btl_gamma_module(mca_btl_base_module_t *btl)
{
	return btl_gamma_container(btl, struct btl_gamma_module, super);
}

/* component.c: whether the user's list of BTLs has gamma in it */
bool btl_gamma_component_is_named(void);

/* params.c */
int btl_gamma_params_register(void);
unsigned int btl_gamma_params_bandwidth(const char *nic, unsigned int found);

/* nics.c: the NICs to use, nearest first; 0: none, and the reason was reported. */
struct btl_gamma_nic {
	char name[BTL_GAMMA_NIC_NAME];
	unsigned char mac[GAMMA_MAC_LEN];
	unsigned int
		distance; /* levels of the machine's topology between the NIC and our processors */
	size_t place;     /* of the entry in the user's list that selects it; 0 without a list */
	size_t rank;      /* among the provider's */
};
/* Whether the user's lists select it, and its place; first: it is the provider's choice. */
bool btl_gamma_nics_selects(struct btl_gamma_nic *nic, bool first);
size_t btl_gamma_nics_find(struct btl_gamma_nic **nics, size_t max_message);

/* Bytes of the interface's name in that of a domain, which may have a suffix. */
size_t btl_gamma_nics_interface_len(const char *domain);

/* one_endpoint.c */
bool btl_gamma_one_endpoint_is_wanted(void);
size_t btl_gamma_one_endpoint_join(struct btl_gamma_nic *nics, size_t count);
bool btl_gamma_one_endpoint_fits(const char *ours, const char *theirs);

/* provider.c */
struct fi_info *btl_gamma_provider_hints(const char *nic);
struct fi_info *btl_gamma_provider_query(size_t max_message);

/* module.c */
size_t btl_gamma_module_fit_sizes(void);
void btl_gamma_module_open(const struct btl_gamma_nic *nic, size_t max_message);
void btl_gamma_module_close(struct btl_gamma_module *module);

/* port.c */
struct btl_gamma_port *btl_gamma_port_open(const char *nic, size_t max_message);
void btl_gamma_port_put(struct btl_gamma_port *port);
bool btl_gamma_port_is_reopened(void);

/* peers.c */
int btl_gamma_peers_publish(void);
bool btl_gamma_peers_carries(opal_process_name_t name);
struct mca_btl_base_endpoint_t *btl_gamma_peers_find(struct btl_gamma_module *module,
						     opal_process_name_t name);
void btl_gamma_peers_mark_ended(struct btl_gamma_module *module, opal_process_name_t name);
int btl_gamma_peers_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
			      struct mca_btl_base_endpoint_t **peers, opal_bitmap_t *reachable);
int btl_gamma_peers_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
			      struct mca_btl_base_endpoint_t **peers);
void btl_gamma_peers_drop(struct btl_gamma_module *module);

/* fragments.c */
mca_btl_base_descriptor_t *btl_gamma_fragments_alloc(mca_btl_base_module_t *btl,
						     struct mca_btl_base_endpoint_t *peer,
						     uint8_t order, size_t size, uint32_t flags);
int btl_gamma_fragments_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor);
mca_btl_base_descriptor_t *btl_gamma_fragments_prepare(mca_btl_base_module_t *btl,
						       struct mca_btl_base_endpoint_t *peer,
						       struct opal_convertor_t *convertor,
						       uint8_t order, size_t reserve, size_t *size,
						       uint32_t flags);
void btl_gamma_fragments_drop(struct btl_gamma_module *module);

/* send.c */
int btl_gamma_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
		   mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag);
int btl_gamma_send_immediate(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
			     struct opal_convertor_t *convertor, void *header, size_t header_size,
			     size_t payload_size, uint8_t order, uint32_t flags,
			     mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor);

/* counters.c */
void btl_gamma_counters_open(struct btl_gamma_port *port);

/* active_port.c */
void btl_gamma_active_port_open(struct btl_gamma_module *module);
int btl_gamma_active_port_send(struct mca_btl_base_endpoint_t *peer, const struct iovec *iov,
			       size_t count, mca_btl_base_tag_t tag, void *context);

/* receive.c */
int btl_gamma_receive_open_buffers(struct btl_gamma_module *module);
void btl_gamma_receive_drop_buffers(struct btl_gamma_port *port);
void btl_gamma_receive_message(struct btl_gamma_module *module,
			       const struct btl_gamma_header *header, void *data, size_t len);
void btl_gamma_receive_put_buffer(struct btl_gamma_buffer *buffer);
int btl_gamma_receive_retry_undelivered(struct btl_gamma_module *module);
void btl_gamma_receive_drop_undelivered(struct btl_gamma_module *module);

/* remote.c */
void btl_gamma_remote_set_functions(mca_btl_base_module_t *btl);
void btl_gamma_remote_drop(struct btl_gamma_module *module);

/* progress.c */
int btl_gamma_progress_start(struct btl_gamma_op *op);
int btl_gamma_progress(void);
int btl_gamma_progress_poll(void);
bool btl_gamma_progress_leave(struct btl_gamma_port *port);
void btl_gamma_progress_reenter(struct btl_gamma_port *port);

/* thread.c */
void btl_gamma_thread_start(void);
void btl_gamma_thread_note_poll(void);
void btl_gamma_thread_stop(void);

/* keepalive.c */
void btl_gamma_keepalive_poll(struct btl_gamma_module *module);
bool btl_gamma_keepalive_may_have_ended(const struct btl_gamma_op *op, int error);
void btl_gamma_keepalive_leave(struct mca_btl_base_endpoint_t *peer);
void btl_gamma_keepalive_leave_all(struct btl_gamma_module *module);

/* report.c */
void btl_gamma_report_unused(const char *cause, const char *cure, ...)
	__attribute__((format(printf, 1, 3)));
void btl_gamma_report_slow(const char *cause, const char *cure, ...)
	__attribute__((format(printf, 1, 3)));
void btl_gamma_report_peer_failed(struct mca_btl_base_endpoint_t *peer, int error,
				  const char *provider_text);
void btl_gamma_report_broken(struct btl_gamma_module *module, const char *what, int error);

#endif
