// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The namespace of netns.h. */
#include "netns.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool made;

int netns_ip(const char *arguments)
{
	char command[256];

	snprintf(command, sizeof(command), "exec 2>/dev/null; ip %s", arguments);
	return system(command);
}

int netns_setup(void **state)
{
	(void) state;
	if (unshare(CLONE_NEWNET))
		return 0;
	made = !netns_ip("link set lo up") &&
	       !netns_ip("link add g0 address 02:00:00:00:00:00 mtu 9000 type veth "
			 "peer name g1 address 02:00:00:00:00:01 mtu 9000") &&
	       !netns_ip("link set g0 up") && !netns_ip("link set g1 up");
	return 0;
}

void netns_needed(void)
{
	if (!made)
		skip();
}
