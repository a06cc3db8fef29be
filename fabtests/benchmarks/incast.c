// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-incast: many senders to one receiver over any libfabric provider's reliable datagram
 * endpoints: bulk messages, contents checked, and beside them small ones in both directions. All
 * wait asleep, so that many processes share few cores. incast.sh starts it; results are lines of
 * JSON.
 *
 *   gamma-incast -p PROVIDER [-d DOMAIN] [-a OWN_NODE] -s SENDERS -t SECONDS     the receiver
 *   gamma-incast -p PROVIDER [-d DOMAIN] -i INDEX [-l] RECEIVER                  a sender; -l:
 * small
 *
 * SENDERS: all of them, those of small messages too. INDEX: from 0. Both: -P PORT, -S BYTES of a
 * bulk message.
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

#include "command.h"

enum {
	NAME_MAX_LEN = 128,
	SENDERS_MAX = 98,
	WINDOW = 4,         /* bulk messages that a sender has in flight */
	SMALL = 64,         /* bytes */
	WAIT_S = 30,        /* without any completion */
	WARM_UP_MS = 500,   /* not measured, of runs longer than twice that */
	PERIOD = 251,       /* of the contents, a prime number of bytes */
	SMALL_MAX = 1 << 20 /* round trips that are remembered */
};

/* What a message is for; the sender's index stands below. */
enum {
	TAG_HELLO = 1 << 8,
	TAG_GO = 2 << 8,
	TAG_BULK = 3 << 8,
	TAG_SMALL = 4 << 8,
	TAG_END = 5 << 8
};

struct options {
	const char *provider, *domain, *node, *port;
	unsigned senders, index;
	bool receiver, small;
	double seconds;
	size_t size; /* bytes */
};

struct hello {
	uint64_t index, small;
	char name[NAME_MAX_LEN];
};

struct go {
	double seconds;
};

/* At the beginning of each bulk message. */
struct mark {
	uint64_t index, number;
	uint64_t last; /* 1: none follows */
};

/* An operation in flight; the provider may use the context. */
struct operation {
	struct fi_context2 context;
	unsigned index; /* of the sender */
	uint64_t tag;
	bool is_receive;
	char *buffer;
	size_t size;
};

struct sender { /* as the receiver sees it */
	fi_addr_t addr;
	bool small, ended;
	uint64_t messages, all; /* arrived; how many there will be, 0: not known yet */
	uint64_t measured;      /* bytes */
	struct operation *echo; /* that could not be sent at once */
};

struct endpoint {
	const struct options *options;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	char *pattern; /* size + PERIOD bytes */
	bool ended;    /* a sender's END has come */
};

static void die(const char *what, long ret)
{
	fprintf(stderr, "gamma-incast: %s: %s\n", what, fi_strerror((int) -ret));
	exit(1);
}

static void check(const char *what, long ret)
{
	if (ret)
		die(what, ret);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double) ts.tv_sec + 1e-9 * (double) ts.tv_nsec;
}

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		die("memory", -FI_ENOMEM);
	return memory;
}

/* ---- endpoint ---- */

static struct fi_info *make_hints(const struct options *o)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(o->provider);
	hints->domain_attr->name = o->domain ? strdup(o->domain) : NULL;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->mr_mode = 0;
	return hints;
}

static void open_endpoint(struct endpoint *s)
{
	const struct options *o = s->options;
	struct fi_info *hints = make_hints(o);
	struct fi_cq_attr cq = {
		.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD, .size = 4096};
	struct fi_av_attr av = {.type = FI_AV_MAP};

	check("fi_getinfo", fi_getinfo(FI_VERSION(1, 9), o->node, o->port,
				       o->receiver ? FI_SOURCE : 0, hints, &s->info));
	check("fi_fabric", fi_fabric(s->info->fabric_attr, &s->fabric, NULL));
	check("fi_domain", fi_domain(s->fabric, s->info, &s->domain, NULL));
	check("fi_cq_open", fi_cq_open(s->domain, &cq, &s->cq, NULL));
	check("fi_av_open", fi_av_open(s->domain, &av, &s->av, NULL));
	check("fi_endpoint", fi_endpoint(s->domain, s->info, &s->ep, NULL));
	check("fi_ep_bind", fi_ep_bind(s->ep, &s->av->fid, 0));
	check("fi_ep_bind", fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
	check("fi_enable", fi_enable(s->ep));
	fi_freeinfo(hints);
	s->pattern = allocate(o->size + PERIOD);
	for (size_t i = 0; i < o->size + PERIOD; i++)
		s->pattern[i] = (char) (i % PERIOD);
}

static void close_endpoint(struct endpoint *s)
{
	fi_close(&s->ep->fid);
	fi_close(&s->av->fid);
	fi_close(&s->cq->fid);
	fi_close(&s->domain->fid);
	fi_close(&s->fabric->fid);
	fi_freeinfo(s->info);
	free(s->pattern);
}

/* Sleeps until something is complete. */
static struct operation *await(struct endpoint *s)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = {0};
	double end = now() + WAIT_S;
	ssize_t ret;

	do {
		ret = fi_cq_sread(s->cq, &entry, 1, NULL, 1000);
		if (ret == -FI_EAVAIL && fi_cq_readerr(s->cq, &error, 0) == 1)
			die("completion", -error.err);
		if (ret < 0 && ret != -FI_EAGAIN && ret != -FI_EINTR)
			die("fi_cq_sread", ret);
		if (now() > end)
			die("waiting", -FI_ETIMEDOUT);
	} while (ret != 1);
	return entry.op_context;
}

