// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * This host's NICs, as rails: one that is down, has no carrier, or has got another MTU, changes all
 * flows that use it. Peers hear of a lost carrier: the answer to their question for rails is
 * repeated on a NIC that works, and they leave the other one at once, without probes.
 */
#include "flow/rails_nics.h"

#include "flow/flow.h"
#include "flow/rails_choice.h"

/* ---- carrier ---- */

void gamma_rails_nics_down(struct gamma_local *local, uint8_t rail, uint64_t now)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &local->flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (flow->rails && flow->state == GAMMA_FLOW_OPEN &&
		    gamma_rails_is_usable(flow->rails, rail) &&
		    gamma_rails_other_is_usable(flow->rails, rail)) {
			gamma_rails_want_probe(flow, rail);
			gamma_rails_doubt(flow, rail, now);
		}
	}
}

/* By a NIC that works; the number shows the peer that nobody off the path says so. */
static void report_carrier(struct gamma_flow *flow)
{
	struct gamma_rails *rails = flow->rails;

	if (!rails->has_listed || gamma_local_rail_is_udp(flow->local, flow->rail) ||
	    flow->local->own_rails[flow->rail].no_carrier)
		return;
	rails->lists = true;
	rails->lists_on = flow->rail;
	gamma_flow_want(flow, GAMMA_PENDING_RAILS);
}

static void report_to_all(struct gamma_local *local, uint8_t rail)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &local->flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (!flow->rails || flow->state != GAMMA_FLOW_OPEN)
			continue;
		if (!local->own_rails[rail].no_carrier &&
		    flow->rails->rail[rail].state == GAMMA_RAIL_DOUBTED)
			gamma_rails_want_probe(flow, rail);
		report_carrier(flow);
	}
}

static void take_carrier(struct gamma_local *local, uint8_t rail, bool lost, uint64_t now)
{
	struct gamma_own_rail *own = &local->own_rails[rail];
	bool differs = lost != own->no_carrier;

	if (lost)
		gamma_rails_nics_down(local, rail, now);
	own->no_carrier = lost;
	if (differs)
		report_to_all(local, rail);
}

/* Both rails of a NIC have the same one. */
bool gamma_rails_nics_look(struct gamma_local *local, uint8_t rail, uint64_t now)
{
	bool lost = local->has_carrier && !local->has_carrier(local, rail);
	unsigned twin = gamma_local_twin(local, rail);

	take_carrier(local, rail, lost, now);
	if (twin < GAMMA_RAILS_MAX)
		take_carrier(local, (uint8_t) twin, lost, now);
	return !lost;
}

void gamma_rails_nics_asked(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_local *local = flow->local;
	bool lost = false;

	for (uint8_t r = 0; local->has_carrier && r < local->rail_count; r++)
		if (r != local->rail && gamma_local_twin(local, r) > r)
			lost |= !gamma_rails_nics_look(local, r, now);
	if (lost) /* what was said of it before may have been lost */
		report_carrier(flow);
}

/* The NIC by which this came has one. */
void gamma_rails_nics_heard(struct gamma_flow *flow, uint8_t down, uint64_t now)
{
	struct gamma_rails *rails = flow->rails;
	uint8_t before = rails->peer_down;

	rails->peer_down = down & (uint8_t) ~(1u << flow->local->rail);
	for (uint8_t r = 0; r < rails->count; r++) {
		bool is_down = rails->peer_down >> r & 1;

		if (is_down && gamma_rails_is_usable(rails, r) &&
		    gamma_rails_other_is_usable(rails, r)) {
			gamma_rails_want_probe(flow, r);
			gamma_rails_doubt(flow, r, now);
		} else if (!is_down && before >> r & 1 &&
			   rails->rail[r].state == GAMMA_RAIL_DOUBTED) {
			gamma_rails_want_probe(flow, r);
		}
	}
}

/* ---- MTU ---- */

/* A rail of less than the least MTU is not used any more. */
static void take_own_mtu(struct gamma_flow *flow, uint8_t r, uint32_t mtu, uint64_t now)
{
	struct gamma_rail *rail = &flow->rails->rail[r];

	rail->most = (uint32_t) gamma_min(rail->most, mtu);
	rail->mtu = (uint32_t) gamma_min(rail->mtu, rail->most);
	if (mtu < GAMMA_LEAST_MTU) {
		if (gamma_rails_is_usable(flow->rails, r))
			gamma_rails_doubt(flow, r, now);
		flow->local->own_rails[r].doubted -= rail->state == GAMMA_RAIL_DOUBTED;
		rail->state = GAMMA_RAIL_NONE;
		rail->probing = rail->wanted = false;
	}
	gamma_rails_choice_use(flow, flow->rail);
}

void gamma_rails_nics_set_mtu(struct gamma_local *local, uint8_t rail, uint32_t mtu, uint64_t now)
{
	struct gamma_own_rail *own = &local->own_rails[rail];
	struct gamma_list *pos;

	gamma_warn("the MTU of NIC %u of this endpoint (%02x:%02x:%02x:%02x:%02x:%02x) has been "
		   "lowered from %u to %u: %s",
		   rail + 1, own->mac[0], own->mac[1], own->mac[2], own->mac[3], own->mac[4],
		   own->mac[5], own->mtu, mtu,
		   mtu < GAMMA_LEAST_MTU
			   ? "the NIC is not used until that is 576 or more (ip link set mtu)"
			   : "larger frames are not used on it any more");
	own->mtu = mtu;
	gamma_list_for_each (pos, &local->flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (flow->rails && flow->rails->rail[rail].state != GAMMA_RAIL_NONE)
			take_own_mtu(flow, rail, mtu, now);
	}
}

void gamma_rails_nics_restore_mtu(struct gamma_local *local, uint8_t rail, uint32_t mtu,
				  uint64_t now)
{
	struct gamma_own_rail *own = &local->own_rails[rail];
	struct gamma_list *pos;

	gamma_warn("the MTU of NIC %u of this endpoint (%02x:%02x:%02x:%02x:%02x:%02x) has been "
		   "raised from %u to %u: the NIC is used again where peers answer on it",
		   rail + 1, own->mac[0], own->mac[1], own->mac[2], own->mac[3], own->mac[4],
		   own->mac[5], own->mtu, mtu);
	own->mtu = mtu;
	gamma_list_for_each (pos, &local->flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);
		struct gamma_rail *it = flow->rails ? &flow->rails->rail[rail] : NULL;

		if (!it || flow->state != GAMMA_FLOW_OPEN)
			continue;
		it->most = (uint32_t) gamma_min(it->peer_mtu, mtu);
		if (it->proven && it->state == GAMMA_RAIL_NONE)
			gamma_rails_try(flow, rail, now);
		/* The peer may have got a list without this NIC. */
		if (flow->rails->asks)
			gamma_rails_ask_anew(flow, now);
	}
}
