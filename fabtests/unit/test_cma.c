// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/shm/cma.c: this process reads its own memory, and that of a child. */
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/cma.h"

enum { LEN = 30000 };

static uint8_t from[LEN], to[LEN];
static uint64_t stamp = 42;

static int setup(void **state)
{
	(void) state;
	for (unsigned i = 0; i < LEN; i++)
		from[i] = (uint8_t) (i * 7 + (i >> 8));
	memset(to, 0, LEN);
	return 0;
}

static struct gamma_source source_of(const void *address, uint32_t iov_count)
{
	return (struct gamma_source){
		.address = (uintptr_t) address,
		.stamp_at = (uintptr_t) &stamp,
		.stamp = 42,
		.iov_count = iov_count,
	};
}

static bool pull(const struct gamma_source *source, uint64_t len)
{
	struct iovec iov[] = {{to, 1}, {to + 1, 9999}, {to + 10000, LEN - 10000}};

	return gamma_cma_read(getpid(), source, 0, iov, 3, len, false);
}

static void pull__into_pieces(void **state)
{
	struct gamma_source source = source_of(from, 1);

	(void) state;
	assert_true(pull(&source, LEN));
	assert_memory_equal(to, from, LEN);
}

static void pull__out_of_pieces(void **state)
{
	struct iovec iovecs[] = {
		{from, 17}, {from + 17, 0}, {from + 17, 20000}, {from + 20017, 9983}};
	struct gamma_source source = source_of(iovecs, 4);

	(void) state;
	assert_true(pull(&source, 25000));
	assert_memory_equal(to, from, 25000);
	assert_int_equal(to[25000], 0);
}

static void pull__what_its_sender_has_taken_back(void **state)
{
	struct gamma_source source = source_of(from, 1);

	(void) state;
	source.stamp = 41;
	assert_false(pull(&source, LEN));
}

static void pull__with_a_checked_stamp_reads_none(void **state)
{
	struct iovec iov[] = {{to, LEN}};
	struct gamma_source source = source_of(from, 1);

	(void) state;
	source.stamp_at = 0;
	assert_false(pull(&source, LEN));
	assert_true(gamma_cma_read(getpid(), &source, 0, iov, 1, LEN, true));
	assert_memory_equal(to, from, LEN);
}

static void pull__from_where_there_is_nothing(void **state)
{
	struct iovec few[] = {{from, 100}, {from, 100}};
	struct iovec huge[] = {{from, SIZE_MAX}, {from, SIZE_MAX}};
	struct gamma_source source = source_of(NULL, 1);

	(void) state;
	assert_false(pull(&source, LEN));
	source = source_of(few, 2);
	assert_false(pull(&source, LEN));
	source = source_of(huge, 2);
	assert_false(pull(&source, LEN));
	source = source_of(NULL, 8);
	assert_false(pull(&source, LEN));
	source = source_of(from, 0);
	assert_false(pull(&source, LEN));
	source = source_of(from, 9);
	assert_false(pull(&source, LEN));
	source = source_of(from, 1);
	source.stamp_at = 8;
	assert_false(pull(&source, LEN));
}

static void possible__only_where_the_nonce_is(void **state)
{
	struct gamma_handover handover = {.nonce_at = (uintptr_t) from};
	pid_t pid = fork();

	(void) state;
	if (!pid) {
		memset(from, 0xee, sizeof(handover.nonce));
		pause();
		_exit(0);
	}
	memcpy(handover.nonce, from, sizeof(handover.nonce));
	assert_true(gamma_cma_is_possible(getpid(), &handover));
	while (gamma_cma_is_possible(pid, &handover)) /* until the child has changed its own */
		usleep(1000);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(gamma_cma_is_possible(pid, &handover));
	assert_false(gamma_cma_is_possible(0, &handover));
}

#define PULL_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PULL_TEST(pull__into_pieces),
		PULL_TEST(pull__out_of_pieces),
		PULL_TEST(pull__what_its_sender_has_taken_back),
		PULL_TEST(pull__with_a_checked_stamp_reads_none),
		PULL_TEST(pull__from_where_there_is_nothing),
		PULL_TEST(possible__only_where_the_nonce_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
