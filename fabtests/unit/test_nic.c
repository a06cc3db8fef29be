// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/nic/select.c on written arrays, of nic.c and host.c in a network
 * namespace of their own (skipped where that cannot be made: not root, no `ip`).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <linux/ethtool.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "conf/conf.h"
#include "nic/coalesce_hint.h"
#include "nic/select.h"

#define GBIT 1000000000ull

/* A NIC in order; a test changes what it is about. */
static struct gamma_nic a_nic(int ifindex, const char *name, const char *kind)
{
	struct gamma_nic nic = {
		.ifindex = ifindex,
		.mac = {2, 0, 0, 0, 0, ifindex},
		.mtu = 1500,
		.speed = GBIT,
		.up = true,
		.carrier = true,
		.ethernet = true,
		.has_device = !*kind,
	};

	strcpy(nic.name, name);
	strcpy(nic.kind, kind);
	return nic;
}

static void assert_reason(const struct gamma_nic *nic, const char *expected)
{
	if (!expected && nic->reason)
		fail_msg("%s %s", nic->name, nic->reason);
	if (expected && (!nic->reason || !strstr(nic->reason, expected)))
		fail_msg("%s: '%s' does not hold '%s'", nic->name, nic->reason, expected);
}

/* ---- judge ---- */

static void nic_judge__kinds_alone(void **state)
{
	static const struct {
		const char *kind, *expected;
	} rows[] = {
		{"", NULL},
		{"veth", NULL},
		{"macvlan", NULL},
		{"ipvlan", "use a macvlan"},
		{"tun", "belongs to a program"},
		{"macvtap", "belongs to a program"},
		{"vxlan", "is a tunnel"},
		{"gretap", "is a tunnel"},
		{"dummy", "is a dummy"},
		{"ifb", "is a dummy"},
		{"vrf", "is a VRF"},
		{"bridge", "without a physical NIC"},
		{"bond", "without a usable NIC"},
		{"team", "without a usable NIC"},
		{"vlan", "is a VLAN of an interface"},
		{"unheard-of", "GAMMA cannot use"},
	};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(rows); i++) {
		struct gamma_nic nic = a_nic(1, "x", rows[i].kind);

		gamma_nic_select_judge(&nic, 1);
		assert_reason(&nic, rows[i].expected);
	}
}

static void nic_judge__states(void **state)
{
	struct gamma_nic nics[] = {
		a_nic(1, "lo", ""),       a_nic(2, "ib0", ""),     a_nic(3, "wlan0", ""),
		a_nic(4, "down0", ""),    a_nic(5, "cable0", ""),  a_nic(6, "small0", ""),
		a_nic(7, "group0", ""),   a_nic(8, "zero0", ""),   a_nic(9, "vmnet0", ""),
		a_nic(10, "gre0", "gre"), a_nic(11, "least0", ""),
	};
	static const char *const expected[] = {
		"is the loopback", "is not Ethernet",   "is wireless",  "is down",
		"has no carrier",  "MTU below 576",     "no valid MAC", "no valid MAC",
		"has no device",   "is a tunnel: name", NULL,
	};

	(void) state;
	nics[0].loopback = true;
	nics[0].ethernet = nics[1].ethernet = nics[9].ethernet = false;
	nics[2].wireless = true;
	nics[3].up = nics[3].carrier = false;
	nics[4].carrier = false;
	nics[5].mtu = GAMMA_NIC_MTU_MIN - 1;
	nics[6].mac[0] = 1;
	memset(nics[7].mac, 0, GAMMA_MAC_LEN);
	nics[8].has_device = false;
	nics[10].mtu = GAMMA_NIC_MTU_MIN;
	gamma_nic_select_judge(nics, gamma_array_size(nics));
	for (size_t i = 0; i < gamma_array_size(nics); i++)
		assert_reason(&nics[i], expected[i]);
}

static void nic_judge__members_and_their_masters(void **state)
{
	struct gamma_nic nics[] = {
		a_nic(1, "eth0", ""), a_nic(2, "br0", "bridge"),
		a_nic(3, "eth1", ""), a_nic(4, "bond0", "bond"),
		a_nic(5, "eth2", ""), a_nic(6, "vrf0", "vrf"),
		a_nic(7, "eth3", ""), a_nic(8, "ovs-system", "openvswitch"),
		a_nic(9, "eth4", ""), a_nic(10, "team0", "team"),
	};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(nics); i += 2)
		nics[i].master = nics[i + 1].ifindex;
	gamma_nic_select_judge(nics, gamma_array_size(nics));
	assert_reason(&nics[0], "is a port of a bridge");
	assert_reason(&nics[1], NULL);
	assert_reason(&nics[2], "is part of a bond");
	assert_reason(&nics[3], NULL);
	assert_reason(&nics[4], NULL);
	assert_reason(&nics[5], "is a VRF");
	assert_reason(&nics[6], "belongs to another interface");
	assert_reason(&nics[8], "is part of a bond or team");
	assert_reason(&nics[9], NULL);
}

