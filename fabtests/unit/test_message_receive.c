// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/message/receive.c and inbound.c: placing, keeping, truncating, discarding.
 */
#include "pair_fixture.h"

#include <errno.h>
#include <string.h>

/* One of each kind: nothing, one frame, several frames, rendezvous. */
static const uint64_t kinds[] = {0, 100, 5000, 100000};

static void send_all_kinds(void)
{
	for (unsigned i = 0; i < gamma_array_size(kinds); i++)
		net_send(net, 0, 1, kinds[i], GAMMA_WHEN_ARRIVED);
}

static void posted__each_kind(void **state)
{
	(void) state;
	for (unsigned i = 0; i < gamma_array_size(kinds); i++)
		net_post(net, 1, kinds[i]);
	send_all_kinds();
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 4);
	assert_int_equal(net_stats(net, 1)->unexpected, 0);
	assert_int_equal(net_stats(net, 1)->messages_in, 4);
	assert_int_equal(net_stats(net, 1)->bytes_copied_in, 105100);
}

static void unexpected__each_kind_then_posted(void **state)
{
	(void) state;
	send_all_kinds();
	net_run(net, 10 * MS);
	assert_int_equal(net_stats(net, 1)->unexpected, 4);
	for (unsigned i = 0; i < gamma_array_size(kinds); i++)
		net_post(net, 1, kinds[i]);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 4);
	/* What was kept was copied twice, what was announced once. */
	assert_int_equal(net_stats(net, 1)->bytes_copied_in, 2 * 5100 + 100000);
}

static void unexpected__posted_while_fragments_arrive(void **state)
{
	(void) state;
	net_rule(net, (struct rule){.fate = DROP, .op = GAMMA_OP_SEND_MORE, .seq = 2, .times = 1});
	net_send(net, 0, 1, 5000, GAMMA_WHEN_ARRIVED);
	net_run(net, 4 * US);
	assert_int_equal(net_stats(net, 1)->unexpected, 1);
	net_post(net, 1, 5000);
	assert_int_equal(net->nodes[1].received, 0);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 1);
}

static void truncated__each_kind(void **state)
{
	(void) state;
	for (unsigned i = 1; i < gamma_array_size(kinds); i++) {
		net_post(net, 1, kinds[i] - 1);
		net_post(net, 1, 1);
		net_post(net, 1, 0);
	}
	for (unsigned i = 1; i < gamma_array_size(kinds); i++)
		for (int k = 0; k < 3; k++)
			net_send(net, 0, 1, kinds[i], GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 9);
	assert_int_equal(net->nodes[0].send_errors, 0);
}

static void truncated__unexpected(void **state)
{
	(void) state;
	send_all_kinds();
	net_run(net, 10 * MS);
	for (unsigned i = 0; i < gamma_array_size(kinds); i++)
		net_post(net, 1, kinds[i] / 2);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 4);
	assert_int_equal(net->nodes[1].placed, 50000);
	assert_int_equal(net->nodes[1].envelope.length, 100000);
}

static void larger_receive__reports_the_length(void **state)
{
	(void) state;
	for (unsigned i = 0; i < gamma_array_size(kinds); i++) {
		net_post(net, 1, 200000);
		net_send(net, 0, 1, kinds[i], GAMMA_WHEN_ARRIVED);
		net_finish(net, SEC);
		assert_int_equal(net->nodes[1].placed, kinds[i]);
	}
}

static void discard__each_kind(void **state)
{
	(void) state;
	send_all_kinds();
	net_run(net, 10 * MS);
	for (unsigned i = 0; i < gamma_array_size(kinds); i++)
		net_discard(net, 1);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[0].sent, 4);
	assert_true(gamma_list_empty(&gamma_message_state(net_flow(net, 1, 0))->incoming));
	assert_int_equal(net->nodes[1].ep.messages.accepted.size, 64);
}

static void discard__while_fragments_arrive(void **state)
{
	(void) state;
	net_send(net, 0, 1, 5000, GAMMA_WHEN_ARRIVED);
	net_run(net, 3 * US);
	assert_int_equal(net_stats(net, 1)->unexpected, 1);
	net_discard(net, 1);
	net_finish(net, SEC);
	assert_true(gamma_list_empty(&gamma_message_state(net_flow(net, 1, 0))->incoming));
	assert_int_equal(net_stats(net, 1)->malformed, 0);
}

