// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/link/samehost.c, outbox.c and inbox.c: two ports of this process. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/enclosed.h"
#include "link/link.h"
#include "link/ring.h"
#include "link/segment.h"
#include "wire/codec.h"

static uint8_t mac[GAMMA_MAC_LEN];
static uint16_t ports[2];
static struct gamma_stats stats[2];
static struct gamma_link *links[2];

static int setup(void **state)
{
	pid_t pid = getpid();

	(void) state;
	mac[0] = 0x0a;
	memcpy(mac + 2, &pid, 4);
	memset(stats, 0, sizeof(stats));
	for (int i = 0; i < 2; i++) {
		struct gamma_samehost_attr attr = {.tenant = getuid(), .ring_bytes = 65536};

		ports[i] = 0;
		attr.fd = gamma_port_claim(mac, &ports[i]);
		if (attr.fd < 0 || gamma_samehost_open(&attr, &stats[i], &links[i]))
			return 1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	for (int i = 0; i < 2; i++)
		if (links[i])
			links[i]->ops->close(links[i]);
	return 0;
}

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
	frame->head = gamma_build(&fields, mac, mac, GAMMA_ETHERTYPE,
				  frame->room + sizeof(frame->room));
	frame->head_len = (size_t) GAMMA_ETH_LEN + fields.header_len;
}

static unsigned put(uint32_t seq, const void *payload, uint16_t len, int *error)
{
	struct gamma_frame frame;

	make(&frame, seq, getuid(), payload, len);
	return links[0]->ops->send(links[0], &frame, 1, error);
}

/* As one who was about to sleep: that makes the link look at its socket. */
static bool take(struct gamma_fields *fields, struct gamma_arrival *arrival)
{
	links[1]->ops->arm(links[1]);
	if (!links[1]->ops->next(links[1], arrival))
		return false;
	assert_int_equal(gamma_parse(arrival->frame, arrival->len, fields), GAMMA_OK);
	return true;
}

static void pass__in_order_with_content(void **state)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	int error;

	(void) state;
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(put(i, "neighbour", 9, &error), 1);
	for (uint32_t i = 0; i < 5; i++) {
		assert_true(take(&fields, &arrival));
		assert_int_equal(fields.seq, i);
		assert_memory_equal(arrival.frame + GAMMA_ETH_LEN + fields.header_len, "neighbour",
				    9);
		links[1]->ops->release(links[1]);
	}
	assert_false(take(&fields, &arrival));
}

