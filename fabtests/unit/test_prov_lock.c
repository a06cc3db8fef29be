// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/lock.c: who waits for a lock, and who gives up. */
#include "unit.h"

#include <pthread.h>
#include <unistd.h>

#include "lock.h"

static struct gamma_lock lock;
static bool stop, taken;

static void *take_unless(void *arg)
{
	(void) arg;
	taken = gamma_lock_take_unless(&lock, &stop);
	return NULL;
}

static void *take(void *arg)
{
	(void) arg;
	gamma_lock_take(&lock);
	gamma_lock_release(&lock);
	return NULL;
}

/* Returns when it waits for the lock. */
static pthread_t start(void *(*what)(void *) )
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, what, NULL), 0);
	while (!gamma_lock_is_wanted(&lock))
		usleep(100);
	return thread;
}

static void held__waits_until_released(void **state)
{
	pthread_t thread;

	(void) state;
	gamma_lock_take(&lock);
	thread = start(take);
	gamma_lock_release(&lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(lock.held, 0);
	assert_false(gamma_lock_is_wanted(&lock));
}

static void within__gives_up(void **state)
{
	(void) state;
	assert_true(gamma_lock_take_within(&lock, 1));
	assert_false(gamma_lock_take_within(&lock, 3));
	assert_false(gamma_lock_is_wanted(&lock));
	gamma_lock_release(&lock);
	assert_true(gamma_lock_take_within(&lock, 0));
	gamma_lock_release(&lock);
}

static void unless__takes_what_is_free(void **state)
{
	pthread_t thread;

	(void) state;
	stop = true;
	take_unless(NULL);
	assert_true(taken);
	stop = false;
	thread = start(take_unless);
	gamma_lock_release(&lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(taken);
	assert_int_equal(lock.held, 1);
	gamma_lock_release(&lock);
}

static void unless__gives_up_while_it_is_held(void **state)
{
	pthread_t thread;

	(void) state;
	stop = false;
	gamma_lock_take(&lock);
	thread = start(take_unless);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0); /* nobody lets go */
	assert_false(taken);
	assert_false(gamma_lock_is_wanted(&lock));
	gamma_lock_release(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(held__waits_until_released),
		TEST(within__gives_up),
		TEST(unless__takes_what_is_free),
		TEST(unless__gives_up_while_it_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
