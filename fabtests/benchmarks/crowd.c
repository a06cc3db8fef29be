// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-crowd: many endpoints that do little, to measure what they cost others on their host.
 *
 *   gamma-crowd -p PROVIDER -s [-e ENDPOINTS] [-d DOMAIN] [-a OWN_NODE] [-P PORT]
 *   gamma-crowd -p PROVIDER [-e ENDPOINTS] [-i MILLISECONDS] [-d DOMAIN] [-P PORT] SERVER
 *
 * The server has endpoints at PORT and on, the client as many; at each interval the next of them
 * sends a message of 64 bytes to its counterpart. Without an interval none is sent. Both print
 * "ready" and run until they are ended.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "bench_ep.h"

enum {
	ENDPOINTS_MAX = 1024,
	BYTES = 64,
	PORT = 7600,
	LOOK_MS = 10,
	TAG = 1,
	INTERVAL_MAX = 3600000 /* ms */
};

struct member {
	struct bench_ep endpoint;
	fi_addr_t peer;
	char message[BYTES];
};

struct options {
	const char *provider, *domain, *node;
	bool server;
	unsigned endpoints, port;
	unsigned interval; /* ms; 0: none is sent */
};

static void open_member(const struct options *o, struct member *member, unsigned number)
{
	char service[16];
	struct bench_ep_choice choice = {
		.provider = o->provider,
		.domain = o->domain,
		.node = o->node,
		.service = service,
		.flags = o->server ? FI_SOURCE : 0,
	};

	snprintf(service, sizeof(service), "%u", o->port + number);
	bench_ep_open(&member->endpoint, &choice);
	if (o->server)
		bench_ep_post(&member->endpoint, member->message, BYTES, TAG);
	else
		member->peer = bench_ep_insert(&member->endpoint, member->endpoint.info->dest_addr);
}

/* A receive is there again for each message that came. */
static void look(struct member *member)
{
	struct fi_cq_tagged_entry entry;

	while (fi_cq_read(member->endpoint.rx, &entry, 1) == 1)
		bench_ep_post(&member->endpoint, member->message, BYTES, TAG);
	fi_cq_read(member->endpoint.tx, NULL, 0);
}

static void go_on(const struct options *o, struct member *members)
{
	unsigned wait_ms = o->interval ? o->interval : LOOK_MS;
	struct timespec pause = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000l};

	for (unsigned round = 0;; round++) {
		struct member *member = &members[round % o->endpoints];

		if (o->interval && !o->server)
			bench_ep_send(&member->endpoint, member->peer, member->message, BYTES, TAG);
		look(member);
		nanosleep(&pause, NULL);
	}
}

static const char usage[] =
	"usage: gamma-crowd -p PROVIDER -s [-e ENDPOINTS] [-d DOMAIN] [-a OWN_NODE] [-P PORT]\n"
	"       gamma-crowd -p PROVIDER [-e ENDPOINTS] [-i MILLISECONDS] [-d DOMAIN] [-P PORT]\n"
	"                   SERVER\n";

int main(int argc, char **argv)
{
	struct options o = {.endpoints = 63, .port = PORT};
	struct member *members;
	const char *peer;
	int opt;

	command_usage = usage;
	while ((opt = command_option(argc, argv, "p:d:a:P:e:i:sh")) != -1) {
		switch (opt) {
		case 'p':
			o.provider = optarg;
			break;
		case 'd':
			o.domain = optarg;
			break;
		case 'a':
			o.node = optarg;
			break;
		case 'P':
			o.port = (unsigned) command_whole("-P", optarg, 1, UINT16_MAX);
			break;
		case 'e':
			o.endpoints = (unsigned) command_whole("-e", optarg, 1, ENDPOINTS_MAX);
			break;
		case 'i':
			o.interval = (unsigned) command_whole("-i", optarg, 0, INTERVAL_MAX);
			break;
		case 's':
			o.server = true;
			break;
		}
	}
	peer = command_peer(argc, argv, o.provider, o.server);
	if (peer)
		o.node = peer;
	members = calloc(o.endpoints, sizeof(*members));
	for (unsigned i = 0; members && i < o.endpoints; i++)
		open_member(&o, &members[i], i);
	puts("ready");
	fflush(stdout);
	go_on(&o, members);
}
