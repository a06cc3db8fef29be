// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * An endpoint for reliable tagged messages of any libfabric provider, as the benchmarks use it:
 * who waits polls, and what fails ends the program. Used by latency.c and pmix.c.
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
};

/* The program's name, which errors begin with. */
extern const char *station_program;

uint64_t station_now(void); /* ns */

/* Ends the program with an error: ret is one of libfabric's, negative. */
void station_fail(const char *what, long ret) __attribute__((noreturn));
/* The same unless ret is 0. */
void station_check(const char *what, long ret);

void station_open(struct station *s, const struct station_choice *choice);
void station_close(struct station *s);

/* The endpoint's own address; returns its length. */
size_t station_name(struct station *s, char name[STATION_NAME_MAX]);
fi_addr_t station_insert(struct station *s, const void *name);

/* A receive for one message with the tag, from anybody. */
void station_post(struct station *s, void *buf, size_t len, uint64_t tag);
/* Until one of the receives has its message. */
void station_receive(struct station *s);

/* Returns when the buffer may be used again. */
void station_send(struct station *s, fi_addr_t to, const void *buf, size_t len, uint64_t tag);
/* Only begins; station_sent waits for the oldest one. */
void station_begin_send(struct station *s, fi_addr_t to, const void *buf, size_t len, uint64_t tag);
void station_sent(struct station *s);

/* Lets the provider work while the program has nothing to wait for. */
void station_progress(struct station *s);

#endif
