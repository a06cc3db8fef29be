// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The links of an endpoint's rails. The first one's is endpoint->packet, as if it were alone. */
#include "engine/links.h"

#include <string.h>
#include <unistd.h>

#include "engine/dispatch.h"
#include "engine/state.h"
#include "flow/rails_nics.h"
#include "link/packet.h"
#include "link/udp.h"

enum {
	LOOK_US = 250000, /* between two looks for NICs that were removed, or have no carrier */
	QUIET_MAX = 16,   /* rounds of housekeeping in which a NIC that went quiet is looked at */
};

/* The first one over UDP is on the first raw one's NIC, and so on. */
static void find_twin(struct gamma_local *local, unsigned udp)
{
	unsigned before = 0;

	for (unsigned r = 0; r < udp; r++)
		before += gamma_local_rail_is_udp(local, r);
	for (unsigned r = 0; r < udp; r++) {
		if (gamma_local_rail_is_udp(local, r) || before--)
			continue;
		local->own_rails[udp].twin = (uint8_t) (1 + r);
		local->own_rails[r].twin = (uint8_t) (1 + udp);
		return;
	}
}

void gamma_links_add(struct gamma_endpoint *endpoint, struct gamma_link *link,
		     const uint8_t mac[GAMMA_MAC_LEN], bool udp)
{
	struct gamma_local *local = &endpoint->local;
	struct gamma_own_rail *own = &local->own_rails[local->rail_count];

	memcpy(own->mac, mac, GAMMA_MAC_LEN);
	own->mtu = own->most = link->mtu;
	own->train = link->train;
	local->rails_udp |= (uint8_t) (udp << local->rail_count);
	local->limits.rail_mtu = (uint32_t) gamma_max(local->limits.rail_mtu, link->mtu);
	if (local->rail_count)
		endpoint->rails[local->rail_count].link = link;
	if (udp)
		find_twin(local, local->rail_count);
	local->rail_count++;
}

static bool has_carrier(struct gamma_local *local, uint8_t rail)
{
	const struct gamma_endpoint *endpoint =
		gamma_container_of(local, struct gamma_endpoint, local);
	unsigned twin = gamma_local_twin(local, rail);

	if (gamma_local_rail_is_udp(local, rail) && twin < GAMMA_RAILS_MAX)
		rail = (uint8_t) twin;
	return gamma_packet_has_carrier(gamma_links_of_rail(endpoint, rail));
}

void gamma_links_begin(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr)
{
	if (!attr->more_count)
		return;
	endpoint->local.alias = gamma_aliases_set;
	gamma_links_add(endpoint, endpoint->packet, attr->mac, false);
	for (unsigned i = 0; i < attr->more_count; i++) {
		gamma_links_add(endpoint, endpoint->rails[1 + i].link, attr->more[i].mac,
				attr->more[i].udp);
		if (!attr->more[i].udp) /* else all are of one NIC */
			endpoint->local.has_carrier = has_carrier;
	}
}

bool gamma_links_use_udp(struct gamma_local *local)
{
	struct gamma_endpoint *endpoint = gamma_container_of(local, struct gamma_endpoint, local);
	struct gamma_link *udp = endpoint->rails[1].link;

	if (!udp || local->rail_count > 1)
		return udp;
	if (gamma_aliases_init(endpoint))
		return false;
	gamma_links_add(endpoint, endpoint->packet, local->addr.mac, false);
	gamma_links_add(endpoint, udp, endpoint->udp_mac, true);
	endpoint->train = gamma_links_train(endpoint);
	return true;
}

uint32_t gamma_links_slots(uint32_t slots, const struct gamma_link *link)
{
	return link ? (uint32_t) gamma_min(slots, link->slots) : slots;
}

uint32_t gamma_links_least_slots(const struct gamma_endpoint *endpoint)
{
	uint32_t slots = endpoint->packet->slots;

	for (unsigned r = 1; r < GAMMA_RAILS_MAX; r++)
		slots = gamma_links_slots(slots, endpoint->rails[r].link);
	return slots;
}

void gamma_links_close(struct gamma_endpoint *endpoint, unsigned first)
{
	for (unsigned r = first; r < GAMMA_RAILS_MAX; r++) {
		struct gamma_rail_link *rail = &endpoint->rails[r];

		if (!rail->link)
			continue;
		rail->link->ops->close(rail->link);
		rail->link = NULL;
		if (rail->port_fd >= 0)
			close(rail->port_fd);
	}
}

