// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/shm/ring.c: a queue of frames in shared memory, its two sides in one
 * thread, in two, and in two processes that sleep.
 */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "shm/ring.h"

enum { SIZE = 65536, BYTES = GAMMA_SEGMENT_HEADER + SIZE, MAX = 16640 };

static void *memory;
static struct gamma_ring_writer writer;
static struct gamma_ring_reader reader;

static int setup(void **state)
{
	(void) state;
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	gamma_ring_init(&writer, memory, SIZE, 12345);
	return !gamma_ring_join(&reader, memory, BYTES, MAX);
}

static int teardown(void **state)
{
	(void) state;
	return munmap(memory, BYTES);
}

/* A frame of len bytes that all depend on n. */
static void fill(uint8_t *to, uint32_t len, uint32_t n)
{
	for (uint32_t i = 0; i < len; i++)
		to[i] = (uint8_t) (n * 31 + i);
}

static bool filled(const uint8_t *frame, uint32_t len, uint32_t n)
{
	for (uint32_t i = 0; i < len; i++)
		if (frame[i] != (uint8_t) (n * 31 + i))
			return false;
	return true;
}

static uint32_t length_of(uint32_t n)
{
	return n % 7 == 6 ? MAX - n % 100 : 1 + n * 37 % 900;
}

static bool put(uint32_t n, bool *wake)
{
	uint8_t *to = gamma_ring_reserve(&writer, length_of(n));

	if (!to)
		return false;
	fill(to, length_of(n), n);
	*wake = gamma_ring_publish(&writer, GAMMA_RECORD_FRAME, 0);
	return true;
}

/* Takes frame n if it is here. */
static bool take(uint32_t n)
{
	const uint8_t *frame;
	uint32_t len;

	if (!gamma_ring_next(&reader, &frame, &len))
		return false;
	if (len != length_of(n) || !filled(frame, len, n))
		abort();
	gamma_ring_release(&reader);
	return true;
}

static void frames__in_order_with_content(void **state)
{
	bool wake;

	(void) state;
	for (uint32_t n = 0; n < 20000; n++) {
		assert_true(put(n, &wake));
		assert_false(wake);
		assert_true(take(n));
	}
	assert_false(take(0));
	assert_false(reader.damaged || writer.damaged);
}

static void full__takes_no_more_until_read(void **state)
{
	uint32_t sent = 0, got = 0;
	bool wake;

	(void) state;
	for (int round = 0; round < 200; round++) {
		while (put(sent, &wake))
			sent++;
		assert_true(sent > got + 2);
		assert_false(gamma_ring_has_room(&writer));
		while (take(got))
			got++;
		assert_int_equal(got, sent);
		assert_true(gamma_ring_has_room(&writer));
	}
}

static void largest__fits_an_empty_ring_wherever_it_stands(void **state)
{
	const uint8_t *frame;
	uint32_t len;

	(void) state;
	for (uint32_t n = 0; n < 3000; n++) {
		assert_non_null(gamma_ring_reserve(&writer, MAX));
		gamma_ring_publish(&writer, GAMMA_RECORD_FRAME, 0);
		assert_true(gamma_ring_next(&reader, &frame, &len));
		gamma_ring_release(&reader);
		assert_non_null(gamma_ring_reserve(&writer, 1 + n % 200));
		gamma_ring_publish(&writer, GAMMA_RECORD_FRAME, 0);
		assert_true(gamma_ring_next(&reader, &frame, &len));
		gamma_ring_release(&reader);
	}
}

/* A short record that goes back to the front leaves out what the long one behind it needs. */
static void long_behind_short__has_room_but_for_once_in_a_while(void **state)
{
	enum { TURNS = 1000, LONG = 8200 };
	unsigned refused = 0;
	const uint8_t *frame;
	uint32_t len;

	(void) state;
	for (int turn = 0; turn < TURNS; turn++) {
		assert_non_null(gamma_ring_reserve(&writer, 24));
		gamma_ring_publish(&writer, GAMMA_RECORD_INLINE, 0);
		if (gamma_ring_reserve(&writer, LONG))
			gamma_ring_publish(&writer, GAMMA_RECORD_INLINE, 0);
		else
			refused++;
		while (gamma_ring_next(&reader, &frame, &len))
			gamma_ring_release(&reader);
	}
	assert_in_range(refused, 1, TURNS / 200);
}

