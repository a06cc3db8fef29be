/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The harness of the tests of flow/, message/ and dispatch: endpoints joined by a wire in memory
 * (pair_wire.c), in virtual time. Frames pass as bytes through the real codec and dispatch; rules
 * drop, double, delay or damage chosen ones. After every step the credit account is checked, and a
 * run that takes too many steps fails as a livelock.
 */
#ifndef GAMMA_TEST_PAIR_H
#define GAMMA_TEST_PAIR_H

#include "unit.h"

#include "engine/dispatch.h"
#include "engine/fastpath.h"
#include "engine/groups.h"
#include "engine/output.h"
#include "engine/peers.h"
#include "engine/progress.h"
#include "engine/shm_path.h"
#include "flow/transmit.h"
#include "message/coalesce.h"
#include "message/rma.h"
#include "message/rndv_shm.h"

#define US  GAMMA_NS_PER_US
#define MS  GAMMA_NS_PER_MS
#define SEC GAMMA_NS_PER_S

enum { ANY_OP = 0xff, ANY_NODE = -1 };
enum { ALONE = 300 }; /* bytes: two such messages do not share a frame, by net_defaults */
#define ANY_SEQ UINT64_MAX

/* CORRUPT damages the header, or, if a checksum protects it, the payload; SPOIL the payload. */
enum fate { PASS, DROP, DUPLICATE, DELAY, CORRUPT, SPOIL };

/* What happens to frames of that kind, op and number on their way from that node. */
struct rule {
	enum fate fate;
	int from;       /* node, or ANY_NODE */
	uint8_t kind;   /* 0: any */
	uint8_t op;     /* 0: any op of DATA; ANY_OP: any of every kind */
	uint64_t seq;   /* ANY_SEQ: any */
	unsigned skip;  /* so many are let pass first */
	unsigned times; /* 0: all further ones */
	uint64_t delay; /* ns, for DELAY and for the second copy of DUPLICATE */
	unsigned met;   /* frames that it was applied to */
};

struct net_options {
	uint32_t mtu;             /* bytes, of every NIC */
	uint32_t switch_mtu;      /* bytes: larger frames vanish; 0: none do */
	uint32_t slots;           /* frames, of every ring */
	uint64_t latency;         /* ns */
	uint32_t inject_size;     /* bytes */
	uint64_t eager_size;      /* bytes */
	uint64_t unexpected_size; /* bytes */
	uint64_t peer_timeout;    /* ns */
	unsigned nics;            /* of every node: 0 or 1: one; 2 */
	uint32_t second_mtu;      /* bytes, of the second NIC */
	uint64_t second_latency;  /* ns, by the second NICs */
	bool second_udp;          /* they are the first ones over UDP */
};

struct net;
struct wire_frame;

struct incoming {                    /* a posted receive */
	struct gamma_list entry;     /* in posted, or alone when matched */
	struct gamma_list all_entry; /* in receives */
	struct gamma_recv recv;
	uint8_t *bytes;
};

struct outgoing { /* a send; freed with the net */
	struct outgoing *next;
	struct gamma_send send;
	struct gamma_rma remote; /* of an operation on remote memory: pair_remote.h */
	uint8_t *bytes;
	size_t present; /* bytes of a message that has memory */
	bool done;
	int error;
	uint64_t done_at; /* ns */
};

struct node {
	struct net *net;
	struct gamma_endpoint ep;
	struct gamma_link link, second;
	struct gamma_list ring; /* struct wire_frame that have arrived */
	uint32_t ring_count;
	uint64_t wakes;   /* ns: it does not poll before */
	uint64_t busy;    /* ns: its NIC is sending until then */
	bool unplugged;   /* nothing leaves, nothing arrives */
	bool broken[2];   /* the same of one NIC */
	unsigned left[2]; /* DATA frames that have left by each NIC */
	uint32_t nic_mtu; /* bytes: a link whose MTU has been lowered says so; 0: it has not */
	uint32_t takes;   /* bytes: the link refuses larger frames, and does not say why; 0: none */
	int link_error;   /* the link takes nothing and says this; 0: it works */
	struct gamma_list posted, unexpected;
	struct gamma_list receives; /* posted or matched, not finished */
	struct outgoing *sends;
	unsigned sent, send_errors, received, receive_errors, failures, gone;
	int last_error;
	char last_cause[128];
	uint64_t placed;                /* bytes, of the last receive */
	struct gamma_envelope envelope; /* ditto */
	uint32_t *next_number;          /* by peer: number of the next message to it */
	uint32_t *next_match;           /* by peer: number of the next message from it */
	/* Called after a message was received. */
	void (*on_received)(struct node *node, unsigned from);
	uint32_t granted; /* before this step: a test may take the pool away */
};

