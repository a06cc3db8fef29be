/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames to numbers and back. codec.c is the only code that touches the wire's byte order;
 * flow, engine and links see struct gamma_fields.
 */
#ifndef GAMMA_CODEC_H
#define GAMMA_CODEC_H

#include <stdbool.h>
#include <sys/uio.h>

#include "wire/wire.h"

/* In gamma_fields.extensions, though no extension of the wire: the flag PORT of a frame, or the bit
 * of an item. It travels with TAG, which it gives another meaning, from the envelope to the frame
 * and back. */
#define GAMMA_EXT_NAMES_PORT (1u << 15)

/* A header in host order. Values behind extensions not present are undefined. */
struct gamma_fields {
	uint16_t dst_port, src_port;
	uint32_t tenant;
	uint8_t kind, op, flags;
	uint8_t header_len;   /* bytes, filled by build and parse */
	uint16_t extensions;  /* GAMMA_EXT_*, GAMMA_EXT_NAMES_PORT */
	uint16_t payload_len; /* bytes */
	uint32_t src_epoch, dst_epoch;
	uint32_t seq;
	uint32_t ack, limit;                       /* ACK */
	uint32_t sack_base;                        /* SACK, SACK_LONG */
	uint64_t sack[GAMMA_SACK_LONG_BITS / 64];  /* SACK, SACK_LONG: bit i of word i / 64 */
	uint32_t echo, delay;                      /* DELAY; delay in ns */
	uint64_t tag;                              /* TAG */
	uint64_t data;                             /* CQ_DATA */
	uint32_t id;                               /* MESSAGE */
	uint64_t length;                           /* MESSAGE: bytes */
	uint64_t fragment;                         /* FRAGMENT */
	uint32_t payload_crc;                      /* PAYLOAD_CRC */
	uint16_t mtu, probe;                       /* MTU: bytes */
	uint32_t cuts;                             /* CUTS */
	uint64_t rma_address, rma_key, rma_length; /* RMA */
	uint8_t datatype, atomic_op;               /* ATOMIC */
	uint16_t count;                            /* ATOMIC: elements */
	uint8_t key[16];                           /* KEY */
	uint16_t part_offset, part_total;          /* PART: bytes */
};

/* Where the version stands, in the high four bits, whatever it is: byte of the base header. */
enum { GAMMA_VERSION_AT = 8 };

/* Why a frame is not accepted. */
enum gamma_malformed {
	GAMMA_OK = 0,
	GAMMA_SHORT,       /* fewer bytes than its header says */
	GAMMA_BAD_VERSION, /* another protocol version, with a good checksum */
	GAMMA_BAD_KIND,
	GAMMA_BAD_LENGTH,    /* header length disagrees with the extensions */
	GAMMA_BAD_EXTENSION, /* unknown extension or flag */
	GAMMA_BAD_CHECKSUM,
};

/* Bytes of the extensions in this bitmap. */
unsigned gamma_codec_extensions_len(uint16_t extensions);

/* Writes the Ethernet header, the base header, its extensions and the checksum so that they end
 * at `payload`, which must have GAMMA_ETH_LEN + GAMMA_HEADER_MAX bytes in front. Returns the
 * frame's first byte; sets fields->header_len. */
uint8_t *gamma_codec_build(struct gamma_fields *fields, const uint8_t dst_mac[GAMMA_MAC_LEN],
			   const uint8_t src_mac[GAMMA_MAC_LEN], uint16_t ethertype,
			   uint8_t *payload);

/* Reads and checks a frame of len bytes that begins with its Ethernet header. The payload stands
 * at frame + GAMMA_ETH_LEN + fields->header_len. */
enum gamma_malformed gamma_codec_parse(const uint8_t *frame, size_t len,
				       struct gamma_fields *fields);

/* Whether a frame of len bytes looks like a complete message that requests nothing and at most
 * carries an acknowledgement. Nothing is validated. */
bool gamma_codec_is_simple_message(const uint8_t *frame, size_t len);

/* Whether it looks like one that goes on with a message, or with a WRITE, and brings nothing else.
 * Nothing is validated. */
bool gamma_codec_is_simple_fragment(const uint8_t *frame, size_t len);

/* From such a frame, the one that stands `index` behind it in a row: its number is higher by so
 * much, and its bytes, `len` each, stand so much further on. As gamma_codec_build. */
uint8_t *gamma_codec_build_behind(const uint8_t *first, uint32_t index, uint64_t len,
				  uint8_t *payload);

/* An item of a BATCH has the fields of the frame that it replaces: op, extensions, payload_len and
 * the values of the extensions; no other field is read or written. Only TAG, CQ_DATA and PORT are
 * signalled: the other extensions follow from the op. */

/* Bytes of an item in front of its payload. */
uint32_t gamma_codec_item_head_len(uint8_t op, uint16_t extensions);
/* Writes them; returns where the payload goes. */
uint8_t *gamma_codec_build_item(uint8_t *at, const struct gamma_fields *item);
/* Reads an item of at most len bytes; returns its payload. NULL: malformed. */
const uint8_t *gamma_codec_parse_item(const uint8_t *at, size_t len, struct gamma_fields *item);

/* CRC32C (Castagnoli), continuing from crc (0 to begin). */
uint32_t gamma_crc32c(uint32_t crc, const void *bytes, size_t len);
/* Of two short buffers, one after the other. */
uint32_t gamma_crc32c_header(const uint8_t *first, size_t first_len, const uint8_t *second,
			     size_t second_len);
uint32_t gamma_crc32c_iov(uint32_t crc, const struct iovec *iov, unsigned count);
/* The same without the processor's CRC instruction: for tests to compare. */
uint32_t gamma_crc32c_by_table(uint32_t crc, const void *bytes, size_t len);

#endif /* GAMMA_CODEC_H */
