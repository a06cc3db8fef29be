// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Lists of rails, by which two endpoints exchange the addresses of their NICs. */
#include "flow/rails_list.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/mac.h"
#include "flow/flow.h"
#include "wire/pseudo_mac.h"

enum {
	NO_PLACE = GAMMA_RAILS_MAX,
	IPV4_LOOPBACK = 127, /* first byte of an IPv4 address: this host; */
	IPV4_GROUPS = 224,   /* ditto, from here on: groups and others that are no host's */
};

/* Those whose MTU has been lowered too far are left out. */
static uint8_t listed_count(const struct gamma_local *local)
{
	uint8_t count = local->rail_count;

	while (count > 1 && local->own_rails[count - 1].mtu < GAMMA_LEAST_MTU)
		count--;
	return count;
}

/* Rails pair by place: one that others stand behind stays, with the least MTU. It answers nothing
 * as long as it passes less. */
void gamma_rails_list_fill(const struct gamma_local *local, struct gamma_rails_list *list)
{
	memset(list, 0, sizeof(*list));
	list->count = listed_count(local);
	list->udp = (uint8_t) (local->rails_udp & ((1u << list->count) - 1));
	for (unsigned r = 0; r < list->count; r++) {
		uint64_t mtu = gamma_max(local->own_rails[r].mtu, GAMMA_LEAST_MTU);

		memcpy(list->rails[r].mac, local->own_rails[r].mac, GAMMA_MAC_LEN);
		list->rails[r].mtu = htons((uint16_t) mtu);
		list->down |= (uint8_t) (local->own_rails[r].no_carrier << r);
	}
}

/* A host's address: no group, and not this host itself. */
static bool is_pseudo_address(const uint8_t mac[GAMMA_MAC_LEN])
{
	const uint8_t *ipv4 = gamma_pseudo_mac_ipv4(mac);

	return ipv4 && ipv4[0] > 0 && ipv4[0] < IPV4_GROUPS && ipv4[0] != IPV4_LOOPBACK;
}

static bool is_sane(const struct gamma_rails_list *list)
{
	if (!list->count || list->count > GAMMA_RAILS_MAX || list->udp & 1 ||
	    list->udp >> list->count)
		return false;
	for (unsigned r = 1; r < list->count; r++) {
		if (!gamma_mac_is_unicast(list->rails[r].mac) ||
		    ntohs(list->rails[r].mtu) < GAMMA_LEAST_MTU)
			return false;
		if (list->udp >> r & 1 && !is_pseudo_address(list->rails[r].mac))
			return false;
		for (unsigned before = 0; before < r; before++)
			if (!memcmp(list->rails[r].mac, list->rails[before].mac, GAMMA_MAC_LEN))
				return false;
	}
	return true;
}

/* Frames from that address are the peer's. A list that came unasked may be forged, and does not
 * replace an answered one. */
static void enter_address(struct gamma_flow *flow, uint8_t r, const struct gamma_rail_entry *entry,
			  bool proven)
{
	struct gamma_rail *rail = &flow->rails->rail[r];

	if (rail->proven && !proven) {
		flow->rails->outdated |= ntohs(entry->mtu) > rail->peer_mtu;
		return;
	}
	if (rail->proven && ntohs(entry->mtu) > rail->peer_mtu)
		rail->mtu_tries = 0;
	memcpy(rail->mac, entry->mac, GAMMA_MAC_LEN);
	rail->proven = proven;
	rail->peer_mtu = ntohs(entry->mtu);
	rail->most = (uint32_t) gamma_min(rail->peer_mtu, flow->local->own_rails[r].mtu);
	flow->local->alias(flow->local, flow, r, rail->mac);
}

bool gamma_rails_list_read(const struct gamma_fields *fields, const uint8_t *payload,
			   struct gamma_rails_list *list)
{
	if (fields->payload_len < sizeof(*list) || !(fields->extensions & GAMMA_EXT_PAYLOAD_CRC))
		return false;
	memcpy(list, payload, sizeof(*list));
	return is_sane(list);
}

/* The place of the peer's rail that is this one's pair: of its raw rails, or of those over UDP, the
 * one before which as many stand. NO_PLACE: it has none. */
static unsigned place_of(const struct gamma_local *local, const struct gamma_rails_list *list,
			 unsigned r)
{
	const bool udp = gamma_local_rail_is_udp(local, r);
	unsigned before = 0;

	for (unsigned i = 0; i < r; i++)
		before += gamma_local_rail_is_udp(local, i) == udp;
	for (unsigned place = 0; place < list->count; place++)
		if ((list->udp >> place & 1) == udp && !before--)
			return place;
	return NO_PLACE;
}

void gamma_rails_list_enter(struct gamma_flow *flow, const struct gamma_rails_list *list,
			    bool proven)
{
	uint8_t count = 1;

	flow->rails->outdated = false;
	for (uint8_t r = 1; r < flow->local->rail_count; r++) {
		unsigned place = place_of(flow->local, list, r);

		if (place == NO_PLACE)
			continue;
		enter_address(flow, r, &list->rails[place], proven);
		count = (uint8_t) (r + 1);
	}
	flow->rails->outdated |= !proven && count > flow->rails->count;
	if (proven)
		flow->rails->count = (uint8_t) gamma_max(count, flow->rails->count);
}

uint8_t gamma_rails_list_down(const struct gamma_flow *flow, const struct gamma_rails_list *list)
{
	uint8_t down = 0;

	for (unsigned r = 0; r < flow->local->rail_count; r++) {
		unsigned place = place_of(flow->local, list, r);

		if (place != NO_PLACE)
			down |= (uint8_t) ((list->down >> place & 1) << r);
	}
	return down;
}
