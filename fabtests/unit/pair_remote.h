/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Remote memory on the network of pair.h: a region at every node, with a margin on both sides that
 * nobody may touch, and operations on it. Atomics add to 64-bit numbers; COMPARE sets them where
 * they are equal to the comparand.
 */
#ifndef GAMMA_TEST_PAIR_REMOTE_H
#define GAMMA_TEST_PAIR_REMOTE_H

#include "message/rma.h"
#include "pair.h"

enum { REGION_KEY = 77, REGION_BASE = 0x70000, REGION_MARGIN = 4096, REGION_NODES = 4 };

struct region {
	uint8_t *block; /* bytes, with the margins */
	uint8_t *bytes;
	uint64_t length;
	bool open, readable, writable;
	unsigned asked;   /* calls of reach and apply */
	unsigned touched; /* operations that were complete */
	unsigned iov_count;
	unsigned with_data;
	uint64_t last_data;
};
extern struct region regions[REGION_NODES];

void remote_begin(struct net *net, uint64_t length);
void remote_end(void); /* checks the margins */
/* Closes it as the provider would, and spoils its memory. */
void remote_close(struct net *net, unsigned node);

/* An operation as *remote says, with these operands (copied). */
struct outgoing *net_remote(struct net *net, unsigned from, unsigned to,
			    const struct gamma_rma *remote, const void *operands,
			    const uint64_t *data);
/* At an offset of the region. */
struct outgoing *net_write(struct net *net, unsigned from, unsigned to, uint64_t offset,
			   const void *bytes, uint64_t length);
struct outgoing *net_read(struct net *net, unsigned from, unsigned to, uint64_t offset, void *into,
			  uint64_t length);
/* op: GAMMA_OP_ATOMIC or FETCH, which adds, or COMPARE; into: NULL for ATOMIC. */
struct outgoing *net_atomic(struct net *net, unsigned from, unsigned to, enum gamma_op op,
			    uint64_t offset, const uint64_t *operands, unsigned count,
			    uint64_t *into);

#endif /* GAMMA_TEST_PAIR_REMOTE_H */
