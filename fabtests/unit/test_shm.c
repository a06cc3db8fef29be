// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/shm/shm.c, tx_channel.c and rx_channel.c; the handover is in
 * test_shm_channel.c. */
#include "shm_peers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/port.h"

static void make(struct gamma_frame *frame, uint32_t seq, uint32_t tenant, const void *payload,
		 uint16_t len)
{
	struct gamma_fields fields = {
		.dst_port = ports[1],
		.src_port = ports[0],
		.tenant = tenant,
		.kind = GAMMA_KIND_DATA,
		.seq = seq,
		.payload_len = len,
	};

	memset(frame, 0, sizeof(*frame));
	frame->iov_count = len ? 1 : 0;
	frame->iov[0] = (struct iovec){(void *) payload, len};
	frame->head = gamma_codec_build(&fields, mac, mac, GAMMA_ETHERTYPE,
					frame->room + sizeof(frame->room));
	frame->head_len = (size_t) GAMMA_ETH_LEN + fields.header_len;
}

static unsigned put(uint32_t seq, const void *payload, uint16_t len, int *error)
{
	struct gamma_frame frame;

	make(&frame, seq, getuid(), payload, len);
	return links[0]->ops->send(links[0], &frame, 1, error);
}

static void pass__in_order_with_content(void **state)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	int error;

	(void) state;
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(put(i, "shm peers", 9, &error), 1);
	for (uint32_t i = 0; i < 5; i++) {
		assert_true(take(&fields, &arrival));
		assert_int_equal(fields.seq, i);
		assert_memory_equal(arrival.frame + GAMMA_ETH_LEN + fields.header_len, "shm peers",
				    9);
		links[1]->ops->release(links[1]);
	}
	assert_false(take(&fields, &arrival));
}

static void pass__largest_frame(void **state)
{
	static uint8_t bytes[GAMMA_SHM_SOCKET_MTU - GAMMA_HEADER_LEN];
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	int error;

	(void) state;
	memset(bytes, 0x5a, sizeof(bytes));
	assert_int_equal(put(1, bytes, sizeof(bytes), &error), 1);
	assert_true(take(&fields, &arrival));
	assert_int_equal(fields.payload_len, sizeof(bytes));
	assert_memory_equal(arrival.frame + GAMMA_ETH_LEN + fields.header_len, bytes,
			    sizeof(bytes));
	links[1]->ops->release(links[1]);
}

/* A receiver that does not look makes the sender wait; nothing is lost. */
static void full__takes_no_more_until_read(void **state)
{
	static uint8_t bytes[30000];
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	uint32_t sent = 0, got = 0;
	int error = 0;

	(void) state;
	while (put(sent, bytes, sizeof(bytes), &error))
		assert_true(++sent < 100000);
	assert_true(sent > 0);
	assert_int_equal(error, -EAGAIN);
	while (take(&fields, &arrival)) {
		assert_int_equal(fields.seq, got++);
		links[1]->ops->release(links[1]);
	}
	assert_int_equal(got, sent);
	assert_int_equal(put(sent, bytes, sizeof(bytes), &error), 1);
}

static void gone__the_port_has_no_owner(void **state)
{
	int error = 0;

	(void) state;
	links[1]->ops->close(links[1]);
	links[1] = NULL;
	assert_int_equal(put(1, "x", 1, &error), 0);
	assert_int_equal(error, -ECONNREFUSED);
}

static void burst__returns_how_many_left(void **state)
{
	struct gamma_frame frames[3];
	int error = 0;

	(void) state;
	for (uint32_t i = 0; i < 3; i++)
		make(&frames[i], i, getuid(), "x", 1);
	((uint8_t *) frames[1].head)[GAMMA_ETH_LEN] ^= 0x40; /* a port that nobody has */
	assert_int_equal(links[0]->ops->send(links[0], frames, 3, &error), 1);
	assert_int_equal(error, -ECONNREFUSED);
}

