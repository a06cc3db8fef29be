// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/link/udp_connected.c: which peer is chosen and which socket is polled,
 * without I/O; then what the links of three endpoints pass by it, within the host in a namespace of
 * their own (netns.h), with IPv4 and with IPv6.
 */
#include "netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "base/ipv6_names.h"
#include "link/udp.h"
#include "link/udp_connected.h"
#include "wire/pseudo_mac.h"

enum { PORT = 9228, PATIENCE_MS = 20000, VOTES = GAMMA_UDP_CONNECTED_VOTES };

/* ---- the choice, without I/O ---- */

static struct gamma_udp_connected choice;

static bool vote(uint64_t key, unsigned times)
{
	bool connected = false;

	for (unsigned i = 0; i < times; i++)
		connected = gamma_udp_connected_vote(&choice, key);
	return connected;
}

static int begin_choice(void **state)
{
	(void) state;
	choice = (struct gamma_udp_connected){.fd = 1};
	return 0;
}

static void vote__peer_with_enough_calls_is_wanted(void **state)
{
	(void) state;
	assert_false(vote(7, VOTES - 1));
	assert_int_equal(choice.wanted, 0);
	assert_false(vote(7, 1));
	assert_int_equal(choice.wanted, 7);
	choice.peer = 7;
	choice.wanted = 0;
	assert_true(vote(7, 1000));
	assert_int_equal(choice.wanted, 0);
}

/* Two peers with as many calls each, and many peers: nobody is worth it. */
static void vote__no_peer_without_a_majority(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 10 * VOTES; i++)
		vote(1 + i % 2, 1);
	assert_int_equal(choice.wanted, 0);
	for (unsigned i = 0; i < 10 * VOTES; i++)
		vote(1 + i % 7, 1);
	assert_int_equal(choice.wanted, 0);
}

/* The other one first needs the calls that are remembered of the old one, then those for itself. */
static void vote__another_peer_takes_over_after_enough_calls(void **state)
{
	(void) state;
	vote(7, 10000);
	choice.peer = 7;
	choice.wanted = 0;
	vote(8, GAMMA_UDP_CONNECTED_VOTES_MAX + VOTES - 1);
	assert_int_equal(choice.wanted, 0);
	vote(8, 1);
	assert_int_equal(choice.wanted, 8);
	/* The old one is back before that happened: there is nothing to do. */
	vote(7, VOTES);
	vote(7, VOTES);
	assert_int_equal(choice.wanted, 0);
}

static unsigned polls_of_both(unsigned polls)
{
	unsigned both = 0;

	for (unsigned i = 0; i < polls; i++)
		if (gamma_udp_connected_both(&choice)) {
			gamma_udp_connected_polled(&choice, false);
			both++;
		}
	return both;
}

static void both__quiet_socket_is_polled_rarely_but_always(void **state)
{
	(void) state;
	polls_of_both(10000);
	assert_int_equal(polls_of_both(800), 800 / GAMMA_UDP_CONNECTED_RARELY);
	gamma_udp_connected_look(&choice);
	assert_int_equal(polls_of_both(1), 1);
	choice.fd = -1;
	assert_int_equal(polls_of_both(800), 0);
}

static void both__each_time_while_both_give_datagrams(void **state)
{
	(void) state;
	polls_of_both(10000);
	gamma_udp_connected_look(&choice);
	assert_true(gamma_udp_connected_both(&choice));
	gamma_udp_connected_polled(&choice, true);
	assert_true(choice.ahead);
	assert_int_equal(polls_of_both(GAMMA_UDP_CONNECTED_QUIET), GAMMA_UDP_CONNECTED_QUIET);
	assert_int_equal(polls_of_both(7), 0);
}

/* ---- links ---- */

static struct gamma_stats stats[3];
static struct gamma_link *links[3]; /* on addresses 1, 2, 3 */
static bool ipv6;
static uint32_t next_seq[3][3]; /* from, to */

static int refused; /* a socket option that the kernel refuses */

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (refused && level == SOL_SOCKET && name == refused) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return __real_setsockopt(fd, level, name, value, len);
}

static struct gamma_udp_attr attr(unsigned host)
{
	struct gamma_udp_attr attr = {
		.ip = {10, 1, 0, (uint8_t) (host + 1)},
		.port = PORT,
		.mtu = 1452,
		.ethertype = GAMMA_ETHERTYPE,
		.ifindex = (int) if_nametoindex("g0"),
	};

	if (ipv6) {
		attr.ipv6 = true;
		memset(attr.ip, 0, sizeof(attr.ip));
		attr.ip[0] = 0xfd;
		attr.ip[15] = (uint8_t) (host + 1);
	}
	return attr;
}

