// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-stream: how many messages, or bytes, one process sends to another in one direction over any
 * libfabric provider's reliable datagram endpoints, with a window of messages in flight.
 *
 *   gamma-stream -p PROVIDER -s [-e ENDPOINTS] [-d DOMAIN] [-a OWN_NODE] [-P PORT]     the receiver
 *   gamma-stream -p PROVIDER [-d DOMAIN] [-S SIZE,...] [-n N | -t SECONDS] [-w WINDOW]
 *                [-e ENDPOINTS] [-r AHEAD] [-m] [-l] [-k] RECEIVER                     the sender
 *
 * -e: the receiver has several endpoints, which get messages round-robin; a window for each. -r:
 * windows are sent as a whole and answered, AHEAD of them before the first answer. -m: their
 * messages are posted with FI_MORE, all but the last. -l: meanwhile 8 bytes go there and back, one
 * at a time, to measure how long a small message waits beside the stream. -k: measures for each
 * line of the standard input, on the existing connections, after a window that does not count;
 * between two lines nothing is in flight, and both processes may be stopped. Prints a line of JSON
 * for each size: rate, processor time of both sides, memory in use before the first message and
 * after the last. All messages leave from one buffer and arrive in one.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "command.h"
#include "bench_ep.h"

enum {
	ENDPOINTS_MAX = 1024,
	WINDOW_MAX = 1024,
	SIZES_MAX = 32,
	SIZE_MOST = 1 << 30, /* bytes */
	SMALL = 8,           /* bytes */
	SMALL_MAX = 1 << 20, /* round trips that are remembered */
	LOOK_ASIDE = 16,     /* polls between two looks at the other queue */
	MOST = 64,           /* completions read at once */
};

enum { TAG_HELLO = 1, TAG_READY, TAG_STREAM, TAG_END, TAG_DONE, TAG_SMALL };

struct options {
	const char *provider, *domain, *node, *port;
	bool receiver, more, small, kept, gaps;
	size_t size[SIZES_MAX];   /* bytes */
	unsigned sizes;           /* measured one after the other */
	size_t largest;           /* of them */
	unsigned long count;      /* messages */
	double seconds;           /* 0: by count */
	unsigned window, targets; /* messages for each; endpoints of the receiver */
	unsigned ahead;           /* windows in flight; 0: they are not answered */
};

struct hello { /* the sender's */
	uint64_t size, window, ahead;
	char name[BENCH_EP_NAME_MAX];
};

struct end {                     /* the sender's: the receiver answers when so many have arrived */
	uint64_t messages, last; /* from the beginning; whether no more will come */
};

/* What a side has used. */
struct used {
	double user, system;              /* s */
	double memory_before, memory_now; /* resident, bytes */
};

/* An operation in flight, by its context. */
struct operation {
	struct fi_context2 context;
	uint64_t tag;
	bool is_receive;
	unsigned target;
	void *buffer;
	size_t len; /* bytes */
};

struct peer {
	struct bench_ep endpoint;
	const struct options *options;
	struct fid_ep *ep[ENDPOINTS_MAX];
	struct rusage begun;
	double memory_before;
};

static double seconds_of(struct timeval t)
{
	return (double) t.tv_sec + 1e-6 * (double) t.tv_usec;
}

static void begin_use(struct peer *p)
{
	getrusage(RUSAGE_SELF, &p->begun);
}

static struct used end_use(const struct peer *p)
{
	struct rusage now;

	getrusage(RUSAGE_SELF, &now);
	return (struct used){
		.user = seconds_of(now.ru_utime) - seconds_of(p->begun.ru_utime),
		.system = seconds_of(now.ru_stime) - seconds_of(p->begun.ru_stime),
		.memory_before = p->memory_before,
		.memory_now = bench_ep_memory(),
	};
}

static void open_peer(struct peer *p)
{
	const struct options *o = p->options;
	struct bench_ep_choice choice = {
		.provider = o->provider,
		.domain = o->domain,
		.node = o->node,
		.service = o->node || o->receiver ? o->port : NULL,
		.flags = o->receiver ? FI_SOURCE : 0,
	};

	bench_ep_open(&p->endpoint, &choice);
	p->ep[0] = p->endpoint.ep;
	for (unsigned i = 1; o->receiver && i < o->targets; i++)
		p->ep[i] = bench_ep_another(&p->endpoint, &choice);
}

