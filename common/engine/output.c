// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Output: polls the ready flows for frames, one flow after the other, and hands the frames to the
 * links in bursts. Frames that a link refuses go back to their flows, which send them later.
 */
#include "engine/dispatch.h"
#include "engine/fastpath.h"
#include "engine/output.h"
#include "engine/peers.h"
#include "engine/shm_path.h"
#include "flow/rails_choice.h"
#include "flow/rails_mtu.h"
#include "flow/rails_nics.h"
#include "flow/transmit.h"
#include "flow/transmit_run.h"
#include "message/copies.h"

#include <errno.h>

static size_t length_of(const struct gamma_frame *frame)
{
	return frame->head_len + gamma_iov_len(frame->iov, frame->iov_count);
}

static void count_out(struct gamma_stats *stats, const struct gamma_frame *frames, unsigned count)
{
	stats->frames_out += count;
	for (unsigned i = 0; i < count; i++) {
		stats->bytes_out += frames[i].head_len;
		for (unsigned k = 0; k < frames[i].iov_count; k++)
			stats->bytes_out += frames[i].iov[k].iov_len;
	}
}

/* Full frames of this flow that leave in one call; 0: they leave singly. */
static unsigned train_of(const struct gamma_endpoint *endpoint, const struct gamma_flow *flow)
{
	if (gamma_likely(!endpoint->train) || endpoint->packet->train)
		return endpoint->train;
	return flow->rails && gamma_rails_choice_has_trains(flow) ? endpoint->train : 0;
}

/* Whether the flow's next frames are a longer message's, which leave so. */
static bool is_in_train(const struct gamma_endpoint *endpoint, const struct gamma_flow *flow)
{
	return train_of(endpoint, flow) &&
	       (gamma_send_is_placed(flow) || gamma_send_part_of(flow) != GAMMA_SEND_ALONE);
}

/* Frames that fit in a burst: whole trains. */
static unsigned burst_size(const struct gamma_endpoint *endpoint)
{
	const unsigned train = endpoint->train;

	return gamma_likely(!train) ? GAMMA_BURST : GAMMA_BURST / train * train;
}

/* Fills the burst with frames of one flow; false: the flow has more to send. */
static bool collect_frames(struct gamma_endpoint *endpoint, struct gamma_flow *flow, uint64_t now,
			   unsigned most, unsigned *count)
{
	const unsigned train = train_of(endpoint, flow);
	/* Before the next flow's turn. */
	const unsigned turns = gamma_likely(!train) ? GAMMA_FLOW_TURN : train;

	for (unsigned turn = 0; turn < turns && *count < most; turn++) {
		if (!gamma_transmit_poll(flow, now, &endpoint->burst[*count]))
			return true;
		(*count)++;
		if (gamma_list_empty(&flow->ready_entry))
			return true;
		if (gamma_unlikely(train)) {
			unsigned run = gamma_transmit_run(
				flow, now, &endpoint->burst[*count - 1],
				(unsigned) gamma_min(turns - turn - 1, most - *count));

			turn += run;
			*count += run;
			/* The next rail's train is a burst of its own. */
			if (flow->rails && gamma_rails_choice_turn_is_over(flow))
				break;
		}
		/* In a train the few frames that a bounded flow may send cost little more than one.
		 */
		if (gamma_unlikely(flow->tx.bounded) && !train)
			break;
	}
	/* Its turn is over: it goes behind the others. */
	gamma_list_remove(&flow->ready_entry);
	gamma_flow_ready(flow);
	return false;
}

/* No process owns the port on this host. A peer that was connected has ended. A peer in LOOKUP may
 * still start, and a timer asks again. */
static void end_refused_flow(struct gamma_flow *flow, uint64_t now)
{
	if (flow->state == GAMMA_FLOW_OPEN) {
		gamma_flow_fail_for_good(flow, -ECONNRESET, GAMMA_SHM_PROCESS_ENDED, now);
	} else {
		flow->pending = 0;
		gamma_flow_no_port(flow, now);
	}
}

/* The flow, or all flows of the link, are tried again later, with exponential backoff. Frames that
 * a link refuses before it is tried again, as the rest of a burst of
 * several rails, belong to the same stall.
 */
