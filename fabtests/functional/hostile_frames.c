// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Frames that an endpoint may send (HONEST), may not (HOSTILE), or may as long as nobody changes
 * them on the way (FLIPPED). */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <linux/virtio_net.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/base.h"
#include "hostile.h"

enum { ATTEMPTS = 20, FLIPS = 300, RING_SLOT = 32768 };

void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t) (value >> 8);
	at[1] = (uint8_t) value;
}

struct frame frame_of(const uint8_t *dst, const uint8_t *src, uint16_t dst_port, uint16_t src_port,
		      uint32_t tenant, const char *mark)
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

struct frame own_frame(const struct gamma_brokered *mine, const uint8_t *peer, const char *mark)
{
	return frame_of(peer, mine->opened.mac, 1, mine->opened.port, mine->opened.tenant, mark);
}

void emit(int fd, const struct frame *frame)
{
	for (int i = 0; i < ATTEMPTS; i++)
		send(fd, frame->bytes, frame->len, MSG_DONTWAIT);
}

void forge(const struct gamma_brokered *mine, const uint8_t *peer)
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
	frame = frame_of(peer, own->mac, 1, (uint16_t) (own->port ^ 1), own->tenant,
			 "HOSTILE port");
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

static void send_by(int fd, const struct frame *frame, int ifindex, uint16_t protocol)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_ifindex = ifindex,
		.sll_halen = GAMMA_MAC_LEN,
		.sll_protocol = htons(protocol),
	};

	sendto(fd, frame->bytes, frame->len, MSG_DONTWAIT, (struct sockaddr *) &to, sizeof(to));
}

/* The address says through which interface, and for which protocol a bridge is to take it. Past the
 * queue, the check stands at the NIC alone, where all slots come together. */
void forge_by_address(const struct gamma_brokered *mine, const uint8_t *peer, bool past_queue)
{
	struct frame bad = own_frame(mine, peer, "HOSTILE by address");
	struct frame protocol = own_frame(mine, peer, "HOSTILE by protocol");
	struct frame interface = own_frame(mine, peer, "HOSTILE by interface");
	struct frame good = own_frame(mine, peer, "HONEST by address");

	put16(bad.bytes + 12, ETH_P_IP);
	for (int i = 0; i < IFINDEX_MAX; i++) {
		bool own = past_queue || i == (int) mine->opened.ifindex;

		send_by(mine->packet_fd, &bad, i, i % 2 ? ETH_P_IP : ETHERTYPE);
		send_by(mine->packet_fd, &protocol, i, i % 2 ? ETH_P_8021Q : ETH_P_IP);
		send_by(mine->packet_fd, own ? &good : &interface, i, ETHERTYPE);
	}
}

/* ---- bytes that change between the check and the wire, if the kernel did not copy them ---- */

struct flips {
	volatile uint8_t *bytes; /* of a frame */
	bool stop;               /* atomic */
	pthread_t thread;
};

static void *flip(void *data)
{
	struct flips *flips = data;
	volatile uint8_t *bytes = flips->bytes;

	while (!__atomic_load_n(&flips->stop, __ATOMIC_RELAXED)) {
		bytes[11] ^= 1;
		bytes[17] ^= 1;
		bytes[21] ^= 1;
	}
	return NULL;
}

/* On another processor than the host's own. */
static void begin_flips(struct flips *flips, void *bytes)
{
	cpu_set_t all;

	memset(&all, 255, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	*flips = (struct flips){.bytes = bytes};
	judge(!pthread_create(&flips->thread, NULL, flip, flips), "a thread that changes bytes",
	      NULL);
}

static void end_flips(struct flips *flips)
{
	__atomic_store_n(&flips->stop, true, __ATOMIC_RELAXED);
	pthread_join(flips->thread, NULL);
}

static void splice_one(int fd, const int pipes[2], struct iovec *iov)
{
	char rest[FRAME];

	if (vmsplice(pipes[1], iov, 1, 0) == FRAME &&
	    splice(pipes[0], NULL, fd, NULL, FRAME, SPLICE_F_NONBLOCK) != FRAME &&
	    read(pipes[0], rest, sizeof(rest)) < 0)
		judge(false, "a pipe", NULL);
}

void forge_meanwhile(const struct gamma_brokered *mine, const uint8_t *peer)
{
	struct frame frame = own_frame(mine, peer, "FLIPPED");
	struct iovec iov = {.iov_base = frame.bytes, .iov_len = FRAME};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct flips flips;
	int pipes[2];

	if (pipe2(pipes, O_NONBLOCK))
		return judge(false, "a pipe", NULL);
	begin_flips(&flips, frame.bytes);
	for (int i = 0; i < FLIPS; i++) {
		send(mine->packet_fd, frame.bytes, FRAME, MSG_DONTWAIT);
		sendmsg(mine->packet_fd, &msg, MSG_DONTWAIT | MSG_ZEROCOPY);
		splice_one(mine->packet_fd, pipes, &iov);
	}
	end_flips(&flips);
	close(pipes[0]);
	close(pipes[1]);
}

/* ---- with options that should not be to be had ---- */

void forge_past_queue(const struct gamma_brokered *mine, const uint8_t *peer)
{
	int one = 1;

	set_option32(mine->packet_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one));
	forge(mine, peer);
	forge_by_address(mine, peer, true);
}

