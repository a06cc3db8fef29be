/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is said of a message apart from its bytes: by its sender to the receiver (the envelope), and
 * in a DATA frame (the content).
 */
#ifndef GAMMA_WIRE_ENVELOPE_H
#define GAMMA_WIRE_ENVELOPE_H

#include "wire/codec.h"

enum gamma_envelope_flag {
	GAMMA_TAGGED = 1 << 0,
	GAMMA_HAS_DATA = 1 << 1,
	GAMMA_TO_GROUP = 1 << 2, /* of a datagram that has arrived: it was sent to a group */
};

/* What is known of a message before its bytes. */
struct gamma_envelope {
	uint64_t tag;    /* if TAGGED */
	uint64_t data;   /* if HAS_DATA: the sender's CQ data */
	uint64_t length; /* bytes */
	uint32_t flags;  /* enum gamma_envelope_flag */
};

/* What a DATA frame says, the same in every transmission of it. */
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

/* What a DATA frame, or an item of a BATCH, says besides its bytes. */
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

/* The envelope's flags as extensions, and the other way round. */
static inline uint16_t gamma_envelope_extensions(const struct gamma_envelope *envelope)
{
	return (envelope->flags & GAMMA_TAGGED ? GAMMA_EXT_TAG : 0) |
	       (envelope->flags & GAMMA_HAS_DATA ? GAMMA_EXT_CQ_DATA : 0);
}
static inline uint32_t gamma_envelope_flags(uint16_t extensions)
{
	return (extensions & GAMMA_EXT_TAG ? GAMMA_TAGGED : 0) |
	       (extensions & GAMMA_EXT_CQ_DATA ? GAMMA_HAS_DATA : 0);
}
/* What a frame, or an item of a BATCH, says of its message; length: of a whole one the bytes that
 * are here, whatever else the frame says. */
static inline void gamma_envelope_of(const struct gamma_fields *fields, uint64_t length,
				     struct gamma_envelope *envelope)
{
	envelope->flags = gamma_envelope_flags(fields->extensions);
	envelope->tag = envelope->flags & GAMMA_TAGGED ? fields->tag : 0;
	envelope->data = envelope->flags & GAMMA_HAS_DATA ? fields->data : 0;
	envelope->length = length;
}

#endif /* GAMMA_WIRE_ENVELOPE_H */
