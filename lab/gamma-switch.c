// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A store-and-forward switch port in user space, for delay, jitter, reordering and a finite buffer.
 * It carries every frame between the cable to a host and the switch; lab/lab starts one per such
 * host, in the switch's network namespace, and it goes on in the background until a TERM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/about.h"

enum {
	EXIT_USAGE = 2,
	VLAN_TAG = 4, /* bytes; the kernel hands the tag over beside the frame */
	FRAME_MAX = 65535 + ETH_HLEN + VLAN_TAG, /* bytes */
	BATCH = 32,                              /* frames per receive call */
	SOCKET_BUFFER = 64 << 20, /* bytes; all traffic of a host passes through here */
	BUFFER_DEFAULT = 10000,   /* frames */
	BUFFER_MAX = 1000000,     /* frames */
};

#define SECOND_NS      1000000000ull
#define STATS_EVERY_NS (SECOND_NS / 10) /* how old the figures in the statistics file may get */

struct frame {
	uint64_t due_ns;
	uint32_t length; /* bytes, with the Ethernet header */
	uint8_t bytes[];
};

/* What was asked for on the command line; the same for both directions but for the rate. */
struct options {
	const char *device[2]; /* the cable to the host; the switch's side */
	const char *pid_file;
	const char *stats_file;
	uint64_t delay_ns;
	uint64_t jitter_ns;
	uint64_t reorder; /* chance, of 2^32, that a frame overtakes the queue */
	uint64_t rate;    /* bit/s toward the host, 0: unlimited */
	uint64_t seed;
	uint32_t buffer;    /* frames that may wait, in each direction */
	uint16_t ethertype; /* of the frames that are delayed, host byte order */
};

/* One direction through the port: frames received on `in` leave by `out`. Queue in order of due_ns.
 */
struct direction {
	const char *name;
	int in, out;          /* packet sockets */
	uint64_t ns_per_kbit; /* wire time of 1,000 bits, 0: none */
	uint64_t random;      /* state of the generator */
	struct frame **queue; /* ring of `size` */
	uint32_t size, head, queued;
	uint64_t last_due_ns;
	uint64_t forwarded, overtook, full, refused, missed; /* frames */
};

struct port {
	struct options options;
	struct direction direction[2]; /* to the host, from the host */
	uint64_t stats_due_ns;         /* 0: the file is up to date */
	int stats_fd;
};

/* Buffers of one receive call. */
struct batch {
	struct mmsghdr message[BATCH];
	struct iovec iov[BATCH];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control[BATCH];
	uint8_t bytes[BATCH][FRAME_MAX];
};

static volatile sig_atomic_t stop;

static void on_term(int signal)
{
	(void) signal;
	stop = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * SECOND_NS + (uint64_t) ts.tv_nsec;
}

/* splitmix64: small, and any seed will do. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static void send_frame(struct direction *direction, const uint8_t *bytes, size_t length)
{
	/* A full or unplugged port loses the frame, as a switch would. */
	if (send(direction->out, bytes, length, MSG_DONTWAIT) == (ssize_t) length)
		direction->forwarded++;
	else
		direction->refused++;
}

/* When a frame that arrives now is to leave; frames that do not overtake keep their order. */
static uint64_t due_time(struct direction *direction, const struct options *options, size_t length,
			 uint64_t now)
{
	uint64_t random = next_random(&direction->random);
	uint64_t due = now + options->delay_ns;
	uint64_t wire_ns = length * 8 * direction->ns_per_kbit / 1000;

	if (options->jitter_ns)
		due += random % (2 * options->jitter_ns + 1) - options->jitter_ns;
	if (due < direction->last_due_ns + wire_ns)
		due = direction->last_due_ns + wire_ns;
	return due;
}

static void delay_frame(struct direction *direction, const struct options *options,
			const uint8_t *bytes, size_t length, uint64_t now)
{
	int overtakes = (uint32_t) next_random(&direction->random) < options->reorder;
	uint64_t due = due_time(direction, options, length, now);
	struct frame *frame;

	if (overtakes) {
		direction->overtook++;
		send_frame(direction, bytes, length);
		return;
	}
	frame = direction->queued < direction->size ? malloc(sizeof(*frame) + length) : NULL;
	if (!frame) {
		direction->full++;
		return;
	}
	frame->due_ns = direction->last_due_ns = due;
	frame->length = (uint32_t) length;
	memcpy(frame->bytes, bytes, length);
	direction->queue[(direction->head + direction->queued++) % direction->size] = frame;
}

