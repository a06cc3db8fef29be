// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-latency: ping-pong over any libfabric provider's reliable datagram endpoints, by GAMMA's
 * definition (message delay: half the round trip). Prints the median, so that a processor taken
 * away for a moment does not count; gamma-rawpacket prints the same of the floor.
 *
 *   gamma-latency -p PROVIDER -s [-d DOMAIN] [-a OWN_NODE] [-P PORT]          the server
 *   gamma-latency -p PROVIDER [-d DOMAIN] [-S SIZE] [-n N] [-w W] SERVER      the client
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "station.h"

enum { TAG_NAME = 1, TAG_PING = 2 };

struct options {
	const char *provider, *domain, *node, *port;
	bool server;
	size_t size;   /* bytes */
	unsigned long count, warm_up; /* round trips */
};

/* What the client tells first. */
struct hello {
	uint64_t size, count;
	uint64_t name_len;
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

static void serve(struct station *s)
{
	struct hello hello;
	char *in, *out;
	fi_addr_t peer;

	station_post(s, &hello, sizeof(hello), TAG_NAME);
	station_receive(s);
	peer = station_insert(s, hello.name);
	in = calloc(1, hello.size + 1);
	out = calloc(1, hello.size + 1);
	station_post(s, in, hello.size, TAG_PING);
	station_send(s, peer, "", 0, TAG_NAME);
	for (uint64_t i = 0; i < hello.count; i++) {
		station_receive(s);
		if (i + 1 < hello.count)
			station_post(s, in, hello.size, TAG_PING);
		station_send(s, peer, out, hello.size, TAG_PING);
	}
	free(in);
	free(out);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static void ask(const struct options *o, struct station *s)
{
	struct hello hello = {.size = o->size, .count = o->count + o->warm_up};
	uint64_t *times = calloc(o->count, sizeof(*times));
	char *in = calloc(1, o->size + 1), *out = calloc(1, o->size + 1);
	fi_addr_t peer = station_insert(s, s->info->dest_addr);
	uint64_t sum = 0;

	hello.name_len = station_name(s, hello.name);
	station_post(s, NULL, 0, TAG_NAME);
	station_send(s, peer, &hello, sizeof(hello), TAG_NAME);
	station_receive(s);
	for (uint64_t i = 0; i < hello.count; i++) {
		uint64_t begin;

		station_post(s, in, o->size, TAG_PING);
		begin = station_now();
		station_send(s, peer, out, o->size, TAG_PING);
		station_receive(s);
		if (i >= o->warm_up)
			sum += times[i - o->warm_up] = station_now() - begin;
	}
	qsort(times, o->count, sizeof(*times), compare);
	printf("# %6s %10s %10s %10s\n%8zu %10.3f %10.3f %10.3f\n", "bytes", "median us", "min us",
	       "mean us", o->size, (double) times[o->count / 2] / 2e3, (double) times[0] / 2e3,
	       (double) sum / (double) o->count / 2e3);
	free(times);
	free(in);
	free(out);
}

static void usage(void)
{
	fprintf(stderr, "usage: gamma-latency -p PROVIDER -s [-d DOMAIN] [-a OWN_NODE] [-P PORT]\n"
			"       gamma-latency -p PROVIDER [-d DOMAIN] [-P PORT] [-S BYTES] [-n COUNT]\n"
			"                     [-w WARM_UP] SERVER\n");
	exit(2);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text) {
		fprintf(stderr, "gamma-latency: '%s' is not a number\n", text);
		usage();
	}
	return value;
}

int main(int argc, char **argv)
{
	struct options o = {.port = "7411", .size = 64, .count = 20000, .warm_up = 2000};
	struct station s = {0};
	int opt;

	station_program = "gamma-latency";
	while ((opt = getopt(argc, argv, "p:d:a:P:S:n:w:s")) != -1) {
		switch (opt) {
		case 'p': o.provider = optarg; break;
		case 'd': o.domain = optarg; break;
		case 'a': o.node = optarg; break;
		case 'P': o.port = optarg; break;
		case 'S': o.size = number(optarg); break;
		case 'n': o.count = number(optarg); break;
		case 'w': o.warm_up = number(optarg); break;
		case 's': o.server = true; break;
		default: usage();
		}
	}
	if (!o.server && optind < argc)
		o.node = argv[optind];
	if (!o.provider || (!o.server && !o.node) || !o.count)
		usage();
	open_station(&o, &s);
	if (o.server)
		serve(&s);
	else
		ask(&o, &s);
	station_close(&s);
	return 0;
}
