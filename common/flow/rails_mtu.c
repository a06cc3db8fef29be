// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The largest frame of each rail but the first, whose path_mtu.c has: what surely passes, until a
 * padded probe of the rail is answered. When large frames begin to vanish, or its link to refuse
 * them, small ones are used at once.
 */
#include "flow/rails_mtu.h"

#include "flow/flow.h"
#include "flow/rails.h"

bool gamma_rails_mtu_is_smaller(const struct gamma_rail *rail)
{
	return rail->mtu < rail->most && rail->mtu_tries < GAMMA_RAIL_MTU_TRIES;
}

void gamma_rails_mtu_passed(struct gamma_flow *flow, const struct gamma_sent *sent)
{
	struct gamma_rail *rail = &flow->rails->rail[sent->rail];

	rail->large_losses = 0;
	rail->refused = 0;
}

/* What surely passes, until a padded probe of the rail is answered. */
static uint32_t safe_size(const struct gamma_flow *flow, uint8_t r)
{
	uint32_t safe = gamma_local_rail_is_udp(flow->local, r) ? GAMMA_SAFE_MTU_UDP
								: gamma_path_mtu_safe(flow->local);

	return (uint32_t) gamma_min(flow->rails->rail[r].most, safe);
}

static void use_safe_size(struct gamma_flow *flow, uint8_t r)
{
	struct gamma_rail *rail = &flow->rails->rail[r];

	rail->mtu = safe_size(flow, r);
	rail->mtu_tries = rail->large_losses = 0;
	rail->refused = 0;
	gamma_rails_want_probe(flow, r);
}

/* A full queue or a lost carrier refuses frames of any size, and soon takes them again; a virtual
 * NIC whose peer has a smaller MTU always refuses the large ones. */
void gamma_rails_mtu_refused(struct gamma_flow *flow, uint8_t r, uint64_t now)
{
	struct gamma_rail *rail = &flow->rails->rail[r];

	if (!rail->refused) {
		rail->refused = now;
	} else if (rail->mtu > safe_size(flow, r) &&
		   now - rail->refused >= GAMMA_MTU_REFUSED_US * GAMMA_NS_PER_US) {
		use_safe_size(flow, r);
	} else if (now - rail->refused >= GAMMA_MTU_BELOW_US * GAMMA_NS_PER_US) {
		rail->blocked = true;
		gamma_rails_look_later(flow, r, now);
	}
}

/* Every Ethernet passes 1,500 bytes, nearly: a rail that does not for long is not used. The first
 * one's path may carry less: path_mtu.c. */
void gamma_rails_mtu_lost(struct gamma_flow *flow, const struct gamma_sent *sent, uint64_t now)
{
	struct gamma_rail *rail = &flow->rails->rail[sent->rail];

	if (!rail->large_losses++)
		rail->large_since = now;
	if (rail->large_losses < GAMMA_RAIL_MTU_LOSSES)
		return;
	rail->large_losses = GAMMA_RAIL_MTU_LOSSES;
	if (rail->mtu > safe_size(flow, sent->rail)) {
		use_safe_size(flow, sent->rail);
	} else if (now - rail->large_since >= GAMMA_MTU_BELOW_US * GAMMA_NS_PER_US) {
		rail->blocked = true;
		rail->large_losses = 0;
		gamma_rails_look_later(flow, sent->rail,
				       now); /* the search for lost frames goes on */
	}
}

/* One that is not used shows by its answer that it passes frames of that size: two of three times
 * as large as both NICs allow, since the first answer may come late, and then still counts. */
uint32_t gamma_rails_mtu_probe_size(const struct gamma_flow *flow, uint8_t rail)
{
	const struct gamma_rail *it = &flow->rails->rail[rail];

	if (!rail)
		return 0;
	if (it->state == GAMMA_RAIL_USABLE)
		return gamma_rails_mtu_is_smaller(it) ? it->most : 0;
	return it->probe_refused || it->unanswered % 3 == 2 ? safe_size(flow, rail) : it->most;
}

/* A link that is not full takes the size that surely passes: that is asked for at once. Of a rail
 * that is used, a timer asks for the larger size again. */
void gamma_rails_mtu_probe_refused(struct gamma_flow *flow, uint8_t rail)
{
	if (flow->state != GAMMA_FLOW_OPEN || flow->rails->rail[rail].state == GAMMA_RAIL_USABLE)
		return;
	flow->rails->rail[rail].probe_refused = true;
	gamma_rails_want_probe(flow, rail);
}

/* It passes frames of that size. One that was not padded, and is answered only after the rail was
 * doubted, says nothing new of that. */
void gamma_rails_mtu_take(struct gamma_rail *rail, uint32_t size)
{
	if (rail->state != GAMMA_RAIL_USABLE && size) {
		rail->mtu = size;
		rail->mtu_tries = 0;
	} else if (size) {
		rail->mtu = (uint32_t) gamma_max(rail->mtu, size);
	}
}
