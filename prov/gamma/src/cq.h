/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues.
 */
#ifndef GAMMA_PROV_CQ_H
#define GAMMA_PROV_CQ_H

#include "domain.h"
#include "sleep.h"

/* One completion with all fields; the CQ's format decides which of them a reader gets. */
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
	size_t held_from;              /* the first entry that is held back ... */
	uint64_t
		held_round; /* ... while domain->rounds is this: their messages have yet to leave */
	struct gamma_list errors;          /* struct gamma_cq_error */
	struct gamma_cq_error *last_error; /* owns the err_data that the user may still read */
	struct gamma_cq_error *reserve;    /* reports that memory ran out; NULL: in use */
	struct gamma_waiter waiter;
	bool interrupt;      /* fi_cq_signal was called while no thread was blocked */
	uint32_t interrupts; /* fi_cq_signal was called while some were: all return */
	int refs;            /* endpoints bound, poll sets; atomic */
};
int gamma_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		  void *context);
/* The slow path of gamma_cq_write: the ring is full and grows. */
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
/* Adds an error. err: positive FI_E*; olen: bytes lost; text: for fi_cq_strerror, copied into
 * err_data, or NULL. */
GAMMA_NOINLINE void gamma_cq_write_error(struct gamma_cq *cq,
					 const struct gamma_completion *completion, int err,
					 size_t olen, const char *text);
/* As gamma_cq_write_error for a source that is not in the AV (FI_SOURCE_ERR): err FI_EADDRNOTAVAIL,
 * err_data the raw address. */
GAMMA_NOINLINE void gamma_cq_write_unknown_source(struct gamma_cq *cq,
						  const struct gamma_completion *completion,
						  const struct gamma_addr *source);

/* Entries added from now on are not read before the next progress call: their messages have yet to
 * leave. */
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
/* The result of fi_cq_strerror and fi_eq_strerror. */
const char *gamma_cq_error_text(int prov_errno, const void *err_data, char *buf, size_t len);

#endif /* GAMMA_PROV_CQ_H */
