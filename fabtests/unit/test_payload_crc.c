// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of the checksum over payloads, which build.c, dispatch.c and send.c share: who
 * sends it when, and that a payload damaged on its way never reaches a receive. */
#include "pair.h"

#include <arpa/inet.h>
#include <string.h>

static struct net *net;
static struct gamma_frame frame;

static int setup(void **state)
{
	struct net_options options = net_defaults();

	(void) state;
	options.inject_size = 4096;
	net = net_new(2, &options);
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	net_free(net);
	return 0;
}

static void wants(unsigned node)
{
	net->nodes[node].ep.local.limits.payload_crc = true;
}

static void exchange(unsigned from, uint64_t length)
{
	net_post(net, 1 - from, length + 1);
	net_send(net, from, 1 - from, length, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
}

/* The next frame that the node has for its peer. */
static struct gamma_fields next(unsigned node)
{
	struct gamma_fields fields;
	uint8_t bytes[2048];
	size_t len;

	assert_true(gamma_transmit_poll(net_flow(net, node, 1 - node), net->now, &frame));
	len = frame.head_len;
	memcpy(bytes, frame.head, len);
	for (unsigned i = 0; i < frame.iov_count; i++) {
		memcpy(bytes + len, frame.iov[i].iov_base, frame.iov[i].iov_len);
		len += frame.iov[i].iov_len;
	}
	assert_int_equal(gamma_codec_parse(bytes, len, &fields), GAMMA_OK);
	if (fields.extensions & GAMMA_EXT_PAYLOAD_CRC)
		assert_int_equal(fields.payload_crc,
				 gamma_crc32c(0, bytes + GAMMA_ETH_LEN + fields.header_len,
					      fields.payload_len));
	return fields;
}

static struct gamma_fields next_of(unsigned node, uint64_t length)
{
	net_send(net, node, 1 - node, length, GAMMA_WHEN_COPIED);
	return next(node);
}

static bool checked(const struct gamma_fields *fields)
{
	return fields->extensions & GAMMA_EXT_PAYLOAD_CRC;
}

/* ---- who sends it ---- */

static void off__neither_flag_nor_checksum(void **state)
{
	struct gamma_fields fields;

	(void) state;
	exchange(0, 100);
	fields = next_of(0, 100);
	assert_false(checked(&fields));
	assert_int_equal(fields.flags & GAMMA_FLAG_WANT_CRC, 0);
}

static void on__copied_and_in_place(void **state)
{
	struct gamma_fields fields;

	(void) state;
	wants(0);
	fields = next_of(0, 100);
	assert_true(checked(&fields) && fields.flags & GAMMA_FLAG_WANT_CRC);
	assert_int_equal(frame.iov_count, 0);
	fields = next_of(0, 5000);
	assert_true(checked(&fields) && fields.flags & GAMMA_FLAG_WANT_CRC);
	assert_int_equal(frame.iov_count, 1);
}

static void on__nothing_to_check_in_a_frame_without_payload(void **state)
{
	struct gamma_fields fields;

	(void) state;
	wants(0);
	fields = next_of(0, 0);
	assert_false(checked(&fields));
	gamma_flow_want(net_flow(net, 0, 1), GAMMA_PENDING_PROBE);
	fields = next(0);
	assert_int_equal(fields.kind, GAMMA_KIND_PROBE);
	assert_int_equal(fields.flags, GAMMA_FLAG_WANT_CRC);
}

static void on__the_peer_follows_once_it_knows(void **state)
{
	struct gamma_fields fields;

	(void) state;
	wants(0);
	exchange(1, 100); /* without; the acknowledgement bears the flag */
	assert_int_equal(net_stats(net, 0)->messages_in, 1);
	fields = next_of(1, 100);
	assert_true(checked(&fields));
	assert_int_equal(fields.flags & GAMMA_FLAG_WANT_CRC, 0);
}

/* ---- room ---- */

/* The wire of the tests refuses frames above the MTU. */
static void room__around_one_frame(void **state)
{
	(void) state;
	wants(0);
	for (uint64_t length = 1440; length <= 1480; length++)
		exchange(0, length);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	for (uint64_t length = 2890; length <= 2930; length++)
		exchange(1, length);
}

static void room__a_frame_cut_before_has_none(void **state)
{
	struct gamma_fields fields;

	(void) state;
	wants(0);
	fields = next_of(1, 1460); /* tagged: the frame is full */
	assert_int_equal(GAMMA_HEADER_LEN + 8 + 1460, 1500);
	assert_int_equal(fields.payload_len, 1460);
	net_flow(net, 1, 0)->payload_crc = true;
	gamma_send_window_mark_lost(net_flow(net, 1, 0), 0);
	fields = next(1);
	assert_int_equal(fields.payload_len, 1460);
	assert_false(checked(&fields));
}

static void room__a_repetition_gets_one_if_it_can(void **state)
{
	struct gamma_fields fields;

	(void) state;
	fields = next_of(1, 1456);
	assert_false(checked(&fields));
	net_flow(net, 1, 0)->payload_crc = true;
	gamma_send_window_mark_lost(net_flow(net, 1, 0), 0);
	fields = next(1);
	assert_true(checked(&fields));
}

/* ---- damage ---- */

static void spoil(uint8_t kind, uint8_t op)
{
	net_rule(net, (struct rule){.fate = SPOIL,
				    .from = ANY_NODE,
				    .kind = kind,
				    .op = op,
				    .seq = ANY_SEQ,
				    .times = 1});
}

/* The harness compares every byte. */
static void damage__repaired_like_a_loss_in_every_op(void **state)
{
	static const uint8_t ops[] = {GAMMA_OP_SEND, GAMMA_OP_SEND_FIRST, GAMMA_OP_SEND_MORE,
				      GAMMA_OP_BULK};
	static const uint64_t lengths[] = {1000, 10000, 10000, 100000};

	(void) state;
	wants(0);
	for (unsigned i = 0; i < gamma_array_size(ops); i++) {
		spoil(GAMMA_KIND_DATA, ops[i]);
		exchange(0, lengths[i]);
		assert_int_equal(net->rules[i].met, 1);
		assert_int_equal(net_stats(net, 1)->corrupt, i + 1);
		assert_int_equal(net_stats(net, 0)->retransmissions, i + 1);
	}
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	assert_int_equal(net->nodes[1].received, 4);
}

static void damage__of_a_peer_that_was_informed(void **state)
{
	(void) state;
	wants(0);
	exchange(0, 100);
	spoil(GAMMA_KIND_DATA, GAMMA_OP_SEND);
	exchange(1, 1000);
	assert_int_equal(net_stats(net, 0)->corrupt, 1);
}

static void damage__of_the_answer_to_a_lookup(void **state)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr;
	struct gamma_flow *flow;

	(void) state;
	wants(0);
	spoil(GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_FOUND);
	addr.epoch = htonl(GAMMA_EPOCH_ANY);
	flow = gamma_peers_add(&net->nodes[0].ep, &addr, net->now);
	net_run(net, SEC);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	assert_int_equal(net_stats(net, 0)->corrupt, 1);
	assert_int_equal(net_stats(net, 0)->lookups_out, 2);
	assert_int_equal(flow->epoch, net->nodes[1].ep.local.epoch);
}

