// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/link/udp.c and udp_socket.c, within the host in a namespace of their own
 * (netns.h), with IPv4 and with IPv6.
 */
#include "log_fixture.h"
#include "netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "base/ipv6_names.h"
#include "ipv6_double.h"
#include "link/udp.h"
#include "wire/codec.h"
#include "wire/pseudo_mac.h"

enum { PORT = 9228, FRAMES = 100, BYTES = 1400, PATIENCE_MS = 20000 };

static struct gamma_stats stats[2];
static struct gamma_link *out, *in; /* on 10.1.0.1, on 10.1.0.2, or on fd00::1, on fd00::2 */
static bool ipv6;
static uint8_t payload[FRAMES][BYTES];
static struct gamma_frame frames[FRAMES];

/* ---- kernels and NICs that can less ---- */

static int segmentation_error; /* errno of a call that asks for segmentation; 0: it works */
static bool no_merging;        /* UDP_GRO is unknown */
static int buffer;             /* bytes: all that the receive buffer may have; 0: any number */

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (segmentation_error && msg->msg_controllen) {
		errno = segmentation_error;
		return -1;
	}
	return __real_sendmsg(fd, msg, flags);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	bool forced = level == SOL_SOCKET && name == SO_RCVBUFFORCE;

	if ((no_merging && level == SOL_UDP && name == UDP_GRO) || (buffer && forced)) {
		errno = forced ? EPERM : ENOPROTOOPT;
		return -1;
	}
	if (buffer && level == SOL_SOCKET && name == SO_RCVBUF)
		value = &buffer;
	return __real_setsockopt(fd, level, name, value, len);
}

/* ---- */

static struct gamma_udp_attr attr(uint8_t host)
{
	struct gamma_udp_attr attr = {
		.ip = {10, 1, 0, host},
		.port = PORT,
		.mtu = 1472,
		.ethertype = GAMMA_ETHERTYPE,
		.ifindex = (int) if_nametoindex("g0"),
	};

	if (ipv6) {
		attr.ipv6 = true;
		attr.mtu = 1452;
		memset(attr.ip, 0, sizeof(attr.ip));
		attr.ip[0] = 0xfd;
		attr.ip[15] = host;
	}
	return attr;
}

static void mac_of(uint8_t host, uint8_t mac[GAMMA_MAC_LEN])
{
	if (ipv6)
		gamma_pseudo_mac_make_ipv6(attr(host).ip, mac);
	else
		gamma_pseudo_mac_make(attr(host).ip, mac);
}

/* The sender knows the receiver's address, as if an address vector held it. */
static int setup(void **state)
{
	struct gamma_udp_attr a = attr(1), b = attr(2);
	uint8_t mac[GAMMA_MAC_LEN];

	(void) state;
	memset(stats, 0, sizeof(stats));
	if (ipv6 && gamma_ipv6_names_hold(b.ip, mac))
		return -1;
	return gamma_udp_open(&a, &stats[0], &out) || gamma_udp_open(&b, &stats[1], &in);
}

static int setup_ipv6(void **state)
{
	ipv6 = true;
	return setup(state);
}

static int teardown(void **state)
{
	uint8_t mac[GAMMA_MAC_LEN];

	(void) state;
	out->ops->close(out);
	in->ops->close(in);
	mac_of(2, mac);
	gamma_ipv6_names_drop(mac);
	ipv6 = false;
	return 0;
}

/* Frame i from `out` to `in`, with a payload of that many bytes in place. */
static void make_frame(unsigned i, size_t len)
{
	struct gamma_frame *frame = &frames[i];
	struct gamma_header header = {
		.dst_port = htons(PORT),
		.src_port = htons(PORT),
		.header_len = GAMMA_HEADER_LEN,
		.payload_len = htons((uint16_t) len),
		.seq = htonl(i),
	};

	memset(frame, 0, sizeof(*frame));
	memset(payload[i], (int) i, len);
	mac_of(2, frame->room);
	mac_of(1, frame->room + GAMMA_MAC_LEN);
	frame->room[12] = GAMMA_ETHERTYPE >> 8;
	frame->room[13] = GAMMA_ETHERTYPE & 0xff;
	memcpy(frame->room + GAMMA_ETH_LEN, &header, sizeof(header));
	frame->head = frame->room;
	frame->head_len = GAMMA_ETH_LEN + sizeof(header);
	frame->iov[0] = (struct iovec){payload[i], len};
	frame->iov_count = 1;
}

