/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Protocol version 1: every structure, kind, bit and constant that two hosts must agree
 * on, and nothing else. doc/protocol.md specifies it in words; a test holds the two
 * together. All multi-byte numbers travel in network order.
 *
 *   | Ethernet header 14 | base header 32 | extensions, in the order of their bits | payload |
 */
#ifndef GAMMA_WIRE_H
#define GAMMA_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "wire/address.h"

#define GAMMA_VERSION   1
#define GAMMA_ETHERTYPE 0x88B5 /* IEEE 802 local experimental 1, unless configured */

enum gamma_kind {
	GAMMA_KIND_DATA = 1,      /* the only sequenced and acknowledged kind */
	GAMMA_KIND_ACK = 2,       /* nothing but an acknowledgement */
	GAMMA_KIND_CREDIT = 3,    /* answer to REQUEST: a limit (extension ACK) */
	GAMMA_KIND_REQUEST = 4,   /* data waits and there is no credit */
	GAMMA_KIND_RECLAIM = 5,   /* give unused credit back, and the answer to that */
	GAMMA_KIND_PROBE = 6,     /* acknowledge what you have; padded: does this size pass? */
	GAMMA_KIND_RESET = 7,     /* no such epoch here */
	GAMMA_KIND_BYE = 8,       /* the endpoint closes, and the answer to that */
	GAMMA_KIND_LOOKUP = 9,    /* who owns this port, and the answer to that */
	GAMMA_KIND_DATAGRAM = 10, /* best effort: neither sequenced nor acknowledged */
};

/* Operations of DATA frames. */
enum gamma_op {
	GAMMA_OP_SEND = 1,       /* a whole message */
	GAMMA_OP_SEND_FIRST = 2, /* first fragment of an eager message, with its envelope */
	GAMMA_OP_SEND_MORE = 3,  /* a further one: FRAGMENT = sender's message id, offset */
	GAMMA_OP_ANNOUNCE =
		4, /* envelope of a rendezvous message; payload: the head of one to a port */
	GAMMA_OP_ACCEPT = 5, /* MESSAGE = sender's id and bytes wanted, FRAGMENT = receiver's id */
	GAMMA_OP_BULK = 6,   /* bytes of an accepted message: FRAGMENT = receiver's id, offset */
	GAMMA_OP_CUT = 7,    /* an eager message's payload was not kept: it is announced now */
	GAMMA_OP_BATCH = 8,  /* several of these, each short and behind a struct gamma_batch_item */
	GAMMA_OP_WRITE = 9,  /* remote memory: RMA begins a piece, FRAGMENT goes on with it */
	GAMMA_OP_READ = 10,  /* remote memory: FRAGMENT = requester's id, offset in the result */
	GAMMA_OP_REPLY = 11, /* result of READ, FETCH or COMPARE: FRAGMENT as it asked */
	GAMMA_OP_ATOMIC = 12,  /* remote memory: update without result */
	GAMMA_OP_FETCH = 13,   /* remote memory: update with result */
	GAMMA_OP_COMPARE = 14, /* remote memory: compare with result */
	GAMMA_OP_FAILED = 15,  /* one of these was refused: MESSAGE = frame number, cause */
};

/* Why an operation on remote memory was refused. */
enum gamma_refusal {
	GAMMA_REFUSED_KEY = 1,         /* no region has that key, or has it any more */
	GAMMA_REFUSED_BOUNDS = 2,      /* not all of it lies within the region */
	GAMMA_REFUSED_ACCESS = 3,      /* the region, or the endpoint, does not allow it */
	GAMMA_REFUSED_UNSUPPORTED = 4, /* that operation is not offered, on that datatype */
	GAMMA_REFUSED_ALIGNMENT = 5,   /* an element does not lie where the processor can swap it */
};

