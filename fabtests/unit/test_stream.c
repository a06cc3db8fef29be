// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/group/stream.c and take.c: each alone, and both on a wire that loses. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "group/stream.h"
#include "group/take.h"

#define US GAMMA_NS_PER_US

static struct gamma_stream stream;
static struct gamma_take take;

static void open_stream(uint32_t frames, uint32_t receivers, uint32_t window)
{
	assert_true(gamma_stream_init(&stream, frames, receivers, window));
}

static uint32_t send_all(void)
{
	uint32_t frame, count = 0;

	while (gamma_stream_next(&stream, &frame))
		count++;
	return count;
}

static struct gamma_stream_ask ask_for(uint32_t base, uint32_t bits)
{
	return (struct gamma_stream_ask){.base = base, .seen = UINT32_MAX, .bits = {bits}};
}

/* ---- the sender ---- */

static void window__is_filled_and_follows_the_slowest(void **state)
{
	(void) state;
	open_stream(1000, 3, 224);
	assert_int_equal(send_all(), GAMMA_STREAM_WINDOW);
	assert_true(gamma_stream_report(&stream, 0, 64));
	assert_true(gamma_stream_report(&stream, 1, 64));
	assert_int_equal(send_all(), 0);
	assert_true(gamma_stream_report(&stream, 2, 16));
	assert_int_equal(stream.stable, 16);
	assert_int_equal(send_all(), 32); /* 16 for those that arrived, and it grows by as many */
	gamma_stream_fini(&stream);
}

static void hold__sends_nothing_until_all_have_begun(void **state)
{
	struct gamma_stream_ask ask = ask_for(0, 0);

	(void) state;
	open_stream(100, 4, 224);
	gamma_stream_excuse(&stream, 1);
	gamma_stream_hold(&stream);
	assert_int_equal(send_all(), 0);
	assert_true(gamma_stream_report(&stream, 0, 0));
	assert_true(gamma_stream_report(&stream, 0, 0));
	assert_true(gamma_stream_report(&stream, 3, 0));
	assert_int_equal(send_all(), 0);
	/* It has begun, but those that it reports for may not have. */
	assert_true(gamma_stream_ask(&stream, 2, &ask, 0));
	assert_int_equal(send_all(), 0);
	assert_true(gamma_stream_report(&stream, 2, 0));
	assert_int_equal(send_all(), GAMMA_STREAM_WINDOW);
	gamma_stream_fini(&stream);
}

static void relay__needs_no_report_of_its_own(void **state)
{
	struct gamma_stream_ask ask = ask_for(3, 1);
	struct gamma_stream_repair repair;

	(void) state;
	open_stream(20, 3, 224);
	gamma_stream_relay(&stream, 2);
	gamma_stream_hold(&stream);
	assert_true(gamma_stream_report(&stream, 0, 0));
	assert_true(gamma_stream_report(&stream, 1, 0));
	assert_int_equal(send_all(), 20);
	assert_true(gamma_stream_lags(&stream, 1));
	assert_false(gamma_stream_lags(&stream, 2));
	/* But it asks for itself. */
	ask.seen = 4;
	assert_true(gamma_stream_ask(&stream, 2, &ask, 0));
	assert_true(gamma_stream_next_repair(&stream, GAMMA_STREAM_GATHER_US * US, &repair));
	assert_int_equal(repair.receiver, 2);
	assert_int_equal(repair.frame, 3);
	assert_true(gamma_stream_report(&stream, 0, 20));
	assert_false(gamma_stream_is_stable(&stream));
	assert_true(gamma_stream_report(&stream, 1, 20));
	assert_true(gamma_stream_is_stable(&stream));
	gamma_stream_fini(&stream);
}

static void window__never_exceeds_the_smallest_ring(void **state)
{
	(void) state;
	open_stream(5000, 1, 100);
	while (!gamma_stream_is_stable(&stream)) {
		send_all();
		assert_true(stream.sent - stream.stable <= 100);
		assert_true(gamma_stream_report(&stream, 0, stream.sent));
	}
	gamma_stream_fini(&stream);
}

