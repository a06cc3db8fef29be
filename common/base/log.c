// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The log hook: lines go to the function that the interface layer registered. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>

static gamma_log_fn log_fn;

void gamma_log_set_sink(gamma_log_fn fn)
{
	log_fn = fn;
}

void gamma_log(enum gamma_log_level level, const char *fmt, ...)
{
	char line[512];
	va_list args;

	if (!log_fn)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	log_fn(level, line);
}