static void close_peer(struct peer *p)
{
	for (unsigned i = 1; p->options->receiver && i < p->options->targets; i++)
		fi_close(&p->ep[i]->fid);
	bench_ep_close(&p->endpoint);
}

/* ---- operations ---- */

static void receive(struct peer *p, struct operation *op)
{
	ssize_t ret;

	op->is_receive = true;
	while ((ret = fi_trecv(p->ep[op->target], op->buffer, op->len, NULL, FI_ADDR_UNSPEC,
			       op->tag, 0, op)) == -FI_EAGAIN)
		fi_cq_read(p->endpoint.rx, NULL, 0);
	bench_ep_check("fi_trecv", ret);
}

/* From the first endpoint; false: no room now. */
static bool send_once(struct peer *p, fi_addr_t to, struct operation *op, uint64_t flags)
{
	struct iovec iov = {op->buffer, op->len};
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = to,
		.tag = op->tag,
		.context = op,
	};
	ssize_t ret;

	op->is_receive = false;
	if (flags)
		ret = fi_tsendmsg(p->ep[0], &msg, flags | FI_COMPLETION);
	else
		ret = fi_tsend(p->ep[0], op->buffer, op->len, NULL, to, op->tag, op);
	if (ret != -FI_EAGAIN)
		bench_ep_check("fi_tsend", ret);
	return !ret;
}

/* How many completions of the queue there were, at most MOST. */
static unsigned poll_queue(struct fid_cq *cq, struct operation *done[MOST])
{
	struct fi_cq_tagged_entry entries[MOST];
	struct fi_cq_err_entry error = {0};
	ssize_t ret = fi_cq_read(cq, entries, MOST);

	if (ret == -FI_EAGAIN)
		return 0;
	if (ret < 0)
		bench_ep_fail("completion", fi_cq_readerr(cq, &error, 0) == 1 ? -error.err : ret);
	for (ssize_t i = 0; i < ret; i++)
		done[i] = entries[i].op_context;
	return (unsigned) ret;
}

/* ---- the receiver ---- */

struct receiver {
	struct peer peer;
	struct hello hello;
	struct operation *operations; /* receives of the stream */
	struct operation end_in;
	struct end end;        /* as received */
	uint64_t all, arrived; /* all: UINT64_MAX until it is known */
	fi_addr_t sender;
	struct operation small_in, small_out;
	bool echo_waits; /* for room, or for the one before */
	bool echo_under_way;
};

static void post_stream(struct receiver *r)
{
	const struct options *o = r->peer.options;
	unsigned windows = r->hello.ahead ? (unsigned) r->hello.ahead + 1 : 2;
	unsigned depth = (unsigned) r->hello.window * windows, total = depth * o->targets;
	char *buffer = bench_ep_allocate(1, r->hello.size + 1);

	r->operations = bench_ep_allocate(total, sizeof(*r->operations));
	for (unsigned i = 0; i < total; i++) {
		r->operations[i] = (struct operation){
			.tag = TAG_STREAM,
			.target = i / depth,
			.buffer = buffer,
			.len = r->hello.size,
		};
		receive(&r->peer, &r->operations[i]);
	}
}

static void echo(struct receiver *r)
{
	r->echo_waits = r->echo_under_way || !send_once(&r->peer, r->sender, &r->small_out, 0);
	if (!r->echo_waits)
		r->echo_under_way = true;
}

static void answer_window(struct receiver *r)
{
	if (r->hello.ahead && r->arrived % (r->hello.window * r->peer.options->targets) == 0)
		bench_ep_send(&r->peer.endpoint, r->sender, "", 0, TAG_DONE);
}

static void handle(struct receiver *r, struct operation *op)
{
	if (op->tag == TAG_STREAM) {
		r->arrived++;
		receive(&r->peer, op);
		answer_window(r);
	} else if (op->tag == TAG_END) {
		r->all = r->end.messages;
	} else if (op == &r->small_in) {
		receive(&r->peer, op);
		echo(r);
	} else if (op == &r->small_out) {
		r->echo_under_way = false;
	}
}

