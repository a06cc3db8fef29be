// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Fuzz target: what a UDP socket may deliver to an endpoint with open flows: datagrams of any bytes
 * and from any port, merged into trains or not, and ICMP errors with any control messages and
 * quoted bytes. The kernel's calls are played. The input is a list of records; a frame's addresses
 * and checksum may be made right, so that inputs get far. Whatever comes, every send and receive
 * ends at most once, and nothing is read beyond a datagram.
 */
#include "pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "link/udp.h"
#include "wire/codec.h"
#include "wire/pseudo_mac.h"

enum { RECORDS_MAX = 100, PEERS = 2, CONTROL_MAX = 128 };

struct record {
	uint8_t how; /* see below */
	uint8_t control_len;
	uint16_t len; /* bytes that follow: of control messages, if it is an error, and the datagram
		       */
} __attribute__((packed));

enum {
	HOW_FROM = 3,            /* 0, 1: a peer; 2, 3: an unknown peer */
	HOW_OTHER_PORT = 1 << 2, /* than the peer's */
	HOW_ERROR = 1 << 3,      /* in the queue of ICMP errors */
	HOW_RIGHT = 1 << 4,      /* addresses and checksums of the frames are made right */
	HOW_NUMBERS = 1 << 5,    /* and their numbers lie near the flow's */
	HOW_TIME = 1 << 6,       /* time passes before it */
	HOW_IPV6 = 1 << 7,       /* in the first record: the link is over IPv6 */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
ssize_t __wrap_recvfrom(int fd, void *bytes, size_t room, int flags, struct sockaddr *from,
			socklen_t *from_len);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
int __wrap_bind(int fd, const struct sockaddr *name, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *name, socklen_t len);

/* What the socket has: one datagram, one error, or nothing. */
static struct {
	bool datagram, error;
	struct sockaddr_in6 from;
	socklen_t from_len;
	uint8_t control[CONTROL_MAX];
	size_t control_len;
	uint8_t bytes[UINT16_MAX];
	size_t len;
} queued;

int __wrap_bind(int fd, const struct sockaddr *name, socklen_t len)
{
	(void) fd, (void) name, (void) len;
	return 0;
}

/* Whichever of its sockets the link asks first has what is queued. */
int __wrap_connect(int fd, const struct sockaddr *name, socklen_t len)
{
	(void) fd, (void) name, (void) len;
	return 0;
}

/* A pending error is reported in place of a datagram. */
ssize_t __wrap_recvfrom(int fd, void *bytes, size_t room, int flags, struct sockaddr *from,
			socklen_t *from_len)
{
	size_t len = gamma_min(queued.len, room);

	(void) fd, (void) flags;
	errno = queued.error ? ECONNREFUSED : EAGAIN;
	if (!queued.datagram)
		return -1;
	queued.datagram = false;
	memcpy(bytes, queued.bytes, len);
	memcpy(from, &queued.from, gamma_min(*from_len, queued.from_len));
	*from_len = queued.from_len;
	return (ssize_t) len;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	size_t len = gamma_min(queued.len, msg->msg_iov->iov_len);

	(void) fd;
	errno = EAGAIN;
	if (!queued.error || !(flags & MSG_ERRQUEUE))
		return -1;
	queued.error = false;
	memcpy(msg->msg_iov->iov_base, queued.bytes, len);
	memcpy(msg->msg_name, &queued.from, gamma_min(msg->msg_namelen, queued.from_len));
	msg->msg_controllen = gamma_min(queued.control_len, msg->msg_controllen);
	memcpy(msg->msg_control, queued.control, msg->msg_controllen);
	return (ssize_t) len;
}

/* ---- addresses ---- */

/* 10.0.0.N or fd00::N, whose pseudo MAC addresses end in N. */
static void ip_of(unsigned node, bool ipv6, uint8_t ip[GAMMA_IPV6_LEN])
{
	memset(ip, 0, GAMMA_IPV6_LEN);
	ip[0] = ipv6 ? 0xfd : 10;
	ip[ipv6 ? GAMMA_IPV6_LEN - 1 : 3] = (uint8_t) node;
}

static void mac_of(unsigned node, bool ipv6, uint8_t mac[GAMMA_MAC_LEN])
{
	uint8_t ip[GAMMA_IPV6_LEN];

	ip_of(node, ipv6, ip);
	if (ipv6)
		gamma_pseudo_mac_make_ipv6(ip, mac);
	else
		gamma_pseudo_mac_make(ip, mac);
}

static void set_source(struct net *net, unsigned from, bool ipv6, bool other_port)
{
	const struct gamma_local *peer = &net->nodes[from <= PEERS ? from : 1].ep.local;
	struct sockaddr_in *v4 = (struct sockaddr_in *) &queued.from;
	uint16_t port = htons((uint16_t) (peer->port + other_port));
	uint8_t ip[GAMMA_IPV6_LEN];

	memset(&queued.from, 0, sizeof(queued.from));
	ip_of(from, ipv6, ip);
	queued.from_len = ipv6 ? sizeof(struct sockaddr_in6) : sizeof(*v4);
	if (ipv6) {
		queued.from.sin6_family = AF_INET6;
		queued.from.sin6_port = port;
		memcpy(&queued.from.sin6_addr, ip, sizeof(queued.from.sin6_addr));
	} else {
		v4->sin_family = AF_INET;
		v4->sin_port = port;
		memcpy(&v4->sin_addr, ip, sizeof(v4->sin_addr));
	}
}

/* ---- frames ---- */

static void put_checksum(uint8_t *frame, size_t len, const uint8_t *dst, const uint8_t *src)
{
	const size_t before = GAMMA_ETH_LEN + offsetof(struct gamma_header, checksum);
	uint8_t whole[GAMMA_ETH_LEN + UINT8_MAX] = {0};
	struct gamma_header *header = (struct gamma_header *) frame;
	uint32_t sum;

	if (header->header_len < GAMMA_HEADER_LEN || header->header_len > len)
		return;
	memcpy(whole, dst, GAMMA_MAC_LEN);
	memcpy(whole + GAMMA_MAC_LEN, src, GAMMA_MAC_LEN);
	whole[12] = GAMMA_ETHERTYPE >> 8;
	whole[13] = GAMMA_ETHERTYPE & 0xff;
	memcpy(whole + GAMMA_ETH_LEN, frame, header->header_len);
	sum = htonl(gamma_crc32c_header(whole, before, whole + before + 4,
					header->header_len - GAMMA_HEADER_LEN));
	memcpy(&header->checksum, &sum, sizeof(sum));
}

static void make_right(struct net *net, unsigned from, bool ipv6, bool numbers, uint8_t *frame,
		       size_t len)
{
	const struct gamma_local *own = &net->nodes[0].ep.local;
	const struct gamma_local *peer = &net->nodes[from <= PEERS ? from : 1].ep.local;
	struct gamma_header *header = (struct gamma_header *) frame;
	const struct gamma_flow *flow = from <= PEERS && !ipv6 ? net_flow(net, 0, from) : NULL;
	uint8_t dst[GAMMA_MAC_LEN], src[GAMMA_MAC_LEN];

	if (len < GAMMA_HEADER_LEN)
		return;
	header->version_kind = (uint8_t) (GAMMA_VERSION << 4 | (header->version_kind & 15));
	header->dst_port = htons(own->port);
	header->src_port = htons(peer->port);
	header->tenant = htonl(own->tenant);
	header->dst_epoch = htonl(own->epoch);
	header->src_epoch = htonl(peer->epoch);
	if (numbers && flow)
		header->seq = htonl(flow->rx.next + (ntohl(header->seq) & 15));
	mac_of(0, ipv6, dst);
	mac_of(from, ipv6, src);
	put_checksum(frame, len, dst, src);
}

static void make_all_right(struct net *net, unsigned from, bool ipv6, bool numbers)
{
	size_t at = 0;

	while (queued.len - at >= GAMMA_HEADER_LEN) {
		const struct gamma_header *header = (const void *) (queued.bytes + at);
		size_t len = (size_t) header->header_len + ntohs(header->payload_len);

		make_right(net, from, ipv6, numbers, queued.bytes + at, queued.len - at);
		at += gamma_min(gamma_max(len, GAMMA_HEADER_LEN), queued.len - at);
	}
}

/* ---- a run ---- */

static void queue(struct net *net, const struct record *record, const uint8_t *bytes, bool ipv6)
{
	unsigned from = 1 + (record->how & HOW_FROM);
	size_t control =
		record->how & HOW_ERROR
			? gamma_min(gamma_min(record->control_len, CONTROL_MAX), record->len)
			: 0;

	queued.error = record->how & HOW_ERROR;
	queued.datagram = !queued.error;
	queued.control_len = control;
	memcpy(queued.control, bytes, control);
	queued.len = record->len - control;
	memcpy(queued.bytes, bytes + control, queued.len);
	set_source(net, from, ipv6, record->how & HOW_OTHER_PORT);
	if (record->how & HOW_RIGHT)
		make_all_right(net, from, ipv6, record->how & HOW_NUMBERS);
}

static void take_all(struct net *net, struct gamma_link *link)
{
	struct node *node = &net->nodes[0];
	struct gamma_arrival arrival;

	while (link->ops->next(link, &arrival)) {
		arrival.behind = true;
		gamma_dispatch(&node->ep, &node->link, &arrival, net->now);
		link->ops->release(link);
	}
}

static void begin(struct net *net)
{
	for (unsigned i = 0; i <= PEERS; i++)
		mac_of(i, false, net->nodes[i].ep.local.addr.mac);
	for (unsigned peer = 1; peer <= PEERS; peer++) {
		net_send(net, 0, peer, 3000, GAMMA_WHEN_ARRIVED);
		net_send(net, peer, 0, 64, GAMMA_WHEN_ARRIVED);
	}
	net_post(net, 0, 2000);
	net_run(net, 20 * US);
}

static struct gamma_link *open_link(const struct net *net, bool ipv6)
{
	static struct gamma_stats stats;
	struct gamma_udp_attr attr = {.ipv6 = ipv6,
				      .port = net->nodes[0].ep.local.port,
				      .tenant = net->nodes[0].ep.local.tenant,
				      .mtu = 1472,
				      .ethertype = GAMMA_ETHERTYPE};
	struct gamma_link *link;

	ip_of(0, ipv6, attr.ip);
	return gamma_udp_open(&attr, &stats, &link) ? NULL : link;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_options options = net_defaults();
	bool ipv6 = size && data[0] & HOW_IPV6;
	struct gamma_link *link;
	struct net *net;

	options.peer_timeout = 100 * MS;
	net = net_new(PEERS + 1, &options);
	net->lawless = true;
	begin(net);
	link = open_link(net, ipv6);
	for (int i = 0; link && i < RECORDS_MAX && size >= sizeof(struct record); i++) {
		struct record record;

		memcpy(&record, data, sizeof(record));
		data += sizeof(record);
		size -= sizeof(record);
		record.len = (uint16_t) gamma_min(record.len, size);
		if (record.how & HOW_TIME)
			net_run(net, record.len * 100ull);
		queue(net, &record, data, ipv6);
		data += record.len;
		size -= record.len;
		take_all(net, link);
	}
	while (!gamma_list_empty(&net->nodes[0].unexpected)) {
		net_discard(net, 0);
		if (!gamma_list_empty(&net->nodes[0].unexpected))
			net_post(net, 0, 1000);
	}
	if (link)
		link->ops->close(link);
	net_run(net, SEC);
	net_free(net);
	return 0;
}
