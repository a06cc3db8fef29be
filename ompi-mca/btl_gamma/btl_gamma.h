// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The BTL's own structures, and the functions that its files call of each other. A port is one
 * NIC: one libfabric endpoint, which carries messages, remote memory and atomic operations.
 */
#ifndef GAMMA_BTL_H
#define GAMMA_BTL_H

#include "openmpi.h"
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

#define gamma_btl_container(pointer, type, member) \
	((type *) ((char *) (pointer) -offsetof(type, member)))

struct gamma_btl_module;

enum {
	GAMMA_BTL_NIC_NAME = 16,      /* bytes, with the zero at the end */
	GAMMA_BTL_HOST_NAME = 64,     /* ditto */
	GAMMA_BTL_HEADER_ROOM = 256,  /* bytes: no header of a layer above is longer */
	GAMMA_BTL_INJECT_MAX = 16384, /* bytes put together on the stack at most */
	GAMMA_BTL_STARTED = 0,        /* what start_fn says: done will be called, */
	GAMMA_BTL_FINISHED = 1,       /* or all is over already */
};

/* What a message is: for a layer above, for nobody, or the sender's last one (keepalive.c). */
enum { GAMMA_BTL_MESSAGE, GAMMA_BTL_ALIVE, GAMMA_BTL_LEAVING };

/* Tells libfabric's operations apart: what it was given as a context. Lives within its owner. */
struct gamma_btl_op {
	struct gamma_btl_module *module;
	struct mca_btl_base_endpoint_t *peer; /* NULL: a receive */
	struct gamma_btl_op *next;            /* while it waits for its turn */
	/* STARTED, FINISHED or -FI_*; -FI_EAGAIN: has to be called again */
	int (*start)(struct gamma_btl_op *op);
	/* status of Open MPI; the operation may be gone when it returns */
	void (*done)(struct gamma_btl_op *op, int status);
};

/* In front of every message. Both ends have the same byte order: Open MPI is asked. No longer than
 * it must be: with Open MPI's own 14 bytes and a record's word (wire/record.h) 32 bytes of a
 * message stand in the one line of the cache that a neighbour takes. */
struct gamma_btl_header {
	opal_process_name_t sender;
	uint8_t tag;  /* whose message it is, of the layers above */
	uint8_t kind; /* GAMMA_BTL_MESSAGE, _ALIVE or _LEAVING */
} __attribute__((packed));
_Static_assert(sizeof(struct gamma_btl_header) == 10, "no gaps in it");

/* A message to send. What is sent is one piece from header on, then what is left in place. */
struct gamma_btl_fragment {
	mca_btl_base_descriptor_t base;
	mca_btl_base_segment_t segments[2]; /* copied; in place */
	struct gamma_btl_op op;
	struct gamma_btl_pool *pool;
	struct gamma_btl_fragment *next; /* while it is free */
	uint8_t room[6];                 /* so that memory, right behind the header, is aligned */
	struct gamma_btl_header header;
	unsigned char memory[]; /* pool's room */
};
_Static_assert(offsetof(struct gamma_btl_fragment, memory) % 8 == 0,
	       "as Open MPI's headers need it");

/* Fragments of one size; module->lock. */
struct gamma_btl_pool {
	size_t room; /* bytes behind the header */
	struct gamma_btl_fragment *free;
};

enum { GAMMA_BTL_POOL_SHORT, GAMMA_BTL_POOL_EAGER, GAMMA_BTL_POOL_LARGE, GAMMA_BTL_POOLS };

/* Memory that many messages arrive in. */
struct gamma_btl_buffer {
	struct gamma_btl_op op;
	unsigned int
		users; /* the provider while it fills, and messages not yet handed up; atomic */
	unsigned char *memory;
};

/* A message for a layer that is not ready for it; module->lock. */
struct gamma_btl_held {
	struct gamma_btl_held *next;
	size_t len; /* bytes, header included */
	unsigned char message[];
};

/* Operations that libfabric had no room for; module->lock. */
struct gamma_btl_queue {
	struct gamma_btl_op *first;
	struct gamma_btl_op **last;
	unsigned int count; /* read without the lock as well: atomic */
};

