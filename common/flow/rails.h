/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rails: the NICs of an endpoint, when it has several. A flow has one sequence, one window and one
 * credit account on all of them. State that differs from rail to rail is here: the peer's MAC
 * address, the MTU, the round trip, and what proves that a frame is lost. The first rail is the one
 * of both endpoints' addresses. Flows of endpoints with one NIC have no struct gamma_rails.
 */
#ifndef GAMMA_FLOW_RAILS_H
#define GAMMA_FLOW_RAILS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "wire/wire.h"

struct gamma_fields;
struct gamma_flow;
struct gamma_frame;
struct gamma_local;
struct gamma_loss_of_rail;
struct gamma_sent;

enum {
	GAMMA_RAIL_TRIES = 3,        /* probes of a rail that another one has overtaken: doubt */
	GAMMA_RAIL_TURN = 8,         /* frames of a long message that leave by one rail in a row */
	GAMMA_RAIL_TURN_US = 100,    /* so long it is busy with those of a train, which are more */
	GAMMA_RAIL_RAW = 16384,      /* frames of long messages that are raw after a bound */
	GAMMA_RAIL_EXPECTED_US = 20, /* so long a peer that took frames over UDP looks for more */
	GAMMA_RAIL_ROUND = 32,     /* frames, of all rails, by which the time of one is measured */
	GAMMA_RAIL_MTU_TRIES = 6,  /* padded probes until a rail is taken not to pass its MTU */
	GAMMA_RAIL_MTU_LOSSES = 8, /* large frames in a row until its MTU is doubted */
};

enum gamma_rail_state {
	GAMMA_RAIL_NONE,     /* either end has no such rail, or has not listed it */
	GAMMA_RAIL_UNPROVEN, /* nothing has been answered on it yet */
	GAMMA_RAIL_USABLE,
	GAMMA_RAIL_DOUBTED, /* it was usable, and does not answer while another one does */
};

/* Round trip and evidence of loss: of one rail. */
struct gamma_loss_of_rail {
	uint64_t rtt, rtt_min;       /* ns, the network's alone; 0: not measured yet */
	uint64_t answer, answer_var; /* ns: round trip with the delay of a peer that polls */
	uint64_t rack_serial;        /* of the latest transmission known to have arrived */
	uint64_t rack_rtt;           /* ns: its round trip */
};

struct gamma_rail {
	struct gamma_loss_of_rail loss; /* but the first rail's: that is flow->loss.first */
	uint8_t mac[GAMMA_MAC_LEN];     /* the peer's; all zero: unknown */
	bool proven;                    /* listed in an answer to this side's question */
	uint16_t peer_mtu;              /* bytes: of the peer's NIC, as it has listed it */
	uint8_t state;                  /* enum gamma_rail_state */
	uint32_t most;                  /* bytes: smaller of both NICs' MTUs; 0: unknown */
	uint32_t mtu;          /* bytes, in use; but the first rail's: flow->path_mtu.mtu */
	uint8_t mtu_tries;     /* padded probes unanswered since it is smaller than most */
	uint8_t large_losses;  /* frames above the least MTU lost in a row, */
	uint64_t large_since;  /* ns: since then */
	uint64_t refused;      /* ns: since when its link has refused such frames; 0: it has not */
	bool blocked;          /* it does not pass 1,500 bytes: to be doubted */
	uint32_t in_flight;    /* DATA frames that left by it last, and are neither known to have
				* arrived nor to be lost */
	uint64_t sent_arrived; /* ns: when the latest of what has arrived by it left */
	uint64_t since;        /* ns: of its last answer, or since an answer is due */
	uint64_t came_at;      /* ns: over UDP, beside raw ones: when the peer's last frames came */
	uint64_t look;         /* ns: when it is to be looked at next */
	bool probing;          /* a probe of it is not answered */
	bool wanted;           /* a probe of it is to leave */
	uint8_t held_up;       /* how often in a row it could not, as the link was full */
	uint32_t probe;        /* its number, the same in repetitions */
	uint32_t probe_size;   /* bytes to which the last one was padded; 0: it was not */
	bool probe_refused;    /* its link did not take it, perhaps for that size */
	uint64_t probe_first;  /* ns: when it left first; 0: it has not */
	uint64_t probe_last;   /* ns: when it left last */
	uint64_t probe_serial; /* transmissions before it left first */
	uint64_t probe_rtt;    /* ns: round trip of the last one that left once; 0: none */
	uint32_t unanswered;   /* of it: how often it has been repeated */
	uint32_t overtaken;    /* ditto, though what left later by another rail arrived */
	uint32_t round_frames; /* that have arrived by it in this round */
	bool round_idle;       /* in this round it had nothing to carry for a while */
	uint64_t frame_ns;     /* how long a frame takes while there is one; 0: unknown */
	uint32_t asked;        /* number of the peer's probe to be answered, */
	bool answers;          /* if so */
};

