// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/rx_moderation.c: how long the frames of a long message are left to
 * gather. */
#include "unit.h"

#include "engine/progress.h"
#include "engine/rx_moderation.h"

enum { FRAME = 1500 /* bytes */, FRAME_NS = 2000 };

static struct gamma_rx_moderation moderation;
static struct gamma_message_local local;
static struct gamma_flow flow;
static uint64_t now; /* ns */

static int setup(void **state)
{
	(void) state;
	now = GAMMA_NS_PER_S;
	moderation = (struct gamma_rx_moderation){.looked = now};
	local = (struct gamma_message_local){.arriving_bytes = 1 << 20, .arriving_from = &flow};
	flow = (struct gamma_flow){.local = &local.local, .credit = {.limit = 224}};
	return 0;
}

/* So many frames are found, one of which takes frame_ns to come; ns to moderation. */
static uint64_t found(unsigned frames, uint64_t frame_ns)
{
	now += frames * frame_ns;
	local.local.stats.bytes_in += (uint64_t) frames * FRAME;
	moderation.until = 0;
	gamma_rx_moderation_plan(&moderation, &local, frames, now);
	return moderation.until ? moderation.until - now : 0;
}

static void long_message__rests_as_long_as_allowed(void **state)
{
	(void) state;
	assert_int_equal(found(1, FRAME_NS), GAMMA_RX_MODERATION_US * GAMMA_NS_PER_US);
	assert_int_equal(found(10, FRAME_NS), GAMMA_RX_MODERATION_US * GAMMA_NS_PER_US);
}

static void end__is_looked_for_at_once(void **state)
{
	(void) state;
	local.arriving_bytes = 8 * FRAME;
	assert_int_equal(found(1, FRAME_NS), 4 * FRAME_NS);
	local.arriving_bytes = 2 * FRAME;
	assert_int_equal(found(1, FRAME_NS), 0);
	local.arriving_bytes = 0;
	assert_int_equal(found(1, FRAME_NS), 0);
}

static void credit__lasts(void **state)
{
	(void) state;
	flow.credit.limit = 32;
	assert_int_equal(found(1, FRAME_NS), 4 * FRAME_NS);
	flow.credit.limit = 8;
	assert_int_equal(found(1, FRAME_NS), 0);
}

static void slow_frames__are_looked_for_at_once(void **state)
{
	(void) state;
	assert_int_equal(found(1, 12000), 0); /* 1 Gbit/s */
	assert_int_equal(found(1, 1200), GAMMA_RX_MODERATION_US * GAMMA_NS_PER_US);
}

static void first_frame__after_a_pause(void **state)
{
	(void) state;
	assert_int_equal(found(1, GAMMA_NS_PER_MS), 0);
}

static void full_poll__may_have_left_some(void **state)
{
	(void) state;
	assert_int_equal(found(GAMMA_POLL_BUDGET, FRAME_NS), 0);
}

#define REST_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REST_TEST(long_message__rests_as_long_as_allowed),
		REST_TEST(end__is_looked_for_at_once),
		REST_TEST(credit__lasts),
		REST_TEST(slow_frames__are_looked_for_at_once),
		REST_TEST(first_frame__after_a_pause),
		REST_TEST(full_poll__may_have_left_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
