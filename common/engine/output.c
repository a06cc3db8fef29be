// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The way out: asks the ready flows for frames, in turn, and hands them to the links in bursts.
 * What a link does not take goes back to its flow, which sends it later.
 */
#include "engine/internal.h"

#include <errno.h>

static void count_out(struct gamma_stats *stats, const struct gamma_frame *frames, unsigned count)
{
	stats->frames_out += count;
	for (unsigned i = 0; i < count; i++) {
		stats->bytes_out += frames[i].head_len;
		for (unsigned k = 0; k < frames[i].iov_count; k++)
			stats->bytes_out += frames[i].iov[k].iov_len;
	}
}

/* Fills the burst with frames of one flow; false: the flow has more to send. */
static bool collect(struct gamma_endpoint *endpoint, struct gamma_flow *flow, uint64_t now,
		    unsigned *count)
{
	for (unsigned turn = 0; turn < GAMMA_FLOW_TURN && *count < GAMMA_BURST; turn++) {
		if (!gamma_flow_poll(flow, now, &endpoint->burst[*count]))
			return true;
		(*count)++;
	}
	/* Its turn is over: behind the others. */
	gamma_list_remove(&flow->ready_entry);
	gamma_flow_ready(flow);
	return false;
}

/* Nobody owns the port on this host: a peer that was talked to has ended; one that is being
 * looked up may still come, and a timer asks again. */
static void refused(struct gamma_flow *flow)
{
	if (flow->state == GAMMA_FLOW_OPEN)
		gamma_flow_fail(flow, -ECONNRESET, "its process has ended");
	else
		flow->pending = 0;
}

/* Hands the burst to its link. False: the link is full. */
static bool hand_over(struct gamma_endpoint *endpoint, struct gamma_link *link, unsigned count,
		      uint64_t now)
{
	struct gamma_frame *burst = endpoint->burst;
	int error;
	unsigned sent = link->ops->send(link, burst, count, &error);

	count_out(&endpoint->local.stats, burst, sent);
	if (gamma_likely(sent))
		endpoint->stalls = 0;
	if (gamma_likely(sent == count))
		return true;
	for (unsigned i = sent; i < count; i++)
		gamma_flow_unsent(burst[i].flow, &burst[i], now);
	if (error == -ECONNREFUSED) {
		refused(burst[sent].flow);
		return true;
	}
	if (error == -EMSGSIZE) {
		gamma_path_own_mtu(&endpoint->local, link->mtu);
		return true;
	}
	endpoint->local.stats.send_stalls++;
	endpoint->stalled_until = now + (GAMMA_STALL_US * GAMMA_NS_PER_US << endpoint->stalls);
	endpoint->stalls = gamma_min(endpoint->stalls + 1, GAMMA_STALLS_MAX);
	return false;
}

static struct gamma_link *link_of(const struct gamma_endpoint *endpoint,
				  const struct gamma_flow *flow)
{
	return flow->same_host ? endpoint->samehost : endpoint->packet;
}

void gamma_output(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_list *ready = &endpoint->local.ready;
	unsigned budget = GAMMA_SEND_BUDGET;

	if (endpoint->stalled_until > now)
		return;
	endpoint->stalled_until = 0;
	while (!gamma_list_empty(ready) && budget) {
		struct gamma_flow *flow = gamma_list_first(ready, struct gamma_flow, ready_entry);
		struct gamma_link *link = link_of(endpoint, flow);
		unsigned count = 0;

		collect(endpoint, flow, now, &count);
		/* Other ready flows of the same link fill the burst. */
		while (count < GAMMA_BURST && !gamma_list_empty(ready)) {
			flow = gamma_list_first(ready, struct gamma_flow, ready_entry);
			if (link_of(endpoint, flow) != link || !collect(endpoint, flow, now, &count))
				break;
		}
		if (count && !hand_over(endpoint, link, count, now))
			return;
		budget -= (unsigned) gamma_min(count, budget);
	}
}

bool gamma_output_single(struct gamma_endpoint *endpoint, struct gamma_link *link,
			 const struct gamma_frame *frame)
{
	int error;

	if (!link->ops->send(link, frame, 1, &error)) {
		if (error == -EMSGSIZE)
			gamma_path_own_mtu(&endpoint->local, link->mtu);
		endpoint->local.stats.send_stalls++;
		return false;
	}
	count_out(&endpoint->local.stats, frame, 1);
	return true;
}
