// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Frames of one long message that came in one train: the flow and the place of the bytes are looked
 * up once, each frame is checked and copied, and window, credit and acknowledgement are brought up
 * to date once. Every frame that is not like the one before ends the run, and takes the ordinary
 * path (dispatch.c), which counts and answers it.
 */
#include "engine/receive_run.h"

#include "engine/dispatch.h"
#include "engine/peers.h"
#include "message/run.h"

struct run {
	struct gamma_flow *flow;
	struct gamma_run bytes;
	struct gamma_fields first; /* the first frame's */
	uint32_t count;
	uint8_t flags;    /* of all frames so far */
	uint64_t len;     /* bytes of the frames */
	uint64_t arrived; /* ns: the last one */
};

static bool begin_run(const struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival,
		      struct run *run)
{
	const struct gamma_local *local = &endpoint->local;
	struct gamma_fields *fields = &run->first;

	if (!gamma_codec_is_simple_fragment(arrival->frame, arrival->len) ||
	    gamma_codec_parse(arrival->frame, arrival->len, fields) != GAMMA_OK ||
	    fields->tenant != local->tenant || fields->dst_port != local->port ||
	    fields->dst_epoch != local->epoch)
		return false;
	run->flow = gamma_peers_find(endpoint, gamma_dispatch_sender(arrival), fields->src_port,
				     fields->src_epoch);
	run->count = 0;
	run->flags = 0;
	run->len = 0;
	return run->flow && gamma_flow_takes_run(run->flow, fields->seq) &&
	       gamma_run_begin(run->flow, fields, &run->bytes);
}

/* All frames of a train come from one address and port, but not all need be of one flow. */
static bool is_like(const struct gamma_fields *fields, const struct run *run)
{
	const struct gamma_fields *first = &run->first;

	return fields->seq == first->seq + run->count && fields->src_epoch == first->src_epoch &&
	       fields->dst_epoch == first->dst_epoch && fields->src_port == first->src_port &&
	       fields->dst_port == first->dst_port && fields->tenant == first->tenant &&
	       !((fields->flags ^ first->flags) & ~GAMMA_FLAG_ACK_REQUESTED);
}

static bool add_frame(struct run *run, const struct gamma_fields *fields,
		      const struct gamma_arrival *arrival)
{
	if (!gamma_run_add(&run->bytes, fields, gamma_dispatch_payload(arrival, fields)))
		return false;
	run->count++;
	run->flags |= fields->flags;
	run->len += arrival->len;
	return true;
}

static bool add_next(struct run *run, const struct gamma_arrival *arrival)
{
	struct gamma_fields fields;

	return arrival->behind && gamma_codec_is_simple_fragment(arrival->frame, arrival->len) &&
	       gamma_codec_parse(arrival->frame, arrival->len, &fields) == GAMMA_OK &&
	       is_like(&fields, run) && add_frame(run, &fields, arrival);
}

static void end_run(struct gamma_endpoint *endpoint, struct run *run, uint64_t now)
{
	struct gamma_stats *stats = &endpoint->local.stats;

	stats->frames_in += run->count;
	stats->bytes_in += run->len;
	stats->rx_run += run->count;
	gamma_run_end(run->flow, &run->bytes);
	gamma_flow_receive_run(run->flow, run->count, run->flags, run->arrived, now);
}

unsigned gamma_receive_run(struct gamma_endpoint *endpoint, struct gamma_link *link,
			   struct gamma_arrival *arrival, unsigned most, uint64_t now)
{
	struct run run;
	bool last;

	if (!begin_run(endpoint, arrival, &run) || !add_frame(&run, &run.first, arrival))
		return 0;
	do {
		run.arrived = gamma_dispatch_arrival_time(endpoint, arrival, now);
		last = arrival->alone;
		link->ops->release(link);
	} while (!last && run.count < most && link->ops->next(link, arrival) &&
		 add_next(&run, arrival));
	arrival->alone = last;
	end_run(endpoint, &run, now);
	return run.count;
}
