// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/engine/receive_run.c: which frames of a train are received together. The
 * frames of a peer are written by hand into a train that a link without I/O lends.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <string.h>

#include "engine/dispatch.h"
#include "engine/peers.h"
#include "engine/receive_run.h"
#include "link/train.h"

enum {
	PORT = 9228,
	PEER_PORT = 9000,
	EPOCH = 7,
	PEER_EPOCH = 9,
	TENANT = 1000,
	MTU = 1472,
	SLOTS = 512,
	BYTES = 1000,   /* payload of a fragment */
	FRAMES = 8,     /* of a train */
	MESSAGE = 7000, /* bytes: the first frame of its train brings none of them */
	MOST = 64,
};

static const uint8_t own_mac[] = {2, 0, 0, 0, 0, 1}, peer_mac[] = {2, 0, 0, 0, 0, 2};

static struct gamma_endpoint ep;
static struct gamma_train train;
static uint8_t ecn;
static uint8_t memory[2][MESSAGE]; /* where the bytes go, by receive */
static struct gamma_recv recvs[2];
static unsigned matched, finished;
static uint32_t ids[2]; /* this side's, of accepted messages */
static uint64_t writes; /* operations of the peer that are complete */

/* ---- what the interface layer does ---- */

static struct gamma_recv *match(void *context, struct gamma_flow *flow,
				const struct gamma_envelope *envelope)
{
	(void) context;
	(void) flow;
	(void) envelope;
	return &recvs[matched++];
}

static void received(void *context, struct gamma_recv *recv, struct gamma_flow *flow,
		     const struct gamma_envelope *envelope, uint64_t placed, int error)
{
	(void) context;
	(void) recv;
	(void) flow;
	assert_int_equal(placed, envelope->length);
	assert_int_equal(error, 0);
	finished++;
}

static enum gamma_refusal reach(void *context, struct gamma_flow *flow,
				const struct gamma_rma_access *access,
				struct gamma_rma_region *reached)
{
	(void) context;
	(void) flow;
	reached->iov[0] = (struct iovec){memory[0] + access->address, access->length};
	reached->iov_count = 1;
	return 0;
}

static void touched(void *context, struct gamma_flow *flow, const struct gamma_rma_access *access,
		    bool last, const uint64_t *data)
{
	(void) context;
	(void) flow;
	(void) access;
	(void) data;
	writes += last;
}

static const struct gamma_rma_target target = {.reach = reach, .touched = touched};

/* ---- the link ---- */

static bool next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	uint8_t head[GAMMA_ETH_LEN] = {0};

	(void) link;
	if (gamma_train_is_empty(&train))
		return false;
	memcpy(head, own_mac, GAMMA_MAC_LEN);
	memcpy(head + GAMMA_MAC_LEN, peer_mac, GAMMA_MAC_LEN);
	head[12] = GAMMA_ETHERTYPE >> 8;
	head[13] = GAMMA_ETHERTYPE & 0xff;
	gamma_train_lend(&train, head, arrival);
	return true;
}

static void release(struct gamma_link *link)
{
	(void) link;
	gamma_train_release(&train);
}

static const struct gamma_link_ops ops = {.next = next, .release = release};
static struct gamma_link link_of_trains = {.ops = &ops};

/* ---- frames ---- */

static struct gamma_fields frames[FRAMES];
static unsigned count;

static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t) (offset * 7 + offset / 256);
}

static struct gamma_fields *add(enum gamma_op op)
{
	struct gamma_fields *fields = &frames[count];

	assert_true(count < FRAMES);
	*fields = (struct gamma_fields){
		.kind = GAMMA_KIND_DATA,
		.op = (uint8_t) op,
		.src_port = PEER_PORT,
		.dst_port = PORT,
		.tenant = TENANT,
		.src_epoch = PEER_EPOCH,
		.dst_epoch = EPOCH,
		.seq = count ? frames[count - 1].seq + 1
		       : gamma_list_empty(&ep.local.flows)
			       ? 0
			       : gamma_list_first(&ep.local.flows, struct gamma_flow, all_entry)
					 ->rx.next,
	};
	count++;
	return fields;
}

/* Bytes of the message with that id, or, of op WRITE and id 0, of the WRITE under way. */
static struct gamma_fields *fragment(enum gamma_op op, uint32_t id, uint64_t offset, uint16_t len)
{
	struct gamma_fields *fields = add(op);

