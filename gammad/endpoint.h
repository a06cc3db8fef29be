/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What gammad keeps of each endpoint in a pinned BPF map, by the endpoint's handle (its socket's
 * mark). The BPF programs check frames by it, and gammad itself finds it again after a restart.
 */
#ifndef GAMMAD_ENDPOINT_H
#define GAMMAD_ENDPOINT_H

#include <linux/types.h>

#define GAMMAD_ENDPOINTS_MAX 16384 /* a power of two */

/* Handles are marks of this range, none of them given twice while the host is up. Two that are
 * in use at a time differ in their remainder by GAMMAD_ENDPOINTS_MAX, which is the place in the
 * map. */
#define GAMMAD_HANDLE_FIRST 0x40000000u
#define GAMMAD_HANDLE_LAST  0x7fffffffu
/* Not one of them: refused by the security module alone, to see whether it is asked. */
#define GAMMAD_HANDLE_TEST  0x3fffffffu

struct gammad_endpoint {
	/* What its frames must bear; in network order, as it stands in them. */
	__u8 mac[6];
	__u16 ethertype;
	__u32 tenant;
	__u16 port;
	__u16 revoked; /* 1: nothing may leave any more */
	__u32 handle;  /* 0: nobody's place */
	/* For gammad alone. */
	__u32 epoch;       /* host order */
	__u32 nic_ifindex; /* of the NIC, in the host's network namespace */
	__u32 slot;        /* its number there, from 0 */
	__u32 pid;         /* of who asked for it; 0: unknown */
	__u32 reserved;
	__u64 inode; /* of the socket: in /proc/net/packet as long as it is open anywhere */
};

/* A multicast group that an endpoint may send to. */
#define GAMMAD_MEMBERS_MAX 65536

struct gammad_member_key {
	__u32 handle; /* the endpoint's */
	__u8 mac[6];
	__u16 port; /* both as they stand in frames */
};

struct gammad_member {
	__u32 ifindex; /* where the members of this host listen */
	__u32 left;    /* 1: it may not send any more, but its socket is still open */
	__u64 inode;   /* of the group's socket; 0: it only sends */
};

/* One element: what outlives gammad beside the endpoints. */
struct gammad_counts {
	__u32 next_handle; /* 0: GAMMAD_HANDLE_FIRST */
	__u32 reserved;
	__u64 opened; /* endpoints so far */
};

/* A frame that asks a slot who owns a port, on its way to gammad. */
#define GAMMAD_KIND_LOOKUP   9
#define GAMMAD_OP_ASK        0
#define GAMMAD_LOOKUPS_BYTES 65536

struct gammad_lookup_frame {
	__u32 len; /* bytes of the frame */
	__u8 frame[128];
};

#endif /* GAMMAD_ENDPOINT_H */
