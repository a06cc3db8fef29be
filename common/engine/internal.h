/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint's structure and functions, shared by the files of engine/ only. */
#ifndef GAMMA_ENGINE_INTERNAL_H
#define GAMMA_ENGINE_INTERNAL_H

#include <sys/types.h>

#include "engine/endpoint.h"
#include "flow/transmit.h"
#include "message/coalesce.h"
#include "message/local.h"
#include "message/rndv_shm.h"
#include "nic/budget_page.h"
#include "shm/shm.h"

enum {
	GAMMA_BURST = 64,        /* frames handed to a link at once */
	GAMMA_POLL_BUDGET = 64,  /* frames taken from a link in one progress call */
	GAMMA_SEND_BUDGET = 128, /* frames sent in one progress call, at most */
	GAMMA_SEND_LEAST = 4,    /* ditto, at least */
	GAMMA_SEND_US = 48,      /* how long that may take */
	GAMMA_COALESCE_AFTER =
		4, /* messages of a burst (to one peer, between two polls) that leave at once */
	GAMMA_COALESCE_LONG = 16, /* after a burst of so many only the first does */
	GAMMA_FLOW_TURN = 32,     /* frames of one flow before the next one's turn */
	GAMMA_IDLE_SKIP = 16,     /* polls that found nothing before the clock is read */
	GAMMA_YIELD_SHM =
		256, /* empty polls before the caller should yield, with peers on this host */
	GAMMA_YIELD = 2048,    /* ditto without */
	GAMMA_CALL_US = 2,     /* longest assumed duration of a send call, until one was measured */
	GAMMA_STALL_US = 20,   /* a link that refused frames is tried again after this */
	GAMMA_STALLS_MAX = 6,  /* doublings of that while it keeps refusing */
	GAMMA_COPY_MIN = 4096, /* bytes: shorter copies are not timed */
	GAMMA_COPY_MAX = 16384,     /* bytes: more does not fit in a record */
	GAMMA_CHUNK = 16384,        /* bytes of a longer message that are written in one record */
	GAMMA_CHUNKS_TURN = 131072, /* bytes of chunks written in one progress call, if the reader
				       asked for more */
	GAMMA_CHUNKS_ASK_NS = 400,  /* no chunk for so long: the reader asks for more */
	GAMMA_CHUNKS_END_NS = 1200, /* ditto: the kernel reads the rest */
	GAMMA_READ_FIRST =
		131072, /* bytes that it reads before the reader looks for chunks again; doubling */
	GAMMA_RX_MODERATION_US = 20,      /* the packet link is not polled for so long, at most */
	GAMMA_RX_MODERATION_LEAST_US = 3, /* ditto, at least: less is not worth while */
	GAMMA_RX_MODERATION_NS_BYTE = 4,  /* ns per byte: slower frames are polled for as usual */
	GAMMA_RX_MODERATION_WINDOW = 8, /* part of the granted credit that may be used meanwhile */
	GAMMA_HOUSE_US = 1000,          /* between two rounds of housekeeping */
	GAMMA_RESETS_MAX = 8,           /* RESETs in one progress call */
	GAMMA_FLOWS_MAX = 65536,        /* flows that unknown peers may open */
	GAMMA_DEAD_PEERS_MAX = 1 << 20, /* dead peers that are remembered: 24 MiB */
	GAMMA_SWEEP_FLOWS =
		1024,       /* with more flows, peers that have been silent for long are probed */
	GAMMA_SWEEP_S = 60, /* between two times that this is done */
	GAMMA_PEERS_FIRST = 64, /* chains of the flow table at first */
};

/* Bulk data that may be in flight to this endpoint's NIC: budget.c */
struct gamma_budget {
	struct gamma_budget_page
		*share;          /* shared with the NIC's other endpoints; NULL: not shared */
	uint64_t least;          /* bytes: the NIC's budget, if the path does not hold more */
	uint64_t speed;          /* of the NIC, bits/s; 0: unknown */
	uint32_t frames;         /* of this endpoint's MTU: the NIC's budget */
	uint64_t measure_at;     /* ns: when frames is computed again */
	uint32_t bulk;           /* senders of bulk data seen lately */
	uint64_t bulk_at;        /* ns: when */
	uint32_t halved;         /* the pool's counter when it was last read */
	uint64_t lost;           /* ns: when it last rose */
	uint64_t lost_elsewhere; /* ns: the latest loss of another endpoint that is known */
};

