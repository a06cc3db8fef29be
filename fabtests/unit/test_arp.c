// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/nic/arp.c. Two network namespaces, made here and gone with
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
#include "nic/arp.h"

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

static int find(const char *ipv4, int timeout_ms)
{
	memset(mac, 0, sizeof(mac));
	ifindex = 0;
	last_line[0] = 0;
	gamma_log_set_sink(keep_line);
	return gamma_arp_resolve(inet_addr(ipv4), timeout_ms, mac, &ifindex);
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
	expect(find("10.66.1.5", 60000) == -ENETUNREACH);
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
	expect(!gamma_arp_find_owner(inet_addr("10.66.0.1"), mac, &ifindex) && mac[5] == 1);
	expect(gamma_arp_find_owner(inet_addr("10.66.0.2"), mac, &ifindex) == -EADDRNOTAVAIL);
	expect(gamma_arp_find_owner(inet_addr("10.66.9.9"), mac, &ifindex) == -EADDRNOTAVAIL);
	return PASSED;
}

static void neighbour_mac__local_addresses(void **state)
{
	(void) state;
	in_namespaces(check_local);
}

/* ---- no network needed ---- */

static void neighbour_mac__no_hosts_address(void **state)
{
	static const char *const rows[] = {"0.0.0.0",         "0.1.2.3",   "224.0.0.1",
					   "239.255.255.255", "240.0.0.1", "255.255.255.255"};

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
