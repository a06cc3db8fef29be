// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Log output: to standard error (journal or terminal), or to syslog. */
#include "gammad/gammad.h"

#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

static bool journal;
static _Thread_local bool quiet;

static void to_stderr(enum gamma_log_level level, const char *line)
{
	const char *mark = "";

	if (quiet && level == GAMMA_LOG_INFO)
		return;
	/* The journal takes the level from the beginning of the line. */
	if (journal)
		mark = level == GAMMA_LOG_INFO ? "<6>" : "<4>";
	fprintf(stderr, "%sgammad: %s\n", mark, line);
}

static void to_syslog(enum gamma_log_level level, const char *line)
{
	if (quiet && level == GAMMA_LOG_INFO)
		return;
	syslog(level == GAMMA_LOG_INFO ? LOG_INFO : LOG_WARNING, "%s", line);
}

void gammad_log_open(bool syslog_wanted)
{
	journal = getenv("JOURNAL_STREAM") != NULL;
	if (syslog_wanted)
		openlog("gammad", LOG_PID | LOG_NDELAY, LOG_DAEMON);
	gamma_log_set_sink(syslog_wanted ? to_syslog : to_stderr);
}

void gammad_log_set_quiet(bool quietly)
{
	quiet = quietly;
}
