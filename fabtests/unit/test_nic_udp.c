// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* nic/udp.c: NICs with IP addresses, in a network namespace (netns.h). */
#include "netns.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/base.h"
#include "base/ipv6_names.h"
#include "nic/select.h"
#include "nic/udp.h"
#include "wire/pseudo_mac.h"

static struct gamma_nic *nics;
static size_t count;
static enum gamma_nic_udp_choice choice;

/* Reads the NICs as they are now. */
static void read_nics(void)
{
	netns_needed();
	gamma_nic_list_free(nics);
	assert_int_equal(gamma_nic_list(&nics, &count), 0);
	assert_int_equal(gamma_nic_udp_convert(nics, count, choice), 0);
}

static int setup(void **state)
{
	if (netns_setup(state))
		return -1;
	/* No address of its own making. */
	netns_ip("link set dev g0 addrgenmode none");
	netns_ip("link set dev g1 addrgenmode none");
	netns_ip("-6 addr flush dev g0");
	netns_ip("-6 addr flush dev g1");
	netns_ip("addr add 10.1.2.3/24 dev g0");
	netns_ip("addr add 10.1.2.4/24 dev g0");
	netns_ip("route add 10.9.0.0/16 via 10.1.2.1");
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	gamma_nic_list_free(nics);
	return 0;
}

static struct gamma_ip address(const char *text)
{
	struct gamma_ip ip;

	assert_true(gamma_ip_parse(text, &ip));
	return ip;
}

static void convert__gives_a_nic_its_first_address(void **state)
{
	static const uint8_t mac[GAMMA_MAC_LEN] = {2, 4, 10, 1, 2, 3};
	const struct gamma_nic *nic;

	(void) state;
	read_nics();
	nic = gamma_nic_select_by_name(nics, count, "g0");
	assert_non_null(nic);
	assert_null(nic->reason);
	assert_true(nic->udp);
	assert_memory_equal(nic->mac, mac, GAMMA_MAC_LEN);
	assert_int_equal(nic->mtu, 9000 - GAMMA_UDP_OVERHEAD);
	assert_ptr_equal(gamma_nic_select_default(nics, count, NULL), nic);
}

static void add__leaves_a_nic_raw(void **state)
{
	static const uint8_t pseudo[GAMMA_MAC_LEN] = {2, 4, 10, 1, 2, 3};
	const struct gamma_nic *nic;
	struct gamma_nic twin;

	(void) state;
	netns_needed();
	gamma_nic_list_free(nics);
	assert_int_equal(gamma_nic_list(&nics, &count), 0);
	assert_int_equal(gamma_nic_udp_add(nics, count), 0);
	nic = gamma_nic_select_by_name(nics, count, "g0");
	assert_null(nic->reason);
	assert_true(nic->has_udp);
	assert_false(nic->udp);
	assert_int_equal(nic->mtu, 9000);
	gamma_nic_udp_twin(nic, &twin);
	assert_memory_equal(twin.mac, pseudo, GAMMA_MAC_LEN);
	assert_int_equal(twin.mtu, 9000 - GAMMA_UDP_OVERHEAD);
	assert_int_equal(twin.ifindex, nic->ifindex);
	assert_true(twin.udp && !twin.has_udp);
	nic = gamma_nic_select_by_name(nics, count, "g1");
	assert_string_equal(nic->reason, "has no IPv4 address: give it one with `ip address add`");
}

static void convert__leaves_out_what_has_no_address(void **state)
{
	(void) state;
	read_nics();
	assert_non_null(strstr(gamma_nic_select_by_name(nics, count, "g1")->reason, "IP address"));
	assert_non_null(strstr(gamma_nic_select_by_name(nics, count, "lo")->reason, "loopback"));
}

static void convert__ipv6_of_a_nic_without_ipv4(void **state)
{
	uint8_t mac[GAMMA_MAC_LEN], ipv6[GAMMA_IPV6_LEN];
	const struct gamma_nic *nic;
	struct gamma_ip ip;

	(void) state;
	netns_needed();
	netns_ip("addr add 2001:db8::1/64 dev g1 nodad");
	netns_ip("addr add 2001:db8::2/64 dev g1 nodad preferred_lft 0"); /* deprecated */
	read_nics();
	nic = gamma_nic_select_by_name(nics, count, "g1");
	assert_null(nic->reason);
	assert_true(nic->udp && nic->ipv6);
	assert_int_equal(nic->mtu, 9000 - GAMMA_UDP6_OVERHEAD);
	assert_int_equal(nic->prefix, 64);
	assert_true(gamma_ipv6_names_find(nic->mac, ipv6));
	assert_int_equal(ipv6[0], 0x20);
	assert_int_equal(ipv6[15], 1);
	assert_false(gamma_nic_select_by_name(nics, count, "g0")->ipv6);
	choice = GAMMA_NIC_UDP_IPV6;
	netns_ip("addr add 2001:db8:1::7/64 dev g0 nodad");
	read_nics();
	nic = gamma_nic_select_by_name(nics, count, "g0");
	ip = address("2001:db8:1::7");
	gamma_pseudo_mac_make_ipv6(ip.bytes, mac);
	assert_memory_equal(nic->mac, mac, sizeof(mac));
	choice = GAMMA_NIC_UDP_IPV4;
	read_nics();
	assert_non_null(
		strstr(gamma_nic_select_by_name(nics, count, "g1")->reason, "IPv4 address"));
	choice = GAMMA_NIC_UDP_ANY;
	netns_ip("-6 addr flush dev g0 scope global");
	netns_ip("-6 addr flush dev g1 scope global");
}

