/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of the link between processes of one host, shared by shm.c (the link, its socket),
 * channel.c (the way to a neighbour) and channel.c (the way from one) only.
 */
#ifndef GAMMA_LINK_SAMEHOST_H
#define GAMMA_LINK_SAMEHOST_H

#include "base/base.h"
#include "unix/scm.h"
#include "link/link.h"
#include "shm/ring.h"
#include "unix/memfd.h"

enum {
	GAMMA_SHM_CHAINS = 64,        /* of tx_channels, a power of two */
	GAMMA_RX_CHANNELS_MAX = 4096, /* neighbours that may send through shared memory */
	GAMMA_SHM_HEAD_COPY = 512, /* bytes of a frame that are copied before they are looked at */
	GAMMA_SHM_ALERT = 4096,    /* polls that look at the socket after a datagram went or came */
};

/* What stands behind a descriptor of the link's epoll. */
enum gamma_shm_watch {
	GAMMA_SHM_WATCH_PORT,
	GAMMA_SHM_WATCH_TX,
	GAMMA_SHM_WATCH_RX,
	GAMMA_SHM_WATCH_PROCESS
};

enum gamma_tx_channel_state {
	GAMMA_TX_CHANNEL_NEW,   /* its segment has not been handed over yet */
	GAMMA_TX_CHANNEL_RING,  /* frames go into the segment */
	GAMMA_TX_CHANNEL_DRAIN, /* the reader did not take it: what is in it goes through the socket
				 */
	GAMMA_TX_CHANNEL_SOCKET, /* frames go through the socket */
};

/* The way to a neighbour. */
struct gamma_tx_channel {
	enum gamma_shm_watch watch; /* GAMMA_SHM_WATCH_TX */
	enum gamma_tx_channel_state state;
	struct gamma_tx_channel *next; /* in its chain */
	struct gamma_list full_entry;  /* in link->full while its ring takes nothing */
	struct gamma_shm_addr reader;
	bool taken;               /* the reader has said that it uses the segment */
	bool ended;               /* the reader's process is gone */
	int fd;                   /* own end of the pair, or -1 */
	int segment_fd, other_fd; /* what is still to be handed over, or -1 */
	void *segment;
	size_t bytes;                    /* of it */
	uint8_t ethernet[GAMMA_ETH_LEN]; /* what its frames begin with */
	struct gamma_ring_writer ring;
	uint64_t message_end;          /* addr behind the last plain message */
	struct gamma_ring_reader rest; /* in DRAIN: what is still in the ring */
};

/* The way from a neighbour. */
struct gamma_rx_channel {
	enum gamma_shm_watch watch;         /* GAMMA_SHM_WATCH_RX */
	enum gamma_shm_watch watch_process; /* GAMMA_SHM_WATCH_PROCESS */
	struct gamma_shm_addr writer;
	uint32_t uid;  /* of its process, as the kernel says */
	bool ended;    /* its process is gone */
	int fd;        /* own end of the pair */
	int pid_fd;    /* its process, or -1 */
	pid_t pid;     /* ditto */
	bool readable; /* this process may read its memory */
	void *segment;
	size_t bytes; /* of it */
	struct gamma_ring_reader ring;
	uint64_t beyond;         /* bytes of plain messages since it was asked to send none */
	struct gamma_flow *flow; /* that its frames belong to, or NULL: the engine's */
	uint8_t ethernet[GAMMA_ETH_LEN]; /* what its frames begin with */
};

struct gamma_shm {
	struct gamma_link link;     /* its fd is an epoll of all that follow */
	int fd;                     /* the port's socket */
	enum gamma_shm_watch watch; /* GAMMA_SHM_WATCH_PORT */
	uint32_t tenant;            /* user id */
	uid_t uid; /* the same as the kernel tells it here, in this user namespace; -1: not at all
		    */
	struct sockaddr_un gammad; /* what its sockets' names begin with ... */
	unsigned gammad_len;       /* ... bytes of that; 0: the endpoint is not gammad's */
	uint32_t ring_bytes;       /* of a segment's data; 0: none is made or taken */
	struct gamma_tx_channel *tx_channels[GAMMA_SHM_CHAINS];
	struct gamma_tx_channel *last; /* used last, or NULL */
	struct gamma_list full;        /* tx_channels */
	struct gamma_rx_channel **rx_channels;
	const uint64_t **heads;        /* of their rings, in the same order */
	uint32_t rx_count, rx_room;    /* entries used, and there */
	uint32_t turn;                 /* channel that is looked at first */
	uint32_t turn_left;            /* frames before the next one's turn */
	struct gamma_rx_channel *lent; /* whose frame is lent, or NULL */
	uint32_t lent_index;           /* its addr among the rx_channels */
	bool backpressure;             /* neighbours are to send no plain messages */
	uint32_t polls;                /* wraps around */
	uint64_t looked_at; /* ns, CLOCK_MONOTONIC_COARSE: who had ended by then is known */
	uint32_t alert;     /* polls that look at the descriptors, too */
	uint32_t ended;     /* tx_channels and rx_channels whose neighbour is gone */
	bool readable;      /* the port's socket was, when last read */
	uint8_t nonce[16];
	uint8_t *frame; /* a datagram, or the head of a frame in shared memory */
};

/* Watches a descriptor for input; false: it cannot be. */
bool gamma_shm_watch_fd(struct gamma_shm *shm, int fd, enum gamma_shm_watch *watch);
/* Closes a descriptor that may be watched, and makes it -1. */
void gamma_shm_close_fd(struct gamma_shm *shm, int *fd);

