// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The progress call of an endpoint: looks at its links for what has arrived, runs timers that are
 * due, and sends what can be sent. endpoint.c calls it, unless it sees at once that there is
 * nothing to do.
 */
#include "engine/datagram_names.h"
#include "engine/dispatch.h"
#include "engine/fastpath.h"
#include "engine/groups.h"
#include "engine/output.h"
#include "engine/peers.h"
#include "engine/progress.h"
#include "engine/receive_run.h"
#include "engine/shm_path.h"
#include "message/rndv_shm.h"

#include <string.h>
#include <time.h>

/* The kernel stamps frames with the wall clock, which may be set: compare the clocks now and then.
 */
static void compare_clocks(struct gamma_endpoint *endpoint, uint64_t now)
{
	if (endpoint->clock_read && now - endpoint->clock_read < GAMMA_NS_PER_S)
		return;
	endpoint->clock_offset = (int64_t) (gamma_clock_ns(CLOCK_REALTIME) - gamma_now());
	endpoint->clock_read = now;
}

/* Of a train, but its first frame: as many as can be received together; 0: none. */
static inline unsigned receive_run(struct gamma_endpoint *endpoint, struct gamma_link *link,
				   struct gamma_arrival *arrival, unsigned most, uint64_t *now)
{
	if (gamma_likely(!arrival->behind || arrival->alone))
		return 0;
	if (!*now)
		*now = gamma_now();
	return gamma_receive_run(endpoint, link, arrival, most, *now);
}

/* If a frame has arrived alone, deliver its message first, as the program may be waiting to answer.
 * Even the slot is released later: its cache line still belongs to the sender's core, and the next
 * atomic operation would wait for it. */
static unsigned receive_link(struct gamma_endpoint *endpoint, struct gamma_link *link,
			     uint64_t *now)
{
	struct gamma_arrival arrival;
	unsigned taken = 0;

	arrival.behind = false; /* only links with trains set it */
	while (taken < GAMMA_POLL_BUDGET && link->ops->next(link, &arrival)) {
		unsigned run =
			receive_run(endpoint, link, &arrival, GAMMA_POLL_BUDGET - taken, now);

		taken += run;
		if (gamma_unlikely(run && arrival.alone))
			break;
		if (gamma_unlikely(run))
			continue;
		gamma_lending_begin(endpoint, &arrival);
		if (!taken++ && arrival.alone && endpoint->clock_read &&
		    gamma_fastpath_receive(endpoint, &arrival)) {
			endpoint->holds = link;
			gamma_lending_end(endpoint, link);
			break;
		}
		if (!*now)
			*now = gamma_now();
		gamma_dispatch(endpoint, link, &arrival, *now);
		if (gamma_unlikely(gamma_lending_end(endpoint, link)))
			break;
		link->ops->release(link);
		/* A whole train: what it asks for leaves before the next one is taken. */
		if (gamma_unlikely(arrival.alone && arrival.behind))
			break;
	}
	return taken;
}

/* Of a train all frames are from one address and port. */
static bool is_named_too(const struct gamma_arrival *arrival, const struct gamma_header *named)
{
	struct gamma_header header;

	if (!arrival->behind || arrival->len < GAMMA_ETH_LEN + sizeof(header))
		return false;
	memcpy(&header, arrival->frame + GAMMA_ETH_LEN, sizeof(header));
	return header.flags & named->flags & GAMMA_FLAG_RAIL &&
	       header.src_port == named->src_port && header.src_epoch == named->src_epoch;
}

static bool note_named(const struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival,
		       struct gamma_header *named)
{
	*named = (struct gamma_header){0};
	if (!gamma_dispatch_is_named(endpoint, endpoint->local.rail, arrival))
		return false;
	memcpy(named, arrival->frame + GAMMA_ETH_LEN, sizeof(*named));
	return true;
}

