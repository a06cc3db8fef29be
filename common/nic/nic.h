/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The NICs of this network namespace: their properties, whether GAMMA can use them and, if not,
 * the reason. nic.c reads them from the kernel each time that domains are listed or a name is
 * resolved. select.c judges an array of them without any system call.
 */
#ifndef GAMMA_NIC_H
#define GAMMA_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unix/host.h"
#include "wire/address.h"

enum {
	GAMMA_NIC_NAME_LEN = 16, /* bytes with the final 0: the kernel's IFNAMSIZ */
	GAMMA_NIC_MTU_MIN = 576, /* bytes: room for the headers and a useful payload */
};

struct gamma_nic {
	char name[GAMMA_NIC_NAME_LEN];
	int ifindex;
	uint32_t mtu;               /* bytes after the Ethernet header */
	uint64_t speed;             /* bits/s; 0: the driver does not say */
	uint8_t mac[GAMMA_MAC_LEN]; /* zero if it has none of six bytes */
	bool up;                    /* set up by the administrator */
	bool carrier;               /* the link is up */
	char pci[16];               /* "0000:3b:00.0", "" if not on PCI */
	char driver[32];            /* "" if unknown */
	const char *reason; /* why it cannot be used, printed after its name; NULL: usable */
	bool udp;           /* of a list for UDP: nic/udp.h */
	bool ipv6;          /* ditto, and its address there is an IPv6 address */
	uint8_t prefix;     /* bits of the address that name the subnet, of such a list */
	bool has_udp;       /* of a list for raw Ethernet and UDP together: nic/udp.h */
	uint8_t udp_mac[GAMMA_MAC_LEN]; /* ditto: the pseudo MAC address of its IPv4 address */

	/* Input for reason. */
	bool loopback;
	bool ethernet; /* frames begin with an Ethernet header */
	bool wireless;
	bool has_device;      /* it has a device, real or emulated */
	bool lower_elsewhere; /* lower is in another network namespace */
	char kind[16];        /* of virtual device ("veth", "vlan"), "" for hardware */
	int master;           /* ifindex of the bridge, bond, VRF, ... it belongs to; 0: none */
	int lower;            /* ifindex of the NIC it is stacked on (VLAN), 0: none */

	/* Reasons to receive other hosts' frames: captures, or too few address filters. */
	uint32_t promiscuity;
};

/*
 * Lists all NICs in the kernel's order. Unusable ones are logged at info level with the reason.
 * Free *nics with gamma_nic_list_free. Returns 0 or a negative errno.
 */
int gamma_nic_list(struct gamma_nic **nics, size_t *count);
void gamma_nic_list_free(struct gamma_nic *nics);

#endif /* GAMMA_NIC_H */
