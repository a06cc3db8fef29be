/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sender's side of bytes that go to many by multicast: which frame may leave, what all
 * receivers have, and what has to be sent again. Without I/O.
 *
 * Frames are unreliable. Receivers report how many they have from the first on, and ask for those
 * that they miss; reports, questions and the answers to one receiver are reliable messages.
 */
#ifndef GAMMA_GROUP_STREAM_H
#define GAMMA_GROUP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GAMMA_STREAM_WINDOW = 64,      /* frames not yet with all receivers: at first */
	GAMMA_STREAM_WINDOW_MIN = 48,  /* and at least, which is more than two reports */
	GAMMA_STREAM_WINDOW_MAX = 224, /* and at most: more would not make a port faster, but fill
					* the queues of hosts that have one processor for many */
	GAMMA_STREAM_REPORT = 16,      /* frames that a receiver takes between two reports */
	GAMMA_STREAM_ASK_WORDS = 8,    /* of the bits in a question */
	GAMMA_STREAM_SEVERAL = 3,      /* receivers that miss a frame: it goes to all again */
	GAMMA_STREAM_GATHER_US = 200,  /* for so long questions are collected */
	GAMMA_STREAM_CROSS_US =
		5000, /* between two questions of a receiver that do not come from one queue */
	GAMMA_STREAM_REMIND_US = 3000, /* so long without progress: receivers hear how many frames
					* were sent; each time twice as long */
	GAMMA_STREAM_REMIND_MAX_US = 200000,
};

#define GAMMA_STREAM_ALL UINT32_MAX /* instead of a receiver: by multicast */

/* Frames that a receiver misses: bit i of the words is frame base + i. */
struct gamma_stream_ask {
	uint32_t base;
	uint32_t seen; /* behind the last frame that has come: those before it have been lost */
	uint32_t bits[GAMMA_STREAM_ASK_WORDS];
};

struct gamma_stream_repair {
	uint32_t frame, receiver;
};

/* Frames sent at a receiver's question before. */
struct gamma_stream_mark {
	uint32_t sent;
	uint64_t at;  /* ns; 0: it has not asked */
	bool begun;   /* it has reported, if the stream waits for that */
	bool relayed; /* another receiver reports for it (relay.h) */
};

struct gamma_stream {
	uint32_t frames;                 /* in all */
	uint32_t sent;                   /* of them, at least once */
	uint32_t stable;                 /* from the first on, with all receivers */
	uint32_t window;                 /* frames that may be sent and not stable */
	uint32_t window_max;             /* the smallest ring of a receiver allows no more */
	uint32_t threshold;              /* above that, the window grows slowly */
	uint32_t grown;                  /* stable frames since it has grown */
	uint32_t cut_at;                 /* sent when it was reduced */
	uint32_t absent;                 /* receivers that have to begin before anything is sent */
	uint32_t *taken;                 /* by receiver */
	struct gamma_stream_mark *marks; /* by receiver */
	uint32_t receivers;
	struct gamma_stream_repair *wanted; /* asked for and not answered */
	uint32_t wanted_count, wanted_size, answered;
	uint8_t *asked;     /* by frame: receivers that asked since GATHER began; AGAIN */
	uint64_t repair_at; /* ns: when they are answered; GAMMA_NEVER */
	uint64_t repaired_one, repaired_all; /* frames */
	uint64_t progress;     /* when receivers were last given time: it changes with ... */
	uint64_t remind_at;    /* ns: ... what they could answer; else they are reminded then */
	uint64_t remind_after; /* ns: how long that is; 0: nothing was sent yet */
};

/* False: no memory. */
bool gamma_stream_init(struct gamma_stream *stream, uint32_t frames, uint32_t receivers,
		       uint32_t window_max);
void gamma_stream_fini(struct gamma_stream *stream);
/* That receiver needs nothing: it is on the sender's host. */
void gamma_stream_excuse(struct gamma_stream *stream, uint32_t receiver);
/* Another receiver reports for that one, which still asks for itself. */
void gamma_stream_relay(struct gamma_stream *stream, uint32_t receiver);
/* Nothing is sent until all receivers that report have done so. */
void gamma_stream_hold(struct gamma_stream *stream);
/* The next new frame, which leaves now; false: none may. */
bool gamma_stream_next(struct gamma_stream *stream, uint32_t *frame);
/* The frame from gamma_stream_next could not leave. */
void gamma_stream_unsend(struct gamma_stream *stream);
/* A receiver has the first `taken` frames. False: it cannot have. */
bool gamma_stream_report(struct gamma_stream *stream, uint32_t receiver, uint32_t taken);
/* A receiver misses frames. Those not sent yet, or taken by its own report, do not count. Those
 * behind the last one that has come count only if they were sent before its question before: else
 * they may have crossed. False: no memory, it will ask again. */
bool gamma_stream_ask(struct gamma_stream *stream, uint32_t receiver,
		      const struct gamma_stream_ask *ask, uint64_t now);
/* The next frame to send again, to one receiver or to ALL; false: none is due. */
bool gamma_stream_next_repair(struct gamma_stream *stream, uint64_t now,
			      struct gamma_stream_repair *repair);
/* Called whenever the sender has sent what it may. True: nothing has changed for a while, and those
 * that lag have to hear how many frames were sent, since the last ones may be lost. */
bool gamma_stream_remind(struct gamma_stream *stream, uint64_t now);
/* Whether that receiver does not report all that was sent. */
static inline bool gamma_stream_lags(const struct gamma_stream *stream, uint32_t receiver)
{
	return !stream->marks[receiver].relayed && stream->taken[receiver] < stream->sent;
}
/* ns: when something has to be done without any message. */
static inline uint64_t gamma_stream_deadline(const struct gamma_stream *stream)
{
	return stream->repair_at < stream->remind_at ? stream->repair_at : stream->remind_at;
}
static inline bool gamma_stream_is_stable(const struct gamma_stream *stream)
{
	return stream->stable == stream->frames;
}

#endif /* GAMMA_GROUP_STREAM_H */