static void stall_link(struct gamma_endpoint *endpoint, bool same_host, uint8_t rail, uint64_t now)
{
	uint32_t *stalls = rail ? &endpoint->rails[rail].stalls : &endpoint->stalls[same_host];
	uint64_t until = now + (GAMMA_STALL_US * GAMMA_NS_PER_US << *stalls);

	endpoint->local.stats.send_stalls++;
	if (!same_host && (rail ? endpoint->rails[rail].until : endpoint->packet_until) > now)
		return;
	*stalls = (uint32_t) gamma_min(*stalls + 1, GAMMA_STALLS_MAX);
	if (rail)
		endpoint->rails[rail].until = until;
	else if (!same_host)
		endpoint->packet_until = until;
	if (!same_host)
		endpoint->local.rails_busy |= (uint8_t) (1u << rail);
	if (!endpoint->stalled_until || until < endpoint->stalled_until)
		endpoint->stalled_until = until;
}

static void park_stalled(struct gamma_endpoint *endpoint, struct gamma_flow *flow)
{
	gamma_list_remove(&flow->ready_entry);
	gamma_list_append(&endpoint->local.stalled, &flow->ready_entry);
}

/* False: it is too small to go on with. */
static bool take_lower_mtu(struct gamma_endpoint *endpoint, const struct gamma_link *link,
			   uint8_t rail)
{
	if (gamma_unlikely(rail)) {
		gamma_rails_nics_set_mtu(&endpoint->local, rail, link->mtu, gamma_now());
		return true;
	}
	if (link->mtu >= GAMMA_LEAST_MTU) {
		gamma_path_mtu_set_own(&endpoint->local, link->mtu);
		return true;
	}
	gamma_dispatch_end_by_mtu(endpoint);
	return false;
}

/* A virtual NIC may refuse it for its size alone. */
static bool is_jumbo(const struct gamma_frame *frame)
{
	return length_of(frame) > GAMMA_SAFE_MTU + GAMMA_ETH_LEN;
}

/* A padded probe is there to find out what passes. That a link does not take it says nothing of
 * smaller frames, which show whether the link is full. */
static bool refuses_size(const struct gamma_frame *frame, int error)
{
	return frame->kind == GAMMA_KIND_PROBE && error == -EAGAIN && is_jumbo(frame);
}

static uint32_t stalls_of(const struct gamma_endpoint *endpoint, uint8_t rail)
{
	return rail ? endpoint->rails[rail].stalls : endpoint->stalls[0];
}

/* One that has taken a frame since is there again. */
static bool are_all_removed(const struct gamma_endpoint *endpoint)
{
	for (uint8_t r = 0; r < endpoint->local.rail_count; r++)
		if (!(endpoint->rails_removed >> r & 1) || !stalls_of(endpoint, r))
			return false;
	return true;
}

/* One of several NICs was removed. Flows that know no other way than the first have ended. */
static void give_up_rail(struct gamma_endpoint *endpoint, uint8_t rail)
{
	struct gamma_list *pos, *tmp;

	endpoint->rails_removed |= (uint8_t) (1u << rail);
	if (are_all_removed(endpoint)) {
		gamma_peers_fail_all(endpoint, -ENODEV, GAMMA_NIC_REMOVED);
		return;
	}
	gamma_list_for_each_safe (pos, tmp, &endpoint->local.flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (!rail && !flow->same_host && !(flow->rails && flow->rails->count > 1))
			gamma_flow_fail(flow, -ENODEV, GAMMA_NIC_REMOVED);
	}
}

/* A NIC does not take this frame. If it is down, was removed, or has taken nothing for long, what
 * can leaves by others. */
static GAMMA_NOINLINE void leave_rail(struct gamma_endpoint *endpoint, uint8_t rail,
				      const struct gamma_frame *frame, int error, uint64_t now)
{
	if (error != -ENODEV)
		endpoint->rails_removed &= (uint8_t) ~(1u << rail);
	/* Without carrier nothing fails but the sending, as with a full queue. */
	if (error != -ENODEV && !gamma_rails_nics_look(&endpoint->local, rail, now))
		return;
	if (error != -ENODEV && error != -ENETDOWN &&
	    (stalls_of(endpoint, rail) < GAMMA_STALLS_MAX || is_jumbo(frame)))
		return;
	gamma_rails_nics_down(&endpoint->local, rail, now);
	if (error == -ENODEV)
		give_up_rail(endpoint, rail);
}

/* Of another rail than the first, whose frames are the rest. */
static GAMMA_NOINLINE void count_of_rail(struct gamma_endpoint *endpoint, uint8_t rail,
					 const struct gamma_frame *frames, unsigned count)
{
	struct gamma_own_rail *own = &endpoint->local.own_rails[rail];

	endpoint->rails[rail].stalls = 0;
	own->frames_out += count;
	for (unsigned i = 0; i < count; i++) {
		own->bytes_out += length_of(&frames[i]);
		own->retransmissions += frames[i].kind == GAMMA_KIND_DATA && frames[i].again;
	}
}

