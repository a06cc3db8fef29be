/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The simulator: endpoints of the product's own flow, message and engine code, connected by
 * a modelled switch, in virtual time. One seed gives one run, to the bit.
 *
 *   sim_config_default -> sim_new -> sim_message, sim_post, sim_send, faults -> sim_run... ->
 *   sim_check_end -> sim_free
 *
 * Scenarios (scenario.h) and the random runs (draw.c) use this file only. Whatever goes wrong
 * is reported by sim_fail: the first failure stops every sim_run, and is kept with its time.
 */
#ifndef GAMMA_SIM_H
#define GAMMA_SIM_H

#include <stdarg.h>

#include "engine/dispatch.h"
#include "engine/fastpath.h"
#include "engine/lending.h"
#include "engine/output.h"
#include "engine/peers.h"
#include "engine/progress.h"
#include "engine/state.h"
#include "flow/transmit.h"
#include "message/coalesce.h"
#include "message/rma.h"
#include "message/rndv_shm.h"

#define SIM_US    GAMMA_NS_PER_US
#define SIM_MS    GAMMA_NS_PER_MS
#define SIM_SEC   GAMMA_NS_PER_S
#define SIM_START SIM_SEC /* ns: the clock's first reading */

enum { SIM_NODES_MAX = 1024, SIM_SLOTS_MIN = 64, SIM_RAILS_MAX = GAMMA_RAILS_MAX };

struct sim;

/* ---- what is simulated ---- */

/* How an application takes a message that is complete when it arrives: handlers->deliver. */
enum sim_delivery {
	SIM_AT_ONCE,  /* in one step, as the provider does */
	SIM_IN_STEPS, /* without that handler: the engine asks for a receive, then delivers */
	SIM_AT_ONCE_POSTS_AFTER, /* in one step, but posts every other receive just after its
				    message was here */
	SIM_DELIVERIES
};

/* NICs of the same place, of all hosts, are at a network of their own. */
struct sim_rail {
	uint64_t rate;    /* bit/s, both directions; 0: as the first NIC's */
	uint64_t latency; /* ns from NIC to NIC; 0: ditto */
	uint32_t mtu;     /* bytes; 0: ditto */
	uint32_t slots;   /* frames, of the receive ring; 0: ditto */
	uint32_t loss;    /* in a million frames, as long as faults last */
};

struct sim_config {
	uint64_t seed;                /* of faults and of all users of sim_random */
	unsigned nodes;               /* hosts, with one endpoint each; 1 to SIM_NODES_MAX */
	uint32_t slots;               /* frames, of every receive ring */
	uint32_t mtu;                 /* bytes, of NICs that mtus does not name */
	uint32_t mtus[SIM_NODES_MAX]; /* bytes, by host; 0: mtu */
	uint32_t switch_mtu;          /* bytes: larger frames vanish; 0: none do */
	uint64_t rate; /* bit/s, of hosts that rates does not name, both directions */
	uint64_t rates[SIM_NODES_MAX]; /* bit/s, by host; 0: rate */
	uint64_t latency;              /* ns from NIC to NIC without queues: half on either cable */
	uint64_t port_buffer; /* bytes of each switch port's buffer; frames beyond are dropped */
	uint64_t mark_at;   /* bytes in that buffer from which on the port marks frames that may be
			     * marked, and drops others; 0: it does not */
	uint64_t nic_queue; /* bytes that a NIC queues before it refuses */
	uint32_t inject_size;            /* bytes: struct gamma_limits */
	uint32_t copy_size;              /* bytes */
	uint64_t eager_size;             /* bytes */
	uint64_t unexpected_size;        /* bytes */
	uint64_t peer_timeout;           /* ns */
	uint64_t forget;                 /* ns */
	uint64_t linger;                 /* ns that a closing endpoint waits */
	uint64_t cost_call;              /* ns of processor for one progress call */
	uint64_t cost_frame;             /* ns for each frame taken or sent */
	uint64_t cost_kib;               /* ns for 1,024 bytes taken */
	bool watched;                    /* a thread takes over when an application does not poll */
	bool stamped;                    /* rings report when frames arrived */
	bool payload_crc;                /* payloads carry a checksum */
	bool routed;                     /* every host is on a subnet of its own, over UDP */
	bool trains;                     /* frames leave and are lent in trains, as over UDP */
	uint64_t train_gather;           /* ns: frames of a train wait so long for others, as in a
					  * NIC that merges them (GRO) */
	bool ports;                      /* some messages go to active ports */
	uint8_t delivery[SIM_NODES_MAX]; /* by host: enum sim_delivery */
	uint64_t steps_max;              /* events: more is a livelock */
	uint8_t nics[SIM_NODES_MAX];     /* of a host; 0: one */
	uint8_t udp[SIM_NODES_MAX]; /* ditto: bits of those that are over UDP, beside raw ones */
	bool twins;                 /* rails over UDP share the cables of the raw ones before them,
				     * one each, as long as there are such */
	bool unasked;               /* hosts whose second of two is over UDP use it if need be */
	struct sim_rail rails[SIM_RAILS_MAX]; /* by place; the first is not used but for loss */
};

