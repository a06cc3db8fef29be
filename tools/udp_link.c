// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammaping's link over UDP: single frames through a socket of its own, so that every ICMP error
 * for a question, and the router or host that sent it, reaches the user. Called by udp_walk.c and,
 * as any link, by lookup.c.
 */
#include "gammaping.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ipv6_names.h"
#include "link/icmp.h"
#include "wire/pseudo_mac.h"

enum { CONTROL = 256 }; /* bytes of control messages */

union probe_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
	       "the port of either address is that of v4");

struct udp_probe {
	struct gamma_link link;
	uint32_t ifindex;       /* of the NIC */
	struct ping_icmp *icmp; /* the latest error */
	uint8_t mac[GAMMA_MAC_LEN];
	size_t len;  /* bytes of the frame that is lent; 0: none */
	bool errors; /* the queue of ICMP errors may not be empty */
	uint8_t frame[GAMMA_ETH_LEN + UINT16_MAX];
};

/* ---- addresses ---- */

/* Of the NIC or the peer, which are held; all but the port. Returns the length. */
static socklen_t set_ip(const struct udp_probe *udp, const uint8_t mac[GAMMA_MAC_LEN],
			union probe_address *to)
{
	const uint8_t *ipv4 = gamma_pseudo_mac_ipv4(mac);

	if (ipv4) {
		to->v4 = (struct sockaddr_in){.sin_family = AF_INET};
		memcpy(&to->v4.sin_addr, ipv4, sizeof(to->v4.sin_addr));
		return sizeof(to->v4);
	}
	to->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
	gamma_ipv6_names_find(mac, to->v6.sin6_addr.s6_addr);
	if (IN6_IS_ADDR_LINKLOCAL(&to->v6.sin6_addr))
		to->v6.sin6_scope_id = udp->ifindex;
	return sizeof(to->v6);
}

/* False: it is not the address that has this pseudo MAC address here. */
static bool make_mac(const union probe_address *from, uint8_t mac[GAMMA_MAC_LEN])
{
	uint8_t held[GAMMA_IPV6_LEN];

	if (from->any.sa_family == AF_INET) {
		gamma_pseudo_mac_make((const uint8_t *) &from->v4.sin_addr, mac);
		return true;
	}
	gamma_pseudo_mac_make_ipv6(from->v6.sin6_addr.s6_addr, mac);
	return gamma_ipv6_names_find(mac, held) && !memcmp(held, &from->v6.sin6_addr, sizeof(held));
}

/* ---- sending ---- */

static int send_frame(struct udp_probe *udp, const struct gamma_frame *frame)
{
	union probe_address to;
	struct iovec iov[1 + GAMMA_FRAME_IOV];
	struct msghdr msg = {.msg_name = &to, .msg_iov = iov};

	msg.msg_namelen = set_ip(udp, frame->head, &to);
	memcpy(&to.v4.sin_port, frame->head + GAMMA_ETH_LEN, sizeof(to.v4.sin_port));
	iov[0].iov_base = (void *) (frame->head + GAMMA_ETH_LEN);
	iov[0].iov_len = frame->head_len - GAMMA_ETH_LEN;
	memcpy(iov + 1, frame->iov, frame->iov_count * sizeof(*iov));
	msg.msg_iovlen = 1 + frame->iov_count;
	return sendmsg(udp->link.fd, &msg, MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* The socket reports an error for an earlier frame once, in place of sending: it is sent then. */
static unsigned probe_send(struct gamma_link *link, const struct gamma_frame *frames,
			   unsigned count, int *error)
{
	struct udp_probe *udp = gamma_container_of(link, struct udp_probe, link);
	unsigned done;

	for (done = 0; done < count; done++) {
		int ret = send_frame(udp, &frames[done]);

		if (ret && ret != -EAGAIN) {
			udp->errors = true;
			ret = send_frame(udp, &frames[done]);
		}
		if (ret) {
			*error = ret;
			errno = -ret;
			break;
		}
	}
	return done;
}

/* ---- ICMP ---- */

static void note_error(struct udp_probe *udp, const struct sock_extended_err *error)
{
	const struct sockaddr *offender = SO_EE_OFFENDER(error);

	*udp->icmp = (struct ping_icmp){
		.known = true,
		.local = error->ee_origin == SO_EE_ORIGIN_LOCAL,
		.ipv6 = error->ee_origin == SO_EE_ORIGIN_ICMP6,
		.type = error->ee_type,
		.code = error->ee_code,
		.error = (int) error->ee_errno,
		.mtu = error->ee_errno == EMSGSIZE ? error->ee_info : 0,
	};
	if (!udp->icmp->local)
		gamma_ip_from_sockaddr(offender, &udp->icmp->from);
}

/* With room for the address of the sender of the error. */
static bool is_error(const struct cmsghdr *c)
{
	const size_t len = CMSG_LEN(sizeof(struct sock_extended_err));

	if (c->cmsg_level == IPPROTO_IPV6)
		return c->cmsg_type == IPV6_RECVERR &&
		       c->cmsg_len >= len + sizeof(struct sockaddr_in6);
	return c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR &&
	       c->cmsg_len >= len + sizeof(struct sockaddr_in);
}

static bool read_errors(struct udp_probe *udp, struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (!is_error(c))
			continue;
		note_error(udp, (const struct sock_extended_err *) CMSG_DATA(c));
		return true;
	}
	return false;
}

static bool is_port_unreachable(const struct ping_icmp *icmp)
{
	if (icmp->ipv6)
		return icmp->type == ICMP6_DST_UNREACH && icmp->code == ICMP6_DST_UNREACH_NOPORT;
	return !icmp->local && icmp->type == ICMP_DEST_UNREACH && icmp->code == ICMP_PORT_UNREACH;
}

/* Takes all errors. True: one says that nobody has the port, and the frame lent says so, too. */
static bool take_errors(struct udp_probe *udp)
{
	_Alignas(struct cmsghdr) uint8_t control[CONTROL];
	uint8_t quoted[GAMMA_HEADER_LEN], peer[GAMMA_MAC_LEN];
	struct iovec iov = {quoted, sizeof(quoted)};
	union probe_address to = {.v6 = {0}};
	bool is_answer = false;

	for (;;) {
		struct msghdr msg = {
			.msg_name = &to,
			.msg_namelen = sizeof(to),
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};
		ssize_t len = recvmsg(udp->link.fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT);

		if (len < 0)
			break;
		if (!read_errors(udp, &msg) || !is_port_unreachable(udp->icmp) ||
		    !make_mac(&to, peer))
			continue;
		is_answer |= gamma_icmp_answer(quoted, (size_t) len, udp->mac, peer, udp->frame);
	}
	udp->errors = false;
	udp->len = is_answer ? GAMMA_ICMP_ANSWER : 0;
	return is_answer;
}

/* ---- receiving ---- */

/* The frame gets the Ethernet header that its checksum covers. */
static bool receive(struct udp_probe *udp)
{
	union probe_address from = {.v6 = {0}};
	socklen_t from_len = sizeof(from);
	ssize_t len = recvfrom(udp->link.fd, udp->frame + GAMMA_ETH_LEN, UINT16_MAX, MSG_DONTWAIT,
			       &from.any, &from_len);

	udp->errors |= len < 0 && errno != EAGAIN;
	if (len < 0 || !make_mac(&from, udp->frame + GAMMA_MAC_LEN))
		return false;
	memcpy(udp->frame, udp->mac, GAMMA_MAC_LEN);
	udp->frame[12] = GAMMA_ETHERTYPE >> 8;
	udp->frame[13] = GAMMA_ETHERTYPE & 0xff;
	udp->len = GAMMA_ETH_LEN + (size_t) len;
	return true;
}

static bool probe_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct udp_probe *udp = gamma_container_of(link, struct udp_probe, link);

	if (!udp->len && !(udp->errors && take_errors(udp)) && !receive(udp) &&
	    !(udp->errors && take_errors(udp)))
		return false;
	*arrival = (struct gamma_arrival){.frame = udp->frame, .len = udp->len};
	return true;
}

