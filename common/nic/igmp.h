/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports to switches that a host takes the frames of a group: IGMP, which snooping switches read.
 */
#ifndef GAMMA_NIC_IGMP_H
#define GAMMA_NIC_IGMP_H

#include "wire/address.h"

/* The kernel reports the IP group of a MAC address 01:00:5e:... on that NIC, which needs an IPv4
 * address, and answers queries, as long as the descriptor is open. Returns it or a negative errno.
 */
int gamma_igmp_join(int ifindex, const uint8_t mac[GAMMA_MAC_LEN]);

#endif /* GAMMA_NIC_IGMP_H */
