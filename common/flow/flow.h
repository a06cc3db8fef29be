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

#include <sys/uio.h>

#include "base/base.h"
#include "base/stats.h"
#include "wire/codec.h"
#include "wire/frame.h"
#include "message/message.h"

struct gamma_flow;
struct gamma_tx_channel;

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
	GAMMA_PROBE_SHM_US = 100000, /* the same toward a neighbour on this host */
	GAMMA_PROBE_MAX_US = 500000, /* probes back off to this */
	GAMMA_FRAME_US = 12,         /* a frame under way: 1,500 bytes at 1 Gb/s */
	GAMMA_REORDER_WIDER = 16,    /* times that the reorder window may double */
	GAMMA_REORDER_KEEP = 16384,  /* frames until a window that was not needed halves again */
	GAMMA_REORDER_MIN_US = 2,    /* frames overtaken by less than this are not lost */
	GAMMA_LOOKUP_US = 2000,      /* first repetition of a LOOKUP, doubling */
	GAMMA_NO_PORT_US = 2000000,  /* programs start so far apart: until then nobody may own it */
	GAMMA_SILENT_US = 1000000,   /* nothing heard for so long: ask whether it is still there */
	GAMMA_SILENT_PART = 4,       /* ditto, at most this part of the peer timeout */
	GAMMA_IDLE_S = 600,          /* one of many peers silent for so long may have vanished */
	GAMMA_PEER_TRIES = 8,        /* probes, at least, in vain before a peer counts as dead */
	GAMMA_KEEPALIVE_US = 1000000, /* probes while a message waits for the peer's program */
	GAMMA_MTU_TRIES = 6,          /* padded probes until the path is taken not to pass them */
	GAMMA_MTU_LOSSES = 3,         /* of one large frame, until the path is doubted */
	GAMMA_MTU_REFUSED_US = 10000, /* large frames refused by the link so long: ditto */
	GAMMA_MTU_REFUSALS = 50,   /* padded probes that the link refuses until that is evidence */
	GAMMA_MTU_REPORTS = 4,     /* first frames that carry the own MTU */
	GAMMA_BYE_US = 1000,       /* first repetition of a BYE, doubling */
	GAMMA_BYE_TRIES = 5,       /* BYEs to one who does not answer and has nothing open */
	GAMMA_PROBED_US = 3000000, /* who has sent a PROBE within this may still wait for us */
	GAMMA_REQUEST_US = 1000,   /* first repetition of a REQUEST, doubling */
	GAMMA_AWAY_PART = 4, /* timers late by this part of the peer timeout: we were stopped */
	GAMMA_ACK_SETTLE_US = 100000, /* a peer that lacked an ack would have asked by then */
};

/* A copied payload, kept until acknowledged, with room in front for every header. */
struct gamma_buffer {
	struct gamma_buffer *next; /* in the pool */
	struct gamma_content content;
	uint32_t len; /* payload bytes */
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX];
	uint8_t payload[];
};

/* A DATA frame that is not acknowledged yet. */
enum gamma_sent_state {
	GAMMA_SENT_FLYING,  /* transmitted, nothing heard of it */
	GAMMA_SENT_LOST,    /* to be transmitted again */
	GAMMA_SENT_ARRIVED, /* selectively acknowledged */
};
struct gamma_sent {
	uint64_t time;   /* ns: latest transmission */
	uint64_t serial; /* of that transmission, in the order of transmissions of this flow */
	struct gamma_send *send;     /* whose bytes it carries, or NULL */
	struct gamma_buffer *buffer; /* its payload was copied here, or NULL: in place */
	uint64_t offset;             /* bytes: of the fragment in the message */
	uint32_t len;                /* payload bytes */
	uint16_t ahead;              /* frames: under way when it was first transmitted */
	uint8_t state;               /* enum gamma_sent_state */
	uint8_t again;               /* transmitted more than once (saturates) */
	uint32_t part;  /* bytes that have left, of one that leaves in parts; 0: none */
	uint8_t large;  /* its latest transmission, or a part of it, was larger than every Ethernet
			 * passes */
	uint8_t unsent; /* to be transmitted because the link refused it: not a retransmission */
	uint8_t op;
	uint8_t approximate; /* `time` was noted afterwards: it may be too late */
};

