// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Bounds the time that lingering sockets block this thread: see linger.h. A timer sends
 * signals. */
#include "gammad/linger.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Newer than some headers. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { INTERVAL_MS = 2 };

static bool bounded;
static timer_t timer;

static void on_alarm(int signal)
{
	(void) signal;
}

int gammad_linger_init(void)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};

	event.sigev_notify_thread_id = (pid_t) syscall(SYS_gettid);
	if (sigaction(SIGALRM, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer))
		return -errno;
	bounded = true;
	return 0;
}

/* Periodic: a signal that comes before the blocking call does not end it. */
static void set_alarm(bool on)
{
	struct timespec interval = {.tv_nsec = on ? INTERVAL_MS * 1000000 : 0};
	struct itimerspec spec = {.it_value = interval, .it_interval = interval};

	if (bounded)
		timer_settime(timer, 0, &spec, NULL);
}

void gammad_linger_begin(void)
{
	set_alarm(true);
}

void gammad_linger_end(void)
{
	set_alarm(false);
}

void gammad_linger_close(int fd)
{
	set_alarm(true);
	close(fd);
	set_alarm(false);
}
