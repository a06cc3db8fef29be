// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The fast path of a short message over the network. It shortens the ordinary path, which stays in
 * output.c (out) and dispatch.c (in), and leaves everything unusual to it:
 *
 *   out  gamma_fastpath_send     the frame leaves first, then it is entered in the send window
 *   in   gamma_fastpath_receive  the message is delivered first; ACK, credit and the ring's slot
 *        gamma_fastpath_process_deferred  follow when the program has answered, or polls again
 */
#include "engine/dispatch.h"
#include "engine/fastpath.h"
#include "engine/output.h"
#include "engine/peers.h"
#include "flow/transmit.h"

/* Some links do not know when a frame arrived. */
static uint64_t arrival_time(const struct gamma_endpoint *endpoint,
			     const struct gamma_arrival *arrival)
{
	return gamma_likely(arrival->stamp)
		       ? gamma_dispatch_arrival_time(endpoint, arrival, GAMMA_NEVER)
		       : gamma_now();
}

/* Anything unexpected is left to gamma_dispatch, which counts and answers it. */
bool gamma_fastpath_receive(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival)
{
	struct gamma_local *local = &endpoint->local;
	struct gamma_fields fields;
	struct gamma_flow *flow;

	if (!gamma_codec_is_simple_message(arrival->frame, arrival->len) ||
	    gamma_codec_parse(arrival->frame, arrival->len, &fields) != GAMMA_OK ||
	    fields.tenant != local->tenant || fields.dst_port != local->port ||
	    fields.dst_epoch != local->epoch)
		return false;
	flow = gamma_peers_find(endpoint, gamma_dispatch_sender(arrival), fields.src_port,
				fields.src_epoch);
	if (!flow ||
	    !gamma_flow_receive_message(flow, &fields, gamma_dispatch_payload(arrival, &fields),
					arrival_time(endpoint, arrival)))
		return false;
	local->stats.frames_in++;
	local->stats.bytes_in += arrival->len;
	local->stats.rx_fast++;
	return true;
}

/* When the frame left (ns). Most frames are sent before the clock is read: then the shortest known
 * duration of the call is subtracted from now. before: the clock before the call, or 0. */
static uint64_t departure_time(struct gamma_endpoint *endpoint, uint64_t before, uint64_t now)
{
	uint64_t most = endpoint->call_ns ? endpoint->call_ns + endpoint->call_ns / 16
					  : GAMMA_CALL_US * GAMMA_NS_PER_US;

	if (gamma_likely(!before))
		return now - endpoint->call_ns;
	endpoint->call_ns = gamma_min(now - before, most);
	return before;
}

/* Everything that the frame does not need is done after it has left. */
bool gamma_fastpath_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			 const struct iovec *iov, unsigned iov_count,
			 const struct gamma_envelope *envelope)
{
	struct gamma_link *link = flow->same_host ? &endpoint->shm->link : endpoint->packet;
	uint64_t before, left, now;
	unsigned sent;
	int error = 0;

	if (endpoint->stalled_until)
		return false;
	if (gamma_unlikely(flow->rail))
		link = endpoint->rails[flow->rail].link;
	before = gamma_transmit_wants_clock(flow) ? gamma_now() : 0;
	if (!gamma_transmit_direct(flow, iov, iov_count, envelope, before, endpoint->burst))
		return false;
	sent = link->ops->send(link, endpoint->burst, 1, &error);
	endpoint->local.stats.tx_direct++;
	now = flow->same_host ? before : gamma_now();
	left = flow->same_host ? before : departure_time(endpoint, before, now);
	gamma_transmit_direct_sent(flow, left, !before, now);
	if (gamma_likely(endpoint->local.deferred.flow))
		gamma_fastpath_process_deferred(endpoint, now);
	gamma_output_account(endpoint, link, flow->same_host, 1, sent, error, now);
	return true;
}

void gamma_fastpath_process_deferred(struct gamma_endpoint *endpoint, uint64_t now)
{
	gamma_flow_process_deferred(&endpoint->local, now);
	if (endpoint->holds && gamma_likely(!endpoint->lending.lent))
		endpoint->holds->ops->release(endpoint->holds);
	endpoint->holds = NULL;
}

/* Returns 0, or the time if it was read. */
uint64_t gamma_fastpath_process_any(struct gamma_endpoint *endpoint)
{
	uint64_t now;

	if (gamma_likely(!endpoint->local.deferred.flow))
		return 0;
	now = gamma_now();
	gamma_fastpath_process_deferred(endpoint, now);
	return now;
}