/* ---- sender's side of the sequence: send_window.c ---- */
struct gamma_send_window {
	uint32_t next;       /* number of the next new frame */
	uint32_t una;        /* oldest not acknowledged */
	uint32_t limit;      /* credit: frames sent plus credit given back stay below this */
	uint32_t returned;   /* credit given back so far, in frames */
	bool bounded;        /* the receiver grants less than it would without a slow port */
	uint32_t short_sent; /* if so: one past the last frame that did not fill one, or una */
	uint32_t asked;      /* one past the last frame that asked for an acknowledgement */
	uint32_t acked;      /* if held_back: as una would be */
	uint32_t acked_cuts; /* if held_back: messages cut, as the acknowledgement counts them */
	bool held_back; /* what is acknowledged must stay, since notices of CUT are still to come */
	uint32_t backlog_sent;   /* next after the last new frame that said BACKLOG */
	uint32_t size;           /* entries of sent[], a power of two, grows to GAMMA_WINDOW_MAX */
	uint32_t lost;           /* frames in state LOST */
	uint32_t lost_from;      /* no LOST frame before this number */
	uint64_t serial;         /* transmissions so far */
	bool sending_parts;      /* the parts of a frame are leaving */
	uint32_t part_seq;       /* its number */
	struct gamma_sent *sent; /* by number modulo size */
};

/* ---- receiver's side: receive_window.c ---- */
struct gamma_early_frame; /* an early frame kept until its turn */
struct gamma_reassembly;  /* a frame of which parts have come: parts.c */
struct gamma_receive_window {
	uint32_t next;      /* every frame before this has arrived */
	uint32_t highest;   /* one past the highest number that arrived */
	uint32_t arrived;   /* distinct frames arrived so far */
	uint32_t last;      /* the frame that arrived last, for the ack delay */
	uint64_t last_time; /* ns: when */
	bool no_memory;     /* an early frame's turn has come, but there was no memory for it */
	uint64_t bits[GAMMA_WINDOW_MAX / 64]; /* arrived, by number modulo GAMMA_WINDOW_MAX */
	struct gamma_early_frame *
		*early; /* by number modulo GAMMA_WINDOW_MAX; made when first needed */
	struct gamma_reassembly **parts; /* ditto */
};

/* ---- what is to be acknowledged: ack.c ---- */
struct gamma_ack_state {
	uint32_t owed;       /* frames arrived since the last acknowledgement left */
	bool now;            /* acknowledge in this progress call */
	bool echo_valid;     /* a frame arrived whose delay can be told */
	bool spurious;       /* a repetition came of what was here already */
	uint8_t skipped;     /* acks on data since one carried the delay */
	uint32_t sent_limit; /* limit in the last acknowledgement that left */
};

/* ---- credit: credit.c ---- */
struct gamma_credit {
	uint32_t limit;    /* receiver's: what this peer may reach; never lowered */
	uint32_t returned; /* receiver's: what this peer gave back of it, in all */
	uint32_t first;    /* receiver's: first credit outstanding, not in the pool's account */
	bool active;       /* receiver's: counted among the pool's active flows */
	bool bulk;         /* receiver's: the peer has more to send than fits its credit */
	bool reclaiming;   /* receiver's: RECLAIM asked, answer outstanding */
	struct gamma_list wait_entry;  /* in pool.waiting */
	struct gamma_list grant_entry; /* in pool.holders */
	bool starved;                  /* sender's: data waits, no credit; REQUEST is out */
	uint32_t backoff;              /* sender's: REQUESTs so far */
	uint64_t asked_at;             /* receiver's: pool.arrivals when the peer last asked */
	uint64_t used_at; /* receiver's: pool.arrivals when it was granted some, or last sent */
};

/* ---- round trip, loss, probing: loss.c ---- */
struct gamma_loss {
	uint64_t rtt, rtt_min;       /* ns, the network's alone; 0: not measured yet */
	uint64_t answer, answer_var; /* ns: round trip with the delay of a peer that polls */
	uint64_t last_sent;          /* ns: latest transmission */
	uint64_t rack_serial;        /* of the latest transmission known to have arrived */
	uint64_t rack_rtt;           /* ns: its round trip */
	uint8_t wide;                /* the reorder window is doubled so often */
	uint64_t wide_serial;        /* transmissions when that was last decided */
	uint32_t probe;              /* number of the last probe */
	bool probing;                /* it is not answered yet */
	uint64_t probe_time;         /* ns: when it left */
	uint64_t probe_serial;       /* transmissions before it */
	uint32_t backoff;            /* probes unanswered in a row */
	uint64_t heard;              /* ns: when the peer was last heard */
	uint64_t waiting_since;      /* ns: since when something is owed without any sign of life */
	uint64_t asked;    /* ns: when LOOKUP last asked whether the peer is still there */
	bool stall_logged; /* that it is, but does not move, has been said */
	bool doubted;      /* it is asked though nothing is owed */
};

