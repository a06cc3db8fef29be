// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * UDP over IPv4: one unconnected socket. Consecutive frames of one size to one peer leave as one
 * train (UDP_SEGMENT), gathered from user memory. Arrivals merge into trains (UDP_GRO), which the
 * link lends frame by frame. It writes the pseudo Ethernet header in front of the lent frame, over
 * the end of the frame before, which has been released by then. So no payload is copied.
 */
#include "link/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/base.h"
#include "wire/pseudo_mac.h"

enum {
	TRAIN_FRAMES = 64,   /* that every kernel with UDP_SEGMENT takes */
	TRAIN_BYTES = 65507, /* of UDP payload */
	BUFFER = 1 << 16,    /* bytes of a received train */
	UDP_OVERHEAD = 28,   /* bytes of the IPv4 and UDP headers */
	TRUESIZE = 2304,     /* bytes of receive buffer for a datagram of MTU 1,500 */
	RCVBUF = 4 << 20,    /* wanted, bytes */
	CONTROL = 64,        /* bytes of control messages */
};

struct udp_link {
	struct gamma_link link;
	struct gamma_udp_attr attr;
	uint8_t mac[GAMMA_MAC_LEN];  /* pseudo address of this side */
	bool single;                 /* the kernel or the NIC refused to segment */
	struct sockaddr_in from;     /* of the train that is lent */
	uint32_t at, len;            /* bytes: the next frame in the train, the train's end */
	uint32_t segment;            /* bytes of each frame of the train but the last */
	uint32_t overflow;           /* the socket's count of drops when it was last read */
	uint8_t head[GAMMA_ETH_LEN]; /* room for the first frame's pseudo header */
	uint8_t train[BUFFER];
};

/* ---- sending ---- */

static size_t datagram_len(const struct gamma_frame *frame)
{
	size_t len = frame->head_len - GAMMA_ETH_LEN;

	for (unsigned i = 0; i < frame->iov_count; i++)
		len += frame->iov[i].iov_len;
	return len;
}

static bool same_peer(const struct gamma_frame *a, const struct gamma_frame *b)
{
	return !memcmp(a->head, b->head, GAMMA_MAC_LEN) &&
	       !memcmp(a->head + GAMMA_ETH_LEN, b->head + GAMMA_ETH_LEN, sizeof(uint16_t));
}

/* How many frames from the first on can leave as one train. */
static unsigned train_frames(const struct udp_link *udp, const struct gamma_frame *frames,
			     unsigned count)
{
	size_t segment = datagram_len(frames), total = segment, len = segment;
	unsigned n = 1;

	if (udp->single)
		return 1;
	count = (unsigned) gamma_min(count, TRAIN_FRAMES);
	for (; n < count && len == segment && same_peer(frames, frames + n); n++) {
		len = datagram_len(frames + n);
		total += len;
		if (len > segment || total > TRAIN_BYTES)
			break;
	}
	return n;
}

static unsigned gather(const struct gamma_frame *frames, unsigned count, struct iovec *iov)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		iov[n++] = (struct iovec){(void *) (frames[i].head + GAMMA_ETH_LEN),
					  frames[i].head_len - GAMMA_ETH_LEN};
		for (unsigned j = 0; j < frames[i].iov_count; j++)
			iov[n++] = frames[i].iov[j];
	}
	return n;
}

static void frame_to_sockaddr(const struct gamma_frame *frame, struct sockaddr_in *to)
{
	*to = (struct sockaddr_in){.sin_family = AF_INET};
	memcpy(&to->sin_addr, frame->head + 2, sizeof(to->sin_addr));
	memcpy(&to->sin_port, frame->head + GAMMA_ETH_LEN, sizeof(to->sin_port));
}

