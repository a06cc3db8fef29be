// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A capture of all frames as they leave the NICs, in order of time, for tcpdump and its kin. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_NS = 0xa1b23c4d, LINK_ETHERNET = 1, SNAP = 65535 + GAMMA_ETH_LEN };

struct record {
	uint64_t time; /* ns */
	uint64_t order;
	size_t len; /* bytes */
	uint8_t *bytes;
};

struct pcap {
	FILE *file;
	struct record *records;
	size_t count, size;
};

struct pcap *pcap_open(const char *path)
{
	struct pcap *pcap = calloc(1, sizeof(*pcap));

	if (!pcap)
		return NULL;
	pcap->file = fopen(path, "wb");
	if (pcap->file)
		return pcap;
	free(pcap);
	return NULL;
}

void pcap_add(struct pcap *pcap, uint64_t time, const uint8_t *bytes, size_t len)
{
	struct record *record;

	if (pcap->count == pcap->size) {
		pcap->size = pcap->size ? 2 * pcap->size : 4096;
		pcap->records = realloc(pcap->records, pcap->size * sizeof(*pcap->records));
		if (!pcap->records)
			abort();
	}
	record = &pcap->records[pcap->count];
	*record = (struct record){time, pcap->count++, len, malloc(len)};
	if (!record->bytes)
		abort();
	memcpy(record->bytes, bytes, len);
}

static int by_time(const void *a, const void *b)
{
	const struct record *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

static void write_header(FILE *file)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, figures, snap, link;
	} header = {MAGIC_NS, 2, 4, 0, 0, SNAP, LINK_ETHERNET};

	fwrite(&header, sizeof(header), 1, file);
}

void pcap_close(struct pcap *pcap)
{
	write_header(pcap->file);
	qsort(pcap->records, pcap->count, sizeof(*pcap->records), by_time);
	for (size_t i = 0; i < pcap->count; i++) {
		const struct record *record = &pcap->records[i];
		uint32_t head[4] = {(uint32_t) (record->time / GAMMA_NS_PER_S),
				    (uint32_t) (record->time % GAMMA_NS_PER_S),
				    (uint32_t) record->len, (uint32_t) record->len};

		fwrite(head, sizeof(head), 1, pcap->file);
		fwrite(record->bytes, record->len, 1, pcap->file);
		free(record->bytes);
	}
	if (fclose(pcap->file))
		perror("pcap");
	free(pcap->records);
	free(pcap);
}

int sim_pcap(struct sim *sim, const char *path)
{
	sim->pcap = pcap_open(path);
	return sim->pcap ? 0 : -errno;
}
