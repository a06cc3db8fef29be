// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The UDP baseline: what plain UDP sockets cost between two hosts, without any protocol. It owns
 * nothing of the provider and uses none of its code; the benchmarks call it beside the provider.
 *
 *   gamma-rawudp -s [-u] [-p PORT] [-t SECONDS]                                       the server
 *   gamma-rawudp [-u] [-S SIZE,...] [-m pingpong|stream] [-T DATAGRAMS] [-W TRAINS] [-M BYTES]
 *                [-n N] [-w WARM-UP] [-p PORT] [-t SECONDS] [-j] [-k] SERVER          the client
 *
 * SERVER is an IPv4 address. The client measures each SIZE, bytes of a datagram (44 to 65507;
 * default 64), and prints a line for each, with -j in JSON. Both sides poll without sleeping, so
 * each keeps a core busy. The server answers one client and ends with it.
 *
 * pingpong: half the round trip of a datagram and its answer, us: median, minimum, mean. The
 * sockets are connected, so that the kernel looks up no route for a datagram; with -u (on both
 * sides) they are not, like the socket of an endpoint with many peers. stream: MB/s (10^6 bytes)
 * one way in trains, one call for -T datagrams (UDP_SEGMENT; default as many as fit in 65,507
 * bytes, at most 64; 1: no trains). Header and payload are gathered from two places. The server
 * receives merged datagrams (UDP_GRO) and copies each payload to the user's memory, as any
 * transport must. It answers each train with one credit datagram; -W trains are in flight at most
 * (default: 16, if the receive buffer holds them).
 *
 * -M: bytes of user memory that a stream leaves from and arrives in, over and over (default: a
 * datagram's). -n: round trips, or datagrams of a stream (default 20000); -w: as many before
 * counting (default 1000). -t: give up when nothing arrives for so long (default 10). -k: measure
 * once for each line of the standard input.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "round_trips.h"

enum {
	PORT = 18515,          /* the default */
	DATAGRAM_MOST = 65507, /* bytes, also of a train */
	TRAIN_MOST = 64,       /* datagrams in a train: every kernel takes so many */
	SEND_FLAGS = MSG_DONTWAIT,
	BUFFER = 4 << 20,  /* bytes of receive buffer wanted */
	TRAINS_AHEAD = 16, /* in flight */
	SIZES_MAX = 32,
	HELLO_NS = 100 * 1000 * 1000, /* between two attempts to reach the server */
	POLLS_PER_CLOCK = 256,
};

enum kind {
	KIND_HELLO = 1, /* client: begin a measurement, counters to zero */
	KIND_READY,     /* server: agreed; count: bytes of its receive buffer */
	KIND_PING,
	KIND_PONG,
	KIND_DATA,   /* one datagram of a stream */
	KIND_CREDIT, /* server: count datagrams of the stream were copied out */
	KIND_BYE,    /* client: finished, the server ends */
};

/* What a datagram begins with; integers in network order. As long as a transport's header. */
struct header {
	uint8_t kind;
	uint8_t ask; /* DATA: 1 in the last one of a train asks for CREDIT */
	uint16_t zero;
	uint32_t seq;
	uint32_t count; /* HELLO: bytes of the user's memory */
	uint8_t padding[32];
};

struct options {
	bool server, stream, json, kept, unconnected;
	struct sockaddr_in peer;
	size_t size[SIZES_MAX]; /* bytes of a datagram */
	unsigned sizes;
	unsigned train, window; /* datagrams; trains in flight; 0: as many as possible */
	size_t memory;          /* bytes */
	unsigned iterations, warmup;
	uint16_t port;
	uint64_t timeout_ns;
};

/* The socket and the memory of one side. */
struct side {
	int fd;
	bool unconnected;
	struct sockaddr_in peer; /* if unconnected */
	uint64_t timeout_ns;
	uint8_t *in; /* a received train */
	uint8_t out[DATAGRAM_MOST];
	uint32_t segment; /* bytes of each datagram in the received train but the last */
	uint8_t *memory;  /* the user's */
	size_t memory_bytes, memory_at;
};

/* One line with the cause, and the end. */
static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("gamma-rawudp: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * 1000000000ull + (uint64_t) ts.tv_nsec;
}

/* ---- the socket ---- */

static int side_connect(struct side *side, const struct sockaddr_in *peer)
{
	side->peer = *peer;
	if (side->unconnected)
		return 0;
	return connect(side->fd, (const struct sockaddr *) peer, sizeof(*peer));
}

static void side_open(struct side *side, const struct options *opt)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	int bytes = BUFFER, one = 1;

	own.sin_port = opt->server ? htons(opt->port) : 0;
	side->unconnected = opt->unconnected;
	side->timeout_ns = opt->timeout_ns;
	side->in = malloc(1 << 16);
	side->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!side->in || side->fd < 0 || bind(side->fd, (struct sockaddr *) &own, sizeof(own)))
		die("port %u: %s", opt->port, strerror(errno));
	if (setsockopt(side->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(side->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	/* A ping-pong is measured without: each call would have to return a control message. */
	if (opt->stream && setsockopt(side->fd, SOL_UDP, UDP_GRO, &one, sizeof(one)))
		die("no UDP_GRO: Linux 5.0 is needed: %s", strerror(errno));
	if (!opt->server && side_connect(side, &opt->peer))
		die("connect: %s", strerror(errno));
}

/* The user's memory; at least a datagram of it. */
static void side_memory(struct side *side, size_t bytes)
{
	bytes = bytes > DATAGRAM_MOST ? bytes : DATAGRAM_MOST;
	if (bytes != side->memory_bytes) {
		free(side->memory);
		side->memory = calloc(1, bytes);
		if (!side->memory)
			die("out of memory");
	}
	side->memory_bytes = bytes;
	side->memory_at = 0;
}

/* Where the next piece of it is. */
static uint8_t *side_piece(struct side *side, size_t bytes)
{
	uint8_t *piece;

	if (side->memory_at + bytes > side->memory_bytes)
		side->memory_at = 0;
	piece = side->memory + side->memory_at;
	side->memory_at += bytes;
	return piece;
}

/* A full queue is retried until the deadline; anything else is the end. */
static void send_failed(const struct side *side, uint64_t *deadline)
{
	if (errno == EIO || errno == EINVAL)
		die("the NIC or the kernel does not segment UDP (-T 1 needs no segmentation): %s",
		    strerror(errno));
	if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)
		die("send: %s", strerror(errno));
	if (!*deadline)
		*deadline = now_ns() + side->timeout_ns;
	else if (now_ns() > *deadline)
		die("nothing can be sent: %s", strerror(errno));
}

static bool send_bytes(struct side *side, size_t bytes)
{
	if (side->unconnected)
		return sendto(side->fd, side->out, bytes, SEND_FLAGS,
			      (struct sockaddr *) &side->peer, sizeof(side->peer)) >= 0;
	return send(side->fd, side->out, bytes, SEND_FLAGS) >= 0;
}

static void send_datagram(struct side *side, enum kind kind, uint32_t seq, uint32_t count,
			  size_t bytes)
{
	struct header *out = (struct header *) side->out;
	uint64_t deadline = 0;

	out->kind = (uint8_t) kind;
	out->seq = htonl(seq);
	out->count = htonl(count);
	while (!send_bytes(side, bytes))
		send_failed(side, &deadline);
}

/* What has arrived in side->in, bytes; 0: nothing. from: set unless NULL. */
static size_t receive_train(struct side *side, struct sockaddr_in *from)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {side->in, 1 << 16};
	struct msghdr msg = {.msg_name = from,
			     .msg_namelen = from ? sizeof(*from) : 0,
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	ssize_t bytes = recvmsg(side->fd, &msg, MSG_DONTWAIT);
	const struct cmsghdr *cmsg;
	int segment;

	if (bytes < (ssize_t) sizeof(struct header))
		return 0;
	side->segment = (uint32_t) bytes;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_UDP && cmsg->cmsg_type == UDP_GRO) {
		memcpy(&segment, CMSG_DATA(cmsg), sizeof(segment));
		side->segment = (uint32_t) segment;
	}
	return (size_t) bytes;
}

