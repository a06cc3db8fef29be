/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the text that a user gives (node and service) to MAC, port and local NIC. Called by the
 * interface layer for each address given as text.
 */
#ifndef GAMMA_NIC_RESOLVE_H
#define GAMMA_NIC_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "nic/ip.h"
#include "nic/nic.h"

enum {
	GAMMA_NODE_MAX = 255, /* bytes of a node's text */
	/* Two questions: the kernel sends one a second. */
	GAMMA_ARP_TIMEOUT_MS = 1500,
};

struct gamma_resolved {
	uint8_t mac[GAMMA_MAC_LEN];  /* zero for node NULL */
	uint16_t port;               /* host order; 0: none named */
	const struct gamma_nic *nic; /* local NIC that owns or reaches the MAC; NULL: any */
};

/*
 * node is the first of these that fits: a MAC, an interface of this host, a host in conf, an IPv4
 * or IPv6 address (fe80::1%eth0 if it is link-local), a host name that the system resolves. An
 * address in 127.0.0.0/8, or ::1 (localhost, on many systems the own host name) means this host's
 * default NIC. A source must be a local NIC; a source of NULL leaves the NIC open. A MAC that a
 * local NIC owns gives that NIC; any other MAC gives no NIC. service: NULL, or a port in decimal, 1
 * to 65535.
 *
 * Returns 0, or a negative errno with the cause and its cure in one line in why. -EMULTIHOP: the
 * node is behind a router, which raw frames do not cross. -EAFNOSUPPORT:
 * over UDP, the node's address is of the IP version that the NIC to it is not used with.
 */
int gamma_resolve(const char *node, const char *service, bool source, const struct gamma_conf *conf,
		  const struct gamma_nic *nics, size_t nic_count, struct gamma_resolved *out,
		  char *why, size_t why_len);

/* Calls to the system, which tests replace. */
struct gamma_resolve_ops {
	/* gamma_arp_nd_find_owner */
	int (*owner)(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN], int *ifindex);
	/* gamma_arp_nd_resolve */
	int (*arp_nd)(const struct gamma_ip *ip, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN],
		      int *ifindex);
	/* Fills at most room addresses of a host name, IPv4 first; returns how many or a negative
	 * errno. */
	int (*lookup)(const char *name, struct gamma_ip *ips, int room);
};

int gamma_resolve_with(const struct gamma_resolve_ops *ops, const char *node, const char *service,
		       bool source, const struct gamma_conf *conf, const struct gamma_nic *nics,
		       size_t nic_count, struct gamma_resolved *out, char *why, size_t why_len);

#endif /* GAMMA_NIC_RESOLVE_H */