struct gamma_link *gamma_links_of_rail(const struct gamma_endpoint *endpoint, uint8_t rail)
{
	return rail ? endpoint->rails[rail].link : endpoint->packet;
}

struct gamma_link *gamma_links_udp(const struct gamma_endpoint *endpoint)
{
	const struct gamma_local *local = &endpoint->local;

	if (!local->rail_count) /* then the only other one is over UDP */
		return endpoint->rails[1].link;
	return local->rails_udp ? endpoint->rails[__builtin_ctz(local->rails_udp)].link : NULL;
}

uint8_t gamma_links_rail(const struct gamma_endpoint *endpoint, const struct gamma_link *link)
{
	for (uint8_t r = 1; r < endpoint->local.rail_count; r++)
		if (endpoint->rails[r].link == link)
			return r;
	return 0;
}

/* One that looks idle is looked at now and then; the clock is read for that only every few polls.
 */
static bool is_time(const struct gamma_rail_link *link)
{
	return link->idle < GAMMA_LINKS_IDLE ||
	       (link->skipped % GAMMA_LINKS_SKIP == 0 && gamma_now() >= link->look_at);
}

bool gamma_links_wait(struct gamma_endpoint *endpoint)
{
	bool any = false;

	for (uint8_t r = 1; r < endpoint->local.rail_count; r++) {
		struct gamma_rail_link *link = &endpoint->rails[r];

		link->skipped++;
		link->due = link->due ||
			    (gamma_local_rail_is_udp(&endpoint->local, r) && is_time(link));
		any |= gamma_links_is_due(endpoint, r);
	}
	return any;
}

bool gamma_links_is_due(const struct gamma_endpoint *endpoint, uint8_t rail)
{
	const struct gamma_rail_link *link = &endpoint->rails[rail];

	if (!gamma_local_rail_is_udp(&endpoint->local, rail))
		return !gamma_link_is_quiet(gamma_links_of_rail(endpoint, rail));
	return link->due && (!endpoint->local.deferred.flow || link->skipped > GAMMA_LINKS_DEFER);
}

void gamma_links_look(struct gamma_endpoint *endpoint, uint8_t rail)
{
	const struct gamma_rail_link *link = &endpoint->rails[rail];

	if (link->idle == GAMMA_LINKS_IDLE && link->link->look)
		link->link->look(link->link);
}

void gamma_links_looked(struct gamma_endpoint *endpoint, uint8_t rail, unsigned taken)
{
	struct gamma_rail_link *link = &endpoint->rails[rail];

	link->due = false;
	link->skipped = 0;
	link->idle = taken ? 0 : (uint32_t) gamma_min(link->idle + 1, GAMMA_LINKS_IDLE);
	if (link->idle == GAMMA_LINKS_IDLE)
		link->look_at = gamma_now() + GAMMA_LINKS_LOOK_US * GAMMA_NS_PER_US;
}

static void look_soon(struct gamma_endpoint *endpoint, uint32_t times)
{
	for (uint8_t r = 1; r < endpoint->local.rail_count; r++)
		endpoint->rails[r].idle =
			(uint32_t) gamma_min(endpoint->rails[r].idle, GAMMA_LINKS_IDLE - times);
}

void gamma_links_expect(struct gamma_endpoint *endpoint)
{
	look_soon(endpoint, GAMMA_LINKS_EXPECT);
}

unsigned gamma_links_train(const struct gamma_endpoint *endpoint)
{
	unsigned train = endpoint->packet->train;

	for (unsigned r = 1; r < endpoint->local.rail_count; r++)
		train = (unsigned) gamma_max(train, endpoint->rails[r].link->train);
	return train;
}

bool gamma_links_brings_trains(const struct gamma_endpoint *endpoint)
{
	if (endpoint->packet->train)
		return true;
	for (uint8_t r = 1; r < endpoint->local.rail_count; r++)
		if (gamma_local_rail_is_udp(&endpoint->local, r) &&
		    endpoint->rails[r].idle < GAMMA_LINKS_IDLE - GAMMA_LINKS_EXPECT)
			return true;
	return false;
}