static void pass__largest_frame(void **state)
{
	static uint8_t bytes[GAMMA_SAMEHOST_MTU - GAMMA_HEADER_LEN];
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

static void gone__nobody_owns_the_port(void **state)
{
	int error = 0;

	(void) state;
	links[1]->ops->close(links[1]);
	links[1] = NULL;
	assert_int_equal(put(1, "x", 1, &error), 0);
	assert_int_equal(error, -ECONNREFUSED);
}

static void burst__tells_how_many_left(void **state)
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

/* In a child that is user 65534: sends raw bytes to port 1; 0: sent. */
static void as_nobody(const void *bytes, size_t len)
{
	struct sockaddr_un name;
	unsigned name_len = gamma_port_name(mac, ports[1], &name);
	int status;
	pid_t pid = fork();

	if (!pid) {
		int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

		_exit(setresuid(65534, 65534, 65534) ||
		      sendto(fd, bytes, len, 0, (struct sockaddr *) &name, name_len) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void tenant__nobody_speaks_for_another_user(void **state)
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
	make(&frame, 2, 65534, NULL, 0);
	as_nobody(frame.head, frame.head_len);
	assert_true(take(&fields, &arrival));
	assert_int_equal(fields.seq, 2);
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
	make(&frame, 7, 65534, NULL, 0);
	as_nobody("", 0);
	as_nobody(frame.head, GAMMA_ETH_LEN + GAMMA_HEADER_LEN - 1);
	as_nobody(frame.head, frame.head_len);
	assert_true(take(&fields, &arrival));
	assert_int_equal(fields.seq, 7);
	assert_int_equal(stats[1].malformed, 2);
	links[1]->ops->release(links[1]);
}

/* ---- shared memory ---- */

enum { EPOCH = 7 };

/* A frame for which a ring is made. */
static unsigned put_shared(uint32_t seq, const void *payload, uint16_t len, int *error)
{
	struct gamma_frame frame;
	struct gamma_fields fields = {
		.dst_port = ports[1],
		.src_port = ports[0],
		.tenant = getuid(),
		.kind = GAMMA_KIND_DATAGRAM,
		.seq = seq,
		.payload_len = len,
		.dst_epoch = EPOCH,
	};

	memset(&frame, 0, sizeof(frame));
	frame.kind = fields.kind;
	frame.iov_count = len ? 1 : 0;
	frame.iov[0] = (struct iovec){(void *) payload, len};
	frame.head = gamma_build(&fields, mac, mac, GAMMA_ETHERTYPE,
				 frame.room + sizeof(frame.room));
	frame.head_len = (size_t) GAMMA_ETH_LEN + fields.header_len;
	return links[0]->ops->send(links[0], &frame, 1, error);
}

static const uint8_t *payload_of(const struct gamma_arrival *arrival,
				 const struct gamma_fields *fields)
{
	return arrival->payload ? arrival->payload
				: arrival->frame + GAMMA_ETH_LEN + fields->header_len;
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
	assert_true(stats[0].ring_frames_out >= 1000 && stats[1].ring_frames_in == 1000);
	assert_true(stats[0].send_calls <= 2 + stats[0].ring_wakes);
}

/* Has taken its neighbour's first frame from the ring, and sleeps on what is returned. */
static struct pollfd asleep_after_one(void)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct pollfd polls = {.fd = links[1]->fd, .events = POLLIN};
	int error;

	put_shared(0, "x", 1, &error);
	assert_true(take(&fields, &arrival));
	links[1]->ops->release(links[1]);
	assert_false(links[1]->armed); /* there is a writer now whom nobody has asked */
	while (links[1]->ops->arm(links[1]) || poll(&polls, 1, 0))
		assert_false(links[1]->ops->next(links[1], &arrival));
	return polls;
}

static void shared__whoever_sleeps_is_woken(void **state)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct pollfd polls = asleep_after_one();
	int error;

	(void) state;
	put_shared(1, "x", 1, &error);
	assert_int_equal(poll(&polls, 1, 1000), 1);
	assert_int_equal(stats[0].ring_wakes, 1);
	assert_true(links[1]->ops->arm(links[1]));
	assert_true(take(&fields, &arrival));
	links[1]->ops->release(links[1]);
	assert_false(links[1]->ops->next(links[1], &arrival));
	assert_int_equal(poll(&polls, 1, 0), 0);
}

/* One thread sleeps while another receives: the sleeper is still woken, or said to be no more. */
static void shared__who_sleeps_is_woken_though_others_receive(void **state)
{
	struct gamma_arrival arrival;
	struct pollfd polls = asleep_after_one();
	int error;

	(void) state;
	links[1]->watched = true;
	for (int i = 0; i < 10; i++)
		assert_false(links[1]->ops->next(links[1], &arrival));
	assert_true(links[1]->armed);
	put_shared(1, "x", 1, &error);
	assert_int_equal(poll(&polls, 1, 1000), 1);
	assert_true(links[1]->ops->next(links[1], &arrival));
	links[1]->ops->release(links[1]);
	/* Sooner or later the other one also takes what was to wake the sleeper. */
	for (int i = 0; poll(&polls, 1, 0) && i < 10000; i++)
		assert_false(links[1]->ops->next(links[1], &arrival));
	assert_int_equal(poll(&polls, 1, 0), 0);
	assert_false(links[1]->armed);
}

static void shared__what_was_sent_before_the_end_is_taken_first(void **state)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct gamma_place place;
	bool left;
	int error;

	(void) state;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(put_shared(i, "x", 1, &error), 1);
	links[0]->ops->close(links[0]);
	links[0] = NULL;
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(take(&fields, &arrival));
		assert_int_equal(fields.seq, i);
		assert_null(links[1]->ops->lost(links[1], &place, &left));
		links[1]->ops->release(links[1]);
	}
	assert_false(take(&fields, &arrival));
	assert_string_equal(links[1]->ops->lost(links[1], &place, &left), "its process has ended");
	assert_int_equal(place.port, ports[0]);
	assert_null(links[1]->ops->lost(links[1], &place, &left));
}

