// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/endpoint.c on real links: closing, and peers that have ended. */
#include "sides.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- closing ---- */

static void linger__nothing_to_wait_for(void **state)
{
	uint64_t start = gamma_now();

	(void) state;
	netns_needed();
	gamma_endpoint_linger(sides[A].ep, NULL);
	assert_true(gamma_now() - start < 100 * GAMMA_NS_PER_MS);
}

static void linger__is_bounded(void **state)
{
	uint64_t start;

	(void) state;
	netns_needed();
	post(&sides[FAR], 64);
	assert_int_equal(start_send(&sides[A], gamma_endpoint_addr(sides[FAR].ep), 64), 0);
	start = gamma_now(); /* nobody moves FAR */
	gamma_endpoint_linger(sides[A].ep, NULL);
	assert_in_range(gamma_now() - start, GAMMA_NS_PER_S * 9 / 10, GAMMA_NS_PER_S * 3 / 2);
}

/* What is said once may get lost. */
static void linger__says_bye_to_a_silent_peer_a_few_times(void **state)
{
	uint64_t start;

	(void) state;
	netns_needed();
	exchange(A, FAR, 64);
	start = gamma_now(); /* nobody moves FAR */
	gamma_endpoint_linger(sides[A].ep, NULL);
	assert_in_range(gamma_now() - start, 14 * GAMMA_NS_PER_MS, 200 * GAMMA_NS_PER_MS);
}

static void linger__a_forked_child_sends_nothing(void **state)
{
	uint64_t start = gamma_now();
	int status;
	pid_t pid;

	(void) state;
	netns_needed();
	exchange(A, FAR, 64);
	pid = fork();
	if (!pid) {
		gamma_endpoint_linger(sides[A].ep, NULL);
		_exit(gamma_now() - start > GAMMA_NS_PER_S / 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	exchange(A, FAR, 64); /* no BYE was said */
}

/* What a child closes that it has inherited: its own memory stands where its parent's rings do,
 * which it has not. The parent goes on. */
static int close_in_child(const unsigned *which, unsigned count)
{
	enum { PAGES = 8192 };
	static uint8_t *pages[PAGES];
	pid_t pid = fork();
	int status;

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		for (int i = 0; i < PAGES; i++) {
			pages[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			*pages[i] = (uint8_t) i;
		}
		while (count--)
			gamma_endpoint_destroy(sides[which[count]].ep);
		for (int i = 0; i < PAGES; i++)
			if (*pages[i] != (uint8_t) i)
				_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void close__in_a_child_leaves_its_memory_alone(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned which = B; which <= FAR; which++) {
		exchange(A, which, 64);
		exchange(which, A, 64);
	}
	assert_int_equal(close_in_child((const unsigned[]){A, B, FAR}, 3), 0);
	for (unsigned which = B; which <= FAR; which++) {
		exchange(A, which, 64);
		exchange(which, A, 64);
	}
}

static void close__in_a_child_while_an_shm_peer_is_to_read(void **state)
{
	(void) state;
	netns_needed();
	exchange(A, B, 64);
	exchange(B, A, 64);
	post(&sides[B], 100000);
	assert_int_equal(start_send(&sides[A], gamma_endpoint_addr(sides[B].ep), 100000), 0);
	assert_int_equal(close_in_child((const unsigned[]){A}, 1), 0);
	until(&sides[B].received);
	until(&sides[A].sent);
	assert_int_equal(sides[A].send_error, 0);
	assert_int_equal(side_stats(B)->cma_failures, 0);
	assert_memory_equal(sides[B].in, sides[A].out, 100000);
}

static void gone__shm_peer_that_ended(void **state)
{
	struct gamma_addr addr;

	(void) state;
	netns_needed();
	exchange(A, B, 64);
	addr = *gamma_endpoint_addr(sides[B].ep);
	close_side(B);
	assert_int_equal(start_send(&sides[A], &addr, 64), 0);
	until(&sides[A].sent);
	assert_int_equal(sides[A].send_error, -ECONNRESET);
	assert_string_equal(sides[A].cause, "its process has ended");
}

/* Nobody has to send anything to notice. */
static void gone__shm_peer_that_was_killed(void **state)
{
	struct gamma_addr addr;
	int ready[2];
	char byte;
	pid_t pid;

	(void) state;
	netns_needed();
	close_side(B);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		open_side(B, false);
		addr = *gamma_endpoint_addr(sides[B].ep);
		post(&sides[B], 64);
		if (write(ready[1], &addr, sizeof(addr)) != sizeof(addr))
			_exit(1);
		while (!sides[B].received)
			gamma_endpoint_progress(sides[B].ep);
		gamma_endpoint_progress(sides[B].ep);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &addr, sizeof(addr)), sizeof(addr));
	assert_int_equal(start_send(&sides[A], &addr, 64), 0);
	until(&sides[A].sent);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(sides[A].send_error, 0);
	/* It does not look any more. */
	assert_int_equal(start_send(&sides[A], &addr, 64), 0);
	gamma_endpoint_progress(sides[A].ep);
	assert_false(sides[A].sent);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	until(&sides[A].sent);
	assert_int_equal(sides[A].send_error, -ECONNRESET);
	assert_string_equal(sides[A].cause, "its process has ended");
	assert_int_equal(side_stats(A)->probes_out, 0);
	close(ready[0]);
	close(ready[1]);
}

static void gone__remote_that_started_again(void **state)
{
	struct gamma_addr addr;
	struct gamma_endpoint_attr again = side_attr(FAR);

	(void) state;
	netns_needed();
	exchange(A, FAR, 64);
	addr = *gamma_endpoint_addr(sides[FAR].ep);
	gamma_endpoint_destroy(sides[FAR].ep);
	again.port = ntohs(addr.port);
	assert_int_equal(gamma_endpoint_create(&again, &side_handlers, &sides[FAR], &sides[FAR].ep),
			 0);
	assert_int_equal(start_send(&sides[A], &addr, 64), 0);
	until(&sides[A].sent);
	assert_int_equal(sides[A].send_error, -ECONNRESET);
	exchange(A, FAR, 64); /* to its new address */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EP_TEST(linger__nothing_to_wait_for),
		EP_TEST(linger__is_bounded),
		EP_TEST(linger__says_bye_to_a_silent_peer_a_few_times),
		EP_TEST(linger__a_forked_child_sends_nothing),
		EP_TEST(close__in_a_child_leaves_its_memory_alone),
		EP_TEST(close__in_a_child_while_an_shm_peer_is_to_read),
		EP_TEST(gone__shm_peer_that_ended),
		EP_TEST(gone__shm_peer_that_was_killed),
		EP_TEST(gone__remote_that_started_again),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
