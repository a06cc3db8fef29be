// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-stat's tables: a line for each endpoint, or for each peer of each. */
#include "stat.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/mac.h"

static void begin(void)
{
	if (isatty(STDOUT_FILENO))
		fputs("\x1b[H\x1b[J", stdout); /* to the top, on an empty screen */
}

static void end(const struct stat_list *now)
{
	if (!now->count)
		printf("no endpoints%s\n", now->hidden ? " of this user" : "");
	if (now->other_releases)
		printf("%u endpoints of another release are left out\n", now->other_releases);
	fflush(stdout);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double) part / (double) whole : 0;
}

/* us, "-" if there is none. */
static const char *time_text(uint64_t ns, char text[STAT_TEXT_LEN])
{
	if (!ns)
		return "-";
	snprintf(text, STAT_TEXT_LEN, "%.1f", (double) ns / 1e3);
	return text;
}

/* ---- endpoints ---- */

static void print_head(void)
{
	printf("%-8s %7s %-15s %-8s %-8s %-4s %5s %5s %9s %9s %8s %8s %8s %6s %6s %6s %7s %7s %5s "
	       "%5s\n",
	       "USER", "PID", "COMMAND", "JOB", "NIC", "VIA", "PORT", "PEERS", "OUT msg/s",
	       "IN msg/s", "OUT Mb/s", "IN Mb/s", "FRAMES/s", "RESENT", "DROPS", "STALLS", "RTT50",
	       "RTT99", "SHM%", "COAL%");
}

static void print_counts(const struct stat_change *change)
{
	const struct gamma_stats *stats = &change->stats;
	const uint64_t sent = stat_change_sent(stats);
	char median[STAT_TEXT_LEN], slow[STAT_TEXT_LEN];

	printf("%9.0f %9.0f %8.1f %8.1f %8.0f %6llu %6llu %6llu %7s %7s %5.0f %5.0f\n",
	       stat_change_rate(change, stats->messages_out + stats->datagrams_out),
	       stat_change_rate(change, stats->messages_in + stats->datagrams_in),
	       stat_change_rate(change, stats->bytes_out) * 8 / 1e6,
	       stat_change_rate(change, stats->bytes_in) * 8 / 1e6,
	       stat_change_rate(change, stats->frames_out + stats->frames_in),
	       (unsigned long long) stats->retransmissions, (unsigned long long) stats->ring_drops,
	       (unsigned long long) stats->credit_stalls,
	       time_text(gamma_histogram_percentile(&change->round_trips, 50), median),
	       time_text(gamma_histogram_percentile(&change->round_trips, 99), slow),
	       percent(stats->tx_shm_inline + stats->tx_shm_rndv, sent),
	       percent(stats->tx_coalesced, sent));
}

static void print_change(const struct stat_change *change)
{
	const struct stat_endpoint *endpoint = change->endpoint;
	char user[STAT_TEXT_LEN];

	printf("%-8.8s %7d %-15.15s %-8.8s %-8.8s %-4s %5u %5u ",
	       stat_change_user(endpoint->uid, user), endpoint->pid, endpoint->command,
	       endpoint->job[0] ? endpoint->job : "-", endpoint->page.nic,
	       stat_change_path(endpoint->page.path), ntohs(endpoint->page.addr.port),
	       endpoint->page.flows);
	print_counts(change);
}

/* A line for each of several NICs. The first one has sent all frames that left by no other. */
static void print_rails(const struct stat_change *change)
{
	const struct gamma_stats_page *page = &change->endpoint->page;
	const struct gamma_stats_page *before = change->before ? &change->before->page : NULL;
	char rtt[STAT_TEXT_LEN];

	for (uint32_t r = 0; r < page->rail_count; r++) {
		const struct gamma_stats_rail *rail = &page->rails[r];
		uint64_t bytes = rail->bytes_out - (before ? before->rails[r].bytes_out : 0);

		printf("  %-15s ", rail->nic);
		if (r)
			printf("%8.1f Mb/s out", stat_change_rate(change, bytes) * 8 / 1e6);
		else
			printf("%18s", "all others");
		printf(", resent %llu, ceased %llu and resumed %llu times, shortest RTT %s\n",
		       (unsigned long long) rail->retransmissions,
		       (unsigned long long) rail->doubted, (unsigned long long) rail->returned,
		       time_text(rail->round_trip, rtt));
	}
}

void stat_table_print(const struct stat_report *report)
{
	begin();
	print_head();
	for (size_t i = 0; i < report->now->count; i++) {
		struct stat_change change;

		stat_change_make(report, &report->now->endpoint[i], &change);
		print_change(&change);
		print_rails(&change);
	}
	end(report->now);
}

/* ---- peers ---- */

/* Of the widest address of a peer: IPv6 has up to 39 characters. */
static int address_width(const struct stat_list *list)
{
	char address[STAT_TEXT_LEN];
	size_t width = GAMMA_MAC_TEXT_LEN - 1;

	for (size_t i = 0; i < list->count; i++)
		for (uint32_t j = 0; j < list->endpoint[i].page.peer_count; j++)
			width = gamma_max(width,
					  strlen(stat_change_address(
						  &list->endpoint[i].page.peers[j].addr, address)));
	return (int) width;
}

static void print_peer(const struct stat_change *change, const struct gamma_stats_peer *peer,
		       int width)
{
	const struct gamma_stats_peer *before = stat_change_peer_before(change, peer);
	const struct stat_endpoint *endpoint = change->endpoint;
	char address[STAT_TEXT_LEN], rtt[STAT_TEXT_LEN], least[STAT_TEXT_LEN];

	printf("%7d %-15.15s %5u %-*s %5u %-4s %10.0f %10.0f %6u %6u %5u %8s %8s\n", endpoint->pid,
	       endpoint->command, ntohs(endpoint->page.addr.port), width,
	       stat_change_address(&peer->addr, address), ntohs(peer->addr.port),
	       stat_change_path(peer->path),
	       stat_change_rate(change, peer->frames_out - (before ? before->frames_out : 0)),
	       stat_change_rate(change, peer->frames_in - (before ? before->frames_in : 0)),
	       peer->in_flight, peer->credit, peer->mtu, time_text(peer->rtt, rtt),
	       time_text(peer->rtt_min, least));
}

static void print_endpoint_peers(const struct stat_change *change, int width)
{
	const struct gamma_stats_page *page = &change->endpoint->page;

	for (uint32_t i = 0; i < page->peer_count; i++)
		print_peer(change, &page->peers[i], width);
	if (page->flows > page->peer_count)
		printf("%7d %-15.15s %5u and %u more\n", change->endpoint->pid,
		       change->endpoint->command, ntohs(page->addr.port),
		       page->flows - page->peer_count);
}

void stat_table_print_peers(const struct stat_report *report)
{
	int width = address_width(report->now);

	begin();
	printf("%7s %-15s %5s %-*s %5s %-4s %10s %10s %6s %6s %5s %8s %8s\n", "PID", "COMMAND",
	       "PORT", width, "PEER", "PORT", "VIA", "OUT data/s", "IN data/s", "FLIGHT", "CREDIT",
	       "MTU", "RTT us", "MIN us");
	for (size_t i = 0; i < report->now->count; i++) {
		struct stat_change change;

		stat_change_make(report, &report->now->endpoint[i], &change);
		print_endpoint_peers(&change, width);
	}
	end(report->now);
}
