// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The computing behind atomic operations: for each type one function that gives the new value of
 * an element, and one or two that replace the old value by it atomically. Called with the frames of
 * the message layer and by the provider's checks; knows neither.
 */
#include "message/atomic_ops.h"

#include <complex.h>
#include <pthread.h>
#include <string.h>

#include "base/base.h"

#if defined(__SIZEOF_INT128__)
#define HAVE_INT128 1
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
#endif

typedef float complex float_complex;
typedef double complex double_complex;
typedef long double long_double;
typedef long double complex long_double_complex;

/* ---- the new value of an element ---- */

/* Integers are added and multiplied as unsigned numbers, at least as wide as int: overflow wraps.
 */
#define SUMS(type, wide)                                     \
	case GAMMA_ATOMIC_SUM:                               \
		return (type) ((wide) old + (wide) operand); \
	case GAMMA_ATOMIC_DIFF:                              \
		return (type) ((wide) old - (wide) operand); \
	case GAMMA_ATOMIC_PROD:                              \
		return (type) ((wide) old * (wide) operand);

#define LOGIC                                          \
	case GAMMA_ATOMIC_LOR:                         \
		return old || operand;                 \
	case GAMMA_ATOMIC_LAND:                        \
		return old && operand;                 \
	case GAMMA_ATOMIC_LXOR:                        \
		return !old != !operand;               \
	case GAMMA_ATOMIC_CSWAP:                       \
		return compare == old ? operand : old; \
	case GAMMA_ATOMIC_CSWAP_NE:                    \
		return compare != old ? operand : old;

#define ORDER                                          \
	case GAMMA_ATOMIC_MIN:                         \
		return operand < old ? operand : old;  \
	case GAMMA_ATOMIC_MAX:                         \
		return operand > old ? operand : old;  \
	case GAMMA_ATOMIC_CSWAP_LE:                    \
		return compare <= old ? operand : old; \
	case GAMMA_ATOMIC_CSWAP_LT:                    \
		return compare < old ? operand : old;  \
	case GAMMA_ATOMIC_CSWAP_GE:                    \
		return compare >= old ? operand : old; \
	case GAMMA_ATOMIC_CSWAP_GT:                    \
		return compare > old ? operand : old;

#define BITS(type)                             \
	case GAMMA_ATOMIC_BOR:                 \
		return (type) (old | operand); \
	case GAMMA_ATOMIC_BAND:                \
		return (type) (old & operand); \
	case GAMMA_ATOMIC_BXOR:                \
		return (type) (old ^ operand); \
	case GAMMA_ATOMIC_MSWAP:               \
		return (type) ((operand & compare) | (old & ~compare));

/* READ leaves the value; WRITE does not come here, as its bits are not to be looked at. */
#define NEW_VALUE(name, type, cases)                                                     \
	static inline type new_##name(uint32_t op, type old, type operand, type compare) \
	{                                                                                \
		switch (op) {                                                            \
			cases                                                            \
		}                                                                        \
		return old;                                                              \
	}

#define INTEGER(name, type, wide) NEW_VALUE(name, type, SUMS(type, wide) LOGIC ORDER BITS(type))
#define REAL(type)                NEW_VALUE(type, type, SUMS(type, type) LOGIC ORDER)
#define COMPLEX(type)             NEW_VALUE(type, type, SUMS(type, type) LOGIC)

INTEGER(int8, int8_t, uint32_t)
INTEGER(uint8, uint8_t, uint32_t)
INTEGER(int16, int16_t, uint32_t)
INTEGER(uint16, uint16_t, uint32_t)
INTEGER(int32, int32_t, uint32_t)
INTEGER(uint32, uint32_t, uint32_t)
INTEGER(int64, int64_t, uint64_t)
INTEGER(uint64, uint64_t, uint64_t)
REAL(float)
REAL(double)
REAL(long_double)
COMPLEX(float_complex)
COMPLEX(double_complex)
COMPLEX(long_double_complex)
#ifdef HAVE_INT128
INTEGER(int128, int128, uint128)
INTEGER(uint128, uint128, uint128)
#endif

