// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/engine/open.c and links.c: endpoints with two NICs on real links. g0 and g2
 * are one host's, g1 and g3 the other's.
 */
#include "sides.h"

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

static void open__both_nics_carry_a_long_message(void **state)
{
	struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX];

	(void) state;
	open_both();
	for (unsigned i = 0; i < 8; i++)
		exchange(A, FAR, LONG);
	assert_true(second_rail(A, FAR)->sent_arrived > 0);
	assert_int_equal(side_stats(A)->retransmissions, 0);
	assert_int_equal(side_stats(A)->rails_proven, 1);
	assert_int_equal(side_stats(A)->rails_doubted, 0);
	assert_int_equal(gamma_endpoint_rails(sides[A].ep, rails), 2);
	assert_true(rails[1].frames_out > 100);
	assert_true(rails[1].frames_out < side_stats(A)->frames_out);
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
		OPEN_TEST(fds__one_for_each_nic),
		OPEN_TEST(down__the_other_one_carries_all),
		OPEN_TEST(down__the_first_one_too),
		OPEN_TEST(removed__one_of_two),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