	fields->extensions = GAMMA_EXT_FRAGMENT;
	fields->fragment = (uint64_t) id << GAMMA_FRAGMENT_OFFSET_BITS | offset;
	fields->payload_len = len;
	return fields;
}

static void fragments(enum gamma_op op, uint32_t id, unsigned from, unsigned until)
{
	for (unsigned i = from; i < until; i++)
		fragment(op, id, i * BYTES, BYTES);
}

static void announce(uint32_t id)
{
	struct gamma_fields *fields = add(GAMMA_OP_ANNOUNCE);

	fields->extensions = GAMMA_EXT_MESSAGE;
	fields->id = id;
	fields->length = MESSAGE;
}

/* Behind the frames of the train. */
static void put(const struct gamma_fields *fields, bool damaged)
{
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX + BYTES];
	uint8_t *payload = room + GAMMA_ETH_LEN + GAMMA_HEADER_MAX, *frame;
	uint64_t offset = fields->extensions & GAMMA_EXT_FRAGMENT
				  ? fields->fragment & GAMMA_FRAGMENT_OFFSET_MASK
				  : 0;
	struct gamma_fields built = *fields;
	uint32_t len;

	for (unsigned i = 0; i < fields->payload_len; i++)
		payload[i] = byte_at(offset + i);
	frame = gamma_codec_build(&built, own_mac, peer_mac, GAMMA_ETHERTYPE, payload);
	frame[GAMMA_ETH_LEN + 24] ^= damaged; /* of its number */
	len = (uint32_t) built.header_len + fields->payload_len;
	memcpy(train.bytes + train.len, frame + GAMMA_ETH_LEN, len);
	if (!train.len)
		train.segment = len;
	train.len += len;
}

/* The frames as one train: all but the last have one length. That one (-1: none) is damaged. */
static void make_train(int damaged)
{
	gamma_train_begin(&train, 0, 0);
	for (unsigned i = 0; i < count; i++)
		put(&frames[i], (int) i == damaged);
	count = 0;
}

/* As progress does. Returns the frames that were received together. */
static unsigned take(int damaged)
{
	uint64_t before = ep.local.stats.rx_run;
	struct gamma_arrival arrival;

	make_train(damaged);
	while (next(&link_of_trains, &arrival)) {
		if (arrival.behind && !arrival.alone &&
		    gamma_receive_run(&ep, &link_of_trains, &arrival, MOST, 1000))
			continue;
		gamma_dispatch(&ep, &link_of_trains, &arrival, 1000);
		release(&link_of_trains);
	}
	return (unsigned) (ep.local.stats.rx_run - before);
}

static struct gamma_flow *flow(void)
{
	return gamma_list_first(&ep.local.flows, struct gamma_flow, all_entry);
}

static void note_ids(void)
{
	const struct gamma_list *pos;
	unsigned i = 0;

	gamma_list_for_each (pos, &gamma_message_state(flow())->incoming)
		ids[i++] = gamma_list_entry(pos, struct gamma_inbound, flow_entry)->accepted;
}

/* Two announced messages have matched, and a frame of each op would be taken. */
static int setup(void **state)
{
	const struct gamma_addr addr = {.mac = {2, 0, 0, 0, 0, 1},
					.port = htons(PORT),
					.epoch = htonl(EPOCH),
					.version = GAMMA_ADDR_VERSION,
					.mtu = htons(MTU)};
	const struct gamma_limits limits = {.mtu = MTU,
					    .inject_size = 256,
					    .eager_size = MESSAGE,
					    .unexpected_size = 1 << 20,
					    .peer_timeout = GAMMA_NS_PER_S};

	(void) state;
	memset(&ep, 0, sizeof(ep));
	memset(memory, 0, sizeof(memory));
	matched = finished = count = 0;
	writes = 0;
	ecn = GAMMA_ECN_NONE;
	assert_int_equal(gamma_peers_init(&ep), 0);
	gamma_message_local_init(&ep.messages, &addr, TENANT, &limits, SLOTS);
	ep.local.flow_size = sizeof(struct gamma_peer);
	ep.handlers.messages =
		(struct gamma_handlers){.match = match, .received = received, .target = &target};
	ep.messages.handlers = &ep.handlers.messages;
	ep.packet = &link_of_trains;
	ep.local.ecn = &ecn;
	for (unsigned i = 0; i < 2; i++)
		recvs[i] = (struct gamma_recv){
			.iov = {{memory[i], MESSAGE}}, .iov_count = 1, .capacity = MESSAGE};
	announce(1);
	announce(2);
	assert_int_equal(take(-1), 0);
	assert_int_equal(matched, 2);
	note_ids();
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	gamma_message_local_fini(&ep.messages);
	gamma_peers_fini(&ep);
	return 0;
}

