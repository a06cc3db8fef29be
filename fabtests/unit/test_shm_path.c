// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/engine/shm_path.c and of the message layer's part in it: messages between
 * shm peers without frames. A record holds a copied message, or announces one or answers.
 */
#include "shm_path_fixture.h"

#include <errno.h>

static void large__is_read_and_answered_without_a_frame(void **state)
{
	(void) state;
	for (int level = GAMMA_WHEN_COPIED; level <= GAMMA_WHEN_MATCHED; level++) {
		struct outgoing *sent;

		net_post(net, 1, LARGE);
		sent = net_send(net, 0, 1, LARGE, level);
		assert_true(deliver() && !sent->done);
		assert_true(deliver() && sent->done && !sent->error);
	}
	assert_int_equal(net->nodes[1].received, 3);
	assert_int_equal(made, 6);
	assert_int_equal(withdrawn, 0);
	no_frames();
}

static void short__goes_the_same_way_if_its_match_is_awaited(void **state)
{
	struct outgoing *sent = net_send(net, 0, 1, 10, GAMMA_WHEN_MATCHED);

	(void) state;
	deliver_all();
	assert_false(sent->done);
	net_post(net, 1, 10);
	deliver_all();
	assert_true(sent->done);
	no_frames();
}

static void unexpected__is_read_once_posted(void **state)
{
	struct outgoing *sent = net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);

	(void) state;
	deliver_all();
	assert_int_equal(net_stats(net, 1)->unexpected, 1);
	assert_true(gamma_flow_unacked(net_flow(net, 0, 1)));
	net_post(net, 1, LARGE);
	assert_int_equal(net->nodes[1].received, 1);
	deliver_all();
	assert_true(sent->done);
	assert_false(gamma_flow_unacked(net_flow(net, 0, 1)));
	no_frames();
}

static void unexpected__discarded_completes_the_send(void **state)
{
	struct outgoing *sent = net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);

	(void) state;
	deliver_all();
	net_discard(net, 1);
	deliver_all();
	assert_true(sent->done && !sent->error);
	no_frames();
}

static void truncated__reads_what_there_is_room_for(void **state)
{
	(void) state;
	net_post(net, 1, 5000);
	net_post(net, 1, 0);
	net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	deliver_all();
	assert_int_equal(net->nodes[1].received, 2);
	assert_int_equal(net->nodes[0].sent, 2);
	no_frames();
}

/* The receiver asks for the bytes, which come in frames. Later messages are announced in frames
 * too. */
static void unreadable__is_sent(void **state)
{
	(void) state;
	unreadable = true;
	net_post(net, 1, LARGE);
	net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	deliver_all();
	net_finish(net, SEC);
	net_post(net, 1, LARGE);
	net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	assert_int_equal(made, 2);
	/* The announcement is a frame; only its answer is a record. */
	while (net->nodes[1].received < 2)
		if (!deliver())
			net_run(net, MS);
	assert_int_equal(made, 3);
}

static void medium__is_copied_where_that_pays(void **state)
{
	(void) state;
	copies_pay(0, true);
	assert_true(copy(MEDIUM) && copy(GAMMA_COPY_MAX));
	assert_int_equal(made, 2);
	assert_int_equal(records[1].shm.kind, GAMMA_RECORD_INLINE);
	assert_int_equal(records[1].shm.len, GAMMA_COPY_MAX);
	assert_false(copy(GAMMA_COPY_MAX + 1));
	copies_pay(0, false);
	assert_false(copy(MEDIUM));
	assert_true(copy(10));
	assert_int_equal(made, 3);
}

static void medium__above_the_eager_size_waits_for_its_match(void **state)
{
	(void) state;
	copies_pay(0, true);
	net->nodes[0].ep.local.limits.eager_size = MEDIUM - 1;
	assert_false(copy(MEDIUM));
	assert_true(copy(MEDIUM - 1));
}

