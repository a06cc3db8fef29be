// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/linger.c: not to wait for what others have sent along. */
#include "netns.h"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "gammad/linger.h"
#include "unix/scm.h"

/* Both ends; one such socket waits in the second one's queue. */
static bool send_one(int pair[2])
{
	int fd = netns_lingering();
	bool sent = fd >= 0 && !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) &&
		    !gamma_scm_send(pair[0], NULL, 0, "", 1, &fd, 1);

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

static void must_end(bool bounded, bool (*drop)(int fd), bool ends)
{
	pid_t child = fork();
	int pair[2];

	if (!child)
		_exit((bounded && gammad_linger_init()) || !send_one(pair) || !drop(pair[1]));
	assert_int_equal(netns_ends(child), ends);
}

/* So there is something to be bound. */
static void without__waits(void **state)
{
	(void) state;
	netns_needed();
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
	assert_int_equal(gammad_linger_init(), 0);
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
