// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-ports: messages to active ports of the gamma provider. How long one takes to and fro, from
 * handler to handler; and how many a receiver handles in a second, beside as many that it takes
 * from receives that it has posted. The receiver reads all bytes of each.
 *
 *   gamma-ports -p gamma -s [-d DOMAIN] [-a OWN_NODE] [-P PORT]                   the server
 *   gamma-ports -p gamma [-m MODE] [-d DOMAIN] [-P PORT] [-S BYTES] [-n N] [-w W] SERVER
 *
 * MODE: latency (default), handled, received. Prints a line of JSON.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "bench_ep.h"
#include "command.h"
#include "rdma/fi_ext_gamma.h"

enum { PORT_HELLO = 1, PORT_READY, PORT_PING, PORT_DATA };
enum { BYTES_MAX = 16384, COUNT_MAX = 1000000000, WINDOW = 64 /* posted receives */ };
enum { WAIT_S = 60, YIELD = 65536 /* empty polls between two looks at the clock */ };

static const char *const modes[] = {"latency", "handled", "received"};
enum { LATENCY, HANDLED, RECEIVED, MODES };

/* What the client asks for. */
struct hello {
	uint64_t mode, size, count; /* bytes; messages */
};

struct options {
	const char *provider, *domain, *node, *port;
	unsigned mode;
	bool server;
	unsigned long size, count, warm_up;
};

static struct bench_ep endpoint;
static struct fi_gamma_port_ops *ports;
static char buffer[BYTES_MAX]; /* that is sent; its content does not matter */

/* The state of either side, which handlers change. */
static struct {
	struct hello hello;
	bool asked;      /* the hello has come */
	uint64_t seen;   /* messages, of the server; answers, of the client */
	uint64_t ready;  /* READY has come so often */
	uint64_t summed; /* so that the bytes must be read */
	char *receives;  /* of hello.size bytes each */
} state;

static void set(uint16_t port, fi_gamma_handler handler)
{
	struct fi_gamma_port_attr attr = {.size = sizeof(attr), .handler = handler};

	bench_ep_check("set", ports->set(endpoint.ep, port, &attr));
}

static struct fi_gamma_msg message(uint16_t port, const struct iovec *iov)
{
	return (struct fi_gamma_msg){.iov = iov, .iov_count = 1, .port = port};
}

/* Polls until the number is there; gives up after a while without progress. */
static void poll_until(const uint64_t *number, uint64_t wanted)
{
	uint64_t until = bench_ep_now() + WAIT_S * 1000000000ull;

	for (unsigned polls = 1; *number < wanted; polls++)
		if (ports->poll(endpoint.ep, WINDOW) > 0)
			polls = 0;
		else if (polls % YIELD == 0 && bench_ep_now() > until)
			bench_ep_fail("waiting for a message", -FI_ETIMEDOUT);
}

static void read_all(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint64_t sum = 0, word;

	for (; len >= sizeof(word); len -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		sum += word;
	}
	__atomic_store_n(&state.summed, state.summed + sum, __ATOMIC_RELAXED);
}

/* ---- the server ---- */

static void reply(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, uint16_t port,
		  size_t len)
{
	struct iovec iov = {.iov_base = buffer, .iov_len = len};
	struct fi_gamma_msg msg = message(port, &iov);

	bench_ep_check("reply", ports->reply(ep, arrival, &msg, FI_INJECT));
}

static void post(void *buf)
{
	bench_ep_check("fi_recv",
		       fi_recv(endpoint.ep, buf, state.hello.size, NULL, FI_ADDR_UNSPEC, buf));
}

static void on_hello(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) context;
	if (arrival->len != sizeof(state.hello))
		bench_ep_fail("hello", -FI_EINVAL);
	memcpy(&state.hello, arrival->data, sizeof(state.hello));
	if (state.hello.size > BYTES_MAX)
		bench_ep_fail("hello", -FI_EMSGSIZE);
	if (state.hello.mode == RECEIVED) {
		state.receives = bench_ep_allocate(WINDOW, state.hello.size);
		for (unsigned i = 0; i < WINDOW; i++)
			post(state.receives + i * state.hello.size);
	}
	state.asked = true;
	reply(ep, arrival, PORT_READY, 0);
}

static void on_ping(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) context;
	state.seen++;
	reply(ep, arrival, PORT_PING, arrival->len);
}

static void on_data(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) context;
	read_all(arrival->data, arrival->len);
	if (++state.seen == state.hello.count)
		reply(ep, arrival, PORT_READY, 0);
}

/* The client's last message goes to a port, so that it can be answered. */
static void on_last(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) context;
	state.ready++;
	reply(ep, arrival, PORT_READY, 0);
}

static void receive_all(void)
{
	struct fi_cq_tagged_entry entries[16];
	ssize_t count;

	while (state.seen < state.hello.count) {
		count = fi_cq_read(endpoint.rx, entries, 16);
		if (count < 0 && count != -FI_EAGAIN)
			bench_ep_fail("fi_cq_read", count);
		for (ssize_t i = 0; i < count; i++) {
			read_all(entries[i].op_context, entries[i].len);
			state.seen++;
			post(entries[i].op_context);
		}
	}
}

static void serve(void)
{
	uint64_t asked = 0;

	set(PORT_HELLO, on_hello);
	set(PORT_PING, on_ping);
	set(PORT_DATA, on_data);
	puts("ready");
	fflush(stdout);
	while (!asked) {
		ports->poll(endpoint.ep, 1);
		asked = state.asked;
	}
	if (state.hello.mode == RECEIVED) {
		receive_all();
		set(PORT_READY, on_last);
		poll_until(&state.ready, 1);
	} else {
		poll_until(&state.seen, state.hello.count);
	}
}

