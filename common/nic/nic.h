/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The NICs of this network namespace: what each is, whether GAMMA can use it and, if not,
 * why, and which is the default. Read afresh from the kernel by whoever lists domains or
 * resolves a name; nic.c reads, nic_choice.c judges an array of them without any system call.
 */
#ifndef GAMMA_LINK_NIC_H
#define GAMMA_LINK_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unix/host.h"
#include "wire/address.h"

struct gamma_conf;

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

/* ---- choices among the NICs listed ---- */

/* Sets reason in each, from the other fields and those of the NICs above and below it. */
void gamma_nic_select_judge(struct gamma_nic *nics, size_t count);

const struct gamma_nic *gamma_nic_select_by_name(const struct gamma_nic *nics, size_t count,
						 const char *name);
const struct gamma_nic *gamma_nic_select_by_ifindex(const struct gamma_nic *nics, size_t count,
						    int ifindex);
/*
 * Several may share a MAC (a bond and its slaves, a NIC and its VLANs): the best of those
 * that can be used, else one that cannot, with the reason.
 */
const struct gamma_nic *gamma_nic_select_by_mac(const struct gamma_nic *nics, size_t count,
						const uint8_t mac[GAMMA_MAC_LEN]);

/*
 * Negative if a comes before b: the usable first, then the faster, then that of the larger
 * MTU, then by name in the order of bytes (eth10 before eth2).
 */
int gamma_nic_select_compare(const struct gamma_nic *a, const struct gamma_nic *b);

/*
 * The NIC to use where none is named: the usable one whose MAC conf lists, else the first by
 * gamma_nic_select_compare; NULL if none is usable. conf may be NULL. A NIC that conf lists but
 * that cannot be used is warned about.
 */
const struct gamma_nic *gamma_nic_select_default(const struct gamma_nic *nics, size_t count,
						 const struct gamma_conf *conf);

/* Where gamma_nic_select_default found none: one line that says why of each NIC worth naming. */
void gamma_nic_select_explain_none(const struct gamma_nic *nics, size_t count, char *why,
				   size_t why_len);

/* ---- nic_hint.c ---- */

/* A setting of that NIC that costs latency, with the cure, in one line. False: none is known. */
bool gamma_coalesce_hint(const char *name, char *text, size_t len);
struct ethtool_coalesce;
/* The same of settings that have been read. */
bool gamma_coalesce_hint_of(const char *name, const struct ethtool_coalesce *coalesce, char *text,
			    size_t len);

#endif /* GAMMA_LINK_NIC_H */