/* ---- what others may put into the socket ---- */

enum { NOBODYS_PORT = 4242 };

static bool bind_port(int fd, uint16_t port)
{
	struct sockaddr_un name;
	unsigned len = gamma_port_name(mac, port, &name);

	return !bind(fd, (struct sockaddr *) &name, len);
}

/* In a child that is user 65534: sends raw bytes to port 1, from that port (0: a socket without a
 * name). */
static void as_nobody_from(uint16_t port, const void *bytes, size_t len)
{
	struct sockaddr_un name;
	unsigned name_len = gamma_port_name(mac, ports[1], &name);
	int status;
	pid_t pid = fork();

	if (!pid) {
		int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

		_exit((port && !bind_port(fd, port)) || setresuid(65534, 65534, 65534) ||
		      sendto(fd, bytes, len, 0, (struct sockaddr *) &name, name_len) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void as_nobody(const void *bytes, size_t len)
{
	as_nobody_from(NOBODYS_PORT, bytes, len);
}

/* A LOOKUP frame of user 65534. */
static void make_lookup(struct gamma_frame *frame, uint8_t op, uint32_t seq)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_LOOKUP,
		.op = op,
		.dst_port = ports[1],
		.src_port = NOBODYS_PORT,
		.tenant = 65534,
		.seq = seq,
	};

	memset(frame, 0, sizeof(*frame));
	frame->head = gamma_codec_build(&fields, mac, mac, GAMMA_ETHERTYPE,
					frame->room + sizeof(frame->room));
	frame->head_len = (size_t) GAMMA_ETH_LEN + fields.header_len;
}

static void tenant__no_user_speaks_for_another(void **state)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct gamma_frame frame;

	(void) state;
	if (getuid())
		skip();
	make(&frame, 1, 0, NULL, 0);
	as_nobody(frame.head, frame.head_len);
	assert_false(take(&fields, &arrival));
	assert_int_equal(stats[1].malformed, 1);
	make_lookup(&frame, GAMMA_LOOKUP_ASK, 2);
	as_nobody(frame.head, frame.head_len);
	assert_true(take(&fields, &arrival));
	assert_int_equal(fields.seq, 2);
	links[1]->ops->release(links[1]);
}

/* Frames about a flow, or in the name of a port that is not the sender's. */
static void tenant__another_user_may_only_ask_and_answer(void **state)
{
	static const uint8_t refused[] = {GAMMA_LOOKUP_FOUND, GAMMA_LOOKUP_NO_PORT};
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct gamma_frame frame;

	(void) state;
	if (getuid())
		skip();
	make(&frame, 1, 65534, NULL, 0);
	as_nobody(frame.head, frame.head_len);
	for (size_t i = 0; i < gamma_array_size(refused); i++) {
		make_lookup(&frame, refused[i], 2);
		as_nobody(frame.head, frame.head_len);
	}
	make_lookup(&frame, GAMMA_LOOKUP_ASK, 3);
	as_nobody_from(0, frame.head, frame.head_len);
	as_nobody_from(NOBODYS_PORT + 1, frame.head, frame.head_len);
	assert_false(take(&fields, &arrival));
	assert_int_equal(stats[1].malformed, 5);
	make_lookup(&frame, GAMMA_LOOKUP_OTHER_TENANT, 4);
	as_nobody(frame.head, frame.head_len);
	assert_true(take(&fields, &arrival));
	assert_int_equal(fields.seq, 4);
	links[1]->ops->release(links[1]);
}

static void malformed__short_ones_are_skipped(void **state)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct gamma_frame frame;

	(void) state;
	if (getuid())
		skip();
	make_lookup(&frame, GAMMA_LOOKUP_ASK, 7);
	as_nobody("", 0);
	as_nobody(frame.head, GAMMA_ETH_LEN + GAMMA_HEADER_LEN - 1);
	as_nobody(frame.head, frame.head_len);
	assert_true(take(&fields, &arrival));
	assert_int_equal(fields.seq, 7);
	assert_int_equal(stats[1].malformed, 2);
	links[1]->ops->release(links[1]);
}

