/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The largest frame of each rail but the first. */
#ifndef GAMMA_FLOW_RAILS_MTU_H
#define GAMMA_FLOW_RAILS_MTU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct gamma_flow;
struct gamma_rail;
struct gamma_sent;

/* Larger frames may pass than those in use, and are to be tried. */
bool gamma_rails_mtu_is_smaller(const struct gamma_rail *rail);
/* Bytes to which the next probe of that rail is to be padded; 0: not at all. */
uint32_t gamma_rails_mtu_probe_size(const struct gamma_flow *flow, uint8_t rail);
/* Its link did not take the last one, which was larger than what surely passes. */
GAMMA_NOINLINE void gamma_rails_mtu_probe_refused(struct gamma_flow *flow, uint8_t rail);
/* A probe of that size, 0: not padded, was answered. */
void gamma_rails_mtu_take(struct gamma_rail *rail, uint32_t size);
/* A DATA frame above the least MTU has arrived, or is lost. */
GAMMA_NOINLINE void gamma_rails_mtu_passed(struct gamma_flow *flow, const struct gamma_sent *sent);
GAMMA_NOINLINE void gamma_rails_mtu_lost(struct gamma_flow *flow, const struct gamma_sent *sent,
					 uint64_t now);
/* Its link did not take one. */
GAMMA_NOINLINE void gamma_rails_mtu_refused(struct gamma_flow *flow, uint8_t rail, uint64_t now);

#endif /* GAMMA_FLOW_RAILS_MTU_H */
