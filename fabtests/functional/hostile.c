// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * An ordinary user who tries to get more out of the sockets that gammad hands out than he may.
 * test_gammad.sh runs it and watches the wire from outside. Frames that it must not send carry
 * HOSTILE, frames that it may send HONEST; frames that it must not read carry SECRET, frames that
 * it may read LETTER. It prints MAC, port and user id of each endpoint, so that the test knows what
 * each may send.
 *
 *   hostile attack NICMAC PEERMAC UID [weak]  tries everything as that user, one line each;
 *                                             weak: the kernel allows options to 32-bit calls
 *   hostile read NICMAC                       reads frames until the letter arrives
 *   hostile send IFACE MAC PORT UID           (root, elsewhere) sends secrets, then the letter
 *   hostile hold NICMAC PEERMAC               sends HONEST; after a line of input it tries an
 *                                             option and sends HOSTILE as itself
 *   hostile lend NICMAC PATH                  passes an endpoint to a client of socket PATH
 *   hostile borrow PATH PEERMAC               (another user) tries everything with it, then holds
 *   hostile exhaust NICMAC                    opens until gammad refuses; prints how many it got
 *   hostile vanish NICMAC                     asks for endpoints and does not take them
 *   hostile noise PATH                        sends nonsense to gammad
 *   hostile flood PATH                        connects to gammad with half a message, for ever
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/mac.h"
#include "hostile.h"
#include "unix/scm.h"

enum { OPENS_MAX = 100, VANISH = 40, FLOODERS = 4, FLOOD_HELD = 200 };

int failures;

void judge(bool good, const char *what, const char *detail)
{
	printf("%s: %s%s%s\n", good ? "ok" : "NOT OK", what, detail ? ": " : "",
	       detail ? detail : "");
	failures += !good;
}

static void log_line(enum gamma_log_level level, const char *line)
{
	(void) level;
	fprintf(stderr, "hostile: %s\n", line);
}

static void mac_of(const char *text, uint8_t mac[GAMMA_MAC_LEN])
{
	if (!gamma_mac_parse(text, mac)) {
		fprintf(stderr, "hostile: %s is no MAC\n", text);
		exit(2);
	}
}

static void introduce(const struct gamma_brokered *mine)
{
	char text[GAMMA_MAC_TEXT_LEN];

	printf("%s %u %u\n", gamma_mac_format(mine->opened.mac, text), mine->opened.port,
	       mine->opened.tenant);
	fflush(stdout);
}

int ask_for_endpoint(const char *path, const uint8_t nic[GAMMA_MAC_LEN],
		     struct gamma_brokered *mine)
{
	struct gamma_broker_open ask = {.epoch = 1, .ethertype = ETHERTYPE};

	memcpy(ask.mac, nic, GAMMA_MAC_LEN);
	return gamma_broker_open(path, &ask, mine);
}

static struct gamma_brokered open_one(const char *nic_text)
{
	uint8_t nic[GAMMA_MAC_LEN];
	struct gamma_brokered mine;

	mac_of(nic_text, nic);
	if (ask_for_endpoint(GAMMA_BROKER_PATH, nic, &mine))
		exit(1);
	introduce(&mine);
	return mine;
}

/* ---- sending ---- */

static void try_frames(const struct gamma_brokered *mine, const uint8_t *peer)
{
	struct frame honest = own_frame(mine, peer, "HONEST");
	pid_t child;

	emit(mine->packet_fd, &honest);
	fflush(stdout);
	child = fork();
	forge(mine, peer);
	forge_by_address(mine, peer, false);
	forge_meanwhile(mine, peer);
	forge_by_uring(mine, peer);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	emit(mine->packet_fd, &honest);
}

/* With a group's socket, which is to send as little as the endpoint's own; and in another's
 * name. */
static void try_group(const struct gamma_brokered *mine, const uint8_t *peer, bool weak)
{
	struct gamma_broker_group ask = {.port = mine->opened.port,
					 .group = {3, 0, 0, 0, 0, 7},
					 .group_port = 7,
					 .receives = 1};
	struct gamma_brokered group = *mine;
	struct gamma_broker_joined joined;
	struct frame frame;
	int fd;

	memcpy(ask.mac, mine->opened.mac, sizeof(ask.mac));
	if (gamma_broker_join(GAMMA_BROKER_PATH, &ask, &joined, &group.packet_fd))
		return judge(false, "a group of its own", NULL);
	try_options(group.packet_fd, weak);
	forge(&group, peer);
	frame = frame_of(ask.group, mine->opened.mac, 8, mine->opened.port, mine->opened.tenant,
			 "HOSTILE port of a group");
	emit(group.packet_fd, &frame);
	emit(mine->packet_fd, &frame);
	ask.port ^= 1;
	judge(gamma_broker_join(GAMMA_BROKER_PATH, &ask, &joined, &fd) < 0,
	      "a group of another's endpoint", NULL);
	close(group.packet_fd);
}

