/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transport between processes of one host. As a link (shm.c) it carries frames; besides it has
 * nine operations of its own, declared here, for messages that need no frame. Each pair of
 * processes has a channel in each direction: a segment of shared memory with a ring of records,
 * made by the sender (tx_channel.c) and handed over to the receiver (rx_channel.c) through the
 * receiver's port socket. Large messages are read from the sender's memory (cma.c).
 */
#ifndef GAMMA_SHM_H
#define GAMMA_SHM_H

#include <sys/types.h>
#include <sys/un.h>

#include "base/base.h"
#include "link/link.h"

struct gamma_tx_channel;
struct gamma_rx_channel;

enum {
	GAMMA_SHM_SOCKET_MTU = 65535, /* bytes: the largest frame that a port socket carries */
	GAMMA_SHM_RING_MTU = 16640,   /* bytes: the largest record; 16 KiB and a frame's header */
	GAMMA_SHM_CHAINS = 64,        /* hash chains of tx channels, a power of two */
};

/* Why a peer has ended, for people. */
#define GAMMA_SHM_PROCESS_ENDED "its process has ended"
#define GAMMA_SHM_NONSENSE      "what it wrote into shared memory makes no sense"

/* An endpoint of this host. */
struct gamma_shm_addr {
	uint8_t mac[GAMMA_MAC_LEN];
	uint16_t port;  /* host order */
	uint32_t epoch; /* host order */
};

struct gamma_shm_attr {
	int fd;          /* the port's socket, which the link takes over */
	uint32_t tenant; /* user id */
	const uint8_t
		*gammad;     /* MAC in the names of gammad's sockets, if fd is from it; else NULL */
	uint64_t ring_bytes; /* shared memory for the records to each peer; 0: none */
};

/* The subject of an epoll event of the link. */
enum gamma_shm_watch {
	GAMMA_SHM_WATCH_PORT,
	GAMMA_SHM_WATCH_TX,
	GAMMA_SHM_WATCH_RX,
	GAMMA_SHM_WATCH_PROCESS,
};

/* The fields belong to shm.c, tx_channel.c and rx_channel.c; others use the functions. */
struct gamma_shm {
	struct gamma_link link; /* its fd is an epoll of all descriptors below */
	/* A poller may skip next for so many polls while all heads are 0. */
	uint32_t quiet_polls;
	uint32_t rx_count;      /* entries of rx_channels and heads that are used */
	const uint64_t **heads; /* where the next record of each rx channel will be published */
	bool armed;   /* a peer that writes a record wakes a thread that sleeps on link.fd */
	bool watched; /* a thread sleeps on link.fd: others leave it armed */
	int fd;       /* the port's socket */
	enum gamma_shm_watch watch; /* GAMMA_SHM_WATCH_PORT */
	uint32_t tenant;            /* user id */
	uid_t uid;                  /* the tenant's id in this user namespace; -1: it has none */
	struct sockaddr_un gammad;  /* prefix of gammad's socket names ... */
	unsigned gammad_len;        /* ... in bytes; 0: the endpoint is not from gammad */
	uint32_t ring_bytes;        /* data bytes of a segment; 0: none is made or accepted */
	struct gamma_tx_channel *tx_channels[GAMMA_SHM_CHAINS];
	struct gamma_tx_channel *last; /* used last, or NULL */
	struct gamma_list full;        /* tx channels whose ring was full */
	struct gamma_rx_channel **rx_channels;
	uint32_t rx_room;              /* entries allocated in rx_channels and heads */
	uint32_t turn;                 /* index of the rx channel that is polled first */
	uint32_t turn_left;            /* records before the next channel's turn */
	struct gamma_rx_channel *lent; /* whose record is lent, or NULL */
	uint32_t lent_index;           /* its index */
	bool backpressure;             /* peers must send frames, no messages without frames */
	uint32_t polls;                /* wraps around */
	uint64_t looked_at; /* ns, CLOCK_MONOTONIC_COARSE: ends of processes are known up to then */
	uint32_t alert;     /* polls that read the descriptors as well */
	uint32_t ended;     /* channels whose peer has ended */
	bool readable;      /* the port's socket was readable when last polled */
	uint8_t nonce[16];
	uint8_t *frame; /* a datagram, or the head of a frame in shared memory */
};

/* Its link, to compare with the one that a frame came by; NULL: there is no shared memory. */
static inline const struct gamma_link *gamma_shm_link(const struct gamma_shm *shm)
{
	return shm ? &shm->link : NULL;
}

