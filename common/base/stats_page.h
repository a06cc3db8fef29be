/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A page of memory in which an endpoint shows its counters to gamma-stat: written by
 * engine/stats_page.c, read by tools/stat.c. It is a memfd, found among the descriptors of the
 * process in /proc, so that owner and root alone can open it, and nothing of it is left when the
 * process has ended.
 */
#ifndef GAMMA_STATS_PAGE_H
#define GAMMA_STATS_PAGE_H

#include "base/histogram.h"
#include "base/stats.h"
#include "wire/address.h"

#define GAMMA_STATS_PAGE_NAME  "gamma-stat" /* of the memfd */
#define GAMMA_STATS_PAGE_MAGIC 0x736d6167u

enum {
	GAMMA_STATS_PAGE_VERSION = 4,
	GAMMA_STATS_PAGE_BYTES = 8192,
	GAMMA_STATS_PAGE_PEERS = 96, /* that are shown; an endpoint may have more */
	GAMMA_STATS_PAGE_RAILS = 4,
	GAMMA_STATS_PAGE_US = 50000, /* between two copies, while the program polls */
};

/* How frames reach the network, and a peer. */
enum gamma_stats_path {
	GAMMA_STATS_RAW,  /* packet socket */
	GAMMA_STATS_SLOT, /* the same, from gammad */
	GAMMA_STATS_XDP,
	GAMMA_STATS_UDP,
	GAMMA_STATS_SHM,  /* a peer of this host */
	GAMMA_STATS_SELF, /* the endpoint itself */
	GAMMA_STATS_PATHS,
};

/* A peer, by what its flow knows anyway. */
struct gamma_stats_peer {
	struct gamma_addr addr; /* in the form between processes, here and below */
	uint32_t path;          /* enum gamma_stats_path */
	uint32_t mtu;           /* bytes of a frame that the path carries */
	uint32_t frames_out;    /* DATA frames sent for the first time; wraps */
	uint32_t frames_in;     /* DATA frames that have arrived, up to the first gap; wraps */
	uint32_t in_flight;     /* frames not acknowledged */
	uint32_t credit;        /* frames that may be sent before the peer grants more */
	uint64_t rtt;           /* ns, smoothed, the network's alone; 0: not measured */
	uint64_t rtt_min;       /* ns, the shortest */
};

/* One of several NICs. */
struct gamma_stats_rail {
	char nic[16]; /* its name, with a final 0 */
	/* Sent by it; of the first NIC 0: its frames are what has left by no other. */
	uint64_t frames_out, bytes_out, retransmissions;
	uint64_t doubted;    /* times a flow ceased to use it */
	uint64_t returned;   /* times one used it again */
	uint64_t round_trip; /* ns: the shortest to a peer; 0: none was measured */
};

struct gamma_stats_page {
	uint32_t magic;         /* GAMMA_STATS_PAGE_MAGIC */
	uint32_t version;       /* of this layout, GAMMA_STATS_PAGE_VERSION */
	uint32_t count;         /* of counters: another release has other ones */
	int32_t pid;            /* of the process, in its own pid namespace */
	struct gamma_addr addr; /* of the endpoint */
	char nic[16];           /* its name, with a final 0 */
	uint32_t datagram;      /* 1: best effort only */
	uint32_t flows;         /* peers that it has a flow with */
	uint64_t sequence;      /* odd while what follows is written */
	uint64_t written;       /* ns, CLOCK_MONOTONIC: when */
	struct gamma_stats stats;
	struct gamma_histogram round_trips;
	uint32_t rail_count; /* 0: the endpoint has one NIC */
	uint32_t reserved;   /* 0 */
	struct gamma_stats_rail rails[GAMMA_STATS_PAGE_RAILS];
	uint32_t path;       /* enum gamma_stats_path: of the NIC's link */
	uint32_t peer_count; /* that are shown */
	struct gamma_stats_peer peers[GAMMA_STATS_PAGE_PEERS];
};
_Static_assert(sizeof(struct gamma_stats_page) <= GAMMA_STATS_PAGE_BYTES, "it fits");

#endif /* GAMMA_STATS_PAGE_H */
