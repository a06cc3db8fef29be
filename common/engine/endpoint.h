/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint: its links, its flows, and the dispatch of arriving frames to them. The interface
 * layer (libfabric provider) opens it, sends messages, and is called back through its handlers.
 * It does not lock: one thread at a time.
 */
#ifndef GAMMA_ENDPOINT_H
#define GAMMA_ENDPOINT_H

#include "flow/flow.h"
#include "message/receive.h"
#include "message/rma.h"
#include "message/send.h"

struct gamma_brokered;

/* How frames reach the network. */
enum gamma_link_choice {
	GAMMA_LINK_PACKET, /* AF_PACKET */
	GAMMA_LINK_XDP,    /* AF_XDP, or fail */
	GAMMA_LINK_AUTO,   /* AF_XDP if the NIC's queue is free, else AF_PACKET */
	GAMMA_LINK_UDP,    /* UDP; the MAC is a pseudo MAC address (wire/pseudo_mac.h) */
};

/* One more NIC of an endpoint. */
struct gamma_endpoint_nic {
	int ifindex;
	uint8_t mac[GAMMA_MAC_LEN];
	uint32_t mtu;     /* bytes */
	const char *name; /* in the page of counters; NULL: none */
	bool udp; /* over UDP, though the first link is raw: the MAC is a pseudo MAC address */
};

struct gamma_endpoint_attr {
	/* gammad's socket, if the process may not open the NIC; NULL: none. Outlives the endpoint.
	 */
	const char *broker;
	/* Sockets that gammad has given already, which the endpoint takes over; NULL: nothing. */
	const struct gamma_brokered *brokered;
	int ifindex;
	uint8_t mac[GAMMA_MAC_LEN]; /* of the NIC */
	uint32_t mtu;               /* of the NIC, bytes */
	/* The NICs behind the first one: its other rails. Not of best-effort endpoints. Behind all
	 * raw ones the same may stand again, over UDP. */
	struct gamma_endpoint_nic more[GAMMA_RAILS_MAX - 1];
	unsigned more_count;
	unsigned optional; /* of these, so many at the end are left out if one cannot be opened */
	/* The only NIC again, over UDP, for long messages to peers that have the same: opened if it
	 * can be and the first link is a packet socket, and used once there are such. An MTU of 0:
	 * none. */
	struct gamma_endpoint_nic beside;
	uint8_t prefix; /* of UDP: bits of the IP address that name the subnet */
	uint16_t port;  /* host order; 0: a random free one */
	bool claimed;   /* the caller has claimed the port, and the endpoint takes over port_fd */
	int port_fd;
	uint32_t epoch; /* GAMMA_EPOCH_ANY: a random one */
	uint16_t ethertype;
	uint32_t tenant; /* user id */
	uint64_t host;   /* host identity */
	enum gamma_link_choice link;
	size_t ring_bytes;
	uint64_t shm_bytes; /* shared memory for the frames to each shm peer; 0: none */
	uint64_t speed;     /* of all its NICs, bits/s; 0: unknown */
	uint64_t budget;    /* bytes always allowed to be on their way to a NIC; 0: unbounded */
	uint64_t linger;    /* ns: a close waits at most this long */
	bool datagram;      /* best effort only */
	/* Name of the NIC in the page that shows the counters to gamma-stat; NULL: no page. */
	const char *page_nic;
	struct gamma_limits limits; /* mtu and local_mtu are filled in */
};

struct gamma_endpoint_handlers {
	struct gamma_handlers messages;
	/* A best-effort frame; source is valid during the call. */
	void (*datagram)(void *context, const struct gamma_addr *source,
			 const struct gamma_envelope *envelope, const uint8_t *payload);
	/* The flow is about to be freed: drop pointers to it. */
	void (*gone)(void *context, struct gamma_flow *flow);
	/* The same, but it has turned out to lead where another one does. NULL: gone is called
	 * alone. */
	void (*merged)(void *context, struct gamma_flow *flow, struct gamma_flow *other);
	/* The endpoint has ended: all flows have failed, nothing will arrive. NULL: the next call
	 * reports it. */
	void (*ended)(void *context, int error, const char *cause);
};

/* Why an endpoint has ended, for users. */
#define GAMMA_REVOKED "gammad has revoked this endpoint: ask the administrator"
#define GAMMA_NIC_MTU_TOO_SMALL                                                                    \
	"the MTU of this host's NIC was lowered below 576 bytes: raise it (ip link set mtu), and " \
	"start again"