/* ---- largest frame toward this peer: mtu.c ---- */
struct gamma_path_mtu {
	uint32_t mtu;            /* bytes after the Ethernet header, in use now */
	uint32_t peer_mtu;       /* the peer's own, 0: not known yet */
	uint32_t target;         /* size being probed, 0: none */
	uint32_t given_up;       /* size that was probed in vain, 0: none; answers may still come */
	uint32_t probe;          /* number of the last padded probe */
	uint32_t first;          /* number of the first one whose answer counts */
	uint64_t asked;          /* ns: when the last padded probe was asked for */
	uint64_t asked_serial;   /* transmissions before it; UINT64_MAX: it has not left */
	bool not_taken;          /* the link refused it */
	uint8_t tries;           /* padded probes lost while other frames passed */
	uint8_t unsent;          /* padded probes that the link did not take */
	bool settled;            /* nothing larger to try */
	bool proven;             /* the target has passed before: the path is doubted */
	bool lowered;            /* the own MTU is smaller than the peer was told */
	uint8_t losses;          /* of the large frame `suspect` in a row, while no other passed */
	uint32_t suspect;        /* its number */
	uint64_t suspect_serial; /* of its first transmission that was lost */
	uint64_t passed;         /* serial of the latest large transmission that arrived */
	uint64_t refused; /* ns: since when the link has refused large frames, 0: it has not */
};

enum gamma_timer {
	GAMMA_TIMER_ACK,     /* owed acknowledgement, if no data goes back before */
	GAMMA_TIMER_LOSS,    /* a frame counts as lost if nothing is heard of it by then */
	GAMMA_TIMER_PROBE,   /* nothing heard: ask */
	GAMMA_TIMER_REQUEST, /* no credit: ask again; no memory: try again */
	GAMMA_TIMER_LOOKUP,  /* no answer: ask again */
	GAMMA_TIMER_MTU,     /* padded probe unanswered */
	GAMMA_TIMER_BYE,     /* BYE unanswered: repeat */
	GAMMA_TIMER_FORGET,  /* closed long enough: no frame of it can be under way any more */
	GAMMA_TIMER_COUNT
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
};

/* Messages posted to a peer between two polls: the engine's. */
struct gamma_send_coalescing {
	uint64_t round; /* the poll before them */
	uint32_t count; /* so far */
	uint32_t bytes; /* of those that wait to share a frame, with what precedes each in it */
	uint32_t room;  /* bytes that such a frame can take */
	bool was_long;  /* the row before was */
	bool more;      /* the last one said that others follow */
};

/* Whether several pages to a neighbour are copied: engine/shm_copy_model.c */
struct gamma_shm_copy_model {
	uint32_t kib_ns; /* what a copy of 1,024 bytes took; 0: not known */
	uint32_t
		read_ns; /* until the peer has as much of what comes in chunks, as it says; ditto */
	uint32_t own_read_ns; /* ditto, of what it writes for us: told to it */
	uint64_t second_at;   /* ns: when the second chunk of a message came */
	uint16_t left;        /* such messages before the next copy that is timed */
	uint16_t rest;        /* of them, after the last one that took too long */
	bool timed;           /* how long the next copy takes is to be told */
	bool doubted;         /* the last one told took much longer than those before */
	bool on;              /* what was posted last is copied */
};

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
	bool heard_of;        /* a frame of the peer has arrived */
	bool given_up;        /* though the peer may come back, and know nothing of it */
	uint8_t mtu_reported; /* frames that told the peer our MTU */
	unsigned lookups;     /* LOOKUPs sent */
	unsigned byes;        /* BYEs sent */
	uint32_t probed;      /* number to answer with PROBED */
	uint64_t probed_time; /* ns: when that probe arrived */
	uint32_t mtu_probed, mtu_probed_size;  /* number and size to answer a padded probe with */
	uint64_t deadlines[GAMMA_TIMER_COUNT]; /* ns, GAMMA_NEVER: not set */
	uint64_t last_data;                    /* ns: when a DATA frame last arrived */
	struct gamma_send_window tx;
	struct gamma_receive_window rx;
	struct gamma_ack_state ack;
	struct gamma_credit credit;
	struct gamma_loss loss;
	struct gamma_path_mtu path_mtu;
	struct gamma_message_state messages;
	struct gamma_list ready_entry;    /* in local->ready while it may have frames to send, or in
					   * local->stalled while its link takes none */
	struct gamma_list timed_entry;    /* in local->timed while a deadline is set */
	struct gamma_list all_entry;      /* in local->flows */
	struct gamma_flow *hash_next;     /* engine's table */
	struct gamma_send_coalescing row; /* engine's */
	struct gamma_tx_channel
		*tx_channel; /* engine's: for plain messages to a neighbour, or NULL */
	void *user;          /* the interface layer's */
	uint64_t user_tag;   /* ditto */
	const char
		*unreported; /* why it has ended, while nobody has asked anything of it; or NULL */
	struct gamma_shm_copy_model copy_model; /* engine's */
};