/* A writer that ends between the two leaves nothing for the reader to stumble over. */
static void reserved__is_not_seen_before_it_is_published(void **state)
{
	const uint8_t *frame;
	uint32_t len;

	(void) state;
	memset(gamma_ring_reserve(&writer, 300), 0xff, 300);
	assert_false(gamma_ring_next(&reader, &frame, &len));
	assert_false(gamma_ring_has_record(&reader));
}

static void sleeping__is_woken_once(void **state)
{
	bool wake;

	(void) state;
	gamma_ring_sleep(&reader);
	assert_false(gamma_ring_has_record(&reader));
	assert_true(put(0, &wake));
	assert_true(wake);
	assert_true(gamma_ring_has_record(&reader));
	assert_true(put(1, &wake));
	assert_false(wake);
	gamma_ring_sleep(&reader);
	gamma_ring_wake(&reader);
	assert_true(put(2, &wake));
	assert_false(wake);
}

/* ---- nonsense in the segment ---- */

static void join__refuses_what_is_not_a_ring(void **state)
{
	struct gamma_segment *segment = memory;
	struct gamma_ring_reader other;

	(void) state;
	assert_false(gamma_ring_join(&other, memory, BYTES - 64, MAX));
	assert_false(gamma_ring_join(&other, memory, GAMMA_SEGMENT_HEADER, MAX));
	assert_false(gamma_ring_join(&other, memory, 0, MAX));
	segment->start = SIZE;
	assert_false(gamma_ring_join(&other, memory, BYTES, MAX));
	segment->start = 8;
	assert_false(gamma_ring_join(&other, memory, BYTES, MAX));
	segment->start = 0;
	segment->size = 2ul * SIZE;
	assert_false(gamma_ring_join(&other, memory, BYTES, MAX));
	segment->size = SIZE;
	segment->version++;
	assert_false(gamma_ring_join(&other, memory, BYTES, MAX));
	segment->version--;
	assert_true(gamma_ring_join(&other, memory, BYTES, MAX));
}

/* Any value in place of a length: a frame within the data, or an end of it. */
static void reader__survives_random_memory(void **state)
{
	uint8_t *data = (uint8_t *) memory + GAMMA_SEGMENT_HEADER;
	unsigned seed = 1;

	(void) state;
	for (int round = 0; round < 2000; round++) {
		const uint8_t *frame;
		uint32_t len;

		for (int i = 0; i < SIZE / 64; i++) {
			uint32_t word = (uint32_t) rand_r(&seed);

			word = i % 3 ? word % 20000 : i % 2 ? GAMMA_RECORD_WRAP : word;
			memcpy(data + 64l * i, &word, sizeof(word));
		}
		assert_true(gamma_ring_join(&reader, memory, BYTES, MAX));
		for (int i = 0; i < 5000 && gamma_ring_next(&reader, &frame, &len); i++) {
			assert_true(frame >= data && frame + len <= data + SIZE && len <= MAX);
			gamma_ring_release(&reader);
		}
	}
}

static void writer__stops_when_the_reader_is_where_it_cannot_be(void **state)
{
	struct gamma_segment *segment = memory;
	bool wake;

	(void) state;
	while (put(0, &wake))
		;
	segment->taken = writer.position + 64;
	assert_false(put(0, &wake));
	assert_true(writer.damaged);
	assert_true(gamma_ring_has_room(&writer)); /* so that the next try shows it */
}

static void withdrawn__is_reported_and_stays(void **state)
{
	(void) state;
	assert_true(gamma_ring_join(&reader, memory, BYTES, MAX));
	assert_false(gamma_ring_withdrawn(&reader));
	gamma_ring_withdraw(&writer);
	assert_true(gamma_ring_withdrawn(&reader));
}

/* ---- two threads ---- */

enum { FRAMES = 200000 };

static void *write_all(void *arg)
{
	bool wake;

	for (uint32_t n = 0; n < FRAMES;)
		if (put(n, &wake))
			n++;
	return arg;
}

static void threads__every_frame_once_and_whole(void **state)
{
	pthread_t thread;

	(void) state;
	assert_int_equal(pthread_create(&thread, NULL, write_all, NULL), 0);
	for (uint32_t n = 0; n < FRAMES;)
		if (take(n))
			n++;
	pthread_join(thread, NULL);
	assert_false(reader.damaged || writer.damaged);
}