static void nic_judge__container_bridge_has_no_device(void **state)
{
	struct gamma_nic nics[] = {
		a_nic(1, "docker0", "bridge"),
		a_nic(2, "veth1", "veth"),
		a_nic(3, "docker0.5", "vlan"),
	};

	(void) state;
	nics[1].master = 1;
	nics[2].lower = 1;
	gamma_nic_select_judge(nics, 3);
	assert_reason(&nics[0], "without a physical NIC");
	assert_reason(&nics[1], "is a port of a bridge");
	assert_reason(&nics[2], "is a VLAN of an interface");
}

static void nic_judge__stack_of_masters(void **state)
{
	struct gamma_nic nics[] = {
		a_nic(1, "br0", "bridge"),
		a_nic(2, "bond0.7", "vlan"),
		a_nic(3, "bond0", "bond"),
		a_nic(4, "eth0", ""),
	};

	(void) state;
	nics[1].master = 1;
	nics[1].lower = 3;
	nics[3].master = 3;
	gamma_nic_select_judge(nics, 4);
	assert_reason(&nics[0], NULL);
	/* The same without hardware: a bond of veths will do, a bridge of them will not. */
	nics[3].has_device = false;
	strcpy(nics[3].kind, "veth");
	nics[1].master = 0;
	gamma_nic_select_judge(nics, 4);
	assert_reason(&nics[0], "without a physical NIC");
	assert_reason(&nics[1], NULL);
	assert_reason(&nics[2], NULL);
}

static void nic_judge__vlan_in_a_container(void **state)
{
	struct gamma_nic nic = a_nic(7, "eth0.5", "vlan");

	(void) state;
	nic.lower = 2;
	nic.lower_elsewhere = true;
	gamma_nic_select_judge(&nic, 1);
	assert_reason(&nic, NULL);
}

static void nic_judge__circle_ends(void **state)
{
	struct gamma_nic nics[] = {a_nic(1, "a", "bridge"), a_nic(2, "b", "bridge")};

	(void) state;
	nics[0].master = 2;
	nics[1].master = 1;
	gamma_nic_select_judge(nics, 2);
	assert_reason(&nics[0], "is a port of a bridge");
	assert_reason(&nics[1], "is a port of a bridge");
}

static void nic_judge__vlan_of_wireless(void **state)
{
	struct gamma_nic nics[] = {a_nic(1, "wlan0", ""), a_nic(2, "wlan0.1", "vlan")};

	(void) state;
	nics[0].wireless = true;
	nics[1].lower = 1;
	gamma_nic_select_judge(nics, 2);
	assert_reason(&nics[1], "is a VLAN of an interface");
}

/* ---- default ---- */

static void nic_default__fastest_then_mtu_then_name(void **state)
{
	struct gamma_nic nics[] = {a_nic(1, "eth2", ""), a_nic(2, "eth10", ""), a_nic(3, "a", "")};

	(void) state;
	nics[2].speed = 0;
	assert_ptr_equal(gamma_nic_select_default(nics, 3, NULL), &nics[1]);
	nics[0].mtu = 9000;
	assert_ptr_equal(gamma_nic_select_default(nics, 3, NULL), &nics[0]);
	nics[1].speed = 10 * GBIT;
	assert_ptr_equal(gamma_nic_select_default(nics, 3, NULL), &nics[1]);
	nics[1].reason = "is down";
	assert_ptr_equal(gamma_nic_select_default(nics, 3, NULL), &nics[0]);
}

static void nic_default__none_usable(void **state)
{
	struct gamma_nic nic = a_nic(1, "eth0", "");

	(void) state;
	nic.reason = "is down";
	assert_null(gamma_nic_select_default(&nic, 1, NULL));
	assert_null(gamma_nic_select_default(NULL, 0, NULL));
}

static char warning[512];

static void keep_warning(enum gamma_log_level level, const char *line)
{
	if (level == GAMMA_LOG_WARN)
		snprintf(warning, sizeof(warning), "%s", line);
}

