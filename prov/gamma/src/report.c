// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Errors that stop a program are shown to its user, whether or not libfabric's log is on. */
#include "report.h"

#include <stdarg.h>

enum { LINES_MAX = 8 }; /* of a process: a job with many peers must not fill the screen */

void gamma_report(const char *fmt, ...)
{
	static unsigned lines; /* atomic */
	char text[600];
	va_list args;
	unsigned before;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (fi_log_enabled(&gamma_prov, FI_LOG_WARN, FI_LOG_CORE)) {
		GAMMA_WARN(CORE, "%s\n", text);
		return;
	}
	before = __atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED);
	if (before < LINES_MAX)
		fprintf(stderr, "gamma: %s\n", text);
	else if (before == LINES_MAX)
		fputs("gamma: further lines are left out; FI_LOG_LEVEL=warn shows all\n", stderr);
}

const char *gamma_report_cure(int error, bool udp)
{
	switch (error) {
	case -ETIMEDOUT:
		if (udp)
			return "; `gammaping -u` from here to it shows whether the host, the "
			       "path, or a firewall that drops UDP is why";
		return "; `gammaping` from here to it shows whether the host, the cable, the "
		       "segment, the EtherType or a filter is why";
	case -ECONNREFUSED:
		return "; start the program there first";
	case -ECONNRESET:
		return "; look for its last message";
	default:
		return "";
	}
}
