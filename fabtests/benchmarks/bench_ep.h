// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * An endpoint of any libfabric provider, as the benchmarks use it: messages in order, remote
 * memory. It waits by polling or asleep; a failure ends the program.
 */
#ifndef BENCH_EP_H
#define BENCH_EP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

enum { BENCH_EP_NAME_MAX = 128 /* bytes of an endpoint's address */ };

struct bench_ep {
	bool tagged;         /* else its messages have no tags and are received in order */
	bool sleeps;         /* while it waits for a message */
	uint64_t sent_flags; /* of the binding of tx */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *tx, *rx; /* completions of sends, of receives */
	struct fid_ep *ep;
};

/* Which endpoint to open; as fi_getinfo takes them. NULL: any. */
struct bench_ep_choice {
	const char *provider, *domain, *node, *service;
	uint64_t flags;
	enum fi_ep_type type; /* 0: FI_EP_RDM */
	uint64_t caps;        /* 0: FI_TAGGED */
	bool sleeps;
	bool selective; /* sends complete only with FI_COMPLETION */
};

/* Memory that peers may read and change: what they need to know of it. */
struct bench_ep_region {
	uint64_t key, address;
};

uint64_t bench_ep_now(void); /* ns */

/* Resident, of this process, bytes. */
double bench_ep_memory(void);
/* Zeroed, of one byte at the least; without memory the program ends. */
void *bench_ep_allocate(size_t count, size_t size);

/* Ends the program with an error: ret is one of libfabric's, negative. */
void bench_ep_fail(const char *what, long ret) __attribute__((noreturn));
/* The same unless ret is 0. */
void bench_ep_check(const char *what, long ret);

void bench_ep_open(struct bench_ep *s, const struct bench_ep_choice *choice);
void bench_ep_close(struct bench_ep *s);

/*
 * One more endpoint beside the first one, of the same domain, vector and queues, with any port; for
 * the caller to close.
 */
struct fid_ep *bench_ep_another(struct bench_ep *s, const struct bench_ep_choice *choice);

/* The endpoint's own address; returns its length. */
size_t bench_ep_name(struct bench_ep *s, char name[BENCH_EP_NAME_MAX]);
fi_addr_t bench_ep_insert(struct bench_ep *s, const void *name);

/* A receive for one message with the tag, from any peer; the tag counts only if there are tags. */
void bench_ep_post(struct bench_ep *s, void *buf, size_t len, uint64_t tag);
/* Until one of the receives has its message. */
void bench_ep_receive(struct bench_ep *s);

/* Returns when the buffer may be used again. */
void bench_ep_send(struct bench_ep *s, fi_addr_t to, const void *buf, size_t len, uint64_t tag);
/* Only begins; bench_ep_sent waits for the oldest one, or for an operation on remote memory. */
void bench_ep_begin_send(struct bench_ep *s, fi_addr_t to, const void *buf, size_t len,
			 uint64_t tag);
void bench_ep_sent(struct bench_ep *s);

/* For the caller to close. */
struct fid_mr *bench_ep_register(struct bench_ep *s, void *buf, size_t len,
				 struct bench_ep_region *region);

/* Lets the provider work while the program has nothing to wait for. */
void bench_ep_progress(struct bench_ep *s);

#endif
