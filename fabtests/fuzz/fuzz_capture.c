// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Fuzz target: any bytes as a capture file. What is read lies within it, and is counted. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "capture.h"
#include "traffic.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct traffic traffic = {.ethertype = GAMMA_ETHERTYPE, .interval = 1000000000};
	uint64_t frames = 0, in_intervals = 0;
	struct capture_frame frame;
	struct capture capture;

	if (!capture_begin(&capture, data, size)) {
		assert(capture.error);
		return 0;
	}
	while (capture_next(&capture, &frame)) {
		assert(frame.bytes >= data && frame.bytes + frame.captured <= data + size);
		assert(frame.len >= frame.captured);
		assert(traffic_add(&traffic, &frame));
		frames++;
	}
	for (size_t i = 0; i < traffic.interval_count; i++) {
		assert(!i || traffic.intervals[i].number > traffic.intervals[i - 1].number);
		in_intervals += traffic.intervals[i].counts.frames;
	}
	assert(in_intervals == traffic.all.frames);
	/* A datagram may have several. */
	assert(traffic.all.frames + traffic.others + traffic.malformed >= frames);
	traffic_end(&traffic);
	return 0;
}