/* The first bytes of a receive have come, and no byte behind them. */
static void expect_bytes(unsigned recv, uint64_t bytes)
{
	for (uint64_t i = 0; i < MESSAGE; i++)
		if (memory[recv][i] != (i < bytes ? byte_at(i) : 0))
			fail_msg("receive %u: byte %lu", recv, (unsigned long) i);
}

/* Credit, window and counters as if each frame had come by itself. */
static void expect_account(uint32_t arrived)
{
	const struct gamma_credit_pool *pool = &ep.local.pool;

	assert_int_equal(flow()->rx.arrived, arrived);
	assert_int_equal(flow()->rx.next, arrived);
	assert_int_equal(flow()->rx.highest, arrived);
	assert_int_equal(flow()->rx.last, arrived - 1);
	assert_int_equal(ep.local.stats.data_frames_in, arrived);
	assert_int_equal(ep.local.stats.rx_ordinary + ep.local.stats.rx_run, arrived);
	assert_int_equal(pool->arrivals, arrived);
	assert_int_equal(pool->granted, gamma_credit_window(flow()) - flow()->credit.first);
}

/* ---- what is a run ---- */

static void run__all_but_the_first_frame(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 6);
	assert_int_equal(take(-1), 5);
	expect_bytes(0, 6 * BYTES);
	expect_account(8);
	assert_int_equal(finished, 0);
}

static void run__ends_with_the_message(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 7);
	assert_int_equal(take(-1), 6);
	expect_bytes(0, MESSAGE);
	expect_account(9);
	assert_int_equal(finished, 1);
}

static void run__last_short_frame(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 4);
	fragment(GAMMA_OP_BULK, ids[0], 4 * BYTES, BYTES / 3);
	assert_int_equal(take(-1), 4);
	expect_bytes(0, 4 * BYTES + BYTES / 3);
	expect_account(7);
}

static void run__eager_message(void **state)
{
	struct gamma_fields *first = add(GAMMA_OP_SEND_FIRST);

	(void) state;
	recvs[0].iov[0].iov_base = memory[1]; /* matched again */
	matched = 0;
	first->extensions = GAMMA_EXT_MESSAGE;
	first->id = 5;
	first->length = MESSAGE;
	first->payload_len = BYTES - 4; /* as long as the others, with its header */
	for (unsigned i = 0; i < 6; i++)
		fragment(GAMMA_OP_SEND_MORE, 5, BYTES - 4 + i * BYTES, BYTES);
	assert_int_equal(take(-1), 6);
	expect_bytes(1, 7 * BYTES - 4);
	expect_account(9);
}

static void run__write(void **state)
{
	struct gamma_fields *first = add(GAMMA_OP_WRITE);

	(void) state;
	first->extensions = GAMMA_EXT_RMA;
	first->rma_length = MESSAGE - 16;
	first->payload_len = BYTES - 16;
	for (unsigned i = 0; i < 6; i++)
		fragment(GAMMA_OP_WRITE, 0, BYTES - 16 + i * BYTES, BYTES);
	assert_int_equal(take(-1), 6);
	expect_bytes(0, MESSAGE - 16);
	expect_account(9);
	assert_int_equal(writes, 1);
}

static void run__until_the_piece_of_the_receive_ends(void **state)
{
	(void) state;
	recvs[0].iov[0] = (struct iovec){memory[0], 2500};
	recvs[0].iov[1] = (struct iovec){memory[0] + 2500, MESSAGE - 2500};
	recvs[0].iov_count = 2;
	fragments(GAMMA_OP_BULK, ids[0], 0, 7);
	assert_int_equal(take(-1), 5); /* the third frame is in both */
	expect_bytes(0, MESSAGE);
	expect_account(9);
}

static void run__acknowledged_as_one_of_its_frames_asks(void **state)
{
	(void) state;
	flow()->ack.now = false;
	fragments(GAMMA_OP_BULK, ids[0], 0, 6);
	frames[3].flags = GAMMA_FLAG_ACK_REQUESTED;
	assert_int_equal(take(-1), 5);
	assert_true(flow()->ack.now);
	assert_int_equal(flow()->ack.owed, 8);
}