static void lookup__the_owner_says_that_it_wants_checksums(void **state)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr;
	struct gamma_flow *flow;

	(void) state;
	wants(1);
	addr.epoch = htonl(GAMMA_EPOCH_ANY);
	flow = gamma_peers_add(&net->nodes[0].ep, &addr, net->now);
	net_run(net, MS);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	assert_true(flow->payload_crc);
}

/* A header that says a wrong checksum, from whomever: not even its acknowledgement counts. */
static void damage__nothing_of_the_frame_counts(void **state)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);

	(void) state;
	fields.extensions = GAMMA_EXT_TAG | GAMMA_EXT_PAYLOAD_CRC;
	fields.payload_len = 4;
	fields.payload_crc = ~gamma_crc32c(0, "abcd", 4);
	net_forge(net, 0, 1, &fields, "abcd");
	net_run(net, MS);
	assert_int_equal(net_stats(net, 1)->corrupt, 1);
	assert_true(gamma_list_empty(&net->nodes[1].ep.local.flows));
}

/* ---- datagrams ---- */

static unsigned datagrams;
static uint64_t datagram_bytes;

static void on_datagram(void *context, const struct gamma_addr *source,
			const struct gamma_envelope *envelope, const uint8_t *payload)
{
	(void) context;
	(void) source;
	(void) payload;
	datagrams++;
	datagram_bytes = envelope->length;
}

static void send_datagram(size_t len)
{
	static uint8_t bytes[2000];
	struct iovec iov[2] = {{bytes, len / 3}, {bytes + 500, len - len / 3}};
	struct gamma_envelope envelope = {.length = len, .flags = GAMMA_HAS_DATA};

	assert_int_equal(gamma_endpoint_send_datagram(&net->nodes[0].ep,
						      &net->nodes[1].ep.local.addr, iov, 2,
						      &envelope),
			 0);
	net_run(net, MS);
}

static void datagram__damaged_is_not_delivered(void **state)
{
	size_t most = gamma_endpoint_datagram_max(&net->nodes[0].ep);

	(void) state;
	datagrams = 0;
	net->nodes[1].ep.datagram = true;
	net->nodes[1].ep.handlers.datagram = on_datagram;
	wants(0);
	assert_int_equal(most, 1460);
	assert_int_equal(gamma_endpoint_datagram_max(&net->nodes[0].ep), 1456);
	send_datagram(1456); /* the longest fits, with CQ data */
	assert_int_equal(datagrams, 1);
	assert_int_equal(datagram_bytes, 1456);
	spoil(GAMMA_KIND_DATAGRAM, ANY_OP);
	send_datagram(700);
	assert_int_equal(datagrams, 1);
	assert_int_equal(net_stats(net, 1)->corrupt, 1);
	send_datagram(0);
	assert_int_equal(datagrams, 2);
}

#define NET_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(off__neither_flag_nor_checksum),
		NET_TEST(on__copied_and_in_place),
		NET_TEST(on__nothing_to_check_in_a_frame_without_payload),
		NET_TEST(on__the_peer_follows_once_it_knows),
		NET_TEST(room__around_one_frame),
		NET_TEST(room__a_frame_cut_before_has_none),
		NET_TEST(room__a_repetition_gets_one_if_it_can),
		NET_TEST(damage__repaired_like_a_loss_in_every_op),
		NET_TEST(damage__of_a_peer_that_was_informed),
		NET_TEST(damage__of_the_answer_to_a_lookup),
		NET_TEST(lookup__the_owner_says_that_it_wants_checksums),
		NET_TEST(damage__nothing_of_the_frame_counts),
		NET_TEST(datagram__damaged_is_not_delivered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
