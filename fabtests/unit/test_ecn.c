// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/ecn.c: marks of routers, counted, reported and heard. */
#include "pair_fixture.h"

enum {
	FRAMES = 100,    /* of the message that crosses a network */
	SILENT_MAX = 64, /* frames without a count, after which no more are marked */
	WINDOW = 40,     /* frames */
};

/* Two nodes on different subnets, which know each other; how frames come to node 1. */
static uint8_t mark, unmarked = GAMMA_ECN_NONE;

static int begin(void **state)
{
	int ret = setup(state);

	if (ret)
		return ret;
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	mark = GAMMA_ECN_CAPABLE;
	for (unsigned node = 0; node < 2; node++) {
		gamma_congestion_start(net_flow(net, node, 1 - node));
		net_flow(net, node, 1 - node)->local->ecn = node ? &mark : &unmarked;
	}
	return 0;
}

static struct gamma_flow *sender(void)
{
	return net_flow(net, 0, 1);
}

static struct gamma_flow *receiver(void)
{
	return net_flow(net, 1, 0);
}

static void send_frames(uint32_t count)
{
	net_post(net, 1, count * 1400);
	net_send(net, 0, 1, count * 1400, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
}

/* What a plain acknowledgement reports, as if all that was sent had arrived. */
static void hear(uint32_t seq)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_ACK,
		.op = GAMMA_ACK_PLAIN,
		.extensions = GAMMA_EXT_ACK,
		.ack = sender()->tx.una,
		.seq = seq,
	};

	gamma_ecn_heard(sender(), &fields);
}

static uint64_t reductions(void)
{
	return net_stats(net, 0)->window_reductions;
}

/* ---- the sender ---- */

static void delivered__without_a_count_no_frame_may_be_marked_any_more(void **state)
{
	(void) state;
	for (unsigned i = 1; i < SILENT_MAX; i++)
		gamma_ecn_delivered(sender());
	assert_true(sender()->ecn.capable);
	gamma_ecn_delivered(sender());
	assert_false(sender()->ecn.capable);
	hear(1);
	assert_true(sender()->ecn.capable);
}

static void delivered__with_a_count_frames_may_be_marked_for_ever(void **state)
{
	(void) state;
	hear(1);
	for (unsigned i = 0; i < 2 * SILENT_MAX; i++)
		gamma_ecn_delivered(sender());
	assert_true(sender()->ecn.capable);
}

static void heard__a_count_that_is_not_new_changes_nothing(void **state)
{
	(void) state;
	hear(1);
	hear(1);
	hear(0); /* of a peer that reports none */
	assert_int_equal(reductions(), 0);
}

static void heard__a_new_mark_shrinks_the_window(void **state)
{
	(void) state;
	sender()->congestion.window = (uint64_t) WINDOW * GAMMA_CONGESTION_UNIT;
	hear(2);
	assert_int_equal(sender()->congestion.window / GAMMA_CONGESTION_UNIT, WINDOW * 7 / 10);
	assert_int_equal(reductions(), 1);
}

/* The numbers of acknowledgements that have been overtaken, and those that somebody guesses. */
static void heard__only_with_the_latest_acknowledgement(void **state)
{
	struct gamma_fields fields = {
		.extensions = GAMMA_EXT_ACK, .ack = sender()->tx.una - 1, .seq = 7};

	(void) state;
	gamma_ecn_heard(sender(), &fields);
	fields.extensions = 0;
	fields.ack = sender()->tx.una;
	gamma_ecn_heard(sender(), &fields);
	assert_int_equal(sender()->ecn.heard, 0);
	assert_int_equal(reductions(), 0);
}

/* ---- the receiver ---- */

static void arrived__counts_only_marks(void **state)
{
	(void) state;
	gamma_ecn_arrived(receiver());
	gamma_ecn_arrived(receiver());
	assert_int_equal(receiver()->ecn.count, 1);
	mark = GAMMA_ECN_MARKED;
	gamma_ecn_arrived(receiver());
	assert_int_equal(receiver()->ecn.count, 2);
	mark = 1; /* ECT(1): not used */
	gamma_ecn_arrived(receiver());
	assert_int_equal(receiver()->ecn.count, 2);
	assert_int_equal(net_stats(net, 1)->ecn_marked, 1);
}