/* ---- shared memory ---- */

static const uint8_t *payload_of(const struct gamma_arrival *arrival,
				 const struct gamma_fields *fields)
{
	return arrival->payload ? arrival->payload
				: arrival->frame + GAMMA_ETH_LEN + fields->header_len;
}

/* Any user of the host may send there, as fast as it is read. */
static void malformed__flood_keeps_no_caller(void **state)
{
	enum { FLOOD = 20000, MOST = 16, PATIENCE_S = 60 };
	uint64_t end = gamma_now() + PATIENCE_S * GAMMA_NS_PER_S, most = 0;
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	bool found = false;
	pid_t child = fork();

	(void) state;
	if (!child) {
		int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		struct sockaddr_un name;
		unsigned len = gamma_port_name(mac, ports[1], &name);

		for (;;)
			sendto(fd, "x", 1, 0, (struct sockaddr *) &name, len);
	}
	while (stats[1].malformed < FLOOD && gamma_now() < end) {
		uint64_t before = stats[1].malformed;

		found |= take(&fields, &arrival);
		most = gamma_max(most, stats[1].malformed - before);
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(found);
	assert_in_range(most, 1, MOST);
}

static void shared__short_and_long_ones_in_order(void **state)
{
	static uint8_t bytes[16384];
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	uint32_t sent = 0;
	int error;

	(void) state;
	for (uint32_t got = 0; got < 1000; got++) {
		uint16_t len = (uint16_t) (got % 5 ? got : sizeof(bytes));

		for (; sent < got + 3; sent++)
			if (!put_shared(sent, bytes, (uint16_t) (sent % 5 ? sent : sizeof(bytes)),
					&error))
				break;
		assert_true(take(&fields, &arrival));
		assert_int_equal(fields.seq, got);
		assert_int_equal(fields.payload_len, len);
		assert_memory_equal(payload_of(&arrival, &fields), bytes, len);
		links[1]->ops->release(links[1]);
	}
	assert_true(stats[0].shm_frames_out >= 1000 && stats[1].shm_frames_in == 1000);
	assert_true(stats[0].send_calls <= 2 + stats[0].shm_wakes);
}

/* Receives the peer's first frame from the ring, and returns the descriptor to sleep on. */
static struct pollfd asleep_after_one(void)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct pollfd polls = {.fd = links[1]->fd, .events = POLLIN};
	int error;

	put_shared(0, "x", 1, &error);
	assert_true(take(&fields, &arrival));
	links[1]->ops->release(links[1]);
	assert_false(shms[1]->armed); /* the new writer has not been asked to wake this process */
	while (links[1]->ops->arm(links[1]) || poll(&polls, 1, 0))
		assert_false(links[1]->ops->next(links[1], &arrival));
	return polls;
}

static void shared__sleeper_is_woken(void **state)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct pollfd polls = asleep_after_one();
	int error;

	(void) state;
	put_shared(1, "x", 1, &error);
	assert_int_equal(poll(&polls, 1, 1000), 1);
	assert_int_equal(stats[0].shm_wakes, 1);
	assert_true(links[1]->ops->arm(links[1]));
	assert_true(take(&fields, &arrival));
	links[1]->ops->release(links[1]);
	assert_false(links[1]->ops->next(links[1], &arrival));
	assert_int_equal(poll(&polls, 1, 0), 0);
}

