// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The links of an endpoint, when it opens: shared memory, and one link for each of its NICs. The
 * port is claimed on every NIC, so that no other endpoint there has it. gammad opens the links of
 * programs that may not.
 */
#include "engine/open.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/ipv6_names.h"
#include "engine/state.h"
#include "link/broker.h"
#include "link/packet.h"
#include "link/packet_socket.h"
#include "link/port.h"
#include "link/udp.h"
#include "link/xdp.h"
#include "wire/pseudo_mac.h"

enum { PORT_TRIES = 64 }; /* random ports */

static int open_shm(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr, int fd)
{
	struct gamma_shm_attr shm = {
		.fd = fd,
		.tenant = attr->tenant,
		.ring_bytes = attr->shm_bytes,
	};
	uint8_t gammad[GAMMA_MAC_LEN];
	int ret;

	if (endpoint->broker) {
		gamma_port_gammad_mac(endpoint->nic_mac, attr->mac, gammad);
		shm.gammad = gammad;
	}
	ret = gamma_shm_open(&shm, &endpoint->local.stats, &endpoint->shm);
	if (ret)
		close(fd);
	return ret;
}

void gamma_open_close(struct gamma_endpoint *endpoint)
{
	gamma_links_close(endpoint, 1);
	if (endpoint->packet)
		endpoint->packet->ops->close(endpoint->packet);
	if (endpoint->shm)
		endpoint->shm->link.ops->close(&endpoint->shm->link);
	endpoint->packet = NULL;
	endpoint->shm = NULL;
	endpoint->broker = NULL;
}

/* ---- by this process ---- */

static int open_raw(struct gamma_endpoint_attr *attr, struct gamma_stats *stats,
		    struct gamma_link **link)
{
	struct gamma_packet_attr packet = {
		.ifindex = attr->ifindex,
		.ethertype = attr->ethertype,
		.port = attr->port,
		.tenant = attr->tenant,
		.mtu = (uint32_t) gamma_min(attr->mtu, UINT16_MAX),
		.ring_bytes = attr->ring_bytes,
		.mac = attr->mac,
	};
	int ret = -EOPNOTSUPP;

	if (attr->link != GAMMA_LINK_PACKET)
		ret = gamma_xdp_open(&packet, attr->link == GAMMA_LINK_XDP, stats, link);
	if (!ret || attr->link == GAMMA_LINK_XDP)
		return ret;
	attr->link = GAMMA_LINK_PACKET;
	return gamma_packet_open(&packet, stats, link);
}

/* The UDP port is the frames' port; another program may have it. */
static int open_udp(const struct gamma_endpoint_attr *attr, bool beside, struct gamma_stats *stats,
		    struct gamma_link **link)
{
	const uint8_t *ipv4 = gamma_pseudo_mac_ipv4(attr->mac);
	struct gamma_udp_attr udp = {
		.ipv6 = !ipv4,
		.port = attr->port,
		.tenant = attr->tenant,
		.mtu = (uint32_t) gamma_min(attr->mtu, UINT16_MAX),
		.ifindex = attr->ifindex,
		.ethertype = attr->ethertype,
		.alone = attr->more_count > 0,
		.foreign_groups = !attr->datagram,
		.beside = beside,
	};

	if (ipv4)
		memcpy(udp.ip, ipv4, 4);
	else if (!gamma_ipv6_names_find(attr->mac, udp.ip))
		return -EADDRNOTAVAIL;
	return gamma_udp_open(&udp, stats, link);
}

/* AUTO becomes what it has chosen. */
static int open_network(struct gamma_endpoint_attr *attr, struct gamma_stats *stats,
			struct gamma_link **link)
{
	return attr->link == GAMMA_LINK_UDP ? open_udp(attr, false, stats, link)
					    : open_raw(attr, stats, link);
}

static int open_own(struct gamma_endpoint *endpoint, struct gamma_endpoint_attr *attr)
{
	int fd = attr->claimed ? attr->port_fd : gamma_port_claim(attr->mac, &attr->port);
	int ret = fd < 0 ? fd : open_shm(endpoint, attr, fd);

	return ret ? ret : open_network(attr, &endpoint->local.stats, &endpoint->packet);
}

/* ---- by gammad ---- */

