// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Lists of rails, by which two endpoints exchange the addresses of their NICs. */
#ifndef GAMMA_FLOW_RAILS_LIST_H
#define GAMMA_FLOW_RAILS_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct gamma_fields;
struct gamma_flow;
struct gamma_local;
struct gamma_rails_list;

/* The endpoint's own rails, as they are advertised to peers. */
void gamma_rails_list_fill(const struct gamma_local *local, struct gamma_rails_list *list);
/* A peer's, from a frame; false: it is not valid. */
bool gamma_rails_list_read(const struct gamma_fields *fields, const uint8_t *payload,
			   struct gamma_rails_list *list);
/* Takes the peer's; proven: it answers this side's question. */
void gamma_rails_list_enter(struct gamma_flow *flow, const struct gamma_rails_list *list,
			    bool proven);
/* Bits: own rails whose pair has no carrier, as the peer's list says. */
uint8_t gamma_rails_list_down(const struct gamma_flow *flow, const struct gamma_rails_list *list);

#endif /* GAMMA_FLOW_RAILS_LIST_H */
