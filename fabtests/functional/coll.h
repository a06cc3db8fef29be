/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gamma-coll: any number of processes that try collective operations on each other. coll_node.c:
 * the endpoint and the out-of-band connection of all processes; coll_ops.c: operations with their
 * results checked; coll.c: the tests.
 */
#ifndef GAMMA_COLL_TEST_H
#define GAMMA_COLL_TEST_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "check.h"

enum { MEMBERS_MAX = 64, NAME_MAX_LEN = 64, LIMIT_S = 120 };

/* Which of the processes this one is, and how many there are. */
extern unsigned place, members;

/* ---- coll_node.c ---- */
extern struct fid_domain *node_domain;
extern struct fid_ep *node_ep;
extern struct fid_cq *node_cq;
extern struct fid_eq *node_eq;
extern struct fid_av *node_av;
void aside_open(const char *host, const char *port);
/* All pass as many bytes and get those of all, by place. */
void aside_allgather(const void *own, void *all, size_t len);
void aside_sync(void);
void node_open(void);
void node_close(void);
double now(void);

/* An operation's end. */
struct ending {
	void *context;
	int error; /* positive; 0: well */
	char text[256];
};
/* False: there is none yet. */
bool poll_ending(struct ending *ending);
void wait_ending(void *context, struct ending *ending);
/* That of a join. */
void wait_joined(struct fid_mc *mc, struct ending *ending);

/* The members first, first + stride ... of all. */
struct fid_av_set *open_set(unsigned first, unsigned stride);
struct fid_mc *begin_join(struct fid_av_set *set);
/* Joins all of them; NULL: this process is none. */
struct fid_mc *join(unsigned first, unsigned stride);

/* ---- coll_ops.c ---- */

/* A group as its members see it. */
struct group {
	struct fid_mc *mc;
	unsigned n, place;
	unsigned first, stride;
};
enum { OPS = 7 };
/* Begins the operation on that many elements, with that root (a place in the group); end_op waits
 * for it and checks the result. */
struct op;
struct op *begin_op(const struct group *group, unsigned kind, size_t count, unsigned root);
void end_op(struct op *op);
/* The same of one whose end has been read. */
void check_op(struct op *op);
const char *op_name(unsigned kind);
/* Prints how long some operations take. */
void time_ops(const struct group *group);
void check_types(const struct group *group);
void check_order(const struct group *group);

#endif /* GAMMA_COLL_TEST_H */
