// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Credit, in frames of the receiver's ring. The receiver grants each peer an absolute limit; what
 * all peers together may still send never exceeds the ring's slots minus the reserve.
 *
 * A limit is never lowered, so a late or repeated acknowledgement has no effect: a peer asked to
 * give credit back (RECLAIM) counts it as used, and reports the total that it has given back.
 *
 *     outstanding = limit - arrived - returned
 *
 * A forged limit or RECLAIM can make both sides count differently. A sender ignores a limit that no
 * receiver grants. A receiver keeps its own account while it can; but a peer that asks for credit
 * has none, so what it says of its account together with REQUEST is adopted: then its next limit
 * counts.
 *
 * First credits, which every unknown peer has, come from the reserve; they move to the pool's
 * account as soon as it has room. Frames under way of all senders with more to send than credit
 * (BACKLOG) are bounded as well, and the bound falls while frames get lost: not the ring but a
 * switch before it is then too small.
 */
#include "flow/credit.h"

#include "flow/flow.h"
#include "flow/upcalls.h"

enum { DISPUTES_MAX = 3 }; /* answers that do not fit until one is believed */

static uint32_t pool_size(const struct gamma_credit_pool *pool)
{
	return pool->slots - pool->reserve;
}

/* The credit that each flow should have: an equal part, within bounds. */
static void set_pool_share(struct gamma_credit_pool *pool)
{
	uint64_t share = pool_size(pool) / gamma_max(pool->active, 1);

	pool->share = (uint32_t) gamma_min(gamma_max(share, GAMMA_GRANT_MIN), GAMMA_WINDOW_MAX / 2);
}

void gamma_credit_pool_init(struct gamma_credit_pool *pool, uint32_t slots)
{
	*pool = (struct gamma_credit_pool){
		.slots = slots, .reserve = slots / 8, .budget = GAMMA_BUDGET};
	pool->bound = pool_size(pool);
	gamma_list_init(&pool->waiting);
	gamma_list_init(&pool->holders);
	set_pool_share(pool);
}

void gamma_credit_pool_set_budget(struct gamma_credit_pool *pool, uint32_t frames)
{
	uint32_t size = pool_size(pool);

	pool->budget = frames;
	pool->bound = frames ? (uint32_t) gamma_min(gamma_max(pool->bound, frames), size) : size;
}

void gamma_credit_shift(struct gamma_flow *flow, uint32_t frames)
{
	flow->credit.limit += frames;
}

void gamma_credit_init(struct gamma_flow *flow)
{
	flow->credit.asked_at = UINT64_MAX;
	flow->credit.limit = GAMMA_FIRST_CREDIT; /* from the reserve, until the first frame */
	gamma_list_init(&flow->credit.wait_entry);
	gamma_list_init(&flow->credit.grant_entry);
}

/* Never below 0: a peer that sends more than it was granted is not owed the difference. */
uint32_t gamma_credit_window(const struct gamma_flow *flow)
{
	uint32_t used = flow->rx.arrived + flow->credit.returned;

	return gamma_seq_before(used, flow->credit.limit) ? flow->credit.limit - used : 0;
}

/* Books frames as granted to a flow, or, if negative, as no longer outstanding. */
static void book(struct gamma_flow *flow, int32_t frames)
{
	struct gamma_credit_pool *pool = &flow->local->pool;

	pool->granted += (uint32_t) frames;
	if (flow->credit.bulk)
		pool->bulk_granted += (uint32_t) frames;
}

/* The same of frames that may have been first credit, which the pool never granted. */
static void book_used(struct gamma_flow *flow, uint32_t frames)
{
	uint32_t first = (uint32_t) gamma_min(flow->credit.first, frames);

	flow->credit.first -= first;
	book(flow, -(int32_t) (frames - first));
}

static uint32_t pool_free(const struct gamma_flow *flow)
{
	const struct gamma_credit_pool *pool = &flow->local->pool;
	uint32_t size = pool_size(pool);
	uint32_t left = pool->granted < size ? size - pool->granted : 0;

	if (!flow->credit.bulk)
		return left;
	return pool->bulk_granted < pool->bound
		       ? (uint32_t) gamma_min(left, pool->bound - pool->bulk_granted)
		       : 0;
}

