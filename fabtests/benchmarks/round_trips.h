/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The line that the raw baselines print of a ping-pong: half round trips of one size. */
#ifndef ROUND_TRIPS_H
#define ROUND_TRIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts the round trips, in ns. */
void round_trips_print(const char *tool, bool json, size_t size, uint64_t *rtt_ns, size_t count);

#endif