static void probe_release(struct gamma_link *link)
{
	gamma_container_of(link, struct udp_probe, link)->len = 0;
}

static bool probe_arm(struct gamma_link *link)
{
	struct gamma_arrival arrival;

	return probe_next(link, &arrival);
}

static void probe_count(struct gamma_link *link)
{
	(void) link;
}

static void probe_close(struct gamma_link *link)
{
	struct udp_probe *udp = gamma_container_of(link, struct udp_probe, link);

	if (link->fd >= 0)
		close(link->fd);
	free(udp);
}

static const struct gamma_link_ops probe_ops = {
	.send = probe_send,
	.next = probe_next,
	.release = probe_release,
	.arm = probe_arm,
	.count = probe_count,
	.close = probe_close,
};

/* ---- opening ---- */

/* PROBE: full frames leave whatever the kernel has learnt of the path, and with DF. */
static int set_ip_options(int fd, int family)
{
	int one = 1, probe = IP_PMTUDISC_PROBE, probe6 = IPV6_PMTUDISC_PROBE;

	if (family == AF_INET)
		return setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof(probe)) ||
		       setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one));
	return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) ||
	       setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe6, sizeof(probe6)) ||
	       setsockopt(fd, IPPROTO_IPV6, IPV6_DONTFRAG, &one, sizeof(one)) ||
	       setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &one, sizeof(one));
}

static int open_socket(struct udp_probe *udp, uint16_t *port)
{
	union probe_address own;
	socklen_t len = set_ip(udp, udp->mac, &own);
	int fd = socket(own.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	udp->link.fd = fd;
	if (fd < 0 || set_ip_options(fd, own.any.sa_family) || bind(fd, &own.any, len) ||
	    getsockname(fd, &own.any, &len))
		return -errno;
	*port = ntohs(own.v4.sin_port);
	return 0;
}

int links_open_udp(struct ping *ping)
{
	struct udp_probe *udp = calloc(1, sizeof(*udp));
	int ret;

	if (!udp)
		return -ENOMEM;
	udp->link.ops = &probe_ops;
	udp->link.stats = &ping->stats;
	udp->link.process = getpid();
	udp->link.mtu = (uint32_t) gamma_min(ping->nic->mtu, UINT16_MAX);
	udp->icmp = &ping->icmp;
	memcpy(udp->mac, ping->nic->mac, GAMMA_MAC_LEN);
	memcpy(ping->own_mac, ping->nic->mac, GAMMA_MAC_LEN);
	ping->tenant = geteuid();
	udp->ifindex = (uint32_t) ping->nic->ifindex;
	ret = open_socket(udp, &ping->own_port);
	if (!ret)
		ret = links_make_epoch(ping);
	if (ret) {
		probe_close(&udp->link);
		return ret;
	}
	ping->packet = &udp->link;
	return 0;
}