static void await_at(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct pollfd ready = {.fd = link->fd, .events = POLLIN};

	while (!link->ops->next(link, arrival))
		assert_true(poll(&ready, 1, PATIENCE_MS) == 1);
}

static void await(struct gamma_arrival *arrival)
{
	await_at(in, arrival);
}

static void send_all(unsigned count)
{
	int error = 0;

	assert_int_equal(out->ops->send(out, frames, count, &error), count);
}

static unsigned send_one(unsigned i)
{
	int error = 0;

	return out->ops->send(out, &frames[i], 1, &error);
}

static void expect(unsigned i)
{
	struct gamma_arrival arrival;
	size_t len = frames[i].iov[0].iov_len;

	await(&arrival);
	assert_int_equal(arrival.len, frames[i].head_len + len);
	assert_memory_equal(arrival.frame, frames[i].head, frames[i].head_len);
	assert_memory_equal(arrival.frame + frames[i].head_len, payload[i], len);
	in->ops->release(in);
}

static void pass__train_whole_and_in_order(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned i = 0; i < 40; i++)
		make_frame(i, i == 39 ? 7 : BYTES);
	send_all(40);
	assert_int_equal(stats[0].send_calls, 1);
	for (unsigned i = 0; i < 40; i++)
		expect(i);
	assert_true(stats[1].receive_calls < 40);
}

static void pass__more_than_one_train_holds(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned i = 0; i < FRAMES; i++)
		make_frame(i, BYTES);
	send_all(FRAMES);
	for (unsigned i = 0; i < FRAMES; i++)
		expect(i);
}

static void pass__mixed_sizes(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned i = 0; i < 20; i++)
		make_frame(i, i * 7919 % BYTES);
	send_all(20);
	for (unsigned i = 0; i < 20; i++)
		expect(i);
}

static void next__without_release_lends_again(void **state)
{
	struct gamma_arrival arrival;

	(void) state;
	netns_needed();
	make_frame(0, 100);
	make_frame(1, 100);
	send_all(2);
	await(&arrival);
	expect(0);
	await(&arrival);
	expect(1);
	assert_false(in->ops->arm(in));
}

static void count__what_the_receive_buffer_had_no_room_for(void **state)
{
	uint64_t drops;

	(void) state;
	netns_needed();
	in->ops->count(in);
	assert_int_equal(stats[1].ring_drops, 0);
	for (unsigned i = 0; i < FRAMES; i++)
		make_frame(i, BYTES);
	for (unsigned i = 0; i < 100; i++)
		send_all(FRAMES);
	in->ops->count(in);
	drops = stats[1].ring_drops;
	assert_true(drops);
	in->ops->count(in);
	assert_int_equal(stats[1].ring_drops, drops);
}

/* Frames that are not merged. The kernel counts up to a quarter of the
 * receive buffer as full though it has been read (udp_rmem_release): until then as many frames
 * as have been read come again. */
static void slots__fit_beside_what_was_just_read(void **state)
{
	struct gamma_udp_attr host = attr(2);
	struct gamma_arrival arrival;
	unsigned again, sent = 0;

	(void) state;
	netns_needed();
	host.mtu = 1100; /* for which a frame takes as much as is counted on */
	host.alone = true;
	buffer = 212992;
	in->ops->close(in);
	assert_int_equal(gamma_udp_open(&host, &stats[1], &in), 0);
	buffer = 0;
	again = in->slots / 5;
	make_frame(0, 1000);
	while (sent < in->slots)
		sent += send_one(0);
	for (unsigned i = 0; i < again; i++) {
		await(&arrival);
		in->ops->release(in);
	}
	while (sent < in->slots + again)
		sent += send_one(0);
	in->ops->count(in);
	assert_int_equal(stats[1].ring_drops, 0);
	while (in->ops->next(in, &arrival)) {
		in->ops->release(in);
		sent--;
	}
	assert_int_equal(sent, again);
}

/* ---- marks of routers ---- */

/* Frame i leaves so that routers may mark it; how it arrives. */
static uint8_t mark_of_frame(unsigned i, uint8_t kind)
{
	struct gamma_arrival arrival;

	make_frame(i, BYTES);
	frames[i].ecn = true;
	frames[i].kind = kind;
	in->ecn = GAMMA_ECN_NONE;
	assert_int_equal(send_one(i), 1);
	await(&arrival);
	in->ops->release(in);
	return in->ecn;
}