/* Messages up to the eager size are copied and need no answer; longer ones are announced. */
static void large__is_copied_up_to_the_eager_size(void **state)
{
	(void) state;
	net->nodes[0].ep.local.limits.eager_size = LARGE;
	for (int pay = 0; pay < 2; pay++) {
		copies_pay(0, pay);
		net_post(net, 1, LARGE);
		net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
		deliver_all();
		net_finish(net, SEC);
		assert_int_equal(made, 2);
	}
	copies_pay(0, false);
	net_post(net, 1, LARGE + 1);
	net_send(net, 0, 1, LARGE + 1, GAMMA_WHEN_COPIED);
	deliver_all();
	assert_int_equal(made, 4);
}

static void medium__is_tried_now_and_then(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	gamma_peer(flow)->copy_model = (struct gamma_shm_copy_model){.left = 0};
	full = true;
	assert_false(copy(MEDIUM));
	assert_int_equal(gamma_peer(flow)->copy_model.left + gamma_peer(flow)->copy_model.rest, 0);
	assert_true(gamma_peer(flow)->copy_model.timed);
	full = false;
	assert_true(copy(MEDIUM)); /* fast or slow, whatever machine this is */
	assert_int_not_equal(gamma_peer(flow)->copy_model.left, 0);
	assert_false(gamma_peer(flow)->copy_model.timed);
}

static void answer__that_finds_no_room_is_a_frame(void **state)
{
	struct outgoing *sent;

	(void) state;
	net_post(net, 1, LARGE);
	sent = net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	full = true;
	deliver_all();
	assert_int_equal(net->nodes[1].received, 1);
	assert_false(sent->done);
	net_finish(net, SEC);
	assert_true(sent->done && !sent->error);
}

static void announcement__that_finds_no_room_is_a_frame(void **state)
{
	(void) state;
	net_post(net, 1, LARGE);
	full = true;
	net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	net_finish(net, SEC);
	assert_int_equal(made, 0);
}

/* The harness fails if messages arrive in another order. */
static void announcement__overtakes_nothing(void **state)
{
	(void) state;
	for (int i = 0; i < 3; i++)
		net_post(net, 1, LARGE);
	net_send(net, 0, 1, 1000, GAMMA_WHEN_ARRIVED); /* waits for its frame */
	net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	assert_int_equal(made, 0);
	while (net->nodes[0].sent < 2)
		if (!deliver())
			net_run(net, MS);
	net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	assert_int_equal(made, 2);
	deliver_all();
	assert_int_equal(net->nodes[0].sent, 3);
}

/* Messages that share a frame without credit: nothing polls for them. */
static void message__does_not_overtake_a_frame_that_is_filling(void **state)
{
	struct gamma_endpoint *ep = &net->nodes[0].ep;
	struct gamma_flow *flow = net_flow(net, 0, 1);
	struct gamma_envelope envelope = {.length = 1};
	struct iovec iov = {"", 1};

	(void) state;
	net->lawless = true;
	assert_true(gamma_coalesce_add(flow, &iov, 1, &envelope));
	flow->tx.returned = flow->tx.limit - flow->tx.next;
	net_run(net, 10 * US);
	assert_true(gamma_message_state(flow)->filling && gamma_list_empty(&flow->ready_entry));
	assert_false(gamma_shm_path_send(ep, flow, &iov, 1, &envelope));
	net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	assert_int_equal(made, 0);
}

static void failed__is_withdrawn_and_an_answer_comes_too_late(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);
	struct outgoing *sent;

	(void) state;
	net_post(net, 1, LARGE);
	sent = net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	gamma_flow_fail(flow, -ECONNRESET, "test");
	assert_true(sent->done && sent->error == -ECONNRESET && !sent->send.stamp);
	assert_int_equal(withdrawn, 1);
	net->lawless = true;    /* what the receive gets is not what was sent */
	assert_true(deliver()); /* cannot be read any more: the bytes are asked for */
	assert_true(deliver());
	assert_int_equal(net_stats(net, 0)->stray, 1);
	net_run(net, MS);
	assert_int_equal(net->nodes[1].receive_errors, 1); /* by RESET */
}