enum gamma_slow_port_state {
	GAMMA_SLOW_PORT_WATCH,  /* no bound */
	GAMMA_SLOW_PORT_EMPTY,  /* a frame of each sender, until what was under way has arrived */
	GAMMA_SLOW_PORT_ROUNDS, /* the same: what is the round trip? */
	GAMMA_SLOW_PORT_HOLD,   /* bound by that */
	GAMMA_SLOW_PORT_WIDER,  /* twice as much for a while: what is the port's rate? */
};

/* What senders may have under way where a port on the way here is slow: pace.c */
struct gamma_slow_port {
	enum gamma_slow_port_state state;
	uint32_t share;        /* frames: of each sender with a backlog; 0: no bound */
	uint32_t bound;        /* frames: of all of them, the kept ones apart */
	uint32_t most;         /* frames: bound does not grow beyond this until the next trial */
	uint32_t senders;      /* during a trial */
	uint64_t look;         /* pool.arrivals when to look next */
	uint64_t stamp, bytes; /* arrival of the last frame, and all bytes, at the last look */
	bool disturbed;        /* since then the backlog has ended, or a frame came again */
	uint64_t cost;         /* ns for 1,024 bytes: of the last look */
	uint64_t port;         /* ditto: the port's rate */
	uint64_t trip;         /* ns: shortest round */
	uint32_t frame;        /* bytes: the largest of those rounds */
	uint32_t arrived;      /* frames of those rounds */
	uint32_t drained;      /* frames of the queue that emptied */
	uint32_t looks;        /* in this state; rounds */
	uint32_t steady, fast; /* slow looks in a row; others in a row */
	uint32_t late;         /* looks in a row that took longer than the port's rate */
	uint32_t idle;         /* looks in a row without a backlog */
	uint32_t heard, quiet; /* looks with short messages; looks since the last of these */
	uint32_t tries;        /* trials in a row that came to nothing */
	uint64_t shorts_seen;  /* pool.shorts at the last look */
	uint64_t short_at;     /* ns: when short messages were seen last */
	uint64_t tried;        /* ns: when the last trial ended */
	uint64_t span,
		span_bytes;   /* ns and bytes since it was last asked whether somebody is away */
	uint64_t until, away; /* ns: no bound before; how long it was left alone the last time */
};

/* Credit of the receive ring, shared by the flows of an endpoint: credit.c */
struct gamma_credit_pool {
	uint32_t slots;   /* of the ring */
	uint32_t reserve; /* slots that are never granted: strangers, control frames, repetitions */
	uint32_t granted; /* frames that peers may send and that have not arrived */
	uint32_t active;  /* flows holding grants */
	uint32_t share;   /* frames: an equal part of the pool for each of them, within bounds */
	uint32_t bulk;    /* flows whose peers have more to send than credit */
	uint32_t bulk_granted; /* part of granted: theirs */
	uint32_t bound;        /* frames: what they may have under way together */
	uint32_t budget;       /* frames: bound does not fall below this; 0: there is no bound */
	uint32_t quiet;        /* frames arrived since bound last fell */
	uint32_t ripe;         /* frames arrived since it last changed */
	uint32_t halved;       /* times that bound has fallen on evidence of this endpoint's own */
	uint64_t arrivals;     /* DATA frames taken */
	uint64_t shorts;       /* frames taken that were messages or requests by themselves */
	struct gamma_slow_port slow_port;
	struct gamma_list waiting; /* flows that asked, oldest first */
	struct gamma_list holders; /* flows that hold grants, least recently used first */
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
};

/* What a frame has told besides its message, which has been handed on already: taken in when
 * whoever waited for the message has answered, or at the next occasion. */
struct gamma_deferred_ack {
	struct gamma_flow *flow; /* NULL: nothing */
	bool has_ack;
	uint32_t ack, limit; /* the frame's */
	uint32_t seq;        /* ditto */
	uint64_t arrived;    /* ns: when it reached the host, by the kernel's clock */
};

