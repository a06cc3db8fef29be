/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sockets of a UDP link: their addresses, options and buffers. udp.c sends and receives by
 * them.
 */
#ifndef GAMMA_LINK_UDP_SOCKET_H
#define GAMMA_LINK_UDP_SOCKET_H

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "link/udp.h"

union gamma_udp_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
	       "the port of either address is that of v4");

/* The address of that IP address, without its port; returns its length. */
static inline socklen_t gamma_udp_socket_address(const struct gamma_udp_attr *attr,
						 const uint8_t *ip, union gamma_udp_address *to)
{
	if (!attr->ipv6) {
		to->v4 = (struct sockaddr_in){.sin_family = AF_INET};
		memcpy(&to->v4.sin_addr, ip, sizeof(to->v4.sin_addr));
		return sizeof(to->v4);
	}
	to->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
	memcpy(&to->v6.sin6_addr, ip, sizeof(to->v6.sin6_addr));
	if (IN6_IS_ADDR_LINKLOCAL(&to->v6.sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&to->v6.sin6_addr))
		to->v6.sin6_scope_id = (uint32_t) attr->ifindex;
	return sizeof(to->v6);
}

/* The same of a group's MAC address. */
socklen_t gamma_udp_socket_group(const struct gamma_udp_attr *attr,
				 const uint8_t mac[GAMMA_MAC_LEN], union gamma_udp_address *to);

/* Opens the socket for all peers, or, unless that is NULL, for a group, whose port other sockets of
 * this host may have, too, if it is shared; slots: the frames that its receive buffer has room for.
 * The descriptor or a negative errno. */
int gamma_udp_socket_open(const struct gamma_udp_attr *attr, const uint8_t *group, bool shared,
			  uint32_t *slots);
/* Opens a second socket with the address and port of `first`, which can be connected to a peer.
 * Each has room for all that the peers may send. The descriptor or -1: a link works without it. */
int gamma_udp_socket_open_connected(const struct gamma_udp_attr *attr, int first);
/* Datagrams leave by attr's NIC, though another one may be on the same network. 0 or -1 with
 * errno. */
int gamma_udp_socket_stay_on_nic(const struct gamma_udp_attr *attr, int fd);
/* Is attr's address still one of this host? */
bool gamma_udp_socket_has_address(const struct gamma_udp_attr *attr);

#endif /* GAMMA_LINK_UDP_SOCKET_H */