static bool send_train(struct udp_link *udp, const struct gamma_frame *frames, unsigned count)
{
	struct iovec iov[TRAIN_FRAMES * (1 + GAMMA_FRAME_IOV)];
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(uint16_t))] = {0};
	struct sockaddr_in to;
	struct msghdr msg = {.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = iov};
	uint16_t segment = (uint16_t) datagram_len(frames);

	frame_to_sockaddr(frames, &to);
	msg.msg_iovlen = gather(frames, count, iov);
	if (count > 1) {
		struct cmsghdr *cmsg = (struct cmsghdr *) control;

		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		cmsg->cmsg_level = SOL_UDP;
		cmsg->cmsg_type = UDP_SEGMENT;
		cmsg->cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(cmsg), &segment, sizeof(segment));
	}
	udp->link.stats->send_calls++;
	return sendmsg(udp->link.fd, &msg, MSG_DONTWAIT) >= 0;
}

/* The NIC's MTU less the headers; 0: the NIC was removed. */
static uint32_t current_mtu(const struct udp_link *udp)
{
	struct ifreq request = {.ifr_ifindex = udp->attr.ifindex};

	if (ioctl(udp->link.fd, SIOCGIFNAME, &request) || ioctl(udp->link.fd, SIOCGIFMTU, &request))
		return 0;
	return (uint32_t) request.ifr_mtu - UDP_OVERHEAD;
}

/* Why the kernel refused a train of so many frames: a link error, or 0: send them singly. */
static int udp_refusal(struct udp_link *udp, unsigned count)
{
	int error = errno;
	uint32_t mtu;

	if (error == EAGAIN || error == ENOBUFS)
		return -EAGAIN;
	mtu = current_mtu(udp);
	if (!mtu)
		return -ENODEV;
	if (mtu < udp->link.mtu) {
		udp->link.mtu = mtu;
		return -EMSGSIZE;
	}
	if (count == 1 || (error != EIO && error != EINVAL))
		return -EAGAIN;
	/* EIO: the NIC cannot write the checksums; EINVAL: the kernel takes fewer frames. */
	gamma_info("UDP frames leave one by one: %s", strerror(error));
	udp->single = true;
	return 0;
}

static unsigned udp_send(struct gamma_link *link, const struct gamma_frame *frames, unsigned count,
			 int *error)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);
	unsigned done = 0;

	while (done < count) {
		unsigned n = train_frames(udp, frames + done, count - done);

		if (gamma_likely(send_train(udp, frames + done, n))) {
			done += n;
			continue;
		}
		*error = udp_refusal(udp, n);
		if (*error)
			break;
	}
	return done;
}

/* ---- receiving ---- */

static void read_control(struct udp_link *udp, struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		uint32_t value;

		if (c->cmsg_len < CMSG_LEN(sizeof(value)))
			continue;
		memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
			udp->segment = value;
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
			udp->link.stats->ring_drops += value - udp->overflow;
			udp->overflow = value;
		}
	}
}

static bool receive_train(struct udp_link *udp)
{
	_Alignas(struct cmsghdr) uint8_t control[CONTROL];
	struct iovec iov = {udp->train, BUFFER};
	struct msghdr msg = {
		.msg_name = &udp->from,
		.msg_namelen = sizeof(udp->from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len = recvmsg(udp->link.fd, &msg, MSG_DONTWAIT);

	udp->link.stats->receive_calls++;
	udp->at = udp->len = 0;
	if (len <= 0)
		return false;
	udp->segment = udp->len = (uint32_t) len;
	read_control(udp, &msg);
	return udp->segment > 0;
}

static uint32_t next_len(const struct udp_link *udp)
{
	return (uint32_t) gamma_min(udp->segment, udp->len - udp->at);
}

/* What a packet socket's filter passes: frames for this port and user, and questions about the
 * owner of the port. The port that a frame names as its source is the one that the kernel let its
 * sender bind. */
static bool is_for_us(const struct udp_link *udp, uint32_t len)
{
	struct gamma_header header;

	if (len < GAMMA_HEADER_LEN)
		return false;
	memcpy(&header, udp->train + udp->at, sizeof(header));
	return header.src_port == udp->from.sin_port && header.dst_port == htons(udp->attr.port) &&
	       (header.tenant == htonl(udp->attr.tenant) ||
		(header.version_kind & 0x0f) == GAMMA_KIND_LOOKUP);
}

static void udp_release(struct gamma_link *link)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);

	udp->at += next_len(udp);
}

