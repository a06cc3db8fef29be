/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* EtherTypes that are another protocol's: frames of that number would reach its programs. */
#ifndef GAMMA_WIRE_ETHERTYPE_H
#define GAMMA_WIRE_ETHERTYPE_H

#include <stdint.h>

/* The protocol's name, or NULL: the number is free for use, as far as is known. Source: IANA's list
 * of IEEE 802 numbers. */
const char *gamma_ethertype_owner(uint16_t ethertype);

#endif /* GAMMA_WIRE_ETHERTYPE_H */
