/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What api_atomic.c offers to the tests in api_atomic_shared.c: memory that the other process may
 * reach, and one atomic operation on it.
 */
#ifndef GAMMA_API_ATOMIC_H
#define GAMMA_API_ATOMIC_H

#include "api.h"

#include <rdma/fi_atomic.h>

enum form { BASE, FETCH, COMPARE, FORMS };

enum {
	ATOMIC_OPS = 20,     /* FI_DIFF, which the older headers do not know, is the last */
	ATOMIC_KEY = 0x4711, /* of the memory that atomic_open registers */
	ATOMIC_MANY = 65536, /* bytes of target memory in one call */
};

struct target {
	struct fid_mr *mr;
	uint8_t *memory;
	uint64_t address, key; /* of the other's */
};

/* Registers memory, and learns where the other process's is. */
void target_open(struct node *node, struct target *target, size_t len, uint64_t access,
		 uint64_t key);
void target_close(struct target *target);
/* What a peer gives as the address of the own memory's first byte. */
uint64_t target_base(const struct node *node, const struct target *target);
/* A pair of endpoints with memory for each. */
void atomic_open(struct node *node, struct target *target, size_t len);
void atomic_close(struct node *node, struct target *target);

struct atomic {
	enum form form;
	enum fi_datatype type;
	unsigned op;
	size_t count;
	uint64_t address, key;
	uint64_t flags; /* not 0: by atomicmsg and its like */
	const void *operand, *compare;
	void *result;
};

ssize_t atomic_try(struct node *node, const struct atomic *atomic);
/* Posts it and waits for its end, which must be good, or that error. */
void atomic_run(struct node *node, const struct atomic *atomic);
void atomic_run_failing(struct node *node, const struct atomic *atomic, int error);

#endif /* GAMMA_API_ATOMIC_H */
