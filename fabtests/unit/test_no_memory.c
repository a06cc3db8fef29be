// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of flow/ and message/ when memory runs out. A frame that there is no memory for
 * counts as not arrived, one that cannot be made is made later; so everything arrives in the end.
 * The linker leads the program's allocations here (--wrap), and the harness's own are spared.
 */
#include "pair_remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct net *net;
static long left;           /* allocations until those that fail; below 0: none fails */
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
	net_rule(net, (struct rule){.fate = fate,
				    .from = from,
				    .kind = GAMMA_KIND_DATA,
				    .op = ANY_OP,
				    .seq = seq,
				    .times = 1,
				    .delay = delay});
}

enum { KINDS = 10, SHORT = 30, POSTED = 3 };

static void send_all(void)
{
	static const uint64_t lengths[KINDS] = {0,    100,   100,  3000, 700,
						9000, 40000, 5000, 200,  1200};

	for (unsigned i = 0; i < KINDS; i++) {
		if (i < POSTED)
			net_post(net, 1, 65536);
		net_send(net, 0, 1, lengths[i], (int) (i % 3));
		net_send(net, 1, 0, lengths[i], (int) ((i + 1) % 3));
	}
	for (unsigned i = 0; i < SHORT; i++) /* beyond the first credit: they share frames */
		net_send(net, 0, 1, 20 + i, GAMMA_WHEN_COPIED);
}

/* Every way that a message can go, with frames that get lost and overtake each other, and more of
 * them unexpected than there is room for. */
static void exchange(void)
{
	lose(DELAY, 0, 2, 30 * US);
	lose(DROP, 0, 5, 0);
	lose(DROP, 1, 1, 0);
	send_all();
	net_run(net, 2 * MS);
}

/* Large frames, until the switch passes them no more: what was under way goes on in parts. */
static void shrink(void)
{
	net_run(net, 5 * MS);
	send_all();
	net_run(net, 5 * US);
	net->options.switch_mtu = GAMMA_SAFE_MTU;
	net_run(net, 2 * MS);
}

static void begin(uint32_t mtu)
{
	struct net_options options = net_defaults();

	options.mtu = mtu;
	options.inject_size = 4096;
	options.unexpected_size = 3500;
	net = net_new(2, &options);
	net_flow(net, 0, 1);
	net_flow(net, 1, 0);
}

static void end(void)
{
	left = -1;
	for (unsigned i = 0; i < KINDS + SHORT; i++) {
		if (i >= POSTED)
			net_post(net, 1, 65536);
		if (i < KINDS)
			net_post(net, 0, 65536);
		net_run(net, MS);
	}
	net_finish(net, 20 * SEC);
	assert_int_equal(net->nodes[0].received, KINDS);
	assert_int_equal(net->nodes[1].received, KINDS + SHORT);
	net_free(net);
}

/* The first allocation fails, then the second, and so on, `many` in a row, until none is left. */
static void sweep(uint32_t mtu, void (*what)(void), unsigned long many)
{
	for (long n = 0;; n++) {
		begin(mtu);
		left = n;
		fails = many;
		failed = 0;
		what();
		end();
		if (!failed)
			break;
		assert_true(n < 1000);
	}
}

static void exchange__one_allocation_fails(void **state)
{
	(void) state;
	sweep(1500, exchange, 1);
}

static void exchange__some_fail(void **state)
{
	(void) state;
	sweep(1500, exchange, 7);
}

static void exchange__all_fail_for_a_while(void **state)
{
	(void) state;
	begin(1500);
	left = 0;
	fails = ~0ul;
	failed = 0;
	exchange();
	net_run(net, 50 * MS);
	assert_true(failed > 10);
	end();
}

static void shrink__one_allocation_fails(void **state)
{
	(void) state;
	sweep(9000, shrink, 1);
}

static void shrink__some_fail(void **state)
{
	(void) state;
	sweep(9000, shrink, 7);
}

/* Nothing else happens that would have the peer looked at again. */
static void alone__made_later(void **state)
{
	static const uint64_t lengths[] = {100, 3000, 5000, 40000};

	(void) state;
	for (unsigned i = 0; i < gamma_array_size(lengths); i++) {
		for (int level = GAMMA_WHEN_COPIED; level <= GAMMA_WHEN_MATCHED; level++) {
			for (long n = 0; n < 8; n++) {
				begin(1500);
				net_post(net, 1, 65536);
				left = n;
				fails = 1;
				net_send(net, 0, 1, lengths[i],
					 (enum gamma_completion_level) level);
				net_run(net, MS);
				left = -1;
				net_finish(net, 20 * SEC);
				net_free(net);
			}
		}
	}
}

/* A message of one frame and no bytes, from node 0. */
static void arrive(uint32_t seq)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);

	fields.seq = seq;
	fields.extensions = GAMMA_EXT_TAG;
	fields.tag = seq;
	gamma_flow_receive(net_flow(net, 1, 0), &fields, (const uint8_t *) "", net->now, net->now);
}

/* The early frame's turn has come, but not its memory: the second copy of it is one too many. */
static void waiting__a_second_copy_arrives(void **state)
{
	struct gamma_receive_window *rx;

	(void) state;
	begin(1500);
	rx = &net_flow(net, 1, 0)->rx;
	arrive(1);
	left = 1;
	fails = 2;
	arrive(0);
	assert_true(rx->no_memory);
	left = -1;
	arrive(1);
	assert_int_equal(rx->next, 2);
	assert_false(rx->no_memory);
	assert_int_equal(net_stats(net, 1)->unexpected, 2);
	assert_int_equal(net_stats(net, 1)->duplicates, 1);
	for (uint32_t i = 0; i < GAMMA_WINDOW_MAX / 64; i++)
		assert_true(!rx->bits[i]);
	for (uint32_t i = 0; i < GAMMA_WINDOW_MAX; i++)
		assert_null(rx->early[i]);
	net_free(net);
}

