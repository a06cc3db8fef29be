// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A line of progress that is rewritten: see live_line.h. */
#include "base/live_line.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"

enum { WIDTH = 70, QUIET_MS = 1000, PAUSE_MS = 200 };

static uint64_t begun, shown; /* ns; 0: not yet */

void gamma_live_line_show(const char *fmt, ...)
{
	uint64_t now = gamma_now();
	char text[WIDTH + 1];
	va_list args;

	if (!begun)
		begun = now;
	if (now < begun + QUIET_MS * GAMMA_NS_PER_MS ||
	    (shown && now < shown + PAUSE_MS * GAMMA_NS_PER_MS) || !isatty(STDERR_FILENO))
		return;
	shown = now;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "\r%-*s", WIDTH, text);
}

void gamma_live_line_end(void)
{
	if (shown)
		fprintf(stderr, "\r%*s\r", WIDTH, "");
	begun = shown = 0;
}