static void mac_of(unsigned host, uint8_t mac[GAMMA_MAC_LEN])
{
	if (ipv6)
		gamma_pseudo_mac_make_ipv6(attr(host).ip, mac);
	else
		gamma_pseudo_mac_make(attr(host).ip, mac);
}

static int open_links(void)
{
	memset(stats, 0, sizeof(stats));
	memset(next_seq, 0, sizeof(next_seq));
	for (unsigned host = 0; host < 3; host++) {
		struct gamma_udp_attr own = attr(host);
		uint8_t mac[GAMMA_MAC_LEN];

		if ((ipv6 && gamma_ipv6_names_hold(own.ip, mac)) ||
		    gamma_udp_open(&own, &stats[host], &links[host]))
			return -1;
	}
	return 0;
}

static int setup(void **state)
{
	(void) state;
	return open_links();
}

static int setup_ipv6(void **state)
{
	(void) state;
	ipv6 = true;
	return open_links();
}

/* The kernel permits no second socket. */
static int setup_alone(void **state)
{
	int ret;

	(void) state;
	refused = SO_REUSEPORT;
	ret = open_links();
	refused = 0;
	return ret;
}

static int teardown(void **state)
{
	(void) state;
	for (unsigned host = 0; host < 3; host++) {
		uint8_t mac[GAMMA_MAC_LEN];

		if (links[host])
			links[host]->ops->close(links[host]);
		mac_of(host, mac);
		if (ipv6)
			gamma_ipv6_names_drop(mac);
	}
	ipv6 = false;
	return 0;
}

/* A frame without payload of that kind, numbered for each pair. */
static void send_kind(unsigned from, unsigned to, uint8_t kind)
{
	struct gamma_frame frame = {.head_len = GAMMA_ETH_LEN + GAMMA_HEADER_LEN};
	struct gamma_header header = {
		.version_kind = (uint8_t) (GAMMA_VERSION << 4 | kind),
		.dst_port = htons(PORT),
		.src_port = htons(PORT),
		.header_len = GAMMA_HEADER_LEN,
		.seq = htonl(next_seq[from][to]++),
	};
	int error = 0;

	frame.head = frame.room;
	mac_of(to, frame.room);
	mac_of(from, frame.room + GAMMA_MAC_LEN);
	memcpy(frame.room + GAMMA_ETH_LEN, &header, sizeof(header));
	assert_int_equal(links[from]->ops->send(links[from], &frame, 1, &error), 1);
}

static void send_frame(unsigned from, unsigned to)
{
	send_kind(from, to, GAMMA_KIND_ACK);
}

/* Takes what is there, frame by frame in order of each sender; returns how many of `from`. */
static unsigned take(unsigned at, unsigned from, uint32_t *seq)
{
	struct gamma_arrival arrival;
	uint8_t mac[GAMMA_MAC_LEN];
	unsigned count = 0;

	mac_of(from, mac);
	for (unsigned i = 0; i < 2 * GAMMA_UDP_CONNECTED_RARELY; i++)
		while (links[at]->ops->next(links[at], &arrival)) {
			struct gamma_header header;

			memcpy(&header, arrival.frame + GAMMA_ETH_LEN, sizeof(header));
			if (!memcmp(arrival.frame + GAMMA_MAC_LEN, mac, GAMMA_MAC_LEN)) {
				assert_int_equal(ntohl(header.seq), *seq + count);
				count++;
			}
			links[at]->ops->release(links[at]);
		}
	*seq += count;
	return count;
}

/* So many round trips between 0 and another one. */
static void converse(unsigned peer, unsigned times)
{
	uint32_t there = next_seq[0][peer], back = next_seq[peer][0];

	for (unsigned i = 0; i < times; i++) {
		send_frame(0, peer);
		assert_int_equal(take(peer, 0, &there), 1);
		send_frame(peer, 0);
		assert_int_equal(take(0, peer, &back), 1);
	}
}

static void connect__peer_of_most_calls_on_both_sides(void **state)
{
	uint64_t connected;

	(void) state;
	netns_needed();
	converse(1, VOTES - 1);
	assert_int_equal(stats[0].connected_calls + stats[1].connected_calls, 0);
	converse(1, 3);
	connected = stats[0].connected_calls;
	converse(1, 50);
	assert_int_equal(stats[0].connected_calls - connected, 50);
	assert_int_equal(stats[0].send_calls, VOTES + 52);
	assert_true(stats[1].connected_calls >= 50);
}

