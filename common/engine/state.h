/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint and its view of a flow: what the files of engine/ share. */
#ifndef GAMMA_ENGINE_STATE_H
#define GAMMA_ENGINE_STATE_H

#include <sys/types.h>
#include "engine/aliases.h"
#include "engine/budget.h"
#include "engine/dead_peers.h"
#include "engine/endpoint.h"
#include "engine/lending.h"
#include "engine/links.h"
#include "engine/rx_moderation.h"
#include "engine/send_coalescing.h"
#include "engine/shm_copy_model.h"
#include "engine/stats_page.h"
#include "message/local.h"
#include "shm/shm.h"

enum {
	GAMMA_BURST = 64, /* frames handed to a link at once */
};

/* A flow, as the engine sees it. */
struct gamma_peer {
	struct gamma_message_flow messages;
	struct gamma_flow *hash_next; /* in the endpoint's table */
	struct gamma_send_coalescing coalescing;
	struct gamma_tx_channel *tx_channel; /* messages without frames go by it; or NULL */
	struct gamma_shm_copy_model copy_model;
	struct gamma_alias *aliases[GAMMA_RAILS_MAX]; /* by rail; NULL: none */
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
	unsigned train; /* full frames that leave in one call by the link with the longest trains;
			 * 0: none has trains */
	struct gamma_shm *shm;
	struct gamma_list groups; /* struct gamma_group */
	int groups_fd;            /* epoll of their sockets; -1: none was joined */
	struct gamma_datagram_names *datagram_names; /* NULL: no datagram went to a name */
	int ifindex;
	uint8_t prefix;                 /* of UDP: bits of the address that name the subnet, or 0 */
	const char *broker;             /* gammad's socket, if its own are gammad's; else NULL */
	uint8_t nic_mac[GAMMA_MAC_LEN]; /* ditto: of the NIC below its own */
	int error;         /* negative errno: it has ended, nothing is sent any more; else 0 */
	const char *cause; /* why, for users */
	struct gamma_flow **chains; /* flows by MAC and port: peers.c */
	uint32_t chain_count;       /* a power of two */
	uint32_t flow_count;
	uint64_t sweep_at; /* ns: when there may be too many of them again */
	struct gamma_dead_peers dead_peers;
	uint32_t shm_peers;        /* flows over the shm link */
	bool host_datagrams;       /* has sent a datagram over it */
	bool backpressure;         /* on: shm peers send frames instead of inline messages */
	uint64_t round;            /* polls so far */
	uint32_t idle;             /* polls in a row that found nothing */
	uint32_t unread;           /* polls since the clock was read */
	uint32_t resets;           /* RESETs sent in this progress call */
	bool version_reported;     /* that a peer has another protocol version */
	bool translation_reported; /* that a peer's address is translated (NAT) */
	bool datagram;
	struct gamma_link *holds; /* the slot of the frame that local.deferred is about; or NULL */
	struct gamma_lending lending;
	uint64_t call_ns; /* what handing a frame to the network takes at least; 0: unknown */
	struct gamma_rx_moderation moderation;
	uint64_t stalled_until; /* ns: when stalled flows are tried again; 0: there are none */
	uint64_t packet_until; /* ns: the packet link, one queue for its flows, takes none before */
	uint32_t stalls[2];    /* in a row, nothing taken in between: packet, shm */
	struct gamma_rail_link rails[GAMMA_RAILS_MAX]; /* but the first: `packet` */
	uint8_t rails_removed;                         /* bits: their NICs are no more */
	uint8_t rails_came; /* bits: frames have come by them since the last housekeeping */
	uint8_t rails_quiet[GAMMA_RAILS_MAX]; /* rounds of it since one has come */
	uint8_t udp_mac[GAMMA_MAC_LEN]; /* of a link over UDP opened unasked: its pseudo address */
	uint64_t nics_at;               /* ns: when to look for them again */
	struct gamma_alias **aliases;   /* NULL: one rail */
	int64_t clock_offset;           /* ns: CLOCK_REALTIME minus CLOCK_MONOTONIC */
	uint64_t clock_read;            /* ns: when that was read */
	uint64_t house_at;              /* ns: no housekeeping before this */
	pid_t owner;
	uint64_t linger; /* ns */
	struct gamma_budget budget;
	struct gamma_frame burst[GAMMA_BURST];
	uint64_t same_host_frames, same_host_bytes; /* sent over the shm link */
	struct gamma_stats_view view;
};

#endif /* GAMMA_ENGINE_STATE_H */
