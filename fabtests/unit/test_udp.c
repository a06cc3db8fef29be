// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/link/udp.c, over the loopback of a namespace of their own (netns.h).
 */
#include "netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "link/udp.h"
#include "wire/pseudo_mac.h"

enum { PORT = 9228, FRAMES = 100, BYTES = 1400 };

static struct gamma_stats stats[2];
static struct gamma_link *out, *in; /* on 127.0.0.1, on 127.0.0.2 */
static uint8_t payload[FRAMES][BYTES];
static struct gamma_frame frames[FRAMES];

static struct gamma_udp_attr attr(uint8_t host)
{
	return (struct gamma_udp_attr){
		.ipv4 = {127, 0, 0, host},
		.port = PORT,
		.mtu = 1472,
		.ifindex = 1, /* of the loopback interface */
	};
}

static int setup(void **state)
{
	struct gamma_udp_attr a = attr(1), b = attr(2);

	(void) state;
	memset(stats, 0, sizeof(stats));
	return gamma_udp_open(&a, &stats[0], &out) || gamma_udp_open(&b, &stats[1], &in);
}

static int teardown(void **state)
{
	(void) state;
	out->ops->close(out);
	in->ops->close(in);
	return 0;
}

/* Frame i from `out` to `in`, with a payload of that many bytes in place. */
static void make_frame(unsigned i, size_t len)
{
	struct gamma_frame *frame = &frames[i];
	struct gamma_header header = {
		.dst_port = htons(PORT),
		.src_port = htons(PORT),
		.seq = htonl(i),
	};

	memset(frame, 0, sizeof(*frame));
	memset(payload[i], (int) i, len);
	gamma_pseudo_mac_make(attr(2).ipv4, frame->room);
	gamma_pseudo_mac_make(attr(1).ipv4, frame->room + GAMMA_MAC_LEN);
	frame->room[12] = GAMMA_ETHERTYPE >> 8;
	frame->room[13] = GAMMA_ETHERTYPE & 0xff;
	memcpy(frame->room + GAMMA_ETH_LEN, &header, sizeof(header));
	frame->head = frame->room;
	frame->head_len = GAMMA_ETH_LEN + sizeof(header);
	frame->iov[0] = (struct iovec){payload[i], len};
	frame->iov_count = 1;
}

static void await(struct gamma_arrival *arrival)
{
	struct pollfd ready = {.fd = in->fd, .events = POLLIN};

	while (!in->ops->next(in, arrival))
		assert_true(poll(&ready, 1, -1) == 1);
}

static void send_all(unsigned count)
{
	int error = 0;

	assert_int_equal(out->ops->send(out, frames, count, &error), count);
}

static void expect(unsigned i)
{
	struct gamma_arrival arrival;
	size_t len = frames[i].iov[0].iov_len;

	await(&arrival);
	assert_int_equal(arrival.len, frames[i].head_len + len);
	assert_memory_equal(arrival.frame, frames[i].head, frames[i].head_len);
	assert_memory_equal(arrival.frame + frames[i].head_len, payload[i], len);
	in->ops->release(in);
}

static void pass__train_whole_and_in_order(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned i = 0; i < 40; i++)
		make_frame(i, i == 39 ? 7 : BYTES);
	send_all(40);
	assert_int_equal(stats[0].send_calls, 1);
	for (unsigned i = 0; i < 40; i++)
		expect(i);
	assert_true(stats[1].receive_calls < 40);
}

static void pass__more_than_one_train_holds(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned i = 0; i < FRAMES; i++)
		make_frame(i, BYTES);
	send_all(FRAMES);
	for (unsigned i = 0; i < FRAMES; i++)
		expect(i);
}

static void pass__mixed_sizes(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned i = 0; i < 20; i++)
		make_frame(i, i * 7919 % BYTES);
	send_all(20);
	for (unsigned i = 0; i < 20; i++)
		expect(i);
}

static void next__without_release_lends_again(void **state)
{
	struct gamma_arrival arrival;

	(void) state;
	netns_needed();
	make_frame(0, 100);
	make_frame(1, 100);
	send_all(2);
	await(&arrival);
	expect(0);
	await(&arrival);
	expect(1);
	assert_false(in->ops->arm(in));
}

static void source__port_that_is_not_the_senders_is_dropped(void **state)
{
	(void) state;
	netns_needed();
	make_frame(0, 10);
	make_frame(1, 10);
	frames[0].room[GAMMA_ETH_LEN + offsetof(struct gamma_header, src_port)] ^= 1;
	send_all(2);
	expect(1);
	assert_int_equal(stats[1].stray, 1);
}

static void open__port_in_use(void **state)
{
	struct gamma_udp_attr a = attr(1);
	struct gamma_link *link;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_udp_open(&a, &stats[0], &link), -EADDRINUSE);
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(pass__train_whole_and_in_order),
		LINK_TEST(pass__more_than_one_train_holds),
		LINK_TEST(pass__mixed_sizes),
		LINK_TEST(next__without_release_lends_again),
		LINK_TEST(source__port_that_is_not_the_senders_is_dropped),
		LINK_TEST(open__port_in_use),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
