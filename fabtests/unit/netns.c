// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The namespace of netns.h. */
#include "netns.h"

#include <arpa/inet.h>
#include <poll.h>
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
	IPV6_PORT = 9300,
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

static bool reaches_itself(uint8_t host)
{
	struct sockaddr_in6 own = {.sin6_family = AF_INET6, .sin6_port = htons(IPV6_PORT)};
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	bool arrives;

	own.sin6_addr.s6_addr[0] = 0xfd;
	own.sin6_addr.s6_addr[15] = host;
	arrives = !bind(fd, (struct sockaddr *) &own, sizeof(own)) &&
		  sendto(fd, "", 1, 0, (struct sockaddr *) &own, sizeof(own)) == 1 &&
		  poll(&ready, 1, 1) == 1;
	close(fd);
	return arrives;
}

void netns_await_ipv6(uint8_t host)
{
	time_t end = time(NULL) + ENOUGH_S;

	while (made && !reaches_itself(host) && time(NULL) < end)
		usleep(1000);
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
