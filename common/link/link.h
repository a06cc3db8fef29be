/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How frames leave and arrive. The engine knows this table only; packet.c and xdp.c (raw Ethernet)
 * and shm.c (processes of this host) implement it.
 */
#ifndef GAMMA_LINK_H
#define GAMMA_LINK_H

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/stats.h"
#include "wire/frame.h"

struct gamma_link;
struct gamma_tx_channel; /* to a neighbour, for plain messages */

/* An endpoint, as links know it. */
struct gamma_shm_addr {
	uint8_t mac[GAMMA_MAC_LEN];
	uint16_t port;  /* host order */
	uint32_t epoch; /* ditto */
};

struct gamma_link_ops {
	/* Sends a burst; returns how many frames left. Fewer than count: the next one could not
	 * leave now (*error says why: -EAGAIN to try again later, -ECONNREFUSED nobody there,
	 * -EPROTO who is there writes nonsense, -EMSGSIZE the NIC's MTU has been lowered: the
	 * link's `mtu` says to what). */
	unsigned (*send)(struct gamma_link *link, const struct gamma_frame *frames, unsigned count,
			 int *error);
	/* shm only. Whether a tx_channel that was full is worth another try, before its time. */
	bool (*room)(struct gamma_link *link);
	/* shm only, as are the next four. The tx_channel to a neighbour, once it is known to take
	 * frames from shared memory; NULL: not yet. Valid until `lost` has told its end. */
	struct gamma_tx_channel *(*tx_channel)(struct gamma_link *link,
					       const struct gamma_shm_addr *place);
	/* Puts a plain message there; false: it must go in a frame. */
	bool (*put)(struct gamma_link *link, struct gamma_tx_channel *tx_channel,
		    const struct gamma_shm_message *plain, const struct iovec *iov,
		    unsigned iov_count);
	/* What was announced there, and not answered, is about to be another's memory. */
	void (*withdraw)(struct gamma_tx_channel *tx_channel);
	/* Neighbours are to send none, but frames; or may again. */
	void (*press)(struct gamma_link *link, bool pressed);
	/* The flow is gone that gamma_arrival.flow named, and nothing is sent there any more. */
	void (*forget)(struct gamma_link *link, const struct gamma_flow *flow,
		       const struct gamma_shm_addr *place);
	/* Lends the oldest frame that arrived; false: none. */
	bool (*next)(struct gamma_link *link, struct gamma_arrival *arrival);
	/* Gives it back. At most once for each next, in order; without it the same one comes again.
	 */
	void (*release)(struct gamma_link *link);
	/* To be called before sleeping on fd. True: do not, something waits. */
	bool (*arm)(struct gamma_link *link);
	/* shm only. A neighbour that has ended, all of whose frames have been taken; returns
	 * the cause, for people, or NULL: there is none. left: what was sent to it was not all
	 * taken. */
	const char *(*lost)(struct gamma_link *link, struct gamma_shm_addr *place, bool *left);
	/* shm only. Whether something in that tx_channel has not been taken. */
	bool (*left)(const struct gamma_tx_channel *tx_channel);
	/* shm only. Copies len bytes out of a neighbour's memory, from offset on there and
	 * here; false: that cannot be. */
	bool (*pull)(struct gamma_link *link, const struct gamma_shm_addr *place,
		     const struct gamma_source *source, uint64_t offset, const struct iovec *iov,
		     unsigned iov_count, uint64_t len);
	/* Reads the kernel's counters into stats. */
	void (*count)(struct gamma_link *link);
	void (*close)(struct gamma_link *link);
};

enum { GAMMA_CACHE_LINE = 64 }; /* bytes */

/* What the kernel writes as other fields. */
typedef uint64_t __attribute__((may_alias)) gamma_link_word;

struct gamma_link {
	const struct gamma_link_ops *ops;
	struct gamma_stats *stats; /* the endpoint's */
	pid_t process; /* which has opened it; a child forked from that may close it, no more */
	int fd;        /* readable when a frame waits */
	/* shm only: who writes into shared memory would wake who sleeps on fd. */
	bool armed;
	bool watched;      /* somebody does sleep: others who receive leave it armed */
	uint32_t mtu;      /* bytes after the Ethernet header */
	uint32_t slots;    /* frames that may wait without loss */
	uint64_t frame_ns; /* what sending took for a frame of the last burst; 0: not known */
	/* Whoever polls need not ask `next`: nothing has come while these bits of the word are 0
	 * (NULL: there is no such word), or for so many polls, if these heads are 0. */
	const gamma_link_word *word;
	uint64_t bits;
	uint32_t ahead; /* bytes from the word to the frame, which is being written if others are
			   not */
	uint32_t quiet_polls;
	uint32_t head_count;
	const uint64_t **heads; /* where neighbours publish what comes next */
};