/* ---- words that the processor swaps ---- */

#define WORD(bits)                                                                                 \
	static inline uint##bits##_t load##bits(const uint##bits##_t *at)                          \
	{                                                                                          \
		return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                      \
	}                                                                                          \
	static inline bool swap##bits(uint##bits##_t *at, uint##bits##_t *old, uint##bits##_t new) \
	{                                                                                          \
		return __atomic_compare_exchange_n(at, old, new, false, __ATOMIC_SEQ_CST,          \
						   __ATOMIC_SEQ_CST);                              \
	}
WORD(8)
WORD(16)
WORD(32)
WORD(64)

#if defined(HAVE_INT128) && (defined(__x86_64__) || defined(__aarch64__))
#define HAVE_SWAP128 1
typedef uint128 uint128_t;
#endif

#if defined(HAVE_SWAP128) && defined(__x86_64__)
/* One aligned vector load is indivisible on every processor with AVX. Unlike cmpxchg16b it works
 * on memory that may only be read. */
static inline uint128 load128(const uint128 *at)
{
	typedef uint64_t vector __attribute__((vector_size(16)));
	vector pair;

	__asm__ volatile("movdqa %1, %0" : "=x"(pair) : "m"(*at) : "memory");
	return (uint128) pair[1] << 64 | pair[0];
}

static inline bool swap128(uint128 *at, uint128 *old, uint128 new)
{
	uint64_t low = (uint64_t) *old, high = (uint64_t) (*old >> 64);
	bool swapped;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(swapped), "+m"(*at), "+a"(low), "+d"(high)
			 : "b"((uint64_t) new), "c"((uint64_t) (new >> 64))
			 : "memory");
	*old = (uint128) high << 64 | low;
	return swapped;
}
#elif defined(HAVE_SWAP128)
static inline uint128 load_pair(const uint128 *at)
{
	uint64_t low, high;

	__asm__ volatile("ldaxp %0, %1, %2" : "=&r"(low), "=&r"(high) : "Q"(*at) : "memory");
	return (uint128) high << 64 | low;
}

/* A pair is indivisible only if it is stored again (before ARMv8.4), but the memory may be one that
 * may only be read. So both halves are loaded until they come twice. */
static inline uint128 load128(const uint128 *at)
{
	uint128 pair = load_pair(at), again;

	while ((again = load_pair(at)) != pair)
		pair = again;
	return pair;
}

/* In one piece of assembly: no other access to memory may come between load and store. */
static inline bool swap128(uint128 *at, uint128 *old, uint128 new)
{
	uint64_t low, high;
	uint32_t failed;

	__asm__ volatile("1:	ldaxp	%0, %1, %3\n"
			 "	cmp	%0, %4\n"
			 "	ccmp	%1, %5, #0, eq\n"
			 "	b.ne	2f\n"
			 "	stlxp	%w2, %6, %7, %3\n"
			 "	cbnz	%w2, 1b\n"
			 "	b	3f\n"
			 "2:	clrex\n"
			 "	mov	%w2, #1\n"
			 "3:\n"
			 : "=&r"(low), "=&r"(high), "=&r"(failed), "+Q"(*at)
			 : "r"((uint64_t) *old), "r"((uint64_t) (*old >> 64)), "r"((uint64_t) new),
			   "r"((uint64_t) (new >> 64))
			 : "cc", "memory");
	*old = (uint128) high << 64 | low;
	return !failed;
}
#endif

/* ---- the rest, under locks ---- */

