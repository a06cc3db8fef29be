// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-stat: what the endpoints of this host do, live: a line for each, by its counters. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/about.h"
#include "base/base.h"
#include "base/mac.h"
#include "stat_read.h"

enum { EXIT_USAGE = 2 };

struct arguments {
	double interval;     /* s */
	unsigned long count; /* of reports; 0: until interrupted */
	bool json;
};

static volatile sig_atomic_t interrupted;

static void usage(FILE *to)
{
	fputs("usage: gamma-stat [--interval SECONDS] [--count N] [--json]\n"
	      "       gamma-stat --help | --version\n"
	      "  --count N           end after N reports; 0: go on (default 0 on a terminal, else "
	      "1)\n"
	      "  --interval SECONDS  between two reports (default 1)\n"
	      "  --json              print an object in JSON for each report\n"
	      "See gamma-stat(8).\n",
	      to);
}

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("gamma-stat: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

/* ---- command line ---- */

static double number(const char *option, const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (!*text || *end || !(value >= min && value <= max))
		fail("--%s %s: must be a number from %.12g to %.12g", option,
		     gamma_printable(text).text, min, max);
	return value;
}

static void read_command_line(struct arguments *arguments, int argc, char **argv)
{
	static const struct option options[] = {
		{"count", required_argument, NULL, 'c'},
		{"interval", required_argument, NULL, 'i'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	int option;

	gamma_about_answer(argc, argv, usage);
	argv[0] = (char *) "gamma-stat";
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			arguments->count = (unsigned long) number("count", optarg, 0, 1e9);
			break;
		case 'i':
			arguments->interval = number("interval", optarg, 0.1, 86400);
			break;
		case 'j':
			arguments->json = true;
			break;
		default:
			usage(stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "gamma-stat: '%s' is one word too many\n", argv[optind]);
		usage(stderr);
		exit(EXIT_USAGE);
	}
}

/* ---- from counters to rates ---- */

/* What an endpoint has counted since the report before; of one that is new, all that it has. */
struct change {
	const struct stat_endpoint *endpoint;
	struct gamma_stats stats;
	double seconds; /* between the two copies that its process has made */
};

/* The same endpoint in another report; NULL: it is not there. */
static const struct stat_endpoint *find(const struct stat_list *list,
					const struct stat_endpoint *endpoint)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct stat_endpoint *other = &list->endpoint[i];

		if (other->inode == endpoint->inode && other->pid == endpoint->pid &&
		    !memcmp(&other->page.addr, &endpoint->page.addr, sizeof(struct gamma_addr)))
			return other;
	}
	return NULL;
}

static void compare(const struct stat_list *before, const struct stat_endpoint *endpoint,
		    double interval, struct change *change)
{
	const struct stat_endpoint *then = find(before, endpoint);

	*change = (struct change){
		.endpoint = endpoint, .stats = endpoint->page.stats, .seconds = interval};
	if (!then)
		return;
#define SUBTRACT(field, meaning) change->stats.field -= then->page.stats.field;
	GAMMA_STATS_TABLE(SUBTRACT)
#undef SUBTRACT
}

static double rate(const struct change *change, uint64_t count)
{
	return (double) count / change->seconds;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double) part / (double) whole : 0;
}

/* Messages sent by any way. */
static uint64_t sent_by_all(const struct gamma_stats *stats)
{
	return stats->tx_self + stats->tx_shm_inline + stats->tx_shm_rndv + stats->tx_direct +
	       stats->tx_coalesced + stats->tx_queued;
}

/* ---- a table ---- */

static const char *user_name(uid_t uid, char text[STAT_TEXT_LEN])
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(text, STAT_TEXT_LEN, "%s", user->pw_name);
	else
		snprintf(text, STAT_TEXT_LEN, "%u", uid);
	return text;
}

static void print_head(void)
{
	printf("%-8s %7s %-15s %-8s %-8s %5s %5s %9s %9s %8s %8s %8s %7s %7s %7s %5s %5s\n", "USER",
	       "PID", "COMMAND", "JOB", "NIC", "PORT", "PEERS", "OUT msg/s", "IN msg/s", "OUT Mb/s",
	       "IN Mb/s", "FRAMES/s", "RESENT", "DROPS", "STALLS", "SHM%", "COAL%");
}