/* Carries frames between processes of this network namespace. Returns 0 or a negative errno. */
int gamma_shm_open(const struct gamma_shm_attr *attr, struct gamma_stats *stats,
		   struct gamma_shm **shm);

/* ---- operations that other links do not have ---- */

/* Whether a channel that was full has room again. */
bool gamma_shm_has_room(struct gamma_shm *shm);
/* The channel to a peer, once the peer is known to read it; else NULL. Valid until
 * gamma_shm_take_ended has returned that peer. */
struct gamma_tx_channel *gamma_shm_find_channel(const struct gamma_shm *shm,
						const struct gamma_shm_addr *peer);
/* Writes a message into the channel; false: it must go in a frame. */
bool gamma_shm_put(struct gamma_shm *shm, struct gamma_tx_channel *channel,
		   const struct gamma_shm_message *message, const struct iovec *iov,
		   unsigned iov_count);
/* The memory of messages that were announced, and not answered, is about to be reused. */
void gamma_shm_withdraw(struct gamma_tx_channel *channel);
/* Back-pressure on: peers must send frames instead of messages without frames. */
void gamma_shm_set_backpressure(struct gamma_shm *shm, bool on);
/* The flow that gamma_arrival.flow named is gone, and nothing more is sent to the peer. */
void gamma_shm_forget(struct gamma_shm *shm, const struct gamma_flow *flow,
		      const struct gamma_shm_addr *peer);
/* Removes a peer that has ended, and whose frames have all been taken. Returns the cause, or NULL
 * if there is none. undelivered: the peer had not taken all that was sent to it. */
const char *gamma_shm_take_ended(struct gamma_shm *shm, struct gamma_shm_addr *peer,
				 bool *undelivered);
/* Whether messages in that channel have not been taken. */
bool gamma_shm_has_undelivered(struct gamma_tx_channel *channel);
/* Copies len bytes from the peer's memory, at the same offset there and here; false: that is not
 * possible. */
bool gamma_shm_read_memory(struct gamma_shm *shm, const struct gamma_shm_addr *peer,
			   const struct gamma_source *source, uint64_t offset,
			   const struct iovec *iov, unsigned iov_count, uint64_t len);

/* As gamma_link_is_quiet, for all rx channels. */
static inline bool gamma_shm_is_quiet(struct gamma_shm *shm)
{
	if (!shm->quiet_polls)
		return false;
	for (uint32_t i = 0; i < shm->rx_count; i++)
		if (__atomic_load_n(shm->heads[i], __ATOMIC_RELAXED))
			return false;
	shm->quiet_polls--;
	return true;
}

static inline bool gamma_shm_addr_same(const struct gamma_shm_addr *a,
				       const struct gamma_shm_addr *b)
{
	return a->epoch == b->epoch && a->port == b->port &&
	       !__builtin_memcmp(a->mac, b->mac, GAMMA_MAC_LEN);
}

/* ---- for tx_channel.c and rx_channel.c ---- */

enum {
	GAMMA_SHM_HEAD_COPY = 512, /* bytes of a frame that are copied before they are parsed */
	GAMMA_SHM_ALERT = 4096,    /* polls that read the socket after a datagram went or came */
};

/* Watches a descriptor for input; false: that is not possible. */
bool gamma_shm_watch_fd(struct gamma_shm *shm, int fd, enum gamma_shm_watch *watch);
/* Closes a descriptor that may be watched, and sets it to -1. */
void gamma_shm_close_fd(struct gamma_shm *shm, int *fd);

/* Descriptors are accepted from the own tenant and from root. */
static inline bool gamma_shm_trusts(const struct gamma_shm *shm, uid_t uid)
{
	return uid == 0 || uid == shm->uid;
}

/* Whether this user (-1: unknown) may send frames of the tenant that the frame names. Root may for
 * any. Tenants are user ids of the host; in a container's user namespace ids differ. */
static inline bool gamma_shm_is_entitled(const struct gamma_shm *shm, uid_t uid,
					 const uint8_t *frame)
{
	uint32_t tenant;

	__builtin_memcpy(&tenant, frame + GAMMA_ETH_LEN + offsetof(struct gamma_header, tenant), 4);
	return uid == 0 || (uid != (uid_t) -1 &&
			    __builtin_bswap32(tenant) == (uid == shm->uid ? shm->tenant : uid));
}

#endif /* GAMMA_SHM_H */
