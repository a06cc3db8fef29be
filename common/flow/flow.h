/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol between two endpoints, without I/O: what an arriving frame, a passing moment
 * or an application's call does to a flow, and which frames it wants to send. Time is an
 * argument (ns, any monotonic clock), frames come and go as memory, random numbers are
 * injected. The engine runs it on links, the simulator in virtual time.
 *
 *   gamma_flow_receive(flow, fields, payload, ...)   a frame for this flow arrived
 *   gamma_transmit_poll(flow, now, frame)                the next frame to send, if any
 *   gamma_transmit_unsent(flow, frame)                   a polled frame could not leave
 *   gamma_flow_timeout(flow, now)                    a deadline passed
 *
 * Each part of the state belongs to the file named beside it; others call its functions.
 */
#ifndef GAMMA_FLOW_H
#define GAMMA_FLOW_H

#include "base/base.h"
#include "flow/ack.h"
#include "flow/congestion.h"
#include "flow/credit.h"
#include "flow/ecn.h"
#include "flow/local.h"
#include "flow/loss.h"
#include "flow/path_mtu.h"
#include "flow/rails.h"
#include "flow/receive_window.h"
#include "flow/repair.h"
#include "flow/send_window.h"
#include "flow/timers.h"
#include "wire/codec.h"

/* ---- constants of this implementation; the peer need not know them ---- */
enum {
	GAMMA_BUDGET = 64,           /* frames: any switch buffers so many, unless set otherwise */
	GAMMA_GRANT_MIN = 16,        /* frames: a flow that gets credit gets this at least */
	GAMMA_ACK_EVERY_MIN = 2,     /* frames: not more acks than one for so many */
	GAMMA_DELAY_EVERY = 16,      /* one in so many acks on data carries the ack delay */
	GAMMA_EXACT_EVERY = 13,      /* of one in so many short messages it is known exactly when it
				      * left;      prime to DELAY_EVERY, or those two might never meet */
	GAMMA_PROBE_FIRST_US = 3000, /* first probe before any round trip was measured */
	GAMMA_PROBE_MIN_US = 30,     /* no probe earlier than this */
	GAMMA_PROBE_SHM_US = 100000, /* the same toward an shm peer */
	GAMMA_PROBE_MAX_US = 500000, /* probes back off to this */
	GAMMA_FRAME_US = 12,         /* a frame under way: 1,500 bytes at 1 Gb/s */
	GAMMA_REORDER_WIDER = 16,    /* times that the reorder window may double */
	GAMMA_REORDER_KEEP = 16384,  /* frames until a window that was not needed halves again */
	GAMMA_REPAIR_FIRST = 64,     /* frames sent again that may be under way, at first, */
	GAMMA_REPAIR_LEAST = 8,      /* and after losses of these */
	GAMMA_REORDER_MIN_US = 2,    /* frames overtaken by less than this are not lost */
	GAMMA_LOOKUP_US = 2000,      /* first repetition of a LOOKUP, doubling */
	GAMMA_NO_PORT_US = 2000000,  /* programs start so far apart: until then nobody may own it */
	GAMMA_SILENT_US = 1000000,   /* nothing heard for so long: ask whether it is still there */
	GAMMA_SILENT_PART = 4,       /* ditto, at most this part of the peer timeout */
	GAMMA_IDLE_S = 600,          /* one of many peers silent for so long may have vanished */
	GAMMA_PEER_TRIES = 8,        /* unanswered probes, at least, before a peer counts as dead */
	GAMMA_KEEPALIVE_US = 1000000, /* probes while a message waits for the peer's program */
	GAMMA_MTU_TRIES = 6,          /* padded probes until the path is taken not to pass them */
	GAMMA_MTU_VERIFIES = 8,       /* padded probes that ask whether its MTU is smaller */
	GAMMA_MTU_LOSSES = 3,         /* of one large frame, until the path is doubted */
	GAMMA_SMALL_FRAME = 256, /* bytes: above it, frames count where nothing smaller helps */
	GAMMA_MTU_REFUSED_US = 10000, /* large frames refused by the link so long: ditto */
	GAMMA_MTU_BELOW_US = 200000,  /* the evidence must last so long for 1,500 bytes and less */
	GAMMA_MTU_REFUSALS = 50,   /* padded probes that the link refuses until that is evidence */
	GAMMA_MTU_REPORTS = 4,     /* first frames that carry the own MTU */
	GAMMA_BYE_US = 1000,       /* first repetition of a BYE, doubling */
	GAMMA_BYE_TRIES = 5,       /* BYEs to a peer that does not answer and has nothing open */
	GAMMA_PROBED_US = 3000000, /* a peer that probed within this may wait for us */
	GAMMA_REQUEST_US = 1000,   /* first repetition of a REQUEST, doubling */
	GAMMA_AWAY_PART = 4, /* timers late by this part of the peer timeout: we were stopped */
	GAMMA_ACK_SETTLE_US = 100000, /* a peer that lacked an ack would have asked by then */
};

