// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammaping's links: on the NIC itself, or a slot that gammad gives out, as programs of ordinary
 * users have one. A network may pass the frames of one and drop those of the other.
 */
#include "gammaping.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "link/broker.h"

enum { RING_BYTES = 1 << 20 };

static bool serves(const struct gamma_broker_served *served, const struct ping *ping)
{
	for (uint32_t i = 0; i < served->count; i++) {
		if (!memcmp(served->macs[i], ping->nic->mac, GAMMA_MAC_LEN))
			return served->ethertype == ping->ethertype;
	}
	return false;
}

bool links_may_have_slot(const struct ping *ping)
{
	struct gamma_broker_served served;
	char why[512];

	return !gamma_broker_nics(ping->broker, &served, why, sizeof(why)) && serves(&served, ping);
}

enum ping_gammad links_find_gammad(const struct ping *ping)
{
	struct gamma_broker_served served;
	const char *slash = strrchr(ping->broker, '/');
	char why[512], lock[PATH_MAX];
	int ret = gamma_broker_nics(ping->broker, &served, why, sizeof(why));

	if (ret != -ENOENT && ret != -ECONNREFUSED)
		return PING_GAMMAD_RUNS;
	snprintf(lock, sizeof(lock), "%.*s/lock", slash ? (int) (slash - ping->broker) : 0,
		 ping->broker);
	return access(lock, F_OK) ? PING_GAMMAD_NONE : PING_GAMMAD_STOPPED;
}

int links_make_epoch(struct ping *ping)
{
	if (getrandom(&ping->epoch, sizeof(ping->epoch), 0) < 0)
		return -errno;
	ping->epoch |= 1; /* never 0, which means any */
	return 0;
}

int links_open_nic(struct ping *ping)
{
	struct gamma_packet_attr attr = {
		.ifindex = ping->nic->ifindex,
		.ethertype = ping->ethertype,
		.tenant = geteuid(),
		.mtu = (uint32_t) gamma_min(ping->nic->mtu, UINT16_MAX),
		.ring_bytes = RING_BYTES,
	};
	struct gamma_shm_attr shm = {
		.fd = gamma_port_claim(ping->nic->mac, &ping->own_port),
		.tenant = geteuid(),
	};
	int ret = shm.fd < 0 ? shm.fd : gamma_shm_open(&shm, &ping->stats, &ping->shm);

	attr.port = ping->own_port;
	ping->tenant = geteuid();
	memcpy(ping->own_mac, ping->nic->mac, GAMMA_MAC_LEN);
	if (!ret)
		ret = links_make_epoch(ping);
	return ret ? ret : gamma_packet_open(&attr, &ping->stats, &ping->packet);
}

int links_open_slot(struct ping *ping)
{
	struct gamma_broker_open ask = {.ethertype = ping->ethertype, .ring_bytes = RING_BYTES};
	struct gamma_shm_attr shm = {.gammad = ping->nic->mac};
	struct gamma_brokered brokered;
	int ret = links_make_epoch(ping);

	ask.epoch = ping->epoch;
	memcpy(ask.mac, ping->nic->mac, GAMMA_MAC_LEN);
	if (!ret)
		ret = gamma_broker_open(ping->broker, &ask, &brokered);
	if (ret)
		return ret;
	ping->own_port = brokered.opened.port;
	ping->tenant = brokered.opened.tenant;
	memcpy(ping->own_mac, brokered.opened.mac, GAMMA_MAC_LEN);
	shm.fd = brokered.port_fd;
	shm.tenant = brokered.opened.tenant;
	ret = gamma_packet_adopt(&brokered, &ping->stats, &ping->packet);
	return ret ? ret : gamma_shm_open(&shm, &ping->stats, &ping->shm);
}

int links_open(struct ping *ping)
{
	if (ping->udp)
		return links_open_udp(ping);
	return ping->through_slot ? links_open_slot(ping) : links_open_nic(ping);
}
