// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/engine over UDP, on the loopback of a namespace of their own (netns.h): how
 * long messages leave and arrive in trains, and which frames of a train are answered.
 */
#include "log_fixture.h"
#include "sides.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "engine/state.h"
#include "wire/codec.h"
#include "wire/pseudo_mac.h"

enum { MTU = 1472, TRAIN = 44, UNKNOWN_PORT = 9300 };

static const uint8_t unknown[4] = {127, 0, 0, 9};
static const uint8_t *claimed = unknown; /* the address that its frames were made for */

/* Two endpoints, which take each other for endpoints of other hosts. */
static void open_udp(unsigned which)
{
	const uint8_t ipv4[4] = {127, 0, 0, (uint8_t) (1 + which)};
	struct gamma_endpoint_attr a = side_attr(which);

	a.link = GAMMA_LINK_UDP;
	a.ifindex = 1;
	a.mtu = MTU;
	a.host = 10 + which;
	gamma_pseudo_mac_make(ipv4, a.mac);
	open_side_with(which, &a);
}

static int setup(void **state)
{
	(void) state;
	memset(sides, 0, sizeof(sides));
	if (!if_nametoindex("g0"))
		return 0;
	open_udp(A);
	open_udp(B);
	return 0;
}

/* ---- frames ---- */

static void frames__what_every_path_carries_is_less_the_headers(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(gamma_path_mtu_safe(&sides[A].ep->local), MTU);
}

/* ---- trains ---- */

static void messages__of_all_lengths(void **state)
{
	static const uint64_t lengths[] = {0, 1, 256, 1400, 1440, 16384, 16385, 65536, LENGTH_MAX};

	(void) state;
	netns_needed();
	for (size_t i = 0; i < gamma_array_size(lengths); i++) {
		exchange(A, B, lengths[i]);
		exchange(B, A, lengths[i]);
	}
	assert_int_equal(side_stats(A)->retransmissions + side_stats(B)->retransmissions, 0);
}

/* The announcement, the train, and what acknowledges the answer: the first train is whole, too. */
static void messages__of_one_train_leave_with_one_call(void **state)
{
	const uint64_t length = 32768;
	uint64_t calls, frames, acks;

	(void) state;
	netns_needed();
	exchange(A, B, LENGTH_MAX); /* until credit and path MTU are known */
	calls = side_stats(A)->send_calls;
	frames = side_stats(A)->frames_out;
	acks = side_stats(A)->acks_out;
	exchange(A, B, length);
	assert_true(side_stats(A)->frames_out - frames >= length / MTU);
	assert_int_equal(side_stats(A)->send_calls - calls, 3);
	assert_int_equal(side_stats(A)->acks_out - acks, 1);
}

/* Whole trains, but for the last. */
static void messages__long_ones_leave_in_whole_trains(void **state)
{
	uint64_t calls, frames, acks;

	(void) state;
	netns_needed();
	exchange(A, B, LENGTH_MAX); /* until credit and path MTU are known */
	calls = side_stats(A)->send_calls;
	frames = side_stats(A)->frames_out;
	acks = side_stats(B)->acks_out;
	exchange(A, B, LENGTH_MAX);
	calls = side_stats(A)->send_calls - calls;
	frames = side_stats(A)->frames_out - frames;
	acks = side_stats(B)->acks_out - acks;
	assert_true(frames >= LENGTH_MAX / MTU);
	assert_true(calls <= frames / TRAIN + 16);
	assert_true(acks <= calls);
	assert_int_equal(side_stats(A)->bytes_copied_out, 0);
	assert_true(side_stats(B)->rx_run > frames); /* of both exchanges */
}

/* Although no stamp says when they arrived. One system call sends them. */
static void messages__short_ones_take_the_fast_path(void **state)
{
	const struct gamma_addr *to = gamma_endpoint_addr(sides[B].ep);
	const struct gamma_envelope envelope = {.length = 8};
	struct iovec iov;
	uint64_t calls;

	(void) state;
	netns_needed();
	exchange(A, B, 8);
	exchange(B, A, 8);
	iov = (struct iovec){sides[A].out, 8};
	calls = side_stats(A)->send_calls;
	for (int i = 0; i < 20; i++) {
		post(&sides[B], 8);
		assert_int_equal(gamma_endpoint_send_copy(sides[A].ep,
							  gamma_endpoint_flow(sides[A].ep, to),
							  &iov, 1, &envelope, false, false),
				 GAMMA_COPIED_SENT);
		while (!sides[B].received)
			gamma_endpoint_progress(sides[B].ep);
	}
	assert_int_equal(side_stats(A)->send_calls - calls, 20);
	assert_true(side_stats(B)->rx_fast >= 18);
}

