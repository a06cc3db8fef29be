// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/message/atomic_ops.c: every operation on every type against a reference
 * that computes in another way, and many threads and processes at the same elements.
 */
#include "unit.h"

#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "message/atomic_ops.h"

__extension__ typedef unsigned __int128 wide;

enum { TYPES = GAMMA_UINT128 + 1, OPS = GAMMA_ATOMIC_DIFF + 1, VALUES = 10, ELEMENT_MAX = 32 };

static bool is_integer(uint32_t type)
{
	return type <= GAMMA_UINT64 || type == GAMMA_INT128 || type == GAMMA_UINT128;
}

static bool is_complex(uint32_t type)
{
	return type == GAMMA_FLOAT_COMPLEX || type == GAMMA_DOUBLE_COMPLEX ||
	       type == GAMMA_LONG_DOUBLE_COMPLEX;
}

/* ---- reference: what only chooses; less, greater: comparand than target ---- */

static bool chooses(uint32_t op)
{
	return op >= GAMMA_ATOMIC_WRITE && op <= GAMMA_ATOMIC_CSWAP_GT;
}

static bool takes_operand(uint32_t op, bool less, bool equal, bool greater)
{
	switch (op) {
	case GAMMA_ATOMIC_CSWAP:
		return equal;
	case GAMMA_ATOMIC_CSWAP_NE:
		return !equal;
	case GAMMA_ATOMIC_CSWAP_LE:
		return less || equal;
	case GAMMA_ATOMIC_CSWAP_LT:
		return less;
	case GAMMA_ATOMIC_CSWAP_GE:
		return greater || equal;
	case GAMMA_ATOMIC_CSWAP_GT:
		return greater;
	}
	return true; /* WRITE */
}

/* ---- reference: integers as patterns of so many bits ---- */

static wide integer_at(uint32_t type, const void *at)
{
	wide value = 0;

	memcpy(&value, at, gamma_atomic_ops_size(type));
	return value;
}

/* Signed numbers sort as unsigned ones once their top bit is turned over. */
static bool integer_less(uint32_t type, wide a, wide b)
{
	wide top = (wide) 1 << (8 * gamma_atomic_ops_size(type) - 1);

	return type % 2 ? a < b : (a ^ top) < (b ^ top);
}

static wide integer_reference(uint32_t type, uint32_t op, wide t, wide o, wide c)
{
	bool less = integer_less(type, c, t), equal = c == t;

	if (chooses(op))
		return takes_operand(op, less, equal, !less && !equal) ? o : t;
	switch (op) {
	case GAMMA_ATOMIC_MIN:
		return integer_less(type, o, t) ? o : t;
	case GAMMA_ATOMIC_MAX:
		return integer_less(type, t, o) ? o : t;
	case GAMMA_ATOMIC_SUM:
		return t + o;
	case GAMMA_ATOMIC_DIFF:
		return t + ~o + 1;
	case GAMMA_ATOMIC_PROD:
		return t * o;
	case GAMMA_ATOMIC_LOR:
		return t != 0 || o != 0;
	case GAMMA_ATOMIC_LAND:
		return t != 0 && o != 0;
	case GAMMA_ATOMIC_LXOR:
		return (t != 0) != (o != 0);
	case GAMMA_ATOMIC_BOR:
		return t | o;
	case GAMMA_ATOMIC_BAND:
		return t & o;
	case GAMMA_ATOMIC_BXOR:
		return t ^ o;
	case GAMMA_ATOMIC_MSWAP:
		return t ^ ((t ^ o) & c);
	}
	return t;
}

/* ---- reference: real numbers, as one or two parts ---- */

struct number {
	long double re, im;
};

static struct number number_at(uint32_t type, const void *at)
{
	float f[2];
	double d[2];
	long double l[2];

	switch (type) {
	case GAMMA_FLOAT:
	case GAMMA_FLOAT_COMPLEX:
		memcpy(f, at, gamma_atomic_ops_size(type));
		return (struct number){f[0], is_complex(type) ? f[1] : 0};
	case GAMMA_DOUBLE:
	case GAMMA_DOUBLE_COMPLEX:
		memcpy(d, at, gamma_atomic_ops_size(type));
		return (struct number){d[0], is_complex(type) ? d[1] : 0};
	}
	memcpy(l, at, gamma_atomic_ops_size(type));
	return (struct number){l[0], is_complex(type) ? l[1] : 0};
}

