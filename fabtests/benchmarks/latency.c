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
#include <time.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

enum { NAME_MAX_LEN = 128, TAG_NAME = 1, TAG_PING = 2, WAIT_S = 20 };

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
	char name[NAME_MAX_LEN];
};

struct station {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *tx, *rx;
	struct fid_ep *ep;
	fi_addr_t peer;
};

static void die(const char *what, long ret)
{
	fprintf(stderr, "gamma-latency: %s: %s\n", what, fi_strerror((int) -ret));
	exit(1);
}

static void check(const char *what, long ret)
{
	if (ret)
		die(what, ret);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * 1000000000ull + (uint64_t) ts.tv_nsec;
}

static void open_station(const struct options *o, struct station *s)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av = {.type = FI_AV_MAP};

	hints->caps = FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(o->provider);
	hints->domain_attr->name = o->domain ? strdup(o->domain) : NULL;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->mr_mode = 0;
	check("fi_getinfo", fi_getinfo(FI_VERSION(1, 9), o->node, o->node || o->server ? o->port : NULL,
				       o->server ? FI_SOURCE : 0, hints, &s->info));
	check("fi_fabric", fi_fabric(s->info->fabric_attr, &s->fabric, NULL));
	check("fi_domain", fi_domain(s->fabric, s->info, &s->domain, NULL));
	check("fi_cq_open", fi_cq_open(s->domain, &cq, &s->tx, NULL));
	check("fi_cq_open", fi_cq_open(s->domain, &cq, &s->rx, NULL));
	check("fi_av_open", fi_av_open(s->domain, &av, &s->av, NULL));
	check("fi_endpoint", fi_endpoint(s->domain, s->info, &s->ep, NULL));
	check("fi_ep_bind", fi_ep_bind(s->ep, &s->av->fid, 0));
	check("fi_ep_bind", fi_ep_bind(s->ep, &s->tx->fid, FI_TRANSMIT));
	check("fi_ep_bind", fi_ep_bind(s->ep, &s->rx->fid, FI_RECV));
	check("fi_enable", fi_enable(s->ep));
	fi_freeinfo(hints);
}

static void close_station(struct station *s)
{
	fi_close(&s->ep->fid);
	fi_close(&s->av->fid);
	fi_close(&s->rx->fid);
	fi_close(&s->tx->fid);
	fi_close(&s->domain->fid);
	fi_close(&s->fabric->fid);
	fi_freeinfo(s->info);
}

/* One completion; gives up after WAIT_S. */
static void await(struct fid_cq *cq, struct fid_cq *other)
{
	struct fi_cq_tagged_entry entry;
	uint64_t until = 0;
	ssize_t ret;

	for (unsigned tries = 1; (ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN; tries++) {
		if (tries % 64 == 0)
			fi_cq_read(other, NULL, 0);
		if (tries % 65536)
			continue;
		until = until ? until : now() + WAIT_S * 1000000000ull;
		if (now() > until) {
			fprintf(stderr, "gamma-latency: nothing came for %d s\n", WAIT_S);
			exit(1);
		}
	}
	if (ret < 0)
		die("completion", ret);
}

static void post(struct station *s, void *buf, size_t len, uint64_t tag)
{
	ssize_t ret;

	while ((ret = fi_trecv(s->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, NULL)) == -FI_EAGAIN)
		fi_cq_read(s->rx, NULL, 0);
	check("fi_trecv", ret);
}

/* Small messages are injected, as a program that cares for latency does. */
static void send_to_peer(struct station *s, const void *buf, size_t len, uint64_t tag)
{
	bool inject = len <= s->info->tx_attr->inject_size;
	ssize_t ret;

	do {
		ret = inject ? fi_tinject(s->ep, buf, len, s->peer, tag)
			     : fi_tsend(s->ep, buf, len, NULL, s->peer, tag, NULL);
		if (ret == -FI_EAGAIN)
			fi_cq_read(s->tx, NULL, 0);
	} while (ret == -FI_EAGAIN);
	check("send", ret);
	if (!inject)
		await(s->tx, s->rx);
}

static void receive(struct station *s)
{
	await(s->rx, s->tx);
}

static void serve(struct station *s)
{
	struct hello hello;
	char *in, *out;

	post(s, &hello, sizeof(hello), TAG_NAME);
	receive(s);
	if (fi_av_insert(s->av, hello.name, 1, &s->peer, 0, NULL) != 1)
		die("fi_av_insert", -FI_EINVAL);
	in = calloc(1, hello.size + 1);
	out = calloc(1, hello.size + 1);
	post(s, in, hello.size, TAG_PING);
	send_to_peer(s, "", 0, TAG_NAME);
	for (uint64_t i = 0; i < hello.count; i++) {
		receive(s);
		if (i + 1 < hello.count)
			post(s, in, hello.size, TAG_PING);
		send_to_peer(s, out, hello.size, TAG_PING);
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
	size_t len = sizeof(hello.name);
	uint64_t sum = 0;

	check("fi_getname", fi_getname(&s->ep->fid, hello.name, &len));
	hello.name_len = len;
	if (fi_av_insert(s->av, s->info->dest_addr, 1, &s->peer, 0, NULL) != 1)
		die("fi_av_insert", -FI_EINVAL);
	post(s, NULL, 0, TAG_NAME);
	send_to_peer(s, &hello, sizeof(hello), TAG_NAME);
	receive(s);
	for (uint64_t i = 0; i < hello.count; i++) {
		uint64_t begin;

		post(s, in, o->size, TAG_PING);
		begin = now();
		send_to_peer(s, out, o->size, TAG_PING);
		receive(s);
		if (i >= o->warm_up)
			sum += times[i - o->warm_up] = now() - begin;
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
	close_station(&s);
	return 0;
}
