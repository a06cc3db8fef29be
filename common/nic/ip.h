/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An IP address of either version, by which hosts are named. GAMMA's frames have none. */
#ifndef GAMMA_NIC_IP_H
#define GAMMA_NIC_IP_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

enum { GAMMA_IP_TEXT_LEN = 64 }; /* bytes: IPv6 with the name of an interface, and a final 0 */

struct gamma_ip {
	uint8_t bytes[16]; /* network order; the first len */
	uint8_t len;       /* 4 or 16 */
	uint32_t scope;    /* link-local: ifindex; else 0 */
};

struct gamma_ip_text {
	char text[GAMMA_IP_TEXT_LEN];
};

/* AF_INET or AF_INET6. */
int gamma_ip_family(const struct gamma_ip *ip);
/* "192.0.2.1", "2001:db8::1" or "fe80::1%eth0"; false: the text is no address, or its interface is
 * none of this host. */
bool gamma_ip_parse(const char *text, struct gamma_ip *ip);
struct gamma_ip_text gamma_ip_format(const struct gamma_ip *ip);
/* From a sockaddr_in or sockaddr_in6; false: another kind. */
bool gamma_ip_from_sockaddr(const struct sockaddr *address, struct gamma_ip *ip);
bool gamma_ip_is_loopback(const struct gamma_ip *ip);
/* Neither "any", nor multicast or broadcast. */
bool gamma_ip_is_host(const struct gamma_ip *ip);
/* An address that means something only with an interface, and has none. */
bool gamma_ip_lacks_scope(const struct gamma_ip *ip);

#endif /* GAMMA_NIC_IP_H */
