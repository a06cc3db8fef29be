// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The queue of frames in a segment: see ring.h. A record is published by its length, the word
 * that the reader polls: a small frame is one cache line that changes hands once. Before that the
 * writer has cleared the word behind the record, so the reader never takes old bytes for a length.
 */
#include "link/ring.h"

#include "base/base.h"

/* Bytes of a record with its frame. */
static uint64_t record_len(uint32_t frame)
{
	uint64_t bytes = sizeof(struct gamma_record) + (uint64_t) frame;

	return (bytes + GAMMA_RECORD_ALIGN - 1) & ~(uint64_t) (GAMMA_RECORD_ALIGN - 1);
}

/* ---- the writer ---- */

static uint32_t *word_at(const struct gamma_ring_writer *writer, uint64_t place)
{
	return (uint32_t *) (writer->data + (place & (writer->size - 1)));
}

void gamma_ring_begin(struct gamma_ring_writer *writer, void *segment, uint64_t size,
		      uint64_t start)
{
	struct gamma_segment *header = segment;

	start = start % size & ~(uint64_t) (GAMMA_RECORD_ALIGN - 1);
	header->magic = GAMMA_SEGMENT_MAGIC;
	header->version = GAMMA_SEGMENT_VERSION;
	header->size = size;
	header->start = start;
	header->taken = start;
	*writer = (struct gamma_ring_writer){
		.segment = header,
		.data = (uint8_t *) segment + GAMMA_SEGMENT_HEADER,
		.size = size,
		.place = start,
		.taken = start,
	};
}

/* Bytes from the writer's place on that the reader does not need. */
static uint64_t room(struct gamma_ring_writer *writer)
{
	return writer->size - (writer->place - writer->taken);
}

static void look_at_reader(struct gamma_ring_writer *writer)
{
	uint64_t taken = __atomic_load_n(&writer->segment->taken, __ATOMIC_ACQUIRE);

	/* It can only have gone on, and not beyond what there is. */
	if (taken - writer->taken > writer->place - writer->taken || taken % GAMMA_RECORD_ALIGN)
		writer->damaged = true;
	else
		writer->taken = taken;
}

/* The word behind a record must be free as well: it is cleared. */
static bool fits(struct gamma_ring_writer *writer, uint64_t bytes)
{
	if (gamma_unlikely(room(writer) < bytes + GAMMA_RECORD_ALIGN))
		look_at_reader(writer);
	return !writer->damaged && room(writer) >= bytes + GAMMA_RECORD_ALIGN;
}

uint8_t *gamma_ring_reserve(struct gamma_ring_writer *writer, uint32_t len)
{
	uint64_t bytes = record_len(len);
	uint64_t to_end = writer->size - (writer->place & (writer->size - 1));
	uint64_t wrap = bytes > to_end ? to_end : 0;

	if (gamma_unlikely(!fits(writer, wrap + bytes)))
		return NULL;
	writer->wrap = wrap;
	writer->len = len;
	return (uint8_t *) word_at(writer, writer->place + wrap) + sizeof(struct gamma_record);
}

bool gamma_ring_publish(struct gamma_ring_writer *writer)
{
	uint32_t *word = word_at(writer, writer->place);
	uint64_t behind = writer->place + writer->wrap + record_len(writer->len);
	uint32_t value = writer->len;
	uint32_t one = 1;

	__atomic_store_n(word_at(writer, behind), GAMMA_RECORD_NONE, __ATOMIC_RELAXED);
	if (gamma_unlikely(writer->wrap)) {
		__atomic_store_n(word_at(writer, writer->place + writer->wrap), value,
				 __ATOMIC_RELAXED);
		value = GAMMA_RECORD_WRAP;
	}
	writer->place = behind;
	/* In one order with the reader's: either it sees the record, or this sees that it sleeps. */
	__atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
	if (gamma_likely(!__atomic_load_n(&writer->segment->sleeping, __ATOMIC_SEQ_CST)))
		return false;
	return __atomic_compare_exchange_n(&writer->segment->sleeping, &one, 0, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool gamma_ring_has_room(struct gamma_ring_writer *writer)
{
	look_at_reader(writer);
	return writer->damaged || room(writer) >= writer->size / 2;
}

/* ---- the reader ---- */

bool gamma_ring_join(struct gamma_ring_reader *reader, void *segment, size_t bytes, uint32_t max)
{
	struct gamma_segment *header = segment;
	uint64_t start = __atomic_load_n(&header->start, __ATOMIC_RELAXED);
	uint64_t size = bytes - GAMMA_SEGMENT_HEADER;

	if (bytes < GAMMA_SEGMENT_HEADER + GAMMA_SEGMENT_MIN || size > GAMMA_SEGMENT_MAX ||
	    size & (size - 1) || header->magic != GAMMA_SEGMENT_MAGIC ||
	    header->version != GAMMA_SEGMENT_VERSION || header->size != size || start >= size ||
	    start % GAMMA_RECORD_ALIGN)
		return false;
	*reader = (struct gamma_ring_reader){
		.segment = header,
		.data = (const uint8_t *) segment + GAMMA_SEGMENT_HEADER,
		.size = size,
		.place = start,
		.max = max,
	};
	return true;
}

static uint32_t length_at_place(const struct gamma_ring_reader *reader)
{
	const uint32_t *word = (const uint32_t *) (reader->data + (reader->place & (reader->size - 1)));

	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

bool gamma_ring_next(struct gamma_ring_reader *reader, const uint8_t **frame, uint32_t *len)
{
	uint32_t length = length_at_place(reader);
	uint64_t offset;

	if (gamma_likely(length == GAMMA_RECORD_NONE) || reader->damaged)
		return false;
	if (gamma_unlikely(length == GAMMA_RECORD_WRAP)) {
		reader->place = (reader->place | (reader->size - 1)) + 1;
		length = length_at_place(reader);
	}
	offset = reader->place & (reader->size - 1);
	if (gamma_unlikely(!length || length > reader->max ||
			   record_len(length) > reader->size - offset)) {
		reader->damaged = true;
		return false;
	}
	reader->lent = (uint32_t) record_len(length);
	*frame = reader->data + offset + sizeof(struct gamma_record);
	*len = length;
	return true;
}

void gamma_ring_release(struct gamma_ring_reader *reader)
{
	reader->place += reader->lent;
	reader->lent = 0;
	__atomic_store_n(&reader->segment->taken, reader->place, __ATOMIC_RELEASE);
}

void gamma_ring_sleep(struct gamma_ring_reader *reader)
{
	__atomic_exchange_n(&reader->segment->sleeping, 1, __ATOMIC_SEQ_CST);
}

void gamma_ring_wake(struct gamma_ring_reader *reader)
{
	__atomic_store_n(&reader->segment->sleeping, 0, __ATOMIC_RELAXED);
}

bool gamma_ring_waits(const struct gamma_ring_reader *reader)
{
	return !reader->damaged && length_at_place(reader) != GAMMA_RECORD_NONE;
}
