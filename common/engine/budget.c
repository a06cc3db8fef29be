// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The budget of a NIC: the bulk data that may be in flight towards it in spite of losses, because
 * the switch buffers that much for its port, or because the path holds more. The endpoints that
 * receive on the NIC divide it in proportion to their senders. Called by endpoint.c and progress.c;
 * flow/credit.c uses an endpoint's share.
 */
#include "engine/budget.h"
#include "engine/state.h"

enum { MEASURE_S = 1 }; /* how often round trips are evaluated */

/* The smallest round trip to a peer on the network; 0: none measured. */
static uint64_t smallest_round_trip(const struct gamma_local *local)
{
	uint64_t smallest = GAMMA_NEVER;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &local->flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (!flow->same_host && flow->loss.first.rtt_min)
			smallest = gamma_min(smallest, flow->loss.first.rtt_min);
	}
	return smallest == GAMMA_NEVER ? 0 : gamma_min(smallest, GAMMA_NS_PER_S);
}

/* Twice what the path holds, so that it does not run empty while credit travels back. */
static void measure_cable(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_budget *budget = &endpoint->budget;
	uint64_t rtt = smallest_round_trip(&endpoint->local);
	uint64_t cable = budget->speed / 4 / GAMMA_NS_PER_MS * rtt / GAMMA_NS_PER_US;
	uint64_t bytes = gamma_max(budget->least, cable);

	budget->frames = (uint32_t) gamma_min(bytes / endpoint->packet->mtu, UINT32_MAX);
	budget->measure_at = now + MEASURE_S * GAMMA_NS_PER_S;
}

/* A sender pauses between two messages, so a lower count is believed only after a while. */
static void count_bulk_senders(struct gamma_budget *budget, const struct gamma_credit_pool *pool,
			       uint64_t now)
{
	if (pool->bulk < budget->bulk &&
	    now - budget->bulk_at < GAMMA_BUDGET_PAGE_FRESH_MS * GAMMA_NS_PER_MS)
		return;
	budget->bulk = pool->bulk;
	budget->bulk_at = now;
}

/* Loss at the NIC concerns all endpoints on it. Otherwise the endpoints whose frames get through
 * would keep crowding out the others. */
static void share_losses(struct gamma_budget *budget, struct gamma_credit_pool *pool, uint64_t now)
{
	uint64_t elsewhere;

	if (pool->halved != budget->halved)
		budget->lost = now;
	budget->halved = pool->halved;
	elsewhere = gamma_budget_page_report_loss(budget->share, budget->lost, now);
	if (elsewhere > budget->lost_elsewhere)
		gamma_credit_pool_lost(pool);
	budget->lost_elsewhere = gamma_max(elsewhere, budget->lost_elsewhere);
}

void gamma_budget_divide(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_budget *budget = &endpoint->budget;
	struct gamma_credit_pool *pool = &endpoint->local.pool;
	uint64_t own, others, part;

	if (!budget->share)
		return;
	if (now >= budget->measure_at)
		measure_cable(endpoint, now);
	count_bulk_senders(budget, pool, now);
	others = gamma_budget_page_count_bulk(budget->share, budget->bulk, now) - budget->bulk;
	own = gamma_max(budget->bulk, 1); /* without senders: the share of the first one */
	part = budget->frames * own / (own + others);
	gamma_credit_pool_set_budget(pool, (uint32_t) gamma_max(part, GAMMA_GRANT_MIN));
	share_losses(budget, pool, now);
}

void gamma_budget_open(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr)
{
	struct gamma_budget *budget = &endpoint->budget;
	uint64_t now = gamma_now();

	if (attr->datagram)
		return;
	if (!attr->budget) {
		gamma_credit_pool_set_budget(&endpoint->local.pool, 0);
		return;
	}
	budget->least = attr->budget;
	for (unsigned i = 0; i < attr->more_count; i++)
		budget->least += attr->more[i].udp ? 0 : attr->budget; /* the same NIC */
	budget->speed = attr->speed;
	/* Without memory for the page the pool keeps its own budget. */
	budget->share = gamma_budget_page_open(attr->mac, now);
	gamma_budget_divide(endpoint, now);
}

void gamma_budget_close(struct gamma_endpoint *endpoint)
{
	gamma_budget_page_close(endpoint->budget.share);
	endpoint->budget.share = NULL;
}
