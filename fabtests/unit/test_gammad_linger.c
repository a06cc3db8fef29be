// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/linger.c: not to wait for what others have sent along. */
#include "netns.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gammad/linger.h"
#include "link/enclosed.h"

enum {
	LINGER_S = 3600,
	ENOUGH_S = 30, /* who has not ended by then waits */
};

/* Whoever drops it last waits: its peer reads nothing. */
static int lingering(void)
{
	struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
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

/* Both ends; one such socket waits in the second one's queue. */
static bool send_one(int pair[2])
{
	int fd = lingering();
	bool sent = fd >= 0 && !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) &&
		    !gamma_enclosed_send(pair[0], NULL, 0, "", 1, &fd, 1);

	/* Not the last one yet. */
	return sent && !close(fd);
}

static bool read_it(int fd)
{
	struct msghdr msg = {0};
	ssize_t len;

	gammad_linger_begin();
	len = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_TRUNC);
	gammad_linger_end();
	return len == 1 && msg.msg_flags & MSG_CTRUNC;
}

static bool throw_it_away(int fd)
{
	gammad_linger_close(fd);
	return true;
}

/* In a child, which the parent does not wait for longer than enough. */
static void must_end(bool bounded, bool (*drop)(int fd), bool ends)
{
	pid_t child = fork();
	int pair[2], status;
	time_t end = time(NULL) + (ends ? ENOUGH_S : 1);

	if (!child)
		_exit((bounded && gammad_linger_bound()) || !send_one(pair) || !drop(pair[1]));
	while (!waitpid(child, &status, WNOHANG) && time(NULL) <= end)
		usleep(10000);
	if (!kill(child, SIGKILL) && !waitpid(child, &status, 0))
		fail();
	assert_int_equal(WIFEXITED(status), ends);
	if (ends)
		assert_int_equal(WEXITSTATUS(status), 0);
}

/* So there is something to be bound. */
static void without__waits(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(netns_ip("link set lo up"), 0);
	must_end(false, read_it, false);
}

static void received__is_dropped(void **state)
{
	(void) state;
	netns_needed();
	must_end(true, read_it, true);
}

static void closed__is_dropped(void **state)
{
	(void) state;
	netns_needed();
	must_end(true, throw_it_away, true);
}

/* The timer stands still between: nothing interrupts what else waits. */
static void after__no_signal(void **state)
{
	struct timespec time = {.tv_nsec = 20000000};
	int pair[2];

	(void) state;
	assert_int_equal(gammad_linger_bound(), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	gammad_linger_close(pair[0]);
	gammad_linger_close(pair[1]);
	assert_int_equal(nanosleep(&time, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without__waits),
		cmocka_unit_test(received__is_dropped),
		cmocka_unit_test(closed__is_dropped),
		cmocka_unit_test(after__no_signal),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
