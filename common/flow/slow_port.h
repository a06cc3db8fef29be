/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A slow switch port on the way here, and short messages that wait in it behind long ones. */
#ifndef GAMMA_FLOW_SLOW_PORT_H
#define GAMMA_FLOW_SLOW_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct gamma_credit_pool;

enum gamma_slow_port_state {
	GAMMA_SLOW_PORT_WATCH,  /* no bound */
	GAMMA_SLOW_PORT_EMPTY,  /* a frame of each sender, until what was under way has arrived */
	GAMMA_SLOW_PORT_ROUNDS, /* the same: what is the round trip? */
	GAMMA_SLOW_PORT_HOLD,   /* bound by that */
	GAMMA_SLOW_PORT_WIDER,  /* twice as much for a while: what is the port's rate? */
};

/* Frames that senders may have under way where a port on the way here is slow: slow_port.c */
struct gamma_slow_port {
	enum gamma_slow_port_state state;
	uint32_t share;        /* frames: of each sender with a backlog; 0: no bound */
	uint32_t bound;        /* frames: of all of them, the kept ones apart */
	uint32_t most;         /* frames: bound does not grow beyond this until the next trial */
	uint32_t senders;      /* during a trial */
	uint64_t look;         /* pool.arrivals when to look next */
	uint64_t stamp, bytes; /* arrival of the last frame, and all bytes, at the last look */
	uint64_t due;          /* the stamp at which a look was due, within a train; 0: it is not */
	bool disturbed;        /* since then the backlog has ended, or a frame came again */
	uint64_t cost;         /* ns for 1,024 bytes: of the last look */
	uint64_t port;         /* ditto: the port's rate */
	uint64_t trip;         /* ns: shortest round */
	uint32_t frame;        /* bytes: the largest of those rounds */
	uint32_t arrived;      /* frames of those rounds */
	uint32_t drained;      /* frames of the queue that emptied */
	uint32_t looks;        /* in this state; rounds */
	uint32_t steady, fast; /* slow looks in a row; others in a row */
	uint32_t slower;       /* looks in a row that took longer than the port's rate */
	uint32_t idle;         /* looks in a row without a backlog */
	uint32_t heard, quiet; /* looks with short messages; looks since the last of these */
	uint32_t tries;        /* trials in a row that came to nothing */
	uint64_t shorts_seen;  /* pool.shorts at the last look */
	uint64_t short_at;     /* ns: when short messages were seen last */
	uint64_t tried;        /* ns: when the last trial ended */
	uint64_t span, span_bytes; /* ns and bytes since the last check whether a sender is away */
	uint64_t until, away; /* ns: no bound before; how long it was left alone the last time */
};

/* So many frames have arrived as it wanted; stamp: ns, when the last one reached the host. */
void gamma_slow_port_look(struct gamma_credit_pool *pool, uint64_t stamp);
void gamma_slow_port_senders_changed(
	struct gamma_credit_pool *pool); /* senders with a backlog are more or fewer */
void gamma_slow_port_lost(struct gamma_credit_pool *pool); /* a frame came again */

#endif /* GAMMA_FLOW_SLOW_PORT_H */
