// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The raw baseline: what a raw packet socket alone costs on a pair of NICs, without any
 * protocol. Owns nothing of the provider and uses none of its code; the measuring
 * scripts call it beside fi_pingpong, in the same run.
 *
 * NAME
 *	gamma-rawpacket - raw Ethernet ping-pong and stream over AF_PACKET
 *
 * SYNOPSIS
 *	gamma-rawpacket -i IFACE -s [-p PORT] [-t SECONDS]
 *	gamma-rawpacket -i IFACE -d MAC [-S SIZE[,SIZE...]] [-m pingpong|stream]
 *			[-M BYTES] [-W FRAMES] [-n ITERATIONS] [-w WARM-UP] [-p PORT]
 *			[-t SECONDS] [-j] [-k]
 *
 * DESCRIPTION
 *	The server (-s) answers one client and ends with it. The client (-d) measures each
 *	size and prints a line for each: half the round trip in us as median, minimum and
 *	mean; or, with -m stream, the rate of a one-way stream in MB/s (10^6 bytes).
 *	Both sides receive from a TPACKET_V2 ring (<= 4 MiB) that they poll without
 *	sleeping, and send with PACKET_QDISC_BYPASS. So each keeps one core busy: pin them
 *	to different cores (taskset). A socket filter passes EtherType 0x88B6 (IEEE local
 *	experimental 2) and PORT alone.
 *
 *	-i IFACE	the NIC
 *	-s		be the server
 *	-d MAC		be the client of the server whose NIC has this address
 *	-S SIZE,...	bytes after the Ethernet header, 12 to the MTU (default 64)
 *	-m MODE		pingpong (default): the server sends a frame of the same size back;
 *			stream: bursts by sendmmsg, header and payload gathered from two
 *			places, the payload from where the user of a transport would have it;
 *			the server copies each payload to where the user would want it, and
 *			returns one small credit frame a burst, so that nothing is lost. Any
 *			transport over such a socket makes these copies: one by the kernel from
 *			the user's memory, one by the kernel into the ring, one out of it
 *	-M BYTES	of the user's memory that a stream leaves from, piece after piece and
 *			over again, and of that where it arrives (default: one frame's)
 *	-W FRAMES	of a stream in flight at most, for networks with short queues
 *			(default: as many as the ring holds)
 *	-n ITERATIONS	round trips, or frames of the stream (default 20000)
 *	-w WARM-UP	round trips or frames before counting (default 1000)
 *	-p PORT		1 to 65535, both sides the same (default 1)
 *	-t SECONDS	give up when nothing arrives for this long (default 10)
 *	-j		a JSON object a line instead of the table
 *	-k		measures for each line of the standard input; between two of them nothing
 *			is in flight, and both sides may be stopped
 *
 * EXIT STATUS
 *	0 measured; 1 failed, with a line that says why; 2 wrong usage.
 *
 * NOTES
 *	Needs CAP_NET_RAW. A lost frame is an error, not repaired: this is a baseline.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "round_trips.h"

enum {
	ETHERTYPE = 0x88B6,        /* IEEE local experimental 2: not the provider's 0x88B5 */
	RING_BYTES = 4 << 20,      /* the provider's limit for an endpoint's ring */
	BLOCK_MIN_BYTES = 1 << 16, /* a block holds whole slots: larger wastes less */
	SLOT_ALIGN = 128,          /* bytes: two cache lines, as in the provider's ring */
	BURST_FRAMES = 64,         /* frames a sendmmsg */
	SIZES_MAX = 32,
	HELLO_NS = 100 * 1000 * 1000, /* time between two attempts to reach the server */
	SPINS_PER_CLOCK = 4096,       /* polls of the ring between two looks at the clock */
};

enum kind {
	KIND_HELLO = 1, /* client: begin a measurement, counters to zero */
	KIND_READY,     /* server: agreed */
	KIND_PING,
	KIND_PONG,
	KIND_DATA,   /* one frame of a stream */
	KIND_CREDIT, /* server: count frames of the stream were copied out */
	KIND_BYE,    /* client: finished, the server ends */
};

/* What follows on the wire; integers in network order. */
struct frame {
	struct ether_header eth;
	uint16_t port;
	uint8_t kind;
	uint8_t ask; /* DATA: 1 in the last frame of a burst asks for CREDIT */
	uint32_t seq;
	uint32_t count; /* CREDIT: frames received since HELLO; HELLO: bytes of the user's memory */
} __attribute__((packed));

enum { HEADER_BYTES = sizeof(struct frame) - sizeof(struct ether_header) };

struct options {
	const char *iface;
	bool server, stream, json, kept;
	uint8_t peer[ETH_ALEN];
	uint32_t size[SIZES_MAX]; /* bytes after the Ethernet header */
	int sizes;
	uint32_t message; /* bytes; 0: a frame */
	uint32_t window;  /* frames; 0: the ring */
	uint32_t iterations, warmup;
	uint16_t port;
	uint32_t timeout_s;
};

/* The socket and its receive ring. */
struct link {
	int fd;
	const char *iface;
	uint32_t mtu;        /* bytes */
	uint32_t block_size; /* bytes */
	uint32_t slot_size;  /* bytes */
	uint32_t per_block;  /* slots */
	uint32_t slots;
	uint32_t next; /* slot that the kernel fills next */
	uint8_t *ring;
	uint64_t timeout_ns;
	struct frame *out; /* the frame sent, mtu bytes long: kind and seq change per frame */
	uint8_t *message;  /* the user's memory: sent from, or received into */
	uint32_t message_bytes, message_at;
};

/* One line with the cause, and the end. */
static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("gamma-rawpacket: ", stderr);
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

static void link_query(struct link *link, int *ifindex, uint8_t *mac)
{
	struct ifreq ifr = {0};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", link->iface);
	if (ioctl(link->fd, SIOCGIFINDEX, &ifr))
		die("%s: no such interface", link->iface);
	*ifindex = ifr.ifr_ifindex;
	if (ioctl(link->fd, SIOCGIFHWADDR, &ifr) || ifr.ifr_hwaddr.sa_family != 1)
		die("%s: not an Ethernet interface", link->iface);
	memcpy(mac, ifr.ifr_hwaddr.sa_data, ETH_ALEN);
	if (ioctl(link->fd, SIOCGIFMTU, &ifr))
		die("%s: MTU unknown: %s", link->iface, strerror(errno));
	link->mtu = (uint32_t) ifr.ifr_mtu;
	if (ioctl(link->fd, SIOCGIFFLAGS, &ifr) || !(ifr.ifr_flags & IFF_UP))
		die("%s is down: ip link set %s up", link->iface, link->iface);
}

static void link_filter(struct link *link, uint16_t port)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) (SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 5),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct ether_header, ether_type)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct frame, port)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	if (setsockopt(link->fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)))
		die("socket filter refused: %s", strerror(errno));
}

