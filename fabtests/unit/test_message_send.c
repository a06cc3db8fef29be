// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/message/send.c: how messages are divided into frames, and when they end. */
#include "pair_fixture.h"

#include <errno.h>

/* Room for a message's bytes in one frame of 1,500, tagged: 1500 - 32 - 8. */
enum { ONE_FRAME = 1460, FIRST = 1448, MORE = 1460 };

/* Sends one message into a receive of its size and counts the DATA frames of both. */
static uint64_t frames_of(uint64_t length)
{
	uint64_t before = net_stats(net, 0)->data_frames_out + net_stats(net, 1)->data_frames_out;

	net_post(net, 1, length);
	net_send(net, 0, 1, length, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].placed, length);
	return net_stats(net, 0)->data_frames_out + net_stats(net, 1)->data_frames_out - before;
}

static void cut__sizes_at_the_limits_of_a_frame(void **state)
{
	(void) state;
	assert_int_equal(frames_of(0), 1);
	assert_int_equal(frames_of(1), 1);
	assert_int_equal(frames_of(511), 1);
	assert_int_equal(frames_of(512), 1); /* the last that is copied */
	assert_int_equal(frames_of(513), 1);
	assert_int_equal(frames_of(ONE_FRAME), 1);
	assert_int_equal(frames_of(ONE_FRAME + 1), 2);
	assert_int_equal(frames_of(FIRST + MORE), 2);
	assert_int_equal(frames_of(FIRST + MORE + 1), 3);
}

static void cut__sizes_at_the_limit_of_eager(void **state)
{
	(void) state;
	assert_int_equal(frames_of(16384), 1 + (16384 - FIRST + MORE - 1) / MORE);
	/* ANNOUNCE, ACCEPT, and BULK of 1,460 bytes */
	assert_int_equal(frames_of(16385), 2 + (16385 + 1459) / 1460);
	assert_int_equal(frames_of(100 * 1460), 2 + 100);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
}

static void cut__larger_mtu(void **state)
{
	struct net_options options = net_defaults();
	struct net *jumbo;

	(void) state;
	options.mtu = 9000;
	options.eager_size = 100000;
	jumbo = net_new(2, &options);
	for (int i = 0; i < 2; i++) { /* the first finds the path's MTU */
		net_post(jumbo, 1, 50000);
		net_send(jumbo, 0, 1, 50000, GAMMA_WHEN_ARRIVED);
		net_finish(jumbo, SEC);
		net_run(jumbo, 10 * MS);
	}
	assert_int_equal(net_flow(jumbo, 0, 1)->path_mtu.mtu, 9000);
	net_post(jumbo, 1, 8960);
	net_send(jumbo, 0, 1, 8960, GAMMA_WHEN_ARRIVED);
	net_finish(jumbo, SEC);
	net_free(jumbo);
}

static void refused__longer_than_the_protocol_allows(void **state)
{
	struct outgoing *out;

	(void) state;
	out = net_send_part(net, 0, 1, GAMMA_MESSAGE_MAX + 1, 1, GAMMA_WHEN_ARRIVED);
	assert_int_equal(out->error, -EMSGSIZE);
}

/* ---- when a send ends ---- */

static void copied__ends_when_the_frame_is_made(void **state)
{
	struct outgoing *out = net_send(net, 0, 1, 64, GAMMA_WHEN_COPIED);
	uint64_t start = net->now;

	(void) state;
	net_run(net, 10 * US);
	assert_true(out->done && out->done_at == start);
	assert_int_equal(net_stats(net, 0)->messages_out, 1);
	assert_int_equal(net_stats(net, 0)->bytes_copied_out, 64);
}

static void arrived__ends_with_the_acknowledgement(void **state)
{
	struct outgoing *out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	uint64_t start = net->now;

	(void) state;
	net_run(net, SEC);
	assert_true(out->done && !out->error);
	assert_in_range(out->done_at - start, 2 * US, 3 * US);
	assert_int_equal(net_stats(net, 1)->acks_out, 1);
}

static void matched__waits_for_the_receive(void **state)
{
	struct outgoing *out = net_send(net, 0, 1, 64, GAMMA_WHEN_MATCHED);

	(void) state;
	net_run(net, 100 * MS);
	assert_false(out->done);
	net_post(net, 1, 64);
	net_finish(net, SEC);
	assert_true(out->done && !out->error);
}