static void several_pieces__of_memory(void **state)
{
	struct outgoing *out;

	(void) state;
	for (unsigned i = 0; i < gamma_array_size(kinds); i++)
		net_post(net, 1, kinds[i]);
	for (unsigned i = 0; i < gamma_array_size(kinds); i++) {
		out = net_send(net, 0, 1, kinds[i], GAMMA_WHEN_ARRIVED);
		out->send.iov_count = GAMMA_IOV_MAX;
		for (unsigned k = 0; k < GAMMA_IOV_MAX; k++) {
			size_t from = kinds[i] * k / GAMMA_IOV_MAX;
			size_t to = kinds[i] * (k + 1) / GAMMA_IOV_MAX;

			out->send.iov[k] = (struct iovec){out->bytes + from, to - from};
		}
	}
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 4);
}

/* ---- frames that no honest peer sends ---- */

static uint8_t some[1400];

/* DATA number `seq` of node 0, as forged. */
static void forge(uint32_t seq, uint8_t op, uint16_t extensions, uint32_t id, uint64_t length,
		  uint64_t fragment, uint16_t payload)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, op);

	fields.seq = seq;
	fields.extensions = extensions | GAMMA_EXT_TAG;
	fields.tag = net->nodes[1].next_match[0];
	fields.id = id;
	fields.length = length;
	fields.fragment = fragment;
	fields.payload_len = payload;
	net_forge(net, 0, 1, &fields, some);
	net_run(net, 10 * US);
}

static void malformed__fragments_without_their_extensions(void **state)
{
	static const uint8_t ops[] = {GAMMA_OP_SEND_FIRST,
				      GAMMA_OP_SEND_MORE,
				      GAMMA_OP_ANNOUNCE,
				      GAMMA_OP_ACCEPT,
				      GAMMA_OP_BULK,
				      0,
				      99,
				      255};

	(void) state;
	for (uint32_t i = 0; i < sizeof(ops); i++)
		forge(i, ops[i], 0, 0, 0, 0, 10);
	assert_int_equal(net_stats(net, 1)->malformed, sizeof(ops));
	assert_int_equal(net_stats(net, 1)->data_frames_in, sizeof(ops));
	assert_int_equal(net_flow(net, 1, 0)->rx.next, sizeof(ops));
}

static void malformed__first_of_impossible_length(void **state)
{
	(void) state;
	forge(0, GAMMA_OP_SEND_FIRST, GAMMA_EXT_MESSAGE, 1, 1000, 0, 1000); /* nothing follows */
	forge(1, GAMMA_OP_SEND_FIRST, GAMMA_EXT_MESSAGE, 1, 10, 0, 1000);
	forge(2, GAMMA_OP_SEND_FIRST, GAMMA_EXT_MESSAGE, 1, GAMMA_EAGER_MAX + 1, 0, 1000);
	forge(3, GAMMA_OP_SEND_FIRST, GAMMA_EXT_MESSAGE, 1, UINT64_MAX, 0, 1000);
	forge(4, GAMMA_OP_ANNOUNCE, GAMMA_EXT_MESSAGE, 1, GAMMA_MESSAGE_MAX + 1, 0, 0);
	forge(5, GAMMA_OP_ANNOUNCE, GAMMA_EXT_MESSAGE, 1, UINT64_MAX, 0, 0);
	assert_int_equal(net_stats(net, 1)->malformed, 6);
	assert_int_equal(net_stats(net, 1)->unexpected, 0);
}