/* The link that wakes the caller is polled next. */
bool gamma_links_arm(struct gamma_endpoint *endpoint)
{
	bool any = false;

	for (unsigned r = 1; r < GAMMA_RAILS_MAX; r++)
		if (endpoint->rails[r].link &&
		    endpoint->rails[r].link->ops->arm(endpoint->rails[r].link))
			any = true;
	/* A datagram to one that is not used yet: it would wake the caller again and again. */
	if (any && !endpoint->local.rail_count)
		gamma_links_use_udp(&endpoint->local);
	look_soon(endpoint, 1);
	return any;
}

void gamma_links_count(const struct gamma_endpoint *endpoint)
{
	for (unsigned r = 1; r < endpoint->local.rail_count; r++)
		endpoint->rails[r].link->ops->count(endpoint->rails[r].link);
}

/* Of the link's NIC now, bytes; 0: unknown. */
static uint32_t mtu_of_nic(struct gamma_link *link)
{
	uint32_t mtu = gamma_packet_nic_mtu(link);

	return mtu ? mtu : gamma_udp_nic_mtu(link);
}

/* Where this endpoint mostly receives, the frames that it sends are short, and leave: nothing else
 * would notice that what peers send does not arrive. */
static void look_at_first_mtu(struct gamma_endpoint *endpoint)
{
	uint32_t mtu = mtu_of_nic(endpoint->packet);

	if (!mtu || mtu >= GAMMA_LEAST_MTU)
		return;
	endpoint->packet->mtu = mtu;
	gamma_dispatch_end_by_mtu(endpoint);
}

/* Nothing is sent by it: only the NIC itself shows that its MTU has been raised again. The size
 * that the ring was made for remains the largest. */
static void look_at_mtu(struct gamma_endpoint *endpoint, uint8_t rail, uint64_t now)
{
	struct gamma_link *link = gamma_links_of_rail(endpoint, rail);
	const struct gamma_own_rail *own = &endpoint->local.own_rails[rail];
	uint32_t mtu;

	if (own->mtu >= GAMMA_LEAST_MTU)
		return;
	mtu = (uint32_t) gamma_min(mtu_of_nic(link), own->most);
	if (mtu < GAMMA_LEAST_MTU)
		return;
	link->mtu = mtu;
	gamma_rails_nics_restore_mtu(&endpoint->local, rail, mtu, now);
}

/* By a NIC that was removed nothing is sent or comes, so nothing else would notice that it is back.
 */
void gamma_links_look_for_nics(struct gamma_endpoint *endpoint, uint64_t now)
{
	if (now < endpoint->nics_at)
		return;
	endpoint->nics_at = now + LOOK_US * GAMMA_NS_PER_US;
	for (uint8_t r = 0; r < endpoint->local.rail_count; r++)
		gamma_packet_look_for_nic(gamma_links_of_rail(endpoint, r));
	look_at_first_mtu(endpoint);
	for (uint8_t r = 1; r < endpoint->local.rail_count; r++)
		look_at_mtu(endpoint, r, now);
	for (uint8_t r = 0; r < endpoint->local.rail_count; r++)
		if (endpoint->local.own_rails[r].no_carrier)
			gamma_rails_nics_look(&endpoint->local, r, now);
}

void gamma_links_look_at_carriers(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_local *local = &endpoint->local;

	for (uint8_t r = 0; endpoint->rails_came && r < local->rail_count; r++) {
		uint8_t *quiet = &endpoint->rails_quiet[r];

		if (endpoint->rails_came >> r & 1)
			*quiet = 0;
		else if (*quiet < QUIET_MAX && ++*quiet && !local->own_rails[r].no_carrier)
			gamma_rails_nics_look(local, r, now);
	}
	endpoint->rails_came = 0;
}

void gamma_links_cross(struct gamma_endpoint *endpoint)
{
	endpoint->local.ecn = &endpoint->packet->ecn;
	for (uint8_t r = 0; !r || r < endpoint->local.rail_count; r++) {
		struct gamma_link *link = gamma_links_of_rail(endpoint, r);

		if (link->cross)
			link->cross(link);
	}
}

uint64_t gamma_links_round_trip(const struct gamma_endpoint *endpoint, uint8_t rail)
{
	uint64_t shortest = GAMMA_NEVER;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &endpoint->local.flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);
		uint64_t rtt = 0;

		if (flow->rails)
			rtt = gamma_rails_loss(flow, rail)->rtt_min;
		if (flow->rails && !rtt)
			rtt = flow->rails->rail[rail].probe_rtt;
		if (rtt)
			shortest = gamma_min(shortest, rtt);
	}
	return shortest == GAMMA_NEVER ? 0 : shortest;
}
