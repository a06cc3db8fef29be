// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/nic/resolve.c; what it asks of the system is played here. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/mac.h"
#include "nic/resolve.h"

/*
 * This host: eth0 (02:..:01, 10.0.0.1), eth1 (02:..:02, 10.1.0.1; faster), eth2 (02:..:03,
 * 10.2.0.1; down). Neighbours: 10.0.0.9 on eth0, 10.2.0.9 on eth2. Names as in lookup().
 */
static struct gamma_nic nics[3];
static struct gamma_conf *conf;

static struct gamma_resolved out;
static char why[256];
static int lookups;

static struct gamma_ip address(const char *text)
{
	struct gamma_ip ip;

	assert_true(gamma_ip_parse(text, &ip));
	return ip;
}

static bool is(const struct gamma_ip *ip, const char *text)
{
	struct gamma_ip other = address(text);

	return !memcmp(ip, &other, sizeof(other));
}

static int owner(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN], int *ifindex)
{
	static const char *const own[] = {"10.0.0.1", "10.1.0.1", "10.2.0.1"};

	for (size_t i = 0; i < gamma_array_size(own); i++) {
		if (!is(ip, own[i]))
			continue;
		memcpy(mac, nics[i].mac, GAMMA_MAC_LEN);
		*ifindex = nics[i].ifindex;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

static int arp_nd(const struct gamma_ip *ip, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN],
		  int *ifindex)
{
	static const uint8_t other[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 9};

	assert_true(timeout_ms > 0);
	if (!owner(ip, mac, ifindex))
		return 0;
	if (is(ip, "10.0.0.10"))
		return -EHOSTUNREACH;
	memcpy(mac, other, GAMMA_MAC_LEN);
	*ifindex = 11;
	if (is(ip, "10.0.0.9") || is(ip, "2001:db8::9"))
		return 0;
	*ifindex = 13;
	if (is(ip, "10.2.0.9"))
		return 0;
	if (is(ip, "198.51.100.1"))
		return -EMULTIHOP;
	*ifindex = 99;
	return is(ip, "10.9.0.9") ? 0 : -ENETUNREACH;
}

static int lookup(const char *name, struct gamma_ip *ips, int room)
{
	assert_true(room >= 2);
	lookups++;
	if (!strcmp(name, "localhost") || !strcmp(name, "own-name")) {
		ips[0] = address(name[0] == 'l' ? "127.0.0.1" : "127.0.1.1");
		return 1;
	}
	if (!strcmp(name, "two-addresses")) {
		ips[0] = address("192.0.2.1");
		ips[1] = address("10.0.0.9");
		return 2;
	}
	if (!strcmp(name, "six-only")) {
		ips[0] = address("2001:db8::9");
		return 1;
	}
	if (!strcmp(name, "far")) {
		ips[0] = address("192.0.2.1");
		return 1;
	}
	return -ENOENT;
}

static int resolve(const char *node, const char *service, bool source)
{
	static const struct gamma_resolve_ops ops = {owner, arp_nd, lookup};
	int err = gamma_resolve_with(&ops, node, service, source, conf, nics, 3, &out, why,
				     sizeof(why));

	/* One line with every failure, none with success, and nothing half done. */
	assert_true(!err == !why[0]);
	assert_null(strchr(why, '\n'));
	if (err)
		assert_true(err < 0 && !out.nic && !out.port && !gamma_mac_is_unicast(out.mac));
	return err;
}

static void assert_found(const char *node, bool source, int last_byte, const struct gamma_nic *nic)
{
	if (resolve(node, NULL, source))
		fail_msg("%s", why);
	assert_int_equal(out.mac[5], last_byte);
	assert_ptr_equal(out.nic, nic);
}

static void assert_refused(const char *node, bool source, int err, const char *expected)
{
	assert_int_equal(resolve(node, NULL, source), err);
	if (!strstr(why, expected))
		fail_msg("'%s' does not hold '%s'", why, expected);
}

static int set_up(void **state)
{
	static const char text[] = "me 02:00:00:00:00:01\n"
				   "peer 02:00:00:00:00:77\n"
				   "eth1 02:00:00:00:00:78\n"
				   "shelf 02:00:00:00:00:03\n"
				   "10.0.0.12 02:00:00:00:00:79\n";

	(void) state;
	memset(nics, 0, sizeof(nics));
	for (int i = 0; i < 3; i++) {
		snprintf(nics[i].name, sizeof(nics[i].name), "eth%d", i);
		nics[i].ifindex = 11 + i;
		nics[i].mac[0] = 2;
		nics[i].mac[5] = i + 1;
		nics[i].mtu = 1500;
		nics[i].ethernet = nics[i].has_device = true;
		nics[i].speed = 1000000000ull * (i + 1);
	}
	nics[2].reason = "is down: set it up";
	lookups = 0;
	return gamma_conf_parse("f", text, strlen(text), &conf, why, sizeof(why));
}

static int tear_down(void **state)
{
	(void) state;
	gamma_conf_free(conf);
	return 0;
}

static void resolve__mac(void **state)
{
	(void) state;
	assert_found("02:00:00:00:00:55", false, 0x55, NULL);
	assert_found("02-00-00-00-00-55", false, 0x55, NULL);
	assert_found("02:00:00:00:00:02", false, 2, &nics[1]);
	assert_found("02:00:00:00:00:02", true, 2, &nics[1]);
	assert_refused("02:00:00:00:00:55", true, -EADDRNOTAVAIL, "no interface of this host");
	assert_refused("02:00:00:00:00:03", true, -ENODEV, "eth2 is down");
	assert_refused("01:00:5e:00:00:01", false, -EINVAL, "multicast");
	assert_refused("00:00:00:00:00:00", false, -EINVAL, "zero");
	assert_int_equal(lookups, 0);
}

static void resolve__interface(void **state)
{
	(void) state;
	assert_found("eth0", true, 1, &nics[0]);
	/* Also where the configuration file has a host of that name. */
	assert_found("eth1", false, 2, &nics[1]);
	assert_refused("eth2", true, -ENODEV, "eth2 is down: set it up");
}

static void resolve__host_of_conf(void **state)
{
	(void) state;
	assert_found("peer", false, 0x77, NULL);
	assert_found("PEER.cluster", false, 0x77, NULL);
	assert_found("me", true, 1, &nics[0]);
	assert_found("me", false, 1, &nics[0]);
	assert_found("10.0.0.12", false, 0x79, NULL);
	assert_refused("peer", true, -EADDRNOTAVAIL, "no interface of this host has MAC 02:");
	assert_refused("shelf", false, -ENODEV, "eth2 is down");
	assert_int_equal(lookups, 0);
}

static void resolve__ipv4(void **state)
{
	(void) state;
	assert_found("10.0.0.1", true, 1, &nics[0]);
	assert_found("10.1.0.1", false, 2, &nics[1]);
	assert_found("10.0.0.9", false, 9, &nics[0]);
	assert_refused("10.0.0.9", true, -EADDRNOTAVAIL, "is not an address of an Ethernet NIC");
	assert_refused("10.0.0.10", false, -EHOSTUNREACH, "does not answer to ARP");
	assert_refused("192.0.2.1", false, -ENETUNREACH, "it has no route there");
	assert_refused("198.51.100.1", false, -EMULTIHOP,
		       "raw Ethernet frames do not cross: set FI_GAMMA_LINK=udp");
	assert_refused("10.2.0.9", false, -ENODEV, "eth2 is down");
	assert_refused("10.2.0.1", true, -ENODEV, "eth2 is down");
	assert_refused("10.9.0.9", false, -ENODEV, "interface number 99");
	assert_int_equal(lookups, 0);
}

static void resolve__ipv6(void **state)
{
	(void) state;
	assert_found("2001:db8::9", false, 9, &nics[0]);
	assert_found("2001:0db8:0::0009", false, 9, &nics[0]);
	assert_refused("2001:db8::10", false, -ENETUNREACH, "it has no route there");
	assert_refused("fe80::1", false, -EINVAL, "write the interface behind it");
	assert_refused("2001:db8::9%lo", false, -ENOENT, "is no MAC, interface, host");
	assert_int_equal(lookups, 1);
}

static void resolve__host_name(void **state)
{
	(void) state;
	assert_found("two-addresses", false, 9, &nics[0]);
	assert_found("six-only", false, 9, &nics[0]);
	assert_refused("far", false, -ENETUNREACH,
		       "far is at 192.0.2.1, which is not on an Ethernet");
	assert_refused("nobody", false, -ENOENT, "node 'nobody' is no MAC, interface, host of f,");
}

static void resolve__loopback_means_the_default_nic(void **state)
{
	(void) state;
	/* The configuration file lists eth0. */
	assert_found("localhost", false, 1, &nics[0]);
	assert_found("own-name", true, 1, &nics[0]);
	assert_found("127.0.0.1", true, 1, &nics[0]);
	assert_found("::1", true, 1, &nics[0]);
	nics[0].reason = nics[1].reason = "has no carrier";
	assert_refused("localhost", true, -ENODEV, "no usable NIC: eth0 has no carrier; eth1 has");
}

static void resolve__no_node(void **state)
{
	(void) state;
	assert_int_equal(resolve(NULL, "9228", true), 0);
	assert_int_equal(out.port, 9228);
	assert_null(out.nic);
	assert_false(gamma_mac_is_unicast(out.mac));
	assert_int_equal(resolve(NULL, NULL, true), 0);
	assert_int_equal(out.port, 0);
	assert_int_equal(resolve(NULL, "9228", false), -EINVAL);
}

static void resolve__absurd_nodes(void **state)
{
	char node[5000];

	(void) state;
	memset(node, 'x', sizeof(node) - 1);
	node[sizeof(node) - 1] = 0;
	assert_refused(node, false, -EINVAL, "more than 255 characters");
	node[GAMMA_NODE_MAX] = 0;
	assert_refused(node, false, -ENOENT, "host name known here");
	assert_refused("", true, -EINVAL, "empty");
	assert_refused("a\nb", true, -EINVAL, "control characters");
	assert_refused("%s%n", true, -ENOENT, "'%s%n'");
}

static void resolve__service(void **state)
{
	static const char *const bad[] = {"",      "0",   "65536",  "99999",     "100000", "-1",
					  "+1",    " 1",  "1 ",     "1.0",       "http",   "0x10",
					  "00000", "1\n", "000001", "4294967297"};
	char service[5000];

	(void) state;
	assert_int_equal(resolve("eth0", "1", true), 0);
	assert_int_equal(out.port, 1);
	assert_int_equal(resolve("peer", "65535", false), 0);
	assert_int_equal(out.port, 65535);
	assert_int_equal(resolve("peer", "09228", false), 0);
	assert_int_equal(out.port, 9228);
	for (size_t i = 0; i < gamma_array_size(bad); i++)
		assert_int_equal(resolve("eth0", bad[i], true), -EINVAL);
	memset(service, '1', sizeof(service) - 1);
	service[sizeof(service) - 1] = 0;
	assert_int_equal(resolve("eth0", service, true), -EINVAL);
}

static void resolve__without_conf_and_nics(void **state)
{
	(void) state;
	assert_int_equal(
		gamma_resolve("02:00:00:00:00:55", "7", false, NULL, NULL, 0, &out, NULL, 0), 0);
	assert_int_equal(out.mac[5], 0x55);
	assert_int_equal(
		gamma_resolve("127.0.0.1", NULL, false, NULL, NULL, 0, &out, why, sizeof(why)),
		-ENODEV);
	assert_string_equal(why, "this host has no usable NIC");
	assert_int_equal(gamma_resolve("eth0", "x", true, NULL, NULL, 0, &out, NULL, 0), -EINVAL);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(resolve__mac),
		test(resolve__interface),
		test(resolve__host_of_conf),
		test(resolve__ipv4),
		test(resolve__ipv6),
		test(resolve__host_name),
		test(resolve__loopback_means_the_default_nic),
		test(resolve__no_node),
		test(resolve__absurd_nodes),
		test(resolve__service),
		test(resolve__without_conf_and_nics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