void sim_config_default(struct sim_config *config);

struct sim *sim_new(const struct sim_config *config);
void sim_free(struct sim *sim); /* NULL: nothing */
const struct sim_config *sim_config(const struct sim *sim);

uint64_t sim_now(const struct sim *sim); /* ns */
uint64_t sim_random(struct sim *sim);
uint64_t sim_between(struct sim *sim, uint64_t low, uint64_t high); /* both included */

/* ---- messages ---- */

struct sim_message {
	struct sim *sim;
	uint32_t id; /* its tag */
	unsigned from, to;
	uint64_t length; /* bytes */
	enum gamma_completion_level level;
	bool partial;     /* sent to an address without epoch */
	bool port;        /* to an active port; its receive is the handler: posted, it is set */
	uint8_t head_len; /* bytes of its head, of a message to a port */
	struct sim_message *answer;  /* that its handler sends; or NULL */
	struct sim_message *answers; /* the one whose handler sends this one; or NULL */
	uint64_t capacity;           /* bytes of the receive */
	/* Called when the send, or the receive, has ended; may be NULL; may send and post. */
	void (*on_sent)(struct sim_message *message, void *arg);
	void (*on_received)(struct sim_message *message, void *arg);
	void *arg;

	/* what has become of it */
	bool sent;         /* sim_send has taken it */
	bool done;         /* the send has ended with `error` */
	bool post_planned; /* sim_post_at will post its receive */
	bool posted;       /* a receive waits for it, or did */
	bool matched;
	bool received;      /* the receive has ended with `receive_error` */
	bool handled;       /* a port's handler has begun */
	bool fetched;       /* its bytes come after it was demoted, for a port */
	bool lost;          /* the sender's endpoint is gone: no end expected */
	bool receiver_lost; /* the receiver's endpoint is gone, after it had matched */
	int error, receive_error;
	uint64_t sent_at, done_at, posted_at, received_at; /* ns */
	uint64_t placed;                                   /* bytes received */

	/* internal */
	struct gamma_send send;
	struct gamma_recv recv;
	struct gamma_inbound *inbound; /* while it is unexpected */
	const uint8_t *pattern;        /* its bytes */
	uint8_t *copy;   /* its memory, spoilt when the send has ended; NULL: the pattern's own */
	uint8_t *place;  /* where it is received */
	uint32_t number; /* among those of its flow */
	uint32_t epoch;  /* of the endpoint it goes to; 0: not known yet */
	uint32_t from_life, to_life;          /* incarnations: of the sender, of the receive */
	uint32_t arrived_order, arrived_life; /* among the receiver's messages to ports */
	bool begun;     /* its first frame has been dispatched to the application */
	uint64_t taken; /* payload bytes that the peer's window has taken */
	uint32_t taken_frames;
};