static void link_ring(struct link *link)
{
	int version = TPACKET_V2;
	struct tpacket_req req;

	/* The kernel puts at least 16 bytes, aligned, before the network header. */
	link->slot_size = TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + link->mtu;
	link->slot_size = (link->slot_size + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
	link->block_size = BLOCK_MIN_BYTES;
	while (link->block_size < link->slot_size)
		link->block_size *= 2;
	link->per_block = link->block_size / link->slot_size;
	req.tp_block_size = link->block_size;
	req.tp_block_nr = RING_BYTES / link->block_size;
	req.tp_frame_size = link->slot_size;
	req.tp_frame_nr = link->per_block * req.tp_block_nr;
	link->slots = req.tp_frame_nr;
	if (setsockopt(link->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(link->fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)))
		die("receive ring refused: %s", strerror(errno));
	link->ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, link->fd, 0);
	if (link->ring == MAP_FAILED)
		die("receive ring not mapped: %s", strerror(errno));
}

/* The frame that every send reuses. */
static void link_out(struct link *link, const struct options *opt, const uint8_t *mac)
{
	link->out = calloc(1, ETH_HLEN + link->mtu);
	if (!link->out)
		die("out of memory");
	memcpy(link->out->eth.ether_shost, mac, ETH_ALEN);
	memcpy(link->out->eth.ether_dhost, opt->peer, ETH_ALEN);
	link->out->eth.ether_type = htons(ETHERTYPE);
	link->out->port = htons(opt->port);
}

