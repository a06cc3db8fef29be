// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Addresses as text: fi_addr_gamma://MAC:PORT/EPOCH, or without the epoch where it is unknown.
 * fi_av_straddr writes it, and where libfabric takes a node it may stand for node and service.
 */
#include "gamma.h"
#include "base/mac.h"
#include "wire/pseudo_mac.h"

#include <arpa/inet.h>

#define PREFIX "fi_addr_gamma://"

int gamma_address_text_write(const struct gamma_addr *addr, char *buf, size_t len)
{
	char mac[GAMMA_MAC_TEXT_LEN], epoch[16] = "";

	if (addr->epoch != GAMMA_EPOCH_ANY)
		snprintf(epoch, sizeof(epoch), "/%08x", ntohl(addr->epoch));
	return snprintf(buf, len, PREFIX "%s:%u%s", gamma_mac_format(addr->mac, mac),
			ntohs(addr->port), epoch);
}

bool gamma_address_text_matches(const char *node)
{
	return node && !strncmp(node, PREFIX, strlen(PREFIX));
}

bool gamma_address_text_read(const char *text, struct gamma_addr *addr)
{
	unsigned int port = 0, epoch = 0;
	char mac[GAMMA_MAC_TEXT_LEN];
	int len = 0;

	memset(addr, 0, sizeof(*addr));
	if (sscanf(text, PREFIX "%17[0-9a-fA-F:]:%5u%n", mac, &port, &len) != 2)
		return false;
	text += len;
	len = 0;
	if (*text == '/' && sscanf(text, "/%8x%n", &epoch, &len) == 1)
		text += len;
	if (*text || !port || port > UINT16_MAX || !gamma_mac_parse(mac, addr->mac))
		return false;
	addr->port = htons((uint16_t) port);
	addr->epoch = htonl(epoch);
	addr->version =
		gamma_pseudo_mac_ipv4(addr->mac) ? GAMMA_ADDR_VERSION_UDP : GAMMA_ADDR_VERSION;
	return true;
}
