// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/nic/arp_nd.c. Two network namespaces, made here and gone with
 * their processes (skipped where they cannot be made: not root, no `ip`):
 *
 *   child, the tested side                          grandchild, the neighbour
 *   tnic0 02:..:01 10.66.0.1/24  ---- veth pair ----  tnic1 02:..:02 10.66.0.2/24
 *   lo 10.66.9.9/32; 10.66.1.0/24 through 10.66.0.2; 10.66.0.3 listed as permanent
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "nic/arp_nd.h"

enum { PASSED = 0, FAILED = 1, NO_NAMESPACE = 77 };

/* For the child: the line number identifies the failure. */
#define expect(condition)                                                       \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			return FAILED;                                          \
		}                                                               \
	} while (0)

static char last_line[512];

static void keep_line(enum gamma_log_level level, const char *line)
{
	(void) level;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

/* ---- the two namespaces ---- */

/* Makes the neighbour's namespace, says so on ready, and lives as long as its parent. */
static void be_neighbour(int ready)
{
	char done = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNET) || write(ready, &done, 1) != 1)
		_exit(NO_NAMESPACE);
	for (;;)
		pause();
}

static bool build(pid_t neighbour)
{
	char script[1024];

	snprintf(script, sizeof(script),
		 "exec 2>/dev/null; n='nsenter -t %d -n ip'; "
		 "ip link set lo up && "
		 "ip link add tnic0 address 02:00:00:00:00:01 type veth "
		 "peer name tnic1 address 02:00:00:00:00:02 netns %d && "
		 "ip addr add 10.66.0.1/24 dev tnic0 && ip link set tnic0 up && "
		 "$n addr add 10.66.0.2/24 dev tnic1 && $n link set tnic1 up && "
		 "ip addr add 10.66.9.9/32 dev lo && "
		 "ip route add 10.66.1.0/24 via 10.66.0.2 && "
		 "ip route add unreachable 10.66.2.0/24 && "
		 "ip neigh add 10.66.0.3 lladdr 02:00:00:00:00:03 dev tnic0 nud permanent",
		 neighbour, neighbour);
	return !system(script);
}

static int child(int (*check)(void))
{
	int ready[2], result = NO_NAMESPACE;
	pid_t neighbour;
	char done;

	if (unshare(CLONE_NEWNET) || pipe(ready))
		return NO_NAMESPACE;
	neighbour = fork();
	if (!neighbour)
		be_neighbour(ready[1]);
	close(ready[1]);
	if (read(ready[0], &done, 1) == 1 && build(neighbour))
		result = check();
	close(ready[0]);
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
	return result;
}

static void in_namespaces(int (*check)(void))
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(child(check));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE)
		skip();
	assert_int_equal(status, PASSED);
}

/* ---- checks, in the child ---- */

static uint8_t mac[GAMMA_MAC_LEN];
static int ifindex;

static struct gamma_ip address(const char *text)
{
	struct gamma_ip ip;

	if (!gamma_ip_parse(text, &ip))
		abort();
	return ip;
}

static int find_owner(const char *text)
{
	struct gamma_ip ip = address(text);

	return gamma_arp_nd_find_owner(&ip, mac, &ifindex);
}

static int find(const char *text, int timeout_ms)
{
	struct gamma_ip ip = address(text);

	memset(mac, 0, sizeof(mac));
	ifindex = 0;
	last_line[0] = 0;
	gamma_log_set_sink(keep_line);
	return gamma_arp_nd_resolve(&ip, timeout_ms, mac, &ifindex);
}

static int check_answer(void)
{
	expect(!find("10.66.0.2", 2000));
	expect(mac[5] == 2 && ifindex == (int) if_nametoindex("tnic0"));
	/* Known now, in whatever state. */
	expect(!find("10.66.0.2", 0) && mac[5] == 2);
	return PASSED;
}

static void neighbour_mac__learns_by_arp(void **state)
{
	(void) state;
	in_namespaces(check_answer);
}

static int check_permanent(void)
{
	expect(!find("10.66.0.3", 0));
	expect(mac[0] == 2 && mac[5] == 3 && ifindex == (int) if_nametoindex("tnic0"));
	return PASSED;
}

static void neighbour_mac__permanent_entry_needs_no_arp(void **state)
{
	(void) state;
	in_namespaces(check_permanent);
}

static int check_silence(void)
{
	expect(find("10.66.0.77", 30) == -EHOSTUNREACH);
	expect(strstr(last_line, "no answer to ARP"));
	/* ARP refused by the NIC: no use in waiting. */
	expect(!system("ip link set tnic0 arp off"));
	expect(find("10.66.0.78", 60000) == -EHOSTUNREACH);
	expect(strstr(last_line, "ARP is off"));
	return PASSED;
}

