/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Multicast groups that the endpoint has joined. */
#ifndef GAMMA_ENGINE_GROUPS_H
#define GAMMA_ENGINE_GROUPS_H

#include "engine/state.h"

struct gamma_group {
	struct gamma_list entry;
	struct gamma_addr addr;  /* MAC and port */
	struct gamma_link *link; /* NULL: nothing is received */
	struct gamma_link *out;  /* it is sent there: that link, or one of the endpoint's own */
	uint8_t rail;            /* of the latter; not 0: over UDP, beside raw frames */
	bool brokered;           /* gammad lets the endpoint send to it, until it leaves */
};
void gamma_groups_init(struct gamma_endpoint *endpoint);
void gamma_groups_close(struct gamma_endpoint *endpoint);
/* Takes frames in; returns how many. */
unsigned gamma_groups_receive(struct gamma_endpoint *endpoint);
/* True: a frame waits already. */
bool gamma_groups_arm(struct gamma_endpoint *endpoint);

#endif /* GAMMA_ENGINE_GROUPS_H */
