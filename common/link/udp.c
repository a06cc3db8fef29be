// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * UDP over IPv4 or IPv6: an unconnected socket for all peers, and one connected to a peer that gets
 * most (udp_connected.h). Consecutive frames of one size to one peer leave as one train
 * (UDP_SEGMENT), gathered from user memory. Arrivals merge into trains (UDP_GRO), which the link
 * lends frame by frame. It writes the pseudo Ethernet header in front of the lent frame, over the
 * end of the frame before, which has been released by then. So no payload is copied.
 */
#include "link/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/base.h"
#include "link/icmp.h"
#include "link/ip_marks.h"
#include "link/ipv6_cache.h"
#include "link/nic_name.h"
#include "link/train.h"
#include "link/udp_connected.h"
#include "link/udp_socket.h"
#include "wire/ip_group.h"
#include "wire/pseudo_mac.h"

enum {
	IPV4_OVERHEAD = 28, /* bytes of the IPv4 and UDP headers */
	IPV6_OVERHEAD = 48,
	CONTROL = 128, /* bytes of control messages */
	/* Frames and errors of no concern here that are taken in one call, and errors that keep a
	 * frame from being sent: they may come faster than they are dropped, for as long as their
	 * sender likes. */
	STRAYS_MAX = 64,
};

struct udp_link {
	struct gamma_link link;
	struct gamma_udp_attr attr;
	struct gamma_nic_name name;     /* of its NIC */
	uint8_t mac[GAMMA_MAC_LEN];     /* pseudo address of this side, or the group's */
	bool single;                    /* the kernel or the NIC refused to segment */
	union gamma_udp_address from;   /* of the train that is lent */
	uint8_t peer[GAMMA_MAC_LEN];    /* ditto: its pseudo address */
	bool trusted;                   /* ditto: no other peer has that pseudo address */
	struct gamma_ipv6_cache *cache; /* NULL: IPv4 */
	struct gamma_udp_connected connected;
	uint32_t drops[2];        /* the sockets' counts when they were last read */
	bool gone;                /* the own address is no address of this host any more */
	bool errors;              /* the socket's queue of ICMP errors may not be empty */
	struct gamma_train train; /* the one that is lent */
};

static uint32_t overhead(const struct gamma_udp_attr *attr)
{
	return attr->ipv6 ? IPV6_OVERHEAD : IPV4_OVERHEAD;
}

/* ---- sending ---- */

/* Whether the own address has been removed from the host, which is reported once until it is back.
 */
static bool address_is_gone(struct udp_link *udp)
{
	char text[INET6_ADDRSTRLEN];
	bool gone = !gamma_udp_socket_has_address(&udp->attr);

	if (gone && !udp->gone && udp->attr.beside)
		gamma_info("%s was removed from this host's addresses: long messages take raw "
			   "Ethernet, which is slower",
			   inet_ntop(AF_INET, udp->attr.ip, text, sizeof(text)));
	else if (gone && !udp->gone)
		gamma_error("%s was removed from this host's addresses: messages wait until it is "
			    "back (ip address add), or until their peers give up",
			    inet_ntop(udp->attr.ipv6 ? AF_INET6 : AF_INET, udp->attr.ip, text,
				      sizeof(text)));
	udp->gone = gone;
	return gone;
}

/* Over IPv6 the kernel goes on sending from an address that is gone, and no answer comes. So look
 * when a peer is asked whether it is there. */
static socklen_t set_peer(struct udp_link *udp, const struct gamma_frame *frame,
			  union gamma_udp_address *to)
{
	const uint8_t *ip;

	if (gamma_likely(!udp->cache))
		return gamma_udp_socket_address(&udp->attr, frame->head + 2, to);
	if (gamma_unlikely(frame->kind == GAMMA_KIND_PROBE))
		address_is_gone(udp);
	ip = gamma_ipv6_cache_find(udp->cache, frame->head);
	return ip ? gamma_udp_socket_address(&udp->attr, ip, to) : 0;
}

/* 0: the address is unknown. */
static socklen_t frame_to_address(struct udp_link *udp, const struct gamma_frame *frame,
				  union gamma_udp_address *to)
{
	socklen_t len = gamma_unlikely(gamma_ip_group_is_mac(frame->head))
				? gamma_udp_socket_group(&udp->attr, frame->head, to)
				: set_peer(udp, frame, to);

