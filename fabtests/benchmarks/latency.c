// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-latency: how long one message takes over any libfabric provider, by GAMMA's definition
 * (message delay: half the round trip of a ping-pong); for operations on remote memory, how long
 * until they are complete. Prints the median, so that a processor taken away for a moment does not
 * count; gamma-rawpacket prints the same of the raw baseline.
 *
 *   gamma-latency -p PROVIDER -s [-m MODE] [-d DOMAIN] [-a OWN_NODE] [-P PORT] [-z]    the server
 *   gamma-latency -p PROVIDER [-m MODE] [-d DOMAIN] [-S SIZE,...] [-n N] [-w W] [-i US] [-j] [-z]
 *                 [-H] SERVER                                                           the client
 *
 * MODE: tagged (default), untagged, datagram; write, read, fetch (an atomic addition to 8 bytes). N
 * round trips, W before those that count, fewer of long messages. -z: sleep while waiting. -i: the
 * client sleeps so long after each. -H: with a handler at an active port, to which nothing is sent,
 * on either side. -j: a line of JSON for each size, with the processor time that
 * a message takes on each side.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "command.h"
#include "bench_ep.h"
#include "rdma/fi_ext_gamma.h"

enum { TAG_HELLO = 1, TAG_READY, TAG_PING };
enum { SIZES_MAX = 32, LONG = 4096 /* bytes */ };
enum { BYTES_MAX = 1 << 30, COUNT_MAX = 1000000000, PAUSE_MAX = 1000000 /* us */ };

static const struct mode {
	const char *name;
	enum fi_ep_type type;
	uint64_t caps;
} modes[] = {
	{"tagged", FI_EP_RDM, FI_TAGGED},
	{"untagged", FI_EP_RDM, FI_MSG},
	{"datagram", FI_EP_DGRAM, FI_MSG},
	{"write", FI_EP_RDM, FI_TAGGED | FI_RMA},
	{"read", FI_EP_RDM, FI_TAGGED | FI_RMA},
	{"fetch", FI_EP_RDM, FI_TAGGED | FI_RMA | FI_ATOMIC},
};

struct options {
	const char *provider, *domain, *node, *port;
	const struct mode *mode;
	bool server, json, sleeps, handles;
	size_t size[SIZES_MAX]; /* bytes */
	unsigned sizes;
	unsigned long count, warm_up; /* round trips */
	unsigned long pause;          /* after each, us */
};

/* What the client asks for next. */
struct hello {
	uint64_t size, count, warm_up; /* bytes, round trips; size UINT64_MAX: that was all */
	uint64_t name_len;
	char name[BENCH_EP_NAME_MAX];
};

/* What the server answers: it is ready, and what the last ones cost it. */
struct ready {
	struct bench_ep_region region;
	double user_us, system_us;
};

/* Processor time of this process, us. */
struct spent {
	double user, system;
};

struct client {
	const struct options *options;
	struct bench_ep *endpoint;
	fi_addr_t peer;
	struct fid_mr *mr; /* of buf */
	char *in, *out;    /* as long as the largest size */
	struct ready ready;
	uint64_t *times; /* ns */
};

static struct spent spent(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (struct spent){(double) r.ru_utime.tv_sec * 1e6 + (double) r.ru_utime.tv_usec,
			      (double) r.ru_stime.tv_sec * 1e6 + (double) r.ru_stime.tv_usec};
}

static void on_message(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) ep, (void) arrival, (void) context;
}

/* A port that nobody sends to. */
static void set_handler(struct bench_ep *s)
{
	struct fi_gamma_port_attr attr = {.size = sizeof(attr), .handler = on_message};
	struct fi_gamma_port_ops *ports = NULL;

	bench_ep_check("fi_gamma_open_ports", fi_gamma_open_ports(s->ep, &ports));
	bench_ep_check("set", ports->set(s->ep, 1, &attr));
}

static void open_endpoint(const struct options *o, struct bench_ep *s)
{
	struct bench_ep_choice choice = {
		.provider = o->provider,
		.domain = o->domain,
		.node = o->node,
		.service = o->node || o->server ? o->port : NULL,
		.flags = o->server ? FI_SOURCE : 0,
		.type = o->mode->type,
		.caps = o->mode->caps,
		.sleeps = o->sleeps,
	};

	bench_ep_open(s, &choice);
	if (o->handles)
		set_handler(s);
}

static bool is_remote(const struct options *o)
{
	return o->mode->caps & FI_RMA;
}

/* ---- the server ---- */

/* The receive of the next hello is posted before the last answer leaves: datagrams do not wait. */
static void answer(struct bench_ep *s, fi_addr_t peer, struct hello *hello, char *in, char *out)
{
	uint64_t size = hello->size, count = hello->count + hello->warm_up;

	for (uint64_t i = 0; i < count; i++) {
		bench_ep_receive(s);
		if (i + 1 < count)
			bench_ep_post(s, in, size, TAG_PING);
		else
			bench_ep_post(s, hello, sizeof(*hello), TAG_HELLO);
		bench_ep_send(s, peer, out, size, TAG_PING);
	}
}

