// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * An endpoint of any libfabric provider, as the benchmarks use it: messages in order, remote
 * memory. It waits by polling or asleep; a failure ends the program.
 */
#ifndef STATION_H
#define STATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

enum { STATION_NAME_MAX = 128 /* bytes of an endpoint's address */ };

struct station {
	bool tagged; /* else its messages have no tags and are received in order */
	bool sleeps; /* while it waits for a message */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *tx, *rx; /* completions of sends, of receives */
	struct fid_ep *ep;
};

/* Which endpoint to open; as fi_getinfo takes them. NULL: any. */
struct station_choice {
	const char *provider, *domain, *node, *service;
	uint64_t flags;
	enum fi_ep_type type; /* 0: FI_EP_RDM */
	uint64_t caps;        /* 0: FI_TAGGED */
	bool sleeps;
};

/* Memory that peers may read and change: what they need to know of it. */
struct station_region {
	uint64_t key, address;
};

uint64_t station_now(void); /* ns */

/* Resident, of this process, bytes. */
double station_memory(void);
/* Zeroed, of one byte at the least; without memory the program ends. */
void *station_allocate(size_t count, size_t size);

/* Ends the program with an error: ret is one of libfabric's, negative. */
void station_fail(const char *what, long ret) __attribute__((noreturn));
/* The same unless ret is 0. */
void station_check(const char *what, long ret);

void station_open(struct station *s, const struct station_choice *choice);
void station_close(struct station *s);

/*
 * One more endpoint beside the first one, of the same domain, vector and queues, with any port; for
 * the caller to close.
 */
struct fid_ep *station_another(struct station *s, const struct station_choice *choice);

/* The endpoint's own address; returns its length. */
size_t station_name(struct station *s, char name[STATION_NAME_MAX]);
fi_addr_t station_insert(struct station *s, const void *name);

/* A receive for one message with the tag, from any peer; the tag counts only if there are tags. */
void station_post(struct station *s, void *buf, size_t len, uint64_t tag);
/* Until one of the receives has its message. */
void station_receive(struct station *s);

/* Returns when the buffer may be used again. */
void station_send(struct station *s, fi_addr_t to, const void *buf, size_t len, uint64_t tag);
/* Only begins; station_sent waits for the oldest one, or for an operation on remote memory. */
void station_begin_send(struct station *s, fi_addr_t to, const void *buf, size_t len, uint64_t tag);
void station_sent(struct station *s);

/* For the caller to close. */
struct fid_mr *station_register(struct station *s, void *buf, size_t len,
				struct station_region *region);

/* Lets the provider work while the program has nothing to wait for. */
void station_progress(struct station *s);

#endif
