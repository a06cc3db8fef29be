/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* State that the flows of an endpoint share: identity, limits, credit pool, buffers. */
#ifndef GAMMA_FLOW_LOCAL_H
#define GAMMA_FLOW_LOCAL_H

#include "base/base.h"
#include "base/histogram.h"
#include "base/random.h"
#include "base/stats.h"
#include "flow/credit.h"
#include "wire/envelope.h"

struct gamma_flow;

/* A copied payload, kept until acknowledged, with room in front for every header. */
struct gamma_buffer {
	struct gamma_buffer *next; /* in the pool */
	struct gamma_content content;
	uint32_t len; /* payload bytes */
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX];
	uint8_t payload[];
};

struct gamma_limits {
	uint32_t mtu;             /* bytes after the Ethernet header: own NIC's */
	uint32_t local_mtu;       /* bytes, toward peers on the same host */
	uint32_t inject_size;     /* bytes: a message up to this is copied */
	uint32_t copy_size;       /* bytes: ditto, while nothing else is under way to the peer */
	uint64_t eager_size;      /* bytes: a message up to this does not wait for a match */
	uint64_t unexpected_size; /* bytes kept of messages that nobody has asked for, in all */
	uint64_t peer_timeout;    /* ns */
	uint64_t forget;          /* ns that a closed flow is remembered */
	bool payload_crc;         /* checksum over payloads, both ways */
	bool random_start;        /* frame numbers begin at random, else at 0 */
	uint16_t overhead;        /* bytes of the headers of IP and UDP before a frame; raw: 0 */
	uint32_t rail_mtu;        /* bytes: largest MTU of the NICs, if there are several; else 0 */
	uint64_t frame_ns; /* ns that a full frame takes at the slowest NIC's speed; 0: unknown */
};

/* One of the endpoint's own NICs, if it has several. */
struct gamma_own_rail {
	uint8_t mac[GAMMA_MAC_LEN];
	uint32_t mtu;   /* bytes after the Ethernet header, of a NIC now; too few: it is not used */
	uint32_t most;  /* ditto, when the endpoint was opened */
	uint32_t train; /* full frames that leave by it in one call; 0: they leave singly */
	uint8_t twin; /* 1 + the rail of the same NIC, the one raw, the other one over UDP; or 0 */
	bool no_carrier;  /* when it was looked at last */
	uint32_t doubted; /* flows that do not use it, since it does not answer */
	/* Counters; the first one's frames are not counted: they are what no other has sent. */
	uint64_t frames_out, bytes_out, retransmissions; /* the owner's */
	uint64_t doubts, returns; /* times a flow ceased to use it, and used it again */
	bool silent_reported;     /* that peers never answer on it */
};

/* Acknowledgement and number of a frame on the fast path, whose message has been delivered already:
 * processed when the program has answered the message, or at the next occasion. */
struct gamma_deferred_ack {
	struct gamma_flow *flow; /* NULL: nothing */
	bool has_ack;
	uint32_t ack, limit; /* the frame's */
	uint32_t seq;        /* ditto */
	uint64_t arrived;    /* ns: when it reached the host, by the kernel's clock */
};

/* State that the flows of one endpoint share. The owner embeds it as the first member of its own.
 */
struct gamma_local {
	struct gamma_addr addr; /* own */
	uint16_t port;          /* host order */
	uint32_t epoch;         /* host order, never 0 */
	uint32_t tenant;
	uint16_t ethertype;
	struct gamma_limits limits;
	struct gamma_credit_pool pool;
	struct gamma_list flows;
	struct gamma_list ready;      /* flows that may have frames to send, served in turn */
	struct gamma_list stalled;    /* flows that would be ready if their link took frames */
	struct gamma_list timed;      /* flows with a deadline */
	uint64_t resumed;             /* ns: when timers last ran after this process was stopped */
	uint64_t next_deadline;       /* ns: not later than the earliest deadline of a flow */
	struct gamma_buffer *buffers; /* pool of free ones */
	size_t flow_size; /* bytes that gamma_flow_new allocates: of the owner's structure, which
			   * begins with struct gamma_flow */
	/* The owner's: a closed flow may be removed and freed. */
	void (*forget)(struct gamma_local *local, struct gamma_flow *flow, uint64_t now);
	struct gamma_deferred_ack deferred;
	uint32_t early_frames; /* kept until their turn, or in parts, of all flows: at most the
				* ring's      slots, so that unknown peers cannot fill the memory */
	bool refused_data;     /* no memory: a DATA frame was not taken */
	uint8_t *zeros;        /* payload of padded probes: limits.mtu bytes */
	struct gamma_stats stats;
	struct gamma_histogram round_trips; /* of the samples of all flows, the network's alone */
	struct gamma_random random; /* of numbers that peers must echo; the owner sets the key */
	uint8_t rail_count;         /* own NICs; 0 or 1: one, and own_rails is not used */
	uint8_t rail;               /* by which the frame came that is dispatched now */
	const uint8_t *ecn; /* enum gamma_ecn_mark of that frame; NULL: the link does not know */
	uint8_t rails_busy; /* bits: their links take no frame now; the owner sets them */
	uint8_t rails_udp;  /* bits: they are over UDP, beside raw ones, for long messages */
	/* The owner's: uses a link over UDP, which it has opened unasked, as a rail from now on;
	 * false: it cannot. NULL: it has none, and all flows have what rails there are. */
	bool (*use_udp)(struct gamma_local *local);
	/* The owner's: whether that NIC has its carrier; NULL: not known. */
	bool (*has_carrier)(struct gamma_local *local, uint8_t rail);
	struct gamma_own_rail own_rails[GAMMA_RAILS_MAX];
	struct gamma_rails_list list; /* of own_rails, as it leaves */
	/* The owner's: frames from that MAC address by that rail are of this flow. */
	void (*alias)(struct gamma_local *local, struct gamma_flow *flow, uint8_t rail,
		      const uint8_t mac[GAMMA_MAC_LEN]);
};

void gamma_local_init(struct gamma_local *local, const struct gamma_addr *own, uint32_t tenant,
		      const struct gamma_limits *limits, uint32_t slots);
void gamma_local_fini(struct gamma_local *local);
struct gamma_buffer *gamma_local_get_buffer(struct gamma_local *local); /* NULL: no memory */
uint32_t gamma_local_buffer_size(const struct gamma_local *local);      /* bytes of payload */
void gamma_local_put_buffer(struct gamma_local *local, struct gamma_buffer *buffer);

/* Whether that NIC is used over UDP, beside raw ones. */
static inline bool gamma_local_rail_is_udp(const struct gamma_local *local, unsigned rail)
{
	return local->rails_udp >> rail & 1;
}

/* The other rail of that one's NIC; GAMMA_RAILS_MAX: it has none. */
static inline unsigned gamma_local_twin(const struct gamma_local *local, unsigned rail)
{
	unsigned twin = local->own_rails[rail].twin;

	return twin ? twin - 1 : GAMMA_RAILS_MAX;
}

#endif /* GAMMA_FLOW_LOCAL_H */
