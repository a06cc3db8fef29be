// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-soak: traffic that goes on for hours, all contents compared. soak.py starts many of these.
 *
 *	gamma-soak serve PORT SEED                  echoes what clients send, until SIGTERM
 *	gamma-soak drive NODE PORT SLOT SEED [S]    sends to that server and compares what returns;
 *	                                            a new endpoint after each S seconds
 *
 * A tag says what a message is: kind, the client's slot, which endpoint of that slot, number.
 *Length and contents follow from the tag, so both sides verify them. A line "lost ..." reports a
 *peer that was lost; the client then asks for the server's address again. Once a second a line
 *"total" has the messages, bytes and damaged messages so far.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MESSAGE_MAX = 4 << 20, /* bytes */
	SLOTS = 64,            /* clients that a server knows at a time */
	POSTED = 8,            /* receives that a server has posted */
	WINDOW = 4,            /* messages of a client under way */
	ADDR_LEN = 64,         /* room for an address, bytes */
	SILENT_S = 1,          /* a client without an echo for so long sends a PING */
	RETRY_US = 200000,     /* pause before a lost server's address is asked for again */
	SLEEP_MS = 10,         /* longest wait for a completion */
};

/* Kinds, in the highest byte of a tag. */
enum kind { HELLO = 1, WELCOME, DATA, ECHO, PING };

/* An operation; what libfabric returns as its context. */
struct op {
	struct fi_context2 context; /* the provider's */
	char *buffer;               /* MESSAGE_MAX bytes */
	uint64_t tag;               /* of the message that is received or sent */
	bool sends;                 /* it is a send now, else a receive */
	bool busy;                  /* posted, without a completion so far */
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_ep *ep;
static struct fid_av *av;
static struct fid_cq *cq;

static volatile sig_atomic_t over;
static unsigned long long messages, bytes, bad; /* totals of this process */
static uint64_t seed;

static void on_term(int number)
{
	(void) number;
	over = 1;
}

static void must(const char *what, long ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int) -ret));
	exit(3);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static void report_total(void)
{
	static double next;

	if (now() < next)
		return;
	next = now() + 1;
	printf("total %llu %llu %llu\n", messages, bytes, bad);
	fflush(stdout);
}

static void report_lost(unsigned slot, int err)
{
	printf("lost %u %s\n", slot, fi_strerror(err));
	fflush(stdout);
}

/* ---- tags, lengths, contents ---- */

static uint64_t tag_of(enum kind kind, unsigned slot, unsigned life, uint32_t number)
{
	return (uint64_t) kind << 56 | (uint64_t) slot << 48 | (uint64_t) (life & 0xffff) << 32 |
	       number;
}

static enum kind kind_of(uint64_t tag)
{
	return (enum kind)(tag >> 56);
}

static unsigned slot_of(uint64_t tag)
{
	return (unsigned) (tag >> 48) % SLOTS;
}

