/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses, as processes exchange them, as text: fi_addr_gamma://MAC:PORT/EPOCH.
 */
#ifndef GAMMA_PROV_ADDRESS_TEXT_H
#define GAMMA_PROV_ADDRESS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include "wire/address.h"

/* As snprintf. */
int gamma_address_text_write(const struct gamma_addr *addr, char *buf, size_t len);
/* Whether a node name has that form; may be NULL. */
bool gamma_address_text_matches(const char *node);
bool gamma_address_text_read(const char *text, struct gamma_addr *addr);

#endif /* GAMMA_PROV_ADDRESS_TEXT_H */
