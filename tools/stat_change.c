// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Changes between two of gamma-stat's reports, and their text. */
#include "stat.h"

#include <arpa/inet.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/mac.h"
#include "wire/pseudo_mac.h"

/* The same endpoint in another report; NULL: it is not there. */
static const struct stat_endpoint *find(const struct stat_list *list,
					const struct stat_endpoint *endpoint)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct stat_endpoint *other = &list->endpoint[i];

		if (other->inode == endpoint->inode && other->pid == endpoint->pid &&
		    !memcmp(&other->page.addr, &endpoint->page.addr, sizeof(struct gamma_addr)))
			return other;
	}
	return NULL;
}

void stat_change_make(const struct stat_report *report, const struct stat_endpoint *endpoint,
		      struct stat_change *change)
{
	const struct stat_endpoint *then = find(report->before, endpoint);

	*change = (struct stat_change){
		.endpoint = endpoint,
		.before = then,
		.stats = endpoint->page.stats,
		.round_trips = endpoint->page.round_trips,
		.seconds = report->seconds,
	};
	if (!then)
		return;
#define SUBTRACT(field, meaning) change->stats.field -= then->page.stats.field;
	GAMMA_STATS_TABLE(SUBTRACT)
#undef SUBTRACT
	for (unsigned i = 0; i < GAMMA_HISTOGRAM_CLASSES; i++)
		change->round_trips.counts[i] -= then->page.round_trips.counts[i];
}

double stat_change_rate(const struct stat_change *change, uint64_t count)
{
	return (double) count / change->seconds;
}

const struct gamma_stats_peer *stat_change_peer_before(const struct stat_change *change,
						       const struct gamma_stats_peer *peer)
{
	const struct stat_endpoint *then = change->before;

	for (uint32_t i = 0; then && i < then->page.peer_count; i++)
		if (!memcmp(&then->page.peers[i].addr, &peer->addr, sizeof(peer->addr)))
			return &then->page.peers[i];
	return NULL;
}

uint64_t stat_change_sent(const struct gamma_stats *stats)
{
	return stats->tx_self + stats->tx_shm_inline + stats->tx_shm_rndv + stats->tx_direct +
	       stats->tx_coalesced + stats->tx_queued;
}

const char *stat_change_user(uid_t uid, char text[STAT_TEXT_LEN])
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(text, STAT_TEXT_LEN, "%s", user->pw_name);
	else
		snprintf(text, STAT_TEXT_LEN, "%u", uid);
	return text;
}

const char *stat_change_path(uint32_t path)
{
	static const char *const names[GAMMA_STATS_PATHS] = {
		[GAMMA_STATS_RAW] = "raw", [GAMMA_STATS_SLOT] = "slot", [GAMMA_STATS_XDP] = "xdp",
		[GAMMA_STATS_UDP] = "udp", [GAMMA_STATS_SHM] = "shm",   [GAMMA_STATS_SELF] = "self",
	};

	return path < GAMMA_STATS_PATHS ? names[path] : "?";
}

const char *stat_change_address(const struct gamma_addr *addr, char text[STAT_TEXT_LEN])
{
	const uint8_t *ipv4 =
		addr->version == GAMMA_ADDR_VERSION_UDP ? gamma_pseudo_mac_ipv4(addr->mac) : NULL;
	uint8_t ipv6[GAMMA_IPV6_LEN];

	if (addr->version == GAMMA_ADDR_VERSION_UDP6) {
		gamma_addr_ipv6(addr, ipv6);
		inet_ntop(AF_INET6, ipv6, text, STAT_TEXT_LEN);
	} else if (ipv4) {
		inet_ntop(AF_INET, ipv4, text, STAT_TEXT_LEN);
	} else {
		gamma_mac_format(addr->mac, text);
	}
	return text;
}

const char *stat_change_mac(const struct gamma_addr *addr, char text[STAT_TEXT_LEN])
{
	uint8_t mac[GAMMA_MAC_LEN], ipv6[GAMMA_IPV6_LEN];

	memcpy(mac, addr->mac, sizeof(mac));
	if (addr->version == GAMMA_ADDR_VERSION_UDP6) {
		gamma_addr_ipv6(addr, ipv6);
		gamma_pseudo_mac_make_ipv6(ipv6, mac);
	}
	return gamma_mac_format(mac, text);
}