struct net {
	struct net_options options;
	unsigned count;
	struct node *nodes;
	uint64_t now;             /* ns */
	struct gamma_list flying; /* struct wire_frame by time of arrival */
	struct rule rules[8];
	unsigned rule_count;
	uint64_t seed;    /* of random faults; 0: none */
	unsigned chaos;   /* in 1,000 frames are dropped, doubled, delayed, damaged: each;
			   * in 1,000 bursts are not taken whole by the link */
	bool unstamped;   /* links do not know when frames arrived */
	bool to_port;     /* messages go to an active port, */
	uint8_t head_len; /* with a head of so many bytes */
	bool lawless;     /* frames are forged: messages are not what the harness sent */
	unsigned long steps, steps_max;
	unsigned long drops; /* frames that rules, faults or full rings swallowed */
};

struct net_options net_defaults(void);
struct net *net_new(unsigned count, const struct net_options *options); /* NULL: defaults */
void net_free(struct net *net);

struct rule *net_rule(struct net *net, struct rule rule);
/* The next so many (0: all) frames of a kind from a node, or from ANY_NODE, get lost. */
struct rule *net_drop(struct net *net, int from, uint8_t kind, unsigned times);

/* The flow of node a to node b, made if need be. */
struct gamma_flow *net_flow(struct net *net, unsigned a, unsigned b);
/* Numbers of frames from a to b begin with seq instead of 0. */
void net_begin_at(struct net *net, unsigned a, unsigned b, uint32_t seq);

struct outgoing *net_send(struct net *net, unsigned from, unsigned to, uint64_t length,
			  enum gamma_completion_level level);
/* The same with memory for only some bytes of it (the rest must not be touched). */
struct outgoing *net_send_part(struct net *net, unsigned from, unsigned to, uint64_t length,
			       size_t present, enum gamma_completion_level level);
/* The same to an address without epoch. */
struct outgoing *net_send_partial(struct net *net, unsigned from, unsigned to, uint64_t length,
				  enum gamma_completion_level level);
void net_post(struct net *net, unsigned node, size_t capacity);
/* Throws the oldest unexpected message away. */
void net_discard(struct net *net, unsigned node);

/* Moves on by one event; false: none before until. */
bool net_step(struct net *net, uint64_t until);
void net_run(struct net *net, uint64_t duration);
/* Until every send is done and nothing is posted any more; fails if that takes longer than limit.
 * Returns the time taken, in ns. */
uint64_t net_finish(struct net *net, uint64_t limit);
/* A message of 64 bytes from node 0 to node 1, to its end: then they know each other. */
void net_exchange(struct net *net);
bool net_quiet(const struct net *net); /* no frame under way */

/* Not 0 while the harness allocates: tests without memory do not fail these allocations. */
extern volatile unsigned net_allocates;
void *net_allocate(size_t size); /* zeroed memory for the harness */

const struct gamma_stats *net_stats(const struct net *net, unsigned node);
uint64_t net_random(uint64_t *seed);

/* A frame as if it had come from node a to b, with a right checksum. */
void net_forge(struct net *net, unsigned a, unsigned b, struct gamma_fields *fields,
	       const void *payload);
/* Fields of such a frame: ports, tenant and epochs are right. */
struct gamma_fields net_fields(const struct net *net, unsigned a, unsigned b, uint8_t kind,
			       uint8_t op);
/* An answer to the LOOKUP of node 0 that is out, as from node 1; addr: what it found, or NULL. */
void net_answer_lookup(struct net *net, uint8_t op, const struct gamma_addr *addr);
/* A BYE in node 1's name, so many numbers beyond the last one that node 0 has seen. */
void net_forge_bye(struct net *net, uint32_t beyond);

#endif /* GAMMA_TEST_PAIR_H */