/* What the flows of one endpoint share. */
struct gamma_local {
	struct gamma_addr addr; /* own */
	uint16_t port;          /* host order */
	uint32_t epoch;         /* host order, never 0 */
	uint32_t tenant;
	uint16_t ethertype;
	struct gamma_limits limits;
	struct gamma_credit_pool pool;
	struct gamma_list flows;
	struct gamma_list ready;   /* flows that may have frames to send, served in turn */
	struct gamma_list stalled; /* flows that would be ready if their link took frames */
	struct gamma_list timed;   /* flows with a deadline */
	uint64_t resumed;       /* ns: when timers last ran after this process had been stopped */
	uint64_t next_deadline; /* ns: not later than the earliest deadline of a flow */
	uint64_t buffered;      /* bytes kept of messages that nobody has asked for */
	struct gamma_list
		reading; /* struct gamma_inbound that come in chunks: message/rndv_shm.c */
	struct gamma_list feeding;    /* flows with messages whose receivers want further chunks */
	struct gamma_inbound *spare;  /* for the next one, with its notice; or NULL */
	struct gamma_buffer *buffers; /* pool of free ones */
	struct gamma_transfers announced; /* sends that wait for ACCEPT, by own id */
	struct gamma_transfers accepted;  /* receives that BULK frames come in for, by own id */
	struct gamma_transfers requests;  /* operations on remote memory that wait for results */
	const struct gamma_handlers *handlers;
	void *context; /* handed to handlers */
	/* The engine's: reads len bytes of a neighbour's announced message from its memory, from
	 * offset on; false: that cannot be. NULL: never. */
	bool (*pull)(struct gamma_local *local, const struct gamma_flow *flow,
		     const struct gamma_source *source, uint64_t offset, const struct iovec *iov,
		     unsigned iov_count, uint64_t len);
	/* The engine's: writes an announcement, or an answer to one, for a neighbour; false: it
	 * must go in a frame. NULL: always. */
	bool (*put)(struct gamma_flow *flow, struct gamma_shm_message *plain);
	/* The engine's: tells a neighbour not to read what was announced. NULL: nothing was. */
	void (*withdraw)(struct gamma_flow *flow);
	/* The engine's: whether messages that went without frames have not been taken. NULL: none
	 * do. */
	bool (*left)(const struct gamma_flow *flow);
	/* The engine's: a closed flow may be taken out and freed. */
	void (*forget)(struct gamma_local *local, struct gamma_flow *flow, uint64_t now);
	struct gamma_deferred_ack late;
	/* The long message whose bytes came last, and its bytes that are still to come; the engine
	 * sets it to 0 before it looks for frames. */
	uint64_t arriving_bytes;
	struct gamma_flow *arriving_from;
	bool refused_data; /* a DATA frame that was in order was not taken, for want of memory */
	uint8_t *zeros;    /* what padded probes are made of: limits.mtu bytes */
	struct gamma_stats stats;
};

/* ---- local.c ---- */
void gamma_local_init(struct gamma_local *local, const struct gamma_addr *own, uint32_t tenant,
		      const struct gamma_limits *limits, uint32_t slots);
void gamma_local_fini(struct gamma_local *local);
struct gamma_buffer *gamma_local_get_buffer(struct gamma_local *local); /* NULL: no memory */
uint32_t gamma_local_buffer_size(const struct gamma_local *local);      /* bytes of payload */
void gamma_local_put_buffer(struct gamma_local *local, struct gamma_buffer *buffer);
/* Runs what is due on every flow; afterwards local->next_deadline is exact. */
void gamma_timers_expire(struct gamma_local *local, uint64_t now);

/* ---- flow.c ---- */
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
/* Takes in what is late. */
void gamma_flow_process_deferred(struct gamma_local *local, uint64_t now);
/* Fills frame with the next one to send; false: nothing. With nothing more the flow leaves the
 * ready list. */
bool gamma_transmit_poll(struct gamma_flow *flow, uint64_t now, struct gamma_frame *frame);
/* The frame of a message that gamma_flow_takes, when nothing at all stands before it. False: it
 * must go the ordinary way, and nothing has been done. now: 0 unless gamma_transmit_wants_clock. */
bool gamma_transmit_direct(struct gamma_flow *flow, const struct iovec *iov, unsigned iov_count,
			   const struct gamma_envelope *envelope, uint64_t now,
			   struct gamma_frame *frame);
/* Whether the clock is to be read before that frame leaves: it tells the time, the shortest round
 * trip is measured by it, or it goes to a neighbour, where that is all the clock is read. */
bool gamma_transmit_wants_clock(const struct gamma_flow *flow);
/* What is to be noted of that frame, once it has been handed to the link, which was at `left`, or,
 * if that is approximate, somewhat earlier: meanwhile it is under way. */
