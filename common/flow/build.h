/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Builds the frames that a flow sends. Called by transmit.c and control.c. */
#ifndef GAMMA_FLOW_BUILD_H
#define GAMMA_FLOW_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/frame.h"

struct gamma_fields;
struct gamma_flow;
struct gamma_sent;

/* The fields of a frame of this flow, without extensions and payload. */
void gamma_build_begin(const struct gamma_flow *flow, struct gamma_fields *fields, uint8_t kind,
		       uint8_t op);
/* The own MTU rides on that frame. */
void gamma_build_attach_mtu(struct gamma_flow *flow, struct gamma_fields *fields);
/* Writes the header in front of the payload, or of where it would begin. */
void gamma_build_frame(const struct gamma_flow *flow, struct gamma_fields *fields, uint8_t *payload,
		       struct gamma_frame *frame);
/* The DATA frame seq; flags: besides those of every frame. */
void gamma_build_data(struct gamma_flow *flow, struct gamma_sent *sent, uint32_t seq, uint8_t flags,
		      uint64_t now, struct gamma_frame *frame);
/* Was it built when the path carried larger frames? Then it leaves in parts. */
bool gamma_build_is_too_large(const struct gamma_flow *flow, const struct gamma_sent *sent);
/* The number of Ethernet frames in which it leaves from now on (saturates). */
uint8_t gamma_build_count_parts(const struct gamma_flow *flow, const struct gamma_sent *sent);
/* The next part of such a frame, from sent->part on. */
void gamma_build_part(struct gamma_flow *flow, struct gamma_sent *sent, uint32_t seq, uint64_t now,
		      struct gamma_frame *frame);

#endif /* GAMMA_FLOW_BUILD_H */
