// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/base/ipv6_names.c, and of the pseudo MAC addresses of IPv6 addresses
 * (common/wire/pseudo_mac.h).
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/ipv6_names.h"
#include "ipv6_double.h"

enum { MANY = 5000 };

/* 2001:db8::, and a number. */
static void number(unsigned n, uint8_t ipv6[GAMMA_IPV6_LEN])
{
	memset(ipv6, 0, GAMMA_IPV6_LEN);
	memcpy(ipv6, (uint8_t[]){0x20, 0x01, 0x0d, 0xb8}, 4);
	ipv6[14] = (uint8_t) (n >> 8);
	ipv6[15] = (uint8_t) n;
}

static void pseudo_mac__as_specified(void **state)
{
	static const uint8_t ipv6[GAMMA_IPV6_LEN] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
	static const uint8_t mac[GAMMA_MAC_LEN] = {0x06, 0x80, 0x01, 0xf7, 0x79, 0x13};
	uint8_t made[GAMMA_MAC_LEN];

	(void) state;
	gamma_pseudo_mac_make_ipv6(ipv6, made);
	assert_memory_equal(made, mac, sizeof(mac));
	assert_null(gamma_pseudo_mac_ipv4(made));
	assert_false(made[0] & 1);
}

static void hold__finds_all_until_dropped_as_often(void **state)
{
	uint8_t ipv6[GAMMA_IPV6_LEN], found[GAMMA_IPV6_LEN], mac[GAMMA_MAC_LEN];

	(void) state;
	for (unsigned i = 0; i < MANY; i++) {
		number(i, ipv6);
		assert_int_equal(gamma_ipv6_names_hold(ipv6, mac), 0);
		assert_int_equal(gamma_ipv6_names_hold(ipv6, mac), 0);
	}
	for (unsigned i = 0; i < MANY; i++) {
		number(i, ipv6);
		gamma_pseudo_mac_make_ipv6(ipv6, mac);
		gamma_ipv6_names_drop(mac);
		assert_true(gamma_ipv6_names_find(mac, found));
		assert_memory_equal(found, ipv6, sizeof(ipv6));
		gamma_ipv6_names_drop(mac);
		assert_false(gamma_ipv6_names_find(mac, found));
	}
	gamma_ipv6_names_drop(mac);
}

static void hold__refuses_a_double(void **state)
{
	uint8_t one[GAMMA_IPV6_LEN], other[GAMMA_IPV6_LEN], mac[GAMMA_MAC_LEN];
	uint32_t generation;

	(void) state;
	number(7, one);
	ipv6_double(one, other);
	assert_int_equal(gamma_ipv6_names_hold(one, mac), 0);
	generation = gamma_ipv6_names_generation();
	assert_int_equal(gamma_ipv6_names_hold(other, mac), -EEXIST);
	assert_int_equal(gamma_ipv6_names_generation(), generation);
	gamma_ipv6_names_drop(mac);
	assert_int_equal(gamma_ipv6_names_hold(other, mac), 0);
	assert_int_not_equal(gamma_ipv6_names_generation(), generation);
	gamma_ipv6_names_drop(mac);
}

static void addr__there_and_back(void **state)
{
	struct gamma_addr addr = {.port = 1, .epoch = 2, .contexts = 3, .version = 3}, outer;
	uint8_t ipv6[GAMMA_IPV6_LEN], mac[GAMMA_MAC_LEN];

	(void) state;
	number(9, ipv6);
	gamma_addr_set_ipv6(&addr, ipv6);
	outer = addr;
	assert_int_equal(gamma_ipv6_names_hold_addr(&addr), 0);
	gamma_pseudo_mac_make_ipv6(ipv6, mac);
	assert_memory_equal(addr.mac, mac, sizeof(mac));
	assert_int_equal(addr.mtu, 0);
	assert_true(addr.host == 0);
	gamma_ipv6_names_show_addr(&addr);
	assert_memory_equal(&addr, &outer, sizeof(addr));
	memcpy(outer.mac, mac, sizeof(mac));
	gamma_ipv6_names_drop_addr(&outer);
	assert_false(gamma_ipv6_names_find(mac, ipv6));
}

static void addr__of_other_versions_stays(void **state)
{
	struct gamma_addr addr = {.mac = {2, 4, 10}, .version = GAMMA_ADDR_VERSION_UDP, .mtu = 9};
	struct gamma_addr same = addr;

	(void) state;
	assert_int_equal(gamma_ipv6_names_hold_addr(&addr), 0);
	gamma_ipv6_names_show_addr(&addr);
	gamma_ipv6_names_drop_addr(&addr);
	assert_memory_equal(&addr, &same, sizeof(addr));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pseudo_mac__as_specified),
		cmocka_unit_test(hold__finds_all_until_dropped_as_often),
		cmocka_unit_test(hold__refuses_a_double),
		cmocka_unit_test(addr__there_and_back),
		cmocka_unit_test(addr__of_other_versions_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
