/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A lock-free queue of records in shared memory with one writer and one reader (layout:
 * wire/segment.h). Neither side trusts the other: whatever is read from the segment is read once
 * and checked, and each side keeps its own position in private memory. If a side ends at any
 * moment, the worst that remains is a record that was never published.
 */
#ifndef GAMMA_RING_H
#define GAMMA_RING_H

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
	uint64_t taken;    /* the reader's position when it was last read */
	uint64_t look_at;  /* position from which on the writer may return to the front */
	uint64_t wrap;     /* bytes skipped before the record being written; 0: none */
	uint32_t len;      /* bytes of the record being written */
	bool damaged;      /* the reader's position was invalid: nothing more is written */
};

struct gamma_ring_reader {
	struct gamma_segment *segment;
	const uint8_t *data;
	uint64_t size;     /* bytes of data */
	uint64_t position; /* of the next record */
	uint32_t max;      /* bytes of the largest record that is accepted */
	uint32_t lent;     /* bytes of the record that is lent; 0: none */
	uint8_t kind;      /* of that */
	uint8_t flags;     /* ditto */
	bool damaged;      /* a record was invalid: nothing more is read */
};

/* Sets up a ring in a zeroed segment with size bytes of data. Different values of start put rings
 * on different cache sets. */
void gamma_ring_init(struct gamma_ring_writer *writer, void *segment, uint64_t size,
		     uint64_t start);
/* Contiguous room for a record of len bytes, or NULL: the ring is full or damaged. */
uint8_t *gamma_ring_reserve(struct gamma_ring_writer *writer, uint32_t len);
/* Publishes the reserved room as a record of that kind. True: the reader sleeps, wake it. */
bool gamma_ring_publish(struct gamma_ring_writer *writer, enum gamma_record_kind kind,
			uint8_t flags);
/* Marks that memory announced to the reader, and not answered, is no longer valid. */
void gamma_ring_withdraw(struct gamma_ring_writer *writer);
/* Whether that many bytes are free. */
bool gamma_ring_has_free(struct gamma_ring_writer *writer, uint64_t bytes);
/* Whether half of the ring is free, or it is damaged: then it is worth trying again. */
bool gamma_ring_has_room(struct gamma_ring_writer *writer);
/* Whether the reader has taken everything up to that position. */
bool gamma_ring_has_taken(struct gamma_ring_writer *writer, uint64_t position);
/* Whether the reader wants frames only, no inline messages. */
static inline bool gamma_ring_has_backpressure(const struct gamma_ring_writer *writer)
{
	return __atomic_load_n(&writer->segment->backpressure, __ATOMIC_RELAXED);
}

/* Whether the reader sleeps and would have to be woken. */
static inline bool gamma_ring_is_asleep(const struct gamma_ring_writer *writer)
{
	return __atomic_load_n(&writer->segment->sleeping, __ATOMIC_RELAXED);
}

/* Joins the segment, of that many bytes in all, that another process has set up. False: it is no
 * valid segment of this version. */
bool gamma_ring_join(struct gamma_ring_reader *reader, void *segment, size_t bytes, uint32_t max);
/* Sets up a reader for the writer itself, of the records that have not been taken. */
void gamma_ring_reread(const struct gamma_ring_writer *writer, struct gamma_ring_reader *reader,
		       uint32_t max);
/* Lends the oldest record; false: none. The same again until it is released. */
bool gamma_ring_next(struct gamma_ring_reader *reader, const uint8_t **record, uint32_t *len);
void gamma_ring_release(struct gamma_ring_reader *reader);
/* The word that will publish the next record: 0 until then. */
static inline const uint64_t *gamma_ring_head(const struct gamma_ring_reader *reader)
{
	return (const uint64_t *) (reader->data + (reader->position & (reader->size - 1)));
}
/* Whether announced memory may have been invalid when it was read. */
bool gamma_ring_withdrawn(struct gamma_ring_reader *reader);
/* Asks to be woken for the next record, and takes that back. Afterwards check for a record. */
void gamma_ring_sleep(struct gamma_ring_reader *reader);
void gamma_ring_wake(struct gamma_ring_reader *reader);
void gamma_ring_set_backpressure(struct gamma_ring_reader *reader, bool on);
/* Whether a record waits. */
bool gamma_ring_has_record(const struct gamma_ring_reader *reader);

#endif /* GAMMA_RING_H */
