// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-stat: what the endpoints of this host do, live: a line for each, by its counters. */
#include "stat.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/about.h"
#include "base/base.h"
#include "base/options.h"

struct arguments {
	double interval;     /* s */
	unsigned long count; /* of reports; 0: until interrupted */
	bool json, peers, prometheus;
	const char *sum; /* file, or NULL */
};

static volatile sig_atomic_t interrupted;

static void usage(FILE *to)
{
	fputs("usage: gamma-stat [--interval SECONDS] [--count N] [--peer | --json]\n"
	      "       gamma-stat --prometheus\n"
	      "       gamma-stat --sum FILE\n"
	      "       gamma-stat --help | --version\n"
	      "  --count N           end after N reports; 0: go on (default 0 on a terminal, else "
	      "1)\n"
	      "  --interval SECONDS  between two reports (default 1)\n"
	      "  --json              print an object in JSON for each report\n"
	      "  --peer              a line for each peer of each endpoint\n"
	      "  --prometheus        print all counters once, in Prometheus's text format\n"
	      "  --sum FILE          one line: the sum of what FI_GAMMA_STATS=FILE has collected\n"
	      "See gamma-stat(8).\n",
	      to);
}

void stat_fail(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("gamma-stat: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(STAT_EXIT_USAGE);
}

/* ---- command line ---- */

static double number(const char *option, const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (!*text || *end || !(value >= min && value <= max))
		stat_fail("--%s %s: must be a number from %.12g to %.12g", option,
			  gamma_printable(text).text, min, max);
	return value;
}

static unsigned long whole_number(const char *option, const char *text, double max)
{
	double value = number(option, text, 0, max);

	if (value != (double) (unsigned long) value)
		stat_fail("--%s %s: must be a whole number", option, gamma_printable(text).text);
	return (unsigned long) value;
}

static void read_command_line(struct arguments *arguments, int argc, char **argv)
{
	static const struct option options[] = {
		{"count", required_argument, NULL, 'c'},
		{"interval", required_argument, NULL, 'i'},
		{"json", no_argument, NULL, 'j'},
		{"peer", no_argument, NULL, 'p'},
		{"prometheus", no_argument, NULL, 'P'},
		{"sum", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	int option;

	gamma_about_answer(argc, argv, usage);
	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			arguments->count = whole_number("count", optarg, 1e9);
			break;
		case 'i':
			arguments->interval = number("interval", optarg, 0.1, 86400);
			break;
		case 'j':
			arguments->json = true;
			break;
		case 'p':
			arguments->peers = true;
			break;
		case 'P':
			arguments->prometheus = true;
			break;
		case 's':
			arguments->sum = optarg;
			break;
		default:
			gamma_options_refuse(argv, option, options);
		}
	}
	if (arguments->json + arguments->peers + arguments->prometheus + !!arguments->sum > 1)
		stat_fail("--json, --peer, --prometheus and --sum exclude each other");
	if (optind < argc)
		gamma_options_misuse("'%s' is one word too many",
				     gamma_printable(argv[optind]).text);
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

static void print_report(const struct arguments *arguments, const struct stat_report *report)
{
	if (arguments->json)
		stat_json_print(report);
	else if (arguments->peers)
		stat_table_print_peers(report);
	else
		stat_table_print(report);
}

static int report_again_and_again(const struct arguments *arguments)
{
	struct stat_list before, now;
	uint64_t then = gamma_now(), read_at;
	int ret = stat_read_all("/proc", &before);

	for (unsigned long i = 0; !ret && (!arguments->count || i < arguments->count); i++) {
		wait_for(arguments->interval);
		if (interrupted)
			break;
		read_at = gamma_now();
		ret = stat_read_all("/proc", &now);
		if (ret)
			break;
		print_report(arguments,
			     &(struct stat_report){.before = &before,
						   .now = &now,
						   .seconds = (double) (read_at - then) / 1e9});
		stat_read_free(&before);
		before = now;
		then = read_at;
	}
	stat_read_free(&before);
	return ret;
}

static int report_to_prometheus(void)
{
	struct stat_list now;
	int ret = stat_read_all("/proc", &now);

	if (!ret)
		stat_prometheus_print(&now);
	stat_read_free(&now);
	return ret;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.interval = 1, .count = !isatty(STDOUT_FILENO)};
	int ret;

	read_command_line(&arguments, argc, argv);
	if (arguments.sum) {
		stat_sum_print(arguments.sum);
		return 0;
	}
	catch_signals();
	ret = arguments.prometheus ? report_to_prometheus() : report_again_and_again(&arguments);
	if (ret)
		stat_fail("/proc cannot be read: %s", strerror(-ret));
	return 0;
}
