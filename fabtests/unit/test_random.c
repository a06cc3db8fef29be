// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/base/random.c: SipHash, and the numbers drawn from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"

/* Key and text of the published test vectors: the bytes 0, 1, 2 and so on. */
static void hash__as_published(void **state)
{
	static const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

	(void) state;
	assert_true(gamma_random_hash(key, 0x0706050403020100) == 0x93f5f5799a932462);
}

static void next__depends_on_key_and_count(void **state)
{
	struct gamma_random one = {.key = {1, 2}}, same = one, other = {.key = {1, 3}};
	unsigned equal = 0;

	(void) state;
	for (int i = 0; i < 1000; i++) {
		uint32_t number = gamma_random_next(&one);

		assert_int_equal(gamma_random_next(&same), number);
		equal += gamma_random_next(&other) == number;
		equal += gamma_random_next(&other) == number + 1;
	}
	assert_int_equal(equal, 0);
	assert_int_equal(one.count, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash__as_published),
		cmocka_unit_test(next__depends_on_key_and_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