static void marks__only_toward_other_subnets(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(mark_of_frame(0, GAMMA_KIND_DATA), GAMMA_ECN_NONE);
	in->cross(in);
	assert_int_equal(mark_of_frame(0, GAMMA_KIND_DATA), GAMMA_ECN_NONE);
	out->cross(out);
	out->cross(out);
	assert_int_equal(mark_of_frame(0, GAMMA_KIND_DATA), GAMMA_ECN_CAPABLE);
	assert_int_equal(mark_of_frame(0, GAMMA_KIND_ACK), GAMMA_ECN_NONE);
}

static void marks__of_a_whole_train(void **state)
{
	struct gamma_arrival arrival;

	(void) state;
	netns_needed();
	in->cross(in);
	out->cross(out);
	for (unsigned i = 0; i < 40; i++) {
		make_frame(i, BYTES);
		frames[i].ecn = true;
		frames[i].kind = GAMMA_KIND_DATA;
	}
	send_all(40);
	assert_int_equal(stats[0].send_calls, 1);
	for (unsigned i = 0; i < 40; i++) {
		await(&arrival);
		assert_int_equal(in->ecn, GAMMA_ECN_CAPABLE);
		expect(i);
	}
	assert_true(stats[1].receive_calls < 40);
}

/* What the kernel refused as a train leaves frame by frame, in order; so does all that follows. */
static void refused__segmentation(int error)
{
	netns_needed();
	segmentation_error = error;
	lines = 0;
	gamma_log_set_sink(listen_to_log);
	for (unsigned i = 0; i < 40; i++)
		make_frame(i, BYTES);
	send_all(40);
	assert_int_equal(stats[0].send_calls, 41);
	send_all(40);
	assert_int_equal(stats[0].send_calls, 81);
	gamma_log_set_sink(NULL);
	segmentation_error = 0;
	for (unsigned i = 0; i < 80; i++)
		expect(i % 40);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(logged, "frames leave one by one"));
}

static void refused__nic_writes_no_checksums(void **state)
{
	(void) state;
	refused__segmentation(EIO);
}

static void refused__kernel_segments_less(void **state)
{
	(void) state;
	refused__segmentation(EINVAL);
}

static void reopen(void)
{
	struct gamma_udp_attr host = attr(2);

	in->ops->close(in);
	lines = 0;
	gamma_log_set_sink(listen_to_log);
	assert_int_equal(gamma_udp_open(&host, &stats[1], &in), 0);
	gamma_log_set_sink(NULL);
}

static void old_kernel__frames_arrive_singly(void **state)
{
	(void) state;
	netns_needed();
	no_merging = true;
	reopen();
	no_merging = false;
	for (unsigned i = 0; i < 40; i++)
		make_frame(i, BYTES);
	send_all(40);
	for (unsigned i = 0; i < 40; i++)
		expect(i);
	assert_true(stats[1].receive_calls >= 40);
	assert_int_equal(lines, 0);
}

/* The line names the sysctl. Debian's default is large enough for no line. */
static void buffer__small_is_reported(void **state)
{
	(void) state;
	netns_needed();
	buffer = 8192;
	reopen();
	buffer = 0;
	assert_int_equal(lines, 1);
	assert_non_null(strstr(logged, "sysctl -w net.core.rmem_max="));
	assert_in_range(in->slots, 1, 15);
	buffer = 212992;
	reopen();
	buffer = 0;
	assert_int_equal(lines, 0);
}

static void source__port_that_is_not_the_senders_is_dropped(void **state)
{
	(void) state;
	netns_needed();
	make_frame(0, 10);
	make_frame(1, 10);
	frames[0].room[GAMMA_ETH_LEN + offsetof(struct gamma_header, src_port)] ^= 1;
	send_all(2);
	expect(1);
	assert_int_equal(stats[1].stray, 1);
}

/* A sender that is faster than its datagrams are dropped must not keep a caller as long as it
 * likes. */
