// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of gamma_flow_receive_message and gamma_flow_process_deferred, common/flow/flow.c: a
 * short message is delivered first, and its frame's acknowledgement and credit are processed later.
 */
#include "pair.h"

#include <errno.h>

static struct net *net;
static struct gamma_local *local;
static struct gamma_flow *flow; /* of node 1, to and from node 0 */

/* Both have heard of each other, and node 0 has sent one frame more. */
static int setup(void **state)
{
	(void) state;
	net = net_new(2, NULL);
	flow = net_flow(net, 1, 0);
	local = &net->nodes[1].ep.local;
	net_post(net, 1, 64);
	net_post(net, 0, 64);
	net_send(net, 0, 1, 8, GAMMA_WHEN_ARRIVED);
	net_send(net, 1, 0, 8, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	net->lawless = true;
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	net_free(net);
	return 0;
}

/* The next message of node 0's, which acknowledges so many of node 1's frames. */
static struct gamma_fields next_message(uint32_t ack)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);

	fields.seq = flow->rx.next;
	fields.extensions = GAMMA_EXT_ACK | GAMMA_EXT_TAG;
	fields.ack = ack;
	fields.limit = flow->tx.limit;
	fields.tag = 1;
	return fields;
}

static bool arrives(const struct gamma_fields *fields)
{
	return gamma_flow_receive_message(flow, fields, (const uint8_t *) "", net->now);
}

static void send_now(struct gamma_frame *frame)
{
	struct gamma_envelope envelope = {.length = 0};

	assert_true(gamma_transmit_direct(flow, NULL, 0, &envelope, net->now, frame));
	gamma_transmit_direct_sent(flow, net->now, false, net->now);
}

static void message__first_and_the_rest_when_settled(void **state)
{
	struct gamma_fields fields;
	struct gamma_frame frame;
	uint32_t seq = flow->rx.next, arrived = flow->rx.arrived;
	uint64_t unexpected = local->stats.unexpected;

	(void) state;
	send_now(&frame);
	fields = next_message(flow->tx.next);
	assert_true(arrives(&fields));
	assert_int_equal(local->stats.unexpected, unexpected + 1);
	assert_int_equal(flow->rx.next, seq + 1);
	assert_int_equal(flow->rx.arrived, arrived);
	assert_int_equal(gamma_send_window_unacked(&flow->tx), 1);
	assert_false(gamma_timers_is_set(flow, GAMMA_TIMER_ACK));
	gamma_flow_process_deferred(local, net->now);
	assert_null(local->deferred.flow);
	assert_int_equal(flow->rx.arrived, arrived + 1);
	assert_int_equal(gamma_send_window_unacked(&flow->tx), 0);
	assert_true(gamma_timers_is_set(flow, GAMMA_TIMER_ACK));
	assert_int_equal(flow->ack.owed, 1);
}

static void answer__acknowledges_what_is_late(void **state)
{
	struct gamma_fields fields = next_message(flow->tx.next), sent;
	struct gamma_frame frame;

	(void) state;
	assert_true(arrives(&fields));
	send_now(&frame);
	gamma_flow_process_deferred(local, net->now);
	assert_int_equal(gamma_codec_parse(frame.head, frame.head_len, &sent), GAMMA_OK);
	assert_true(sent.extensions & GAMMA_EXT_ACK);
	assert_int_equal(sent.ack, fields.seq + 1);
	assert_int_equal(flow->ack.owed, 0);
	assert_false(gamma_timers_is_set(flow, GAMMA_TIMER_ACK));
	assert_int_equal(gamma_send_window_unacked(&flow->tx), 1);
}

/* As if the acknowledgement had been taken in before. */
static void answer__was_sent_behind_nothing(void **state)
{
	struct gamma_frame frame;
	struct gamma_fields fields;

	(void) state;
	send_now(&frame);
	assert_int_equal(gamma_send_window_at(&flow->tx, frame.seq)->ahead, 0);
	fields = next_message(flow->tx.next);
	assert_true(arrives(&fields));
	send_now(&frame);
	assert_int_equal(gamma_send_window_at(&flow->tx, frame.seq)->ahead, 0);
	gamma_flow_process_deferred(local, net->now);
	assert_int_equal(gamma_send_window_unacked(&flow->tx), 1);
}

static void refused(const struct gamma_fields *fields)
{
	uint32_t next = flow->rx.next;
	uint64_t unexpected = local->stats.unexpected;

	assert_false(arrives(fields));
	assert_null(local->deferred.flow);
	assert_int_equal(flow->rx.next, next);
	assert_int_equal(local->stats.unexpected, unexpected);
}

static void message__out_of_order_is_left_to_others(void **state)
{
	struct gamma_fields fields = next_message(flow->tx.next);

	(void) state;
	fields.seq++;
	refused(&fields);
	fields.seq -= 2;
	refused(&fields);
}

static void message__that_acknowledges_what_was_never_sent(void **state)
{
	struct gamma_fields fields = next_message(flow->tx.next + 1);

	(void) state;
	refused(&fields);
}

static void message__of_a_stranger(void **state)
{
	struct gamma_fields fields = next_message(flow->tx.next);

	(void) state;
	flow->credit.active = false;
	refused(&fields);
	flow->credit.active = true;
}

static void message__of_a_flow_that_has_failed_since(void **state)
{
	struct gamma_fields fields = next_message(flow->tx.next);

	(void) state;
	assert_true(arrives(&fields));
	gamma_flow_fail(flow, -ECONNRESET, "test");
	gamma_flow_process_deferred(local, net->now);
	assert_null(local->deferred.flow);
	assert_int_equal(flow->credit.active, false);
}

#define NET_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(message__first_and_the_rest_when_settled),
		NET_TEST(answer__acknowledges_what_is_late),
		NET_TEST(answer__was_sent_behind_nothing),
		NET_TEST(message__out_of_order_is_left_to_others),
		NET_TEST(message__that_acknowledges_what_was_never_sent),
		NET_TEST(message__of_a_stranger),
		NET_TEST(message__of_a_flow_that_has_failed_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
