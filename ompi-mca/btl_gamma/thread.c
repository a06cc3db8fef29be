// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The progress thread, if the user wants it: makes progress while the program computes, so that
 * long messages, for which Open MPI exchanges control messages, continue without a call of MPI.
 * It starts at the first call of progress, when all upper layers are ready, and ends before
 * anything is closed.
 *
 * It takes processor time from the computation. So it does nothing while the program polls
 * itself. While messages arrive it sleeps for fixed times and handles all that has come meanwhile
 * at once. The first frame after a quiet time wakes it without delay.
 */
#include "btl_gamma.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	POLLED_US = 1000, /* us between two checks whether the program still polls */
	/* us between two polls while messages arrive. Both ends poll that seldom, and what is
	 * in flight in between must keep the wire busy: toward a slow port that is some 30
	 * frames. */
	GATHER_US = 125,
	QUIET_LOOKS = 4, /* empty polls until it blocks until a frame comes */
};

static struct {
	bool asked; /* to start; atomic */
	bool runs;
	pthread_t thread;
	int stop_fd;
	struct pollfd *fds; /* stop_fd, then one per NIC for its completions */
	unsigned int polls; /* by the program; atomic */
} state;

void btl_gamma_thread_note_poll(void)
{
	/* Calls of several threads at once may count as one: only a change matters. */
	__atomic_store_n(&state.polls, __atomic_load_n(&state.polls, __ATOMIC_RELAXED) + 1,
			 __ATOMIC_RELAXED);
}

/* True: the thread is to end. */
static bool pause_us(long us)
{
	const struct timespec time = {.tv_nsec = us * 1000};

	ppoll(state.fds, 1, &time, NULL);
	return state.fds[0].revents;
}

/* Whether only a new frame can give it work. */
static bool may_sleep(void)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	size_t i;

	for (i = 0; i < component->module_count; i++) {
		struct btl_gamma_module *module = component->modules[i];
		struct fid *cq = &module->port->cq->fid;

		if (btl_gamma_any_waiting(module) || module->undelivered)
			return false;
		if (module->first && fi_trywait(module->port->fabric, &cq, 1))
			return false;
	}
	return true;
}

static bool sleep_until_a_frame(nfds_t count)
{
	if (!may_sleep())
		return pause_us(GATHER_US);
	poll(state.fds, count, -1);
	return state.fds[0].revents;
}

static void *thread_main(void *count)
{
	unsigned int polls = 0, seen, empty_polls = 0;
	bool stop = false;

	pthread_setname_np(pthread_self(), "gamma-btl");
	while (!stop) {
		seen = polls;
		polls = __atomic_load_n(&state.polls, __ATOMIC_RELAXED);
		if (polls != seen) {
			empty_polls = 0;
			stop = pause_us(POLLED_US);
			continue;
		}
		empty_polls = btl_gamma_progress_poll() ? 0 : empty_polls + 1;
		stop = empty_polls < QUIET_LOOKS ? pause_us(GATHER_US)
						 : sleep_until_a_frame((nfds_t) (uintptr_t) count);
	}
	return NULL;
}

static size_t collect_fds(void)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	size_t i, count = 1;

	state.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	state.fds = calloc(component->module_count + 1, sizeof(*state.fds));
	if (!state.fds || state.stop_fd < 0)
		return 0;
	state.fds[0] = (struct pollfd){.fd = state.stop_fd, .events = POLLIN};
	for (i = 0; i < component->module_count; i++) {
		struct btl_gamma_module *module = component->modules[i];
		struct pollfd *next = &state.fds[count];

		if (!module->first)
			continue;
		next->events = POLLIN;
		if (fi_control(&module->port->cq->fid, FI_GETWAIT, &next->fd))
			return 0;
		count++;
	}
	return count;
}

/* Signals are for the program's threads. */
static int create(size_t fd_count)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&state.thread, NULL, thread_main, (void *) (uintptr_t) fd_count);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void btl_gamma_thread_start(void)
{
	size_t fd_count;

	if (__atomic_load_n(&state.asked, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&state.asked, true, __ATOMIC_RELAXED))
		return;
	fd_count = collect_fds();
	if (fd_count && !create(fd_count)) {
		state.runs = true;
		return;
	}
	btl_gamma_report_slow(
		"no progress thread could be started.",
		"Long messages go on only while the program calls MPI. Raise the limits "
		"(ulimit -u, ulimit -n).");
}

void btl_gamma_thread_stop(void)
{
	const uint64_t one = 1;

	if (!__atomic_load_n(&state.asked, __ATOMIC_RELAXED))
		return;
	if (state.runs && write(state.stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(state.thread, NULL);
	if (state.stop_fd >= 0)
		close(state.stop_fd);
	free(state.fds);
	memset(&state, 0, sizeof(state));
}