static uint32_t share_of(const struct gamma_flow *flow)
{
	const struct gamma_credit_pool *pool = &flow->local->pool;
	uint64_t share = pool->share;

	if (flow->credit.bulk)
		share = gamma_min(share, gamma_max(pool->bound / pool->bulk, GAMMA_GRANT_MIN));
	if (gamma_unlikely(pool->slow_port.share))
		share = gamma_min(share, flow->credit.bulk ? pool->slow_port.share
							   : gamma_max(pool->slow_port.share,
								       GAMMA_GRANT_MIN));
	return (uint32_t) share;
}

static bool grant(struct gamma_flow *flow)
{
	uint32_t window = gamma_credit_window(flow), share = share_of(flow);
	uint32_t first = (uint32_t) gamma_min(flow->credit.first, pool_free(flow));
	uint32_t more;

	flow->credit.first -= first;
	book(flow, (int32_t) first);
	more = window < share ? (uint32_t) gamma_min(share - window, pool_free(flow)) : 0;
	/* A peer that sent more than it was granted must not make the account wrong. */
	if (gamma_unlikely(!window))
		flow->credit.limit = flow->rx.arrived + flow->credit.returned;
	flow->credit.limit += more;
	flow->credit.used_at = flow->local->pool.arrivals;
	book(flow, (int32_t) more);
	/* The peer that asked for credit may never send again. */
	if (gamma_list_empty(&flow->credit.grant_entry))
		gamma_list_append(&flow->local->pool.holders, &flow->credit.grant_entry);
	return more > 0;
}

/* A flow counts once a frame of it has arrived, or a request. */
static void activate(struct gamma_flow *flow)
{
	struct gamma_credit_pool *pool = &flow->local->pool;

	flow->credit.active = true;
	flow->credit.first = gamma_credit_window(flow);
	pool->active++;
	set_pool_share(pool);
}

static void set_bulk(struct gamma_flow *flow, bool bulk)
{
	struct gamma_credit_pool *pool = &flow->local->pool;
	uint32_t booked = gamma_credit_window(flow) - flow->credit.first;

	flow->credit.bulk = bulk;
	pool->bulk += bulk ? 1 : -1u;
	pool->bulk_granted += bulk ? booked : -booked;
	gamma_slow_port_senders_changed(pool);
}

static void deactivate(struct gamma_flow *flow)
{
	struct gamma_credit_pool *pool = &flow->local->pool;

	if (flow->credit.bulk)
		set_bulk(flow, false);
	book_used(flow, gamma_credit_window(flow));
	flow->credit.active = false;
	pool->active--;
	set_pool_share(pool);
	gamma_list_remove(&flow->credit.grant_entry);
}

/* Flows that asked get credit in the order in which they asked, each at least `least` frames: a
 * frame's worth at a time would cost an acknowledgement for each frame. */
static void serve_waiting(struct gamma_credit_pool *pool, uint32_t least)
{
	while (!gamma_list_empty(&pool->waiting)) {
		struct gamma_flow *flow =
			gamma_list_entry(pool->waiting.next, struct gamma_flow, credit.wait_entry);

		if (pool_free(flow) < least)
			return;
		gamma_list_remove(&flow->credit.wait_entry);
		if (grant(flow))
			gamma_ack_now(flow);
	}
}

/* Halves the bound, once for as many frames as are under way. */
static bool halve(struct gamma_credit_pool *pool)
{
	uint32_t size = pool_size(pool);

	if (!pool->bulk || !pool->budget || (pool->quiet < pool->bound && pool->bound != size))
		return false;
	pool->bound = (uint32_t) gamma_max(gamma_min(pool->bound, pool->bulk_granted) / 2,
					   gamma_min(pool->budget, size));
	pool->quiet = 0;
	pool->ripe = 0;
	return true;
}

void gamma_credit_pool_lost(struct gamma_credit_pool *pool)
{
	halve(pool);
}

/* A retransmitted frame is evidence of loss on the way here. While there is none, the bound grows
 * by one frame for as many as it counts. */
static void watch_loss(struct gamma_credit_pool *pool, bool again)
{
	pool->quiet++;
	if (again)
		gamma_slow_port_lost(pool);
	if (again && halve(pool)) {
		pool->halved++;
	} else if (pool->bound < pool_size(pool) && ++pool->ripe >= pool->bound) {
		pool->bound++;
		pool->ripe = 0;
	}
}