static void source__flood_of_others_keeps_no_caller(void **state)
{
	enum { FLOOD = 1000, MOST = 64 };
	struct sockaddr_storage to;
	struct gamma_arrival arrival;
	socklen_t len = sizeof(to);
	int other;
	bool found;

	(void) state;
	netns_needed();
	assert_int_equal(getsockname(in->fd, (struct sockaddr *) &to, &len), 0);
	other = socket(to.ss_family, SOCK_DGRAM, 0);
	for (unsigned i = 0; i < FLOOD; i++)
		assert_int_equal(sendto(other, payload, 50, 0, (struct sockaddr *) &to, len), 50);
	close(other);
	make_frame(0, 10);
	send_all(1);
	do {
		uint64_t before = stats[1].stray;

		found = in->ops->next(in, &arrival);
		assert_true(stats[1].stray <= before + MOST);
	} while (!found);
	assert_int_equal(stats[1].stray, FLOOD);
	assert_int_equal(arrival.len, GAMMA_ETH_LEN + GAMMA_HEADER_LEN + 10);
	in->ops->release(in);
}

static void make_kind(unsigned i, size_t len, uint8_t kind)
{
	make_frame(i, len);
	frames[i].room[GAMMA_ETH_LEN + offsetof(struct gamma_header, version_kind)] =
		(uint8_t) (GAMMA_VERSION << 4 | kind);
}

static void expect_answer(uint8_t kind, uint8_t op, uint32_t seq)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;

	await_at(out, &arrival);
	assert_int_equal(gamma_codec_parse(arrival.frame, arrival.len, &fields), GAMMA_OK);
	assert_int_equal(fields.kind, kind);
	assert_int_equal(fields.op, op);
	assert_int_equal(fields.seq, seq);
	assert_memory_equal(arrival.frame + GAMMA_MAC_LEN, frames[0].head, GAMMA_MAC_LEN);
	out->ops->release(out);
}

/* Each error is reported by the next call for the socket, here by the next send, too. */
static void error__the_port_has_no_owner(void **state)
{
	struct gamma_udp_attr host = attr(2);

	(void) state;
	netns_needed();
	in->ops->close(in);
	make_kind(0, BYTES, GAMMA_KIND_DATA);
	make_kind(1, 0, GAMMA_KIND_PROBE);
	make_kind(2, 0, GAMMA_KIND_LOOKUP);
	make_kind(3, 0, GAMMA_KIND_ACK);
	frames[1].room[GAMMA_ETH_LEN] ^= 1; /* no train: another port */
	frames[3].room[GAMMA_ETH_LEN] ^= 1;
	send_all(4);
	expect_answer(GAMMA_KIND_RESET, GAMMA_RESET_CLOSED, 0);
	expect_answer(GAMMA_KIND_RESET, GAMMA_RESET_CLOSED, 1);
	expect_answer(GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_NO_PORT, 2);
	assert_false(out->ops->arm(out));
	assert_int_equal(stats[0].unreachable, 4);
	assert_int_equal(gamma_udp_open(&host, &stats[1], &in), 0);
}

/* They may be forged, as fast as the network carries them. */
static void error__flood_keeps_no_caller(void **state)
{
	enum { FLOOD = 300, MOST = 64 };
	struct gamma_udp_attr host = attr(2);
	struct gamma_arrival arrival;
	uint64_t before;

	(void) state;
	netns_needed();
	in->ops->close(in);
	make_kind(0, 10, GAMMA_KIND_ACK);
	for (unsigned i = 0; i < FLOOD; i++)
		assert_int_equal(send_one(0), 1);
	assert_int_equal(gamma_udp_open(&host, &stats[1], &in), 0);
	do {
		before = stats[0].unreachable;
		assert_false(out->ops->next(out, &arrival));
		assert_true(stats[0].unreachable <= before + MOST);
	} while (stats[0].unreachable > before);
	assert_int_equal(stats[0].unreachable, FLOOD);
}

static void error__datagrams_still_arrive(void **state)
{
	struct gamma_udp_attr host = attr(2);
	struct gamma_arrival arrival;
	int error = 0;

	(void) state;
	netns_needed();
	in->ops->close(in);
	make_kind(0, BYTES, GAMMA_KIND_ACK);
	send_all(1);
	assert_int_equal(gamma_udp_open(&host, &stats[1], &in), 0);
	make_kind(1, BYTES, GAMMA_KIND_DATA);
	send_all(2);
	expect(0);
	expect(1);
	memcpy(frames[0].room, frames[0].room + GAMMA_MAC_LEN, GAMMA_MAC_LEN); /* back */
	assert_int_equal(in->ops->send(in, frames, 1, &error), 1);
	await_at(out, &arrival);
	assert_int_equal(arrival.len, GAMMA_ETH_LEN + GAMMA_HEADER_LEN + BYTES);
	out->ops->release(out);
}

