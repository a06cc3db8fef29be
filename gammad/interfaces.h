/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interfaces that gammad makes, changes and removes in the kernel, by rtnetlink. */
#ifndef GAMMAD_INTERFACES_H
#define GAMMAD_INTERFACES_H

#include <stdint.h>

#include "nic/rtnetlink.h"

/* Begins a request to make an interface; attributes may follow. */
struct nlmsghdr *gammad_interfaces_begin(struct gamma_rtnetlink_request *request);
/* Sends it. Returns 0 or the kernel's error as a negative errno. */
int gammad_interfaces_make(struct gamma_rtnetlink_request *request);
/* mtu: bytes; 0: as it is. Returns as above. */
int gammad_interfaces_set_up(int ifindex, uint32_t mtu);
/* Returns as above; 0 also if there is none. */
int gammad_interfaces_remove(int ifindex);

#endif /* GAMMAD_INTERFACES_H */
