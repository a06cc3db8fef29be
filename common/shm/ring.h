/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue of records in shared memory with one writer and one reader, without locks (layout:
 * wire/segment.h). Neither believes what the other has written: what is read from the segment is
 * read once and checked, and each keeps its own position in memory of its own. A side that ends in
 * the middle of something leaves at worst a record that was never published.
 */
#ifndef GAMMA_LINK_RING_H
#define GAMMA_LINK_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "wire/segment.h"

struct gamma_ring_writer {
	struct gamma_segment *segment;
	uint8_t *data;
	uint64_t size;     /* bytes of data, a power of two */
	uint64_t position; /* of the next record */
	uint64_t taken;    /* the reader's position, when it was last looked at */
	uint64_t look_at;  /* position from which on it may go back to the front */
	uint64_t wrap;     /* bytes left out at the end before the record being written; 0: none */
	uint32_t len;      /* bytes of the record being written */
	bool damaged;      /* the reader's position was nonsense: nothing more is written */
};

struct gamma_ring_reader {
	struct gamma_segment *segment;
	const uint8_t *data;
	uint64_t size;     /* bytes of data */
	uint64_t position; /* of the next record */
	uint32_t max;      /* bytes of the largest record that may come */
	uint32_t lent;     /* bytes of the record that is lent; 0: none */
	uint8_t kind;      /* of that */
	uint8_t flags;     /* ditto */
	bool damaged;      /* a record was nonsense: nothing more is read */
};

/* Begins a ring in a zeroed segment with so many bytes of data; `start` spreads rings over the
 * cache. */
void gamma_ring_init(struct gamma_ring_writer *writer, void *segment, uint64_t size,
		     uint64_t start);
/* Room for a record of len bytes in one piece, or NULL: the ring is full, or damaged. */
uint8_t *gamma_ring_reserve(struct gamma_ring_writer *writer, uint32_t len);
/* What stands in the room is a record of that kind now. True: the reader sleeps and is to be
 * woken. */
bool gamma_ring_publish(struct gamma_ring_writer *writer, enum gamma_record_kind kind,
			uint8_t flags);
/* Before memory that was announced to the reader, and not answered, is its owner's again. */
void gamma_ring_withdraw(struct gamma_ring_writer *writer);
/* Whether so many bytes of it are free. */
bool gamma_ring_has_free(struct gamma_ring_writer *writer, uint64_t bytes);
/* Whether half of the ring is free, or it is damaged: trying again is worth it. */
bool gamma_ring_has_room(struct gamma_ring_writer *writer);
/* Whether the reader has taken all that was written up to that position. */
bool gamma_ring_has_taken(struct gamma_ring_writer *writer, uint64_t position);
/* The reader wants no plain messages now. */
static inline bool gamma_ring_has_backpressure(const struct gamma_ring_writer *writer)
{
	return __atomic_load_n(&writer->segment->backpressure, __ATOMIC_RELAXED);
}

/* The reader would have to be woken. */
static inline bool gamma_ring_is_asleep(const struct gamma_ring_writer *writer)
{
	return __atomic_load_n(&writer->segment->sleeping, __ATOMIC_RELAXED);
}

/* Reads the segment that somebody else has begun, `bytes` long in all; false: not one, or of
 * another version. */
bool gamma_ring_join(struct gamma_ring_reader *reader, void *segment, size_t bytes, uint32_t max);
/* A reader, for the writer itself, of what has not been taken. */
void gamma_ring_reread(const struct gamma_ring_writer *writer, struct gamma_ring_reader *reader,
		       uint32_t max);
/* Lends the oldest record; false: none. The same again until it is released. */
bool gamma_ring_next(struct gamma_ring_reader *reader, const uint8_t **record, uint32_t *len);
void gamma_ring_release(struct gamma_ring_reader *reader);
/* Where the next record will be published: 0 until then. */
static inline const uint64_t *gamma_ring_head(const struct gamma_ring_reader *reader)
{
	return (const uint64_t *) (reader->data + (reader->position & (reader->size - 1)));
}
/* Whether what was read by announcement may have been another's by then. */
bool gamma_ring_withdrawn(struct gamma_ring_reader *reader);
/* Asks to be woken for the next record, and takes that back. After it look whether there is one. */
void gamma_ring_sleep(struct gamma_ring_reader *reader);
void gamma_ring_wake(struct gamma_ring_reader *reader);
void gamma_ring_set_backpressure(struct gamma_ring_reader *reader, bool backpressure);
/* A record waits, or the ring is damaged. */
bool gamma_ring_has_record(const struct gamma_ring_reader *reader);

#endif /* GAMMA_LINK_RING_H */