/* One step of computing, rounded to the type. */
static long double rounded(uint32_t type, char sign, long double a, long double b)
{
	volatile float f, fa = (float) a, fb = (float) b;
	volatile double d, da = (double) a, db = (double) b;

	switch (type) {
	case GAMMA_FLOAT:
	case GAMMA_FLOAT_COMPLEX:
		f = sign == '+' ? fa + fb : sign == '-' ? fa - fb : fa * fb;
		return f;
	case GAMMA_DOUBLE:
	case GAMMA_DOUBLE_COMPLEX:
		d = sign == '+' ? da + db : sign == '-' ? da - db : da * db;
		return d;
	}
	return sign == '+' ? a + b : sign == '-' ? a - b : a * b;
}

static struct number product(uint32_t type, struct number t, struct number o)
{
	if (!is_complex(type))
		return (struct number){rounded(type, '*', t.re, o.re), 0};
	return (struct number){
		rounded(type, '-', rounded(type, '*', t.re, o.re), rounded(type, '*', t.im, o.im)),
		rounded(type, '+', rounded(type, '*', t.re, o.im), rounded(type, '*', t.im, o.re)),
	};
}

static struct number number_reference(uint32_t type, uint32_t op, struct number t, struct number o,
				      struct number c)
{
	bool t_set = t.re != 0 || t.im != 0, o_set = o.re != 0 || o.im != 0;
	bool equal = c.re == t.re && c.im == t.im;

	if (chooses(op))
		return takes_operand(op, isless(c.re, t.re), equal, isgreater(c.re, t.re)) ? o : t;
	switch (op) {
	case GAMMA_ATOMIC_MIN:
		return isless(o.re, t.re) ? o : t;
	case GAMMA_ATOMIC_MAX:
		return isgreater(o.re, t.re) ? o : t;
	case GAMMA_ATOMIC_SUM:
		return (struct number){rounded(type, '+', t.re, o.re),
				       rounded(type, '+', t.im, o.im)};
	case GAMMA_ATOMIC_DIFF:
		return (struct number){rounded(type, '-', t.re, o.re),
				       rounded(type, '-', t.im, o.im)};
	case GAMMA_ATOMIC_PROD:
		return product(type, t, o);
	case GAMMA_ATOMIC_LOR:
		return (struct number){t_set || o_set, 0};
	case GAMMA_ATOMIC_LAND:
		return (struct number){t_set && o_set, 0};
	case GAMMA_ATOMIC_LXOR:
		return (struct number){t_set != o_set, 0};
	}
	return t;
}

