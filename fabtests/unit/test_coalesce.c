// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/message/coalesce.c: short messages that share frames. */
#include "pair_fixture.h"

#include <errno.h>

static void messages(unsigned count, uint64_t length, enum gamma_completion_level level)
{
	for (unsigned i = 0; i < count; i++) {
		net_post(net, 1, 2000);
		net_send(net, 0, 1, length, level);
	}
}

static uint64_t frames(void)
{
	return net_stats(net, 0)->data_frames_out;
}

static void backlog__shares_frames(void **state)
{
	(void) state;
	messages(64, 20, GAMMA_WHEN_COPIED); /* 20 + 4 + 8 bytes of tag: 16 in 512 bytes */
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 64);
	assert_int_equal(frames(), 4);
	assert_int_equal(net_stats(net, 0)->batched, 64);
	assert_int_equal(net_stats(net, 0)->messages_out, 64);
	assert_int_equal(net_stats(net, 1)->messages_in, 64);
}

static void alone__is_a_plain_message(void **state)
{
	(void) state;
	messages(1, 20, GAMMA_WHEN_COPIED);
	net_finish(net, SEC);
	messages(1, 20, GAMMA_WHEN_COPIED);
	net_finish(net, SEC);
	assert_int_equal(frames(), 2);
	assert_int_equal(net_stats(net, 0)->batched, 0);
}

static void waited_for__is_not_shared(void **state)
{
	(void) state;
	messages(8, 20, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(frames(), 8);
	assert_int_equal(net_stats(net, 0)->batched, 0);
}

static void lengths__none_to_the_room_of_a_frame(void **state)
{
	(void) state;
	for (unsigned i = 0; i <= 512; i++) {
		net_post(net, 1, 600);
		net_send(net, 0, 1, i, GAMMA_WHEN_COPIED);
	}
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 513);
	assert_true(frames() < 400);
}

static void mixed__with_long_ones_stays_in_order(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 60; i++) {
		net_post(net, 1, 40000);
		net_send(net, 0, 1, i % 5 ? 10 : i % 2 ? 3000 : 30000, GAMMA_WHEN_COPIED);
	}
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 60);
	assert_int_equal(net_stats(net, 0)->batched, 48);
}

static void lost__is_sent_again_whole(void **state)
{
	(void) state;
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 0,
				    .kind = GAMMA_KIND_DATA,
				    .op = GAMMA_OP_BATCH,
				    .seq = ANY_SEQ,
				    .times = 2});
	messages(64, 20, GAMMA_WHEN_COPIED);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->retransmissions, 2);
	assert_int_equal(net->nodes[1].received, 64);
}

static void unexpected__are_kept_each(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 30; i++)
		net_send(net, 0, 1, 20, GAMMA_WHEN_COPIED);
	net_run(net, MS);
	assert_int_equal(net_stats(net, 1)->unexpected, 30);
	for (unsigned i = 0; i < 30; i++)
		net_post(net, 1, 64);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 30);
}

/* ---- messages that are copied as they are posted ---- */

static bool add(uint64_t length)
{
	static const char bytes[4096];
	struct iovec iov = {(void *) bytes, length};
	struct gamma_envelope envelope = {.length = length};
	struct gamma_flow *flow = net_flow(net, 0, 1);

	net->lawless = true;
	return gamma_send_can_copy(flow, &envelope) && gamma_coalesce_add(flow, &iov, 1, &envelope);
}

static void filling__leaves_as_one_frame(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 5; i++)
		assert_true(add(20));
	assert_true(gamma_send_has_frames(net_flow(net, 0, 1)));
	assert_int_equal(frames(), 0);
	net_run(net, MS);
	assert_int_equal(frames(), 1);
	assert_int_equal(net_stats(net, 0)->batched, 5);
	assert_int_equal(net_stats(net, 0)->messages_out, 5);
	assert_int_equal(net_stats(net, 1)->unexpected, 5);
	assert_true(add(20)); /* one alone does not share */
	net_run(net, MS);
	assert_int_equal(net_stats(net, 0)->batched, 5);
	assert_int_equal(net_stats(net, 1)->unexpected, 6);
}