/* One thread sleeps while another receives: the sleeper is still woken, or said to be no more. */
static void shared__a_sleeper_is_woken_though_others_receive(void **state)
{
	struct gamma_arrival arrival;
	struct pollfd polls = asleep_after_one();
	int error;

	(void) state;
	shms[1]->watched = true;
	for (int i = 0; i < 10; i++)
		assert_false(links[1]->ops->next(links[1], &arrival));
	assert_true(shms[1]->armed);
	put_shared(1, "x", 1, &error);
	assert_int_equal(poll(&polls, 1, 1000), 1);
	assert_true(links[1]->ops->next(links[1], &arrival));
	links[1]->ops->release(links[1]);
	/* Sooner or later the other one also takes what was to wake the sleeper. */
	for (int i = 0; poll(&polls, 1, 0) && i < 10000; i++)
		assert_false(links[1]->ops->next(links[1], &arrival));
	assert_int_equal(poll(&polls, 1, 0), 0);
	assert_false(shms[1]->armed);
}

static void shared__what_was_sent_before_the_end_is_taken_first(void **state)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct gamma_shm_addr addr;
	bool undelivered;
	int error;

	(void) state;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(put_shared(i, "x", 1, &error), 1);
	links[0]->ops->close(links[0]);
	links[0] = NULL;
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(take(&fields, &arrival));
		assert_int_equal(fields.seq, i);
		assert_null(gamma_shm_take_ended(shms[1], &addr, &undelivered));
		links[1]->ops->release(links[1]);
	}
	assert_false(take(&fields, &arrival));
	assert_string_equal(gamma_shm_take_ended(shms[1], &addr, &undelivered),
			    "its process has ended");
	assert_int_equal(addr.port, ports[0]);
	assert_null(gamma_shm_take_ended(shms[1], &addr, &undelivered));
}

/* ---- inline messages ---- */

static void message__with_and_without_tag_and_data(void **state)
{
	static uint8_t bytes[4096];
	struct gamma_tx_channel *channel = open_channel();
	struct gamma_arrival arrival;

	(void) state;
	assert_non_null(channel);
	for (uint32_t i = 0; i < 2000; i++) {
		uint8_t flags = i % 4;
		uint32_t len = i * 37 % 4097;

		memset(bytes, (int) i, len);
		assert_true(put_message(channel, flags, bytes, len));
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_null(arrival.frame);
		assert_int_equal(arrival.shm.flags, flags);
		assert_int_equal(arrival.shm.len, len);
		assert_memory_equal(arrival.shm.bytes, bytes, len);
		if (flags & GAMMA_SHM_MESSAGE_TAGGED)
			assert_true(arrival.shm.tag == 0x1122334455667788);
		if (flags & GAMMA_SHM_MESSAGE_DATA)
			assert_int_equal(arrival.shm.data, 0x99aa);
		links[1]->ops->release(links[1]);
	}
	assert_false(links[1]->ops->next(links[1], &arrival));
	assert_true(stats[0].shm_records_out == 2000 && stats[1].shm_records_in == 2000);
}

static void message__in_order_with_frames(void **state)
{
	struct gamma_tx_channel *channel = open_channel();
	struct gamma_arrival arrival;
	int error;

	(void) state;
	for (uint32_t i = 0; i < 100; i++)
		if (i % 3)
			assert_true(put_message(channel, 0, &i, sizeof(i)));
		else
			assert_int_equal(put_shared(i, &i, sizeof(i), &error), 1);
	for (uint32_t i = 0; i < 100; i++) {
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_int_equal(arrival.frame == NULL, i % 3 != 0);
		if (!arrival.frame)
			assert_memory_equal(arrival.shm.bytes, &i, sizeof(i));
		links[1]->ops->release(links[1]);
	}
}

/* A receiver without memory for a message gets the same one again, and nothing behind it. */
static void message__not_released_comes_again(void **state)
{
	struct gamma_tx_channel *channel = open_channel();
	struct gamma_arrival arrival;

	(void) state;
	assert_true(put_message(channel, 0, "first", 5) && put_message(channel, 0, "second", 6));
	for (int i = 0; i < 3; i++) {
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_int_equal(arrival.shm.len, 5);
	}
	links[1]->ops->release(links[1]);
	assert_true(links[1]->ops->next(links[1], &arrival));
	assert_int_equal(arrival.shm.len, 6);
}

