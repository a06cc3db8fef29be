// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Raw Ethernet: an AF_PACKET socket whose kernel filter passes one port, a receive ring
 * (TPACKET_V2) polled in user space, send without queueing discipline. The ring is a strict FIFO:
 * a slot that is held stops everything behind it, so the engine releases each at once.
 */
#include "link/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"

#ifndef SO_LOCK_FILTER
#define SO_LOCK_FILTER 44
#endif

enum {
	BURST = 64,		  /* frames in one sendmmsg */
	SEND_BUFFER = 8 << 20,	  /* bytes of the socket's send buffer */
	BLOCK = 64 << 10,	  /* bytes of a ring block, if a slot fits */
};

struct packet_link {
	struct gamma_link link;
	int ifindex;
	uint8_t *ring;
	size_t ring_len;   /* bytes */
	uint32_t per_block; /* slots */
	uint32_t block_len; /* bytes */
	uint32_t slot_len;  /* bytes */
	uint32_t slot;	    /* next to be looked at */
	struct tpacket2_hdr **slots; /* by number: blocks have a rest at their end */
};

/* ---- sending ---- */

static void message_of(const struct gamma_frame *frame, struct iovec *iov, struct msghdr *msg)
{
	iov[0].iov_base = (void *) frame->head;
	iov[0].iov_len = frame->head_len;
	memcpy(iov + 1, frame->iov, frame->iov_count * sizeof(*iov));
	memset(msg, 0, sizeof(*msg));
	msg->msg_iov = iov;
	msg->msg_iovlen = 1 + frame->iov_count;
}

static unsigned send_one(struct packet_link *packet, const struct gamma_frame *frame)
{
	struct iovec iov[1 + GAMMA_FRAME_IOV];
	struct msghdr msg;

	packet->link.stats->send_calls++;
	if (gamma_likely(!frame->iov_count))
		return send(packet->link.fd, frame->head, frame->head_len, MSG_DONTWAIT) >= 0;
	message_of(frame, iov, &msg);
	return sendmsg(packet->link.fd, &msg, MSG_DONTWAIT) >= 0;
}

static unsigned send_many(struct packet_link *packet, const struct gamma_frame *frames,
			  unsigned count)
{
	struct iovec iov[BURST][1 + GAMMA_FRAME_IOV];
	struct mmsghdr messages[BURST];
	int done;

	for (unsigned i = 0; i < count; i++)
		message_of(&frames[i], iov[i], &messages[i].msg_hdr);
	packet->link.stats->send_calls++;
	done = sendmmsg(packet->link.fd, messages, count, MSG_DONTWAIT);
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

/* Why the kernel did not take a frame. */
static int refusal(struct packet_link *packet)
{
	uint32_t mtu = errno == EMSGSIZE ? nic_mtu(packet) : 0;

	if (!mtu || mtu >= packet->link.mtu)
		return -EAGAIN;
	packet->link.mtu = mtu;
	return -EMSGSIZE;
}

/* ENOBUFS and its like: the queue is full, the carrier is gone, or a virtual peer has a smaller
 * MTU. Nothing of the frame left, so sending it later is not a retransmission. */
static unsigned packet_send(struct gamma_link *link, const struct gamma_frame *frames,
			    unsigned count, int *error)
{
	struct packet_link *packet = gamma_container_of(link, struct packet_link, link);
	unsigned done = 0;

	errno = 0; /* a burst taken in part leaves it alone */
	while (done < count) {
		unsigned part = (unsigned) gamma_min(count - done, BURST);
		unsigned sent = count == 1 ? send_one(packet, frames)
					   : send_many(packet, frames + done, part);

		done += sent;
		if (gamma_unlikely(sent < part)) {
			*error = refusal(packet);
			break;
		}
	}
	return done;
}

/* ---- receiving ---- */

static bool packet_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct packet_link *packet = gamma_container_of(link, struct packet_link, link);
	struct tpacket2_hdr *slot = packet->slots[packet->slot];

	if (!(__atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		return false;
	arrival->frame = (const uint8_t *) slot + slot->tp_mac;
	/* A frame cut to the slot is handed on short: the parser sees that it is incomplete. */
	arrival->len = slot->tp_snaplen;
	arrival->payload = NULL;
	arrival->stamp = slot->tp_sec * GAMMA_NS_PER_S + slot->tp_nsec;
	return true;
}

static void packet_release(struct gamma_link *link)
{
	struct packet_link *packet = gamma_container_of(link, struct packet_link, link);

	__atomic_store_n(&packet->slots[packet->slot]->tp_status, TP_STATUS_KERNEL,
			 __ATOMIC_RELEASE);
	if (++packet->slot == link->slots)
		packet->slot = 0;
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
		munmap(packet->ring, packet->ring_len);
	if (link->fd >= 0)
		close(link->fd);
	free(packet->slots);
	free(packet);
}

/* Whoever sleeps is woken by the kernel in any case. */
static bool packet_arm(struct gamma_link *link)
{
	struct gamma_arrival arrival;

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

/* ---- opening ---- */

/* Offsets in the frame of what the filter looks at. */
enum {
	AT_ETHERTYPE = 12,
	AT_PORT = GAMMA_ETH_LEN + offsetof(struct gamma_header, dst_port),
	AT_TENANT = GAMMA_ETH_LEN + offsetof(struct gamma_header, tenant),
	AT_KIND = GAMMA_ETH_LEN + offsetof(struct gamma_header, version_kind),
};

/* For good: nobody can take it off again. */
static int set_filter(int fd, struct sock_filter *code, size_t count)
{
	struct sock_fprog program = {.len = (uint16_t) count, .filter = code};
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ||
	    setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof(one)))
		return -errno;
	return 0;
}

/* Passes frames to this host, untagged, of the ethertype, long enough, for the port and from the
 * tenant. LOOKUP may come from any tenant (the answer tells it why not) and for any port. */
static int attach_filter(int fd, const struct gamma_packet_attr *attr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) (SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 15),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) (SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 13),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_ETHERTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->ethertype, 0, 11),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_KIND),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x0f),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GAMMA_KIND_LOOKUP, 0, 3),
		/* LOOKUP */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_PORT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->port, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GAMMA_PORT_ANY, 4, 5),
		/* everything else */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_PORT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->port, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_TENANT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->tenant, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0x40000), /* pass, whole */
		BPF_STMT(BPF_RET | BPF_K, 0),	     /* drop */
	};

	return set_filter(fd, code, gamma_array_size(code));
}