/* Asks the flow that has been idle longest to give back, if others have sent that many frames since
 * it sent or was granted any. It goes last: if it is dead, the next request asks another. An answer
 * that does not come is owed like any other, so the death of a peer that owes nothing else is
 * noticed too. */
static bool reclaim(struct gamma_credit_pool *pool, const struct gamma_flow *except, bool bulk,
		    uint64_t idle, uint64_t now)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &pool->holders) {
		struct gamma_flow *flow =
			gamma_list_entry(pos, struct gamma_flow, credit.grant_entry);

		if (flow == except || flow->credit.bulk != bulk || !gamma_credit_window(flow) ||
		    pool->arrivals - flow->credit.used_at < idle)
			continue;
		gamma_list_remove(pos);
		gamma_list_append(&pool->holders, pos);
		flow->credit.reclaiming = true;
		gamma_flow_want(flow, GAMMA_PENDING_RECLAIM);
		if (!gamma_timers_is_set(flow, GAMMA_TIMER_PROBE))
			gamma_loss_rearm(flow, now);
		return true;
	}
	return false;
}

/* Flows that were busy once hold what one that has more to send could use. They need not starve it
 * for that: where answers take long, a small window is slow. */
static GAMMA_NOINLINE void gather_idle(struct gamma_flow *flow)
{
	struct gamma_credit_pool *pool = &flow->local->pool;

	if (pool->granted < pool_size(pool) || pool->arrivals < pool->gather)
		return;
	pool->gather = pool->arrivals + GAMMA_GRANT_MIN;
	reclaim(pool, flow, false, 2 * pool->slots, flow->last_data);
}

/* Of so many frames that have just been counted as arrived: those within the limit. */
static inline uint32_t within_limit(const struct gamma_flow *flow, uint32_t count)
{
	uint32_t used = flow->rx.arrived + flow->credit.returned;

	if (gamma_likely(!gamma_seq_before(flow->credit.limit, used)))
		return count;
	return count - (uint32_t) gamma_min(used - flow->credit.limit, count);
}

static inline void take_arrived(struct gamma_flow *flow, uint32_t count, uint32_t seq,
				uint8_t flags)
{
	struct gamma_credit_pool *pool = &flow->local->pool;
	struct gamma_credit *credit = &flow->credit;
	bool newest = seq + 1 == flow->rx.highest; /* an overtaken frame has an old flag */
	bool bulk = newest ? flags & GAMMA_FLAG_BACKLOG : credit->bulk;
	/* Loss on the way from another subnet is the sender's: congestion.c */
	bool again = flags & GAMMA_FLAG_AGAIN && !flow->congestion.on;

	credit->used_at = pool->arrivals += count;
	if (gamma_unlikely(!credit->active))
		activate(flow);
	else
		book_used(flow, within_limit(flow, count));
	if (gamma_unlikely(bulk != credit->bulk))
		set_bulk(flow, bulk);
	if (gamma_unlikely(pool->bound < pool_size(pool) || again))
		for (uint32_t i = 0; i < count; i++)
			watch_loss(pool, again);
	if (gamma_unlikely(pool->arrivals >= pool->slow_port.look))
		gamma_slow_port_look(pool, flow->rx.last_time);
	/* Most recently used goes last; moving the only holder would change nothing. */
	if (pool->holders.prev != &credit->grant_entry) {
		gamma_list_remove(&credit->grant_entry);
		gamma_list_append(&pool->holders, &credit->grant_entry);
	}
	if (gamma_likely(gamma_list_empty(&pool->waiting))) {
		uint32_t share = share_of(flow);

		if (gamma_credit_window(flow) <= share - share / 8) {
			grant(flow);
			if (gamma_unlikely(bulk && 2 * gamma_credit_window(flow) < share))
				gather_idle(flow);
		}
	}
	/* A peer that used its last credit and has more to send need not ask. */
	if (gamma_unlikely(bulk && !gamma_credit_window(flow) &&
			   gamma_list_empty(&credit->wait_entry)))
		gamma_list_append(&pool->waiting, &credit->wait_entry);
	if (gamma_unlikely(!gamma_list_empty(&pool->waiting)))
		serve_waiting(pool, GAMMA_GRANT_MIN);
}

