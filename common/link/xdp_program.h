/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The BPF program that an AF_XDP link attaches to its NIC. */
#ifndef GAMMA_LINK_XDP_PROGRAM_H
#define GAMMA_LINK_XDP_PROGRAM_H

#include "link/packet.h"

struct gamma_xdp_program {
	int map_fd;  /* maps a queue to the link's socket */
	int fd;      /* the program */
	int link_fd; /* keeps the program attached; ends with the process */
};

/* Directs frames that arrive on the queue for attr's port to the socket; all others continue to
 * the kernel's stack. Returns 0 or a negative errno; -EBUSY: the NIC has another program. */
int gamma_xdp_program_attach(struct gamma_xdp_program *program,
			     const struct gamma_packet_attr *attr, int socket, uint32_t queue);
void gamma_xdp_program_detach(struct gamma_xdp_program *program);

#endif /* GAMMA_LINK_XDP_PROGRAM_H */
