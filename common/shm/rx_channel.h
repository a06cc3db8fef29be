/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The channel from a peer of this host: a segment that the peer made and writes. */
#ifndef GAMMA_RX_CHANNEL_H
#define GAMMA_RX_CHANNEL_H

#include "shm/ring.h"
#include "shm/shm.h"
#include "unix/scm.h"

enum { GAMMA_RX_CHANNELS_MAX = 4096 }; /* peers that may send through shared memory */

struct gamma_rx_channel {
	enum gamma_shm_watch watch;         /* GAMMA_SHM_WATCH_RX */
	enum gamma_shm_watch watch_process; /* GAMMA_SHM_WATCH_PROCESS */
	struct gamma_shm_addr writer;
	uint32_t uid;  /* of its process, from the kernel */
	bool ended;    /* its process has ended */
	int fd;        /* own end of the socket pair */
	int pid_fd;    /* its process, or -1 */
	pid_t pid;     /* its process */
	bool readable; /* this process may read its memory */
	void *segment;
	size_t bytes; /* of the segment */
	struct gamma_ring_reader ring;
	uint64_t beyond;                 /* bytes of messages that came in spite of back-pressure */
	struct gamma_flow *flow;         /* that its frames belong to, or NULL: set by the engine */
	uint8_t ethernet[GAMMA_ETH_LEN]; /* Ethernet header of its frames */
};

/* A peer has handed over a segment. The descriptors are used or closed. */
void gamma_rx_channel_accept(struct gamma_shm *shm, const struct gamma_handover *handover,
			     struct gamma_scm *scm);
/* Lends the oldest record of the channel whose turn it is; false: there is none. */
bool gamma_rx_channel_next(struct gamma_shm *shm, struct gamma_arrival *arrival);
/* Returns the record that was lent. */
void gamma_rx_channel_release(struct gamma_shm *shm);
void gamma_rx_channel_set_backpressure(struct gamma_shm *shm, bool on);
/* The flow is gone. */
void gamma_rx_channel_forget(struct gamma_shm *shm, const struct gamma_flow *flow);
/* Reads its descriptor, which is readable or at its end. */
void gamma_rx_channel_read_events(struct gamma_shm *shm, struct gamma_rx_channel *channel);
void gamma_rx_channel_process_ended(struct gamma_shm *shm, struct gamma_rx_channel *channel);
/* Asks all writers to wake this process; true: a record is already there. */
bool gamma_rx_channel_arm(struct gamma_shm *shm);
void gamma_rx_channel_disarm(struct gamma_shm *shm);
/* Whether any channel has a record. */
bool gamma_rx_channel_any_record(const struct gamma_shm *shm);
/* Removes and frees a channel whose writer has ended; returns the cause. NULL: there is none. */
const char *gamma_rx_channel_take_ended(struct gamma_shm *shm, struct gamma_shm_addr *writer);
void gamma_rx_channel_close_all(struct gamma_shm *shm);
/* The channel from that writer, or NULL. */
struct gamma_rx_channel *gamma_rx_channel_find(const struct gamma_shm *shm,
					       const struct gamma_shm_addr *writer);

#endif /* GAMMA_RX_CHANNEL_H */