static void port__head_comes_with_the_announcement(void **state)
{
	uint8_t head[GAMMA_PORT_HEAD_MAX] = {0};
	struct outgoing *sent;

	(void) state;
	net->to_port = true;
	net->head_len = 33;
	sent = net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	assert_int_equal(records[0].shm.len, sizeof(struct gamma_announce) + 33);
	deliver_all();
	gamma_receive_read_head(
		gamma_list_first(&net->nodes[1].unexpected, struct gamma_inbound, entry), head);
	assert_memory_equal(head, sent->bytes, 33);
	net_post(net, 1, LARGE);
	deliver_all();
	assert_true(sent->done && !sent->error);
	no_frames();
}

static void port__head_of_another_length_is_malformed(void **state)
{
	struct {
		struct gamma_announce announce;
		uint8_t head[10];
	} said = {.announce = {.length = LARGE, .iov_count = 1, .id = 1}};

	(void) state;
	net->lawless = true;
	for (uint8_t len = 9; len <= 11; len++)
		forge_record(1,
			     (struct gamma_shm_message){.kind = GAMMA_RECORD_ANNOUNCE,
							.flags = GAMMA_SHM_MESSAGE_TAGGED |
								 GAMMA_SHM_MESSAGE_PORT,
							.tag = gamma_envelope_port_tag(1, len, 0)},
			     &said, sizeof(said.announce) + 10);
	assert_int_equal(net_stats(net, 1)->malformed, 2);
	assert_int_equal(net_stats(net, 1)->unexpected, 1);
}

static void nonsense__is_counted(void **state)
{
	struct gamma_announce announce = {.length = GAMMA_MESSAGE_MAX + 1, .iov_count = 1, .id = 1};
	struct gamma_answer answer = {.wanted = 1, .id = 77, .accepted = 1};
	struct outgoing *sent = net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);

	(void) state;
	net->lawless = true;
	taken = made;
	forge(1, GAMMA_RECORD_ANNOUNCE, &announce, sizeof(announce));
	announce.length = LARGE;
	announce.id = GAMMA_ID_MASK + 1;
	forge(1, GAMMA_RECORD_ANNOUNCE, &announce, sizeof(announce));
	assert_int_equal(net_stats(net, 1)->malformed, 2);
	forge(0, GAMMA_RECORD_ANSWER, &answer, sizeof(answer));
	answer.id = 0;
	forge(0, GAMMA_RECORD_ANSWER, &answer, sizeof(answer));
	assert_int_equal(net_stats(net, 0)->stray, 2);
	assert_false(sent->done);
	/* Twice the same answer. */
	answer = (struct gamma_answer){.id = sent->send.id};
	forge(0, GAMMA_RECORD_ANSWER, &answer, sizeof(answer));
	assert_true(sent->done);
	forge(0, GAMMA_RECORD_ANSWER, &answer, sizeof(answer));
	assert_int_equal(net_stats(net, 0)->stray, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHM_TEST(large__is_read_and_answered_without_a_frame),
		SHM_TEST(short__goes_the_same_way_if_its_match_is_awaited),
		SHM_TEST(unexpected__is_read_once_posted),
		SHM_TEST(unexpected__discarded_completes_the_send),
		SHM_TEST(truncated__reads_what_there_is_room_for),
		SHM_TEST(unreadable__is_sent),
		SHM_TEST(medium__is_copied_where_that_pays),
		SHM_TEST(medium__above_the_eager_size_waits_for_its_match),
		SHM_TEST(large__is_copied_up_to_the_eager_size),
		SHM_TEST(medium__is_tried_now_and_then),
		SHM_TEST(answer__that_finds_no_room_is_a_frame),
		SHM_TEST(announcement__that_finds_no_room_is_a_frame),
		SHM_TEST(announcement__overtakes_nothing),
		SHM_TEST(message__does_not_overtake_a_frame_that_is_filling),
		SHM_TEST(failed__is_withdrawn_and_an_answer_comes_too_late),
		SHM_TEST(port__head_comes_with_the_announcement),
		SHM_TEST(port__head_of_another_length_is_malformed),
		SHM_TEST(nonsense__is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