void gamma_transmit_direct_sent(struct gamma_flow *flow, uint64_t left, bool approximate,
				uint64_t now);
void gamma_transmit_unsent(struct gamma_flow *flow, const struct gamma_frame *frame, uint64_t now);
void gamma_flow_timeout(struct gamma_flow *flow, uint64_t now);
/* The answer to LOOKUP is here: the flow may talk. */
void gamma_flow_found(struct gamma_flow *flow, const struct gamma_addr *peer, uint64_t now);
/* What waits for a peer that is being looked up goes to another flow of that peer. */
void gamma_flow_hand_over(struct gamma_flow *from, struct gamma_flow *to);
/* Everything outstanding ends with error (negative errno). */
void gamma_flow_fail(struct gamma_flow *flow, int error, const char *cause);
/* The same, and the peer will not come back, or knows it too: once no frame of it can be under way
 * it is forgotten. */
void gamma_flow_fail_for_good(struct gamma_flow *flow, int error, const char *cause, uint64_t now);
/* The same of one that may come back: when its flow is forgotten its epoch is remembered. */
void gamma_flow_declare_dead(struct gamma_flow *flow, int error, const char *cause, uint64_t now);
/* The same where nothing is outstanding: who next asks something of it is told why. */
void gamma_flow_declare_dead_idle(struct gamma_flow *flow, int error, const char *cause,
				  uint64_t now);
#define GAMMA_DECLARED_DEAD "it was given up before and has not restarted"
/* Somebody who knows says that the peer, silent for long, is still there. */
void gamma_flow_still_there(struct gamma_flow *flow, uint64_t now);
/* Nobody owns the peer's port: the flow fails, unless it is so young that the owner may be late. */
void gamma_flow_no_port(struct gamma_flow *flow, uint64_t now);
/* The peer is no more, as is known for certain; left: nor has it taken all that is not
 * acknowledged. */
void gamma_flow_process_ended(struct gamma_flow *flow, const char *cause, bool left, uint64_t now);
/* Something was to be posted to a peer that is no more: why not (negative errno). Who was not
 * told when it ended, since nothing was outstanding, is told now, once. */
int gamma_flow_refuse_post(struct gamma_flow *flow);
/* Begins to say BYE. */
void gamma_flow_bye(struct gamma_flow *flow, uint64_t now);
/* How long of the linger bound a closing endpoint waits for acknowledgements, ns: in the rest it
 * says BYE. */
uint64_t gamma_flow_drain_time(uint64_t linger);
/* Whether a closing endpoint should wait for this flow: something is not acknowledged, the peer
 * may not know yet that its own frames have arrived, or has not been told often enough, for one
 * that waits for this endpoint or for any other, that it closes. */
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

/* Bytes of a message have been put into their place, and so many are still to come. */
static inline void gamma_flow_note_arriving(struct gamma_flow *flow, uint64_t bytes)
{
	flow->local->arriving_bytes = bytes;
	flow->local->arriving_from = flow;
}

static inline void gamma_flow_want(struct gamma_flow *flow, enum gamma_pending what)
{
	flow->pending |= what;
	gamma_flow_ready(flow);
}

bool gamma_send_window_is_open(const struct gamma_flow *flow); /* may a new frame be sent? */

/* Whether frames of messages wait to be made. */
static inline bool gamma_message_waiting(const struct gamma_flow *flow)
{
	const struct gamma_message_state *m = &flow->messages;

	return !gamma_list_empty(&m->queue) || !gamma_list_empty(&m->streams) ||
	       !gamma_list_empty(&m->notices) || m->replies || m->filling;
}

/* Whether a message that is complete when copied may be copied into a frame now: nothing of the
 * program's waits before it but what is in such a frame, and the peer gives credit for one. */
static inline bool gamma_flow_takes(const struct gamma_flow *flow,
				    const struct gamma_envelope *envelope)
{
	const struct gamma_limits *limits = &flow->local->limits;

	return !flow->self && gamma_list_empty(&flow->messages.queue) &&
	       envelope->length <= gamma_min(limits->inject_size, limits->eager_size) &&
	       gamma_send_window_is_open(flow);
}

/* "node 02:47:41:4d:00:02 port 9228 epoch 1a2b3c4d", for messages to people. */
#define GAMMA_NAME_LEN 64
const char *gamma_flow_addr_name(const struct gamma_addr *addr, char name[GAMMA_NAME_LEN]);