/* A tag that names no port, or a head that is not there: acknowledged, and nothing else. */
static void malformed__ports(void **state)
{
	static const struct {
		uint8_t op;
		uint16_t extensions;
		uint64_t tag;
	} rows[] = {
		{GAMMA_OP_SEND, 0, 0},
		{GAMMA_OP_SEND, GAMMA_EXT_TAG, 11ull << GAMMA_PORT_TAG_HEAD_SHIFT},
		{GAMMA_OP_SEND, GAMMA_EXT_TAG, 1ull << 32},
		{GAMMA_OP_SEND_FIRST, GAMMA_EXT_MESSAGE, 0},
		{GAMMA_OP_SEND_FIRST, GAMMA_EXT_MESSAGE | GAMMA_EXT_TAG,
		 65ull << GAMMA_PORT_TAG_HEAD_SHIFT},
		{GAMMA_OP_ANNOUNCE, GAMMA_EXT_MESSAGE, 0},
		/* Its payload is not its head. */
		{GAMMA_OP_ANNOUNCE, GAMMA_EXT_MESSAGE | GAMMA_EXT_TAG, 0},
		{GAMMA_OP_ANNOUNCE, GAMMA_EXT_MESSAGE | GAMMA_EXT_TAG,
		 9ull << GAMMA_PORT_TAG_HEAD_SHIFT},
		{GAMMA_OP_ANNOUNCE, GAMMA_EXT_MESSAGE | GAMMA_EXT_TAG,
		 11ull << GAMMA_PORT_TAG_HEAD_SHIFT},
	};

	(void) state;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, rows[i].op);

		fields.seq = i;
		fields.extensions = (uint16_t) (rows[i].extensions | GAMMA_EXT_NAMES_PORT);
		fields.tag = rows[i].tag;
		fields.length = 1000;
		fields.id = i;
		fields.payload_len = 10;
		net_forge(net, 0, 1, &fields, some);
		net_run(net, 10 * US);
		assert_int_equal(net_stats(net, 1)->malformed, i + 1);
	}
	assert_int_equal(net_stats(net, 1)->unexpected, 0);
	assert_int_equal(net_flow(net, 1, 0)->rx.next, sizeof(rows) / sizeof(rows[0]));
}

static struct gamma_inbound *first_unexpected(void)
{
	return gamma_list_first(&net->nodes[1].unexpected, struct gamma_inbound, entry);
}

static void announced__head_is_here_before_the_bytes(void **state)
{
	uint8_t head[GAMMA_PORT_HEAD_MAX + 1];

	(void) state;
	net->to_port = true;
	for (unsigned len = 0; len <= GAMMA_PORT_HEAD_MAX; len += 8) {
		struct outgoing *sent;

		net->head_len = (uint8_t) len;
		sent = net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
		net_run(net, MS);
		memset(head, 0xee, sizeof(head));
		gamma_receive_read_head(first_unexpected(), head);
		assert_memory_equal(head, sent->bytes, len);
		assert_int_equal(head[len], 0xee);
		/* All of the message follows, its head too. */
		net_post(net, 1, 100000);
		net_finish(net, SEC);
	}
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	assert_int_equal(net->nodes[1].received, 9);
}

static void announced__head_of_one_to_the_own_endpoint(void **state)
{
	uint8_t head[GAMMA_PORT_HEAD_MAX];
	struct outgoing *sent;

	(void) state;
	net->to_port = true;
	net->head_len = sizeof(head);
	sent = net_send(net, 1, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	gamma_receive_read_head(first_unexpected(), head);
	assert_memory_equal(head, sent->bytes, sizeof(head));
	net_discard(net, 1);
	net_finish(net, SEC);
	assert_int_equal(sent->error, 0);
}

static void announced__lost_with_its_head_and_sent_again(void **state)
{
	uint8_t head[40];
	struct outgoing *sent;

	(void) state;
	net_rule(net, (struct rule){.fate = DROP, .op = GAMMA_OP_ANNOUNCE, .times = 2});
	net->to_port = true;
	net->head_len = sizeof(head);
	sent = net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, SEC);
	gamma_receive_read_head(first_unexpected(), head);
	assert_memory_equal(head, sent->bytes, sizeof(head));
	net_discard(net, 1);
	net_finish(net, SEC);
}

/* Its length is that of its bytes, whatever else is said of it. */
static void malformed__whole_message_of_another_length(void **state)
{
	(void) state;
	net->lawless = true;
	net_post(net, 1, 5000);
	forge(0, GAMMA_OP_SEND, GAMMA_EXT_MESSAGE, 1, 5000, 0, 100);
	assert_int_equal(net->nodes[1].received, 1);
	assert_int_equal(net_stats(net, 1)->bytes_copied_in, 100);
	forge(1, GAMMA_OP_SEND, GAMMA_EXT_MESSAGE, 1, 5000, 0, 100);
	forge(2, GAMMA_OP_SEND, GAMMA_EXT_MESSAGE, 1, UINT64_MAX, 0, 100);
	assert_int_equal(net_stats(net, 1)->unexpected, 2);
	assert_int_equal(net_stats(net, 1)->bytes_copied_in, 300);
}