static bool udp_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);
	uint8_t head[GAMMA_ETH_LEN] = {0};
	uint8_t *frame;

	for (;;) {
		if (udp->at == udp->len && !receive_train(udp))
			return false;
		if (gamma_likely(is_for_us(udp, next_len(udp))))
			break;
		link->stats->stray++;
		udp_release(link);
	}
	memcpy(head, udp->mac, GAMMA_MAC_LEN);
	gamma_pseudo_mac_make((const uint8_t *) &udp->from.sin_addr, head + GAMMA_MAC_LEN);
	head[12] = GAMMA_ETHERTYPE >> 8;
	head[13] = GAMMA_ETHERTYPE & 0xff;
	frame = (uint8_t *) udp + offsetof(struct udp_link, train) + udp->at - GAMMA_ETH_LEN;
	memcpy(frame, head, GAMMA_ETH_LEN);
	*arrival = (struct gamma_arrival){
		.frame = frame,
		.len = GAMMA_ETH_LEN + next_len(udp),
		.alone = udp->at + next_len(udp) == udp->len,
	};
	return true;
}

static bool udp_arm(struct gamma_link *link)
{
	struct gamma_arrival arrival;

	return udp_next(link, &arrival);
}

/* Each received train reports the drops before it. */
static void udp_count(struct gamma_link *link)
{
	(void) link;
}

static void udp_close(struct gamma_link *link)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);

	if (link->fd >= 0)
		close(link->fd);
	free(udp);
}

static const struct gamma_link_ops udp_ops = {
	.send = udp_send,
	.next = udp_next,
	.release = udp_release,
	.arm = udp_arm,
	.count = udp_count,
	.close = udp_close,
};

/* ---- opening ---- */

/* Merging (Linux 5.0) is an optimization: without it frames arrive singly. */
static int start_socket(struct udp_link *udp, const struct gamma_udp_attr *attr)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(attr->port),
	};
	int fd = udp->link.fd, one = 1, probe = IP_PMTUDISC_PROBE, bytes = RCVBUF;
	socklen_t len = sizeof(bytes);

	memcpy(&address.sin_addr, attr->ipv4, sizeof(attr->ipv4));
	setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof(one));
	/* The former needs CAP_NET_ADMIN, the latter is bounded by net.core.rmem_max. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof(probe)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &one, sizeof(one)) ||
	    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len) ||
	    bind(fd, (struct sockaddr *) &address, sizeof(address)))
		return -errno;
	udp->link.slots = (uint32_t) bytes / gamma_max(TRUESIZE, 2 * attr->mtu);
	if (bytes < RCVBUF)
		gamma_info("the receive buffer has %d KiB instead of %d, so peers get less credit: "
			   "raise net.core.rmem_max",
			   bytes >> 10, RCVBUF >> 10);
	return 0;
}

int gamma_udp_open(const struct gamma_udp_attr *attr, struct gamma_stats *stats,
		   struct gamma_link **link)
{
	struct udp_link *udp = calloc(1, sizeof(*udp));
	int ret;

	if (!udp)
		return -ENOMEM;
	udp->link.ops = &udp_ops;
	udp->link.stats = stats;
	udp->link.process = getpid();
	udp->link.mtu = attr->mtu;
	udp->attr = *attr;
	gamma_pseudo_mac_make(attr->ipv4, udp->mac);
	udp->link.fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ret = udp->link.fd < 0 ? -errno : start_socket(udp, attr);
	if (ret) {
		udp_close(&udp->link);
		return ret;
	}
	*link = &udp->link;
	return 0;
}