static struct operation *operation_new(uint64_t tag, unsigned index, size_t size)
{
	struct operation *op = allocate(sizeof(*op));

	op->tag = tag;
	op->index = index;
	op->size = size;
	op->buffer = allocate(size + 1);
	return op;
}

static void operation_free(struct operation *op)
{
	free(op->buffer);
	free(op);
}

static void receive(struct endpoint *s, struct operation *op)
{
	op->is_receive = true;
	check("fi_trecv", fi_trecv(s->ep, op->buffer, op->size, NULL, FI_ADDR_UNSPEC,
				   op->tag | op->index, 0, &op->context));
}

/* False: no room now. Something else is in flight then, and its completion makes room. */
static bool try_send(struct endpoint *s, struct operation *op, fi_addr_t addr)
{
	ssize_t ret;

	op->is_receive = false;
	ret = fi_tsend(s->ep, op->buffer, op->size, NULL, addr, op->tag | op->index, &op->context);
	if (ret != -FI_EAGAIN)
		check("fi_tsend", ret);
	return !ret;
}

/* When nothing else is in flight. A connection that is being made lets nothing be sent yet. */
static void send_alone(struct endpoint *s, struct operation *op, fi_addr_t addr)
{
	struct timespec pause = {.tv_nsec = 1000000};

	while (!try_send(s, op, addr)) {
		fi_cq_read(s->cq, NULL, 0);
		nanosleep(&pause, NULL);
	}
}

/* ---- contents ---- */

static const char *contents(const struct endpoint *s, const struct mark *mark)
{
	return s->pattern + (mark->number * 7 + mark->index) % PERIOD;
}

static void fill(const struct endpoint *s, struct operation *op, const struct mark *mark)
{
	memcpy(op->buffer, contents(s, mark), op->size);
	memcpy(op->buffer, mark, sizeof(*mark));
}

static void verify(const struct endpoint *s, const struct operation *op, const struct mark *mark)
{
	if (mark->index == op->index &&
	    !memcmp(op->buffer + sizeof(*mark), contents(s, mark) + sizeof(*mark),
		    op->size - sizeof(*mark)))
		return;
	fprintf(stderr, "gamma-incast: message %llu of sender %u is damaged\n",
		(unsigned long long) mark->number, op->index);
	exit(1);
}

/* ---- the receiver ---- */

struct receiver {
	struct endpoint *endpoint;
	struct sender senders[SENDERS_MAX];
	unsigned open;       /* senders that have not ended */
	double begin, until; /* of what is measured */
};

static void meet(struct receiver *r)
{
	struct endpoint *s = r->endpoint;

	for (unsigned i = 0; i < s->options->senders; i++)
		receive(s, operation_new(TAG_HELLO, i, sizeof(struct hello)));
	for (unsigned i = 0; i < s->options->senders; i++) {
		struct operation *op = await(s);
		struct hello *hello = (struct hello *) op->buffer;
		struct sender *sender = &r->senders[hello->index];

		if (fi_av_insert(s->av, hello->name, 1, &sender->addr, 0, NULL) != 1)
			die("fi_av_insert", -FI_EINVAL);
		sender->small = hello->small;
		operation_free(op);
	}
}

/* The same to all senders, one after the other. */
static void send_all(struct receiver *r, uint64_t tag, const void *what, size_t size)
{
	struct endpoint *s = r->endpoint;

	for (unsigned i = 0; i < s->options->senders; i++) {
		struct operation *op = operation_new(tag, i, size);

		memcpy(op->buffer, what, size);
		send_alone(s, op, r->senders[i].addr);
	}
}

static void post_receives(struct receiver *r)
{
	struct endpoint *s = r->endpoint;

	for (unsigned i = 0; i < s->options->senders; i++) {
		if (r->senders[i].small)
			receive(s, operation_new(TAG_SMALL, i, SMALL));
		for (unsigned k = 0; k < WINDOW && !r->senders[i].small; k++)
			receive(s, operation_new(TAG_BULK, i, s->options->size));
	}
}