/* ---- two processes that sleep: no wake-up may get lost ---- */

enum { WAKE_UPS = 20000, PATIENCE_MS = 20000 };

static void pause_a_while(unsigned *seed)
{
	for (int i = rand_r(seed) % 200; i > 0; i--)
		__asm__ volatile("" ::: "memory");
}

/* Writes frame after frame, each when the last one is known to have been taken. */
static int write_slowly(int wake_fd, int done_fd, uint32_t count)
{
	unsigned seed = 2;
	uint64_t one = 1;
	bool wake;

	for (uint32_t n = 0; n < count; n++) {
		struct pollfd done = {.fd = done_fd, .events = POLLIN};

		pause_a_while(&seed);
		if (!put(n, &wake) || (wake && write(wake_fd, &one, sizeof(one)) != sizeof(one)) ||
		    poll(&done, 1, PATIENCE_MS) != 1 ||
		    read(done_fd, &one, sizeof(one)) != sizeof(one))
			return 1;
		one = 1;
	}
	return 0;
}

/* Sleeps before each frame; false: one never came. */
static bool read_asleep(int wake_fd, int done_fd, uint32_t count, uint32_t *slept)
{
	struct pollfd woken = {.fd = wake_fd, .events = POLLIN};
	unsigned seed = 1;
	uint64_t number = 1;

	for (uint32_t n = 0; n < count; n++) {
		pause_a_while(&seed);
		gamma_ring_sleep(&reader);
		while (!gamma_ring_has_record(&reader)) {
			++*slept;
			if (poll(&woken, 1, PATIENCE_MS) != 1)
				return false;
			if (read(wake_fd, &number, sizeof(number)) != sizeof(number))
				return false;
			gamma_ring_sleep(&reader);
		}
		gamma_ring_wake(&reader);
		number = 1;
		if (!take(n) || write(done_fd, &number, sizeof(number)) != sizeof(number))
			return false;
	}
	return true;
}

static void processes__no_wake_up_is_lost(void **state)
{
	const char *wanted = getenv("GAMMA_TEST_WAKE_UPS"); /* millions take minutes */
	uint32_t count = wanted ? (uint32_t) strtoul(wanted, NULL, 10) : WAKE_UPS, slept = 0;
	int wake_fd = eventfd(0, 0), done_fd = eventfd(0, 0), status;
	pid_t pid = fork();
	bool well;

	(void) state;
	if (!pid)
		_exit(write_slowly(wake_fd, done_fd, count));
	well = read_asleep(wake_fd, done_fd, count, &slept);
	if (!well)
		kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(well);
	assert_int_equal(status, 0);
	assert_true(slept > 0);
	close(wake_fd);
	close(done_fd);
}

/* ---- a side that is killed ---- */

static void killed__writer_leaves_whole_frames_only(void **state)
{
	(void) state;
	for (int round = 0; round < 50; round++) {
		uint32_t n = 0;
		pid_t pid;

		memset(memory, 0, BYTES);
		gamma_ring_init(&writer, memory, SIZE, (uint64_t) round * 640);
		assert_true(gamma_ring_join(&reader, memory, BYTES, MAX));
		pid = fork();
		if (!pid)
			write_all(NULL), _exit(0);
		while (n < 1000u + 100 * (uint32_t) round)
			if (take(n))
				n++;
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		while (take(n))
			n++;
		assert_false(reader.damaged);
	}
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING_TEST(frames__in_order_with_content),
		RING_TEST(full__takes_no_more_until_read),
		RING_TEST(long_behind_short__has_room_but_for_once_in_a_while),
		RING_TEST(largest__fits_an_empty_ring_wherever_it_stands),
		RING_TEST(reserved__is_not_seen_before_it_is_published),
		RING_TEST(sleeping__is_woken_once),
		RING_TEST(join__refuses_what_is_not_a_ring),
		RING_TEST(reader__survives_random_memory),
		RING_TEST(writer__stops_when_the_reader_is_where_it_cannot_be),
		RING_TEST(withdrawn__is_reported_and_stays),
		RING_TEST(threads__every_frame_once_and_whole),
		RING_TEST(processes__no_wake_up_is_lost),
		RING_TEST(killed__writer_leaves_whole_frames_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
