/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frames that come in parts. */
#ifndef GAMMA_FLOW_REASSEMBLY_H
#define GAMMA_FLOW_REASSEMBLY_H

#include "wire/codec.h"

struct gamma_flow;

/* A part of a frame that has not arrived yet. True: with it the frame is whole, and fields and
 * payload become the frame's; it stays until dropped. */
bool gamma_reassembly_add(struct gamma_flow *flow, struct gamma_fields *fields,
			  const uint8_t **payload);
void gamma_reassembly_drop(struct gamma_flow *flow, uint32_t seq);
void gamma_reassembly_free(struct gamma_flow *flow);

#endif /* GAMMA_FLOW_REASSEMBLY_H */