/* A message that is not sent yet. Its receive may be posted before or after it is sent. */
struct sim_message *sim_message(struct sim *sim, unsigned from, unsigned to, uint64_t length,
				enum gamma_completion_level level);
void sim_post(struct sim_message *message, uint64_t capacity);
void sim_send(struct sim_message *message);
/* The same when the application polls at that time, or as soon as it polls again. */
void sim_post_at(struct sim_message *message, uint64_t capacity, uint64_t when);
void sim_send_at(struct sim_message *message, uint64_t when);
/* A message, its receive and the send. */
struct sim_message *sim_exchange(struct sim *sim, unsigned from, unsigned to, uint64_t length,
				 enum gamma_completion_level level);
unsigned sim_messages(const struct sim *sim);
struct sim_message *sim_message_at(const struct sim *sim, unsigned index);

/* ---- operations on remote memory: remote.c ---- */

enum sim_remote_kind {
	SIM_PUT,        /* writes; up to 64,000 bytes */
	SIM_GET,        /* reads what is written repeatedly; up to ATOMIC_BYTES bytes */
	SIM_GET_STATIC, /* reads what is never written; up to 190,000 bytes */
	SIM_ADD,        /* to a counter */
	SIM_FETCH,      /* the same, and returns the value before */
	SIM_FORBIDDEN,  /* is refused: an unknown key, or beyond the bounds */
	SIM_REMOTE_KINDS
};

struct sim_remote {
	struct sim *sim;
	uint32_t id;
	enum sim_remote_kind kind;
	unsigned from, to;
	uint64_t length; /* bytes */
	bool partial;    /* posted to an address without epoch */
	bool fence;
	uint32_t order; /* among operations that change that memory, from 1 */
	bool posted, done;
	bool lost; /* the requester's endpoint is gone: no end expected */
	int error;
	struct gamma_send send;
	struct gamma_rma remote;
	uint8_t *bytes; /* operands, spoilt when it has ended */
	uint8_t *result, *expected;
};
/* When the application polls at that time, or as soon as it polls again. */
struct sim_remote *sim_remote_at(struct sim *sim, enum sim_remote_kind kind, unsigned from,
				 unsigned to, uint64_t length, uint64_t when);

/* ---- applications and hosts ---- */

/* The application computes until then: it does not poll; a watched one's thread makes
 * progress. */
void sim_compute(struct sim *sim, unsigned node, uint64_t until);
/* The process is stopped until then (GAMMA_NEVER: for good): nothing of it runs. */
void sim_stop(struct sim *sim, unsigned node, uint64_t until);
void sim_watch(struct sim *sim, unsigned node, bool watched);
/* The endpoint ends without BYE; with `back`, another one takes its port at that time with a
 * new epoch, and posts the receives again; GAMMA_NEVER: none. The others learn the new epoch
 * by sim_publish_epoch; until then they send to the old one. */
void sim_kill(struct sim *sim, unsigned node, uint64_t back);
void sim_publish_epoch(struct sim *sim, unsigned node);
/* Closes in order: waits for acknowledgements, sends BYE, ends. */
void sim_close(struct sim *sim, unsigned node);
bool sim_alive(const struct sim *sim, unsigned node);
/* Its link takes no frame until then. */
void sim_refuse(struct sim *sim, unsigned node, uint64_t until);
/* Frames from a to b vanish in the switch until then. */
void sim_cut_one_way(struct sim *sim, unsigned a, unsigned b, uint64_t until);
void sim_cut(struct sim *sim, unsigned a, unsigned b, uint64_t until); /* both ways */
void sim_unplug(struct sim *sim, unsigned node, uint64_t until);       /* from and to all others */
/* Frames to and from that NIC vanish until then. */
void sim_rail_cut(struct sim *sim, unsigned node, unsigned nic, uint64_t until);
/* That NIC is down until then, and its link says so. */
void sim_rail_down(struct sim *sim, unsigned node, unsigned nic, uint64_t until);
/* The switch passes frames up to that many bytes from now on; 0: of any size. */
void sim_switch_mtu(struct sim *sim, uint32_t mtu);
/* From now on the NICs are virtual, with their other ends in the switch: a link refuses frames that
 * the switch does not pass, and does not say why. */
