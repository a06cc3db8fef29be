/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Structures that two processes of one host must agree on: the shared memory through which one of
 * them sends frames and inline messages to the other, and the datagram that hands it over. Numbers
 * are in the host's own order. doc/protocol-shm.md specifies it in words; a test holds the two
 * together.
 *
 *   | struct gamma_segment, one page | data: records, one behind the other, then from the front |
 */
#ifndef GAMMA_SEGMENT_H
#define GAMMA_SEGMENT_H

#include <stdint.h>

#include "wire/record.h"

#define GAMMA_SEGMENT_VERSION 4
#define GAMMA_SEGMENT_MAGIC   0x476d6153u
#define GAMMA_SEGMENT_HEADER  4096  /* bytes before the data */
#define GAMMA_SEGMENT_MIN     65536 /* bytes of data, a power of two: three of the largest frames */
#define GAMMA_SEGMENT_MAX     1073741824 /* bytes of data */

struct gamma_segment {
	uint32_t magic;     /* GAMMA_SEGMENT_MAGIC */
	uint32_t version;   /* GAMMA_SEGMENT_VERSION */
	uint64_t size;      /* bytes of data */
	uint64_t start;     /* place of the first record, a multiple of GAMMA_RECORD_ALIGN */
	uint32_t withdrawn; /* by the writer, 1: what it has announced must not be read any more */
	uint8_t pad0[100];
	uint64_t taken; /* by the reader: place up to which it has taken records */
	uint8_t pad1[120];
	uint32_t sleeping;     /* by the reader, 1: wake me; the writer that does puts 0 */
	uint32_t backpressure; /* by the reader, 1: no inline messages, it has no memory for them */
	uint8_t pad2[120];
};

_Static_assert(sizeof(struct gamma_segment) == 384, "the same layout for every compiler");

/* The datagram to the port's socket, with two descriptors: the segment, and one end of a
 * SOCK_SEQPACKET pair on which the reader answers and is woken, and each sees the other's end. */
struct gamma_handover {
	uint32_t magic;       /* GAMMA_SEGMENT_MAGIC */
	uint32_t version;     /* GAMMA_SEGMENT_VERSION */
	uint8_t ethernet[14]; /* Ethernet header of every frame; records do not have it */
	uint16_t src_port;    /* of the writer */
	uint32_t src_epoch;   /* ditto */
	uint32_t dst_epoch;   /* of the reader */
	uint64_t nonce_at;    /* address of the nonce in the writer's memory */
	uint8_t nonce[16]; /* random: a process that reads it there can read that process's memory
			    */
};
_Static_assert(sizeof(struct gamma_handover) == 56, "the same layout for every compiler");

/* One byte on the pair. */
enum gamma_handover_byte {
	GAMMA_HANDOVER_TAKEN =
		1, /* reader: the segment is in use; an end without it: it will not be */
	GAMMA_HANDOVER_WAKE = 2, /* writer: there is a record */
};

#endif /* GAMMA_SEGMENT_H */
