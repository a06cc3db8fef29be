// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/engine/shm_path.c: chunks, by which a sender copies an announced message
 * into records while the receiver reads it from the sender's memory.
 */
#include "shm_path_fixture.h"

#include <errno.h>

static struct gamma_local *reader_of(unsigned node)
{
	return &net->nodes[other(node)].ep.local;
}

static struct gamma_message_local *messages_of_reader(unsigned node)
{
	return gamma_message_local(reader_of(node));
}

static struct outgoing *send_in_chunks(uint64_t length)
{
	copies_pay(0, true);
	return net_send(net, 0, 1, length, GAMMA_WHEN_COPIED);
}

/* Delivers the announcement and the unsolicited chunks after it. */
static void deliver_first(void)
{
	for (int i = 0; i <= GAMMA_CHUNKS_UNSOLICITED / GAMMA_CHUNK; i++)
		deliver();
}

static void chunks__of_a_short_one_are_all_there_at_once(void **state)
{
	struct outgoing *sent;

	(void) state;
	net_post(net, 1, 50000);
	sent = send_in_chunks(50000);
	assert_int_equal(made, 1 + (50000 + GAMMA_CHUNK - 1) / GAMMA_CHUNK);
	unreadable = true; /* nor is that needed */
	deliver();
	gamma_rndv_shm_ask_more(reader_of(0), false); /* nor more */
	deliver_all();
	assert_true(sent->done && !sent->error);
	assert_int_equal(net->nodes[1].received, 1);
	assert_int_equal(net_stats(net, 1)->bytes_copied_in, 50000);
	assert_int_equal(made, 2 + (50000 + GAMMA_CHUNK - 1) / GAMMA_CHUNK);
	no_frames();
}

static void chunks__of_a_long_one_come_when_asked_for(void **state)
{
	struct gamma_endpoint *ep = &net->nodes[0].ep;
	struct outgoing *sent;

	(void) state;
	net_post(net, 1, LARGE);
	sent = send_in_chunks(LARGE);
	assert_int_equal(sent->send.fed, GAMMA_CHUNKS_UNSOLICITED);
	deliver_all();
	gamma_rndv_shm_ask_more(reader_of(0), false);
	gamma_rndv_shm_ask_more(reader_of(0), false); /* once */
	assert_int_equal(made - taken, 1);
	deliver_all();
	gamma_shm_path_feed(ep);
	assert_true(gamma_list_empty(&ep->messages.feeding) && sent->send.fed == LARGE);
	assert_false(sent->done);
	deliver_all();
	assert_true(sent->done && gamma_list_empty(&messages_of_reader(0)->reading));
	assert_int_equal(net_stats(net, 1)->bytes_copied_in, LARGE);
	no_frames();
}

/* The chunk that overlaps the end counts in part; the chunks behind it are dropped. */
static void chunks__and_the_end_read_by_the_kernel(void **state)
{
	struct outgoing *sent;

	(void) state;
	net_post(net, 1, LARGE);
	sent = send_in_chunks(LARGE);
	deliver();
	gamma_rndv_shm_read_first(reader_of(0), 60000);
	assert_int_equal(net->nodes[1].received, 0);
	deliver_all();
	assert_true(sent->done);
	assert_int_equal(net->nodes[1].received, 1);
	assert_int_equal(net_stats(net, 1)->bytes_copied_in, 40000);
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	no_frames();
}

static void chunks__are_needless_if_the_kernel_was_faster(void **state)
{
	struct gamma_endpoint *ep = &net->nodes[0].ep;
	struct outgoing *sent;

	(void) state;
	net_post(net, 1, 3 * LARGE);
	sent = send_in_chunks(3 * LARGE);
	deliver_first();
	gamma_rndv_shm_ask_more(reader_of(0), false);
	gamma_rndv_shm_read_first(reader_of(0), UINT64_MAX);
	assert_int_equal(net->nodes[1].received, 1);
	deliver();
	assert_true(!gamma_list_empty(&ep->messages.feeding));
	deliver();
	assert_true(sent->done && gamma_list_empty(&ep->messages.feeding));
	no_frames();
}

static void chunks__not_asked_for_stay_with_the_sender(void **state)
{
	struct outgoing *sent = send_in_chunks(LARGE);

	(void) state;
	deliver_all();
	assert_int_equal(net_stats(net, 1)->bytes_copied_in + messages_of_reader(0)->buffered, 0);
	net_post(net, 1, LARGE);
	assert_int_equal(net->nodes[1].received, 1);
	deliver_all();
	assert_true(sent->done);
	no_frames();
}