static bool same_part(long double a, long double b)
{
	return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

/* ---- values to try ---- */

static void integer_value(uint32_t type, unsigned i, void *at)
{
	size_t size = gamma_atomic_ops_size(type);
	wide top = (wide) 1 << (8 * size - 1);
	wide values[VALUES] = {
		0, 1,    ~(wide) 0, top,       top - 1,
		2, 0x5a, top / 3,   ~(wide) 1, (wide) 0x0123456789abcdefull << 60 | 0x77};

	memcpy(at, &values[i], size);
}

static void part_value(uint32_t type, unsigned i, void *at)
{
	static const long double values[VALUES] = {0,   1,       -1,        -0.0L, INFINITY,
						   NAN, 1.0e38L, -INFINITY, 3,     1.0L / 3};
	float f = (float) values[i];
	double d = (double) values[i];

	if (type == GAMMA_FLOAT || type == GAMMA_FLOAT_COMPLEX)
		memcpy(at, &f, sizeof(f));
	else if (type == GAMMA_DOUBLE || type == GAMMA_DOUBLE_COMPLEX)
		memcpy(at, &d, sizeof(d));
	else
		memcpy(at, &values[i], sizeof(values[i]));
}

static void value(uint32_t type, uint32_t op, unsigned i, void *at)
{
	/* What infinite complex numbers give is the compiler's choice: there only small ones. */
	static const unsigned small[VALUES] = {0, 1, 2, 3, 8, 9, 1, 2, 8, 9};
	static const unsigned other[VALUES] = {1, 0, 9, 8, 0, 2, 1, 9, 3, 8};
	size_t half = gamma_atomic_ops_size(type) / 2;

	if (is_integer(type)) {
		integer_value(type, i, at);
	} else if (!is_complex(type)) {
		part_value(type, i, at);
	} else {
		part_value(type, op == GAMMA_ATOMIC_PROD ? small[i] : i, at);
		part_value(type, other[i], (char *) at + half);
	}
}

/* ---- every operation on every type ---- */

static void wrong(uint32_t type, uint32_t op, uint32_t i)
{
	fail_msg("type %u, op %u: values %u, %u, %u", type, op, i / VALUES / VALUES,
		 i / VALUES % VALUES, i % VALUES);
}

static void check_element(uint32_t type, uint32_t op, uint32_t i, const void *t, const void *o,
			  const void *c, const void *is)
{
	if (is_integer(type)) {
		wide should = integer_reference(type, op, integer_at(type, t), integer_at(type, o),
						integer_at(type, c));

		if (memcmp(&should, is, gamma_atomic_ops_size(type)))
			wrong(type, op, i);
	} else {
		struct number should = number_reference(type, op, number_at(type, t),
							number_at(type, o), number_at(type, c));
		struct number got = number_at(type, is);

		if (!same_part(should.re, got.re) || !same_part(should.im, got.im))
			wrong(type, op, i);
	}
}

/* All triples of values, as one row; `shift` moves the target off multiples of its size, the
 * others are at odd addresses always. */
static void check_row(uint32_t type, uint32_t op, size_t shift, bool with_result)
{
	enum { COUNT = VALUES * VALUES * VALUES, ROOM = COUNT * ELEMENT_MAX + 65 };
	static _Alignas(64) uint8_t target[ROOM], before[ROOM], operand[ROOM], compare[ROOM],
		result[ROOM];
	size_t size = gamma_atomic_ops_size(type);
	struct gamma_atomic atomic = {
		.datatype = type,
		.op = op,
		.count = COUNT,
		.target = target + shift,
		.operand = op == GAMMA_ATOMIC_READ ? NULL : operand + 1,
		.compare =
			op >= GAMMA_ATOMIC_CSWAP && op <= GAMMA_ATOMIC_MSWAP ? compare + 3 : NULL,
		.result = with_result ? result + 5 : NULL,
	};

	memset(target, 0xee, sizeof(target));
	for (uint32_t i = 0; i < COUNT; i++) {
		value(type, op, i / VALUES / VALUES, target + shift + i * size);
		value(type, op, i / VALUES % VALUES, operand + 1 + i * size);
		value(type, op, i % VALUES, compare + 3 + i * size);
	}
	memcpy(before, target, sizeof(target));
	gamma_atomic_ops_apply(&atomic);
	for (uint32_t i = 0; i < COUNT; i++)
		check_element(type, op, i, before + shift + i * size, operand + 1 + i * size,
			      compare + 3 + i * size, target + shift + i * size);
	if (with_result)
		assert_memory_equal(result + 5, before + shift, COUNT * size);
	for (size_t i = shift + COUNT * size; i < sizeof(target); i++)
		assert_int_equal(target[i], 0xee);
}

static bool any_form(uint32_t type, uint32_t op)
{
	return gamma_atomic_ops_is_valid(GAMMA_ATOMIC_FETCH, type, op) ||
	       gamma_atomic_ops_is_valid(GAMMA_ATOMIC_COMPARE, type, op);
}

static void apply__every_operation_on_every_type(void **state)
{
	unsigned pairs = 0;

	(void) state;
	for (uint32_t type = 0; type < TYPES; type++)
		for (uint32_t op = 0; op < OPS; op++) {
			if (!any_form(type, op))
				continue;
			check_row(type, op, 0, true);
			check_row(type, op, gamma_atomic_ops_alignment(type), true);
			check_row(type, op, 0, false);
			pairs++;
		}
	/* 10 integer types with 20 operations, 3 real ones with 16, 3 complex ones with 10 */
	assert_int_equal(pairs, 10 * 20 + 3 * 16 + 3 * 10);
}

/* A fold gives what atomic operations give, where nobody else looks. */
static void fold__is_what_apply_computes(void **state)
{
	enum { COUNT = 3, SIZE = 32 * COUNT };
	uint8_t folded[SIZE] __attribute__((aligned(32))),
		target[SIZE] __attribute__((aligned(32)));
	uint8_t operands[SIZE + 1];

	(void) state;
	for (uint32_t type = 0; type < TYPES; type++)
		for (uint32_t op = 0; op <= GAMMA_ATOMIC_BXOR; op++) {
			if (!gamma_atomic_ops_is_valid(GAMMA_ATOMIC_BASE, type, op))
				continue;
			for (unsigned i = 0; i < SIZE; i++) {
				folded[i] = target[i] =
					is_integer(type) ? (uint8_t) (37 * i) : 0x40;
				operands[i + 1] = is_integer(type) ? (uint8_t) (91 * i + 5) : 0x3f;
			}
			gamma_atomic_ops_fold(type, op, folded, operands + 1, COUNT);
			gamma_atomic_ops_apply(&(struct gamma_atomic){type, op, COUNT, target,
								      operands + 1, NULL, NULL});
			assert_memory_equal(folded, target, SIZE);
		}
}

/* ---- what there is ---- */

static void valid__integers_have_all_operations(void **state)
{
	(void) state;
	for (uint32_t type = 0; type < TYPES; type++)
		for (uint32_t op = 0; is_integer(type) && op < OPS; op++)
			assert_true(any_form(type, op));
}

static void valid__bits_and_order_only_where_they_make_sense(void **state)
{
	static const uint32_t bits[] = {GAMMA_ATOMIC_BOR, GAMMA_ATOMIC_BAND, GAMMA_ATOMIC_BXOR,
					GAMMA_ATOMIC_MSWAP};
	static const uint32_t order[] = {GAMMA_ATOMIC_MIN,      GAMMA_ATOMIC_MAX,
					 GAMMA_ATOMIC_CSWAP_LE, GAMMA_ATOMIC_CSWAP_LT,
					 GAMMA_ATOMIC_CSWAP_GE, GAMMA_ATOMIC_CSWAP_GT};

	(void) state;
	for (uint32_t type = GAMMA_FLOAT; type <= GAMMA_LONG_DOUBLE_COMPLEX; type++) {
		for (unsigned i = 0; i < 4; i++)
			assert_false(any_form(type, bits[i]));
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(any_form(type, order[i]), !is_complex(type));
	}
}

static void valid__each_form_has_its_operations(void **state)
{
	(void) state;
	for (uint32_t op = 0; op < OPS; op++) {
		bool compares = op >= GAMMA_ATOMIC_CSWAP && op <= GAMMA_ATOMIC_MSWAP;

		assert_int_equal(gamma_atomic_ops_is_valid(GAMMA_ATOMIC_BASE, GAMMA_INT32, op),
				 !compares && op != GAMMA_ATOMIC_READ);
		assert_int_equal(gamma_atomic_ops_is_valid(GAMMA_ATOMIC_FETCH, GAMMA_INT32, op),
				 !compares);
		assert_int_equal(gamma_atomic_ops_is_valid(GAMMA_ATOMIC_COMPARE, GAMMA_INT32, op),
				 compares);
	}
}

/* 16-bit and 8-bit floating point, and whatever comes after DIFF. */
static void valid__newer_numbers_are_unknown(void **state)
{
	static const uint32_t numbers[] = {16, 17, 18, 19, 20, 255, 256, 0x80000000u, UINT32_MAX};

	(void) state;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		assert_int_equal(gamma_atomic_ops_size(numbers[i]), 0);
		assert_int_equal(gamma_atomic_ops_alignment(numbers[i]), 0);
		for (uint32_t form = GAMMA_ATOMIC_BASE; form <= GAMMA_ATOMIC_COMPARE; form++) {
			assert_false(
				gamma_atomic_ops_is_valid(form, numbers[i], GAMMA_ATOMIC_WRITE));
			if (numbers[i] > GAMMA_ATOMIC_DIFF)
				assert_false(
					gamma_atomic_ops_is_valid(form, GAMMA_INT32, numbers[i]));
		}
	}
}