/* ---- plain messages ---- */

/* The way to the neighbour, once its first frame has been taken there, and the answer read. */
static struct gamma_way *open_way(void)
{
	struct gamma_place place = {.port = ports[1], .epoch = EPOCH};
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	int error;

	memcpy(place.mac, mac, sizeof(mac));
	assert_null(links[0]->ops->way(links[0], &place));
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
	assert_null(links[0]->ops->way(links[0], &place));
	assert_true(take(&fields, &arrival));
	links[1]->ops->release(links[1]);
	assert_false(links[0]->ops->next(links[0], &arrival));
	return links[0]->ops->way(links[0], &place);
}

static bool put_plain(struct gamma_way *way, uint8_t flags, const void *bytes, size_t len)
{
	struct gamma_plain plain = {
		.tag = 0x1122334455667788,
		.data = 0x99aa,
		.len = (uint32_t) len,
		.kind = GAMMA_RECORD_PLAIN,
		.flags = flags,
	};
	struct iovec iov[2] = {{(void *) bytes, len / 2},
			       {(uint8_t *) bytes + len / 2, len - len / 2}};

	return links[0]->ops->put(links[0], way, &plain, iov, 2);
}

static void plain__with_and_without_tag_and_data(void **state)
{
	static uint8_t bytes[4096];
	struct gamma_way *way = open_way();
	struct gamma_arrival arrival;

	(void) state;
	assert_non_null(way);
	for (uint32_t i = 0; i < 2000; i++) {
		uint8_t flags = i % 4;
		uint32_t len = i * 37 % 4097;

		memset(bytes, (int) i, len);
		assert_true(put_plain(way, flags, bytes, len));
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_null(arrival.frame);
		assert_int_equal(arrival.plain.flags, flags);
		assert_int_equal(arrival.plain.len, len);
		assert_memory_equal(arrival.plain.bytes, bytes, len);
		if (flags & GAMMA_PLAIN_TAGGED)
			assert_true(arrival.plain.tag == 0x1122334455667788);
		if (flags & GAMMA_PLAIN_DATA)
			assert_int_equal(arrival.plain.data, 0x99aa);
		links[1]->ops->release(links[1]);
	}
	assert_false(links[1]->ops->next(links[1], &arrival));
	assert_true(stats[0].plain_out == 2000 && stats[1].plain_in == 2000);
}

static void plain__in_order_with_frames(void **state)
{
	struct gamma_way *way = open_way();
	struct gamma_arrival arrival;
	int error;

	(void) state;
	for (uint32_t i = 0; i < 100; i++)
		if (i % 3)
			assert_true(put_plain(way, 0, &i, sizeof(i)));
		else
			assert_int_equal(put_shared(i, &i, sizeof(i), &error), 1);
	for (uint32_t i = 0; i < 100; i++) {
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_int_equal(arrival.frame == NULL, i % 3 != 0);
		if (!arrival.frame)
			assert_memory_equal(arrival.plain.bytes, &i, sizeof(i));
		links[1]->ops->release(links[1]);
	}
}

/* Who has no memory for it looks at the same one again, and at nothing behind it. */
static void plain__not_released_comes_again(void **state)
{
	struct gamma_way *way = open_way();
	struct gamma_arrival arrival;

	(void) state;
	assert_true(put_plain(way, 0, "first", 5) && put_plain(way, 0, "second", 6));
	for (int i = 0; i < 3; i++) {
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_int_equal(arrival.plain.len, 5);
	}
	links[1]->ops->release(links[1]);
	assert_true(links[1]->ops->next(links[1], &arrival));
	assert_int_equal(arrival.plain.len, 6);
}

static void plain__full_takes_no_more(void **state)
{
	static uint8_t bytes[4000];
	struct gamma_way *way = open_way();
	struct gamma_arrival arrival;
	unsigned count = 0;

	(void) state;
	while (put_plain(way, 0, bytes, sizeof(bytes)))
		count++;
	assert_true(count > 10 && count < 20);
	for (unsigned i = 0; i < count; i++) {
		assert_true(links[1]->ops->next(links[1], &arrival));
		links[1]->ops->release(links[1]);
	}
	assert_true(put_plain(way, 0, bytes, sizeof(bytes)));
}