static void nic_default__listed_comes_first_and_is_missed_when_unusable(void **state)
{
	static const char text[] = "me 02:00:00:00:00:02\nother 02:00:00:00:00:99";
	struct gamma_nic nics[] = {a_nic(1, "eth0", ""), a_nic(2, "eth1", "")};
	struct gamma_conf *conf;
	char error[256];

	(void) state;
	assert_int_equal(gamma_conf_parse("f", text, strlen(text), &conf, error, sizeof(error)), 0);
	nics[0].speed = 100 * GBIT;
	warning[0] = 0;
	gamma_log_set_sink(keep_warning);
	assert_ptr_equal(gamma_nic_select_default(nics, 2, conf), &nics[1]);
	assert_string_equal(warning, "");
	nics[1].reason = "is down";
	assert_ptr_equal(gamma_nic_select_default(nics, 2, conf), &nics[0]);
	assert_non_null(strstr(warning, "eth1"));
	gamma_log_set_sink(NULL);
	gamma_conf_free(conf);
}

static void nic_by_mac__prefers_the_usable_of_one_mac(void **state)
{
	struct gamma_nic nics[] = {
		a_nic(1, "eth0", ""),
		a_nic(2, "bond0", "bond"),
		a_nic(3, "bond0.5", "vlan"),
	};

	(void) state;
	nics[0].reason = "is part of a bond";
	nics[1].mac[5] = nics[2].mac[5] = 1;
	assert_ptr_equal(gamma_nic_select_by_mac(nics, 3, nics[0].mac), &nics[1]);
	nics[1].reason = nics[2].reason = "is down";
	assert_non_null(gamma_nic_select_by_mac(nics, 3, nics[0].mac)->reason);
	assert_null(gamma_nic_select_by_mac(nics, 3, (const uint8_t[]){2, 9, 9, 9, 9, 9}));
}

static void nic_by_name_and_ifindex__absent(void **state)
{
	struct gamma_nic nic = a_nic(4, "eth0", "");

	(void) state;
	assert_ptr_equal(gamma_nic_select_by_name(&nic, 1, "eth0"), &nic);
	assert_ptr_equal(gamma_nic_select_by_ifindex(&nic, 1, 4), &nic);
	assert_null(gamma_nic_select_by_name(&nic, 1, "eth"));
	assert_null(gamma_nic_select_by_ifindex(&nic, 1, 5));
}

static void nic_explain_none__names_each_worth_it(void **state)
{
	struct gamma_nic nics[] = {
		a_nic(1, "lo", ""),
		a_nic(2, "eth0", ""),
		a_nic(3, "ifb0", "ifb"),
		a_nic(4, "eth1", ""),
	};
	char why[128];

	(void) state;
	nics[0].ethernet = false;
	nics[1].carrier = false;
	nics[3].up = false;
	gamma_nic_select_judge(nics, 4);
	gamma_nic_select_explain_none(nics, 4, why, sizeof(why));
	assert_non_null(strstr(why, "no usable NIC: eth0 has no carrier"));
	assert_non_null(strstr(why, "; eth1 is down"));
	assert_null(strstr(why, "ifb0"));
	for (size_t room = 0; room < sizeof(why); room++)
		gamma_nic_select_explain_none(nics, 4, why, room);
	gamma_nic_select_explain_none(NULL, 0, why, sizeof(why));
	assert_string_equal(why, "this host has no usable NIC");
}

/* ---- the kernel's own list ---- */

/* Runs check in a child in a new network namespace, as the test's own would stay changed. */
static void in_namespace(const char *setup, int (*check)(void))
{
	enum { PASSED = 0, NO_NAMESPACE = 77 };
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWNET) || (*setup && system(setup)))
			_exit(NO_NAMESPACE);
		_exit(check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE)
		skip();
	assert_int_equal(status, PASSED);
}

/* For the child: the line number identifies the failure. */
#define expect(condition)                                                       \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			return 1;                                               \
		}                                                               \
	} while (0)