/* The packet link is not polled while a long message arrives: rx_moderation.c */
struct gamma_rx_moderation {
	uint64_t until;  /* ns: until then; 0: it is polled */
	uint64_t looked; /* ns: when frames were last found */
	uint64_t bytes;  /* received by then */
};

/* Dead peers whose flows have been freed: dead_peers.c */
struct gamma_dead_peers {
	struct gamma_dead_peer *entries;
	uint32_t size;  /* a power of two, or 0 */
	uint32_t count; /* entries used */
	uint32_t most;  /* entries allowed */
	bool full_warned;
};

/* Messages posted to a peer between two polls: send_coalescing.c */
struct gamma_send_coalescing {
	uint64_t round; /* the poll before them */
	uint32_t count; /* so far */
	uint32_t bytes; /* of those that wait to share a frame, with what precedes each in it */
	uint32_t room;  /* bytes that such a frame can take */
	bool was_long;  /* the row before was */
	bool more;      /* the last one said that others follow */
};

/* Whether several pages to an shm peer are copied: shm_copy_model.c */
struct gamma_shm_copy_model {
	uint32_t kib_ns; /* what a copy of 1,024 bytes took; 0: not known */
	uint32_t
		read_ns; /* until the peer has as much of what comes in chunks, as it says; ditto */
	uint64_t second_at; /* ns: when the second chunk of a message came */
	uint16_t left;      /* such messages before the next copy that is timed */
	uint16_t rest;      /* of them, after the last one that took too long */
	bool timed;         /* how long the next copy takes is to be told */
	bool doubted;       /* the last one told took much longer than those before */
};

/* A flow, as the engine sees it. */
struct gamma_peer {
	struct gamma_message_flow messages;
	struct gamma_flow *hash_next; /* in the endpoint's table */
	struct gamma_send_coalescing coalescing;
	struct gamma_tx_channel *tx_channel; /* messages without frames go by it; or NULL */
	struct gamma_shm_copy_model copy_model;
};

static inline struct gamma_peer *gamma_peer(const struct gamma_flow *flow)
{
	return gamma_container_of(flow, struct gamma_peer, messages.flow);
}

struct gamma_endpoint {
	union { /* one object, as flow/ sees it, and message/ */
		struct gamma_local local;
		struct gamma_message_local messages;
	};
	struct gamma_endpoint_handlers handlers;
	void *context;
	struct gamma_link *packet;
	struct gamma_shm *shm;
	struct gamma_list groups; /* struct gamma_group */
	int groups_fd;            /* epoll of their sockets; -1: none was joined */
	int ifindex;
	const char *broker;             /* gammad's socket, if its own are gammad's; else NULL */
	uint8_t nic_mac[GAMMA_MAC_LEN]; /* ditto: of the NIC below its own */
	int error; /* negative errno: gammad has revoked it, nothing is sent any more; else 0 */
	struct gamma_flow **chains; /* flows by MAC and port: peers.c */
	uint32_t chain_count;       /* a power of two */
	uint32_t flow_count;
	uint64_t sweep_at; /* ns: when there may be too many of them again */
	struct gamma_dead_peers dead_peers;
	uint32_t shm_peers;    /* flows over the shm link */
	bool host_datagrams;   /* has sent a datagram over it */
	bool backpressure;     /* on: shm peers send frames instead of inline messages */
	uint64_t round;        /* polls so far */
	uint32_t idle;         /* polls in a row that found nothing */
	uint32_t unread;       /* polls since the clock was read */
	uint32_t resets;       /* RESETs sent in this progress call */
	bool version_reported; /* that somebody has another protocol version */
	bool datagram;
	bool holds;       /* the slot of the frame that local.deferred is about */
	uint64_t call_ns; /* what handing a frame to the network takes at least; 0: unknown */
	struct gamma_rx_moderation moderation;
	uint64_t stalled_until; /* ns: when stalled flows are tried again; 0: there are none */
	uint64_t packet_until; /* ns: the packet link, one queue for its flows, takes none before */
	uint32_t stalls[2];    /* in a row, nothing taken in between: packet, shm */
	int64_t clock_offset;  /* ns: CLOCK_REALTIME minus CLOCK_MONOTONIC */
	uint64_t clock_read;   /* ns: when that was read */
	uint64_t house_at;     /* ns: no housekeeping before this */
	pid_t owner;
	uint64_t linger; /* ns */
	struct gamma_budget budget;
	struct gamma_frame burst[GAMMA_BURST];
};

