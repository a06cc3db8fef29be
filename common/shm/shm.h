/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of the link between processes of one host, shared by samehost.c (the link, its socket),
 * outbox.c (the way to a neighbour) and inbox.c (the way from one) only.
 */
#ifndef GAMMA_LINK_SAMEHOST_H
#define GAMMA_LINK_SAMEHOST_H

#include "base/base.h"
#include "unix/scm.h"
#include "link/link.h"
#include "shm/ring.h"
#include "unix/memfd.h"

enum {
	GAMMA_SAMEHOST_CHAINS = 64, /* of outboxes, a power of two */
	GAMMA_INBOXES_MAX = 4096,   /* neighbours that may send through shared memory */
	GAMMA_HEAD_COPY = 512,      /* bytes of a frame that are copied before they are looked at */
	GAMMA_SAMEHOST_ALERT =
		4096, /* polls that look at the socket after a datagram went or came */
};

/* What stands behind a descriptor of the link's epoll. */
enum gamma_watch { GAMMA_WATCH_PORT, GAMMA_WATCH_OUTBOX, GAMMA_WATCH_INBOX, GAMMA_WATCH_PROCESS };

enum gamma_outbox_state {
	GAMMA_OUTBOX_NEW,    /* its segment has not been handed over yet */
	GAMMA_OUTBOX_RING,   /* frames go into the segment */
	GAMMA_OUTBOX_DRAIN,  /* the reader did not take it: what is in it goes through the socket */
	GAMMA_OUTBOX_SOCKET, /* frames go through the socket */
};

/* The way to a neighbour. */
struct gamma_outbox {
	enum gamma_watch watch; /* GAMMA_WATCH_OUTBOX */
	enum gamma_outbox_state state;
	struct gamma_outbox *next;    /* in its chain */
	struct gamma_list full_entry; /* in link->full while its ring takes nothing */
	struct gamma_place reader;
	bool taken;               /* the reader has said that it uses the segment */
	bool ended;               /* the reader's process is gone */
	int fd;                   /* own end of the pair, or -1 */
	int segment_fd, other_fd; /* what is still to be handed over, or -1 */
	void *segment;
	size_t bytes;                    /* of it */
	uint8_t ethernet[GAMMA_ETH_LEN]; /* what its frames begin with */
	struct gamma_ring_writer ring;
	uint64_t plain_end;            /* place behind the last plain message */
	struct gamma_ring_reader rest; /* in DRAIN: what is still in the ring */
};

