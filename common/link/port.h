/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ports. A port of a NIC belongs to the one process of the network namespace that has bound the
 * abstract AF_UNIX name of MAC and port. The kernel frees the name when that process ends.
 */
#ifndef GAMMA_LINK_PORT_H
#define GAMMA_LINK_PORT_H

#include <stdint.h>
#include <sys/types.h>

#include "wire/address.h"

struct sockaddr_un;

/* Claims a port (0: a random free one). Returns its socket, or a negative errno; -EADDRINUSE:
 * another process owns the port. */
int gamma_port_claim(const uint8_t mac[GAMMA_MAC_LEN], uint16_t *port);
/* Claims count consecutive ports, the first at *port (0: a random free range). Returns 0, or a
 * negative errno as above. */
int gamma_port_claim_range(const uint8_t mac[GAMMA_MAC_LEN], uint16_t *port, unsigned count,
			   int *fds);
/* The user whose socket has the port's name in this network namespace. 0, or a negative errno:
 * nobody has, or the kernel does not say who. */
int gamma_port_owner(const uint8_t mac[GAMMA_MAC_LEN], uint16_t port, uid_t *uid);
/* The MAC in the names of gammad's own sockets: the NIC's, or, if endpoints have that themselves,
 * one that no NIC has. */
void gamma_port_gammad_mac(const uint8_t nic[GAMMA_MAC_LEN], const uint8_t endpoint[GAMMA_MAC_LEN],
			   uint8_t mac[GAMMA_MAC_LEN]);
/* Writes the port's socket name and returns its length in bytes. */
unsigned gamma_port_name(const uint8_t mac[GAMMA_MAC_LEN], uint16_t port, struct sockaddr_un *name);

#endif /* GAMMA_LINK_PORT_H */