static void count_same_host(struct gamma_endpoint *endpoint, const struct gamma_frame *frames,
			    unsigned count)
{
	endpoint->same_host_frames += count;
	for (unsigned i = 0; i < count; i++)
		endpoint->same_host_bytes += length_of(&frames[i]);
	if (!frames[0].flow->has_shm_channel)
		gamma_shm_path_find_channel(endpoint, frames[0].flow);
}

/* The link has taken so many of these frames, all of one rail. False: it is full. */
static bool account_frames(struct gamma_endpoint *endpoint, struct gamma_link *link, bool same_host,
			   const struct gamma_frame *burst, unsigned count, unsigned sent,
			   int error, uint64_t now)
{
	uint8_t rail = burst->rail;

	count_out(&endpoint->local.stats, burst, sent);
	if (gamma_likely(sent && !rail))
		endpoint->stalls[same_host] = 0;
	else if (sent)
		count_of_rail(endpoint, rail, burst, sent);
	if (same_host && sent)
		count_same_host(endpoint, burst, sent);
	if (gamma_likely(sent == count))
		return true;
	for (unsigned i = sent; i < count; i++)
		gamma_transmit_unsent(burst[i].flow, &burst[i], now);
	if (refuses_size(&burst[sent], error)) {
		if (burst[sent].op == GAMMA_PROBE_RAIL)
			gamma_rails_mtu_probe_refused(burst[sent].flow, rail);
		return true;
	}
	if (error == -ECONNREFUSED) {
		end_refused_flow(burst[sent].flow, now);
		return true;
	}
	if (error == -EPROTO) {
		gamma_flow_declare_dead(burst[sent].flow, -ECONNRESET, GAMMA_SHM_NONSENSE, now);
		return true;
	}
	if (error == -EMSGSIZE && take_lower_mtu(endpoint, link, rail))
		return true;
	stall_link(endpoint, same_host, rail, now);
	if (gamma_unlikely(endpoint->local.rail_count > 1) && !same_host)
		leave_rail(endpoint, rail, &burst[sent], error, now);
	else if (gamma_unlikely(error == -ENODEV))
		gamma_peers_fail_all(endpoint, error, GAMMA_NIC_REMOVED);
	return false;
}

bool gamma_output_account(struct gamma_endpoint *endpoint, struct gamma_link *link, bool same_host,
			  unsigned count, unsigned sent, int error, uint64_t now)
{
	return account_frames(endpoint, link, same_host, endpoint->burst, count, sent, error, now);
}

/* Whether this frame's copy is to be timed; only bytes in the program's memory count. */
static bool is_timed_copy(const struct gamma_frame *frame)
{
	return gamma_peer(frame->flow)->copy_model.timed &&
	       gamma_iov_len(frame->iov, frame->iov_count) >= GAMMA_COPY_MIN;
}

static unsigned send_timed(struct gamma_link *link, const struct gamma_frame *frame, int *error)
{
	uint64_t begin = gamma_now();
	unsigned sent = link->ops->send(link, frame, 1, error);

	if (sent)
		gamma_shm_copy_model_record(&gamma_peer(frame->flow)->copy_model,
					    gamma_iov_len(frame->iov, frame->iov_count),
					    gamma_now() - begin);
	return sent;
}

/* Hands the burst to its link. False: the link is full. */
static bool send_burst(struct gamma_endpoint *endpoint, struct gamma_link *link, bool same_host,
		       unsigned count, uint64_t now)
{
	int error = 0;
	unsigned sent;

	if (gamma_unlikely(same_host && is_timed_copy(endpoint->burst)))
		sent = send_timed(link, endpoint->burst, &error);
	else
		sent = link->ops->send(link, endpoint->burst, count, &error);
	return gamma_output_account(endpoint, link, same_host, count, sent, error, now);
}

/* Frames that the peer will answer over UDP: acknowledgements of what leaves there, and the bytes
 * that it is asked for. */
static bool asks_for_udp(const struct gamma_endpoint *endpoint, const struct gamma_frame *frames,
			 unsigned count)
{
	if (gamma_local_rail_is_udp(&endpoint->local, frames->rail))
		return true;
	for (unsigned i = 0; i < count; i++)
		if (frames[i].kind == GAMMA_KIND_DATA &&
		    (frames[i].op == GAMMA_OP_ACCEPT || frames[i].op == GAMMA_OP_READ))
			return true;
	return false;
}

/* The burst's frames leave by several rails: those in a row by the same one together. Frames that a
 * rail does not take go back to their flow. */
