// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The namespace of netns.h. */
#include "netns.h"

#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	LINGER_S = 3600,
	ENOUGH_S = 20, /* who has not ended by then waits */
};

static bool made;

int netns_ip(const char *arguments)
{
	char command[256];

	snprintf(command, sizeof(command), "exec 2>/dev/null; ip %s", arguments);
	return system(command);
}

bool netns_add_nics(void)
{
	return !netns_ip("link add g0 address 02:00:00:00:00:00 mtu 9000 type veth "
			 "peer name g1 address 02:00:00:00:00:01 mtu 9000") &&
	       !netns_ip("link set g0 up") && !netns_ip("link set g1 up");
}

int netns_setup(void **state)
{
	(void) state;
	if (unshare(CLONE_NEWNET))
		return 0;
	made = !netns_ip("link set lo up") && netns_add_nics();
	return 0;
}

void netns_needed(void)
{
	if (!made)
		skip();
}

int netns_lingering(void)
{
	struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
	struct sockaddr_in name = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	static const char bytes[65536];
	socklen_t len = sizeof(name);

	if (bind(listener, (struct sockaddr *) &name, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *) &name, &len) ||
	    connect(fd, (struct sockaddr *) &name, len) || accept(listener, NULL, NULL) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		return -1;
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return fd;
}

bool netns_ends(pid_t child)
{
	time_t end = time(NULL) + ENOUGH_S;
	int status;

	while (!waitpid(child, &status, WNOHANG)) {
		if (time(NULL) >= end) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return false;
		}
		usleep(10000);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	return true;
}