static void not_copied__memory_is_used_until_acknowledged(void **state)
{
	struct outgoing *out = net_send(net, 0, 1, 513, GAMMA_WHEN_COPIED);
	uint64_t start = net->now;

	(void) state;
	net_run(net, SEC);
	assert_true(out->done && out->done_at > start);
	assert_int_equal(net_stats(net, 0)->bytes_copied_out, 0);
}

/* A peer with nothing else to send waits for a reply: the acknowledgement rides on it. */
static void alone__copied(void **state)
{
	struct outgoing *first, *second;
	uint64_t start;

	(void) state;
	net->nodes[0].ep.local.limits.copy_size = 4096;
	net_post(net, 1, 4096);
	net_post(net, 1, 4096);
	start = net->now;
	first = net_send(net, 0, 1, 4096, GAMMA_WHEN_COPIED);
	net_run(net, 1);
	second = net_send(net, 0, 1, 4096, GAMMA_WHEN_COPIED);
	net_finish(net, SEC);
	assert_int_equal(first->done_at, start);
	assert_true(second->done_at > start + 2 * US);
	assert_int_equal(net_stats(net, 0)->bytes_copied_out, 4096);
}

static void alone__acknowledged_by_the_answer(void **state)
{
	(void) state;
	for (int turn = 0; turn < 10; turn++) {
		net->nodes[turn % 2].ep.local.limits.copy_size = 4096;
		net_post(net, !(turn % 2), 4096);
		net_send(net, turn % 2, !(turn % 2), 4096, GAMMA_WHEN_COPIED);
		net_run(net, 50 * US);
	}
	assert_int_equal(net_stats(net, 0)->messages_in + net_stats(net, 1)->messages_in, 10);
	assert_int_equal(net_stats(net, 0)->acks_out + net_stats(net, 1)->acks_out, 0);
}

/* Small messages behind a long one do not wait for its end. */
static void stream__shares_with_messages(void **state)
{
	struct outgoing *bulk, *small;

	(void) state;
	net_post(net, 1, 1 << 20);
	bulk = net_send(net, 0, 1, 1 << 20, GAMMA_WHEN_ARRIVED);
	net_run(net, 50 * US);
	net_post(net, 1, 64);
	small = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_true(small->done_at < bulk->done_at);
}

/* Two streams advance in turn: they end within a few frames of each other. */
static void streams__are_served_in_turn(void **state)
{
	struct outgoing *a, *b;
	uint64_t start = net->now, first, last;

	(void) state;
	net_post(net, 1, 2 << 20);
	net_post(net, 1, 2 << 20);
	a = net_send(net, 0, 1, 2 << 20, GAMMA_WHEN_ARRIVED);
	b = net_send(net, 0, 1, 2 << 20, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	first = gamma_min(a->done_at, b->done_at) - start;
	last = gamma_max(a->done_at, b->done_at) - start;
	assert_true(last - first < first / 10);
}

/* ---- an ACCEPT is the peer's word ---- */

static void accepted__made_up_id_is_stray(void **state)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_ACCEPT);

	(void) state;
	fields.extensions = GAMMA_EXT_MESSAGE | GAMMA_EXT_FRAGMENT;
	fields.id = 0x10000;
	fields.length = 10;
	fields.fragment = 0;
	net_forge(net, 0, 1, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(net_stats(net, 1)->stray, 1);
}