static unsigned handle_all(struct receiver *r, struct fid_cq *cq)
{
	struct operation *done[MOST];
	unsigned count = poll_queue(cq, done);

	for (unsigned i = 0; i < count; i++)
		handle(r, done[i]);
	return count;
}

static void take_stream(struct receiver *r)
{
	for (uint64_t idle = 0; r->arrived < r->all;) {
		if (!handle_all(r, r->peer.endpoint.rx) && ++idle % LOOK_ASIDE == 0)
			handle_all(r, r->peer.endpoint.tx);
		if (r->echo_waits)
			echo(r);
	}
}

static void send_names(struct receiver *r)
{
	const struct options *o = r->peer.options;
	char(*names)[BENCH_EP_NAME_MAX] = bench_ep_allocate(o->targets, BENCH_EP_NAME_MAX);

	for (unsigned i = 0; i < o->targets; i++) {
		size_t len = BENCH_EP_NAME_MAX;

		bench_ep_check("fi_getname", fi_getname(&r->peer.ep[i]->fid, names[i], &len));
	}
	bench_ep_send(&r->peer.endpoint, r->sender, names, o->targets * BENCH_EP_NAME_MAX,
		      TAG_READY);
	free(names);
}

static void serve(struct receiver *r)
{
	struct bench_ep *s = &r->peer.endpoint;
	struct used used;
	char bytes[2 * SMALL] = {0};

	bench_ep_post(s, &r->hello, sizeof(r->hello), TAG_HELLO);
	puts("ready");
	fflush(stdout);
	bench_ep_receive(s);
	r->sender = bench_ep_insert(s, r->hello.name);
	r->end_in = (struct operation){.tag = TAG_END, .buffer = &r->end, .len = sizeof(r->end)};
	r->small_in = (struct operation){.tag = TAG_SMALL, .buffer = bytes, .len = SMALL};
	r->small_out = r->small_in;
	r->small_out.buffer = bytes + SMALL;
	post_stream(r);
	receive(&r->peer, &r->end_in);
	receive(&r->peer, &r->small_in);
	r->peer.memory_before = bench_ep_memory();
	begin_use(&r->peer);
	send_names(r);
	do {
		r->all = UINT64_MAX;
		take_stream(r);
		used = end_use(&r->peer);
		if (!r->end.last)
			receive(&r->peer, &r->end_in);
		bench_ep_send(s, r->sender, &used, sizeof(used), TAG_END);
		begin_use(&r->peer);
	} while (!r->end.last);
}

/* ---- the sender ---- */

struct sender {
	struct peer peer;
	fi_addr_t *to;                /* the receiver's endpoints */
	struct operation *operations; /* window * targets */
	unsigned *idle;               /* operations not in flight: a stack for each target */
	unsigned *idles;              /* how many: of each target */
	size_t size;                  /* of the messages sent now, bytes */
	uint64_t earlier;             /* messages of earlier measurements */
	uint64_t sent, warm_up;       /* messages; how many of them were sent before it counted */
	unsigned busy;                /* operations in flight */
	struct operation *answers;    /* as many as windows may be in flight */
	unsigned unanswered, windows; /* sent */
	struct operation small_in, small_out;
	bool small_busy[2]; /* sent and not complete; not answered */
	uint64_t small_begin, *small_ns;
	unsigned smalls;
	uint64_t last_ns, longest_gap_ns; /* of completions, with -g */
};

/* The longest time in which nothing arrived. */
static void look_at_gap(struct sender *s)
{
	uint64_t now = bench_ep_now();

	if (now - s->last_ns > s->longest_gap_ns)
		s->longest_gap_ns = now - s->last_ns;
	s->last_ns = now;
}

static void finish(struct sender *s, struct operation *op)
{
	const struct options *o = s->peer.options;
	unsigned target = op->target;

	if (op->tag == TAG_DONE) {
		s->unanswered--;
	} else if (op == &s->small_out) {
		s->small_busy[0] = false;
	} else if (op == &s->small_in) {
		s->small_busy[1] = false;
		if (s->smalls < SMALL_MAX)
			s->small_ns[s->smalls++] = bench_ep_now() - s->small_begin;
	} else {
		s->idle[target * o->window + s->idles[target]++] = (unsigned) (op - s->operations);
		s->busy--;
		if (o->gaps)
			look_at_gap(s);
	}
}

