// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/send_coalescing.c: which short messages wait to share a frame. */
#include "unit.h"

#include "engine/send_coalescing.h"
#include "engine/state.h"
#include "message/coalesce.h"

static struct gamma_local local;
static struct gamma_peer peer;

static int setup(void **state)
{
	(void) state;
	local = (struct gamma_local){.limits = {.inject_size = 4096, .eager_size = 16384}};
	peer = (struct gamma_peer){
		.messages.flow = {.local = &local, .path_mtu = {.mtu = 1500}},
	};
	return 0;
}

static bool waits(uint64_t round, bool may_delay, bool more, uint64_t length)
{
	struct gamma_envelope envelope = {.length = length};

	return gamma_send_coalescing_delays(
		&peer.messages.flow,
		length > local.limits.inject_size ? 0 : gamma_coalesce_message_len(&envelope),
		may_delay, more, round);
}

/* How many of a row of so many messages of 8 bytes waited. */
static unsigned row(uint64_t round, unsigned count)
{
	unsigned waited = 0;

	for (unsigned i = 0; i < count; i++)
		waited += waits(round, true, false, 8);
	return waited;
}

static void few__leave_at_once(void **state)
{
	(void) state;
	for (uint64_t round = 1; round < 10; round++)
		assert_int_equal(row(round, GAMMA_COALESCE_AFTER), 0);
}

static void many__wait_behind_the_first_few(void **state)
{
	(void) state;
	assert_int_equal(row(1, 64), 64 - GAMMA_COALESCE_AFTER);
	/* The row before was long. */
	assert_int_equal(row(2, 64), 63);
	assert_int_equal(row(3, 2), 1);
	/* It was short. */
	assert_int_equal(row(4, GAMMA_COALESCE_AFTER), 0);
}

static void full__leaves(void **state)
{
	uint32_t room = gamma_coalesce_room(&peer.messages.flow), each = 8 + 4;

	(void) state;
	row(1, GAMMA_COALESCE_AFTER);
	for (int frame = 0; frame < 3; frame++) {
		assert_int_equal(row(1, room / each - 1), room / each - 1);
		assert_false(waits(1, true, false, 8));
	}
}

static void injected_and_long__never_wait(void **state)
{
	(void) state;
	row(1, 32);
	assert_false(waits(1, false, false, 8));
	assert_false(waits(1, true, false, 5000));
	assert_true(waits(1, true, false, 8));
}

static void more__waits_until_it_is_said_no_more(void **state)
{
	(void) state;
	assert_true(waits(1, false, true, 8));
	assert_true(waits(1, true, true, 8));
	assert_false(waits(1, true, false, 8));
	assert_false(waits(1, true, false, 8));
	/* In a long row too. */
	row(2, 32);
	assert_true(waits(2, true, true, 8));
	assert_false(waits(2, true, false, 8));
}

#define ROW_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW_TEST(few__leave_at_once),
		ROW_TEST(many__wait_behind_the_first_few),
		ROW_TEST(full__leaves),
		ROW_TEST(injected_and_long__never_wait),
		ROW_TEST(more__waits_until_it_is_said_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
