// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * An ordinary user who tries to get more out of gammad's sockets than is his: test_gammad.sh runs
 * it, and looks at the wire from outside. What it may not send bears HOSTILE, what it may HONEST;
 * what it may not read SECRET, what it may LETTER.
 *
 *	hostile attack NICMAC PEERMAC	tries everything; one line each
 *	hostile read NICMAC		tells "MAC PORT UID", reads what comes until the letter does
 *	hostile send IFACE MAC PORT UID	(root, elsewhere) sends secrets, then the letter
 *	hostile hold NICMAC PEERMAC	sends HONEST; after a line of input, tries an option and sends
 *					HOSTILE as itself
 *	hostile exhaust NICMAC		opens until it is refused; tells how many it got
 *	hostile noise PATH		says nonsense to gammad
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "conf/mac.h"
#include "link/broker.h"
#include "wire/wire.h"

#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

enum { FRAME = 80, ATTEMPTS = 20, IFINDEX_MAX = 40, ETHERTYPE = 0x88B5, OPENS_MAX = 100,
       URING_SETSOCKOPT = 3 };

static int failures;

static void judge(bool good, const char *what, const char *detail)
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

static struct gamma_brokered open_one(const uint8_t nic[GAMMA_MAC_LEN])
{
	struct gamma_brokered mine;

	if (gamma_broker_ask(GAMMA_BROKER_PATH, nic, 0, 1, ETHERTYPE, &mine))
		exit(1);
	return mine;
}

/* ---- frames ---- */

struct frame {
	uint8_t bytes[FRAME];
	size_t len;
};

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t) (value >> 8);
	at[1] = (uint8_t) value;
}

static struct frame frame_of(const uint8_t *dst, const uint8_t *src, uint16_t dst_port,
			     uint16_t src_port, uint32_t tenant, const char *mark)
{
	struct frame frame = {.len = FRAME};

	memcpy(frame.bytes, dst, GAMMA_MAC_LEN);
	memcpy(frame.bytes + 6, src, GAMMA_MAC_LEN);
	put16(frame.bytes + 12, ETHERTYPE);
	put16(frame.bytes + 14, dst_port);
	put16(frame.bytes + 16, src_port);
	put16(frame.bytes + 18, (uint16_t) (tenant >> 16));
	put16(frame.bytes + 20, (uint16_t) tenant);
	frame.bytes[22] = GAMMA_VERSION << 4 | GAMMA_KIND_DATA;
	memcpy(frame.bytes + 46, mark, strlen(mark));
	return frame;
}

static struct frame own_frame(const struct gamma_brokered *mine, const uint8_t *peer,
			      const char *mark)
{
	return frame_of(peer, mine->opened.mac, 1, mine->opened.port, mine->opened.tenant, mark);
}

/* Several times, in case one gets lost. */
static void emit(int fd, const struct frame *frame)
{
	for (int i = 0; i < ATTEMPTS; i++)
		send(fd, frame->bytes, frame->len, MSG_DONTWAIT);
}

static void forge(const struct gamma_brokered *mine, const uint8_t *peer)
{
	static const uint8_t broadcast[] = {255, 255, 255, 255, 255, 255};
	static const uint8_t group[] = {1, 0, 0x5e, 1, 2, 3};
	const struct gamma_broker_opened *own = &mine->opened;
	struct frame frame;
	int fd = mine->packet_fd;

	frame = own_frame(mine, peer, "HOSTILE ethertype");
	put16(frame.bytes + 12, ETH_P_IP);
	emit(fd, &frame);
	frame = own_frame(mine, peer, "HOSTILE tagged");
	put16(frame.bytes + 12, ETH_P_8021Q);
	emit(fd, &frame);
	frame = own_frame(mine, peer, "HOSTILE source");
	frame.bytes[11] ^= 1;
	emit(fd, &frame);
	frame = frame_of(peer, own->mac, 1, (uint16_t) (own->port ^ 1), own->tenant, "HOSTILE port");
	emit(fd, &frame);
	frame = frame_of(peer, own->mac, 1, own->port, own->tenant + 1, "HOSTILE tenant");
	emit(fd, &frame);
	frame = frame_of(peer, own->mac, 1, own->port, 0, "HOSTILE root");
	emit(fd, &frame);
	frame = own_frame(mine, broadcast, "HOSTILE broadcast");
	emit(fd, &frame);
	frame = own_frame(mine, group, "HOSTILE group");
	emit(fd, &frame);
	frame = own_frame(mine, peer, "");
	memcpy(frame.bytes + 14, "HOSTILE", 7);
	frame.len = 21;
	emit(fd, &frame);
}