/* Codes in the op byte of other kinds. */
enum gamma_ack_op {
	GAMMA_ACK_PLAIN = 0,
	GAMMA_ACK_PROBED = 1, /* answers the PROBE whose number is in seq */
	GAMMA_ACK_RAIL = 2,   /* answers the PROBE of a rail whose number is in seq, on that rail */
	GAMMA_ACK_RAILS = 3,  /* answers PROBE_RAILS; payload: struct gamma_rails_list */
};
enum gamma_question_op { /* RECLAIM, BYE */
			 GAMMA_ASK = 0,
			 GAMMA_ANSWER = 1,
};
enum gamma_probe_op {
	GAMMA_PROBE_PLAIN = 0,
	GAMMA_PROBE_MTU = 1,  /* padded with zero bytes to the size in question */
	GAMMA_PROBE_RAIL = 2, /* does this rail pass? padded with zero bytes, or not */
	GAMMA_PROBE_RAILS =
		3, /* lists the own rails, asks for the peer's; payload as the answer's */
};
enum gamma_lookup_op {
	GAMMA_LOOKUP_ASK = 0,
	GAMMA_LOOKUP_FOUND = 1, /* payload: struct gamma_addr of the port's owner */
	GAMMA_LOOKUP_NO_PORT = 2,
	GAMMA_LOOKUP_OTHER_TENANT = 3,
	GAMMA_LOOKUP_HOST_ASK = 4, /* asks gammad, of one host or of all, about its host */
	GAMMA_LOOKUP_HOST = 5,     /* payload: struct gamma_host, padded to the question's length */
	GAMMA_LOOKUP_HOST_VIA = 6, /* asks gammad to ask the host whose MAC begins the payload */
};
enum gamma_reset_op {
	GAMMA_RESET_EPOCH = 0,   /* the destination epoch is not, or no longer, this endpoint's */
	GAMMA_RESET_CLOSED = 1,  /* this endpoint has said BYE to you, or gave you up */
	GAMMA_RESET_REVOKED = 2, /* from gammad, on the host only: you may not send any more */
	GAMMA_RESET_NIC = 3, /* as CLOSED: the MTU of this endpoint's NIC has become too small */
};

struct gamma_header {
	uint16_t dst_port;    /* 0 only in a LOOKUP: any endpoint of the host */
	uint16_t src_port;    /* */
	uint32_t tenant;      /* user id on whose behalf the frame travels */
	uint8_t version_kind; /* version in the high four bits, enum gamma_kind in the low */
	uint8_t op;           /* by kind, see above */
	uint8_t header_len;   /* bytes from dst_port to the payload: 32 + extensions */
	uint8_t flags;        /* GAMMA_FLAG_* */
	uint16_t extensions;  /* GAMMA_EXT_* present */
	uint16_t payload_len; /* bytes; Ethernet pads short frames */
	uint32_t src_epoch;   /* of the sending endpoint */
	uint32_t dst_epoch;   /* of the endpoint meant; ANY only in LOOKUP and DATAGRAM */
	uint32_t seq;         /* DATA: frame number, from 0; others: see their section */
	uint32_t checksum;    /* CRC32C of the Ethernet header, this header without this field,
			       * and the extensions */
} __attribute__((packed));

#define GAMMA_ETH_LEN    14
#define GAMMA_HEADER_LEN 32
_Static_assert(sizeof(struct gamma_header) == GAMMA_HEADER_LEN, "base header is 32 bytes");

enum gamma_flag {
	GAMMA_FLAG_ACK_REQUESTED = 1 << 0, /* acknowledge in the progress call that sees this */
	GAMMA_FLAG_AGAIN = 1 << 1,    /* DATA: this number was transmitted before; ACK: that was
				       * spurious */
	GAMMA_FLAG_BACKLOG = 1 << 2,  /* more data waits than the credit allows */
	GAMMA_FLAG_WANT_CRC = 1 << 3, /* the sender of this wants payloads toward it checked */
	GAMMA_FLAG_PORT = 1 << 4,     /* TAG names an active port: GAMMA_PORT_TAG_* */
	GAMMA_FLAG_RAIL = 1 << 5,     /* left by another rail than the first: begins no flow */
};
#define GAMMA_FLAGS_KNOWN 0x3fu

/* Extensions stand behind the base header in the order of these bits. */
enum gamma_ext {
	GAMMA_EXT_ACK = 1 << 0,
	GAMMA_EXT_SACK = 1 << 1,
	GAMMA_EXT_DELAY = 1 << 2,
	GAMMA_EXT_TAG = 1 << 3,
	GAMMA_EXT_CQ_DATA = 1 << 4,
	GAMMA_EXT_MESSAGE = 1 << 5,
	GAMMA_EXT_FRAGMENT = 1 << 6,
	GAMMA_EXT_PAYLOAD_CRC = 1 << 7,
	GAMMA_EXT_MTU = 1 << 8,
	GAMMA_EXT_CUTS = 1 << 9,
	GAMMA_EXT_RMA = 1 << 10,
	GAMMA_EXT_ATOMIC = 1 << 11,
	GAMMA_EXT_KEY = 1 << 12,
	GAMMA_EXT_PART = 1 << 13,
	GAMMA_EXT_SACK_LONG = 1 << 14,
};
#define GAMMA_EXT_COUNT 15
#define GAMMA_EXT_KNOWN ((1u << GAMMA_EXT_COUNT) - 1)

#define GAMMA_SACK_BITS      128
#define GAMMA_SACK_LONG_BITS 1024 /* GAMMA_WINDOW_MAX */

