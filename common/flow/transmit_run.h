/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frames of one long message that leave in one train, made together. */
#ifndef GAMMA_FLOW_TRANSMIT_RUN_H
#define GAMMA_FLOW_TRANSMIT_RUN_H

#include "wire/frame.h"

struct gamma_flow;

/* frames[0] has just been polled, and the flow has more to send. Makes frames behind it that differ
 * from it in nothing but their number and the bytes that they carry: `most` at most. Returns how
 * many. 0: poll the next one. */
unsigned gamma_transmit_run(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frames,
			    unsigned most);

#endif /* GAMMA_FLOW_TRANSMIT_RUN_H */