void gamma_credit_arrived(struct gamma_flow *flow, uint32_t seq, uint8_t flags)
{
	take_arrived(flow, 1, seq, flags);
}

void gamma_credit_arrived_run(struct gamma_flow *flow, uint32_t count, uint32_t seq, uint8_t flags)
{
	take_arrived(flow, count, seq, flags);
}

/* The peer has none left of limit - returned = seq frames: its own numbers are the ones to go on
 * from. Only those that are under way are outstanding. A smaller number than this side's may be in
 * a frame that is late: it counts if the peer has said it twice in a row. */
static void adopt_account(struct gamma_flow *flow, uint32_t seq)
{
	struct gamma_credit *credit = &flow->credit;

	if (!credit->disputed || gamma_seq_before(seq, flow->rx.highest) ||
	    seq - flow->rx.next > GAMMA_WINDOW_MAX ||
	    (gamma_seq_before(credit->claimed, credit->returned) && !credit->repeated))
		return;
	book_used(flow, gamma_credit_window(flow));
	credit->disputed = false;
	credit->returned = credit->claimed;
	credit->limit = seq + credit->claimed;
	credit->first = gamma_credit_window(flow); /* the pool may have no room for them now */
}

void gamma_credit_receive_request(struct gamma_flow *flow, uint32_t seq, uint64_t now)
{
	struct gamma_credit_pool *pool = &flow->local->pool;
	bool stuck = flow->credit.asked_at == pool->arrivals;

	if (!flow->credit.active)
		activate(flow);
	adopt_account(flow, seq);
	if (!flow->credit.bulk)
		set_bulk(flow, true);
	if (gamma_list_empty(&flow->credit.wait_entry))
		gamma_list_append(&pool->waiting, &flow->credit.wait_entry);
	/* Nothing has come in since it asked last: those that hold the credit are stopped or dead.
	 */
	if (stuck)
		pool->bound = pool_size(pool);
	flow->credit.asked_at = pool->arrivals;
	serve_waiting(pool, 1);
	if (gamma_credit_window(flow)) { /* it may have had credit without knowing yet */
		gamma_list_remove(&flow->credit.wait_entry);
		gamma_ack_now(flow);
		return;
	}
	/* One with more to send keeps its credit; but it may have given that up since. */
	if (!reclaim(pool, flow, false, 0, now))
		reclaim(pool, flow, true, stuck ? 0 : 2 * pool->slots, now);
}

/* One that asks for more at the same time stays: it is served like the others. */
static void end_if_all_returned(struct gamma_flow *flow)
{
	if (!gamma_credit_window(flow) && gamma_list_empty(&flow->credit.wait_entry))
		deactivate(flow);
	serve_waiting(&flow->local->pool, 1);
}

/* The peer says, again and again when asked, that it has given back a number which does not fit
 * this account: what is believed to be outstanding may not exist. A late answer alone would not be
 * repeated. If the peer has some after all, it may send more than it is granted, and frames may get
 * lost; but nobody waits for credit that never comes. */
static void take_disputed(struct gamma_flow *flow, bool asked, bool again)
{
	struct gamma_credit *credit = &flow->credit;

	credit->disputes = again ? credit->disputes : 0;
	if (!asked || !credit->active)
		return;
	if (++credit->disputes < DISPUTES_MAX) {
		credit->reclaiming = true;
		gamma_flow_want(flow, GAMMA_PENDING_RECLAIM);
		return;
	}
	book_used(flow, gamma_credit_window(flow));
	credit->disputed = false;
	credit->returned = credit->claimed;
	credit->limit = flow->rx.arrived + credit->claimed;
	end_if_all_returned(flow);
}

/* A peer that has sent no frame yet knows nothing of what was granted upon a REQUEST in its name.
 * It is asked by a probe where its numbers begin; once they are right, RECLAIM is asked again. */
static void doubt_request(struct gamma_flow *flow)
{
	if (flow->rx.proven || flow->rx.arrived != flow->rx.first || !gamma_credit_window(flow))
		return;
	flow->credit.reclaiming = true;
	gamma_loss_challenge(flow, flow->loss.heard);
}