	memcpy(&to->v4.sin_port, frame->head + GAMMA_ETH_LEN, sizeof(to->v4.sin_port));
	if (gamma_unlikely(gamma_ip_group_is_mac(frame->head)))
		to->v4.sin_port = htons(gamma_ip_group_port(ntohs(to->v4.sin_port)));
	return len;
}

/* Is the connected socket that of the frame's peer? */
static bool is_connected(struct udp_link *udp, const struct gamma_frame *frame)
{
	bool is = gamma_udp_connected_vote(
		&udp->connected, gamma_udp_connected_key(frame->head, frame->head + GAMMA_ETH_LEN));

	udp->link.stats->connected_calls += is;
	return is;
}

/* A frame to an unknown peer whose address has been forgotten counts as lost. With its payload
 * behind its header a frame takes the cheapest call. */
static bool send_plain(struct udp_link *udp, const struct gamma_frame *frame)
{
	union gamma_udp_address to;
	socklen_t to_len;

	if (is_connected(udp, frame)) {
		udp->link.stats->send_calls++;
		return send(udp->connected.fd, frame->head + GAMMA_ETH_LEN,
			    frame->head_len - GAMMA_ETH_LEN, MSG_DONTWAIT) >= 0;
	}
	to_len = frame_to_address(udp, frame, &to);
	if (gamma_unlikely(!to_len))
		return true;
	udp->link.stats->send_calls++;
	return sendto(udp->link.fd, frame->head + GAMMA_ETH_LEN, frame->head_len - GAMMA_ETH_LEN,
		      MSG_DONTWAIT, &to.any, to_len) >= 0;
}

/* As send_plain, of one frame or more. */
static bool send_train(struct udp_link *udp, const struct gamma_frame *frames, unsigned count,
		       bool marked)
{
	struct iovec iov[GAMMA_TRAIN_IOV];
	_Alignas(struct cmsghdr)
		uint8_t control[CMSG_SPACE(sizeof(uint16_t)) + GAMMA_IP_MARKS_SPACE] = {0};
	union gamma_udp_address to;
	struct msghdr msg = {.msg_name = &to, .msg_iov = iov};
	uint16_t segment = (uint16_t) gamma_train_frame_len(frames);
	int fd = is_connected(udp, frames) ? udp->connected.fd : udp->link.fd;

	if (fd == udp->connected.fd)
		msg.msg_name = NULL;
	else
		msg.msg_namelen = frame_to_address(udp, frames, &to);
	if (gamma_unlikely(msg.msg_name && !msg.msg_namelen))
		return true;
	msg.msg_iovlen = gamma_train_gather(frames, count, iov);
	if (count > 1) {
		struct cmsghdr *cmsg = (struct cmsghdr *) control;

		msg.msg_controllen = CMSG_SPACE(sizeof(segment));
		cmsg->cmsg_level = SOL_UDP;
		cmsg->cmsg_type = UDP_SEGMENT;
		cmsg->cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(cmsg), &segment, sizeof(segment));
	}
	if (marked)
		msg.msg_controllen +=
			gamma_ip_marks_put(control + msg.msg_controllen, udp->attr.ipv6);
	msg.msg_control = msg.msg_controllen ? control : NULL;
	udp->link.stats->send_calls++;
	return sendmsg(fd, &msg, MSG_DONTWAIT) >= 0;
}

static void stay_on_nic(struct udp_link *udp)
{
	if (!udp->attr.beside)
		return;
	gamma_udp_socket_stay_on_nic(&udp->attr, udp->link.fd);
	if (udp->connected.fd >= 0)
		gamma_udp_socket_stay_on_nic(&udp->attr, udp->connected.fd);
}

/* The NIC's MTU less the headers; 0: the NIC was removed. One whose driver was loaded anew has
 * another index. */
static uint32_t current_mtu(struct udp_link *udp)
{
	struct ifreq request = {.ifr_ifindex = udp->attr.ifindex};

	if (ioctl(udp->link.fd, SIOCGIFNAME, &request)) {
		int ifindex = gamma_nic_name_find(udp->link.fd, &udp->name);

		udp->attr.ifindex = ifindex ? ifindex : udp->attr.ifindex;
		stay_on_nic(udp);
		request = (struct ifreq){.ifr_ifindex = udp->attr.ifindex};
		if (ioctl(udp->link.fd, SIOCGIFNAME, &request))
			return 0;
	}
	if (ioctl(udp->link.fd, SIOCGIFMTU, &request))
		return 0;
	return (uint32_t) request.ifr_mtu - overhead(&udp->attr);
}

