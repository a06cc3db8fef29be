/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which algorithm a collective operation takes, and its steps at one member. All members choose
 * alike, as the choice depends on nothing but the size of the group and what all of them pass.
 */
#ifndef GAMMA_GROUP_PLAN_H
#define GAMMA_GROUP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "group/schedule.h"

/* Numbers that go into signatures, so the same at all members. */
enum gamma_plan_kind {
	GAMMA_PLAN_BARRIER = 1,
	GAMMA_PLAN_BROADCAST,
	GAMMA_PLAN_REDUCE,
	GAMMA_PLAN_ALLREDUCE,
	GAMMA_PLAN_GATHER,
	GAMMA_PLAN_ALLGATHER,
	GAMMA_PLAN_SCATTER,
};

enum {
	GAMMA_PLAN_SHORT = 16384, /* bytes: up to here the number of messages counts, above their
				   * bytes */
	GAMMA_PLAN_PIECE = 16384, /* bytes that one link of a chain passes on at a time ... */
	GAMMA_PLAN_FLAT = 8, /* members: up to here short operations with a root go straight from
			      * and to it: each member waits once, however few processors there are
			      */
	GAMMA_PLAN_FLAT_BYTES = 1024, /* of a member, in these */
	GAMMA_PLAN_CAST = 2048,       /* bytes: from here on a broadcast goes by multicast */
	GAMMA_PLAN_PIECES = 1024,     /* unless there were more than so many */
	GAMMA_PLAN_CAST_BLOCK = 8192, /* bytes of a member: from here on an allgather does, too */
	GAMMA_PLAN_CASTERS = 2,       /* members that send to all at a time in an allgather */
};

/* Which members are on one host: the first of these, its leader, takes what comes by multicast. */
struct gamma_plan_hosts {
	uint32_t *leaders; /* by place: the place of its host's leader */
	uint32_t count;    /* hosts */
};

/* One operation as a member calls it. */
struct gamma_plan_call {
	enum gamma_plan_kind kind;
	uint32_t place, n;                    /* of the member; members */
	uint32_t root;                        /* place; 0 in operations without a root */
	uint32_t datatype, op;                /* as in atomics; op counts in reductions only */
	uint32_t unit;                        /* bytes of an element */
	uint64_t count;                       /* elements of each member; of a broadcast: in all */
	const struct gamma_plan_hosts *hosts; /* NULL: multicast does not reach all members */
	const void *from; /* what the member gives: count elements; of a scatter's root: n times
			   * as many */
	void *to; /* takes the result: count elements, or of gather's root and allgather n times as
		   * many; of a broadcast the buffer of either */
};

static inline uint64_t gamma_plan_bytes(const struct gamma_plan_call *call)
{
	return call->count * call->unit;
}
/* Whether it is short, and the members are few. */
static inline bool gamma_plan_is_flat(const struct gamma_plan_call *call)
{
	return call->n <= GAMMA_PLAN_FLAT && gamma_plan_bytes(call) <= GAMMA_PLAN_FLAT_BYTES;
}
/* Whether it goes by multicast if that reaches all. */
bool gamma_plan_casts(const struct gamma_plan_call *call);
/* Fills the schedule, which may fail for lack of memory. */
void gamma_plan_make(const struct gamma_plan_call *call, struct gamma_schedule *schedule);
/* Computes a COPY or FOLD step of its schedule. */
void gamma_plan_compute(const struct gamma_plan_call *call, const struct gamma_schedule_step *step);
/* 15 bits that differ between calls that do not belong together. */
uint32_t gamma_plan_signature(const struct gamma_plan_call *call);
const char *gamma_plan_name(enum gamma_plan_kind kind);

/* ---- the algorithms, each in the file of its name ---- */
void gamma_plan_barrier(const struct gamma_plan_call *call, struct gamma_schedule *schedule);
void gamma_plan_broadcast(const struct gamma_plan_call *call, struct gamma_schedule *schedule);
void gamma_plan_reduce(const struct gamma_plan_call *call, struct gamma_schedule *schedule);
void gamma_plan_allreduce(const struct gamma_plan_call *call, struct gamma_schedule *schedule);
void gamma_plan_gather(const struct gamma_plan_call *call, struct gamma_schedule *schedule);
void gamma_plan_allgather(const struct gamma_plan_call *call, struct gamma_schedule *schedule);
void gamma_plan_scatter(const struct gamma_plan_call *call, struct gamma_schedule *schedule);
/* Broadcast to hosts by multicast, and from their leaders to the others. */
void gamma_plan_multicast(const struct gamma_plan_call *call, struct gamma_schedule *schedule);
/* Allgather by multicast: the members send their blocks one behind the other. */
void gamma_plan_multicast_allgather(const struct gamma_plan_call *call,
				    struct gamma_schedule *schedule);
/* Reductions of long operands around a ring, to one root or to all. */
void gamma_plan_ring_reduce(const struct gamma_plan_call *call, struct gamma_schedule *schedule);

#endif /* GAMMA_GROUP_PLAN_H */