static void end_sender(struct receiver *r, struct sender *sender)
{
	sender->ended = true;
	r->open--;
}

/* Messages may end in another order than they begin, so that the last one is not the end. */
static void take_bulk(struct receiver *r, struct operation *op)
{
	struct sender *sender = &r->senders[op->index];
	struct mark mark;
	double time = now();

	memcpy(&mark, op->buffer, sizeof(mark));
	verify(r->endpoint, op, &mark);
	if (time >= r->begin && time < r->until)
		sender->measured += op->size;
	sender->messages++;
	if (mark.last)
		sender->all = mark.number + 1;
	if (sender->messages == sender->all)
		end_sender(r, sender);
	receive(r->endpoint, op);
}

/* Back it goes; the operation receives again once it is sent. */
static void take_small(struct receiver *r, struct operation *op)
{
	struct sender *sender = &r->senders[op->index];

	if (op->buffer[0])
		end_sender(r, sender);
	sender->messages++;
	sender->echo = try_send(r->endpoint, op, sender->addr) ? NULL : op;
}

static void handle(struct receiver *r, struct operation *op)
{
	if (op->tag == TAG_BULK)
		take_bulk(r, op);
	else if (op->tag == TAG_SMALL && op->is_receive)
		take_small(r, op);
	else if (op->tag == TAG_SMALL)
		receive(r->endpoint, op);
	else
		operation_free(op);
}

static void repeat_echoes(struct receiver *r)
{
	for (unsigned i = 0; i < r->endpoint->options->senders; i++) {
		struct sender *sender = &r->senders[i];

		if (sender->echo && try_send(r->endpoint, sender->echo, sender->addr))
			sender->echo = NULL;
	}
}

/* Jain's index: 1 when all have the same share, 1/n when one has all. */
static void print_result(const struct receiver *r)
{
	double sum = 0, squares = 0, least = 1e18, most = 0;
	unsigned bulk = 0;
	uint64_t messages = 0;

	for (unsigned i = 0; i < r->endpoint->options->senders; i++) {
		const struct sender *sender = &r->senders[i];
		double bytes = (double) sender->measured;

		messages += sender->messages;
		if (sender->small)
			continue;
		bulk++;
		sum += bytes;
		squares += bytes * bytes;
		least = bytes < least ? bytes : least;
		most = bytes > most ? bytes : most;
	}
	if (!bulk || squares == 0)
		return;
	printf("{\"provider\":\"%s\",\"bulk_senders\":%u,\"verified\":%llu,\"goodput_MBps\":%.2f,"
	       "\"jain\":%.4f,\"least_of_mean\":%.3f,\"most_of_mean\":%.3f}\n",
	       r->endpoint->options->provider, bulk, (unsigned long long) messages,
	       sum / 1e6 / (r->until - r->begin), sum * sum / (bulk * squares), least * bulk / sum,
	       most * bulk / sum);
}

static void serve(struct endpoint *s)
{
	struct receiver *r = allocate(sizeof(*r));
	struct go go = {.seconds = s->options->seconds};
	double warm_up = 1e-3 * WARM_UP_MS;

	r->endpoint = s;
	r->open = s->options->senders;
	meet(r);
	post_receives(r);
	r->begin = now() + (go.seconds > 2 * warm_up ? warm_up : 0);
	r->until = now() + go.seconds;
	send_all(r, TAG_GO, &go, sizeof(go));
	while (r->open) {
		handle(r, await(s));
		repeat_echoes(r);
	}
	print_result(r);
	send_all(r, TAG_END, "", 0);
	for (unsigned i = 0; i < s->options->senders; i++)
		operation_free(await(s));
	close_endpoint(s);
	free(r);
}

/* ---- a sender ---- */

static void wait_for(struct endpoint *s, uint64_t tag)
{
	struct operation *op;

	do {
		op = await(s);
	} while (!op->is_receive || op->tag != tag);
	operation_free(op);
}

static fi_addr_t introduce(struct endpoint *s)
{
	const struct options *o = s->options;
	struct operation *op = operation_new(TAG_HELLO, o->index, sizeof(struct hello));
	struct hello *hello = (struct hello *) op->buffer;
	size_t len = sizeof(hello->name);
	fi_addr_t receiver;

	hello->index = o->index;
	hello->small = o->small;
	check("fi_getname", fi_getname(&s->ep->fid, hello->name, &len));
	if (fi_av_insert(s->av, s->info->dest_addr, 1, &receiver, 0, NULL) != 1)
		die("fi_av_insert", -FI_EINVAL);
	send_alone(s, op, receiver);
	return receiver;
}