static size_t receive_datagram(struct side *side)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t bytes = recvfrom(side->fd, side->in, 1 << 16, MSG_DONTWAIT,
				 side->unconnected ? (struct sockaddr *) &from : NULL,
				 side->unconnected ? &len : NULL);

	side->segment = (uint32_t) bytes;
	return bytes < (ssize_t) sizeof(struct header) ? 0 : (size_t) bytes;
}

/* Polls for at most wait_ns; 0: nothing came. */
static size_t await_any(struct side *side, bool trains, struct sockaddr_in *from, uint64_t wait_ns)
{
	uint64_t deadline = 0;
	size_t bytes;

	for (;;) {
		for (int i = 0; i < POLLS_PER_CLOCK; i++) {
			bytes = trains ? receive_train(side, from) : receive_datagram(side);
			if (bytes)
				return bytes;
		}
		if (!deadline)
			deadline = now_ns() + wait_ns;
		else if (now_ns() > deadline)
			return 0;
	}
}

/* ---- server ---- */

/* Takes the datagrams of a train out; the last one may ask for credit. */
static void take_train(struct side *side, size_t bytes, uint32_t *received)
{
	for (size_t at = 0; at < bytes; at += side->segment) {
		size_t len = bytes - at < side->segment ? bytes - at : side->segment;
		const struct header *head = (const struct header *) (side->in + at);

		if (len < sizeof(*head))
			return;
		memcpy(side_piece(side, len - sizeof(*head)), head + 1, len - sizeof(*head));
		++*received;
		if (head->ask)
			send_datagram(side, KIND_CREDIT, ntohl(head->seq), *received,
				      sizeof(*head));
	}
}

