/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Round trip, loss, probing, and peers that are silent. */
#ifndef GAMMA_FLOW_LOSS_H
#define GAMMA_FLOW_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/rails.h"

struct gamma_flow;
struct gamma_fields;
struct gamma_sent;

struct gamma_loss {
	struct gamma_loss_of_rail first; /* of the first rail, mostly the only one */
	uint64_t last_sent;              /* ns: latest transmission */
	uint8_t wide;                    /* the reorder window is doubled so often */
	uint64_t wide_serial;            /* transmissions when that was last decided */
	uint32_t probe;                  /* number of the last probe */
	bool probing;                    /* it is not answered yet */
	uint64_t probe_time;             /* ns: when it left */
	uint64_t probe_serial;           /* transmissions before it */
	uint8_t probe_rail;              /* by which it left */
	uint32_t backoff;                /* probes unanswered in a row */
	uint64_t heard;                  /* ns: when the peer was last heard */
	uint64_t waiting_since; /* ns: since when something is owed without any sign of life */
	uint64_t asked;         /* ns: when LOOKUP last asked whether the peer is still there */
	bool stall_logged;      /* that it is, but does not move, has been said */
	bool doubted;           /* it is asked though nothing is owed */
};

void gamma_loss_transmitted(struct gamma_flow *flow, uint64_t now);
/* Of a frame that has arrived at the peer, as an acknowledgement says. */
void gamma_loss_delivered(struct gamma_flow *flow, struct gamma_sent *sent, uint64_t heard);
/* passed: ns from a transmission to its acknowledgement; delay: ns that the peer kept it. */
void gamma_loss_sample(struct gamma_flow *flow, uint64_t passed, uint64_t delay,
		       const struct gamma_sent *sent);
uint64_t gamma_loss_reorder_window(
	const struct gamma_flow *flow); /* ns: by how much frames may be late */
void gamma_loss_detect(struct gamma_flow *flow, uint64_t now);
/* Changes whenever a later transmission is known to have arrived. */
uint64_t gamma_loss_evidence(const struct gamma_flow *flow);
/* A probe, or all that was sent before it, has been answered so fast. */
void gamma_loss_take_probe_time(struct gamma_loss_of_rail *loss, uint64_t passed);
void gamma_loss_acked(struct gamma_flow *flow, bool progress, uint64_t now);
/* The peer reports a spurious retransmission: the frame was late, not lost. */
void gamma_loss_spurious(struct gamma_flow *flow);
void gamma_loss_probed(struct gamma_flow *flow, const struct gamma_fields *answer, uint64_t now);
void gamma_loss_want_probe(struct gamma_flow *flow); /* a plain probe */
/* A frame says in the peer's name that it has gone, and may be forged: asks the peer. */
void gamma_loss_challenge(struct gamma_flow *flow, uint64_t now);
void gamma_loss_timeout(struct gamma_flow *flow, uint64_t now);
void gamma_loss_rearm(struct gamma_flow *flow, uint64_t now);
/* Nothing is owed, but it may have vanished without a word. */
void gamma_loss_suspect_peer(struct gamma_flow *flow, uint64_t now);
bool gamma_loss_peer_dead(struct gamma_flow *flow, uint64_t now);

#endif /* GAMMA_FLOW_LOSS_H */