/* Neither at the change nor after it is one late or lost; others are heard as well. */
static void connect__another_peer_later(void **state)
{
	uint64_t connected;

	(void) state;
	netns_needed();
	converse(1, 2 * VOTES);
	converse(2, 4 * VOTES);
	connected = stats[0].connected_calls;
	converse(1, 10);
	assert_int_equal(stats[0].connected_calls, connected);
	converse(2, 10);
	assert_int_equal(stats[0].connected_calls, connected + 10);
	assert_int_equal(stats[0].stray + stats[0].unreachable + stats[0].ring_drops, 0);
}

/* Frames of several sizes to the peer leave by the same socket in trains. */
static void connect__trains_leave_by_it_too(void **state)
{
	static uint8_t payload[1000];
	struct gamma_frame frames[20];
	uint32_t there;
	int error = 0;

	(void) state;
	netns_needed();
	converse(1, 2 * VOTES);
	there = next_seq[0][1];
	for (unsigned i = 0; i < 20; i++) {
		struct gamma_header header = {
			.dst_port = htons(PORT),
			.src_port = htons(PORT),
			.header_len = GAMMA_HEADER_LEN,
			.payload_len = htons(sizeof(payload)),
			.seq = htonl(there + i),
		};

		memset(&frames[i], 0, sizeof(frames[i]));
		frames[i].head = frames[i].room;
		frames[i].head_len = GAMMA_ETH_LEN + GAMMA_HEADER_LEN;
		frames[i].iov[0] = (struct iovec){payload, sizeof(payload)};
		frames[i].iov_count = 1;
		mac_of(1, frames[i].room);
		mac_of(0, frames[i].room + GAMMA_MAC_LEN);
		memcpy(frames[i].room + GAMMA_ETH_LEN, &header, sizeof(header));
	}
	stats[0].connected_calls = 0;
	assert_int_equal(links[0]->ops->send(links[0], frames, 20, &error), 20);
	assert_int_equal(stats[0].connected_calls, 1);
	assert_int_equal(take(1, 0, &there), 20);
}

/* Both send without a pause: each is heard, in order. */
static void connected__others_do_not_wait(void **state)
{
	struct gamma_arrival arrival;
	uint32_t two;
	unsigned polls;

	(void) state;
	netns_needed();
	converse(1, 2 * VOTES);
	two = next_seq[2][0];
	for (unsigned i = 0; i < 40; i++)
		send_frame(1, 0);
	send_frame(2, 0);
	for (polls = 1; polls < 40; polls++) {
		uint8_t mac[GAMMA_MAC_LEN];
		bool found;

		assert_true(links[0]->ops->next(links[0], &arrival));
		mac_of(2, mac);
		found = !memcmp(arrival.frame + GAMMA_MAC_LEN, mac, GAMMA_MAC_LEN);
		links[0]->ops->release(links[0]);
		if (found)
			break;
	}
	assert_in_range(polls, 1, GAMMA_UDP_CONNECTED_RARELY);
	send_frame(2, 0);
	two++;
	assert_int_equal(take(0, 2, &two), 1);
}

/* Either socket's descriptor wakes, and the first poll after that finds the frame. */
static void connected__both_descriptors_wake(void **state)
{
	(void) state;
	netns_needed();
	converse(1, 2 * VOTES);
	for (unsigned peer = 1; peer <= 2; peer++) {
		struct pollfd ready = {
			.fd = peer == 1 ? links[0]->connected_fd : links[0]->fd,
			.events = POLLIN,
		};
		struct gamma_arrival arrival;

		assert_false(links[0]->ops->arm(links[0]));
		send_frame(peer, 0);
		assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
		assert_true(links[0]->ops->next(links[0], &arrival));
		links[0]->ops->release(links[0]);
	}
}

/* The ICMP error comes to the connected socket. */
static void connected__peer_that_ends_is_noticed(void **state)
{
	struct gamma_arrival arrival;

	(void) state;
	netns_needed();
	converse(1, 2 * VOTES);
	links[1]->ops->close(links[1]);
	links[1] = NULL;
	send_kind(0, 1, GAMMA_KIND_PROBE);
	assert_true(links[0]->ops->next(links[0], &arrival) ||
		    links[0]->ops->next(links[0], &arrival));
	links[0]->ops->release(links[0]);
	assert_int_equal(stats[0].unreachable, 1);
	assert_false(links[0]->ops->arm(links[0]));
}

/* A flood that nobody takes overflows the connected socket's buffer: it is counted, once. */
static void connected__drops_are_counted(void **state)
{
	uint64_t drops;

	(void) state;
	netns_needed();
	converse(1, 2 * VOTES);
	for (unsigned i = 0; i < 20000; i++)
		send_frame(1, 0);
	links[0]->ops->count(links[0]);
	drops = stats[0].ring_drops;
	assert_true(drops);
	links[0]->ops->count(links[0]);
	assert_int_equal(stats[0].ring_drops, drops);
}

