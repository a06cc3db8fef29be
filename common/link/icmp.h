/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The meaning of an ICMP error for the protocol, without I/O. A host without a process on the port
 * that a datagram went to answers by ICMP port unreachable, which quotes the datagram. It could as
 * well answer by RESET or, to a question, by LOOKUP NO_PORT: this frame is made here. So an ICMP
 * error counts as much as such a frame from the network, which anybody may have forged: it ends a
 * flow only if it quotes a number that was drawn at random, else the peer is asked by a PROBE.
 */
#ifndef GAMMA_LINK_ICMP_H
#define GAMMA_LINK_ICMP_H

#include "wire/frame.h"

enum { GAMMA_ICMP_ANSWER = GAMMA_ETH_LEN + GAMMA_HEADER_LEN }; /* bytes of the frame */

/* Makes the frame that stands for the error, from the first `len` bytes of the datagram that it
 * quotes, which this side (own) has sent to that peer. False: it says nothing. */
bool gamma_icmp_answer(const uint8_t *quoted, size_t len, const uint8_t own[GAMMA_MAC_LEN],
		       const uint8_t peer[GAMMA_MAC_LEN], uint8_t frame[GAMMA_ICMP_ANSWER]);

#endif /* GAMMA_LINK_ICMP_H */
