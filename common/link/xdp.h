/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links over AF_XDP: xdp.c, and the program on the NIC that hands frames to them: xdp_program.c.
 */
#ifndef GAMMA_LINK_XDP_H
#define GAMMA_LINK_XDP_H

#include "link/link.h"

/* A page less what the kernel keeps in front of a frame and behind it. */
enum { GAMMA_XDP_MTU_MAX = 3506 }; /* bytes */

/* As gamma_packet_open; a refusal is logged with its cause, as a warning if insist. */
int gamma_xdp_open(const struct gamma_packet_attr *attr, bool insist, struct gamma_stats *stats,
		   struct gamma_link **link);

/* ---- xdp_program.c ---- */
struct gamma_xdp_program {
	int map_fd;  /* queue to socket */
	int fd;      /* the program */
	int link_fd; /* keeps it on the NIC: it goes with the process */
};
/* Frames that come in on the queue for attr's port go to the socket, all others where they would
 * have gone. -EBUSY: there is another program. */
int gamma_xdp_program_attach(struct gamma_xdp_program *program,
			     const struct gamma_packet_attr *attr, int socket, uint32_t queue);
void gamma_xdp_program_detach(struct gamma_xdp_program *program);

#endif /* GAMMA_LINK_XDP_H */
