// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Credit, in frames of the receiver's ring. The receiver grants each peer an absolute limit; what
 * all peers together may still send never exceeds the ring's slots minus the reserve.
 *
 * A limit is never lowered, so a late or repeated acknowledgement does no harm: a peer asked to
 * give credit back (RECLAIM) counts it as used, and tells how much it has given back in all.
 *
 *     outstanding = limit - arrived - returned
 */
#include "flow/flow.h"

/* What each flow should have: an equal part, within bounds. */
static void set_share(struct gamma_pool *pool)
{
	uint32_t size = pool->slots - pool->reserve;
	uint64_t share = size / gamma_max(pool->active, 1);

	pool->share = (uint32_t) gamma_min(gamma_max(share, GAMMA_GRANT_MIN), GAMMA_WINDOW_MAX / 2);
}

void gamma_pool_init(struct gamma_pool *pool, uint32_t slots)
{
	pool->slots = slots;
	pool->reserve = slots / 8;
	pool->granted = 0;
	pool->active = 0;
	gamma_list_init(&pool->waiting);
	gamma_list_init(&pool->holders);
	set_share(pool);
}

void gamma_credit_init(struct gamma_flow *flow)
{
	flow->credit.limit = GAMMA_FIRST_CREDIT; /* from the reserve, until the first frame */
	flow->tx.limit = GAMMA_FIRST_CREDIT;
	gamma_list_init(&flow->credit.wait_entry);
	gamma_list_init(&flow->credit.grant_entry);
}

/* Never below 0: a peer that sends more than it was granted is not owed the difference. */
uint32_t gamma_credit_window(const struct gamma_flow *flow)
{
	uint32_t used = flow->rx.arrived + flow->credit.returned;

	return gamma_seq_before(used, flow->credit.limit) ? flow->credit.limit - used : 0;
}

static uint32_t pool_free(const struct gamma_pool *pool)
{
	uint32_t size = pool->slots - pool->reserve;

	return pool->granted < size ? size - pool->granted : 0;
}

static bool grant(struct gamma_flow *flow)
{
	struct gamma_pool *pool = &flow->local->pool;
	uint32_t window = gamma_credit_window(flow);
	uint32_t more = window < pool->share
				? (uint32_t) gamma_min(pool->share - window, pool_free(pool))
				: 0;

	/* Whoever sent more than it was granted must not make the account wrong. */
	if (gamma_unlikely(!window))
		flow->credit.limit = flow->rx.arrived + flow->credit.returned;
	flow->credit.limit += more;
	pool->granted += more;
	return more > 0;
}

/* A flow counts once it has used its first credit; what it still holds of that moves from the
 * reserve's account to the pool's. */
static void activate(struct gamma_flow *flow)
{
	struct gamma_pool *pool = &flow->local->pool;

	flow->credit.active = true;
	pool->active++;
	set_share(pool);
	pool->granted += gamma_credit_window(flow);
}

static void deactivate(struct gamma_flow *flow)
{
	struct gamma_pool *pool = &flow->local->pool;

	flow->credit.active = false;
	pool->active--;
	set_share(pool);
	pool->granted -= gamma_credit_window(flow);
	gamma_list_remove(&flow->credit.grant_entry);
}

/* Flows that asked get credit in the order in which they asked. */
static void serve_waiting(struct gamma_pool *pool)
{
	while (!gamma_list_empty(&pool->waiting) && pool_free(pool)) {
		struct gamma_flow *flow =
			gamma_list_entry(pool->waiting.next, struct gamma_flow, credit.wait_entry);

		gamma_list_remove(&flow->credit.wait_entry);
		if (grant(flow))
			gamma_ack_now(flow);
	}
}

void gamma_credit_arrived(struct gamma_flow *flow)
{
	struct gamma_pool *pool = &flow->local->pool;

	if (gamma_unlikely(!flow->credit.active))
		activate(flow);
	else if (!gamma_seq_before(flow->credit.limit, flow->rx.arrived + flow->credit.returned))
		pool->granted--;
	/* Most recently used goes last; moving the only holder would change nothing. */
	if (pool->holders.prev != &flow->credit.grant_entry) {
		gamma_list_remove(&flow->credit.grant_entry);
		gamma_list_append(&pool->holders, &flow->credit.grant_entry);
	}
	if (gamma_unlikely(!gamma_list_empty(&pool->waiting)))
		serve_waiting(pool);
	else if (gamma_credit_window(flow) <= pool->share - pool->share / 8)
		grant(flow);
}

