/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* When and with what arriving data is acknowledged. */
#ifndef GAMMA_FLOW_ACK_H
#define GAMMA_FLOW_ACK_H

#include <stdbool.h>
#include <stdint.h>

struct gamma_fields;
struct gamma_flow;

/* What is to be acknowledged: ack.c alone changes it, but for `cuts`. */
struct gamma_ack_state {
	uint32_t owed;       /* frames arrived since the last acknowledgement left */
	bool now;            /* acknowledge in this progress call */
	bool echo_valid;     /* a frame arrived whose delay can be reported */
	bool spurious;       /* a repetition came of what was here already */
	uint8_t skipped;     /* acks on data since one carried the delay */
	uint32_t cuts;       /* messages of the peer demoted here, and operations refused:
			      * message/ counts */
	uint32_t sent_limit; /* limit in the last acknowledgement that left */
};

/* A DATA frame has arrived; and when to acknowledge it, unless that has been done meanwhile. */
void gamma_ack_owe(struct gamma_flow *flow);
void gamma_ack_owe_run(struct gamma_flow *flow, uint32_t count);
void gamma_ack_arrived(struct gamma_flow *flow, uint8_t flags, uint64_t now);
void gamma_ack_now(struct gamma_flow *flow);
bool gamma_ack_due(const struct gamma_flow *flow);
/* Whether the next data, if it carries an acknowledgement, reports how long that has waited. */
bool gamma_ack_reports_delay(const struct gamma_flow *flow);
/* Puts the acknowledgement into an outgoing frame and counts it as sent. */
void gamma_ack_attach(struct gamma_flow *flow, struct gamma_fields *fields, bool alone,
		      uint64_t now);

#endif /* GAMMA_FLOW_ACK_H */
