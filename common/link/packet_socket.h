/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How an endpoint's packet socket is made: the kernel's filter and the receive ring's measures.
 * packet.c does it for its own process, gammad for others.
 */
#ifndef GAMMA_LINK_PACKET_SOCKET_H
#define GAMMA_LINK_PACKET_SOCKET_H

#include <linux/if_packet.h>

#include "link/link.h"

/* Whether this process may open packet sockets: 0 or a negative errno, -EPERM: no CAP_NET_RAW. */
int gamma_packet_socket_try(void);
/* Whose frames pass: those that attr says. For good, nobody can take the filter off again. */
int gamma_packet_socket_set_filter(int fd, const struct gamma_packet_attr *attr);
/* Measures of a ring of about that many bytes, for frames of that MTU. */
void gamma_packet_socket_plan_ring(uint32_t mtu, size_t ring_bytes, struct tpacket_req *req);
/* Gives the socket its ring, of that plan. */
int gamma_packet_socket_set_ring(int fd, struct tpacket_req *req);
/* A send buffer large enough for a burst, as far as the process may. */
void gamma_packet_socket_set_send_buffer(int fd);

#endif /* GAMMA_LINK_PACKET_SOCKET_H */
