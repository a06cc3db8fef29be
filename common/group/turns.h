/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations by multicast one behind the other, from different roots. A root that has all of an
 * earlier operation may begin the next one while a slow receiver has frames of both in its ring.
 * All members count alike how many these may be, and so know when a root has to wait until all have
 * begun. Without I/O.
 */
#ifndef GAMMA_GROUP_TURNS_H
#define GAMMA_GROUP_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct gamma_turns {
	uint32_t members;
	uint32_t window;   /* frames that all rings hold */
	uint64_t sent;     /* frames of all operations that a ring may have held at their ends */
	uint64_t *cleared; /* by member: sent when it knew that all rings were empty of them */
	uint32_t *begun;   /* by member: behind the last operation that it is known to have begun */
};

/* False: no memory. */
bool gamma_turns_init(struct gamma_turns *turns, uint32_t members, uint32_t window);
void gamma_turns_fini(struct gamma_turns *turns);
/* Called in the order of the operations. True: the root sends nothing until all receivers have
 * reported that they have begun. */
bool gamma_turns_broadcast(struct gamma_turns *turns, uint32_t root, uint32_t frames);
/* frames: of each member. True: the same holds for the first two members, and no other one. */
bool gamma_turns_allgather(struct gamma_turns *turns, uint32_t frames);

/* A member has begun the operation of that number, of 24 bits, and all before: perhaps earlier than
 * this member. */
void gamma_turns_announce(struct gamma_turns *turns, uint32_t member, uint32_t number);
bool gamma_turns_has_begun(const struct gamma_turns *turns, uint32_t member, uint32_t number);

#endif /* GAMMA_GROUP_TURNS_H */
