/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ports of programs that use a NIC without gammad, in the host's network namespace. */
#ifndef GAMMAD_PORTS_H
#define GAMMAD_PORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "unix/name_owner.h"
#include "wire/address.h"

struct gammad_ports {
	struct gamma_name_owner names;
	int packets_fd; /* the kernel's list of packet sockets there */
	bool asks;      /* the kernel says whose a name is */
};

/* In the host's namespace. 0 or a negative errno. */
int gammad_ports_open(struct gammad_ports *ports);
void gammad_ports_close(struct gammad_ports *ports);
/* Whether such a program owns the port (host order). ifindex: the NIC's. */
bool gammad_ports_are_owned(const struct gammad_ports *ports, const uint8_t mac[GAMMA_MAC_LEN],
			    uint16_t port, int ifindex, uint16_t ethertype);
/* Whether a text like /proc/net/packet has a socket of that user on that NIC. */
bool gammad_ports_has_socket(FILE *file, unsigned uid, int ifindex, uint16_t ethertype);

#endif /* GAMMAD_PORTS_H */