static void arrived__no_count_of_frames_that_could_not_be_marked(void **state)
{
	(void) state;
	mark = GAMMA_ECN_NONE;
	gamma_ecn_arrived(receiver());
	receiver()->local->ecn = NULL;
	gamma_ecn_arrived(receiver());
	assert_int_equal(receiver()->ecn.count, 0);
}

static void arrived__the_count_does_not_become_0(void **state)
{
	(void) state;
	receiver()->ecn.count = UINT32_MAX;
	mark = GAMMA_ECN_MARKED;
	gamma_ecn_arrived(receiver());
	assert_int_equal(receiver()->ecn.count, 1);
}

/* ---- a flow ---- */

static void flow__reports_that_nothing_was_marked(void **state)
{
	(void) state;
	send_frames(FRAMES);
	assert_int_equal(receiver()->ecn.count, 1);
	assert_int_equal(sender()->ecn.heard, 1);
	assert_true(sender()->ecn.capable);
	assert_int_equal(reductions(), 0);
}

static void flow__slows_down_and_sends_nothing_again(void **state)
{
	(void) state;
	mark = GAMMA_ECN_MARKED;
	send_frames(FRAMES);
	assert_true(receiver()->ecn.count > FRAMES / 2);
	assert_true(sender()->ecn.heard > 1);
	assert_true(reductions() > 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

/* The next one has the count. */
static void flow__a_lost_acknowledgement_loses_no_mark(void **state)
{
	(void) state;
	net_drop(net, 1, GAMMA_KIND_ACK, 1);
	mark = GAMMA_ECN_MARKED;
	send_frames(1);
	mark = GAMMA_ECN_CAPABLE;
	send_frames(FRAMES);
	assert_true(sender()->ecn.heard > 1);
	assert_true(reductions() > 0);
}

/* By whichever the latest transmission has arrived, it was under way after the last reduction. */
static void flow__with_several_nics_slows_down_too(void **state)
{
	struct gamma_rails rails = {0};

	(void) state;
	sender()->rails = receiver()->rails = &rails;
	gamma_ecn_start(sender());
	assert_true(sender()->ecn.capable);
	mark = GAMMA_ECN_MARKED;
	gamma_ecn_arrived(receiver());
	assert_int_equal(receiver()->ecn.count, 2);
	sender()->congestion.reduced = sender()->tx.serial;
	rails.rail[1].loss.rack_serial = sender()->tx.serial + 1;
	hear(2);
	assert_int_equal(reductions(), 1);
	sender()->rails = receiver()->rails = NULL;
}

static void flow__on_one_segment_reports_nothing(void **state)
{
	(void) state;
	sender()->congestion.on = receiver()->congestion.on = false;
	mark = GAMMA_ECN_MARKED;
	send_frames(FRAMES);
	assert_int_equal(receiver()->ecn.count, 0);
	assert_int_equal(sender()->ecn.heard, 0);
}

#define ECN_TEST(name) cmocka_unit_test_setup_teardown(name, begin, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ECN_TEST(delivered__without_a_count_no_frame_may_be_marked_any_more),
		ECN_TEST(delivered__with_a_count_frames_may_be_marked_for_ever),
		ECN_TEST(heard__a_count_that_is_not_new_changes_nothing),
		ECN_TEST(heard__a_new_mark_shrinks_the_window),
		ECN_TEST(heard__only_with_the_latest_acknowledgement),
		ECN_TEST(arrived__counts_only_marks),
		ECN_TEST(arrived__no_count_of_frames_that_could_not_be_marked),
		ECN_TEST(arrived__the_count_does_not_become_0),
		ECN_TEST(flow__reports_that_nothing_was_marked),
		ECN_TEST(flow__slows_down_and_sends_nothing_again),
		ECN_TEST(flow__a_lost_acknowledgement_loses_no_mark),
		ECN_TEST(flow__with_several_nics_slows_down_too),
		ECN_TEST(flow__on_one_segment_reports_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
