// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which frames a captured packet carries. A datagram is recognised by its first frame, which names
 * the datagram's ports. Its checksum covers pseudo MAC addresses, so each frame is shown behind an
 * Ethernet header that has them.
 */
#include "carried.h"

#include <string.h>

#include "base/base.h"
#include "wire/codec.h"
#include "wire/ip_group.h"
#include "wire/pseudo_mac.h"

enum {
	ETHERTYPE_AT = 2 * GAMMA_MAC_LEN,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	IPV4_LEN = 20, /* bytes, without options */
	IPV6_LEN = 40,
	UDP_LEN = 8,
	UDP_PROTOCOL = 17,
	IPV4_FRAGMENT = 0x3fff, /* offset, and whether more follow */
	MULTICAST_IPV4 = 224,   /* to 239: first byte of a group */
	MULTICAST_IPV6 = 0xff,
	CHECKSUM_AT = GAMMA_ETH_LEN + offsetof(struct gamma_header, checksum),
};

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t) (at[0] << 8 | at[1]);
}

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t) (value >> 8);
	at[1] = (uint8_t) value;
}

/* ---- IP ---- */

static void write_ipv4(struct carried *carried, const uint8_t *ip)
{
	const uint8_t *src = ip + 12, *dst = ip + 16;

	carried->any_group = dst[0] >= MULTICAST_IPV4 && dst[0] < 240;
	gamma_pseudo_mac_make(dst, carried->room);
	gamma_pseudo_mac_make(src, carried->room + GAMMA_MAC_LEN);
}

static void write_ipv6(struct carried *carried, const uint8_t *ip)
{
	const uint8_t *src = ip + 8, *dst = ip + 24;

	if (dst[0] == MULTICAST_IPV6)
		memcpy(carried->room, dst + GAMMA_IPV6_LEN - GAMMA_MAC_LEN, GAMMA_MAC_LEN);
	else
		gamma_pseudo_mac_make_ipv6(dst, carried->room);
	gamma_pseudo_mac_make_ipv6(src, carried->room + GAMMA_MAC_LEN);
}

/* Where UDP's header stands; 0: this is none, or a fragment. */
static uint32_t read_ip(struct carried *carried)
{
	const uint8_t *ip = carried->packet.bytes + GAMMA_ETH_LEN;
	uint32_t captured = carried->packet.captured, len;

	if (captured < GAMMA_ETH_LEN + IPV4_LEN)
		return 0;
	if (get16(ip - 2) == ETHERTYPE_IPV6) {
		if (captured < GAMMA_ETH_LEN + IPV6_LEN || ip[0] >> 4 != 6 || ip[6] != UDP_PROTOCOL)
			return 0;
		write_ipv6(carried, ip);
		return GAMMA_ETH_LEN + IPV6_LEN;
	}
	len = (uint32_t) (ip[0] & 15) * 4;
	if (get16(ip - 2) != ETHERTYPE_IPV4 || ip[0] >> 4 != 4 || len < IPV4_LEN ||
	    ip[9] != UDP_PROTOCOL || get16(ip + 6) & IPV4_FRAGMENT)
		return 0;
	write_ipv4(carried, ip);
	return GAMMA_ETH_LEN + len;
}

/* ---- UDP ---- */

/* Bytes of the frame that begins a datagram with those ports; 0: it is none. */
static uint32_t first_len(const uint8_t *frame, uint32_t len, const uint8_t *udp)
{
	struct gamma_header header;
	uint32_t bytes;
	unsigned kind;

	memcpy(&header, frame, sizeof(header));
	kind = header.version_kind & 15;
	bytes = (uint32_t) header.header_len + __builtin_bswap16(header.payload_len);
	if (header.version_kind >> 4 != GAMMA_VERSION || kind < GAMMA_KIND_DATA ||
	    kind > GAMMA_KIND_DATAGRAM || header.header_len < GAMMA_HEADER_LEN || bytes > len)
		return 0;
	if (__builtin_bswap16(header.src_port) != get16(udp) ||
	    (__builtin_bswap16(header.dst_port) != get16(udp + 2) &&
	     gamma_ip_group_port(__builtin_bswap16(header.dst_port)) != get16(udp + 2)))
		return 0;
	return bytes;
}

static bool begin_datagram(struct carried *carried)
{
	const struct capture_frame *packet = &carried->packet;
	uint32_t udp = read_ip(carried), len;

	if (!udp || packet->captured < udp + UDP_LEN + GAMMA_HEADER_LEN)
		return false;
	len = get16(packet->bytes + udp + 4);
	carried->headers = carried->at = udp + UDP_LEN;
	carried->end = (uint32_t) gamma_min(packet->len, (uint64_t) udp + len);
	if (carried->end < carried->at + GAMMA_HEADER_LEN)
		return false;
	carried->segment = first_len(packet->bytes + carried->at, carried->end - carried->at,
				     packet->bytes + udp);
	put16(carried->room + ETHERTYPE_AT, GAMMA_ETHERTYPE);
	return carried->segment != 0;
}

/* Of a group over IPv4 the checksum becomes the one that belongs to the pseudo MAC address. */
static void repair_checksum(struct carried *carried, uint32_t captured)
{
	uint8_t header_len =
		carried->room[GAMMA_ETH_LEN + offsetof(struct gamma_header, header_len)];
	uint32_t sum;

	if (header_len < GAMMA_HEADER_LEN || captured < (uint32_t) GAMMA_ETH_LEN + header_len)
		return;
	sum = gamma_crc32c_header(carried->room, CHECKSUM_AT, carried->room + CHECKSUM_AT + 4,
				  header_len - GAMMA_HEADER_LEN);
	sum = __builtin_bswap32(sum);
	memcpy(carried->room + CHECKSUM_AT, &sum, sizeof(sum));
}

static void take_part(struct carried *carried, struct carried_frame *frame)
{
	const struct capture_frame *packet = &carried->packet;
	uint32_t len = (uint32_t) gamma_min(carried->segment, carried->end - carried->at);
	uint32_t there = packet->captured > carried->at ? packet->captured - carried->at : 0;

	there = (uint32_t) gamma_min(gamma_min(there, len), GAMMA_HEADER_MAX);
	if (there)
		memcpy(carried->room + GAMMA_ETH_LEN, packet->bytes + carried->at, there);
	*frame = (struct carried_frame){
		.bytes = carried->room,
		.captured = GAMMA_ETH_LEN + there,
		.len = GAMMA_ETH_LEN + len,
		.wire_len = carried->headers + len,
		.behind = carried->at > carried->headers,
	};
	if (carried->any_group)
		repair_checksum(carried, frame->captured);
	carried->at += len;
}

/* ---- both ---- */

bool carried_begin(struct carried *carried, const struct capture_frame *packet, uint16_t ethertype)
{
	*carried = (struct carried){.packet = *packet, .end = packet->len};
	if (packet->captured < GAMMA_ETH_LEN)
		return false;
	return get16(packet->bytes + ETHERTYPE_AT) == ethertype || begin_datagram(carried);
}

bool carried_next(struct carried *carried, struct carried_frame *frame)
{
	if (carried->at >= carried->end)
		return false;
	if (carried->headers) {
		take_part(carried, frame);
		return true;
	}
	*frame = (struct carried_frame){
		.bytes = carried->packet.bytes,
		.captured = carried->packet.captured,
		.len = carried->packet.len,
		.wire_len = carried->packet.len,
	};
	carried->at = carried->end;
	return true;
}