static double wait_for_go(struct endpoint *s, struct operation *op)
{
	struct operation *ended;

	while ((ended = await(s)) != op)
		operation_free(ended);
	return now() + ((struct go *) op->buffer)->seconds;
}

/* END may come before the last sends are reported complete. */
static struct operation *await_other_than_end(struct endpoint *s)
{
	struct operation *op;

	while ((op = await(s))->tag == TAG_END) {
		s->ended = true;
		operation_free(op);
	}
	return op;
}

static void send_bulk(struct endpoint *s, fi_addr_t receiver, double until)
{
	struct operation *free_ops[WINDOW];
	struct mark mark = {.index = s->options->index};
	unsigned count = WINDOW;

	for (unsigned i = 0; i < WINDOW; i++)
		free_ops[i] = operation_new(TAG_BULK, s->options->index, s->options->size);
	while (!mark.last || count < WINDOW) {
		if (mark.last || !count) {
			free_ops[count++] = await_other_than_end(s);
			continue;
		}
		mark.last = now() >= until;
		fill(s, free_ops[count - 1], &mark);
		while (!try_send(s, free_ops[count - 1], receiver))
			fi_cq_read(s->cq, NULL, 0);
		count--;
		mark.number++;
	}
	for (unsigned i = 0; i < WINDOW; i++)
		operation_free(free_ops[i]);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Round trips one after the other; each is answered before the next begins. */
static void send_small(struct endpoint *s, fi_addr_t receiver, double until)
{
	struct operation *out = operation_new(TAG_SMALL, s->options->index, SMALL);
	struct operation *in = operation_new(TAG_SMALL, s->options->index, SMALL);
	double *times = allocate(SMALL_MAX * sizeof(*times)), begin;
	unsigned count = 0;

	while (!out->buffer[0]) {
		bool sent = false, answered = false;

		begin = now();
		out->buffer[0] = begin >= until || count + 1 == SMALL_MAX;
		receive(s, in);
		send_alone(s, out, receiver);
		while (!sent || !answered)
			*(await_other_than_end(s) == in ? &answered : &sent) = true;
		times[count++] = now() - begin;
	}
	qsort(times, count, sizeof(*times), compare);
	printf("{\"provider\":\"%s\",\"round_trips\":%u,\"median_us\":%.1f,\"p99_us\":%.1f,\"max_"
	       "us\":%.1f}\n",
	       s->options->provider, count, 1e6 * times[count / 2],
	       1e6 * times[(uint64_t) count * 99 / 100], 1e6 * times[count - 1]);
	free(times);
	operation_free(in);
	operation_free(out);
}

static void ask(struct endpoint *s)
{
	unsigned index = s->options->index;
	struct operation *go = operation_new(TAG_GO, index, sizeof(struct go));
	struct operation *end = operation_new(TAG_END, index, 0);
	fi_addr_t receiver;
	double until;

	receive(s, go);
	receive(s, end);
	receiver = introduce(s);
	until = wait_for_go(s, go);
	operation_free(go);
	(s->options->small ? send_small : send_bulk)(s, receiver, until);
	if (!s->ended)
		wait_for(s, TAG_END);
	close_endpoint(s);
}

/* ---- command line ---- */

static const char usage[] =
	"usage: gamma-incast -p PROVIDER [-d DOMAIN] [-a OWN_NODE] [-P PORT] [-S BYTES]\n"
	"                    -s SENDERS [-t SECONDS]\n"
	"       gamma-incast -p PROVIDER [-d DOMAIN] [-P PORT] [-S BYTES] -i INDEX [-l] RECEIVER\n";

static void parse(struct options *o, int argc, char **argv)
{
	const char *peer;
	int opt;

	while ((opt = command_option(argc, argv, "p:d:a:P:S:s:t:i:lh")) != -1) {
		switch (opt) {
		case 'p':
			o->provider = optarg;
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
			o->size = command_whole("-S", optarg, sizeof(struct mark), 1 << 30);
			break;
		case 's':
			o->senders = (unsigned) command_whole("-s", optarg, 1, SENDERS_MAX);
			o->receiver = true;
			break;
		case 't':
			o->seconds = command_number("-t", optarg, 0, 3600);
			break;
		case 'i':
			o->index = (unsigned) command_whole("-i", optarg, 0, SENDERS_MAX - 1);
			break;
		case 'l':
			o->small = true;
			break;
		}
	}
	peer = command_peer(argc, argv, o->provider, o->receiver);
	if (peer)
		o->node = peer;
}

int main(int argc, char **argv)
{
	struct options o = {.port = "7412", .seconds = 1, .size = 1 << 18};
	struct endpoint s = {.options = &o};

	command_usage = usage;
	parse(&o, argc, argv);
	open_endpoint(&s);
	if (o.receiver)
		serve(&s);
	else
		ask(&s);
	return 0;
}
