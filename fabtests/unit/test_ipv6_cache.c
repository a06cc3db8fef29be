// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/link/ipv6_cache.c. */
#include "unit.h"

#include <string.h>

#include "base/ipv6_names.h"
#include "ipv6_double.h"
#include "link/ipv6_cache.h"

static struct gamma_ipv6_cache cache;
static const uint8_t one[GAMMA_IPV6_LEN] = {0xfd, [15] = 1}, two[GAMMA_IPV6_LEN] = {0xfd, [15] = 2};
static uint8_t mac[GAMMA_MAC_LEN];

static int setup(void **state)
{
	(void) state;
	memset(&cache, 0, sizeof(cache));
	return 0;
}

static void find__unknown_and_held_ones(void **state)
{
	const uint8_t *found;

	(void) state;
	gamma_pseudo_mac_make_ipv6(one, mac);
	assert_null(gamma_ipv6_cache_find(&cache, mac));
	assert_true(gamma_ipv6_cache_take(&cache, one, mac));
	found = gamma_ipv6_cache_find(&cache, mac);
	assert_memory_equal(found, one, sizeof(one));
	assert_int_equal(gamma_ipv6_names_hold(two, mac), 0);
	found = gamma_ipv6_cache_find(&cache, mac);
	assert_memory_equal(found, two, sizeof(two));
	gamma_ipv6_names_drop(mac);
	gamma_pseudo_mac_make_ipv6(one, mac); /* although the table has changed meanwhile */
	assert_memory_equal(gamma_ipv6_cache_find(&cache, mac), one, sizeof(one));
}

/* The one that is held wins against the one that came first, and is not pushed out. */
static void take__double_of_a_held_one_is_refused(void **state)
{
	uint8_t other[GAMMA_IPV6_LEN];

	(void) state;
	ipv6_double(one, other);
	assert_true(gamma_ipv6_cache_take(&cache, other, mac));
	assert_int_equal(gamma_ipv6_names_hold(one, mac), 0);
	assert_false(gamma_ipv6_cache_take(&cache, other, mac));
	assert_memory_equal(gamma_ipv6_cache_find(&cache, mac), one, sizeof(one));
	assert_true(gamma_ipv6_cache_take(&cache, one, mac));
	gamma_ipv6_names_drop(mac);
	assert_true(gamma_ipv6_cache_take(&cache, other, mac));
	assert_memory_equal(gamma_ipv6_cache_find(&cache, mac), other, sizeof(other));
}

static void find__held_ones_that_share_an_entry(void **state)
{
	uint8_t ipv6[GAMMA_IPV6_LEN] = {0xfd};

	(void) state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 3 * GAMMA_IPV6_CACHE_ENTRIES; i++) {
			ipv6[14] = (uint8_t) (i >> 8);
			ipv6[15] = (uint8_t) i;
			if (!round)
				assert_int_equal(gamma_ipv6_names_hold(ipv6, mac), 0);
			gamma_pseudo_mac_make_ipv6(ipv6, mac);
			assert_memory_equal(gamma_ipv6_cache_find(&cache, mac), ipv6, sizeof(ipv6));
			if (round)
				gamma_ipv6_names_drop(mac);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(find__unknown_and_held_ones, setup),
		cmocka_unit_test_setup(take__double_of_a_held_one_is_refused, setup),
		cmocka_unit_test_setup(find__held_ones_that_share_an_entry, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
