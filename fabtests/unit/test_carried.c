// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of tools/carried.c: packets made in memory, of IPv4 and IPv6, counted as gamma-flows
 * does. */
#include "unit.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "carried.h"
#include "traffic.h"
#include "wire/codec.h"
#include "wire/ip_group.h"
#include "wire/pseudo_mac.h"

enum { FRAME = GAMMA_HEADER_LEN + 100, FRAMES = 3, LAST = GAMMA_HEADER_LEN + 10 };

static const uint8_t group[GAMMA_MAC_LEN] = {3, 1, 2, 0x4e, 5, 6};

static uint8_t packet[4096];
static uint32_t packet_len;

static void put(const void *bytes, size_t size)
{
	assert_true(packet_len + size <= sizeof(packet));
	memcpy(packet + packet_len, bytes, size);
	packet_len += (uint32_t) size;
}

static void put16(unsigned value)
{
	put((uint8_t[]){(uint8_t) (value >> 8), (uint8_t) value}, 2);
}

/* Headers up to UDP's, and the two pseudo MAC addresses: destination, source. */
static void begin_ipv4(bool to_group, uint16_t port, uint32_t payload,
		       uint8_t macs[2][GAMMA_MAC_LEN])
{
	uint8_t ip[20] = {0x45, [6] = 0x40, [8] = 64, [9] = 17, [12] = 10, 78, 0, 1, 10, 78, 0, 2};

	packet_len = 0;
	put((uint8_t[12]){0}, 12);
	put16(0x0800);
	gamma_pseudo_mac_make(ip + 16, macs[0]);
	gamma_pseudo_mac_make(ip + 12, macs[1]);
	if (to_group) {
		memcpy(macs[0], group, GAMMA_MAC_LEN);
		gamma_ip_group_ipv4(group, ip + 16);
	}
	put(ip, sizeof(ip));
	put16(9001);
	put16(port);
	put16(8 + payload);
	put16(0);
}

static void begin_ipv6(bool to_group, uint16_t port, uint32_t payload,
		       uint8_t macs[2][GAMMA_MAC_LEN])
{
	uint8_t ip[40] = {0x60, [6] = 17, 64};

	packet_len = 0;
	inet_pton(AF_INET6, "fd00:78::1", ip + 8);
	inet_pton(AF_INET6, "fd00:78::2", ip + 24);
	gamma_pseudo_mac_make_ipv6(ip + 24, macs[0]);
	gamma_pseudo_mac_make_ipv6(ip + 8, macs[1]);
	if (to_group) {
		memcpy(macs[0], group, GAMMA_MAC_LEN);
		gamma_ip_group_ipv6(group, ip + 24);
	}
	put((uint8_t[12]){0}, 12);
	put16(0x86dd);
	put(ip, sizeof(ip));
	put16(9001);
	put16(port);
	put16(8 + payload);
	put16(0);
}

static void begin(int version, bool to_group, uint16_t port, uint32_t payload,
		  uint8_t macs[2][GAMMA_MAC_LEN])
{
	(version == 6 ? begin_ipv6 : begin_ipv4)(to_group, port, payload, macs);
}

static void put_frame(uint8_t macs[2][GAMMA_MAC_LEN], uint8_t kind, uint16_t port, uint32_t len)
{
	uint8_t room[1024] = {0};
	struct gamma_fields fields = {
		.kind = kind,
		.op = kind == GAMMA_KIND_DATA ? GAMMA_OP_SEND : 0,
		.dst_port = port,
		.src_port = 9001,
		.src_epoch = 5,
		.dst_epoch = 7,
		.payload_len = (uint16_t) (len - GAMMA_HEADER_LEN),
	};

	put(gamma_codec_build(&fields, macs[0], macs[1], GAMMA_ETHERTYPE, room + 300) +
		    GAMMA_ETH_LEN,
	    len);
}