static void window__is_cut_once_if_several_miss(void **state)
{
	struct gamma_stream_ask ask = ask_for(3, 1);

	(void) state;
	open_stream(5000, 4, 1000);
	for (unsigned i = 0; i < 3; i++) {
		send_all();
		for (uint32_t k = 0; k < 4; k++)
			gamma_stream_report(&stream, k, stream.sent);
	}
	send_all();
	ask.base = stream.stable;
	assert_true(gamma_stream_ask(&stream, 0, &ask, 0));
	assert_int_equal(stream.window, 512); /* one alone may have a bad cable */
	for (uint32_t k = 1; k < 4; k++)
		assert_true(gamma_stream_ask(&stream, k, &ask, 0));
	assert_int_equal(stream.window, 256);
	gamma_stream_fini(&stream);
}

static void report__beyond_what_was_sent_is_refused(void **state)
{
	(void) state;
	open_stream(100, 2, 200);
	send_all();
	assert_false(gamma_stream_report(&stream, 0, 65));
	assert_false(gamma_stream_report(&stream, 2, 1));
	assert_true(gamma_stream_report(&stream, 0, 20));
	assert_true(gamma_stream_report(&stream, 0, 10)); /* an old one */
	assert_int_equal(stream.taken[0], 20);
	gamma_stream_fini(&stream);
}

static void repair__one_receiver_gets_it_alone(void **state)
{
	struct gamma_stream_ask ask = ask_for(3, 5);
	struct gamma_stream_repair repair;

	(void) state;
	open_stream(20, 5, 200);
	send_all();
	assert_true(gamma_stream_ask(&stream, 2, &ask, 1000));
	assert_false(gamma_stream_next_repair(&stream, 1000, &repair)); /* others may ask, too */
	assert_true(gamma_stream_next_repair(&stream, 1000 + 200 * US, &repair));
	assert_int_equal(repair.frame, 3);
	assert_int_equal(repair.receiver, 2);
	assert_true(gamma_stream_next_repair(&stream, 1000 + 200 * US, &repair));
	assert_int_equal(repair.frame, 5);
	assert_false(gamma_stream_next_repair(&stream, 1000 + 200 * US, &repair));
	assert_int_equal(stream.repair_at, GAMMA_NEVER);
	gamma_stream_fini(&stream);
}

static void repair__several_receivers_get_it_by_multicast_once(void **state)
{
	struct gamma_stream_ask ask = ask_for(3, 1);
	struct gamma_stream_repair repair;

	(void) state;
	open_stream(20, 5, 200);
	send_all();
	for (uint32_t i = 0; i < 4; i++)
		assert_true(gamma_stream_ask(&stream, i, &ask, 0));
	assert_true(gamma_stream_next_repair(&stream, 200 * US, &repair));
	assert_int_equal(repair.receiver, GAMMA_STREAM_ALL);
	assert_false(gamma_stream_next_repair(&stream, 200 * US, &repair));
	/* That was lost as well. */
	for (uint32_t i = 0; i < 4; i++)
		assert_true(gamma_stream_ask(&stream, i, &ask, US));
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(gamma_stream_next_repair(&stream, 400 * US, &repair));
		assert_int_equal(repair.receiver, i);
	}
	assert_false(gamma_stream_next_repair(&stream, 400 * US, &repair));
	assert_int_equal(stream.repaired_all, 1);
	assert_int_equal(stream.repaired_one, 4);
	gamma_stream_fini(&stream);
}

static void repair__not_of_what_was_not_sent_or_is_there(void **state)
{
	struct gamma_stream_ask ask = ask_for(0, UINT32_MAX);
	struct gamma_stream_repair repair;

	(void) state;
	open_stream(1000, 1, 200);
	for (uint32_t i = 0, frame; i < 20; i++)
		assert_true(gamma_stream_next(&stream, &frame));
	assert_true(gamma_stream_report(&stream, 0, 18));
	assert_true(gamma_stream_ask(&stream, 0, &ask, 0));
	assert_true(gamma_stream_next_repair(&stream, 200 * US, &repair));
	assert_int_equal(repair.frame, 18);
	assert_true(gamma_stream_next_repair(&stream, 200 * US, &repair));
	assert_int_equal(repair.frame, 19);
	assert_false(gamma_stream_next_repair(&stream, 200 * US, &repair));
	ask.base = UINT32_MAX - 3; /* it wraps */
	assert_true(gamma_stream_ask(&stream, 0, &ask, 0));
	assert_int_equal(stream.repair_at, GAMMA_NEVER);
	gamma_stream_fini(&stream);
}

