// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/transmit.c, control.c, timers.c and local.c: order of frames, what
 * rides on data, frames that a link refuses, deadlines. */
#include "pair_fixture.h"

#include <errno.h>

static struct gamma_flow *flow; /* of node 0 to node 1 */
static struct gamma_frame frame;

static int setup_flow(void **state)
{
	setup(state);
	flow = net_flow(net, 0, 1);
	return 0;
}

static void exchange(unsigned from)
{
	net_post(net, 1 - from, 64);
	net_send(net, from, 1 - from, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
}

/* Takes what is in the node's ring, and sends nothing. */
static void take_in(struct node *node)
{
	struct gamma_arrival arrival;

	arrival.behind = false;
	while (node->link.ops->next(&node->link, &arrival)) {
		gamma_dispatch(&node->ep, &node->link, &arrival, net->now);
		node->link.ops->release(&node->link);
	}
}

static bool poll_kind(uint8_t kind)
{
	return gamma_transmit_poll(flow, net->now, &frame) && frame.kind == kind;
}

/* ---- order ---- */

static void order__lost_then_control_then_new_then_ack(void **state)
{
	(void) state;
	exchange(0);
	for (int i = 0; i < 2; i++)
		net_send(net, 0, 1, ALONE, GAMMA_WHEN_COPIED);
	assert_true(poll_kind(GAMMA_KIND_DATA)); /* frame 1 */
	gamma_send_window_mark_lost(flow, 1);
	gamma_flow_want(flow, GAMMA_PENDING_PROBE);
	assert_true(poll_kind(GAMMA_KIND_DATA) && frame.seq == 1);
	assert_true(poll_kind(GAMMA_KIND_PROBE));
	assert_true(poll_kind(GAMMA_KIND_DATA) && frame.seq == 2);
	gamma_ack_now(flow);
	assert_true(poll_kind(GAMMA_KIND_ACK));
	assert_false(gamma_transmit_poll(flow, net->now, &frame));
	assert_true(gamma_list_empty(&flow->ready_entry));
}

static void order__acknowledgement_on_data_is_not_repeated_alone(void **state)
{
	(void) state;
	exchange(0);
	exchange(1);
	net_send(net, 0, 1, ALONE, GAMMA_WHEN_COPIED);
	gamma_ack_now(flow);
	assert_true(poll_kind(GAMMA_KIND_DATA));
	assert_false(gamma_transmit_poll(flow, net->now, &frame));
}

static void bulk__header_is_forty_bytes(void **state)
{
	(void) state;
	exchange(0);
	net_post(net, 1, 100000);
	net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net->nodes[0].wakes = net->now + 1; /* the announcement leaves, and then nothing else */
	net_run(net, 1);
	net->nodes[0].wakes = GAMMA_NEVER;
	net_run(net, 10 * US);
	take_in(&net->nodes[0]);
	assert_true(poll_kind(GAMMA_KIND_ACK)); /* for which bulk has no room */
	assert_true(poll_kind(GAMMA_KIND_DATA) && frame.op == GAMMA_OP_BULK);
	assert_int_equal(frame.head_len, GAMMA_ETH_LEN + GAMMA_BULK_HEADER);
	assert_int_equal(frame.iov[0].iov_len, 1460);
}

static void bulk__last_two_ask(void **state)
{
	enum { FRAMES = 12 };

	(void) state;
	net_post(net, 1, FRAMES * 1460);
	net_send(net, 0, 1, FRAMES * 1460, GAMMA_WHEN_MATCHED);
	net->nodes[0].wakes = net->now + 1; /* the announcement leaves, and then nothing else */
	net_run(net, 1);
	net->nodes[0].wakes = GAMMA_NEVER;
	net_run(net, 10 * US);
	take_in(&net->nodes[0]);
	assert_true(poll_kind(GAMMA_KIND_ACK));
	flow->tx.limit = flow->tx.next + FRAMES + 1;
	for (int i = 0; i < FRAMES; i++) {
		assert_true(poll_kind(GAMMA_KIND_DATA) && frame.op == GAMMA_OP_BULK);
		assert_int_equal(flow->tx.asked == flow->tx.next, i >= FRAMES - 2);
	}
}

static void retransmission__says_so_and_asks(void **state)
{
	struct gamma_fields fields;

	(void) state;
	net_send(net, 0, 1, 64, GAMMA_WHEN_COPIED);
	assert_true(poll_kind(GAMMA_KIND_DATA));
	assert_int_equal(gamma_codec_parse(frame.head, frame.head_len, &fields), GAMMA_OK);
	assert_int_equal(fields.flags, 0);
	gamma_send_window_mark_lost(flow, 0);
	assert_true(poll_kind(GAMMA_KIND_DATA));
	assert_int_equal(gamma_codec_parse(frame.head, frame.head_len, &fields), GAMMA_OK);
	assert_int_equal(fields.flags, GAMMA_FLAG_AGAIN | GAMMA_FLAG_ACK_REQUESTED);
	assert_int_equal(net_stats(net, 0)->retransmissions, 1);
}

static void last_of_credit__asks_for_more(void **state)
{
	struct gamma_fields fields;

	(void) state;
	for (int i = 0; i < 10; i++)
		net_send(net, 0, 1, ALONE, GAMMA_WHEN_COPIED);
	for (int i = 0; i < GAMMA_FIRST_CREDIT; i++) {
		assert_true(poll_kind(GAMMA_KIND_DATA));
		assert_int_equal(gamma_codec_parse(frame.head, frame.head_len, &fields), GAMMA_OK);
		assert_int_equal(fields.flags,
				 i < GAMMA_FIRST_CREDIT - 1
					 ? GAMMA_FLAG_BACKLOG
					 : GAMMA_FLAG_ACK_REQUESTED | GAMMA_FLAG_BACKLOG);
	}
	assert_false(gamma_transmit_poll(flow, net->now, &frame));
}

/* ---- a link that takes nothing ---- */

static void unsent__is_sent_later_and_is_no_retransmission(void **state)
{
	(void) state;
	net->nodes[0].link_error = -EAGAIN;
	for (int i = 0; i < 5; i++) {
		net_post(net, 1, 64);
		net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	}
	net_run(net, MS);
	assert_int_equal(net_stats(net, 0)->frames_out, 0);
	assert_in_range(net_stats(net, 0)->send_stalls, 5, 8); /* each wait twice the last */
	net->nodes[0].link_error = 0;
	assert_true(net_finish(net, SEC) < 2 * MS);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->data_frames_out, 5);
	assert_int_equal(net_stats(net, 1)->duplicates, 0);
}

