// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Raw Ethernet: an AF_PACKET socket whose kernel filter passes one port. Frames are received in a
 * ring (TPACKET_V2) that is polled in user space, and sent without a queueing discipline. The ring
 * is a strict FIFO: a slot that is held blocks everything behind it. So the engine releases each
 * slot at once, or in its next call of any kind.
 */
#include "link/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "link/broker.h"
#include "link/nic_name.h"
#include "link/packet_socket.h"

enum {
	BURST = 64, /* frames in one sendmmsg */
	TIMED = 4,  /* frames in a burst that is timed */
	/* Offset of an Ethernet NIC's frame from the start of its slot, bytes. */
	FRAME_AT = TPACKET_ALIGN(TPACKET2_HDRLEN + 16) - ETH_HLEN,
};

struct packet_link {
	struct gamma_link link;
	int ifindex;
	struct gamma_nic_name name; /* empty: of a group, or from gammad */
	int gammad_fd; /* open as long as the endpoint lives; -1: the socket is not from gammad */
	uint8_t *ring;
	size_t ring_len;             /* bytes */
	uint32_t per_block;          /* slots */
	uint32_t block_len;          /* bytes */
	uint32_t slot_len;           /* bytes */
	uint32_t slot;               /* polled next */
	bool alone;                  /* no frame was behind the one that was lent last */
	struct tpacket2_hdr **slots; /* by number; blocks have unused bytes at their end */
};

/* ---- sending ---- */

static void frame_to_msghdr(const struct gamma_frame *frame, struct iovec *iov, struct msghdr *msg)
{
	iov[0].iov_base = (void *) frame->head;
	iov[0].iov_len = frame->head_len;
	for (unsigned i = 0; i < frame->iov_count; i++)
		iov[1 + i] = frame->iov[i];
	*msg = (struct msghdr){.msg_iov = iov, .msg_iovlen = 1 + frame->iov_count};
}

/* Bypasses the C library's functions, which are cancellation points: in a process with threads
 * that costs two atomic operations per call. */
static long send_bytes(int fd, const void *bytes, size_t len)
{
	return syscall(SYS_sendto, fd, bytes, len, MSG_DONTWAIT, NULL, 0);
}

static unsigned send_single_frame(struct packet_link *packet, const struct gamma_frame *frame)
{
	struct iovec iov[1 + GAMMA_FRAME_IOV];
	struct msghdr msg;

	packet->link.stats->send_calls++;
	if (gamma_likely(!frame->iov_count))
		return send_bytes(packet->link.fd, frame->head, frame->head_len) >= 0;
	frame_to_msghdr(frame, iov, &msg);
	return syscall(SYS_sendmsg, packet->link.fd, &msg, MSG_DONTWAIT) >= 0;
}

static unsigned send_frames(struct packet_link *packet, const struct gamma_frame *frames,
			    unsigned count)
{
	struct iovec iov[BURST][1 + GAMMA_FRAME_IOV];
	struct mmsghdr messages[BURST];
	uint64_t begun = count >= TIMED ? gamma_now() : 0;
	int done;

	for (unsigned i = 0; i < count; i++)
		frame_to_msghdr(&frames[i], iov[i], &messages[i].msg_hdr);
	packet->link.stats->send_calls++;
	done = sendmmsg(packet->link.fd, messages, count, MSG_DONTWAIT);
	if (begun)
		packet->link.frame_ns = (gamma_now() - begun) / count;
	return done < 0 ? 0 : (unsigned) done;
}

/* Bytes; 0: the NIC is gone. */
static uint32_t nic_mtu(const struct packet_link *packet)
{
	struct ifreq request = {.ifr_ifindex = packet->ifindex};

	if (ioctl(packet->link.fd, SIOCGIFNAME, &request) ||
	    ioctl(packet->link.fd, SIOCGIFMTU, &request))
		return 0;
	return (uint32_t) request.ifr_mtu;
}

/* A NIC that is down, or waits for its driver, keeps its name. One that was removed has none, and a
 * NIC that takes its place has another index. */
static bool nic_was_removed(const struct packet_link *packet)
{
	struct ifreq request = {.ifr_ifindex = packet->ifindex};

	return ioctl(packet->link.fd, SIOCGIFNAME, &request) && errno == ENODEV;
}

/* A NIC whose driver was loaded anew: frames leave and arrive by it again. The kernel lets a socket
 * without a NIC have another one. */