/* Frames behind the last one that has come may be on their way. */
static void repair__not_of_what_may_have_crossed_the_question(void **state)
{
	struct gamma_stream_ask ask = ask_for(0, UINT32_MAX);
	struct gamma_stream_repair repair;

	(void) state;
	open_stream(20, 1, 200);
	send_all();
	ask.seen = 1;
	ask.bits[0] = UINT32_MAX - 1;
	assert_true(gamma_stream_ask(&stream, 0, &ask, 1000 * US));
	assert_true(gamma_stream_ask(&stream, 0, &ask, 5999 * US)); /* from the same queue */
	assert_int_equal(stream.repair_at, GAMMA_NEVER);
	assert_true(gamma_stream_ask(&stream, 0, &ask, 6000 * US));
	assert_true(gamma_stream_next_repair(&stream, 6200 * US, &repair));
	assert_int_equal(repair.frame, 1);
	gamma_stream_fini(&stream);
}

/* The last frames may be lost, and nothing behind them shows it. */
static void remind__after_silence_and_ever_more_rarely(void **state)
{
	uint64_t now = 1000;

	(void) state;
	open_stream(20, 2, 200);
	assert_false(gamma_stream_remind(&stream, now)); /* nothing was sent */
	assert_int_equal(gamma_stream_deadline(&stream), GAMMA_NEVER);
	send_all();
	assert_true(gamma_stream_report(&stream, 0, 20));
	assert_false(gamma_stream_remind(&stream, now));
	for (unsigned i = 0; i < 3; i++) {
		now += (GAMMA_STREAM_REMIND_US << i) * US;
		assert_int_equal(gamma_stream_deadline(&stream), now);
		assert_false(gamma_stream_remind(&stream, now - 1));
		assert_true(gamma_stream_remind(&stream, now));
	}
	assert_false(gamma_stream_lags(&stream, 0));
	assert_true(gamma_stream_lags(&stream, 1));
	assert_true(gamma_stream_report(&stream, 1, 16)); /* something has come of it */
	assert_false(gamma_stream_remind(&stream, now + GAMMA_STREAM_REMIND_MAX_US * US));
	assert_true(gamma_stream_report(&stream, 1, 20));
	assert_false(gamma_stream_remind(&stream, GAMMA_NEVER - 1));
	gamma_stream_fini(&stream);
}

static void remind__not_while_answers_are_due(void **state)
{
	struct gamma_stream_ask ask = ask_for(19, 1);
	struct gamma_stream_repair repair;
	uint64_t now = GAMMA_STREAM_REMIND_US * US;

	(void) state;
	open_stream(20, 1, 200);
	send_all();
	assert_false(gamma_stream_remind(&stream, 0));
	assert_true(gamma_stream_ask(&stream, 0, &ask, now));
	assert_false(gamma_stream_remind(&stream, now));
	now += GAMMA_STREAM_GATHER_US * US;
	assert_true(gamma_stream_next_repair(&stream, now, &repair));
	assert_false(gamma_stream_next_repair(&stream, now, &repair));
	assert_false(gamma_stream_remind(&stream, now)); /* it has just been sent again */
	assert_true(gamma_stream_remind(&stream, now + GAMMA_STREAM_REMIND_US * US));
	gamma_stream_fini(&stream);
}

/* ---- a receiver ---- */

enum { BYTES = 10050, PAYLOAD = 100, FRAMES = 101 };
static uint8_t source[BYTES], target[BYTES];

static void open_take(void)
{
	for (unsigned i = 0; i < BYTES; i++)
		source[i] = (uint8_t) (i * 7 + i / 256);
	memset(target, 0, sizeof(target));
	assert_true(gamma_take_init(&take, target, BYTES, PAYLOAD, 0));
	assert_int_equal(take.frames, FRAMES);
}

static enum gamma_take_result give(uint32_t frame, uint64_t now)
{
	return gamma_take_frame(&take, frame, source + frame * PAYLOAD,
				gamma_take_len(BYTES, PAYLOAD, frame), now);
}

static void take__places_frames_in_any_order(void **state)
{
	(void) state;
	open_take();
	for (uint32_t i = 0; i < FRAMES; i++)
		assert_int_equal(give((i * 37) % FRAMES, 0), GAMMA_TAKE_NEW);
	assert_true(gamma_take_is_complete(&take));
	assert_int_equal(give(5, 0), GAMMA_TAKE_DUPLICATE);
	assert_memory_equal(source, target, BYTES);
	gamma_take_fini(&take);
}

