// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/flow/transmit_run.c and common/message/send_run.c: which frames of a long
 * message are made together, and that they are those that would be made one by one. */
#include "rails_fixture.h"

#include <string.h>

#include "engine/links.h"
#include "flow/transmit_run.h"

enum {
	PAYLOAD = 1460, /* bytes in a frame in the middle of a message */
	FRAMES = 40,    /* of a message, all full */
	MOST = 64,
	TRAIN = 44,
	MADE = 17, /* frames of it that have been polled: the window has grown once */
	LEFT = FRAMES - MADE,
};

static struct gamma_flow *flow; /* of node 0 to node 1 */
static struct gamma_frame frames[1 + MOST];

/* Takes what is in the node's ring, and sends nothing. */
static void take_in(struct node *node)
{
	struct gamma_arrival arrival = {.behind = false};

	while (node->link.ops->next(&node->link, &arrival)) {
		gamma_dispatch(&node->ep, &node->link, &arrival, net->now);
		node->link.ops->release(&node->link);
	}
}

/* What was sent is there, and node 0 sends nothing more by itself. */
static void hold_back(void)
{
	net->nodes[0].wakes = net->now + 1;
	net_run(net, 1);
	net->nodes[0].wakes = GAMMA_NEVER;
	net_run(net, 10 * US);
	take_in(&net->nodes[0]);
}

static void announce(unsigned count, uint64_t length)
{
	for (unsigned i = 0; i < count; i++) {
		net_post(net, 1, length);
		net_send(net, 0, 1, length, GAMMA_WHEN_MATCHED);
	}
	hold_back();
}

static void poll_kind(uint8_t kind)
{
	assert_true(gamma_transmit_poll(flow, net->now, frames));
	assert_int_equal(frames->kind, kind);
}

static unsigned run(void)
{
	return gamma_transmit_run(flow, net->now, frames, MOST);
}

/* A long message has been accepted, and its first frames polled. */
static int setup_bulk(void **state)
{
	setup(state);
	flow = net_flow(net, 0, 1);
	announce(1, FRAMES * PAYLOAD);
	poll_kind(GAMMA_KIND_ACK);
	flow->tx.limit = flow->tx.next + 2 * FRAMES;
	for (int i = 0; i < MADE; i++)
		poll_kind(GAMMA_KIND_DATA);
	return 0;
}

#define BULK_TEST(name) cmocka_unit_test_setup_teardown(name, setup_bulk, teardown)

/* ---- what is made ---- */

static void parse(const struct gamma_frame *frame, struct gamma_fields *fields)
{
	assert_int_equal(gamma_codec_parse(frame->head, frame->head_len + PAYLOAD, fields),
			 GAMMA_OK);
}

static void expect_behind(unsigned index)
{
	const struct gamma_frame *first = frames, *frame = &frames[index];
	struct gamma_fields one = {0}, behind = {0};

	parse(first, &one);
	parse(frame, &behind);
	one.seq += index;
	one.fragment += index * PAYLOAD;
	assert_memory_equal(&one, &behind, sizeof(one));
	assert_int_equal(frame->seq, behind.seq);
	assert_int_equal(frame->kind, GAMMA_KIND_DATA);
	assert_ptr_equal(frame->flow, flow);
	assert_int_equal(frame->iov_count, 1);
	assert_ptr_equal(frame->iov[0].iov_base,
			 (uint8_t *) first->iov[0].iov_base + index * PAYLOAD);
	assert_int_equal(frame->iov[0].iov_len, PAYLOAD);
	assert_int_equal(frame->head_len, first->head_len);
	assert_in_range((uintptr_t) frame->head, (uintptr_t) frame->room,
			(uintptr_t) (frame->room + sizeof(frame->room)));
}