static void unsent__control_frames_too(void **state)
{
	(void) state;
	exchange(0);
	for (unsigned what = GAMMA_PENDING_RECLAIMED; what <= GAMMA_PENDING_RECLAIM; what <<= 1) {
		gamma_flow_want(flow, what);
		assert_true(gamma_transmit_poll(flow, net->now, &frame));
		assert_int_equal(flow->pending, 0);
		gamma_transmit_unsent(flow, &frame, net->now);
		assert_int_equal(flow->pending, what);
		flow->pending = 0;
	}
	gamma_ack_now(flow);
	assert_true(poll_kind(GAMMA_KIND_ACK));
	gamma_transmit_unsent(flow, &frame, net->now);
	assert_true(gamma_ack_due(flow));
}

/* The acknowledgement that rode on it has not left either. */
/* The first one that does not leave is none of the tries; the NIC may be down. */
static void unsent__bye_is_no_try_once(void **state)
{
	struct gamma_flow *flow;
	struct gamma_frame frame;

	(void) state;
	net_exchange(net);
	flow = net_flow(net, 0, 1);
	gamma_flow_bye(flow, net->now);
	for (unsigned tries = 0; tries < 3; tries++) {
		assert_true(gamma_transmit_poll(flow, net->now, &frame));
		assert_int_equal(frame.kind, GAMMA_KIND_BYE);
		gamma_transmit_unsent(flow, &frame, net->now);
		assert_int_equal(flow->byes, tries);
		gamma_timers_stop(flow, GAMMA_TIMER_BYE);
		gamma_flow_bye(flow, net->now);
		assert_int_equal(flow->byes, tries + 1);
	}
}

static void unsent__acknowledgement_on_data_is_not_forgotten(void **state)
{
	struct gamma_fields fields;

	(void) state;
	exchange(0);
	net_post(net, 0, 64);
	net_send(net, 1, 0, 64, GAMMA_WHEN_COPIED);
	net_run(net, 10 * US);
	assert_int_equal(flow->ack.owed, 1);
	net_send(net, 0, 1, 64, GAMMA_WHEN_COPIED);
	for (int i = 0; i < 2; i++) {
		assert_true(poll_kind(GAMMA_KIND_DATA));
		assert_int_equal(gamma_codec_parse(frame.head, frame.head_len, &fields), GAMMA_OK);
		assert_true(fields.extensions & GAMMA_EXT_ACK);
		gamma_transmit_unsent(flow, &frame, net->now);
	}
}