/* gammad chooses user id, MAC, port and host identity: the endpoint's identity for its peers. */
static void take_identity(struct gamma_endpoint_attr *attr,
			  const struct gamma_broker_opened *opened)
{
	memcpy(attr->mac, opened->mac, GAMMA_MAC_LEN);
	attr->port = opened->port;
	attr->tenant = opened->tenant;
	attr->host = opened->host;
	attr->mtu = opened->mtu;
	attr->ifindex = (int) opened->ifindex;
}

static int ask_gammad(const struct gamma_endpoint_attr *attr, struct gamma_brokered *brokered)
{
	struct gamma_broker_open ask = {
		.port = attr->port,
		.epoch = attr->epoch,
		.ethertype = attr->ethertype,
		.ring_bytes = (uint32_t) gamma_min(attr->ring_bytes, UINT32_MAX),
	};
	int ret;

	memcpy(ask.mac, attr->mac, GAMMA_MAC_LEN);
	ret = gamma_broker_open(attr->broker, &ask, brokered);
	return ret == -ENOENT || ret == -ECONNREFUSED ? -EPERM : ret;
}

/* port_fd: the port's socket, which is the caller's. */
static int open_brokered_link(struct gamma_endpoint *endpoint, struct gamma_endpoint_attr *attr,
			      struct gamma_link **link, int *port_fd)
{
	struct gamma_brokered brokered;
	int ret = 0;

	if (attr->link == GAMMA_LINK_XDP) {
		gamma_error(
			"FI_GAMMA_LINK=xdp: gammad opens packet sockets only; unset it, or run as "
			"root");
		return -EOPNOTSUPP;
	}
	if (attr->brokered)
		brokered = *attr->brokered;
	else
		ret = ask_gammad(attr, &brokered);
	if (ret)
		return ret;
	ret = gamma_packet_adopt(&brokered, &endpoint->local.stats, link);
	if (ret) {
		gamma_broker_close(&brokered);
		return ret;
	}
	take_identity(attr, &brokered.opened);
	attr->link = GAMMA_LINK_PACKET;
	*port_fd = brokered.port_fd;
	return 0;
}

static int open_brokered(struct gamma_endpoint *endpoint, struct gamma_endpoint_attr *attr)
{
	uint8_t nic[GAMMA_MAC_LEN];
	int fd, ret;

	memcpy(nic, attr->mac, GAMMA_MAC_LEN);
	ret = open_brokered_link(endpoint, attr, &endpoint->packet, &fd);
	if (ret)
		return ret;
	memcpy(endpoint->nic_mac, nic, GAMMA_MAC_LEN);
	endpoint->broker = attr->broker;
	return open_shm(endpoint, attr, fd);
}

/* A program that may not open packet sockets does not need the port's name, which anyone may bind.
 */
static bool needs_broker(int ret)
{
	return ret == -EPERM || (ret == -EADDRINUSE && gamma_packet_socket_try() == -EPERM);
}

static int open_first(struct gamma_endpoint *endpoint, struct gamma_endpoint_attr *attr)
{
	uint16_t port = attr->port;
	int ret;

	if (attr->brokered)
		return open_brokered(endpoint, attr);
	ret = open_own(endpoint, attr);
	if (attr->link != GAMMA_LINK_UDP && attr->broker && !attr->claimed && needs_broker(ret)) {
		gamma_open_close(endpoint);
		attr->port = port;
		ret = open_brokered(endpoint, attr);
	}
	return ret;
}

/* ---- all NICs ---- */

/* The link of another NIC, in the way in which the first one's was opened; UDP takes no gammad. */
static int open_rail(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr,
		     struct gamma_endpoint_nic *nic, struct gamma_rail_link *rail)
{
	struct gamma_endpoint_attr own = *attr;
	int ret;

	own.ifindex = nic->ifindex;
	own.mtu = nic->mtu;
	own.brokered = NULL;
	memcpy(own.mac, nic->mac, GAMMA_MAC_LEN);
	if (nic->udp)
		own.link = GAMMA_LINK_UDP;
	if (endpoint->broker && !nic->udp) {
		ret = open_brokered_link(endpoint, &own, &rail->link, &rail->port_fd);
		memcpy(nic->mac, own.mac, GAMMA_MAC_LEN);
		return ret;
	}
	rail->port_fd = gamma_port_claim(own.mac, &own.port);
	if (rail->port_fd < 0)
		return rail->port_fd;
	ret = nic->udp ? open_udp(&own, true, &endpoint->local.stats, &rail->link)
		       : open_network(&own, &endpoint->local.stats, &rail->link);
	if (ret)
		close(rail->port_fd);
	return ret;
}

