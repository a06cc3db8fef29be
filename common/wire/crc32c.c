// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* CRC32C by the processor's instruction where there is one, else by a table. */
#include "wire/codec.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* Castagnoli, bits reversed */

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_fill(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
		table[i] = crc;
	}
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *bytes, size_t len)
{
	pthread_once(&table_once, table_fill);
	while (len--)
		crc = (crc >> 8) ^ table[(crc ^ *bytes++) & 0xff];
	return crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc,
								     const uint8_t *bytes,
								     size_t len)
{
	uint64_t wide = crc;
	uint64_t word;

	for (; len >= 8; len -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		wide = _mm_crc32_u64(wide, word);
	}
	crc = (uint32_t) wide;
	while (len--)
		crc = _mm_crc32_u8(crc, *bytes++);
	return crc;
}

static bool have_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>

static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *bytes, size_t len)
{
	uint64_t word;

	for (; len >= 8; len -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		crc = __crc32cd(crc, word);
	}
	while (len--)
		crc = __crc32cb(crc, *bytes++);
	return crc;
}

static bool have_instruction(void)
{
	return true;
}
#else
#define crc_by_instruction crc_by_table

static bool have_instruction(void)
{
	return false;
}
#endif

uint32_t gamma_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	if (have_instruction())
		return ~crc_by_instruction(~crc, bytes, len);
	return ~crc_by_table(~crc, bytes, len);
}