/* Why the kernel refused a train of so many frames: a link error, or 0: try again, perhaps singly.
 */
static int udp_refusal(struct udp_link *udp, unsigned count)
{
	int error = errno;
	uint32_t mtu;

	if (error == EAGAIN || error == ENOBUFS)
		return -EAGAIN;
	udp->errors = true;
	if (error == ECONNREFUSED)
		return 0; /* an ICMP error for a frame before: this one has not been tried */
	mtu = current_mtu(udp);
	if (!mtu)
		return -ENODEV;
	if (mtu < udp->link.mtu) {
		udp->link.mtu = mtu;
		return -EMSGSIZE;
	}
	if ((error == EINVAL || error == ENETUNREACH) && address_is_gone(udp))
		return -EAGAIN;
	if (count == 1 || (error != EIO && error != EINVAL))
		return -EAGAIN;
	/* EIO: the NIC cannot write the checksums; EINVAL: the kernel takes fewer frames. */
	gamma_warn("the kernel or the NIC refused to segment UDP (%s): frames leave one by one, "
		   "and long messages are slow; switch the NIC's checksum offload on (ethtool -K "
		   "NIC tx on)",
		   strerror(error));
	udp->single = true;
	return 0;
}

/* across: some peers are on other subnets. */
static inline unsigned udp_send_frames(struct udp_link *udp, const struct gamma_frame *frames,
				       unsigned count, bool across, int *error)
{
	unsigned done = 0, refused = 0;

	while (done < count) {
		const struct gamma_frame *first = frames + done;
		unsigned n = udp->single ? 1 : gamma_train_count(first, count - done);
		bool marked = across && first->ecn && first->kind == GAMMA_KIND_DATA;
		bool plain = n == 1 && !first->iov_count && !marked;

		if (gamma_likely(plain ? send_plain(udp, first)
				       : send_train(udp, first, n, marked))) {
			done += n;
			refused = 0;
			continue;
		}
		*error = udp_refusal(udp, n);
		if (!*error && ++refused > STRAYS_MAX)
			*error = -EAGAIN;
		if (*error)
			break;
	}
	return done;
}

static unsigned udp_send(struct gamma_link *link, const struct gamma_frame *frames, unsigned count,
			 int *error)
{
	return udp_send_frames(gamma_container_of(link, struct udp_link, link), frames, count,
			       false, error);
}

static unsigned udp_send_across(struct gamma_link *link, const struct gamma_frame *frames,
				unsigned count, int *error)
{
	return udp_send_frames(gamma_container_of(link, struct udp_link, link), frames, count, true,
			       error);
}

/* ---- receiving ---- */

static bool is_error(const struct cmsghdr *c)
{
	return (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
	       (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
}

static bool is_port_unreachable(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct sock_extended_err error;

		if (!is_error(c) || c->cmsg_len < CMSG_LEN(sizeof(error)))
			continue;
		memcpy(&error, CMSG_DATA(c), sizeof(error));
		if (error.ee_origin == SO_EE_ORIGIN_ICMP6)
			return error.ee_type == ICMP6_DST_UNREACH &&
			       error.ee_code == ICMP6_DST_UNREACH_NOPORT;
		return error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == ICMP_DEST_UNREACH &&
		       error.ee_code == ICMP_PORT_UNREACH;
	}
	return false;
}

static void take_source(struct udp_link *udp)
{
	udp->train.port = udp->from.v4.sin_port;
	udp->trusted = true;
	if (udp->cache)
		udp->trusted = gamma_ipv6_cache_take(udp->cache, udp->from.v6.sin6_addr.s6_addr,
						     udp->peer);
	else
		gamma_pseudo_mac_make((const uint8_t *) &udp->from.v4.sin_addr, udp->peer);
}

/* With its source and control messages. */
static struct msghdr message_from(struct udp_link *udp, struct iovec *iov, uint8_t control[CONTROL])
{
	return (struct msghdr){
		.msg_name = &udp->from,
		.msg_namelen = sizeof(udp->from),
		.msg_iov = iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CONTROL,
	};
}

/* The frame that the next ICMP error stands for, as a train of one frame; false: no more errors, or
 * more than are taken in one call, which the next reading of datagrams reports again. The kernel
 * quotes the datagram that was sent, from the frame on. */
static bool receive_error(struct udp_link *udp, int fd)
{
	_Alignas(struct cmsghdr) uint8_t control[CONTROL];
	uint8_t quoted[GAMMA_HEADER_LEN], frame[GAMMA_ICMP_ANSWER];
	struct iovec iov = {quoted, sizeof(quoted)};

	for (unsigned i = 0; i < STRAYS_MAX; i++) {
		struct msghdr msg = message_from(udp, &iov, control);
		ssize_t len = recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT);

		if (len < 0)
			return false;
		if (!is_port_unreachable(&msg))
			continue;
		udp->link.stats->unreachable++;
		take_source(udp);
		if (!gamma_icmp_answer(quoted, (size_t) len, udp->mac, udp->peer, frame))
			continue;
		memcpy(udp->train.bytes, frame + GAMMA_ETH_LEN, GAMMA_HEADER_LEN);
		gamma_train_begin(&udp->train, GAMMA_HEADER_LEN, GAMMA_HEADER_LEN);
		return true;
	}
	return false;
}