/* ---- READ where writing is not allowed; bits that no number has ---- */

static void apply__read_leaves_read_only_memory_alone(void **state)
{
	_Alignas(32) uint8_t result[ELEMENT_MAX], zero[ELEMENT_MAX] = {0};
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void) state;
	assert_ptr_not_equal(page, MAP_FAILED);
	for (uint32_t type = 0; type < TYPES; type++) {
		memset(result, 1, sizeof(result));
		gamma_atomic_ops_apply(&(struct gamma_atomic){type, GAMMA_ATOMIC_READ, 1, page,
							      NULL, NULL, result});
		assert_memory_equal(result, zero, gamma_atomic_ops_size(type));
	}
	munmap(page, 4096);
}

static void apply__write_takes_every_bit(void **state)
{
	_Alignas(32) uint8_t target[ELEMENT_MAX], operand[ELEMENT_MAX];

	(void) state;
	for (uint32_t type = 0; type < TYPES; type++) {
		memset(target, 0, sizeof(target));
		for (unsigned i = 0; i < sizeof(operand); i++) /* a signalling NaN, with padding */
			operand[i] = (uint8_t) (i % 8 == 6 ? 0xf7 : i % 4 == 2 ? 0xa0 : 0x7f);
		gamma_atomic_ops_apply(&(struct gamma_atomic){type, GAMMA_ATOMIC_WRITE, 1, target,
							      operand, NULL, NULL});
		assert_memory_equal(target, operand, gamma_atomic_ops_size(type));
	}
}

