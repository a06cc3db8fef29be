/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The wire of pair.h, for pair.c alone: tests see it by rules and counters. */
#ifndef GAMMA_TEST_PAIR_WIRE_H
#define GAMMA_TEST_PAIR_WIRE_H

#include "pair.h"

/* Links of a node's first and second NIC; the frames of both arrive in one ring. */
extern const struct gamma_link_ops wire_link_ops, wire_second_ops;

unsigned wire_node_of_mac(const uint8_t *mac);
/* The rail that a frame is on, by its destination address. */
uint8_t wire_rail_of(const struct net *net, const uint8_t *frame);
/* Puts a copy of a frame under way to a node. */
void wire_fly(struct net *net, unsigned to, const uint8_t *bytes, size_t len, uint64_t at);
/* Moves the frames that have arrived by now into the rings. */
void wire_deliver(struct net *net);
/* Time in ns at which the next frame arrives, or GAMMA_NEVER. */
uint64_t wire_next(const struct net *net);
void wire_free(struct gamma_list *frames);

#endif /* GAMMA_TEST_PAIR_WIRE_H */