/* Over UDP, beside raw rails: frames of long messages, from those alone who have said by raw frames
 * where they would come from. */
static unsigned receive_named(struct gamma_endpoint *endpoint, struct gamma_link *link,
			      uint64_t *now)
{
	struct gamma_arrival arrival = {.behind = false};
	struct gamma_header named = {0};
	unsigned taken = 0;

	gamma_links_look(endpoint, endpoint->local.rail);
	while (taken < GAMMA_POLL_BUDGET && link->ops->next(link, &arrival)) {
		bool named_too = is_named_too(&arrival, &named);
		unsigned run = named_too ? receive_run(endpoint, link, &arrival,
						       GAMMA_POLL_BUDGET - taken, now)
					 : 0;

		taken += run;
		if (run && arrival.alone)
			break;
		if (run)
			continue;
		taken++;
		if (!*now)
			*now = gamma_now();
		gamma_lending_begin(endpoint, &arrival);
		if (gamma_likely(named_too) || note_named(endpoint, &arrival, &named))
			gamma_dispatch(endpoint, link, &arrival, *now);
		else
			endpoint->local.stats.stray++;
		if (gamma_unlikely(gamma_lending_end(endpoint, link)))
			break;
		link->ops->release(link);
		if (arrival.alone && arrival.behind) /* as in receive_link */
			break;
	}
	gamma_links_looked(endpoint, endpoint->local.rail, taken);
	return taken;
}

static unsigned receive_rail(struct gamma_endpoint *endpoint, uint8_t rail, uint64_t *now)
{
	struct gamma_link *link = gamma_links_of_rail(endpoint, rail);
	uint64_t probes = endpoint->local.stats.probes_in;
	unsigned taken;

	endpoint->local.rail = rail;
	if (endpoint->local.ecn)
		endpoint->local.ecn = &link->ecn;
	if (gamma_local_rail_is_udp(&endpoint->local, rail))
		return receive_named(endpoint, link, now);
	taken = receive_link(endpoint, link, now);
	/* A peer that asks by one rail asks by all: an answer that comes late is a sign of loss.
	 * And a message whose first frame is raw goes on over UDP. */
	if (endpoint->local.stats.probes_in != probes || endpoint->messages.arriving_bytes)
		gamma_links_expect(endpoint);
	return taken;
}

/* One rail after the other. The deferred processing of one rail's
 * first frame precedes the next rail's frames. */
static unsigned receive_rails(struct gamma_endpoint *endpoint, uint64_t *now)
{
	unsigned before, taken = 0;

	for (uint8_t r = 0; r < endpoint->local.rail_count; r++) {
		uint64_t read = 0;

		if (r ? !gamma_links_is_due(endpoint, r) : gamma_link_is_quiet(endpoint->packet))
			continue;
		read = gamma_fastpath_process_any(endpoint);
		*now = read ? read : *now;
		before = taken;
		taken += receive_rail(endpoint, r, now);
		endpoint->rails_came |= (uint8_t) ((taken > before) << r);
		if (endpoint->lending.lent)
			break;
	}
	endpoint->local.rail = 0;
	return taken;
}

static unsigned receive_network(struct gamma_endpoint *endpoint, uint64_t *now)
{
	return gamma_likely(endpoint->local.rail_count <= 1)
		       ? receive_link(endpoint, endpoint->packet, now)
		       : receive_rails(endpoint, now);
}

/* Whether to look for another record. That would fetch a cache line which its writer had last.
 * After idle polls the program is waiting for this message, so it should not wait for that line as
 * well. */
static bool should_look_on(const struct gamma_endpoint *endpoint,
			   const struct gamma_arrival *arrival)
{
	return !endpoint->idle || arrival->frame || arrival->shm.kind >= GAMMA_RECORD_ANSWER;
}

/* Receives from shared memory, which is not quiet. Inline messages need no clock. A message for
 * which there is no memory stays in its channel, with everything behind it, as nothing would send
 * it again. */