static void malformed__fragment_beyond_the_message(void **state)
{
	const uint64_t one = 1ull << GAMMA_FRAGMENT_OFFSET_BITS;

	(void) state;
	net_post(net, 1, 3000);
	forge(0, GAMMA_OP_SEND_FIRST, GAMMA_EXT_MESSAGE, 1, 3000, 0, 1000);
	forge(1, GAMMA_OP_SEND_MORE, GAMMA_EXT_FRAGMENT, 0, 0, one | 2001, 1000);
	forge(2, GAMMA_OP_SEND_MORE, GAMMA_EXT_FRAGMENT, 0, 0, one | GAMMA_FRAGMENT_OFFSET_MASK, 1);
	forge(3, GAMMA_OP_SEND_MORE, GAMMA_EXT_FRAGMENT, 0, 0, 2 * one | 1000, 1000);
	forge(4, GAMMA_OP_SEND_FIRST, GAMMA_EXT_MESSAGE, 1, 3000, 0, 1000); /* the id is in use */
	assert_int_equal(net_stats(net, 1)->malformed, 3);
	assert_int_equal(net_stats(net, 1)->stray, 1);
}

static void malformed__bulk_beyond_what_was_accepted(void **state)
{
	uint64_t id;

	(void) state;
	net_post(net, 1, 3000);
	forge(0, GAMMA_OP_ANNOUNCE, GAMMA_EXT_MESSAGE, 1, 100000, 0, 0);
	id = (uint64_t) 0x10000 << GAMMA_FRAGMENT_OFFSET_BITS;
	forge(1, GAMMA_OP_BULK, GAMMA_EXT_FRAGMENT, 0, 0, id | 2500, 501);
	forge(2, GAMMA_OP_BULK, GAMMA_EXT_FRAGMENT, 0, 0, id | GAMMA_FRAGMENT_OFFSET_MASK, 1);
	forge(3, GAMMA_OP_BULK, GAMMA_EXT_FRAGMENT, 0, 0, (2 * id) | 0, 10);
	assert_int_equal(net_stats(net, 1)->malformed, 3);
	assert_int_equal(net->nodes[1].received + net->nodes[1].receive_errors, 0);
}

/* ---- the peer's end ---- */

static void failed__half_received_message_ends_with_the_error(void **state)
{
	(void) state;
	net_rule(net, (struct rule){.fate = DROP, .op = GAMMA_OP_SEND_MORE, .seq = ANY_SEQ});
	net_post(net, 1, 5000);
	net_send(net, 0, 1, 5000, GAMMA_WHEN_ARRIVED);
	net_run(net, 100 * US);
	gamma_flow_fail(net_flow(net, 1, 0), -ETIMEDOUT, "test");
	assert_int_equal(net->nodes[1].receive_errors, 1);
	assert_int_equal(net->nodes[1].last_error, -ETIMEDOUT);
}

static void failed__whole_unexpected_messages_stay(void **state)
{
	(void) state;
	net_send(net, 0, 1, 100, GAMMA_WHEN_ARRIVED);
	net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	gamma_flow_fail(net_flow(net, 1, 0), -ETIMEDOUT, "test");
	net_post(net, 1, 100);
	assert_int_equal(net->nodes[1].received, 1);
	net_post(net, 1, 100000); /* its bytes never came */
	assert_int_equal(net->nodes[1].receive_errors, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(posted__each_kind),
		NET_TEST(unexpected__each_kind_then_posted),
		NET_TEST(unexpected__posted_while_fragments_arrive),
		NET_TEST(truncated__each_kind),
		NET_TEST(truncated__unexpected),
		NET_TEST(larger_receive__reports_the_length),
		NET_TEST(discard__each_kind),
		NET_TEST(discard__while_fragments_arrive),
		NET_TEST(several_pieces__of_memory),
		NET_TEST(malformed__fragments_without_their_extensions),
		NET_TEST(malformed__first_of_impossible_length),
		NET_TEST(malformed__ports),
		NET_TEST(announced__head_is_here_before_the_bytes),
		NET_TEST(announced__head_of_one_to_the_own_endpoint),
		NET_TEST(announced__lost_with_its_head_and_sent_again),
		NET_TEST(malformed__whole_message_of_another_length),
		NET_TEST(malformed__fragment_beyond_the_message),
		NET_TEST(malformed__bulk_beyond_what_was_accepted),
		NET_TEST(failed__half_received_message_ends_with_the_error),
		NET_TEST(failed__whole_unexpected_messages_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
