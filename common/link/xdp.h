/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The link over an AF_XDP socket. */
#ifndef GAMMA_LINK_XDP_H
#define GAMMA_LINK_XDP_H

#include "link/packet.h"

/* A page, less the room that the kernel keeps before and after a frame. */
enum { GAMMA_XDP_MTU_MAX = 3506 }; /* bytes */

/* As gamma_packet_open. A refusal is logged with its cause, as a warning if insist is set. */
int gamma_xdp_open(const struct gamma_packet_attr *attr, bool insist, struct gamma_stats *stats,
		   struct gamma_link **link);

#endif /* GAMMA_LINK_XDP_H */