static void take__refuses_what_cannot_be_of_it(void **state)
{
	(void) state;
	open_take();
	assert_int_equal(gamma_take_frame(&take, FRAMES, source, 50, 0), GAMMA_TAKE_BAD);
	assert_int_equal(gamma_take_frame(&take, UINT32_MAX, source, 100, 0), GAMMA_TAKE_BAD);
	assert_int_equal(gamma_take_frame(&take, 0, source, 99, 0), GAMMA_TAKE_BAD);
	assert_int_equal(gamma_take_frame(&take, FRAMES - 1, source, 100, 0), GAMMA_TAKE_BAD);
	assert_int_equal(take.have, 0);
	gamma_take_fini(&take);
}

static void take__reports_now_and_then_and_at_the_end(void **state)
{
	uint32_t taken, reports = 0;

	(void) state;
	open_take();
	for (uint32_t i = 0; i < FRAMES; i++) {
		give(i, 0);
		if (gamma_take_report(&take, &taken)) {
			assert_int_equal(taken, i + 1);
			reports++;
		}
	}
	assert_int_equal(taken, FRAMES);
	assert_int_equal(reports, FRAMES / GAMMA_STREAM_REPORT + 1);
	assert_false(gamma_take_report(&take, &taken));
	gamma_take_fini(&take);
}

/* With a report of 17 frames the next one is due at 32: receivers that report for others would add
 * up what each holds back. */
static void take__reports_where_multiples_are_passed(void **state)
{
	uint32_t taken;

	(void) state;
	open_take();
	for (uint32_t i = 0; i < GAMMA_STREAM_REPORT + 1; i++)
		give(i, 0);
	assert_true(gamma_take_report(&take, &taken));
	assert_int_equal(taken, GAMMA_STREAM_REPORT + 1);
	for (uint32_t i = taken; i < 2 * GAMMA_STREAM_REPORT; i++) {
		assert_false(gamma_take_report(&take, &taken));
		give(i, 0);
	}
	assert_true(gamma_take_report(&take, &taken));
	gamma_take_fini(&take);
}

static void take__reports_for_others(void **state)
{
	uint32_t taken;

	(void) state;
	open_take();
	take.announces = true;
	gamma_relay_init(&take.relay, 0, 3, FRAMES);
	assert_false(gamma_take_report(&take, &taken));
	assert_true(gamma_relay_report(&take.relay, 0, 0));
	assert_false(gamma_take_report(&take, &taken));
	assert_true(gamma_relay_report(&take.relay, 1, 0));
	assert_true(gamma_take_report(&take, &taken)); /* all have begun */
	assert_int_equal(taken, 0);
	for (uint32_t i = 0; i < FRAMES; i++)
		give(i, 0);
	assert_true(gamma_take_is_complete(&take));
	assert_int_equal(gamma_take_deadline(&take), GAMMA_NEVER);
	assert_false(gamma_take_report(&take, &taken));
	assert_true(gamma_relay_report(&take.relay, 0, FRAMES));
	assert_true(gamma_relay_report(&take.relay, 1, 40));
	assert_true(gamma_take_report(&take, &taken));
	assert_int_equal(taken, 40);
	assert_false(gamma_take_has_ended(&take));
	assert_true(gamma_relay_report(&take.relay, 1, FRAMES));
	assert_true(gamma_take_report(&take, &taken));
	assert_int_equal(taken, FRAMES);
	assert_true(gamma_take_has_ended(&take));
	gamma_take_fini(&take);
}

static void ask__for_a_gap_that_is_old(void **state)
{
	struct gamma_stream_ask ask;

	(void) state;
	open_take();
	give(0, 0);
	give(3, 0);
	assert_false(gamma_take_ask(&take, 199 * US, &ask));
	assert_true(gamma_take_ask(&take, 200 * US, &ask));
	assert_int_equal(ask.base, 1);
	assert_int_equal(ask.bits[0], 3);
	/* Frames behind it do not make it ask again, a further gap does, for that one. */
	give(4, 210 * US);
	assert_false(gamma_take_ask(&take, 1000 * US, &ask));
	give(7, 1000 * US);
	assert_true(gamma_take_ask(&take, 1200 * US, &ask));
	assert_int_equal(ask.base, 5);
	assert_int_equal(ask.bits[0], 3);
	gamma_take_fini(&take);
}

