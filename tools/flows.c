// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-flows: a table of what the frames of a capture carry, per second and in all: the share of
 * data, acknowledgement, credit and retransmission, and the rate.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/about.h"
#include "base/live_line.h"
#include "base/options.h"
#include "base/variables.h"
#include "base/base.h"
#include "capture.h"
#include "traffic.h"
#include "wire/wire.h"

enum {
	EXIT_DAMAGED = 1,
	EXIT_USAGE = 2,
	SHOW_EACH = 10000, /* frames */
};

struct arguments {
	const char *file;
	double interval; /* s */
	unsigned long ethertype;
	bool json;
};

static void usage(FILE *to)
{
	fputs("usage: gamma-flows [--json] [--interval SECONDS] [--ethertype N] FILE.pcap\n"
	      "       gamma-flows --help | --version\n"
	      "  --interval SECONDS  length of the rows (default 1)\n"
	      "  --ethertype N       of GAMMA's frames (default FI_GAMMA_ETHERTYPE, else 0x88B5)\n"
	      "  --json              print JSON\n"
	      "See gamma-flows(1).\n",
	      to);
}

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *fmt, ...)
{
	va_list args;

	fputs("gamma-flows: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

/* ---- command line ---- */

static void read_ethertype(struct arguments *arguments, const char *name, const char *text)
{
	char *end;

	arguments->ethertype = strtoul(text, &end, 0);
	if (!*text || *end || arguments->ethertype < 0x600 || arguments->ethertype > 0xffff)
		fail("%s %s: must be an EtherType, 0x0600 to 0xFFFF", name,
		     gamma_printable(text).text);
}

static void read_interval(struct arguments *arguments, const char *text)
{
	char *end;

	arguments->interval = strtod(text, &end);
	if (!*text || *end || !(arguments->interval >= 1e-6 && arguments->interval <= 1e6))
		fail("--interval %s: must be a number of seconds from 0.000001 to 1000000",
		     gamma_printable(text).text);
}

static void read_command_line(struct arguments *arguments, int argc, char **argv)
{
	static const struct option options[] = {
		{"ethertype", required_argument, NULL, 'e'},
		{"interval", required_argument, NULL, 'i'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (option) {
		case 'e':
			read_ethertype(arguments, "--ethertype", optarg);
			break;
		case 'i':
			read_interval(arguments, optarg);
			break;
		case 'j':
			arguments->json = true;
			break;
		default:
			gamma_options_refuse(argv, option, options);
		}
	}
	if (argc - optind != 1)
		gamma_options_misuse("%s", argc == optind ? "a capture file is missing"
							  : "more than one file");
	arguments->file = argv[optind];
}

/* ---- the file ---- */

/* Files that cannot be mapped, such as pipes, are copied. */
static void *read_all(int fd, size_t *len)
{
	size_t size = 1 << 20;
	uint8_t *bytes = malloc(size);
	ssize_t ret = 0;

	*len = 0;
	while (bytes && (ret = read(fd, bytes + *len, size - *len)) > 0) {
		*len += (size_t) ret;
		if (*len == size)
			bytes = realloc(bytes, size *= 2);
	}
	if (!bytes)
		errno = ENOMEM;
	return ret < 0 ? NULL : bytes;
}

static const void *load(const char *file, size_t *len)
{
	int fd = strcmp(file, "-") ? open(file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	void *bytes = MAP_FAILED;
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		fail("%s: %s", file, strerror(errno));
	*len = (size_t) status.st_size;
	if (S_ISREG(status.st_mode) && *len)
		bytes = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		bytes = read_all(fd, len);
	if (!bytes)
		fail("%s: %s", file, strerror(errno));
	return bytes;
}

/* ---- output ---- */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double) part / (double) whole : 0;
}

/* Mbit/s over a time in s. */
static double rate(const struct traffic_counts *counts, double duration)
{
	return duration > 0 ? (double) counts->bytes * 8 / 1e6 / duration : 0;
}

static void print_row(const char *name, const struct traffic_counts *counts, double duration)
{
	printf("%10s %10llu %13llu %9.3f %7.2f %7.2f %9.2f %9.2f\n", name,
	       (unsigned long long) counts->frames, (unsigned long long) counts->bytes,
	       rate(counts, duration), percent(counts->data, counts->frames),
	       percent(counts->acks, counts->frames), percent(counts->credits, counts->frames),
	       percent(counts->retransmissions, counts->data));
}

/* From the first frame to the last, s. */
static double duration_of(const struct traffic *traffic)
{
	return (double) (traffic->last - traffic->first) / 1e9;
}

static void print_table(const struct traffic *traffic)
{
	double interval = (double) traffic->interval / 1e9;
	char name[32];

	printf("%10s %10s %13s %9s %7s %7s %9s %9s\n", "second", "packets", "bytes", "Mbit/s",
	       "data %", "ack %", "credit %", "resent %");
	for (size_t i = 0; i < traffic->interval_count; i++) {
		snprintf(name, sizeof(name), "%.9g",
			 (double) traffic->intervals[i].number * interval);
		print_row(name, &traffic->intervals[i].counts, interval);
	}
	print_row("all", &traffic->all, duration_of(traffic));
	printf("%.6f s from the first packet to the last", duration_of(traffic));
	if (traffic->others)
		printf("; %llu packets of other protocols", (unsigned long long) traffic->others);
	if (traffic->malformed)
		printf("; %llu malformed ones", (unsigned long long) traffic->malformed);
	if (traffic->unread)
		printf("; %llu more were captured in one with others and cut off: capture without "
		       "-s",
		       (unsigned long long) traffic->unread);
	putchar('\n');
}

static void print_json_counts(const struct traffic_counts *counts, double duration)
{
	printf("\"packets\": %llu, \"bytes\": %llu, \"mbit_per_s\": %.6f, \"data\": %llu, "
	       "\"ack\": %llu, \"credit\": %llu, \"retransmission\": %llu}",
	       (unsigned long long) counts->frames, (unsigned long long) counts->bytes,
	       rate(counts, duration), (unsigned long long) counts->data,
	       (unsigned long long) counts->acks, (unsigned long long) counts->credits,
	       (unsigned long long) counts->retransmissions);
}

static void print_json(const struct traffic *traffic, const char *error)
{
	double interval = (double) traffic->interval / 1e9;

	printf("{\"interval_s\": %.9g, \"complete\": %s,\n \"rows\": [", interval,
	       error ? "false" : "true");
	for (size_t i = 0; i < traffic->interval_count; i++) {
		printf("%s\n  {\"second\": %.9g, ", i ? "," : "",
		       (double) traffic->intervals[i].number * interval);
		print_json_counts(&traffic->intervals[i].counts, interval);
	}
	printf("],\n \"all\": {\"seconds\": %.9f, ", duration_of(traffic));
	print_json_counts(&traffic->all, duration_of(traffic));
	printf(",\n \"other_packets\": %llu, \"malformed_packets\": %llu, \"cut_off_packets\": "
	       "%llu}\n",
	       (unsigned long long) traffic->others, (unsigned long long) traffic->malformed,
	       (unsigned long long) traffic->unread);
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.interval = 1, .ethertype = GAMMA_ETHERTYPE};
	const char *ethertype = getenv("FI_GAMMA_ETHERTYPE");
	struct capture_frame frame;
	struct traffic traffic = {0};
	struct capture capture;
	const void *bytes;
	char why[256];
	size_t len, count = 0;

	gamma_about_answer(argc, argv, usage);
	if (gamma_variables_check(why, sizeof(why)))
		fail("%s", why);
	if (ethertype)
		read_ethertype(&arguments, "FI_GAMMA_ETHERTYPE", ethertype);
	read_command_line(&arguments, argc, argv);
	traffic.ethertype = (uint16_t) arguments.ethertype;
	traffic.interval = (uint64_t) (arguments.interval * 1e9 + 0.5);
	bytes = load(arguments.file, &len);
	if (!capture_begin(&capture, bytes, len))
		fail("%s %s", arguments.file, capture.error);
	while (capture_next(&capture, &frame)) {
		if (!traffic_add(&traffic, &frame))
			fail("out of memory");
		if (++count % SHOW_EACH == 0)
			gamma_live_line_show("%.0f %% of %s", percent(capture.at, capture.len),
					     arguments.file);
	}
	gamma_live_line_end();
	if (capture.error && !traffic.all.frames)
		fail("%s %s", arguments.file, capture.error);
	if (arguments.json)
		print_json(&traffic, capture.error);
	else
		print_table(&traffic);
	traffic_end(&traffic);
	fflush(stdout);
	if (capture.error)
		fprintf(stderr, "gamma-flows: %s %s; what stands before that is counted\n",
			arguments.file, capture.error);
	return capture.error ? EXIT_DAMAGED : 0;
}
