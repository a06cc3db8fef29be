/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * MAC addresses as text and back. Called by everything that reads or shows one:
 * the configuration file, name resolution, messages to the user.
 */
#ifndef GAMMA_CONF_MAC_H
#define GAMMA_CONF_MAC_H

#include "wire/address.h"

/* Bytes of "01:23:45:67:89:ab" with its end. */
#define GAMMA_MAC_TEXT_LEN 18

/* Six pairs of hex digits joined by ':' or by '-', nothing before or after. */
bool gamma_mac_parse(const char *text, uint8_t mac[GAMMA_MAC_LEN]);

/* Writes the colon form and returns text. */
const char *gamma_mac_format(const uint8_t mac[GAMMA_MAC_LEN], char text[GAMMA_MAC_TEXT_LEN]);

/* Whether one single NIC can own it: neither all zero nor a group address. */
bool gamma_mac_is_unicast(const uint8_t mac[GAMMA_MAC_LEN]);

/* The value of one hex digit, -1 for any other character. */
int gamma_mac_hex_digit(char c);

#endif /* GAMMA_CONF_MAC_H */
