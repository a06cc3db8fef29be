// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* FI_GAMMA_STATS: an endpoint's counters as one JSON line when it closes. */
#include "ep.h"

#include <fcntl.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 4096 };

static int format_stats(const struct gamma_fi_ep *ep, const struct gamma_stats *stats, char *line)
{
	char name[GAMMA_NAME_LEN];
	int len = snprintf(line, LINE_MAX_LEN,
			   "{\"endpoint\":\"%s\",\"type\":\"%s\",\"nic\":\"%s\",\"pid\":%d",
			   gamma_flow_addr_name(gamma_endpoint_addr(ep->endpoint), name),
			   ep->type == FI_EP_RDM ? "rdm" : "dgram", ep->domain->nic.name,
			   (int) getpid());

#define GAMMA_STATS_PRINT(field, meaning)                                                \
	len += snprintf(line + len, LINE_MAX_LEN - (size_t) len, ",\"" #field "\":%llu", \
			(unsigned long long) stats->field);
	GAMMA_STATS_TABLE(GAMMA_STATS_PRINT)
#undef GAMMA_STATS_PRINT
	return len + snprintf(line + len, LINE_MAX_LEN - (size_t) len, "}\n");
}

/* One write, so that lines of several processes do not mix. */
void gamma_stats_report(struct gamma_fi_ep *ep)
{
	const char *where = gamma_settings.stats;
	char line[LINE_MAX_LEN], why[512];
	int len, fd;

	if (!where || gamma_progress_is_inherited(ep->domain))
		return;
	len = format_stats(ep, gamma_endpoint_stats(ep->endpoint), line);
	fd = strcmp(where, "stderr") ? open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
				     : STDERR_FILENO;
	if (fd < 0 || write(fd, line, (size_t) len) != len) {
		snprintf(why, sizeof(why),
			 "FI_GAMMA_STATS=%.160s cannot be written (%s); name a file in a folder "
			 "where this user may write, or stderr",
			 where, strerror(errno));
		gamma_select_explain(true, why);
	}
	if (fd >= 0 && fd != STDERR_FILENO)
		close(fd);
}