static void neighbour_mac__no_answer(void **state)
{
	(void) state;
	in_namespaces(check_silence);
}

static int check_unreachable(void)
{
	expect(find("10.66.1.5", 60000) == -EMULTIHOP);
	expect(strstr(last_line, "behind a gateway"));
	expect(find("10.66.2.5", 60000) == -ENETUNREACH);
	expect(find("192.0.2.1", 60000) == -ENETUNREACH);
	expect(find("10.66.0.255", 60000) == -EINVAL);
	return PASSED;
}

static void neighbour_mac__gateway_no_route_and_broadcast(void **state)
{
	(void) state;
	in_namespaces(check_unreachable);
}

static int check_local(void)
{
	expect(!find("10.66.0.1", 0));
	expect(mac[5] == 1 && ifindex == (int) if_nametoindex("tnic0"));
	expect(find("127.0.0.1", 0) == -EADDRNOTAVAIL);
	expect(find("127.0.0.5", 0) == -EADDRNOTAVAIL);
	expect(find("10.66.9.9", 0) == -EADDRNOTAVAIL);
	expect(!find_owner("10.66.0.1") && mac[5] == 1);
	expect(find_owner("10.66.0.2") == -EADDRNOTAVAIL);
	expect(find_owner("10.66.9.9") == -EADDRNOTAVAIL);
	return PASSED;
}

static void neighbour_mac__local_addresses(void **state)
{
	(void) state;
	in_namespaces(check_local);
}

/* Without duplicate address detection, which takes a second. */
static bool build_ipv6(void)
{
	return !system("exec 2>/dev/null; ip -6 addr add 2001:db8:66::1/64 dev tnic0 nodad && "
		       "ip -6 addr add fe80::66/64 dev tnic0 nodad && "
		       "ip -6 neigh add 2001:db8:66::3 lladdr 02:00:00:00:00:03 dev tnic0 nud "
		       "permanent && "
		       "ip -6 neigh add fe80::67 lladdr 02:00:00:00:00:04 dev tnic0 nud permanent "
		       "&& ip -6 route add 2001:db8:67::/64 via 2001:db8:66::3");
}

static int check_ipv6(void)
{
	if (!build_ipv6())
		return NO_NAMESPACE;
	expect(!find("2001:db8:66::3", 0));
	expect(mac[5] == 3 && ifindex == (int) if_nametoindex("tnic0"));
	expect(!find("fe80::67%tnic0", 0) && mac[5] == 4);
	expect(!find("2001:db8:66::1", 0) && mac[5] == 1);
	expect(!find_owner("2001:db8:66::1") && mac[5] == 1);
	expect(!find_owner("fe80::66%tnic0") && mac[5] == 1);
	expect(find_owner("2001:db8:66::3") == -EADDRNOTAVAIL);
	expect(find("2001:db8:66::77", 30) == -EHOSTUNREACH);
	expect(strstr(last_line, "no answer to neighbour discovery"));
	expect(find("2001:db8:67::1", 60000) == -EMULTIHOP);
	expect(strstr(last_line, "behind a gateway"));
	return PASSED;
}

static void neighbour_mac__ipv6(void **state)
{
	(void) state;
	in_namespaces(check_ipv6);
}

static int check_discovery(void)
{
	if (!build_ipv6())
		return NO_NAMESPACE;
	/* The neighbour's own link-local address follows from its MAC. */
	for (int i = 0; i < 100 && find("fe80::ff:fe00:2%tnic0", 100); i++)
		usleep(50000); /* until that address is not tentative any more */
	expect(mac[5] == 2);
	return PASSED;
}

static void neighbour_mac__learns_by_neighbour_discovery(void **state)
{
	(void) state;
	in_namespaces(check_discovery);
}

/* ---- no network needed ---- */

static void neighbour_mac__no_hosts_address(void **state)
{
	static const char *const rows[] = {"0.0.0.0",   "0.1.2.3",         "224.0.0.1",
					   "240.0.0.1", "255.255.255.255", "239.255.255.255",
					   "::",        "ff02::1",         "fe80::1"};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(rows); i++)
		assert_int_equal(find(rows[i], 60000), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbour_mac__no_hosts_address),
		cmocka_unit_test(neighbour_mac__learns_by_arp),
		cmocka_unit_test(neighbour_mac__permanent_entry_needs_no_arp),
		cmocka_unit_test(neighbour_mac__no_answer),
		cmocka_unit_test(neighbour_mac__gateway_no_route_and_broadcast),
		cmocka_unit_test(neighbour_mac__local_addresses),
		cmocka_unit_test(neighbour_mac__ipv6),
		cmocka_unit_test(neighbour_mac__learns_by_neighbour_discovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
