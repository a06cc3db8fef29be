// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammaping's last step: round trips of questions, one at a time, and their summary. */
#include "gammaping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/live_line.h"

struct samples {
	uint64_t *ns;
	size_t count, room;
};

static void add_sample(struct samples *samples, uint64_t ns)
{
	if (samples->count == samples->room) {
		samples->room = samples->room ? 2 * samples->room : 64;
		samples->ns = realloc(samples->ns, samples->room * sizeof(*samples->ns));
		if (!samples->ns)
			gammaping_fail("out of memory");
	}
	samples->ns[samples->count++] = ns;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return x < y ? -1 : x > y;
}

static void sleep_until(uint64_t when)
{
	struct timespec at = {
		.tv_sec = (time_t) (when / GAMMA_NS_PER_S),
		.tv_nsec = (long) (when % GAMMA_NS_PER_S),
	};

	while (!gammaping_interrupted && gamma_now() < when)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* One round trip; false: no answer. */
static bool ping_once(struct ping *ping, unsigned long number, struct samples *samples)
{
	uint64_t began = gamma_now(), passed;
	struct lookup_answer answer;
	int ret;

	lookup_begin(ping);
	ret = lookup_send(ping, ping->found.port, ping->size);
	if (!ret && lookup_wait(ping, began + gammaping_seconds(ping->timeout), &answer)) {
		passed = gamma_now() - began;
		add_sample(samples, passed);
		if (!ping->quiet)
			printf("%lu: %.1f us\n", number, (double) passed / 1e3);
		return true;
	}
	gamma_live_line_end();
	if (!gammaping_interrupted)
		printf("%lu: %s\n", number, ret ? strerror(-ret) : "no answer");
	return false;
}

static void summarise(unsigned long sent, struct samples *samples)
{
	size_t count = samples->count;
	const uint64_t *ns = samples->ns;

	printf("%lu sent, %zu answered, %.3g %% lost", sent, count,
	       sent ? 100.0 * (double) (sent - count) / (double) sent : 0.0);
	if (count) {
		qsort(samples->ns, count, sizeof(*ns), by_value);
		printf("; round trip min/median/max %.1f/%.1f/%.1f us", (double) ns[0] / 1e3,
		       (double) ns[count / 2] / 1e3, (double) ns[count - 1] / 1e3);
	}
	putchar('\n');
}

int round_trips_step(struct ping *ping)
{
	struct samples samples = {0};
	unsigned long sent = 0;
	uint64_t next = gamma_now();
	bool lost;

	while (!gammaping_interrupted && (!ping->count || sent < ping->count)) {
		sleep_until(next);
		next = gamma_now() + gammaping_seconds(ping->interval);
		if (gammaping_interrupted)
			break;
		/* A request that was interrupted while waiting is not counted as lost. */
		if (ping_once(ping, sent + 1, &samples) || !gammaping_interrupted)
			sent++;
		fflush(stdout);
		if (ping->quiet)
			gamma_live_line_show("%lu round trips", sent);
	}
	gamma_live_line_end();
	summarise(sent, &samples);
	lost = samples.count < sent || !sent;
	if (lost && samples.count)
		gammaping_hint("frames are lost, or the program there computes for longer than -t");
	free(samples.ns);
	return lost || ping->failed ? PING_EXIT_LOST : 0;
}
