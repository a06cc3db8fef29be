// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/message/copies.c: frames leave from the caller's memory, which is copied
 * behind them. The harness overwrites that memory as soon as the message is complete.
 */
#include "pair_fixture.h"

#include "message/copies.h"

#include <errno.h>

enum { LENGTH = 16384, FRAMES = 12 };

static void begin(void)
{
	net_exchange(net);
	net->nodes[0].ep.local.limits.copy_size = LENGTH;
}

static struct outgoing *send_one(uint64_t length)
{
	net_post(net, 1, length);
	return net_send(net, 0, 1, length, GAMMA_WHEN_COPIED);
}

static uint64_t copied(void)
{
	return net_stats(net, 0)->bytes_copied_out;
}

/* ---- what the engine sees ---- */

static void deferred__frames_leave_from_the_callers_memory(void **state)
{
	struct gamma_frame frame;
	struct outgoing *out;
	uint64_t before;

	(void) state;
	begin();
	before = copied();
	out = send_one(LENGTH);
	for (unsigned i = 0; i < FRAMES; i++) {
		assert_true(gamma_transmit_poll(net_flow(net, 0, 1), net->now, &frame));
		assert_in_range((uintptr_t) frame.iov[0].iov_base, (uintptr_t) out->bytes,
				(uintptr_t) out->bytes + LENGTH - 1);
	}
	assert_false(out->done);
	assert_int_equal(copied(), before);
	gamma_copies_take(&net->nodes[0].ep.messages);
	assert_true(out->done && !out->error);
	assert_int_equal(copied() - before, LENGTH);
	assert_null(net->nodes[0].ep.messages.deferred_copy);
}

static void deferred__one_at_a_time(void **state)
{
	struct gamma_frame frame;
	struct outgoing *first, *second;

	(void) state;
	begin();
	net->nodes[0].ep.local.limits.inject_size = LENGTH;
	first = send_one(LENGTH);
	second = send_one(LENGTH);
	for (unsigned i = 0; i < 2 * FRAMES; i++)
		assert_true(gamma_transmit_poll(net_flow(net, 0, 1), net->now, &frame));
	assert_false(first->done);
	assert_true(second->done);
	gamma_copies_take(&net->nodes[0].ep.messages);
	assert_true(first->done);
}

/* ---- what happens to it ---- */

static void complete__before_anything_is_acknowledged(void **state)
{
	struct outgoing *out;
	uint64_t start;

	(void) state;
	begin();
	start = net->now;
	out = send_one(LENGTH);
	net_finish(net, SEC);
	assert_int_equal(out->done_at, start);
	assert_int_equal(net_stats(net, 0)->messages_out, 2);
}

static void lost__sent_again_from_the_copy(void **state)
{
	(void) state;
	begin();
	net_drop(net, 0, GAMMA_KIND_DATA, FRAMES);
	send_one(LENGTH);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 2);
	assert_int_equal(net_stats(net, 0)->retransmissions, FRAMES);
}

/* The rest of a message that has no credit comes from the copy. */
static void no_credit__rest_from_the_copy(void **state)
{
	struct net_options options = net_defaults();
	struct outgoing *out;

	(void) state;
	teardown(NULL);
	options.slots = 32;
	options.eager_size = 1 << 20;
	net = net_new(2, &options);
	net_exchange(net);
	net->nodes[0].ep.local.limits.copy_size = 1 << 20;
	out = send_one(60000);
	net_run(net, 1);
	assert_true(out->done);
	assert_true(gamma_send_has_frames(net_flow(net, 0, 1)));
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].placed, 60000);
}

static void refused_by_the_link__sent_from_the_copy(void **state)
{
	struct outgoing *out;

	(void) state;
	begin();
	net->nodes[0].link_error = -EAGAIN;
	out = send_one(LENGTH);
	net_run(net, 1);
	assert_true(out->done);
	net->nodes[0].link_error = 0;
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].placed, LENGTH);
}

/* A message whose first frame has left, and whose bytes are still to be copied. */
static struct outgoing *begin_copied(void)
{
	struct gamma_frame frame;
	struct outgoing *out;

	begin();
	out = send_one(LENGTH);
	assert_true(gamma_transmit_poll(net_flow(net, 0, 1), net->now, &frame));
	return out;
}

/* ---- ends ---- */

static void flow_fails__original_fails_and_copy_is_freed(void **state)
{
	struct outgoing *out;

	(void) state;
	out = begin_copied();
	gamma_flow_fail(net_flow(net, 0, 1), -ECONNRESET, "test");
	assert_int_equal(out->error, -ECONNRESET);
	assert_null(net->nodes[0].ep.messages.deferred_copy);
}

static void acknowledged_first__original_is_complete(void **state)
{
	struct gamma_message_state *m;
	struct outgoing *out;
	struct gamma_send *copy;

	(void) state;
	out = begin_copied();
	m = gamma_message_state(net_flow(net, 0, 1));
	copy = gamma_list_first(&m->queue, struct gamma_send, entry);
	assert_true(copy->copied);
	gamma_send_finish(net_flow(net, 0, 1), copy, 0);
	assert_true(out->done && !out->error);
	assert_null(net->nodes[0].ep.messages.deferred_copy);
	net->nodes[1].ep.error = 0;
}

static void begun__cannot_be_cancelled(void **state)
{
	struct outgoing *out;

	(void) state;
	out = begin_copied();
	assert_false(gamma_send_cancel(&out->send));
	gamma_copies_take(&net->nodes[0].ep.messages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(deferred__frames_leave_from_the_callers_memory),
		NET_TEST(deferred__one_at_a_time),
		NET_TEST(complete__before_anything_is_acknowledged),
		NET_TEST(lost__sent_again_from_the_copy),
		NET_TEST(no_credit__rest_from_the_copy),
		NET_TEST(refused_by_the_link__sent_from_the_copy),
		NET_TEST(flow_fails__original_fails_and_copy_is_freed),
		NET_TEST(acknowledged_first__original_is_complete),
		NET_TEST(begun__cannot_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