/* With another protocol or interface in the address, as the caller may choose. */
static void forge_by_address(const struct gamma_brokered *mine, const uint8_t *peer)
{
	struct frame bad = own_frame(mine, peer, "HOSTILE by address");
	struct frame good = own_frame(mine, peer, "HONEST by address");

	put16(bad.bytes + 12, ETH_P_IP);
	for (int i = 0; i < IFINDEX_MAX; i++) {
		struct sockaddr_ll to = {
			.sll_family = AF_PACKET,
			.sll_ifindex = i,
			.sll_halen = GAMMA_MAC_LEN,
			.sll_protocol = htons(i % 2 ? ETH_P_IP : ETHERTYPE),
		};

		sendto(mine->packet_fd, bad.bytes, bad.len, MSG_DONTWAIT, (struct sockaddr *) &to,
		       sizeof(to));
		sendto(mine->packet_fd, good.bytes, good.len, MSG_DONTWAIT, (struct sockaddr *) &to,
		       sizeof(to));
	}
}

/* ---- changing the socket ---- */

static void refuse(int fd, int level, int option, const void *value, socklen_t len,
		   const char *what)
{
	bool refused = setsockopt(fd, level, option, value, len) && errno == EPERM;

	judge(refused, what, refused ? NULL : strerror(errno));
}

static void try_options(int fd)
{
	struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, 0x40000);
	struct sock_fprog program = {.len = 1, .filter = &pass};
	struct tpacket_req huge = {1 << 20, 1024, 2048, 1 << 19}, none = {0};
	struct tpacket_req small = {65536, 4, 2048, 128};
	struct packet_mreq promisc = {.mr_type = PACKET_MR_PROMISC, .mr_ifindex = 2};
	int one = 1, zero = 0, fanout = 7 | PACKET_FANOUT_HASH << 16;

	refuse(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one), "PACKET_QDISC_BYPASS");
	refuse(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one), "PACKET_VNET_HDR");
	refuse(fd, SOL_PACKET, PACKET_TX_RING, &small, sizeof(small), "PACKET_TX_RING");
	refuse(fd, SOL_PACKET, PACKET_FANOUT, &fanout, sizeof(fanout), "PACKET_FANOUT");
	refuse(fd, SOL_PACKET, PACKET_RX_RING, &huge, sizeof(huge), "PACKET_RX_RING of 1 GiB");
	refuse(fd, SOL_PACKET, PACKET_RX_RING, &none, sizeof(none), "PACKET_RX_RING of nothing");
	refuse(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc), "promiscuous mode");
	refuse(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one), "PACKET_AUXDATA");
	refuse(fd, SOL_PACKET, PACKET_LOSS, &one, sizeof(one), "PACKET_LOSS");
	refuse(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program), "another filter");
	refuse(fd, SOL_SOCKET, SO_DETACH_FILTER, &zero, sizeof(zero), "no filter");
	refuse(fd, SOL_SOCKET, SO_LOCK_FILTER, &zero, sizeof(zero), "unlocked filter");
	refuse(fd, SOL_SOCKET, SO_MARK, &one, sizeof(one), "SO_MARK");
	refuse(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one), "SO_ZEROCOPY");
	refuse(fd, SOL_SOCKET, SO_BINDTODEVICE, "gam0", 5, "SO_BINDTODEVICE");
	refuse(fd, SOL_SOCKET, SO_RCVBUF, &one, sizeof(one), "SO_RCVBUF");
}

static void try_ioctls(int fd)
{
	struct ifreq request = {0};

	judge(ioctl(fd, SIOCGSKNS, 0) < 0 && errno == EPERM, "its network namespace", NULL);
	for (int i = 1; i < IFINDEX_MAX; i++) {
		request.ifr_ifindex = i;
		if (ioctl(fd, SIOCGIFNAME, &request))
			continue;
		request.ifr_flags = IFF_UP | IFF_PROMISC;
		if (!ioctl(fd, SIOCSIFFLAGS, &request) || errno != EPERM)
			judge(false, "flags of an interface", request.ifr_name);
	}
	judge(true, "interfaces left alone", NULL);
}

static void try_mark_message(int fd, const struct frame *frame)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *) frame->bytes, .iov_len = frame->len};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SO_MARK;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	judge(sendmsg(fd, &msg, MSG_DONTWAIT) < 0 && errno == EPERM, "SO_MARK by message", NULL);
}