void gamma_credit_receive_reclaimed(struct gamma_flow *flow, uint32_t returned)
{
	struct gamma_credit *credit = &flow->credit;
	uint32_t more = returned - credit->returned;
	bool asked = credit->reclaiming, again = credit->disputed && credit->claimed == returned;

	credit->reclaiming = false;
	credit->disputed = more > gamma_credit_window(flow); /* not what was granted */
	credit->claimed = returned;
	if (gamma_unlikely(credit->disputed)) {
		credit->repeated = again;
		take_disputed(flow, asked, again);
		return;
	}
	if (!credit->active)
		return;
	if (more) {
		credit->returned = returned;
		book_used(flow, more);
		end_if_all_returned(flow);
	}
	if (gamma_unlikely(asked))
		doubt_request(flow);
}

void gamma_credit_release(struct gamma_flow *flow)
{
	gamma_list_remove(&flow->credit.wait_entry);
	if (flow->credit.active)
		deactivate(flow);
	gamma_list_remove(&flow->credit.grant_entry);
	serve_waiting(&flow->local->pool, 1);
}

void gamma_credit_count_short(struct gamma_flow *flow)
{
	flow->local->pool.shorts++;
}

/* ---- the sender's side ---- */

void gamma_credit_receive_limit(struct gamma_flow *flow, uint32_t limit)
{
	if (!gamma_seq_before(flow->tx.limit, limit))
		return;
	if (gamma_unlikely(limit - flow->tx.returned - flow->tx.next > GAMMA_WINDOW_MAX)) {
		flow->local->stats.malformed++;
		return;
	}
	flow->tx.limit = limit;
	flow->tx.bounded = limit - flow->tx.returned - flow->tx.una < GAMMA_GRANT_MIN;
	if (gamma_unlikely(flow->tx.bounded) &&
	    !gamma_seq_before(flow->tx.una, flow->tx.short_sent))
		flow->tx.short_sent = flow->tx.una;
	if (flow->credit.starved) {
		flow->credit.starved = false;
		flow->credit.backoff = 0;
		flow->pending &= ~GAMMA_PENDING_REQUEST;
		gamma_timers_stop(flow, GAMMA_TIMER_REQUEST);
	}
	if (gamma_send_has_frames(flow))
		gamma_flow_ready(flow);
}

/* Called when data waits and there is no credit. While frames are under way, their acknowledgement
 * brings the limit; otherwise ask, at once if the last frame did not say BACKLOG. */
void gamma_credit_starved(struct gamma_flow *flow, uint64_t now)
{
	if (!flow->credit.starved) {
		flow->credit.starved = true;
		flow->local->stats.credit_stalls++;
		gamma_loss_rearm(flow, now);
	}
	if (gamma_send_window_in_flight(&flow->tx) ||
	    gamma_timers_is_set(flow, GAMMA_TIMER_REQUEST))
		return;
	if (flow->tx.backlog_sent != flow->tx.next)
		flow->pending |= GAMMA_PENDING_REQUEST;
	flow->credit.backoff = 0;
	gamma_timers_set(flow, GAMMA_TIMER_REQUEST, now + GAMMA_REQUEST_US * GAMMA_NS_PER_US);
}

void gamma_credit_timeout(struct gamma_flow *flow, uint64_t now)
{
	uint64_t wait = GAMMA_REQUEST_US * GAMMA_NS_PER_US << gamma_min(++flow->credit.backoff, 9);

	if (gamma_send_has_frames(flow))
		gamma_flow_ready(flow);
	if (!flow->credit.starved || gamma_loss_peer_dead(flow, now))
		return;
	/* The answer to RECLAIM may have been lost, or the receiver may have taken a forged one:
	 * it believes that there is credit, or grants what cannot be. */
	if (flow->tx.returned || flow->credit.backoff > 1)
		gamma_flow_want(flow, GAMMA_PENDING_RECLAIMED);
	gamma_flow_want(flow, GAMMA_PENDING_REQUEST);
	gamma_timers_set(flow, GAMMA_TIMER_REQUEST,
			 now + gamma_min(wait, GAMMA_PROBE_MAX_US * GAMMA_NS_PER_US));
}

void gamma_credit_give_back(struct gamma_flow *flow)
{
	struct gamma_send_window *tx = &flow->tx;

	if (!gamma_send_has_frames(flow))
		tx->returned = tx->limit - tx->next;
	gamma_flow_want(flow, GAMMA_PENDING_RECLAIMED);
}