/* ---- timers.c ---- */
void gamma_timers_set(struct gamma_flow *flow, enum gamma_timer timer, uint64_t when);
static inline void gamma_timers_stop(struct gamma_flow *flow, enum gamma_timer timer)
{
	flow->deadlines[timer] = GAMMA_NEVER;
}
static inline bool gamma_timers_is_set(const struct gamma_flow *flow, enum gamma_timer timer)
{
	return flow->deadlines[timer] != GAMMA_NEVER;
}

/* ---- send_window.c ---- */
/* A free entry for the next new frame, or NULL: no credit, no window or no memory. */
struct gamma_sent *gamma_send_window_next(struct gamma_flow *flow);
void gamma_send_window_transmitted(struct gamma_flow *flow, struct gamma_sent *sent, uint64_t now);
/* The next LOST frame, or NULL. */
struct gamma_sent *gamma_send_window_next_lost(struct gamma_flow *flow, uint32_t *seq);
void gamma_send_window_mark_lost(struct gamma_flow *flow, uint32_t seq);
/* Acknowledgement in fields, which reached this host at `heard` (ns): what passed until now is this
 * process's, not the network's. False: nonsense (beyond what was sent). */
bool gamma_send_window_receive_ack(struct gamma_flow *flow, const struct gamma_fields *fields,
				   uint64_t heard, uint64_t now);
/* Releases what was held back for notices of CUT, if they are all here. */
void gamma_send_window_resume(struct gamma_flow *flow, uint64_t now);
void gamma_send_window_drop(struct gamma_flow *flow);
static inline struct gamma_sent *gamma_send_window_at(const struct gamma_flow *flow, uint32_t seq)
{
	return &flow->tx.sent[seq & (flow->tx.size - 1)];
}
/* Frames whose acknowledgement is still to come. */
static inline uint32_t gamma_send_window_in_flight(const struct gamma_flow *flow)
{
	return flow->tx.next - (flow->tx.held_back ? flow->tx.acked : flow->tx.una);
}
/* Frames whose memory is still needed: those, and what is held back for notices of CUT. */
static inline uint32_t gamma_send_window_unacked(const struct gamma_flow *flow)
{
	return flow->tx.next - flow->tx.una;
}

/* ---- receive_window.c ---- */
void gamma_receive_window_data(struct gamma_flow *flow, const struct gamma_fields *fields,
			       const uint8_t *payload, uint64_t arrived, uint64_t now);
/* The two halves of the same, for a frame in order that nothing waits before: its message, if
 * there is memory for it, and the account of the frame. */
bool gamma_receive_window_message(struct gamma_flow *flow, const struct gamma_fields *fields,
				  const uint8_t *payload, uint64_t arrived);
void gamma_receive_window_account(struct gamma_flow *flow, uint32_t seq, uint8_t flags,
				  uint64_t now);
/* If a frame whose turn has come found no memory: tries again. */
void gamma_receive_window_retry(struct gamma_flow *flow);
/* What has arrived beyond a gap; alone: in a frame that has room for all of it. */
void gamma_receive_window_sack(const struct gamma_flow *flow, struct gamma_fields *fields,
			       bool alone);
bool gamma_receive_window_sack_is_long(const struct gamma_flow *flow);
void gamma_receive_window_free(struct gamma_flow *flow);

/* ---- parts.c ---- */
/* A part of a frame that has not arrived yet. True: with it the frame is whole, and fields and
 * payload become the frame's; it stays until dropped. */
bool gamma_reassembly_add(struct gamma_flow *flow, struct gamma_fields *fields,
			  const uint8_t **payload);
void gamma_reassembly_drop(struct gamma_flow *flow, uint32_t seq);
void gamma_reassembly_free(struct gamma_flow *flow);

/* ---- ack.c ---- */
/* A DATA frame has arrived; and how soon that is to be told, unless it has been told meanwhile. */
void gamma_ack_owe(struct gamma_flow *flow);
void gamma_ack_arrived(struct gamma_flow *flow, uint8_t flags, uint64_t now);
void gamma_ack_now(struct gamma_flow *flow);
bool gamma_ack_due(const struct gamma_flow *flow);
/* Whether the next data, if it carries an acknowledgement, tells how long that has waited. */
bool gamma_ack_reports_delay(const struct gamma_flow *flow);
/* Puts what is to be told into an outgoing frame and counts it as told. */
void gamma_ack_attach(struct gamma_flow *flow, struct gamma_fields *fields, bool alone,
		      uint64_t now);

