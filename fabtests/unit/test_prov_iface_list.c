// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/iface_list.c: which NICs a list names, and which lists are refused.
 */
#include "prov_fake.h"

#include "iface_list.h"
#include "nic/select.h"

static const struct gamma_nic nics[] = {
	{.name = "eth1", .mac = {2, 0, 0, 0, 0, 1}},
	{.name = "eth2", .mac = {2, 0, 0, 0, 0, 2}},
	{.name = "eth1.5", .mac = {2, 0, 0, 0, 0, 1}},
	{.name = "eth3", .mac = {2, 0, 0, 0, 0, 3}, .reason = "is down: set it up"},
	{.name = "eth4", .mac = {2, 0, 0, 0, 0, 4}},
	{.name = "eth5", .mac = {2, 0, 0, 0, 0, 5}},
	{.name = "eth6", .mac = {2, 0, 0, 0, 0, 6}},
	{.name = "eth7", .mac = {2, 0, 0, 0, 0, 7}, .reason = gamma_nic_select_no_carrier},
	{.name = "udp1", .mac = {2, 4, 0, 0, 0, 1}, .udp = true},
	{.name = "udp2", .mac = {2, 4, 0, 0, 0, 2}, .udp = true},
	{.name = "both1", .mac = {2, 0, 0, 0, 1, 1}, .has_udp = true},
	{.name = "both2", .mac = {2, 0, 0, 0, 1, 2}, .has_udp = true},
	{.name = "both3", .mac = {2, 0, 0, 0, 1, 3}, .has_udp = true},
	{.name = "udp6", .mac = {2, 6, 0, 0, 0, 1}, .udp = true, .ipv6 = true},
};

static struct gamma_iface_list list;
static char why[256];

static int find(const char *text)
{
	return gamma_iface_list_find(nics, gamma_array_size(nics), text, &list, why, sizeof(why));
}

static void finds(const char *text, const char *domain)
{
	assert_int_equal(find(text), 0);
	assert_string_equal(gamma_iface_list_domain(&list).text, domain);
}

static void refuses(const char *text, const char *cause)
{
	assert_int_equal(find(text), -FI_ENODATA);
	assert_string_equal(why, cause);
}

static void find__in_the_order_of_the_list(void **state)
{
	(void) state;
	finds("eth1", "eth1");
	assert_int_equal(list.count, 1);
	finds("eth2,eth1", "eth2,eth1");
	assert_ptr_equal(list.nics[0], &nics[1]);
	assert_ptr_equal(list.nics[1], &nics[0]);
	finds("eth1,eth2,eth4,eth5", "eth1,eth2,eth4,eth5");
}

static void find__by_mac_address(void **state)
{
	(void) state;
	finds("eth1,02:00:00:00:00:02", "eth1,eth2");
}

static void find__raw_and_udp_together_take_two_nics(void **state)
{
	(void) state;
	finds("both1", "both1+udp");
	finds("both1,both2", "both1,both2+udp");
	refuses("both1,both2,both3",
		"raw Ethernet and UDP together take at most 2 NICs: name fewer, or set "
		"FI_GAMMA_LINK=packet");
}

static void find__over_udp_the_name_has_one_suffix(void **state)
{
	(void) state;
	finds("udp1,udp2", "udp1,udp2-udp");
	refuses("udp1,udp6", "over UDP, several NICs of an endpoint need IPv4 addresses, and udp6 "
			     "has an IPv6 address: name one NIC");
	refuses("udp6,udp1", "over UDP, several NICs of an endpoint need IPv4 addresses, and udp6 "
			     "has an IPv6 address: name one NIC");
}

static void find__says_what_is_wrong(void **state)
{
	(void) state;
	refuses("eth1,eth9", "this host has no interface eth9; ip link lists them");
	refuses("eth1,eth3", "eth3 is down: set it up");
	refuses("eth1,eth1", "eth1 is named twice: name each NIC once");
	refuses("eth1,eth1.5", "eth1 and eth1.5 have the same address, 02:00:00:00:00:01, as a NIC "
			       "and its VLANs or parts of a bond have: name one of them, or the "
			       "bond");
	refuses("eth1,eth2,eth4,eth5,eth6", "an endpoint has at most 4 NICs: name fewer");
	refuses("eth1,", "a name is missing beside a comma: separate NICs by one");
	refuses(",eth1", "a name is missing beside a comma: separate NICs by one");
	refuses("eth1,,eth2", "a name is missing beside a comma: separate NICs by one");
}

static void find__only_the_first_needs_a_carrier(void **state)
{
	(void) state;
	finds("eth1,eth7", "eth1,eth7");
	refuses("eth7,eth1", "eth7 has no carrier: check its cable and the switch's port");
	refuses("eth7", "eth7 has no carrier: check its cable and the switch's port");
}

static void find__a_name_that_is_too_long(void **state)
{
	(void) state;
	assert_int_equal(find("eth1,"
			      "0123456789012345678901234567890123456789012345678901234567890123456"
			      "7890123456789"),
			 -FI_ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__in_the_order_of_the_list),
		cmocka_unit_test(find__by_mac_address),
		cmocka_unit_test(find__raw_and_udp_together_take_two_nics),
		cmocka_unit_test(find__over_udp_the_name_has_one_suffix),
		cmocka_unit_test(find__says_what_is_wrong),
		cmocka_unit_test(find__only_the_first_needs_a_carrier),
		cmocka_unit_test(find__a_name_that_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