/* Without control messages, which would make each poll cost half as much again: the headers
 * separate frames that the kernel merged (train.c), and drops are counted by udp_count. */
static inline ssize_t read_datagrams(struct udp_link *udp, int fd)
{
	socklen_t from_len = sizeof(udp->from);

	return recvfrom(fd, udp->train.bytes, GAMMA_TRAIN_BUFFER, MSG_DONTWAIT, &udp->from.any,
			&from_len);
}

/* With the bits of ECN. The kernel merges only what has the same. */
static ssize_t read_marked(struct udp_link *udp, int fd)
{
	_Alignas(struct cmsghdr) uint8_t control[CONTROL];
	struct iovec iov = {udp->train.bytes, GAMMA_TRAIN_BUFFER};
	struct msghdr msg = message_from(udp, &iov, control);
	ssize_t len = recvmsg(fd, &msg, MSG_DONTWAIT);

	udp->link.ecn = len > 0 ? gamma_ip_marks_get(&msg) : GAMMA_ECN_NONE;
	return len;
}

/* across: some peers are on other subnets. */
static inline bool receive_from(struct udp_link *udp, int fd, bool across)
{
	ssize_t len = across ? read_marked(udp, fd) : read_datagrams(udp, fd);

	udp->link.stats->receive_calls++;
	if (gamma_likely(len <= 0)) {
		gamma_train_begin(&udp->train, 0, 0);
		udp->errors |= len < 0 && errno != EAGAIN;
		return false;
	}
	take_source(udp);
	gamma_train_begin(&udp->train, (uint32_t) len,
			  gamma_train_segment(udp->train.bytes, (uint32_t) len));
	return true;
}

/* Connected to the link itself the socket gets nothing more. Datagrams that it has got are older
 * than those that the peer sends from now on. */
static bool leave_peer(struct udp_link *udp)
{
	struct gamma_udp_connected *connected = &udp->connected;
	union gamma_udp_address own;
	socklen_t len = sizeof(own);

	if (getsockname(connected->fd, &own.any, &len) || connect(connected->fd, &own.any, len))
		return false;
	connected->peer = 0;
	connected->drain = connected->fd;
	return true;
}

/* Datagrams may have come since both sockets were empty: those in the first one are older than what
 * the connected one gets from now on. */
static void connect_wanted(struct udp_link *udp)
{
	struct gamma_udp_connected *connected = &udp->connected;
	struct gamma_frame frame = {.head = frame.room};
	union gamma_udp_address to;
	socklen_t len;

	if (connected->peer && leave_peer(udp))
		return; /* the next time */
	memcpy(frame.room, &connected->wanted, GAMMA_MAC_LEN);
	memcpy(frame.room + GAMMA_ETH_LEN, (uint8_t *) &connected->wanted + GAMMA_MAC_LEN,
	       sizeof(uint16_t));
	len = gamma_ip_group_is_mac(frame.head) ? 0 : frame_to_address(udp, &frame, &to);
	if (len && !connected->peer && !connect(connected->fd, &to.any, len)) {
		connected->peer = connected->wanted;
		connected->drain = udp->link.fd;
	}
	connected->wanted = 0;
}