/* The time of the chunks includes the reader's waits between two of them. */
static void chunks__are_timed_with_the_wait(void **state)
{
	(void) state;
	gamma_message_state(net_flow(net, 1, 0))->own_read_ns = 1 << 30;
	net_post(net, 1, LARGE);
	send_in_chunks(LARGE);
	for (int i = 0; i < 3; i++) /* the announcement, and two */
		deliver();
	assert_int_equal(gamma_message_state(net_flow(net, 1, 0))->own_read_ns, 1 << 30);
	usleep(1000);
	deliver_all();
	assert_in_range(gamma_message_state(net_flow(net, 1, 0))->own_read_ns,
			1000000ull * 1024 / (GAMMA_CHUNKS_UNSOLICITED - GAMMA_CHUNK),
			(1 << 30) - 1);
}

static void chunks__beyond_a_receive_are_not_taken(void **state)
{
	struct outgoing *sent;

	(void) state;
	net_post(net, 1, 9000);
	net_post(net, 1, 0);
	sent = send_in_chunks(LARGE);
	deliver_all();
	assert_true(sent->done);
	assert_int_equal(net_stats(net, 1)->bytes_copied_in, 9000);
	sent = send_in_chunks(LARGE);
	deliver_all();
	assert_true(sent->done);
	assert_int_equal(net->nodes[1].received, 2);
	no_frames();
}

/* Without room for chunks the whole message comes as if there were none. */
static void chunks__of_memory_that_cannot_be_read(void **state)
{
	(void) state;
	net_post(net, 1, LARGE);
	send_in_chunks(LARGE);
	deliver_all();
	unreadable = true;
	gamma_rndv_shm_read_first(reader_of(0), LARGE);
	assert_true(gamma_list_empty(&messages_of_reader(0)->reading));
	deliver_all();
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 1);
}

static void chunks__find_no_room(void **state)
{
	struct gamma_endpoint *ep = &net->nodes[0].ep;
	struct outgoing *sent;

	(void) state;
	net->lawless = true; /* those of one byte are not its own */
	for (unsigned i = 0; i < CHUNKS - 2; i++) {
		net_post(net, 1, 1);
		assert_true(copy(1));
	}
	net_post(net, 1, LARGE);
	sent = send_in_chunks(LARGE);
	assert_int_equal(sent->send.fed, GAMMA_CHUNK);
	deliver_all();
	gamma_rndv_shm_ask_more(reader_of(0), false);
	full = true;
	deliver_all();
	gamma_shm_path_feed(ep);
	assert_int_equal(sent->send.fed, GAMMA_CHUNK);
	full = false;
	gamma_shm_path_feed(ep);
	assert_int_equal(sent->send.fed, LARGE);
	deliver_all();
	assert_true(sent->done);
}

static void chunks__are_tried_and_timed(void **state)
{
	struct gamma_shm_copy_model *copying = &gamma_peer(net_flow(net, 0, 1))->copy_model;

	(void) state;
	*copying = (struct gamma_shm_copy_model){.left = 0};
	net_post(net, 1, LARGE);
	net_send(net, 0, 1, LARGE, GAMMA_WHEN_COPIED);
	assert_true(copying->kib_ns && copying->left && !copying->timed);
	assert_int_equal(records[0].shm.flags & GAMMA_SHM_MESSAGE_CHUNKS, GAMMA_SHM_MESSAGE_CHUNKS);
}

static void chunks__more_is_not_written_where_copies_do_not_pay(void **state)
{
	(void) state;
	net_post(net, 1, LARGE);
	send_in_chunks(LARGE);
	deliver_first();
	copies_pay(0, false);
	gamma_rndv_shm_ask_more(reader_of(0), false);
	deliver_all();
	assert_true(gamma_list_empty(&net->nodes[0].ep.messages.feeding));
	gamma_rndv_shm_read_first(reader_of(0), UINT64_MAX);
	deliver_all();
	assert_int_equal(net->nodes[0].sent, 1);
}

static void chunks__of_a_flow_that_has_failed(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);
	const uint8_t bytes[100] = {0}; /* a chunk's, of no message */
	struct outgoing *sent;

	(void) state;
	net_post(net, 1, LARGE);
	sent = send_in_chunks(LARGE);
	deliver_first();
	gamma_rndv_shm_ask_more(reader_of(0), false);
	deliver();
	assert_true(!gamma_list_empty(&gamma_message_local(flow->local)->feeding));
	gamma_flow_fail(flow, -ECONNRESET, "test");
	assert_true(sent->done && gamma_list_empty(&gamma_message_local(flow->local)->feeding));
	gamma_flow_fail(net_flow(net, 1, 0), -ECONNRESET, "test");
	assert_int_equal(net->nodes[1].receive_errors, 1);
	assert_true(gamma_list_empty(&messages_of_reader(0)->reading));
	forge(1, GAMMA_RECORD_CHUNK, bytes, sizeof(bytes));
	assert_int_equal(net_stats(net, 1)->resets_out, 0);
}

/* The announcement has come, but the chunks never come. */
static struct outgoing *announced(void)
{
	struct outgoing *sent;

	net_post(net, 1, LARGE);
	sent = send_in_chunks(LARGE);
	deliver();
	taken = made;
	return sent;
}

