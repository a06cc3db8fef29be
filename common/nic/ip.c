// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* IP addresses as bytes, text and socket addresses. */
#include "nic/ip.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int gamma_ip_family(const struct gamma_ip *ip)
{
	return ip->len == 4 ? AF_INET : AF_INET6;
}

static bool is_link_local(const struct gamma_ip *ip)
{
	return ip->len == 16 && ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

bool gamma_ip_parse(const char *text, struct gamma_ip *ip)
{
	const char *percent = strchr(text, '%');
	char address[INET6_ADDRSTRLEN];
	size_t len = percent ? (size_t) (percent - text) : strlen(text);

	memset(ip, 0, sizeof(*ip));
	if (len >= sizeof(address))
		return false;
	memcpy(address, text, len);
	address[len] = 0;
	if (inet_pton(AF_INET, address, ip->bytes) == 1)
		ip->len = 4;
	else if (inet_pton(AF_INET6, address, ip->bytes) == 1)
		ip->len = 16;
	if (percent)
		ip->scope = if_nametoindex(percent + 1);
	return ip->len && (!percent || (ip->scope && is_link_local(ip)));
}

struct gamma_ip_text gamma_ip_format(const struct gamma_ip *ip)
{
	char address[INET6_ADDRSTRLEN] = "?", name[IF_NAMESIZE];
	struct gamma_ip_text out;

	inet_ntop(gamma_ip_family(ip), ip->bytes, address, sizeof(address));
	if (ip->scope && if_indextoname(ip->scope, name))
		snprintf(out.text, sizeof(out.text), "%s%%%s", address, name);
	else
		snprintf(out.text, sizeof(out.text), "%s", address);
	return out;
}

bool gamma_ip_from_sockaddr(const struct sockaddr *address, struct gamma_ip *ip)
{
	memset(ip, 0, sizeof(*ip));
	if (address->sa_family == AF_INET) {
		ip->len = 4;
		memcpy(ip->bytes, &((const struct sockaddr_in *) address)->sin_addr, 4);
	} else if (address->sa_family == AF_INET6) {
		ip->len = 16;
		memcpy(ip->bytes, &((const struct sockaddr_in6 *) address)->sin6_addr, 16);
		ip->scope = ((const struct sockaddr_in6 *) address)->sin6_scope_id;
	}
	return ip->len;
}

bool gamma_ip_is_loopback(const struct gamma_ip *ip)
{
	static const uint8_t loopback[16] = {[15] = 1};

	return ip->len == 4 ? ip->bytes[0] == 127 : !memcmp(ip->bytes, loopback, sizeof(loopback));
}

bool gamma_ip_is_host(const struct gamma_ip *ip)
{
	static const uint8_t any[16];

	if (ip->len == 4)
		return ip->bytes[0] && ip->bytes[0] < 0xe0;
	return ip->bytes[0] != 0xff && memcmp(ip->bytes, any, sizeof(any));
}

bool gamma_ip_lacks_scope(const struct gamma_ip *ip)
{
	return is_link_local(ip) && !ip->scope;
}
