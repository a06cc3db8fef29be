// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/engine/open.c and links.c: endpoints with two NICs on real links. g0 and g2
 * are one host's, g1 and g3 the other's.
 */
#include "sides.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/state.h"
#include "link/port.h"

enum { LONG = LENGTH_MAX };

static const uint8_t mac2[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 2};
static const uint8_t mac3[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 3};

static struct gamma_endpoint_attr two_nics(unsigned which)
{
	struct gamma_endpoint_attr attr = side_attr(which);

	attr.more_count = 1;
	attr.more[0].ifindex = (int) if_nametoindex(which == FAR ? "g3" : "g2");
	attr.more[0].mtu = 9000;
	memcpy(attr.more[0].mac, which == FAR ? mac3 : mac2, GAMMA_MAC_LEN);
	return attr;
}

static void open_two(unsigned which)
{
	struct gamma_endpoint_attr attr = two_nics(which);

	gamma_endpoint_destroy(sides[which].ep);
	assert_int_equal(
		gamma_endpoint_create(&attr, &side_handlers, &sides[which], &sides[which].ep), 0);
}

static int setup(void **state)
{
	netns_ip("link set g1 mtu 9000");
	netns_ip("link del g2");
	netns_ip("link add g2 address 02:00:00:00:00:02 mtu 9000 type veth "
		 "peer name g3 address 02:00:00:00:00:03 mtu 9000");
	netns_ip("link set g2 up");
	netns_ip("link set g3 up");
	return sides_setup(state);
}

#define OPEN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, sides_teardown)

static const struct gamma_rail *second_rail(unsigned from, unsigned to)
{
	const struct gamma_addr *addr = gamma_endpoint_addr(sides[to].ep);

	return &gamma_endpoint_flow(sides[from].ep, addr)->rails->rail[1];
}

/* Exchanges messages until the second NIC is in that state toward the peer; 5 s at most. */
static void until_second_is(enum gamma_rail_state state)
{
	uint64_t end = gamma_now() + 5 * GAMMA_NS_PER_S;

	do {
		assert_true(gamma_now() < end);
		exchange(A, FAR, LONG);
	} while (second_rail(A, FAR)->state != state);
}

static void open_both(void)
{
	netns_needed();
	open_two(A);
	open_two(FAR);
	exchange(A, FAR, 64);
	until_second_is(GAMMA_RAIL_USABLE);
}

/* ---- opening ---- */

static void exchange_by_both_nics(void)
{
	open_both();
	for (unsigned i = 0; i < 8; i++)
		exchange(A, FAR, LONG);
}

static void open__both_nics_carry_a_long_message(void **state)
{
	struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX];

	(void) state;
	run_calmly(exchange_by_both_nics);
	assert_true(second_rail(A, FAR)->sent_arrived > 0);
	assert_int_equal(side_stats(A)->retransmissions, 0);
	assert_int_equal(side_stats(A)->rails_proven, 1);
	assert_int_equal(side_stats(A)->rails_doubted, 0);
	assert_int_equal(gamma_endpoint_rails(sides[A].ep, rails), 2);
	assert_true(rails[1].frames_out > 100);
	assert_true(rails[0].frames_out > 100);
	assert_int_equal(rails[0].frames_out + rails[1].frames_out, side_stats(A)->frames_out);
	assert_int_equal(rails[0].bytes_out + rails[1].bytes_out, side_stats(A)->bytes_out);
	assert_true(rails[1].bytes_out > 100 * 8000);
	assert_true(rails[0].round_trip && rails[1].round_trip);
	assert_int_equal(rails[1].retransmissions, 0);
}

static void open__the_address_is_the_first_nics(void **state)
{
	(void) state;
	open_both();
	assert_memory_equal(gamma_endpoint_addr(sides[A].ep)->mac, mac0, GAMMA_MAC_LEN);
	assert_int_equal(sides[A].ep->local.rail_count, 2);
	assert_memory_equal(sides[A].ep->local.own_rails[1].mac, mac2, GAMMA_MAC_LEN);
}

static void open__a_port_is_claimed_on_both(void **state)
{
	uint16_t port = 4242;
	struct gamma_endpoint_attr attr;
	struct gamma_endpoint *ep;
	int fd;

	(void) state;
	netns_needed();
	fd = gamma_port_claim(mac2, &port);
	assert_true(fd >= 0);
	attr = two_nics(A);
	attr.port = port;
	assert_int_equal(gamma_endpoint_create(&attr, &side_handlers, NULL, &ep), -EADDRINUSE);
	close(fd);
	assert_int_equal(gamma_endpoint_create(&attr, &side_handlers, NULL, &ep), 0);
	assert_int_equal(gamma_port_claim(mac2, &port), -EADDRINUSE);
	gamma_endpoint_destroy(ep);
	fd = gamma_port_claim(mac2, &port);
	assert_true(fd >= 0);
	close(fd);
}

