/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What happens to this host's NICs, and what a peer says of its own. */
#ifndef GAMMA_FLOW_RAILS_NICS_H
#define GAMMA_FLOW_RAILS_NICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct gamma_flow;
struct gamma_local;

/* This host's NIC takes no frame: all flows that can, use others. */
void gamma_rails_nics_down(struct gamma_local *local, uint8_t rail, uint64_t now);
/* Whether it has its carrier, as far as known. If it has lost it, flows leave it; peers hear of
 * each change. */
GAMMA_NOINLINE bool gamma_rails_nics_look(struct gamma_local *local, uint8_t rail, uint64_t now);
/* The peer has probed a rail, and so wonders about one: looks at the others. */
GAMMA_NOINLINE void gamma_rails_nics_asked(struct gamma_flow *flow, uint64_t now);
/* The peer says which of its NICs have no carrier; down: bits, by place. */
GAMMA_NOINLINE void gamma_rails_nics_heard(struct gamma_flow *flow, uint8_t down, uint64_t now);
/* The MTU of this host's NIC, another one than the first, has been lowered. */
void gamma_rails_nics_set_mtu(struct gamma_local *local, uint8_t rail, uint32_t mtu, uint64_t now);
/* It had been lowered so far that the NIC was not used, and has been raised again. */
void gamma_rails_nics_restore_mtu(struct gamma_local *local, uint8_t rail, uint32_t mtu,
				  uint64_t now);

#endif /* GAMMA_FLOW_RAILS_NICS_H */