/* A process that we can send to, through one module. Open MPI's name for it. */
struct mca_btl_base_endpoint_t {
	struct gamma_btl_module *module;
	opal_proc_t *proc; /* counted; NULL: Open MPI has taken the peer out */
	bool own_job;      /* it is of the job that we are of */
	fi_addr_t address;
	char host[GAMMA_BTL_HOST_NAME]; /* the peer's, as it says itself */
	char nic[GAMMA_BTL_NIC_NAME];   /* ditto */
	unsigned char mac[GAMMA_MAC_LEN];
	bool failed; /* said already, or not to be said any more; atomic */
	bool asked;  /* whether it lives, and not answered yet; atomic */
	bool ended;  /* it has left, or its host says that it is no more; atomic */
	struct gamma_btl_op alive;
	struct gamma_btl_header question;
	struct mca_btl_base_endpoint_t *next_asked; /* keepalive.c, while it is about to ask */
	struct mca_btl_base_endpoint_t *next;       /* while it is one of those that are gone */
};

/* What names memory to a peer: sent by the layers above as these bytes. */
struct mca_btl_base_registration_handle_t {
	uint64_t key;
	uint64_t base; /* libfabric counts addresses in a region from its beginning */
};

/* libfabric's objects for one NIC, shared by its modules. */
struct gamma_btl_port {
	char nic[GAMMA_BTL_NIC_NAME];
	unsigned int users; /* modules */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_eq *eq; /* of peers that were given up */
	struct fid_ep *ep;
	unsigned char mac[GAMMA_MAC_LEN]; /* the NIC's; in the address it may be another */
	struct gamma_addr address;
	size_t inject_size;      /* bytes, header included */
	size_t max_message;      /* bytes, header included */
	uint32_t bandwidth;      /* Mbit/s */
	bool mtu_told;           /* that a peer's NIC has another one; atomic */
	bool limit_told;         /* that a peer has another max_message; atomic */
	pthread_mutex_t polling; /* one thread at a time takes completions */
	struct gamma_btl_buffer *buffers;
	unsigned int buffer_count;
	uint64_t last_key; /* of memory; atomic */
};

/*
 * What Open MPI knows. A NIC has two: one for messages, which comes first, and one for remote
 * memory alone, which the one-sided layer uses and the layer of messages does not.
 */
struct gamma_btl_module {
	mca_btl_base_module_t super;
	struct gamma_btl_port *port;
	bool first; /* of its port: it looks for completions */
	pthread_mutex_t lock;
	struct gamma_btl_pool pools[GAMMA_BTL_POOLS];
	struct gamma_btl_remote *free_remotes; /* lock */
	struct gamma_btl_queue waiting;
	struct gamma_btl_held *held;          /* newest first */
	opal_hash_table_t peers;              /* by name of the process; lock */
	struct mca_btl_base_endpoint_t *gone; /* that operations may still name; lock */
	unsigned int calls;                   /* of progress; atomic */
	time_t next_alive;                    /* s; lock */
	mca_btl_base_module_error_cb_fn_t error_cb;
};

struct gamma_btl_component {
	mca_btl_base_component_3_0_0_t super; /* first: Open MPI knows this part */
	struct gamma_btl_module **modules;
	size_t module_count;
	/* parameters */
	char *if_include;
	char *if_exclude;
	bool by_default;
	bool async_progress;
	bool progress_thread;
	unsigned int peer_timeout; /* s; 0: the provider's own */
	unsigned int keepalive;    /* s; 0: never */
	size_t ring_size;          /* bytes; 0: the provider's own */
	unsigned int receive_buffers;
	size_t receive_buffer_size;     /* bytes */
	mca_btl_base_module_t template; /* limits, flags, weights */
};

/* The one symbol that Open MPI looks for. */
extern struct gamma_btl_component mca_btl_gamma_component __attribute__((visibility("default")));

/* Whether several threads call us: a later session may be the first that wants it (Open MPI 5). */
static inline void gamma_btl_lock(pthread_mutex_t *lock)
{
	if (opal_using_threads())
		pthread_mutex_lock(lock);
}

static inline bool gamma_btl_trylock(pthread_mutex_t *lock)
{
	return !opal_using_threads() || !pthread_mutex_trylock(lock);
}

static inline void gamma_btl_unlock(pthread_mutex_t *lock)
{
	if (opal_using_threads())
		pthread_mutex_unlock(lock);
}

static inline bool gamma_btl_any_waiting(const struct gamma_btl_module *module)
{
	return __atomic_load_n(&module->waiting.count, __ATOMIC_RELAXED);
}

static inline struct gamma_btl_module *gamma_btl_module(mca_btl_base_module_t *btl)
{
	return gamma_btl_container(btl, struct gamma_btl_module, super);
}

