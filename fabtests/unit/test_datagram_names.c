// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/engine/datagram_names.c: endpoints on real links, of which one is addressed
 * as a host's name is resolved: by a MAC address and a port.
 */
#include "sides.h"

#include <arpa/inet.h>
#include <string.h>

#include "engine/datagram_names.h"

enum { TRIES = 4, HELD = 64 };

static struct gamma_addr name;
static uint32_t number; /* of the question */

/* The name of side FAR, whose host answers at another MAC address if gammad serves it. */
static void name_far(bool brokered)
{
	struct gamma_random copy;

	netns_needed();
	copy = sides[A].ep->local.random; /* what it will draw next */
	name = (struct gamma_addr){.port = gamma_endpoint_addr(sides[FAR].ep)->port,
				   .version = GAMMA_ADDR_VERSION};
	memcpy(name.mac, gamma_endpoint_addr(sides[FAR].ep)->mac, sizeof(name.mac));
	name.mac[5] ^= brokered;
	number = gamma_random_next(&copy);
}

static void send_one(uint32_t data)
{
	struct iovec iov = {sides[A].out, 64};
	struct gamma_envelope envelope = {.length = 64, .data = data, .flags = GAMMA_HAS_DATA};

	assert_int_equal(gamma_endpoint_send_datagram(sides[A].ep, &name, &iov, 1, &envelope), 0);
}

static bool answer(const struct gamma_addr *found)
{
	struct gamma_fields fields = {.src_port = ntohs(name.port), .seq = number};

	return gamma_datagram_names_answered(sides[A].ep, name.mac, &fields, found);
}

static void run(uint64_t time_us)
{
	uint64_t end = gamma_now() + time_us * GAMMA_NS_PER_US;

	while (gamma_now() < end) {
		gamma_endpoint_progress(sides[A].ep);
		gamma_endpoint_progress(sides[FAR].ep);
	}
}

static void expect(unsigned datagrams, uint32_t data)
{
	uint64_t end = gamma_now() + GAMMA_NS_PER_S;

	while (sides[FAR].datagrams < datagrams && gamma_now() < end)
		run(100);
	run(1000);
	assert_int_equal(sides[FAR].datagrams, datagrams);
	assert_int_equal(sides[FAR].datagram_data, data);
}

/* It has arrived at the NIC's address, and is not sent a second time. */
static void names__of_endpoints_without_gammad_are_their_addresses(void **state)
{
	(void) state;
	name_far(false);
	send_one(1);
	expect(1, 1);
	assert_int_equal(side_stats(FAR)->lookups_in, 1);
	assert_false(answer(gamma_endpoint_addr(sides[FAR].ep))); /* it has come */
	send_one(2);
	expect(2, 2);
	assert_int_equal(side_stats(A)->lookups_out, 1);
}

static void names__of_endpoints_of_gammad_are_asked_for(void **state)
{
	(void) state;
	name_far(true);
	for (uint32_t i = 1; i <= 3; i++)
		send_one(i);
	run(500);
	assert_int_equal(sides[FAR].datagrams, 0);
	number++;
	assert_false(answer(gamma_endpoint_addr(sides[FAR].ep)));
	number--;
	assert_true(answer(gamma_endpoint_addr(sides[FAR].ep)));
	expect(3, 3);
	send_one(4);
	expect(4, 4);
}

static void names__without_answer_are_asked_for_some_times(void **state)
{
	(void) state;
	name_far(true);
	send_one(1);
	for (unsigned i = 0; i < 100 && side_stats(A)->lookups_out < TRIES; i++)
		run(20000); /* each may be one look at the clock on a loaded machine */
	assert_int_equal(side_stats(A)->lookups_out, TRIES);
	for (unsigned i = 0; i < 20; i++)
		run(1000);
	assert_false(answer(gamma_endpoint_addr(sides[FAR].ep)));
	send_one(2); /* not again so soon */
	run(5000);
	assert_int_equal(side_stats(A)->lookups_out, TRIES);
}

static void names__of_ports_without_owner_keep_nothing(void **state)
{
	(void) state;
	name_far(true);
	send_one(1);
	assert_true(answer(NULL));
	run(5000);
	assert_int_equal(side_stats(A)->lookups_out, 1);
	assert_int_equal(sides[FAR].datagrams, 0);
}

static void names__keep_a_bounded_number_of_datagrams(void **state)
{
	(void) state;
	name_far(true);
	for (uint32_t i = 1; i <= HELD + 10; i++)
		send_one(i);
	assert_true(answer(gamma_endpoint_addr(sides[FAR].ep)));
	expect(HELD, HELD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DGRAM_TEST(names__of_endpoints_without_gammad_are_their_addresses),
		DGRAM_TEST(names__of_endpoints_of_gammad_are_asked_for),
		DGRAM_TEST(names__without_answer_are_asked_for_some_times),
		DGRAM_TEST(names__of_ports_without_owner_keep_nothing),
		DGRAM_TEST(names__keep_a_bounded_number_of_datagrams),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