static void link_open(struct link *link, const struct options *opt)
{
	struct sockaddr_ll sll = {.sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE)};
	uint8_t mac[ETH_ALEN];
	int on = 1;

	memset(link, 0, sizeof(*link));
	link->iface = opt->iface;
	link->timeout_ns = opt->timeout_s * 1000000000ull;
	/* Protocol 0 and bound last: nothing arrives before the filter and ring exist. */
	link->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (link->fd < 0)
		die("no packet socket: %s%s", strerror(errno),
		    errno == EPERM ? " (run as root or with CAP_NET_RAW)" : "");
	link_query(link, &sll.sll_ifindex, mac);
	link_filter(link, opt->port);
	link_ring(link);
	if (setsockopt(link->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)))
		die("PACKET_QDISC_BYPASS refused: %s", strerror(errno));
	if (bind(link->fd, (struct sockaddr *) &sll, sizeof(sll)))
		die("%s: bind: %s", link->iface, strerror(errno));
	link_out(link, opt, mac);
}

/* The user's memory; at least a frame of it. */
static void link_message(struct link *link, uint32_t bytes)
{
	bytes = bytes > link->mtu ? bytes : link->mtu;
	if (bytes != link->message_bytes) {
		free(link->message);
		link->message = calloc(1, bytes);
		if (!link->message)
			die("out of memory");
	}
	link->message_bytes = bytes;
	link->message_at = 0;
}

/* Where the next piece of it is. */
static uint8_t *link_piece(struct link *link, uint32_t bytes)
{
	uint8_t *piece;

	if (link->message_at + bytes > link->message_bytes)
		link->message_at = 0;
	piece = link->message + link->message_at;
	link->message_at += bytes;
	return piece;
}

static void link_close(struct link *link)
{
	struct tpacket_stats stats = {0};
	socklen_t len = sizeof(stats);

	if (!getsockopt(link->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) && stats.tp_drops)
		fprintf(stderr, "gamma-rawpacket: %s: the ring overflowed, %u frames dropped\n",
			link->iface, stats.tp_drops);
	munmap(link->ring, RING_BYTES);
	close(link->fd);
	free(link->out);
	free(link->message);
}

/* ---- frames ---- */

static struct tpacket2_hdr *link_slot(const struct link *link)
{
	uint32_t block = link->next / link->per_block, index = link->next % link->per_block;

	return (struct tpacket2_hdr *) (link->ring + (size_t) block * link->block_size +
					(size_t) index * link->slot_size);
}