static void plain__pressed_sends_none(void **state)
{
	struct gamma_way *way = open_way();

	(void) state;
	links[1]->ops->press(links[1], true);
	assert_false(put_plain(way, 0, "x", 1));
	links[1]->ops->press(links[1], false);
	assert_true(put_plain(way, 0, "x", 1));
}

static bool put_other(struct gamma_way *way, enum gamma_record_kind kind, const void *body,
		      size_t len)
{
	struct gamma_plain plain = {
		.tag = 5,
		.len = (uint32_t) len,
		.kind = (uint8_t) kind,
		.flags = kind == GAMMA_RECORD_ANNOUNCE ? GAMMA_PLAIN_TAGGED : 0,
	};
	struct iovec iov = {(void *) body, len};

	return links[0]->ops->put(links[0], way, &plain, &iov, 1);
}

/* Who has no memory for messages takes these all the same, and nobody waits until they are
 * taken. */
static void other__announcements_and_answers(void **state)
{
	struct gamma_announce announce = {.length = 1 << 20, .id = 7, .pieces = 1};
	struct gamma_answer answer = {.wanted = 3, .id = 7};
	struct gamma_way *way = open_way();
	struct gamma_arrival arrival;

	(void) state;
	links[1]->ops->press(links[1], true);
	for (int i = 0; i < 5000; i++) {
		assert_true(put_other(way, GAMMA_RECORD_ANNOUNCE, &announce, sizeof(announce)));
		assert_true(put_other(way, GAMMA_RECORD_ANSWER, &answer, sizeof(answer)));
		assert_false(links[0]->ops->left(way));
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_int_equal(arrival.plain.kind, GAMMA_RECORD_ANNOUNCE);
		assert_int_equal(arrival.plain.tag, 5);
		assert_memory_equal(arrival.plain.bytes, &announce, sizeof(announce));
		links[1]->ops->release(links[1]);
		assert_true(links[1]->ops->next(links[1], &arrival));
		assert_int_equal(arrival.plain.kind, GAMMA_RECORD_ANSWER);
		assert_memory_equal(arrival.plain.bytes, &answer, sizeof(answer));
		links[1]->ops->release(links[1]);
	}
}

static void other__chunks_leave_room(void **state)
{
	struct gamma_chunk chunk[1000] = {{.id = 7}};
	struct gamma_answer answer = {.id = 7};
	struct gamma_way *way = open_way();
	struct gamma_arrival arrival;
	unsigned count = 0;

	(void) state;
	while (put_other(way, GAMMA_RECORD_CHUNK, chunk, sizeof(chunk)))
		count++;
	assert_int_equal(count, 3);
	for (int i = 0; i < 30; i++)
		assert_true(put_other(way, GAMMA_RECORD_ANSWER, &answer, sizeof(answer)));
	assert_false(links[0]->ops->left(way));
	while (links[1]->ops->next(links[1], &arrival))
		links[1]->ops->release(links[1]);
	assert_true(put_other(way, GAMMA_RECORD_CHUNK, chunk, sizeof(chunk)));
}

/* Who sleeps does not write chunks: it is not woken for that. */
static void other__more_wakes_nobody(void **state)
{
	struct gamma_more more = {.id = 7};
	struct gamma_way *way = open_way();
	struct gamma_arrival arrival;

	(void) state;
	assert_true(put_other(way, GAMMA_RECORD_MORE, &more, sizeof(more)));
	assert_true(links[1]->ops->arm(links[1]));
	assert_false(put_other(way, GAMMA_RECORD_MORE, &more, sizeof(more)));
	assert_true(links[1]->ops->next(links[1], &arrival));
	assert_int_equal(arrival.plain.kind, GAMMA_RECORD_MORE);
	links[1]->ops->release(links[1]);
	assert_true(put_other(way, GAMMA_RECORD_MORE, &more, sizeof(more)));
	assert_int_equal(stats[0].ring_wakes, 0);
}