typedef void forge_by(const struct gamma_brokered *mine, const uint8_t *peer);

/* With an endpoint of its own, which is spoilt after, by a child, which the kernel may kill. */
static void try_apart(const char *nic_text, const uint8_t *peer, forge_by *forge, const char *what)
{
	struct gamma_brokered mine;
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (!child) {
		mine = open_one(nic_text);
		forge(&mine, peer);
		fflush(stdout);
		_exit(failures != 0);
	}
	waitpid(child, &status, 0);
	judge(!WIFEXITED(status) || !WEXITSTATUS(status), what,
	      WIFEXITED(status) ? NULL : "not possible here");
}

static int attack(const char *nic_text, const char *peer_text, const char *uid_text, bool weak)
{
	uint8_t nic[GAMMA_MAC_LEN], peer[GAMMA_MAC_LEN];
	struct gamma_brokered mine = open_one(nic_text);
	struct frame marked;

	mac_of(nic_text, nic);
	mac_of(peer_text, peer);
	judge(mine.opened.tenant == strtoul(uid_text, NULL, 10), "the tenant is this user", NULL);
	try_options(mine.packet_fd, weak);
	try_ioctls(mine.packet_fd);
	marked = own_frame(&mine, peer, "HOSTILE marked");
	try_mark_message(mine.packet_fd, &marked);
	try_namespace(mine.packet_fd);
	try_race(nic);
	judge(ask_for_endpoint("/run/gammad/none", nic, &(struct gamma_brokered){0}) == -ENOENT,
	      "no gammad, no socket", NULL);
	try_frames(&mine, peer);
	try_group(&mine, peer, weak);
	try_apart(nic_text, peer, forge_past_queue, "past the queue");
	try_apart(nic_text, peer, forge_in_ring, "in a ring");
	try_apart(nic_text, peer, forge_checksum, "by a checksum");
	return failures != 0;
}

/* ---- reading ---- */

static bool holds(const uint8_t *bytes, size_t len, const char *mark)
{
	return memmem(bytes, len, mark, strlen(mark)) != NULL;
}