/* Bytes that a number leaves over are not the stack's. */
static void apply__no_byte_comes_from_elsewhere(void **state)
{
	enum { USED = __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(long double) };
	long double one[2] = {1, 1};

	(void) state;
	for (uint32_t type = GAMMA_LONG_DOUBLE; type <= GAMMA_LONG_DOUBLE_COMPLEX; type++) {
		_Alignas(32) uint8_t target[ELEMENT_MAX] = {0};

		memset((uint8_t *) one + USED, 0xaa, sizeof(*one) - USED);
		gamma_atomic_ops_apply(
			&(struct gamma_atomic){type, GAMMA_ATOMIC_SUM, 1, target, one, NULL, NULL});
		for (size_t i = 0; i < gamma_atomic_ops_size(type); i++)
			if (i % sizeof(*one) >= USED)
				assert_int_equal(target[i], 0);
	}
}

/* ---- many at the same element ---- */

enum { THREADS = 4, ROUNDS = 20000 };

struct adders {
	uint32_t type;
	void *target;
	uint8_t one[ELEMENT_MAX];
};

static void one_of(uint32_t type, uint8_t one[ELEMENT_MAX])
{
	memset(one, 0, ELEMENT_MAX);
	if (is_integer(type))
		one[0] = 1;
	else
		part_value(type, 1, one);
}

static void add_rounds(const struct adders *adders)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		gamma_atomic_ops_apply(&(struct gamma_atomic){adders->type, GAMMA_ATOMIC_SUM, 1,
							      adders->target, adders->one, NULL,
							      NULL});
}

static void *add(void *context)
{
	add_rounds(context);
	return NULL;
}

static bool reached(uint32_t type, const void *target, unsigned sum)
{
	size_t size = gamma_atomic_ops_size(type);
	wide mask = size == 16 ? ~(wide) 0 : ((wide) 1 << 8 * size % 128) - 1;

	return is_integer(type) ? integer_at(type, target) == (sum & mask)
				: number_at(type, target).re == sum;
}

/* Also at addresses where complex numbers cannot be swapped in one piece. */
static void apply__threads_lose_no_addition(void **state)
{
	static _Alignas(64) uint8_t memory[2 * ELEMENT_MAX];

	(void) state;
	for (uint32_t type = 0; type < TYPES; type++)
		for (size_t at = 0; at <= gamma_atomic_ops_alignment(type);
		     at += gamma_atomic_ops_alignment(type)) {
			struct adders adders = {.type = type, .target = memory + at};
			pthread_t threads[THREADS];

			memset(memory, 0, sizeof(memory));
			one_of(type, adders.one);
			for (unsigned i = 0; i < THREADS; i++)
				assert_int_equal(pthread_create(&threads[i], NULL, add, &adders),
						 0);
			for (unsigned i = 0; i < THREADS; i++)
				pthread_join(threads[i], NULL);
			if (!reached(type, adders.target, THREADS * ROUNDS))
				fail_msg("type %u at %zu", type, at);
		}
}

