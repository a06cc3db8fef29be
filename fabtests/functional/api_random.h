/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gamma-random: random sequences of libfabric calls on endpoints of one process, compared with a
 * simple model. api_random.c: endpoints and calls; api_random_model.c: what must come of them.
 */
#ifndef GAMMA_API_RANDOM_H
#define GAMMA_API_RANDOM_H

#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdint.h>

#include "check.h"

enum { NODES = 3, OPS_MAX = 4096, LEN_MAX = 70000, ANY = -1, NONE = -1 };

enum kind { SEND, RECV, MULTI, PEEK, CLAIM, WRITE, READ, ADD };

/* A message, a receive or an operation on memory: the context of its call. */
struct op {
	struct fi_context2 context; /* libfabric's */
	enum kind kind;
	int id;         /* its place among all; the message's is its CQ data */
	int node, peer; /* whose call; destination, or source (ANY) */
	bool tagged;
	uint64_t tag, ignore;
	size_t len; /* bytes of a message; that fit into a receive */
	uint8_t *bytes;
	bool silent;    /* no success is reported */
	bool copied;    /* the bytes may be overwritten after the call */
	bool discards;  /* a peek with FI_DISCARD */
	bool done;      /* reported, or it never will be */
	bool sent;      /* of a message: the call has taken it */
	bool cancelled; /* fi_cancel was called for it */
	bool unmatched; /* of a receive: it ended without a message */
	bool released;  /* of a multi-receive buffer */
	int match;      /* of a message: the receive; of a receive: the (last) message; or NONE */
	unsigned slot;  /* of an operation on memory */
};

extern struct op ops[OPS_MAX];
extern int op_count;

/* A new operation; NULL: enough for this seed. */
struct op *model_add(enum kind kind, int node);
/* The contents of a message. */
void model_fill(struct op *message);
/* A message has met a receive, which reports that many bytes at that place. */
void model_match(struct op *receive, int id, const uint8_t *bytes, size_t len);
/* The message at the head of what a peek has found. */
void model_peeked(struct op *peek, int id, uint64_t tag, size_t len);
/* Messages that have not met a receive at that node. */
int model_missing(int node, bool tagged);
/* Everything has ended: each message was received once, in order, by the oldest receive that fits.
 */
void model_check(void);

#endif /* GAMMA_API_RANDOM_H */