static void run__frames_beyond_the_credit_are_not_owed(void **state)
{
	struct gamma_credit_pool *pool = &ep.local.pool;

	(void) state;
	/* The peer uses two frames more than it was granted, and the pool has none left. */
	pool->granted -= gamma_credit_window(flow()) - flow()->credit.first - 3;
	flow()->credit.limit = flow()->rx.arrived + 3;
	flow()->credit.first = 0;
	pool->slots = pool->reserve;
	fragments(GAMMA_OP_BULK, ids[0], 0, 5);
	assert_int_equal(take(-1), 4);
	assert_int_equal(gamma_credit_window(flow()), 0);
	assert_int_equal(pool->granted, 0);
}

/* ---- what ends one ---- */

static void break__at_a_gap(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 3);
	fragments(GAMMA_OP_BULK, ids[0], 4, 7);
	frames[3].seq++;
	frames[4].seq++;
	frames[5].seq++;
	assert_int_equal(take(-1), 2);
	assert_int_equal(flow()->rx.next, 5);
	assert_int_equal(flow()->rx.highest, 9);
	assert_int_equal(ep.local.stats.out_of_order, 3);
	assert_int_equal(ep.local.stats.data_frames_in, 8);
}

static void break__at_a_duplicate(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 3);
	fragments(GAMMA_OP_BULK, ids[0], 2, 6);
	for (unsigned i = 3; i < 7; i++)
		frames[i].seq--;
	assert_int_equal(take(-1), 5); /* two, the duplicate, three */
	assert_int_equal(ep.local.stats.duplicates, 1);
	expect_bytes(0, 6 * BYTES);
	assert_int_equal(ep.local.stats.data_frames_in, 8);
	assert_int_equal(flow()->rx.next, 8);
}

static void break__at_another_message(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 3);
	fragments(GAMMA_OP_BULK, ids[1], 0, 4);
	assert_int_equal(take(-1), 6);
	expect_bytes(0, 3 * BYTES);
	expect_bytes(1, 4 * BYTES);
	expect_account(9);
}

/* Its bytes would follow, but they are of the other message. */
static void break__at_another_message_with_the_next_offset(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[1], 0, 2);
	take(-1);
	fragments(GAMMA_OP_BULK, ids[0], 0, 2);
	fragments(GAMMA_OP_BULK, ids[1], 2, 5);
	take(-1);
	expect_bytes(0, 2 * BYTES);
	expect_bytes(1, 5 * BYTES);
	expect_account(9);
}

static void break__at_another_operation(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 3);
	fragment(GAMMA_OP_SEND_MORE, ids[0], 3 * BYTES, BYTES); /* of no message */
	fragments(GAMMA_OP_BULK, ids[0], 3, 5);
	assert_int_equal(take(-1), 4);
	assert_int_equal(ep.local.stats.stray, 1);
	expect_bytes(0, 5 * BYTES);
	expect_account(8);
}

static void break__at_another_flow(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 6);
	frames[3].src_epoch++;
	assert_int_equal(take(-1), 2);
	assert_int_equal(memory[0][3 * BYTES], 0);
	assert_int_equal(flow()->rx.next, 5);
}

static void break__at_a_damaged_header(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 6);
	assert_int_equal(take(3), 2);
	assert_int_equal(ep.local.stats.malformed, 1);
	assert_int_equal(flow()->rx.next, 5);
	assert_int_equal(flow()->rx.highest, 8);
	assert_int_equal(memory[0][4 * BYTES], byte_at(4 * BYTES)); /* placed before its turn */
}

static void break__at_a_frame_sent_again(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 6);
	frames[3].flags = GAMMA_FLAG_AGAIN;
	assert_int_equal(take(-1), 4);
	expect_bytes(0, 6 * BYTES);
	expect_account(8);
}

static void break__at_a_backlog(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 7);
	for (unsigned i = 4; i < 7; i++)
		frames[i].flags = GAMMA_FLAG_BACKLOG;
	assert_int_equal(take(-1), 6);
	assert_true(flow()->credit.bulk);
	assert_int_equal(ep.local.pool.bulk_granted, ep.local.pool.granted);
	expect_account(9);
}

static void break__at_extensions(void **state)
{
	(void) state;
	flow()->tx.next = flow()->tx.una;
	fragments(GAMMA_OP_BULK, ids[0], 0, 6);
	frames[3].extensions |= GAMMA_EXT_MTU;
	frames[3].mtu = MTU;
	frames[3].payload_len -= 4;
	frames[4].fragment -= 4;
	frames[5].fragment -= 4;
	take(-1);
	assert_int_equal(flow()->path_mtu.peer_mtu, MTU);
	expect_bytes(0, 6 * BYTES - 4);
	expect_account(8);
}