static void refused__peer_has_ended(void **state)
{
	struct outgoing *out;

	(void) state;
	exchange(0);
	net->nodes[0].link_error = -ECONNREFUSED;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	assert_string_equal(net->nodes[0].last_cause, "its process has ended");
}

static void refused__answer_to_bye_is_dropped(void **state)
{
	(void) state;
	exchange(0);
	gamma_flow_bye(net_flow(net, 1, 0), net->now);
	net->nodes[0].link_error = -ECONNREFUSED;
	net_run(net, SEC);
	assert_int_equal(net_stats(net, 0)->send_stalls, 0);
	assert_int_equal(flow->pending, 0);
}

/* ---- deadlines ---- */

static void timers__earliest_is_known(void **state)
{
	struct gamma_local *local = flow->local;

	(void) state;
	gamma_timers_set(flow, GAMMA_TIMER_MTU, net->now + 500);
	gamma_timers_set(flow, GAMMA_TIMER_BYE, net->now + 200);
	assert_int_equal(local->next_deadline, net->now + 200);
	gamma_timers_stop(flow, GAMMA_TIMER_BYE);
	gamma_timers_expire(local, net->now + 300);
	assert_int_equal(local->next_deadline, net->now + 500);
	gamma_timers_expire(local, net->now + 600);
	assert_true(local->next_deadline == GAMMA_NEVER);
	assert_true(gamma_list_empty(&flow->timed_entry));
}

static void timers__due_exactly_now(void **state)
{
	(void) state;
	gamma_timers_set(flow, GAMMA_TIMER_ACK, net->now + 100);
	gamma_timers_expire(flow->local, net->now + 99);
	assert_false(gamma_ack_due(flow));
	gamma_timers_expire(flow->local, net->now + 100);
	assert_true(gamma_ack_due(flow));
	assert_false(gamma_timers_is_set(flow, GAMMA_TIMER_ACK));
}

/* ---- buffers ---- */

static void buffers__are_used_again(void **state)
{
	struct gamma_local *local = flow->local;
	struct gamma_buffer *a = gamma_local_get_buffer(local), *b = gamma_local_get_buffer(local);

	(void) state;
	assert_ptr_not_equal(a, b);
	gamma_local_put_buffer(local, a);
	assert_ptr_equal(gamma_local_get_buffer(local), a);
	gamma_local_put_buffer(local, b);
	gamma_local_put_buffer(local, a);
}

/* ---- the short cut of a message that nothing stands before ---- */

static bool send_now(uint64_t length)
{
	static char bytes[4096];
	struct iovec iov = {bytes, length};
	struct gamma_envelope envelope = {.length = length};

	if (!gamma_send_can_copy(flow, &envelope) ||
	    !gamma_transmit_direct(flow, &iov, 1, &envelope, net->now, &frame))
		return false;
	gamma_transmit_direct_sent(flow, net->now, false, net->now);
	return true;
}

static void now__is_a_frame_like_others(void **state)
{
	(void) state;
	assert_true(send_now(20));
	assert_int_equal(frame.kind, GAMMA_KIND_DATA);
	assert_int_equal(frame.op, GAMMA_OP_SEND);
	assert_int_equal(frame.seq, 0);
	assert_ptr_equal(frame.flow, flow);
	assert_int_equal(gamma_send_window_unacked(&flow->tx), 1);
	/* Its loss will be noticed. */
	assert_true(gamma_timers_is_set(flow, GAMMA_TIMER_PROBE));
	assert_true(send_now(20));
	assert_int_equal(frame.seq, 1);
	assert_int_equal(net_stats(net, 0)->data_frames_out, 2);
	assert_int_equal(net_stats(net, 0)->messages_out, 2);
}

/* A frame that leaves before the clock is read has left a little earlier. */
static void now__left_before_the_clock_was_read(void **state)
{
	struct iovec iov = {"", 1};
	struct gamma_envelope envelope = {.length = 1};

	(void) state;
	assert_true(gamma_transmit_direct(flow, &iov, 1, &envelope, 0, &frame));
	gamma_transmit_direct_sent(flow, net->now - 700, true, net->now);
	assert_int_equal(gamma_send_window_at(&flow->tx, 0)->time, net->now - 700);
	assert_int_equal(flow->loss.last_sent, net->now);
	gamma_loss_delivered(flow, gamma_send_window_at(&flow->tx, 0), net->now + 4300);
	assert_int_equal(flow->loss.first.rack_rtt, 5000);
	/* What arrived earlier than it is believed to have left. */
	gamma_send_window_at(&flow->tx, 0)->serial++;
	gamma_loss_delivered(flow, gamma_send_window_at(&flow->tx, 0), net->now - 800);
	assert_int_equal(flow->loss.first.rack_rtt, 0);
}