/* Sends what is due, at the end (now = UINT64_MAX) all of it; returns how many frames. */
static int send_due(struct direction *direction, uint64_t now)
{
	int count = 0;

	while (direction->queued && direction->queue[direction->head]->due_ns <= now) {
		struct frame *frame = direction->queue[direction->head];

		direction->head = (direction->head + 1) % direction->size;
		direction->queued--;
		send_frame(direction, frame->bytes, frame->length);
		free(frame);
		count++;
	}
	return count;
}

static int concerns(const struct options *options, const uint8_t *bytes, size_t length)
{
	return length >= ETH_HLEN &&
	       (bytes[2 * ETH_ALEN] << 8 | bytes[2 * ETH_ALEN + 1]) == options->ethertype;
}

static const struct tpacket_auxdata *auxdata_of(struct msghdr *header)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(header);

	if (!cmsg || cmsg->cmsg_level != SOL_PACKET || cmsg->cmsg_type != PACKET_AUXDATA)
		return NULL;
	return (const void *) CMSG_DATA(cmsg);
}

/* Puts the VLAN tag back that the kernel took out; there is room in front of the frame. */
static uint8_t *restore_tag(uint8_t *bytes, size_t *length, const struct tpacket_auxdata *aux)
{
	uint16_t tag[2];

	if (!aux || !(aux->tp_status & TP_STATUS_VLAN_VALID))
		return bytes;
	tag[0] =
		htons(aux->tp_status & TP_STATUS_VLAN_TPID_VALID ? aux->tp_vlan_tpid : ETH_P_8021Q);
	tag[1] = htons(aux->tp_vlan_tci);
	memmove(bytes - VLAN_TAG, bytes, 2 * ETH_ALEN);
	memcpy(bytes - VLAN_TAG + 2 * ETH_ALEN, tag, VLAN_TAG);
	*length += VLAN_TAG;
	return bytes - VLAN_TAG;
}

static void take_frame(struct port *port, struct direction *direction, struct mmsghdr *message,
		       uint64_t now)
{
	uint8_t *bytes = message->msg_hdr.msg_iov->iov_base;
	size_t length = message->msg_len;
	int delayed = concerns(&port->options, bytes, length);

	if (message->msg_hdr.msg_flags & MSG_TRUNC) {
		direction->refused++;
		return;
	}
	bytes = restore_tag(bytes, &length, auxdata_of(&message->msg_hdr));
	if (delayed)
		delay_frame(direction, &port->options, bytes, length, now);
	else
		send_frame(direction, bytes, length);
}

static void prepare_batch(struct batch *batch)
{
	for (int i = 0; i < BATCH; i++) {
		batch->iov[i].iov_base = batch->bytes[i] + VLAN_TAG;
		batch->iov[i].iov_len = FRAME_MAX - VLAN_TAG;
		batch->message[i].msg_hdr = (struct msghdr){
			.msg_iov = &batch->iov[i],
			.msg_iovlen = 1,
			.msg_control = &batch->control[i],
			.msg_controllen = sizeof(batch->control[i]),
		};
	}
}

/*
 * One batch at most, so that neither direction starves the other or the frames that are due.
 * Returns the number of frames; less than 0: an error, which is cleared by this.
 */
static int receive(struct port *port, struct direction *direction, struct batch *batch)
{
	uint64_t now;
	int count;

	prepare_batch(batch);
	count = recvmmsg(direction->in, batch->message, BATCH, MSG_DONTWAIT, NULL);
	now = now_ns();
	for (int i = 0; i < count; i++)
		take_frame(port, direction, &batch->message[i], now);
	return count;
}

static void count_missed(struct direction *direction)
{
	struct tpacket_stats stats;
	socklen_t length = sizeof(stats);

	if (!getsockopt(direction->in, SOL_PACKET, PACKET_STATISTICS, &stats, &length))
		direction->missed += stats.tp_drops;
}

/* The file is rewritten in place, so its reader never finds it empty. */
static void write_stats(struct port *port)
{
	char text[1024];
	ssize_t written;
	int length = 0;

	for (int i = 0; i < 2; i++) {
		struct direction *direction = &port->direction[i];

		count_missed(direction);
		length += snprintf(text + length, sizeof(text) - (size_t) length,
				   "%s forwarded %llu, overtook %llu, buffer full %llu, "
				   "not sent %llu, missed %llu\n",
				   direction->name, (unsigned long long) direction->forwarded,
				   (unsigned long long) direction->overtook,
				   (unsigned long long) direction->full,
				   (unsigned long long) direction->refused,
				   (unsigned long long) direction->missed);
	}
	port->stats_due_ns = 0;
	/* A full disk costs the figures only. */
	written = pwrite(port->stats_fd, text, (size_t) length, 0);
	(void) written;
}

