// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A repair begins with as many frames as any queue takes. The bound doubles with each round trip in
 * which nothing that was sent again is lost; when half of the bound is lost, or nearly all of a
 * smaller repair, it falls to what has arrived. A network that loses frames at random, even a third
 * of them, is not slowed down: nothing would be gained. The bound holds until all that was under
 * way when it began has arrived.
 */
#include "flow/repair.h"

#include "flow/flow.h"

void gamma_repair_begin(struct gamma_flow *flow)
{
	flow->repair = (struct gamma_repair){.bound = GAMMA_REPAIR_FIRST,
					     .end = flow->tx.next,
					     .grow = gamma_max(flow->repair.grow, flow->tx.serial)};
}

/* One that came back sooner than any frame before had left earlier, for the first time. */
void gamma_repair_arrived(struct gamma_flow *flow, const struct gamma_sent *sent, uint64_t passed)
{
	if (passed >= gamma_rails_loss(flow, sent->rail)->rtt_min)
		flow->repair.arrived = gamma_max(flow->repair.arrived, sent->serial);
}

/* The answer to a probe is evidence of what was lost before it, not that data has arrived. */
void gamma_repair_probed(struct gamma_flow *flow, uint64_t serial)
{
	flow->repair.grow = gamma_max(flow->repair.grow, serial);
}

/* The latest transmission that is known to have arrived, by any rail. */
static uint64_t serial_arrived(struct gamma_flow *flow)
{
	uint64_t serial = gamma_max(flow->loss.first.rack_serial, flow->repair.arrived);

	for (uint8_t r = 1; flow->rails && r < GAMMA_RAILS_MAX; r++)
		serial = gamma_max(serial, gamma_rails_loss(flow, r)->rack_serial);
	return serial;
}

/* It grows when something that leaves from now on has arrived. */
static void set_bound(struct gamma_flow *flow, uint64_t bound)
{
	flow->repair.bound =
		(uint32_t) gamma_min(gamma_max(bound, GAMMA_REPAIR_LEAST), GAMMA_WINDOW_MAX);
	flow->repair.grow = gamma_max(flow->repair.grow, flow->tx.serial);
}

static uint32_t count_flying(const struct gamma_flow *flow)
{
	uint32_t count = 0;

	for (uint32_t seq = flow->tx.una; seq != flow->tx.next; seq++) {
		const struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);

		if (sent->state == GAMMA_SENT_FLYING)
			count += sent->again;
	}
	return count;
}

/* Three quarters of what was under way, and more than chance takes. */
static bool lost_nearly_all(const struct gamma_repair *repair)
{
	return repair->lost >= GAMMA_REPAIR_LEAST && 4 * repair->lost >= 3 * repair->flying;
}

void gamma_repair_adapt(struct gamma_flow *flow)
{
	struct gamma_repair *repair = &flow->repair;

	if (!gamma_seq_before(flow->tx.una, repair->end))
		gamma_repair_begin(flow);
	if (2 * repair->lost >= repair->bound)
		set_bound(flow, repair->bound - gamma_min(repair->lost, repair->bound));
	else if (lost_nearly_all(repair))
		set_bound(flow, repair->flying - gamma_min(repair->lost, repair->flying));
	else if (repair->lost)
		set_bound(flow, repair->bound);
	else if (serial_arrived(flow) > repair->grow)
		set_bound(flow, 2 * repair->bound);
	repair->lost = 0;
	repair->flying = count_flying(flow);
	if (repair->flying < repair->bound)
		gamma_flow_ready(flow);
}
