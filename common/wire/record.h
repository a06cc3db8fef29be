/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Records in the shared memory between two processes of one host (segment.h): frames, short
 * messages, or announcements and answers of large ones. Numbers are in the host's own order.
 */
#ifndef GAMMA_RECORD_H
#define GAMMA_RECORD_H

#include <stdint.h>

/* In front of each record, written and read as one word. A position is a byte count that never
 * wraps; modulo size it is the offset in data. */
struct gamma_record {
	uint32_t len;      /* bytes behind this, or GAMMA_RECORD_NONE, GAMMA_RECORD_WRAP */
	uint8_t kind;      /* enum gamma_record_kind */
	uint8_t flags;     /* of INLINE, ANNOUNCE: enum gamma_shm_message_flag */
	uint16_t reserved; /* 0 */
};
_Static_assert(sizeof(struct gamma_record) == 8, "one word of the processor");

enum gamma_record_kind {
	GAMMA_RECORD_FRAME = 0,
	GAMMA_RECORD_INLINE = 1,   /* a short message: tag, data, as flags say, and its bytes */
	GAMMA_RECORD_ANNOUNCE = 2, /* a large one: tag, data, as flags say, struct gamma_announce;
				    * of one to a port its head behind that */
	GAMMA_RECORD_ANSWER = 3,   /* to an announcement: struct gamma_answer */
	GAMMA_RECORD_CHUNK = 4,    /* of what was announced: struct gamma_chunk and bytes */
	GAMMA_RECORD_MORE = 5,     /* its receiver would take further chunks: struct gamma_more */
};

/* A message whose bytes stand in its sender's memory. */
struct gamma_announce {
	uint64_t length;    /* bytes */
	uint64_t address;   /* of the bytes, or of an iovec array if iov_count > 1 */
	uint64_t stamp_at;  /* address of the stamp: the bytes are valid while it is unchanged */
	uint32_t id;        /* the sender's */
	uint32_t iov_count; /* at most GAMMA_IOV_MAX */
};
_Static_assert(sizeof(struct gamma_announce) == 32, "a cache line, with record, tag and data");

/* The receiver's answer, once a receive has matched. */
struct gamma_answer {
	uint64_t wanted;   /* bytes that are to be sent; 0: it has what it wants */
	uint32_t id;       /* of the announcement */
	uint32_t accepted; /* the receiver's id for the frames with them; without any: ns that a KiB
			    * of chunks takes it, 0: unknown */
};
_Static_assert(sizeof(struct gamma_answer) == 16, "the same layout for every compiler");

/* Some bytes of an announced message, in front of them. */
struct gamma_chunk {
	uint64_t offset;   /* of the first one in the message, bytes */
	uint32_t id;       /* the sender's, of the announcement */
	uint32_t reserved; /* 0 */
};
_Static_assert(sizeof(struct gamma_chunk) == 16, "the same layout for every compiler");

struct gamma_more {
	uint32_t id;       /* of the announcement */
	uint32_t reserved; /* 0 */
};
_Static_assert(sizeof(struct gamma_more) == 8, "the same layout for every compiler");

#define GAMMA_RECORD_ALIGN 64          /* bytes: each begins in a cache line of its own */
#define GAMMA_RECORD_NONE  0           /* all of the structure: nothing here yet */
#define GAMMA_RECORD_WRAP  0xffffffffu /* the next record is the first one of data */

#endif /* GAMMA_RECORD_H */
