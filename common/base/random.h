/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Numbers that only their user can predict: a keyed hash (SipHash-2-4) of a counter. Some
 * of them reveal nothing of the others, as long as the key stays secret. The code that
 * draws them knows no system call: its caller provides the key.
 */
#ifndef GAMMA_BASE_RANDOM_H
#define GAMMA_BASE_RANDOM_H

#include <stdint.h>

struct gamma_random {
	uint64_t key[2]; /* secret; all zero: numbers that anybody can compute, for tests */
	uint64_t count;  /* numbers drawn so far */
};

uint32_t gamma_random_next(struct gamma_random *random);
/* SipHash-2-4 of the eight bytes of a number, lowest first. */
uint64_t gamma_random_hash(const uint64_t key[2], uint64_t number);

#endif /* GAMMA_BASE_RANDOM_H */