/* The way from a neighbour. */
struct gamma_inbox {
	enum gamma_watch watch;         /* GAMMA_WATCH_INBOX */
	enum gamma_watch watch_process; /* GAMMA_WATCH_PROCESS */
	struct gamma_place writer;
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

struct gamma_samehost {
	struct gamma_link link; /* its fd is an epoll of all that follow */
	int fd;                 /* the port's socket */
	enum gamma_watch watch; /* GAMMA_WATCH_PORT */
	uint32_t tenant;        /* user id */
	uid_t uid; /* the same as the kernel tells it here, in this user namespace; -1: not at all
		    */
	struct sockaddr_un gammad; /* what its sockets' names begin with ... */
	unsigned gammad_len;       /* ... bytes of that; 0: the endpoint is not gammad's */
	uint32_t ring_bytes;       /* of a segment's data; 0: none is made or taken */
	struct gamma_outbox *outboxes[GAMMA_SAMEHOST_CHAINS];
	struct gamma_outbox *last; /* used last, or NULL */
	struct gamma_list full;    /* outboxes */
	struct gamma_inbox **inboxes;
	const uint64_t **heads;           /* of their rings, in the same order */
	uint32_t inbox_count, inbox_room; /* entries used, and there */
	uint32_t turn;                    /* inbox that is looked at first */
	uint32_t turn_left;               /* frames before the next one's turn */
	struct gamma_inbox *lent;         /* whose frame is lent, or NULL */
	uint32_t lent_index;              /* its place among the inboxes */
	bool backpressure;                /* neighbours are to send no plain messages */
	uint32_t polls;                   /* wraps around */
	uint64_t looked_at; /* ns, CLOCK_MONOTONIC_COARSE: who had ended by then is known */
	uint32_t alert;     /* polls that look at the descriptors, too */
	uint32_t ended;     /* outboxes and inboxes whose neighbour is gone */
	bool readable;      /* the port's socket was, when last read */
	uint8_t nonce[16];
	uint8_t *frame; /* a datagram, or the head of a frame in shared memory */
};

/* Watches a descriptor for input; false: it cannot be. */
bool gamma_samehost_watch(struct gamma_samehost *samehost, int fd, enum gamma_watch *watch);
/* Closes a descriptor that may be watched, and makes it -1. */
void gamma_samehost_drop(struct gamma_samehost *samehost, int *fd);

/* ---- outbox.c ---- */
/* The way to where the frame is to go, made if need be; NULL: through the socket. */
struct gamma_outbox *gamma_outbox_for(struct gamma_samehost *samehost,
				      const struct gamma_frame *frame);
/* Puts a frame into it: 0, -EAGAIN, -ECONNREFUSED. */
int gamma_outbox_put(struct gamma_samehost *samehost, struct gamma_outbox *outbox,
		     const struct gamma_frame *frame);
/* One for that neighbour that takes plain messages, or NULL. */
struct gamma_outbox *gamma_outbox_plain(const struct gamma_samehost *samehost,
					const struct gamma_place *reader);
/* Whether not all plain messages in it have been taken. */
bool gamma_outbox_left(struct gamma_outbox *outbox);
/* The way to that neighbour, or NULL. */
struct gamma_outbox *gamma_outbox_find(const struct gamma_samehost *samehost,
				       const struct gamma_place *reader);
/* Puts a plain message into it; false: it cannot be. */
bool gamma_outbox_put_plain(struct gamma_samehost *samehost, struct gamma_outbox *outbox,
			    const struct gamma_shm_message *plain, const struct iovec *iov,
			    unsigned iov_count);
/* Nothing is sent to that neighbour any more. */
void gamma_outbox_forget(struct gamma_samehost *samehost, const struct gamma_place *reader);
/* Tells its reader that what was announced in it must not be read any more. */
void gamma_outbox_withdraw(struct gamma_outbox *outbox);
/* Its descriptor has something to say. */
void gamma_outbox_heard(struct gamma_samehost *samehost, struct gamma_outbox *outbox);
/* Whether one that was full is worth another try. */
bool gamma_outbox_room(struct gamma_samehost *samehost);
/* One whose reader is gone, taken out and freed; returns the cause. NULL: there is none. */
const char *gamma_outbox_lost(struct gamma_samehost *samehost, struct gamma_place *reader,
			      bool *left);
void gamma_outbox_close_all(struct gamma_samehost *samehost);
/* Sends a frame through the socket of the port that it is for: 0 or a negative errno. */
int gamma_samehost_send_datagram(struct gamma_samehost *samehost, const uint8_t *head,
				 size_t head_len, const struct iovec *iov, unsigned iov_count);

/* ---- inbox.c ---- */
/* Somebody has handed over a segment; the descriptors are used or closed. */
void gamma_inbox_accept(struct gamma_samehost *samehost, const struct gamma_handover *handover,
			struct gamma_enclosed *enclosed);
bool gamma_inbox_next(struct gamma_samehost *samehost, struct gamma_arrival *arrival);
/* Takes the record that was lent. */
void gamma_inbox_release(struct gamma_samehost *samehost);
void gamma_inbox_press(struct gamma_samehost *samehost, bool backpressure);
void gamma_inbox_forget(struct gamma_samehost *samehost, const struct gamma_flow *flow);
void gamma_inbox_heard(struct gamma_samehost *samehost, struct gamma_inbox *inbox);
void gamma_inbox_process_ended(struct gamma_samehost *samehost, struct gamma_inbox *inbox);
/* Asks all writers to wake this process; true: a frame waits already. */
bool gamma_inbox_arm(struct gamma_samehost *samehost);
void gamma_inbox_disarm(struct gamma_samehost *samehost);
bool gamma_inbox_waits(const struct gamma_samehost *samehost);
const char *gamma_inbox_lost(struct gamma_samehost *samehost, struct gamma_place *writer);
void gamma_inbox_close_all(struct gamma_samehost *samehost);
/* That which this neighbour has made, or NULL. */
struct gamma_inbox *gamma_inbox_of(const struct gamma_samehost *samehost,
				   const struct gamma_place *writer);

/* ---- pull.c ---- */
/* Whether this process may read the memory of the one that has handed over a segment. */
bool gamma_pull_possible(pid_t pid, const struct gamma_handover *handover);
/* Copies len bytes, from offset on there and here; false: not all, or they were not valid any more,
 * of which the stamp tells unless the caller knows. */
bool gamma_pull(pid_t pid, const struct gamma_source *source, uint64_t offset,
		const struct iovec *iov, unsigned iov_count, uint64_t len, bool caller_knows);

/* From whom descriptors are taken: our own tenant, or root. */
static inline bool gamma_samehost_trusts(const struct gamma_samehost *samehost, uid_t uid)
{
	return uid == 0 || uid == samehost->uid;
}

/* May this user (-1: unknown) send in the tenant's name that the frame bears? Root may in any.
 * Tenants are user ids of the host, which in a container's user namespace has others. */
static inline bool gamma_samehost_entitled(const struct gamma_samehost *samehost, uid_t uid,
					   const uint8_t *frame)
{
	uint32_t tenant;

	__builtin_memcpy(&tenant, frame + GAMMA_ETH_LEN + offsetof(struct gamma_header, tenant), 4);
	return uid == 0 ||
	       (uid != (uid_t) -1 &&
		__builtin_bswap32(tenant) == (uid == samehost->uid ? samehost->tenant : uid));
}

static inline bool gamma_place_same(const struct gamma_place *a, const struct gamma_place *b)
{
	return a->epoch == b->epoch && a->port == b->port &&
	       !__builtin_memcmp(a->mac, b->mac, GAMMA_MAC_LEN);
}

#endif /* GAMMA_LINK_SAMEHOST_H */