/* Whether its buffer holds all that peers have credit for. A quarter of it is left free, and so
 * much less credit costs little. */
static bool has_room(const struct gamma_endpoint *endpoint, const struct gamma_link *udp)
{
	if (udp->slots >= endpoint->packet->slots - endpoint->packet->slots / 4)
		return true;
	gamma_info("long messages are slower: a UDP socket's buffer holds %u frames, the receive "
		   "ring %u; raise net.core.rmem_max (sysctl -w net.core.rmem_max=4194304)",
		   udp->slots, endpoint->packet->slots);
	return false;
}

static void say_no_udp(uint16_t port, int error)
{
	gamma_info("port %u has no UDP beside it (%s): long messages are slower", port,
		   strerror(-error));
}

/* Unasked: what keeps it from being opened is no fault, and the port may be someone's. */
static void open_beside(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr)
{
	struct gamma_rail_link *rail = &endpoint->rails[1];
	struct gamma_endpoint_attr own = *attr;
	int ret;

	if (!attr->beside.mtu || attr->more_count || attr->datagram ||
	    attr->link != GAMMA_LINK_PACKET)
		return;
	own.ifindex = attr->beside.ifindex;
	own.mtu = attr->beside.mtu;
	memcpy(own.mac, attr->beside.mac, GAMMA_MAC_LEN);
	ret = open_udp(&own, true, &endpoint->local.stats, &rail->link);
	if (ret) {
		say_no_udp(own.port, ret);
		return;
	}
	rail->port_fd = -1;
	memcpy(endpoint->udp_mac, own.mac, GAMMA_MAC_LEN);
	if (!has_room(endpoint, rail->link))
		gamma_links_close(endpoint, 1);
}

/* The same with several NICs: all of them, or none. */
static void open_optional(struct gamma_endpoint *endpoint, struct gamma_endpoint_attr *attr)
{
	const unsigned first = attr->more_count - attr->optional;
	int ret = attr->link == GAMMA_LINK_PACKET ? 0 : -EOPNOTSUPP;

	for (unsigned i = first; !ret && i < attr->more_count; i++) {
		struct gamma_rail_link *rail = &endpoint->rails[1 + i];

		ret = open_rail(endpoint, attr, &attr->more[i], rail);
		if (!ret && !has_room(endpoint, rail->link))
			ret = -ENOBUFS;
	}
	if (!ret)
		return;
	say_no_udp(attr->port, ret);
	gamma_links_close(endpoint, 1 + first);
	attr->more_count = first;
}

static int open_all(struct gamma_endpoint *endpoint, struct gamma_endpoint_attr *attr)
{
	int ret = open_first(endpoint, attr);

	for (unsigned i = 0; !ret && i < attr->more_count - attr->optional; i++)
		ret = open_rail(endpoint, attr, &attr->more[i], &endpoint->rails[1 + i]);
	if (!ret && attr->optional)
		open_optional(endpoint, attr);
	if (!ret)
		open_beside(endpoint, attr);
	return ret;
}

/* A random port may be free on some of the NICs alone, or not for UDP. */
int gamma_open_links(struct gamma_endpoint *endpoint, struct gamma_endpoint_attr *attr)
{
	struct gamma_endpoint_attr asked;
	bool redraws;
	int ret = attr->epoch == GAMMA_EPOCH_ANY ? gamma_endpoint_random_epoch(&attr->epoch) : 0;

	if (ret)
		return ret;
	asked = *attr;
	redraws = !asked.port && (asked.link == GAMMA_LINK_UDP || asked.more_count);
	ret = open_all(endpoint, attr);
	for (int i = 0; ret == -EADDRINUSE && redraws && i < PORT_TRIES; i++) {
		gamma_open_close(endpoint);
		*attr = asked;
		ret = open_all(endpoint, attr);
	}
	if (attr->link == GAMMA_LINK_UDP)
		endpoint->prefix = attr->prefix;
	return ret;
}