static void read_from_memory(const struct outgoing *sent)
{
	gamma_rndv_shm_read_first(reader_of(0), UINT64_MAX);
	deliver_all();
	assert_true(sent->done && net->nodes[1].received == 1);
}

static void chunks__that_make_no_sense(void **state)
{
	struct {
		struct gamma_chunk chunk;
		uint8_t bytes[100];
	} forged = {.chunk = {.offset = 8192}, .bytes = {0}};
	struct gamma_more more = {.id = 77};
	struct outgoing *sent;

	(void) state;
	sent = announced();
	forge(1, GAMMA_RECORD_CHUNK, &forged, sizeof(forged)); /* of no message */
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	forged.chunk.id = sent->send.id;
	forge(1, GAMMA_RECORD_CHUNK, &forged, sizeof(forged)); /* not the next */
	assert_int_equal(net_stats(net, 1)->malformed, 1);
	forge(0, GAMMA_RECORD_MORE, &more, sizeof(more));
	assert_int_equal(net_stats(net, 0)->stray, 1);
	read_from_memory(sent);
}

/* Another implementation might send two chunks of half the size. */
static void chunks__of_another_size(void **state)
{
	static struct {
		struct gamma_chunk chunk;
		uint8_t bytes[GAMMA_CHUNK / 2];
	} half;
	struct outgoing *sent;

	(void) state;
	sent = announced();
	half.chunk.id = sent->send.id;
	for (uint32_t at = 0; at < GAMMA_CHUNK; at += GAMMA_CHUNK / 2) {
		half.chunk.offset = at;
		gamma_iov_read(sent->send.iov, 1, at, half.bytes, sizeof(half.bytes));
		forge(1, GAMMA_RECORD_CHUNK, &half, sizeof(half));
	}
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	assert_int_equal(net_stats(net, 1)->chunks_in, 2);
	read_from_memory(sent);
}

/* One step of what senders, receivers and the kernel may do, in any order. */
static void random_step(uint64_t *seed, unsigned *left)
{
	unsigned from = (unsigned) (net_random(seed) % 2);
	struct gamma_local *reader = reader_of(from);

	switch (net_random(seed) % 8) {
	case 0:
		if (!left[from])
			break;
		left[from]--;
		net_post(net, other(from), net_random(seed) % (2 * LARGE));
		net_send(net, from, other(from),
			 GAMMA_COPY_MAX + 1 + net_random(seed) % (2 * LARGE), GAMMA_WHEN_COPIED);
		break;
	case 1:
		gamma_shm_path_feed(&net->nodes[from].ep);
		break;
	case 2:
		if (!gamma_list_empty(&gamma_message_local(reader)->reading))
			gamma_rndv_shm_read_first(reader, 1 + net_random(seed) % LARGE);
		break;
	case 3:
		if (!gamma_list_empty(&gamma_message_local(reader)->reading))
			gamma_rndv_shm_ask_more(reader, net_random(seed) % 2);
		break;
	default:
		for (uint64_t i = net_random(seed) % 16; i; i--)
			deliver();
	}
}

/* The harness compares all bytes, and the order. */
static void chunks__in_any_interleaving(void **state)
{
	(void) state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		unsigned left[2] = {20, 20};
		uint64_t random = seed;

		teardown(state);
		setup_shm(state);
		copies_pay(0, true);
		copies_pay(1, true);
		for (unsigned i = 0; net->nodes[0].sent + net->nodes[1].sent < 40; i++) {
			assert_true(i < 20000);
			random_step(&random, left);
			net_run(net, US);
		}
		assert_int_equal(net->nodes[0].received + net->nodes[1].received, 40);
		deliver_all();
		for (unsigned i = 0; i < 2; i++) {
			assert_true(gamma_list_empty(&net->nodes[i].ep.messages.reading));
			assert_true(gamma_list_empty(&net->nodes[i].ep.messages.feeding));
			assert_int_equal(net_stats(net, i)->malformed, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHM_TEST(chunks__of_a_short_one_are_all_there_at_once),
		SHM_TEST(chunks__of_a_long_one_come_when_asked_for),
		SHM_TEST(chunks__and_the_end_read_by_the_kernel),
		SHM_TEST(chunks__are_needless_if_the_kernel_was_faster),
		SHM_TEST(chunks__not_asked_for_stay_with_the_sender),
		SHM_TEST(chunks__are_timed_with_the_wait),
		SHM_TEST(chunks__beyond_a_receive_are_not_taken),
		SHM_TEST(chunks__of_memory_that_cannot_be_read),
		SHM_TEST(chunks__find_no_room),
		SHM_TEST(chunks__are_tried_and_timed),
		SHM_TEST(chunks__more_is_not_written_where_copies_do_not_pay),
		SHM_TEST(chunks__of_a_flow_that_has_failed),
		SHM_TEST(chunks__that_make_no_sense),
		SHM_TEST(chunks__of_another_size),
		SHM_TEST(chunks__in_any_interleaving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