/* component.c: whether the user's list of BTLs has gamma in it */
bool gamma_btl_named(void);

/* params.c */
int gamma_btl_register_params(void);
unsigned int gamma_btl_bandwidth(const char *nic, unsigned int found);

/* nics.c: the NICs to use, nearest first; 0 with the reason told. */
struct gamma_btl_nic {
	char name[GAMMA_BTL_NIC_NAME];
	unsigned char mac[GAMMA_MAC_LEN];
	unsigned int distance; /* levels of the machine between it and our processors */
};
size_t gamma_btl_find_nics(struct gamma_btl_nic **nics, size_t max_message);

/* provider.c */
struct fi_info *gamma_btl_hints(const char *nic);
struct fi_info *gamma_btl_ask_provider(size_t max_message);

/* module.c */
size_t gamma_btl_fit_sizes(void);
void gamma_btl_open(const struct gamma_btl_nic *nic, size_t max_message);
void gamma_btl_close(struct gamma_btl_module *module);

/* port.c */
struct gamma_btl_port *gamma_btl_open_port(const char *nic, size_t max_message);
void gamma_btl_put_port(struct gamma_btl_port *port);
bool gamma_btl_began_anew(void);

/* peers.c */
int gamma_btl_publish(void);
struct mca_btl_base_endpoint_t *gamma_btl_peer_by_name(struct gamma_btl_module *module,
						       opal_process_name_t name);
void gamma_btl_peer_left(struct gamma_btl_module *module, opal_process_name_t name);
int gamma_btl_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
			struct mca_btl_base_endpoint_t **peers, opal_bitmap_t *reachable);
int gamma_btl_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
			struct mca_btl_base_endpoint_t **peers);
void gamma_btl_drop_peers(struct gamma_btl_module *module);

/* fragments.c */
mca_btl_base_descriptor_t *gamma_btl_alloc(mca_btl_base_module_t *btl,
					   struct mca_btl_base_endpoint_t *peer, uint8_t order,
					   size_t size, uint32_t flags);
int gamma_btl_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor);
mca_btl_base_descriptor_t *gamma_btl_prepare(mca_btl_base_module_t *btl,
					     struct mca_btl_base_endpoint_t *peer,
					     struct opal_convertor_t *convertor, uint8_t order,
					     size_t reserve, size_t *size, uint32_t flags);
void gamma_btl_drop_fragments(struct gamma_btl_module *module);

/* send.c */
int gamma_btl_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
		   mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag);
int gamma_btl_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
		    struct opal_convertor_t *convertor, void *header, size_t header_size,
		    size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
		    mca_btl_base_descriptor_t **descriptor);

/* receive.c */
int gamma_btl_open_buffers(struct gamma_btl_module *module);
void gamma_btl_drop_buffers(struct gamma_btl_port *port);
void gamma_btl_received(struct gamma_btl_buffer *buffer, void *message, size_t len);
void gamma_btl_put_buffer(struct gamma_btl_buffer *buffer);
int gamma_btl_deliver_held(struct gamma_btl_module *module);
void gamma_btl_drop_held(struct gamma_btl_module *module);

/* remote.c */
void gamma_btl_offer_remote(mca_btl_base_module_t *btl);
void gamma_btl_drop_remotes(struct gamma_btl_module *module);

/* progress.c */
int gamma_btl_start(struct gamma_btl_op *op);
int gamma_btl_progress(void);
int gamma_btl_move(void);

/* thread.c */
void gamma_btl_thread_begin(void);
void gamma_btl_thread_polled(void);
void gamma_btl_thread_end(void);

/* keepalive.c */
void gamma_btl_keep_alive(struct gamma_btl_module *module);
bool gamma_btl_may_have_ended(const struct gamma_btl_op *op, int error);
void gamma_btl_leave(struct mca_btl_base_endpoint_t *peer);
void gamma_btl_leave_all(struct gamma_btl_module *module);

/* report.c */
void gamma_btl_tell(const char *cause, const char *cure, ...) __attribute__((format(printf, 1, 3)));
void gamma_btl_note(const char *cause, const char *cure, ...) __attribute__((format(printf, 1, 3)));
void gamma_btl_failed(struct mca_btl_base_endpoint_t *peer, int error, const char *provider_text);
void gamma_btl_broken(struct gamma_btl_module *module, const char *what, int error);

#endif
