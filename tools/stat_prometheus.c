// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The counters of this host's endpoints in Prometheus's text format, for the folder that
 * node_exporter reads. The families follow each other, each with a sample for each endpoint.
 */
#include "stat.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>

#include "base/base.h"

struct family {
	const char *name, *meaning;
	size_t at; /* in struct gamma_stats */
};

static const struct family families[] = {
#define FAMILY(field, meaning) {#field, meaning, offsetof(struct gamma_stats, field)},
	GAMMA_STATS_TABLE(FAMILY)
#undef FAMILY
};

/* As the format wants it: \\, \" are written so. Control characters are gone already. */
static void print_label(const char *name, const char *text)
{
	printf("%s=\"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_labels(const struct stat_endpoint *endpoint)
{
	char user[STAT_TEXT_LEN];

	putchar('{');
	print_label("user", stat_change_user(endpoint->uid, user));
	print_label(",job_id", endpoint->job);
	print_label(",command", endpoint->command);
	print_label(",nic", endpoint->page.nic);
	print_label(",via", stat_change_path(endpoint->page.path));
	printf(",pid=\"%d\",port=\"%u\"", endpoint->pid, ntohs(endpoint->page.addr.port));
}

static void print_family(const struct family *family, const struct stat_list *now)
{
	printf("# HELP gamma_%s_total %s\n# TYPE gamma_%s_total counter\n", family->name,
	       family->meaning, family->name);
	for (size_t i = 0; i < now->count; i++) {
		const char *stats = (const char *) &now->endpoint[i].page.stats;

		printf("gamma_%s_total", family->name);
		print_labels(&now->endpoint[i]);
		printf("} %llu\n", (unsigned long long) *(const uint64_t *) (stats + family->at));
	}
}

static void print_round_trips(const struct stat_list *now)
{
	static const unsigned percents[] = {50, 90, 99};

	printf("# HELP gamma_round_trip_seconds round trips of the network since the endpoint was "
	       "opened\n# TYPE gamma_round_trip_seconds gauge\n");
	for (size_t i = 0; i < now->count; i++) {
		const struct stat_endpoint *endpoint = &now->endpoint[i];

		for (unsigned p = 0; p < gamma_array_size(percents); p++) {
			printf("gamma_round_trip_seconds");
			print_labels(endpoint);
			printf(",quantile=\"0.%u\"} %.9f\n", percents[p],
			       (double) gamma_histogram_percentile(&endpoint->page.round_trips,
								   percents[p]) /
				       1e9);
		}
	}
}

static const struct family rail_families[] = {
	{"rail_frames_out", "frames that left by this one of several NICs",
	 offsetof(struct gamma_stats_rail, frames_out)},
	{"rail_bytes_out", "bytes of these", offsetof(struct gamma_stats_rail, bytes_out)},
	{"rail_retransmissions", "frames sent again by it",
	 offsetof(struct gamma_stats_rail, retransmissions)},
	{"rail_doubted", "times a flow ceased to use it",
	 offsetof(struct gamma_stats_rail, doubted)},
	{"rail_returned", "times a flow used it again",
	 offsetof(struct gamma_stats_rail, returned)},
};

static void print_rails(const struct family *family, const struct stat_endpoint *endpoint)
{
	const struct gamma_stats_page *page = &endpoint->page;

	for (uint32_t r = 0; r < page->rail_count; r++) {
		printf("gamma_%s_total", family->name);
		print_labels(endpoint);
		print_label(",rail", page->rails[r].nic);
		printf("} %llu\n",
		       (unsigned long long) *(const uint64_t *) ((const char *) &page->rails[r] +
								 family->at));
	}
}

static void print_rail_family(const struct family *family, const struct stat_list *now)
{
	printf("# HELP gamma_%s_total %s\n# TYPE gamma_%s_total counter\n", family->name,
	       family->meaning, family->name);
	for (size_t i = 0; i < now->count; i++)
		print_rails(family, &now->endpoint[i]);
}

void stat_prometheus_print(const struct stat_list *now)
{
	printf("# HELP gamma_peers peers that the endpoint has a flow with\n"
	       "# TYPE gamma_peers gauge\n");
	for (size_t i = 0; i < now->count; i++) {
		printf("gamma_peers");
		print_labels(&now->endpoint[i]);
		printf("} %u\n", now->endpoint[i].page.flows);
	}
	print_round_trips(now);
	for (unsigned i = 0; i < gamma_array_size(families); i++)
		print_family(&families[i], now);
	for (unsigned i = 0; i < gamma_array_size(rail_families); i++)
		print_rail_family(&rail_families[i], now);
	fflush(stdout);
}