/* The server does not know what will be measured until a client says so. */
static void begin_measurement(struct side *side, const struct header *head, bool *trains)
{
	int bytes, one = head->ask;
	socklen_t len = sizeof(bytes);

	if (setsockopt(side->fd, SOL_UDP, UDP_GRO, &one, sizeof(one)) && one)
		die("no UDP_GRO: Linux 5.0 is needed: %s", strerror(errno));
	if (getsockopt(side->fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len))
		die("SO_RCVBUF: %s", strerror(errno));
	*trains = head->ask;
	side_memory(side, ntohl(head->count));
	send_datagram(side, KIND_READY, ntohl(head->seq), (uint32_t) bytes, sizeof(*head));
}

static void serve(struct side *side)
{
	struct sockaddr_in from;
	uint32_t received = 0;
	bool known = false, trains = true;

	for (;;) {
		size_t bytes = await_any(side, trains, known ? NULL : &from, side->timeout_ns);
		struct header head;

		if (!bytes)
			die("nothing arrived for %llu s: %s",
			    (unsigned long long) (side->timeout_ns / 1000000000ull),
			    known ? "the client went silent" : "no client called");
		memcpy(&head, side->in, sizeof(head));
		if (!known && (head.kind != KIND_HELLO || side_connect(side, &from)))
			continue;
		known = true;
		if (head.kind == KIND_PING) {
			send_datagram(side, KIND_PONG, ntohl(head.seq), 0, bytes);
		} else if (head.kind == KIND_DATA) {
			take_train(side, bytes, &received);
		} else if (head.kind == KIND_HELLO) {
			received = 0;
			begin_measurement(side, &head, &trains);
		} else if (head.kind == KIND_BYE) {
			return;
		}
	}
}

/* ---- client ---- */

/* Waits for the datagram of this kind and number; false when nothing came in time. */
static bool await(struct side *side, enum kind kind, uint32_t seq, uint64_t wait_ns,
		  uint32_t *count)
{
	struct header head;

	do {
		if (!await_any(side, false, NULL, wait_ns))
			return false;
		memcpy(&head, side->in, sizeof(head));
	} while (head.kind != kind || head.seq != htonl(seq));
	*count = ntohl(head.count);
	return true;
}

/* Calls the server until it answers, so that either side may be started first. Returns the bytes of
 * its receive buffer. */
static uint32_t greet(struct side *side, bool trains, uint32_t seq)
{
	uint64_t end = now_ns() + side->timeout_ns;
	uint32_t count;

	do {
		((struct header *) side->out)->ask = trains;
		send_datagram(side, KIND_HELLO, seq, (uint32_t) side->memory_bytes,
			      sizeof(struct header));
		if (await(side, KIND_READY, seq, HELLO_NS, &count))
			return count;
	} while (now_ns() < end);
	die("no answer: is gamma-rawudp -s running there, with the same -p?");
}

static void pingpong(struct side *side, const struct options *opt, size_t size)
{
	uint64_t *rtt_ns = calloc(opt->iterations, sizeof(*rtt_ns));
	uint64_t before, after;
	uint32_t count;

	if (!rtt_ns)
		die("out of memory for %u samples", opt->iterations);
	before = now_ns();
	for (uint32_t i = 0; i < opt->warmup + opt->iterations; i++) {
		send_datagram(side, KIND_PING, i, 0, size);
		if (!await(side, KIND_PONG, i, side->timeout_ns, &count))
			die("round trip %u at %zu bytes was not answered: a datagram was lost", i,
			    size);
		after = now_ns();
		if (i >= opt->warmup)
			rtt_ns[i - opt->warmup] = after - before;
		before = after;
	}
	round_trips_print("gamma-rawudp", opt->json, size, rtt_ns, opt->iterations);
	free(rtt_ns);
}