/* Until there is a round trip, and then of one in so many. */
static void now__some_times_are_exact(void **state)
{
	unsigned exact = 0;

	(void) state;
	for (int i = 0; i < GAMMA_EXACT_EVERY; i++, flow->tx.next++)
		assert_true(gamma_transmit_wants_clock(flow));
	flow->loss.first.rtt = 2000;
	for (int i = 0; i < GAMMA_EXACT_EVERY; i++, flow->tx.next++)
		exact += gamma_transmit_wants_clock(flow);
	assert_int_equal(exact, 1);
	flow->tx.next = 0;
}

/* Only such frames need the clock for what they say. */
static void now__the_clock_is_needed_for_a_delay(void **state)
{
	struct gamma_fields fields;
	unsigned reports = 0;

	(void) state;
	flow->heard_of = flow->rx.begun = true;
	for (int i = 0; i < 3 * GAMMA_DELAY_EVERY; i++) {
		bool reported;

		gamma_ack_owe(flow);
		reported = gamma_ack_reports_delay(flow);
		fields = (struct gamma_fields){.kind = GAMMA_KIND_DATA};
		gamma_ack_attach(flow, &fields, false, reported ? net->now : 0);
		assert_int_equal(!!(fields.extensions & GAMMA_EXT_DELAY), reported);
		reports += reported;
	}
	assert_int_equal(reports, 3);
}

static void now__unsent_is_sent_later(void **state)
{
	(void) state;
	assert_true(send_now(20));
	gamma_transmit_unsent(flow, &frame, net->now);
	assert_true(poll_kind(GAMMA_KIND_DATA) && frame.seq == 0);
	assert_int_equal(frame.head_len, GAMMA_ETH_LEN + GAMMA_HEADER_LEN + 20);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void now__not_past_what_waits(void **state)
{
	(void) state;
	assert_false(send_now(net->nodes[0].ep.local.limits.inject_size + 1));
	net_send(net, 0, 1, ALONE, GAMMA_WHEN_COPIED);
	assert_false(send_now(20));
	while (gamma_transmit_poll(flow, net->now, &frame))
		;
	assert_true(send_now(20));
	gamma_send_window_mark_lost(flow, 0);
	assert_false(send_now(20));
	gamma_send_window_next_lost(flow, &(uint32_t){0});
	gamma_flow_want(flow, GAMMA_PENDING_PROBE);
	assert_false(send_now(20));
}

static void now__not_without_credit(void **state)
{
	(void) state;
	for (unsigned i = 0; i < GAMMA_FIRST_CREDIT; i++)
		assert_true(send_now(0));
	assert_false(send_now(0));
}

#define FLOW_TEST(name) cmocka_unit_test_setup_teardown(name, setup_flow, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FLOW_TEST(order__lost_then_control_then_new_then_ack),
		FLOW_TEST(order__acknowledgement_on_data_is_not_repeated_alone),
		FLOW_TEST(bulk__header_is_forty_bytes),
		FLOW_TEST(bulk__last_two_ask),
		FLOW_TEST(retransmission__says_so_and_asks),
		FLOW_TEST(last_of_credit__asks_for_more),
		FLOW_TEST(unsent__is_sent_later_and_is_no_retransmission),
		FLOW_TEST(unsent__control_frames_too),
		FLOW_TEST(unsent__bye_is_no_try_once),
		FLOW_TEST(unsent__acknowledgement_on_data_is_not_forgotten),
		FLOW_TEST(refused__peer_has_ended),
		FLOW_TEST(refused__answer_to_bye_is_dropped),
		FLOW_TEST(timers__earliest_is_known),
		FLOW_TEST(timers__due_exactly_now),
		FLOW_TEST(buffers__are_used_again),
		FLOW_TEST(now__is_a_frame_like_others),
		FLOW_TEST(now__left_before_the_clock_was_read),
		FLOW_TEST(now__some_times_are_exact),
		FLOW_TEST(now__the_clock_is_needed_for_a_delay),
		FLOW_TEST(now__unsent_is_sent_later),
		FLOW_TEST(now__not_past_what_waits),
		FLOW_TEST(now__not_without_credit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