#define GAMMA_NIC_REMOVED "this NIC was removed from the host: start again when it is back"

struct gamma_endpoint;

/* 0, or: -EADDRINUSE the port has an owner, -EPERM neither CAP_NET_RAW nor gammad, ... */
int gamma_endpoint_create(const struct gamma_endpoint_attr *attr,
			  const struct gamma_endpoint_handlers *handlers, void *context,
			  struct gamma_endpoint **endpoint);
/* Waits until all is acknowledged and sends BYE, for at most `linger` in all. In a forked child it
 * neither sends nor waits. asleep, unless NULL, is called with the handlers' context when the sleep
 * begins and ends: in between another thread may call gamma_endpoint_withdraw. */
typedef void gamma_endpoint_asleep(void *context, bool asleep);
void gamma_endpoint_linger(struct gamma_endpoint *endpoint, gamma_endpoint_asleep *asleep);
/* Frees everything; sends that are not complete end silently. A forked child may call it, too. */
void gamma_endpoint_destroy(struct gamma_endpoint *endpoint);

/* 0 or -EAGAIN. */
int gamma_endpoint_random_epoch(uint32_t *epoch);

const struct gamma_addr *gamma_endpoint_addr(const struct gamma_endpoint *endpoint);

/* To the form in which processes exchange addresses: of the endpoint, of an entry, or the source of
 * what has arrived lately. */
void gamma_endpoint_show_addr(struct gamma_endpoint *endpoint, struct gamma_addr *addr);

/* The flow to a peer, made if need be. NULL: no memory, or the peer's address is unknown. */
struct gamma_flow *gamma_endpoint_flow(struct gamma_endpoint *endpoint,
				       const struct gamma_addr *peer);
/* Takes a message and sends what can be sent at once. See gamma_send_message; -EACCES: the endpoint
 * was revoked, -ENODEV: its NIC was removed, here and in what follows. */
int gamma_endpoint_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			struct gamma_send *send);
/* Copies a short message that is complete when copied; handlers->sent is not called. may_delay,
 * more: as in struct gamma_send. */
enum gamma_endpoint_copied {
	GAMMA_COPIED_NOT,     /* nothing has been done, it must take gamma_endpoint_send */
	GAMMA_COPIED_SENT,    /* and sent */
	GAMMA_COPIED_DELAYED, /* it shares a frame with others that leaves at the next progress */
};
enum gamma_endpoint_copied gamma_endpoint_send_copy(struct gamma_endpoint *endpoint,
						    struct gamma_flow *flow,
						    const struct iovec *iov, unsigned iov_count,
						    const struct gamma_envelope *envelope,
						    bool may_delay, bool more);
/* The same to an shm peer, if it needs no frame and so is sent at once. False: nothing was done. */
bool gamma_endpoint_send_shm(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			     const struct iovec *iov, unsigned iov_count,
			     const struct gamma_envelope *envelope);
/* As gamma_endpoint_send, with an operation on the peer's memory. See gamma_rma_requester_post. */
int gamma_endpoint_rma(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		       struct gamma_send *send, struct gamma_rma *remote);
/* A region, as struct gamma_rma_region names it, is about to be closed: nothing reads it any more.
 */
void gamma_endpoint_withdraw(struct gamma_endpoint *endpoint, const void *region);
/* Sends a best-effort message: 0, -EAGAIN (the link is full), -EMSGSIZE. */
int gamma_endpoint_send_datagram(struct gamma_endpoint *endpoint, const struct gamma_addr *peer,
				 const struct iovec *iov, unsigned iov_count,
				 const struct gamma_envelope *envelope);
/* A multicast group that a best-effort endpoint has joined: groups.c. */
struct gamma_group;
/* addr: MAC and port of the group; receives: its frames are wanted here. */
int gamma_groups_join(struct gamma_endpoint *endpoint, const struct gamma_addr *addr, bool receives,
		      struct gamma_group **group);
void gamma_groups_leave(struct gamma_endpoint *endpoint, struct gamma_group *group);
/* Joins a group whose frames progress does not look at: they wait in a ring of their own until the
 * caller takes them. Blocks, perhaps for long; the endpoint may be used by another thread
 * meanwhile. But beside: over UDP beside raw frames, in trains, which does not take long, and not
 * at the same time as other calls. gamma_groups_leave ends it. */
int gamma_groups_open(struct gamma_endpoint *endpoint, const struct gamma_addr *addr, bool receives,
		      bool beside, struct gamma_group **group);