/* Its end tells whether all has been taken that was sent to it. */
static void plain__left_behind_is_told(void **state)
{
	struct gamma_way *way = open_way();
	struct gamma_arrival arrival;
	struct gamma_place place;
	bool left;

	(void) state;
	assert_true(put_plain(way, 0, "x", 1));
	assert_true(links[0]->ops->left(way));
	assert_true(links[1]->ops->next(links[1], &arrival));
	links[1]->ops->release(links[1]);
	assert_false(links[0]->ops->left(way));
	assert_true(put_plain(way, 0, "x", 1));
	links[1]->ops->close(links[1]);
	links[1] = NULL;
	while (!links[0]->ops->lost(links[0], &place, &left))
		assert_false(links[0]->ops->next(links[0], &arrival));
	assert_int_equal(place.port, ports[1]);
	assert_true(left);
}

/* Polls that look at the words of the rings alone find what comes, and wake whoever sleeps. */
static void plain__found_without_a_look_at_descriptors(void **state)
{
	struct gamma_way *way = open_way();
	struct gamma_arrival arrival;
	unsigned looks = 0;
	uint64_t calls;

	(void) state;
	while (!links[1]->rest)
		assert_false(links[1]->ops->next(links[1], &arrival));
	calls = stats[1].receive_calls;
	for (int i = 0; i < 500; i++) {
		looks += !gamma_link_quiet(links[1]);
		assert_true(put_plain(way, 0, "x", 1));
		assert_false(gamma_link_quiet(links[1]));
		assert_true(links[1]->ops->next(links[1], &arrival));
		links[1]->ops->release(links[1]);
		assert_false(links[1]->ops->next(links[1], &arrival));
	}
	assert_true(looks <= 2 && stats[1].receive_calls - calls <= 2);
}

/* Both ends of a pair, of which one goes with the handover; returns the other. */
static int hand_over(struct gamma_handover *handover, int segment_fd)
{
	struct sockaddr_un name;
	unsigned len = gamma_port_name(mac, ports[1], &name);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(gamma_enclosed_send(fd, &name, len, handover, sizeof(*handover),
					     (int[]){segment_fd, pair[1]}, 2),
			 0);
	close(fd);
	close(pair[1]);
	return pair[0];
}

/* Whether the reader says that it uses it; otherwise it has hung up. */
static bool taken(int fd)
{
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	char byte = 0;

	assert_false(take(&fields, &arrival));
	return recv(fd, &byte, 1, 0) == 1 && byte == GAMMA_HANDOVER_TAKEN;
}

static struct gamma_handover good_handover(void)
{
	struct gamma_handover handover = {
		.magic = GAMMA_SEGMENT_MAGIC,
		.version = GAMMA_SEGMENT_VERSION,
		.src_port = 99,
		.src_epoch = 5,
		.dst_epoch = EPOCH,
	};

	memcpy(handover.ethernet, mac, GAMMA_MAC_LEN);
	memcpy(handover.ethernet + GAMMA_MAC_LEN, mac, GAMMA_MAC_LEN);
	handover.ethernet[12] = GAMMA_ETHERTYPE >> 8;
	handover.ethernet[13] = GAMMA_ETHERTYPE & 0xff;
	return handover;
}

enum { BYTES = GAMMA_SEGMENT_HEADER + GAMMA_SEGMENT_MIN };

static void handover__of_nonsense_is_refused(void **state)
{
	struct gamma_handover handover = good_handover();
	struct gamma_ring_writer writer;
	void *at;
	int segment = gamma_segment_make(BYTES, &at);
	int other, fd;

	(void) state;
	assert_true(segment >= 0);
	fd = hand_over(&handover, segment); /* no ring in it */
	assert_false(taken(fd));
	close(fd);
	gamma_ring_begin(&writer, at, GAMMA_SEGMENT_MIN, 0);
	handover.version++;
	fd = hand_over(&handover, segment);
	assert_false(taken(fd));
	close(fd);
	handover.version--;
	other = memfd_create("unsealed", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(other, BYTES), 0);
	fd = hand_over(&handover, other);
	assert_false(taken(fd));
	close(fd);
	fd = hand_over(&handover, 0);
	assert_false(taken(fd));
	close(fd);
	close(other);
	fd = hand_over(&handover, segment);
	assert_true(taken(fd));
	close(fd);
	close(segment);
	munmap(at, BYTES);
}