/* Asks the flow that has been idle longest to give back. It goes last: if it is dead, the next
 * request asks another. */
static void reclaim(struct gamma_pool *pool, const struct gamma_flow *except)
{
	struct gamma_list *pos;

	gamma_list_for_each(pos, &pool->holders) {
		struct gamma_flow *flow =
			gamma_list_entry(pos, struct gamma_flow, credit.grant_entry);

		if (flow == except || !gamma_credit_window(flow))
			continue;
		gamma_list_remove(pos);
		gamma_list_append(&pool->holders, pos);
		flow->credit.reclaiming = true;
		gamma_flow_want(flow, GAMMA_PENDING_RECLAIM);
		return;
	}
}

void gamma_credit_request(struct gamma_flow *flow)
{
	struct gamma_pool *pool = &flow->local->pool;

	if (!flow->credit.active)
		activate(flow);
	if (gamma_list_empty(&flow->credit.wait_entry))
		gamma_list_append(&pool->waiting, &flow->credit.wait_entry);
	serve_waiting(pool);
	if (gamma_credit_window(flow)) { /* it may have had credit without knowing yet */
		gamma_list_remove(&flow->credit.wait_entry);
		gamma_ack_now(flow);
		return;
	}
	reclaim(pool, flow);
}

void gamma_credit_reclaimed(struct gamma_flow *flow, uint32_t returned)
{
	uint32_t more = returned - flow->credit.returned;

	flow->credit.reclaiming = false;
	if (!flow->credit.active || !more || more > gamma_credit_window(flow))
		return; /* repeated, or not what was granted */
	flow->credit.returned = returned;
	flow->local->pool.granted -= more;
	if (!gamma_credit_window(flow))
		deactivate(flow);
	serve_waiting(&flow->local->pool);
}

void gamma_credit_release(struct gamma_flow *flow)
{
	gamma_list_remove(&flow->credit.wait_entry);
	if (flow->credit.active)
		deactivate(flow);
	gamma_list_remove(&flow->credit.grant_entry);
	serve_waiting(&flow->local->pool);
}

/* ---- the sender's side ---- */

void gamma_credit_limit(struct gamma_flow *flow, uint32_t limit)
{
	if (!gamma_seq_before(flow->tx.limit, limit))
		return;
	flow->tx.limit = limit;
	if (flow->credit.starved) {
		flow->credit.starved = false;
		flow->credit.backoff = 0;
		flow->pending &= ~GAMMA_PENDING_REQUEST;
		gamma_timer_stop(flow, GAMMA_TIMER_REQUEST);
	}
	if (gamma_message_waiting(flow))
		gamma_flow_ready(flow);
}

/* Called when data waits and there is no credit. While frames are under way their
 * acknowledgement brings news; otherwise ask. */
void gamma_credit_starved(struct gamma_flow *flow, uint64_t now)
{
	if (!flow->credit.starved) {
		flow->credit.starved = true;
		flow->local->stats.credit_stalls++;
		gamma_loss_rearm(flow, now);
	}
	if (gamma_window_unacked(flow) || gamma_timer_set_p(flow, GAMMA_TIMER_REQUEST))
		return;
	flow->pending |= GAMMA_PENDING_REQUEST;
	flow->credit.backoff = 0;
	gamma_timer_set(flow, GAMMA_TIMER_REQUEST, now + GAMMA_REQUEST_US * GAMMA_NS_PER_US);
}

void gamma_credit_timeout(struct gamma_flow *flow, uint64_t now)
{
	uint64_t wait = GAMMA_REQUEST_US * GAMMA_NS_PER_US << gamma_min(++flow->credit.backoff, 9);

	if (!flow->credit.starved || gamma_loss_peer_dead(flow, now))
		return;
	/* The answer to RECLAIM may have been lost: the receiver believes there is credit. */
	if (flow->tx.returned)
		gamma_flow_want(flow, GAMMA_PENDING_RECLAIMED);
	gamma_flow_want(flow, GAMMA_PENDING_REQUEST);
	gamma_timer_set(flow, GAMMA_TIMER_REQUEST,
			now + gamma_min(wait, GAMMA_PROBE_MAX_US * GAMMA_NS_PER_US));
}

void gamma_credit_give_back(struct gamma_flow *flow)
{
	struct gamma_send_window *tx = &flow->tx;

	if (!gamma_message_waiting(flow))
		tx->returned = tx->limit - tx->next;
	gamma_flow_want(flow, GAMMA_PENDING_RECLAIMED);
}