struct gamma_ext_ack {
	uint32_t ack;   /* every DATA frame before this number has arrived */
	uint32_t limit; /* DATA frames before this number may be sent */
} __attribute__((packed));

struct gamma_ext_sack {
	uint32_t base;                     /* frame number of bit 0 */
	uint8_t bits[GAMMA_SACK_BITS / 8]; /* bit i of byte i / 8: frame base + i has arrived */
} __attribute__((packed));

struct gamma_ext_delay {
	uint32_t echo;  /* the DATA frame whose arrival the delay counts from */
	uint32_t delay; /* ns from its arrival to this frame's departure; 2^32 - 1: that or more */
} __attribute__((packed));

struct gamma_ext_message {
	uint32_t id;     /* the sender's, unique among its unfinished messages */
	uint64_t length; /* bytes of the whole message; at most 2^40 */
} __attribute__((packed));

struct gamma_ext_mtu {
	uint16_t mtu;   /* the sender's own: bytes after the Ethernet header */
	uint16_t probe; /* in a padded PROBE and its answer: the size in question; else 0 */
} __attribute__((packed));

struct gamma_ext_rma {
	uint64_t address; /* offset into, or address within, the target's region */
	uint64_t key;
	uint64_t length; /* bytes of this piece, and GAMMA_RMA_* */
} __attribute__((packed));

/* An operation may touch several areas of memory; bits of RMA.length. */
#define GAMMA_RMA_MORE      (1ull << 63) /* another area of the same operation follows */
#define GAMMA_RMA_CONTINUES (1ull << 62) /* it is not the operation's first */

struct gamma_ext_atomic {
	uint8_t datatype; /* as enum fi_datatype numbers them */
	uint8_t op;       /* as enum fi_op numbers them */
	uint16_t count;   /* elements */
} __attribute__((packed));

/* Kinds of elements that atomic operations work on. */
enum gamma_datatype {
	GAMMA_INT8 = 0,
	GAMMA_UINT8 = 1,
	GAMMA_INT16 = 2,
	GAMMA_UINT16 = 3,
	GAMMA_INT32 = 4,
	GAMMA_UINT32 = 5,
	GAMMA_INT64 = 6,
	GAMMA_UINT64 = 7,
	GAMMA_FLOAT = 8,
	GAMMA_DOUBLE = 9,
	GAMMA_FLOAT_COMPLEX = 10,
	GAMMA_DOUBLE_COMPLEX = 11,
	GAMMA_LONG_DOUBLE = 12,
	GAMMA_LONG_DOUBLE_COMPLEX = 13,
	GAMMA_INT128 = 14,
	GAMMA_UINT128 = 15,
};

/* What is done with each element: t the target's, o the operand, c the comparand. */
enum gamma_atomic_op {
	GAMMA_ATOMIC_MIN = 0,
	GAMMA_ATOMIC_MAX = 1,
	GAMMA_ATOMIC_SUM = 2,
	GAMMA_ATOMIC_PROD = 3,
	GAMMA_ATOMIC_LOR = 4,
	GAMMA_ATOMIC_LAND = 5,
	GAMMA_ATOMIC_BOR = 6,
	GAMMA_ATOMIC_BAND = 7,
	GAMMA_ATOMIC_LXOR = 8,
	GAMMA_ATOMIC_BXOR = 9,
	GAMMA_ATOMIC_READ = 10,
	GAMMA_ATOMIC_WRITE = 11,
	GAMMA_ATOMIC_CSWAP = 12, /* from here on with comparand ... */
	GAMMA_ATOMIC_CSWAP_NE = 13,
	GAMMA_ATOMIC_CSWAP_LE = 14,
	GAMMA_ATOMIC_CSWAP_LT = 15,
	GAMMA_ATOMIC_CSWAP_GE = 16,
	GAMMA_ATOMIC_CSWAP_GT = 17,
	GAMMA_ATOMIC_MSWAP = 18, /* ... to here */
	GAMMA_ATOMIC_DIFF = 19,
};

struct gamma_ext_key {
	uint8_t code[16]; /* keyed hash over the frame without this extension */
} __attribute__((packed));

struct gamma_ext_part {
	uint16_t offset; /* of this payload's first byte in the frame's */
	uint16_t total;  /* bytes of the frame's payload */
} __attribute__((packed));

struct gamma_ext_sack_long {
	uint32_t base;                          /* frame number of bit 0 */
	uint8_t bits[GAMMA_SACK_LONG_BITS / 8]; /* as in SACK */
} __attribute__((packed));

