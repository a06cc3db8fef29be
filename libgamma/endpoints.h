/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The two endpoints of a process: reliable messages, and best effort with a group for all. */
#ifndef LIBGAMMA_ENDPOINTS_H
#define LIBGAMMA_ENDPOINTS_H

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext_gamma.h>
#include <stdbool.h>

struct job;

struct endpoint {
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fi_gamma_port_ops *ops;
	fi_addr_t *peers; /* by node */
};

struct endpoints {
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct endpoint reliable, best_effort;
	struct fid_mc *all;             /* the group; NULL: there is none */
	size_t inject_max, frame_max;   /* bytes: sent without waiting; of a best-effort message */
	unsigned short nodes, own_node; /* of the job */
};

/* 0, or -1 with a line on standard error. */
int endpoints_open(struct endpoints *endpoints, struct job *job);
void endpoints_close(struct endpoints *endpoints);
/* A handler for the port in both. */
int endpoints_set(struct endpoints *endpoints, uint16_t port, fi_gamma_handler handler);
/* node: or GAMMA_ALL_NODES, at best effort. */
ssize_t endpoints_send(struct endpoints *endpoints, unsigned short node, bool best_effort,
		       struct fi_gamma_msg *msg, uint64_t flags);
void endpoints_poll(struct endpoints *endpoints);
/* The next completion; false: there is none. error: FI_E*, or 0. */
bool endpoints_completed(struct endpoints *endpoints, void **context, uint64_t *flags, int *error);
/* Whether the provider has found a peer that does not answer, since the latest call. */
bool endpoints_failed(struct endpoints *endpoints);
void endpoints_release(struct endpoints *endpoints, bool best_effort, void *kept);

#endif /* LIBGAMMA_ENDPOINTS_H */
