// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The queue of records in a segment; see ring.h. The word in front of a record publishes it, and
 * the reader polls that word: a small record moves one cache line once. Before publishing, the
 * writer clears the word after the record, so the reader never takes old bytes for a record.
 */
#include "shm/ring.h"

#include <string.h>

enum {
	HOT = 2048, /* bytes after which the writer tries to return to the front of the data */
	LAPS = 64,  /* rounds through the data without a try, after a record did not fit */
};

/* Bytes that a record takes. */
static uint64_t record_len(uint32_t len)
{
	uint64_t bytes = sizeof(struct gamma_record) + (uint64_t) len;

	return (bytes + GAMMA_RECORD_ALIGN - 1) & ~(uint64_t) (GAMMA_RECORD_ALIGN - 1);
}

static uint64_t record_word(struct gamma_record record)
{
	uint64_t word;

	memcpy(&word, &record, sizeof(word));
	return word;
}

static struct gamma_record word_record(uint64_t word)
{
	struct gamma_record record;

	memcpy(&record, &word, sizeof(record));
	return record;
}

/* ---- the writer ---- */

static uint64_t *word_at(const struct gamma_ring_writer *writer, uint64_t position)
{
	return (uint64_t *) (writer->data + (position & (writer->size - 1)));
}

void gamma_ring_init(struct gamma_ring_writer *writer, void *segment, uint64_t size, uint64_t start)
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
		.position = start,
		.taken = start,
		.look_at = start + HOT,
	};
}

/* Bytes from the writer's position on that are free. */
static uint64_t free_bytes(struct gamma_ring_writer *writer)
{
	return writer->size - (writer->position - writer->taken);
}

static void look_at_reader(struct gamma_ring_writer *writer)
{
	uint64_t taken = __atomic_load_n(&writer->segment->taken, __ATOMIC_ACQUIRE);

	/* The reader can only advance, and not beyond the writer. */
	if (taken - writer->taken > writer->position - writer->taken || taken % GAMMA_RECORD_ALIGN)
		writer->damaged = true;
	else
		writer->taken = taken;
}

/* The word after a record must be free as well, to be cleared. Bytes that were skipped to return to
 * the front are lost until the reader has passed them, which is too much if long records follow. So
 * after a record did not fit, the writer does not return to the front for a while. */
static bool has_space(struct gamma_ring_writer *writer, uint64_t bytes)
{
	if (gamma_likely(free_bytes(writer) >= bytes + GAMMA_RECORD_ALIGN))
		return !writer->damaged;
	look_at_reader(writer);
	if (!writer->damaged && free_bytes(writer) >= bytes + GAMMA_RECORD_ALIGN)
		return true;
	writer->look_at = writer->position + LAPS * writer->size;
	return false;
}

/* Bytes to skip at the end of the data, to continue at its front. Either the record does not fit
 * before the end, or the reader has taken everything: then memory is reused that is in both caches.
 * To look at the reader's position costs a cache line transfer, so it is done only now and then. */
static uint64_t bytes_to_skip(struct gamma_ring_writer *writer, uint64_t bytes)
{
	uint64_t to_end = writer->size - (writer->position & (writer->size - 1));

	if (gamma_unlikely(bytes > to_end))
		return to_end;
	if (gamma_likely(writer->position < writer->look_at))
		return 0;
	look_at_reader(writer);
	writer->look_at = writer->position + HOT;
	if (writer->taken != writer->position || to_end + bytes + GAMMA_RECORD_ALIGN > writer->size)
		return 0;
	writer->look_at += to_end;
	return to_end;
}

uint8_t *gamma_ring_reserve(struct gamma_ring_writer *writer, uint32_t len)
{
	uint64_t bytes = record_len(len);
	uint64_t wrap = bytes_to_skip(writer, bytes);

	if (gamma_unlikely(!has_space(writer, wrap + bytes)))
		return NULL;
	writer->wrap = wrap;
	writer->len = len;
	/* First, because it may wait for a cache line of its own: the polling reader must not get
	 * the record's line back between the record's bytes and its word. */
	__atomic_store_n(word_at(writer, writer->position + wrap + bytes), GAMMA_RECORD_NONE,
			 __ATOMIC_RELAXED);
	return (uint8_t *) word_at(writer, writer->position + wrap) + sizeof(struct gamma_record);
}

/* Sequentially consistent with the reader's accesses: either the reader sees the record, or the
 * writer sees that the reader sleeps. A store right after the record's bytes, followed by a fence:
 * an exchange would wait for the bytes first, and the polling reader would take the line back in
 * between. ThreadSanitizer does not support fences. */