/* The ring's frames so far: false once the letter is among them. */
static bool read_ring(const struct gamma_brokered *mine, const uint8_t *ring, unsigned *slot,
		      unsigned *secrets)
{
	const struct gamma_broker_opened *own = &mine->opened;
	unsigned per_block = own->block_bytes / own->slot_bytes;

	for (;;) {
		struct tpacket2_hdr *head =
			(void *) (ring + (size_t) (*slot / per_block) * own->block_bytes +
				  *slot % per_block * own->slot_bytes);
		const uint8_t *bytes = (const uint8_t *) head + head->tp_mac;

		if (!(__atomic_load_n(&head->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			return true;
		*secrets += holds(bytes, head->tp_snaplen, "SECRET");
		if (holds(bytes, head->tp_snaplen, "LETTER"))
			return false;
		head->tp_status = TP_STATUS_KERNEL;
		*slot = (*slot + 1) % (per_block * own->blocks);
	}
}

/* Also on other slots: the filter decides what it may read, not the interface. */
/* Whether the kernel lets the socket have another interface and protocol. */
static bool wander(int fd, unsigned step)
{
	struct sockaddr_ll other = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(step % 2 ? ETH_P_ALL : ETHERTYPE),
		.sll_ifindex = (int) (step / 2 % IFINDEX_MAX),
	};

	return !bind(fd, (struct sockaddr *) &other, sizeof(other));
}

static int read_all(const char *nic_text)
{
	struct gamma_brokered mine = open_one(nic_text);
	unsigned slot = 0, secrets = 0, step = 0, rebound = 0;
	struct pollfd polls;
	uint8_t *ring;

	ring = mmap(NULL, (size_t) mine.opened.block_bytes * mine.opened.blocks,
		    PROT_READ | PROT_WRITE, MAP_SHARED, mine.packet_fd, 0);
	if (ring == MAP_FAILED)
		return 1;
	polls = (struct pollfd){.fd = mine.packet_fd, .events = POLLIN};
	/* Tries every interface and protocol for a while: the letter arrives all the same. */
	while (read_ring(&mine, ring, &slot, &secrets)) {
		if (step++ < 4 * IFINDEX_MAX)
			rebound += wander(mine.packet_fd, step);
		poll(&polls, 1, 20);
	}
	printf("%u secrets read\n%u times bound again\n", secrets, rebound);
	return secrets || rebound;
}

static int send_all(const char *iface, const char *mac_text, const char *port_text,
		    const char *uid_text)
{
	static const uint8_t broadcast[] = {255, 255, 255, 255, 255, 255};
	uint8_t mac[GAMMA_MAC_LEN], own[] = {2, 0, 0, 0, 0, 9};
	uint16_t port = (uint16_t) atoi(port_text);
	uint32_t uid = (uint32_t) strtoul(uid_text, NULL, 10);
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_ifindex = (int) if_nametoindex(iface)};
	struct frame frames[7];

	mac_of(mac_text, mac);
	frames[0] = frame_of(mac, own, port, 1, uid + 1, "SECRET of another user");
	frames[1] = frame_of(mac, own, port, 1, 0, "SECRET of root");
	frames[2] = frame_of(mac, own, (uint16_t) (port ^ 1), 1, uid, "SECRET for another port");
	frames[3] = frame_of(broadcast, own, port, 1, uid, "SECRET for all");
	frames[4] = frame_of(mac, own, port, 1, uid, "SECRET of another kind");
	put16(frames[4].bytes + 12, ETH_P_IP);
	frames[5] = frame_of(mac, own, port, 1, uid, "SECRET, tagged");
	put16(frames[5].bytes + 12, ETH_P_8021Q);
	frames[6] = frame_of(mac, own, port, 1, uid, "LETTER");
	for (int round = 0; round < 400; round++) {
		for (size_t i = 0; i < gamma_array_size(frames) - (round < 399); i++) {
			if (sendto(fd, frames[i].bytes, FRAME, 0, (struct sockaddr *) &to,
				   sizeof(to)) < 0)
				return 1;
		}
		usleep(10000);
	}
	return 0;
}

/* ---- keeping and passing on ---- */

/* Waits for a line of input: by then the endpoint has been revoked, or gammad has ended. */
static int keep(const struct gamma_brokered *mine, const uint8_t *peer)
{
	struct frame frame = own_frame(mine, peer, "HONEST");
	int one = 1;

	emit(mine->packet_fd, &frame);
	puts("held");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	judge(setsockopt(mine->packet_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) &&
		      errno == EPERM,
	      "frozen", NULL);
	frame = own_frame(mine, peer, "HOSTILE though revoked");
	emit(mine->packet_fd, &frame);
	puts("sent");
	return failures != 0;
}

static int hold(const char *nic_text, const char *peer_text)
{
	uint8_t peer[GAMMA_MAC_LEN];
	struct gamma_brokered mine = open_one(nic_text);

	mac_of(peer_text, peer);
	return keep(&mine, peer);
}

static int reach(const char *path, int flags)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | flags, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	if (!connect(fd, (struct sockaddr *) &name, sizeof(name)))
		return fd;
	close(fd);
	return -1;
}

static int lend(const char *nic_text, const char *path)
{
	struct gamma_brokered mine = open_one(nic_text);
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *) &name, sizeof(name)) || chmod(path, 0666) || listen(fd, 1))
		return 1;
	puts("lent");
	fflush(stdout);
	return gamma_scm_send(accept(fd, NULL, NULL), NULL, 0, &mine.opened, sizeof(mine.opened),
			      &mine.packet_fd, 1) != 0;
}

/* The endpoint stays the lender's in any hands: the borrower sends nothing in his own name. */
static int borrow(const char *path, const char *peer_text)
{
	uint8_t peer[GAMMA_MAC_LEN];
	struct gamma_scm scm;
	struct gamma_brokered mine = {0};
	struct frame frame;
	int fd = reach(path, 0);

	mac_of(peer_text, peer);
	poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
	if (gamma_scm_receive(fd, &mine.opened, sizeof(mine.opened), &scm) != sizeof(mine.opened))
		return 1;
	mine.packet_fd = scm.fds[0];
	introduce(&mine);
	judge(mine.opened.tenant != getuid(), "another user's endpoint", NULL);
	try_options(mine.packet_fd, true);
	frame = frame_of(peer, mine.opened.mac, 1, mine.opened.port, getuid(), "HOSTILE borrower");
	emit(mine.packet_fd, &frame);
	try_frames(&mine, peer);
	return keep(&mine, peer);
}