/* Bytes that one datagram with CQ data can carry beside raw frames; 0: there is no such link. */
size_t gamma_groups_beside_max(const struct gamma_endpoint *endpoint);
/* Frames that wait there without loss; 0: it only sends. */
uint32_t gamma_groups_slots(const struct gamma_group *group);
struct gamma_group_frame {
	struct gamma_addr source;
	struct gamma_envelope envelope;
	const uint8_t *payload;
	bool unknown; /* beside raw frames: no peer's address over UDP is known to be the source's
		       */
};
/* Asks that peer for its addresses, unless it has answered that. Whether it has to answer yet. */
bool gamma_groups_ask(struct gamma_endpoint *endpoint, const struct gamma_addr *member);
/* The oldest frame, which stays until it is released; false: there is none. */
bool gamma_groups_next(struct gamma_endpoint *endpoint, struct gamma_group *group,
		       struct gamma_group_frame *frame);
void gamma_groups_release(struct gamma_endpoint *endpoint, struct gamma_group *group);
/* As gamma_endpoint_send_datagram, to all of the group but this endpoint. */
int gamma_endpoint_send_group(struct gamma_endpoint *endpoint, const struct gamma_group *group,
			      const struct iovec *iov, unsigned iov_count,
			      const struct gamma_envelope *envelope);
/* The same of several, of datagram_max bytes each at most, which leave in as few calls as the link
 * can. How many have left. */
struct gamma_group_datagram {
	struct iovec bytes;
	struct gamma_envelope envelope;
};
unsigned gamma_endpoint_send_to_group(struct gamma_endpoint *endpoint,
				      const struct gamma_group *group,
				      const struct gamma_group_datagram *datagrams, unsigned count);
/* Bytes that one datagram with CQ data can carry. */
size_t gamma_endpoint_datagram_max(const struct gamma_endpoint *endpoint);
/* Bytes of a tagged message that fit one frame, over the endpoint's own NIC. */
size_t gamma_endpoint_message_max(const struct gamma_endpoint *endpoint);

/* Receives what has arrived, runs what is due, sends what can be sent. True: nothing has come for
 * many calls, and the caller should offer the core to others (sched_yield), without its locks. */
bool gamma_endpoint_progress(struct gamma_endpoint *endpoint);
/* Whether peers are on this host, which may need the caller's core. */
bool gamma_endpoint_has_host_peers(const struct gamma_endpoint *endpoint);

/* ---- to sleep until progress has something to do ---- */
uint64_t gamma_endpoint_deadline(struct gamma_endpoint *endpoint); /* ns, CLOCK_MONOTONIC */
bool gamma_endpoint_ready(struct gamma_endpoint *endpoint);        /* something waits already */
/* A thread that sleeps calls this after arming, and again when it has woken. Other threads that
 * call progress meanwhile leave the wake-up armed; if they could not, they wake the sleeper. */
void gamma_endpoint_watch(struct gamma_endpoint *endpoint, bool asleep);
bool gamma_endpoint_armed(const struct gamma_endpoint *endpoint);
/* Returns how many there are: one for each NIC, for shared memory, and for groups once one has been
 * joined. */
enum { GAMMA_ENDPOINT_FDS = 2 * GAMMA_RAILS_MAX + 2 };
unsigned gamma_endpoint_fds(const struct gamma_endpoint *endpoint, int fds[GAMMA_ENDPOINT_FDS]);

/* Counters, with the kernel's read in. */
const struct gamma_stats *gamma_endpoint_stats(struct gamma_endpoint *endpoint);
/* Of each of several NICs. */
struct gamma_endpoint_rail {
	/* Sent by it to other hosts. */
	uint64_t frames_out, bytes_out, retransmissions;
	uint64_t doubted;    /* times a flow ceased to use it */
	uint64_t returned;   /* times one used it again */
	uint64_t round_trip; /* ns: the shortest to a peer; 0: none was measured */
};
/* Returns how many there are; 0: the endpoint has one NIC. */
unsigned gamma_endpoint_rails(const struct gamma_endpoint *endpoint,
			      struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX]);
/* All counters, to count what the interface layer does. */
struct gamma_stats *gamma_endpoint_counters(struct gamma_endpoint *endpoint);
/* Counts a message that an active port has handled. */
void gamma_endpoint_count_port(struct gamma_endpoint *endpoint, bool in_place);

#endif /* GAMMA_ENDPOINT_H */