static void break__at_bytes_beyond_the_message(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 6);
	frames[4].fragment += MESSAGE;
	take(-1);
	assert_int_equal(ep.local.stats.malformed, 1);
	assert_int_equal(finished, 0);
	expect_account(8);
}

/* ---- what begins none ---- */

static void none__marked_by_a_router(void **state)
{
	(void) state;
	flow()->congestion.on = true;
	gamma_ecn_start(flow());
	ecn = GAMMA_ECN_MARKED;
	fragments(GAMMA_OP_BULK, ids[0], 0, 4);
	assert_int_equal(take(-1), 0);
	assert_int_equal(ep.local.stats.ecn_marked, 4);
	ecn = GAMMA_ECN_CAPABLE;
	fragments(GAMMA_OP_BULK, ids[0], 4, 7);
	assert_int_equal(take(-1), 2);
	assert_int_equal(ep.local.stats.ecn_marked, 4);
	expect_bytes(0, MESSAGE);
}

static void none__behind_a_gap(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 1, 5);
	for (unsigned i = 0; i < 4; i++)
		frames[i].seq++;
	assert_int_equal(take(-1), 0);
	assert_int_equal(ep.local.stats.out_of_order, 4);
}

static void none__of_no_message(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0] + 100, 0, 4);
	assert_int_equal(take(-1), 0);
	assert_int_equal(ep.local.stats.malformed, 4);
}

static void none__of_another_user(void **state)
{
	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 4);
	for (unsigned i = 0; i < 4; i++)
		frames[i].tenant++;
	assert_int_equal(take(-1), 0);
	assert_int_equal(ep.local.stats.stray, 4);
}

static void none__after_the_flow_has_ended(void **state)
{
	(void) state;
	flow()->state = GAMMA_FLOW_CLOSED;
	fragments(GAMMA_OP_BULK, ids[0], 0, 4);
	make_train(-1);
	release(&link_of_trains);
	{
		struct gamma_arrival arrival;

		assert_true(next(&link_of_trains, &arrival));
		assert_int_equal(gamma_receive_run(&ep, &link_of_trains, &arrival, MOST, 1), 0);
	}
	flow()->state = GAMMA_FLOW_OPEN;
}

static void most__is_kept(void **state)
{
	struct gamma_arrival arrival;

	(void) state;
	fragments(GAMMA_OP_BULK, ids[0], 0, 6);
	make_train(-1);
	assert_true(next(&link_of_trains, &arrival));
	gamma_dispatch(&ep, &link_of_trains, &arrival, 1000);
	release(&link_of_trains);
	assert_true(next(&link_of_trains, &arrival));
	assert_int_equal(gamma_receive_run(&ep, &link_of_trains, &arrival, 3, 1000), 3);
	assert_false(arrival.alone);
	assert_true(next(&link_of_trains, &arrival));
	assert_int_equal(gamma_receive_run(&ep, &link_of_trains, &arrival, 3, 1000), 2);
	assert_true(arrival.alone);
	expect_bytes(0, 6 * BYTES);
}

#define RUN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_TEST(run__all_but_the_first_frame),
		RUN_TEST(run__ends_with_the_message),
		RUN_TEST(run__last_short_frame),
		RUN_TEST(run__eager_message),
		RUN_TEST(run__write),
		RUN_TEST(run__until_the_piece_of_the_receive_ends),
		RUN_TEST(run__acknowledged_as_one_of_its_frames_asks),
		RUN_TEST(run__frames_beyond_the_credit_are_not_owed),
		RUN_TEST(break__at_a_gap),
		RUN_TEST(break__at_a_duplicate),
		RUN_TEST(break__at_another_message),
		RUN_TEST(break__at_another_message_with_the_next_offset),
		RUN_TEST(break__at_another_operation),
		RUN_TEST(break__at_another_flow),
		RUN_TEST(break__at_a_damaged_header),
		RUN_TEST(break__at_a_frame_sent_again),
		RUN_TEST(break__at_a_backlog),
		RUN_TEST(break__at_extensions),
		RUN_TEST(break__at_bytes_beyond_the_message),
		RUN_TEST(none__marked_by_a_router),
		RUN_TEST(none__behind_a_gap),
		RUN_TEST(none__of_no_message),
		RUN_TEST(none__of_another_user),
		RUN_TEST(none__after_the_flow_has_ended),
		RUN_TEST(most__is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
