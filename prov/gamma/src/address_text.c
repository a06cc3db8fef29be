// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Addresses as text: fi_addr_gamma://MAC:PORT/EPOCH, over IPv6 fi_addr_gamma://[IPV6]:PORT/EPOCH,
 * or without the epoch where it is unknown.
 * fi_av_straddr writes it, and where libfabric takes a node it may stand for node and service.
 */
#include "gamma.h"
#include "base/mac.h"
#include "wire/pseudo_mac.h"

#include <arpa/inet.h>

#define PREFIX "fi_addr_gamma://"

int gamma_address_text_write(const struct gamma_addr *addr, char *buf, size_t len)
{
	char host[INET6_ADDRSTRLEN + 2], ipv6_text[INET6_ADDRSTRLEN], epoch[16] = "";
	uint8_t ipv6[GAMMA_IPV6_LEN];

	if (addr->epoch != GAMMA_EPOCH_ANY)
		snprintf(epoch, sizeof(epoch), "/%08x", ntohl(addr->epoch));
	gamma_mac_format(addr->mac, host);
	if (addr->version == GAMMA_ADDR_VERSION_UDP6) {
		gamma_addr_ipv6(addr, ipv6);
		inet_ntop(AF_INET6, ipv6, ipv6_text, sizeof(ipv6_text));
		snprintf(host, sizeof(host), "[%s]", ipv6_text);
	}
	return snprintf(buf, len, PREFIX "%s:%u%s", host, ntohs(addr->port), epoch);
}

bool gamma_address_text_matches(const char *node)
{
	return node && !strncmp(node, PREFIX, strlen(PREFIX));
}

/* The text before the port; returns its length, 0: it is no address. */
static int read_host(const char *text, struct gamma_addr *addr)
{
	char ipv6_text[INET6_ADDRSTRLEN], mac[GAMMA_MAC_TEXT_LEN];
	uint8_t ipv6[GAMMA_IPV6_LEN];
	int len = 0;

	if (sscanf(text, "[%45[0-9a-fA-F:.]]%n", ipv6_text, &len) == 1 && len) {
		addr->version = GAMMA_ADDR_VERSION_UDP6;
		if (inet_pton(AF_INET6, ipv6_text, ipv6) != 1)
			return 0;
		gamma_addr_set_ipv6(addr, ipv6);
		return len;
	}
	if (sscanf(text, "%17[0-9a-fA-F:]%n", mac, &len) != 1 || !gamma_mac_parse(mac, addr->mac))
		return 0;
	addr->version =
		gamma_pseudo_mac_ipv4(addr->mac) ? GAMMA_ADDR_VERSION_UDP : GAMMA_ADDR_VERSION;
	return len;
}

bool gamma_address_text_read(const char *text, struct gamma_addr *addr)
{
	unsigned int port = 0, epoch = 0;
	int len = 0;

	memset(addr, 0, sizeof(*addr));
	if (!gamma_address_text_matches(text))
		return false;
	text += strlen(PREFIX);
	len = read_host(text, addr);
	text += len;
	if (!len || sscanf(text, ":%5u%n", &port, &len) != 1)
		return false;
	text += len;
	len = 0;
	if (*text == '/' && sscanf(text, "/%8x%n", &epoch, &len) == 1)
		text += len;
	if (*text || !port || port > UINT16_MAX)
		return false;
	addr->port = htons((uint16_t) port);
	addr->epoch = htonl(epoch);
	return true;
}