struct gamma_rails {
	struct gamma_rail rail[GAMMA_RAILS_MAX];
	uint64_t arrived;      /* counts answers by rails: changes with each */
	uint64_t round;        /* ns: since when the times of a frame are measured, of all rails */
	uint64_t round_heard;  /* ns: when the last frame of it was known to have arrived */
	uint32_t round_frames; /* that have arrived since, by any rail */
	uint8_t count;         /* that both ends have, as the peer has listed them; 1: not yet */
	uint8_t spread;        /* the rail by which a long message leaves now */
	uint8_t turn;          /* its frames that still leave by it */
	uint32_t raw_left;     /* frames of long messages that leave raw: a port is slow */
	uint8_t came;          /* bits: rails by which frames came since the last acknowledgement */
	uint8_t came_last;     /* rail */
	uint8_t asks;          /* questions for the peer's rails sent */
	bool asking;           /* it has not answered */
	bool ask_wanted;       /* one is to leave */
	uint32_t ask;          /* its number */
	uint64_t ask_look;     /* ns: when to ask again */
	bool lists;            /* the peer's question is to be answered, */
	uint8_t lists_on;      /* on that rail */
	uint32_t listed;       /* number of that question */
	bool has_listed;       /* there has been one */
	bool outdated;         /* it has listed more there than it answered before */
	uint8_t peer_down; /* bits: of the peer's NICs, those that have no carrier, as it says */
};

static inline bool gamma_rails_is_usable(const struct gamma_rails *rails, unsigned r)
{
	return rails->rail[r].state == GAMMA_RAIL_USABLE;
}

/* None of these is inlined: most flows have one rail, and their path stays as short as it is. */

/* A flow begins, of an endpoint with several NICs. Without memory it has one rail. */
GAMMA_NOINLINE void gamma_rails_init(struct gamma_flow *flow);
GAMMA_NOINLINE void gamma_rails_free(struct gamma_flow *flow);
/* The same in the midst of a flow, of an endpoint that can have a rail over UDP: it has a long
 * message to send, or its peer asks for rails. */
GAMMA_NOINLINE void gamma_rails_begin(struct gamma_flow *flow);
/* A frame of the peer's has come: asks for its rails, if that has not been done. */
GAMMA_NOINLINE void gamma_rails_heard(struct gamma_flow *flow, uint64_t now);
/* The same of a frame whose rail was noted before. */
GAMMA_NOINLINE void gamma_rails_ask(struct gamma_flow *flow, uint64_t now);

/* ---- the way out ---- */

/* MAC addresses and flag of a frame that leaves by another rail than the first. */
GAMMA_NOINLINE void gamma_rails_address(const struct gamma_flow *flow, uint8_t rail,
					struct gamma_fields *fields, const uint8_t **to,
					const uint8_t **from);
GAMMA_NOINLINE void gamma_rails_transmitted(struct gamma_flow *flow, struct gamma_sent *sent,
					    uint64_t now);
/* A probe of that rail leaves now. */
void gamma_rails_probing(struct gamma_flow *flow, uint8_t rail, uint64_t now);
/* It cannot leave now. */
void gamma_rails_probe_later(struct gamma_flow *flow, uint8_t rail, uint64_t now);
/* Asks for a probe of a rail; of all that are used. */
GAMMA_NOINLINE void gamma_rails_want_probe(struct gamma_flow *flow, uint8_t rail);
GAMMA_NOINLINE void gamma_rails_want_probes(struct gamma_flow *flow);

/* ---- the way in ---- */

/* A PROBE for rails; false: it is another one. */
GAMMA_NOINLINE bool gamma_rails_asked(struct gamma_flow *flow, const struct gamma_fields *fields,
				      const uint8_t *payload, uint64_t now);
/* An answer to one, or to what an endpoint with one rail takes for a plain probe; false: it is
 * another one. */
GAMMA_NOINLINE bool gamma_rails_answered(struct gamma_flow *flow, const struct gamma_fields *fields,
					 const uint8_t *payload, uint64_t now);

/* Is that the number of a PROBE for rails which is out? */
GAMMA_NOINLINE bool gamma_rails_is_probe(const struct gamma_flow *flow, uint32_t seq);

/* ---- evidence ---- */

GAMMA_NOINLINE struct gamma_loss_of_rail *gamma_rails_loss(struct gamma_flow *flow, uint8_t rail);
/* How long to wait for a sign of the peer while frames are in flight by rails, ns. */
GAMMA_NOINLINE uint64_t gamma_rails_answer_time(const struct gamma_flow *flow);
/* A DATA frame that was in flight has arrived. */
GAMMA_NOINLINE void gamma_rails_delivered(struct gamma_flow *flow, struct gamma_sent *sent,
					  uint64_t heard);
/* It is lost, and so not in flight any more. */
GAMMA_NOINLINE void gamma_rails_lost(struct gamma_flow *flow, struct gamma_sent *sent);
GAMMA_NOINLINE void gamma_rails_timeout(struct gamma_flow *flow, uint64_t now);

/* ---- for rails_mtu.c and rails_nics.c ---- */

bool gamma_rails_other_is_usable(const struct gamma_rails *rails, unsigned except);
/* Looks at that rail next then, ns. */
void gamma_rails_look_later(struct gamma_flow *flow, unsigned rail, uint64_t when);
/* Its frames leave by other rails. */
GAMMA_NOINLINE void gamma_rails_doubt(struct gamma_flow *flow, uint8_t rail, uint64_t now);
/* Both ends have it: a probe shows whether it passes. */
GAMMA_NOINLINE void gamma_rails_try(struct gamma_flow *flow, uint8_t rail, uint64_t now);
/* Asks for the peer's rails with a new number: an answer to an earlier question may be older than
 * what is asked for. */
GAMMA_NOINLINE void gamma_rails_ask_anew(struct gamma_flow *flow, uint64_t now);

#endif /* GAMMA_FLOW_RAILS_H */
