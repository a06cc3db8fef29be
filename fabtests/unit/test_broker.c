// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/link/broker.c: asking a gammad that is slow to answer. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/broker.h"

static char path[sizeof(((struct sockaddr_un *) 0)->sun_path)];

/* A socket that takes no further connection; returns it. */
static int busy(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), client;

	snprintf(path, sizeof(path), "/tmp/gamma-test-broker-%d", (int) getpid());
	strcpy(name.sun_path, path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *) &name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 0), 0);
	do
		client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	while (!connect(client, (struct sockaddr *) &name, sizeof(name)));
	assert_int_equal(errno, EAGAIN);
	return fd;
}

static void on_signal(int number)
{
	(void) number;
}

/* Programs have timers and children: what these signal does not make opening an endpoint fail. */
static void connect__goes_on_after_a_signal(void **state)
{
	struct itimerval often = {.it_interval.tv_usec = 5000, .it_value.tv_usec = 5000},
			 never = {0};
	struct sigaction action = {.sa_handler = on_signal};
	struct gamma_broker_served served;
	int fd = busy(), ret;
	char why[256];
	pid_t pid;

	(void) state;
	pid = fork();
	if (!pid) { /* has the socket, too, so that it can be heard of no sooner */
		usleep(100000);
		shutdown(fd, SHUT_RDWR);
		_exit(0);
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	ret = gamma_broker_nics(path, &served, why, sizeof(why));
	setitimer(ITIMER_REAL, &never, NULL);
	assert_int_equal(ret, -ECONNREFUSED);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connect__goes_on_after_a_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