static bool bind_again(struct packet_link *packet)
{
	struct sockaddr_ll address;
	socklen_t len = sizeof(address);
	int ifindex = gamma_nic_name_find(packet->link.fd, &packet->name);

	if (!ifindex || getsockname(packet->link.fd, (struct sockaddr *) &address, &len))
		return false;
	address.sll_ifindex = ifindex;
	if (bind(packet->link.fd, (struct sockaddr *) &address, sizeof(address)))
		return false;
	packet->ifindex = ifindex;
	return true;
}

/* Why the kernel refused a frame: a link error. */
static int refusal_error(struct packet_link *packet)
{
	int error = errno;
	uint32_t mtu = error == EMSGSIZE ? nic_mtu(packet) : 0;

	if ((error == ENXIO || error == ENODEV) && nic_was_removed(packet))
		return bind_again(packet) ? -EAGAIN : -ENODEV;
	if (error == ENETDOWN)
		return -ENETDOWN;
	if (!mtu || mtu >= packet->link.mtu)
		return -EAGAIN;
	packet->link.mtu = mtu;
	return -EMSGSIZE;
}

/* ENOBUFS and similar errors: the queue is full, there is no carrier, or a virtual peer has a
 * smaller MTU. The frame did not leave, so sending it later is not a retransmission. */
static unsigned packet_send(struct gamma_link *link, const struct gamma_frame *frames,
			    unsigned count, int *error)
{
	struct packet_link *packet = gamma_container_of(link, struct packet_link, link);
	unsigned done = 0;

	errno = 0; /* stays 0 if a burst is sent in part */
	while (done < count) {
		unsigned part = (unsigned) gamma_min(count - done, BURST);
		unsigned sent = count == 1 ? send_single_frame(packet, frames)
					   : send_frames(packet, frames + done, part);

		done += sent;
		if (gamma_unlikely(sent < part)) {
			*error = refusal_error(packet);
			break;
		}
	}
	return done;
}

/* ---- receiving ---- */

/* The slot's status, followed by the frame's length. The kernel writes the length first, so the
 * word is not 0 from then on. */
static gamma_link_word *slot_word(struct tpacket2_hdr *slot)
{
	_Static_assert(offsetof(struct tpacket2_hdr, tp_status) == 0 &&
			       offsetof(struct tpacket2_hdr, tp_len) == 4,
		       "status and length are one word, the status its lower half");
	return (gamma_link_word *) slot;
}

static uint32_t next_slot(const struct packet_link *packet)
{
	return packet->slot + 1 == packet->link.slots ? 0 : packet->slot + 1;
}

