// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* nic/igmp.c: memberships in IP groups, in a network namespace (netns.h). */
#include "netns.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <unistd.h>

#include "nic/igmp.h"

static const uint8_t group[GAMMA_MAC_LEN] = {1, 0, 0x5e, 0x12, 0x34, 0x56};
static const uint8_t other[GAMMA_MAC_LEN] = {1, 0, 0x5e, 0x12, 0x34, 0x57};

static int setup(void **state)
{
	if (netns_setup(state))
		return -1;
	netns_ip("addr add 10.1.2.3/24 dev g0");
	return 0;
}

/* Members of 239.18.52.LAST, as the kernel counts them; on g0. */
static unsigned users_of(uint8_t last)
{
	const uint8_t bytes[4] = {239, 0x12, 0x34, last};
	FILE *file = fopen("/proc/thread-self/net/igmp", "r");
	unsigned value, users, found = 0;
	uint32_t wanted;
	char line[256], name[32] = "";

	assert_non_null(file);
	memcpy(&wanted, bytes, sizeof(wanted));
	while (fgets(line, sizeof(line), file)) {
		if (line[0] != '\t')
			sscanf(line, "%*d %31s", name);
		else if (sscanf(line, " %8X %u", &value, &users) == 2 && value == wanted &&
			 !strcmp(name, "g0"))
			found = users;
	}
	fclose(file);
	return found;
}

static void join__lasts_as_long_as_the_descriptor(void **state)
{
	int fd;

	(void) state;
	netns_needed();
	fd = gamma_igmp_join((int) if_nametoindex("g0"), group);
	assert_true(fd >= 0);
	assert_int_equal(users_of(0x56), 1);
	assert_int_equal(users_of(0x57), 0);
	close(fd);
	assert_int_equal(users_of(0x56), 0);
}

static void join__counts_members_apart(void **state)
{
	int first, second, third;

	(void) state;
	netns_needed();
	first = gamma_igmp_join((int) if_nametoindex("g0"), group);
	second = gamma_igmp_join((int) if_nametoindex("g0"), group);
	third = gamma_igmp_join((int) if_nametoindex("g0"), other);
	assert_true(first >= 0 && second >= 0 && third >= 0);
	assert_int_equal(users_of(0x56), 2);
	close(first);
	assert_int_equal(users_of(0x56), 1);
	assert_int_equal(users_of(0x57), 1);
	close(second);
	close(third);
}

static void join__on_no_nic_says_so(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(gamma_igmp_join(4711, group), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join__lasts_as_long_as_the_descriptor),
		cmocka_unit_test(join__counts_members_apart),
		cmocka_unit_test(join__on_no_nic_says_so),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
