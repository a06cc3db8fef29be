/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations on memory of this process: which there are, and the computing. Used by the
 * target of ATOMIC, FETCH and COMPARE, and to query beforehand what is offered.
 *
 * An element of 1, 2, 4, 8 or (x86-64) 16 bytes that lies at a multiple of its size is changed by
 * the processor's own compare-and-swap: atomic toward all threads and processes that share the
 * memory and do likewise. Elements without an instruction of the processor (32 bytes; complex
 * numbers that are only aligned as their parts) are atomic toward other operations of this kind
 * within the process, by locks.
 */
#ifndef GAMMA_ATOMIC_OPS_H
#define GAMMA_ATOMIC_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

/* The three families of calls. */
enum gamma_atomic_form {
	GAMMA_ATOMIC_BASE,    /* no result */
	GAMMA_ATOMIC_FETCH,   /* the former value goes back */
	GAMMA_ATOMIC_COMPARE, /* with a comparand; the former value goes back */
};

/* Bytes of an element, and what its address must be a multiple of; 0: no such type. */
uint32_t gamma_atomic_ops_size(uint32_t datatype);
uint32_t gamma_atomic_ops_alignment(uint32_t datatype);
/* Whether there is such an operation on that type; any numbers may be asked. */
bool gamma_atomic_ops_is_valid(enum gamma_atomic_form form, uint32_t datatype, uint32_t op);

/* One operation on a row of elements. Only the target needs alignment. */
struct gamma_atomic {
	uint32_t datatype, op; /* a valid pair */
	uint32_t count;        /* elements */
	void *target;          /* aligned */
	const void *operand;   /* count elements, or NULL for READ */
	const void *compare;   /* count elements for CSWAP* and MSWAP, else NULL */
	void *result;          /* takes the former values, or NULL */
};
void gamma_atomic_ops_apply(const struct gamma_atomic *atomic);
/* target = target op operands, element by element, where nobody else looks at the target, which is
 * aligned. op: one that needs no comparand and gives no former value. */
void gamma_atomic_ops_fold(uint32_t datatype, uint32_t op, void *target, const void *operands,
			   uint64_t count);

#endif /* GAMMA_ATOMIC_OPS_H */
