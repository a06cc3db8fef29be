/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bits of explicit congestion notification (ECN), as control messages of a UDP socket. */
#ifndef GAMMA_LINK_IP_MARKS_H
#define GAMMA_LINK_IP_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { GAMMA_IP_MARKS_SPACE = CMSG_SPACE(sizeof(int)) }; /* bytes of a control message with them */

/* Arriving datagrams are to have them. */
void gamma_ip_marks_ask(int fd, bool ipv6);
/* Writes the control message that makes routers mark a datagram; returns its bytes. */
size_t gamma_ip_marks_put(void *control, bool ipv6);
/* enum gamma_ecn_mark of what was received. */
uint8_t gamma_ip_marks_get(struct msghdr *msg);

#endif /* GAMMA_LINK_IP_MARKS_H */
