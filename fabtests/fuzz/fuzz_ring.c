// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Fuzz target: an shm peer that writes anything into the memory that it shares. The reader joins
 * only a segment that it understands, lends only what lies inside it, advances with each record,
 * and is at its end when the writer has published no more. The frames that the link makes of
 * records lie inside it, too, and records of large messages have the length that they must have.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shm/rx_channel.h"

enum { MAX = 16640, RECORDS = 2 * GAMMA_SEGMENT_MIN / GAMMA_RECORD_ALIGN };

static _Alignas(4096) uint8_t memory[GAMMA_SEGMENT_HEADER + GAMMA_SEGMENT_MIN];
static uint8_t head[GAMMA_SHM_HEAD_COPY];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first bytes give where the records begin and whether the header is honest; the rest is
 * written from there on, in pieces a record apart if asked. */
static void write_segment(const uint8_t *data, size_t size)
{
	struct gamma_segment *segment = (struct gamma_segment *) memory;
	size_t start = (size_t) data[0] * GAMMA_RECORD_ALIGN * 4;
	size_t apart = data[1] & 1 ? GAMMA_RECORD_ALIGN - sizeof(struct gamma_record) : 0;

	memset(memory, 0, sizeof(memory));
	segment->magic = GAMMA_SEGMENT_MAGIC;
	segment->version = GAMMA_SEGMENT_VERSION;
	segment->size = GAMMA_SEGMENT_MIN;
	segment->start = start;
	if (data[1] & 2)
		memcpy(segment, data + 2,
		       size - 2 < sizeof(*segment) ? size - 2 : sizeof(*segment));
	for (size_t i = 2; i < size; i++) {
		memory[GAMMA_SEGMENT_HEADER + start % GAMMA_SEGMENT_MIN] = data[i];
		start += 1 + (i % sizeof(struct gamma_record) == 1 ? apart : 0);
	}
}

/* Sums up all bytes that may be read. */
static unsigned look_at(const struct gamma_shm_message *plain)
{
	unsigned sum = 0;

	assert(plain->bytes >= memory && plain->bytes + plain->len <= memory + sizeof(memory));
	assert(plain->kind != GAMMA_RECORD_ANNOUNCE ||
	       (plain->len >= sizeof(struct gamma_announce) &&
		plain->len <=
			sizeof(struct gamma_announce) +
				(plain->flags & GAMMA_SHM_MESSAGE_PORT ? GAMMA_PORT_HEAD_MAX : 0)));
	assert(plain->kind != GAMMA_RECORD_ANSWER || plain->len == sizeof(struct gamma_answer));
	assert(plain->kind != GAMMA_RECORD_CHUNK || plain->len > sizeof(struct gamma_chunk));
	assert(plain->kind != GAMMA_RECORD_MORE || plain->len == sizeof(struct gamma_more));
	for (uint32_t i = 0; i < plain->len; i++)
		sum += plain->bytes[i];
	return sum;
}

static unsigned read_by_the_link(void)
{
	struct gamma_rx_channel channel = {.fd = -1, .pid_fd = -1};
	struct gamma_rx_channel *rx_channels[] = {&channel};
	const uint64_t *heads[] = {NULL};
	struct gamma_stats stats = {0};
	struct gamma_arrival arrival;
	struct gamma_shm shm = {
		.link = {.stats = &stats, .mtu = MAX},
		.frame = head,
		.rx_channels = rx_channels,
		.heads = heads,
		.rx_count = 1,
	};
	unsigned sum = 0;

	if (!gamma_ring_join(&channel.ring, memory, sizeof(memory), MAX))
		return 0;
	for (unsigned i = 0; i < RECORDS && gamma_rx_channel_next(&shm, &arrival); i++) {
		sum += arrival.frame ? arrival.frame[0] : look_at(&arrival.shm);
		gamma_rx_channel_release(&shm);
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *record, *first = memory + GAMMA_SEGMENT_HEADER;
	struct gamma_ring_reader reader;
	unsigned sum = 0;
	uint64_t position;
	uint32_t len;

	if (size < 2)
		return 0;
	write_segment(data, size);
	if (!gamma_ring_join(&reader, memory, sizeof(memory), MAX))
		return 0;
	for (unsigned i = 0; i < RECORDS && gamma_ring_next(&reader, &record, &len); i++) {
		assert(len <= MAX && record >= first && record + len <= memory + sizeof(memory));
		for (uint32_t k = 0; k < len; k++)
			sum += record[k];
		position = reader.position;
		gamma_ring_release(&reader);
		assert(reader.position > position && reader.position % GAMMA_RECORD_ALIGN == 0);
	}
	sum += read_by_the_link();
	memory[0] = (uint8_t) sum;
	return 0;
}
