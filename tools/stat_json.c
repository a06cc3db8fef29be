// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-stat's reports for programs: an object in JSON for each. */
#include "stat.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/base.h"

static void print_text(const char *name, const char *text)
{
	printf(", \"%s\": \"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_peers(const struct gamma_stats_page *page)
{
	char address[STAT_TEXT_LEN];

	printf(", \"peer_list\": [");
	for (uint32_t i = 0; i < page->peer_count; i++) {
		const struct gamma_stats_peer *peer = &page->peers[i];

		printf("%s{\"address\": \"%s\", \"port\": %u, \"via\": \"%s\", "
		       "\"frames_out\": %u, \"frames_in\": %u, \"in_flight\": %u, "
		       "\"credit\": %u, \"mtu\": %u, \"rtt_us\": %.3f, \"rtt_min_us\": %.3f}",
		       i ? ", " : "", stat_change_address(&peer->addr, address),
		       ntohs(peer->addr.port), stat_change_path(peer->path), peer->frames_out,
		       peer->frames_in, peer->in_flight, peer->credit, peer->mtu,
		       (double) peer->rtt / 1e3, (double) peer->rtt_min / 1e3);
	}
	putchar(']');
}

/* Of several NICs, since the endpoint was opened. */
static void print_rails(const struct gamma_stats_page *page)
{
	printf(", \"rails\": [");
	for (uint32_t r = 0; r < page->rail_count; r++) {
		const struct gamma_stats_rail *rail = &page->rails[r];

		printf("%s{\"number\": %u", r ? ", " : "", r);
		print_text("nic", rail->nic);
		printf(", \"frames_out\": %llu, \"bytes_out\": %llu, \"retransmissions\": %llu, "
		       "\"doubted\": %llu, \"returned\": %llu, \"rtt_min_us\": %.3f}",
		       (unsigned long long) rail->frames_out, (unsigned long long) rail->bytes_out,
		       (unsigned long long) rail->retransmissions,
		       (unsigned long long) rail->doubted, (unsigned long long) rail->returned,
		       (double) rail->round_trip / 1e3);
	}
	putchar(']');
}

/* us; 0: no round trip was measured in that time. */
static void print_round_trips(const struct gamma_histogram *round_trips)
{
	static const unsigned percents[] = {50, 90, 99};

	printf(", \"round_trip_us\": {");
	for (unsigned i = 0; i < gamma_array_size(percents); i++)
		printf("%s\"p%u\": %.3f", i ? ", " : "", percents[i],
		       (double) gamma_histogram_percentile(round_trips, percents[i]) / 1e3);
	putchar('}');
}

static void print_identity(const struct stat_endpoint *endpoint)
{
	const struct gamma_stats_page *page = &endpoint->page;
	char mac[STAT_TEXT_LEN], user[STAT_TEXT_LEN], address[STAT_TEXT_LEN];

	printf("{\"pid\": %d", endpoint->pid);
	print_text("user", stat_change_user(endpoint->uid, user));
	print_text("command", endpoint->command);
	print_text("job", endpoint->job);
	print_text("nic", page->nic);
	print_text("via", stat_change_path(page->path));
	print_text("mac", stat_change_mac(&page->addr, mac));
	print_text("address", stat_change_address(&page->addr, address));
	printf(", \"port\": %u, \"epoch\": %u, \"type\": \"%s\", \"peers\": %u",
	       ntohs(page->addr.port), ntohl(page->addr.epoch), page->datagram ? "dgram" : "rdm",
	       page->flows);
}

static void print_change(const struct stat_change *change)
{
	const struct stat_endpoint *endpoint = change->endpoint;
	const struct gamma_stats *stats = &change->stats;

	print_identity(endpoint);
	printf(", \"messages_out_per_s\": %.3f, \"messages_in_per_s\": %.3f, "
	       "\"mbit_out_per_s\": %.6f, \"mbit_in_per_s\": %.6f",
	       stat_change_rate(change, stats->messages_out + stats->datagrams_out),
	       stat_change_rate(change, stats->messages_in + stats->datagrams_in),
	       stat_change_rate(change, stats->bytes_out) * 8 / 1e6,
	       stat_change_rate(change, stats->bytes_in) * 8 / 1e6);
	print_round_trips(&change->round_trips);
	print_rails(&endpoint->page);
	print_peers(&endpoint->page);
	printf(", \"counters\": {");
	/* Of the endpoint since it was opened. */
#define PRINT(field, meaning) \
	printf("\"" #field "\": %llu, ", (unsigned long long) endpoint->page.stats.field);
	GAMMA_STATS_TABLE(PRINT)
#undef PRINT
	printf("\"age_ms\": %.3f}}", (double) (gamma_now() - endpoint->page.written) / 1e6);
}

void stat_json_print(const struct stat_report *report)
{
	printf("{\"interval_s\": %.6f, \"other_releases\": %u, \"endpoints\": [", report->seconds,
	       report->now->other_releases);
	for (size_t i = 0; i < report->now->count; i++) {
		struct stat_change change;

		stat_change_make(report, &report->now->endpoint[i], &change);
		printf("%s", i ? ",\n " : "");
		print_change(&change);
	}
	printf("]}\n");
	fflush(stdout);
}