/* ---- remote memory ---- */

enum { REGION = 100000 };

static uint8_t bytes[REGION], read_back[2 * REGION];
static uint64_t before[2][200];
static struct outgoing *refused_ones[3];

static void remote(void)
{
	uint64_t operands[200];

	for (unsigned i = 0; i < REGION; i++)
		bytes[i] = (uint8_t) (i * 31 + (i >> 8) + 1);
	for (unsigned i = 0; i < 200; i++)
		operands[i] = i;
	lose(DELAY, 0, 2, 30 * US);
	lose(DROP, 0, 5, 0);
	lose(DROP, 1, 1, 0);
	net_write(net, 0, 1, 8000, bytes, 30000);
	net_write(net, 0, 1, 50000, bytes, 100);
	net_read(net, 0, 1, 8000, read_back, 30000);
	refused_ones[0] = net_write(net, 0, 1, REGION - 5000, bytes, 10000);
	net_atomic(net, 0, 1, GAMMA_OP_FETCH, 0, operands, 200, before[0]);
	net_read(net, 0, 1, 50000, read_back + REGION, 100);
	refused_ones[1] = net_read(net, 0, 1, REGION, read_back, 1);
	net_atomic(net, 0, 1, GAMMA_OP_ATOMIC, 0, operands, 200, NULL);
	refused_ones[2] = net_atomic(net, 0, 1, GAMMA_OP_ATOMIC, REGION, operands, 1, NULL);
	net_atomic(net, 0, 1, GAMMA_OP_FETCH, 0, operands, 200, before[1]);
	net_write(net, 0, 1, 60000, bytes, 5000);
	net_run(net, 2 * MS);
}

/* Short ones, which share frames with messages. */
enum { FETCHES = 40 };
static uint64_t fetched[FETCHES], beyond;
static struct outgoing *beyond_it;

static void short_ones(void)
{
	const uint64_t one = 1;

	for (unsigned i = 0; i < FETCHES; i++) {
		net_write(net, 0, 1, 1000 + i, &i, 1);
		net_send(net, 0, 1, 20, GAMMA_WHEN_COPIED);
		net_atomic(net, 0, 1, GAMMA_OP_FETCH, 0, &one, 1, &fetched[i]);
		net_atomic(net, 0, 1, GAMMA_OP_ATOMIC, 0, &one, 1, NULL);
		if (i == FETCHES / 2) {
			refused_ones[0] = net_write(net, 0, 1, REGION, &one, 8);
			beyond_it = net_read(net, 0, 1, REGION, &beyond, 8);
		}
	}
	net_run(net, 2 * MS);
}

static void check_short_ones(void)
{
	for (unsigned i = 0; i < FETCHES; i++) {
		assert_int_equal(fetched[i], 2 * i);
		assert_int_equal(regions[1].bytes[1000 + i], i);
	}
	assert_int_equal(refused_ones[0]->error, -EINVAL);
	assert_int_equal(beyond_it->error, -EINVAL);
	assert_int_equal(regions[1].touched, 3 * FETCHES);
	assert_true(net_stats(net, 0)->batched > 3 * FETCHES);
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	for (unsigned i = 0; i < FETCHES; i++)
		net_post(net, 1, 64);
	net_finish(net, 20 * SEC);
	assert_int_equal(net->nodes[1].received, FETCHES);
}

static void check_remote(void)
{
	assert_memory_equal(regions[1].bytes + 8000, bytes, 30000);
	assert_memory_equal(read_back, bytes, 30000);
	assert_memory_equal(read_back + REGION, bytes, 100);
	assert_memory_equal(regions[1].bytes + 60000, bytes, 5000);
	for (unsigned i = 0; i < 200; i++) {
		assert_int_equal(before[0][i], 0);
		assert_int_equal(before[1][i], 2 * i);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(refused_ones[i]->error, -EINVAL);
	assert_int_equal(net_stats(net, 1)->remote_refused, 3);
	assert_int_equal(regions[1].touched, 8);
	assert_int_equal(net_stats(net, 1)->malformed, 0);
}

static void sweep_remote(unsigned long many, void (*what)(void), void (*check)(void))
{
	for (long n = 0;; n++) {
		begin(1500);
		net_allocates++;
		remote_begin(net, REGION);
		net_allocates--;
		left = n;
		fails = many;
		failed = 0;
		what();
		left = -1;
		net_finish(net, 20 * SEC);
		net_run(net, 10 * MS);
		check();
		net_free(net);
		remote_end();
		if (!failed)
			break;
		assert_true(n < 1000);
	}
}

static void remote__one_allocation_fails(void **state)
{
	(void) state;
	sweep_remote(1, remote, check_remote);
	sweep_remote(1, short_ones, check_short_ones);
}

static void remote__some_fail(void **state)
{
	(void) state;
	sweep_remote(7, remote, check_remote);
	sweep_remote(7, short_ones, check_short_ones);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(exchange__one_allocation_fails),
		TEST(exchange__some_fail),
		TEST(exchange__all_fail_for_a_while),
		TEST(shrink__one_allocation_fails),
		TEST(shrink__some_fail),
		TEST(alone__made_later),
		TEST(waiting__a_second_copy_arrives),
		TEST(remote__one_allocation_fails),
		TEST(remote__some_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