static int check_list(void)
{
	const struct gamma_nic *nic;
	struct gamma_nic *nics;
	size_t count;

	expect(!gamma_nic_list(&nics, &count));
	nic = gamma_nic_select_by_name(nics, count, "tnic0");
	expect(nic && !nic->reason && nic->up && nic->carrier && nic->mtu == 9000);
	expect(nic->speed == 10 * GBIT && !strcmp(nic->driver, "veth") && !nic->pci[0]);
	expect(!memcmp(nic->mac, (const uint8_t[]){2, 0, 0, 0, 0, 1}, GAMMA_MAC_LEN));
	expect(gamma_nic_select_default(nics, count, NULL) == nic);
	expect(gamma_nic_select_by_ifindex(nics, count, nic->ifindex) == nic);
	nic = gamma_nic_select_by_name(nics, count, "tnic2");
	expect(nic && nic->reason && strstr(nic->reason, "is down"));
	nic = gamma_nic_select_by_name(nics, count, "tnic3");
	expect(nic && nic->reason && strstr(nic->reason, "is a port of a bridge"));
	nic = gamma_nic_select_by_name(nics, count, "tbridge");
	expect(nic && nic->reason && strstr(nic->reason, "without a physical NIC"));
	nic = gamma_nic_select_by_name(nics, count, "lo");
	expect(nic && nic->reason && strstr(nic->reason, "loopback"));
	gamma_nic_list_free(nics);
	return 0;
}

static void nic_list__own_namespace(void **state)
{
	(void) state;
	in_namespace(
		"exec 2>/dev/null; "
		"ip link add tnic0 address 02:00:00:00:00:01 mtu 9000 type veth peer name tnic1 &&"
		"ip link add tnic2 type veth peer name tnic3 &&"
		"ip link add tbridge type bridge && ip link set tnic3 master tbridge &&"
		"ip link set tnic0 up && ip link set tnic1 up mtu 1500",
		check_list);
}

static int check_many(void)
{
	struct gamma_nic *nics;
	size_t count;

	expect(!gamma_nic_list(&nics, &count));
	/* More than one read of the dump: 100 pairs. */
	expect(count >= 201 && gamma_nic_select_by_name(nics, count, "tnic100"));
	gamma_nic_list_free(nics);
	return 0;
}

static void nic_list__more_than_one_read(void **state)
{
	(void) state;
	in_namespace("for i in $(seq 100); do echo link add tnic$i type veth; done |"
		     "ip -batch - 2>/dev/null",
		     check_many);
}

static void nic_hint__interrupts_held_back(void **state)
{
	struct ethtool_coalesce none = {.rx_max_coalesced_frames = 1};
	struct ethtool_coalesce fixed = {.rx_coalesce_usecs = 30};
	struct ethtool_coalesce adaptive = {.use_adaptive_rx_coalesce = 1};
	char text[160];

	(void) state;
	assert_false(gamma_coalesce_hint_of("eth1", &none, text, sizeof(text)));
	assert_true(gamma_coalesce_hint_of("eth1", &fixed, text, sizeof(text)));
	assert_non_null(strstr(text, "eth1: holds interrupts back up to 30 us"));
	assert_non_null(strstr(text, "ethtool -C eth1 rx-usecs 0"));
	assert_true(gamma_coalesce_hint_of("eth1", &adaptive, text, sizeof(text)));
	assert_non_null(strstr(text, "adaptive-rx off"));
	assert_false(gamma_coalesce_hint("lo", text, sizeof(text)));
	assert_false(gamma_coalesce_hint("no-such-nic", text, sizeof(text)));
}

static uint64_t identity_outside;

static int check_identity(void)
{
	expect(gamma_host_identity() && gamma_host_identity() != identity_outside);
	return 0;
}

static void host_identity__same_again_and_differs_by_namespace(void **state)
{
	(void) state;
	identity_outside = gamma_host_identity();
	assert_true(identity_outside != 0);
	assert_true(gamma_host_identity() == identity_outside);
	in_namespace("", check_identity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nic_judge__kinds_alone),
		cmocka_unit_test(nic_judge__states),
		cmocka_unit_test(nic_judge__members_and_their_masters),
		cmocka_unit_test(nic_judge__container_bridge_has_no_device),
		cmocka_unit_test(nic_judge__stack_of_masters),
		cmocka_unit_test(nic_judge__vlan_in_a_container),
		cmocka_unit_test(nic_judge__circle_ends),
		cmocka_unit_test(nic_judge__vlan_of_wireless),
		cmocka_unit_test(nic_default__fastest_then_mtu_then_name),
		cmocka_unit_test(nic_default__none_usable),
		cmocka_unit_test(nic_default__listed_comes_first_and_is_missed_when_unusable),
		cmocka_unit_test(nic_by_mac__prefers_the_usable_of_one_mac),
		cmocka_unit_test(nic_by_name_and_ifindex__absent),
		cmocka_unit_test(nic_explain_none__names_each_worth_it),
		cmocka_unit_test(nic_list__own_namespace),
		cmocka_unit_test(nic_list__more_than_one_read),
		cmocka_unit_test(nic_hint__interrupts_held_back),
		cmocka_unit_test(host_identity__same_again_and_differs_by_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
