/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads capture files in memory, pcap and pcapng, of Ethernet. Nothing is allocated. */
#ifndef GAMMA_TOOLS_CAPTURE_H
#define GAMMA_TOOLS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAPTURE_INTERFACES_MAX = 64 }; /* of a section of a pcapng file */

/* A frame as it was captured. */
struct capture_frame {
	uint64_t time;        /* ns, of the capture's clock */
	const uint8_t *bytes; /* from the Ethernet header on */
	uint32_t captured;    /* bytes in the file */
	uint32_t len;         /* bytes on the wire, at least as many */
};

/* An interface of a pcapng file. */
struct capture_interface {
	uint16_t link_type; /* as pcap numbers them; 1: Ethernet */
	uint8_t resolution; /* of its times: 10^-n s, or 2^-n if the highest bit is set */
	int64_t offset;     /* s to be added to its times */
};

struct capture {
	const uint8_t *bytes; /* the file */
	size_t len;           /* bytes */
	size_t at;            /* of the next record or block */
	bool ng;              /* pcapng */
	bool swapped;         /* numbers are of the other byte order */
	bool micro;           /* pcap: times in us, not ns */
	unsigned count;       /* of interfaces */
	struct capture_interface interfaces[CAPTURE_INTERFACES_MAX];
	const char *error; /* why capture_next has ended; NULL: the file's end */
};

/* Begins to read a file of len bytes. False: it cannot be read; capture->error says why. */
bool capture_begin(struct capture *capture, const void *bytes, size_t len);

/* The next frame. False: there is none; capture->error says why unless that is the end. */
bool capture_next(struct capture *capture, struct capture_frame *frame);

#endif /* GAMMA_TOOLS_CAPTURE_H */
