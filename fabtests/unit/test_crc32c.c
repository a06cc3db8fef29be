// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/wire/crc32c.c against the values published in RFC 3720, B.4. */
#include "unit.h"

#include <string.h>

#include "wire/codec.h"

static void crc32c__published_vectors(void **state)
{
	uint8_t bytes[32];

	(void) state;
	assert_int_equal(gamma_crc32c(0, "123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(gamma_crc32c(0, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(gamma_crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t) i;
	assert_int_equal(gamma_crc32c(0, bytes, sizeof(bytes)), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t) (31 - i);
	assert_int_equal(gamma_crc32c(0, bytes, sizeof(bytes)), 0x113fdb5c);
}

static void crc32c__nothing(void **state)
{
	(void) state;
	assert_int_equal(gamma_crc32c(0, "", 0), 0);
	assert_int_equal(gamma_crc32c(0x12345678, "", 0), 0x12345678);
}

/* Bit by bit: whatever the processor offers, this is what it must give. */
static uint32_t slowly(const uint8_t *bytes, size_t len)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < len; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void crc32c__every_length_and_alignment(void **state)
{
	uint8_t bytes[80];

	(void) state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) (i * 37 + 11);
	for (size_t from = 0; from < 8; from++)
		for (size_t len = 0; len + from <= sizeof(bytes); len++)
			assert_int_equal(gamma_crc32c(0, bytes + from, len),
					 slowly(bytes + from, len));
}

/* Short ones go by one stream, longer ones by three, those beyond 12 KiB in rounds. */
static void crc32c__every_length_and_alignment_up_to_jumbo_frames(void **state)
{
	enum { LONGEST = 12500 };
	static uint8_t bytes[LONGEST + 8];

	(void) state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) (i * 37 + (i >> 8) * 101 + 11);
	for (size_t from = 0; from < 8; from++) {
		uint32_t expected = 0;

		for (size_t len = 0; len < LONGEST; len++) {
			if (gamma_crc32c(0, bytes + from, len) != expected)
				fail_msg("%zu bytes, %zu beyond a multiple of 8", len, from);
			expected = gamma_crc32c_by_table(expected, bytes + from + len, 1);
		}
	}
}

static void crc32c__table_gives_the_same(void **state)
{
	uint8_t bytes[80];

	(void) state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) (i * 91 + 5);
	for (size_t len = 0; len <= sizeof(bytes); len++)
		assert_int_equal(gamma_crc32c_by_table(0, bytes, len), slowly(bytes, len));
}

static void crc32c__longest_frame_in_unequal_pieces(void **state)
{
	static uint8_t bytes[65535];
	struct iovec iov[3] = {{bytes, 1}, {bytes + 1, 400}, {bytes + 401, sizeof(bytes) - 401}};

	(void) state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) (i * 37 + (i >> 8) * 101 + 11);
	assert_int_equal(gamma_crc32c_iov(0, iov, 3), slowly(bytes, sizeof(bytes)));
	assert_int_equal(gamma_crc32c_iov(0, iov, 0), 0);
}

static void crc32c__in_two_pieces(void **state)
{
	const char text[] = "frames, credit and acknowledgements";
	uint32_t whole = gamma_crc32c(0, text, sizeof(text));

	(void) state;
	for (size_t cut = 0; cut <= sizeof(text); cut++) {
		uint32_t crc = gamma_crc32c(0, text, cut);

		assert_int_equal(gamma_crc32c(crc, text + cut, sizeof(text) - cut), whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(crc32c__published_vectors),
		TEST(crc32c__nothing),
		TEST(crc32c__every_length_and_alignment),
		TEST(crc32c__every_length_and_alignment_up_to_jumbo_frames),
		TEST(crc32c__table_gives_the_same),
		TEST(crc32c__longest_frame_in_unequal_pieces),
		TEST(crc32c__in_two_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
