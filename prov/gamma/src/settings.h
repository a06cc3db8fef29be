/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The FI_GAMMA_* variables, which init.c reads once.
 */
#ifndef GAMMA_PROV_SETTINGS_H
#define GAMMA_PROV_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words of FI_GAMMA_LINK, in their order. */
enum gamma_link_setting {
	GAMMA_LINK_SETTING_ANY, /* packet sockets if the process may have them, and UDP beside them
				 * for long messages where it can be; else UDP alone */
	GAMMA_LINK_SETTING_PACKET, /* packet sockets, its own or gammad's */
	GAMMA_LINK_SETTING_XDP,
	GAMMA_LINK_SETTING_AUTO, /* AF_XDP where it can be had, else as with ANY */
	GAMMA_LINK_SETTING_UDP,  /* over IPv4 where the NIC has an IPv4 address, else over IPv6 */
	GAMMA_LINK_SETTING_UDP6,
	GAMMA_LINK_SETTING_RAW_UDP, /* packet sockets, and UDP beside them, or fail */
};

/* The words of FI_GAMMA_MULTICAST, in their order: whether collective operations use it. */
enum gamma_multicast_setting {
	GAMMA_MULTICAST_AUTO, /* as 1, but it is no warning that UDP has none */
	GAMMA_MULTICAST_0,
	GAMMA_MULTICAST_1,
	GAMMA_MULTICAST_NO,
	GAMMA_MULTICAST_YES,
};

/* The words of FI_GAMMA_GROUP_MAC, in their order. */
enum gamma_group_mac_setting {
	GAMMA_GROUP_MAC_OWN, /* 03:47:4d:... */
	GAMMA_GROUP_MAC_IP,  /* 01:00:5e:..., reported to switches by IGMP */
};

struct gamma_settings {
	char *iface;              /* FI_GAMMA_IFACE: NICs to use, or NULL: choose */
	char *conf_path;          /* FI_GAMMA_CONF: gamma.conf, or NULL: /etc/gamma.conf */
	char *fabric_name;        /* FI_GAMMA_FABRIC: "gamma" unless set */
	char *stats;              /* FI_GAMMA_STATS: "stderr", a file to append to, or NULL: none */
	char *broker;             /* FI_GAMMA_BROKER: path of gammad's socket */
	uint16_t ethertype;       /* FI_GAMMA_ETHERTYPE: 0x88B5 unless set */
	bool automatic;           /* FI_GAMMA_AUTO: answer queries that name no provider */
	unsigned multicast;       /* FI_GAMMA_MULTICAST: enum gamma_multicast_setting */
	unsigned group_mac;       /* FI_GAMMA_GROUP_MAC: enum gamma_group_mac_setting */
	bool payload_crc;         /* FI_GAMMA_PAYLOAD_CRC: checksums over payloads too */
	unsigned link;            /* FI_GAMMA_LINK: enum gamma_link_setting */
	size_t ring_size;         /* FI_GAMMA_RING_SIZE: bytes of an endpoint's receive ring */
	size_t inject_size;       /* FI_GAMMA_INJECT_SIZE: bytes copied and sent at once */
	size_t eager_size;        /* FI_GAMMA_EAGER_SIZE: bytes sent before the peer has matched */
	size_t udp_eager_size;    /* the same over UDP, with a default of its own */
	uint64_t unexpected_size; /* FI_GAMMA_UNEXPECTED_SIZE: bytes of unexpected messages kept
				   */
	uint64_t peer_timeout; /* FI_GAMMA_PEER_TIMEOUT: ns without any answer until a peer is dead
				*/
	uint64_t join_timeout; /* FI_GAMMA_JOIN_TIMEOUT: ns that a collective group is waited for */
	uint64_t linger;       /* FI_GAMMA_LINGER: ns that a close waits for the last acks */
	uint64_t
		shm_size; /* FI_GAMMA_SHM_SIZE: bytes of shared memory for each shm peer; 0: none */
	uint64_t budget;  /* FI_GAMMA_BUDGET: bytes on their way to a NIC; 0: no bound */
};
extern struct gamma_settings gamma_settings;

/* Defines the variables. */
void gamma_settings_define(void);
/* Reads them. A bad value: -FI_EINVAL, and one line with cause and cure in error. */
int gamma_settings_load(char *error, size_t error_len);
void gamma_settings_free(void);

#endif /* GAMMA_PROV_SETTINGS_H */