/* ---- the client ---- */

static void on_ready(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) ep, (void) arrival, (void) context;
	state.ready++;
}

static void on_answer(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) ep, (void) arrival, (void) context;
	state.seen++;
}

static void send_to(fi_addr_t peer, uint16_t port, const void *data, size_t len)
{
	struct iovec iov = {.iov_base = (void *) data, .iov_len = len};
	struct fi_gamma_msg msg = message(port, &iov);
	ssize_t ret;

	msg.addr = peer;
	while ((ret = ports->send(endpoint.ep, &msg, FI_INJECT)) == -FI_EAGAIN)
		ports->poll(endpoint.ep, WINDOW);
	bench_ep_check("send", ret);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static void measure_latency(const struct options *o, fi_addr_t peer)
{
	uint64_t *times = bench_ep_allocate(o->count, sizeof(*times)), begin;

	for (unsigned long i = 0; i < o->warm_up + o->count; i++) {
		begin = bench_ep_now();
		send_to(peer, PORT_PING, buffer, o->size);
		poll_until(&state.seen, i + 1);
		if (i >= o->warm_up)
			times[i - o->warm_up] = bench_ep_now() - begin;
	}
	qsort(times, o->count, sizeof(*times), compare);
	printf("{\"tool\":\"gamma-ports\",\"mode\":\"latency\",\"size\":%lu,\"median_us\":%.3f,"
	       "\"min_us\":%.3f}\n",
	       o->size, (double) times[o->count / 2] / 2e3, (double) times[0] / 2e3);
	free(times);
}

static void measure_rate(const struct options *o, fi_addr_t peer)
{
	uint64_t begin = bench_ep_now(), ns;

	for (unsigned long i = 0; i < o->count; i++)
		if (o->mode == HANDLED)
			send_to(peer, PORT_DATA, buffer, o->size);
		else
			bench_ep_send(&endpoint, peer, buffer, o->size, 0);
	if (o->mode == RECEIVED)
		send_to(peer, PORT_READY, buffer, 0);
	poll_until(&state.ready, 2);
	ns = bench_ep_now() - begin;
	printf("{\"tool\":\"gamma-ports\",\"mode\":\"%s\",\"size\":%lu,\"per_s\":%.0f}\n",
	       modes[o->mode], o->size, (double) o->count * 1e9 / (double) ns);
}

static void ask(const struct options *o)
{
	const struct hello hello = {
		.mode = o->mode,
		.size = o->size,
		.count = o->count + (o->mode == LATENCY ? o->warm_up : 0),
	};
	fi_addr_t peer = bench_ep_insert(&endpoint, endpoint.info->dest_addr);

	if (o->size > endpoint.info->tx_attr->inject_size)
		command_misuse("-S %lu is beyond FI_GAMMA_INJECT_SIZE", o->size);
	set(PORT_READY, on_ready);
	set(PORT_PING, on_answer);
	send_to(peer, PORT_HELLO, &hello, sizeof(hello));
	poll_until(&state.ready, 1);
	if (o->mode == LATENCY)
		measure_latency(o, peer);
	else
		measure_rate(o, peer);
}

/* ---- command line ---- */

static const char usage[] =
	"usage: gamma-ports -p gamma -s [-d DOMAIN] [-a OWN_NODE] [-P PORT]\n"
	"       gamma-ports -p gamma [-m MODE] [-d DOMAIN] [-P PORT] [-S BYTES] [-n COUNT]\n"
	"                   [-w WARM_UP] SERVER\n"
	"MODE: latency, handled, received\n"
	"  -S  bytes of a message (8)      -n  messages (20000)\n"
	"  -w  messages before (2000), of latency\n";

static unsigned parse_mode(const char *text)
{
	for (unsigned i = 0; i < MODES; i++)
		if (!strcmp(modes[i], text))
			return i;
	command_misuse("-m '%s' is no mode", text);
}

static void parse(struct options *o, int argc, char **argv)
{
	int opt;

	while ((opt = command_option(argc, argv, "p:m:d:a:P:S:n:w:sh")) != -1) {
		switch (opt) {
		case 'p':
			o->provider = optarg;
			break;
		case 'm':
			o->mode = parse_mode(optarg);
			break;
		case 'd':
			o->domain = optarg;
			break;
		case 'a':
			o->node = optarg;
			break;
		case 'P':
			o->port = optarg;
			break;
		case 'S':
			o->size = command_whole("-S", optarg, 0, BYTES_MAX);
			break;
		case 'n':
			o->count = command_whole("-n", optarg, 1, COUNT_MAX);
			break;
		case 'w':
			o->warm_up = command_whole("-w", optarg, 0, COUNT_MAX);
			break;
		case 's':
			o->server = true;
			break;
		}
	}
}

int main(int argc, char **argv)
{
	struct options o = {.port = "7412", .size = 8, .count = 20000, .warm_up = 2000};
	struct bench_ep_choice choice = {.caps = FI_MSG, .selective = true};
	const char *peer;

	command_usage = usage;
	parse(&o, argc, argv);
	peer = command_peer(argc, argv, o.provider, o.server);
	choice.provider = o.provider;
	choice.domain = o.domain;
	choice.node = peer ? peer : o.node;
	choice.service = o.port;
	choice.flags = o.server ? FI_SOURCE : 0;
	bench_ep_open(&endpoint, &choice);
	bench_ep_check("fi_gamma_open_ports", fi_gamma_open_ports(endpoint.ep, &ports));
	if (o.server)
		serve();
	else
		ask(&o);
	bench_ep_close(&endpoint);
	free(state.receives);
	return 0;
}