static void expect_entry(unsigned index)
{
	const struct gamma_sent *first = gamma_send_window_at(&flow->tx, frames->seq);
	const struct gamma_sent *sent = gamma_send_window_at(&flow->tx, frames->seq + index);

	assert_int_equal(sent->offset, first->offset + index * PAYLOAD);
	assert_int_equal(sent->len, PAYLOAD);
	assert_int_equal(sent->serial, first->serial + index);
	assert_int_equal(sent->ahead, first->ahead + index);
	assert_int_equal(sent->state, GAMMA_SENT_FLYING);
	assert_int_equal(sent->op, first->op);
	assert_int_equal(sent->time, net->now);
	assert_ptr_equal(sent->send, first->send);
	assert_null(sent->buffer);
}

static void run__differs_in_number_and_place(void **state)
{
	uint64_t before = net_stats(net, 0)->data_frames_out;
	uint32_t next = flow->tx.next;
	unsigned count = run();

	(void) state;
	assert_in_range(count, 2, LEFT);
	for (unsigned i = 1; i <= count; i++) {
		expect_behind(i);
		expect_entry(i);
	}
	assert_int_equal(flow->tx.next, next + count);
	assert_int_equal(flow->tx.backlog_sent, next + count);
	assert_int_equal(net_stats(net, 0)->data_frames_out, before + count);
	assert_int_equal(net_stats(net, 0)->tx_run, count);
}

/* What polling and runs leave behind is the same. */
static void run__is_followed_by_what_polling_makes(void **state)
{
	struct gamma_fields fields;
	uint64_t offset;

	(void) state;
	run();
	offset = gamma_send_window_at(&flow->tx, flow->tx.next - 1)->offset;
	poll_kind(GAMMA_KIND_DATA);
	parse(frames, &fields);
	assert_int_equal(fields.fragment & GAMMA_FRAGMENT_OFFSET_MASK, offset + PAYLOAD);
	assert_int_equal(fields.seq, flow->tx.next - 1);
}

static void run__ends_before_the_last_two(void **state)
{
	(void) state;
	while (run())
		poll_kind(GAMMA_KIND_DATA);
	assert_int_equal(frames->seq + 2, flow->tx.first + 1 + FRAMES);
	poll_kind(GAMMA_KIND_DATA);
	assert_int_equal(flow->tx.asked, flow->tx.next);
	assert_int_equal(run(), 0);
}

static void run__an_eager_message_too(void **state)
{
	(void) state;
	flow = net_flow(net, 0, 1);
	net_exchange(net);
	net_send(net, 0, 1, 16000, GAMMA_WHEN_ARRIVED);
	flow->tx.limit = flow->tx.next + MOST;
	poll_kind(GAMMA_KIND_DATA);
	assert_int_equal(run(), 0); /* its first frame has a header of its own */
	poll_kind(GAMMA_KIND_DATA);
	assert_int_equal(run(), 16000 / PAYLOAD - 3);
	expect_behind(1);
}

/* ---- what ends it ---- */

static void bound__most(void **state)
{
	(void) state;
	assert_int_equal(gamma_transmit_run(flow, net->now, frames, 3), 3);
	poll_kind(GAMMA_KIND_DATA);
	assert_int_equal(gamma_transmit_run(flow, net->now, frames, 0), 0);
}

/* It has to ask for more. */
static void bound__last_of_credit_is_left(void **state)
{
	(void) state;
	flow->tx.limit = flow->tx.next + 5;
	assert_int_equal(run(), 4);
	poll_kind(GAMMA_KIND_DATA);
	assert_int_equal(flow->tx.asked, flow->tx.next);
	assert_int_equal(run(), 0);
}

static void bound__no_credit(void **state)
{
	(void) state;
	flow->tx.limit = flow->tx.next;
	assert_int_equal(run(), 0);
	flow->tx.limit = flow->tx.next - 1;
	assert_int_equal(run(), 0);
}

static void bound__credit_given_back_counts(void **state)
{
	(void) state;
	flow->tx.limit = flow->tx.next + 9;
	flow->tx.returned = 4;
	assert_int_equal(run(), 4);
}