void sim_virtual_nics(struct sim *sim);
/* A host's NIC is set to a smaller MTU, which its endpoint finds out when a frame is too long. */
void sim_nic_mtu(struct sim *sim, unsigned node, unsigned nic, uint32_t mtu);
/* Frame numbers from a to b begin with seq instead of 0; before they have talked. */
void sim_begin_at(struct sim *sim, unsigned a, unsigned b, uint32_t seq);

/* The application of a posts a receive from b alone, which never sends anything for it; false:
 * there is no open flow between them. */
bool sim_expect(struct sim *sim, unsigned a, unsigned b);
/* Whether it still waits. */
bool sim_waits(struct sim *sim, unsigned a, unsigned b);

struct gamma_endpoint *sim_endpoint(struct sim *sim, unsigned node);
/* The flow of a toward b as b is now, or NULL. */
struct gamma_flow *sim_flow(struct sim *sim, unsigned a, unsigned b);
const struct gamma_stats *sim_stats(struct sim *sim, unsigned node); /* of this incarnation */

/* ---- faults ---- */

enum sim_fault {
	SIM_PASS, /* none */
	SIM_LOSS,
	SIM_BURST_LOSS,
	SIM_RULE, /* a rule's DROP */
	SIM_DUPLICATE,
	SIM_REPLAY,
	SIM_REORDER,
	SIM_HEADER_DAMAGE,
	SIM_PAYLOAD_DAMAGE,
	SIM_CUT,
	SIM_MTU_DROP,    /* larger than the switch passes */
	SIM_SWITCH_DROP, /* its buffer was full */
	SIM_RING_DROP,
	SIM_NOBODY,        /* the endpoint was gone */
	SIM_REFUSED,       /* frames that a link did not take */
	SIM_PARTLY,        /* bursts that it did not take whole */
	SIM_FORGED,        /* of the attacker */
	SIM_FOREIGN,       /* of another process, from its own port */
	SIM_TRAIN_CUT,     /* behind the place where a train was cut short */
	SIM_TRAIN_REORDER, /* trains that others overtake */
	SIM_EARLY,         /* before its turn, and as many are kept as may be */
	SIM_FAULTS
};
extern const char *const sim_fault_names[SIM_FAULTS];

/* By chance, in parts per million of frames, until a time. */
struct sim_chances {
	uint64_t until; /* ns: none from then on */
	uint32_t loss;
	uint32_t burst_begin, burst_end; /* of a bad period of a host's cable */
	uint32_t burst_loss;             /* while it lasts */
	uint32_t duplicate;
	uint32_t replay;       /* an old frame is replayed */
	uint64_t replay_delay; /* ns, at most */
	uint32_t reorder;
	uint64_t reorder_delay; /* ns, at most */
	uint64_t jitter;        /* ns, at most; does not reorder */
	uint32_t header_damage;
	uint32_t payload_damage; /* only of frames that carry a checksum of it */
	uint32_t partly;         /* of bursts */
	uint32_t train_cut;      /* of trains: one is cut short, and its end gets lost */
	uint32_t train_reorder;  /* of trains: one comes up to reorder_delay later, in order */
};
struct sim_chances *sim_chances(struct sim *sim);

enum { SIM_ANY_OP = 0xff, SIM_ANY_NODE = -1 };
#define SIM_ANY_SEQ UINT64_MAX

/* What happens to frames of that kind, op and number from one node to another: the first
 * `skip` pass, the next `times` get that fault. */