/* ---- channel.c ---- */
/* The way to where the frame is to go, made if need be; NULL: through the socket. */
struct gamma_tx_channel *gamma_tx_channel_for(struct gamma_shm *shm,
					      const struct gamma_frame *frame);
/* Puts a frame into it: 0, -EAGAIN, -ECONNREFUSED. */
int gamma_tx_channel_put_frame(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			       const struct gamma_frame *frame);
/* One for that neighbour that takes plain messages, or NULL. */
struct gamma_tx_channel *gamma_tx_channel_find_ready(const struct gamma_shm *shm,
						     const struct gamma_shm_addr *reader);
/* Whether not all plain messages in it have been taken. */
bool gamma_tx_channel_has_undelivered(struct gamma_tx_channel *channel);
/* The way to that neighbour, or NULL. */
struct gamma_tx_channel *gamma_tx_channel_find(const struct gamma_shm *shm,
					       const struct gamma_shm_addr *reader);
/* Puts a plain message into it; false: it cannot be. */
bool gamma_tx_channel_put_message(struct gamma_shm *shm, struct gamma_tx_channel *channel,
				  const struct gamma_shm_message *plain, const struct iovec *iov,
				  unsigned iov_count);
/* Nothing is sent to that neighbour any more. */
void gamma_tx_channel_forget(struct gamma_shm *shm, const struct gamma_shm_addr *reader);
/* Tells its reader that what was announced in it must not be read any more. */
void gamma_tx_channel_withdraw(struct gamma_tx_channel *channel);
/* Its descriptor has something to say. */
void gamma_tx_channel_read_events(struct gamma_shm *shm, struct gamma_tx_channel *channel);
/* Whether one that was full is worth another try. */
bool gamma_tx_channel_any_room(struct gamma_shm *shm);
/* One whose reader is gone, taken out and freed; returns the cause. NULL: there is none. */
const char *gamma_tx_channel_take_ended(struct gamma_shm *shm, struct gamma_shm_addr *reader,
					bool *left);
void gamma_tx_channel_close_all(struct gamma_shm *shm);
/* Sends a frame through the socket of the port that it is for: 0 or a negative errno. */
int gamma_shm_send_datagram(struct gamma_shm *shm, const uint8_t *head, size_t head_len,
			    const struct iovec *iov, unsigned iov_count);

/* ---- channel.c ---- */
/* Somebody has handed over a segment; the descriptors are used or closed. */
void gamma_rx_channel_accept(struct gamma_shm *shm, const struct gamma_handover *handover,
			     struct gamma_scm *scm);
bool gamma_rx_channel_next(struct gamma_shm *shm, struct gamma_arrival *arrival);
/* Takes the record that was lent. */
void gamma_rx_channel_release(struct gamma_shm *shm);
void gamma_rx_channel_set_backpressure(struct gamma_shm *shm, bool backpressure);
void gamma_rx_channel_forget(struct gamma_shm *shm, const struct gamma_flow *flow);
void gamma_rx_channel_read_events(struct gamma_shm *shm, struct gamma_rx_channel *channel);
void gamma_rx_channel_process_ended(struct gamma_shm *shm, struct gamma_rx_channel *channel);
/* Asks all writers to wake this process; true: a frame waits already. */
bool gamma_rx_channel_arm(struct gamma_shm *shm);
void gamma_rx_channel_disarm(struct gamma_shm *shm);
bool gamma_rx_channel_any_record(const struct gamma_shm *shm);
const char *gamma_rx_channel_take_ended(struct gamma_shm *shm, struct gamma_shm_addr *writer);
void gamma_rx_channel_close_all(struct gamma_shm *shm);
/* That which this neighbour has made, or NULL. */
struct gamma_rx_channel *gamma_rx_channel_find(const struct gamma_shm *shm,
					       const struct gamma_shm_addr *writer);

/* ---- pull.c ---- */
/* Whether this process may read the memory of the one that has handed over a segment. */
bool gamma_cma_is_possible(pid_t pid, const struct gamma_handover *handover);
/* Copies len bytes, from offset on there and here; false: not all, or they were not valid any more,
 * of which the stamp tells unless the caller knows. */
bool gamma_cma_read(pid_t pid, const struct gamma_source *source, uint64_t offset,
		    const struct iovec *iov, unsigned iov_count, uint64_t len, bool caller_knows);

/* From whom descriptors are taken: our own tenant, or root. */
static inline bool gamma_shm_trusts(const struct gamma_shm *shm, uid_t uid)
{
	return uid == 0 || uid == shm->uid;
}

/* May this user (-1: unknown) send in the tenant's name that the frame bears? Root may in any.
 * Tenants are user ids of the host, which in a container's user namespace has others. */
static inline bool gamma_shm_is_entitled(const struct gamma_shm *shm, uid_t uid,
					 const uint8_t *frame)
{
	uint32_t tenant;

	__builtin_memcpy(&tenant, frame + GAMMA_ETH_LEN + offsetof(struct gamma_header, tenant), 4);
	return uid == 0 || (uid != (uid_t) -1 &&
			    __builtin_bswap32(tenant) == (uid == shm->uid ? shm->tenant : uid));
}

static inline bool gamma_shm_addr_same(const struct gamma_shm_addr *a,
				       const struct gamma_shm_addr *b)
{
	return a->epoch == b->epoch && a->port == b->port &&
	       !__builtin_memcmp(a->mac, b->mac, GAMMA_MAC_LEN);
}

#endif /* GAMMA_LINK_SAMEHOST_H */
