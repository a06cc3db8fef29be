// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Capture files. pcap: a header, then records. pcapng: blocks; of these a section's header, the
 * descriptions of its interfaces, and the frames are read, all others are skipped. Every length
 * in the file is checked before it is used.
 */
#include "capture.h"

#include <string.h>

enum {
	PCAP_MICRO = 0xa1b2c3d4,
	PCAP_NANO = 0xa1b23c4d,
	PCAP_HEADER = 24, /* bytes */
	PCAP_RECORD = 16, /* bytes in front of a frame */
	PCAP_LINK_MASK = 0x0fffffff,

	NG_SECTION = 0x0a0d0d0a,
	NG_ORDER = 0x1a2b3c4d,
	NG_INTERFACE = 1,
	NG_FRAME = 6,
	NG_BLOCK_MIN = 12,     /* bytes: type, length, length again */
	NG_SECTION_MIN = 28,   /* bytes */
	NG_INTERFACE_BODY = 8, /* bytes in front of the options */
	NG_FRAME_BODY = 20,    /* bytes in front of the frame */
	NG_OPTION_RESOLUTION = 9,
	NG_OPTION_OFFSET = 14,
	NG_MICRO = 6, /* resolution, unless an option says another */

	LINK_ETHERNET = 1,
};

static const char cut_short[] = "ends in the middle of a frame";
static const char damaged[] = "is damaged: the length of a block is wrong";
static const char not_ethernet[] =
	"was not captured on Ethernet: capture on the NIC itself, not on \"any\"";

/* ---- numbers ---- */

static uint16_t get16(const struct capture *capture, const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return capture->swapped ? __builtin_bswap16(value) : value;
}

static uint32_t get32(const struct capture *capture, const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return capture->swapped ? __builtin_bswap32(value) : value;
}

static uint64_t get64(const struct capture *capture, const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return capture->swapped ? __builtin_bswap64(value) : value;
}

static bool stop(struct capture *capture, const char *error)
{
	capture->error = error;
	capture->at = capture->len;
	return false;
}

/* Bytes not read yet. */
static size_t left(const struct capture *capture)
{
	return capture->len - capture->at;
}

/* ---- pcap ---- */

static bool begin_pcap(struct capture *capture)
{
	if (capture->len < PCAP_HEADER)
		return stop(capture, "is shorter than the header of a capture");
	if ((get32(capture, capture->bytes + 20) & PCAP_LINK_MASK) != LINK_ETHERNET)
		return stop(capture, not_ethernet);
	capture->at = PCAP_HEADER;
	return true;
}

static bool next_record(struct capture *capture, struct capture_frame *frame)
{
	const uint8_t *at = capture->bytes + capture->at;
	uint64_t fraction;

	if (!left(capture))
		return false;
	if (left(capture) < PCAP_RECORD || get32(capture, at + 8) > left(capture) - PCAP_RECORD)
		return stop(capture, cut_short);
	fraction = get32(capture, at + 4);
	frame->time =
		get32(capture, at) * 1000000000ull + (capture->micro ? fraction * 1000 : fraction);
	frame->bytes = at + PCAP_RECORD;
	frame->captured = get32(capture, at + 8);
	frame->len = get32(capture, at + 12);
	if (frame->len < frame->captured)
		frame->len = frame->captured;
	capture->at += PCAP_RECORD + frame->captured;
	return true;
}

/* ---- pcapng ---- */

/* The section's byte order, from its header. */
static bool take_section(struct capture *capture)
{
	uint32_t order;

	if (left(capture) < NG_SECTION_MIN)
		return stop(capture, cut_short);
	memcpy(&order, capture->bytes + capture->at + 8, sizeof(order));
	capture->swapped = order != NG_ORDER;
	if (capture->swapped && __builtin_bswap32(order) != NG_ORDER)
		return stop(capture, damaged);
	capture->count = 0;
	return true;
}

static void take_options(struct capture *capture, struct capture_interface *interface,
			 const uint8_t *at, size_t len)
{
	while (len >= 4) {
		uint16_t code = get16(capture, at), bytes = get16(capture, at + 2);
		size_t whole = 4 + ((size_t) bytes + 3) / 4 * 4;

		if (!code || whole > len)
			return;
		if (code == NG_OPTION_RESOLUTION && bytes == 1)
			interface->resolution = at[4];
		if (code == NG_OPTION_OFFSET && bytes == 8)
			interface->offset = (int64_t) get64(capture, at + 4);
		at += whole;
		len -= whole;
	}
}