/* The kernel sends from memory that this process has mapped. */
void forge_in_ring(const struct gamma_brokered *mine, const uint8_t *peer)
{
	struct tpacket_req req = {.tp_block_size = 2 * RING_SLOT,
				  .tp_block_nr = 1,
				  .tp_frame_size = RING_SLOT,
				  .tp_frame_nr = 2};
	size_t behind = (size_t) mine->opened.block_bytes * mine->opened.blocks;
	size_t len = behind + req.tp_block_size;
	struct frame frame = own_frame(mine, peer, "FLIPPED");
	const size_t data = TPACKET2_HDRLEN - sizeof(struct sockaddr_ll);
	struct flips flips;
	uint8_t *ring;

	forge_past_queue(mine, peer);
	if (set_option32(mine->packet_fd, SOL_PACKET, PACKET_TX_RING, &req, sizeof(req)))
		return;
	ring = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, mine->packet_fd, 0);
	if (ring == MAP_FAILED)
		return judge(false, "the ring is mapped", NULL);
	ring += behind;
	memcpy(ring + data, frame.bytes, FRAME);
	memcpy(ring + RING_SLOT + data, frame.bytes, FRAME);
	begin_flips(&flips, ring + data);
	for (int i = 0; i < 4 * FLIPS; i++) {
		struct tpacket2_hdr *head = (void *) (ring + RING_SLOT * (i % 2));

		head->tp_len = FRAME;
		__atomic_store_n(&head->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
		send(mine->packet_fd, NULL, 0, MSG_DONTWAIT);
	}
	end_flips(&flips);
}

/* The kernel, or the NIC, fills a checksum in, just where the user id stands. */
void forge_checksum(const struct gamma_brokered *mine, const uint8_t *peer)
{
	struct frame frame = own_frame(mine, peer, "HOSTILE checksum");
	struct tpacket_req none = {0};
	struct {
		struct virtio_net_hdr head;
		uint8_t bytes[FRAME];
	} __attribute__((packed)) whole;
	int one = 1;

	set_option32(mine->packet_fd, SOL_PACKET, PACKET_RX_RING, &none, sizeof(none));
	set_option32(mine->packet_fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one));
	memcpy(whole.bytes, frame.bytes, FRAME);
	for (int i = 0; i < 3 * ATTEMPTS; i++) {
		if (i == ATTEMPTS)
			set_option32(mine->packet_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one,
				     sizeof(one));
		whole.head = (struct virtio_net_hdr){
			.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
			.csum_start = 20,
			.csum_offset = 0,
			.gso_type = i < 2 * ATTEMPTS ? VIRTIO_NET_HDR_GSO_NONE
						     : VIRTIO_NET_HDR_GSO_TCPV4,
			.hdr_len = 54,
			.gso_size = 10,
		};
		send(mine->packet_fd, &whole, sizeof(whole), MSG_DONTWAIT);
	}
}

/* ---- io_uring ---- */

void forge_by_uring(const struct gamma_brokered *mine, const uint8_t *peer)
{
	struct frame bad = own_frame(mine, peer, "HOSTILE by io_uring");
	struct frame good = own_frame(mine, peer, "HONEST by io_uring");
	const struct frame *frames[] = {&good, &bad};
	bool there = false;

	put16(bad.bytes + 16, (uint16_t) (mine->opened.port ^ 1));
	for (int i = 0; i < 8; i++) {
		struct io_uring_sqe ask = {
			.opcode = i < 4 ? IORING_OP_SEND : IORING_OP_SEND_ZC,
			.fd = mine->packet_fd,
			.addr = (uintptr_t) frames[i % 2]->bytes,
			.len = FRAME,
			.msg_flags = MSG_DONTWAIT,
		};

		there = uring_do(&ask) != 1;
	}
	judge(true, "forged by io_uring", there ? NULL : "there is none here");
}
