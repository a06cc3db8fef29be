/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Setting up an endpoint's packet socket: the kernel's filter, the receive ring, the send buffer.
 * packet.c does this for its own process, gammad for others.
 */
#ifndef GAMMA_LINK_PACKET_SOCKET_H
#define GAMMA_LINK_PACKET_SOCKET_H

#include <linux/if_packet.h>

#include "link/packet.h"

/* Whether this process may open packet sockets: 0 or a negative errno; -EPERM: it lacks
 * CAP_NET_RAW. */
int gamma_packet_socket_try(void);
/* Attaches a filter that passes attr's frames only, and locks it. */
int gamma_packet_socket_set_filter(int fd, const struct gamma_packet_attr *attr);
/* Plans a ring of about ring_bytes bytes for frames of that MTU. */
void gamma_packet_socket_plan_ring(uint32_t mtu, size_t ring_bytes, struct tpacket_req *req);
/* Gives the socket a ring of that plan. */
int gamma_packet_socket_set_ring(int fd, struct tpacket_req *req);
/* From now on the kernel refuses bind(), which needs no privilege and is no socket option: another
 * interface or protocol could make the socket read what every other one gets, at every other one's
 * cost. 0 or -1 with errno. */
int gamma_packet_socket_fix_binding(int fd);
/* Sets a send buffer that is large enough for a burst, as far as the process may. */
void gamma_packet_socket_set_send_buffer(int fd);

#endif /* GAMMA_LINK_PACKET_SOCKET_H */