static void apply__the_processors_own_atomics_join_in(void **state)
{
	static uint64_t target;
	struct adders adders = {.type = GAMMA_UINT64, .target = &target};
	pthread_t thread;

	(void) state;
	one_of(GAMMA_UINT64, adders.one);
	assert_int_equal(pthread_create(&thread, NULL, add, &adders), 0);
	for (unsigned i = 0; i < ROUNDS; i++)
		__atomic_add_fetch(&target, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(target, 2 * ROUNDS);
}

/* Two processes with the memory at different addresses. */
static void apply__processes_lose_no_addition(void **state)
{
	int fd = memfd_create("atomic", MFD_CLOEXEC), status;
	uint8_t *here, *there;

	(void) state;
	assert_true(fd >= 0 && !ftruncate(fd, 4096));
	here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(here != MAP_FAILED && there != MAP_FAILED && here != there);
	for (uint32_t type = 0; type < TYPES; type++) {
		struct adders adders = {.type = type, .target = here};
		pid_t child;

		if (gamma_atomic_ops_size(type) > 16)
			continue;
		memset(here, 0, ELEMENT_MAX);
		one_of(type, adders.one);
		child = fork();
		if (!child) {
			adders.target = there;
			add_rounds(&adders);
			_exit(0);
		}
		add_rounds(&adders);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		if (!reached(type, here, 2 * ROUNDS))
			fail_msg("type %u", type);
	}
	munmap(here, 4096);
	munmap(there, 4096);
	close(fd);
}

/* All bytes of an element are written and read in one piece. */
static void *write_patterns(void *context)
{
	const struct adders *adders = context;
	uint8_t pattern[ELEMENT_MAX];

	for (unsigned i = 0; i < ROUNDS; i++) {
		memset(pattern, (int) i & 0x3f, sizeof(pattern));
		gamma_atomic_ops_apply(&(struct gamma_atomic){adders->type, GAMMA_ATOMIC_WRITE, 1,
							      adders->target, pattern, NULL, NULL});
	}
	return NULL;
}

static void apply__no_value_is_seen_in_the_making(void **state)
{
	static _Alignas(64) uint8_t memory[2 * ELEMENT_MAX];

	(void) state;
	for (uint32_t type = 0; type < TYPES; type++) {
		struct adders adders = {.type = type, .target = memory};
		uint8_t seen[ELEMENT_MAX];
		pthread_t thread;

		memset(memory, 0, sizeof(memory));
		assert_int_equal(pthread_create(&thread, NULL, write_patterns, &adders), 0);
		for (unsigned i = 0; i < ROUNDS; i++) {
			gamma_atomic_ops_apply(&(struct gamma_atomic){type, GAMMA_ATOMIC_READ, 1,
								      memory, NULL, NULL, seen});
			for (uint32_t k = 1; k < gamma_atomic_ops_size(type); k++)
				if (seen[k] != seen[0])
					fail_msg("type %u: half of a value", type);
		}
		pthread_join(thread, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(apply__every_operation_on_every_type),
		TEST(fold__is_what_apply_computes),
		TEST(valid__integers_have_all_operations),
		TEST(valid__bits_and_order_only_where_they_make_sense),
		TEST(valid__each_form_has_its_operations),
		TEST(valid__newer_numbers_are_unknown),
		TEST(apply__read_leaves_read_only_memory_alone),
		TEST(apply__write_takes_every_bit),
		TEST(apply__no_byte_comes_from_elsewhere),
		TEST(apply__threads_lose_no_addition),
		TEST(apply__the_processors_own_atomics_join_in),
		TEST(apply__processes_lose_no_addition),
		TEST(apply__no_value_is_seen_in_the_making),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