static void serve_size(const struct options *o, struct bench_ep *s, fi_addr_t peer,
		       struct hello *hello, struct ready *ready)
{
	char *in = bench_ep_allocate(hello->size, 1), *out = bench_ep_allocate(hello->size, 1);
	uint64_t count = hello->count + hello->warm_up;
	struct fid_mr *mr = NULL;
	struct spent before;

	if (is_remote(o)) {
		mr = bench_ep_register(s, in, hello->size + 1, &ready->region);
		bench_ep_post(s, hello, sizeof(*hello), TAG_HELLO);
	} else {
		bench_ep_post(s, in, hello->size, TAG_PING);
	}
	bench_ep_send(s, peer, ready, sizeof(*ready), TAG_READY);
	before = spent();
	if (!mr)
		answer(s, peer, hello, in, out);
	bench_ep_receive(s);
	ready->user_us = (spent().user - before.user) / (double) count;
	ready->system_us = (spent().system - before.system) / (double) count;
	if (mr)
		fi_close(&mr->fid);
	free(in);
	free(out);
}

static void serve(const struct options *o, struct bench_ep *s)
{
	struct ready ready = {.user_us = 0};
	struct hello hello;
	fi_addr_t peer;

	bench_ep_post(s, &hello, sizeof(hello), TAG_HELLO);
	puts("ready");
	fflush(stdout);
	bench_ep_receive(s);
	peer = bench_ep_insert(s, hello.name);
	while (hello.size != UINT64_MAX)
		serve_size(o, s, peer, &hello, &ready);
	bench_ep_send(s, peer, &ready, sizeof(ready), TAG_READY);
}

/* ---- the client ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Of long messages fewer. */
static unsigned long times_of(unsigned long count, size_t size)
{
	return count / (1 + size / LONG) + 1;
}

static void greet(struct client *c, size_t size)
{
	const struct options *o = c->options;
	struct hello hello = {
		.size = size,
		.count = times_of(o->count, size),
		.warm_up = times_of(o->warm_up, size),
	};

	hello.name_len = bench_ep_name(c->endpoint, hello.name);
	bench_ep_post(c->endpoint, &c->ready, sizeof(c->ready), TAG_READY);
	bench_ep_send(c->endpoint, c->peer, &hello, sizeof(hello), TAG_HELLO);
	bench_ep_receive(c->endpoint);
}

static void ping(struct client *c, size_t size)
{
	bench_ep_send(c->endpoint, c->peer, c->out, size, TAG_PING);
	bench_ep_receive(c->endpoint);
}

/* False: no room, try again. */
static bool begin_remote(struct client *c, size_t size)
{
	const struct bench_ep_region *r = &c->ready.region;
	struct fid_ep *ep = c->endpoint->ep;
	void *desc = c->mr ? fi_mr_desc(c->mr) : NULL;
	ssize_t ret;

	if (!strcmp(c->options->mode->name, "fetch"))
		ret = fi_fetch_atomic(ep, c->out, 1, desc, c->in, desc, c->peer, r->address, r->key,
				      FI_UINT64, FI_SUM, NULL);
	else if (!strcmp(c->options->mode->name, "read"))
		ret = fi_read(ep, c->in, size, desc, c->peer, r->address, r->key, NULL);
	else
		ret = fi_write(ep, c->out, size, desc, c->peer, r->address, r->key, NULL);
	if (ret != -FI_EAGAIN)
		bench_ep_check("operation on remote memory", ret);
	return !ret;
}

static void operate(struct client *c, size_t size)
{
	while (!begin_remote(c, size))
		bench_ep_progress(c->endpoint);
	bench_ep_sent(c->endpoint);
}

static void print_result(const struct client *c, size_t size, struct spent own)
{
	double divisor = is_remote(c->options) ? 1e3 : 2e3; /* ns of a round trip to us printed */
	unsigned long count = times_of(c->options->count, size);
	uint64_t sum = 0;

	for (unsigned long i = 0; i < count; i++)
		sum += c->times[i];
	qsort(c->times, count, sizeof(*c->times), compare);
	if (c->options->json)
		printf("{\"tool\":\"gamma-latency\",\"provider\":\"%s\",\"mode\":\"%s\",\"size\":%"
		       "zu,"
		       "\"median_us\":%.3f,\"min_us\":%.3f,\"mean_us\":%.3f,\"user_us\":%.3f,"
		       "\"system_us\":%.3f,\"server_user_us\":%.3f,\"server_system_us\":%.3f}\n",
		       c->options->provider, c->options->mode->name, size,
		       (double) c->times[count / 2] / divisor, (double) c->times[0] / divisor,
		       (double) sum / (double) count / divisor, own.user, own.system,
		       c->ready.user_us, c->ready.system_us);
	else
		printf("%8zu %10.3f %10.3f %10.3f\n", size, (double) c->times[count / 2] / divisor,
		       (double) c->times[0] / divisor, (double) sum / (double) count / divisor);
}

