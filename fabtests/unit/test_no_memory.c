// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of flow/ and message/ when memory runs out. A frame that there is no memory for
 * counts as not arrived, one that cannot be made is made later; so everything arrives in the end. The
 * linker leads the program's allocations here (--wrap), and the harness's own are spared.
 */
#include "pair.h"

#include <stdlib.h>

static struct net *net;
static long left;	   /* allocations until those that fail; below 0: none fails */
static unsigned long fails; /* how many then fail */
static unsigned long failed;

static bool refused(void)
{
	if (net_allocates || left < 0)
		return false;
	if (left) {
		left--;
		return false;
	}
	if (!fails) {
		left = -1;
		return false;
	}
	fails--;
	failed++;
	return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
	return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return refused() ? NULL : __real_realloc(old, size);
}

static void lose(enum fate fate, int from, uint64_t seq, uint64_t delay)
{
	net_rule(net, (struct rule){.fate = fate, .from = from, .kind = GAMMA_KIND_DATA,
				    .op = ANY_OP, .seq = seq, .times = 1, .delay = delay});
}

/* Every way that a message can go, with frames that get lost and overtake each other, and more of
 * them unexpected than there is room for. */
static void begin(void)
{
	static const uint64_t lengths[] = {0, 100, 100, 3000, 700, 9000, 40000, 5000, 200, 1200};
	struct net_options options = net_defaults();

	options.inject_size = 4096;
	options.unexpected_size = 3500;
	net = net_new(2, &options);
	lose(DELAY, 0, 2, 30 * US);
	lose(DROP, 0, 5, 0);
	lose(DROP, 1, 1, 0);
	net_flow(net, 0, 1);
	net_flow(net, 1, 0);
	for (unsigned i = 0; i < gamma_array_size(lengths); i++) {
		if (i < 3)
			net_post(net, 1, 65536);
		net_send(net, 0, 1, lengths[i], (int) (i % 3));
		net_send(net, 1, 0, lengths[i], (int) ((i + 1) % 3));
	}
}

static void end(void)
{
	left = -1;
	net_free(net);
}

static void go_on(void)
{
	for (unsigned i = 0; i < 10; i++) {
		if (i >= 3)
			net_post(net, 1, 65536);
		net_post(net, 0, 65536);
		net_run(net, MS);
	}
	net_finish(net, 20 * SEC);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(net->nodes[i].received, 10);
		assert_int_equal(net->nodes[i].sent, 10);
	}
}

static void once__everything_arrives(void **state)
{
	(void) state;
	for (long n = 0;; n++) {
		begin();
		left = n;
		fails = 1;
		failed = 0;
		net_run(net, 2 * MS);
		go_on();
		end();
		if (!failed)
			break;
		assert_true(n < 1000);
	}
}

static void for_a_while__everything_arrives(void **state)
{
	(void) state;
	begin();
	left = 0;
	fails = ~0ul;
	net_run(net, 50 * MS);
	assert_true(failed > 10);
	left = -1;
	go_on();
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(once__everything_arrives),
		TEST(for_a_while__everything_arrives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
