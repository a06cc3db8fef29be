// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* MAC addresses as text and back; independent of the locale. */
#include "base/mac.h"

#include <stdio.h>
#include <string.h>

int gamma_mac_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool gamma_mac_parse(const char *text, uint8_t mac[GAMMA_MAC_LEN])
{
	uint8_t bytes[GAMMA_MAC_LEN];
	char joint = 0;

	for (int i = 0; i < GAMMA_MAC_LEN; i++) {
		int high = gamma_mac_hex_digit(text[0]);
		int low = high < 0 ? -1 : gamma_mac_hex_digit(text[1]);

		if (low < 0)
			return false;
		bytes[i] = high << 4 | low;
		text += 2;
		if (i == GAMMA_MAC_LEN - 1)
			break;
		if (*text != ':' && *text != '-')
			return false;
		if (joint && *text != joint)
			return false;
		joint = *text++;
	}
	if (*text)
		return false;
	memcpy(mac, bytes, GAMMA_MAC_LEN);
	return true;
}

const char *gamma_mac_format(const uint8_t mac[GAMMA_MAC_LEN], char text[GAMMA_MAC_TEXT_LEN])
{
	snprintf(text, GAMMA_MAC_TEXT_LEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return text;
}

bool gamma_mac_is_unicast(const uint8_t mac[GAMMA_MAC_LEN])
{
	static const uint8_t zero[GAMMA_MAC_LEN];

	return !(mac[0] & 1) && memcmp(mac, zero, GAMMA_MAC_LEN);
}