static void print_change(const struct change *change)
{
	const struct stat_endpoint *endpoint = change->endpoint;
	const struct gamma_stats *stats = &change->stats;
	const uint64_t sent = sent_by_all(stats);
	char user[STAT_TEXT_LEN];

	printf("%-8.8s %7d %-15.15s %-8.8s %-8.8s %5u %5u %9.0f %9.0f %8.1f %8.1f %8.0f %7llu "
	       "%7llu %7llu %5.0f %5.0f\n",
	       user_name(endpoint->uid, user), endpoint->pid, endpoint->command,
	       endpoint->job[0] ? endpoint->job : "-", endpoint->page.nic,
	       ntohs(endpoint->page.addr.port), endpoint->page.flows,
	       rate(change, stats->messages_out + stats->datagrams_out),
	       rate(change, stats->messages_in + stats->datagrams_in),
	       rate(change, stats->bytes_out) * 8 / 1e6, rate(change, stats->bytes_in) * 8 / 1e6,
	       rate(change, stats->frames_out + stats->frames_in),
	       (unsigned long long) stats->retransmissions, (unsigned long long) stats->ring_drops,
	       (unsigned long long) stats->credit_stalls,
	       percent(stats->tx_shm_inline + stats->tx_shm_rndv, sent),
	       percent(stats->tx_coalesced, sent));
}

static void print_notes(const struct stat_list *now)
{
	if (!now->count)
		printf("no endpoints%s\n", now->hidden ? " of this user" : "");
	if (now->other_releases)
		printf("%u endpoints of another release are left out\n", now->other_releases);
}

static void print_table(const struct stat_list *before, const struct stat_list *now,
			double interval)
{
	if (isatty(STDOUT_FILENO))
		fputs("\x1b[H\x1b[J", stdout); /* to the top, on an empty screen */
	print_head();
	for (size_t i = 0; i < now->count; i++) {
		struct change change;

		compare(before, &now->endpoint[i], interval, &change);
		print_change(&change);
	}
	print_notes(now);
	fflush(stdout);
}

/* ---- JSON ---- */

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

static void print_json_change(const struct change *change)
{
	const struct stat_endpoint *endpoint = change->endpoint;
	const struct gamma_stats *stats = &change->stats;
	char mac[GAMMA_MAC_TEXT_LEN], user[STAT_TEXT_LEN];

	printf("{\"pid\": %d", endpoint->pid);
	print_text("user", user_name(endpoint->uid, user));
	print_text("command", endpoint->command);
	print_text("job", endpoint->job);
	print_text("nic", endpoint->page.nic);
	print_text("mac", gamma_mac_format(endpoint->page.addr.mac, mac));
	printf(", \"port\": %u, \"epoch\": %u, \"type\": \"%s\", \"peers\": %u",
	       ntohs(endpoint->page.addr.port), ntohl(endpoint->page.addr.epoch),
	       endpoint->page.datagram ? "dgram" : "rdm", endpoint->page.flows);
	printf(", \"messages_out_per_s\": %.3f, \"messages_in_per_s\": %.3f, "
	       "\"mbit_out_per_s\": %.6f, \"mbit_in_per_s\": %.6f, \"counters\": {",
	       rate(change, stats->messages_out + stats->datagrams_out),
	       rate(change, stats->messages_in + stats->datagrams_in),
	       rate(change, stats->bytes_out) * 8 / 1e6, rate(change, stats->bytes_in) * 8 / 1e6);
	/* Of the endpoint since it was opened. */
#define PRINT(field, meaning) \
	printf("\"" #field "\": %llu, ", (unsigned long long) endpoint->page.stats.field);
	GAMMA_STATS_TABLE(PRINT)
#undef PRINT
	printf("\"age_ms\": %.3f}}", (double) (gamma_now() - endpoint->page.written) / 1e6);
}

static void print_json(const struct stat_list *before, const struct stat_list *now, double interval)
{
	printf("{\"interval_s\": %.6f, \"other_releases\": %u, \"endpoints\": [", interval,
	       now->other_releases);
	for (size_t i = 0; i < now->count; i++) {
		struct change change;

		compare(before, &now->endpoint[i], interval, &change);
		printf("%s", i ? ",\n " : "");
		print_json_change(&change);
	}
	printf("]}\n");
	fflush(stdout);
}

/* ---- all ---- */

static void on_signal(int signal_number)
{
	(void) signal_number;
	interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void wait_for(double seconds)
{
	struct timespec wait = {.tv_sec = (time_t) seconds};

	wait.tv_nsec = (long) ((seconds - (double) wait.tv_sec) * 1e9);
	nanosleep(&wait, NULL); /* a signal ends it */
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.interval = 1, .count = !isatty(STDOUT_FILENO)};
	struct stat_list before, now;
	uint64_t read_at, then;
	int ret;

	read_command_line(&arguments, argc, argv);
	catch_signals();
	then = gamma_now();
	ret = stat_read_all("/proc", &before);
	for (unsigned long i = 0; !ret && (!arguments.count || i < arguments.count); i++) {
		wait_for(arguments.interval);
		if (interrupted)
			break;
		read_at = gamma_now();
		ret = stat_read_all("/proc", &now);
		if (ret)
			break;
		(arguments.json ? print_json : print_table)(&before, &now,
							    (double) (read_at - then) / 1e9);
		stat_read_free(&before);
		before = now;
		then = read_at;
	}
	if (ret)
		fail("/proc cannot be read: %s", strerror(-ret));
	stat_read_free(&before);
	return 0;
}
