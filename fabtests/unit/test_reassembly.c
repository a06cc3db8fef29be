// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/reassembly.c, and of sending in parts (build.c): a frame put
 * together from slices is taken once, whatever order, repetition or nonsense they come in. */
#include "pair.h"

#include <errno.h>
#include <string.h>

enum { TOTAL = 5000 };

static struct net *net;
static struct gamma_flow *flow; /* of node 1, from node 0 */
static uint8_t bytes[TOTAL];    /* of message 0, which node 0 has "sent" */

static int setup(void **state)
{
	struct net_options options = net_defaults();
	struct outgoing *outgoing;

	(void) state;
	options.mtu = 9000;
	net = net_new(2, &options);
	/* The harness knows what bytes a message has, and checks them on arrival. */
	outgoing = net_send(net, 0, 1, TOTAL, GAMMA_WHEN_COPIED);
	memcpy(bytes, outgoing->bytes, TOTAL);
	gamma_send_drop_all(net_flow(net, 0, 1), -ECANCELED);
	flow = net_flow(net, 1, 0);
	net_post(net, 1, TOTAL);
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	net_free(net);
	return 0;
}

static struct gamma_fields fields_of(uint32_t seq)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);

	fields.seq = seq;
	fields.extensions = GAMMA_EXT_TAG | GAMMA_EXT_PART;
	fields.tag = 0;
	fields.part_total = TOTAL;
	return fields;
}

static void arrive(uint32_t seq, uint32_t from, uint32_t to)
{
	struct gamma_fields fields = fields_of(seq);

	fields.part_offset = (uint16_t) from;
	fields.payload_len = (uint16_t) (to - from);
	gamma_receive_window_data(flow, &fields, bytes + from, net->now, net->now);
}

static void arrive_whole(uint32_t seq)
{
	struct gamma_fields fields = fields_of(seq);

	fields.extensions = GAMMA_EXT_TAG;
	fields.payload_len = TOTAL;
	gamma_receive_window_data(flow, &fields, bytes, net->now, net->now);
}

static const struct gamma_stats *stats(void)
{
	return net_stats(net, 1);
}

static void taken_once(void)
{
	assert_int_equal(net->nodes[1].received, 1);
	assert_int_equal(net->nodes[1].placed, TOTAL);
	assert_int_equal(stats()->data_frames_in, 1);
	assert_int_equal(flow->rx.arrived, 1);
	assert_int_equal(flow->rx.next, 1);
}

static void parts__in_order(void **state)
{
	(void) state;
	arrive(0, 0, 1444);
	arrive(0, 1444, 2888);
	arrive(0, 2888, 4332);
	assert_int_equal(flow->rx.arrived, 0);
	assert_false(flow->ack.now);
	assert_int_equal(flow->ack.owed, 0);
	arrive(0, 4332, TOTAL);
	taken_once();
	assert_int_equal(stats()->parts_in, 4);
	assert_int_equal(stats()->malformed, 0);
	assert_null(flow->rx.parts[0]);
}

static void parts__backwards(void **state)
{
	(void) state;
	arrive(0, 4332, TOTAL);
	arrive(0, 2888, 4332);
	arrive(0, 1444, 2888);
	arrive(0, 0, 1444);
	taken_once();
}

static void parts__single_bytes_at_the_edges(void **state)
{
	(void) state;
	arrive(0, 1, TOTAL - 1);
	arrive(0, TOTAL - 1, TOTAL);
	assert_int_equal(net->nodes[1].received, 0);
	arrive(0, 0, 1);
	taken_once();
}

static void parts__repeated_and_overlapping(void **state)
{
	(void) state;
	arrive(0, 0, 2000);
	arrive(0, 0, 2000);
	arrive(0, 500, 1500);
	arrive(0, 1990, 3000);
	arrive(0, 2999, 4999);
	assert_int_equal(net->nodes[1].received, 0);
	arrive(0, 3000, TOTAL);
	taken_once();
	assert_int_equal(stats()->malformed, 0);
	/* Late ones are duplicates of the frame. */
	arrive(0, 0, 2000);
	assert_int_equal(stats()->duplicates, 1);
	taken_once();
}

