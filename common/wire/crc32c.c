// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * CRC32C by the processor's instruction where there is one, else by a table. The instruction
 * takes 8 bytes and answers after three cycles, but begins another every cycle: so three streams
 * are run at once over three thirds of the bytes, and put together by carry-less multiplication.
 */
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
#include <immintrin.h>

#define SSE42       __attribute__((target("sse4.2")))
#define SSE42_CLMUL __attribute__((target("sse4.2,pclmul")))

enum {
	STREAM_MIN = 16,  /* words of 8 bytes: below this combining costs more than it saves */
	STREAM_MAX = 512, /* words: three of them cover a jumbo frame */
};

/* shifts[n]: x^(64 n - 33) modulo the polynomial, bits reversed. A product with it, reduced by the
 * instruction (which multiplies by x^32, and reversed products by x), moves a CRC n words on. */
static uint32_t shifts[2 * STREAM_MAX + 1];
static pthread_once_t shifts_once = PTHREAD_ONCE_INIT;

SSE42 static void shifts_fill(void)
{
	shifts[1] = 1; /* x^31 */
	for (int i = 2; i <= 2 * STREAM_MAX; i++)
		shifts[i] = (uint32_t) _mm_crc32_u64(0, shifts[i - 1]); /* times x^64 */
}

static inline uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, 8);
	return word;
}

/* Headers are an even number of bytes, extensions a multiple of four. */
SSE42 static inline uint32_t crc_by_instruction(uint32_t crc, const uint8_t *bytes, size_t len)
{
	uint64_t wide = crc;
	uint32_t four;
	uint16_t two;

	for (; len >= 8; len -= 8, bytes += 8)
		wide = _mm_crc32_u64(wide, word_at(bytes));
	crc = (uint32_t) wide;
	if (len & 4) {
		memcpy(&four, bytes, 4);
		crc = _mm_crc32_u32(crc, four);
		bytes += 4;
	}
	if (len & 2) {
		memcpy(&two, bytes, 2);
		crc = _mm_crc32_u16(crc, two);
		bytes += 2;
	}
	return len & 1 ? _mm_crc32_u8(crc, *bytes) : crc;
}

SSE42_CLMUL static inline __m128i product(uint64_t crc, size_t words)
{
	return _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long) crc),
				    _mm_cvtsi32_si128((int) shifts[words]), 0);
}

/* Three streams of so many words each. */
SSE42_CLMUL static uint32_t crc_of_three(uint32_t crc, const uint8_t *bytes, size_t words)
{
	uint64_t first = crc, second = 0, third = 0;
	__m128i moved;

	for (size_t i = 0; i < 8 * words; i += 8) {
		first = _mm_crc32_u64(first, word_at(bytes + i));
		second = _mm_crc32_u64(second, word_at(bytes + i + 8 * words));
		third = _mm_crc32_u64(third, word_at(bytes + i + 16 * words));
	}
	moved = _mm_xor_si128(product(first, 2 * words), product(second, words));
	return (uint32_t) (_mm_crc32_u64(0, (uint64_t) _mm_cvtsi128_si64(moved)) ^ third);
}

SSE42_CLMUL static uint32_t crc_by_streams(uint32_t crc, const uint8_t *bytes, size_t len)
{
	pthread_once(&shifts_once, shifts_fill);
	while (len >= 3 * 8 * STREAM_MIN) {
		size_t words = len / (3 * 8);

		if (words > STREAM_MAX)
			words = STREAM_MAX;
		crc = crc_of_three(crc, bytes, words);
		bytes += 3 * 8 * words;
		len -= 3 * 8 * words;
	}
	return crc_by_instruction(crc, bytes, len);
}

SSE42 static uint32_t crc_of_two(const uint8_t *first, size_t first_len, const uint8_t *second,
				 size_t second_len)
{
	return crc_by_instruction(crc_by_instruction(~0u, first, first_len), second, second_len);
}

SSE42 static uint32_t crc_fast(uint32_t crc, const uint8_t *bytes, size_t len)
{
	if (len >= 3 * 8 * STREAM_MIN && __builtin_cpu_supports("pclmul"))
		return crc_by_streams(crc, bytes, len);
	return crc_by_instruction(crc, bytes, len);
}

static bool have_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>

static uint32_t crc_fast(uint32_t crc, const uint8_t *bytes, size_t len)
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
#define crc_fast crc_by_table

static bool have_instruction(void)
{
	return false;
}
#endif

uint32_t gamma_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	if (have_instruction())
		return ~crc_fast(~crc, bytes, len);
	return ~crc_by_table(~crc, bytes, len);
}

uint32_t gamma_crc32c_header(const uint8_t *first, size_t first_len, const uint8_t *second,
			     size_t second_len)
{
#if defined(__x86_64__)
	if (have_instruction())
		return ~crc_of_two(first, first_len, second, second_len);
#endif
	return gamma_crc32c(gamma_crc32c(0, first, first_len), second, second_len);
}

uint32_t gamma_crc32c_by_table(uint32_t crc, const void *bytes, size_t len)
{
	return ~crc_by_table(~crc, bytes, len);
}

uint32_t gamma_crc32c_iov(uint32_t crc, const struct iovec *iov, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		crc = gamma_crc32c(crc, iov[i].iov_base, iov[i].iov_len);
	return crc;
}