static void convert__ipv6_link_local_as_the_last_resort(void **state)
{
	const struct gamma_nic *nic;
	uint8_t ipv6[GAMMA_IPV6_LEN];

	(void) state;
	netns_needed();
	netns_ip("addr add fe80::7/64 dev g1 nodad");
	read_nics();
	nic = gamma_nic_select_by_name(nics, count, "g1");
	assert_true(nic->ipv6);
	assert_true(gamma_ipv6_names_find(nic->mac, ipv6));
	assert_int_equal(ipv6[0], 0xfe);
	netns_ip("-6 addr flush dev g1");
}

static void resolve__ipv6_holds_the_address(void **state)
{
	uint8_t mac[GAMMA_MAC_LEN], ipv6[GAMMA_IPV6_LEN];
	struct gamma_ip ip;
	int ifindex = 0;

	(void) state;
	netns_needed();
	netns_ip("addr add 2001:db8:2::7/64 dev g0 nodad");
	ip = address("2001:db8:2::8");
	assert_int_equal(gamma_nic_udp_resolve(&ip, 0, mac, &ifindex), 0);
	assert_int_equal(ifindex, if_nametoindex("g0"));
	assert_true(gamma_ipv6_names_find(mac, ipv6));
	assert_memory_equal(ipv6, ip.bytes, sizeof(ipv6));
	assert_int_equal(gamma_nic_udp_find_owner(&ip, mac, &ifindex), -EADDRNOTAVAIL);
	ip = address("2001:db8:2::7");
	assert_int_equal(gamma_nic_udp_find_owner(&ip, mac, &ifindex), 0);
	netns_ip("-6 addr flush dev g0 scope global");
}

static void resolve__needs_no_answer(void **state)
{
	static const uint8_t far[GAMMA_MAC_LEN] = {2, 4, 10, 9, 8, 7};
	struct gamma_ip ip;
	uint8_t mac[GAMMA_MAC_LEN];
	int ifindex = 0;

	(void) state;
	netns_needed();
	ip = address("10.9.8.7");
	assert_int_equal(gamma_nic_udp_resolve(&ip, 0, mac, &ifindex), 0);
	assert_memory_equal(mac, far, GAMMA_MAC_LEN);
	assert_int_equal(ifindex, if_nametoindex("g0"));
	ip = address("10.1.2.3");
	assert_int_equal(gamma_nic_udp_resolve(&ip, 0, mac, &ifindex), 0);
	assert_int_equal(gamma_nic_udp_find_owner(&ip, mac, &ifindex), 0);
	ip = address("192.0.2.1");
	assert_int_equal(gamma_nic_udp_resolve(&ip, 0, mac, &ifindex), -ENETUNREACH);
	assert_int_equal(gamma_nic_udp_find_owner(&ip, mac, &ifindex), -EADDRNOTAVAIL);
	ip = address("2001:db8::1");
	assert_int_equal(gamma_nic_udp_resolve(&ip, 0, mac, &ifindex), -ENETUNREACH);
}

static void pseudo_mac__there_and_back(void **state)
{
	static const uint8_t ipv4[4] = {192, 0, 2, 9}, other[GAMMA_MAC_LEN] = {2, 0, 192, 0, 2, 9};
	uint8_t mac[GAMMA_MAC_LEN];

	(void) state;
	gamma_pseudo_mac_make(ipv4, mac);
	assert_memory_equal(gamma_pseudo_mac_ipv4(mac), ipv4, sizeof(ipv4));
	assert_null(gamma_pseudo_mac_ipv4(other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(convert__gives_a_nic_its_first_address),
		TEST(convert__leaves_out_what_has_no_address),
		TEST(add__leaves_a_nic_raw),
		TEST(convert__ipv6_of_a_nic_without_ipv4),
		TEST(convert__ipv6_link_local_as_the_last_resort),
		TEST(resolve__ipv6_holds_the_address),
		TEST(resolve__needs_no_answer),
		TEST(pseudo_mac__there_and_back),
	};

	return cmocka_run_group_tests_name("nic_udp", tests, setup, teardown);
}