static uint64_t next_wake(const struct port *port)
{
	uint64_t wake = port->stats_due_ns ? port->stats_due_ns : UINT64_MAX;

	for (int i = 0; i < 2; i++) {
		const struct direction *direction = &port->direction[i];

		if (direction->queued && direction->queue[direction->head]->due_ns < wake)
			wake = direction->queue[direction->head]->due_ns;
	}
	return wake;
}

/* Sleeps until a frame arrives, one is due, or a signal comes. */
static void wait_for_work(const struct port *port, struct pollfd *fds, const sigset_t *mask)
{
	uint64_t wake = next_wake(port), now = now_ns();
	uint64_t left = wake > now ? wake - now : 0;
	struct timespec ts = {.tv_sec = (time_t) (left / SECOND_NS),
			      .tv_nsec = (long) (left % SECOND_NS)};

	if (ppoll(fds, 2, wake == UINT64_MAX ? NULL : &ts, mask) < 0)
		fds[0].revents = fds[1].revents = 0;
}

/* Both directions once: what has arrived, what is due, and the statistics when they are. */
static void work(struct port *port, const struct pollfd *fds, struct batch *batch)
{
	int changed = 0;

	for (int i = 0; i < 2; i++) {
		if (fds[i].revents && receive(port, &port->direction[i], batch) > 0)
			changed = 1;
		if (send_due(&port->direction[i], now_ns()))
			changed = 1;
	}
	if (port->stats_due_ns && port->stats_due_ns <= now_ns())
		write_stats(port);
	else if (changed && !port->stats_due_ns)
		port->stats_due_ns = now_ns() + STATS_EVERY_NS;
}

static void forward_until_stopped(struct port *port, struct batch *batch, const sigset_t *mask)
{
	struct pollfd fds[2] = {{.fd = port->direction[0].in, .events = POLLIN},
				{.fd = port->direction[1].in, .events = POLLIN}};

	while (!stop) {
		wait_for_work(port, fds, mask);
		work(port, fds, batch);
	}
	for (int i = 0; i < 2; i++)
		send_due(&port->direction[i], UINT64_MAX);
	write_stats(port);
}

static int open_device(const char *device)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET,
				      .sll_protocol = htons(ETH_P_ALL),
				      .sll_ifindex = (int) if_nametoindex(device)};
	int one = 1, size = SOCKET_BUFFER;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (!address.sll_ifindex ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    bind(fd, (struct sockaddr *) &address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_port(struct port *port)
{
	int fd[2];

	for (int i = 0; i < 2; i++) {
		fd[i] = open_device(port->options.device[i]);
		if (fd[i] < 0) {
			fprintf(stderr, "gamma-switch: cannot open device %s: %s\n",
				port->options.device[i], strerror(errno));
			return -1;
		}
		port->direction[i].name = i ? "from" : "to";
		port->direction[i].size = port->options.buffer;
		port->direction[i].random = port->options.seed + (uint64_t) i;
		port->direction[i].queue = calloc(port->options.buffer, sizeof(struct frame *));
		if (!port->direction[i].queue) {
			fprintf(stderr, "gamma-switch: no memory for %u frames\n",
				port->options.buffer);
			return -1;
		}
	}
	port->direction[0].in = port->direction[1].out = fd[1];
	port->direction[0].out = port->direction[1].in = fd[0];
	if (port->options.rate)
		port->direction[0].ns_per_kbit = 1000 * SECOND_NS / port->options.rate;
	port->stats_fd =
		open(port->options.stats_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (port->stats_fd < 0)
		fprintf(stderr, "gamma-switch: cannot write %s: %s\n", port->options.stats_file,
			strerror(errno));
	return port->stats_fd < 0 ? -1 : 0;
}

/* Spinning programs hold every CPU of a small machine: without priority, delays would be theirs. */
static void raise_priority(void)
{
	struct sched_param param = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_RR, &param))
		fprintf(stderr,
			"gamma-switch: no real-time priority (%s): delays may be longer than "
			"asked\n",
			strerror(errno));
}

/* The parent leaves when the child has taken over; the child's number is in the pid file. */
static int go_to_background(const char *pid_file)
{
	FILE *file = fopen(pid_file, "we");
	pid_t child = file ? fork() : -1;
	int null;

	if (child < 0) {
		fprintf(stderr, "gamma-switch: cannot go to the background: %s\n", strerror(errno));
		return -1;
	}
	if (child) {
		fprintf(file, "%d\n", (int) child);
		_exit(fclose(file) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	setsid();
	return chdir("/");
}

static int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || *value < min || *value > max) {
		fprintf(stderr, "gamma-switch: '%s' is not a number from %llu to %llu\n", text,
			(unsigned long long) min, (unsigned long long) max);
		return -1;
	}
	return 0;
}

static int parse_percent(const char *text, uint64_t *chance)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end || !(percent >= 0 && percent <= 100)) {
		fprintf(stderr, "gamma-switch: '%s' is not a percentage from 0 to 100\n", text);
		return -1;
	}
	*chance = (uint64_t) (percent / 100 * (double) (1ull << 32) + 0.5);
	return 0;
}