/* The last frames may be lost: nothing behind them shows it. */
static void report__of_nothing_when_it_announces(void **state)
{
	uint8_t to[200];
	uint32_t taken = 1;

	(void) state;
	assert_true(gamma_take_init(&take, to, sizeof(to), 100, 0));
	assert_false(gamma_take_report(&take, &taken));
	take.announces = true;
	assert_true(gamma_take_report(&take, &taken));
	assert_int_equal(taken, 0);
	assert_false(gamma_take_report(&take, &taken));
	gamma_take_fini(&take);
}

static void ask__after_silence_for_all_and_ever_more_rarely(void **state)
{
	struct gamma_stream_ask ask;
	uint64_t now = 0;

	(void) state;
	open_take();
	give(0, 0);
	for (unsigned i = 0; i < 3; i++) {
		now += (GAMMA_TAKE_IDLE_US << i) * US;
		assert_false(gamma_take_ask(&take, now - 1, &ask));
		assert_true(gamma_take_ask(&take, now, &ask));
		assert_int_equal(ask.base, 1);
		assert_int_equal(ask.bits[0], UINT32_MAX);
	}
	gamma_take_fini(&take);
}

static void ask__for_the_last_frames_once_it_knows_of_them(void **state)
{
	struct gamma_stream_ask ask;

	(void) state;
	open_take();
	for (uint32_t i = 0; i < FRAMES - 2; i++)
		give(i, 0);
	assert_false(gamma_take_ask(&take, 300 * US, &ask));
	gamma_take_remind(&take, FRAMES + 1, 300 * US); /* cannot be of it */
	gamma_take_remind(&take, FRAMES - 2, 300 * US); /* those are here */
	assert_int_equal(take.gap_at, GAMMA_NEVER);
	gamma_take_remind(&take, FRAMES, 300 * US);
	assert_false(gamma_take_ask(&take, 499 * US, &ask)); /* they may be on their way */
	for (unsigned i = 0; i < 2; i++) {
		assert_true(gamma_take_ask(&take, 500 * US, &ask));
		assert_int_equal(ask.base, FRAMES - 2);
		assert_int_equal(ask.seen, FRAMES);
		assert_int_equal(ask.bits[0], 3);
		assert_true(gamma_take_lost(&take, &ask));
		assert_false(gamma_take_ask(&take, 500 * US, &ask));
		gamma_take_remind(&take, FRAMES, 300 * US); /* the answer was lost, too */
	}
	gamma_take_fini(&take);
}

static void frames__of_nothing_are_one(void **state)
{
	(void) state;
	assert_int_equal(gamma_take_frames(0, 100), 1);
	assert_int_equal(gamma_take_len(0, 100, 0), 0);
	assert_true(gamma_take_init(&take, NULL, 0, 100, 0));
	assert_int_equal(gamma_take_frame(&take, 0, NULL, 0, 0), GAMMA_TAKE_NEW);
	assert_true(gamma_take_is_complete(&take));
	gamma_take_fini(&take);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(window__is_filled_and_follows_the_slowest),
		TEST(hold__sends_nothing_until_all_have_begun),
		TEST(relay__needs_no_report_of_its_own),
		TEST(window__never_exceeds_the_smallest_ring),
		TEST(window__is_cut_once_if_several_miss),
		TEST(report__beyond_what_was_sent_is_refused),
		TEST(repair__one_receiver_gets_it_alone),
		TEST(repair__several_receivers_get_it_by_multicast_once),
		TEST(repair__not_of_what_was_not_sent_or_is_there),
		TEST(repair__not_of_what_may_have_crossed_the_question),
		TEST(remind__after_silence_and_ever_more_rarely),
		TEST(remind__not_while_answers_are_due),
		TEST(take__places_frames_in_any_order),
		TEST(take__refuses_what_cannot_be_of_it),
		TEST(take__reports_now_and_then_and_at_the_end),
		TEST(take__reports_where_multiples_are_passed),
		TEST(take__reports_for_others),
		TEST(ask__for_a_gap_that_is_old),
		TEST(report__of_nothing_when_it_announces),
		TEST(ask__after_silence_for_all_and_ever_more_rarely),
		TEST(ask__for_the_last_frames_once_it_knows_of_them),
		TEST(frames__of_nothing_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