enum { LOCKS = 64, LOCK_SPAN = 32 /* bytes that share a lock */ };
static pthread_mutex_t locks[LOCKS] = {[0 ... LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t *lock_of(const void *element)
{
	return &locks[(uintptr_t) element / LOCK_SPAN % LOCKS];
}

/* ---- rows of elements ---- */

/* The i-th value of a row at any address; zero if there is none, as the operation does not use it.
 */
static inline void fetch(void *value, const void *row, uint32_t i, size_t size)
{
	memset(value, 0, size);
	if (row)
		memcpy(value, (const char *) row + i * size, size);
}

static inline void store(void *row, uint32_t i, const void *value, size_t size)
{
	if (row)
		memcpy((char *) row + i * size, value, size);
}

/* A long double of 80 bits leaves the rest of its bytes as they were, here on the stack: what has
 * been computed goes to peers without them. */
static inline void clear_padding(uint32_t datatype, void *value, size_t size)
{
#if __LDBL_MANT_DIG__ == 64
	enum { BYTES = 10 };
	const size_t each = sizeof(long double);

	if (datatype != GAMMA_LONG_DOUBLE && datatype != GAMMA_LONG_DOUBLE_COMPLEX)
		return;
	for (size_t i = 0; i + each <= size; i += each)
		memset((char *) value + i + BYTES, 0, each - BYTES);
#else
	(void) datatype, (void) value, (void) size;
#endif
}

/* By bits, so that padding and signalling values pass unchanged where nothing is computed. */
#define SWAPPED(name, type, bits)                                                               \
	static void swapped_##name(const struct gamma_atomic *a)                                \
	{                                                                                       \
		union {                                                                         \
			type value;                                                             \
			uint##bits##_t word;                                                    \
		} old, new, operand, compare;                                                   \
		uint##bits##_t *at = a->target;                                                 \
                                                                                                \
		_Static_assert(sizeof(type) == sizeof(*at), #name);                             \
		for (uint32_t i = 0; i < a->count; i++, at++) {                                 \
			fetch(&operand, a->operand, i, sizeof(type));                           \
			fetch(&compare, a->compare, i, sizeof(type));                           \
			old.word = load##bits(at);                                              \
			while (a->op != GAMMA_ATOMIC_READ) {                                    \
				new = operand;                                                  \
				if (a->op != GAMMA_ATOMIC_WRITE) {                              \
					new.value = new_##name(a->op, old.value, operand.value, \
							       compare.value);                  \
					clear_padding(a->datatype, &new, sizeof(type));         \
				}                                                               \
				if (swap##bits(at, &old.word, new.word))                        \
					break;                                                  \
			}                                                                       \
			store(a->result, i, &old, sizeof(type));                                \
		}                                                                               \
	}

#define LOCKED(name, type)                                                      \
	static void locked_##name(const struct gamma_atomic *a)                 \
	{                                                                       \
		type old, new, compare;                                         \
		char *at = a->target;                                           \
                                                                                \
		for (uint32_t i = 0; i < a->count; i++, at += sizeof(type)) {   \
			pthread_mutex_t *lock = lock_of(at);                    \
                                                                                \
			fetch(&new, a->operand, i, sizeof(type));               \
			fetch(&compare, a->compare, i, sizeof(type));           \
			pthread_mutex_lock(lock);                               \
			memcpy(&old, at, sizeof(type));                         \
			if (a->op != GAMMA_ATOMIC_WRITE) {                      \
				new = new_##name(a->op, old, new, compare);     \
				clear_padding(a->datatype, &new, sizeof(type)); \
			}                                                       \
			if (a->op != GAMMA_ATOMIC_READ)                         \
				memcpy(at, &new, sizeof(type));                 \
			pthread_mutex_unlock(lock);                             \
			store(a->result, i, &old, sizeof(type));                \
		}                                                               \
	}

/* The same where nothing else looks at the target. */
#define FOLDED(name, type)                                                           \
	static void folded_##name(uint32_t datatype, uint32_t op, void *target,      \
				  const void *operands, uint64_t count)              \
	{                                                                            \
		type *at = target, operand;                                          \
                                                                                     \
		for (uint64_t i = 0; i < count; i++) {                               \
			memcpy(&operand, (const char *) operands + i * sizeof(type), \
			       sizeof(type));                                        \
			at[i] = new_##name(op, at[i], operand, operand);             \
			clear_padding(datatype, &at[i], sizeof(type));               \
		}                                                                    \
	}

SWAPPED(int8, int8_t, 8)
SWAPPED(uint8, uint8_t, 8)
SWAPPED(int16, int16_t, 16)
SWAPPED(uint16, uint16_t, 16)
SWAPPED(int32, int32_t, 32)
SWAPPED(uint32, uint32_t, 32)
SWAPPED(int64, int64_t, 64)
SWAPPED(uint64, uint64_t, 64)
SWAPPED(float, float, 32)
SWAPPED(double, double, 64)
SWAPPED(float_complex, float_complex, 64)
LOCKED(float_complex, float_complex)
LOCKED(double_complex, double_complex)
LOCKED(long_double_complex, long_double_complex)
#ifdef HAVE_SWAP128
SWAPPED(double_complex, double_complex, 128)
SWAPPED(long_double, long_double, 128)
SWAPPED(int128, int128, 128)
SWAPPED(uint128, uint128, 128)
#else
LOCKED(long_double, long_double)
#ifdef HAVE_INT128
LOCKED(int128, int128)
LOCKED(uint128, uint128)
#endif
#endif

FOLDED(int8, int8_t)
FOLDED(uint8, uint8_t)
FOLDED(int16, int16_t)
FOLDED(uint16, uint16_t)
FOLDED(int32, int32_t)
FOLDED(uint32, uint32_t)
FOLDED(int64, int64_t)
FOLDED(uint64, uint64_t)
FOLDED(float, float)
FOLDED(double, double)
FOLDED(float_complex, float_complex)
FOLDED(double_complex, double_complex)
FOLDED(long_double, long_double)
FOLDED(long_double_complex, long_double_complex)
#ifdef HAVE_INT128
FOLDED(int128, int128)
FOLDED(uint128, uint128)
#endif

/* ---- what there is ---- */

typedef void row_function(const struct gamma_atomic *atomic);
typedef void fold_function(uint32_t datatype, uint32_t op, void *target, const void *operands,
			   uint64_t count);

struct datatype {
	uint32_t size, alignment; /* bytes */
	bool ordered;             /* of two values one may be the less */
	bool integer;
	row_function *swapped; /* for elements at multiples of their size, or NULL */
	row_function *locked;  /* for all others, or NULL: there are none */
	fold_function *folded; /* for memory that is nobody else's */
};

#define SIZES(type) sizeof(type), _Alignof(type)

static const struct datatype datatypes[] = {
	[GAMMA_INT8] = {SIZES(int8_t), true, true, swapped_int8, NULL, folded_int8},
	[GAMMA_UINT8] = {SIZES(uint8_t), true, true, swapped_uint8, NULL, folded_uint8},
	[GAMMA_INT16] = {SIZES(int16_t), true, true, swapped_int16, NULL, folded_int16},
	[GAMMA_UINT16] = {SIZES(uint16_t), true, true, swapped_uint16, NULL, folded_uint16},
	[GAMMA_INT32] = {SIZES(int32_t), true, true, swapped_int32, NULL, folded_int32},
	[GAMMA_UINT32] = {SIZES(uint32_t), true, true, swapped_uint32, NULL, folded_uint32},
	[GAMMA_INT64] = {8, 8, true, true, swapped_int64, NULL, folded_int64},
	[GAMMA_UINT64] = {8, 8, true, true, swapped_uint64, NULL, folded_uint64},
	[GAMMA_FLOAT] = {SIZES(float), true, false, swapped_float, NULL, folded_float},
	[GAMMA_DOUBLE] = {8, 8, true, false, swapped_double, NULL, folded_double},
	[GAMMA_FLOAT_COMPLEX] = {SIZES(float_complex), false, false, swapped_float_complex,
				 locked_float_complex, folded_float_complex},
	[GAMMA_LONG_DOUBLE_COMPLEX] = {SIZES(long_double_complex), false, false, NULL,
				       locked_long_double_complex, folded_long_double_complex},
#ifdef HAVE_SWAP128
	[GAMMA_DOUBLE_COMPLEX] = {SIZES(double_complex), false, false, swapped_double_complex,
				  locked_double_complex, folded_double_complex},
	[GAMMA_LONG_DOUBLE] = {SIZES(long_double), true, false, swapped_long_double, NULL,
			       folded_long_double},
	[GAMMA_INT128] = {SIZES(int128), true, true, swapped_int128, NULL, folded_int128},
	[GAMMA_UINT128] = {SIZES(uint128), true, true, swapped_uint128, NULL, folded_uint128},
#else
	[GAMMA_DOUBLE_COMPLEX] = {SIZES(double_complex), false, false, NULL, locked_double_complex,
				  folded_double_complex},
	[GAMMA_LONG_DOUBLE] = {SIZES(long_double), true, false, NULL, locked_long_double,
			       folded_long_double},
#ifdef HAVE_INT128
	[GAMMA_INT128] = {SIZES(int128), true, true, NULL, locked_int128, folded_int128},
	[GAMMA_UINT128] = {SIZES(uint128), true, true, NULL, locked_uint128, folded_uint128},
#endif
#endif
};

static const struct datatype *datatype_of(uint32_t datatype)
{
	if (datatype >= sizeof(datatypes) / sizeof(*datatypes) || !datatypes[datatype].size)
		return NULL;
	return &datatypes[datatype];
}

uint32_t gamma_atomic_ops_size(uint32_t datatype)
{
	const struct datatype *type = datatype_of(datatype);

	return type ? type->size : 0;
}

uint32_t gamma_atomic_ops_alignment(uint32_t datatype)
{
	const struct datatype *type = datatype_of(datatype);

	return type ? type->alignment : 0;
}

/* Whether the values of a type can be used as the operation does. */
static bool makes_sense(const struct datatype *type, uint32_t op)
{
	switch (op) {
	case GAMMA_ATOMIC_BOR:
	case GAMMA_ATOMIC_BAND:
	case GAMMA_ATOMIC_BXOR:
	case GAMMA_ATOMIC_MSWAP:
		return type->integer;
	case GAMMA_ATOMIC_MIN:
	case GAMMA_ATOMIC_MAX:
	case GAMMA_ATOMIC_CSWAP_LE:
	case GAMMA_ATOMIC_CSWAP_LT:
	case GAMMA_ATOMIC_CSWAP_GE:
	case GAMMA_ATOMIC_CSWAP_GT:
		return type->ordered;
	}
	return true;
}

bool gamma_atomic_ops_is_valid(enum gamma_atomic_form form, uint32_t datatype, uint32_t op)
{
	const struct datatype *type = datatype_of(datatype);
	bool compares = op >= GAMMA_ATOMIC_CSWAP && op <= GAMMA_ATOMIC_MSWAP;

	if (!type || op > GAMMA_ATOMIC_DIFF || compares != (form == GAMMA_ATOMIC_COMPARE))
		return false;
	if (op == GAMMA_ATOMIC_READ && form == GAMMA_ATOMIC_BASE)
		return false;
	return makes_sense(type, op);
}

void gamma_atomic_ops_apply(const struct gamma_atomic *atomic)
{
	const struct datatype *type = &datatypes[atomic->datatype];
	bool whole = !((uintptr_t) atomic->target % type->size);

	(type->swapped && (whole || !type->locked) ? type->swapped : type->locked)(atomic);
}

void gamma_atomic_ops_fold(uint32_t datatype, uint32_t op, void *target, const void *operands,
			   uint64_t count)
{
	datatypes[datatype].folded(datatype, op, target, operands, count);
}