static void link_release(struct link *link)
{
	__atomic_store_n(&link_slot(link)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	if (++link->next == link->slots)
		link->next = 0;
}

/* The next frame, to be released, or NULL; length = bytes after the Ethernet header. */
static const struct frame *link_poll(struct link *link, uint32_t *length)
{
	struct tpacket2_hdr *slot = link_slot(link);

	if (!(__atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		return NULL;
	if (slot->tp_snaplen < slot->tp_len || slot->tp_len < sizeof(struct frame) ||
	    slot->tp_len > ETH_HLEN + link->mtu) {
		link_release(link);
		return NULL;
	}
	*length = slot->tp_snaplen - ETH_HLEN;
	return (const struct frame *) ((const uint8_t *) slot + slot->tp_mac);
}

/* The next frame, polled for at most wait_ns; NULL if none came. */
static const struct frame *link_wait(struct link *link, uint32_t *length, uint64_t wait_ns)
{
	const struct frame *frame;
	uint64_t deadline = 0;

	for (;;) {
		for (int spin = 0; spin < SPINS_PER_CLOCK; spin++) {
			frame = link_poll(link, length);
			if (frame)
				return frame;
		}
		if (!deadline)
			deadline = now_ns() + wait_ns;
		else if (now_ns() > deadline)
			return NULL;
	}
}

/* A full transmit queue is retried until the deadline; anything else is the end. */
static void send_failed(const struct link *link, uint64_t *deadline)
{
	if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR)
		die("%s: send: %s", link->iface, strerror(errno));
	if (!*deadline)
		*deadline = now_ns() + link->timeout_ns;
	else if (now_ns() > *deadline)
		die("%s: nothing can be sent: no carrier, or the other end is down or has a "
		    "smaller MTU",
		    link->iface);
}

static void send_frame(struct link *link, enum kind kind, uint32_t seq, uint32_t length)
{
	uint64_t deadline = 0;

	link->out->kind = kind;
	link->out->seq = htonl(seq);
	while (send(link->fd, link->out, ETH_HLEN + length, 0) < 0)
		send_failed(link, &deadline);
}

/* ---- server ---- */

/*
 * Takes what is needed of the frame, frees its slot, and then answers: a credit must not
 * reach the client before the slot is free.
 */
static void serve_frame(struct link *link, const struct frame *in, uint32_t length,
			uint32_t *received)
{
	struct frame head = *in;
	uint32_t seq = ntohl(head.seq);

	if (head.kind == KIND_DATA)
		memcpy(link_piece(link, length - HEADER_BYTES), in + 1, length - HEADER_BYTES);
	link_release(link);
	switch (head.kind) {
	case KIND_HELLO:
		memcpy(link->out->eth.ether_dhost, head.eth.ether_shost, ETH_ALEN);
		link_message(link, ntohl(head.count));
		*received = 0;
		send_frame(link, KIND_READY, seq, HEADER_BYTES);
		break;
	case KIND_PING:
		send_frame(link, KIND_PONG, seq, length);
		break;
	case KIND_DATA:
		link->out->count = htonl(++*received);
		if (head.ask)
			send_frame(link, KIND_CREDIT, seq, HEADER_BYTES);
		break;
	default:
		break;
	}
}

static void serve(struct link *link)
{
	const struct frame *in;
	uint8_t client[ETH_ALEN];
	uint32_t length, received = 0;
	bool known = false;
	uint8_t kind;

	do {
		in = link_wait(link, &length, link->timeout_ns);
		if (!in)
			die("%s: nothing arrived for %llu s: %s", link->iface,
			    (unsigned long long) (link->timeout_ns / 1000000000ull),
			    known ? "the client went silent" : "no client called");
		kind = in->kind;
		if (!known && kind == KIND_HELLO) {
			memcpy(client, in->eth.ether_shost, ETH_ALEN);
			known = true;
		}
		if (known && !memcmp(client, in->eth.ether_shost, ETH_ALEN)) {
			serve_frame(link, in, length, &received);
		} else { /* another client, or the rest of an earlier one */
			kind = 0;
			link_release(link);
		}
	} while (kind != KIND_BYE);
}

/* ---- client ---- */

/* Waits for the frame of this kind and number; false when nothing came in time. */
static bool await(struct link *link, enum kind kind, uint32_t seq, uint64_t wait_ns,
		  uint32_t *count)
{
	const struct frame *in;
	uint32_t length;
	bool match = false;

	while (!match) {
		in = link_wait(link, &length, wait_ns);
		if (!in)
			return false;
		match = in->kind == kind && in->seq == htonl(seq);
		*count = ntohl(in->count);
		link_release(link);
	}
	return true;
}

/* Calls the server until it answers, so that either side may be started first. */
static void greet(struct link *link, uint32_t seq)
{
	uint64_t end = now_ns() + link->timeout_ns;
	const uint8_t *mac = link->out->eth.ether_dhost;
	uint32_t count;

	link->out->count = htonl(link->message_bytes);
	do {
		send_frame(link, KIND_HELLO, seq, HEADER_BYTES);
		if (await(link, KIND_READY, seq, HELLO_NS, &count))
			return;
	} while (now_ns() < end);
	die("%s: no answer from %02x:%02x:%02x:%02x:%02x:%02x: is gamma-rawpacket -s running "
	    "there, with the same -p?",
	    link->iface, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static void pingpong(struct link *link, const struct options *opt, uint32_t size)
{
	uint64_t *rtt_ns = calloc(opt->iterations, sizeof(*rtt_ns));
	uint64_t before, after;
	uint32_t count;

	if (!rtt_ns)
		die("out of memory for %u samples", opt->iterations);
	before = now_ns();
	for (uint32_t i = 0; i < opt->warmup + opt->iterations; i++) {
		send_frame(link, KIND_PING, i, size);
		if (!await(link, KIND_PONG, i, link->timeout_ns, &count))
			die("%s: round trip %u at %u bytes was not answered: a frame was lost, "
			    "or the path does not carry this size",
			    link->iface, i, size);
		after = now_ns();
		if (i >= opt->warmup)
			rtt_ns[i - opt->warmup] = after - before;
		before = after;
	}
	round_trips_print("gamma-rawpacket", opt->json, size, rtt_ns, opt->iterations);
	free(rtt_ns);
}

/* One burst of a stream, prepared once: only the sequence numbers change. */
struct burst {
	struct mmsghdr msg[BURST_FRAMES];
	struct iovec iov[BURST_FRAMES][2];
	struct frame header[BURST_FRAMES];
	uint32_t frames;  /* in a burst: at most half of what may be in flight */
	uint32_t payload; /* of a frame, bytes */
	uint32_t ahead;   /* bursts in flight at most */
};

static void burst_prepare(struct burst *burst, struct link *link, uint32_t size, uint32_t window)
{
	memset(burst, 0, sizeof(*burst));
	window = window && window < link->slots ? window : link->slots;
	burst->frames = window / 2 < BURST_FRAMES ? window / 2 : BURST_FRAMES;
	burst->payload = size - HEADER_BYTES;
	burst->ahead = window / burst->frames;
	for (uint32_t i = 0; i < burst->frames; i++) {
		burst->header[i] = *link->out;
		burst->header[i].kind = KIND_DATA;
		burst->header[i].ask = i == burst->frames - 1;
		burst->iov[i][0] = (struct iovec){&burst->header[i], sizeof(struct frame)};
		burst->iov[i][1].iov_len = burst->payload;
		burst->msg[i].msg_hdr.msg_iov = burst->iov[i];
		burst->msg[i].msg_hdr.msg_iovlen = size > HEADER_BYTES ? 2 : 1;
	}
}

static void burst_send(struct burst *burst, struct link *link, uint32_t number)
{
	uint64_t deadline = 0;
	uint32_t sent = 0;
	int rc;

	burst->header[burst->frames - 1].seq = htonl(number);
	for (uint32_t i = 0; i < burst->frames; i++)
		burst->iov[i][1].iov_base = link_piece(link, burst->payload);
	while (sent < burst->frames) {
		rc = sendmmsg(link->fd, burst->msg + sent, burst->frames - sent, 0);
		if (rc > 0)
			sent += (uint32_t) rc;
		else
			send_failed(link, &deadline);
	}
}

/* Sends this many bursts, never more ahead of the credit than the ring holds. */
static uint64_t stream_run(struct link *link, struct burst *burst, uint32_t bursts, uint32_t seq)
{
	uint32_t sent = 0, acked = 0, count = 0;
	uint64_t begin;

	greet(link, seq);
	begin = now_ns();
	while (acked < bursts) {
		while (sent < bursts && sent - acked < burst->ahead)
			burst_send(burst, link, sent++);
		if (!await(link, KIND_CREDIT, acked, link->timeout_ns, &count))
			die("%s: burst %u was not acknowledged: frames were lost, or the path "
			    "does not carry this size",
			    link->iface, acked);
		if (count != ++acked * burst->frames)
			die("%s: %u frames of the stream were lost", link->iface,
			    acked * burst->frames - count);
	}
	return now_ns() - begin;
}

static void stream(struct link *link, const struct options *opt, uint32_t size, uint32_t seq)
{
	struct burst burst;
	uint32_t bursts;
	uint64_t ns;
	double rate;

	burst_prepare(&burst, link, size, opt->window);
	bursts = (opt->iterations + burst.frames - 1) / burst.frames;
	if (opt->warmup)
		stream_run(link, &burst, (opt->warmup + burst.frames - 1) / burst.frames, seq);
	ns = stream_run(link, &burst, bursts, seq + 1);
	rate = (double) bursts * burst.frames * size * 1000.0 / (double) ns;
	if (opt->json)
		printf("{\"tool\":\"gamma-rawpacket\",\"mode\":\"stream\",\"size\":%u,"
		       "\"frames\":%u,\"MB_per_s\":%.1f}\n",
		       size, bursts * burst.frames, rate);
	else
		printf("%8u %10u %10.1f\n", size, bursts * burst.frames, rate);
	fflush(stdout);
}

static void measure(struct link *link, const struct options *opt)
{
	uint32_t seq = 1; /* of HELLO */

	for (int i = 0; i < opt->sizes; i++)
		if (opt->size[i] > link->mtu)
			die("%u bytes do not fit the MTU of %s, %u", opt->size[i], link->iface,
			    link->mtu);
	link_message(link, opt->message);
	greet(link, 0);
	if (!opt->json)
		puts(opt->stream ? "#  bytes     frames       MB/s"
				 : "#  bytes  median us     min us    mean us");
	do {
		if (opt->kept && !command_next_line())
			break;
		for (int i = 0; i < opt->sizes; i++, seq += 2) {
			if (opt->stream)
				stream(link, opt, opt->size[i], seq);
			else
				pingpong(link, opt, opt->size[i]);
		}
	} while (opt->kept);
	send_frame(link, KIND_BYE, 0, HEADER_BYTES);
}

/* ---- command line ---- */

static const char usage[] =
	"usage: gamma-rawpacket -i IFACE -s [-p PORT] [-t SECONDS]\n"
	"       gamma-rawpacket -i IFACE -d MAC [-S SIZE[,SIZE...]] [-m pingpong|stream]\n"
	"                       [-M BYTES] [-W FRAMES] [-n ITERATIONS] [-w WARM-UP] [-p PORT]\n"
	"                       [-t SECONDS] [-j] [-k]\n";

/* LIST is split into words. */
static void parse_sizes(struct options *opt, char *list)
{
	opt->sizes = 0;
	for (char *word; (word = strsep(&list, ","));) {
		if (opt->sizes == SIZES_MAX)
			command_misuse("-S: more than %d sizes", SIZES_MAX);
		opt->size[opt->sizes++] =
			(unsigned) command_whole("-S", word, HEADER_BYTES, UINT16_MAX);
	}
}

static void parse_mac(struct options *opt, const char *text)
{
	uint8_t *m = opt->peer;
	int end = -1;

	if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", m, m + 1, m + 2, m + 3, m + 4,
		   m + 5, &end) != 6 ||
	    end < 0 || text[end])
		command_misuse("-d '%s' is no address such as 02:47:41:4d:00:02", text);
	if (m[0] & 1)
		command_misuse("-d '%s' is a group's address, not that of one NIC", text);
}

static void parse_mode(struct options *opt, const char *text)
{
	if (!strcmp(text, "stream"))
		opt->stream = true;
	else if (strcmp(text, "pingpong"))
		command_misuse("-m '%s' is no mode", text);
}

static void parse_option(struct options *opt, int letter, bool *client)
{
	switch (letter) {
	case 'i':
		opt->iface = optarg;
		break;
	case 's':
		opt->server = true;
		break;
	case 'd':
		parse_mac(opt, optarg);
		*client = true;
		break;
	case 'S':
		parse_sizes(opt, optarg);
		break;
	case 'm':
		parse_mode(opt, optarg);
		break;
	case 'M':
		opt->message = (uint32_t) command_whole("-M", optarg, 1, 1 << 30);
		break;
	case 'W':
		opt->window = (uint32_t) command_whole("-W", optarg, 2, 1 << 20);
		break;
	case 'n':
		opt->iterations = (uint32_t) command_whole("-n", optarg, 1, 100000000);
		break;
	case 'w':
		opt->warmup = (uint32_t) command_whole("-w", optarg, 0, 100000000);
		break;
	case 'p':
		opt->port = (uint16_t) command_whole("-p", optarg, 1, UINT16_MAX);
		break;
	case 't':
		opt->timeout_s = (uint32_t) command_whole("-t", optarg, 1, 3600);
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
	bool client = false;
	int letter;

	*opt = (struct options){.size = {64},
				.sizes = 1,
				.iterations = 20000,
				.warmup = 1000,
				.port = 1,
				.timeout_s = 10};
	command_usage = usage;
	while ((letter = command_option(argc, argv, "i:sd:S:m:M:W:n:w:p:t:jkh")) != -1)
		parse_option(opt, letter, &client);
	command_end(argc, argv);
	if (!opt->iface)
		command_misuse("-i IFACE is missing");
	if (opt->server == client)
		command_misuse("either -s (server) or -d MAC (client)");
}

int main(int argc, char **argv)
{
	struct options opt;
	struct link link;

	parse(&opt, argc, argv);
	link_open(&link, &opt);
	if (opt.server)
		serve(&link);
	else
		measure(&link, &opt);
	link_close(&link);
	return 0;
}