static uint64_t with_kind(uint64_t tag, enum kind kind)
{
	return (tag & ~(0xffull << 56)) | (uint64_t) kind << 56;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* What a message's length and bytes are drawn from: alike in DATA and its ECHO. */
static uint64_t draw_of(uint64_t tag)
{
	return mix(with_kind(tag, DATA) + seed * 0x9e3779b97f4a7c15ull);
}

/* 0 to 4 MiB: as many of each order of magnitude. */
static size_t length_of(uint64_t tag)
{
	uint64_t draw = draw_of(tag);
	unsigned bits = (unsigned) (draw % 23); /* 2^22 is 4 MiB */

	return bits ? (size_t) (mix(draw) % ((1ull << bits) + 1)) : 0;
}

static uint64_t word_at(uint64_t draw, size_t place)
{
	return draw + place * 0x9e3779b97f4a7c15ull;
}

static void fill(char *buffer, uint64_t tag)
{
	size_t len = length_of(tag), place;
	uint64_t draw = draw_of(tag), word;

	for (place = 0; place < len; place += 8) {
		word = word_at(draw, place);
		memcpy(buffer + place, &word, len - place < 8 ? len - place : 8);
	}
}

static bool is_intact(const char *buffer, size_t len, uint64_t tag)
{
	uint64_t draw = draw_of(tag), word;
	size_t place;

	if (len != length_of(tag))
		return false;
	for (place = 0; place < len; place += 8) {
		word = word_at(draw, place);
		if (memcmp(buffer + place, &word, len - place < 8 ? len - place : 8))
			return false;
	}
	return true;
}

static void verify(const char *buffer, size_t len, uint64_t tag)
{
	messages++;
	bytes += len;
	if (is_intact(buffer, len, tag))
		return;
	bad++;
	printf("bad message %llx: %zu bytes, %zu expected\n", (unsigned long long) tag, len,
	       length_of(tag));
	fflush(stdout);
}

/* ---- the endpoint ---- */

static void open_endpoint(const char *node, const char *port)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};
	struct fi_av_attr av_attr = {.type = FI_AV_MAP};
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		must("fi_allocinfo", -FI_ENOMEM);
	hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("gamma");
	must("fi_getinfo",
	     fi_getinfo(FI_VERSION(1, 17), node, port, node ? 0 : FI_SOURCE, hints, &info));
	fi_freeinfo(hints);
	must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	must("fi_domain", fi_domain(fabric, info, &domain, NULL));
	must("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
	must("fi_cq_open", fi_cq_open(domain, &cq_attr, &cq, NULL));
	must("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
	must("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
	must("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	must("fi_enable", fi_enable(ep));
}

static void close_endpoint(void)
{
	must("fi_close", fi_close(&ep->fid));
	must("fi_close", fi_close(&cq->fid));
	must("fi_close", fi_close(&av->fid));
	must("fi_close", fi_close(&domain->fid));
	must("fi_close", fi_close(&fabric->fid));
	fi_freeinfo(info);
}

/* All pages are touched, so that memory grows by what is lost alone. */
static void allocate(struct op *ops, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ops[i].buffer = malloc(MESSAGE_MAX);
		if (!ops[i].buffer)
			must("malloc", -FI_ENOMEM);
		memset(ops[i].buffer, 1, MESSAGE_MAX);
	}
}

/* 1: an operation is complete (*err 0) or has failed; 0: nothing so far. */
static int next_completion(struct fi_cq_tagged_entry *entry, int *err)
{
	struct fi_cq_err_entry failed = {0};
	ssize_t ret = fi_cq_sread(cq, entry, 1, NULL, SLEEP_MS);

	*err = 0;
	if (ret == 1)
		return 1;
	if (ret != -FI_EAVAIL)
		return 0;
	must("fi_cq_readerr", fi_cq_readerr(cq, &failed, 0));
	entry->op_context = failed.op_context;
	*err = failed.err;
	return 1;
}

/* ---- the server ---- */

static struct client {
	fi_addr_t addr;      /* FI_ADDR_NOTAVAIL: none */
	char name[ADDR_LEN]; /* as libfabric has it */
} clients[SLOTS];

static void post_receive(struct op *op, uint64_t tag, uint64_t ignore, fi_addr_t from)
{
	op->sends = false;
	op->tag = tag;
	op->busy = true;
	must("fi_trecv", fi_trecv(ep, op->buffer, MESSAGE_MAX, NULL, from, tag, ignore, op));
}

static int post_send(struct op *op, size_t len, uint64_t tag, fi_addr_t to)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	op->sends = true;
	op->tag = tag;
	do {
		ret = fi_tsend(ep, op->buffer, len, NULL, to, tag, op);
		if (ret == -FI_EAGAIN)
			fi_cq_read(cq, &entry, 0);
	} while (ret == -FI_EAGAIN && !over);
	op->busy = !ret;
	return (int) -ret;
}

/* A client's first message is its address. It may be another process than the last of its slot. */
static void meet(uint64_t tag, const struct op *op, size_t len)
{
	struct client *client = &clients[slot_of(tag)];

	if (client->addr != FI_ADDR_NOTAVAIL)
		fi_av_remove(av, &client->addr, 1, 0);
	memset(client->name, 0, ADDR_LEN);
	memcpy(client->name, op->buffer, len < ADDR_LEN ? len : ADDR_LEN);
	if (fi_av_insert(av, client->name, 1, &client->addr, 0, NULL) != 1)
		must("fi_av_insert", -FI_EINVAL);
}

/* Sends back what a receive has brought, from the same buffer. */
static bool answer(struct op *op, uint64_t tag, size_t len)
{
	struct client *client = &clients[slot_of(tag)];
	int err;

	if (kind_of(tag) == HELLO)
		meet(tag, op, len);
	else if (kind_of(tag) == DATA)
		verify(op->buffer, len, tag);
	if (kind_of(tag) == PING || client->addr == FI_ADDR_NOTAVAIL)
		return false;
	err = kind_of(tag) == HELLO ? post_send(op, 0, with_kind(tag, WELCOME), client->addr)
				    : post_send(op, len, with_kind(tag, ECHO), client->addr);
	if (err)
		report_lost(slot_of(tag), err);
	return !err;
}

static void serve(const char *port)
{
	struct fi_cq_tagged_entry entry;
	struct op ops[POSTED] = {0}, *op;
	int err;

	allocate(ops, POSTED);
	for (unsigned i = 0; i < SLOTS; i++)
		clients[i].addr = FI_ADDR_NOTAVAIL;
	open_endpoint(NULL, port);
	for (unsigned i = 0; i < POSTED; i++)
		post_receive(&ops[i], 0, ~0ull, FI_ADDR_UNSPEC);
	puts("ready");
	while (!over) {
		report_total();
		if (!next_completion(&entry, &err))
			continue;
		op = entry.op_context;
		if (err && err != FI_ECANCELED)
			report_lost(op->sends ? slot_of(op->tag) : SLOTS, err);
		if (err || op->sends || !answer(op, entry.tag, entry.len))
			post_receive(op, 0, ~0ull, FI_ADDR_UNSPEC);
	}
	close_endpoint();
}

/* ---- the client ---- */

struct driver {
	unsigned slot;         /* whose traffic this is, for the server and the reports */
	unsigned life;         /* how many servers have been met before, by any process */
	uint32_t number;       /* of the next message */
	fi_addr_t peer;        /* the server */
	struct op out[WINDOW]; /* messages */
	struct op in[WINDOW];  /* their echoes */
	struct op hello;       /* HELLO, then each PING */
	struct op welcome;     /* its answer */
	double heard;          /* when the last answer came, s */
	bool met;              /* the server has answered HELLO */
	int lost;              /* why the server is lost; 0: it is not */
};

static void fail(struct driver *d, int err)
{
	if (!d->lost)
		d->lost = err;
}

static void send_next(struct driver *d, unsigned i)
{
	uint64_t tag = tag_of(DATA, d->slot, d->life, d->number++);
	int err;

	fill(d->out[i].buffer, tag);
	post_receive(&d->in[i], with_kind(tag, ECHO), 0, d->peer);
	err = post_send(&d->out[i], length_of(tag), tag, d->peer);
	if (err)
		fail(d, err);
}

/* The first message carries the own address. */
static void greet(struct driver *d)
{
	size_t len = ADDR_LEN;
	uint64_t tag = tag_of(HELLO, d->slot, d->life, 0);
	int err;

	must("fi_getname", fi_getname(&ep->fid, d->hello.buffer, &len));
	post_receive(&d->welcome, with_kind(tag, WELCOME), 0, d->peer);
	err = post_send(&d->hello, len, tag, d->peer);
	if (err)
		fail(d, err);
}

static void take(struct driver *d)
{
	struct fi_cq_tagged_entry entry;
	struct op *op;
	int err;

	report_total();
	if (!next_completion(&entry, &err))
		return;
	op = entry.op_context;
	op->busy = false;
	if (err == FI_ECANCELED)
		return;
	if (err) {
		fail(d, err);
		return;
	}
	if (op->sends)
		return;
	d->heard = now();
	if (op == &d->welcome)
		d->met = true;
	else
		verify(op->buffer, entry.len, entry.tag);
}

/* Whether operations are under way. */
static bool is_busy(const struct driver *d)
{
	for (unsigned i = 0; i < WINDOW; i++)
		if (d->out[i].busy || d->in[i].busy)
			return true;
	return d->hello.busy || d->welcome.busy;
}

static void cancel(struct op *op)
{
	if (op->busy)
		fi_cancel(&ep->fid, op);
}

/* What a silent server owes nothing for would go unnoticed: it is made to answer. */
static void ping(struct driver *d)
{
	int err;

	if (d->hello.busy || now() < d->heard + SILENT_S)
		return;
	d->heard = now();
	err = post_send(&d->hello, 0, tag_of(PING, d->slot, d->life, 0), d->peer);
	if (err)
		fail(d, err);
}

static void forget_server(struct driver *d)
{
	for (unsigned i = 0; i < WINDOW; i++) {
		cancel(&d->in[i]);
		cancel(&d->out[i]);
	}
	cancel(&d->welcome);
	cancel(&d->hello);
	while (is_busy(d) && !over)
		take(d);
	fi_av_remove(av, &d->peer, 1, 0);
}

/* Until the server is lost, the time is over, or a new endpoint is due. */
static void exchange(struct driver *d, double until)
{
	d->lost = 0;
	d->met = false;
	d->heard = now();
	if (fi_av_insert(av, info->dest_addr, 1, &d->peer, 0, NULL) != 1)
		must("fi_av_insert", -FI_EINVAL);
	greet(d);
	while (!d->lost && !over && (now() < until || is_busy(d))) {
		for (unsigned i = 0; d->met && i < WINDOW && now() < until && !d->lost; i++)
			if (!d->out[i].busy && !d->in[i].busy)
				send_next(d, i);
		take(d);
		ping(d);
	}
	d->life++;
}

static void drive(const char *node, const char *port, unsigned slot, double renew_s)
{
	static struct driver d;
	double until;

	d.slot = slot;
	d.life = (unsigned) getpid();
	allocate(d.out, WINDOW);
	allocate(d.in, WINDOW);
	allocate(&d.hello, 1);
	allocate(&d.welcome, 1);
	while (!over) {
		until = now() + renew_s;
		open_endpoint(node, port);
		while (!over && now() < until) {
			exchange(&d, until);
			if (!d.lost)
				break;
			report_lost(slot, d.lost);
			forget_server(&d);
			usleep(RETRY_US);
		}
		close_endpoint();
		for (unsigned i = 0; i < WINDOW; i++)
			d.in[i].busy = d.out[i].busy = false;
		d.hello.busy = d.welcome.busy = false;
	}
}

int main(int argc, char **argv)
{
	struct sigaction term = {.sa_handler = on_term};

	sigaction(SIGTERM, &term, NULL);
	seed = argc > 5 ? strtoull(argv[5], NULL, 0) : 0;
	if (argc == 4 && !strcmp(argv[1], "serve")) {
		seed = strtoull(argv[3], NULL, 0);
		serve(argv[2]);
	} else if (argc >= 6 && !strcmp(argv[1], "drive")) {
		drive(argv[2], argv[3], (unsigned) atoi(argv[4]),
		      argc > 6 ? strtod(argv[6], NULL) : 1e9);
	} else {
		fprintf(stderr, "usage: gamma-soak serve PORT SEED\n"
				"       gamma-soak drive NODE PORT SLOT SEED [SECONDS]\n");
		return 2;
	}
	printf("total %llu %llu %llu\nend\n", messages, bytes, bad);
	return bad != 0;
}