/* A ring that the reader has taken. */
struct given {
	struct gamma_ring_writer writer;
	uint8_t *at, *data; /* the segment, and what of it holds records */
	int segment, fd;
};

static void give(struct given *given)
{
	struct gamma_handover handover = good_handover();
	void *at;

	given->segment = gamma_segment_make(BYTES, &at);
	given->at = at;
	given->data = given->at + GAMMA_SEGMENT_HEADER;
	gamma_ring_begin(&given->writer, at, GAMMA_SEGMENT_MIN, 0);
	given->fd = hand_over(&handover, given->segment);
	assert_true(taken(given->fd));
}

static void take_back(struct given *given)
{
	close(given->fd);
	close(given->segment);
	munmap(given->at, BYTES);
}

static void handover__nonsense_written_later_ends_it(void **state)
{
	struct given given;
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct gamma_place place;
	bool left;
	uint32_t nonsense = 60000;

	(void) state;
	give(&given);
	memcpy(given.data, &nonsense, sizeof(nonsense));
	assert_false(take(&fields, &arrival));
	assert_non_null(strstr(links[1]->ops->lost(links[1], &place, &left), "makes no sense"));
	assert_int_equal(place.port, 99);
	assert_int_equal(place.epoch, 5);
	assert_int_equal(stats[1].malformed, 1);
	assert_int_equal(recv(given.fd, &nonsense, 1, 0), 0); /* hung up */
	take_back(&given);
}

/* What a record holds that a writer of ours would not write. */
static void plain_nonsense(uint32_t kind_and_flags, uint32_t len)
{
	struct given given;
	struct gamma_arrival arrival;
	struct gamma_place place;
	bool left;
	uint32_t words[2] = {len, kind_and_flags};

	give(&given);
	memcpy(given.data, words, sizeof(words));
	assert_false(links[1]->ops->next(links[1], &arrival));
	assert_non_null(strstr(links[1]->ops->lost(links[1], &place, &left), "makes no sense"));
	take_back(&given);
}

static void handover__plain_nonsense_ends_it(void **state)
{
	(void) state;
	plain_nonsense(GAMMA_RECORD_PLAIN | 4 << 8, 100); /* a flag that is none */
	plain_nonsense(GAMMA_RECORD_PLAIN | GAMMA_PLAIN_TAGGED << 8, 7); /* no room for the tag */
	plain_nonsense(GAMMA_RECORD_PLAIN | 3 << 8, 15);
	plain_nonsense(GAMMA_RECORD_PLAIN, 60000); /* too long */
	plain_nonsense(GAMMA_RECORD_ANNOUNCE, 31);
	plain_nonsense(GAMMA_RECORD_ANNOUNCE | 3 << 8, 32);
	plain_nonsense(GAMMA_RECORD_ANNOUNCE | GAMMA_PLAIN_CHUNKS << 8, 33);
	plain_nonsense(GAMMA_RECORD_ANNOUNCE | 8 << 8, 32);
	plain_nonsense(GAMMA_RECORD_ANSWER, 17);
	plain_nonsense(GAMMA_RECORD_ANSWER | GAMMA_PLAIN_TAGGED << 8, 24);
	plain_nonsense(GAMMA_RECORD_CHUNK, 16); /* of no bytes */
	plain_nonsense(GAMMA_RECORD_CHUNK | GAMMA_PLAIN_DATA << 8, 24);
	plain_nonsense(GAMMA_RECORD_MORE, 16);
	plain_nonsense(GAMMA_RECORD_MORE | GAMMA_PLAIN_CHUNKS << 8, 8);
}

/* All of the data, again and again: each look skips some of it and comes back. */
static void handover__full_of_what_is_skipped_holds_nobody(void **state)
{
	struct gamma_record record = {.len = 8, .kind = 9};
	struct given given;
	struct gamma_arrival arrival;

	(void) state;
	give(&given);
	for (unsigned i = 0; i < GAMMA_SEGMENT_MIN; i += GAMMA_RECORD_ALIGN)
		memcpy(given.data + i, &record, sizeof(record));
	for (unsigned i = 0; i < 200; i++)
		assert_false(links[1]->ops->next(links[1], &arrival));
	assert_true(stats[1].malformed > GAMMA_SEGMENT_MIN / GAMMA_RECORD_ALIGN);
	take_back(&given);
}

