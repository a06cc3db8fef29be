// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Fuzz target: any bytes as a frame, unchanged and with the checksum corrected. What parses must
 * give the same header when it is built again.
 */
#include <assert.h>
#include <string.h>

#include "wire/codec.h"

enum { ROOM = GAMMA_ETH_LEN + GAMMA_HEADER_MAX, FRAME_MAX = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const uint8_t *frame, size_t size)
{
	struct gamma_fields fields;
	uint8_t room[ROOM];
	uint8_t *again;

	memset(&fields, 0, sizeof(fields));
	if (gamma_codec_parse(frame, size, &fields) != GAMMA_OK)
		return;
	assert((size_t) GAMMA_ETH_LEN + fields.header_len + fields.payload_len <= size);
	again = gamma_codec_build(&fields, frame, frame + GAMMA_MAC_LEN,
				  (uint16_t) (frame[12] << 8 | frame[13]), room + ROOM);
	assert(again >= room);
	assert(!memcmp(again, frame, (size_t) GAMMA_ETH_LEN + fields.header_len));
}

/* The header's own length gives the range of the checksum. */
static void correct(uint8_t *frame, size_t size)
{
	const size_t at = GAMMA_ETH_LEN + offsetof(struct gamma_header, checksum);
	size_t end =
		GAMMA_ETH_LEN + frame[GAMMA_ETH_LEN + offsetof(struct gamma_header, header_len)];
	uint32_t crc = gamma_crc32c(0, frame, at);

	if (end > size)
		return;
	if (end > at + 4)
		crc = gamma_crc32c(crc, frame + at + 4, end - at - 4);
	crc = __builtin_bswap32(crc);
	memcpy(frame + at, &crc, 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t frame[FRAME_MAX];

	there_and_back(data, size);
	if (size < GAMMA_ETH_LEN + GAMMA_HEADER_LEN || size > FRAME_MAX)
		return 0;
	memcpy(frame, data, size);
	correct(frame, size);
	there_and_back(frame, size);
	return 0;
}