static struct spent measure(struct client *c, size_t size)
{
	unsigned long count = times_of(c->options->count, size);
	unsigned long warm_up = times_of(c->options->warm_up, size);
	bool remote = is_remote(c->options);
	struct spent before = {0};

	for (unsigned long i = 0; i < count + warm_up; i++) {
		uint64_t begin;

		if (!remote)
			bench_ep_post(c->endpoint, c->in, size, TAG_PING);
		if (i == warm_up)
			before = spent();
		begin = bench_ep_now();
		if (remote)
			operate(c, size);
		else
			ping(c, size);
		if (i >= warm_up)
			c->times[i - warm_up] = bench_ep_now() - begin;
		if (c->options->pause)
			usleep((useconds_t) c->options->pause);
	}
	return (struct spent){(spent().user - before.user) / (double) count,
			      (spent().system - before.system) / (double) count};
}

/* The answer to the next greeting has what this size cost the server: print it after that. */
static void measure_all(struct client *c)
{
	const struct options *o = c->options;

	if (!o->json)
		printf("# %6s %10s %10s %10s\n", "bytes", "median us", "min us", "mean us");
	greet(c, o->size[0]);
	for (unsigned i = 0; i < o->sizes; i++) {
		struct spent used = measure(c, o->size[i]);

		greet(c, i + 1 < o->sizes ? o->size[i + 1] : SIZE_MAX);
		print_result(c, o->size[i], used);
	}
}

static void ask(const struct options *o, struct bench_ep *s)
{
	struct client c = {
		.options = o, .endpoint = s, .peer = bench_ep_insert(s, s->info->dest_addr)};
	size_t largest = sizeof(uint64_t);
	struct bench_ep_region own;

	for (unsigned i = 0; i < o->sizes; i++)
		largest = o->size[i] > largest ? o->size[i] : largest;
	c.in = bench_ep_allocate(2, largest);
	c.out = c.in + largest;
	c.times = bench_ep_allocate(o->count + 1, sizeof(*c.times));
	if (is_remote(o) && s->info->domain_attr->mr_mode & FI_MR_LOCAL)
		c.mr = bench_ep_register(s, c.in, 2 * largest, &own);
	measure_all(&c);
	if (c.mr)
		fi_close(&c.mr->fid);
	free(c.times);
	free(c.in);
}

/* ---- command line ---- */

static const char usage[] =
	"usage: gamma-latency -p PROVIDER -s [-m MODE] [-d DOMAIN] [-a OWN_NODE] [-P PORT] [-z]\n"
	"       gamma-latency -p PROVIDER [-m MODE] [-d DOMAIN] [-P PORT] [-S BYTES[,BYTES...]]\n"
	"                     [-n COUNT] [-w WARM_UP] [-i US] [-j] [-z] [-H] SERVER\n"
	"MODE: tagged, untagged, datagram, write, read, fetch\n"
	"  -S  sizes of the messages (64)      -i  pause after each round trip\n"
	"  -n  round trips (20000)             -z  sleep while waiting, instead of polling\n"
	"  -w  round trips before (2000)       -j  print JSON\n"
	"  -H  set a handler at an active port, unused\n";

static void parse_mode(struct options *o, const char *text)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, text)) {
			o->mode = &modes[i];
			return;
		}
	command_misuse("-m '%s' is no mode", text);
}

static const struct options defaults = {.port = "7411",
					.size = {64},
					.sizes = 1,
					.count = 20000,
					.warm_up = 2000,
					.mode = &modes[0]};

int main(int argc, char **argv)
{
	struct options o = defaults;
	struct bench_ep s = {0};
	const char *peer;
	int opt;

	command_usage = usage;
	while ((opt = command_option(argc, argv, "p:m:d:a:P:S:n:w:i:sjzHh")) != -1) {
		switch (opt) {
		case 'p':
			o.provider = optarg;
			break;
		case 'm':
			parse_mode(&o, optarg);
			break;
		case 'd':
			o.domain = optarg;
			break;
		case 'a':
			o.node = optarg;
			break;
		case 'P':
			o.port = optarg;
			break;
		case 'S':
			o.sizes = command_sizes("-S", optarg, o.size, SIZES_MAX, BYTES_MAX);
			break;
		case 'n':
			o.count = command_whole("-n", optarg, 1, COUNT_MAX);
			break;
		case 'w':
			o.warm_up = command_whole("-w", optarg, 0, COUNT_MAX);
			break;
		case 'i':
			o.pause = command_whole("-i", optarg, 0, PAUSE_MAX);
			break;
		case 's':
			o.server = true;
			break;
		case 'j':
			o.json = true;
			break;
		case 'z':
			o.sleeps = true;
			break;
		case 'H':
			o.handles = true;
			break;
		}
	}
	peer = command_peer(argc, argv, o.provider, o.server);
	if (peer)
		o.node = peer;
	open_endpoint(&o, &s);
	if (o.server)
		serve(&o, &s);
	else
		ask(&o, &s);
	bench_ep_close(&s);
	return 0;
}
