/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The IPv6 addresses behind pseudo MAC addresses (wire/pseudo_mac.h): one table for the process.
 * Each address that may be sent to is held in the table: the NICs that were listed, the entries of
 * address vectors, flows. Two addresses with the same pseudo MAC address cannot be in it together.
 * Any thread may call.
 */
#ifndef GAMMA_BASE_IPV6_NAMES_H
#define GAMMA_BASE_IPV6_NAMES_H

#include <stdbool.h>

#include "wire/address.h"

/* Makes the pseudo MAC address and holds it, until it is dropped as often. -EEXIST: another address
 * has it, which is reported in one line. -ENOMEM. */
int gamma_ipv6_names_hold(const uint8_t ipv6[GAMMA_IPV6_LEN], uint8_t mac[GAMMA_MAC_LEN]);
void gamma_ipv6_names_drop(const uint8_t mac[GAMMA_MAC_LEN]);
/* False: nothing holds that pseudo MAC address. */
bool gamma_ipv6_names_find(const uint8_t mac[GAMMA_MAC_LEN], uint8_t ipv6[GAMMA_IPV6_LEN]);
/* Changes whenever an address is added. */
uint32_t gamma_ipv6_names_generation(void);

/* Between the two forms of an address of version 3; other versions have one form. hold: that of a
 * process, whose pseudo MAC address is held. show: that between processes. */
int gamma_ipv6_names_hold_addr(struct gamma_addr *addr);
void gamma_ipv6_names_drop_addr(const struct gamma_addr *addr);
void gamma_ipv6_names_show_addr(struct gamma_addr *addr);

#endif /* GAMMA_BASE_IPV6_NAMES_H */
