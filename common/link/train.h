/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trains, without I/O: consecutive datagrams of one size to one peer, of which the last may be
 * shorter. The kernel sends and delivers a train with one call. udp.c uses this, and so does the
 * simulator.
 *
 *   out: gamma_train_count -> gamma_train_gather -> one send, cut at gamma_train_frame_len
 *   in:  gamma_train_begin -> { gamma_train_is_for, gamma_train_lend, gamma_train_release }
 *        until gamma_train_is_empty
 */
#ifndef GAMMA_LINK_TRAIN_H
#define GAMMA_LINK_TRAIN_H

#include "wire/frame.h"

enum {
	GAMMA_TRAIN_FRAMES = 64,      /* in a train: every kernel with UDP_SEGMENT takes so many */
	GAMMA_TRAIN_BYTES = 65507,    /* of UDP payload, in a train */
	GAMMA_TRAIN_BUFFER = 1 << 16, /* bytes: room for a received train */
	GAMMA_TRAIN_IOV = GAMMA_TRAIN_FRAMES * (1 + GAMMA_FRAME_IOV), /* iovecs of a train */
};

/* A received train. */
struct gamma_train {
	uint16_t port;                     /* UDP port that it came from, network order */
	uint32_t at;                       /* bytes before the next frame */
	uint32_t len;                      /* bytes of the train */
	uint32_t segment;                  /* bytes of each frame but the last */
	uint8_t head[GAMMA_ETH_LEN];       /* room for the first frame's Ethernet header */
	uint8_t bytes[GAMMA_TRAIN_BUFFER]; /* the frames, without Ethernet headers */
};

/* Bytes of the datagram that carries the frame: all but its Ethernet header. */
size_t gamma_train_frame_len(const struct gamma_frame *frame);
/* How many of `count` frames, from the first on, can leave as one train; at least 1. */
unsigned gamma_train_count(const struct gamma_frame *frames, unsigned count);
/* Lists the bytes of so many frames in order; returns the number of iovecs, at most
 * GAMMA_TRAIN_IOV. */
unsigned gamma_train_gather(const struct gamma_frame *frames, unsigned count, struct iovec *iov);

/* Frames of mtu bytes in the longest train. */
uint32_t gamma_train_length(uint32_t mtu);
/* Frames that a receive buffer of that many bytes holds in any case, each of at most mtu bytes. The
 * kernel may count up to a quarter of it as full though it has been read (udp_rmem_release). */
enum { GAMMA_TRAIN_KEPT = 4 };
uint32_t gamma_train_slots(uint32_t bytes, uint32_t mtu);

/* The frame length in the first header of a train's bytes: no datagram over
 * UDP has bytes behind its frame. Where it makes no sense, len: one frame, which will be refused.
 */
uint32_t gamma_train_segment(const uint8_t *bytes, uint32_t len);
/* `bytes` holds a train of that length, in frames of `segment` bytes. */
void gamma_train_begin(struct gamma_train *train, uint32_t len, uint32_t segment);
bool gamma_train_is_empty(const struct gamma_train *train);
/* Does the next frame come from the port that it names as its source, for this port and tenant (a
 * user id)? A question about the owner of the port may come from any tenant. The kernel let its
 * sender bind the UDP port, so no other process of that host can send in its name. */
bool gamma_train_is_for(const struct gamma_train *train, uint16_t port, uint32_t tenant);
/* Lends the next frame behind that Ethernet header, which is written over the end of the frame
 * before. So the frame before must have been released. */
void gamma_train_lend(struct gamma_train *train, const uint8_t head[GAMMA_ETH_LEN],
		      struct gamma_arrival *arrival);
void gamma_train_release(struct gamma_train *train);

#endif /* GAMMA_LINK_TRAIN_H */