static unsigned receive_shm(struct gamma_endpoint *endpoint, uint64_t *now)
{
	struct gamma_shm *shm = endpoint->shm;
	struct gamma_link *link = &shm->link;
	struct gamma_arrival arrival;
	unsigned taken = 0;

	arrival.behind = false;
	while (link->ops->next(link, &arrival)) {
		gamma_lending_begin(endpoint, &arrival);
		if (gamma_likely(!arrival.frame)) {
			if (gamma_unlikely(!gamma_shm_path_receive(endpoint, &arrival)))
				break;
		} else {
			if (!*now)
				*now = gamma_now();
			endpoint->local.refused_data = false;
			gamma_dispatch(endpoint, link, &arrival, *now);
			if (gamma_unlikely(endpoint->local.refused_data && arrival.flow))
				break;
		}
		taken++;
		if (gamma_unlikely(gamma_lending_end(endpoint, link)))
			break;
		link->ops->release(link);
		if (gamma_likely(!should_look_on(endpoint, &arrival)) ||
		    taken == GAMMA_POLL_BUDGET || gamma_shm_is_quiet(shm))
			break;
	}
	return taken;
}

/* Waits at most that long (ns) for chunks of messages that are being received; returns whether some
 * came. If none came for a while, asks a sender that is running for more. Ends when a record is
 * lent: shared memory would present it again. */
static bool chunks_come(struct gamma_endpoint *endpoint, uint64_t timeout, uint64_t *now)
{
	struct gamma_local *local = &endpoint->local;
	uint64_t before = local->stats.chunks_in, begin = gamma_now(), waited;

	do {
		if (!gamma_shm_is_quiet(endpoint->shm))
			receive_shm(endpoint, now);
		if (gamma_unlikely(endpoint->lending.lent))
			return false;
		if (local->stats.chunks_in != before ||
		    gamma_list_empty(&endpoint->messages.reading))
			return true;
		waited = gamma_now() - begin;
		gamma_rndv_shm_ask_more(local, waited >= GAMMA_CHUNKS_ASK_NS);
	} while (waited < timeout);
	return false;
}

/* Receives messages that have matched and arrive in chunks, until they are complete. While their
 * senders write chunks, both cores copy. Else the kernel reads the rest, so that no time is lost on
 * a sender that is not running. */
static void read_announced(struct gamma_endpoint *endpoint, uint64_t *now)
{
	struct gamma_local *local = &endpoint->local;
	uint64_t timeout = GAMMA_CHUNKS_END_NS, most = GAMMA_READ_FIRST;

	while (!gamma_list_empty(&endpoint->messages.reading)) {
		if (chunks_come(endpoint, timeout, now)) {
			timeout = GAMMA_CHUNKS_END_NS;
			most = GAMMA_READ_FIRST;
		} else if (gamma_unlikely(endpoint->lending.lent)) {
			return; /* the next call goes on, once the slot is free */
		} else {
			gamma_rndv_shm_read_first(local, most);
			timeout = 0;
			most *= 2;
		}
	}
}

/* Nothing more comes from peers of this host that have ended. */
static void end_dead_shm_peers(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_shm_addr addr;
	const char *cause;
	bool undelivered;

	while ((cause = gamma_shm_take_ended(endpoint->shm, &addr, &undelivered))) {
		struct gamma_flow *flow =
			gamma_peers_find(endpoint, addr.mac, addr.port, addr.epoch);

		if (flow) {
			gamma_peer(flow)->tx_channel = NULL;
			flow->has_shm_channel = false;
			gamma_flow_process_ended(flow, cause, undelivered, now);
		}
	}
}