/* ---- groups.c ---- */
struct gamma_group {
	struct gamma_list entry;
	struct gamma_addr addr; /* MAC and port */
	struct gamma_link
		*link; /* NULL: nothing is received, and it is sent on the endpoint's own */
	bool brokered; /* gammad lets the endpoint send to it, until it leaves */
};
void gamma_groups_init(struct gamma_endpoint *endpoint);
void gamma_groups_close(struct gamma_endpoint *endpoint);
/* Takes frames in; returns how many. */
unsigned gamma_groups_receive(struct gamma_endpoint *endpoint);
/* True: a frame waits already. */
bool gamma_groups_arm(struct gamma_endpoint *endpoint);

/* ---- budget.c ---- */
void gamma_budget_open(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr);
/* Now and then while frames arrive: the part for this endpoint's senders. */
void gamma_budget_divide(struct gamma_endpoint *endpoint, uint64_t now);
void gamma_budget_close(struct gamma_endpoint *endpoint);

/* ---- dead_peers.c ---- */
/* The flow of a peer that was declared dead is about to be freed. False: no memory, or too many. */
bool gamma_dead_peers_add(struct gamma_dead_peers *dead, const struct gamma_flow *flow);
/* Whether such a flow led where this one does. */
bool gamma_dead_peers_has(const struct gamma_dead_peers *dead, const struct gamma_flow *flow);
void gamma_dead_peers_free(struct gamma_dead_peers *dead);

/* ---- peers.c ---- */
int gamma_peers_init(struct gamma_endpoint *endpoint);
void gamma_peers_fini(struct gamma_endpoint *endpoint);
uint32_t gamma_peers_hash(const uint8_t mac[GAMMA_MAC_LEN], uint16_t port);
struct gamma_flow *gamma_peers_find(const struct gamma_endpoint *endpoint,
				    const uint8_t mac[GAMMA_MAC_LEN], uint16_t port,
				    uint32_t epoch);
/* The flow of that NIC and port that may be used now, whatever its epoch. */
struct gamma_flow *gamma_peers_any(const struct gamma_endpoint *endpoint,
				   const uint8_t mac[GAMMA_MAC_LEN], uint16_t port);
struct gamma_flow *gamma_peers_add(struct gamma_endpoint *endpoint, const struct gamma_addr *peer,
				   uint64_t now);
/* The answer to a LOOKUP: the flow opens, maybe to another MAC than the one asked. */
void gamma_peers_found(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		       const struct gamma_addr *found, uint64_t now);
void gamma_peers_forget(struct gamma_local *local, struct gamma_flow *flow, uint64_t now);
/* Strangers come: if there are many flows, those whose peers may have vanished are looked into. */
void gamma_peers_sweep(struct gamma_endpoint *endpoint, uint64_t now);
bool gamma_peers_same_host(const struct gamma_endpoint *endpoint, const struct gamma_addr *peer);

/* ---- dispatch.c ---- */
void gamma_dispatch(struct gamma_endpoint *endpoint, struct gamma_link *link,
		    const struct gamma_arrival *arrival, uint64_t now);

/* The offending frame's epochs and number come back: only who sent it, from mac, can make use of
 * it. */
void gamma_dispatch_send_reset(struct gamma_endpoint *endpoint, struct gamma_link *link,
			       const uint8_t *mac, const struct gamma_fields *to,
			       enum gamma_reset_op why);
void gamma_dispatch_group(struct gamma_endpoint *endpoint, const struct gamma_group *group,
			  const struct gamma_arrival *arrival);

/* ---- row.c ---- */
/* A message is posted, after so many polls: whether it waits for others to share a frame with. len:
 * bytes that it takes there, 0: it does not share one; may_delay, more: as in struct gamma_send. */
bool gamma_send_coalescing_delays(struct gamma_flow *flow, uint64_t len, bool may_delay, bool more,
				  uint64_t round);