static inline bool receive_datagrams(struct udp_link *udp, bool across)
{
	struct gamma_udp_connected *connected = &udp->connected;
	int fds[] = {udp->link.fd, connected->fd};
	bool both = gamma_udp_connected_both(connected);

	if (gamma_unlikely(connected->drain >= 0)) {
		if (receive_from(udp, connected->drain, across))
			return true;
		if (udp->errors)
			return false;
		connected->drain = -1;
	}
	if (both) {
		bool found = receive_from(udp, fds[!connected->ahead], across);

		gamma_udp_connected_polled(connected, found);
		if (found)
			return true;
	}
	if (receive_from(udp, fds[connected->ahead], across))
		return true;
	if (gamma_unlikely(both && connected->wanted))
		connect_wanted(udp);
	return false;
}

static bool receive_errors(struct udp_link *udp)
{
	bool found = receive_error(udp, udp->link.fd) ||
		     (udp->connected.fd >= 0 && receive_error(udp, udp->connected.fd));

	udp->errors = found;
	return found;
}

/* An error is reported once, in place of datagrams, which are still there. */
static inline bool receive_train(struct udp_link *udp, bool across)
{
	if (gamma_likely(!udp->errors) && receive_datagrams(udp, across))
		return true;
	return gamma_unlikely(udp->errors) &&
	       (receive_errors(udp) || receive_datagrams(udp, across));
}

static void udp_release(struct gamma_link *link)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);

	gamma_train_release(&udp->train);
}

static inline bool next_frame(struct gamma_link *link, bool across, struct gamma_arrival *arrival)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);
	uint8_t head[GAMMA_ETH_LEN] = {0};

	/* What has been received is looked at to its end: nothing else wakes a sleeper for it. */
	for (unsigned strays = 0;; strays++) {
		if (gamma_train_is_empty(&udp->train) &&
		    (strays >= STRAYS_MAX || !receive_train(udp, across)))
			return false;
		if (gamma_likely(udp->trusted &&
				 gamma_train_is_for(&udp->train, udp->attr.port, udp->attr.tenant)))
			break;
		link->stats->stray++;
		udp_release(link);
	}
	memcpy(head, udp->mac, GAMMA_MAC_LEN);
	memcpy(head + GAMMA_MAC_LEN, udp->peer, GAMMA_MAC_LEN);
	head[12] = (uint8_t) (udp->attr.ethertype >> 8);
	head[13] = (uint8_t) udp->attr.ethertype;
	gamma_train_lend(&udp->train, head, arrival);
	return true;
}

static bool udp_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	return next_frame(link, false, arrival);
}

static bool udp_next_across(struct gamma_link *link, struct gamma_arrival *arrival)
{
	return next_frame(link, true, arrival);
}

static void udp_look(struct gamma_link *link)
{
	gamma_udp_connected_look(&gamma_container_of(link, struct udp_link, link)->connected);
}

static bool udp_arm(struct gamma_link *link)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);
	struct gamma_arrival arrival;
	bool any;

	gamma_udp_connected_look(&udp->connected);
	any = link->ops->next(link, &arrival);
	gamma_udp_connected_look(&udp->connected);
	return any;
}

static void count_drops(struct udp_link *udp, int fd, uint32_t *drops)
{
	uint32_t info[SK_MEMINFO_VARS];
	socklen_t len = sizeof(info);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) ||
	    len < (SK_MEMINFO_DROPS + 1) * sizeof(*info))
		return;
	udp->link.stats->ring_drops += info[SK_MEMINFO_DROPS] - *drops;
	*drops = info[SK_MEMINFO_DROPS];
}

static void udp_count(struct gamma_link *link)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);

	count_drops(udp, link->fd, &udp->drops[0]);
	count_drops(udp, udp->connected.fd, &udp->drops[1]);
}

static void udp_close(struct gamma_link *link)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);

	if (link->fd >= 0)
		close(link->fd);
	if (udp->connected.fd >= 0)
		close(udp->connected.fd);
	if (!gamma_ip_group_is_mac(udp->mac))
		free(udp->cache);
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

