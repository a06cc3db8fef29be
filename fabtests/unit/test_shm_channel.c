// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/shm/tx_channel.c and rx_channel.c: how segments are handed over, what either
 * end may do to them, and peers that have ended.
 */
#include "shm_peers.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unix/scm.h"
#include "link/port.h"
#include "shm/ring.h"
#include "unix/memfd.h"

/* Makes a socket pair; one end goes with the handover, the other is returned. */
static int hand_over(struct gamma_handover *handover, int segment_fd)
{
	struct sockaddr_un name;
	unsigned len = gamma_port_name(mac, ports[1], &name);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(gamma_scm_send(fd, &name, len, handover, sizeof(*handover),
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

static void handover__malformed_is_refused(void **state)
{
	struct gamma_handover handover = good_handover();
	struct gamma_ring_writer writer;
	void *at;
	int segment = gamma_memfd_make(BYTES, &at);
	int other, fd;

	(void) state;
	assert_true(segment >= 0);
	fd = hand_over(&handover, segment); /* no ring in it */
	assert_false(taken(fd));
	close(fd);
	gamma_ring_init(&writer, at, GAMMA_SEGMENT_MIN, 0);
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

	given->segment = gamma_memfd_make(BYTES, &at);
	given->at = at;
	given->data = given->at + GAMMA_SEGMENT_HEADER;
	gamma_ring_init(&given->writer, at, GAMMA_SEGMENT_MIN, 0);
	given->fd = hand_over(&handover, given->segment);
	assert_true(taken(given->fd));
}

static void take_back(struct given *given)
{
	close(given->fd);
	close(given->segment);
	munmap(given->at, BYTES);
}

static void handover__malformed_later_ends_it(void **state)
{
	struct given given;
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	struct gamma_shm_addr addr;
	bool undelivered;
	uint32_t nonsense = 60000;

	(void) state;
	give(&given);
	memcpy(given.data, &nonsense, sizeof(nonsense));
	assert_false(take(&fields, &arrival));
	assert_non_null(
		strstr(gamma_shm_take_ended(shms[1], &addr, &undelivered), "makes no sense"));
	assert_int_equal(addr.port, 99);
	assert_int_equal(addr.epoch, 5);
	assert_int_equal(stats[1].malformed, 1);
	assert_int_equal(recv(given.fd, &nonsense, 1, 0), 0); /* hung up */
	take_back(&given);
}

/* What a record holds that a writer of ours would not write. */
static void malformed_record(uint32_t kind_and_flags, uint32_t len)
{
	struct given given;
	struct gamma_arrival arrival;
	struct gamma_shm_addr addr;
	bool undelivered;
	uint32_t words[2] = {len, kind_and_flags};

	give(&given);
	memcpy(given.data, words, sizeof(words));
	assert_false(links[1]->ops->next(links[1], &arrival));
	assert_non_null(
		strstr(gamma_shm_take_ended(shms[1], &addr, &undelivered), "makes no sense"));
	take_back(&given);
}

static void handover__malformed_message_ends_it(void **state)
{
	(void) state;
	malformed_record(GAMMA_RECORD_INLINE | 4 << 8, 100); /* a flag that is none */
	malformed_record(GAMMA_RECORD_INLINE | GAMMA_SHM_MESSAGE_TAGGED << 8,
			 7); /* no room for the tag */
	malformed_record(GAMMA_RECORD_INLINE | 3 << 8, 15);
	malformed_record(GAMMA_RECORD_INLINE, 60000); /* too long */
	malformed_record(GAMMA_RECORD_ANNOUNCE, 31);
	malformed_record(GAMMA_RECORD_ANNOUNCE | 3 << 8, 32);
	malformed_record(GAMMA_RECORD_ANNOUNCE | GAMMA_SHM_MESSAGE_CHUNKS << 8, 33);
	malformed_record(GAMMA_RECORD_ANNOUNCE | 16 << 8, 32);
	malformed_record(GAMMA_RECORD_ANNOUNCE | GAMMA_SHM_MESSAGE_PORT << 8, 31);
	malformed_record(GAMMA_RECORD_ANNOUNCE | GAMMA_SHM_MESSAGE_PORT << 8, 32 + 65);
	malformed_record(GAMMA_RECORD_ANNOUNCE | 9 << 8, 32 + 8 + 65); /* with its tag */
	malformed_record(GAMMA_RECORD_ANSWER, 17);
	malformed_record(GAMMA_RECORD_ANSWER | GAMMA_SHM_MESSAGE_TAGGED << 8, 24);
	malformed_record(GAMMA_RECORD_CHUNK, 16); /* of no bytes */
	malformed_record(GAMMA_RECORD_CHUNK | GAMMA_SHM_MESSAGE_DATA << 8, 24);
	malformed_record(GAMMA_RECORD_MORE, 16);
	malformed_record(GAMMA_RECORD_MORE | GAMMA_SHM_MESSAGE_CHUNKS << 8, 8);
}

/* All of the data, again and again: each look skips some of it and comes back. */
static void handover__full_of_malformed_records_blocks_nothing(void **state)
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

/* A peer that keeps sending inline messages in spite of back-pressure. */
static void handover__messages_despite_backpressure_end_it(void **state)
{
	struct given given;
	struct gamma_arrival arrival;
	struct gamma_shm_addr addr;
	bool undelivered;
	int count = 0;

	(void) state;
	give(&given);
	gamma_shm_set_backpressure(shms[1], true);
	for (bool good = true; good; count += good) {
		assert_true(count < 100);
		assert_non_null(gamma_ring_reserve(&given.writer, 4000));
		gamma_ring_publish(&given.writer, GAMMA_RECORD_INLINE, 0);
		good = links[1]->ops->next(links[1], &arrival);
		links[1]->ops->release(links[1]);
	}
	assert_true(count > 16);
	assert_non_null(
		strstr(gamma_shm_take_ended(shms[1], &addr, &undelivered), "makes no sense"));
	take_back(&given);
}

static void handover__of_another_user_is_refused(void **state)
{
	struct gamma_handover handover = good_handover();
	struct gamma_ring_writer writer;
	void *at;
	int segment = gamma_memfd_make(BYTES, &at), status;
	pid_t pid;

	(void) state;
	if (getuid())
		skip();
	gamma_ring_init(&writer, at, GAMMA_SEGMENT_MIN, 0);
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

/* The owner of the destination port: it has been given a segment, and may write to it. */
struct reader {
	int port, segment, fd;
	uint8_t *at;
};

/* The first frame for it is in the segment. */
static void become_reader(struct reader *reader)
{
	struct gamma_scm scm;
	uint8_t bytes[256];
	size_t len;
	void *at;
	int error;

	links[1]->ops->close(links[1]);
	links[1] = NULL;
	reader->port = gamma_port_claim(mac, &ports[1]);
	assert_true(reader->port >= 0);
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
	assert_int_equal(gamma_scm_receive(reader->port, bytes, sizeof(bytes), &scm),
			 sizeof(struct gamma_handover));
	reader->segment = scm.fds[0];
	reader->fd = scm.fds[1];
	assert_int_equal(gamma_memfd_map(reader->segment, &len, &at), 0);
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

		if (i && shm_peers_setup(state))
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
			shm_peers_teardown(state);
	}
}

/* ---- shm_peers that are no more ---- */

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
	struct gamma_shm_addr addr;
	bool undelivered;
	int error;

	(void) state;
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
	links[1]->ops->close(links[1]);
	links[1] = NULL;
	links[0]->ops->arm(links[0]);
	assert_false(links[0]->ops->next(links[0], &arrival));
	assert_string_equal(gamma_shm_take_ended(shms[0], &addr, &undelivered),
			    "its process has ended");
	assert_int_equal(addr.port, ports[1]);
	assert_in_range(open_descriptors(), 0, before);
}

/* The descriptor that would report its end is also open elsewhere, for instance in a child. */
static void gone__forgotten_with_its_flow(void **state)
{
	struct gamma_shm_addr addr = {.port = ports[1], .epoch = EPOCH};
	unsigned before = open_descriptors();
	int error;

	(void) state;
	memcpy(addr.mac, mac, sizeof(mac));
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
	gamma_shm_forget(shms[0], NULL, &addr);
	assert_in_range(open_descriptors(), 0, before);
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(handover__malformed_is_refused),
		LINK_TEST(handover__malformed_later_ends_it),
		LINK_TEST(handover__malformed_message_ends_it),
		LINK_TEST(handover__full_of_malformed_records_blocks_nothing),
		LINK_TEST(handover__messages_despite_backpressure_end_it),
		LINK_TEST(handover__of_another_user_is_refused),
		LINK_TEST(refused__what_was_written_goes_through_the_socket),
		LINK_TEST(refused__spoilt_ends_it),
		LINK_TEST(gone__nothing_is_kept_for_it),
		LINK_TEST(gone__before_it_took_anything),
		LINK_TEST(gone__forgotten_with_its_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