static void finish_all(struct sender *s, struct fid_cq *cq)
{
	struct operation *done[MOST];
	unsigned count = poll_queue(cq, done);

	for (unsigned i = 0; i < count; i++)
		finish(s, done[i]);
}

static void reap(struct sender *s)
{
	finish_all(s, s->peer.endpoint.tx);
}

static void look_aside(struct sender *s)
{
	finish_all(s, s->peer.endpoint.rx);
}

/* The next small message, when the one before is back. */
static void send_small(struct sender *s)
{
	if (!s->peer.options->small || s->small_busy[0] || s->small_busy[1])
		return;
	receive(&s->peer, &s->small_in);
	s->small_begin = bench_ep_now();
	s->small_busy[0] = s->small_busy[1] = true;
	while (!send_once(&s->peer, s->to[0], &s->small_out, 0))
		reap(s);
}

/* The next message of the stream, to this target; waits for room. */
static void send_next(struct sender *s, unsigned target, uint64_t flags)
{
	const struct options *o = s->peer.options;
	struct operation *op;

	for (unsigned i = 1; !s->idles[target]; i++) {
		reap(s);
		/* With -l it looks each time: a poll that sends a burst is long. */
		if (o->small || i % LOOK_ASIDE == 0) {
			look_aside(s);
			send_small(s);
		}
	}
	op = &s->operations[s->idle[target * o->window + --s->idles[target]]];
	while (!send_once(&s->peer, s->to[target], op, flags)) {
		reap(s);
		look_aside(s);
	}
	s->busy++;
	s->sent++;
}

/* A message to each target. Nothing comes to the other queue but small messages: a look at it once
 * a window is for providers that move only what is looked at. */
static void send_round(struct sender *s)
{
	const struct options *o = s->peer.options;

	for (unsigned target = 0; target < o->targets; target++)
		send_next(s, target, 0);
	send_small(s);
	if (s->sent % ((uint64_t) o->window * o->targets) == 0 || o->small)
		look_aside(s);
}

static void send_window(struct sender *s)
{
	const struct options *o = s->peer.options;

	receive(&s->peer, &s->answers[s->windows++ % o->ahead]);
	s->unanswered++;
	for (unsigned i = 0; i < o->window; i++)
		for (unsigned target = 0; target < o->targets; target++)
			send_next(s, target, o->more && i + 1 < o->window ? FI_MORE : 0);
	while (s->unanswered >= o->ahead) {
		look_aside(s);
		reap(s);
	}
}

static bool goes_on(const struct sender *s, uint64_t begin)
{
	const struct options *o = s->peer.options;

	if (o->seconds > 0)
		return (double) (bench_ep_now() - begin) < 1e9 * o->seconds;
	return s->sent < s->warm_up + o->count;
}

static void drain(struct sender *s)
{
	while (s->busy || s->unanswered || s->small_busy[0] || s->small_busy[1]) {
		reap(s);
		look_aside(s);
	}
}

/* A window for each target: connections are made, memory has been touched. */
static void warm_up(struct sender *s)
{
	const struct options *o = s->peer.options;

	if (o->ahead) {
		send_window(s);
	} else {
		for (unsigned i = 0; i < o->window; i++)
			for (unsigned target = 0; target < o->targets; target++)
				send_next(s, target, 0);
	}
	drain(s);
	s->warm_up = s->sent;
	s->smalls = 0;
}

static void send_stream(struct sender *s, uint64_t begin)
{
	while (goes_on(s, begin)) {
		if (s->peer.options->ahead)
			send_window(s);
		else
			send_round(s);
	}
	drain(s);
}