/* Work that is due now and then, while frames arrive. */
static void do_housekeeping(struct gamma_endpoint *endpoint, uint64_t now)
{
	endpoint->house_at = now + GAMMA_HOUSE_US * GAMMA_NS_PER_US;
	compare_clocks(endpoint, now);
	gamma_budget_divide(endpoint, now);
	gamma_links_look_for_nics(endpoint, now);
	if (gamma_unlikely(endpoint->local.has_carrier))
		gamma_links_look_at_carriers(endpoint, now);
}

/* A caller whose polls find nothing may be keeping its peer, or another rank, from the processor.
 * Called when the clock has been read, which is now and then. */
static bool should_yield(const struct gamma_endpoint *endpoint)
{
	uint32_t limit = gamma_endpoint_has_host_peers(endpoint) ? GAMMA_YIELD_SHM : GAMMA_YIELD;

	return endpoint->idle >= limit;
}

GAMMA_NOINLINE bool gamma_engine_progress(struct gamma_endpoint *endpoint, bool look_shm)
{
	struct gamma_local *local = &endpoint->local;
	uint64_t now = gamma_fastpath_process_any(endpoint);
	unsigned taken = 0;
	bool again, feeds, reads;

	look_shm = look_shm && !endpoint->lending.lent;
	if (!endpoint->lending.lent && gamma_engine_progress_network_waits(endpoint)) {
		endpoint->messages.arriving_bytes = 0;
		taken = receive_network(endpoint, &now);
		if (gamma_unlikely(endpoint->messages.arriving_bytes) &&
		    !gamma_links_brings_trains(endpoint))
			gamma_rx_moderation_plan(&endpoint->moderation, &endpoint->messages, taken,
						 now);
	}
	if (local->deferred.flow && !look_shm && gamma_list_empty(&local->ready) &&
	    ++endpoint->unread < GAMMA_IDLE_SKIP) {
		endpoint->idle = 0;
		return false;
	}
	if (look_shm && gamma_likely(!endpoint->lending.lent))
		taken += receive_shm(endpoint, &now);
	reads = !gamma_list_empty(&endpoint->messages.reading);
	if (gamma_unlikely(reads) && !endpoint->lending.lent) {
		read_announced(endpoint, &now);
		reads = endpoint->lending.lent;
	}
	if (gamma_unlikely(!gamma_list_empty(&endpoint->groups)) && !endpoint->lending.lent)
		taken += gamma_groups_receive(endpoint);
	endpoint->idle = taken ? 0 : endpoint->idle + 1;
	again = !gamma_list_empty(&local->stalled) && gamma_shm_has_room(endpoint->shm);
	feeds = !gamma_list_empty(&endpoint->messages.feeding);
	if (gamma_unlikely(feeds))
		gamma_shm_path_feed(endpoint);
	/* No frame came and nothing waits: most of these calls do not read the clock. */
	if (!again && !now && !feeds && !reads && ++endpoint->unread < GAMMA_IDLE_SKIP &&
	    gamma_list_empty(&local->ready))
		return false;
	/* What is fed or read is looked at in every call. */
	endpoint->unread = feeds || reads ? GAMMA_IDLE_SKIP : 0;
	endpoint->resets = 0;
	if (gamma_unlikely(endpoint->backpressure))
		gamma_shm_path_relax(endpoint);
	if (!now)
		now = gamma_now();
	if (endpoint->idle < GAMMA_IDLE_SKIP && now >= endpoint->house_at)
		do_housekeeping(endpoint, now);
	if (gamma_unlikely(now >= endpoint->view.at))
		gamma_stats_page_write(endpoint, now);
	if (gamma_likely(!endpoint->lending.lent)) /* their memory may be lent */
		end_dead_shm_peers(endpoint, now);
	if (again)
		endpoint->stalled_until = now;
	if (now >= local->next_deadline) {
		gamma_timers_expire(local, now);
		if (gamma_unlikely(endpoint->datagram_names))
			gamma_datagram_names_timeout(endpoint, now);
	}
	gamma_output(endpoint, now);
	return should_yield(endpoint);
}