/* ---- which frames of a train are answered ---- */

/* So many frames alike to A in one datagram, from an address without an endpoint. */
static void send_together(struct gamma_fields *fields, unsigned count)
{
	const struct gamma_addr *to = gamma_endpoint_addr(sides[A].ep);
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(UNKNOWN_PORT)};
	struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = to->port};
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX], mac[GAMMA_MAC_LEN], bytes[MTU], *frame;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	size_t len = 0;

	memcpy(&own.sin_addr, unknown, sizeof(unknown));
	memcpy(&peer.sin_addr, gamma_pseudo_mac_ipv4(to->mac), sizeof(unknown));
	gamma_pseudo_mac_make(claimed, mac);
	fields->src_port = UNKNOWN_PORT;
	fields->dst_port = ntohs(to->port);
	for (unsigned i = 0; i < count; i++) {
		fields->seq = i;
		frame = gamma_codec_build(fields, to->mac, mac, GAMMA_ETHERTYPE,
					  room + sizeof(room));
		memcpy(bytes + len, frame + GAMMA_ETH_LEN, fields->header_len);
		len += fields->header_len;
	}
	assert_int_equal(bind(fd, (struct sockaddr *) &own, sizeof(own)), 0);
	assert_int_equal(sendto(fd, bytes, len, 0, (struct sockaddr *) &peer, sizeof(peer)), len);
	close(fd);
}

static void until_received(uint64_t frames)
{
	for (int i = 0; side_stats(A)->frames_in < frames && i < 100000; i++)
		gamma_endpoint_progress(sides[A].ep);
	assert_int_equal(side_stats(A)->frames_in, frames);
}

static void answers__one_question_of_a_datagram(void **state)
{
	struct gamma_fields ask = {.kind = GAMMA_KIND_LOOKUP,
				   .op = GAMMA_LOOKUP_ASK,
				   .tenant = TENANT,
				   .src_epoch = 7};

	(void) state;
	netns_needed();
	send_together(&ask, 5);
	until_received(5);
	assert_int_equal(side_stats(A)->lookups_in, 1);
	assert_int_equal(side_stats(A)->stray, 4);
}

static void answers__one_frame_for_another_epoch(void **state)
{
	struct gamma_fields probe = {
		.kind = GAMMA_KIND_PROBE, .tenant = TENANT, .src_epoch = 7, .dst_epoch = 8};
	struct gamma_fields bye = {.kind = GAMMA_KIND_BYE,
				   .op = GAMMA_ASK,
				   .tenant = TENANT,
				   .src_epoch = 7,
				   .dst_epoch = 8};
	uint64_t before;

	(void) state;
	netns_needed();
	send_together(&probe, 5);
	until_received(5);
	assert_int_equal(side_stats(A)->resets_out, 1);
	before = side_stats(A)->send_calls;
	send_together(&bye, 5);
	until_received(10);
	assert_int_equal(side_stats(A)->send_calls - before, 1);
}

/* Network address translation gives a frame another source than it was made for. */
static void translated__is_reported_once_and_not_answered(void **state)
{
	static const uint8_t private[4] = {192, 168, 0, 9};
	struct gamma_fields probe = {
		.kind = GAMMA_KIND_PROBE, .tenant = TENANT, .src_epoch = 7, .dst_epoch = 8};
	uint64_t before;

	(void) state;
	netns_needed();
	before = side_stats(A)->send_calls;
	lines = 0;
	gamma_log_set_sink(listen_to_log);
	claimed = private;
	send_together(&probe, 3);
	claimed = unknown;
	until_received(3);
	gamma_log_set_sink(NULL);
	assert_int_equal(side_stats(A)->malformed, 3);
	assert_int_equal(side_stats(A)->send_calls, before);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(logged, "127.0.0.9 port 9300"));
	assert_non_null(strstr(logged, "(NAT) between hosts is not supported"));
}

#define UDP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, sides_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UDP_TEST(frames__what_every_path_carries_is_less_the_headers),
		UDP_TEST(messages__of_all_lengths),
		UDP_TEST(messages__of_one_train_leave_with_one_call),
		UDP_TEST(messages__long_ones_leave_in_whole_trains),
		UDP_TEST(messages__short_ones_take_the_fast_path),
		UDP_TEST(answers__one_question_of_a_datagram),
		UDP_TEST(answers__one_frame_for_another_epoch),
		UDP_TEST(translated__is_reported_once_and_not_answered),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