static void open__frames_and_headers_fill_the_nics_mtu(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(out->mtu + out->overhead, 1500);
}

static void open__port_in_use(void **state)
{
	struct gamma_udp_attr a = attr(1);
	struct gamma_link *link;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_udp_open(&a, &stats[0], &link), -EADDRINUSE);
}

static void add_addresses(void)
{
	netns_ip("addr add 10.1.0.1/24 dev g0");
	netns_ip("addr add 10.1.0.2/24 dev g0");
	netns_ip("addr add fd00::1/64 dev g0 nodad");
	netns_ip("addr add fd00::2/64 dev g0 nodad");
	netns_await_ipv6(1);
	netns_await_ipv6(2);
}

/* IPv4 refuses to send; IPv6 sends, so it is looked for when a peer is asked whether it is there.
 * When the address is back messages go on. */
static void address__that_is_gone_is_reported_once(void **state)
{
	int error = 0;

	(void) state;
	netns_needed();
	netns_ip("addr add 10.2.0.1/24 dev g0"); /* so that there still is a route */
	netns_ip(ipv6 ? "addr del fd00::1/64 dev g0" : "addr del 10.1.0.1/24 dev g0");
	lines = 0;
	gamma_log_set_sink(listen_to_log);
	make_frame(0, 10);
	frames[0].kind = GAMMA_KIND_PROBE;
	for (int i = 0; i < 3; i++)
		assert_int_equal(out->ops->send(out, frames, 1, &error), ipv6);
	if (!ipv6)
		assert_int_equal(error, -EAGAIN);
	gamma_log_set_sink(NULL);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(logged, ipv6 ? "fd00::1 was removed" : "10.1.0.1 was removed"));
	netns_ip("addr del 10.2.0.1/24 dev g0");
	add_addresses();
	send_all(1);
}

static const uint8_t group_mac[GAMMA_MAC_LEN] = {1, 0, 0x5e, 1, 2, 3};

enum { GROUP_PORT = 1000 };

/* Frame i from `out` to the group. */
static void make_group_frame(unsigned i)
{
	uint16_t port = htons(GROUP_PORT);

	make_frame(i, 10);
	memcpy(frames[i].room, group_mac, GAMMA_MAC_LEN);
	memcpy(frames[i].room + GAMMA_ETH_LEN, &port, sizeof(port));
}

static void expect_at(struct gamma_link *link, unsigned i)
{
	struct gamma_arrival arrival;

	await_at(link, &arrival);
	assert_int_equal(arrival.len, frames[i].head_len + 10);
	assert_memory_equal(arrival.frame, frames[i].head, frames[i].head_len);
	link->ops->release(link);
}

/* On the sender's host and elsewhere: each has a socket of its own, with the same port. */
static void group__frames_reach_all_members_until_they_leave(void **state)
{
	struct gamma_link *one, *two;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_udp_join(out, group_mac, GROUP_PORT, true, &one), 0);
	assert_int_equal(gamma_udp_join(in, group_mac, GROUP_PORT, true, &two), 0);
	make_group_frame(0);
	send_all(1);
	expect_at(one, 0);
	expect_at(two, 0);
	two->ops->close(two);
	make_group_frame(0);
	frames[0].room[GAMMA_ETH_LEN + offsetof(struct gamma_header, seq)] ^= 1;
	send_all(1);
	expect_at(one, 0);
	assert_false(in->ops->arm(in));
	one->ops->close(one);
	assert_int_equal(stats[0].stray + stats[1].stray, 0);
}

static void group__others_are_not_heard(void **state)
{
	const uint8_t other[GAMMA_MAC_LEN] = {1, 0, 0x5e, 1, 2, 4};
	struct gamma_link *same_port, *same_group;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_udp_join(in, other, GROUP_PORT, true, &same_port), 0);
	assert_int_equal(gamma_udp_join(in, group_mac, GROUP_PORT + 1, true, &same_group), 0);
	make_group_frame(0);
	send_all(1);
	assert_false(same_port->ops->arm(same_port));
	assert_false(same_group->ops->arm(same_group));
	same_port->ops->close(same_port);
	same_group->ops->close(same_group);
}