static void open__not_without_the_second_nic(void **state)
{
	struct gamma_endpoint_attr attr;
	struct gamma_endpoint *ep;

	(void) state;
	netns_needed();
	attr = two_nics(A);
	attr.more[0].ifindex = 9999;
	assert_int_equal(gamma_endpoint_create(&attr, &side_handlers, NULL, &ep), -ENODEV);
}

static void open__best_effort_endpoints_have_one(void **state)
{
	struct gamma_endpoint_attr attr;
	struct gamma_endpoint *ep;

	(void) state;
	netns_needed();
	attr = two_nics(A);
	attr.datagram = true;
	assert_int_equal(gamma_endpoint_create(&attr, &side_handlers, NULL, &ep), 0);
	assert_true(ep->local.rail_count <= 1);
	gamma_endpoint_destroy(ep);
}

static void open__a_peer_with_one_nic(void **state)
{
	(void) state;
	netns_needed();
	open_two(A);
	for (unsigned i = 0; i < 4; i++)
		exchange(A, FAR, LONG);
	exchange(FAR, A, LONG);
	assert_int_equal(second_rail(A, FAR)->state, GAMMA_RAIL_NONE);
}

/* ---- the second NIC's MTU becomes too small, and is raised again ---- */

static void mtu__of_the_second_nic_too_small_and_back(void **state)
{
	(void) state;
	open_both();
	netns_ip("link set g2 mtu 500");
	until_second_is(GAMMA_RAIL_NONE);
	exchange(FAR, A, LONG);
	assert_int_equal(sides[A].ep->local.own_rails[1].mtu, 500);
	netns_ip("link set g2 mtu 9000");
	until_second_is(GAMMA_RAIL_USABLE);
	assert_int_equal(sides[A].ep->local.own_rails[1].mtu, 9000);
	assert_string_equal(sides[A].cause, "");
	assert_int_equal(side_stats(FAR)->malformed, 0);
}

/* What it sends is short, and leaves: it looks at its NIC, and says why it ends. */
static void mtu__of_a_receivers_only_nic_too_small(void **state)
{
	(void) state;
	netns_needed();
	exchange(A, FAR, LONG);
	netns_ip("link set g1 mtu 500");
	post(&sides[FAR], LONG);
	assert_int_equal(start_send(&sides[A], gamma_endpoint_addr(sides[FAR].ep), LONG), 0);
	until(&sides[FAR].received);
	assert_int_equal(sides[FAR].receive_error, -EMSGSIZE);
	assert_int_equal(sides[FAR].ep->error, -EMSGSIZE);
	assert_non_null(strstr(sides[FAR].cause, "MTU of this host's NIC was lowered below 576"));
	assert_int_equal(side_stats(FAR)->resets_out, 1);
}

/* ---- one NIC, raw and over UDP ---- */

static struct gamma_endpoint_attr raw_and_udp(unsigned which)
{
	struct gamma_endpoint_attr attr = side_attr(which);

	attr.more_count = 1;
	attr.more[0] = side_over_udp(which);
	return attr;
}

static void open_raw_and_udp(void)
{
	sides_add_ip_addresses();
	reopen_side(A, raw_and_udp(A));
	reopen_side(FAR, raw_and_udp(FAR));
	exchange(A, FAR, 64);
	until_second_is(GAMMA_RAIL_USABLE);
}

static void udp__its_rail_has_the_same_port_and_no_ring(void **state)
{
	const struct gamma_endpoint *ep;

	(void) state;
	open_raw_and_udp();
	ep = sides[A].ep;
	assert_int_equal(ep->local.rails_udp, 2);
	assert_memory_equal(gamma_endpoint_addr(ep)->mac, mac0, GAMMA_MAC_LEN);
	assert_memory_equal(ep->local.own_rails[1].mac, udp0, GAMMA_MAC_LEN);
	assert_int_equal(ep->train, ep->rails[1].link->train);
	assert_true(ep->train > 1);
	assert_int_equal(ep->packet->train, 0);
}