static void prepare(struct sender *s)
{
	const struct options *o = s->peer.options;
	unsigned total = o->window * o->targets;
	char *bytes = bench_ep_allocate(2 * SMALL, 1),
	     *buffer = bench_ep_allocate(1, o->largest + 1);

	s->operations = bench_ep_allocate(total, sizeof(*s->operations));
	s->idle = bench_ep_allocate(total, sizeof(*s->idle));
	s->idles = bench_ep_allocate(o->targets, sizeof(*s->idles));
	s->small_ns = bench_ep_allocate(SMALL_MAX, sizeof(*s->small_ns));
	s->answers = bench_ep_allocate(o->ahead + 1, sizeof(*s->answers));
	for (unsigned i = 0; i < o->ahead; i++)
		s->answers[i] = (struct operation){.tag = TAG_DONE, .buffer = bytes};
	s->small_in = (struct operation){.tag = TAG_SMALL, .buffer = bytes, .len = SMALL};
	s->small_out = (struct operation){.tag = TAG_SMALL, .buffer = bytes + SMALL, .len = SMALL};
	for (unsigned i = 0; i < total; i++) {
		s->operations[i] = (struct operation){
			.tag = TAG_STREAM,
			.target = i / o->window,
			.buffer = buffer,
		};
		s->idle[i] = i;
		s->idles[i / o->window]++;
	}
}