/* Who goes on with plain messages after having been asked not to. */
static void handover__plain_without_end_ends_it(void **state)
{
	struct given given;
	struct gamma_arrival arrival;
	struct gamma_place place;
	bool left;
	int count = 0;

	(void) state;
	give(&given);
	links[1]->ops->press(links[1], true);
	for (bool good = true; good; count += good) {
		assert_true(count < 100);
		assert_non_null(gamma_ring_reserve(&given.writer, 4000));
		gamma_ring_publish(&given.writer, GAMMA_RECORD_PLAIN, 0);
		good = links[1]->ops->next(links[1], &arrival);
		links[1]->ops->release(links[1]);
	}
	assert_true(count > 16);
	assert_non_null(strstr(links[1]->ops->lost(links[1], &place, &left), "makes no sense"));
	take_back(&given);
}

static void handover__of_another_user_is_refused(void **state)
{
	struct gamma_handover handover = good_handover();
	struct gamma_ring_writer writer;
	void *at;
	int segment = gamma_segment_make(BYTES, &at), status;
	pid_t pid;

	(void) state;
	if (getuid())
		skip();
	gamma_ring_begin(&writer, at, GAMMA_SEGMENT_MIN, 0);
	pid = fork();
	if (!pid) {
		struct pollfd polls = {.events = POLLIN};
		char byte;

		if (setresuid(65534, 65534, 65534))
			_exit(1);
		polls.fd = hand_over(&handover, segment);
		_exit(poll(&polls, 1, 5000) == 1 && recv(polls.fd, &byte, 1, 0) == 0 ? 0 : 2);
	}
	for (bool over = false; !over; over = waitpid(pid, &status, WNOHANG) == pid) {
		struct gamma_arrival arrival;
		struct gamma_fields fields;

		assert_false(take(&fields, &arrival));
	}
	assert_int_equal(status, 0);
	close(segment);
	munmap(at, BYTES);
}

/* ---- what the reader may do to a segment ---- */

/* Whoever owns the port that frames go to: it has been given a segment, and may write there. */
struct reader {
	int port, segment, fd;
	uint8_t *at;
};

/* The first frame for it is in the segment. */
static void become_reader(struct reader *reader)
{
	struct gamma_enclosed enclosed;
	uint8_t bytes[256];
	size_t len;
	void *at;
	int error;

	links[1]->ops->close(links[1]);
	links[1] = NULL;
	reader->port = gamma_port_claim(mac, &ports[1]);
	assert_true(reader->port >= 0);
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
	assert_int_equal(gamma_enclosed_receive(reader->port, bytes, sizeof(bytes), &enclosed),
			 sizeof(struct gamma_handover));
	reader->segment = enclosed.fds[0];
	reader->fd = enclosed.fds[1];
	assert_int_equal(gamma_segment_map(reader->segment, &len, &at), 0);
	reader->at = at;
}

/* It does not use the segment; the writer finds that out. */
static void refuse(struct reader *reader)
{
	struct gamma_arrival arrival;

	close(reader->fd);
	links[0]->ops->arm(links[0]);
	assert_false(links[0]->ops->next(links[0], &arrival));
	close(reader->segment);
	munmap(reader->at, BYTES);
}

static void refused__what_was_written_goes_through_the_socket(void **state)
{
	struct reader reader;
	uint8_t bytes[256];
	int error;

	(void) state;
	become_reader(&reader);
	assert_int_equal(put_shared(1, "yz", 2, &error), 1);
	refuse(&reader);
	assert_int_equal(put_shared(2, "abc", 3, &error), 1);
	for (ssize_t len = 1; len <= 3; len++)
		assert_int_equal(recv(reader.port, bytes, sizeof(bytes), 0),
				 GAMMA_ETH_LEN + GAMMA_HEADER_LEN + len);
	close(reader.port);
}