static void udp__its_port_may_be_taken(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(4242)};
	struct gamma_endpoint_attr attr;
	struct gamma_endpoint *ep;
	int fd;

	(void) state;
	open_raw_and_udp();
	attr = raw_and_udp(A);
	attr.port = 4242;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
	assert_int_equal(gamma_endpoint_create(&attr, &side_handlers, NULL, &ep), -EADDRINUSE);
	close(fd);
}

static struct gamma_endpoint_rail rails_before_trains[GAMMA_RAILS_MAX];
static uint64_t calls_before_trains;

static void exchange_in_trains(void)
{
	open_raw_and_udp();
	gamma_endpoint_rails(sides[A].ep, rails_before_trains);
	calls_before_trains = side_stats(A)->send_calls;
	for (unsigned i = 0; i < 8; i++)
		exchange(A, FAR, LONG);
}

static void udp__long_messages_leave_in_trains(void **state)
{
	const struct gamma_endpoint_rail *before = rails_before_trains;
	struct gamma_endpoint_rail after[GAMMA_RAILS_MAX];

	(void) state;
	run_calmly(exchange_in_trains);
	gamma_endpoint_rails(sides[A].ep, after);
	assert_in_range(after[1].bytes_out - before[1].bytes_out, 8 * (LONG - LONG / 8),
			UINT64_MAX);
	assert_in_range(side_stats(A)->send_calls - calls_before_trains, 1,
			(after[1].frames_out - before[1].frames_out) / 2);
	assert_int_equal(side_stats(A)->rails_doubted, 0);
	assert_int_equal(side_stats(FAR)->stray, 0);
	assert_string_equal(sides[A].cause, "");
}

static void udp__is_not_heard_unless_named(void **state)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	const struct gamma_addr *addr;
	uint64_t stray;
	uint8_t byte[64] = {0};
	int fd;

	(void) state;
	open_raw_and_udp();
	addr = gamma_endpoint_addr(sides[FAR].ep);
	memcpy(&to.sin_addr, udp1 + 2, 4);
	to.sin_port = addr->port;
	stray = side_stats(FAR)->stray;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	for (unsigned i = 0; i < 4; i++)
		sendto(fd, byte, sizeof(byte), 0, (struct sockaddr *) &to, sizeof(to));
	for (unsigned i = 0; i < 8; i++)
		exchange(A, FAR, LONG);
	assert_int_equal(side_stats(FAR)->stray, stray + 4);
	assert_int_equal(side_stats(FAR)->malformed, 0);
	close(fd);
}

/* ---- UDP that nobody asked for ---- */

static struct gamma_endpoint_attr raw_with_udp_beside(unsigned which)
{
	struct gamma_endpoint_attr attr = side_attr(which);

	attr.beside = side_over_udp(which);
	return attr;
}

static void open_beside(void)
{
	sides_add_ip_addresses();
	reopen_side(A, raw_with_udp_beside(A));
	reopen_side(FAR, raw_with_udp_beside(FAR));
}

static struct gamma_flow *flow_of(unsigned from, unsigned to)
{
	return gamma_endpoint_flow(sides[from].ep, gamma_endpoint_addr(sides[to].ep));
}

static void beside__is_no_rail_while_messages_are_short(void **state)
{
	(void) state;
	open_beside();
	assert_non_null(sides[A].ep->rails[1].link);
	for (unsigned i = 0; i < 8; i++) {
		exchange(A, FAR, 64);
		exchange(FAR, A, 4096);
	}
	assert_int_equal(sides[A].ep->local.rail_count, 0);
	assert_int_equal(sides[FAR].ep->local.rail_count, 0);
	assert_null(flow_of(A, FAR)->rails);
	assert_null(flow_of(FAR, A)->rails);
	assert_int_equal(side_stats(A)->probes_out + side_stats(FAR)->probes_out, 0);
}

/* The one that sends long messages asks; the other one learns of it by that. */
static void beside__is_used_once_a_message_is_long(void **state)
{
	struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX];

	(void) state;
	open_beside();
	exchange(A, FAR, 64);
	exchange(A, FAR, LONG);
	until_second_is(GAMMA_RAIL_USABLE);
	exchange(FAR, A, 64);
	exchange(A, FAR, LONG);
	assert_int_equal(gamma_endpoint_rails(sides[A].ep, rails), 2);
	assert_true(rails[1].frames_out > LONG / 9000);
	assert_non_null(flow_of(FAR, A)->rails);
	assert_string_equal(sides[A].cause, "");
	assert_int_equal(side_stats(FAR)->stray, 0);
}