struct sim_rule {
	enum sim_fault fate; /* SIM_RULE: lost; DUPLICATE, REORDER, HEADER_DAMAGE, PAYLOAD_DAMAGE */
	int from, to;        /* nodes, or SIM_ANY_NODE */
	uint8_t kind;        /* 0: any */
	uint8_t op;          /* SIM_ANY_OP: any */
	uint64_t seq;        /* SIM_ANY_SEQ: any */
	unsigned skip, times; /* times 0: all further ones */
	uint64_t delay;       /* ns, of REORDER, and of the second copy of DUPLICATE */
	unsigned met;         /* frames that it was applied to */
};
struct sim_rule *sim_rule(struct sim *sim, struct sim_rule rule); /* valid as long as sim */

/* Until then a host at the switch sends frames in the others' names, drawn from a seed of its own;
 * pause: ns between two of them, on average; asks: its victims' peers are never silent for so long
 * that a BYE with the right numbers, which nobody refutes, is believed. See attacker.c. */
void sim_attack(struct sim *sim, uint64_t seed, uint64_t until, uint64_t pause, bool asks);

/* Another process of that host sends a frame in the name of the host's endpoint, with all numbers
 * right, but from a UDP port of its own. */
void sim_foreign(struct sim *sim, unsigned host, unsigned to);

/* A frame of other traffic reaches the switch's port to that host now; *arrives: ns, when it is
 * there. False: the port's queue is full; *arrives: when the last one before it is there. */
bool sim_cross(struct sim *sim, unsigned to, size_t len, uint64_t *arrives);

uint64_t sim_fault_count(const struct sim *sim, enum sim_fault fault);

/* Called for every frame that a NIC sends, before faults; for scenarios that count. */
struct sim_tap {
	void (*frame)(void *arg, unsigned from, unsigned to, const struct gamma_fields *fields,
		      size_t len, uint64_t leaves);
	void *arg;
};
void sim_tap(struct sim *sim, struct sim_tap tap);

/* ---- time ---- */

/* Calls back at that time. */
void sim_at(struct sim *sim, uint64_t when, void (*call)(struct sim *sim, void *arg), void *arg);
/* Each returns false when something has failed; sim_run_until also when limit (ns from now) has
 * passed. */
bool sim_run(struct sim *sim, uint64_t duration);
bool sim_run_until(struct sim *sim, bool (*condition)(struct sim *sim, void *arg), void *arg,
		   uint64_t limit);
/* Until everything that can end has ended: see sim_settled. Fails if that takes longer. */
bool sim_finish(struct sim *sim, uint64_t limit);
/* Every send and receive that can end has: those toward endpoints that are gone with an error, all
 * but messages whose receive nobody posted. */
bool sim_settled(struct sim *sim);

/* Shortest round trip of a header of 64 bytes between two hosts, ns. */
uint64_t sim_round_trip(const struct sim *sim, unsigned a, unsigned b);
/* Time of that many payload bytes on the slower of the two cables, headers included, ns. */
uint64_t sim_stream_time(const struct sim *sim, unsigned a, unsigned b, uint64_t bytes);

/* ---- verdict ---- */

void sim_fail(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *sim_failure(const struct sim *sim); /* NULL: none */
#define SIM_CHECK(sim, condition, ...)              \
	do {                                        \
		if (!(condition))                   \
			sim_fail(sim, __VA_ARGS__); \
	} while (0)
/* Messages of this node may end with an error: it died, or was silent for too long. */
void sim_excuse(struct sim *sim, unsigned node);
/* Call when the run is over: checks what holds at the end of a run. */
void sim_check_end(struct sim *sim);

/* Log lines on stderr; and a pcap file of all frames as they leave the NICs (0 or a negative
 * errno). */
void sim_verbose(struct sim *sim, bool verbose);
int sim_pcap(struct sim *sim, const char *path);
void sim_note(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* GAMMA_SIM_H */