static void group__port_of_a_program_that_does_not_share(void **state)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6,
				   .sin6_port = htons(0xf000 + GROUP_PORT)};
	struct gamma_link *link;
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	(void) state;
	netns_needed();
	assert_int_equal(bind(fd, (struct sockaddr *) &any, sizeof(any)), 0);
	assert_int_equal(gamma_udp_join(in, group_mac, GROUP_PORT, true, &link), -EADDRINUSE);
	close(fd);
}

/* An unknown peer can be answered. */
static void ipv6__answers_go_where_frames_came_from(void **state)
{
	struct gamma_arrival arrival;
	uint8_t address[GAMMA_IPV6_LEN], mac[GAMMA_MAC_LEN];
	int error = 0;

	(void) state;
	netns_needed();
	make_frame(0, 10);
	send_all(1);
	expect(0);
	mac_of(1, mac);
	assert_false(gamma_ipv6_names_find(mac, address));
	assert_true(gamma_udp_ipv6_of(in, mac, address));
	assert_memory_equal(address, attr(1).ip, sizeof(address));
	mac_of(1, frames[0].room);
	mac_of(2, frames[0].room + GAMMA_MAC_LEN);
	assert_int_equal(in->ops->send(in, frames, 1, &error), 1);
	await_at(out, &arrival);
	assert_int_equal(arrival.len, frames[0].head_len + 10);
	out->ops->release(out);
}

/* Nobody knows where it should go. */
static void ipv6__frames_to_an_unknown_address_are_lost(void **state)
{
	(void) state;
	netns_needed();
	make_frame(0, 10);
	frames[0].room[5] ^= 1;
	send_all(1);
	assert_false(in->ops->arm(in));
	assert_int_equal(stats[0].send_calls, 0);
}

/* The peer's pseudo MAC address, from another host. */
static void ipv6__frames_of_a_peers_double_are_dropped(void **state)
{
	uint8_t other[GAMMA_IPV6_LEN], mac[GAMMA_MAC_LEN], doubled[GAMMA_MAC_LEN];

	(void) state;
	netns_needed();
	ipv6_double(attr(1).ip, other);
	assert_int_equal(gamma_ipv6_names_hold(other, mac), 0);
	mac_of(1, doubled);
	assert_memory_equal(mac, doubled, GAMMA_MAC_LEN);
	make_frame(0, 10);
	send_all(1);
	assert_false(in->ops->arm(in));
	assert_int_equal(stats[1].stray, 1);
	gamma_ipv6_names_drop(mac);
	make_frame(1, 10);
	out->ops->send(out, frames + 1, 1, &(int){0});
	expect(1);
}

static int group_setup(void **state)
{
	if (netns_setup(state))
		return -1;
	add_addresses();
	return 0;
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown), IPV6_TEST(name)
#define IPV6_TEST(name)                                           \
	{                                                         \
#name " (IPv6)", name, setup_ipv6, teardown, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(pass__train_whole_and_in_order),
		LINK_TEST(pass__more_than_one_train_holds),
		LINK_TEST(pass__mixed_sizes),
		LINK_TEST(next__without_release_lends_again),
		LINK_TEST(count__what_the_receive_buffer_had_no_room_for),
		LINK_TEST(slots__fit_beside_what_was_just_read),
		LINK_TEST(marks__only_toward_other_subnets),
		LINK_TEST(marks__of_a_whole_train),
		LINK_TEST(refused__nic_writes_no_checksums),
		LINK_TEST(refused__kernel_segments_less),
		LINK_TEST(old_kernel__frames_arrive_singly),
		LINK_TEST(buffer__small_is_reported),
		LINK_TEST(source__port_that_is_not_the_senders_is_dropped),
		LINK_TEST(source__flood_of_others_keeps_no_caller),
		LINK_TEST(error__the_port_has_no_owner),
		LINK_TEST(error__flood_keeps_no_caller),
		LINK_TEST(error__datagrams_still_arrive),
		LINK_TEST(open__frames_and_headers_fill_the_nics_mtu),
		LINK_TEST(open__port_in_use),
		LINK_TEST(address__that_is_gone_is_reported_once),
		LINK_TEST(group__frames_reach_all_members_until_they_leave),
		LINK_TEST(group__others_are_not_heard),
		LINK_TEST(group__port_of_a_program_that_does_not_share),
		IPV6_TEST(ipv6__answers_go_where_frames_came_from),
		IPV6_TEST(ipv6__frames_to_an_unknown_address_are_lost),
		IPV6_TEST(ipv6__frames_of_a_peers_double_are_dropped),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