static bool packet_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct packet_link *packet = gamma_container_of(link, struct packet_link, link);
	struct tpacket2_hdr *slot = packet->slots[packet->slot];

	if (!(__atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		return false;
	arrival->frame = (const uint8_t *) slot + slot->tp_mac;
	/* The sender's core has these lines: request all at once, the slot's own for writing. */
	__builtin_prefetch(arrival->frame);
	__builtin_prefetch(arrival->frame + GAMMA_CACHE_LINE);
	__builtin_prefetch(slot, 1);
	arrival->alone = packet->alone =
		!(packet->slots[next_slot(packet)]->tp_status & TP_STATUS_USER);
	/* A frame that was truncated to its slot is lent as it is: the parser detects that. */
	arrival->len = slot->tp_snaplen;
	arrival->payload = NULL;
	arrival->stamp = slot->tp_sec * GAMMA_NS_PER_S + slot->tp_nsec;
	arrival->flow = NULL;
	return true;
}

static void packet_release(struct gamma_link *link)
{
	struct packet_link *packet = gamma_container_of(link, struct packet_link, link);

	__atomic_store_n(slot_word(packet->slots[packet->slot]), TP_STATUS_KERNEL,
			 __ATOMIC_RELEASE);
	packet->slot = next_slot(packet);
	if (packet->alone)
		__builtin_prefetch(packet->slots[next_slot(packet)]);
	link->word = slot_word(packet->slots[packet->slot]);
}

static void packet_count(struct gamma_link *link)
{
	struct tpacket_stats counters;
	socklen_t len = sizeof(counters);

	/* The kernel starts from zero again after each reading. */
	if (!getsockopt(link->fd, SOL_PACKET, PACKET_STATISTICS, &counters, &len))
		link->stats->ring_drops += counters.tp_drops;
}

static void packet_close(struct gamma_link *link)
{
	struct packet_link *packet = gamma_container_of(link, struct packet_link, link);

	if (packet->ring)
		gamma_link_unmap(link, packet->ring, packet->ring_len);
	if (link->fd >= 0)
		close(link->fd);
	/* Last, so that gammad finds the socket gone. */
	if (packet->gammad_fd >= 0)
		close(packet->gammad_fd);
	free(packet->slots);
	free(packet);
}

/* The kernel wakes a sleeper in any case, also when the NIC goes down. The socket reports that
 * error until it is read: without that, a sleeper would wake again and again. */
static bool packet_arm(struct gamma_link *link)
{
	struct gamma_arrival arrival;
	socklen_t len = sizeof(int);
	int error;

	getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return packet_next(link, &arrival);
}

static const struct gamma_link_ops packet_ops = {
	.send = packet_send,
	.next = packet_next,
	.release = packet_release,
	.arm = packet_arm,
	.count = packet_count,
	.close = packet_close,
};

/* The kernel identifies it by the index alone. */
void gamma_packet_look_for_nic(struct gamma_link *link)
{
	struct packet_link *packet = gamma_container_of(link, struct packet_link, link);
	struct sockaddr_ll address = {0};
	socklen_t len = sizeof(address);

	if (link->ops == &packet_ops && packet->name.text[0] &&
	    !getsockname(link->fd, (struct sockaddr *) &address, &len) &&
	    address.sll_ifindex != packet->ifindex)
		bind_again(packet);
}

bool gamma_packet_has_carrier(const struct gamma_link *link)
{
	const struct packet_link *packet = gamma_container_of(link, struct packet_link, link);
	struct ifreq request = {0};

	if (link->ops != &packet_ops)
		return true;
	request.ifr_ifindex = packet->ifindex;
	return ioctl(link->fd, SIOCGIFNAME, &request) || ioctl(link->fd, SIOCGIFFLAGS, &request) ||
	       request.ifr_flags & IFF_RUNNING;
}

uint32_t gamma_packet_nic_mtu(const struct gamma_link *link)
{
	return link->ops == &packet_ops
		       ? nic_mtu(gamma_container_of(link, struct packet_link, link))
		       : 0;
}

/* ---- opening ---- */

/* The NIC passes the group's frames until the socket closes. */
static int join_group(int fd, const struct gamma_packet_attr *attr)
{
	struct packet_mreq request = {
		.mr_ifindex = attr->ifindex,
		.mr_type = PACKET_MR_MULTICAST,
		.mr_alen = GAMMA_MAC_LEN,
	};

	memcpy(request.mr_address, attr->group, GAMMA_MAC_LEN);
	return setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)) ? -errno
											    : 0;
}

/* Maps the ring and finds each slot in it. */
static int map_slots(struct packet_link *packet, const struct tpacket_req *req)
{
	packet->per_block = req->tp_block_size / req->tp_frame_size;
	packet->block_len = req->tp_block_size;
	packet->slot_len = req->tp_frame_size;
	packet->link.slots = req->tp_frame_nr;
	packet->ring_len = (size_t) req->tp_block_size * req->tp_block_nr;
	packet->ring = mmap(NULL, packet->ring_len, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, packet->link.fd, 0);
	if (packet->ring == MAP_FAILED) {
		packet->ring = NULL;
		return -errno;
	}
	/* A forked child must not see its parent's frames, nor keep the ring alive. */
	madvise(packet->ring, packet->ring_len, MADV_DONTFORK);
	packet->slots = calloc(packet->link.slots, sizeof(*packet->slots));
	if (!packet->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < packet->link.slots; i++)
		packet->slots[i] =
			(struct tpacket2_hdr *) (packet->ring +
						 (size_t) (i / packet->per_block) *
							 packet->block_len +
						 i % packet->per_block * packet->slot_len);
	packet->link.word = slot_word(packet->slots[0]);
	packet->link.bits = TP_STATUS_USER;
	packet->link.ahead = FRAME_AT;
	return 0;
}