/* ---- rest.c ---- */
/* So many frames have been found, all there were: how long to let others gather. */
void gamma_rx_moderation_plan(struct gamma_rx_moderation *rest,
			      const struct gamma_message_local *messages, unsigned taken,
			      uint64_t now);

/* ---- copying.c ---- */
/* Whether the several pages that have been posted, len bytes, are to be copied: also in `on`. */
bool gamma_shm_copy_model_choose(struct gamma_shm_copy_model *copying, uint64_t len);
/* Whether they are to be written in chunks, if they can be. */
bool gamma_shm_copy_model_in_chunks(const struct gamma_shm_copy_model *copying, uint64_t len);
/* What a copy of a KiB takes, after a further one, in ns. */
uint32_t gamma_shm_copy_model_smooth(uint32_t known, uint32_t kib_ns);
/* How long one copy of them, or of a part, took: of the first after `timed` has been set. */
void gamma_shm_copy_model_record(struct gamma_shm_copy_model *copying, uint64_t len, uint64_t ns);

/* ---- shm_path.c ---- */
/* Finds the channel to an shm peer, if that takes inline messages by now. */
void gamma_shm_path_find_channel(struct gamma_endpoint *endpoint, struct gamma_flow *flow);
/* Sends a short message, which is complete then, by its channel. False: nothing has been done.
 */
bool gamma_shm_path_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			 const struct iovec *iov, unsigned iov_count,
			 const struct gamma_envelope *envelope);
/* The same for a large one, of which its announcement is sent, if nothing stands before it, and as
 * many chunks as there is room for, where copies pay. */
bool gamma_shm_path_announce(struct gamma_flow *flow, struct gamma_send *send);
/* Writes what receivers have asked for. */
void gamma_shm_path_feed(struct gamma_endpoint *endpoint);
/* Writes a record to an shm peer. False: it cannot be written. */
bool gamma_shm_path_put(struct gamma_flow *flow, struct gamma_shm_message *plain);
/* Nothing that was announced to it must be read any more: the flow comes to its end. */
void gamma_shm_path_withdraw(struct gamma_flow *flow);
/* An inline message, an announcement or an answer has arrived. False: no memory; it stays in the
 * channel. */
bool gamma_shm_path_receive(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival);
/* Whether inline messages of the flow wait in the channel. */
bool gamma_shm_path_has_undelivered(const struct gamma_flow *flow);
/* Turns back-pressure off, if there is room: shm peers may send inline messages again. */
void gamma_shm_path_relax(struct gamma_endpoint *endpoint);

/* ---- fastpath.c ---- */
/* As gamma_dispatch, for a frame from the network that brings a short message and hardly anything
 * else. Does not read the clock; gamma_fastpath_process_deferred does the rest. False: it is not
 * such a frame, and nothing has been done. */
bool gamma_fastpath_receive(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival);
/* Processes what the last such frame reported besides its message, and releases its slot. */
void gamma_fastpath_process_deferred(struct gamma_endpoint *endpoint, uint64_t now);
/* The same if there is anything to process; returns the time if it was read, else 0. */
uint64_t gamma_fastpath_process_any(struct gamma_endpoint *endpoint);
/* gamma_transmit_direct, and its frame to the link. False: nothing has been done. */
bool gamma_fastpath_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			 const struct iovec *iov, unsigned iov_count,
			 const struct gamma_envelope *envelope);

/* ---- output.c ---- */
/* Accounts for a burst of count frames, of which the link took sent. False: the link is full. */
bool gamma_output_account(struct gamma_endpoint *endpoint, struct gamma_link *link, bool same_host,
			  unsigned count, unsigned sent, int error, uint64_t now);
void gamma_output(struct gamma_endpoint *endpoint, uint64_t now);
/* What one flow has to send, and no other: messages to other peers may wait for more to come. */
void gamma_output_flow(struct gamma_endpoint *endpoint, struct gamma_flow *flow);
/* One frame that belongs to no flow. False: it has not left, and might later. */
bool gamma_output_single(struct gamma_endpoint *endpoint, struct gamma_link *link,
			 const struct gamma_frame *frame);

#endif /* GAMMA_ENGINE_INTERNAL_H */
