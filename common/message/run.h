/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A run: fragments of one message, or of one WRITE, whose bytes follow each other. Where they go is
 * found once, then each is copied, and they are accounted for once.
 *
 *   gamma_run_begin -> gamma_run_add, for the first fragment and each further one -> gamma_run_end
 */
#ifndef GAMMA_MESSAGE_RUN_H
#define GAMMA_MESSAGE_RUN_H

#include "message/message.h"

struct gamma_run {
	struct gamma_inbound *inbound; /* NULL: a WRITE */
	uint8_t op;
	uint64_t next;  /* FRAGMENT of the next bytes */
	uint8_t *at;    /* where they go */
	uint64_t room;  /* bytes there */
	uint64_t taken; /* bytes so far */
};

/* False: this fragment, which has FRAGMENT, does not go on with anything, or not in one piece. */
bool gamma_run_begin(struct gamma_flow *flow, const struct gamma_fields *fields,
		     struct gamma_run *run);
/* False: it does not belong to the run, and nothing has been done. */
bool gamma_run_add(struct gamma_run *run, const struct gamma_fields *fields,
		   const uint8_t *payload);
/* The message may be finished. */
void gamma_run_end(struct gamma_flow *flow, struct gamma_run *run);

#endif /* GAMMA_MESSAGE_RUN_H */
