/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receiver's side of a multicast stream: frames that are here, what is reported to the sender,
 * and when it is asked for those that are missing. Without I/O.
 */
#ifndef GAMMA_GROUP_TAKE_H
#define GAMMA_GROUP_TAKE_H

#include "base/base.h"
#include "group/relay.h"
#include "group/stream.h"

enum {
	GAMMA_TAKE_REORDER_US = 200, /* a gap that is older is a loss */
	GAMMA_TAKE_IDLE_US = 20000,  /* so long without a frame: asks for all that is missing; each
				      * time twice as long */
	GAMMA_TAKE_IDLE_MAX_US = 200000,
};

enum gamma_take_result {
	GAMMA_TAKE_NEW,
	GAMMA_TAKE_DUPLICATE,
	GAMMA_TAKE_BAD, /* it cannot be of this stream: nothing was done */
};

struct gamma_take {
	uint8_t *to;
	uint64_t bytes;    /* in all */
	uint32_t payload;  /* bytes of each frame but the last */
	uint32_t frames;   /* in all */
	uint32_t have;     /* of them */
	uint32_t first;    /* the first that is missing */
	uint32_t seen;     /* behind the last that is here */
	uint32_t reported; /* of this receiver and those it reports for */
	bool announces;    /* the sender has to hear that these have begun */
	uint64_t *here;    /* bits, by frame */
	uint32_t asked;    /* up to here gaps have been asked for */
	uint64_t gap_at;   /* ns: gaps above that are asked for; GAMMA_NEVER: there is none */
	uint64_t idle_at;  /* ns: all that is missing is asked for */
	uint64_t idle;     /* ns: how long the next silence may last */
	struct gamma_relay relay; /* the receivers that it reports for: at first none */
};

/* Frames that so many bytes make; a stream of nothing is one frame. */
static inline uint32_t gamma_take_frames(uint64_t bytes, uint32_t payload)
{
	return bytes ? (uint32_t) ((bytes + payload - 1) / payload) : 1;
}

/* Bytes of a frame. */
static inline uint32_t gamma_take_len(uint64_t bytes, uint32_t payload, uint32_t frame)
{
	uint64_t left = bytes - (uint64_t) frame * payload;

	return left < payload ? (uint32_t) left : payload;
}

/* False: no memory. */
bool gamma_take_init(struct gamma_take *take, void *to, uint64_t bytes, uint32_t payload,
		     uint64_t now);
void gamma_take_fini(struct gamma_take *take);
/* A frame has come; its bytes may be in their place already. */
enum gamma_take_result gamma_take_frame(struct gamma_take *take, uint32_t frame,
					const uint8_t *bytes, uint32_t len, uint64_t now);
/* So many frames were sent: those that do not come soon have been lost. */
void gamma_take_remind(struct gamma_take *take, uint32_t sent, uint64_t now);
/* Whether it has to report how many frames are here, and with those that it reports for; it does
 * then. */
bool gamma_take_report(struct gamma_take *take, uint32_t *taken);
/* Whether the sender is to be asked now, and what for. */
bool gamma_take_ask(struct gamma_take *take, uint64_t now, struct gamma_stream_ask *ask);
/* Whether that names a frame that must have been lost: a later one is here. */
static inline bool gamma_take_lost(const struct gamma_take *take,
				   const struct gamma_stream_ask *ask)
{
	return ask->base < take->seen;
}
static inline bool gamma_take_is_complete(const struct gamma_take *take)
{
	return take->have == take->frames;
}
/* That, and all that it has to report is reported. */
static inline bool gamma_take_has_ended(const struct gamma_take *take)
{
	return gamma_take_is_complete(take) && take->reported == take->frames;
}
/* ns: when something has to be done without any message. */
static inline uint64_t gamma_take_deadline(const struct gamma_take *take)
{
	if (gamma_take_is_complete(take))
		return GAMMA_NEVER;
	return take->gap_at < take->idle_at ? take->gap_at : take->idle_at;
}

#endif /* GAMMA_GROUP_TAKE_H */