static void parts__random_slices(void **state)
{
	uint64_t seed = 7;

	(void) state;
	for (int i = 0; i < 100000 && !net->nodes[1].received; i++) {
		uint32_t from = (uint32_t) (net_random(&seed) % TOTAL);
		uint32_t len = 1 + (uint32_t) (net_random(&seed) % 300);

		arrive(0, from, (uint32_t) gamma_min(from + len, TOTAL));
	}
	taken_once();
}

static void whole__makes_parts_void(void **state)
{
	(void) state;
	arrive(0, 0, 2000);
	assert_non_null(flow->rx.parts[0]);
	arrive_whole(0);
	taken_once();
	assert_null(flow->rx.parts[0]);
	arrive(0, 2000, TOTAL);
	taken_once();
	assert_int_equal(stats()->duplicates, 1);
}

static void whole__late_is_a_duplicate(void **state)
{
	(void) state;
	arrive(0, 0, 2000);
	arrive(0, 2000, TOTAL);
	arrive_whole(0);
	taken_once();
	assert_int_equal(stats()->duplicates, 1);
}

/* Two frames across the wrap, the later one first. */
static void parts__early_frame_across_the_wrap(void **state)
{
	struct gamma_fields fields;

	(void) state;
	net_begin_at(net, 0, 1, UINT32_MAX);
	fields = fields_of(0);
	fields.extensions = GAMMA_EXT_PART | GAMMA_EXT_TAG;
	fields.tag = 1;
	fields.part_total = 4;
	fields.payload_len = 2;
	gamma_receive_window_data(flow, &fields, bytes, net->now, net->now);
	fields.part_offset = 2;
	gamma_receive_window_data(flow, &fields, bytes + 2, net->now, net->now);
	assert_int_equal(stats()->out_of_order, 1);
	assert_null(flow->rx.parts[0]);
	arrive(UINT32_MAX, 2000, TOTAL);
	arrive(UINT32_MAX, 0, 2000);
	assert_int_equal(flow->rx.next, 1);
	assert_int_equal(net->nodes[1].received, 1);
	assert_int_equal(stats()->unexpected, 1); /* the second has no receive */
	assert_null(flow->rx.early[0]);
}

static void malformed(struct gamma_fields fields)
{
	uint64_t before = stats()->malformed;

	gamma_receive_window_data(flow, &fields, bytes, net->now, net->now);
	assert_int_equal(stats()->malformed, before + 1);
	assert_int_equal(flow->rx.arrived, 0);
}

static void malformed__nonsense_is_dropped(void **state)
{
	struct gamma_fields fields = fields_of(0);

	(void) state;
	malformed(fields); /* no payload */
	fields.payload_len = TOTAL;
	malformed(fields); /* all of it: no part */
	fields.payload_len = 100;
	fields.part_offset = TOTAL - 99;
	malformed(fields); /* beyond the end */
	fields.part_offset = 65500;
	malformed(fields);
	fields.part_total = 0;
	malformed(fields);
	assert_null(flow->rx.parts);
}

static void malformed__parts_that_disagree(void **state)
{
	struct gamma_fields fields = fields_of(0);

	(void) state;
	arrive(0, 0, 2000);
	fields.payload_len = 100;
	fields.part_total = TOTAL + 1;
	malformed(fields);
	fields.part_total = TOTAL;
	fields.op = GAMMA_OP_BULK;
	malformed(fields);
	arrive(0, 2000, TOTAL);
	taken_once();
}

static void longest__frame(void **state)
{
	static uint8_t large[65535];
	struct gamma_fields fields = fields_of(0);

	(void) state;
	net->lawless = true;
	fields.part_total = 65535;
	for (uint32_t at = 0; at < 65535; at += fields.payload_len) {
		fields.part_offset = (uint16_t) at;
		fields.payload_len = (uint16_t) gamma_min(1444, 65535 - at);
		gamma_receive_window_data(flow, &fields, large + at, net->now, net->now);
	}
	assert_int_equal(flow->rx.next, 1);
}

