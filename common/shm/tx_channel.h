/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The channel to a peer of this host: a segment that this process made and writes. */
#ifndef GAMMA_TX_CHANNEL_H
#define GAMMA_TX_CHANNEL_H

#include "shm/ring.h"
#include "shm/shm.h"

enum gamma_tx_channel_state {
	GAMMA_TX_CHANNEL_NEW,    /* its segment has not been handed over yet */
	GAMMA_TX_CHANNEL_RING,   /* frames go into the segment */
	GAMMA_TX_CHANNEL_DRAIN,  /* the reader refused it: its content goes through the socket */
	GAMMA_TX_CHANNEL_SOCKET, /* frames go through the socket */
};

struct gamma_tx_channel {
	enum gamma_shm_watch watch; /* GAMMA_SHM_WATCH_TX */
	enum gamma_tx_channel_state state;
	struct gamma_tx_channel *next; /* in its hash chain */
	struct gamma_list full_entry;  /* in shm->full while its ring is full */
	struct gamma_shm_addr reader;
	bool taken;               /* the reader has confirmed that it uses the segment */
	bool ended;               /* the reader's process has ended */
	int fd;                   /* own end of the socket pair, or -1 */
	int segment_fd, other_fd; /* still to be handed over, or -1 */
	void *segment;
	size_t bytes;                    /* of the segment */
	uint8_t ethernet[GAMMA_ETH_LEN]; /* Ethernet header of its frames */
	struct gamma_ring_writer ring;
	uint64_t message_end;            /* ring position after the last inline message */
	struct gamma_ring_reader unread; /* in DRAIN: reads back what the reader has not taken */
};

/* The channel to a frame's destination, made if need be; NULL: use the socket. */
struct gamma_tx_channel *gamma_tx_channel_for(struct gamma_shm *shm,
					      const struct gamma_frame *frame);
/* Puts a frame into it: 0, -EAGAIN, -ECONNREFUSED or -EPROTO. */
int gamma_tx_channel_put_frame(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			       const struct gamma_frame *frame);
/* The channel to that reader if it takes messages, or NULL. */
struct gamma_tx_channel *gamma_tx_channel_find_ready(const struct gamma_shm *shm,
						     const struct gamma_shm_addr *reader);
/* Whether messages in it have not been taken. */
bool gamma_tx_channel_has_undelivered(struct gamma_tx_channel *channel);
/* The channel to that reader, or NULL. */
struct gamma_tx_channel *gamma_tx_channel_find(const struct gamma_shm *shm,
					       const struct gamma_shm_addr *reader);
/* Writes a message into it; false: there is no room, or the reader does not take it. */
bool gamma_tx_channel_put_message(struct gamma_shm *shm, struct gamma_tx_channel *channel,
				  const struct gamma_shm_message *message, const struct iovec *iov,
				  unsigned iov_count);
/* Nothing more is sent to that reader. */
void gamma_tx_channel_forget(struct gamma_shm *shm, const struct gamma_shm_addr *reader);
/* Marks in the segment that memory announced in it must not be read any more. */
void gamma_tx_channel_withdraw(struct gamma_tx_channel *channel);
/* Reads its descriptor, which is readable or at its end. */
void gamma_tx_channel_read_events(struct gamma_shm *shm, struct gamma_tx_channel *channel);
/* Whether a channel that was full has room again. */
bool gamma_tx_channel_any_room(struct gamma_shm *shm);
/* Removes and frees a channel whose reader has ended; returns the cause. NULL: there is none. */
const char *gamma_tx_channel_take_ended(struct gamma_shm *shm, struct gamma_shm_addr *reader,
					bool *undelivered);
/* Sends a frame through the socket of its destination port: 0 or a negative errno. */
int gamma_tx_channel_send_datagram(struct gamma_shm *shm, const uint8_t *head, size_t head_len,
				   const struct iovec *iov, unsigned iov_count);
void gamma_tx_channel_close_all(struct gamma_shm *shm);

#endif /* GAMMA_TX_CHANNEL_H */