static bool take_interface(struct capture *capture, const uint8_t *body, size_t len)
{
	struct capture_interface *interface = &capture->interfaces[capture->count];

	if (len < NG_INTERFACE_BODY)
		return stop(capture, damaged);
	if (capture->count == CAPTURE_INTERFACES_MAX)
		return stop(capture, "has more interfaces than this program can read");
	*interface = (struct capture_interface){
		.link_type = get16(capture, body),
		.resolution = NG_MICRO,
	};
	take_options(capture, interface, body + NG_INTERFACE_BODY, len - NG_INTERFACE_BODY);
	capture->count++;
	return true;
}

/* Modulo 2^64 where the file's number is beyond all reason. */
static uint64_t nanoseconds(const struct capture_interface *interface, uint64_t time)
{
	unsigned power = interface->resolution & 0x7f;
	uint64_t ns;

	if (interface->resolution & 0x80) {
		ns = power < 64 ? (uint64_t) ((unsigned __int128) time * 1000000000u >> power) : 0;
	} else {
		ns = time;
		for (; power < 9; power++)
			ns *= 10;
		for (; power > 9 && ns; power--)
			ns /= 10;
	}
	return ns + (uint64_t) interface->offset * 1000000000u;
}

static bool take_frame(struct capture *capture, const uint8_t *body, size_t len,
		       struct capture_frame *frame)
{
	const struct capture_interface *interface;
	uint32_t index;

	if (len < NG_FRAME_BODY || get32(capture, body + 12) > len - NG_FRAME_BODY)
		return stop(capture, damaged);
	index = get32(capture, body);
	if (index >= capture->count)
		return stop(capture, "has a frame of an interface that it does not describe");
	interface = &capture->interfaces[index];
	if (interface->link_type != LINK_ETHERNET)
		return stop(capture, not_ethernet);
	frame->time = nanoseconds(interface, (uint64_t) get32(capture, body + 4) << 32 |
						     get32(capture, body + 8));
	frame->bytes = body + NG_FRAME_BODY;
	frame->captured = get32(capture, body + 12);
	frame->len = get32(capture, body + 16);
	if (frame->len < frame->captured)
		frame->len = frame->captured;
	return true;
}

/* The next block's type and length; false: the end, or it is damaged. */
static bool next_block(struct capture *capture, uint32_t *type, uint32_t *len)
{
	if (!left(capture))
		return false;
	if (left(capture) < NG_BLOCK_MIN)
		return stop(capture, cut_short);
	*type = get32(capture, capture->bytes + capture->at);
	if (*type == NG_SECTION && !take_section(capture))
		return false;
	*len = get32(capture, capture->bytes + capture->at + 4);
	if (*len < NG_BLOCK_MIN || *len % 4)
		return stop(capture, damaged);
	return *len <= left(capture) || stop(capture, cut_short);
}

static bool next_frame(struct capture *capture, struct capture_frame *frame)
{
	uint32_t type, len;

	while (next_block(capture, &type, &len)) {
		const uint8_t *body = capture->bytes + capture->at + 8;

		capture->at += len;
		if (type == NG_INTERFACE && !take_interface(capture, body, len - NG_BLOCK_MIN))
			return false;
		if (type == NG_FRAME)
			return take_frame(capture, body, len - NG_BLOCK_MIN, frame);
	}
	return false;
}

/* ---- both ---- */

bool capture_begin(struct capture *capture, const void *bytes, size_t len)
{
	uint32_t magic;

	*capture = (struct capture){.bytes = bytes, .len = len};
	if (len < sizeof(magic))
		return stop(capture, "is shorter than the header of a capture");
	magic = get32(capture, bytes);
	capture->ng = magic == NG_SECTION;
	if (capture->ng)
		return true;
	capture->swapped = magic != PCAP_MICRO && magic != PCAP_NANO;
	magic = get32(capture, bytes);
	capture->micro = magic == PCAP_MICRO;
	if (magic != PCAP_MICRO && magic != PCAP_NANO)
		return stop(capture, "is neither a pcap nor a pcapng file");
	return begin_pcap(capture);
}

bool capture_next(struct capture *capture, struct capture_frame *frame)
{
	return capture->ng ? next_frame(capture, frame) : next_record(capture, frame);
}
