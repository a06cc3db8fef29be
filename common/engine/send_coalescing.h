/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Send coalescing: messages posted to a peer between two polls share frames. */
#ifndef GAMMA_ENGINE_SEND_COALESCING_H
#define GAMMA_ENGINE_SEND_COALESCING_H

#include "flow/flow.h"

enum {
	GAMMA_COALESCE_AFTER =
		4, /* messages of a burst (to one peer, between two polls) that leave at once */
	GAMMA_COALESCE_LONG = 16, /* after a burst of so many only the first does */
};

/* Messages posted to a peer between two polls: send_coalescing.c */
struct gamma_send_coalescing {
	uint64_t round; /* the poll before them */
	uint32_t count; /* so far */
	uint32_t bytes; /* of those that wait to share a frame, with what precedes each in it */
	uint32_t room;  /* bytes that such a frame can take */
	bool was_long;  /* the row before was */
	bool more;      /* the last one said that others follow */
};

/* A message is posted, after so many polls: whether it waits for others to share a frame with. len:
 * bytes that it takes there, 0: it does not share one; may_delay, more: as in struct gamma_send. */
bool gamma_send_coalescing_delays(struct gamma_flow *flow, uint64_t len, bool may_delay, bool more,
				  uint64_t round);

#endif /* GAMMA_ENGINE_SEND_COALESCING_H */
