/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Credit: frames that a peer may send before it hears more. */
#ifndef GAMMA_FLOW_CREDIT_H
#define GAMMA_FLOW_CREDIT_H

#include "base/base.h"
#include "flow/slow_port.h"

struct gamma_flow;

struct gamma_credit {
	uint32_t limit;    /* receiver's: what this peer may reach; never lowered */
	uint32_t returned; /* receiver's: what this peer gave back of it, in all */
	uint32_t first;    /* receiver's: first credit outstanding, not in the pool's account */
	bool active;       /* receiver's: counted among the pool's active flows */
	bool bulk;         /* receiver's: the peer has more to send than fits its credit */
	bool reclaiming;   /* receiver's: RECLAIM asked, answer outstanding */
	bool disputed;     /* receiver's: the peer says that it has given back another number */
	bool repeated;     /* receiver's: it has said that twice in a row */
	uint32_t claimed;  /* receiver's: which, if so */
	uint8_t disputes;  /* receiver's: questions that it has answered so, in a row */
	struct gamma_list wait_entry;  /* in pool.waiting */
	struct gamma_list grant_entry; /* in pool.holders */
	bool starved;                  /* sender's: data waits, no credit; REQUEST is out */
	uint32_t backoff;              /* sender's: REQUESTs so far */
	uint64_t asked_at;             /* receiver's: pool.arrivals when the peer last asked */
	uint64_t used_at; /* receiver's: pool.arrivals when it was granted some, or last sent */
};

/* Credit of the receive ring, shared by the flows of an endpoint: credit.c */
struct gamma_credit_pool {
	uint32_t slots;   /* of the ring */
	uint32_t reserve; /* slots that are never granted: unknown peers, control frames,
			     retransmissions */
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
	uint64_t gather;       /* arrivals: no idle flow is asked for its credit before */
	uint64_t shorts;       /* frames taken that were messages or requests by themselves */
	struct gamma_slow_port slow_port;
	struct gamma_list waiting; /* flows that asked, oldest first */
	struct gamma_list holders; /* flows that hold grants, least recently used first */
};

void gamma_credit_pool_init(struct gamma_credit_pool *pool, uint32_t slots);
void gamma_credit_init(struct gamma_flow *flow);
/* All numbers of the peer's are larger by so many than this side knew. */
void gamma_credit_shift(struct gamma_flow *flow, uint32_t frames);
/* The least bound on frames under way from senders with a backlog; frames, 0: no bound. */
void gamma_credit_pool_set_budget(struct gamma_credit_pool *pool, uint32_t frames);
/* Frames to another receiver of the NIC got lost: the switch's port is the same. */
void gamma_credit_pool_lost(struct gamma_credit_pool *pool);
/* A new DATA frame. */
void gamma_credit_arrived(struct gamma_flow *flow, uint32_t seq, uint8_t flags);
/* So many, of which the last has that number; all have these flags, and none was sent again. */
void gamma_credit_arrived_run(struct gamma_flow *flow, uint32_t count, uint32_t seq, uint8_t flags);
/* The peer asks for more; seq: its next frame number. */
void gamma_credit_receive_request(struct gamma_flow *flow, uint32_t seq, uint64_t now);
void gamma_credit_receive_reclaimed(struct gamma_flow *flow, uint32_t returned);
void gamma_credit_give_back(struct gamma_flow *flow);                     /* sender: RECLAIM asks */
void gamma_credit_release(struct gamma_flow *flow);                       /* the flow ends */
void gamma_credit_receive_limit(struct gamma_flow *flow, uint32_t limit); /* sender: peer grants */
void gamma_credit_starved(struct gamma_flow *flow, uint64_t now);         /* sender: none left */
void gamma_credit_timeout(struct gamma_flow *flow, uint64_t now);
uint32_t gamma_credit_window(const struct gamma_flow *flow); /* frames outstanding granted */

/* A frame has come that is a message, or a request, by itself. */
void gamma_credit_count_short(struct gamma_flow *flow);

#endif /* GAMMA_FLOW_CREDIT_H */
