/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The NICs of this network namespace: what each is, whether GAMMA can use it and, if not,
 * why, and which is the default. Read afresh from the kernel by whoever lists domains or
 * resolves a name; nic.c reads, nic_choice.c judges an array of them without any system call.
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
	uint8_t mac[GAMMA_MAC_LEN]; /* zero if it has none of six bytes */
	uint32_t mtu;               /* bytes after the Ethernet header */
	uint64_t speed;             /* bits/s; 0: the driver does not say */
	bool up;                    /* set up by the administrator */
	bool carrier;               /* the cable, or what stands for it, is connected */
	char pci[16];               /* "0000:3b:00.0", "" if not on PCI */
	char driver[32];            /* "" if it does not say */
	const char *reason;         /* why it cannot be used, to follow its name; NULL: usable */

	/* What reason is judged from. */
	bool loopback;
	bool ethernet; /* frames begin with an Ethernet header */
	bool wireless;
	bool has_device;      /* hardware, real or emulated, is behind it */
	bool lower_elsewhere; /* lower is in another network namespace */
	char kind[16];        /* of virtual device ("veth", "vlan"), "" for hardware */
	int master;           /* ifindex of the bridge, bond, VRF, ... it belongs to; 0: none */
	int lower;            /* ifindex of the NIC it is stacked on (VLAN), 0: none */

	/* Why it takes in other hosts' frames: so many capture, or it has too few address filters.
	 */
	uint32_t promiscuity;
};

/*
 * Lists them all, in the kernel's order; those that cannot be used are logged at info
 * level with the reason. Free *nics with gamma_nic_list_free. Returns 0 or a negative errno.
 */
int gamma_nic_list(struct gamma_nic **nics, size_t *count);
void gamma_nic_list_free(struct gamma_nic *nics);

#endif /* GAMMA_NIC_H */
