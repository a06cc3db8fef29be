// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/base/iov.c; large offsets are arithmetic only, nothing is touched. */
#include "unit.h"

#include <string.h>

#include "message/message.h"

static char a[3], b[5], c[4];
static const struct iovec three[] = {{a, 3}, {b, 5}, {c, 4}};

static void fill(void)
{
	memcpy(a, "abc", 3);
	memcpy(b, "defgh", 5);
	memcpy(c, "ijkl", 4);
}

static void len__sums_up(void **state)
{
	(void) state;
	assert_int_equal(gamma_iov_len(three, 3), 12);
	assert_int_equal(gamma_iov_len(three, 0), 0);
}

static void slice__every_offset_and_length(void **state)
{
	static const char all[] = "abcdefghijkl";

	(void) state;
	fill();
	for (size_t offset = 0; offset <= 12; offset++) {
		for (size_t len = 0; offset + len <= 12; len++) {
			char got[12];

			assert_int_equal(gamma_iov_read(three, 3, offset, got, len), len);
			assert_memory_equal(got, &all[offset], len);
		}
	}
}

/* Operands and comparands together are more pieces than one message's. */
static void copy__any_number_of_pieces(void **state)
{
	enum { MANY = 5 * GAMMA_IOV_MAX };
	char from[2 * MANY], to[2 * MANY], flat[2 * MANY];
	struct iovec out_of[MANY], into[MANY];

	(void) state;
	for (int i = 0; i < MANY; i++) {
		from[2 * i] = (char) i;
		from[2 * i + 1] = (char) -i;
		out_of[i] = (struct iovec){&from[2 * i], 2};
		into[i] = (struct iovec){&to[2 * i], 2};
	}
	assert_int_equal(gamma_iov_read(out_of, MANY, 0, flat, sizeof(flat)), sizeof(flat));
	assert_memory_equal(flat, from, sizeof(flat));
	assert_int_equal(gamma_iov_write(into, MANY, 0, flat, sizeof(flat)), sizeof(flat));
	assert_memory_equal(to, from, sizeof(to));
	assert_int_equal(gamma_iov_read(out_of, MANY, 1, flat, sizeof(flat)), sizeof(flat) - 1);
	assert_memory_equal(flat, from + 1, sizeof(flat) - 1);
}

static void gather__skips_empty_pieces_that_are_nowhere(void **state)
{
	const struct iovec iov[] = {{NULL, 0}, {a, 3}, {NULL, 0}, {b, 5}};
	uint8_t got[8];

	(void) state;
	assert_ptr_equal(gamma_iov_gather(iov, 4, got), got + sizeof(got));
	assert_memory_equal(got, a, 3);
	assert_memory_equal(got + 3, b, 5);
	assert_ptr_equal(gamma_iov_gather(iov, 0, got), got);
}

static void slice__skips_empty_pieces(void **state)
{
	const struct iovec iov[] = {{a, 0}, {b, 2}, {NULL, 0}, {c, 1}};
	struct iovec out[4];

	(void) state;
	assert_int_equal(gamma_iov_slice(iov, 4, 0, 3, out, 4), 2);
	assert_ptr_equal(out[0].iov_base, b);
	assert_ptr_equal(out[1].iov_base, c);
	assert_int_equal(gamma_iov_slice(iov, 4, 2, 1, out, 4), 1);
	assert_ptr_equal(out[0].iov_base, c);
}

static void slice__stops_at_max_pieces(void **state)
{
	struct iovec out[2];

	(void) state;
	assert_int_equal(gamma_iov_slice(three, 3, 0, 12, out, 2), 2);
	assert_int_equal(gamma_iov_len(out, 2), 8);
}

static void slice__beyond_the_end(void **state)
{
	struct iovec out[3];

	(void) state;
	assert_int_equal(gamma_iov_slice(three, 3, 12, 1, out, 3), 0);
	assert_int_equal(gamma_iov_slice(three, 3, 1ull << 40, 1, out, 3), 0);
	assert_int_equal(gamma_iov_slice(three, 3, 10, 100, out, 3), 1);
	assert_int_equal(out[0].iov_len, 2);
}

/* Two pieces of half a TiB each, at addresses that nobody reads. */
static void slice__near_two_to_the_forty(void **state)
{
	char *const base = (char *) 0x1000;
	const uint64_t half = 1ull << 39;
	const struct iovec iov[] = {{base, half}, {base + half, half}};
	struct iovec out[2];

	(void) state;
	assert_true(gamma_iov_len(iov, 2) == 1ull << 40);
	assert_int_equal(gamma_iov_slice(iov, 2, (1ull << 40) - 1, 1, out, 2), 1);
	assert_ptr_equal(out[0].iov_base, base + (1ull << 40) - 1);
	assert_int_equal(gamma_iov_slice(iov, 2, half - 700, 1460, out, 2), 2);
	assert_int_equal(out[0].iov_len, 700);
	assert_int_equal(out[1].iov_len, 760);
}

static void write__across_pieces(void **state)
{
	(void) state;
	fill();
	assert_int_equal(gamma_iov_write(three, 3, 2, "123456789", 7), 7);
	assert_memory_equal(a, "ab1", 3);
	assert_memory_equal(b, "23456", 5);
	assert_memory_equal(c, "7jkl", 4);
}

static void write__cuts_at_the_end(void **state)
{
	(void) state;
	fill();
	assert_int_equal(gamma_iov_write(three, 3, 10, "XYZ", 3), 2);
	assert_memory_equal(c, "ijXY", 4);
	assert_int_equal(gamma_iov_write(three, 3, 12, "XYZ", 3), 0);
	assert_int_equal(gamma_iov_write(NULL, 0, 0, "XYZ", 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(len__sums_up),
		TEST(slice__every_offset_and_length),
		TEST(copy__any_number_of_pieces),
		TEST(gather__skips_empty_pieces_that_are_nowhere),
		TEST(slice__skips_empty_pieces),
		TEST(slice__stops_at_max_pieces),
		TEST(slice__beyond_the_end),
		TEST(slice__near_two_to_the_forty),
		TEST(write__across_pieces),
		TEST(write__cuts_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