static void filling__takes_no_more_than_fits(void **state)
{
	uint32_t room = gamma_coalesce_room(net_flow(net, 0, 1)), each = 20 + 4;

	(void) state;
	for (uint32_t i = 0; i < room / each; i++)
		assert_true(add(20));
	assert_false(add(20));
	net_run(net, MS);
	assert_int_equal(net_stats(net, 1)->unexpected, room / each);
}

static void filling__not_past_what_is_queued(void **state)
{
	(void) state;
	assert_true(add(20));
	net_send(net, 0, 1, 20, GAMMA_WHEN_COPIED);
	assert_false(add(20));
	assert_true(gamma_transmit_poll(net_flow(net, 0, 1), net->now, &(struct gamma_frame){0}));
	assert_false(add(20)); /* the queued one is still to come */
}

static void filling__ends_with_its_flow(void **state)
{
	(void) state;
	assert_true(add(20));
	gamma_flow_fail(net_flow(net, 0, 1), -ECONNRESET, "test");
	assert_null(gamma_message_state(net_flow(net, 0, 1))->filling);
}

/* ---- nonsense ---- */

static void forge(const uint8_t *payload, uint16_t len)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_BATCH);
	static uint32_t seq;

	net->lawless = true;
	fields.seq = seq++;
	fields.payload_len = len;
	net_forge(net, 0, 1, &fields, payload);
	net_run(net, MS);
}

static void malformed__items(void **state)
{
	static const uint8_t beyond[] = {0, 9, 0, GAMMA_OP_SEND, 1, 2, 3};
	static const uint8_t unknown[] = {0, 1, 2, GAMMA_OP_SEND, 7};
	static const uint8_t port_of_no_tag[] = {0, 1, GAMMA_ITEM_PORT, GAMMA_OP_SEND, 7};
	static const uint8_t no_op[] = {0, 1, 0, 0, 7};
	static const uint8_t bulk[] = {0, 0, 0, GAMMA_OP_BULK, 1, 2, 3, 4, 5, 6, 7, 8};
	static const uint8_t no_such_op[] = {0, 0, 0, 255};
	static const uint8_t short_tag[] = {0, 0, GAMMA_EXT_TAG, GAMMA_OP_SEND, 1, 2, 3, 4, 5,
					    6, 7};
	static const uint8_t short_write[27] = {0, 0, 0, GAMMA_OP_WRITE};
	static const uint8_t stub[] = {0, 1, 0, GAMMA_OP_SEND, 7, 0, 0};

	(void) state;
	forge(beyond, sizeof(beyond));
	forge(unknown, sizeof(unknown));
	forge(no_op, sizeof(no_op));
	forge(bulk, sizeof(bulk));
	forge(no_such_op, sizeof(no_such_op));
	forge(short_tag, sizeof(short_tag));
	forge(short_write, sizeof(short_write));
	assert_int_equal(net_stats(net, 1)->malformed, 7);
	assert_int_equal(net_stats(net, 1)->unexpected, 0);
	forge(stub, sizeof(stub)); /* what stands before the nonsense is good */
	assert_int_equal(net_stats(net, 1)->malformed, 8);
	assert_int_equal(net_stats(net, 1)->unexpected, 1);
	forge(port_of_no_tag, sizeof(port_of_no_tag));
	assert_int_equal(net_stats(net, 1)->malformed, 9);
	assert_int_equal(net_stats(net, 1)->unexpected, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(backlog__shares_frames),
		NET_TEST(alone__is_a_plain_message),
		NET_TEST(waited_for__is_not_shared),
		NET_TEST(lengths__none_to_the_room_of_a_frame),
		NET_TEST(mixed__with_long_ones_stays_in_order),
		NET_TEST(lost__is_sent_again_whole),
		NET_TEST(unexpected__are_kept_each),
		NET_TEST(filling__leaves_as_one_frame),
		NET_TEST(filling__takes_no_more_than_fits),
		NET_TEST(filling__not_past_what_is_queued),
		NET_TEST(filling__ends_with_its_flow),
		NET_TEST(malformed__items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