/* Three frames of one size and a shorter one. */
static void make_train(int version)
{
	uint8_t macs[2][GAMMA_MAC_LEN];

	begin(version, false, 9000, FRAMES * FRAME + LAST, macs);
	for (int i = 0; i < FRAMES; i++)
		put_frame(macs, GAMMA_KIND_DATA, 9000, FRAME);
	put_frame(macs, GAMMA_KIND_DATA, 9000, LAST);
}

static struct traffic traffic;

static void add(uint32_t captured)
{
	uint8_t *copy = malloc(captured + !captured); /* for sanitizers */
	struct capture_frame made = {.bytes = copy, .captured = captured, .len = packet_len};

	memcpy(copy, packet, captured);
	assert_true(traffic_add(&traffic, &made));
	free(copy);
}

static int set_up(void **state)
{
	(void) state;
	traffic = (struct traffic){.ethertype = GAMMA_ETHERTYPE, .interval = 1000000000};
	return 0;
}

static int tear_down(void **state)
{
	(void) state;
	traffic_end(&traffic);
	return 0;
}

static void carried_next__train_of_each_version(void **state)
{
	(void) state;
	for (int version = 4; version <= 6; version += 2) {
		uint32_t headers = version == 6 ? 14 + 40 + 8 : 14 + 20 + 8;
		uint64_t before = traffic.all.bytes;

		make_train(version);
		add(packet_len);
		assert_int_equal(traffic.all.bytes - before,
				 FRAMES * (headers + FRAME) + headers + LAST);
	}
	assert_int_equal(traffic.all.frames, 2 * (FRAMES + 1));
	assert_int_equal(traffic.all.data, 2 * (FRAMES + 1));
	assert_int_equal(traffic.malformed + traffic.others + traffic.unread, 0);
}

static void carried_next__short_capture(void **state)
{
	(void) state;
	make_train(6);
	add(14 + 40 + 8 + FRAME + GAMMA_HEADER_LEN); /* headers of two */
	assert_int_equal(traffic.all.frames, 2);
	assert_int_equal(traffic.unread, 2);
	for (uint32_t captured = 0; captured < packet_len; captured++)
		add(captured);
	assert_int_equal(traffic.malformed, 0);
}

static void carried_next__group_of_each_version(void **state)
{
	uint8_t macs[2][GAMMA_MAC_LEN];

	(void) state;
	for (int version = 4; version <= 6; version += 2) {
		begin(version, true, gamma_ip_group_port(7), FRAME, macs);
		put_frame(macs, GAMMA_KIND_DATAGRAM, 7, FRAME);
		add(packet_len);
	}
	assert_int_equal(traffic.all.frames, 2);
}

static void carried_next__wrong_address(void **state)
{
	(void) state;
	make_train(6);
	packet[14 + 8 + 15] ^= 1; /* as an address that was translated on the way */
	add(packet_len);
	assert_int_equal(traffic.malformed, FRAMES + 1);
}

static void carried_begin__other_datagrams(void **state)
{
	uint8_t macs[2][GAMMA_MAC_LEN];

	(void) state;
	begin(4, false, 9002, FRAME, macs); /* another port than the frame names */
	put_frame(macs, GAMMA_KIND_DATA, 9000, FRAME);
	add(packet_len);
	make_train(4);
	packet[14 + 6] = 0x20; /* a fragment */
	add(packet_len);
	make_train(4);
	packet[14 + 9] = 6; /* TCP */
	add(packet_len);
	make_train(6);
	packet[14 + 6] = 44; /* a fragment of IPv6 */
	add(packet_len);
	make_train(6);
	packet[14 + 40 + 8 + GAMMA_VERSION_AT] = 0x21; /* another version of the protocol */
	add(packet_len);
	assert_int_equal(traffic.others, 5);
	assert_int_equal(traffic.all.frames + traffic.malformed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(carried_next__train_of_each_version, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(carried_next__short_capture, set_up, tear_down),
		cmocka_unit_test_setup_teardown(carried_next__group_of_each_version, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(carried_next__wrong_address, set_up, tear_down),
		cmocka_unit_test_setup_teardown(carried_begin__other_datagrams, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