/* A train of a stream, prepared once: only sequence number and payload change. */
struct train {
	struct msghdr msg;
	struct iovec iov[2 * TRAIN_MOST];
	struct header header[TRAIN_MOST];
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(uint16_t))];
	unsigned datagrams;
	size_t payload; /* of a datagram, bytes */
	unsigned ahead; /* trains in flight at most */
};

static void train_prepare(struct train *train, const struct options *opt, size_t size,
			  uint32_t buffer)
{
	const unsigned fit = (unsigned) (DATAGRAM_MOST / size);
	struct cmsghdr *cmsg = (struct cmsghdr *) train->control;
	uint16_t segment = (uint16_t) size;

	memset(train, 0, sizeof(*train));
	train->datagrams = opt->train ? opt->train : TRAIN_MOST;
	train->datagrams = train->datagrams < fit ? train->datagrams : fit;
	train->payload = size - sizeof(struct header);
	/* The kernel counts up to twice the bytes, and more for short datagrams. */
	train->ahead = buffer / (train->datagrams * ((unsigned) size * 2 + 1024));
	train->ahead = train->ahead < TRAINS_AHEAD ? train->ahead : TRAINS_AHEAD;
	if (opt->window && opt->window < train->ahead)
		train->ahead = opt->window;
	train->ahead = train->ahead ? train->ahead : 1;
	for (unsigned i = 0; i < train->datagrams; i++) {
		train->header[i].kind = KIND_DATA;
		train->header[i].ask = i == train->datagrams - 1;
		train->iov[2 * i] = (struct iovec){&train->header[i], sizeof(struct header)};
		train->iov[2 * i + 1].iov_len = train->payload;
	}
	train->msg.msg_iov = train->iov;
	train->msg.msg_iovlen = 2 * train->datagrams;
	if (train->datagrams == 1)
		return;
	train->msg.msg_control = train->control;
	train->msg.msg_controllen = sizeof(train->control);
	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(cmsg), &segment, sizeof(segment));
}

static void train_send(struct train *train, struct side *side, uint32_t number)
{
	uint64_t deadline = 0;

	train->header[train->datagrams - 1].seq = htonl(number);
	for (unsigned i = 0; i < train->datagrams; i++)
		train->iov[2 * i + 1].iov_base = side_piece(side, train->payload);
	train->msg.msg_name = side->unconnected ? &side->peer : NULL;
	train->msg.msg_namelen = side->unconnected ? sizeof(side->peer) : 0;
	while (sendmsg(side->fd, &train->msg, SEND_FLAGS) < 0)
		send_failed(side, &deadline);
}

/* Sends this many trains; ns. */
static uint64_t stream_run(struct side *side, const struct options *opt, size_t size,
			   uint32_t trains, uint32_t seq)
{
	static struct train train;
	uint32_t sent = 0, acked = 0, count = 0;
	uint64_t begin;

	train_prepare(&train, opt, size, greet(side, true, seq));
	begin = now_ns();
	while (acked < trains) {
		while (sent < trains && sent - acked < train.ahead)
			train_send(&train, side, sent++);
		if (!await(side, KIND_CREDIT, acked, side->timeout_ns, &count))
			die("train %u was not acknowledged: datagrams were lost", acked);
		if (count != ++acked * train.datagrams)
			die("%u datagrams of the stream were lost",
			    acked * train.datagrams - count);
	}
	return now_ns() - begin;
}

static void stream(struct side *side, const struct options *opt, size_t size, uint32_t seq)
{
	static struct train train;
	uint32_t trains, warmup;
	uint64_t ns;
	double rate;

	train_prepare(&train, opt, size, UINT32_MAX);
	trains = (opt->iterations + train.datagrams - 1) / train.datagrams;
	warmup = (opt->warmup + train.datagrams - 1) / train.datagrams;
	if (warmup)
		stream_run(side, opt, size, warmup, seq);
	ns = stream_run(side, opt, size, trains, seq + 1);
	rate = (double) trains * train.datagrams * (double) train.payload * 1000.0 / (double) ns;
	if (opt->json)
		printf("{\"tool\":\"gamma-rawudp\",\"mode\":\"stream\",\"size\":%zu,\"train\":%u,"
		       "\"datagrams\":%u,\"MB_per_s\":%.1f}\n",
		       size, train.datagrams, trains * train.datagrams, rate);
	else
		printf("%8zu %10u %10.1f\n", size, trains * train.datagrams, rate);
	fflush(stdout);
}