/* setsockopt through io_uring: 0 or a negative errno; 1: there is no io_uring here. */
static int uring_setsockopt(int fd, int level, int option, int value)
{
	struct io_uring_params params = {0};
	int ring = (int) syscall(SYS_io_uring_setup, 2, &params), result = 1;
	size_t len = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
	size_t cq_len = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	struct io_uring_sqe *entry;
	uint8_t *queue;

	if (ring < 0)
		return 1;
	len = gamma_max(len, cq_len);
	queue = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entry = mmap(NULL, params.sq_entries * sizeof(*entry), PROT_READ | PROT_WRITE, MAP_SHARED,
		     ring, IORING_OFF_SQES);
	if (queue == MAP_FAILED || (void *) entry == MAP_FAILED)
		return 1;
	memset(entry, 0, sizeof(*entry));
	entry->opcode = IORING_OP_URING_CMD;
	entry->fd = fd;
	entry->cmd_op = URING_SETSOCKOPT;
	/* Their names are newer than some headers. */
	memcpy((uint8_t *) entry + 16, &level, sizeof(level));
	memcpy((uint8_t *) entry + 20, &option, sizeof(option));
	memcpy((uint8_t *) entry + 44, &(uint32_t){sizeof(value)}, 4);
	memcpy((uint8_t *) entry + 48, &(uint64_t){(uintptr_t) &value}, 8);
	*(uint32_t *) (queue + params.sq_off.array) = 0;
	__atomic_store_n((uint32_t *) (queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1)
		result = ((struct io_uring_cqe *) (queue + params.cq_off.cqes))->res;
	close(ring);
	return result;
}

static void try_uring(int fd)
{
	int result = uring_setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);

	judge(result == -EPERM || result == -EOPNOTSUPP || result == 1, "PACKET_QDISC_BYPASS by io_uring",
	      result == -EPERM ? NULL : "not possible here");
}

/* As root of a user namespace of its own, with all capabilities there. */
static void try_namespace(int fd)
{
	int one = 1, status;
	pid_t child = fork();

	if (!child) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(2);
		_exit(!setsockopt(fd, SOL_SOCKET, SO_MARK, &one, sizeof(one)) ||
		      !setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) ||
		      !ioctl(fd, SIOCGSKNS, 0));
	}
	waitpid(child, &status, 0);
	judge(WIFEXITED(status) && WEXITSTATUS(status) != 1, "as root of a user namespace",
	      WEXITSTATUS(status) == 2 ? "none can be made here" : NULL);
}

/* Between the hand-over and the first use there is no gap. */
static void try_race(const uint8_t *nic)
{
	int one = 1;
	bool held = true;

	for (int i = 0; i < 5; i++) {
		struct gamma_brokered more = open_one(nic);

		held = held && setsockopt(more.packet_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one,
					  sizeof(one));
		close(more.packet_fd);
		close(more.port_fd);
		close(more.gammad_fd);
	}
	judge(held, "at once after the hand-over", NULL);
}

static int attack(const char *nic_text, const char *peer_text)
{
	uint8_t nic[GAMMA_MAC_LEN], peer[GAMMA_MAC_LEN];
	struct gamma_brokered mine;
	struct frame honest, hostile;
	pid_t child;

	mac_of(nic_text, nic);
	mac_of(peer_text, peer);
	mine = open_one(nic);
	judge(mine.opened.tenant == getuid(), "the tenant is this user", NULL);
	try_options(mine.packet_fd);
	try_ioctls(mine.packet_fd);
	hostile = own_frame(&mine, peer, "HOSTILE marked");
	try_mark_message(mine.packet_fd, &hostile);
	try_uring(mine.packet_fd);
	try_namespace(mine.packet_fd);
	try_race(nic);
	judge(gamma_broker_ask("/run/gammad/none", nic, 0, 1, ETHERTYPE,
			       &(struct gamma_brokered){0}) == -ENOENT, "no gammad, no socket", NULL);
	honest = own_frame(&mine, peer, "HONEST");
	emit(mine.packet_fd, &honest);
	child = fork();
	forge(&mine, peer);
	forge_by_address(&mine, peer);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	emit(mine.packet_fd, &honest);
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

/* Also where other slots are: what it may read is told by the filter, not by the interface. */
static void wander(int fd, unsigned step)
{
	struct sockaddr_ll other = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(step % 2 ? ETH_P_ALL : ETHERTYPE),
		.sll_ifindex = (int) (step / 2 % IFINDEX_MAX),
	};

	bind(fd, (struct sockaddr *) &other, sizeof(other));
}