static void meet(struct sender *s)
{
	const struct options *o = s->peer.options;
	struct bench_ep *endpoint = &s->peer.endpoint;
	struct hello hello = {.size = o->largest, .window = o->window, .ahead = o->ahead};
	char(*names)[BENCH_EP_NAME_MAX] = bench_ep_allocate(o->targets, BENCH_EP_NAME_MAX);
	fi_addr_t receiver = bench_ep_insert(endpoint, endpoint->info->dest_addr);

	bench_ep_name(endpoint, hello.name);
	bench_ep_post(endpoint, names, o->targets * BENCH_EP_NAME_MAX, TAG_READY);
	bench_ep_send(endpoint, receiver, &hello, sizeof(hello), TAG_HELLO);
	bench_ep_receive(endpoint);
	s->to = bench_ep_allocate(o->targets, sizeof(*s->to));
	for (unsigned i = 0; i < o->targets; i++)
		s->to[i] = i ? bench_ep_insert(endpoint, names[i]) : receiver;
	free(names);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static void print_used(const char *side, const struct used *used, uint64_t messages)
{
	printf(",\"%s\":{\"user_us\":%.4f,\"system_us\":%.4f,\"memory_before\":%.0f,"
	       "\"memory\":%.0f}",
	       side, 1e6 * used->user / (double) messages, 1e6 * used->system / (double) messages,
	       used->memory_before, used->memory_now);
}

static void print_result(struct sender *s, double seconds, const struct used *own,
			 const struct used *other)
{
	const struct options *o = s->peer.options;
	uint64_t count = s->sent - s->warm_up;
	double rate = (double) count / seconds;

	printf("{\"tool\":\"gamma-stream\",\"provider\":\"%s\",\"size\":%zu,\"messages\":%llu,"
	       "\"seconds\":%.4f,\"per_s\":%.0f,\"MB_per_s\":%.2f",
	       o->provider, s->size, (unsigned long long) count, seconds, rate,
	       rate * (double) s->size / 1e6);
	print_used("sender", own, count);
	print_used("receiver", other, s->sent - s->earlier);
	if (s->smalls) {
		qsort(s->small_ns, s->smalls, sizeof(*s->small_ns), compare);
		printf(",\"small\":{\"count\":%u,\"median_us\":%.3f,\"p99_us\":%.3f}", s->smalls,
		       (double) s->small_ns[s->smalls / 2] / 2e3,
		       (double) s->small_ns[(uint64_t) s->smalls * 99 / 100] / 2e3);
	}
	if (o->gaps)
		printf(",\"longest_gap_us\":%.1f", (double) s->longest_gap_ns / 1e3);
	puts("}");
	fflush(stdout);
}

/* Until all messages have arrived; what the receiver has used since the last such end. */
static struct used end_stream(struct sender *s, bool last)
{
	struct bench_ep *endpoint = &s->peer.endpoint;
	struct end end = {.messages = s->sent, .last = last};
	struct used used;

	bench_ep_post(endpoint, &used, sizeof(used), TAG_END);
	bench_ep_send(endpoint, s->to[0], &end, sizeof(end), TAG_END);
	bench_ep_receive(endpoint);
	return used;
}

static void measure_size(struct sender *s, size_t size, bool last)
{
	const struct options *o = s->peer.options;
	struct used own, other;
	uint64_t begin;

	s->size = size;
	for (unsigned i = 0; i < o->window * o->targets; i++)
		s->operations[i].len = size;
	s->earlier = s->sent;
	warm_up(s);
	begin_use(&s->peer);
	begin = bench_ep_now();
	s->last_ns = begin;
	s->longest_gap_ns = 0;
	send_stream(s, begin);
	other = end_stream(s, last);
	own = end_use(&s->peer);
	print_result(s, (double) (bench_ep_now() - begin) / 1e9, &own, &other);
}

static void measure(struct sender *s, bool last)
{
	const struct options *o = s->peer.options;

	for (unsigned i = 0; i < o->sizes; i++)
		measure_size(s, o->size[i], last && i + 1 == o->sizes);
}

static void ask(struct sender *s)
{
	prepare(s);
	meet(s);
	s->peer.memory_before = bench_ep_memory();
	if (!s->peer.options->kept) {
		measure(s, true);
		return;
	}
	while (command_next_line())
		measure(s, false);
	end_stream(s, true);
}

/* ---- command line ---- */

static const char usage[] =
	"usage: gamma-stream -p PROVIDER -s [-e ENDPOINTS] [-d DOMAIN] [-a OWN_NODE] [-P PORT]\n"
	"       gamma-stream -p PROVIDER [-d DOMAIN] [-P PORT] [-S BYTES[,BYTES...]]\n"
	"                    [-n COUNT | -t SECONDS] [-w WINDOW] [-e ENDPOINTS] [-r AHEAD]\n"
	"                    [-m] [-l] [-g] [-k] RECEIVER\n"
	"  -S  sizes of the messages (1048576)   -w  messages in flight to an endpoint (16)\n"
	"  -n  messages (1000)                   -e  endpoints of the receiver (1)\n"
	"  -t  seconds, instead of a number      -r  windows sent before the first is answered\n"
	"  -m  post with FI_MORE                 -l  also send 8 bytes there and back\n"
	"  -g  print the longest time between two completions\n"
	"  -k  measure once for each line of the standard input\n";

static void parse(struct options *o, int argc, char **argv)
{
	const char *peer;
	int opt;

	while ((opt = command_option(argc, argv, "p:d:a:P:S:n:t:w:e:r:smlgkh")) != -1) {
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
			o->sizes = command_sizes("-S", optarg, o->size, SIZES_MAX, SIZE_MOST);
			break;
		case 'n':
			o->count = command_whole("-n", optarg, 1, 1000000000000);
			break;
		case 't':
			o->seconds = command_number("-t", optarg, 0.001, 3600);
			break;
		case 'w':
			o->window = (unsigned) command_whole("-w", optarg, 1, WINDOW_MAX);
			break;
		case 'e':
			o->targets = (unsigned) command_whole("-e", optarg, 1, ENDPOINTS_MAX);
			break;
		case 's':
			o->receiver = true;
			break;
		case 'r':
			o->ahead = (unsigned) command_whole("-r", optarg, 1, 64);
			break;
		case 'm':
			o->more = true;
			break;
		case 'l':
			o->small = true;
			break;
		case 'g':
			o->gaps = true;
			break;
		case 'k':
			o->kept = true;
			break;
		}
	}
	for (unsigned i = 0; i < o->sizes; i++)
		o->largest = o->size[i] > o->largest ? o->size[i] : o->largest;
	peer = command_peer(argc, argv, o->provider, o->receiver);
	if (peer)
		o->node = peer;
}

int main(int argc, char **argv)
{
	struct options o = {.port = "7413",
			    .size = {1 << 20},
			    .sizes = 1,
			    .count = 1000,
			    .window = 16,
			    .targets = 1};
	static struct receiver receiver;
	static struct sender sender;
	struct peer *peer = &sender.peer;

	command_usage = usage;
	parse(&o, argc, argv);
	if (o.receiver)
		peer = &receiver.peer;
	peer->options = &o;
	open_peer(peer);
	if (o.receiver)
		serve(&receiver);
	else
		ask(&sender);
	close_peer(peer);
	return 0;
}