static void exchange_with_one_that_has_none(void)
{
	sides_add_ip_addresses();
	reopen_side(A, raw_with_udp_beside(A));
	for (unsigned i = 0; i < 4; i++)
		exchange(A, FAR, LONG);
	exchange(FAR, A, LONG);
}

static void beside__a_peer_that_has_none(void **state)
{
	(void) state;
	run_calmly(exchange_with_one_that_has_none);
	assert_int_equal(second_rail(A, FAR)->state, GAMMA_RAIL_NONE);
	assert_int_equal(flow_of(A, FAR)->rails->count, 1);
	assert_int_equal(side_stats(A)->retransmissions, 0);
}

static void beside__its_port_may_be_taken(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(4242)};
	struct gamma_endpoint_attr attr;
	int fd, fds[GAMMA_ENDPOINT_FDS];

	(void) state;
	sides_add_ip_addresses();
	attr = raw_with_udp_beside(A);
	attr.port = 4242;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
	reopen_side(A, attr);
	assert_null(sides[A].ep->rails[1].link);
	assert_int_equal(gamma_endpoint_fds(sides[A].ep, fds), 2);
	exchange(A, FAR, LONG);
	assert_null(flow_of(A, FAR)->rails);
	close(fd);
}

/* Peers have credit for the whole ring. */
static void beside__not_with_a_buffer_smaller_than_the_ring(void **state)
{
	struct gamma_endpoint_attr attr;

	(void) state;
	sides_add_ip_addresses();
	attr = raw_with_udp_beside(A);
	attr.ring_bytes = 64 << 20;
	reopen_side(A, attr);
	assert_null(sides[A].ep->rails[1].link);
	assert_true(sides[A].ep->local.pool.slots == sides[A].ep->packet->slots);
}

/* It is not left in the socket, where it would wake the process again and again. */
static void beside__a_datagram_before_it_is_used(void **state)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	uint8_t bytes[64] = {0};
	int fd;

	(void) state;
	open_beside();
	memcpy(&to.sin_addr, udp0 + 2, 4);
	to.sin_port = gamma_endpoint_addr(sides[A].ep)->port;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	sendto(fd, bytes, sizeof(bytes), 0, (struct sockaddr *) &to, sizeof(to));
	close(fd);
	assert_int_equal(sides[A].ep->local.rail_count, 0);
	for (unsigned i = 0; i < 4; i++) {
		gamma_endpoint_ready(sides[A].ep);
		gamma_endpoint_progress(sides[A].ep);
	}
	assert_false(gamma_endpoint_ready(sides[A].ep));
	assert_int_equal(side_stats(A)->stray, 1);
	exchange(A, FAR, LONG);
}

/* ---- two NICs, and UDP on each that nobody asked for ---- */

static struct gamma_endpoint_attr two_nics_and_udp(unsigned which)
{
	struct gamma_endpoint_attr attr = two_nics(which);

	attr.more[attr.more_count++] = side_over_udp(which);
	attr.more[attr.more_count] = side_over_udp(which);
	attr.more[attr.more_count++].mac[4] = 3; /* of g2 or g3 */
	attr.optional = 2;
	return attr;
}

static void add_more_ip_addresses(void)
{
	sides_add_ip_addresses();
	netns_ip("addr replace 10.1.3.1/24 dev g2");
	netns_ip("addr replace 10.1.3.2/24 dev g3");
}

static void exchange_by_two_nics_in_trains(void)
{
	add_more_ip_addresses();
	reopen_side(A, two_nics_and_udp(A));
	reopen_side(FAR, two_nics_and_udp(FAR));
	exchange(A, FAR, 64);
	until_second_is(GAMMA_RAIL_USABLE);
	for (unsigned i = 0; i < 32; i++)
		exchange(A, FAR, LONG);
}

static void twins__long_messages_leave_by_both(void **state)
{
	struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX];
	const struct gamma_local *local;

	(void) state;
	run_calmly(exchange_by_two_nics_in_trains);
	local = &sides[A].ep->local;
	assert_int_equal(local->rails_udp, 0xc);
	assert_int_equal(gamma_local_twin(local, 1), 3);
	assert_int_equal(gamma_local_twin(local, 2), 0);
	assert_int_equal(gamma_endpoint_rails(sides[A].ep, rails), 4);
	assert_true(rails[2].frames_out > 4 * LONG / 9000);
	assert_true(rails[3].frames_out > 4 * LONG / 9000);
	assert_int_equal(side_stats(A)->rails_proven, 3);
	assert_int_equal(side_stats(A)->retransmissions, 0);
	assert_int_equal(side_stats(FAR)->stray, 0);
}