/* Neither its header nor what stands in it is what was written. */
static void refused__spoilt_ends_it(void **state)
{
	static const uint32_t lengths[] = {0, GAMMA_HEADER_LEN - 1, 60000};

	for (unsigned i = 0; i <= gamma_array_size(lengths); i++) {
		struct reader reader;
		int error;

		if (i && setup(state))
			fail();
		become_reader(&reader);
		if (i < gamma_array_size(lengths))
			memcpy(reader.at + GAMMA_SEGMENT_HEADER, &lengths[i], sizeof(lengths[i]));
		else
			memset(reader.at, 0xff, GAMMA_SEGMENT_HEADER);
		refuse(&reader);
		error = 0;
		if (i < gamma_array_size(lengths)) {
			assert_int_equal(put_shared(1, "y", 1, &error), 0);
			assert_int_equal(error, -EPROTO);
		} else {
			assert_int_equal(put_shared(1, "y", 1, &error), 1);
		}
		close(reader.port);
		if (i < gamma_array_size(lengths))
			teardown(state);
	}
}

/* ---- neighbours that are no more ---- */

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void gone__nothing_is_kept_for_it(void **state)
{
	unsigned before = open_descriptors();
	int error;

	(void) state;
	links[1]->ops->close(links[1]);
	links[1] = NULL;
	assert_int_equal(put_shared(0, "x", 1, &error), 0);
	assert_int_equal(error, -ECONNREFUSED);
	assert_in_range(open_descriptors(), 0, before);
}

/* It has not said whether it takes the segment. */
static void gone__before_it_took_anything(void **state)
{
	unsigned before = open_descriptors();
	struct gamma_arrival arrival;
	struct gamma_place place;
	bool left;
	int error;

	(void) state;
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
	links[1]->ops->close(links[1]);
	links[1] = NULL;
	links[0]->ops->arm(links[0]);
	assert_false(links[0]->ops->next(links[0], &arrival));
	assert_string_equal(links[0]->ops->lost(links[0], &place, &left), "its process has ended");
	assert_int_equal(place.port, ports[1]);
	assert_in_range(open_descriptors(), 0, before);
}

/* The descriptor by which its end would be told is open elsewhere, for instance in a child. */
static void gone__forgotten_with_its_flow(void **state)
{
	struct gamma_place place = {.port = ports[1], .epoch = EPOCH};
	unsigned before = open_descriptors();
	int error;

	(void) state;
	memcpy(place.mac, mac, sizeof(mac));
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
	links[0]->ops->forget(links[0], NULL, &place);
	assert_in_range(open_descriptors(), 0, before);
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(pass__in_order_with_content),
		LINK_TEST(pass__largest_frame),
		LINK_TEST(full__takes_no_more_until_read),
		LINK_TEST(gone__nobody_owns_the_port),
		LINK_TEST(burst__tells_how_many_left),
		LINK_TEST(tenant__nobody_speaks_for_another_user),
		LINK_TEST(malformed__short_ones_are_skipped),
		LINK_TEST(shared__short_and_long_ones_in_order),
		LINK_TEST(shared__whoever_sleeps_is_woken),
		LINK_TEST(shared__who_sleeps_is_woken_though_others_receive),
		LINK_TEST(shared__what_was_sent_before_the_end_is_taken_first),
		LINK_TEST(handover__of_nonsense_is_refused),
		LINK_TEST(handover__nonsense_written_later_ends_it),
		LINK_TEST(plain__with_and_without_tag_and_data),
		LINK_TEST(plain__in_order_with_frames),
		LINK_TEST(plain__not_released_comes_again),
		LINK_TEST(plain__full_takes_no_more),
		LINK_TEST(plain__pressed_sends_none),
		LINK_TEST(other__announcements_and_answers),
		LINK_TEST(other__chunks_leave_room),
		LINK_TEST(other__more_wakes_nobody),
		LINK_TEST(plain__left_behind_is_told),
		LINK_TEST(plain__found_without_a_look_at_descriptors),
		LINK_TEST(handover__plain_nonsense_ends_it),
		LINK_TEST(handover__full_of_what_is_skipped_holds_nobody),
		LINK_TEST(handover__plain_without_end_ends_it),
		LINK_TEST(handover__of_another_user_is_refused),
		LINK_TEST(refused__what_was_written_goes_through_the_socket),
		LINK_TEST(refused__spoilt_ends_it),
		LINK_TEST(gone__nothing_is_kept_for_it),
		LINK_TEST(gone__before_it_took_anything),
		LINK_TEST(gone__forgotten_with_its_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
