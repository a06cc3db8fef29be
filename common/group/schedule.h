/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of one member of a group in a collective operation: steps, of which each may begin
 * when at most two earlier ones are done. The steps of all members together are the algorithm.
 * Without I/O: the caller sends and receives.
 */
#ifndef GAMMA_GROUP_SCHEDULE_H
#define GAMMA_GROUP_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum gamma_schedule_kind {
	GAMMA_SCHEDULE_SEND,    /* `from` goes to `peer` */
	GAMMA_SCHEDULE_RECEIVE, /* a message from `peer` comes to `to` */
	GAMMA_SCHEDULE_COPY,    /* `from` to `to` */
	GAMMA_SCHEDULE_FOLD,    /* to = to op from */
	GAMMA_SCHEDULE_CAST,    /* `from` goes to all leaders by multicast */
	GAMMA_SCHEDULE_TAKE,    /* that comes from `peer` to `to` */
};

#define GAMMA_SCHEDULE_NONE UINT32_MAX /* no step */

struct gamma_schedule_step {
	enum gamma_schedule_kind kind;
	uint32_t peer; /* place of a member in the group */
	void *to;
	const void *from;
	uint64_t len;   /* bytes */
	uint32_t index; /* of the message among those of the schedule to, or from, that peer */
	/* private */
	uint32_t waits;        /* steps that it waits for */
	uint32_t next;         /* in the list of ready steps */
	uint32_t dependents;   /* first edge to a step that waits for this one */
	uint32_t next_edge[2]; /* of the edges to this step: in the lists of those it waits for */
};

struct gamma_schedule_memory;

struct gamma_schedule {
	struct gamma_schedule_step *steps;
	uint32_t count, size;
	uint32_t left;              /* steps that are not done */
	uint32_t ready, *ready_end; /* list of steps that may begin */
	struct gamma_schedule_memory *memory;
	bool failed; /* there was no memory: it is not complete */
};

void gamma_schedule_init(struct gamma_schedule *schedule);
void gamma_schedule_fini(struct gamma_schedule *schedule);
/* ---- making one ---- */
/* A step that begins once a and b are done, which are earlier ones or GAMMA_SCHEDULE_NONE. Messages
 * between two members meet in the order in which each has the steps. Returns its number. */
uint32_t gamma_schedule_send(struct gamma_schedule *schedule, uint32_t peer, const void *from,
			     uint64_t len, uint32_t a, uint32_t b);
uint32_t gamma_schedule_receive(struct gamma_schedule *schedule, uint32_t peer, void *to,
				uint64_t len, uint32_t a, uint32_t b);
uint32_t gamma_schedule_copy(struct gamma_schedule *schedule, void *to, const void *from,
			     uint64_t len, uint32_t a, uint32_t b);
uint32_t gamma_schedule_fold(struct gamma_schedule *schedule, void *to, const void *from,
			     uint64_t len, uint32_t a, uint32_t b);
uint32_t gamma_schedule_cast(struct gamma_schedule *schedule, const void *from, uint64_t len,
			     uint32_t a, uint32_t b);
uint32_t gamma_schedule_take(struct gamma_schedule *schedule, uint32_t peer, void *to, uint64_t len,
			     uint32_t a);
/* Memory that lives as long as the schedule, aligned for every type; NULL: it has failed. */
void *gamma_schedule_take_memory(struct gamma_schedule *schedule, uint64_t len);
/* ---- running it ---- */
void gamma_schedule_start(struct gamma_schedule *schedule);
/* The next step that may begin, or NULL. */
struct gamma_schedule_step *gamma_schedule_next(struct gamma_schedule *schedule);
void gamma_schedule_done(struct gamma_schedule *schedule, struct gamma_schedule_step *step);
static inline bool gamma_schedule_has_ended(const struct gamma_schedule *schedule)
{
	return !schedule->left;
}

#endif /* GAMMA_GROUP_SCHEDULE_H */