/* ---- credit.c ---- */
void gamma_credit_pool_init(struct gamma_credit_pool *pool, uint32_t slots);
void gamma_credit_init(struct gamma_flow *flow);
/* What senders with a backlog may at least have under way to this endpoint; frames, 0: no bound. */
void gamma_credit_pool_set_budget(struct gamma_credit_pool *pool, uint32_t frames);
/* Frames to another receiver of the NIC got lost: the switch's port is the same. */
void gamma_credit_pool_lost(struct gamma_credit_pool *pool);
/* A new DATA frame. */
void gamma_credit_arrived(struct gamma_flow *flow, uint32_t seq, uint8_t flags);
void gamma_credit_receive_request(struct gamma_flow *flow,
				  uint64_t now); /* the peer asks for more */
void gamma_credit_receive_reclaimed(struct gamma_flow *flow, uint32_t returned);
void gamma_credit_give_back(struct gamma_flow *flow);                     /* sender: RECLAIM asks */
void gamma_credit_release(struct gamma_flow *flow);                       /* the flow ends */
void gamma_credit_receive_limit(struct gamma_flow *flow, uint32_t limit); /* sender: peer grants */
void gamma_credit_starved(struct gamma_flow *flow, uint64_t now);         /* sender: none left */
void gamma_credit_timeout(struct gamma_flow *flow, uint64_t now);
uint32_t gamma_credit_window(const struct gamma_flow *flow); /* frames outstanding granted */

/* A frame has come that is a message, or a request, by itself. */
static inline void gamma_credit_count_short(struct gamma_flow *flow)
{
	flow->local->pool.shorts++;
}

/* ---- pace.c: credit.c calls ---- */
/* So many frames have arrived as it wanted; stamp: ns, when the last one reached the host. */
void gamma_slow_port_look(struct gamma_credit_pool *pool, uint64_t stamp);
void gamma_slow_port_senders_changed(
	struct gamma_credit_pool *pool); /* senders with a backlog are more or fewer */
void gamma_slow_port_lost(struct gamma_credit_pool *pool); /* a frame came again */

/* ---- loss.c ---- */
void gamma_loss_transmitted(struct gamma_flow *flow, uint64_t now);
/* Of a frame that has arrived at the peer, as an acknowledgement says. */
void gamma_loss_delivered(struct gamma_flow *flow, const struct gamma_sent *sent, uint64_t heard);
/* passed: ns from a transmission to its acknowledgement; delay: ns that the peer kept it. */
void gamma_loss_sample(struct gamma_flow *flow, uint64_t passed, uint64_t delay,
		       const struct gamma_sent *sent);
uint64_t gamma_loss_reorder_window(
	const struct gamma_flow *flow); /* ns: by how much frames may be late */
void gamma_loss_detect(struct gamma_flow *flow, uint64_t now);
void gamma_loss_acked(struct gamma_flow *flow, bool progress, uint64_t now);
/* A repetition was in vain, as the peer says: what seemed lost was late. */
void gamma_loss_spurious(struct gamma_flow *flow);
void gamma_loss_probed(struct gamma_flow *flow, uint32_t probe, uint64_t now);
void gamma_loss_want_probe(struct gamma_flow *flow); /* a plain probe */
void gamma_loss_timeout(struct gamma_flow *flow, uint64_t now);
void gamma_loss_rearm(struct gamma_flow *flow, uint64_t now);
/* Nothing is owed, but it may have vanished without a word. */
void gamma_loss_suspect_peer(struct gamma_flow *flow, uint64_t now);
bool gamma_loss_peer_dead(struct gamma_flow *flow, uint64_t now);

/* ---- mtu.c ---- */
void gamma_path_mtu_init(struct gamma_flow *flow);
void gamma_path_mtu_learned(struct gamma_flow *flow, uint16_t peer_mtu, uint64_t now);
/* The answer to the padded probe of that number. */
void gamma_path_mtu_probed(struct gamma_flow *flow, uint32_t size, uint32_t probe);
void gamma_path_mtu_unsent(struct gamma_flow *flow); /* the link took no padded probe */
void gamma_path_mtu_timeout(struct gamma_flow *flow, uint64_t now);
/* A DATA frame has arrived; evidence says that it is lost; the link did not take a large one. */
void gamma_path_mtu_delivered(struct gamma_flow *flow, const struct gamma_sent *sent);
void gamma_path_mtu_lost(struct gamma_flow *flow, uint32_t seq, uint64_t now);
void gamma_path_mtu_refused(struct gamma_flow *flow, uint64_t now);
/* The own NIC's MTU has been lowered under its flows. */
void gamma_path_mtu_set_own(struct gamma_local *local, uint32_t mtu);

#endif /* GAMMA_FLOW_H */