/* The kernel forgets the route that the connected socket had, and finds it again. */
static void connected__own_address_is_gone_and_back(void **state)
{
	struct gamma_frame frame = {.head_len = GAMMA_ETH_LEN + GAMMA_HEADER_LEN};
	uint16_t port = htons(PORT);
	int error = 0;

	(void) state;
	netns_needed();
	converse(1, 2 * VOTES);
	frame.head = frame.room;
	mac_of(1, frame.room);
	memcpy(frame.room + GAMMA_ETH_LEN, &port, sizeof(port));
	netns_ip("addr add 10.2.0.1/24 dev g0"); /* so that there still is a route */
	netns_ip("addr del 10.1.0.1/24 dev g0");
	assert_int_equal(links[0]->ops->send(links[0], &frame, 1, &error), 0);
	assert_int_equal(error, -EAGAIN);
	netns_ip("addr del 10.2.0.1/24 dev g0");
	netns_ip("addr add 10.1.0.1/24 dev g0");
	netns_ip("addr add 10.1.0.2/24 dev g0");
	netns_ip("addr add 10.1.0.3/24 dev g0");
	stats[0].connected_calls = 0;
	converse(1, 10);
	assert_int_equal(stats[0].connected_calls, 10);
}

static int bind_shared(int option)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1, ret;

	memcpy(&own.sin_addr, attr(0).ip, sizeof(own.sin_addr));
	setsockopt(fd, SOL_SOCKET, option, &one, sizeof(one));
	ret = bind(fd, (struct sockaddr *) &own, sizeof(own)) ? -errno : 0;
	close(fd);
	return ret;
}

/* Nobody else can share the port, not even this user. */
static void port__is_not_shared(void **state)
{
	struct gamma_udp_attr own = attr(0);
	struct gamma_link *link;

	(void) state;
	netns_needed();
	assert_true(links[0]->connected_fd >= 0);
	assert_int_equal(bind_shared(SO_REUSEPORT), -EADDRINUSE);
	assert_int_equal(bind_shared(SO_REUSEADDR), -EADDRINUSE);
	assert_int_equal(gamma_udp_open(&own, &stats[0], &link), -EADDRINUSE);
}

static void alone__everything_by_the_first_socket(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(links[0]->connected_fd, -1);
	converse(1, 2 * VOTES);
	converse(2, 10);
	assert_int_equal(stats[0].connected_calls, 0);
	assert_false(links[0]->ops->arm(links[0]));
}

static int group_setup(void **state)
{
	static const char *const addresses[] = {
		"addr add 10.1.0.1/24 dev g0",      "addr add 10.1.0.2/24 dev g0",
		"addr add 10.1.0.3/24 dev g0",      "addr add fd00::1/64 dev g0 nodad",
		"addr add fd00::2/64 dev g0 nodad", "addr add fd00::3/64 dev g0 nodad",
	};

	if (netns_setup(state))
		return -1;
	for (unsigned i = 0; i < gamma_array_size(addresses); i++)
		netns_ip(addresses[i]);
	for (uint8_t host = 1; host <= 3; host++)
		netns_await_ipv6(host);
	return 0;
}

#define CHOICE_TEST(name) cmocka_unit_test_setup(name, begin_choice)
#define LINK_TEST(name)                                           \
	cmocka_unit_test_setup_teardown(name, setup, teardown),   \
	{                                                         \
#name " (IPv6)", name, setup_ipv6, teardown, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHOICE_TEST(vote__peer_with_enough_calls_is_wanted),
		CHOICE_TEST(vote__no_peer_without_a_majority),
		CHOICE_TEST(vote__another_peer_takes_over_after_enough_calls),
		CHOICE_TEST(both__quiet_socket_is_polled_rarely_but_always),
		CHOICE_TEST(both__each_time_while_both_give_datagrams),
		LINK_TEST(connect__peer_of_most_calls_on_both_sides),
		LINK_TEST(connect__another_peer_later),
		LINK_TEST(connect__trains_leave_by_it_too),
		LINK_TEST(connected__others_do_not_wait),
		LINK_TEST(connected__both_descriptors_wake),
		LINK_TEST(connected__peer_that_ends_is_noticed),
		LINK_TEST(connected__drops_are_counted),
		cmocka_unit_test_setup_teardown(connected__own_address_is_gone_and_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(port__is_not_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(alone__everything_by_the_first_socket, setup_alone,
						teardown),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