/* The frames of one group, in from the wire or out to it, for the port and from the tenant. */
static int attach_group_filter(int fd, const struct gamma_packet_attr *attr)
{
	const uint8_t *mac = attr->group;
	uint32_t first = (uint32_t) mac[0] << 24 | mac[1] << 16 | mac[2] << 8 | mac[3];
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_ETHERTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->ethertype, 0, 11),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 0, 9),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) (mac[4] << 8 | mac[5]), 0, 7),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_PORT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->port, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_TENANT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->tenant, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) (SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0x40000), /* pass, whole */
		BPF_STMT(BPF_RET | BPF_K, 0),	     /* drop */
	};

	return set_filter(fd, code, gamma_array_size(code));
}

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

/* The kernel puts a frame's network header TPACKET_ALIGN(header + 16) into the slot. */
static uint32_t slot_bytes(uint32_t mtu)
{
	return (uint32_t) TPACKET_ALIGN(TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + mtu);
}

static void plan_ring(struct packet_link *packet, const struct gamma_packet_attr *attr,
		      struct tpacket_req *req)
{
	uint32_t page = (uint32_t) sysconf(_SC_PAGESIZE);
	uint32_t block = BLOCK;
	uint32_t blocks, needed;

	packet->slot_len = slot_bytes(attr->mtu);
	if (packet->slot_len > block)
		block = (packet->slot_len + page - 1) / page * page;
	packet->per_block = block / packet->slot_len;
	blocks = (uint32_t) gamma_max(1, attr->ring_bytes / block);
	needed = (GAMMA_RING_SLOTS_MIN + packet->per_block - 1) / packet->per_block;
	blocks = (uint32_t) gamma_max(blocks, needed);
	packet->block_len = block;
	packet->link.slots = blocks * packet->per_block;
	*req = (struct tpacket_req){
		.tp_block_size = block,
		.tp_block_nr = blocks,
		.tp_frame_size = packet->slot_len,
		.tp_frame_nr = packet->link.slots,
	};
}

static int map_ring(struct packet_link *packet, const struct gamma_packet_attr *attr)
{
	struct tpacket_req req;
	int version = TPACKET_V2;
	int fd = packet->link.fd;

	plan_ring(packet, attr, &req);
	if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)))
		return -errno;
	packet->ring_len = (size_t) req.tp_block_size * req.tp_block_nr;
	packet->ring = mmap(NULL, packet->ring_len, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, fd, 0);
	if (packet->ring == MAP_FAILED) {
		packet->ring = NULL;
		return -errno;
	}
	/* A forked child must not see frames of its parent, nor keep the ring alive. */
	madvise(packet->ring, packet->ring_len, MADV_DONTFORK);
	packet->slots = calloc(packet->link.slots, sizeof(*packet->slots));
	if (!packet->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < packet->link.slots; i++)
		packet->slots[i] = (struct tpacket2_hdr *) (packet->ring +
							    (size_t) (i / packet->per_block) *
								    packet->block_len +
							    i % packet->per_block *
								    packet->slot_len);
	return 0;
}

static int start(struct packet_link *packet, const struct gamma_packet_attr *attr)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(attr->ethertype),
		.sll_ifindex = attr->ifindex,
	};
	int fd = packet->link.fd;
	int one = 1, bytes = SEND_BUFFER;
	int ret;

	ret = attr->group ? attach_group_filter(fd, attr) : attach_filter(fd, attr);
	if (!ret && attr->group && attr->receives)
		ret = join_group(fd, attr);
	if (!ret)
		ret = map_ring(packet, attr);
	if (ret)
		return ret;
	/* What is sent to a group is to be seen by its members on this host: they get what leaves the
	 * host on the ordinary way, if they ask for the frames of all protocols. */
	if (attr->group)
		address.sll_protocol = attr->receives ? htons(ETH_P_ALL) : 0;
	else if (setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	/* Last: from here on frames arrive. */
	return bind(fd, (struct sockaddr *) &address, sizeof(address)) ? -errno : 0;
}

int gamma_packet_open(const struct gamma_packet_attr *attr, struct gamma_stats *stats,
		      struct gamma_link **link)
{
	struct packet_link *packet = calloc(1, sizeof(*packet));
	int ret;

	if (!packet)
		return -ENOMEM;
	packet->link.ops = &packet_ops;
	packet->link.stats = stats;
	packet->link.mtu = attr->mtu;
	packet->ifindex = attr->ifindex;
	packet->link.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ret = packet->link.fd < 0 ? -errno : start(packet, attr);
	if (ret) {
		packet_close(&packet->link);
		return ret;
	}
	*link = &packet->link;
	return 0;
}