static void measure(struct side *side, const struct options *opt)
{
	uint32_t seq = 1; /* of HELLO */

	side_memory(side, opt->memory);
	greet(side, opt->stream, 0);
	if (!opt->json)
		puts(opt->stream ? "#  bytes  datagrams       MB/s"
				 : "#  bytes  median us     min us    mean us");
	do {
		if (opt->kept && !command_next_line())
			break;
		for (unsigned i = 0; i < opt->sizes; i++, seq += 2) {
			if (opt->stream)
				stream(side, opt, opt->size[i], seq);
			else
				pingpong(side, opt, opt->size[i]);
		}
	} while (opt->kept);
	send_datagram(side, KIND_BYE, 0, 0, sizeof(struct header));
}

/* ---- command line ---- */

static const char usage[] =
	"usage: gamma-rawudp -s [-u] [-p PORT] [-t SECONDS]\n"
	"       gamma-rawudp [-u] [-S SIZE[,SIZE...]] [-m pingpong|stream] [-T DATAGRAMS] [-W "
	"TRAINS]\n"
	"                    [-M BYTES] [-n N] [-w WARM-UP] [-p PORT] [-t SECONDS] [-j] [-k] "
	"SERVER\n";

static void parse_sizes(struct options *opt, char *list)
{
	opt->sizes = command_sizes("-S", list, opt->size, SIZES_MAX, DATAGRAM_MOST);
	for (unsigned i = 0; i < opt->sizes; i++)
		if (opt->size[i] < sizeof(struct header))
			command_misuse("-S %zu is less than the header of %zu bytes", opt->size[i],
				       sizeof(struct header));
}

static void parse_option(struct options *opt, int letter)
{
	switch (letter) {
	case 's':
		opt->server = true;
		break;
	case 'u':
		opt->unconnected = true;
		break;
	case 'S':
		parse_sizes(opt, optarg);
		break;
	case 'm':
		opt->stream = !strcmp(optarg, "stream");
		if (!opt->stream && strcmp(optarg, "pingpong"))
			command_misuse("-m '%s' is no mode", optarg);
		break;
	case 'T':
		opt->train = (unsigned) command_whole("-T", optarg, 1, TRAIN_MOST);
		break;
	case 'W':
		opt->window = (unsigned) command_whole("-W", optarg, 1, 1 << 16);
		break;
	case 'M':
		opt->memory = command_whole("-M", optarg, 1, 1 << 30);
		break;
	case 'n':
		opt->iterations = (unsigned) command_whole("-n", optarg, 1, 100000000);
		break;
	case 'w':
		opt->warmup = (unsigned) command_whole("-w", optarg, 0, 100000000);
		break;
	case 'p':
		opt->port = (uint16_t) command_whole("-p", optarg, 1, UINT16_MAX);
		break;
	case 't':
		opt->timeout_ns = command_whole("-t", optarg, 1, 3600) * 1000000000ull;
		break;
	case 'j':
		opt->json = true;
		break;
	case 'k':
		opt->kept = true;
		break;
	}
}

static void parse(struct options *opt, int argc, char **argv)
{
	int letter;

	*opt = (struct options){.size = {64},
				.sizes = 1,
				.iterations = 20000,
				.warmup = 1000,
				.port = PORT,
				.timeout_ns = 10 * 1000000000ull};
	command_usage = usage;
	while ((letter = command_option(argc, argv, "suS:m:T:W:M:n:w:p:t:jkh")) != -1)
		parse_option(opt, letter);
	if (!opt->server && optind < argc) {
		opt->peer =
			(struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(opt->port)};
		if (!inet_pton(AF_INET, argv[optind], &opt->peer.sin_addr))
			command_misuse("'%s' is no IPv4 address", argv[optind]);
		optind++;
	} else if (!opt->server) {
		command_misuse("the server's address is missing, or -s");
	}
	command_end(argc, argv);
}

int main(int argc, char **argv)
{
	static struct side side;
	struct options opt;

	parse(&opt, argc, argv);
	side_open(&side, &opt);
	if (opt.server)
		serve(&side);
	else
		measure(&side, &opt);
	close(side.fd);
	return 0;
}
