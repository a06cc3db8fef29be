// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/link/train.c: trains are made, and cut into the same frames again. */
#include "unit.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/base.h"
#include "link/train.h"

enum { PORT = 9228, FROM = 9000, TENANT = 1000, FRAMES = 100, BYTES = 1400 };

static struct gamma_frame frames[FRAMES];
static uint8_t payload[FRAMES][GAMMA_TRAIN_BYTES];
static struct gamma_train train;

/* Frame i with that many bytes behind its header, in two iovecs. */
static void make_frame(unsigned i, size_t len)
{
	struct gamma_frame *frame = &frames[i];
	struct gamma_header header = {
		.dst_port = htons(PORT),
		.src_port = htons(FROM),
		.tenant = htonl(TENANT),
		.version_kind = GAMMA_VERSION << 4 | GAMMA_KIND_DATA,
		.header_len = GAMMA_HEADER_LEN,
		.payload_len = htons((uint16_t) len),
		.seq = htonl(i),
	};

	memset(frame, 0, sizeof(*frame));
	memset(payload[i], (int) i, len);
	memcpy(frame->room + GAMMA_ETH_LEN, &header, sizeof(header));
	frame->head = frame->room;
	frame->head_len = GAMMA_ETH_LEN + sizeof(header);
	frame->iov[0] = (struct iovec){payload[i], len / 3};
	frame->iov[1] = (struct iovec){payload[i] + len / 3, len - len / 3};
	frame->iov_count = 2;
}

/* The train of these frames, as it leaves and arrives. */
static void pass(unsigned count)
{
	struct iovec iov[GAMMA_TRAIN_IOV];
	unsigned n = gamma_train_gather(frames, count, iov);
	uint32_t len = 0;

	for (unsigned i = 0; i < n; i++) {
		memcpy(train.bytes + len, iov[i].iov_base, iov[i].iov_len);
		len += (uint32_t) iov[i].iov_len;
	}
	train.port = htons(FROM);
	gamma_train_begin(&train, len, gamma_train_segment(train.bytes, len));
}

static void expect(unsigned i, bool alone)
{
	static const uint8_t head[GAMMA_ETH_LEN] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
	size_t len = gamma_train_frame_len(&frames[i]);
	struct gamma_arrival arrival;

	assert_false(gamma_train_is_empty(&train));
	assert_true(gamma_train_is_for(&train, PORT, TENANT));
	gamma_train_lend(&train, head, &arrival);
	assert_int_equal(arrival.len, GAMMA_ETH_LEN + len);
	assert_int_equal(arrival.alone, alone);
	assert_int_equal(arrival.behind, train.at > 0);
	assert_memory_equal(arrival.frame, head, GAMMA_ETH_LEN);
	assert_memory_equal(arrival.frame + GAMMA_ETH_LEN, frames[i].room + GAMMA_ETH_LEN,
			    GAMMA_HEADER_LEN);
	assert_memory_equal(arrival.frame + GAMMA_ETH_LEN + GAMMA_HEADER_LEN, payload[i],
			    len - GAMMA_HEADER_LEN);
	gamma_train_release(&train);
}

static void count__sizes(void **state)
{
	static const struct {
		const char *what;
		size_t sizes[5];
		unsigned count;
	} cases[] = {
		{"one size", {9, 9, 9, 9, 9}, 5},
		{"a shorter one is the last", {9, 9, 8, 8, 8}, 3},
		{"none may be longer", {9, 9, 10, 9, 9}, 2},
		{"a shorter one of no payload", {9, 0, 9, 9, 9}, 2},
		{"a longer second one", {1, 2, 2, 2, 2}, 1},
		{"no payload at all", {0, 0, 0, 0, 0}, 5},
	};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(cases); i++) {
		for (unsigned j = 0; j < 5; j++)
			make_frame(j, cases[i].sizes[j]);
		if (gamma_train_count(frames, 5) != cases[i].count)
			fail_msg("%s", cases[i].what);
	}
}

static void count__one_peer_only(void **state)
{
	(void) state;
	for (unsigned i = 0; i < 4; i++)
		make_frame(i, BYTES);
	frames[3].room[0] = 1; /* another host */
	assert_int_equal(gamma_train_count(frames, 4), 3);
	frames[2].room[GAMMA_ETH_LEN] ^= 1; /* another port */
	assert_int_equal(gamma_train_count(frames, 4), 2);
}

static void count__what_a_call_takes(void **state)
{
	(void) state;
	for (unsigned i = 0; i < FRAMES; i++)
		make_frame(i, 10);
	assert_int_equal(gamma_train_count(frames, FRAMES), GAMMA_TRAIN_FRAMES);
	assert_int_equal(gamma_train_count(frames, 1), 1);
	for (unsigned i = 0; i < FRAMES; i++)
		make_frame(i, 8000);
	assert_int_equal(gamma_train_count(frames, FRAMES), 8);
}