static void forget__frees_parts(void **state)
{
	(void) state;
	arrive(0, 0, 2000);
	arrive(3, 0, 2000);
	gamma_receive_window_free(flow);
	assert_null(flow->rx.parts);
}

/* ---- sending ---- */

static struct gamma_flow *out;
static struct gamma_frame frame;

/* Node 0 has a frame of 8,000 bytes under way, which fitted; now it does not. */
static int sender(void **state)
{
	struct net_options options = net_defaults();

	(void) state;
	options.mtu = 9000;
	options.inject_size = 8192;
	net = net_new(2, &options);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_post(net, 1, 64);
	net_finish(net, SEC);
	net_run(net, MS);
	net_post(net, 1, 8000);
	out = net_flow(net, 0, 1);
	assert_int_equal(out->path_mtu.mtu, 9000);
	net_send(net, 0, 1, 8000, GAMMA_WHEN_ARRIVED);
	assert_true(gamma_transmit_poll(out, net->now, &frame));
	assert_int_equal(gamma_send_window_at(&out->tx, 1)->large, 1);
	out->path_mtu.mtu = out->path_mtu.frame = 1500;
	gamma_send_window_mark_lost(out, 1);
	return 0;
}

static size_t frame_len(void)
{
	size_t len = frame.head_len;

	for (unsigned i = 0; i < frame.iov_count; i++)
		len += frame.iov[i].iov_len;
	return len - GAMMA_ETH_LEN;
}

static void next_part(uint32_t at)
{
	assert_true(gamma_transmit_poll(out, net->now, &frame));
	assert_int_equal(frame.kind, GAMMA_KIND_DATA);
	assert_true(frame.part && frame.seq == 1);
	assert_int_equal(frame.part_at, at);
	assert_true(frame_len() <= 1500);
}

enum { SLICE = 1500 - GAMMA_HEADER_LEN - 8 - 4, PARTS = (8000 + SLICE - 1) / SLICE };

static void send__all_parts_and_then_the_next_frame(void **state)
{
	uint64_t serial = out->tx.serial;

	(void) state;
	net_send(net, 0, 1, 64, GAMMA_WHEN_COPIED);
	for (uint32_t i = 0; i < PARTS; i++)
		next_part(i * SLICE);
	assert_int_equal(gamma_send_window_at(&out->tx, 1)->serial, serial + PARTS);
	assert_int_equal(gamma_send_window_at(&out->tx, 1)->large, 1); /* above LEAST_MTU */
	assert_int_equal(net_stats(net, 0)->retransmissions, PARTS);
	assert_int_equal(net_stats(net, 0)->parts_out, PARTS);
	assert_true(gamma_transmit_poll(out, net->now, &frame));
	assert_false(frame.part);
	assert_int_equal(frame.seq, 2);
}

/* It goes on where the link stopped it, and nothing is counted twice. */
static void send__refused_in_the_middle(void **state)
{
	(void) state;
	next_part(0);
	next_part(SLICE);
	next_part(2 * SLICE);
	frame.part_at = SLICE; /* the second and the third have not left */
	gamma_transmit_unsent(out, &frame, net->now);
	frame.part_at = 2 * SLICE;
	gamma_transmit_unsent(out, &frame, net->now);
	assert_int_equal(net_stats(net, 0)->parts_out, 1);
	for (uint32_t i = 1; i < PARTS; i++)
		next_part(i * SLICE);
	assert_int_equal(net_stats(net, 0)->parts_out, PARTS);
	assert_int_equal(net_stats(net, 0)->retransmissions, PARTS);
	assert_false(out->tx.sending_parts);
}

