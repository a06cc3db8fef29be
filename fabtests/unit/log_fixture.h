/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is logged above the level info. */
#ifndef GAMMA_TEST_LOG_FIXTURE_H
#define GAMMA_TEST_LOG_FIXTURE_H

#include <stdio.h>

#include "base/base.h"

static char logged[512]; /* the last line */
static unsigned lines;

static inline void listen_to_log(enum gamma_log_level level, const char *line)
{
	if (level == GAMMA_LOG_INFO)
		return;
	snprintf(logged, sizeof(logged), "%s", line);
	lines++;
}

#endif /* GAMMA_TEST_LOG_FIXTURE_H */