/* All of them, or none. */
static void twins__a_port_may_be_taken(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(4243)};
	struct gamma_endpoint_attr attr;
	int fd;

	(void) state;
	add_more_ip_addresses();
	assert_int_equal(inet_pton(AF_INET, "10.1.3.1", &address.sin_addr), 1);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
	attr = two_nics_and_udp(A);
	attr.port = 4243;
	reopen_side(A, attr);
	reopen_side(FAR, two_nics_and_udp(FAR));
	assert_int_equal(sides[A].ep->local.rail_count, 2);
	assert_int_equal(sides[A].ep->local.rails_udp, 0);
	exchange(A, FAR, 64);
	until_second_is(GAMMA_RAIL_USABLE);
	close(fd);
}

/* ---- sleeping ---- */

static void fds__one_for_each_nic(void **state)
{
	int fds[GAMMA_ENDPOINT_FDS];

	(void) state;
	open_both();
	assert_int_equal(gamma_endpoint_fds(sides[A].ep, fds), 3);
	assert_int_equal(fds[2], sides[A].ep->rails[1].link->fd);
}

/* ---- NICs that fail ---- */

static void down__the_other_one_carries_all(void **state)
{
	struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX];

	(void) state;
	open_both();
	netns_ip("link set g2 down");
	until_second_is(GAMMA_RAIL_DOUBTED);
	exchange(FAR, A, LONG);
	netns_ip("link set g2 up");
	until_second_is(GAMMA_RAIL_USABLE);
	assert_string_equal(sides[A].cause, "");
	gamma_endpoint_rails(sides[A].ep, rails);
	assert_int_equal(rails[1].doubted, 1);
	assert_int_equal(rails[1].returned, 1);
	assert_int_equal(rails[0].doubted, 0);
}

static void down__the_first_one_too(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	open_both();
	netns_ip("link set g0 down");
	for (unsigned i = 0; i < 4; i++) {
		exchange(A, FAR, LONG);
		exchange(FAR, A, 64);
	}
	flow = gamma_endpoint_flow(sides[A].ep, gamma_endpoint_addr(sides[FAR].ep));
	assert_int_equal(flow->rail, 1);
	assert_int_equal(flow->rails->rail[0].state, GAMMA_RAIL_DOUBTED);
	netns_ip("link set g0 up");
}

static void removed__one_of_two(void **state)
{
	(void) state;
	open_both();
	netns_ip("link del g2");
	until_second_is(GAMMA_RAIL_DOUBTED);
	exchange(FAR, A, LONG);
	assert_string_equal(sides[A].cause, "");
	assert_string_equal(sides[FAR].cause, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPEN_TEST(open__both_nics_carry_a_long_message),
		OPEN_TEST(open__the_address_is_the_first_nics),
		OPEN_TEST(open__a_port_is_claimed_on_both),
		OPEN_TEST(open__not_without_the_second_nic),
		OPEN_TEST(open__best_effort_endpoints_have_one),
		OPEN_TEST(open__a_peer_with_one_nic),
		OPEN_TEST(mtu__of_the_second_nic_too_small_and_back),
		OPEN_TEST(mtu__of_a_receivers_only_nic_too_small),
		OPEN_TEST(udp__its_rail_has_the_same_port_and_no_ring),
		OPEN_TEST(udp__its_port_may_be_taken),
		OPEN_TEST(udp__long_messages_leave_in_trains),
		OPEN_TEST(udp__is_not_heard_unless_named),
		OPEN_TEST(beside__is_no_rail_while_messages_are_short),
		OPEN_TEST(beside__is_used_once_a_message_is_long),
		OPEN_TEST(beside__a_peer_that_has_none),
		OPEN_TEST(beside__its_port_may_be_taken),
		OPEN_TEST(beside__not_with_a_buffer_smaller_than_the_ring),
		OPEN_TEST(beside__a_datagram_before_it_is_used),
		OPEN_TEST(twins__long_messages_leave_by_both),
		OPEN_TEST(twins__a_port_may_be_taken),
		OPEN_TEST(fds__one_for_each_nic),
		OPEN_TEST(down__the_other_one_carries_all),
		OPEN_TEST(down__the_first_one_too),
		OPEN_TEST(removed__one_of_two),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