/* Once a peer is on another subnet: what goes there may be marked by routers, and what arrives is
 * looked at for marks. */
static const struct gamma_link_ops udp_ops_across = {
	.send = udp_send_across,
	.next = udp_next_across,
	.release = udp_release,
	.arm = udp_arm,
	.count = udp_count,
	.close = udp_close,
};

uint32_t gamma_udp_nic_mtu(struct gamma_link *link)
{
	if (link->ops != &udp_ops && link->ops != &udp_ops_across)
		return 0;
	return current_mtu(gamma_container_of(link, struct udp_link, link));
}

static void udp_cross(struct gamma_link *link)
{
	const struct udp_link *udp = gamma_container_of(link, struct udp_link, link);

	if (link->ops == &udp_ops_across)
		return;
	gamma_ip_marks_ask(link->fd, udp->attr.ipv6);
	if (udp->connected.fd >= 0)
		gamma_ip_marks_ask(udp->connected.fd, udp->attr.ipv6);
	link->ops = &udp_ops_across;
}

/* ---- opening ---- */

static int open_sockets(struct udp_link *udp, bool shared)
{
	const bool group = gamma_ip_group_is_mac(udp->mac);

	udp->connected.fd = udp->connected.drain = udp->link.connected_fd = -1;
	udp->link.fd = gamma_udp_socket_open(&udp->attr, group ? udp->mac : NULL, shared,
					     &udp->link.slots);
	if (udp->link.fd < 0)
		return udp->link.fd;
	if (!group && !udp->attr.alone)
		udp->connected.fd = udp->link.connected_fd =
			gamma_udp_socket_open_connected(&udp->attr, udp->link.fd);
	gamma_nic_name_note(udp->link.fd, udp->attr.ifindex, &udp->name);
	return 0;
}

/* mac: the own pseudo MAC address, or a group's, which may be shared. cache: of the endpoint's
 * link; NULL: its own. */
static int open_link(const struct gamma_udp_attr *attr, const uint8_t mac[GAMMA_MAC_LEN],
		     bool shared, struct gamma_ipv6_cache *cache, struct gamma_stats *stats,
		     struct gamma_link **link)
{
	struct udp_link *udp = calloc(1, sizeof(*udp));
	int ret;

	if (!udp)
		return -ENOMEM;
	udp->link.ops = &udp_ops;
	udp->link.cross = udp_cross;
	udp->link.look = udp_look;
	udp->link.stats = stats;
	udp->link.process = getpid();
	udp->link.mtu = attr->mtu;
	udp->link.overhead = overhead(attr);
	udp->link.train = gamma_train_length(attr->mtu);
	udp->attr = *attr;
	memcpy(udp->mac, mac, GAMMA_MAC_LEN);
	udp->cache = attr->ipv6 && !cache ? calloc(1, sizeof(*udp->cache)) : cache;
	ret = open_sockets(udp, shared);
	if (!ret && attr->ipv6 && !udp->cache)
		ret = -ENOMEM;
	if (ret) {
		udp_close(&udp->link);
		return ret;
	}
	*link = &udp->link;
	return 0;
}

int gamma_udp_open(const struct gamma_udp_attr *attr, struct gamma_stats *stats,
		   struct gamma_link **link)
{
	uint8_t mac[GAMMA_MAC_LEN];

	if (attr->ipv6)
		gamma_pseudo_mac_make_ipv6(attr->ip, mac);
	else
		gamma_pseudo_mac_make(attr->ip, mac);
	return open_link(attr, mac, false, NULL, stats, link);
}

int gamma_udp_join(struct gamma_link *link, const uint8_t group[GAMMA_MAC_LEN], uint16_t port,
		   bool shared, struct gamma_link **joined)
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);
	struct gamma_udp_attr attr = udp->attr;

	attr.port = port;
	return open_link(&attr, group, shared, udp->cache, link->stats, joined);
}

bool gamma_udp_ipv6_of(struct gamma_link *link, const uint8_t mac[GAMMA_MAC_LEN],
		       uint8_t ipv6[GAMMA_IPV6_LEN])
{
	struct udp_link *udp = gamma_container_of(link, struct udp_link, link);
	const uint8_t *found = gamma_ipv6_cache_find(udp->cache, mac);

	if (found)
		memcpy(ipv6, found, GAMMA_IPV6_LEN);
	return found;
}
