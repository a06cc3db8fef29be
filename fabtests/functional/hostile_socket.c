// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Attempts to change the socket of an endpoint so that it sends or receives more than it may. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "hostile.h"

#ifndef SIOCGSKNS
#define SIOCGSKNS 0x894C
#endif

enum { URING_SETSOCKOPT = 3, OPTIONS_MAX = 128, RACES = 8, FDS_MAX = 32 };

/* ---- ways to set an option ---- */

/* 0 or a negative errno. */
typedef int set_option(int fd, int level, int option, const void *value, socklen_t len);

static int by_call(int fd, int level, int option, const void *value, socklen_t len)
{
	return setsockopt(fd, level, option, value, len) ? -errno : 0;
}

/* The system call as 32-bit programs make it: the kernel goes other ways then. The value must lie
 * where such a program could have it. */
int set_option32(int fd, int level, int option, const void *value, socklen_t len)
{
#ifdef __x86_64__
	static void *low;
	long ret = 366;

	if (!low)
		low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED)
		return -ENOMEM;
	memcpy(low, value, len);
	__asm__ volatile("int $0x80"
			 : "+a"(ret)
			 : "b"((long) fd), "c"((long) level), "d"((long) option), "S"(low),
			   "D"((long) len)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int) ret;
#else
	(void) fd, (void) level, (void) option, (void) value, (void) len;
	return -EPERM;
#endif
}

static void *map_queue(int ring, size_t len, off_t which)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, ring, which);
}

int uring_do(const struct io_uring_sqe *ask)
{
	struct io_uring_params params = {0};
	int ring = (int) syscall(SYS_io_uring_setup, 2, &params), result = 1;
	struct io_uring_sqe *entry;
	uint8_t *queue;
	size_t len;

	if (ring < 0)
		return 1;
	len = gamma_max(params.sq_off.array + params.sq_entries * sizeof(uint32_t),
			params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe));
	queue = map_queue(ring, len, IORING_OFF_SQ_RING);
	entry = map_queue(ring, params.sq_entries * sizeof(*entry), IORING_OFF_SQES);
	if (queue != MAP_FAILED && (void *) entry != MAP_FAILED) {
		*entry = *ask;
		*(uint32_t *) (queue + params.sq_off.array) = 0;
		__atomic_store_n((uint32_t *) (queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1)
			result = ((struct io_uring_cqe *) (queue + params.cq_off.cqes))->res;
		munmap(queue, len);
		munmap(entry, params.sq_entries * sizeof(*entry));
	}
	close(ring);
	return result;
}

/* Their names are newer than some headers. */
static int by_uring(int fd, int level, int option, const void *value, socklen_t len)
{
	struct io_uring_sqe ask = {.opcode = IORING_OP_URING_CMD, .fd = fd};
	uint8_t *bytes = (uint8_t *) &ask;

	ask.cmd_op = URING_SETSOCKOPT;
	memcpy(bytes + 16, &level, sizeof(level));
	memcpy(bytes + 20, &option, sizeof(option));
	memcpy(bytes + 44, &(uint32_t){len}, 4);
	memcpy(bytes + 48, &(uint64_t){(uintptr_t) value}, 8);
	return uring_do(&ask);
}

/* ---- options ---- */

static void refuse(set_option *set, int fd, int level, int option, const void *value, socklen_t len,
		   const char *what)
{
	int ret = set(fd, level, option, value, len);

	judge(ret == -EPERM, what, ret == -EPERM ? NULL : ret < 0 ? strerror(-ret) : "done");
}

