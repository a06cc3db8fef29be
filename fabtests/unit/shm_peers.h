/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two ports of this process, each with a link of shm_peers: common/shm/shm.c. */
#ifndef GAMMA_TEST_NEIGHBOURS_H
#define GAMMA_TEST_NEIGHBOURS_H

#include "unit.h"

#include "link/link.h"
#include "wire/codec.h"
#include "wire/segment.h"

enum { EPOCH = 7 };

extern uint8_t mac[GAMMA_MAC_LEN];
extern uint16_t ports[2];
extern struct gamma_stats stats[2];
extern struct gamma_link *links[2];

int neighbours_setup(void **state);
int neighbours_teardown(void **state);
/* As one who was about to sleep: that makes the link look at its socket. */
bool take(struct gamma_fields *fields, struct gamma_arrival *arrival);
/* A frame for which a ring is made. */
unsigned put_shared(uint32_t seq, const void *payload, uint16_t len, int *error);
/* The way to the neighbour, once its first frame has been taken there, and the answer read. */
struct gamma_tx_channel *open_way(void);
bool put_plain(struct gamma_tx_channel *way, uint8_t flags, const void *bytes, size_t len);

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, neighbours_setup, neighbours_teardown)

#endif /* GAMMA_TEST_NEIGHBOURS_H */
