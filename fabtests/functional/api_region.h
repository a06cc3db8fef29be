/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* gamma-api: regions that the two processes open to each other, and the simplest calls on them. */
#ifndef GAMMA_API_REGION_H
#define GAMMA_API_REGION_H

#include "api.h"

#include <rdma/fi_rma.h>

#define RMA_CAPS (FI_RMA | FI_RMA_EVENT)

enum { REGION = 4 << 20, MARGIN = 4096, KEY = 4711, LONG = 300000 };

/* An own region, what the peer reported of its region, and local memory. */
struct region {
	uint8_t *block, *bytes; /* REGION bytes; MARGIN in front and behind nobody may touch */
	struct fid_mr *mr;
	struct there {
		uint64_t addr, key;
	} there;
	uint8_t *local; /* REGION bytes */
};

/* The contents of memory filled with this seed. */
uint8_t region_byte(unsigned seed, size_t i);
void region_fill(uint8_t *bytes, unsigned seed, size_t len);
bool region_holds(const uint8_t *bytes, unsigned seed, size_t len);
void region_check(const uint8_t *bytes, unsigned seed, size_t len);

void region_open(struct node *node, struct region *region, uint64_t access);
/* Exchanges the addresses and keys of the regions with the peer. */
void region_exchange(struct node *node, struct region *region);
/* Synchronises with the peer and checks the margins. */
void region_close(struct region *region);
/* With an endpoint. */
void rma_open(struct node *node, struct region *region, struct node_options options);
void rma_close(struct node *node, struct region *region);

/* The next completion is of that context and has these flags. */
void expect_done(struct node *node, void *context, uint64_t flags);

/* Repeats a call while the provider returns -FI_EAGAIN. */
#define UNTIL_TAKEN(call)                             \
	do {                                          \
		ssize_t ret_;                         \
		while ((ret_ = (call)) == -FI_EAGAIN) \
			progress_all();               \
		CHECK_EQ(ret_, 0);                    \
	} while (0)

/* Offsets in the local memory and in the other one's region. */
void put(struct node *node, const struct region *region, size_t from, size_t to, size_t len,
	 void *context);
void get(struct node *node, const struct region *region, size_t from, size_t to, size_t len,
	 void *context);
void put_and_wait(struct node *node, const struct region *region, size_t from, size_t to,
		  size_t len);
void get_and_wait(struct node *node, const struct region *region, size_t from, size_t to,
		  size_t len);

#endif /* GAMMA_API_REGION_H */
