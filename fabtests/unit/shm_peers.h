/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two ports of this process, each with a link of shm_peers: common/shm/shm.c. */
#ifndef GAMMA_TEST_SHM_PEERS_H
#define GAMMA_TEST_SHM_PEERS_H

#include "unit.h"

#include "shm/shm.h"
#include "wire/codec.h"
#include "wire/segment.h"

enum { EPOCH = 7 };

extern uint8_t mac[GAMMA_MAC_LEN];
extern uint16_t ports[2];
extern struct gamma_stats stats[2];
extern struct gamma_shm *shms[2];
extern struct gamma_link *links[2]; /* of those; NULL once closed */

int shm_peers_setup(void **state);
int shm_peers_teardown(void **state);
/* As one who was about to sleep: that makes the link look at its socket. */
bool take(struct gamma_fields *fields, struct gamma_arrival *arrival);
/* A frame for which a ring is made. */
unsigned put_shared(uint32_t seq, const void *payload, uint16_t len, int *error);
/* The channel to the peer, once the peer has taken the first frame and confirmed the segment. */
struct gamma_tx_channel *open_channel(void);
bool put_message(struct gamma_tx_channel *channel, uint8_t flags, const void *bytes, size_t len);

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, shm_peers_setup, shm_peers_teardown)

#endif /* GAMMA_TEST_SHM_PEERS_H */