static void send_by_rails(struct gamma_endpoint *endpoint, unsigned count, uint64_t now)
{
	struct gamma_frame *burst = endpoint->burst;
	uint8_t refused = 0; /* bits: rails */

	for (unsigned first = 0, end; first < count; first = end) {
		uint8_t rail = burst[first].rail;
		struct gamma_link *link = gamma_links_of_rail(endpoint, rail);
		unsigned sent;
		int error = -EAGAIN;

		for (end = first + 1; end < count && burst[end].rail == rail; end++)
			;
		if (refused >> rail & 1) {
			for (unsigned i = first; i < end; i++)
				gamma_transmit_unsent(burst[i].flow, &burst[i], now);
			continue;
		}
		sent = link->ops->send(link, &burst[first], end - first, &error);
		if (endpoint->local.rails_udp && asks_for_udp(endpoint, &burst[first], end - first))
			gamma_links_expect(endpoint);
		if (gamma_unlikely(sent < end - first)) {
			if (refuses_size(&burst[first + sent], error))
				end = first + sent + 1; /* what stands behind it is offered */
			else
				refused |= (uint8_t) (1u << rail);
		}
		account_frames(endpoint, link, false, &burst[first], end - first, sent, error, now);
	}
}

static void send_to_links(struct gamma_endpoint *endpoint, unsigned count, uint64_t now)
{
	if (gamma_likely(endpoint->local.rail_count <= 1))
		send_burst(endpoint, endpoint->packet, false, count, now);
	else
		send_by_rails(endpoint, count, now);
}

/* Until when the link takes nothing by which most frames of this flow leave; 0: it does. */
static uint64_t stalled_until(const struct gamma_endpoint *endpoint, const struct gamma_flow *flow)
{
	return gamma_likely(!flow->rail) ? endpoint->packet_until
					 : endpoint->rails[flow->rail].until;
}

/* Sends frames of one flow to a peer of this host, one by one: a burst would save nothing, and each
 * channel can be full separately. Returns how many. */
static unsigned send_to_shm_peer(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
				 uint64_t now)
{
	for (unsigned turn = 0; turn < GAMMA_FLOW_TURN; turn++) {
		if (!gamma_transmit_poll(flow, now, endpoint->burst))
			return turn;
		if (!send_burst(endpoint, &endpoint->shm->link, true, 1, now)) {
			/* The frame is back in the flow, which is ready unless it has failed. */
			if (!gamma_list_empty(&flow->ready_entry))
				park_stalled(endpoint, flow);
			return turn;
		}
		if (gamma_list_empty(&flow->ready_entry))
			return turn + 1;
	}
	gamma_list_remove(&flow->ready_entry);
	gamma_flow_ready(flow);
	return GAMMA_FLOW_TURN;
}

/* Frames that one progress call may send, this flow's first. On a slow link fewer, so that arrivals
 * do not wait long. How long a raw frame takes says nothing of those in trains. */
static unsigned send_budget(const struct gamma_endpoint *endpoint, const struct gamma_flow *flow)
{
	uint64_t frames = GAMMA_SEND_US * GAMMA_NS_PER_US / (endpoint->packet->frame_ns + 1);
	const unsigned train = endpoint->train;

	if (gamma_unlikely(train) &&
	    (gamma_links_brings_trains(endpoint) || is_in_train(endpoint, flow)))
		return (GAMMA_SEND_BUDGET + train - 1) / train * train;
	return (unsigned) gamma_min(gamma_max(frames, GAMMA_SEND_LEAST), GAMMA_SEND_BUDGET);
}

/* Frames of the ready flows at the head of the list that take the packet link. */
static unsigned send_to_network(struct gamma_endpoint *endpoint, uint64_t now, unsigned most)
{
	struct gamma_list *ready = &endpoint->local.ready;
	unsigned count = 0;

	most = (unsigned) gamma_min(most, burst_size(endpoint));
	while (count < most && !gamma_list_empty(ready)) {
		struct gamma_flow *flow = gamma_list_first(ready, struct gamma_flow, ready_entry);

		if (flow->same_host || stalled_until(endpoint, flow) ||
		    !collect_frames(endpoint, flow, now, most, &count))
			break;
	}
	if (count)
		send_to_links(endpoint, count, now);
	return count;
}

static void resume_rails(struct gamma_endpoint *endpoint, uint64_t now)
{
	uint64_t until = endpoint->packet_until ? endpoint->packet_until : GAMMA_NEVER;
	uint8_t busy = endpoint->packet_until ? 1 : 0;

	for (unsigned r = 1; r < endpoint->local.rail_count; r++) {
		if (endpoint->rails[r].until <= now) {
			endpoint->rails[r].until = 0;
			continue;
		}
		busy |= (uint8_t) (1u << r);
		until = gamma_min(until, endpoint->rails[r].until);
	}
	endpoint->stalled_until = until == GAMMA_NEVER ? 0 : until;
	endpoint->local.rails_busy = busy;
}

