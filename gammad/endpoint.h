/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint's record in a pinned BPF map, by the endpoint's handle (its socket's mark). The BPF
 * programs check frames against it, and gammad finds its endpoints there after a restart.
 */
#ifndef GAMMAD_ENDPOINT_H
#define GAMMAD_ENDPOINT_H

#include <linux/types.h>

#define GAMMAD_ENDPOINTS_MAX 16384 /* a power of two */

/* Handles are socket marks of this range. None is used twice while the host is up. The map
 * index is the handle's remainder by GAMMAD_ENDPOINTS_MAX, which is unique among handles in
 * use. */
#define GAMMAD_HANDLE_FIRST 0x40000000u
#define GAMMAD_HANDLE_LAST  0x7fffffffu
/* Not an endpoint's: only the security module refuses it. gammad sets it to test whether the
 * module runs. */
#define GAMMAD_HANDLE_TEST  0x3fffffffu

struct gammad_endpoint {
	/* Fields that the endpoint's frames must have; network order, as in the frames. */
	__u8 mac[6];
	__u16 ethertype;
	__u32 tenant;
	__u16 port;
	__u16 revoked; /* 1: the endpoint may not send any more */
	__u32 handle;  /* 0: this entry is free */
	/* For gammad only. */
	__u32 epoch;       /* host order */
	__u32 nic_ifindex; /* of the NIC, in the host's network namespace */
	__u32 slot;        /* number of its slot, from 0 */
	__u32 pid;         /* of the process that asked for it; 0: unknown */
	/* For the check as well. */
	__u32 slot_ifindex; /* of its slot, in gammad's namespace; 0: an older gammad opened it */
	__u64 inode; /* of the socket: /proc/net/packet lists it while any process has it open */
};

/* Where endpoints have the NIC's own MAC: a frame for a port gets its slot's at the NIC's entrance,
 * so that the kernel delivers it there, and at the slot's the NIC's again. */
struct gammad_translation_key {
	__u32 ifindex;
	__u16 port;    /* network order */
	__u16 at_slot; /* 0: ifindex is that of a NIC, in the host's namespace; 1: of a slot */
};

struct gammad_translation {
	__u8 mac[6]; /* that the frame gets */
	__u16 reserved;
};

/* Constants that gammad sets in the programs when it loads them. */
struct gammad_constants {
	__u32 namespace; /* inode of gammad's network namespace, in which only gammad makes sockets
			  */
	__u16 ethertype; /* network order */
	__u16 reserved;
};

/* A multicast group that an endpoint may send to. */
#define GAMMAD_MEMBERS_MAX 65536

struct gammad_member_key {
	__u32 handle; /* the endpoint's handle */
	__u8 mac[6];
	__u16 port; /* network order, as in frames */
};

struct gammad_member {
	__u32 ifindex; /* interface on which this host's members listen */
	__u32 left;    /* 1: it may not send any more, but its socket is still open */
	__u64 inode;   /* of the group's socket; 0: the endpoint only sends */
};

/* The interface to which multicast frames of a user are led. Its value is an ifindex. */
#define GAMMAD_GROUP_USERS_MAX 16384

struct gammad_group_user_key {
	__u32 ifindex; /* of the NIC's interface for groups */
	__u32 tenant;  /* network order, as in frames */
};

/* One element: counters that survive a restart of gammad. */
struct gammad_counts {
	__u32 next_handle; /* 0: start with GAMMAD_HANDLE_FIRST */
	__u32 reserved;
	__u64 opened; /* endpoints opened so far */
};

/* A LOOKUP request to a slot, on its way to gammad. */
#define GAMMAD_KIND_LOOKUP   9
#define GAMMAD_OP_ASK        0
#define GAMMAD_LOOKUPS_BYTES 65536

struct gammad_lookup_frame {
	__u32 len; /* bytes of the frame */
	__u8 frame[128];
};

#endif /* GAMMAD_ENDPOINT_H */