static int read_all(const char *nic_text)
{
	uint8_t nic[GAMMA_MAC_LEN];
	struct gamma_brokered mine;
	char text[GAMMA_MAC_TEXT_LEN];
	unsigned slot = 0, secrets = 0, step = 0;
	struct sockaddr_ll home;
	struct pollfd polls;
	uint8_t *ring;

	mac_of(nic_text, nic);
	mine = open_one(nic);
	ring = mmap(NULL, (size_t) mine.opened.block_bytes * mine.opened.blocks,
		    PROT_READ | PROT_WRITE, MAP_SHARED, mine.packet_fd, 0);
	if (ring == MAP_FAILED)
		return 1;
	home = (struct sockaddr_ll){.sll_family = AF_PACKET,
				    .sll_protocol = htons(ETHERTYPE),
				    .sll_ifindex = (int) mine.opened.ifindex};
	printf("%s %u %u\n", gamma_mac_format(mine.opened.mac, text), mine.opened.port,
	       mine.opened.tenant);
	fflush(stdout);
	polls = (struct pollfd){.fd = mine.packet_fd, .events = POLLIN};
	/* For a while with every interface and protocol, then at home for the letter. */
	while (read_ring(&mine, ring, &slot, &secrets)) {
		if (step++ < 4 * IFINDEX_MAX)
			wander(mine.packet_fd, step);
		else if (step == 4 * IFINDEX_MAX + 1)
			bind(mine.packet_fd, (struct sockaddr *) &home, sizeof(home));
		poll(&polls, 1, 20);
	}
	printf("%u secrets read\n", secrets);
	return secrets != 0;
}

static int send_all(const char *iface, const char *mac_text, const char *port_text,
		    const char *uid_text)
{
	static const uint8_t broadcast[] = {255, 255, 255, 255, 255, 255};
	uint8_t mac[GAMMA_MAC_LEN], own[] = {2, 0, 0, 0, 0, 9};
	uint16_t port = (uint16_t) atoi(port_text);
	uint32_t uid = (uint32_t) strtoul(uid_text, NULL, 10);
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int) if_nametoindex(iface)};
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
			if (sendto(fd, frames[i].bytes, FRAME, 0, (struct sockaddr *) &to, sizeof(to)) < 0)
				return 1;
		}
		usleep(10000);
	}
	return 0;
}

/* ---- the rest ---- */

static int hold(const char *nic_text, const char *peer_text)
{
	uint8_t nic[GAMMA_MAC_LEN], peer[GAMMA_MAC_LEN];
	struct gamma_brokered mine;
	struct frame frame;

	mac_of(nic_text, nic);
	mac_of(peer_text, peer);
	mine = open_one(nic);
	frame = own_frame(&mine, peer, "HONEST");
	emit(mine.packet_fd, &frame);
	puts("held");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	refuse(mine.packet_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &(int){1}, sizeof(int), "frozen");
	frame = own_frame(&mine, peer, "HOSTILE though revoked");
	emit(mine.packet_fd, &frame);
	puts("sent");
	return 0;
}

static int exhaust(const char *nic_text)
{
	uint8_t nic[GAMMA_MAC_LEN];
	struct gamma_brokered mine[OPENS_MAX];
	int got = 0, ret;

	mac_of(nic_text, nic);
	while (!(ret = gamma_broker_ask(GAMMA_BROKER_PATH, nic, 0, 1, ETHERTYPE, &mine[got])) &&
	       got < OPENS_MAX - 1)
		got++;
	printf("%d endpoints, then: %s\n", got, strerror(-ret));
	return !got;
}

static int say(const char *path, const void *bytes, size_t len)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *) &name, sizeof(name)))
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
		gamma_broker_head((void *) bytes, (enum gamma_broker_type) (i % 12), i % 128 + 1,
				  GAMMA_BROKER_OK);
		refused += say(path, bytes, (size_t) (i % 128 + 1));
		refused += say(path, bytes, i % 2 ? sizeof(bytes) : sizeof(open));
	}
	printf("%d connections refused\n", refused);
	return 0;
}

int main(int argc, char **argv)
{
	gamma_log_to(log_line);
	if (argc == 4 && !strcmp(argv[1], "attack"))
		return attack(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "read"))
		return read_all(argv[2]);
	if (argc == 6 && !strcmp(argv[1], "send"))
		return send_all(argv[2], argv[3], argv[4], argv[5]);
	if (argc == 4 && !strcmp(argv[1], "hold"))
		return hold(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "exhaust"))
		return exhaust(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "noise"))
		return noise(argv[2]);
	fputs("usage: see the head of hostile.c\n", stderr);
	return 2;
}
