// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammaping -l: an endpoint that answers lookups and probes, and drops messages. For hosts on
 * which no gamma program runs.
 */
#include "gammaping.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mac.h"
#include "unix/host.h"

enum { RING_BYTES = 1 << 20, WAKE_MS = 1000 };

static struct gamma_recv *no_match(void *context, struct gamma_flow *flow,
				   const struct gamma_envelope *envelope)
{
	(void) context, (void) flow, (void) envelope;
	return NULL;
}

static void drop_message(void *context, struct gamma_inbound *inbound)
{
	(void) context;
	gamma_receive_discard(inbound);
}

static void never_received(void *context, struct gamma_recv *recv, struct gamma_flow *flow,
			   const struct gamma_envelope *envelope, uint64_t placed, int error)
{
	(void) context, (void) recv, (void) flow, (void) envelope, (void) placed, (void) error;
}

static void never_sent(void *context, struct gamma_send *send, struct gamma_flow *flow, int error)
{
	(void) context, (void) send, (void) flow, (void) error;
}

static void peer_failed(void *context, struct gamma_flow *flow, int error, const char *cause)
{
	(void) context, (void) flow, (void) error, (void) cause;
}

static void drop_datagram(void *context, const struct gamma_addr *source,
			  const struct gamma_envelope *envelope, const uint8_t *payload)
{
	(void) context, (void) source, (void) envelope, (void) payload;
}

static void flow_gone(void *context, struct gamma_flow *flow)
{
	(void) context, (void) flow;
}

static const struct gamma_endpoint_handlers listener = {
	.messages =
		{
			.match = no_match,
			.unexpected = drop_message,
			.received = never_received,
			.sent = never_sent,
			.failed = peer_failed,
		},
	.datagram = drop_datagram,
	.gone = flow_gone,
};

static struct gamma_endpoint *open_listener(const struct ping *ping)
{
	struct gamma_endpoint_attr attr = {
		.ifindex = ping->nic->ifindex,
		.mtu = ping->nic->mtu,
		.port = ping->peer.port,
		.ethertype = ping->ethertype,
		.tenant = geteuid(),
		.host = gamma_host_identity(),
		.ring_bytes = RING_BYTES,
		.broker = ping->through_slot ? ping->broker : NULL,
		.link = ping->udp ? GAMMA_LINK_UDP : GAMMA_LINK_PACKET,
		.prefix = ping->nic->prefix,
		.limits =
			{
				.inject_size = GAMMA_SAFE_MTU,
				.peer_timeout = 120 * GAMMA_NS_PER_S,
				.forget = 30 * GAMMA_NS_PER_S,
			},
	};
	struct gamma_endpoint *endpoint;
	int ret;

	memcpy(attr.mac, ping->nic->mac, GAMMA_MAC_LEN);
	attr.more_count = ping->more_count;
	for (unsigned i = 0; i < ping->more_count; i++) {
		attr.more[i].ifindex = ping->more[i]->ifindex;
		attr.more[i].mtu = ping->more[i]->mtu;
		memcpy(attr.more[i].mac, ping->more[i]->mac, GAMMA_MAC_LEN);
	}
	ret = gamma_endpoint_create(&attr, &listener, NULL, &endpoint);
	if (ret == -EADDRINUSE)
		gammaping_fail("%s: port %u is in use by another process: choose another or none",
			       ping->nic->name, ping->peer.port);
	if (ret)
		gammaping_fail("%s: cannot open an endpoint: %s", ping->nic->name, strerror(-ret));
	return endpoint;
}

/* Sleeps until something arrives. A signal before that is handled at the next wake-up. */
static void listener_sleep(struct gamma_endpoint *endpoint)
{
	int fds[GAMMA_ENDPOINT_FDS];
	struct pollfd polls[GAMMA_ENDPOINT_FDS];
	unsigned count;

	if (gamma_endpoint_ready(endpoint))
		return;
	count = gamma_endpoint_fds(endpoint, fds);
	for (unsigned i = 0; i < count; i++)
		polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	poll(polls, count, gamma_endpoint_deadline(endpoint) == GAMMA_NEVER ? WAKE_MS : 1);
}

int listen_run(const struct ping *ping)
{
	struct gamma_endpoint *endpoint = open_listener(ping);
	const struct gamma_addr *addr = gamma_endpoint_addr(endpoint);
	char mac[GAMMA_MAC_TEXT_LEN];

	printf("listening on %s %s port %u, until interrupted\n", ping->nic->name,
	       ping->udp ? udp_walk_ip(ping, addr->mac).text : gamma_mac_format(addr->mac, mac),
	       ntohs(addr->port));
	fflush(stdout);
	while (!gammaping_interrupted) {
		gamma_endpoint_progress(endpoint);
		listener_sleep(endpoint);
	}
	printf("%llu questions answered\n",
	       (unsigned long long) gamma_endpoint_stats(endpoint)->lookups_in);
	gamma_endpoint_destroy(endpoint);
	return 0;
}
