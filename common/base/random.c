// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Numbers that nobody but their user can predict: see random.h. Used for what a peer must echo. */
#include "base/random.h"

struct sip_state {
	uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static void mix(struct sip_state *s, unsigned rounds)
{
	while (rounds--) {
		s->a += s->b;
		s->c += s->d;
		s->b = rotate(s->b, 13) ^ s->a;
		s->d = rotate(s->d, 16) ^ s->c;
		s->a = rotate(s->a, 32);
		s->c += s->b;
		s->a += s->d;
		s->b = rotate(s->b, 17) ^ s->c;
		s->d = rotate(s->d, 21) ^ s->a;
		s->c = rotate(s->c, 32);
	}
}

static void absorb(struct sip_state *s, uint64_t word)
{
	s->d ^= word;
	mix(s, 2);
	s->a ^= word;
}

uint64_t gamma_random_hash(const uint64_t key[2], uint64_t number)
{
	struct sip_state s = {
		.a = key[0] ^ 0x736f6d6570736575ull,
		.b = key[1] ^ 0x646f72616e646f6dull,
		.c = key[0] ^ 0x6c7967656e657261ull,
		.d = key[1] ^ 0x7465646279746573ull,
	};

	absorb(&s, number);
	absorb(&s, 8ull << 56); /* the length in bytes ends the text */
	s.c ^= 0xff;
	mix(&s, 4);
	return s.a ^ s.b ^ s.c ^ s.d;
}

uint32_t gamma_random_next(struct gamma_random *random)
{
	return (uint32_t) gamma_random_hash(random->key, random->count++);
}