static void try_named(set_option *set, int fd)
{
	struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, 0x40000);
	struct sock_fprog program = {.len = 1, .filter = &pass};
	struct tpacket_req huge = {1 << 20, 1024, 2048, 1 << 19}, none = {0};
	struct tpacket_req small = {65536, 4, 2048, 128};
	struct packet_mreq promisc = {.mr_type = PACKET_MR_PROMISC, .mr_ifindex = 2};
	int one = 1, zero = 0, fanout = 7 | PACKET_FANOUT_HASH << 16;

	refuse(set, fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, 4, "PACKET_QDISC_BYPASS");
	refuse(set, fd, SOL_PACKET, PACKET_VNET_HDR, &one, 4, "PACKET_VNET_HDR");
	refuse(set, fd, SOL_PACKET, PACKET_TX_RING, &small, sizeof(small), "PACKET_TX_RING");
	refuse(set, fd, SOL_PACKET, PACKET_FANOUT, &fanout, 4, "PACKET_FANOUT");
	refuse(set, fd, SOL_PACKET, PACKET_RX_RING, &huge, sizeof(huge), "PACKET_RX_RING of 1 GiB");
	refuse(set, fd, SOL_PACKET, PACKET_RX_RING, &none, sizeof(none),
	       "PACKET_RX_RING of nothing");
	refuse(set, fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc),
	       "promiscuous mode");
	refuse(set, fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program), "another filter");
	refuse(set, fd, SOL_SOCKET, SO_DETACH_FILTER, &zero, 4, "no filter");
	refuse(set, fd, SOL_SOCKET, SO_LOCK_FILTER, &zero, 4, "unlocked filter");
	refuse(set, fd, SOL_SOCKET, SO_MARK, &one, 4, "SO_MARK");
	refuse(set, fd, SOL_SOCKET, SO_ZEROCOPY, &one, 4, "SO_ZEROCOPY");
	refuse(set, fd, SOL_SOCKET, SO_BINDTODEVICE, "gam0", 5, "SO_BINDTODEVICE");
}

/* Options of any number. */
static void try_numbers(set_option *set, int fd, const char *what)
{
	static const int levels[] = {SOL_SOCKET, SOL_PACKET};
	int held = 0, one[8] = {1};

	for (int i = 0; i < 2 * OPTIONS_MAX; i++)
		held += set(fd, levels[i % 2], i / 2, one, sizeof(one)) == -EPERM;
	judge(held == 2 * OPTIONS_MAX, what, NULL);
}

/* In a child, which has to die where the kernel knows no such calls. */
static void try_options32(int fd)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (!child) {
		try_named(set_option32, fd);
		try_numbers(set_option32, fd, "every option, by 32-bit calls");
		fflush(stdout);
		_exit(failures != 0);
	}
	waitpid(child, &status, 0);
	judge(!WIFEXITED(status) || !WEXITSTATUS(status), "32-bit system calls",
	      WIFEXITED(status) ? NULL : "not possible here");
}

static void try_uring(int fd)
{
	int one = 1, result = by_uring(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one));

	judge(result == -EPERM || result == -EOPNOTSUPP || result == 1,
	      "PACKET_QDISC_BYPASS by io_uring", result == -EPERM ? NULL : "not possible here");
}

void try_options(int fd, bool weak)
{
	try_named(by_call, fd);
	try_numbers(by_call, fd, "every option");
	if (!weak)
		try_options32(fd);
	try_uring(fd);
}

/* ---- the rest ---- */

void try_ioctls(int fd)
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

void try_mark_message(int fd, const struct frame *frame)
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

void try_namespace(int fd)
{
	int one = 1, status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(2);
		_exit(!by_call(fd, SOL_SOCKET, SO_MARK, &one, sizeof(one)) ||
		      !by_call(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) ||
		      !ioctl(fd, SIOCGSKNS, 0));
	}
	waitpid(child, &status, 0);
	judge(WIFEXITED(status) && WEXITSTATUS(status) != 1, "as root of a user namespace",
	      WEXITSTATUS(status) == 2 ? "none can be made here" : NULL);
}

/* ---- the moment of the hand-over ---- */

static bool caught, over; /* atomic */

/* Sockets of any kind that have just been created. */
static void *chase(void *unused)
{
	int one = 1;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		for (int fd = 3; fd < FDS_MAX; fd++) {
			if (!by_call(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
				__atomic_store_n(&caught, true, __ATOMIC_RELAXED);
		}
	}
	return unused;
}

void try_race(const uint8_t *nic)
{
	pthread_t thread;
	int opened = 0;

	if (pthread_create(&thread, NULL, chase, NULL))
		return judge(false, "a thread", NULL);
	for (int i = 0; i < RACES; i++) {
		struct gamma_brokered more;

		if (ask_for_endpoint(GAMMA_BROKER_PATH, nic, &more))
			continue;
		opened++;
		close(more.packet_fd);
		close(more.port_fd);
		close(more.gammad_fd);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	judge(opened == RACES && !caught, "at the moment of the hand-over", NULL);
}