static void accepted__id_of_another_flow_is_stray(void **state)
{
	struct net *three = net_new(3, NULL);
	struct outgoing *out = net_send(three, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	struct gamma_fields fields = net_fields(three, 2, 0, GAMMA_KIND_DATA, GAMMA_OP_ACCEPT);

	(void) state;
	net_run(three, MS);
	fields.extensions = GAMMA_EXT_MESSAGE | GAMMA_EXT_FRAGMENT;
	fields.id = out->send.id;
	fields.length = 100000;
	fields.fragment = 0;
	net_forge(three, 2, 0, &fields, NULL);
	net_run(three, MS);
	assert_int_equal(net_stats(three, 0)->stray, 1);
	assert_int_equal(out->send.state, GAMMA_SEND_ANNOUNCED);
	net_post(three, 1, 100000);
	net_finish(three, SEC);
	net_free(three);
}

/* ---- offsets near 2^40, without the memory ---- */

static void content__fragment_near_two_to_the_forty(void **state)
{
	struct gamma_send send = {
		.iov = {{(void *) 0x1000, GAMMA_MESSAGE_MAX}},
		.iov_count = 1,
		.accepted = GAMMA_ID_MASK,
	};
	struct gamma_sent sent = {
		.send = &send,
		.op = GAMMA_OP_BULK,
		.offset = GAMMA_MESSAGE_MAX - 1460,
		.len = 1460,
	};
	struct gamma_content content;
	struct iovec iov[2];

	(void) state;
	gamma_send_frame_content(&sent, &content);
	assert_true(content.fragment >> GAMMA_FRAGMENT_OFFSET_BITS == GAMMA_ID_MASK);
	assert_true((content.fragment & GAMMA_FRAGMENT_OFFSET_MASK) == GAMMA_MESSAGE_MAX - 1460);
	assert_int_equal(gamma_send_frame_iov(&sent, iov, 2), 1);
	assert_ptr_equal(iov[0].iov_base, (char *) 0x1000 + GAMMA_MESSAGE_MAX - 1460);
	assert_int_equal(iov[0].iov_len, 1460);
}

static void content__longest_message_into_a_small_receive(void **state)
{
	struct outgoing *out;

	(void) state;
	net_post(net, 1, 5000);
	out = net_send_part(net, 0, 1, GAMMA_MESSAGE_MAX, 5000, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(out->error, 0);
	assert_true(net->nodes[1].envelope.length == GAMMA_MESSAGE_MAX);
	assert_int_equal(net->nodes[1].placed, 5000);
}

/* ---- taken back ---- */

/* What has left cannot be; what has not never arrives, and those around it do. */
static void cancel__only_what_has_not_begun(void **state)
{
	struct outgoing *first, *second, *third;

	(void) state;
	net->lawless = true; /* a number is left out */
	first = net_send(net, 0, 1, 50000, GAMMA_WHEN_ARRIVED);
	net_run(net, 10 * US);
	assert_false(gamma_send_cancel(&first->send)); /* announced */
	second = net_send(net, 0, 1, 5000, GAMMA_WHEN_ARRIVED);
	third = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	assert_true(gamma_send_cancel(&second->send));
	assert_true(second->done);
	assert_int_equal(second->error, -ECANCELED);
	net_post(net, 1, 50000);
	net_post(net, 1, 5000);
	net_finish(net, SEC);
	assert_int_equal(first->error, 0);
	assert_int_equal(third->error, 0);
	assert_int_equal(net_stats(net, 0)->messages_out, 2);
}

/* A fence that is taken back holds up nobody. */
static void cancel__of_a_fence_lets_others_go(void **state)
{
	struct outgoing *announced, *fenced, *behind;

	(void) state;
	net->lawless = true; /* a number is left out */
	announced = net_send(net, 0, 1, 50000, GAMMA_WHEN_ARRIVED);
	fenced = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	behind = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	fenced->send.fence = true;
	net_run(net, 10 * MS);
	assert_false(behind->done);
	assert_true(gamma_send_cancel(&fenced->send));
	net_run(net, 10 * MS);
	assert_true(behind->done && !announced->done);
	net_post(net, 1, 50000);
	net_post(net, 1, 64);
	net_finish(net, SEC);
}

static void content__longest_message_into_no_memory(void **state)
{
	struct outgoing *out;

	(void) state;
	net_post(net, 1, 0);
	out = net_send_part(net, 0, 1, GAMMA_MESSAGE_MAX, 1, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(out->error, 0);
	assert_int_equal(net->nodes[1].placed, 0);
	/* ANNOUNCE alone */
	assert_int_equal(net_stats(net, 0)->data_frames_out, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(cut__sizes_at_the_limits_of_a_frame),
		NET_TEST(cut__sizes_at_the_limit_of_eager),
		TEST(cut__larger_mtu),
		NET_TEST(refused__longer_than_the_protocol_allows),
		NET_TEST(copied__ends_when_the_frame_is_made),
		NET_TEST(arrived__ends_with_the_acknowledgement),
		NET_TEST(matched__waits_for_the_receive),
		NET_TEST(not_copied__memory_is_used_until_acknowledged),
		NET_TEST(alone__copied),
		NET_TEST(alone__acknowledged_by_the_answer),
		NET_TEST(stream__shares_with_messages),
		NET_TEST(streams__are_served_in_turn),
		NET_TEST(accepted__made_up_id_is_stray),
		TEST(accepted__id_of_another_flow_is_stray),
		TEST(content__fragment_near_two_to_the_forty),
		NET_TEST(content__longest_message_into_a_small_receive),
		NET_TEST(content__longest_message_into_no_memory),
		NET_TEST(cancel__only_what_has_not_begun),
		NET_TEST(cancel__of_a_fence_lets_others_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
