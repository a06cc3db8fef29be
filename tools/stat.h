/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by gamma-stat's files: command line and loop (stat.c), the pages (stat_read.c), what has
 * changed between two reports (stat_change.c), and the forms of output: a table, JSON, Prometheus's
 * text (stat_table.c, stat_json.c, stat_prometheus.c), and the sum of a job (stat_sum.c).
 */
#ifndef GAMMA_STAT_H
#define GAMMA_STAT_H

#include "stat_read.h"

enum { STAT_EXIT_USAGE = 2 };

/* Counts of an endpoint since the report before; of one that is new, all that it has. */
struct stat_change {
	const struct stat_endpoint *endpoint, *before; /* before NULL: it is new */
	struct gamma_stats stats;
	struct gamma_histogram round_trips;
	double seconds; /* between the two reports */
};

/* Two reports of the host's endpoints. */
struct stat_report {
	const struct stat_list *before, *now;
	double seconds;
};

/* stat.c: prints one line to standard error and exits. */
void stat_fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* stat_change.c */
void stat_change_make(const struct stat_report *report, const struct stat_endpoint *endpoint,
		      struct stat_change *change);
double stat_change_rate(const struct stat_change *change, uint64_t count);
/* The peer as the report before has it; NULL: it is new. */
const struct gamma_stats_peer *stat_change_peer_before(const struct stat_change *change,
						       const struct gamma_stats_peer *peer);
/* Messages sent by any path. */
uint64_t stat_change_sent(const struct gamma_stats *stats);
const char *stat_change_user(uid_t uid, char text[STAT_TEXT_LEN]);
/* "raw", "slot", "xdp", "udp", "shm", "self"; "?" */
const char *stat_change_path(uint32_t path);
/* A MAC address, or over UDP the IP address in its place. */
const char *stat_change_address(const struct gamma_addr *addr, char text[STAT_TEXT_LEN]);
/* The MAC address, or over UDP the pseudo MAC address. */
const char *stat_change_mac(const struct gamma_addr *addr, char text[STAT_TEXT_LEN]);

/* stat_table.c, stat_json.c, stat_prometheus.c */
void stat_table_print(const struct stat_report *report);
void stat_table_print_peers(const struct stat_report *report);
void stat_json_print(const struct stat_report *report);
void stat_prometheus_print(const struct stat_list *now);

/* stat_sum.c: one line of what the endpoints have written that FI_GAMMA_STATS names. */
void stat_sum_print(const char *file);

#endif /* GAMMA_STAT_H */