static void lend__the_frames_that_left(void **state)
{
	static const unsigned lengths[] = {1, 2, 7, 44};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(lengths); i++) {
		for (unsigned j = 0; j < lengths[i]; j++)
			make_frame(j, j + 1 == lengths[i] ? 5 : BYTES);
		assert_int_equal(gamma_train_count(frames, lengths[i]), lengths[i]);
		pass(lengths[i]);
		for (unsigned j = 0; j < lengths[i]; j++)
			expect(j, j + 1 == lengths[i]);
		assert_true(gamma_train_is_empty(&train));
	}
}

/* A length that cannot be: one frame, for the codec to refuse. */
static void segment__by_the_first_header(void **state)
{
	struct gamma_header header = {.header_len = 60, .payload_len = htons(40)};

	(void) state;
	memcpy(train.bytes, &header, sizeof(header));
	assert_int_equal(gamma_train_segment(train.bytes, 1000), 100);
	assert_int_equal(gamma_train_segment(train.bytes, 100), 100);
	assert_int_equal(gamma_train_segment(train.bytes, 99), 99);
	assert_int_equal(gamma_train_segment(train.bytes, GAMMA_HEADER_LEN - 1),
			 GAMMA_HEADER_LEN - 1);
	header = (struct gamma_header){.header_len = GAMMA_HEADER_LEN - 1};
	memcpy(train.bytes, &header, sizeof(header));
	assert_int_equal(gamma_train_segment(train.bytes, 1000), 1000);
}

static void lend__again_until_released(void **state)
{
	static const uint8_t head[GAMMA_ETH_LEN] = {0};
	struct gamma_arrival arrival;

	(void) state;
	make_frame(0, BYTES);
	make_frame(1, BYTES);
	pass(2);
	gamma_train_lend(&train, head, &arrival);
	expect(0, false);
	gamma_train_lend(&train, head, &arrival);
	expect(1, true);
}

static void is_for__whose_frame(void **state)
{
	(void) state;
	make_frame(0, BYTES);
	pass(1);
	assert_true(gamma_train_is_for(&train, PORT, TENANT));
	assert_false(gamma_train_is_for(&train, PORT + 1, TENANT));
	assert_false(gamma_train_is_for(&train, PORT, TENANT + 1));
	train.port = htons(FROM + 1); /* another process of that host */
	assert_false(gamma_train_is_for(&train, PORT, TENANT));
	train.port = htons(FROM);
	train.bytes[offsetof(struct gamma_header, version_kind)] =
		GAMMA_VERSION << 4 | GAMMA_KIND_LOOKUP;
	assert_true(gamma_train_is_for(&train, PORT, TENANT + 1));
}

/* Also behind whole frames, where the bytes after it are of the train before. */
static void is_for__too_short_for_a_header(void **state)
{
	(void) state;
	make_frame(0, BYTES);
	pass(1);
	gamma_train_begin(&train, GAMMA_HEADER_LEN - 1, GAMMA_HEADER_LEN - 1);
	assert_false(gamma_train_is_for(&train, PORT, TENANT));
	gamma_train_begin(&train, GAMMA_HEADER_LEN + 1, GAMMA_HEADER_LEN);
	gamma_train_release(&train);
	assert_false(gamma_train_is_for(&train, PORT, TENANT));
	gamma_train_release(&train);
	assert_true(gamma_train_is_empty(&train));
}

static void length__whole_trains(void **state)
{
	(void) state;
	assert_int_equal(gamma_train_length(1472), 44);
	assert_int_equal(gamma_train_length(8972), 7);
	assert_int_equal(gamma_train_length(576), GAMMA_TRAIN_FRAMES);
	assert_int_equal(gamma_train_length(65507), 1);
	assert_int_equal(gamma_train_length(65508), 1);
}

static void slots__by_what_the_kernel_charges(void **state)
{
	(void) state;
	assert_int_equal(gamma_train_slots(2304 * 100, 1472), 58);
	assert_int_equal(gamma_train_slots(2304 * 100, 576), 75);
	assert_int_equal(gamma_train_slots(18000 * 100, 9000), 75);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(count__sizes),
		cmocka_unit_test(count__one_peer_only),
		cmocka_unit_test(count__what_a_call_takes),
		cmocka_unit_test(lend__the_frames_that_left),
		cmocka_unit_test(segment__by_the_first_header),
		cmocka_unit_test(lend__again_until_released),
		cmocka_unit_test(is_for__whose_frame),
		cmocka_unit_test(is_for__too_short_for_a_header),
		cmocka_unit_test(length__whole_trains),
		cmocka_unit_test(slots__by_what_the_kernel_charges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