/* What the link has never taken is not sent again, in however many parts it leaves. */
static void send__never_left_before(void **state)
{
	struct gamma_sent *sent = gamma_send_window_at(&out->tx, 1);

	(void) state;
	sent->unsent = 1;
	for (uint32_t i = 0; i < PARTS; i++)
		next_part(i * SLICE);
	frame.part_at = (PARTS - 1) * SLICE; /* nor has the last part */
	gamma_transmit_unsent(out, &frame, net->now);
	next_part((PARTS - 1) * SLICE);
	assert_int_equal(net_stats(net, 0)->parts_out, PARTS);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void send__lost_again_from_the_first_byte(void **state)
{
	(void) state;
	for (uint32_t i = 0; i < PARTS; i++)
		next_part(i * SLICE);
	gamma_send_window_mark_lost(out, 1);
	for (uint32_t i = 0; i < PARTS; i++)
		next_part(i * SLICE);
	assert_int_equal(net_stats(net, 0)->parts_out, 2 * PARTS);
}

static void send__acknowledged_in_the_middle(void **state)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_ACK, GAMMA_ACK_PLAIN);

	(void) state;
	next_part(0);
	fields.extensions = GAMMA_EXT_ACK;
	fields.ack = 2;
	fields.limit = out->tx.limit;
	gamma_flow_receive(out, &fields, NULL, net->now, net->now);
	assert_false(gamma_transmit_poll(out, net->now, &frame));
	assert_false(out->tx.sending_parts);
}

static void send__whole_again_if_the_path_carries_it(void **state)
{
	(void) state;
	for (uint32_t i = 0; i < PARTS; i++)
		next_part(i * SLICE);
	gamma_send_window_mark_lost(out, 1);
	out->path_mtu.mtu = out->path_mtu.frame = 9000;
	assert_true(gamma_transmit_poll(out, net->now, &frame));
	assert_false(frame.part);
	assert_int_equal(frame_len(), GAMMA_HEADER_LEN + 8 + 8000);
}

static void send__each_part_has_its_checksum(void **state)
{
	struct gamma_fields fields;
	uint8_t whole[2000];

	(void) state;
	out->payload_crc = true;
	next_part(0);
	assert_int_equal(frame.iov_count, 1);
	memcpy(whole, frame.head, frame.head_len);
	memcpy(whole + frame.head_len, frame.iov[0].iov_base, frame.iov[0].iov_len);
	assert_int_equal(gamma_codec_parse(whole, GAMMA_ETH_LEN + frame_len(), &fields), GAMMA_OK);
	assert_true(fields.extensions & GAMMA_EXT_PAYLOAD_CRC);
	assert_int_equal(fields.payload_crc,
			 gamma_crc32c(0, frame.iov[0].iov_base, fields.payload_len));
	assert_int_equal(fields.payload_len, SLICE - 4);
	next_part(SLICE - 4);
}

#define NET_TEST(name)  cmocka_unit_test_setup_teardown(name, setup, teardown)
#define SEND_TEST(name) cmocka_unit_test_setup_teardown(name, sender, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(parts__in_order),
		NET_TEST(parts__backwards),
		NET_TEST(parts__single_bytes_at_the_edges),
		NET_TEST(parts__repeated_and_overlapping),
		NET_TEST(parts__random_slices),
		NET_TEST(whole__makes_parts_void),
		NET_TEST(whole__late_is_a_duplicate),
		NET_TEST(parts__early_frame_across_the_wrap),
		NET_TEST(malformed__nonsense_is_dropped),
		NET_TEST(malformed__parts_that_disagree),
		NET_TEST(longest__frame),
		NET_TEST(forget__frees_parts),
		SEND_TEST(send__all_parts_and_then_the_next_frame),
		SEND_TEST(send__refused_in_the_middle),
		SEND_TEST(send__never_left_before),
		SEND_TEST(send__lost_again_from_the_first_byte),
		SEND_TEST(send__acknowledged_in_the_middle),
		SEND_TEST(send__whole_again_if_the_path_carries_it),
		SEND_TEST(send__each_part_has_its_checksum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
