// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Marks of routers: see ecn.h. Plain acknowledgements carry the receiver's count in the field of
 * the frame number, which they do not need. A count needs no confirmation: a lost one is made good
 * by the next.
 */
#include "flow/ecn.h"

#include "flow/flow.h"
#include "wire/frame.h"

/* Frames that arrive without a count: then the peer reads no marks, or a router clears the bits. */
enum { SILENT_MAX = 64 };

/* With several NICs as well: the window is that of all paths, and a mark on any reduces it. */
void gamma_ecn_start(struct gamma_flow *flow)
{
	flow->ecn = (struct gamma_ecn){.capable = true};
}

/* ---- the sender ---- */

void gamma_ecn_delivered(struct gamma_flow *flow)
{
	struct gamma_ecn *ecn = &flow->ecn;

	if (!ecn->heard && ecn->capable)
		ecn->capable = ++ecn->silent < SILENT_MAX;
}

/* Only the latest acknowledgement counts: one that another has overtaken has an older count, and
 * who does not see the frames cannot guess its number. */
void gamma_ecn_heard(struct gamma_flow *flow, const struct gamma_fields *fields)
{
	struct gamma_ecn *ecn = &flow->ecn;
	bool marked = ecn->heard ? fields->seq != ecn->heard : fields->seq > 1;

	if (!fields->seq || !(fields->extensions & GAMMA_EXT_ACK) || fields->ack != flow->tx.una)
		return;
	ecn->heard = fields->seq;
	ecn->capable = true; /* it counts after all */
	if (marked)
		gamma_congestion_marked(flow);
}

/* ---- the receiver ---- */

bool gamma_ecn_is_marked(const struct gamma_flow *flow)
{
	return flow->congestion.on && flow->local->ecn && *flow->local->ecn == GAMMA_ECN_MARKED;
}

void gamma_ecn_arrived(struct gamma_flow *flow)
{
	struct gamma_ecn *ecn = &flow->ecn;
	uint8_t mark = flow->local->ecn ? *flow->local->ecn : GAMMA_ECN_NONE;

	if (mark < GAMMA_ECN_CAPABLE)
		return;
	ecn->count = (uint32_t) gamma_max(ecn->count, 1) + (mark == GAMMA_ECN_MARKED);
	if (!ecn->count)
		ecn->count = 1; /* after 2^32 marks */
	flow->local->stats.ecn_marked += mark == GAMMA_ECN_MARKED;
	/* That none was marked is reported when there is another reason to acknowledge. */
	if (mark == GAMMA_ECN_MARKED)
		gamma_flow_want(flow, GAMMA_PENDING_MARKS);
}
