// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* wire/ethertype.c */
#include "unit.h"

#include "wire/ethertype.h"
#include "wire/wire.h"

static void owner__of_known_protocols(void **state)
{
	(void) state;
	assert_string_equal(gamma_ethertype_owner(0x0800), "IPv4");
	assert_string_equal(gamma_ethertype_owner(0x86DD), "IPv6");
	assert_string_equal(gamma_ethertype_owner(0x8100), "VLAN tags");
}

/* Those that IEEE 802 set aside for experiments and for anybody. */
static void owner__of_free_ones_is_none(void **state)
{
	(void) state;
	assert_null(gamma_ethertype_owner(GAMMA_ETHERTYPE));
	assert_null(gamma_ethertype_owner(0x88B6));
	assert_null(gamma_ethertype_owner(0x0600));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(owner__of_known_protocols),
		TEST(owner__of_free_ones_is_none),
	};

	return cmocka_run_group_tests_name("ethertype", tests, NULL, NULL);
}
