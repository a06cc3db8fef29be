/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A message's metadata: as its sender describes it (the envelope), and as a DATA frame carries it
 * (the content).
 */
#ifndef GAMMA_WIRE_ENVELOPE_H
#define GAMMA_WIRE_ENVELOPE_H

#include "wire/codec.h"

enum gamma_envelope_flag {
	GAMMA_TAGGED = 1 << 0,
	GAMMA_HAS_DATA = 1 << 1,
	GAMMA_TO_GROUP = 1 << 2, /* of a datagram that has arrived: it was sent to a group */
	GAMMA_TO_PORT = 1 << 3,  /* with TAGGED: the tag names an active port */
};

/* Metadata of a message, known before its bytes. */
struct gamma_envelope {
	uint64_t tag;    /* if TAGGED */
	uint64_t data;   /* if HAS_DATA: the sender's CQ data */
	uint64_t length; /* bytes */
	uint32_t flags;  /* enum gamma_envelope_flag */
};

/* Fields of a DATA frame that are the same in each of its transmissions. */
struct gamma_content {
	uint8_t op;
	uint16_t extensions;
	uint64_t tag, data;
	uint64_t length;
	uint64_t fragment;
	uint32_t id;
	/* with RMA, ATOMIC only */
	uint64_t rma_address, rma_key, rma_length;
	uint8_t datatype, atomic_op;
	uint16_t count;
};

/* Copies the content into the fields of a DATA frame or of a BATCH item. */
static inline void gamma_envelope_content_fields(const struct gamma_content *content,
						 struct gamma_fields *fields)
{
	fields->extensions = content->extensions;
	fields->tag = content->tag;
	fields->data = content->data;
	fields->id = content->id;
	fields->length = content->length;
	fields->fragment = content->fragment;
	if (__builtin_expect(content->extensions & GAMMA_EXT_RMA, 0)) {
		fields->rma_address = content->rma_address;
		fields->rma_key = content->rma_key;
		fields->rma_length = content->rma_length;
		fields->datatype = content->datatype;
		fields->atomic_op = content->atomic_op;
		fields->count = content->count;
	}
}

/* The envelope's flags as extensions, and back. */
static inline uint16_t gamma_envelope_extensions(const struct gamma_envelope *envelope)
{
	return (envelope->flags & GAMMA_TAGGED ? GAMMA_EXT_TAG : 0) |
	       (envelope->flags & GAMMA_HAS_DATA ? GAMMA_EXT_CQ_DATA : 0) |
	       (envelope->flags & GAMMA_TO_PORT ? GAMMA_EXT_NAMES_PORT : 0);
}
static inline uint32_t gamma_envelope_flags(uint16_t extensions)
{
	return (extensions & GAMMA_EXT_TAG ? GAMMA_TAGGED : 0) |
	       (extensions & GAMMA_EXT_CQ_DATA ? GAMMA_HAS_DATA : 0) |
	       (extensions & GAMMA_EXT_NAMES_PORT ? GAMMA_TO_PORT : 0);
}

/* Fields of the tag of a message to a port: the port, the bytes of its head, the argument. */
static inline uint16_t gamma_envelope_port(const struct gamma_envelope *envelope)
{
	return (uint16_t) (envelope->tag >> GAMMA_PORT_TAG_PORT_SHIFT);
}
static inline uint8_t gamma_envelope_head_len(const struct gamma_envelope *envelope)
{
	return (uint8_t) (envelope->tag >> GAMMA_PORT_TAG_HEAD_SHIFT);
}
static inline uint64_t gamma_envelope_port_tag(uint16_t port, uint8_t head_len, uint32_t arg)
{
	return (uint64_t) port << GAMMA_PORT_TAG_PORT_SHIFT |
	       (uint64_t) head_len << GAMMA_PORT_TAG_HEAD_SHIFT | arg;
}
/* Bytes that a message's announcement has as payload: its head, if it goes to a port. */
static inline uint8_t gamma_envelope_announced_len(const struct gamma_envelope *envelope)
{
	return envelope->flags & GAMMA_TO_PORT ? gamma_envelope_head_len(envelope) : 0;
}
/* False: it goes to a port without naming one, or its head is too long or not all there. */
static inline bool gamma_envelope_port_is_valid(const struct gamma_envelope *envelope)
{
	uint8_t head_len = gamma_envelope_head_len(envelope);

	return !(envelope->flags & GAMMA_TO_PORT) ||
	       (envelope->flags & GAMMA_TAGGED && !(envelope->tag & GAMMA_PORT_TAG_ZERO) &&
		head_len <= GAMMA_PORT_HEAD_MAX && head_len <= envelope->length);
}
/* The envelope of a frame, or of a BATCH item. length: bytes of a complete message, whatever else
 * the frame claims. */
static inline void gamma_envelope_of(const struct gamma_fields *fields, uint64_t length,
				     struct gamma_envelope *envelope)
{
	envelope->flags = gamma_envelope_flags(fields->extensions);
	envelope->tag = envelope->flags & GAMMA_TAGGED ? fields->tag : 0;
	envelope->data = envelope->flags & GAMMA_HAS_DATA ? fields->data : 0;
	envelope->length = length;
}

#endif /* GAMMA_WIRE_ENVELOPE_H */
