// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-startup: what a process of a large job pays before its first message: finding the provider,
 * opening an endpoint, inserting the addresses of all peers. Prints a line of JSON.
 *
 *   gamma-startup -p PROVIDER [-d DOMAIN] [-a OWN_NODE] [-n ADDRESSES]
 *
 * The addresses are the own one with another port number each, so that no peer has to be there.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "bench_ep.h"

enum { ADDRESSES_MAX = 60000 };

/* Where in an address the port is, bytes: gamma's own format, else that of the Internet. */
enum { PORT_GAMMA = 6, PORT_INTERNET = 2 };

static char *make_addresses(struct bench_ep *s, const char *provider, unsigned count, size_t *len)
{
	size_t port = strcmp(provider, "gamma") ? PORT_INTERNET : PORT_GAMMA;
	char own[BENCH_EP_NAME_MAX], *all;

	*len = bench_ep_name(s, own);
	all = malloc(count * *len);
	for (unsigned i = 0; all && i < count; i++) {
		memcpy(all + i * *len, own, *len);
		all[i * *len + port] = (char) (1 + i / 256);
		all[i * *len + port + 1] = (char) (i % 256);
	}
	return all;
}

static double ms(uint64_t since)
{
	return (double) (bench_ep_now() - since) / 1e6;
}

int main(int argc, char **argv)
{
	struct bench_ep_choice choice = {.provider = NULL};
	unsigned count = 1000;
	struct bench_ep s;
	double opened, inserted, closed, memory;
	char *addresses;
	fi_addr_t *handles;
	uint64_t begin;
	size_t len;
	int opt;

	command_usage =
		"usage: gamma-startup -p PROVIDER [-d DOMAIN] [-a OWN_NODE] [-n ADDRESSES]\n";
	while ((opt = command_option(argc, argv, "p:d:a:n:h")) != -1) {
		switch (opt) {
		case 'p':
			choice.provider = optarg;
			break;
		case 'd':
			choice.domain = optarg;
			break;
		case 'a':
			choice.node = optarg;
			choice.flags = FI_SOURCE;
			break;
		case 'n':
			count = (unsigned) command_whole("-n", optarg, 1, ADDRESSES_MAX);
			break;
		}
	}
	command_end(argc, argv);
	if (!choice.provider)
		command_misuse("-p PROVIDER is missing");
	begin = bench_ep_now();
	bench_ep_open(&s, &choice);
	opened = ms(begin);
	addresses = make_addresses(&s, choice.provider, count, &len);
	handles = calloc(count, sizeof(*handles));
	if (!addresses || !handles)
		bench_ep_fail("memory", -12);
	memory = bench_ep_memory();
	begin = bench_ep_now();
	if (fi_av_insert(s.av, addresses, count, handles, 0, NULL) != (int) count)
		bench_ep_fail("fi_av_insert", -22);
	inserted = ms(begin);
	memory = bench_ep_memory() - memory;
	begin = bench_ep_now();
	bench_ep_close(&s);
	closed = ms(begin);
	printf("{\"tool\":\"gamma-startup\",\"provider\":\"%s\",\"addresses\":%u,\"open_ms\":%.3f,"
	       "\"insert_ms\":%.3f,\"close_ms\":%.3f,\"bytes_an_address\":%.0f}\n",
	       choice.provider, count, opened, inserted, closed, memory / count);
	free(addresses);
	free(handles);
	return 0;
}