static void print_usage(FILE *to)
{
	fputs("usage: gamma-switch [--delay NS] [--jitter NS] [--reorder PERCENT] [--buffer "
	      "FRAMES]\n"
	      "         [--rate BIT/S] [--seed N] [--ethertype E] --pid-file F --stats-file F\n"
	      "         DEVICE-TO-HOST DEVICE-TO-SWITCH\n",
	      to);
}

static int refuse(void)
{
	print_usage(stderr);
	return -1;
}

static int parse_option(struct options *options, int letter, const char *text)
{
	uint64_t value;
	int err = 0;

	switch (letter) {
	case 'd':
		return parse_number(text, 0, 10 * SECOND_NS, &options->delay_ns);
	case 'j':
		return parse_number(text, 0, 10 * SECOND_NS, &options->jitter_ns);
	case 'o':
		return parse_percent(text, &options->reorder);
	case 'r':
		return parse_number(text, 1000, UINT64_MAX, &options->rate);
	case 's':
		return parse_number(text, 0, UINT64_MAX, &options->seed);
	case 'b':
		err = parse_number(text, 1, BUFFER_MAX, &value);
		options->buffer = (uint32_t) value;
		return err;
	case 'e':
		err = parse_number(text, 0x600, 0xffff, &value);
		options->ethertype = (uint16_t) value;
		return err;
	case 'p':
		options->pid_file = text;
		return 0;
	case 'f':
		options->stats_file = text;
		return 0;
	}
	return refuse();
}

static int parse_options(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{"delay", required_argument, NULL, 'd'},
		{"jitter", required_argument, NULL, 'j'},
		{"reorder", required_argument, NULL, 'o'},
		{"buffer", required_argument, NULL, 'b'},
		{"rate", required_argument, NULL, 'r'},
		{"seed", required_argument, NULL, 's'},
		{"ethertype", required_argument, NULL, 'e'},
		{"pid-file", required_argument, NULL, 'p'},
		{"stats-file", required_argument, NULL, 'f'},
		{0},
	};
	int letter;

	gamma_about_answer(argc, argv, print_usage);
	while ((letter = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (parse_option(options, letter, optarg))
			return -1;
	}
	if (argc - optind != 2 || !options->pid_file || !options->stats_file)
		return refuse();
	if (options->jitter_ns > options->delay_ns) {
		fputs("gamma-switch: the jitter is larger than the delay\n", stderr);
		return -1;
	}
	options->device[0] = argv[optind];
	options->device[1] = argv[optind + 1];
	return 0;
}

int main(int argc, char **argv)
{
	static struct port port = {.options = {.buffer = BUFFER_DEFAULT, .ethertype = 0x88b5}};
	static struct batch batch;
	struct sigaction action = {.sa_handler = on_term};
	sigset_t blocked, mask;

	if (getrandom(&port.options.seed, sizeof(port.options.seed), 0) < 0)
		port.options.seed = now_ns();
	if (parse_options(&port.options, argc, argv))
		return EXIT_USAGE;
	/* Signals are let in only while waiting, so that none is missed. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, &mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (open_port(&port))
		return EXIT_FAILURE;
	raise_priority();
	if (go_to_background(port.options.pid_file))
		return EXIT_FAILURE;
	write_stats(&port);
	forward_until_stopped(&port, &batch, &mask);
	return EXIT_SUCCESS;
}
