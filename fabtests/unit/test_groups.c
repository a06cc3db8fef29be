// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/groups.c, on real links: who closes the socket of a group, and when.
 */
#include "sides.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/groups.h"
#include "engine/state.h"

static const struct gamma_addr group_addr = {
	.mac = {3, 0, 0, 0, 0, 9},
	.port = 7,
	.version = GAMMA_ADDR_VERSION,
};

/* The socket that is watched, and in which order its descriptors are closed. */
static ino_t watched;
static pthread_t own_thread;
static unsigned closed_here, closed_elsewhere; /* atomic; calls */
static unsigned last_here;                     /* closed_elsewhere at the last of closed_here */

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	struct stat st;

	if (!watched || fstat(fd, &st) || st.st_ino != watched)
		return __real_close(fd);
	if (pthread_equal(pthread_self(), own_thread)) {
		last_here = __atomic_load_n(&closed_elsewhere, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&closed_here, 1, __ATOMIC_SEQ_CST);
	} else {
		__atomic_add_fetch(&closed_elsewhere, 1, __ATOMIC_SEQ_CST);
	}
	return __real_close(fd);
}

static void watch(const struct gamma_group *group)
{
	struct stat st;

	assert_int_equal(fstat(group->link->fd, &st), 0);
	own_thread = pthread_self();
	closed_here = closed_elsewhere = last_here = 0;
	watched = st.st_ino;
}

/* A thread closes the last descriptor, after the caller has closed its own. */
static void assert_closed_in_a_thread(void)
{
	uint64_t end = gamma_now() + 5 * GAMMA_NS_PER_S;

	while (!__atomic_load_n(&closed_elsewhere, __ATOMIC_SEQ_CST)) {
		assert_true(gamma_now() < end);
		usleep(1000);
	}
	watched = 0;
	assert_int_equal(closed_here, 1);
	assert_int_equal(last_here, 0);
	assert_int_equal(closed_elsewhere, 1);
}

static void leave__socket_is_closed_in_a_thread(void **state)
{
	struct gamma_group *group;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_groups_open(sides[A].ep, &group_addr, true, &group), 0);
	watch(group);
	gamma_groups_leave(sides[A].ep, group);
	assert_closed_in_a_thread();
}

static void leave__of_datagrams_too_and_it_can_be_joined_again(void **state)
{
	struct gamma_group *group;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_groups_join(sides[A].ep, &group_addr, true, &group), 0);
	watch(group);
	gamma_groups_leave(sides[A].ep, group);
	assert_int_equal(gamma_groups_join(sides[A].ep, &group_addr, true, &group), 0);
	gamma_groups_leave(sides[A].ep, group);
	assert_closed_in_a_thread();
}

/* No lock is held then, and the program may end. */
static void close__closes_the_groups_that_are_left(void **state)
{
	struct gamma_group *group;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_groups_join(sides[A].ep, &group_addr, true, &group), 0);
	watch(group);
	close_side(A);
	watched = 0;
	assert_int_equal(closed_here, 1);
	assert_int_equal(closed_elsewhere, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EP_TEST(leave__socket_is_closed_in_a_thread),
		DGRAM_TEST(leave__of_datagrams_too_and_it_can_be_joined_again),
		DGRAM_TEST(close__closes_the_groups_that_are_left),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