/* ---- asking too much ---- */

static int exhaust(const char *nic_text)
{
	uint8_t nic[GAMMA_MAC_LEN];
	struct gamma_brokered mine[OPENS_MAX];
	int got = 0, ret;

	mac_of(nic_text, nic);
	while (!(ret = ask_for_endpoint(GAMMA_BROKER_PATH, nic, &mine[got])) && got < OPENS_MAX - 1)
		got++;
	printf("%d endpoints, then: %s\n", got, strerror(-ret));
	return !got;
}

/* By a client that exits before the answer, and by one that is out of descriptors. */
static int vanish(const char *nic_text)
{
	struct gamma_broker_open ask = {.epoch = 1, .ethertype = ETHERTYPE};
	struct gamma_broker_opened opened;

	mac_of(nic_text, ask.mac);
	gamma_broker_message_init_header(&ask.header, GAMMA_BROKER_OPEN, sizeof(ask),
					 GAMMA_BROKER_OK);
	for (int i = 0; i < VANISH; i++) {
		int fd = reach(GAMMA_BROKER_PATH, 0);

		if (fd < 0 || send(fd, &ask, sizeof(ask), MSG_NOSIGNAL) != sizeof(ask))
			return 1;
		if (i % 2 && recv(fd, &opened, sizeof(opened), 0) <= 0)
			return 1;
		close(fd);
	}
	return 0;
}

static int say(const char *path, const void *bytes, size_t len)
{
	int fd = reach(path, 0);

	if (fd < 0)
		return 1;
	/* Answers are not read. */
	for (int i = 0; i < 1000; i++)
		send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return 0;
}

static int noise(const char *path)
{
	struct gamma_broker_open open = {.epoch = 0};
	uint8_t bytes[4096];
	int refused = 0;

	for (int i = 0; i < 500; i++) {
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t) rand();
		gamma_broker_message_init_header((void *) bytes, (enum gamma_broker_type)(i % 12),
						 i % 128 + 1, GAMMA_BROKER_OK);
		refused += say(path, bytes, (size_t) (i % 128 + 1));
		refused += say(path, bytes, i % 2 ? sizeof(bytes) : sizeof(open));
	}
	printf("%d connections refused\n", refused);
	return 0;
}

/* Connections that are kept, with a message cut off at each length in turn. */
static void flood_for_ever(const char *path)
{
	struct gamma_broker_open ask = {.epoch = 1, .ethertype = ETHERTYPE};
	int held[FLOOD_HELD];

	memset(held, 255, sizeof(held));
	gamma_broker_message_init_header(&ask.header, GAMMA_BROKER_OPEN, sizeof(ask),
					 GAMMA_BROKER_OK);
	for (size_t i = 0;; i++) {
		int *fd = &held[i % FLOOD_HELD];

		if (*fd >= 0)
			close(*fd);
		*fd = reach(path, SOCK_NONBLOCK);
		if (*fd >= 0)
			send(*fd, &ask, i % sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

static int flood(const char *path)
{
	for (int i = 1; i < FLOODERS; i++) {
		if (!fork())
			flood_for_ever(path);
	}
	puts("flooding");
	fflush(stdout);
	flood_for_ever(path);
	return 0;
}

int main(int argc, char **argv)
{
	gamma_log_set_sink(log_line);
	if (argc >= 5 && !strcmp(argv[1], "attack"))
		return attack(argv[2], argv[3], argv[4], argc > 5);
	if (argc == 3 && !strcmp(argv[1], "read"))
		return read_all(argv[2]);
	if (argc == 6 && !strcmp(argv[1], "send"))
		return send_all(argv[2], argv[3], argv[4], argv[5]);
	if (argc == 4 && !strcmp(argv[1], "hold"))
		return hold(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "lend"))
		return lend(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "borrow"))
		return borrow(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "vanish"))
		return vanish(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "flood"))
		return flood(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "exhaust"))
		return exhaust(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "noise"))
		return noise(argv[2]);
	fputs("usage: see the head of hostile.c\n", stderr);
	return 2;
}