enum gamma_flow_state {
	GAMMA_FLOW_LOOKUP, /* epoch unknown: nothing but LOOKUP may be sent */
	GAMMA_FLOW_OPEN,
	GAMMA_FLOW_CLOSED, /* the peer said BYE; forgotten when no frame of it can be under way */
	GAMMA_FLOW_FAILED, /* gave up: see error; its epoch is never talked to again */
};

/* Single frames that wait to be sent, besides data. */
enum gamma_pending {
	GAMMA_PENDING_LOOKUP = 1 << 0,
	GAMMA_PENDING_PROBE = 1 << 1,
	GAMMA_PENDING_PROBED = 1 << 2,    /* answer to a probe */
	GAMMA_PENDING_RECLAIMED = 1 << 3, /* answer to RECLAIM; before REQUEST, see credit.c */
	GAMMA_PENDING_REQUEST = 1 << 4,
	GAMMA_PENDING_RECLAIM = 1 << 5,
	GAMMA_PENDING_MTU = 1 << 6,
	GAMMA_PENDING_MTU_PROBED = 1 << 7,
	GAMMA_PENDING_BYE = 1 << 8,
	GAMMA_PENDING_BYE_ANSWER = 1 << 9,
	GAMMA_PENDING_CLOSED = 1 << 10, /* answer to a probe, after BYE */
	GAMMA_PENDING_MTU_VERIFY = 1 << 11,
	GAMMA_PENDING_RAILS = 1 << 12, /* questions and answers of rails: rails.h says which */
	GAMMA_PENDING_MARKS = 1 << 13, /* the count of frames that came marked */
};

/* The owner embeds it as the first member of its own. */
struct gamma_flow {
	struct gamma_local *local;
	struct gamma_addr addr; /* the peer's; epoch 0 while in LOOKUP */
	uint16_t port;          /* the peer's, host order */
	uint32_t epoch;         /* the peer's, host order */
	enum gamma_flow_state state;
	int error;        /* in FAILED and CLOSED: negative errno for what is outstanding */
	uint32_t pending; /* GAMMA_PENDING_* */
	bool same_host;   /* its frames take the local link */
	bool self;        /* the peer is this endpoint */
	bool payload_crc; /* payloads toward it carry a checksum: we, or it, want that */
	bool bye_answered;
	uint64_t bye_heard;   /* ns: when a BYE of the peer, forged or not, arrived; 0: none has */
	bool heard_of;        /* a frame of the peer has arrived */
	bool declared_dead;   /* though the peer may come back, and know nothing of it */
	uint8_t mtu_reported; /* frames that carried our MTU to the peer */
	uint8_t rail;         /* by which everything leaves that names none; 0: the first */
	uint8_t probed_rail;  /* by which that probe came */
	unsigned lookups;     /* LOOKUPs sent */
	bool looking_up;      /* a LOOKUP is out that nobody has answered */
	uint32_t lookup;      /* its number, random: answers with another one do not count */
	unsigned byes;        /* BYEs sent */
	bool bye_refused;     /* by the link, once at least */
	uint32_t probed;      /* number to answer with PROBED */
	uint64_t probed_time; /* ns: when that probe arrived */
	uint32_t mtu_probed, mtu_probed_size;  /* number and size to answer a padded probe with */
	uint64_t deadlines[GAMMA_TIMER_COUNT]; /* ns, GAMMA_NEVER: not set */
	uint64_t last_data;                    /* ns: when a DATA frame last arrived */
	struct gamma_rails *rails;             /* NULL: it has one rail */
	struct gamma_send_window tx;
	struct gamma_receive_window rx;
	struct gamma_ack_state ack;
	struct gamma_credit credit;
	struct gamma_loss loss;
	struct gamma_congestion congestion;
	struct gamma_repair repair;
	struct gamma_ecn ecn;
	struct gamma_path_mtu path_mtu;
	struct gamma_list ready_entry; /* in local->ready while it may have frames to send, or in
					* local->stalled while its link takes none */
	struct gamma_list timed_entry; /* in local->timed while a deadline is set */
	struct gamma_list all_entry;   /* in local->flows */
	uint32_t owed; /* what the peer owes while no frame is under way, messages announced or half
			* received: message/ counts */
	uint32_t expected;    /* receives posted for this very peer: the interface layer counts */
	bool has_shm_channel; /* messages may go to it without frames: the owner sets it */
	void *user;           /* the interface layer's */
	uint64_t user_tag;    /* ditto */
	const char
		*unreported; /* why it has ended, while nobody has asked anything of it; or NULL */
};

struct gamma_flow *gamma_flow_new(struct gamma_local *local, const struct gamma_addr *peer,
				  bool same_host, uint64_t now);
void gamma_flow_free(struct gamma_flow *flow); /* drops what is outstanding silently */
/* A frame that belongs to this flow; arrived: ns, when it reached the host. */
void gamma_flow_receive(struct gamma_flow *flow, const struct gamma_fields *fields,
			const uint8_t *payload, uint64_t arrived, uint64_t now);