/* The frame is there already, its bits come at once: meanwhile its lines of the cache are asked
 * for, which their writer has. To look at the word again and again would only take that line away
 * from the writer once more. */
static inline void gamma_link_prefetch(const struct gamma_link *link)
{
	const uint8_t *frame = (const uint8_t *) link->word + link->ahead;

	__builtin_prefetch(frame);
	__builtin_prefetch(frame + GAMMA_CACHE_LINE);
}

static inline bool gamma_link_is_quiet(struct gamma_link *link)
{
	uint64_t word;

	if (link->word) {
		word = __atomic_load_n(link->word, __ATOMIC_RELAXED);
		if (word && !(word & link->bits))
			gamma_link_prefetch(link);
		return !(word & link->bits);
	}
	if (!link->quiet_polls)
		return false;
	for (uint32_t i = 0; i < link->head_count; i++)
		if (__atomic_load_n(link->heads[i], __ATOMIC_RELAXED))
			return false;
	link->quiet_polls--;
	return true;
}

/* Gives back memory that a forked child does not get (MADV_DONTFORK): there it is the child's own
 * that stands in its place. */
static inline void gamma_link_unmap(const struct gamma_link *link, void *at, size_t len)
{
	if (link->process == getpid())
		munmap(at, len);
}

/* ---- port.c: a port of a NIC belongs to one process of the network namespace ---- */

/* Takes port (0: a random free one) by binding the abstract socket name of MAC and port. Returns
 * the socket, or -EADDRINUSE or another negative errno. */
int gamma_port_claim(const uint8_t mac[GAMMA_MAC_LEN], uint16_t *port);

/* Takes so many ports in a row, the first at *port (0: a random free one): 0, or as above. */
int gamma_port_claim_range(const uint8_t mac[GAMMA_MAC_LEN], uint16_t *port, unsigned count,
			   int *fds);

struct sockaddr_un;
unsigned gamma_port_name(const uint8_t mac[GAMMA_MAC_LEN], uint16_t port, struct sockaddr_un *name);

/* ---- packet.c ---- */
struct gamma_packet_attr {
	int ifindex;
	uint16_t ethertype;
	uint16_t port;        /* host order: what the kernel's filter lets through */
	uint32_t tenant;      /* ditto, but for LOOKUP */
	uint32_t mtu;         /* bytes */
	size_t ring_bytes;    /* at most, but for GAMMA_RING_SLOTS_MIN slots */
	const uint8_t *mac;   /* AF_XDP only: of the NIC */
	const uint8_t *group; /* MAC of the multicast group that it is for; NULL: for this host */
	bool receives;        /* the group's frames are wanted, not only to be sent */
};
enum { GAMMA_RING_SLOTS_MIN = 256 };
/* 0 or a negative errno: -EPERM without CAP_NET_RAW. */
int gamma_packet_open(const struct gamma_packet_attr *attr, struct gamma_stats *stats,
		      struct gamma_link **link);
/* The same with a socket of gammad's: takes over packet_fd and gammad_fd, unless it fails. */
struct gamma_brokered;
enum { GAMMA_RING_BYTES_MAX = 1 << 30 };
int gamma_packet_adopt(const struct gamma_brokered *brokered, struct gamma_stats *stats,
		       struct gamma_link **link);
/* A group's socket, ditto: its link receives only. */
struct gamma_broker_joined;
int gamma_packet_adopt_group(const struct gamma_broker_joined *joined, int fd,
			     struct gamma_stats *stats, struct gamma_link **link);

/* How frames are to reach the network. */
enum gamma_link_choice {
	GAMMA_LINK_PACKET,
	GAMMA_LINK_XDP,  /* AF_XDP or nothing: xdp.h */
	GAMMA_LINK_AUTO, /* AF_XDP if it can be had without taking it from anybody */
};

/* ---- shm.c ---- */

struct gamma_shm_attr {
	int fd;                /* the port's socket, which the link takes over */
	uint32_t tenant;       /* user id */
	const uint8_t *gammad; /* MAC of the NIC, if the socket is gammad's; else NULL */
	uint64_t ring_bytes;   /* shared memory for the frames to each neighbour; 0: none */
};
/* Carries frames between processes of this network namespace. */
int gamma_shm_open(const struct gamma_shm_attr *attr, struct gamma_stats *stats,
		   struct gamma_link **link);
/* Why a neighbour is lost, for people. */
#define GAMMA_SHM_PROCESS_ENDED "its process has ended"
#define GAMMA_SHM_NONSENSE      "what it wrote into shared memory makes no sense"
enum {
	GAMMA_SHM_SOCKET_MTU = 65535, /* bytes: what a socket carries */
	GAMMA_SHM_RING_MTU = 16640,   /* bytes: frames in shared memory; 16 KiB and their header */
};

#endif /* GAMMA_LINK_H */