static void bound__entries_of_the_window(void **state)
{
	uint32_t entries = flow->tx.size - gamma_send_window_unacked(&flow->tx);

	(void) state;
	assert_in_range(entries, 1, LEFT - 3);
	assert_int_equal(run(), entries);
	poll_kind(GAMMA_KIND_DATA); /* which makes the window larger */
	assert_int_not_equal(run(), 0);
}

static void bound__end_of_a_piece(void **state)
{
	struct gamma_send *send = gamma_send_window_at(&flow->tx, frames->seq)->send;
	uint8_t *bytes = send->iov[0].iov_base;
	size_t first = (MADE + 3) * PAYLOAD + 100;

	(void) state;
	send->iov[0].iov_len = first;
	send->iov[1] = (struct iovec){bytes + first, FRAMES * PAYLOAD - first};
	send->iov_count = 2;
	assert_int_equal(run(), 3);
	poll_kind(GAMMA_KIND_DATA);
	assert_int_equal(frames->iov_count, 2);
	assert_int_equal(run(), 0);
	poll_kind(GAMMA_KIND_DATA);
	assert_int_not_equal(run(), 0);
}

/* ---- what takes precedence ---- */

static void not_now__a_lost_frame(void **state)
{
	(void) state;
	gamma_send_window_mark_lost(flow, frames->seq - 1);
	assert_int_equal(run(), 0);
	poll_kind(GAMMA_KIND_DATA);
	assert_int_equal(run(), 0); /* behind one that was sent again */
}

static void not_now__a_control_frame(void **state)
{
	(void) state;
	gamma_flow_want(flow, GAMMA_PENDING_PROBE);
	assert_int_equal(run(), 0);
	poll_kind(GAMMA_KIND_PROBE);
	assert_int_equal(run(), 0);
}

static void not_now__an_acknowledgement(void **state)
{
	(void) state;
	gamma_ack_now(flow);
	assert_int_equal(run(), 0);
}

static void not_now__a_notice(void **state)
{
	(void) state;
	gamma_send_notice(flow, gamma_send_new_notice(), GAMMA_OP_CUT, 1, 1, 1);
	assert_int_equal(run(), 0);
}

static void not_now__a_message_that_is_queued(void **state)
{
	(void) state;
	net_send(net, 0, 1, ALONE, GAMMA_WHEN_COPIED);
	assert_int_equal(run(), 0);
}

static void not_now__a_bound_or_a_shared_path(void **state)
{
	bool *bounds[] = {&flow->tx.bounded, &flow->tx.held_back, &flow->tx.sending_parts,
			  &flow->congestion.on, &flow->payload_crc};

	(void) state;
	for (unsigned i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		*bounds[i] = true;
		assert_int_equal(run(), 0);
		*bounds[i] = false;
	}
	assert_int_not_equal(run(), 0);
}

static void not_now__behind_one_that_asked(void **state)
{
	(void) state;
	flow->tx.asked = flow->tx.next;
	assert_int_equal(run(), 0);
}

/* One of them may have been taken back since. */
static void not_now__behind_an_older_frame(void **state)
{
	struct gamma_frame older = *frames;

	(void) state;
	older.head = older.room + (frames->head - frames->room);
	poll_kind(GAMMA_KIND_DATA);
	*frames = older;
	assert_int_equal(run(), 0);
}

/* ---- several messages ---- */

static void streams__a_turn_is_a_run(void **state)
{
	struct gamma_send *first, *second;

	(void) state;
	flow = net_flow(net, 0, 1);
	announce(2, FRAMES * PAYLOAD);
	poll_kind(GAMMA_KIND_ACK);
	flow->tx.limit = flow->tx.next + 3 * FRAMES;
	poll_kind(GAMMA_KIND_DATA);
	first = gamma_send_window_at(&flow->tx, frames->seq)->send;
	assert_int_equal(gamma_transmit_run(flow, net->now, frames, 5), 5);
	assert_int_equal(first->made, 6 * PAYLOAD);
	poll_kind(GAMMA_KIND_DATA);
	second = gamma_send_window_at(&flow->tx, frames->seq)->send;
	assert_ptr_not_equal(second, first);
	assert_int_equal(gamma_transmit_run(flow, net->now, frames, 5), 5);
	poll_kind(GAMMA_KIND_DATA);
	assert_ptr_equal(gamma_send_window_at(&flow->tx, frames->seq)->send, first);
	assert_int_equal(first->made, 7 * PAYLOAD);
}