/* The same of a frame that gamma_codec_is_simple_message, as far as its message goes, and without
 * asking for the time: the rest is left to gamma_flow_process_deferred. False: nothing has been
 * done. */
bool gamma_flow_receive_message(struct gamma_flow *flow, const struct gamma_fields *fields,
				const uint8_t *payload, uint64_t arrived);
/* Whether frames from that number on, which all bring nothing but bytes of one message, may be
 * received together: their bytes are placed first, and they are accounted for by one call. */
bool gamma_flow_takes_run(const struct gamma_flow *flow, uint32_t seq);
/* So many have been placed; flags: of all of them, and ACK_REQUESTED if one has it. */
void gamma_flow_receive_run(struct gamma_flow *flow, uint32_t count, uint8_t flags,
			    uint64_t arrived, uint64_t now);
/* Takes in what is late. */
void gamma_flow_process_deferred(struct gamma_local *local, uint64_t now);
void gamma_flow_timeout(struct gamma_flow *flow, uint64_t now);
/* Asks by LOOKUP. */
void gamma_flow_look_up(struct gamma_flow *flow);
/* Whether an answer with this number belongs to a LOOKUP of this flow that is out. */
bool gamma_flow_is_looking_up(const struct gamma_flow *flow, uint32_t number);
/* The answer to LOOKUP is here: the flow may talk. */
void gamma_flow_found(struct gamma_flow *flow, const struct gamma_addr *peer, uint64_t now);
/* Operations that wait for a peer being looked up go to another flow of that peer. */
void gamma_flow_hand_over(struct gamma_flow *from, struct gamma_flow *to);
/* Everything outstanding ends with error (negative errno). */
void gamma_flow_fail(struct gamma_flow *flow, int error, const char *cause);
/* The same, and the peer will not come back, or knows it too: once no frame of it can be under way
 * it is forgotten. */
void gamma_flow_fail_for_good(struct gamma_flow *flow, int error, const char *cause, uint64_t now);
/* The same of one that may come back: when its flow is forgotten its epoch is remembered. */
void gamma_flow_declare_dead(struct gamma_flow *flow, int error, const char *cause, uint64_t now);
/* The same where nothing is outstanding: the next operation fails with the cause. */
void gamma_flow_declare_dead_idle(struct gamma_flow *flow, int error, const char *cause,
				  uint64_t now);
#define GAMMA_DECLARED_DEAD "it was declared dead before and has not restarted"
/* An answer to LOOKUP says that the peer, silent for long, is still there. */
void gamma_flow_still_there(struct gamma_flow *flow, uint64_t now);
/* The peer has answered a probe, or another says that it is there: a BYE in its name was forged. */
void gamma_flow_refute_bye(struct gamma_flow *flow);
/* The peer has said BYE, and it is known for certain that it was the peer. */
void gamma_flow_believe_bye(struct gamma_flow *flow, uint64_t now);
/* Nobody owns the peer's port: the flow fails, unless it is so young that the owner may be late. */
void gamma_flow_no_port(struct gamma_flow *flow, uint64_t now);
/* The peer is no more, as is known for certain; left: nor has it taken all that is not
 * acknowledged. */
void gamma_flow_process_ended(struct gamma_flow *flow, const char *cause, bool left, uint64_t now);
/* An operation was to be posted to a peer that is gone: returns why not (negative errno). An end
 * that was not reported, since nothing was outstanding, is reported now, once. */
int gamma_flow_refuse_post(struct gamma_flow *flow);
/* Begins to say BYE. */
void gamma_flow_bye(struct gamma_flow *flow, uint64_t now);
/* How long of the linger bound a closing endpoint waits for acknowledgements, ns: in the rest it
 * says BYE. */
uint64_t gamma_flow_drain_time(uint64_t linger);
/* Whether a closing endpoint should wait for this flow: something is not acknowledged, the peer
 * may not know yet that its own frames have arrived, or has not got enough BYEs, whether it waits
 * for this endpoint or not. */
bool gamma_flow_unfinished(const struct gamma_flow *flow, uint64_t now);
bool gamma_flow_unacked(const struct gamma_flow *flow);

static inline bool gamma_flow_usable(const struct gamma_flow *flow)
{
	return flow->state <= GAMMA_FLOW_OPEN;
}

static inline void gamma_flow_ready(struct gamma_flow *flow)
{
	if (gamma_list_empty(&flow->ready_entry))
		gamma_list_append(&flow->local->ready, &flow->ready_entry);
}

static inline void gamma_flow_want(struct gamma_flow *flow, enum gamma_pending what)
{
	flow->pending |= what;
	gamma_flow_ready(flow);
}

/* "node 02:47:41:4d:00:02 port 9228 epoch 1a2b3c4d", for messages to people. */
#define GAMMA_NAME_LEN 72
const char *gamma_flow_addr_name(const struct gamma_addr *addr, char name[GAMMA_NAME_LEN]);

#endif /* GAMMA_FLOW_H */