/* Makes the stalled flows ready again. An endpoint with one link may get a second one while the
 * first is busy, or after that. */
static void resume_stalled(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_list *stalled = &endpoint->local.stalled;

	endpoint->stalled_until = 0;
	if (endpoint->packet_until <= now)
		endpoint->packet_until = 0;
	endpoint->local.rails_busy = endpoint->packet_until ? 1 : 0;
	if (gamma_unlikely(endpoint->local.rail_count > 1))
		resume_rails(endpoint, now);
	while (!gamma_list_empty(stalled)) {
		struct gamma_list *entry = stalled->next;

		gamma_list_remove(entry);
		gamma_list_append(&endpoint->local.ready, entry);
	}
}

/* Behind the frames: their receiver is busy with them meanwhile. */
static void take_deferred_copy(struct gamma_endpoint *endpoint)
{
	if (gamma_unlikely(endpoint->messages.deferred_copy))
		gamma_copies_take(&endpoint->messages);
}

void gamma_output(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_list *ready = &endpoint->local.ready;
	unsigned budget, count;

	if (gamma_unlikely(endpoint->local.deferred.flow))
		gamma_fastpath_process_deferred(endpoint, now);
	if (gamma_unlikely(endpoint->stalled_until && endpoint->stalled_until <= now))
		resume_stalled(endpoint, now);
	if (gamma_list_empty(ready))
		return;
	budget = send_budget(endpoint, gamma_list_first(ready, struct gamma_flow, ready_entry));
	while (!gamma_list_empty(ready) && budget) {
		struct gamma_flow *flow = gamma_list_first(ready, struct gamma_flow, ready_entry);

		if (flow->same_host) {
			count = send_to_shm_peer(endpoint, flow, now);
		} else if (gamma_unlikely(stalled_until(endpoint, flow))) {
			uint64_t until = stalled_until(endpoint, flow);

			park_stalled(endpoint, flow);
			if (!endpoint->stalled_until || until < endpoint->stalled_until)
				endpoint->stalled_until = until;
			continue;
		} else {
			bool bounded = flow->tx.bounded;

			count = send_to_network(endpoint, now, budget);
			if (gamma_unlikely(bounded))
				break;
		}
		budget -= (unsigned) gamma_min(count, budget);
	}
	take_deferred_copy(endpoint);
}

void gamma_output_flow(struct gamma_endpoint *endpoint, struct gamma_flow *flow)
{
	unsigned budget, count;
	uint64_t now;

	if (gamma_list_empty(&flow->ready_entry))
		return;
	budget = send_budget(endpoint, flow);
	now = gamma_now();
	if (gamma_unlikely(endpoint->local.deferred.flow))
		gamma_fastpath_process_deferred(endpoint, now);
	/* With stalled flows, the ordinary order applies. */
	if (gamma_unlikely(endpoint->stalled_until)) {
		gamma_output(endpoint, now);
		return;
	}
	while (!gamma_list_empty(&flow->ready_entry) && budget && !endpoint->stalled_until) {
		count = 0;
		if (flow->same_host)
			count = send_to_shm_peer(endpoint, flow, now);
		else
			collect_frames(endpoint, flow, now,
				       (unsigned) gamma_min(budget, burst_size(endpoint)), &count);
		if (count && !flow->same_host)
			send_to_links(endpoint, count, now);
		if (gamma_unlikely(flow->tx.bounded))
			break;
		budget -= (unsigned) gamma_min(count, budget);
	}
	take_deferred_copy(endpoint);
}

unsigned gamma_output_burst(struct gamma_endpoint *endpoint, struct gamma_link *link,
			    const struct gamma_frame *frames, unsigned count)
{
	int error;
	unsigned sent = link->ops->send(link, frames, count, &error);

	count_out(&endpoint->local.stats, frames, sent);
	if (frames->rail)
		count_of_rail(endpoint, frames->rail, frames, sent);
	if (gamma_likely(sent == count))
		return sent;
	if (error == -ECONNREFUSED || error == -EPROTO)
		return sent + 1;
	if (error == -EMSGSIZE)
		take_lower_mtu(endpoint, link, frames[sent].rail);
	endpoint->local.stats.send_stalls++;
	return sent;
}

bool gamma_output_single(struct gamma_endpoint *endpoint, struct gamma_link *link,
			 const struct gamma_frame *frame)
{
	return gamma_output_burst(endpoint, link, frame, 1);
}
