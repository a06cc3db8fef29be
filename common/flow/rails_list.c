// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Lists of rails, by which two endpoints exchange the addresses of their NICs. */
#include "flow/rails_list.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/mac.h"
#include "flow/flow.h"
#include "wire/pseudo_mac.h"

enum {
	IPV4_LOOPBACK = 127, /* first byte of an IPv4 address: this host; */
	IPV4_GROUPS = 224,   /* ditto, from here on: groups and others that are no host's */
};

void gamma_rails_list_fill(const struct gamma_local *local, struct gamma_rails_list *list)
{
	memset(list, 0, sizeof(*list));
	list->count = local->rail_count;
	list->udp = local->rails_udp;
	for (unsigned r = 0; r < local->rail_count; r++) {
		memcpy(list->rails[r].mac, local->own_rails[r].mac, GAMMA_MAC_LEN);
		list->rails[r].mtu = htons((uint16_t) local->own_rails[r].mtu);
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

/* Frames from that address are the peer's. What it said unasked may be forged, and does not replace
 * what it has answered. */
static void enter_address(struct gamma_flow *flow, uint8_t r, const struct gamma_rail_entry *entry,
			  bool proven)
{
	struct gamma_rail *rail = &flow->rails->rail[r];

	if (rail->proven && !proven)
		return;
	memcpy(rail->mac, entry->mac, GAMMA_MAC_LEN);
	rail->proven = proven;
	rail->most = (uint32_t) gamma_min(ntohs(entry->mtu), flow->local->own_rails[r].mtu);
	flow->local->alias(flow->local, flow, r, rail->mac);
}

/* False: the list is not valid. A raw rail and one over UDP are no pair. */
bool gamma_rails_list_enter(struct gamma_flow *flow, const struct gamma_fields *fields,
			    const uint8_t *payload, bool proven)
{
	struct gamma_rails_list list;

	if (fields->payload_len < sizeof(list) || !(fields->extensions & GAMMA_EXT_PAYLOAD_CRC))
		return false;
	memcpy(&list, payload, sizeof(list));
	if (!is_sane(&list))
		return false;
	if (proven)
		flow->rails->count = (uint8_t) gamma_min(list.count, flow->local->rail_count);
	for (unsigned r = 1; r < gamma_min(list.count, flow->local->rail_count); r++)
		if ((list.udp >> r & 1) == gamma_local_rail_is_udp(flow->local, r))
			enter_address(flow, r, &list.rails[r], proven);
	return true;
}
