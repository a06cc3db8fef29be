// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/engine/shm_path.c and of the message layer's part in it: messages between
 * shm_peers by records without frames: copied, or announced and answered. What a record is put
 * into here is a list; the receiver reads the sender's memory, which is this process's own.
 */
#include "pair_fixture.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	RECORDS = 128,
	CHUNKS = 32,                     /* of them: chunks find no room among more */
	RECORD_MAX = GAMMA_SHM_RING_MTU, /* bytes */
	LARGE = 100000,
	MEDIUM = 8192, /* announced or copied */
};

static struct record {
	unsigned to;
	struct gamma_shm_message shm;
	uint8_t bytes[RECORD_MAX];
} records[RECORDS];
static unsigned made, taken; /* records */
static unsigned withdrawn;   /* calls */
static bool full, unreadable;
static struct gamma_shm shms[2]; /* by node */

static unsigned other(unsigned node)
{
	return !node;
}

/* The linker puts these in the place of common/shm's: see fabtests/Makefile.include. */
bool __wrap_gamma_shm_put(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			  const struct gamma_shm_message *message, const struct iovec *iov,
			  unsigned iov_count);
void __wrap_gamma_shm_withdraw(struct gamma_tx_channel *channel);

bool __wrap_gamma_shm_put(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			  const struct gamma_shm_message *message, const struct iovec *iov,
			  unsigned iov_count)
{
	struct record *record = &records[made % RECORDS];

	(void) channel;
	if (full || made - taken == RECORDS ||
	    (message->kind == GAMMA_RECORD_CHUNK && made - taken >= CHUNKS))
		return false;
	assert_true(message->len <= RECORD_MAX);
	record->to = other((unsigned) (shm - shms));
	record->shm = *message;
	record->shm.bytes = record->bytes;
	gamma_iov_read(iov, iov_count, 0, record->bytes, message->len);
	made++;
	return true;
}

void __wrap_gamma_shm_withdraw(struct gamma_tx_channel *channel)
{
	(void) channel;
	withdrawn++;
}

/* Frames go over the wire, as those of other nodes do. */
static unsigned send_on_wire(struct gamma_link *link, const struct gamma_frame *frames,
			     unsigned count, int *error)
{
	struct gamma_link *wire =
		&net->nodes[gamma_container_of(link, struct gamma_shm, link) - shms].link;

	return wire->ops->send(wire, frames, count, error);
}

static bool pull(struct gamma_local *local, const struct gamma_flow *flow,
		 const struct gamma_source *source, uint64_t offset, const struct iovec *iov,
		 unsigned iov_count, uint64_t len)
{
	const uint64_t *stamp = (const void *) (uintptr_t) source->stamp_at;
	const uint8_t *bytes = (const void *) (uintptr_t) source->address;

	(void) local, (void) flow;
	assert_int_equal(source->iov_count, 1);
	if (unreadable || *stamp != source->stamp)
		return false;
	gamma_iov_write(iov, iov_count, offset, bytes + offset, len);
	return true;
}

/* Copies pay, or do not, and that is not looked at for a while. */
static void copies_pay(unsigned node, bool pay)
{
	gamma_peer(net_flow(net, node, other(node)))->copy_model =
		(struct gamma_shm_copy_model){.kib_ns = pay ? 20 : 500, .left = 1000};
}

/* Both are shm_peers that know each other, and copies do not pay. */
static int setup_shm(void **state)
{
	static const struct gamma_link_ops ops = {.send = send_on_wire};

	setup(state);
	made = taken = withdrawn = 0;
	full = unreadable = false;
	for (unsigned i = 0; i < 2; i++) {
		struct gamma_endpoint *ep = &net->nodes[i].ep;
		struct gamma_flow *flow = net_flow(net, i, other(i));

		shms[i] = (struct gamma_shm){.link = {.ops = &ops}};
		ep->shm = &shms[i];
		ep->messages.put_record = gamma_shm_path_put;
		ep->messages.withdraw_records = gamma_shm_path_withdraw;
		ep->messages.read_source = pull;
		flow->same_host = true;
		flow->has_shm_channel = true;
		gamma_peer(flow)->tx_channel = (struct gamma_tx_channel *) &records;
		copies_pay(i, false);
	}
	return 0;
}

#define SHM_TEST(name) cmocka_unit_test_setup_teardown(name, setup_shm, teardown)

/* The oldest record reaches its reader. */
static bool deliver(void)
{
	struct record *record = &records[taken % RECORDS];
	struct gamma_flow *flow;
	struct gamma_arrival arrival = {.shm = record->shm, .flow = &flow};

	if (taken == made)
		return false;
	flow = net_flow(net, record->to, other(record->to));
	assert_true(gamma_shm_path_receive(&net->nodes[record->to].ep, &arrival));
	taken++;
	return true;
}

static void deliver_all(void)
{
	while (deliver())
		;
}

static void no_frames(void)
{
	assert_true(net_quiet(net));
	assert_int_equal(net_stats(net, 0)->frames_out + net_stats(net, 1)->frames_out, 0);
}

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

/* It asks for the bytes, which come in frames, and nothing is offered any more. */
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
	/* Only the answer to the frame that announces it goes without. */
	while (net->nodes[1].received < 2)
		if (!deliver())
			net_run(net, MS);
	assert_int_equal(made, 3);
}

static bool copy(uint64_t len)
{
	static const uint8_t bytes[LARGE];
	struct iovec iov = {(void *) bytes, len};
	const struct gamma_envelope envelope = {.length = len};

	return gamma_shm_path_send(&net->nodes[0].ep, net_flow(net, 0, 1), &iov, 1, &envelope);
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

/* As eager frames, which need no answer; above the eager size it is announced. */
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

/* ---- chunks ---- */

/* shm: its kind, and what else a record's header says. */
static void forge_record(unsigned to, struct gamma_shm_message shm, const void *bytes, uint32_t len)
{
	struct record *record = &records[made++ % RECORDS];

	record->to = to;
	record->shm = shm;
	record->shm.bytes = record->bytes;
	record->shm.len = len;
	memcpy(record->bytes, bytes, len);
	assert_true(deliver());
}

static void forge(unsigned to, enum gamma_record_kind kind, const void *bytes, uint32_t len)
{
	forge_record(to, (struct gamma_shm_message){.kind = (uint8_t) kind}, bytes, len);
}

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

/* Those of its announcement, with which it begins, and no more. */
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

/* The one that overlaps counts as far as it is needed; those behind it are nobody's. */
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

static void chunks__that_nobody_has_asked_for_stay_with_the_sender(void **state)
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

/* What the reader waits between two of them is a part of what they take. */
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

/* Then all of it comes as if there had been none. */
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

/* One whose announcement has come and whose chunks never do. */
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

/* What another implementation might do: two of half the size. */
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

/* The harness refuses messages that come in another order than they were sent. */
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

/* Messages that share a frame, which there is no credit for: nobody polls for them then. */
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
		SHM_TEST(chunks__of_a_short_one_are_all_there_at_once),
		SHM_TEST(chunks__of_a_long_one_come_when_asked_for),
		SHM_TEST(chunks__and_the_end_read_by_the_kernel),
		SHM_TEST(chunks__are_needless_if_the_kernel_was_faster),
		SHM_TEST(chunks__that_nobody_has_asked_for_stay_with_the_sender),
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