/* ---- between endpoints ---- */

static int setup_trains(void **state)
{
	setup(state);
	for (unsigned i = 0; i < 2; i++)
		net->nodes[i].link.train = net->nodes[i].ep.train = TRAIN;
	return 0;
}

#define TRAINS_TEST(name) cmocka_unit_test_setup_teardown(name, setup_trains, teardown)

static void trains__bytes_arrive(void **state)
{
	(void) state;
	send_long(3);
	net_finish(net, SEC);
	assert_in_range(net_stats(net, 0)->tx_run, LONG / PAYLOAD, 3 * LONG / PAYLOAD);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 1)->malformed, 0);
}

static void trains__lost_frames_come_again(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 5; i++)
		net_rule(net, (struct rule){.fate = DROP,
					    .kind = GAMMA_KIND_DATA,
					    .op = GAMMA_OP_BULK,
					    .seq = ANY_SEQ,
					    .from = 0,
					    .skip = 100 * i + 7,
					    .times = 3});
	send_long(2);
	net_finish(net, SEC);
	assert_in_range(net_stats(net, 0)->retransmissions, 15, 100);
	assert_int_not_equal(net_stats(net, 0)->tx_run, 0);
}

static int setup_udp(void **state)
{
	struct net_options options = net_defaults();

	setup(state);
	options.nics = 2;
	options.second_mtu = 1472;
	options.second_latency = US;
	options.second_udp = true;
	net_free(net);
	net = net_new(2, &options);
	for (unsigned i = 0; i < 2; i++) {
		net->nodes[i].second.train = TRAIN;
		net->nodes[i].ep.local.own_rails[1].train = TRAIN;
		net->nodes[i].ep.train = gamma_links_train(&net->nodes[i].ep);
	}
	net_exchange(net);
	net_run(net, 50 * MS);
	return 0;
}

static void rails__trains_take_one(void **state)
{
	unsigned udp = net->nodes[0].left[1];

	(void) state;
	assert_int_equal(net->nodes[0].ep.train, TRAIN);
	send_long(2);
	net_finish(net, SEC);
	assert_in_range(net->nodes[0].left[1] - udp, 2 * LONG / PAYLOAD, UINT32_MAX);
	assert_in_range(net_stats(net, 0)->tx_run, LONG / PAYLOAD, 3 * LONG / PAYLOAD);
	assert_int_equal(rail(0, 1)->in_flight, 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BULK_TEST(run__differs_in_number_and_place),
		BULK_TEST(run__is_followed_by_what_polling_makes),
		BULK_TEST(run__ends_before_the_last_two),
		NET_TEST(run__an_eager_message_too),
		BULK_TEST(bound__most),
		BULK_TEST(bound__last_of_credit_is_left),
		BULK_TEST(bound__no_credit),
		BULK_TEST(bound__credit_given_back_counts),
		BULK_TEST(bound__entries_of_the_window),
		BULK_TEST(bound__end_of_a_piece),
		BULK_TEST(not_now__a_lost_frame),
		BULK_TEST(not_now__a_control_frame),
		BULK_TEST(not_now__an_acknowledgement),
		BULK_TEST(not_now__a_notice),
		BULK_TEST(not_now__a_message_that_is_queued),
		BULK_TEST(not_now__a_bound_or_a_shared_path),
		BULK_TEST(not_now__behind_one_that_asked),
		BULK_TEST(not_now__behind_an_older_frame),
		NET_TEST(streams__a_turn_is_a_run),
		TRAINS_TEST(trains__bytes_arrive),
		TRAINS_TEST(trains__lost_frames_come_again),
		cmocka_unit_test_setup_teardown(rails__trains_take_one, setup_udp, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
