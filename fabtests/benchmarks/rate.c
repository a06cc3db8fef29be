// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-rate: a one-way stream of messages of one size over any libfabric provider's reliable
 * datagram endpoints: messages a second, and GAMMA's transmission throughput. The client posts
 * windows of sends and has at most two of them under way: the server, which has receives posted for
 * both, answers each with an empty message.
 *
 *   gamma-rate -p PROVIDER -s [-d DOMAIN] [-a OWN_NODE] [-P PORT]                  the server
 *   gamma-rate -p PROVIDER [-d DOMAIN] [-S SIZE] [-W WINDOW] [-n WINDOWS] SERVER   the client
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "station.h"

enum { TAG_NAME = 1, TAG_DATA = 2, TAG_DONE = 3 };
enum {
	AHEAD = 2,     /* windows under way */
	MOST = 64,     /* completions read at once */
	SLICES = 10,   /* the run is timed in so many parts; the median counts */
};

struct options {
	const char *provider, *domain, *node, *port;
	bool server;
	size_t size; /* bytes */
	unsigned long window, windows;
};

/* What the client tells first. */
struct hello {
	uint64_t size, window, windows;
	char name[STATION_NAME_MAX];
};

static void open_station(const struct options *o, struct station *s)
{
	struct station_choice choice = {
		.provider = o->provider,
		.domain = o->domain,
		.node = o->node,
		.service = o->node || o->server ? o->port : NULL,
		.flags = o->server ? FI_SOURCE : 0,
	};

	station_open(s, &choice);
}

/* So many completions, or fewer; the other queue is looked at when there are none. */
static uint64_t take(struct fid_cq *cq, struct fid_cq *other, uint64_t most)
{
	struct fi_cq_tagged_entry entries[MOST];
	ssize_t got = fi_cq_read(cq, entries, most < MOST ? most : MOST);

	if (got == -FI_EAGAIN) {
		fi_cq_read(other, NULL, 0);
		return 0;
	}
	if (got < 0)
		station_fail("completion", got);
	return (uint64_t) got;
}

static void serve(struct station *s)
{
	struct hello hello;
	uint64_t total, posted = 0, got = 0;
	fi_addr_t peer;
	char *in;

	station_post(s, &hello, sizeof(hello), TAG_NAME);
	station_receive(s);
	peer = station_insert(s, hello.name);
	in = calloc(1, hello.size + 1);
	total = hello.window * hello.windows;
	while (posted < total && posted < AHEAD * hello.window) {
		station_post(s, in, hello.size, TAG_DATA);
		posted++;
	}
	station_send(s, peer, "", 0, TAG_DONE);
	while (got < total) {
		uint64_t more = take(s->rx, s->tx, total - got);
		uint64_t answers = (got + more) / hello.window - got / hello.window;

		for (uint64_t i = 0; i < more && posted < total; i++, posted++)
			station_post(s, in, hello.size, TAG_DATA);
		got += more;
		while (answers--)
			station_send(s, peer, "", 0, TAG_DONE);
	}
	free(in);
}

static void send_window(struct station *s, fi_addr_t peer, const char *out, const struct hello *h)
{
	uint64_t sent = 0;

	for (uint64_t i = 0; i < h->window; i++)
		station_begin_send(s, peer, out, h->size, TAG_DATA);
	while (sent < h->window)
		sent += take(s->tx, s->rx, h->window - sent);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Answers are waited for one window late, and all of them at the end of a part. */
static double run(struct station *s, fi_addr_t peer, const char *out, const struct hello *h,
		  uint64_t windows)
{
	uint64_t begin = station_now();

	for (uint64_t i = 0; i < windows; i++) {
		station_post(s, NULL, 0, TAG_DONE);
		send_window(s, peer, out, h);
		if (i + 1 >= AHEAD)
			station_receive(s);
	}
	station_receive(s);
	return (double) (station_now() - begin);
}

static void ask(const struct options *o, struct station *s)
{
	uint64_t part = o->windows / (SLICES + 1) + 2;
	struct hello hello = {
		.size = o->size, .window = o->window, .windows = part * (SLICES + 1)};
	fi_addr_t peer = station_insert(s, s->info->dest_addr);
	char *out = calloc(1, o->size + 1);
	double ns[SLICES], each;

	station_name(s, hello.name);
	station_post(s, NULL, 0, TAG_DONE);
	station_send(s, peer, &hello, sizeof(hello), TAG_NAME);
	station_receive(s);
	run(s, peer, out, &hello, part);
	for (int i = 0; i < SLICES; i++)
		ns[i] = run(s, peer, out, &hello, part);
	qsort(ns, SLICES, sizeof(*ns), compare);
	each = ns[SLICES / 2] / (double) (part * o->window);
	printf("# %6s %8s %12s %12s %12s\n%8zu %8lu %12.1f %12.3f %12.1f\n", "bytes", "window",
	       "messages/s", "us each", "MB/s", o->size, o->window, 1e9 / each, each / 1e3,
	       (double) o->size / each * 1e3);
	free(out);
}

static void usage(void)
{
	fprintf(stderr, "usage: gamma-rate -p PROVIDER -s [-d DOMAIN] [-a OWN_NODE] [-P PORT]\n"
			"       gamma-rate -p PROVIDER [-d DOMAIN] [-P PORT] [-S BYTES] [-W WINDOW]\n"
			"                  [-n WINDOWS] SERVER\n");
	exit(2);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text) {
		fprintf(stderr, "gamma-rate: '%s' is not a number\n", text);
		usage();
	}
	return value;
}

int main(int argc, char **argv)
{
	struct options o = {.port = "7412", .size = 8, .window = 64, .windows = 20000};
	struct station s = {0};
	int opt;

	station_program = "gamma-rate";
	while ((opt = getopt(argc, argv, "p:d:a:P:S:W:n:s")) != -1) {
		switch (opt) {
		case 'p': o.provider = optarg; break;
		case 'd': o.domain = optarg; break;
		case 'a': o.node = optarg; break;
		case 'P': o.port = optarg; break;
		case 'S': o.size = number(optarg); break;
		case 'W': o.window = number(optarg); break;
		case 'n': o.windows = number(optarg); break;
		case 's': o.server = true; break;
		default: usage();
		}
	}
	if (!o.server && optind < argc)
		o.node = argv[optind];
	if (!o.provider || (!o.server && !o.node) || !o.window || !o.windows)
		usage();
	open_station(&o, &s);
	if (o.server)
		serve(&s);
	else
		ask(&o, &s);
	station_close(&s);
	return 0;
}
