// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/progress.c: when polls that find nothing offer the core to others.
 */
#include "prov_fake_engine.h"

#include <sched.h>
#include <time.h>

static uint64_t now;    /* ns; 0: the machine's clock */
static uint64_t away;   /* ns that a sched_yield takes */
static unsigned yields; /* calls */

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_sched_yield(void);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	if (!now)
		return __real_clock_gettime(clock, time);
	time->tv_sec = (time_t) (now / GAMMA_NS_PER_S);
	time->tv_nsec = (long) (now % GAMMA_NS_PER_S);
	return 0;
}

int __wrap_sched_yield(void)
{
	yields++;
	now += away;
	return 0;
}

/* Polls that find nothing, 1 us each. Returns how often they have yielded. */
static unsigned poll_idly(struct fake_ep *fep, unsigned polls)
{
	struct fi_cq_tagged_entry entry;

	yields = 0;
	for (unsigned i = 0; i < polls; i++) {
		assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAGAIN);
		now += GAMMA_NS_PER_US;
	}
	return yields;
}

static void begin(struct fake_ep *fep, uint64_t away_us)
{
	fep->engine->idle = true;
	now = GAMMA_NS_PER_S;
	away = away_us * GAMMA_NS_PER_US;
}

static int end(void **state)
{
	now = 0;
	return fake_ep_teardown(state);
}

static void to_programs_that_poll__each_time(void **state)
{
	struct fake_ep *fep = *state;

	begin(fep, 20);
	assert_int_equal(poll_idly(fep, 100), 100);
}

static void to_a_program_that_computes__once_a_millisecond(void **state)
{
	struct fake_ep *fep = *state;

	begin(fep, 3000);
	assert_int_equal(poll_idly(fep, 3000), 3);
	away = 20 * GAMMA_NS_PER_US; /* it has ended */
	assert_int_equal(poll_idly(fep, 100), 100);
}

/* One of them may be what computes. */
static void to_peers_on_the_host__each_time(void **state)
{
	struct fake_ep *fep = *state;

	fep->engine->host_peers = true;
	begin(fep, 3000);
	assert_int_equal(poll_idly(fep, 100), 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_ep_setup, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(to_programs_that_poll__each_time),
		TEST(to_a_program_that_computes__once_a_millisecond),
		TEST(to_peers_on_the_host__each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
