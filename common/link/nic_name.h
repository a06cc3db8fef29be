/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The name of a link's NIC, by which it is found again when its driver was loaded anew: then it has
 * another index. Asked of a socket's network namespace. */
#ifndef GAMMA_LINK_NIC_NAME_H
#define GAMMA_LINK_NIC_NAME_H

#include <net/if.h>

#include "wire/address.h"

struct gamma_nic_name {
	char text[IF_NAMESIZE];     /* empty: unknown, and the NIC is never found again */
	uint8_t mac[GAMMA_MAC_LEN]; /* that it had then */
};

/* Notes name and address of the NIC with that index. */
void gamma_nic_name_note(int fd, int ifindex, struct gamma_nic_name *name);
/* The index of the NIC that has the name now, and the same address; 0: there is none. */
int gamma_nic_name_find(int fd, const struct gamma_nic_name *name);

#endif /* GAMMA_LINK_NIC_NAME_H */