/* FRAGMENT is one number: id in the high 24 bits, offset in bytes in the low 40. */
#define GAMMA_FRAGMENT_OFFSET_BITS 40
#define GAMMA_FRAGMENT_OFFSET_MASK ((1ull << GAMMA_FRAGMENT_OFFSET_BITS) - 1)
#define GAMMA_ID_MASK              0xffffffu
#define GAMMA_MESSAGE_MAX          (1ull << 40) /* bytes */

/* TAG with the flag PORT: port in the high 16 bits, bytes of the head in the next 8, then 8 bits of
 * zero, and the sender's argument in the low 32. The head is the first bytes of the message. */
#define GAMMA_PORT_TAG_PORT_SHIFT 48
#define GAMMA_PORT_TAG_HEAD_SHIFT 40
#define GAMMA_PORT_TAG_ZERO       (0xffull << 32)
#define GAMMA_PORT_HEAD_MAX       64 /* bytes */

/* In front of each item of a BATCH; then its extensions, those that its op always has and those
 * that are named here, in the order of their bits; then its bytes. */
struct gamma_batch_item {
	uint16_t length;    /* payload bytes */
	uint8_t extensions; /* GAMMA_EXT_TAG, GAMMA_EXT_CQ_DATA, GAMMA_ITEM_PORT */
	uint8_t op;         /* SEND, WRITE, READ, REPLY, ATOMIC, FETCH, COMPARE */
} __attribute__((packed));

/* gammad's answer about its host, on the NIC that was asked. Texts are filled up with 0. */
struct gamma_host {
	uint8_t mac[GAMMA_MAC_LEN]; /* of the NIC */
	uint16_t mtu;               /* of the NIC, bytes */
	uint32_t speed;             /* of the NIC, Mbit/s; 0: unknown */
	uint8_t version;            /* of this layout: 1; later ones are longer */
	uint8_t release[3];         /* of the software: major, minor, third number */
	uint16_t slots;             /* for endpoints on that NIC */
	uint16_t endpoints;         /* open on that NIC */
	uint64_t host;              /* host identity of gammad's endpoints */
	uint8_t nic[16];            /* the NIC's name there */
	uint8_t name[64];           /* of the host */
} __attribute__((packed));

/* A NIC of an endpoint with several. */
struct gamma_rail_entry {
	uint8_t mac[GAMMA_MAC_LEN];
	uint16_t mtu; /* bytes after the Ethernet header */
} __attribute__((packed));

/* All NICs of an endpoint, the one of its address first. */
struct gamma_rails_list {
	uint8_t count; /* 1 to GAMMA_RAILS_MAX; entries behind are 0 */
	uint8_t udp;   /* bits: by place, those over UDP beside raw ones; mac: a pseudo address */
	uint8_t down;  /* bits: by place, those that have no carrier now */
	uint8_t zero;  /* */
	struct gamma_rail_entry rails[4];
} __attribute__((packed));

/* Of an item's extensions: as GAMMA_FLAG_PORT of a frame. */
#define GAMMA_ITEM_PORT (1 << 0)

#define GAMMA_EXT_ALL_LEN      (8 + 20 + 8 + 8 + 8 + 12 + 8 + 4 + 4 + 4 + 24 + 4 + 16 + 4 + 132)
#define GAMMA_HEADER_MAX       255 /* header_len is one byte: not all extensions are in one frame */
#define GAMMA_DGRAM_HEADER_MAX (GAMMA_HEADER_LEN + 8) /* with CQ data */
#define GAMMA_BULK_HEADER      (GAMMA_HEADER_LEN + 8) /* with FRAGMENT: 40 bytes */

/* ---- constants that both sides must agree on ---- */
enum {
	GAMMA_FIRST_CREDIT = 8,    /* frames that may be sent to a peer not heard of yet */
	GAMMA_EAGER_MAX = 1 << 20, /* bytes: a longer message is announced, never sent unasked */
	GAMMA_ATOMIC_BYTES = 1024, /* bytes of remote memory that one atomic frame touches */
	GAMMA_SAFE_MTU = 1500,     /* bytes every Ethernet passes: used until a probe proved more */
	GAMMA_SAFE_MTU_UDP = 1452, /* the same of what UDP over IPv6 carries in them */
	GAMMA_LEAST_MTU = 576,     /* bytes that a path must carry */
	GAMMA_WINDOW_MAX = 1024,   /* frames: no sender runs further ahead of the ack */
	GAMMA_RAILS_MAX = 4,       /* NICs of an endpoint */
	GAMMA_ACK_DELAY_US =
		500, /* a frame without ACK_REQUESTED is acknowledged by then, if polled */
};

#endif /* GAMMA_WIRE_H */
