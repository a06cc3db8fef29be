/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames as memory: one to send, made by a flow and handed to a link; one that arrived, lent by a
 * link until it is released.
 */
#ifndef GAMMA_FRAME_H
#define GAMMA_FRAME_H

#include <stdbool.h>
#include <sys/uio.h>

#include "wire/wire.h"

struct gamma_flow;

enum { GAMMA_FRAME_IOV = 8 }; /* iovecs of payload in place */

/* The bits of explicit congestion notification in an IP header. */
enum gamma_ecn_mark {
	GAMMA_ECN_NONE = 0,
	GAMMA_ECN_CAPABLE = 2, /* ECT(0): a router may mark it */
	GAMMA_ECN_MARKED = 3,  /* CE: one has */
};

/* A frame to send: the bytes at `head`, then those of iov in order. */
struct gamma_frame {
	const uint8_t *head;     /* Ethernet header, GAMMA header, and a payload that was copied */
	size_t head_len;         /* bytes */
	struct gamma_flow *flow; /* NULL: a frame without flow (RESET, answer to LOOKUP) */
	unsigned iov_count;
	uint32_t seq;
	uint8_t kind, op;
	bool part;        /* a part of a DATA frame that is too large for the path */
	bool padded;      /* a path MTU probe, or the answer to one */
	bool reports_mtu; /* of this host's NIC */
	bool ecn;         /* of DATA to another subnet: routers may mark it */
	bool again;       /* of a part: the frame was transmitted before */
	uint8_t rail;     /* by which it leaves */
	uint16_t part_at; /* bytes: where in its payload */
	struct iovec iov[GAMMA_FRAME_IOV]; /* payload in place in the sender's memory */
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX]; /* for heads that have no buffer */
};

/* Where the bytes of a message stand in the memory of the shm peer that announced it. */
struct gamma_source {
	uint64_t address;  /* of the bytes, or of an iovec array if iov_count > 1 */
	uint64_t stamp_at; /* address of the stamp: the bytes are valid while it is unchanged */
	uint64_t stamp;
	uint32_t iov_count; /* 0: unknown */
	bool by_record; /* announced by a record: the sender's segment also says if they are valid
			 */
	bool in_chunks; /* the sender writes bytes into that memory, behind the announcement */
};

/* CHUNKS: of an announcement, bytes follow. */
enum gamma_shm_message_flag {
	GAMMA_SHM_MESSAGE_TAGGED = 1,
	GAMMA_SHM_MESSAGE_DATA = 2,
	GAMMA_SHM_MESSAGE_CHUNKS = 4,
	GAMMA_SHM_MESSAGE_PORT = 8,
};

/* A record between processes of one host, where no frame is needed since nothing is lost: a short
 * message, the announcement of a large one, a chunk of it, or the receiver's answer. */
struct gamma_shm_message {
	uint64_t tag, data;   /* as flags say */
	uint32_t len;         /* bytes */
	uint8_t kind;         /* enum gamma_record_kind */
	uint8_t flags;        /* enum gamma_shm_message_flag */
	const uint8_t *bytes; /* of one that arrived: the peer may change them at any time */
};

/* Bytes of tag and data in front of its bytes. */
static inline uint32_t gamma_shm_message_head_len(uint8_t flags)
{
	return (flags & GAMMA_SHM_MESSAGE_TAGGED ? 8 : 0) +
	       (flags & GAMMA_SHM_MESSAGE_DATA ? 8 : 0);
}

struct gamma_arrival {
	const uint8_t *frame;   /* from the Ethernet header on; NULL: an inline shm message */
	size_t len;             /* bytes, Ethernet padding included */
	const uint8_t *payload; /* if it does not stand behind the header, else NULL */
	bool alone;             /* no further frame was in the ring, or in its train */
	bool behind;    /* another frame of the same train; a link without trains leaves it */
	uint64_t stamp; /* ns, CLOCK_REALTIME: when it reached this host; 0: unknown */
	struct gamma_shm_message shm;
	/* The channel's cache of the flow that its records belong to, for the receiver to use. What
	 * is not released comes again. NULL: it came by no channel. */
	struct gamma_flow **flow;
};

#endif /* GAMMA_FRAME_H */