static void message__full_ring_takes_no_more(void **state)
{
	static uint8_t bytes[4000];
	struct gamma_tx_channel *channel = open_channel();
	struct gamma_arrival arrival;
	unsigned count = 0;

	(void) state;
	while (put_message(channel, 0, bytes, sizeof(bytes)))
		count++;
	assert_true(count > 10 && count < 20);
	for (unsigned i = 0; i < count; i++) {
		assert_true(links[1]->ops->next(links[1], &arrival));
		links[1]->ops->release(links[1]);
	}
	assert_true(put_message(channel, 0, bytes, sizeof(bytes)));
}

static void message__not_under_backpressure(void **state)
{
	struct gamma_tx_channel *channel = open_channel();

	(void) state;
	gamma_shm_set_backpressure(shms[1], true);
	assert_false(put_message(channel, 0, "x", 1));
	gamma_shm_set_backpressure(shms[1], false);
	assert_true(put_message(channel, 0, "x", 1));
}

static bool put_other(struct gamma_tx_channel *channel, enum gamma_record_kind kind,
		      const void *body, size_t len)
{
	struct gamma_shm_message message = {
		.tag = 5,
		.len = (uint32_t) len,
		.kind = (uint8_t) kind,
		.flags = kind == GAMMA_RECORD_ANNOUNCE ? GAMMA_SHM_MESSAGE_TAGGED : 0,
	};
	struct iovec iov = {(void *) body, len};

	return gamma_shm_put(shms[0], channel, &message, &iov, 1);
}

/* A receiver with back-pressure on takes these all the same, and they do not count as undelivered.
 */
static void other__announcements_and_answers(void **state)
{
	struct gamma_announce announce = {.length = 1 << 20, .id = 7, .iov_count = 1};
	struct gamma_answer answer = {.wanted = 3, .id = 7};
	struct gamma_tx_channel *channel = open_channel();
	struct gamma_arrival arrival;

	(void) state;
	gamma_shm_set_backpressure(shms[1], true);
	for (int i = 0; i < 5000; i++) {
		assert_true(put_other(channel, GAMMA_RECORD_ANNOUNCE, &announce, sizeof(announce)));
		assert_true(put_other(channel, GAMMA_RECORD_ANSWER, &answer, sizeof(answer)));
		assert_false(gamma_shm_has_undelivered(channel));
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_int_equal(arrival.shm.kind, GAMMA_RECORD_ANNOUNCE);
		assert_int_equal(arrival.shm.tag, 5);
		assert_memory_equal(arrival.shm.bytes, &announce, sizeof(announce));
		links[1]->ops->release(links[1]);
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_int_equal(arrival.shm.kind, GAMMA_RECORD_ANSWER);
		assert_memory_equal(arrival.shm.bytes, &answer, sizeof(answer));
		links[1]->ops->release(links[1]);
	}
}

static void other__chunks_leave_room(void **state)
{
	struct gamma_chunk chunk[1000] = {{.id = 7}};
	struct gamma_answer answer = {.id = 7};
	struct gamma_tx_channel *channel = open_channel();
	struct gamma_arrival arrival;
	unsigned count = 0;

	(void) state;
	while (put_other(channel, GAMMA_RECORD_CHUNK, chunk, sizeof(chunk)))
		count++;
	assert_int_equal(count, 3);
	for (int i = 0; i < 30; i++)
		assert_true(put_other(channel, GAMMA_RECORD_ANSWER, &answer, sizeof(answer)));
	assert_false(gamma_shm_has_undelivered(channel));
	while (links[1]->ops->next(links[1], &arrival))
		links[1]->ops->release(links[1]);
	assert_true(put_other(channel, GAMMA_RECORD_CHUNK, chunk, sizeof(chunk)));
}