static void write_word(uint64_t *word, uint64_t value)
{
#ifdef __SANITIZE_THREAD__
	__atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
#else
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

bool gamma_ring_publish(struct gamma_ring_writer *writer, enum gamma_record_kind kind,
			uint8_t flags)
{
	uint64_t *word = word_at(writer, writer->position);
	uint64_t behind = writer->position + writer->wrap + record_len(writer->len);
	uint64_t value = record_word(
		(struct gamma_record){.len = writer->len, .kind = (uint8_t) kind, .flags = flags});
	uint32_t one = 1;

	if (gamma_unlikely(writer->wrap)) {
		__atomic_store_n(word_at(writer, writer->position + writer->wrap), value,
				 __ATOMIC_RELAXED);
		value = record_word((struct gamma_record){.len = GAMMA_RECORD_WRAP});
	}
	writer->position = behind;
	write_word(word, value);
	if (gamma_likely(!__atomic_load_n(&writer->segment->sleeping, __ATOMIC_SEQ_CST)))
		return false;
	return __atomic_compare_exchange_n(&writer->segment->sleeping, &one, 0, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void gamma_ring_withdraw(struct gamma_ring_writer *writer)
{
	__atomic_exchange_n(&writer->segment->withdrawn, 1, __ATOMIC_SEQ_CST);
}

bool gamma_ring_has_free(struct gamma_ring_writer *writer, uint64_t bytes)
{
	if (free_bytes(writer) < bytes)
		look_at_reader(writer);
	return !writer->damaged && free_bytes(writer) >= bytes;
}

bool gamma_ring_has_room(struct gamma_ring_writer *writer)
{
	look_at_reader(writer);
	return writer->damaged || free_bytes(writer) >= writer->size / 2;
}

bool gamma_ring_has_taken(struct gamma_ring_writer *writer, uint64_t position)
{
	look_at_reader(writer);
	return writer->taken >= position;
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
		.position = start,
		.max = max,
	};
	return true;
}

void gamma_ring_reread(const struct gamma_ring_writer *writer, struct gamma_ring_reader *reader,
		       uint32_t max)
{
	*reader = (struct gamma_ring_reader){
		.segment = writer->segment,
		.data = writer->data,
		.size = writer->size,
		.position = writer->taken,
		.max = max,
	};
}

static uint64_t word_at_position(const struct gamma_ring_reader *reader)
{
	return __atomic_load_n(gamma_ring_head(reader), __ATOMIC_SEQ_CST);
}

bool gamma_ring_next(struct gamma_ring_reader *reader, const uint8_t **record, uint32_t *len)
{
	uint64_t word = word_at_position(reader);
	struct gamma_record head;
	uint64_t offset;

	if (!word || reader->damaged)
		return false;
	if (gamma_unlikely(word_record(word).len == GAMMA_RECORD_WRAP)) {
		reader->position = (reader->position | (reader->size - 1)) + 1;
		word = word_at_position(reader);
	}
	head = word_record(word);
	offset = reader->position & (reader->size - 1);
	if (gamma_unlikely(!word || head.len > reader->max ||
			   record_len(head.len) > reader->size - offset)) {
		reader->damaged = true;
		return false;
	}
	reader->lent = (uint32_t) record_len(head.len);
	reader->kind = head.kind;
	reader->flags = head.flags;
	*record = reader->data + offset + sizeof(head);
	*len = head.len;
	return true;
}

void gamma_ring_release(struct gamma_ring_reader *reader)
{
	reader->position += reader->lent;
	reader->lent = 0;
	__atomic_store_n(&reader->segment->taken, reader->position, __ATOMIC_RELEASE);
}

/* A read-modify-write that changes nothing: a plain load might overtake the reads before it. */
bool gamma_ring_withdrawn(struct gamma_ring_reader *reader)
{
	return __atomic_fetch_or(&reader->segment->withdrawn, 0, __ATOMIC_SEQ_CST);
}

void gamma_ring_sleep(struct gamma_ring_reader *reader)
{
	__atomic_exchange_n(&reader->segment->sleeping, 1, __ATOMIC_SEQ_CST);
}

void gamma_ring_wake(struct gamma_ring_reader *reader)
{
	__atomic_store_n(&reader->segment->sleeping, 0, __ATOMIC_RELAXED);
}

void gamma_ring_set_backpressure(struct gamma_ring_reader *reader, bool on)
{
	__atomic_store_n(&reader->segment->backpressure, on, __ATOMIC_RELAXED);
}

bool gamma_ring_has_record(const struct gamma_ring_reader *reader)
{
	return !reader->damaged && word_at_position(reader);
}