static int start_packet_link(struct packet_link *packet, const struct gamma_packet_attr *attr)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(attr->ethertype),
		.sll_ifindex = attr->ifindex,
	};
	int fd = packet->link.fd;
	struct tpacket_req req;
	int one = 1;
	int ret;

	gamma_packet_socket_plan_ring(attr->mtu, attr->ring_bytes, &req);
	ret = gamma_packet_socket_set_filter(fd, attr);
	if (!ret && attr->group && attr->receives)
		ret = join_group(fd, attr);
	if (!ret)
		ret = gamma_packet_socket_set_ring(fd, &req);
	if (!ret)
		ret = map_slots(packet, &req);
	if (ret)
		return ret;
	/* Members on this host must see frames that this host sends to the group. A socket for all
	 * protocols sees outgoing frames, unless they bypass the queueing discipline. */
	if (attr->incoming_only &&
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)))
		return -errno;
	if (attr->group)
		address.sll_protocol = attr->receives ? htons(ETH_P_ALL) : 0;
	else if (setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return -errno;
	gamma_packet_socket_set_send_buffer(fd);
	/* Last: from here on frames arrive. */
	return bind(fd, (struct sockaddr *) &address, sizeof(address)) ? -errno : 0;
}

static struct packet_link *new_packet_link(int ifindex, uint32_t mtu, struct gamma_stats *stats)
{
	struct packet_link *packet = calloc(1, sizeof(*packet));

	if (!packet)
		return NULL;
	packet->link.ops = &packet_ops;
	packet->link.stats = stats;
	packet->link.process = getpid();
	packet->link.mtu = mtu;
	packet->link.fd = packet->link.connected_fd = packet->gammad_fd = -1;
	packet->ifindex = ifindex;
	return packet;
}

int gamma_packet_open(const struct gamma_packet_attr *attr, struct gamma_stats *stats,
		      struct gamma_link **link)
{
	struct packet_link *packet = new_packet_link(attr->ifindex, attr->mtu, stats);
	int ret;

	if (!packet)
		return -ENOMEM;
	packet->link.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ret = packet->link.fd < 0 ? -errno : start_packet_link(packet, attr);
	if (ret) {
		packet_close(&packet->link);
		return ret;
	}
	if (!attr->group)
		gamma_nic_name_note(packet->link.fd, packet->ifindex, &packet->name);
	*link = &packet->link;
	return 0;
}

/* The ring's layout comes from another process, so it is checked. */
static bool is_sane_ring(const struct tpacket_req *req)
{
	return req->tp_frame_size >= TPACKET2_HDRLEN && req->tp_block_nr &&
	       req->tp_frame_size <= req->tp_block_size &&
	       (uint64_t) req->tp_block_size * req->tp_block_nr <= GAMMA_RING_BYTES_MAX;
}

static int adopt_socket(struct packet_link *packet, int packet_fd, int gammad_fd,
			struct tpacket_req *req, struct gamma_link **link)
{
	int ret = -EPROTO;

	packet->link.fd = packet_fd;
	if (is_sane_ring(req)) {
		req->tp_frame_nr = req->tp_block_size / req->tp_frame_size * req->tp_block_nr;
		ret = map_slots(packet, req);
	}
	if (ret) {
		packet->link.fd = -1;
		packet_close(&packet->link);
		return ret;
	}
	packet->gammad_fd = gammad_fd;
	*link = &packet->link;
	return 0;
}

int gamma_packet_adopt(const struct gamma_brokered *brokered, struct gamma_stats *stats,
		       struct gamma_link **link)
{
	const struct gamma_broker_opened *opened = &brokered->opened;
	struct packet_link *packet = new_packet_link((int) opened->ifindex, opened->mtu, stats);
	struct tpacket_req req = {
		.tp_block_size = opened->block_bytes,
		.tp_block_nr = opened->blocks,
		.tp_frame_size = opened->slot_bytes,
	};

	return packet ? adopt_socket(packet, brokered->packet_fd, brokered->gammad_fd, &req, link)
		      : -ENOMEM;
}

int gamma_packet_adopt_group(const struct gamma_broker_joined *joined, int fd,
			     struct gamma_stats *stats, struct gamma_link **link)
{
	struct packet_link *packet = new_packet_link(0, joined->mtu, stats);
	struct tpacket_req req = {
		.tp_block_size = joined->block_bytes,
		.tp_block_nr = joined->blocks,
		.tp_frame_size = joined->slot_bytes,
	};

	return packet ? adopt_socket(packet, fd, -1, &req, link) : -ENOMEM;
}
