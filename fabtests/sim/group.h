/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A broadcast by multicast in virtual time: the product's sender and receivers (group/stream.h,
 * group/take.h) on a switch that loses copies, with reliable messages between them.
 */
#ifndef GAMMA_SIM_GROUP_H
#define GAMMA_SIM_GROUP_H

#include "sim.h"

struct sim_group {
	uint64_t seed;
	uint32_t hosts;       /* with the root */
	uint32_t turns;       /* broadcasts, each from another root: the first is host 0's */
	uint64_t bytes;       /* of a broadcast */
	uint32_t payload;     /* bytes of a frame */
	uint32_t slots;       /* frames that a receiver's ring holds */
	uint32_t window;      /* frames, as the group has agreed */
	uint64_t frame_ns;    /* that a frame takes at the root's port */
	uint64_t latency;     /* ns */
	uint32_t loss;        /* copies of a million that are lost */
	uint32_t reorder;     /* copies of a million that come 300 us late */
	uint32_t lose, loses; /* first copies of that frame, and of so many in all, are lost ... */
	uint32_t losers;      /* ... at the first so many receivers */
	uint32_t filter;      /* the switch passes no multicast from that frame on; UINT32_MAX */
	bool silent;          /* roots are of a release that does not say how many were sent */
	uint64_t message_ns;  /* that a host works for each message or frame that it sends, and for
			       * each message that it gets */
	bool direct;          /* all receivers report to the root itself */
	uint32_t victim;      /* the host of the next four; 0: the last */
	uint64_t delay;       /* ns: it does nothing before */
	uint64_t stops;       /* ns: it does nothing then ... */
	uint64_t stopped;     /* ... for so long */
	uint64_t dies;        /* ns: it does nothing after; 0: it lives ... */
	uint64_t found_after; /* ns: ... which the others know so much later, and all ends */
};

struct sim_group_result {
	uint64_t time;                 /* ns, until the last receiver has all */
	uint64_t frames;               /* sent for the first time */
	uint64_t again_one, again_all; /* repairs */
	uint64_t asks, reports;        /* messages, questions to the root */
	uint64_t root_messages;        /* that the root of the first broadcast has got */
	uint64_t reminders;            /* messages from it that say how many frames were sent */
	uint64_t drops;                /* copies that found a ring full */
	uint64_t kept;                 /* most frames that waited in a ring */
	uint32_t complete;             /* hosts that have ended all broadcasts */
};

/* Failures go to sim_fail. */
struct sim_group_result sim_group_run(struct sim *sim, const struct sim_group *group);
/* One with everything drawn from the seed. */
void sim_group_random(struct sim *sim, uint64_t seed);

#endif /* GAMMA_SIM_GROUP_H */