/* A request for more chunks does not wake a sleeping writer. */
static void other__more_wakes_no_thread(void **state)
{
	struct gamma_more more = {.id = 7};
	struct gamma_tx_channel *channel = open_channel();
	struct gamma_arrival arrival;

	(void) state;
	assert_true(put_other(channel, GAMMA_RECORD_MORE, &more, sizeof(more)));
	assert_true(links[1]->ops->arm(links[1]));
	assert_false(put_other(channel, GAMMA_RECORD_MORE, &more, sizeof(more)));
	assert_true(links[1]->ops->next(links[1], &arrival));
	assert_int_equal(arrival.shm.kind, GAMMA_RECORD_MORE);
	links[1]->ops->release(links[1]);
	assert_true(put_other(channel, GAMMA_RECORD_MORE, &more, sizeof(more)));
	assert_int_equal(stats[0].shm_wakes, 0);
}

/* When a peer ends, it is reported whether it had taken everything. */
static void message__undelivered_is_reported(void **state)
{
	struct gamma_tx_channel *channel = open_channel();
	struct gamma_arrival arrival;
	struct gamma_shm_addr addr;
	bool undelivered;

	(void) state;
	assert_true(put_message(channel, 0, "x", 1));
	assert_true(gamma_shm_has_undelivered(channel));
	assert_true(links[1]->ops->next(links[1], &arrival));
	links[1]->ops->release(links[1]);
	assert_false(gamma_shm_has_undelivered(channel));
	assert_true(put_message(channel, 0, "x", 1));
	links[1]->ops->close(links[1]);
	links[1] = NULL;
	while (!gamma_shm_take_ended(shms[0], &addr, &undelivered))
		assert_false(links[0]->ops->next(links[0], &arrival));
	assert_int_equal(addr.port, ports[1]);
	assert_true(undelivered);
}

/* Polls that read only the heads of the rings find new records. */
static void message__found_without_reading_descriptors(void **state)
{
	struct gamma_tx_channel *channel = open_channel();
	struct gamma_arrival arrival;
	unsigned looks = 0;
	uint64_t calls;

	(void) state;
	while (!shms[1]->quiet_polls)
		assert_false(links[1]->ops->next(links[1], &arrival));
	calls = stats[1].receive_calls;
	for (int i = 0; i < 500; i++) {
		looks += !gamma_shm_is_quiet(shms[1]);
		assert_true(put_message(channel, 0, "x", 1));
		assert_false(gamma_shm_is_quiet(shms[1]));
		assert_true(links[1]->ops->next(links[1], &arrival));
		links[1]->ops->release(links[1]);
		assert_false(links[1]->ops->next(links[1], &arrival));
	}
	assert_true(looks <= 2 && stats[1].receive_calls - calls <= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(pass__in_order_with_content),
		LINK_TEST(pass__largest_frame),
		LINK_TEST(full__takes_no_more_until_read),
		LINK_TEST(gone__the_port_has_no_owner),
		LINK_TEST(burst__returns_how_many_left),
		LINK_TEST(tenant__no_user_speaks_for_another),
		LINK_TEST(tenant__another_user_may_only_ask_and_answer),
		LINK_TEST(malformed__short_ones_are_skipped),
		LINK_TEST(malformed__flood_keeps_no_caller),
		LINK_TEST(shared__short_and_long_ones_in_order),
		LINK_TEST(shared__sleeper_is_woken),
		LINK_TEST(shared__a_sleeper_is_woken_though_others_receive),
		LINK_TEST(shared__what_was_sent_before_the_end_is_taken_first),
		LINK_TEST(message__with_and_without_tag_and_data),
		LINK_TEST(message__in_order_with_frames),
		LINK_TEST(message__not_released_comes_again),
		LINK_TEST(message__full_ring_takes_no_more),
		LINK_TEST(message__not_under_backpressure),
		LINK_TEST(other__announcements_and_answers),
		LINK_TEST(other__chunks_leave_room),
		LINK_TEST(other__more_wakes_no_thread),
		LINK_TEST(message__undelivered_is_reported),
		LINK_TEST(message__found_without_reading_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
